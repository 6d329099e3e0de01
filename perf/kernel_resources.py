#!/usr/bin/env python3
"""Tells what each CUDA kernel of some sources takes: registers of a thread, bytes that it spills, static shared memory.

    perf/kernel_resources.py ops/transformer_layer/transformer_layer_cuda.cu        a table
    perf/kernel_resources.py --check                                                 compares with kernel_resources.txt
    perf/kernel_resources.py --write                                                 writes it anew

Sources are compiled by nvcc, optimised, for one architecture; no GPU is needed. The build folder is for its headers.
`--check` fails if a kernel that is listed spills more than the list says, or is not listed. Registers differ between
versions of nvcc and are not compared.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "perf/kernel_resources.txt"
LISTED = ["ops/encoder_layer/encoder_backward_cuda.cu", "ops/encoder_layer/encoder_forward_cuda.cu", "ops/masked_attention/attention_rows_cuda.cu",
          "ops/masked_attention/tensor_backward_cuda.cu", "ops/masked_attention/tensor_forward_cuda.cu", "ops/transformer_layer/transformer_layer_cuda.cu"]
ENTRY = re.compile(r"Compiling entry function '(\S+)'.*?Used (\d+) registers(?:.*?(\d+) bytes smem)?", re.DOTALL)
# Of the kernel, then of the functions that it calls.
SPILLS = re.compile(r"(\d+) bytes spill (?:stores|loads)")


def short(name):
    """Without namespaces and types of arguments."""
    name = re.sub(r"npzoo::|\(anonymous namespace\)::|tensor_core::|^void ", "", name)
    name = re.sub(r"\((int|bool)\)", "", name)
    return re.sub(r"\(.*$", "", name)


def resources(nvcc, source, arch, build):
    """Returns {kernel: (registers, spilled bytes, shared bytes)}."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, "-std=c++20", f"-arch=sm_{arch}", "--extended-lambda", "--expt-relaxed-constexpr", "-DNPZOO_GPU=nvidia",
                   *(f"-I{build / path}" for path in ("include", "include/built")), f"-I{ROOT / 'include'}", f"-I{ROOT}", "-Xptxas", "-v",
                   "-cubin", "-o", f"{folder}/kernels.cubin", str(ROOT / source)]
        # Tests compile kernels with less optimisation by this variable.
        environment = {name: value for name, value in os.environ.items() if name != "NVCC_APPEND_FLAGS"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"kernel_resources: {source} does not compile:\n{done.stderr or done.stdout}")
    text = done.stderr + done.stdout
    blocks = re.split(r"(?=ptxas info\s*: Compiling entry function)", text)
    found = {}
    for block in blocks:
        entry = ENTRY.search(block)
        if not entry:
            continue
        name = subprocess.run(["c++filt", entry[1]], capture_output=True, text=True, check=True).stdout.strip()
        found[short(name)] = (int(entry[2]), sum(map(int, SPILLS.findall(block))), int(entry[3] or 0))
    if not found:
        sys.exit(f"kernel_resources: nvcc told nothing of kernels in {source}")
    return found


def table(sources, found):
    lines = []
    for source in sources:
        lines.append(f"# {source}")
        lines += [f"{registers:4} registers {spilled:5} bytes spilled {shared:6} bytes of static shared memory  {name}"
                  for name, (registers, spilled, shared) in sorted(found[source].items())]
    return "\n".join(lines) + "\n"


def listed_spills():
    rows = (re.match(r" *(\d+) registers +(\d+) bytes spilled +\d+ bytes of static shared memory  (.*)", line)
            for line in LIST.read_text().splitlines())
    return {row[3]: int(row[2]) for row in rows if row}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="relative to the repository; those of the list if none is named")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--arch", default="90")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true")
    choice.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not pathlib.Path(options.nvcc).exists():
        print("skipped: nvcc is not installed")
        return 77
    sources = options.sources or LISTED
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as compilers:
        compiled = compilers.map(lambda source: resources(options.nvcc, source, options.arch, options.build), sources)
        found = dict(zip(sources, compiled))
    if options.check:
        expected = listed_spills()
        worse = [f"{name}: {spilled} bytes spilled found, expected {expected.get(name, 'a line in ' + LIST.name)}"
                 for kernels in found.values() for name, (_, spilled, _) in kernels.items()
                 if name not in expected or spilled > expected[name]]
        print("\n".join(worse) or f"{sum(map(len, found.values()))} kernels spill no more than the list says")
        return 1 if worse else 0
    text = table(sources, found)
    if options.write:
        LIST.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
