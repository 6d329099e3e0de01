"""Kriging of local neighbours, the baseline for maps: numpy and scipy alone (requirements.txt).

A Gaussian process of an unknown constant mean. Its kernel is one exponential, or a smooth short one (Matérn 3/2) beside a
rough one so long that its variogram is linear; either has a nugget and one ratio between the ranges along the axes. It is
fitted once, by restricted maximum likelihood on random blocks of several widths. Targets are answered in tiles of near ones
that share neighbours, much as `models/applications/tables/local_contexts` chooses them for cells; the variance of each tile is that of its neighbours.
"""

import dataclasses

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.spatial

TILE, POOL, SECTORS = 32, 4, 16
BLOCK, WIDTHS, BLOCKS = 150, (1, 3, 8, 20), 12  # points of a block; how far apart they are, in spacings; blocks of each width
LONG = 3.0  # range of the rough kernel, in extents of the map


@dataclasses.dataclass
class Kernel:
    kind: str  # "exponential" or "two scales"
    theta: np.ndarray  # logarithms

    def covariance(self, a, b):
        d = a[:, None] - b[None]
        ratio = np.exp(self.theta[-1])
        distance = np.sqrt((d[..., 0] / ratio) ** 2 + (d[..., 1] * ratio) ** 2)
        variance, length = np.exp(self.theta[1:3])
        if self.kind == "exponential":
            return variance * np.exp(-distance / length)
        s = np.sqrt(3) * distance / length
        return variance * (1 + s) * np.exp(-s) + np.exp(self.theta[3]) * LONG * np.exp(-distance / LONG)

    def variance(self):
        return float(self.covariance(np.zeros((1, 2)), np.zeros((1, 2)))[0, 0])

    def nugget(self):
        return float(np.exp(self.theta[0]))


def whitened(kernel, x, columns):
    """L⁻¹ columns, and log |L|, of the covariance of noisy values at x."""
    covariance = kernel.covariance(x, x)
    covariance[np.diag_indices(len(x))] += kernel.nugget() + 1e-9 * kernel.variance()
    factor = np.linalg.cholesky(covariance)
    return scipy.linalg.solve_triangular(factor, columns, lower=True, check_finite=False), np.log(np.diag(factor)).sum()


def negative_log_likelihood(kernel, blocks):
    total = 0.0
    for x, y in blocks:
        white, log_factor = whitened(kernel, x, np.column_stack([np.ones(len(x)), y]))
        one, value = white.T
        precision = one @ one
        rest = value - one * (one @ value / precision)
        total += 0.5 * rest @ rest + log_factor + 0.5 * np.log(precision)
    return total / sum(len(x) for x, _ in blocks)


def scaled(x):
    """Maps the longer extent to 1."""
    low = x.min(0)
    factor = 1 / np.ptp(x, axis=0).max()
    return lambda points: (points - low) * factor


def fit(x, y, kind="two scales", seed=0):
    """x (n, 2) scaled. Blocks are the nearest points of random places, thinned at random where they are to be wide."""
    random, tree, blocks = np.random.default_rng(seed), scipy.spatial.cKDTree(x), []
    for width in WIDTHS:
        for centre in x[random.choice(len(x), BLOCKS, replace=False)]:
            near = tree.query(centre, min(len(x), BLOCK * width**2))[1]
            block = random.choice(near, min(len(near), BLOCK), replace=False)
            blocks.append((x[block], y[block]))
    spread, spacing = np.var(y), np.sqrt(np.prod(np.ptp(x, axis=0)) / len(x))
    start = {"exponential": [0.01 * spread, spread, 20 * spacing, 1.0],
             "two scales": [0.01 * spread, 0.2 * spread, 3 * spacing, spread, 1.0]}[kind]
    found = scipy.optimize.minimize(lambda theta: negative_log_likelihood(Kernel(kind, theta), blocks), np.log(start),
                                    method="L-BFGS-B", bounds=[(v - 9, v + 9) for v in np.log(start)], options={"maxiter": 40})
    return Kernel(kind, found.x)


def tiles(targets):
    """Rows of near targets, TILE at most."""
    waiting = [np.arange(len(targets))]
    while waiting:
        rows = waiting.pop()
        groups = -(-len(rows) // TILE)
        if groups < 2:
            yield rows
            continue
        axis = np.argmax(np.ptp(targets[rows], axis=0))
        rows = rows[np.argsort(targets[rows, axis], kind="stable")]
        waiting += [rows[groups // 2 * TILE:], rows[:groups // 2 * TILE]]


def neighbours(tree, x, targets, count):
    middle = (targets.min(0) + targets.max(0)) / 2
    pool = tree.query(middle, min(len(x), POOL * count))[1]
    nearest = np.min(((x[pool][:, None] - targets[None]) ** 2).sum(-1), axis=1)
    chosen = np.zeros(len(pool), bool)
    chosen[np.argsort(nearest, kind="stable")[:count // 2]] = True
    d = x[pool] - middle
    sector = np.floor(np.arctan2(d[:, 1], d[:, 0]) / (2 * np.pi) * SECTORS + 0.5).astype(int) % SECTORS
    for k in range(SECTORS):
        chosen[np.flatnonzero((sector == k) & ~chosen)[:(count - count // 2) // SECTORS]] = True
    chosen[np.flatnonzero(~chosen)[:max(0, count - chosen.sum())]] = True
    return pool[chosen]


def predict(kernel, x, y, targets, count=128):
    """Means and standard deviations of noisy values at targets (m, 2), scaled as x (n, 2)."""
    extents = np.ptp(x, axis=0)  # each column by its own, as local contexts do
    own, asked = x / extents, targets / extents
    tree = scipy.spatial.cKDTree(own)
    mean, std = np.empty(len(targets)), np.empty(len(targets))
    for rows in tiles(asked):
        near = neighbours(tree, own, asked[rows], count)
        cross = kernel.covariance(x[near], targets[rows])
        white, _ = whitened(kernel, x[near], np.column_stack([np.ones(len(near)), y[near], cross]))
        one, value, weights = white[:, 0], white[:, 1], white[:, 2:]
        precision = one @ one
        constant = one @ value / precision
        rest = value - one * constant
        missing = 1 - weights.T @ one
        mean[rows] = constant + weights.T @ rest
        variance = kernel.variance() + kernel.nugget() - (weights**2).sum(0) + missing**2 / precision
        std[rows] = np.sqrt(variance * (rest @ rest) / (len(near) - 1))
    return mean, std
