"""Tables with gaps: fill them, forecast them, score what was predicted."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from . import _core
from ._catalogue import Table
from ._frames import Frame, as_frame
from ._model import Model, load
from ._warnings import warn

_COORDINATES = [("lon", "lat"), ("lng", "lat"), ("long", "lat"), ("longitude", "latitude"), ("x", "y"), ("x1", "x2"),
                ("easting", "northing"), ("east", "north")]
_DAY = 86_400_000_000_000  # ns


def fill(data, inputs: str | Sequence[str] | None = None, values: str | Sequence[str] | None = None,
         group: str | None = None, weights: str | os.PathLike | Model | None = None, *,
         quantiles: Iterable[float] = (), samples: int = 0, targets=None, seed: int | None = None,
         standardise: bool = True, neighbours: int = 0, chunk: int = 4096, transform: str | None = None,
         bounds: tuple[float | None, float | None] = (None, None), counts: bool = False,
         missing: Iterable[float | str] = (), turn: bool = True, kernel: str | None = None, lonlat: bool = False,
         progress: Callable[[int, int], object] | None = None):
    """Predicts the values of a table, known or missing, with their uncertainty.

    ``data`` is a pandas or Polars DataFrame, an Arrow table, an xarray Dataset or DataArray, or a dictionary of arrays.
    The result is of the same kind, with columns ``mean_VALUE``, ``std_VALUE``, for each of ``quantiles`` ``qP_VALUE``,
    and for each of ``samples`` ``sampleK_VALUE``, in the units of the table. With ``targets``, another table with
    the columns of the inputs, its rows are predicted instead.

    ``inputs`` are the columns that the values depend on, numbers or dates; by default the column of dates, or the one
    of numbers without a gap, or two that are called like coordinates. ``values`` are the columns of numbers to
    predict; by default those with gaps. Each value of each ``group`` is a series of its own, standardised by itself.
    In an xarray object the inputs are its dimensions but that of the group.

    ``weights`` are trained weights by name, file or :class:`Model`; by default those for any table of one or two
    inputs, which need no training. ``"gp"`` fits a Gaussian process instead, as is done for three or more inputs;
    ``kernel`` names its kernel, such as ``"matern-3/2 * periodic + linear"``. With ``lonlat`` the first two inputs are
    longitude and latitude in degrees, and distances those on the sphere. ``seed`` is that of what is random, by default that of the training.
    ``standardise=False`` takes inputs and values as they are. ``neighbours`` is the number of observed points used for
    each target, by default chosen from the training. ``progress(done, all)`` is called with the values predicted so
    far. ``turn=False`` leaves two inputs of a table with many points as they are; by default they are turned and
    stretched if values vary less along a slanted line than across it.

    ``bounds`` are a lower and an upper limit of the values, either of which may be None; no figure leaves them.
    ``transform`` predicts a function of the values: ``"log"`` above the lower limit (0), ``"sqrt"`` from it on,
    ``"logit"`` between two limits, or ``"auto"``, for each column the one that predicts left-out values best.
    ``counts`` are whole numbers from 0 on, and so are their quantiles and samples. All figures and scores are in the
    unit of the table. ``missing`` are numbers and texts that stand for a missing value, such as -9999.

    Reasons to doubt a figure are warnings (:class:`PredictionWarning`). Figures that are not finite become NaN.

    Columns of float64 are read where they lie if there is one input; several inputs are copied into one array. Dates
    become days, exact to the nanosecond.

    >>> import npzoo, numpy
    >>> day = numpy.arange(10.0)
    >>> level = numpy.where((day == 4) | (day == 5), numpy.nan, 20 + numpy.sin(day))
    >>> filled = npzoo.fill({"day": day, "level": level})
    >>> list(filled)
    ['day', 'level', 'mean_level', 'std_level']
    >>> bool(filled["std_level"][4] > filled["std_level"][3])
    True
    """
    question = _Question(as_frame(data, "fill"), inputs, values, group, targets, list(missing))
    quantiles = _probabilities(quantiles)
    result = question.answer(weights, quantiles, samples, seed, standardise, neighbours, chunk, progress,
                             turn=turn, limits=_limits(transform, bounds, counts), kernel=kernel, lonlat=lonlat)
    warn(text for _, text in result["warnings"])
    columns = question.figures(result, quantiles, samples)
    question.check_free(columns)
    made = question.asked.attached(columns)
    attributes = getattr(made, "attrs", None)
    if isinstance(attributes, dict):
        attributes["npzoo"] = {"weights": result["weights"], "inputs": question.inputs, "values": question.values,
                               "group": question.group,
                               "transforms": [name for name, *_ in result["transforms"]]}
    return made


def score(data, truth, inputs: str | Sequence[str] | None = None, values: str | Sequence[str] | None = None,
          group: str | None = None, weights: str | os.PathLike | Model | None = None, *, seed: int | None = None,
          standardise: bool = True, neighbours: int = 0, turn: bool = True, transform: str | None = None,
          bounds: tuple[float | None, float | None] = (None, None), counts: bool = False,
          missing: Iterable[float | str] = (), kernel: str | None = None, lonlat: bool = False) -> Table:
    """Scores predictions of the missing values of ``data`` against ``truth``, a table with the same columns.

    Returns a row for each value column, and the row ``"all"`` if there are several: MAE, RMSE and CRPS in the units of
    the table, and ``coverage_95``, the share of true values inside the central interval of 95 %. Values that ``data``
    shows do not count. ``transform``, ``bounds``, ``counts`` and ``missing`` are those of :func:`fill`.

    >>> import npzoo, numpy
    >>> day = numpy.arange(20.0)
    >>> level = numpy.sin(day / 2)
    >>> npzoo.score({"day": day, "level": numpy.where(day % 4 == 2, numpy.nan, level)}, {"day": day, "level": level})[0]["rows"]
    5
    """
    question = _Question(as_frame(data, "score"), inputs, values, group, truth, list(missing))
    known = [question.numbers(question.asked, name) for name in question.values]
    seen: dict[bytes, int] = {row: i for i, row in enumerate(question.keys(question.x, question.groups))}
    at = np.array([seen.get(row, -1) for row in question.keys(question.targets, question.target_groups)], dtype=np.int64)
    for i, column in enumerate(question.y):
        shown = (at >= 0) & ~np.isnan(np.append(column, np.nan)[at])
        known[i] = np.where(shown, np.nan, known[i])
    result = question.answer(weights, [], 0, seed, standardise, neighbours, 4096, None, truth=known, turn=turn,
                             limits=_limits(transform, bounds, counts), kernel=kernel, lonlat=lonlat)
    warn(text for _, text in result["warnings"])
    rows = [{"value": name, **scores} for name, scores in zip(question.values, result["scores"])]
    if len(rows) > 1:
        figures = [(r["rows"], r["mae"], r["rmse"], r["crps"], r["coverage_95"]) for r in rows]
        rows.append({"value": "all", **_core.pooled_scores(figures)})
    return Table(rows)


def forecast(data, horizon: int | None = None, time: str | None = None, values: str | Sequence[str] | None = None,
             weights: str | os.PathLike | Model | None = None, *, quantiles: Iterable[float] = (), samples: int = 0,
             seed: int | None = None, progress: Callable[[int, int], object] | None = None,
             period: int | float | str | Sequence[int | float | str] | None = None):
    """Predicts the next ``horizon`` rows of a table whose rows follow each other in equal steps of ``time``.

    Returns a table of the same kind with the times and the columns ``mean_VALUE``, ``std_VALUE``, ``qP_VALUE`` and
    ``sampleK_VALUE``. ``weights`` are those of a model of forecasts, such as :func:`npzoo.train` makes under
    ``taylorformer/exchange``; by default the weights for tables are combined with exponential smoothing, Theta, drift
    and the last season, by their scores on held-out parts. ``period`` is the length of a season, or several: steps, or
    of dates a time such as ``"1y"``, ``"7d"`` or ``"24h"``; by default it is found.
    ``time`` is by default the column of dates; ``values`` are all other columns of numbers.

    >>> import npzoo, numpy
    >>> month = numpy.arange(48.0)
    >>> ahead = npzoo.forecast({"month": month, "sales": numpy.sin(month / 2)}, horizon=3, time="month")
    >>> ahead["month"].tolist()
    [48.0, 49.0, 50.0]
    """
    frame = as_frame(data, "forecast")
    quantiles = _probabilities(quantiles)
    if time is None:
        time = _choose_inputs(frame, set(_names(values)), None)[0]
    chosen = _names(values) or [name for name in frame.names if name != time and frame.kind(name) == "number"]
    if not chosen:
        raise _core.InvalidInput("[forecast] no column of numbers found beside the times, expected values to name it")
    x, form = _Axis(frame, time).days()
    model = _as_model(weights, 1)
    if weights is None:
        if horizon is None or horizon < 1:
            raise _core.InvalidInput(f"[forecast] horizon {horizon} found, expected 1 or more")
        places, figures = _extended(frame, time, x, form, chosen, model, horizon, quantiles, samples, seed, progress,
                                    _periods(period))
    else:
        if period is not None:
            raise _core.InvalidInput(f"[forecast] period {period!r} found beside weights of forecasts, expected none")
        y = np.ascontiguousarray(np.stack([frame.numbers(name) for name in chosen], axis=1))
        result = _core.forecast(model._core, x, y, form, chosen, horizon or 0, quantiles, samples, seed, progress)
        warn(text for _, text in result["warnings"])
        places = result["time"]
        figures = _named(chosen, [(result["mean"][:, i], result["std"][:, i], result["quantiles"][:, i],
                                   result["samples"][:, i]) for i in range(len(chosen))], quantiles, samples)
    return frame.made({time: _as_times(places, form), **figures})


def _periods(period) -> list[str]:
    if period is None:
        return []
    return [str(one) for one in (period if isinstance(period, (list, tuple)) else [period])]


def _extended(frame, time, x, form, chosen, model, horizon, quantiles, samples, seed, progress, periods):
    """Times behind the last, in the usual step, and the weights for tables there."""
    steps = np.diff(np.sort(x))
    if len(steps) == 0 or not (steps > 0).all():
        raise _core.InvalidInput(f"[forecast] the times of {time!r} are equal or a single one, expected rows at different times")
    places = _core.following_times(np.ascontiguousarray(x, dtype=np.float64), form, horizon)
    question = _Question(frame, [time], chosen, None, None)
    question.targets = np.ascontiguousarray(places[:, None])
    result = question.answer(model, quantiles, samples, seed, True, 0, 4096, progress, periods=periods)
    warn(text for about, text in result["warnings"] if about != "targets outside")
    return places, question.figures(result, quantiles, samples)


class _Axis:
    """An input column as the library takes it: numbers, or days."""

    def __init__(self, frame: Frame, name: str):
        self._frame, self._name = frame, name
        self._check_complete()

    def _check_complete(self) -> None:
        missing = np.flatnonzero(self._frame.missing(self._name))
        if len(missing):
            raise _core.InvalidInput(f"[fill] input {self._name!r} misses a value in row {missing[0]}, expected none")

    def days(self, epoch: int | None = None) -> tuple[np.ndarray, tuple[bool, bool, int]]:
        if self._frame.kind(self._name) == "number":
            return self._frame.numbers(self._name), (False, False, 0)
        times, zoned = self._frame.times(self._name)
        day = times.astype("datetime64[D]")
        rest = (times - day).astype("timedelta64[ns]").astype(np.int64)
        day = day.astype(np.int64)
        if epoch is None:
            epoch = int(day[0]) if len(day) else 0
        return (day - epoch).astype(np.float64) + rest.astype(np.float64) / _DAY, (True, zoned, epoch)


class _Question:
    """What is asked of a table: its columns as arrays, and the places to predict at."""

    def __init__(self, frame: Frame, inputs, values, group, targets, missing=()):
        self._missing = missing
        asked = frame if targets is None else as_frame(targets, "targets")
        self.frame, self.asked, self.group = frame, asked, group
        self._check_names(frame, _names(inputs) + _names(values) + ([] if group is None else [group]))
        self.inputs = _names(inputs) or _choose_inputs(frame, {*_names(values), group}, asked if asked is not frame else None)
        self._check_kinds(frame, self.inputs, ("number", "time"), "input")
        self.values = _names(values) or self._choose_values(asked is not frame)
        if not missing:
            self._check_kinds(frame, self.values, ("number",), "value")
        if targets is not None:
            self._check_names(asked, self.inputs + ([] if group is None else [group]))
        columns = [_Axis(frame, name).days() for name in self.inputs]
        self.forms = [form for _, form in columns]
        self.x = _side_by_side([x for x, _ in columns])
        self.y = [self.numbers(frame, name) for name in self.values]
        self.targets = None
        if asked is not frame:
            self.targets = _side_by_side([self._at(asked, name, form) for name, form in zip(self.inputs, self.forms)])
        self.groups = self.target_groups = None
        if group is not None:
            self._number_groups()
        elif not _names(inputs):
            self._check_one_series()

    @staticmethod
    def _at(asked, name, form):
        x, own = _Axis(asked, name).days(form[2] if form[0] else None)
        if own[:2] != form[:2]:
            raise _core.InvalidInput(f"[fill] input {name!r} of the targets is not of the same type as that of the table")
        return x

    @staticmethod
    def _check_names(frame, names):
        for name in names:
            if name not in frame.names:
                raise _core.InvalidInput(f"[fill] there is no column {name!r}, found {', '.join(map(repr, frame.names))}")
            if names.count(name) > 1:
                raise _core.InvalidInput(f"[fill] column {name!r} is named twice, expected each column once")

    @staticmethod
    def _check_kinds(frame, names, kinds, what):
        for name in names:
            if frame.kind(name) not in kinds:
                raise _core.InvalidInput(f"[fill] {what} {name!r} is a column of {frame.kind(name)}, expected " + " or ".join(kinds))

    def _choose_values(self, complete: bool) -> list[str]:
        open_columns = [name for name in self.frame.names if name not in self.inputs and name != self.group
                        and self.frame.kind(name) == "number" and name not in getattr(self.frame, "coordinates", ())]
        chosen = open_columns if complete else [name for name in open_columns if self.frame.missing(name).any()
                                                or np.isnan(self.numbers(self.frame, name)).any()]
        if not chosen:
            raise _core.InvalidInput("[fill] no column of numbers misses a value, expected values to name the columns to predict")
        return chosen

    def numbers(self, frame: Frame, name: str) -> np.ndarray:
        """A column of values, NaN where one is missing."""
        if not self._missing:
            return frame.numbers(name)
        column = frame.column(name)
        if column.dtype.kind not in "fiu":
            column = np.array([np.nan if value in self._missing or value is None else value for value in column], dtype=object)
            try:
                return column.astype(np.float64)
            except (TypeError, ValueError):
                raise _core.InvalidInput(f"[fill] value {name!r} holds texts that are no numbers, expected missing to name them") from None
        numbers = np.array(column, dtype=np.float64)
        numbers[np.isin(numbers, [value for value in self._missing if not isinstance(value, str)])] = np.nan
        return numbers

    def _check_one_series(self) -> None:
        if len(np.unique(self.x, axis=0)) == len(self.x):
            return
        texts = [name for name in self.frame.names if self.frame.kind(name) == "text"]
        if texts:
            raise _core.InvalidInput(f"[fill] several rows have the same {' and '.join(self.inputs)}, and column {texts[0]!r} may tell "
                                     "them apart, expected group to name a column, or inputs to say that there is none")

    def _number_groups(self) -> None:
        labels = [self.frame.labels(self.group)]
        if self.asked is not self.frame:
            labels.append(self.asked.labels(self.group))
        number: dict[Any, int] = {}
        numbers = [np.fromiter((number.setdefault(_label(v), len(number)) for v in column), np.uint32, len(column))
                   for column in labels]
        self.groups = numbers[0]
        self.target_groups = numbers[1] if len(numbers) > 1 else None

    @staticmethod
    def keys(x, groups) -> list[bytes]:
        """Something to tell the rows apart by."""
        groups = np.zeros(len(x)) if groups is None else groups
        return [row.tobytes() for row in np.ascontiguousarray(np.column_stack([x, groups]), dtype=np.float64)]

    def answer(self, weights, quantiles, samples, seed, standardise, neighbours, chunk, progress, truth=(), turn=True, periods=(),
               limits=("", (-np.inf, np.inf), False), kernel=None, lonlat=False):
        gaussian = weights == "gp" or (weights is None and (kernel is not None or len(self.inputs) > 2))
        if kernel is not None and not gaussian:
            raise _core.InvalidInput(f"[fill] kernel {kernel!r} found beside weights, expected it with weights='gp'")
        core = None if gaussian else _as_model(weights, len(self.inputs))._core
        return _core.fill(core, self.x, self.y, self.groups, self.targets, self.target_groups, list(truth),
                          self.inputs, self.values, self.forms, self.group or "", quantiles, samples, seed, standardise,
                          neighbours, chunk, turn, list(periods), *limits, kernel or "auto", lonlat, progress)

    def figures(self, result, quantiles, samples) -> dict[str, np.ndarray]:
        for column in result["columns"]:
            for figures in column:
                figures[result["blank"]] = np.nan
        return _named(self.values, result["columns"], quantiles, samples)

    def check_free(self, columns) -> None:
        for name in columns:
            if name in self.asked.names:
                raise _core.InvalidInput(f"[fill] the table has a column {name!r} already, expected another name")


def _named(values, columns, quantiles, samples) -> dict[str, np.ndarray]:
    named = {f"mean_{name}": column[0] for name, column in zip(values, columns)}
    named.update({f"std_{name}": column[1] for name, column in zip(values, columns)})
    for i, q in enumerate(quantiles):
        named.update({f"q{q:.15g}_{name}": column[2][:, i] for name, column in zip(values, columns)})
    for i in range(samples):
        named.update({f"sample{i + 1}_{name}": column[3][:, i] for name, column in zip(values, columns)})
    return named


def _choose_inputs(frame: Frame, taken: set, asked: Frame | None) -> list[str]:
    """The columns that values depend on, where there is no doubt; as the program chooses them."""
    if hasattr(frame, "coordinates"):
        return [name for name in frame.coordinates if name not in taken]
    names = [name for name in frame.names if name not in taken and (asked is None or name in asked.names)]
    times = [name for name in names if frame.kind(name) == "time"]
    if len(times) > 1:
        raise _core.InvalidInput(f"[fill] {len(times)} columns of dates found, {', '.join(map(repr, times))}, expected inputs to name them")
    if times:
        return times
    numbers = [name for name in names if frame.kind(name) == "number" and not frame.missing(name).any()]
    if len(numbers) == 1:
        return numbers
    lower = tuple(name.lower() for name in numbers)
    if len(numbers) == 2 and (lower in _COORDINATES or lower[::-1] in _COORDINATES):
        return numbers
    if not numbers:
        raise _core.InvalidInput("[fill] no column of dates, nor of numbers without a gap, found, expected inputs to name one")
    raise _core.InvalidInput(f"[fill] {', '.join(map(repr, numbers))} might be inputs, expected inputs to name them")


def _as_model(weights, dim_x: int) -> Model:
    if isinstance(weights, Model):
        return weights
    name = _core.default_weights(dim_x) if weights is None else os.fspath(weights)
    if name not in _loaded and weights is None:
        _loaded[name] = load(name)
    return _loaded[name] if weights is None else load(name)


_loaded: dict[str, Model] = {}  # the default weights


def _names(names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else [str(name) for name in names]


def _limits(transform, bounds, counts) -> tuple[str, tuple[float, float], bool]:
    low, high = bounds
    return transform or "", (-np.inf if low is None else float(low), np.inf if high is None else float(high)), bool(counts)


def _probabilities(quantiles) -> list[float]:
    return [float(q) for q in np.atleast_1d(np.asarray(quantiles, dtype=np.float64))]


def _label(value):
    return None if value != value else value


def _side_by_side(columns: list[np.ndarray]) -> np.ndarray:
    return columns[0].reshape(-1, 1) if len(columns) == 1 else np.ascontiguousarray(np.stack(columns, axis=1))


def _as_times(places: np.ndarray, form) -> np.ndarray:
    """Days as dates, to the microsecond; numbers stay."""
    if not form[0]:
        return places
    micro = np.rint((places - np.floor(places)) * (_DAY // 1000)).astype(np.int64)
    days = (np.floor(places).astype(np.int64) + form[2]).astype("datetime64[D]")
    return days.astype("datetime64[us]") + micro.astype("timedelta64[us]")
