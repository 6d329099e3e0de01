"""Bayesian optimisation of an objective that is expensive to evaluate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from . import _core
from ._arguments import pair, path_of, real, whole
from ._model import Model, load
from ._warnings import warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = dict[str, float | str]  # a coordinate for each parameter: a number, or the name of a choice


class Proposal(NamedTuple):
    """The expected value at a proposed point; None in the initial design."""

    mean: float | None
    std: float | None
    acquisition: float | None


class Recommendation(NamedTuple):
    """An evaluated point, and the expected value of the objective there."""

    point: Point
    mean: float
    std: float


class Optimiser:
    """Proposes where to evaluate an objective next, given the evaluations so far.

    ``space`` maps each parameter to its bounds ``(low, high)``, or to a dictionary with ``low``, ``high`` and, as needed,
    ``log=True`` (differences of logarithms count), ``integer=True`` and ``fixed=VALUE`` (it is held there). A list of
    names is a parameter of choices: ``{"kernel": ["rbf", "matern"]}``, or ``{"choices": [...], "fixed": NAME}``. ``space``
    may also be the path of a TOML file for the program's ``npzoo optimise``. At most twenty parameters.

    The first points are a space-filling design. Then a surrogate decides: for one parameter of numbers the weights for
    tables, else a Gaussian process that is fitted to the evaluations; ``weights`` names others, and ``"gp"`` the latter.
    ``acquisition`` is ``"log-ei"``, ``"ei"``, ``"ucb"`` or ``"pi"``. Of several points at a time, ``batch="fantasies"``
    takes each as if those before had given what is expected; ``"thompson"`` takes minima of drawn functions.

    Points that :meth:`ask` returned are pending until :meth:`tell` gets their values: later calls return others. If a
    Gaussian process finds that values are noisy, :meth:`ask` may return an evaluated point again. Of noisy values
    :attr:`recommended` is a better answer than :attr:`best`.

    Threads may share an optimiser: a call waits for the one before it.

    >>> import npzoo
    >>> optimiser = npzoo.Optimiser({"x": (0, 4)}, seed=1)
    >>> for _ in range(10):
    ...     (point,) = optimiser.ask()
    ...     optimiser.tell([point], [(point["x"] - 1.5) ** 2])
    >>> abs(optimiser.best[0]["x"] - 1.5) < 0.1
    True
    """

    def __init__(self, space: Mapping[str, object] | str | os.PathLike[str], *, maximise: bool = False,
                 weights: str | os.PathLike[str] | Model | None = None, acquisition: str = "log-ei", batch: str = "fantasies",
                 seed: int = 0) -> None:
        axes = [_axis(name, what) for name, what in space.items()] if isinstance(space, Mapping) else \
            _core.read_space(path_of(space, "[optimise] space"))
        gaussian = isinstance(weights, str) and weights == "gp"
        model = None if weights is None or gaussian else weights if isinstance(weights, Model) else load(weights)
        self._core = _core.Optimiser.make(axes, maximise, acquisition, batch, None if model is None else model._core, gaussian,
                                          whole(seed, "[optimise] seed", most=2**64 - 1))
        self._maximise, self._noted = maximise, False
        self.names: list[str] = [axis[0] for axis in axes]  #: of the parameters
        self._choices: list[list[str]] = [axis[6] for axis in axes]
        self._evaluations: list[tuple[Point, float]] = []
        self.proposals: list[Proposal] = []  #: what was expected of the points of the last :meth:`ask`
        #: the evaluated point of the best expected value at the last :meth:`ask`, which noise does not mislead as it does
        #: :attr:`best`; None in the initial design
        self.recommended: Recommendation | None = None
        self.by: str | None = None  #: who proposed them: ``"sobol"`` for the design, ``"gp"``, or a model's name

    def ask(self, n: int = 1) -> list[Point]:
        """Returns the next ``n`` points to evaluate, which are then pending; fewer if no others are left, and InvalidInput if none is."""
        answer = self._core.ask(whole(n, "[optimise] n", least=1))
        if answer["note"] and not self._noted:
            self._noted = True
            warn([answer["note"]])
        self.by = answer["by"]
        self.proposals = [Proposal(*point[1:]) for point in answer["points"]]
        best = answer["recommended"]
        self.recommended = None if best is None else Recommendation(self._point(best[0]), best[1], best[2])
        return [self._point(point[0]) for point in answer["points"]]

    def tell(self, points: Iterable[Mapping[str, float | str] | Sequence[float | str]], values: Iterable[float | None]) -> None:
        """Adds evaluations: points as :meth:`ask` returns them, or rows of their coordinates, and their values. NaN or None
        stands for an evaluation that failed."""
        rows = self._rows(points)
        told = [float("nan") if v is None else real(v, "[optimise] the value") for v in np.atleast_1d(np.asarray(values, dtype=object))]
        if any(len(row) != len(self.names) for row in rows) or len(rows) != len(told):
            raise _core.InvalidInput(f"[optimise] {len(rows)} points and {len(told)} values found, expected a value for each point of "
                                     f"{len(self.names)} numbers")
        self._core.tell(np.array(rows, dtype=np.float64).reshape(len(rows), len(self.names)), np.array(told, dtype=np.float64))
        self._evaluations += [(self._point(row), value) for row, value in zip(rows, told)]

    def wait_for(self, points: Iterable[Mapping[str, float | str] | Sequence[float | str]]) -> None:
        """Adds points that others proposed and that are being evaluated: :meth:`ask` returns none of them."""
        rows = self._rows(points)
        if any(len(row) != len(self.names) for row in rows):
            raise _core.InvalidInput(f"[optimise] a point of another length found, expected {len(self.names)} coordinates")
        self._core.wait_for(np.array(rows, dtype=np.float64).reshape(len(rows), len(self.names)))

    def forget_pending(self) -> None:
        """Forgets all pending points, which :meth:`ask` may then return again."""
        self._core.forget_pending()

    @property
    def pending(self) -> list[Point]:
        """The points that are being evaluated."""
        return [self._point(row) for row in np.reshape(self._core.pending(), (-1, len(self.names)))]

    def _point(self, row: Iterable[float]) -> Point:
        return {name: choices[int(value)] if choices else float(value)
                for name, choices, value in zip(self.names, self._choices, row)}

    def _rows(self, points: Any) -> list[list[float]]:
        return [self._row(point) for point in ([points] if isinstance(points, Mapping) else points)]

    def _row(self, point: Any) -> list[float]:
        if isinstance(point, Mapping):
            missing = [name for name in self.names if name not in point]
            if missing:
                raise _core.InvalidInput(f"[optimise] a point without {missing[0]!r} found, expected all of {', '.join(self.names)}")
            point = [point[name] for name in self.names]
        point = list(point)
        if len(point) != len(self.names):
            return point
        return [_number(name, choices, value) for name, choices, value in zip(self.names, self._choices, point)]

    @property
    def points(self) -> list[Point]:
        """The points evaluated so far."""
        return [point for point, _ in self._evaluations]

    @property
    def values(self) -> list[float]:
        """The values of :attr:`points`."""
        return [value for _, value in self._evaluations]

    @property
    def best(self) -> tuple[Point, float]:
        """The best point so far and its value."""
        known = [(point, value) for point, value in self._evaluations if not np.isnan(value)]
        if not known:
            raise _core.InvalidInput("[optimise] no evaluation has a value yet, expected one")
        return (max if self._maximise else min)(known, key=lambda evaluation: evaluation[1])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the values in their order and the best so far, with matplotlib; returns the axes."""
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6, 3), layout="constrained")[1] if ax is None else ax
        values = np.array(self.values, dtype=float)
        best = (np.fmax if self._maximise else np.fmin).accumulate(values)
        ax.plot(range(1, len(best) + 1), values, ".", color="black", label="evaluations")
        ax.step(range(1, len(best) + 1), best, where="post", color="#0072b2", label="best so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("evaluation")
        ax.set_ylabel("value")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        return f"<npzoo.Optimiser of {', '.join(self.names)}: {len(self.values)} evaluations>"


def _number(name: str, choices: list[str], value: Any) -> float:
    if not choices:
        return real(value, "[optimise] the coordinate")
    if value not in choices:
        raise _core.InvalidInput(f"[optimise] {name} is {value!r}, expected one of: {', '.join(choices)}")
    return float(choices.index(value))


def _axis(name: object, what: Any) -> tuple[Any, ...]:
    if isinstance(what, Mapping):
        known = {"choices", "fixed"} if "choices" in what else {"low", "high", "log", "integer", "fixed"}
        unknown = set(what) - known
        if unknown:
            expected = "choices or fixed" if "choices" in what else "low, high, log, integer or fixed"
            raise _core.InvalidInput(f"[optimise] {sorted(unknown)[0]!r} of {name!r} found, expected {expected}")
        if "choices" in what:
            return _choices(name, what["choices"], what.get("fixed"))
        fixed = None if what.get("fixed") is None else real(what["fixed"], f"[optimise] fixed of {name!r}")
        low, high = (what.get(key, fixed) for key in ("low", "high"))
        return *_bounds(name, low, high), bool(what.get("log")), bool(what.get("integer")), fixed, []
    if not isinstance(what, str) and isinstance(what, Sequence) and any(isinstance(choice, str) for choice in what):
        return _choices(name, what, None)
    return *_bounds(name, *pair(what, f"[optimise] {name!r}:", "bounds (low, high), names, or a dictionary")), False, False, None, []


def _choices(name: object, choices: Any, fixed: Any) -> tuple[Any, ...]:
    if isinstance(choices, str) or not all(isinstance(choice, str) for choice in choices):
        raise _core.InvalidInput(f"[optimise] choices {choices!r} of {name!r} found, expected names")
    choices = list(choices)
    return str(name), 0.0, 0.0, False, False, None if fixed is None else _number(str(name), choices, fixed), choices


def _bounds(name: object, low: Any, high: Any) -> tuple[str, float, float]:
    return str(name), real(low, f"[optimise] low of {name!r}"), real(high, f"[optimise] high of {name!r}")
