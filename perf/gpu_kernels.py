#!/usr/bin/env python3
"""Tells which kernels the time of a case of perf/compare.py goes to, and how much of it passes between kernels:

    ninja -C build perf/perf_worker perf/libgpu_trace.so
    perf/gpu_kernels.py --build build --cases gp1d-training,tnp-d-context-1e4 --precision bf16

CUPTI notes when each kernel of the program ran, those of captured graphs included. After some repetitions to warm up and a
pause, all kernels that follow belong to the repetitions that count.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import sys
import tempfile
import time

from compare_cases import SUITES
from compare_programs import ROOT, Child, Problem

PAUSE = 0.3  # s
WARM_UP = 5


def kernels_of(options, case):
    """Returns [(begin, end, blocks, threads, name)] of the repetitions that count, times in ns."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace"
        os.environ["NPZOO_GPU_TRACE"] = str(trace)
        os.environ["CUDA_INJECTION64_PATH"] = str(options.build / "perf/libgpu_trace.so")
        child = Child("npzoo's worker", [options.build / "perf/perf_worker"], case, "ninja -C BUILD perf/perf_worker")
        try:
            child.ask(run=WARM_UP)
            time.sleep(PAUSE)
            child.ask(run=options.repetitions)
            child.process.stdin.close()
            child.process.wait(timeout=60)
        finally:
            child.process.stdin = None
            child.close()
        rows = [line.split(" ", 4) for line in trace.read_text().splitlines()]
    kernels = sorted((*map(int, row[:4]), row[4]) for row in rows)
    gaps = [after[0] - before[1] for before, after in zip(kernels, kernels[1:])]
    last = max((i for i, gap in enumerate(gaps) if gap > PAUSE / 2 * 1e9), default=None)
    if last is None:
        raise Problem(f"{len(kernels)} kernels were noted and no pause between them")
    return kernels[last + 1:]


def short(name):
    """Without types of arguments and what all have in common."""
    name = re.sub(r"npzoo::|\(anonymous namespace\)::|^void |::operator\(\)", "", name)
    return re.sub(r"\(.*$", "", re.sub(r"\{lambda\([^{}]*\)#\d+\}", "lambda", name))[:100]


def report(options, name, case):
    kernels = kernels_of(options, case)
    span = (kernels[-1][1] - kernels[0][0]) / 1e3 / options.repetitions
    total = sum(end - begin for begin, end, *_ in kernels) / 1e3 / options.repetitions
    print(f"\n## {name}, {case['precision']}: {span:.0f} µs, of which {total:.0f} in {len(kernels) / options.repetitions:.0f} "
          "kernels")
    groups = collections.defaultdict(list)
    for begin, end, blocks, threads, kernel in kernels:
        groups[short(kernel)].append((end - begin, blocks, threads))
    print(f"{'µs':>9} {'share':>6} {'count':>6} {'µs each':>8} {'blocks':>8} {'threads':>7}  kernel")
    for kernel, rows in sorted(groups.items(), key=lambda item: -sum(row[0] for row in item[1]))[:options.rows]:
        time_of_all, count = sum(row[0] for row in rows) / 1e3 / options.repetitions, len(rows) / options.repetitions
        print(f"{time_of_all:9.1f} {100 * time_of_all / span:5.1f}% {count:6.1f} {time_of_all / count:8.2f} {rows[0][1]:8} "
              f"{rows[0][2]:7}  {kernel}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--cases", required=True, help="names of cases, separated by commas")
    parser.add_argument("--precision", choices=["float32", "tf32", "bf16"], default="float32")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--rows", type=int, default=25, help="kernels of a table")
    options = parser.parse_args()
    options.build = options.build.resolve()
    cases = {name: case for suite in reversed(SUITES.values()) for name, case in suite.items()}  # the first of a name
    names = options.cases.split(",")
    for name in names:
        if name not in cases:
            parser.error(f"there is no case '{name}'; expected: {', '.join(cases)}")
    failed = 0
    for name in names:
        case = {**cases[name], "device": "cuda", "precision": options.precision, "threads": 1, "seed": 0}
        try:
            report(options, name, case)
        except (OSError, Problem) as error:
            print(f"gpu_kernels.py: error: {name}: {error}", file=sys.stderr, flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
