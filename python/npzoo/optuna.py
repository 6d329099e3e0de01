"""A sampler of Optuna."""

from __future__ import annotations

import itertools
import json
import math
import os
import threading
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ._arguments import whole
from ._decisions import Optimiser
from ._model import Model
from ._question import named_model

_MOST = 20  # parameters of an Optimiser
_KEY = "npzoo:point:"  # of the attributes of a trial that hold its point before the objective asks for it
_LONGEST = 2000  # characters of an attribute that every storage takes
_asking = threading.Lock()  # so that of two threads of a study the second knows the point of the first


class Sampler(BaseSampler):
    """Bayesian optimisation by :class:`npzoo.Optimiser` in a study of Optuna, without PyTorch.

    Parameters that every trial had so far, with the same distribution, are chosen together: the first trials are a
    space-filling design, then a surrogate decides. At most twenty are (the first by name). Others are sampled by
    ``independent_sampler``: all of the first trial, those of a branch, and those whose range changes.

    The sampler keeps nothing between trials: it reads the study, so a study may be continued and shared by processes.
    Running trials are pending, and later trials avoid them. A failed trial counts as the worst value and is avoided. A pruned
    trial counts with its last intermediate value, and without one as failed. Constraints do not count. Studies of
    several objectives are refused (ValueError).

    Parameters
    ----------
    seed : int or None, default=None
        Of all that is random; None for another one each time.
    weights : str, path, Model or None, default=None
        Trained weights as the surrogate, of as many inputs as parameters are chosen together, or ``"gp"``; None for the
        choice of :class:`npzoo.Optimiser`.
    acquisition : str, default="log-ei"
        ``"log-ei"``, ``"ei"``, ``"ucb"`` or ``"pi"``.
    search_space : dict of Optuna's distributions or None, default=None
        Parameters that are chosen together from the first trial on; None for those that every trial had.
    independent_sampler : optuna.samplers.BaseSampler or None, default=None
        None for a ``RandomSampler``.

    Examples
    --------
    >>> import optuna
    >>> from npzoo.optuna import Sampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=Sampler(seed=1))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", 0, 4) - 1.5) ** 2, n_trials=12)
    >>> abs(study.best_params["x"] - 1.5) < 0.1
    True
    """

    def __init__(self, *, seed: int | None = None, weights: str | os.PathLike[str] | Model | None = None, acquisition: str = "log-ei",
                 search_space: dict[str, BaseDistribution] | None = None, independent_sampler: BaseSampler | None = None) -> None:
        self._seed = _any_seed() if seed is None else whole(seed, "[optuna] seed", most=2**64 - 1)
        named = named_model(weights)
        self._weights, self._acquisition = weights if named is None else named, acquisition
        self._space = search_space
        self._independent = independent_sampler or RandomSampler(seed=None if seed is None else seed % 2**32)
        any_space = {f"x{i}": (0, 1) for i in range(1 if named is None else named.dim_x)}
        Optimiser(any_space, weights=self._weights, acquisition=acquisition)  # refuses wrong arguments here and not in a trial

    def reseed_rng(self) -> None:
        self._seed = _any_seed()
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        self._raise_error_if_multi_objective(study)
        space = self._space
        if space is None:
            space = intersection_search_space(study.get_trials(deepcopy=False), include_pruned=True)
        return dict([(name, one) for name, one in space.items() if not one.single()][:_MOST])

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        space = {name: one for name, one in search_space.items() if not one.single()}
        if not space:
            return {}
        optimiser = Optimiser({name: _axis(one) for name, one in space.items()}, maximise=study.direction == StudyDirection.MAXIMIZE,
                              weights=self._weights, acquisition=self._acquisition, seed=self._seed)
        with _asking:
            points, values, pending = [], [], []
            for other in study.get_trials(deepcopy=False):
                point = None if other.number == trial.number else _point(other, space)
                if point is not None and other.state == TrialState.RUNNING:
                    pending.append(point)
                elif point is not None and other.state.is_finished():
                    points.append(point)
                    values.append(_value(other))
            if len({tuple(point.values()) for point in points + pending}) >= _size(space):
                return {name: self.sample_independent(study, trial, name, one) for name, one in space.items()}
            optimiser.tell(points, values)
            optimiser.wait_for(pending)
            (asked,) = optimiser.ask()
            chosen = {name: _parameter(one, asked[name]) for name, one in space.items()}
            _store(study, trial, {name: space[name].to_internal_repr(value) for name, value in chosen.items()})
        return chosen

    def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution) -> Any:
        self._raise_error_if_multi_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        self._independent.after_trial(study, trial, state, values)


def _any_seed() -> int:
    return int(np.random.default_rng().integers(2**32))


def _is_grid(one: Any) -> bool:
    """Whether a distribution has steps other than whole numbers: then the coordinate is the number of the step."""
    return one.step is not None and not (isinstance(one, IntDistribution) and one.step == 1)


def _axis(one: Any) -> dict[str, Any]:
    """A distribution as a parameter of an Optimiser."""
    if isinstance(one, CategoricalDistribution):
        return {"choices": [str(i) for i in range(len(one.choices))]}  # choices may be of any type
    if _is_grid(one):
        return {"low": 0, "high": round((one.high - one.low) / one.step), "integer": True}
    return {"low": one.low, "high": one.high, "log": one.log, "integer": isinstance(one, IntDistribution)}


def _size(space: dict[str, BaseDistribution]) -> float:
    """The number of points of a space."""
    axes = [_axis(one) for one in space.values()]
    return math.prod(len(axis["choices"]) if "choices" in axis else axis["high"] - axis["low"] + 1 if axis["integer"] else math.inf
                     for axis in axes)


def _coordinate(one: Any, inner: float | None) -> float | str | None:
    """A value in Optuna's representation as a coordinate; None outside its distribution, as values of queued trials may be."""
    if inner is None:
        return None
    if isinstance(one, CategoricalDistribution):
        return str(int(inner)) if 0 <= inner < len(one.choices) else None
    if not one.low <= inner <= one.high:
        return None
    return float(round((inner - one.low) / one.step)) if _is_grid(one) else float(inner)


def _inner(one: BaseDistribution, value: Any) -> float | None:
    """A value of a parameter in Optuna's representation; None if the distribution has no such value."""
    try:
        return float(one.to_internal_repr(value))
    except ValueError:
        return None


def _parameter(one: Any, coordinate: Any) -> Any:
    """The value of a parameter at a coordinate."""
    if isinstance(one, CategoricalDistribution):
        return one.choices[int(coordinate)]
    value = min(max(one.low + coordinate * one.step if _is_grid(one) else coordinate, one.low), one.high)
    return int(value) if isinstance(one, IntDistribution) else float(value)


def _point(trial: FrozenTrial, space: dict[str, BaseDistribution]) -> dict[str, float | str] | None:
    """The point of a trial; None if it lacks a parameter or has one outside of the space."""
    stored = _stored(trial) if trial.state == TrialState.RUNNING else {}
    inner = {name: _inner(one, trial.params[name]) if name in trial.params else stored.get(name) for name, one in space.items()}
    point = {name: _coordinate(one, inner[name]) for name, one in space.items()}
    return {name: known for name, known in point.items() if known is not None} if None not in point.values() else None


def _store(study: Study, trial: FrozenTrial, point: dict[str, float]) -> None:
    """Shows the point of a trial, in Optuna's representation, to other trials before the objective asks for all its parameters."""
    text = json.dumps(point)
    parts = [text[i:i + _LONGEST] for i in range(0, len(text), _LONGEST)]
    for i, part in reversed(list(enumerate(parts))):  # the first part is written last, when all others are there
        study._storage.set_trial_system_attr(trial._trial_id, f"{_KEY}{i}", part)


def _stored(trial: FrozenTrial) -> dict[str, float]:
    parts = itertools.takewhile(lambda part: part is not None, (trial.system_attrs.get(f"{_KEY}{i}") for i in itertools.count()))
    return json.loads("".join(parts) or "{}")


def _value(trial: FrozenTrial) -> float | None:
    """What a finished trial says of its point; None: it failed."""
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        value: float | None = trial.intermediate_values[max(trial.intermediate_values)]
    else:
        value = trial.value if trial.state == TrialState.COMPLETE else None
    return value if value is not None and np.isfinite(value) else None
