#!/usr/bin/env python3
"""Coverage and CRPS of forecasts with covariates, on made-up tables: covariate_coverage.py REPEATS NPZOO...

Values are linear in normal covariates plus noise of deviation 1. Covariates of the ten rows to predict are as wide as the
observed ones, or several times as wide. Each program gets the same tables."""

import csv
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = [  # observed rows, covariates, their width in rows to predict, share of them with an effect
    (15, 3, 1, 1), (30, 3, 1, 1), (30, 6, 1, 0.3), (15, 3, 3, 1), (30, 3, 3, 1), (30, 6, 3, 0.3), (15, 3, 10, 1), (30, 3, 10, 1),
    (30, 3, 10, 0.3), (60, 3, 10, 1)]
ASKED = 10


def crps(y, mean, std):
    """That of a Gaussian."""
    z = (y - mean) / std
    below, density = (1 + math.erf(z / math.sqrt(2))) / 2, math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return std * (z * (2 * below - 1) + 2 * density - 1 / math.sqrt(math.pi))


def draw(random_numbers, rows, covariates, width, share):
    """Returns the lines of a table, and the values of the rows to predict."""
    effects = [random_numbers.gauss(0, 2) if random_numbers.random() < share else 0 for _ in range(covariates)]
    lines, truth = [",".join(["t", *(f"c{k}" for k in range(covariates)), "y"])], []
    for t in range(rows + ASKED):
        at = [round(random_numbers.gauss(0, width if t >= rows else 1), 4) for _ in effects]
        y = sum(e * a for e, a in zip(effects, at)) + random_numbers.gauss(0, 1)
        truth += [y] if t >= rows else []
        lines.append(",".join(map(str, [t, *at, "" if t >= rows else round(y, 4)])))
    return "\n".join(lines) + "\n", truth


def scores(program, folder, repeats, model, case):
    random_numbers, inside, total = random.Random(12), 0, 0.0
    for _ in range(repeats):
        text, truth = draw(random_numbers, *case)
        table, out = folder / "table.csv", folder / "out.csv"
        table.write_text(text)
        subprocess.run([program, "predict", table, "--out", out, "--inputs", "t", "--covariates", ",".join(f"c{k}" for k in range(case[1])),
                        "--quantiles", "0.025,0.975", "--model", model], check=True, capture_output=True)
        found = [row for row in csv.DictReader(out.open()) if not row["y"]]
        inside += sum(float(row["q0.025_y"]) <= y <= float(row["q0.975_y"]) for row, y in zip(found, truth))
        total += sum(crps(y, float(row["mean_y"]), float(row["std_y"])) for row, y in zip(found, truth))
    return f"{100 * inside / repeats / ASKED:5.1f} % {total / repeats / ASKED:7.3f}"


def main():
    repeats, programs = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        for model in ("auto", "gp"):
            for case in CASES:
                figures = [scores(program, Path(folder), repeats, model, case) for program in programs]
                print(model, "rows {}, covariates {}, width {}, share {}:".format(*case), " | ".join(figures), flush=True)


if __name__ == "__main__":
    main()
