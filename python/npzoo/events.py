"""Sequences of events: what comes next."""

from __future__ import annotations

import os
from typing import Any, Iterable, NamedTuple

import numpy as np

from . import _core
from ._arguments import probabilities, real, seed_of, whole
from ._arrays import as_double, as_whole
from ._model import Model, load
from ._types import ArrayLike, Doubles, Progress


ANY = "thp-plus:npzoo/any-events"


class Path(NamedTuple):
    """A drawn continuation: times in the unit of the table, and marks."""

    times: Doubles
    marks: list[int]


class Count(NamedTuple):
    """How many events come until the horizon."""

    mean: float
    quantiles: list[float]  #: (Q,)


class Next(NamedTuple):
    """The event after a sequence."""

    last: float  #: time of the last event
    mean: float  #: expected time of the next event
    quantiles: Doubles  #: of its time, (Q,)
    mark_probability: Doubles  #: (M,), before the time is known
    paths: list[Path]  #: drawn continuations
    events: Count | None = None  #: how many events come until the horizon, if there is one


def next(times: ArrayLike, marks: ArrayLike | None = None, sequences: ArrayLike | None = None, *,
         weights: str | os.PathLike[str] | Model = ANY, quantiles: Iterable[float] = (0.05, 0.5, 0.95), now: float | None = None,
         samples: int = 0, horizon: float = 0.0, seed: int | None = None, progress: Progress = None) -> list[Next]:
    """Predicts the next event of each sequence, given all events before it.

    Parameters
    ----------
    times : array (n,)
        Times of the events, which ascend within a sequence, in any unit; for other weights than the default in that of the
        training (of dates, days).
    marks : array (n,), optional
        Kinds of the events, from 0 on; of words in alphabetical order.
    sequences : array (n,), optional
        Labels of the sequences. Without it there is one.
    weights : str, path or Model, default "npzoo/any-events"
        Weights of a model of events. The default needs no training on the table; it knows up to 8 kinds of events.
        :func:`npzoo.train` makes others.
    quantiles : list of float, default (0.05, 0.5, 0.95)
        Probabilities of the quantiles of the next time, and of the number of events until the horizon.
    now : float, optional
        Nothing more has happened until this time.
    samples : int, default 0
        Number of continuations to sample.
    horizon : float, default 0
        How far samples reach after the last event or ``now``, and until when events are counted; 0: neither.
    seed : int, optional
        Seed of the samples.
    progress : callable, optional
        Called as ``progress(done, all)``.

    Returns
    -------
    list of Next
        One for each sequence, in the order in which they first appear.

    Raises
    ------
    npzoo.InvalidInput
        An argument cannot be used, such as times that do not ascend, or the weights are not those of a model of events.

    Examples
    --------
    >>> import npzoo
    >>> (after,) = npzoo.events.next([0.5, 1.0, 2.5, 3.0, 4.5], horizon=10)
    >>> after.last, after.mean > 4.5, after.quantiles.shape
    (4.5, True, (3,))
    >>> after.events.mean > 2
    True
    """
    rows = _core.next_events(*_arrays(weights, times, marks, sequences), probabilities(quantiles),
                             None if now is None else real(now, "[events] now"), whole(samples, "[events] samples"),
                             real(horizon, "[events] horizon"), seed_of(seed, "events"), progress)
    return [Next(row["last"], row["mean"], row["quantiles"], row["mark_probability"], [Path(*p) for p in row["paths"]],
                 None if row["count_mean"] is None else Count(row["count_mean"], row["count_quantiles"])) for row in rows]


def log_likelihood(times: ArrayLike, marks: ArrayLike | None = None, sequences: ArrayLike | None = None, *,
                   weights: str | os.PathLike[str] | Model = ANY) -> list[Doubles]:
    """Computes the log-density of each event's time and mark, given the events before it.

    Parameters
    ----------
    times, marks, sequences, weights
        As in :func:`npzoo.events.next`.

    Returns
    -------
    list of array
        An array for each sequence, in nats per unit of time. NaN for the first event of a sequence, which is given to the
        model, and with the default weights for the second and for those before the latest 160.

    Raises
    ------
    npzoo.InvalidInput
        An argument cannot be used, as in :func:`npzoo.events.next`.

    Examples
    --------
    >>> import npzoo
    >>> (densities,) = npzoo.events.log_likelihood([0.5, 1.0, 2.5])
    >>> densities.shape
    (3,)
    """
    return _core.event_log_likelihoods(*_arrays(weights, times, marks, sequences))


def _arrays(weights: str | os.PathLike[str] | Model, times: Any, marks: Any,
            sequences: Any) -> tuple[_core.Model, Doubles, np.ndarray | None, np.ndarray | None]:
    model = weights if isinstance(weights, Model) else load(weights)
    kinds = None if marks is None else _in_a_row(as_whole(marks, "marks"), "marks")
    numbers = None
    if sequences is not None:
        known: dict[Any, int] = {}
        labels = np.asarray(sequences).tolist()
        numbers = np.fromiter((known.setdefault(label, len(known)) for label in labels), np.uint32, len(labels))
    return model._core, _in_a_row(as_double(times, "times"), "times"), kinds, numbers


def _in_a_row(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 1:
        raise _core.InvalidInput(f"[{name}] shape {array.shape} found, expected (n,)")
    return array
