#!/usr/bin/env python3
"""The satellite and the simulated map of Heaton et al. (2019) filled by npzoo: heaton.py NPZOO [--checkpoint NAME] [--out FOLDER]

"A case study competition among methods for analyzing large spatial data", J. Agric. Biol. Environ. Stat. 24 (2019): 105,569
pixels of 150,000 are observed; the others have to be filled, and the truth of nearly all of them is known. `npzoo predict` gets
a table of either and the truth to score by; the picture is that of `--plot`. Beside it stands kriging of local
neighbours (kriging.py, which needs requirements.txt) with two kernels, fitted by likelihood alone, and what was published:
table 3 of the article, quoted from memory. Which kernel is better on the satellite map was not known before: in
cross-validation with shifted clouds the one with two scales was, by 5 % of CRPS.

The files are those of github.com/finnlindgren/heatoncomparison as CSV with columns Lon, Lat, MaskTemp and TrueTemp, looked for
in --data, NPZOO_DATA and ../shared/data.
"""

import argparse
import csv
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MAPS = {"satellite": "heaton2019/AllSatelliteTemps.csv.gz", "simulated": "heaton2019/AllSimulatedTemps.csv.gz"}
HEIGHT, WIDTH = 300, 500
# How the mask is laid for cross-validation: flipped up, flipped left, moved down and to the right, and the last four times turned and
# stretched first, so that its wide hole lies at the left edge and at the right one.
FOLDS = [(False, True, 0, 0), (True, False, 60, 90), (True, True, 110, 210), (False, False, 150, 250)]
FOLDS = [(False, *fold) for fold in FOLDS] + [(True, up, left, 0, 0) for left in (False, True) for up in (False, True)]
# Mean absolute error, root mean squared error, CRPS, coverage of 95 % intervals; of the satellite map.
PUBLISHED = {"SPDE": (1.10, 1.53, 0.83, 97), "NNGP, conjugate": (1.21, 1.64, 0.85, 95), "LatticeKrig": (1.22, 1.68, 0.87, 96),
             "MRA": (1.33, 1.85, 0.94, 92), "gapfill": (1.33, 1.86, 1.17, 36)}


def line(method, mae, rmse, crps, coverage, seconds=None):
    print(f"  {method:<28} {mae:6.3f} {rmse:6.3f} {crps:6.3f} {coverage:7.1f} {'' if seconds is None else f'{seconds:8.1f}'}",
          flush=True)


def read(path):
    """Rows of longitude, latitude, observed and true temperature; None for what is missing."""
    with gzip.open(path, "rt") as file:
        return [[None if cell == "NA" else float(cell) for cell in row] for row in list(csv.reader(file))[1:]]


def held_out(rows, fold):
    """The observed pixels alone, and hidden those under the clouds of the map after it was laid otherwise: for choices, which the
    pixels that the comparison keeps back must not decide."""
    turned, flip_up, flip_left, down, right = FOLDS[fold - 1]
    hidden = [[row[2] is None for row in rows[line * WIDTH:(line + 1) * WIDTH]] for line in range(HEIGHT)]
    if turned:
        hidden = [[hidden[column * HEIGHT // WIDTH][line * WIDTH // HEIGHT] for column in range(WIDTH)] for line in range(HEIGHT)]
    hidden = [line[::-1] if flip_left else line for line in (hidden[::-1] if flip_up else hidden)]
    moved = [hidden[(line - down) % HEIGHT][(column - right) % WIDTH] for line in range(HEIGHT) for column in range(WIDTH)]
    return [[x, y, None if under else value, value] for (x, y, value, _), under in zip(rows, moved, strict=True) if value is not None]


def write(path, rows, column=None):
    """A table of places and, in a column of the rows, their temperatures."""
    with path.open("w") as file:
        file.write("longitude,latitude" + ("\n" if column is None else ",temperature\n"))
        for row in rows:
            file.write(f"{row[0]!r},{row[1]!r}" + ("\n" if column is None else f",{row[column]!r}\n"))


def by_npzoo(options, rows, name, folder):
    write(folder / "observed.csv", [row for row in rows if row[2] is not None], 2)
    write(folder / "missing.csv", [row for row in rows if row[2] is None])
    write(folder / "truth.csv", [row for row in rows if row[2] is None and row[3] is not None], 3)
    command = [options.program, "predict", "--digits", "9", folder / "observed.csv", "--targets", folder / "missing.csv", "--inputs",
               "longitude,latitude", "--values", "temperature", "--truth", folder / "truth.csv", "--json",
               "--out", options.out / f"{name}.csv", "--plot", options.out / f"{name}.png"]
    command += ["--checkpoint", options.checkpoint] if options.checkpoint else []
    command += ["--neighbours", str(options.neighbours)] if options.neighbours else []
    start = time.monotonic()
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    scores = json.loads(found.stdout)
    line("npzoo predict, all of it", scores["mae"], scores["rmse"], scores["crps"], 100 * scores["coverage_95"],
         time.monotonic() - start)


def by_kriging(rows, kind):
    import numpy as np
    import kriging
    from scipy.stats import norm

    table = np.array(rows, dtype=float)
    known, asked = ~np.isnan(table[:, 2]), np.isnan(table[:, 2]) & ~np.isnan(table[:, 3])
    start, to_unit = time.monotonic(), kriging.scaled(table[known, :2])
    x = to_unit(table[known, :2])
    kernel = kriging.fit(x, table[known, 2], kind)
    mean, std = kriging.predict(kernel, x, table[known, 2], to_unit(table[asked, :2]))
    seconds, error = time.monotonic() - start, table[asked, 3] - mean
    z = error / std
    crps = std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / math.sqrt(math.pi))
    line(f"kriging, {kind}", abs(error).mean(), math.sqrt((error**2).mean()), crps.mean(), 100 * (abs(z) < 1.96).mean(), seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--checkpoint", help="instead of the weights that predict takes by itself")
    parser.add_argument("--neighbours", type=int, help="as of predict")
    parser.add_argument("--maps", default=",".join(MAPS))
    parser.add_argument("--no-kriging", action="store_true")
    parser.add_argument("--fold", type=int, choices=range(1, len(FOLDS) + 1), help="cross-validation: hides observed pixels instead")
    parser.add_argument("--out", type=pathlib.Path, help="where the filled tables and the pictures are left")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(os.environ.get("NPZOO_DATA", "../shared/data")))
    options = parser.parse_args()
    names = options.maps.split(",")
    missing = [options.data / MAPS[name] for name in names if not (options.data / MAPS[name]).exists()]
    if missing:
        sys.exit(f"heaton.py: {missing[0]} is not there; --data or NPZOO_DATA tells where data are")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        options.out = options.out or folder
        options.out.mkdir(parents=True, exist_ok=True)
        for name in names:
            rows = read(options.data / MAPS[name])
            rows = held_out(rows, options.fold) if options.fold else rows
            print(f"{name + ' map':<30} {'MAE':>6} {'RMSE':>6} {'CRPS':>6} {'in 95 %':>7} {'seconds':>8}")
            by_npzoo(options, rows, name, folder)
            for kind in () if options.no_kriging else ("exponential", "two scales"):
                by_kriging(rows, kind)
            for method, scores in PUBLISHED.items() if name == "satellite" and not options.fold else ():
                line(f"published: {method}", *scores)


if __name__ == "__main__":
    main()
