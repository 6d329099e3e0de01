#!/usr/bin/env python3
"""Compares the Python package with the program, and interrupts its calls: perf/python_calls.py [--instants N] [--only CALL]

First ten tables of one input, two maps and the evaluations of four weights: the largest difference between the package and
the program, in the last of the nine digits that the program writes; evaluations have to be equal to the last bit. Then each
long call is interrupted by SIGINT at N random instants: the longest time until KeyboardInterrupt, and whether the next call
returns the figures of an undisturbed one. On a machine that others use as well, --threads 1, the milliseconds of the
processor and those without the main thread's waits for a core (Linux counts these) say how much work a call goes on with.
Needs an installed package. Ends with 1 if figures differ."""

import argparse
import csv
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import numpy as np

import npzoo


def program(*arguments):
    return subprocess.run([sys.executable, "-m", "npzoo", *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def gaps(values, share, rng):
    return np.where(rng.uniform(size=len(values)) < share, np.nan, values)


def series_tables():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 60))
    walk = np.cumsum(rng.normal(size=80))
    t = np.arange(80.0)
    noise = rng.normal(size=60)
    yield "smooth", {"x": x, "y": gaps(np.sin(x), 0.3, rng)}, {}
    yield "noisy", {"x": x, "y": gaps(np.sin(x) + 0.3 * noise, 0.3, rng)}, {}
    yield "a large level", {"x": x, "y": gaps(1e9 + np.sin(x), 0.3, rng)}, {}
    yield "small values", {"x": x, "y": gaps(1e-9 * np.sin(x), 0.3, rng)}, {}
    yield "a walk", {"t": t, "y": gaps(walk, 0.5, rng)}, {}
    yield "a cycle", {"t": t, "y": gaps(np.cos(np.pi * t / 6), 0.4, rng)}, {}
    yield "places twice", {"x": np.repeat(t[:30], 2), "y": gaps(np.sin(np.repeat(t[:30], 2)) + noise, 0.2, rng)}, {}
    yield "two values", {"x": x, "a": gaps(np.exp(np.sin(x)), 0.3, rng), "b": gaps(noise, 0.3, rng)}, {}
    yield "groups", {"x": np.tile(t[:20], 3), "y": gaps(np.sin(np.tile(t[:20], 3) / 3), 0.2, rng),
                     "station": np.repeat(["north", "south", "west"], 20)}, {"group": "station"}
    yield "local contexts", {"t": np.arange(1500.0), "y": gaps(np.sin(np.arange(1500.0) / 20), 0.1, rng)}, {}


def maps():
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(0, 5, (2, 200))
    yield "a small map", {"lon": lon, "lat": lat, "z": gaps(np.sin(lon) * lat, 0.3, rng)}, {}
    lon, lat = rng.uniform(0, 5, (2, 1600))
    yield "a large map", {"lon": lon, "lat": lat, "z": gaps(np.sin(3 * lon) * np.cos(lat), 0.3, rng)}, {}


def written(value):
    return "" if isinstance(value, float) and np.isnan(value) else repr(value) if isinstance(value, float) else str(value)


def difference(table, options, folder):
    """The largest difference between fill and the program's table, in units of the last digit written."""
    path = folder / "table.csv"
    rows = zip(*(np.asarray(column).tolist() for column in table.values()))
    path.write_text("\n".join([",".join(table), *(",".join(map(written, row)) for row in rows)]) + "\n")
    flags = [part for name, value in options.items() for part in ("--" + name, value)]
    lines = [line for line in program("predict", path, "--digits", 9, *flags).splitlines() if not line.startswith("#")]
    told = list(csv.DictReader(lines))
    filled = npzoo.fill(table, **options)
    worst = 0.0
    for name in (n for n in filled if n.startswith(("mean_", "std_"))):
        figures = np.array([float(row[name]) for row in told])
        std = np.array([float(row["std_" + name.split("_", 1)[1]]) for row in told])
        unit = np.maximum(10.0 ** (np.floor(np.log10(std)) - 8), np.spacing(np.abs(figures)))
        worst = max(worst, float(np.max(np.abs(figures - filled[name]) / unit)))
    return worst


def figures_agree():
    agree = True
    print("| table | rows | largest difference, last digits |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        for what, table, options in [*series_tables(), *maps()]:
            worst = difference(table, options, pathlib.Path(name))
            agree = agree and worst <= 0.5 + 1e-6  # rounding
            print(f"| {what} | {len(next(iter(table.values())))} | {worst:.3f} |", flush=True)
    for weights in ("npzoo/gp-rbf", "npzoo/any-1d", "npzoo/any-2d", "np:tnp/gp-rbf"):
        told = json.loads(program("eval", "--checkpoint", weights, "--batches", 2, "--json"))
        found = [wrong for row, other in zip(npzoo.evaluate(weights, batches=2), told, strict=True) for wrong in differing(row, other)]
        agree = agree and not found
        print(f"eval {weights}: {'different: ' + ', '.join(found) if found else 'equal to the last bit'}", flush=True)
    return agree


def differing(row, told):
    """The figures of a test that are not those of the program; NaN is its null."""
    flat = {**told, **{f"coverage.{level}": share for level, share in told["coverage"].items()}}
    figures = {**row["figures"], **{f"{name}_error": error for name, error in row["standard_errors"].items()}}
    figures["standard_error"] = figures.pop(f"{row['headline']}_error")
    return [name for name, value in figures.items() if (None if np.isnan(value) else value) != flat.get(name, "missing")]


def long_calls():
    """Calls that take most of a second, and what of their results must not change."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 1000, 12_000))
    series = {"x": x, "y": gaps(np.sin(x), 0.3, rng)}
    truth = {"x": x, "y": np.sin(x)}
    lon, lat = rng.uniform(0, 5, (2, 3_000))
    chart = {"lon": lon, "lat": lat, "z": gaps(np.sin(3 * lon), 0.5, rng)}
    image = (rng.uniform(size=(90, 90)) * 255).astype(np.uint8)
    hawkes = npzoo.train("events/hawkes", "thp-plus", steps=2, batch_size=2, progress=False).model
    model = npzoo.load("npzoo/any-1d")
    tasks = rng.normal(size=(64, 400, 1))
    space = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}

    times = np.cumsum(rng.exponential(size=200))
    known = [dict(zip("abc", rng.uniform(size=3).tolist())) for _ in range(120)]

    def optimise():
        search = npzoo.Optimiser(space, seed=0)
        search.tell(known, [p["a"] + p["b"] ** 2 for p in known])
        return search.ask(4)

    yield "fill, 12,000 rows", lambda: npzoo.fill(series)["mean_y"][:2000].tolist()
    yield "fill, map of 3,000 rows", lambda: npzoo.fill(chart)["mean_z"][:2000].tolist()
    yield "score", lambda: npzoo.score(series, truth)[0]["crps"]
    yield "train", lambda: npzoo.train("quick/gp1d", "cnp", steps=200, progress=False).loss
    yield "evaluate", lambda: npzoo.evaluate("npzoo/gp-rbf", batches=40)[0]["figures"]
    yield "predict, 64 tasks", lambda: model.predict(tasks, tasks, tasks).mean.tolist()[0][:5]
    yield "complete, 90 × 90", lambda: npzoo.complete(image, 0.1).mean[0].tolist()
    yield "events.next", lambda: npzoo.events.next(times, weights=hawkes, samples=200, horizon=50.0, seed=1)[0].mean
    yield "Optimiser.ask", optimise


def clocks():
    """Seconds: the clock, the clock without the main thread's waits for a core, and the processor (all threads)."""
    waited = int(pathlib.Path(f"/proc/{os.getpid()}/schedstat").read_text().split()[1]) / 1e9
    now = time.perf_counter()
    return now, now - waited, time.process_time()


def interrupt(call, delay):
    """Milliseconds of each of clocks() from the signal to KeyboardInterrupt; none if the call ended before."""
    sent = []

    def send():
        time.sleep(delay)
        sent.append(clocks())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    late = None
    try:
        sender.start()
        call()
        sender.join()
        time.sleep(0.05)
    except KeyboardInterrupt:
        late = tuple(1e3 * (now - then) for now, then in zip(clocks(), sent[0]))
    sender.join()
    return late


def interruptions(instants, only):
    unchanged = True
    draw = random.Random(0)
    print("| call | s | interrupted | median ms | longest ms | longest ms on a core | longest processor ms | next call |\n"
          "|---|---:|---:|---:|---:|---:|---:|---|")
    for what, call in long_calls():
        if not what.startswith(only):
            continue
        begin = time.perf_counter()
        expected = call()
        seconds = time.perf_counter() - begin
        late = []
        for _ in range(instants):
            found = interrupt(call, draw.uniform(0, 0.9 * seconds))
            if found is not None:
                late.append(found)
        interrupted = len(late)
        same = call() == expected
        unchanged = unchanged and same
        wall, on_core, processor = zip(*(late or [(0.0, 0.0, 0.0)]))
        print(f"| {what} | {seconds:.2f} | {interrupted} of {instants} | {statistics.median(wall):.0f} | {max(wall):.0f} | "
              f"{max(on_core):.0f} | {max(processor):.0f} | {'the same' if same else 'DIFFERENT'} |", flush=True)
    return unchanged


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instants", type=int, default=100)
    parser.add_argument("--only", default="", metavar="CALL", help="how the calls begin that are interrupted; figures are not compared then")
    parser.add_argument("--threads", type=int, default=0, help="of the interrupted calls; 0: all cores")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    agree = True if options.only else figures_agree()
    npzoo.set_threads(options.threads)
    return 0 if interruptions(options.instants, options.only) and agree else 1


if __name__ == "__main__":
    sys.exit(main())
