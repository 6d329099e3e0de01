#!/usr/bin/env python3
"""Forecasts of generated series of known shapes: forecast_shapes.py NPZOO [--series 40] [--kind rising] [--pictures DIR]

Seeded generators make series of each kind: rising and falling lines with noise, a level that shifts in the last third, counts that
are mostly 0, seasons that grow with an exponential level, smooth curves without noise, two sharp periods, and one season with noise.
Each series shows 60 to 240 steps and at least three seasons. The next season is hidden: the longer of two, 12 steps without one.

npzoo forecasts all series of a kind in one call: without a period (`npzoo`), by its weights alone (`weights`), and with the true
periods (`told`, one call for each set of periods). Counts are also forecast with `--counts`, which uses the weights alone. SeasonalNaive
and AutoETS get the shorter period. MSTL gets both. AutoETS ignores periods above 24.

The unit of errors is the mean error of the seasonal naive forecast on the shown part. Bias is the mean of forecast − truth over all
hidden steps, and at the last one, ± its standard error over series. For level shifts and smooth curves the sign follows the last
move: a positive bias goes too far, a negative one stays behind. CRPS is twice the mean pinball loss of 39 quantiles; rivals have
those of the Gaussian of their 95 % interval. std/RMSE is the mean predicted deviation divided by the root mean squared error of all
steps: values above 1 are too wide.

Needs: pip install statsforecast. NPZOO_WEIGHTS names the folder of the weights if they are not installed.
"""

import argparse
import collections
import csv
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np
from scipy.stats import norm

warnings.filterwarnings("ignore")
Series = collections.namedtuple("Series", "name periods horizon shown hidden direction")
Path = collections.namedtuple("Path", "mean std quantiles")
PROBABILITIES = np.arange(1, 40) / 40  # 0.025, 0.05, …, 0.975


def sharp_profile(rng, period):
    """A season with one or two peaks of a few steps on small waves."""
    profile = 0.3 * rng.standard_normal(period)
    for _ in range(rng.integers(1, 3)):
        profile[(rng.integers(period) + np.arange(max(1, period // 10))) % period] += rng.choice([-1, 1]) * rng.uniform(2, 4)
    return profile - profile.mean()


def cycle(profile, t):
    return profile[t % len(profile)]


def line(rng, t, sign):
    level = rng.choice([0, 50])  # half of the series are positive
    return level + sign * rng.uniform(0.03, 0.3) * t + rng.standard_normal(len(t)), [], 1


def rising(rng, t, shown):
    return line(rng, t, 1)


def falling(rng, t, shown):
    return line(rng, t, -1)


def level_shift(rng, t, shown):
    sign = rng.choice([-1, 1])
    at = rng.integers(2 * shown // 3, shown - 6)
    return rng.choice([0, 50]) + sign * rng.uniform(3, 8) * (t >= at) + rng.standard_normal(len(t)), [], sign


def intermittent(rng, t, shown):
    sales = rng.random(len(t)) < rng.uniform(0.1, 0.4)
    return sales * (1.0 + rng.poisson(rng.uniform(0.5, 4), len(t))), [], 1


def multiplicative(rng, t, shown):
    period = int(rng.choice([4, 7, 12]))
    profile = rng.uniform(0.1, 0.3) * sharp_profile(rng, period)
    growth = np.log(rng.uniform(2, 8)) / shown
    return 100 * np.exp(growth * t + cycle(profile, t) + rng.uniform(0.02, 0.1) * rng.standard_normal(len(t))), [period], 1


def smooth(rng, t, shown):
    if rng.random() < 0.5:
        y = 10 / (1 + np.exp(-(t - rng.uniform(0.3, 0.9) * shown) / rng.uniform(8, 25))) * rng.choice([-1, 1])
    else:
        y = sum(rng.uniform(0.5, 2) * np.sin(2 * np.pi * (t / rng.uniform(40, 150) + rng.random())) for _ in range(2))
    return y, [], np.sign(y[shown - 1] - y[shown - 2])


def two_periods(rng, t, shown):
    short, long = [(7, 30), (12, 48)][rng.integers(2)]
    y = cycle(sharp_profile(rng, short), t) + rng.uniform(0.7, 1.5) * cycle(sharp_profile(rng, long), t)
    return y + rng.uniform(0.1, 0.5) * rng.standard_normal(len(t)), [short, long], 1


def season(rng, t, shown):
    period = int(rng.choice([7, 12, 24]))
    profile = sharp_profile(rng, period)
    return cycle(profile, t) + rng.uniform(0.3, 1) * profile.std() * rng.standard_normal(len(t)), [period], 1


KINDS = {f.__name__: f for f in (rising, falling, level_shift, intermittent, multiplicative, smooth, two_periods, season)}


def make(kind, count):
    for i in range(count):
        for attempt in range(100):  # draws again if the length holds fewer than three seasons or no value changes
            rng = np.random.default_rng([41, list(KINDS).index(kind), i, attempt])
            shown = int(rng.integers(60, 241))
            y, periods, direction = KINDS[kind](rng, np.arange(shown + 60), shown)
            horizon, step = max(periods, default=12), min(periods, default=1)
            if 3 * horizon <= shown and np.abs(y[step:shown] - y[: shown - step]).mean() > 0:
                yield Series(f"{kind}-{i}", periods, horizon, y[:shown], y[shown : shown + horizon], direction)
                break


def rivals(series):
    from statsforecast.models import MSTL, AutoETS, SeasonalNaive

    period = min(series.periods, default=1)
    models = [SeasonalNaive(period), AutoETS(period)] + ([MSTL(series.periods)] if len(series.periods) > 1 else [])
    for model in models:
        began = time.perf_counter()
        found = model.forecast(y=series.shown, h=series.horizon, level=[95])
        std = np.maximum((found["hi-95"] - found["lo-95"]) / (2 * norm.ppf(0.975)), 1e-12)
        quantiles = found["mean"][:, None] + std[:, None] * norm.ppf(PROBABILITIES)
        yield str(model), Path(found["mean"], std, quantiles), time.perf_counter() - began


def write_table(file, some):
    file.write("series,t,y\n")
    for s in some:
        for t, value in enumerate([*map(float, s.shown), *[""] * s.horizon]):
            file.write(f"{s.name},{t},{value!r}\n" if value != "" else f"{s.name},{t},\n")


def predict(program, folder, some, more):
    """One call with the series as groups. Returns the rows behind the ends by series, and the seconds for a series."""
    table, out = folder / "table.csv", folder / "out.csv"
    with open(table, "w") as file:
        write_table(file, some)
    began = time.perf_counter()
    subprocess.run([program, "predict", table, "--group", "series", "--inputs", "t", "--values", "y", "--digits", "9", "--threads", "1",
                    "--quantiles", ",".join(f"{p:g}" for p in PROBABILITIES), "--out", out, *more], check=True, stderr=subprocess.DEVNULL)
    seconds = (time.perf_counter() - began) / len(some)
    rows = collections.defaultdict(list)
    with open(out) as file:
        for row in csv.reader(line for line in file if not line.startswith("#")):
            rows[row[0]].append(row)
    head = rows.pop("series")[0]
    first, mean, std = next(i for i, h in enumerate(head) if h.startswith("q")), head.index("mean_y"), head.index("std_y")
    for s in some:
        numbers = np.array([[float(v) for v in (row[mean], row[std], *row[first : first + len(PROBABILITIES)])]
                            for row in rows[s.name] if row[2] == ""])
        yield s, Path(numbers[:, 0], numbers[:, 1], numbers[:, 2:]), seconds


def npzoo(program, kind, some):
    variants = {"npzoo": [(some, [])], "npzoo, weights": [(some, ["--ends", "weights"])]}
    if some[0].periods:
        sets = sorted({tuple(s.periods) for s in some})
        variants["npzoo, told"] = [([s for s in some if tuple(s.periods) == p], ["--period", ",".join(map(str, p))]) for p in sets]
    if kind == "intermittent":
        variants["npzoo, counts"] = [(some, ["--counts"])]
    with tempfile.TemporaryDirectory() as made:
        for name, calls in variants.items():
            for part, more in calls:
                yield from ((name, *answer) for answer in predict(program, pathlib.Path(made), part, more))


def score(series, path):
    """Bias, bias at the end, absolute error, CRPS, coverage, deviation and squared error of one series."""
    step = min(series.periods, default=1)
    unit = np.abs(series.shown[step:] - series.shown[:-step]).mean()
    error, beyond = path.mean - series.hidden, series.hidden[:, None] - path.quantiles
    pinball = np.maximum(PROBABILITIES * beyond, (PROBABILITIES - 1) * beyond)
    inside = (path.quantiles[:, 0] <= series.hidden) & (series.hidden <= path.quantiles[:, -1])
    return [series.direction * error.mean() / unit, series.direction * error[-1] / unit, np.abs(error).mean() / unit,
            2 * pinball.mean() / unit, inside.mean(), path.std.mean() / unit, (error**2).mean() / unit**2]


def report(kind, name, rows, seconds):
    rows = np.array(rows)
    bias, last, mase, crps, inside, std, square = rows.mean(axis=0)
    deviation = rows.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else rows[0] * np.nan
    print(f"| {kind} | {name} | {bias:+.2f} ± {deviation[0]:.2f} | {last:+.2f} ± {deviation[1]:.2f} | {mase:.2f} | {crps:.3f} | "
          f"{100 * inside:.0f} | {std / np.sqrt(square):.2f} | {np.mean(seconds):.3f} |", flush=True)


def picture(program, folder, kind, some):
    """Draws the first two series. The program gets the truth too, but does not draw it (2026-11)."""
    folder.mkdir(parents=True, exist_ok=True)
    table, truth = folder / f"{kind}.csv", folder / f"{kind}-truth.csv"
    with open(table, "w") as file:
        write_table(file, some[:2])
    with open(truth, "w") as file:
        file.write("series,t,y\n")
        for s in some[:2]:
            file.writelines(f"{s.name},{len(s.shown) + h},{float(v)!r}\n" for h, v in enumerate(s.hidden))
    subprocess.run([program, "predict", table, "--group", "series", "--inputs", "t", "--values", "y", "--threads", "1", "--truth", truth,
                    "--plot", folder / f"{kind}.png"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("--series", type=int, default=40, help="series of each kind (default: 40)")
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS), help="kinds to forecast (default: all)")
    parser.add_argument("--pictures", type=pathlib.Path, help="folder for a picture of the first two series of each kind")
    args = parser.parse_args()
    print("| kind | method | bias | bias at the end | MASE | CRPS | 95 % | std/RMSE | s |\n|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for kind in args.kind:
        some = list(make(kind, args.series))
        scores, seconds = collections.defaultdict(list), collections.defaultdict(list)
        for name, series, path, took in npzoo(args.npzoo, kind, some):
            scores[name].append(score(series, path))
            seconds[name].append(took)
        for series in some:
            for name, path, took in rivals(series):
                scores[name].append(score(series, path))
                seconds[name].append(took)
        for name, rows in scores.items():
            report(kind, name, rows, seconds[name])
        if args.pictures:
            picture(args.npzoo, args.pictures, kind, some)


if __name__ == "__main__":
    main()
