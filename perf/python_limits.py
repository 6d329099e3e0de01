#!/usr/bin/env python3
"""The cost of a call of the Python package beside C++, and the memory of large tables: perf/python_limits.py BUILD [--rows N]

First the time of one small task (10 points, 10 targets, npzoo/gp-rbf) in Python and by the C interface (BUILD/perf/call_bench),
in turn: medians, and the tenth of the fastest calls. Then the peak memory of processes that read and return N rows, beside what
their arrays take. Needs an installed package with pandas."""

import argparse
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

CONTEXT = TARGETS = 10


def python_call(calls):
    """Median and tenth of the fastest, in microseconds."""
    import npzoo

    model = npzoo.load("npzoo/gp-rbf")
    xc = (0.3 * np.arange(CONTEXT) - 1.5)[:, None]
    yc = 0.1 * np.arange(CONTEXT)[:, None]
    xt = (0.2 * np.arange(TARGETS) - 1)[:, None]
    times = []
    for _ in range(calls):
        begin = time.perf_counter_ns()
        p = model.predict(xc, yc, xt)
        p.mean, p.std
        times.append((time.perf_counter_ns() - begin) / 1e3)
    times.sort()
    return times[len(times) // 2], times[len(times) // 10]


def overhead(build, rounds, calls):
    ours, theirs = [], []
    for _ in range(rounds):
        text = subprocess.run([build / "perf/call_bench", str(calls)], capture_output=True, text=True, check=True).stdout
        theirs.append([float(word) for word in text.split()])
        text = subprocess.run([sys.executable, __file__, str(build), "--call", str(calls)], capture_output=True, text=True, check=True).stdout
        ours.append([float(word) for word in text.split()])
    print("| one small task | median µs | fastest tenth µs |\n|---|---:|---:|")
    for name, rows in (("C", theirs), ("Python", ours)):
        print(f"| {name} | {statistics.median(r[0] for r in rows):.1f} | {statistics.median(r[1] for r in rows):.1f} |")
    print(f"| overhead | {statistics.median(o[0] - t[0] for o, t in zip(ours, theirs)):.1f} | "
          f"{statistics.median(o[1] - t[1] for o, t in zip(ours, theirs)):.1f} |")


def present():
    """The memory that this process has now, in bytes."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def kinds(rows):
    """Tables of one and two inputs, the bytes of the arrays that a call reads and returns, and the call."""
    import pandas

    import npzoo

    rng = np.random.default_rng(0)
    x, y = np.arange(rows, dtype=np.float64), np.sin(np.arange(rows) / 40)
    y[rng.uniform(size=rows) < 0.1] = np.nan
    table = {"x": x, "y": y}
    yield "fill, a dictionary", 16 * rows, 16 * rows, lambda: npzoo.fill(table)
    yield "fill, a dictionary with two quantiles", 16 * rows, 32 * rows, lambda: npzoo.fill(table, quantiles=[0.05, 0.95])
    frame = pandas.DataFrame({"time": pandas.date_range("2000-01-01", periods=rows, freq="min"), "y": y})
    yield "fill, a frame with dates", 16 * rows, 16 * rows, lambda: npzoo.fill(frame)
    lon, lat = rng.uniform(0, 50, (2, rows))
    chart = {"lon": lon, "lat": lat, "z": np.where(np.isnan(y), np.nan, np.sin(lon) + np.cos(lat))}
    yield "fill, a map", 24 * rows, 16 * rows, lambda: npzoo.fill(chart)
    model = npzoo.load("npzoo/gp-rbf")
    xt = np.linspace(-2, 2, rows)[:, None]

    def predict():
        p = model.predict([[0.0], [1.0]], [[0.5], [-0.5]], xt)
        return p.mean, p.std

    yield "predict", 8 * rows, 16 * rows, predict


def memory(rows):
    print(f"\n| {rows:,} rows | s | arrays read MB | returned MB | peak MB above the arrays read |\n|---|---:|---:|---:|---:|")
    for number, (name, read, returned, _) in enumerate(kinds(8)):
        text = subprocess.run([sys.executable, __file__, ".", "--kind", str(number), "--rows", str(rows)], capture_output=True, text=True,
                              check=True).stdout
        seconds, used = (float(word) for word in text.split())
        print(f"| {name} | {seconds:.1f} | {read / 8 * rows / 1e6:.0f} | {returned / 8 * rows / 1e6:.0f} | {used / 1e6:.0f} |", flush=True)


def highest():
    """The most memory that this process has had since its peak was set back, in bytes."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measure(number, rows):
    """Prints the seconds of a call, and its peak memory above what the process had before it, in bytes."""
    list(kinds(2000))[number][3]()  # loads weights and starts threads
    call = list(kinds(rows))[number][3]
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # sets the peak back: making the table does not count
    before, begin = present(), time.perf_counter()
    call()
    seconds = time.perf_counter() - begin
    print(seconds, highest() - before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--call", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--kind", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call:
        print(*python_call(options.call))
    elif options.kind is not None:
        measure(options.kind, options.rows)
    else:
        overhead(options.build, options.rounds, options.calls)
        memory(options.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
