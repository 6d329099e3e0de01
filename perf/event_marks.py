#!/usr/bin/env python3
"""Time and memory of `npzoo fit events` on logs whose marks are HTTP codes: event_marks.py NPZOO … [--events 10000 100000 1000000]

A log is one sequence of requests: a time in seconds and the code 200, 404 or 500 (shares 90, 8 and 2 %). The rate is one request in
ten seconds on average and has a daily rhythm. The table shows each program's wall time, processor time and peak resident memory.
A run that needs more than --limit-mb of address space or --cpu-limit seconds of processor time is reported as `out of memory` or `too long`.
The table names a program by its file: make a link with a clear name for each."""

import argparse
import math
import os
import pathlib
import random
import resource
import signal
import subprocess
import tempfile
import time

DAY, MEAN_GAP, SWING = 86400, 10, 0.6  # seconds; the rate is between 1 - SWING and 1 + SWING of its mean
MARKS, SHARES = (200, 404, 500), (0.90, 0.08, 0.02)


def write_log(path, count, seed):
    """Draws times by thinning and writes them with milliseconds. No two are equal, which older versions of npzoo refuse."""
    draw, at, seen, last = random.Random(seed), 0.0, 0, ""
    with open(path, "w") as file:
        file.write("sequence,time,mark\n")
        while seen < count:
            at += draw.expovariate((1 + SWING) / MEAN_GAP)
            if draw.random() * (1 + SWING) > 1 + SWING * math.sin(2 * math.pi * at / DAY):
                continue
            if last != (last := f"{at:.3f}"):
                file.write(f"1,{last},{draw.choices(MARKS, SHARES)[0]}\n")
                seen += 1


def measure(command, options):
    """Runs a command. Returns its outcome, its lines, wall and processor seconds and peak MB."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, 2 * (options.limit_mb * 1_000_000,))
        resource.setrlimit(resource.RLIMIT_CPU, (options.cpu_limit, options.cpu_limit + 5))

    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit)
    lines = process.stdout.read().splitlines()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = " ".join(lines).lower()
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        end = "too long"
    elif process.returncode == 0:
        end = "done"
    else:
        end = "out of memory" if "memory" in text or "bad_alloc" in text else f"exit status {process.returncode}"
    return end, lines, time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npzoo", nargs="+")
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--cpu-limit", type=int, default=1800, help="seconds of processor time of a run")
    parser.add_argument("--limit-mb", type=int, default=8000, help="address space of a run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="print what each run prints")
    options = parser.parse_args()
    print("| events | program | result | s | processor s | peak MB |\n|---:|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder, "log.csv")
        for count in options.events:
            write_log(table, count, options.seed)
            for program in options.npzoo:
                command = [program, "fit", "events", table, "--clock", DAY, "--parts", 24,
                           "--out", pathlib.Path(folder, "best.toml")]
                end, lines, wall, cpu, peak = measure(command, options)
                print(f"| {count:,} | {pathlib.Path(program).name} | {end} | {wall:.1f} | {cpu:.1f} | {peak:.0f} |", flush=True)
                if options.verbose:
                    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
