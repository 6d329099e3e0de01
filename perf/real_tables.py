#!/usr/bin/env python3
"""npzoo on windows of real series beside fitted Gaussian processes: real_tables.py NPZOO [--checkpoint NAME] [--part test]

Sets: oil temperature ETTh1 and ETTh2 (windows of 200 hours with gaps of 8, 16 and 24), eight exchange rates (windows of 150
days, of which 44 are given, three weeks and the end left out), one electricity client (two weeks by the hour, gaps of 12, 24
and 48 hours and a fifth of the other hours missing). Windows stand at equal distances, those of training in the first 60 % of
each series, those of the test in the rest; gaps are drawn from a fixed seed. What is chosen is chosen on training windows.

`npzoo predict` gets all windows of a set as groups of one table, and the truth to score by. Beside it: linear interpolation,
the mean of the six nearest observations, and Gaussian processes of scikit-learn fitted to each window by likelihood, the
last one knowing the period (24 hours, 5 days). MAE and CRPS are in standard deviations of each window's observed values, so that
sets can be averaged; windows that hardly change, where less than a quarter of the observed values differ, are left out. `perf/requirements.txt` has what it needs.

The files are looked for in --data, NPZOO_DATA and ../shared/data; README there and in perf/ tell where they come from.
"""

import argparse
import collections
import csv
import datetime
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from scipy.stats import norm  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: E402
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern, WhiteKernel  # noqa: E402

Window = collections.namedtuple("Window", "x y observed")
Set = collections.namedtuple("Set", "file column length count period")
SETS = {
    "ETTh1": Set("ett/ETTh1.csv.gz", "OT", 200, 30, 24),
    "ETTh2": Set("ett/ETTh2.csv.gz", "OT", 200, 30, 24),
    "exchange rates": Set("exchange_rate/exchange_rate.txt.gz", None, 150, 50, 5),
    "electricity": Set("electricity/LD_MT200_hour.csv.gz", "MT_200", 336, 50, 24),
}
TRAINING_SHARE = 0.6
SEED = 20261123
Scores = collections.namedtuple("Scores", "mae crps coverage seconds")


def series_of(data, of):
    """Columns of a file, NaN for what is missing."""
    with gzip.open(data / of.file, "rt") as file:
        if of.column is None:
            return list(np.array([[float(value) for value in row] for row in csv.reader(file)]).T)
        return [np.array([float(row[of.column] or "nan") for row in csv.DictReader(file)])]


def with_gaps(length, gaps, rng):
    """Returns the points, of `length`, that are hidden by gaps at random places that keep five points between them and to the ends."""
    hidden = np.zeros(length, bool)
    for gap in gaps:
        while True:
            begin = rng.integers(5, length - gap - 5)
            if not hidden[begin - 5:begin + gap + 5].any():
                break
        hidden[begin:begin + gap] = True
    return hidden


def hidden_of(name, length, rng):
    if name.startswith("ETT"):
        return with_gaps(length, (8, 16, 24), rng)
    if name == "electricity":
        return with_gaps(length, (12, 24, 48), rng) | (rng.random(length) < 0.2)
    day = np.arange(1, length + 1)
    return ~((day <= 135) & ((day < 70) | (day > 90)) & (day * day % 19 < 6))


def windows_of(name, data, part):
    of = SETS[name]
    rng = np.random.default_rng([SEED, list(SETS).index(name), part == "test"])
    windows = []
    for values in series_of(data, of):
        split = int(TRAINING_SHARE * len(values))
        first, last = (split, len(values) - of.length) if part == "test" else (0, split - of.length)
        for begin in np.linspace(first, last, of.count).astype(int):
            y = values[begin:begin + of.length]
            known = ~np.isnan(y)
            observed = ~hidden_of(name, of.length, rng)[known]
            if len(np.unique(y[known][observed])) >= observed.sum() / 4:
                windows.append(Window(np.arange(of.length, dtype=float)[known], y[known], observed))
    return windows


def crps(y, mean, std):
    if not np.all(std > 0):
        return np.abs(y - mean)
    z = (y - mean) / std
    return std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))


def scored(windows, predict):
    """Scores of predict(window), which gives mean and deviation at what is hidden."""
    rows = []
    for window in windows:
        begin = time.perf_counter()
        mean, std = predict(window)
        seconds = time.perf_counter() - begin
        y, scale = window.y[~window.observed], window.y[window.observed].std()
        rows.append((np.abs(y - mean).mean() / scale, crps(y, mean, std).mean() / scale,
                     100 * (np.abs(y - mean) < norm.ppf(0.975) * std).mean(), seconds))
    return Scores(*np.mean(rows, axis=0))


def linear(window):
    hidden = ~window.observed
    return np.interp(window.x[hidden], window.x[~hidden], window.y[~hidden]), np.zeros(hidden.sum())


def local_level(window, nearest=6):
    x, y = window.x[window.observed], window.y[window.observed]
    at = [y[np.argsort(np.abs(x - place), kind="stable")[:nearest]] for place in window.x[~window.observed]]
    return np.array([values.mean() for values in at]), np.array([values.std(ddof=1) for values in at])


def kernels(period):
    """For inputs that span 4 and values of deviation 1; bounds wide enough to be reached by no fit that means something."""
    signal, noise = ConstantKernel(1, (1e-3, 1e3)), WhiteKernel(0.05, (1e-5, 10))
    matern32 = signal * Matern(0.5, (0.01, 50), 1.5)
    repeats = ConstantKernel(1, (1e-3, 1e3)) * ExpSineSquared(1, period, (0.1, 10), (0.9 * period, 1.1 * period))
    return {"GP, RBF": signal * RBF(0.3, (0.01, 20)) + noise, "GP, Matérn-½": signal * Matern(0.5, (0.01, 50), 0.5) + noise,
            "GP, Matérn-3/2": matern32 + noise, "GP, Matérn-3/2 and period": matern32 + repeats + noise}


def fitted(period, which):
    def predict(window):
        x, y = window.x[window.observed], window.y[window.observed]
        unit, level, scale = 4 / (x[-1] - x[0]), y.mean(), y.std()
        process = GaussianProcessRegressor(kernels(period * unit)[which])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            process.fit((unit * x)[:, None], (y - level) / scale)
            mean, std = process.predict((unit * window.x[~window.observed])[:, None], return_std=True)
        return level + scale * mean, scale * std

    return predict


def write_tables(windows, folder):
    """All windows as groups of one table; the truth apart."""
    with (folder / "table.csv").open("w") as table:
        table.write("window,time,value\n")
        for number, window in enumerate(windows):
            for x, y, observed in zip(*window, strict=True):
                table.write(f"{number},{float(x)!r},{float(y)!r}\n" if observed else f"{number},{float(x)!r},\n")


def by_npzoo(options, windows, folder):
    """Scores of one call for all windows, and seconds of a window in it; then of a call for one window."""
    write_tables(windows, folder)
    command = [options.program, "predict", "--digits", "9", folder / "table.csv", "--group", "window", "--inputs", "time", "--values", "value",
               "--out", folder / "out.csv", "--threads", str(options.threads)]
    command += ["--checkpoint", options.checkpoint] if options.checkpoint else []
    begin = time.perf_counter()
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    seconds = (time.perf_counter() - begin) / len(windows)
    with (folder / "out.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    said = iter(rows)
    predictions = []
    for window in windows:
        of_window = [next(said) for _ in window.x]
        at = [row for row, observed in zip(of_window, window.observed, strict=True) if not observed]
        predictions.append((np.array([float(row["mean_value"]) for row in at]), np.array([float(row["std_value"]) for row in at])))
    answers = iter(predictions)
    return scored(windows, lambda window: next(answers))._replace(seconds=seconds)


def alone(options, windows, folder):
    """Median seconds of a call with one window."""
    seconds = [by_npzoo(options, [window], folder).seconds for window in windows[:5]]
    return float(np.median(seconds))


def measure(options, name, folder):
    windows = windows_of(name, options.data, options.part)
    rows = {"linear interpolation": scored(windows, linear), "local level": scored(windows, local_level)}
    if not options.no_fits:
        for which in kernels(1):
            rows[which] = scored(windows, fitted(SETS[name].period, which))
    rows["npzoo"] = by_npzoo(options, windows, folder)
    print(f"{name}, {len(windows)} windows of {options.part}; npzoo alone: {alone(options, windows, folder):.3f} s", flush=True)
    for method, scores in rows.items():
        print(f"  {method:<28} MAE {scores.mae:.3f}  CRPS {scores.crps:.3f}  coverage {scores.coverage:5.1f}  "
              f"{1e3 * scores.seconds:9.2f} ms a window", flush=True)
    return {method: scores._asdict() for method, scores in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--checkpoint", help="instead of the weights that predict takes by itself")
    parser.add_argument("--part", choices=("training", "test"), default="training")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-fits", action="store_true", help="leave out the fitted Gaussian processes")
    parser.add_argument("--out", type=pathlib.Path, help="JSON to write")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(os.environ.get("NPZOO_DATA", "../shared/data")))
    options = parser.parse_args()
    missing = [SETS[name].file for name in options.sets.split(",") if not (options.data / SETS[name].file).exists()]
    if missing:
        sys.exit(f"{options.data} has no {', '.join(missing)}; --data or NPZOO_DATA may name another folder")
    with tempfile.TemporaryDirectory() as folder:
        results = {name: measure(options, name, pathlib.Path(folder)) for name in options.sets.split(",")}
    print(f"mean of {len(results)} sets")
    methods = next(iter(results.values()))
    means = {method: Scores(*np.mean([list(of[method].values()) for of in results.values()], axis=0)) for method in methods}
    for method, scores in means.items():
        print(f"  {method:<28} MAE {scores.mae:.3f}  CRPS {scores.crps:.4f}  coverage {scores.coverage:5.1f}  "
              f"{1e3 * scores.seconds:9.2f} ms a window")
    if options.out:
        options.out.write_text(json.dumps({"date": datetime.date.today().isoformat(), "part": options.part,
                                           "checkpoint": options.checkpoint, "sets": results,
                                           "mean": {method: scores._asdict() for method, scores in means.items()}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
