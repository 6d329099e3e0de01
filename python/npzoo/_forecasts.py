"""Series: forecasts of the rows after the last one, and scores of such forecasts."""

from __future__ import annotations

import os
from typing import Any, Iterable, Sequence

import numpy as np

from . import _core
from ._arguments import names, optional_whole, probabilities, seed_of, whole
from ._catalogue import Table
from ._frame_kinds import as_frame
from ._frames import Frame, as_times
from ._model import Model
from ._question import Question, as_model, check_names, fill_options, joined_labels, library_columns, named_figures
from ._tables import combines_ends, period_texts
from ._types import Doubles, Names, Period, Progress, TableLike, TableT
from ._warnings import warn


def forecast(data: TableT, horizon: int | None = None, time: str | None = None, values: str | Sequence[str] | None = None,
             weights: str | os.PathLike[str] | Model | None = None, *, group: str | Sequence[str] | None = None,
             ends: str = "combined", period: Period = None, quantiles: Iterable[float] = (), samples: int = 0,
             seed: int | None = None, bounds: tuple[float | None, float | None] = (None, None), counts: bool = False,
             dates: str | None = None, progress: Progress = None) -> TableT:
    """Forecasts the rows after the last one of a series, or of each of several.

    Parameters
    ----------
    data : table
        A table of any kind that :func:`fill` takes. Its rows follow each other in equal steps of ``time``.
    horizon : int
        Number of steps to forecast. Optional for weights of a model of forecasts: the horizon of the training.
    time : str, optional
        Column of the times, numbers or dates. Default: the column of dates.
    values : str or list of str, optional
        Columns to forecast. Default: all other columns of numbers.
    weights : str, path or Model, optional
        Weights of a model of forecasts, such as :func:`npzoo.train` makes under ``taylorformer/exchange``. Default: the
        weights for tables, combined with other methods (see ``ends``).
    group : str or list of str, optional
        Each value of this column, or each combination of several, is a series of its own, with its own step and end.

    Parameters (method)
    -------------------
    ends : {"combined", "weights"}, default "combined"
        ``"combined"`` averages the weights for tables with exponential smoothing, Theta, drift, the last season and a
        season profile, by their scores on held-out parts. ``"weights"`` uses the weights alone, and samples each step by itself.
    period : int, float, str or list of these, optional
        Length of a season, or of several: steps, or of dates a time such as ``"1y"``, ``"7d"`` or ``"24h"``. Default: found in the
        values.

    Parameters (uncertainty)
    ------------------------
    quantiles : list of float, optional
        Probabilities of the quantiles to return.
    samples : int, default 0
        Number of sampled paths. A sum over steps of a path is a sample of the sum.
    seed : int, optional
        Seed of random numbers.

    Parameters (limits)
    -------------------
    bounds, counts : optional
        As in :func:`fill`.

    Parameters (computation)
    ------------------------
    dates, progress : optional
        As in :func:`fill`.

    Returns
    -------
    table
        A table of the same kind as ``data`` with ``horizon`` rows for each series: the group, the times and the columns
        ``mean_VALUE``, ``std_VALUE``, ``qP_VALUE`` and ``sampleK_VALUE``.

    Raises
    ------
    npzoo.InvalidInput
        An argument or the table cannot be used, such as repeated times without a ``group``.

    Warns
    -----
    npzoo.PredictionWarning
        A reason to doubt a figure, as in :func:`fill`.

    Notes
    -----
    With covariates that are known ahead, call :func:`fill` with the future rows as ``targets``.

    Examples
    --------
    >>> import npzoo, numpy
    >>> month = numpy.arange(48.0)
    >>> ahead = npzoo.forecast({"month": month, "sales": numpy.sin(month / 2)}, horizon=3, time="month")
    >>> ahead["month"].tolist()
    [48.0, 49.0, 50.0]
    """
    frame = as_frame(data, "forecast", dates)
    quantiles = probabilities(quantiles)
    question = _question(frame, time, values, group)
    if weights is None:
        horizon = whole(horizon, "[forecast] horizon", least=1)
        options = fill_options((None, bounds, counts), quantiles=quantiles, samples=samples, seed=seed,
                               combine_ends=combines_ends(ends), periods=period_texts(period))
        places, result = _extended(question, horizon, options, progress)
        return _made(question, places, question.figures(result, quantiles, samples))
    limited = counts or any(limit is not None for limit in (bounds or ()))
    if period is not None or ends != "combined" or limited:
        given = (f"period {period!r}" if period is not None else f"ends {ends!r}" if ends != "combined" else "bounds or counts")
        raise _core.InvalidInput(f"[forecast] {given} found beside weights of forecasts, expected none")
    model, steps = as_model(weights, 1)._core, optional_whole(horizon, "[forecast] horizon") or 0
    times: list[Doubles] = []
    parts: list[dict[str, Doubles]] = []
    for rows in _series(question):
        y = np.ascontiguousarray(np.stack([column[rows] for column in question.y], axis=1))
        result = _core.forecast(model, np.ascontiguousarray(question.x[rows, 0]), y, question.forms[0], question.values, steps, quantiles,
                                whole(samples, "[forecast] samples"), seed_of(seed, "forecast"), progress)
        warn(text for _, text in result["warnings"])
        times.append(result["time"])
        parts.append(named_figures(question.values, [(result["mean"][:, i], result["std"][:, i], result["quantiles"][:, i],
                                                      result["samples"][:, i]) for i in range(len(question.values))], quantiles, samples))
    return _made(question, times, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def backtest(data: TableLike, time: str | None = None, values: str | Sequence[str] | None = None, *,
             group: str | Sequence[str] | None = None, dates: str | None = None, period: Period = None,
             progress: Progress = None) -> Table:
    """Scores forecasts of the end of each series, which it hides from the methods: the last season, or six steps.

    Parameters
    ----------
    data : table
        A table of any kind that :func:`fill` takes.
    time, values, group, dates, period, progress : optional
        As in :func:`forecast`.

    Returns
    -------
    list of dict
        A row for the combination that :func:`forecast` uses, and one for each of its methods: ``mase`` and ``crps`` in units of
        the error of the last season on the part that was shown; ``coverage_95``, the share of hidden values inside the central
        interval of 95 %; ``skill``, the share of the CRPS of the seasonal naive forecast that the method saves; ``values``, the
        number of hidden values. The list is empty if no series is long enough.

    Raises
    ------
    npzoo.InvalidInput
        An argument or the table cannot be used, as in :func:`forecast`.

    Examples
    --------
    >>> import npzoo, numpy
    >>> month = numpy.arange(60.0)
    >>> rows = npzoo.backtest({"month": month, "sales": numpy.sin(month / 3)}, "month")
    >>> rows[0]["method"], rows[0]["values"]
    ('combination', 18)
    """
    question = _question(as_frame(data, "backtest", dates), time, values, group)
    options = fill_options(check_ends=True, combine_ends=False, periods=period_texts(period))
    _, result = _extended(question, 1, options, progress)
    naive = next((crps for method, _, crps, *_ in result["ends"] if method == "seasonal naive"), np.nan)
    return Table({"method": method, "mase": mase, "crps": crps, "coverage_95": coverage, "skill": 1 - crps / naive, "values": count}
                 for method, mase, crps, coverage, count in result["ends"])


def _question(frame: Frame, time: str | None, values: Names, group: Names) -> Question:
    groups = names(group)
    if time is None:
        (time,), _ = library_columns(frame).choose_series(names(values), groups)
    time = str(time)
    check_names(frame, [time, *names(values), *groups], "forecast")
    if len(frame) == 0:
        raise _core.InvalidInput("[forecast] the table has no rows, expected observed values")
    chosen = names(values) or [name for name in frame.names if name not in (time, *groups) and frame.kind(name) == "number"]
    if not chosen:
        raise _core.InvalidInput("[forecast] no column of numbers found beside the times, expected values to name it")
    question = Question(frame, time, chosen, groups)
    for rows in _series(question):
        x = np.sort(question.x[rows, 0])
        if len(x) < 2:
            raise _core.InvalidInput(f"[forecast] {_named(question, rows)}1 row found, expected two or more times in {time!r}")
        repeated = int((np.diff(x) == 0).sum())
        if repeated:
            question.check_one_series("forecast")
            raise _core.InvalidInput(f"[forecast] {_named(question, rows)}{repeated} times of {time!r} repeat, expected one series with one "
                                     "row at each time; a column that names several series is a group")
    return question


def _series(question: Question) -> list[np.ndarray]:
    """The rows of each series, in the order in which the series appear."""
    if question.groups is None:
        return [np.arange(len(question.x))]
    order = np.argsort(question.groups, kind="stable")
    return np.split(order, np.cumsum(np.bincount(question.groups))[:-1])


def _named(question: Question, rows: np.ndarray) -> str:
    """The group of these rows, before what is said of it."""
    return f"group '{joined_labels(question.frame, question.group)[rows[0]]}': " if question.group else ""


def _extended(question: Question, horizon: int, options: _core.FillOptions, progress: Progress) -> tuple[list[Doubles], dict[str, Any]]:
    """The times after the last one of each series, in its usual step, and what the weights for tables predict there."""
    series = _series(question)
    places = [_core.following_times(np.ascontiguousarray(question.x[rows, 0]), question.forms[0], horizon) for rows in series]
    question.targets = np.concatenate(places)[:, None]
    if question.groups is not None:
        question.target_groups = np.repeat(np.arange(len(series), dtype=np.uint32), horizon)
    result = question.answer(as_model(None, 1), options, progress=progress)
    warn((text for about, text in result["warnings"] if about != "targets outside"), level=4)
    return places, result


def _made(question: Question, places: list[Doubles], figures: dict[str, Doubles]) -> Any:
    """A table of the kind asked: groups, times and figures."""
    frame, time = question.frame, question.inputs[0]
    first = np.repeat([rows[0] for rows in _series(question)], [len(times) for times in places])
    groups = {name: frame.column(name)[first] for name in question.group}
    times = frame.in_zone(time, as_times(np.concatenate(places), question.forms[0]))
    return frame.made({**groups, time: times, **figures}, [*groups, time])
