#!/usr/bin/env python3
"""Windows of the maps of Heaton et al. (2019), square and long, filled by each program: map_proportions.py NPZOO [OTHER …]

A window has up to 250 random pixels, of which a third is hidden. It is as wide as it is long, or two, four or sixteen times as wide or as long.
Prints the mean CRPS in standard deviations of a window's values, and the geometric mean of the ratio to the first program. With
--stretch 10 the second coordinate is in another unit, and both have the names --names, such as x,y.
Needs numpy and scipy; the files are those of heaton.py."""

import argparse
import csv
import gzip
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from scipy.stats import norm

from heaton import MAPS

WINDOWS, PIXELS, SEED = 8, 250, 7
AREAS = (900, 3600, 10000)  # in pixels


def read(path):
    """The true temperature of each pixel, by longitude and latitude."""
    with gzip.open(path, "rt") as file:
        rows = list(csv.reader(file))[1:]
    return {(float(lon), float(lat)): float(truth) for lon, lat, _, truth in rows if truth != "NA"}


def window(pixels, ratio, draw):
    """Random pixels of a window whose width is `ratio` times its height."""
    lons, lats = (sorted({place[axis] for place in pixels}) for axis in (0, 1))
    area = draw.choice(AREAS)
    width, height = (min(round((area * r) ** 0.5), len(axis) - 1) for r, axis in ((ratio, lons), (1 / ratio, lats)))
    left, low = draw.integers(0, len(lons) - width), draw.integers(0, len(lats) - height)
    places = [(lon, lat) for lon in lons[left:left + width] for lat in lats[low:low + height] if (lon, lat) in pixels]
    chosen = draw.choice(len(places), min(PIXELS, len(places)), replace=False)
    return [(*places[i], pixels[places[i]]) for i in chosen]


def crps(program, rows, hidden, names):
    with tempfile.TemporaryDirectory() as folder:
        table, out = pathlib.Path(folder, "t.csv"), pathlib.Path(folder, "o.csv")
        table.write_text(",".join([*names, "v"]) + "\n" + "".join(f"{a!r},{b!r},{'' if i in hidden else v}\n" for i, (a, b, v) in enumerate(rows)))
        subprocess.run([program, "predict", table, "--inputs", ",".join(names), "--out", out, "--threads", "1"], check=True, capture_output=True)
        with open(out) as file:
            answers = {(float(row[names[0]]), float(row[names[1]])): (float(row["mean_v"]), float(row["std_v"])) for row in csv.DictReader(file)}
    found = []
    for i in hidden:
        mean, std = answers[rows[i][:2]]
        z = (rows[i][2] - mean) / std
        found.append(std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - np.pi ** -0.5))
    return float(np.mean(found)) / float(np.std([row[2] for row in rows]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", metavar="NPZOO", nargs="+")
    parser.add_argument("--data", default=os.environ.get("NPZOO_DATA", pathlib.Path(__file__).resolve().parent.parent.parent / "shared/data"))
    parser.add_argument("--names", default="lon,lat")
    parser.add_argument("--stretch", type=float, default=1)
    options = parser.parse_args()
    for name, file in MAPS.items():
        pixels = {(lon, lat * options.stretch): truth for (lon, lat), truth in read(pathlib.Path(options.data, file)).items()}
        for ratio in (1, 2, 1 / 2, 4, 1 / 4, 16, 1 / 16):
            draw = np.random.default_rng(SEED)
            scores = {program: [] for program in options.programs}
            for _ in range(WINDOWS):
                rows = window(pixels, ratio, draw)
                if np.std([row[2] for row in rows]) == 0:
                    continue
                hidden = sorted(draw.choice(len(rows), len(rows) // 3, replace=False).tolist())
                for program in options.programs:
                    scores[program].append(crps(program, rows, hidden, options.names.split(",")))
            first = np.log(scores[options.programs[0]])
            print(f"{name:<10} {ratio:>7.4g} : 1", *(f"{np.mean(x):.4f} ({np.exp(np.mean(np.log(x) - first)):.3f})" for x in scores.values()), flush=True)


if __name__ == "__main__":
    main()
