#!/usr/bin/env python3
"""Two programs on gaps of series whose noise may change: changing_noise.py OLD NEW FOLDER

FOLDER has the competitions' files (see competitions.py). Of their series for development (crc32 of the name divisible by 4) with 90 values or more, the last
400 and, where all are positive, their growth rates are each one series. Three of ten values are hidden at random; of values also one gap of an
eighth. Both programs get the same table and are told nothing. Prints CRPS, log density and coverage of series, in standard deviations of the observed values,
for all series and for those whose deviations differ by more than .1 % anywhere.

Needs: pip install numpy scipy
"""

import argparse
import collections
import csv
import pathlib
import subprocess
import tempfile
import zlib

import competitions
import numpy as np
from scipy.stats import norm

Case = collections.namedtuple("Case", "name kind y hidden")
LONGEST, FEWEST = 400, 90


def hide(name, kind, y, gap):
    rng = np.random.default_rng(zlib.crc32(f"{name} {kind}".encode()))
    hidden = rng.random(len(y)) < 0.3
    if gap:
        begin = rng.integers(5, len(y) - len(y) // 8 - 5)
        hidden[begin : begin + len(y) // 8] = True
    hidden[[0, -1]] = False
    return Case(f"{name} {kind}", kind, y, hidden)


def cases(folder):
    for name in ("m3", "m1", "tourism", "nn3", "nn5"):
        for series in competitions.read(folder / f"{name}.csv.gz"):
            values = np.concatenate([series.known, series.future])
            values = values[np.isfinite(values)][-LONGEST - 1 :]
            if zlib.crc32(series.name.encode()) % 4 or len(values) < FEWEST:
                continue
            yield hide(f"{name} {series.name}", "values", values[-LONGEST:], True)
            if values.min() > 0:
                yield hide(f"{name} {series.name}", "growth", np.diff(np.log(values)), False)


def answers(program, some):
    """Mean and deviation at each step of each case."""
    with tempfile.TemporaryDirectory() as made:
        table, out = pathlib.Path(made, "table.csv"), pathlib.Path(made, "out.csv")
        with table.open("w") as file:
            file.write("series,t,y\n")
            for case in some:
                for t, (value, hidden) in enumerate(zip(case.y, case.hidden, strict=True)):
                    file.write(f"{case.name},{t},{'' if hidden else repr(float(value))}\n")
        subprocess.run([program, "predict", table, "--group", "series", "--inputs", "t", "--values", "y", "--digits", "9", "--out", out], check=True,
                       stderr=subprocess.DEVNULL)
        rows = collections.defaultdict(list)
        with out.open() as file:
            for row in csv.DictReader(file):
                rows[row["series"]].append((float(row["mean_y"]), float(row["std_y"])))
    return {name: np.array(found).T for name, found in rows.items()}


def figures(case, found):
    mean, std = found[:, case.hidden]
    y, scale = case.y[case.hidden], case.y[~case.hidden].std()
    z = (y - mean) / std
    crps = std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    return crps.mean() / scale, (norm.logpdf(z) - np.log(std / scale)).mean(), 100 * (np.abs(z) < norm.ppf(0.975)).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    some = [case for case in cases(options.folder) if case.y[~case.hidden].std() > 0]
    old, new = answers(options.old, some), answers(options.new, some)
    print("| series | number | CRPS, old | new | ratio | log density, old | new | inside 95 %, old | new |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind in ("values", "growth"):
        of_kind = [case for case in some if case.kind == kind]
        changed = [case for case in of_kind if np.abs(np.log(new[case.name][1] / old[case.name][1])).max() > 1e-3]
        for label, chosen in ((kind, of_kind), (f"{kind}, changed", changed)):
            if not chosen:
                continue
            a, b = (np.array([figures(case, found[case.name]) for case in chosen]) for found in (old, new))
            ratio = np.exp(np.log(b[:, 0] / a[:, 0]).mean())
            print(f"| {label} | {len(chosen)} | {a[:, 0].mean():.4f} | {b[:, 0].mean():.4f} | {ratio:.4f} | {a[:, 1].mean():.3f} | {b[:, 1].mean():.3f} "
                  f"| {a[:, 2].mean():.1f} | {b[:, 2].mean():.1f} |")


if __name__ == "__main__":
    main()
