import math

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 12)
    return (math.log10(rate) + 2.6) ** 2 + (layers - 5) ** 2


sampler = optunahub.load_module("samplers/npzoo").Sampler(seed=0)
study = optuna.create_study(sampler=sampler)
study.optimize(objective, n_trials=30)
print(study.best_params, study.best_value)
