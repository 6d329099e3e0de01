#!/usr/bin/env python3
"""How well a prediction with npzoo's weights covers exchange rates: exchange_rate.py NPZOO [--checkpoint NAME]

Repeats the README's example on 50 windows of 150 days of each of the eight currencies, at equal distances, and tells which
share of the days that were left out lies in the 95 % band: between observations, in the gap and beyond the end.
The file is exchange_rate.txt.gz of github.com/laiguokun/multivariate-time-series-data, looked for in --data, NPZOO_DATA and
../shared/data.
"""

import argparse
import csv
import gzip
import os
import pathlib
import subprocess
import tempfile

DAYS, WINDOWS, END, GAP = 150, 50, 135, range(70, 91)
FILE = "exchange_rate/exchange_rate.txt.gz"


def observed(day):
    """The rule of the README's example; days count from 1."""
    return day <= END and day not in GAP and day * day % 19 < 6


def kind(day):
    return "in the gap" if day in GAP else "beyond the end" if day > END else "between observations"


def predicted(program, checkpoint, rates, folder):
    """Mean and standard deviation of every day."""
    context, targets, out = (folder / name for name in ("context.csv", "targets.csv", "out.csv"))
    context.write_text("day,rate\n" + "".join(f"{day},{rates[day - 1]}\n" for day in range(1, DAYS + 1) if observed(day)))
    targets.write_text("day\n" + "".join(f"{day}\n" for day in range(1, DAYS + 1)))
    subprocess.run([program, "predict", "--checkpoint", checkpoint, "--context", context, "--targets", targets, "--out", out],
                   check=True, stderr=subprocess.DEVNULL)
    with out.open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(float(row["mean_rate"]), float(row["std_rate"])) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--checkpoint", default="tnp-d:tnp/gp-rbf")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(os.environ.get("NPZOO_DATA", "../shared/data")))
    options = parser.parse_args()
    with gzip.open(options.data / FILE, "rt") as file:
        table = [[float(rate) for rate in line.split(",")] for line in file]
    counts = {}  # kind of day: [inside, all]
    with tempfile.TemporaryDirectory() as folder:
        for currency in range(len(table[0])):
            for window in range(WINDOWS):
                first = window * (len(table) - DAYS) // (WINDOWS - 1)
                rates = [row[currency] for row in table[first:first + DAYS]]
                days = predicted(options.program, options.checkpoint, rates, pathlib.Path(folder))
                for day, (rate, (mean, std)) in enumerate(zip(rates, days, strict=True), start=1):
                    if observed(day):
                        continue
                    for name in (kind(day), "all"):
                        count = counts.setdefault(name, [0, 0])
                        count[0] += abs(rate - mean) < 1.96 * std
                        count[1] += 1
    for name, (inside, days) in counts.items():
        print(f"{name:<22} {inside:>6} of {days:>6}  {100 * inside / days:.1f} %")


if __name__ == "__main__":
    main()
