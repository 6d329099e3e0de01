#!/usr/bin/env python3
"""Steps until an optimum is known to 1 %: ask_tell.py NPZOO [--seeds 5] [--steps 60] [--out FILE.md]

Three test functions, minimised as a user of `npzoo optimise` would: one point is asked for, evaluated, appended to the table. Beside
it stand scikit-optimize's ask and tell with its defaults but for the length of the design, which is npzoo's, and random points
(requirements.txt). All of them take their turns in one run, seed by seed. A run has arrived where the best value so far is off
the minimum by at most 1 % of the minimum's magnitude. Functions: Forrester et al. (2008), Branin and Hartmann 6 as in Dixon and Szegö (1978).
"""

import argparse
import csv
import io
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

A = [[10, 3, 17, 3.5, 1.7, 8], [.05, 10, 17, .1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, .05, 10, .1, 14]]
P = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991], [2348, 1451, 3522, 2883, 3047, 6650],
     [4047, 8828, 8732, 5743, 1091, 381]]


def forrester(x):
    return (6 * x - 2)**2 * math.sin(12 * x - 4)


def branin(x, y):
    return (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6)**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann6(*x):
    return -sum(c * math.exp(-sum(a * (u - p / 1e4)**2 for a, u, p in zip(row, x, at, strict=True)))
                for c, row, at in zip([1, 1.2, 3, 3.2], A, P, strict=True))


# The function, its box, its minimum.
FUNCTIONS = {"Forrester": (forrester, [(0, 1)], -6.020740), "Branin": (branin, [(-5, 10), (0, 15)], 0.397887),
             "Hartmann 6": (hartmann6, [(0, 1)] * 6, -3.322368)}


def npzoo(program, box, f, seed, flags):
    with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
        space, table = pathlib.Path(folder) / "space.toml", pathlib.Path(folder) / "results.csv"
        names = [f"x{i}" for i in range(len(box))]
        space.write_text("".join(f'[[axis]]\nname = "{n}"\nlow = {low}\nhigh = {high}\n' for n, (low, high) in zip(names, box, strict=True)))
        table.write_text(",".join(names) + ",value\n")
        while True:
            done = subprocess.run([program, "optimise", "--space", space, "--tell", table, "--seed", str(seed), *flags],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
            point = [float(cell) for cell in list(csv.reader(io.StringIO(done.stdout)))[1]]
            value = f(*point)
            with table.open("a") as file:
                file.write(",".join(map(repr, [*point, value])) + "\n")
            yield value


def scikit_optimize(box, f, seed):
    import skopt  # of requirements.txt
    optimiser = skopt.Optimizer([(float(low), float(high)) for low, high in box], n_initial_points=2 * (len(box) + 1), random_state=seed,
                                initial_point_generator="sobol")
    while True:
        point = optimiser.ask()
        value = f(*point)
        optimiser.tell(point, value)
        yield value


def at_random(box, f, seed):
    draw = random.Random(seed)
    while True:
        yield f(*[draw.uniform(low, high) for low, high in box])


def steps_to(values, minimum, most):
    """Evaluations until within 1 %, None where that takes more than `most`; and the least gap."""
    least = math.inf
    for step in range(1, most + 1):
        least = min(least, next(values) - minimum)
        if least <= .01 * abs(minimum):
            return step, least
    return None, least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npzoo")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--out", type=pathlib.Path)
    a = parser.parse_args()
    methods = {
        "npzoo": lambda *run: npzoo(a.npzoo, *run, []),
        "npzoo, Gaussian process": lambda *run: npzoo(a.npzoo, *run, ["--gaussian-process"]),
        "scikit-optimize": scikit_optimize,
        "random": at_random,
    }
    lines = ["| function | method | arrived | median steps | median gap in the end | s per step |", "|---|---|---|---|---|---|"]
    for name, (f, box, minimum) in FUNCTIONS.items():
        found = {method: [] for method in methods}
        for seed in range(a.seeds):
            for method, run in methods.items():
                began = time.monotonic()
                step, gap = steps_to(run(box, f, seed), minimum, a.steps)
                found[method].append((step or math.inf, gap, (time.monotonic() - began) / (step or a.steps)))
        for method, runs in found.items():
            steps, gaps, seconds = (statistics.median(column) for column in zip(*runs, strict=True))
            arrived = sum(step <= a.steps for step, _, _ in runs)
            shown = f"{steps:g}" if steps <= a.steps else f"> {a.steps}"
            lines.append(f"| {name} | {method} | {arrived} of {a.seeds} | {shown} | {gaps:.2g} | {seconds:.2f} |")
            print(lines[-1], flush=True)
    if a.out:
        a.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
