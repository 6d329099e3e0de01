"""Series: forecasts behind their end, and how good such forecasts would have been."""

from __future__ import annotations

import os
from typing import Any, Iterable, Sequence

import numpy as np

from . import _core
from ._arguments import names, optional_whole, probabilities, seed_of, whole
from ._catalogue import Table
from ._frame_kinds import as_frame
from ._frames import Form, Frame, as_times
from ._model import Model
from ._question import Question, as_model, check_names, column_facts, fill_options, input_column, named_figures
from ._tables import combines_ends, period_texts
from ._types import Doubles, Names, Period, Progress, TableLike, TableT
from ._warnings import warn


def forecast(data: TableT, horizon: int | None = None, time: str | None = None, values: str | Sequence[str] | None = None,
             weights: str | os.PathLike[str] | Model | None = None, *, quantiles: Iterable[float] = (), samples: int = 0,
             seed: int | None = None, dates: str | None = None, ends: str = "combined",
             period: Period = None, bounds: tuple[float | None, float | None] = (None, None), counts: bool = False,
             progress: Progress = None) -> TableT:
    """Predicts the next ``horizon`` rows of a table whose rows follow each other in equal steps of ``time``.

    Returns a table of the same kind with the times and the columns ``mean_VALUE``, ``std_VALUE``, ``qP_VALUE`` and
    ``sampleK_VALUE``. Samples are paths: a sum over steps of one of them is a sample of the sum. ``weights`` are those of
    a model of forecasts, such as :func:`npzoo.train` makes under ``taylorformer/exchange``; by default the weights for
    tables are combined with exponential smoothing, Theta, drift and the last season, by their scores on held-out parts
    (``ends="weights"``: not combined, and each step is sampled by itself). ``period`` is the length of a season, or
    several: steps, or of dates a time such as ``"1y"``, ``"7d"`` or ``"24h"``; by default it is found. ``time`` is by
    default the column of dates; ``values`` are all other columns of numbers. ``dates``, ``bounds`` and ``counts`` are those of
    :func:`fill`.

    >>> import npzoo, numpy
    >>> month = numpy.arange(48.0)
    >>> ahead = npzoo.forecast({"month": month, "sales": numpy.sin(month / 2)}, horizon=3, time="month")
    >>> ahead["month"].tolist()
    [48.0, 49.0, 50.0]
    """
    frame = as_frame(data, "forecast", dates)
    quantiles = probabilities(quantiles)
    time, chosen = _series_columns(frame, time, values)
    x, form = input_column(frame, time)
    if weights is None:
        horizon = whole(horizon, "[forecast] horizon", least=1)
        options = fill_options((None, bounds, counts), quantiles=quantiles, samples=samples, seed=seed,
                               combine_ends=combines_ends(ends), periods=period_texts(period))
        places, result, question = _extended(frame, time, x, form, chosen, horizon, options, progress)
        figures = question.figures(result, quantiles, samples)
    else:
        limited = counts or any(limit is not None for limit in (bounds or ()))
        if period is not None or ends != "combined" or limited:
            given = (f"period {period!r}" if period is not None else f"ends {ends!r}" if ends != "combined" else "bounds or counts")
            raise _core.InvalidInput(f"[forecast] {given} found beside weights of forecasts, expected none")
        y = np.ascontiguousarray(np.stack([frame.numbers(name) for name in chosen], axis=1))
        result = _core.forecast(as_model(weights, 1)._core, x, y, form, chosen, optional_whole(horizon, "[forecast] horizon") or 0, quantiles,
                                whole(samples, "[forecast] samples"), seed_of(seed, "forecast"), progress)
        warn(text for _, text in result["warnings"])
        places = result["time"]
        figures = named_figures(chosen, [(result["mean"][:, i], result["std"][:, i], result["quantiles"][:, i],
                                          result["samples"][:, i]) for i in range(len(chosen))], quantiles, samples)
    return frame.made({time: frame.in_zone(time, as_times(places, form)), **figures})


def backtest(data: TableLike, time: str | None = None, values: str | Sequence[str] | None = None, *, dates: str | None = None,
             period: Period = None,
             progress: Progress = None) -> Table:
    """Scores forecasts of the last season of each series, or of six steps, hidden from the methods.

    Returns a row for the combination that :func:`forecast` uses, and one for each method in it: MASE and CRPS in errors
    of the last season on the part that was shown, ``coverage_95``, the share of hidden values inside the central
    interval of 95 %, and ``skill``, the share of the CRPS of the seasonal naive forecast that the method saves. The table
    is empty if no series is long enough. The arguments are those of :func:`forecast`.

    >>> import npzoo, numpy
    >>> month = numpy.arange(60.0)
    >>> rows = npzoo.backtest({"month": month, "sales": numpy.sin(month / 3)}, "month")
    >>> rows[0]["method"], rows[0]["values"]
    ('combination', 18)
    """
    frame = as_frame(data, "backtest", dates)
    time, chosen = _series_columns(frame, time, values)
    x, form = input_column(frame, time)
    options = fill_options(check_ends=True, combine_ends=False, periods=period_texts(period))
    _, result, _ = _extended(frame, time, x, form, chosen, 1, options, progress)
    naive = next((crps for method, _, crps, *_ in result["ends"] if method == "seasonal naive"), np.nan)
    return Table({"method": method, "mase": mase, "crps": crps, "coverage_95": coverage, "skill": 1 - crps / naive, "values": count}
                 for method, mase, crps, coverage, count in result["ends"])


def _series_columns(frame: Frame, time: str | None, values: Names) -> tuple[str, list[str]]:
    if time is None:
        facts = [column_facts(frame, name) for name in frame.names]
        try:
            (time,) = _core.choose_inputs(facts, names(values), 1)
        except _core.InvalidInput:
            raise _core.InvalidInput(f"[forecast] columns {', '.join(map(repr, frame.names))} found, expected time to name that of the "
                                     "times") from None
    time = str(time)
    check_names(frame, [time, *names(values)], "forecast")
    if len(frame) == 0:
        raise _core.InvalidInput("[forecast] the table has no rows, expected observed values")
    chosen = names(values) or [name for name in frame.names if name != time and frame.kind(name) == "number"]
    if not chosen:
        raise _core.InvalidInput("[forecast] no column of numbers found beside the times, expected values to name it")
    return time, chosen


def _extended(frame: Frame, time: str, x: Doubles, form: Form, chosen: list[str], horizon: int, options: _core.FillOptions,
              progress: Progress) -> tuple[Doubles, dict[str, Any], Question]:
    """Times behind the last, in the usual step, what the weights for tables say of them, and the question."""
    steps = np.diff(np.sort(x))
    if len(steps) == 0:
        raise _core.InvalidInput(f"[forecast] {len(x)} row{'' if len(x) == 1 else 's'} found, expected two or more times in {time!r}")
    if not (steps > 0).all():
        raise _core.InvalidInput(f"[forecast] {int((steps == 0).sum())} times of {time!r} repeat, expected one series with one row at each "
                                 "time: of several series forecast one after the other, or use npzoo.fill with targets and group")
    places = _core.following_times(np.ascontiguousarray(x, dtype=np.float64), form, horizon)
    question = Question(frame, time, chosen)
    question.targets = np.ascontiguousarray(places[:, None])
    result = question.answer(as_model(None, 1), options, progress=progress)
    warn((text for about, text in result["warnings"] if about != "targets outside"), level=4)
    return places, result, question
