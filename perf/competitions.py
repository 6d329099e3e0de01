#!/usr/bin/env python3
"""npzoo on the series of M3, M1, Tourism, NN3 and NN5: competitions.py NPZOO FOLDER [--sets m3 m1 …] [--rivals] [--most 100]

FOLDER has m3.csv.gz, m1.csv.gz, tourism.csv.gz, nn3.csv.gz and nn5.csv.gz with the columns series, period, type, horizon, part (known,
future), t and value. npzoo is told nothing (`found`) and told the season (`told`); rivals of statsforecast and flaircast are told it.

Scores are those of each series, then the mean. sMAPE is the mean of 200 |y − f| / (|y| + |f|), f the median; MAPE is that of 100 |y − f| / |y|.
MASE and the quantile loss (mean over .1 … .9 of 2 max(q (y − f_q), (q − 1) (y − f_q))) are in mean errors of the seasonal naive forecast on the
known part; series on which that is 0 are left out. Coverage is that of the 95 % interval. One thread, so that seconds of methods can be compared.

Needs: pip install numpy pandas; for --rivals also statsforecast flaircast
"""

import argparse
import collections
import csv
import gzip
import os
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
PERIODS = {"yearly": 1, "quarterly": 4, "monthly": 12, "other": 1, "daily": 7}
FREQUENCIES = {1: "YE", 4: "QE", 12: "ME", 7: "D"}
DECILES = np.arange(1, 10) / 10
LEVELS = [0.025, *DECILES, 0.975]
Series = collections.namedtuple("Series", "name kind period known future")
Forecast = collections.namedtuple("Forecast", "quantiles seconds")  # (horizon, LEVELS)


def read(path):
    rows = collections.defaultdict(lambda: ([], []))
    kinds = {}
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            kinds[row["series"]] = row["period"].lower()
            rows[row["series"]][row["part"] == "future"].append(float(row["value"]) if row["value"] not in ("", "NA") else np.nan)
    return [Series(name, kinds[name], PERIODS[kinds[name]], np.array(known), np.array(future)) for name, (known, future) in rows.items()]


def npzoo(program, series, told):
    """All series of a period in one call, as groups. They stay apart: each t counts from the beginning of its own series."""
    for period in sorted({s.period for s in series}):
        some = [s for s in series if s.period == period]
        with tempfile.TemporaryDirectory() as made:
            table, out = pathlib.Path(made) / "table.csv", pathlib.Path(made) / "out.csv"
            with open(table, "w") as file:
                file.write("series,t,y\n")
                for s in some:
                    for t, value in enumerate([*s.known, *np.full(len(s.future), np.nan)]):
                        if t >= len(s.known) or not np.isnan(value):
                            file.write(f"{s.name},{t},{'' if np.isnan(value) else repr(float(value))}\n")
            began = time.perf_counter()
            subprocess.run([program, "predict", table, "--group", "series", "--inputs", "t", "--values", "y", "--digits", "9", "--threads", "1", "--columns-apart",
                            "--quantiles", ",".join(f"{q:g}" for q in LEVELS), "--out", out, *(["--period", str(period)] if told and period > 1 else [])],
                           check=True, stderr=subprocess.DEVNULL)
            seconds = (time.perf_counter() - began) / len(some)
            rows = collections.defaultdict(list)
            with open(out) as file:
                for row in csv.DictReader(line for line in file if not line.startswith("#")):
                    rows[row["series"]].append([float(row[f"q{q:g}_y"]) for q in LEVELS])
        for s in some:
            yield s, Forecast(np.array(rows[s.name][-len(s.future):]), seconds)


def rivals(s):
    """Forecasts of a series by each rival, told the season."""
    from flaircast import flair_forecast
    from scipy.stats import norm
    from statsforecast.models import AutoCES, AutoETS, AutoTheta, SeasonalNaive

    y, horizon = pd.Series(s.known).interpolate().bfill().values, len(s.future)
    for model in (AutoETS(s.period), AutoTheta(s.period), AutoCES(s.period), SeasonalNaive(s.period)):
        began = time.perf_counter()
        said = model.forecast(y=y, h=horizon, level=[95])
        std = (said["hi-95"] - said["lo-95"]) / (2 * norm.ppf(0.975))
        yield str(model), Forecast(said["mean"][:, None] + std[:, None] * norm.ppf(LEVELS), time.perf_counter() - began)
    began = time.perf_counter()
    paths = np.asarray(flair_forecast(y, horizon, FREQUENCIES[s.period], seed=0)).reshape(-1, horizon)
    yield "FLAIR", Forecast(np.quantile(paths, LEVELS, axis=0).T, time.perf_counter() - began)


def score(s, forecast):
    """sMAPE, MAPE, MASE, quantile loss, coverage and seconds; None without a scale."""
    errors = np.abs(s.known[s.period :] - s.known[: -s.period])
    scale = np.nanmean(errors) if len(errors) else 0
    if not scale > 0:
        return None
    at = ~np.isnan(s.future)
    y, q = s.future[at], forecast.quantiles[at]
    median, away = q[:, LEVELS.index(0.5)], y[:, None] - q[:, 1:-1]
    loss = 2 * np.maximum(DECILES * away, (DECILES - 1) * away)
    with np.errstate(divide="ignore", invalid="ignore"):
        mape = np.mean(100 * np.abs(y - median) / np.abs(y))
        smape = np.mean(np.nan_to_num(200 * np.abs(y - median) / (np.abs(y) + np.abs(median))))
    return smape, mape, np.mean(np.abs(y - median)) / scale, loss.mean() / scale, 100 * np.mean((y >= q[:, 0]) & (y <= q[:, -1])), forecast.seconds


def print_table(title, scores):
    """Methods by their quantile loss; MAPE is infinite where a value is 0."""
    print(f"\n{title}\n\n| | sMAPE | MAPE | MASE | quantile loss | 95 % | s a series |\n|---|---:|---:|---:|---:|---:|---:|")
    means = {name: np.mean([row for row in rows if row is not None], axis=0) for name, rows in scores.items()}
    for name, (smape, mape, mase, loss, inside, seconds) in sorted(means.items(), key=lambda item: item[1][3]):
        print(f"| {name} | {smape:.2f} | {f'{mape:.1f}' if np.isfinite(mape) else '–'} | {mase:.3f} | {loss:.3f} | {inside:.1f} | {seconds:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sets", nargs="+", default=["m3", "m1", "tourism", "nn3", "nn5"])
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--most", type=int, default=10**6, help="series of each set")
    args = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    for name in args.sets:
        series = read(args.folder / f"{name}.csv.gz")[: args.most]
        scores, by_kind = collections.defaultdict(list), collections.defaultdict(lambda: collections.defaultdict(list))

        def add(method, s, forecast):
            row = score(s, forecast)
            scores[method].append(row)
            by_kind[s.kind][method].append(row)

        for told in (False, True):
            for s, forecast in npzoo(args.npzoo, series, told):
                add(f"npzoo, {'told' if told else 'found'}", s, forecast)
        for s in series if args.rivals else []:
            for method, forecast in rivals(s):
                add(method, s, forecast)
        print_table(f"{name.upper()}, {len(series)} series:", scores)
        for kind, of_kind in by_kind.items() if len(by_kind) > 1 else []:
            print_table(f"{name.upper()}, {kind}, {len(next(iter(of_kind.values())))} series:", of_kind)


if __name__ == "__main__":
    main()
