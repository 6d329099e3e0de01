#!/usr/bin/env python3
"""Evaluates the points of a table and appends them to another one: objective.py POINTS.csv RESULTS.csv

Stands for an experiment or a training: the loss as a function of a learning rate, a number of layers and a dropout.
"""

import csv
import math
import pathlib
import sys


def loss(point):
    rate, layers, dropout = (float(point[name]) for name in ("learning_rate", "layers", "dropout"))
    return (math.log10(rate) + 2.6) ** 2 + 0.1 * abs(layers - 5) + (dropout - 0.1) ** 2


def main():
    points_path, results_path = map(pathlib.Path, sys.argv[1:3])
    points = list(csv.DictReader(line for line in points_path.open() if not line.startswith("#")))
    new = not results_path.exists()
    with results_path.open("a", newline="") as file:
        table = csv.DictWriter(file, fieldnames=[*points[0], "value"])
        if new:
            table.writeheader()
        table.writerows({**point, "value": f"{loss(point):.5f}"} for point in points)


if __name__ == "__main__":
    main()
