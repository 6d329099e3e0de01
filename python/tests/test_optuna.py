"""The sampler of Optuna."""

import inspect
import pathlib
import pickle
import runpy
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")
samplers = pytest.importorskip("optuna.testing.pytest_samplers", reason="Optuna before 5 has its tests of samplers elsewhere")

import npzoo
from npzoo.optuna import Sampler
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


class TestOfOptuna(samplers.BasicSamplerTestCase, samplers.RelativeSamplerTestCase, samplers.SingleOnlySamplerTestCase):
    """Optuna's own tests of samplers."""

    @pytest.fixture
    def sampler(self):
        return lambda: Sampler(seed=1)


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    return (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def training(trial):
    """Parameters of all kinds; 0 at 10^-2.6, 5, "a" and 0.2."""
    rate, layers = trial.suggest_float("rate", 1e-5, 1e-1, log=True), trial.suggest_int("layers", 1, 12)
    kind, dropout = trial.suggest_categorical("kind", [None, "a", 3.5]), trial.suggest_float("dropout", 0, 0.5, step=0.1)
    return (np.log10(rate) + 2.6) ** 2 + ((layers - 5) / 4) ** 2 + (kind != "a") + 4 * (dropout - 0.2) ** 2


def best(objective, sampler, direction="minimize", trials=30):
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=trials)
    return study


@pytest.mark.parametrize("objective, minimum", [(branin, 0.397887), (training, 0.0)])
def test_it_beats_random_search(objective, minimum):
    own = np.array([best(objective, Sampler(seed=seed)).best_value for seed in range(3)]) - minimum
    random = np.array([best(objective, optuna.samplers.RandomSampler(seed=seed)).best_value for seed in range(3)]) - minimum
    assert own.max() < 0.1 * np.median(random)


def test_a_seed_repeats_a_study_and_a_maximum_is_the_minimum_of_the_negative():
    once = best(training, Sampler(seed=4), trials=16)
    again = best(lambda trial: -training(trial), Sampler(seed=4), "maximize", trials=16)
    assert [t.params for t in once.trials] == [t.params for t in again.trials]
    other = best(training, Sampler(seed=5), trials=3)
    assert [t.params for t in other.trials] != [t.params for t in once.trials[:3]]


def test_points_are_those_of_the_optimiser():
    study = optuna.create_study(sampler=Sampler(seed=2))
    space = {"x": FloatDistribution(0, 4), "y": FloatDistribution(1e-3, 1, log=True)}
    optimiser = npzoo.Optimiser({"x": (0, 4), "y": {"low": 1e-3, "high": 1, "log": True}}, seed=2)
    rng = np.random.default_rng(0)
    for x, y in np.c_[rng.uniform(0, 4, 8), 10 ** rng.uniform(-3, 0, 8)]:
        value = (x - 1) ** 2 + np.log10(y) ** 2
        study.add_trial(optuna.create_trial(params={"x": x, "y": y}, distributions=space, value=value))
        optimiser.tell([[x, y]], [value])
    (point,) = optimiser.ask()
    assert study.ask(space).params == pytest.approx(point, rel=1e-12)
    assert optimiser.by == "gp"


def test_a_search_space_is_used_from_the_first_trial_on():
    space = {"x": FloatDistribution(0, 4), "y": FloatDistribution(1e-3, 1, log=True), "one": FloatDistribution(2, 2)}
    study = optuna.create_study(sampler=Sampler(seed=2, search_space=space))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 4) + trial.suggest_float("y", 1e-3, 1, log=True), n_trials=3)
    design = npzoo.Optimiser({"x": (0, 4), "y": {"low": 1e-3, "high": 1, "log": True}}, seed=2).ask(3)
    assert [trial.params for trial in study.trials] == [pytest.approx(point, rel=1e-12) for point in design]


@pytest.mark.parametrize("known", [0, 1, 12])
def test_running_trials_are_avoided(known):
    """In the design and behind it, and before the objective asked for the parameters."""
    study = best(branin, Sampler(seed=3), trials=known) if known else optuna.create_study(sampler=Sampler(seed=3))
    space = {"x": FloatDistribution(-5, 10), "y": FloatDistribution(0, 15)}
    started = [study.ask() for _ in range(4)]
    points = [study.sampler.sample_relative(study, study.trials[t.number], space) for t in started]
    assert len({tuple(point.values()) for point in points}) == 4
    if known:
        points += [study.ask(space).params for _ in range(2)]
    assert min(np.hypot(a["x"] - b["x"], a["y"] - b["y"]) for i, a in enumerate(points) for b in points[:i]) > 0.05


def test_a_point_longer_than_an_attribute_is_read_back():
    names = [letter * 400 for letter in "abcdefg"]
    space = {name: FloatDistribution(0, 1) for name in names}
    study = optuna.create_study(sampler=Sampler(seed=3))
    study.ask(), study.ask()
    point, after = (study.sampler.sample_relative(study, study.trials[i], space) for i in (0, 1))
    assert len(study.trials[0].system_attrs) == 2
    optimiser = npzoo.Optimiser({name: (0, 1) for name in names}, seed=3)
    optimiser.wait_for([point])
    assert after == optimiser.ask()[0]


def test_a_running_trial_of_another_range_does_not_count():
    study = optuna.create_study(sampler=Sampler(seed=3))
    study.ask(), study.ask()
    wide, narrow = {"x": FloatDistribution(20, 30)}, {"x": FloatDistribution(0, 10)}
    assert 20 <= study.sampler.sample_relative(study, study.trials[0], wide)["x"] <= 30
    assert study.sampler.sample_relative(study, study.trials[1], narrow) == npzoo.Optimiser({"x": (0, 10)}, seed=3).ask()[0]


def test_threads_of_a_study_get_different_points():
    study = optuna.create_study(sampler=Sampler(seed=3))
    study.optimize(branin, n_trials=16, n_jobs=4)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len({tuple(sorted(t.params.items())) for t in study.trials}) == 16


def test_failed_and_pruned_trials_are_not_repeated():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if x < 0.4:
            return float("nan")
        trial.report(x, 1)
        if x > 0.8:
            raise optuna.TrialPruned
        return x

    study = best(objective, Sampler(seed=1), trials=24)
    points = [t.params["x"] for t in study.trials]
    assert len(set(points)) == 24
    assert {t.state for t in study.trials} == {TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED}
    assert 0.4 <= study.best_value < 0.42


def test_a_pruned_trial_counts_with_its_last_intermediate_value():
    def proposed(**of_the_last):
        study = optuna.create_study(sampler=Sampler(seed=1))
        space = {"x": FloatDistribution(0, 1)}
        for x in np.linspace(0.05, 0.95, 7):
            study.add_trial(optuna.create_trial(params={"x": x}, distributions=space, value=(x - 0.6) ** 2))
        study.add_trial(optuna.create_trial(params={"x": 0.3}, distributions=space, **of_the_last))
        return study.ask(space).params["x"]

    pruned = proposed(state=TrialState.PRUNED, intermediate_values={1: 5.0, 4: -0.5})
    assert pruned == proposed(value=-0.5)
    assert pruned != proposed(state=TrialState.PRUNED) == proposed(state=TrialState.FAIL)


def test_every_point_of_a_small_space_and_then_at_random():
    def objective(trial):
        return trial.suggest_int("n", 2, 8, step=2) * trial.suggest_categorical("sign", [1, -1])

    study = best(objective, Sampler(seed=0), trials=10)
    assert len({(t.params["n"], t.params["sign"]) for t in study.trials[:8]}) >= 7  # the first one is at random
    assert len(study.trials) == 10 and study.best_params == {"n": 8, "sign": -1}


def test_branches_and_more_parameters_than_an_optimiser_takes():
    def objective(trial):
        values = [trial.suggest_float(f"x{i:02}", -1, 1) for i in range(22)]
        return sum(v**2 for v in values[:2]) + (trial.suggest_float("y", 0, 1) if values[0] > 0 else 0)

    study = best(objective, Sampler(seed=0), trials=6)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert list(space) == [f"x{i:02}" for i in range(20)]


def test_a_queued_trial_outside_its_range_does_not_count():
    study = optuna.create_study(sampler=Sampler(seed=0))
    study.enqueue_trial({"x": 7.0, "y": 3.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("y", 0, 4), n_trials=8)
    assert study.trials[0].params["x"] == 7.0
    assert all(0 <= t.params["x"] <= 1 for t in study.trials[1:])


def test_a_stored_study_continues(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first = optuna.create_study(study_name="s", storage=url, sampler=Sampler(seed=6))
    first.optimize(branin, n_trials=7)
    again = optuna.load_study(study_name="s", storage=url, sampler=pickle.loads(pickle.dumps(first.sampler)))
    space = again.trials[0].distributions
    expected = best(branin, Sampler(seed=6), trials=8).trials[-1].params
    assert again.ask(space).params == expected


def test_weights_are_the_surrogate():
    space = {"x": FloatDistribution(0, 4), "y": FloatDistribution(0, 1)}
    points = np.random.default_rng(0).uniform(size=(8, 2)) * [4, 1]

    def proposed(**options):
        study = optuna.create_study(sampler=pickle.loads(pickle.dumps(Sampler(seed=2, **options))))
        optimiser = npzoo.Optimiser({"x": (0, 4), "y": (0, 1)}, seed=2, **options)
        for x, y in points:
            study.add_trial(optuna.create_trial(params={"x": x, "y": y}, distributions=space, value=(x - 1) ** 2 + y))
            optimiser.tell([[x, y]], [(x - 1) ** 2 + y])
        asked = study.ask(space).params
        assert asked == pytest.approx(optimiser.ask()[0], rel=1e-12)
        return asked

    assert len({tuple(proposed(**o).values()) for o in ({}, {"weights": "npzoo/any-2d"}, {"acquisition": "ucb"})}) == 3
    with pytest.raises(npzoo.InvalidInput, match="2 axes that vary found, kriging-tnp takes 1 inputs"):
        proposed(weights="npzoo/any-1d")


def test_arguments_are_refused_at_once():
    with pytest.raises(npzoo.InvalidInput, match='"best" found, expected ei, log-ei, ucb or pi'):
        Sampler(acquisition="best")
    with pytest.raises(npzoo.InvalidInput, match="seed -1 found"):
        Sampler(seed=-1)
    with pytest.raises(npzoo.Error, match="no-such-weights"):
        Sampler(weights="no-such-weights")


def test_the_package_of_optunahub(tmp_path, monkeypatch, capsys):
    """Its example runs with the package where the registry has it."""
    optunahub = pytest.importorskip("optunahub")
    folder = pathlib.Path(__file__).parents[2] / "tools/package/optunahub"
    shutil.copytree(folder, tmp_path / "package/samplers/npzoo")
    monkeypatch.setattr(optunahub, "load_module", lambda name: optunahub.load_local_module(name, registry_root=str(tmp_path / "package")))
    runpy.run_path(str(folder / "example.py"))
    assert "'layers': 5" in capsys.readouterr().out
    described = (folder / "README.md").read_text()
    assert all(f"{name}=" in described for name in inspect.signature(Sampler).parameters)


def test_no_torch():
    program = "import sys, npzoo.optuna; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
