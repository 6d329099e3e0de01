#!/usr/bin/env python3
"""Compares npzoo.NeuralProcessRegressor with scikit-learn's GaussianProcessRegressor on small tables: RMSE and CRPS on a held-out
third, in standard deviations of the target, and processor seconds to fit and predict. Prints a table in Markdown."""

import time
import warnings

import numpy as np
from scipy.stats import norm
from sklearn import datasets
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from npzoo import NeuralProcessRegressor


def tables():
    """Five of scikit-learn's, of which the first two have one and two of their columns, and three of our own."""
    diabetes, wine = datasets.load_diabetes(), datasets.load_wine()
    yield "diabetes, bmi", diabetes.data[:, [2]], diabetes.target
    yield "diabetes, bmi and s5", diabetes.data[:, [2, 8]], diabetes.target
    yield "wine, proline and flavanoids to alcohol", wine.data[:, [12, 6]], wine.data[:, 0]
    yield "diabetes, all", diabetes.data, diabetes.target
    yield "Friedman 1", *datasets.make_friedman1(200, n_features=5, noise=1, random_state=0)
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 150))
    yield "sine with a jump", x[:, None], np.sin(3 * x) + 2 * (x > 5) + rng.normal(0, 0.1, 150)
    yield "daily and weekly cycle", x[:, None], np.sin(9 * x) + 0.7 * np.sin(9 / 7 * x) + rng.normal(0, 0.2, 150)
    places = rng.uniform(0, 1, (200, 2))
    yield "map with a ridge", places, np.exp(-30 * (places[:, 0] - places[:, 1]) ** 2) + rng.normal(0, 0.05, 200)


def crps(mean, std, y):
    z = (y - mean) / std
    return (std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))).mean()


def main():
    print("| table | features | npzoo: by | RMSE | CRPS | s | npzoo, weights=\"gp\": RMSE | CRPS | s | scikit-learn: RMSE | CRPS | s |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, X, y in tables():
        y = (y - y.mean()) / y.std()
        split = train_test_split(StandardScaler().fit_transform(X), y, test_size=1 / 3, random_state=0)
        theirs = GaussianProcessRegressor(ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel(), normalize_y=True,
                                          n_restarts_optimizer=2, random_state=0)
        cells = []
        for model in (NeuralProcessRegressor(), NeuralProcessRegressor("gp"), theirs):
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mean, std = model.fit(split[0], split[2]).predict(split[1], return_std=True)
            seconds = time.process_time() - began
            if not cells:
                cells.append(model.backend_)
            cells += [f"{np.sqrt(((mean - split[3]) ** 2).mean()):.3f}", f"{crps(mean, std, split[3]):.3f}", f"{seconds:.2f}"]
        print(f"| {name} | {X.shape[1]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
