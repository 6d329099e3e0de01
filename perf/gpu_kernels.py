#!/usr/bin/env python3
"""Tells which kernels the time of a case of perf/compare.py goes to, as NVIDIA's profiler (ncu) sees them:

    ninja -C build perf/perf_worker
    perf/gpu_kernels.py --worker build/perf/perf_worker --cases gp1d-training,tnp-d-context-1e4 --precision bf16

The program runs three and then four repetitions; what it launches more the second time is one repetition. Kernels run one by
one there, so the sum lacks the time between them and what runs side by side.
"""

import argparse
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from compare_cases import SUITES
from compare_programs import ROOT
from gpu_check import tool

METRICS = {"gpu__time_duration.sum": 1e-3, "dram__bytes.sum": 1e-6, "launch__grid_size": 1, "launch__block_size": 1}


def launches(options, case, repetitions):
    """[(name, [µs, MB, blocks, threads of a block])] in the order of launching."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        command = [options.ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--metrics",
                   ",".join(METRICS), "--log-file", log, options.worker, json.dumps(case)]
        done = subprocess.run(list(map(str, command)), input=json.dumps({"run": repetitions}) + "\n", text=True, cwd=ROOT,
                              capture_output=True, timeout=300)
        lines = [line for line in log.read_text().splitlines() if line.startswith('"')] if log.exists() else []
        if done.returncode != 0 or not lines:
            told = (done.stderr.strip() or done.stdout.strip() or (log.read_text() if log.exists() else "")).splitlines()
            raise RuntimeError(f"ncu ended with status {done.returncode}: {' / '.join(told[-3:])}")
    rows = csv.DictReader(lines)
    next(rows)  # units
    return [(row["Kernel Name"], [scale * float(row[metric].replace(",", "")) for metric, scale in METRICS.items()])
            for row in rows]


def short(name):
    """Without what all have in common, and without types of arguments."""
    name = re.sub(r"npzoo::|<unnamed>::|\(anonymous namespace\)::|\bvoid |\bcuda::", "", name)
    return re.sub(r"\(.*$", "", name)[:110]


def report(options, name, case):
    few, many = launches(options, case, 3), launches(options, case, 4)
    once = many[len(few):]
    kernels = collections.defaultdict(list)
    for kernel, figures in once:
        kernels[short(kernel)].append(figures)
    total = sum(figures[0] for _, figures in once)
    print(f"\n## {name}, {case['precision']}: {len(once)} launches, {total:.0f} µs")
    print(f"{'µs':>9} {'share':>6} {'count':>5} {'µs each':>8} {'GB/s':>6} {'blocks':>8} {'threads':>7}  kernel")
    for kernel, rows in sorted(kernels.items(), key=lambda item: -sum(row[0] for row in item[1]))[:options.rows]:
        time, megabytes = sum(row[0] for row in rows), sum(row[1] for row in rows)
        print(f"{time:9.1f} {100 * time / total:5.1f}% {len(rows):5} {time / len(rows):8.2f} {1e3 * megabytes / time:6.0f} "
              f"{rows[0][2]:8.0f} {rows[0][3]:7.0f}  {kernel}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=pathlib.Path, default=ROOT / "build/perf/perf_worker")
    parser.add_argument("--cases", required=True, help="names of cases, separated by commas")
    parser.add_argument("--precision", choices=["float32", "tf32", "bf16"], default="float32")
    parser.add_argument("--rows", type=int, default=25, help="kernels of a table")
    options = parser.parse_args()
    options.worker = options.worker.resolve()
    options.ncu = tool("ncu")
    if not options.ncu:
        parser.error("there is no ncu (NVIDIA Nsight Compute)")
    cases = {name: case for suite in SUITES.values() for name, case in suite.items()}
    failed = 0
    for name in options.cases.split(","):
        if name not in cases:
            parser.error(f"there is no case '{name}'; expected: {', '.join(cases)}")
    for name in options.cases.split(","):
        case = {**cases[name], "device": "cuda", "precision": options.precision, "threads": 1, "seed": 0}
        try:
            report(options, name, case)
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"gpu_kernels.py: error: {name}: {error}", file=sys.stderr, flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
