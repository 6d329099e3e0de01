#!/usr/bin/env python3
"""npzoo beside other optimisers on ten functions: optimise_rivals.py NPZOO [--seeds 5] [--evaluations 40] [--only METHOD…]

Each method minimises a function with 40 evaluations, one after the other, from seeds 0 to 4. A run's regret is the best value found
minus the minimum, in units of the function's range between its 10 % and 90 % quantiles over the box. Methods are ranked by the
median regret of their seeds, in each function. All begin with a space-filling design of 2 (inputs + 1) points, where they take a size.
Functions as in Surjanovic and Bingham's library (sfu.ca/~ssurjano) and ask_tell.py.

Needs: pip install optuna scikit-optimize botorch
"""

import argparse
import math
import statistics
import time
import warnings

import numpy as np
from ask_tell import at_random, branin, forrester, hartmann6, npzoo, scikit_optimize

warnings.filterwarnings("ignore")


def gramacy_lee(x):
    return math.sin(10 * math.pi * x) / (2 * x) + (x - 1) ** 4


def six_hump_camel(x, y):
    return (4 - 2.1 * x * x + x**4 / 3) * x * x + x * y + (4 * y * y - 4) * y * y


def goldstein_price(x, y):
    a = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x * x - 14 * y + 6 * x * y + 3 * y * y)
    b = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x * x + 48 * y - 36 * x * y + 27 * y * y)
    return math.log(a * b)  # the logarithm: else one corner is all of the range


def ackley(*x):
    n = len(x)
    return (20 + math.e - 20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / n)) -
            math.exp(sum(math.cos(2 * math.pi * v) for v in x) / n))


def hartmann3(*x):
    a = [[3, 10, 30], [.1, 10, 35], [3, 10, 30], [.1, 10, 35]]
    p = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
    return -sum(c * math.exp(-sum(w * (u - q / 1e4) ** 2 for w, u, q in zip(row, x, at))) for c, row, at in zip([1, 1.2, 3, 3.2], a, p))


def rosenbrock(*x):
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def levy(*x):
    w = [1 + (v - 1) / 4 for v in x]
    middle = sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
    return math.sin(math.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)


def styblinski_tang(*x):
    return sum(v**4 - 16 * v * v + 5 * v for v in x) / 2


FUNCTIONS = {
    "Forrester": (forrester, [(0, 1)], -6.020740),
    "Gramacy and Lee": (gramacy_lee, [(0.5, 2.5)], -0.869011),
    "Branin": (branin, [(-5, 10), (0, 15)], 0.397887),
    "six-hump camel": (six_hump_camel, [(-3, 3), (-2, 2)], -1.031628),
    "Goldstein-Price, log": (goldstein_price, [(-2, 2)] * 2, math.log(3)),
    "Hartmann 3": (hartmann3, [(0, 1)] * 3, -3.862782),
    "Ackley 3": (ackley, [(-16, 20)] * 3, 0.0),
    "Rosenbrock 4": (rosenbrock, [(-2, 2)] * 4, 0.0),
    "Levy 4": (levy, [(-10, 10)] * 4, 0.0),
    "Hartmann 6": (hartmann6, [(0, 1)] * 6, -3.322368),
}


def by_optuna(make_sampler):
    """A method of Optuna: `make_sampler(samplers, inputs, seed)` returns its sampler."""
    def run(box, f, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=make_sampler(optuna.samplers, len(box), seed))
        while True:
            trial = study.ask()
            value = f(*[trial.suggest_float(f"x{i}", low, high) for i, (low, high) in enumerate(box)])
            study.tell(trial, value)
            yield value

    return run


optuna_tpe = by_optuna(lambda samplers, inputs, seed: samplers.TPESampler(seed=seed))
optuna_gp = by_optuna(lambda samplers, inputs, seed: samplers.GPSampler(seed=seed, n_startup_trials=2 * (inputs + 1),
                                                                        deterministic_objective=True))


def botorch(box, f, seed):
    """A fitted SingleTaskGP with its defaults and the logarithm of expected improvement."""
    import torch
    from botorch.acquisition.analytic import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    low, high = torch.tensor(box, dtype=torch.float64).T
    unit = torch.stack([torch.zeros(len(box)), torch.ones(len(box))]).double()
    x = torch.quasirandom.SobolEngine(len(box), scramble=True, seed=seed).draw(2 * (len(box) + 1)).double()
    y = []
    for point in x:
        y.append(f(*(low + (high - low) * point).tolist()))
        yield y[-1]
    while True:
        model = SingleTaskGP(x, -torch.tensor(y, dtype=torch.float64)[:, None], outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        point, _ = optimize_acqf(LogExpectedImprovement(model, best_f=-min(y)), bounds=unit, q=1, num_restarts=8, raw_samples=256)
        x = torch.cat([x, point])
        y.append(f(*(low + (high - low) * point[0]).tolist()))
        yield y[-1]


def spread(f, box):
    """The range of a function between its 10 % and 90 % quantiles over the box."""
    draws = np.random.default_rng(0).uniform(*np.array(box, float).T, (4000, len(box)))
    low, high = np.quantile([f(*map(float, x)) for x in draws], [0.1, 0.9])
    return high - low


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--only", nargs="*")
    a = parser.parse_args()
    methods = {"npzoo": lambda *run: npzoo(a.npzoo, *run, []), "BoTorch": botorch, "scikit-optimize": scikit_optimize,
               "Optuna, GP": optuna_gp, "Optuna, TPE": optuna_tpe, "random": at_random}
    if a.only:
        methods = {name: run for name, run in methods.items() if name in a.only}
    print(f"{a.evaluations} evaluations, {a.seeds} seeds; median regret\n\n| function | " + " | ".join(methods) + " |\n|---|" +
          "---:|" * len(methods))
    ranks, seconds = {name: [] for name in methods}, {name: [] for name in methods}
    for function, (f, box, minimum) in FUNCTIONS.items():
        unit, regrets = spread(f, box), []
        for method, run in methods.items():
            found = []
            for seed in range(a.seeds):
                began, values = time.perf_counter(), run(box, f, seed)
                found.append((min(next(values) for _ in range(a.evaluations)) - minimum) / unit)
                seconds[method].append((time.perf_counter() - began) / a.evaluations)
            regrets.append(max(statistics.median(found), 0.0))
        for name, regret in zip(methods, regrets):
            better = sum(other < regret for other in regrets)
            ranks[name].append(1 + better + (sum(other == regret for other in regrets) - 1) / 2)
        print(f"| {function} | " + " | ".join(f"{regret:.2g}" for regret in regrets) + " |", flush=True)
    print("\n| method | mean rank | s an evaluation |\n|---|---:|---:|")
    for name in methods:
        print(f"| {name} | {statistics.mean(ranks[name]):.1f} | {statistics.mean(seconds[name]):.3f} |")


if __name__ == "__main__":
    main()
