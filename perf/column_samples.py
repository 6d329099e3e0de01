#!/usr/bin/env python3
"""Samples of whole rows scored together: column_samples.py NPZOO [--samples 200]

Hides several cells of a quarter of the rows of public tables, and six whole rows of those with a time. Prints the energy score (mean distance of
samples to the truth, minus half their mean distance, in standard deviations of the columns) over the hidden cells of a row: of the samples, and of
the same samples with each column shuffled, which are independent.

Needs: pip install numpy pandas statsmodels
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import pandas as pd
import statsmodels.datasets as kept

WITH_TIME, ROWS = ["macrodata", "danish_data", "interest_inflation"], ["star98", "ccard", "scotland", "statecrime", "copper"]


def table_of(name):
    frame = getattr(kept, name).load_pandas().data.select_dtypes("number")
    frame = frame.drop(columns=["year", "quarter", "period", "Unnamed: 0"], errors="ignore").iloc[:300, :8]
    return frame.loc[:, frame.std() > 0]


def hidden_cells(shape, time, random):
    hidden = np.zeros(shape, bool)
    for row in np.flatnonzero(random.random(shape[0]) < 0.25):
        hidden[row, random.choice(shape[1], min(shape[1] - 1, 3), replace=False)] = True
    if time:
        hidden[shape[0] // 2 : shape[0] // 2 + 6] = True
    return hidden


def samples_of(program, shown, time, count):
    """(rows, samples, columns)"""
    with tempfile.TemporaryDirectory() as made:
        table, drawn = pathlib.Path(made) / "table.csv", pathlib.Path(made) / "samples.csv"
        (shown.assign(t=range(len(shown))) if time else shown).to_csv(table, index=False)
        subprocess.run([program, "predict", table, "--inputs", "t" if time else "none", "--values", ",".join(shown), "--samples", str(count),
                        "--samples-out", drawn, "--out", pathlib.Path(made) / "out.csv"], check=True, stderr=subprocess.DEVNULL)
        rows = pd.read_csv(drawn, comment="#")
    values = rows[[f"sample_{name}" for name in shown]].to_numpy()
    if rows["sample"][0] != rows["sample"][1]:
        return values.reshape(len(shown), count, -1)
    return values.reshape(count, len(shown), -1).transpose(1, 0, 2)


def energy(samples, truth):
    return np.linalg.norm(samples - truth, axis=1).mean() - np.linalg.norm(samples[:, None] - samples[None], axis=2).mean() / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("--samples", type=int, default=200)
    args = parser.parse_args()
    random = np.random.default_rng(0)
    print("| table | rows | as drawn | independent | ratio |\n|---|---:|---:|---:|---:|")
    for name in WITH_TIME + ROWS:
        table, time = table_of(name), name in WITH_TIME
        hidden = hidden_cells(table.shape, time, random)
        samples = samples_of(args.npzoo, table.mask(hidden), time, args.samples)
        together, apart = [], []
        for row in np.flatnonzero(hidden.sum(1) > 1):
            unit = table.std().to_numpy()[hidden[row]]
            drawn, truth = samples[row][:, hidden[row]] / unit, table.to_numpy()[row, hidden[row]] / unit
            together.append(energy(drawn, truth))
            apart.append(energy(np.stack([random.permutation(column) for column in drawn.T], axis=1), truth))
        print(f"| {name} | {len(together)} | {np.mean(together):.4f} | {np.mean(apart):.4f} | {np.mean(together) / np.mean(apart):.3f} |", flush=True)


if __name__ == "__main__":
    main()
