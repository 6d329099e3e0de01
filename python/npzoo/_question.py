"""A question about a table: its columns as arrays, and the places to predict."""

from __future__ import annotations

import functools
import os
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from . import _core
from ._arguments import is_missing, listed, names, pair, path_of, real, seed_of, whole
from ._frames import Form, Frame
from ._model import Model, load
from ._types import Doubles, Names, Progress


class Question:
    """Columns of a frame as arrays. The library's rules choose those that the caller does not name.

    ``targets`` is a frame of rows to predict at instead; ``dim_x`` is the number of inputs of the model, if the caller named
    one; ``missing`` are numbers and texts that stand for a missing value.
    """

    def __init__(self, frame: Frame, inputs: Names = None, values: Names = None, group: Names = None,
                 covariates: Names = None, targets: Frame | None = None, missing: Iterable[float | str] = (), dim_x: int | None = None) -> None:
        self.frame, self.group, self._missing = frame, names(group), listed(missing)
        self._also: tuple[Frame, np.ndarray] | None = None  # a frame with further rows to predict, after the own ones
        self.compare_gp = False  # whether a Gaussian process may answer in the place of the model
        self.asked = frame if targets is None else targets
        named, values, covariates = names(inputs), names(values), names(covariates)
        self._alone = named == ["none"] and "none" not in frame.names  # rows without an input
        if self._alone and (covariates or self.group or targets is not None or dim_x is not None):
            raise _core.InvalidInput("[fill] inputs='none' found with covariates, group, targets or weights, expected inputs to name columns")
        if self._alone:
            named = []
        check_names(frame, named + values + covariates + self.group)
        words = [name for name in named if frame.kind(name) == "text"]
        if named and len(words) == len(named):
            raise _core.InvalidInput(f"[fill] input {named[0]!r} is a column of text, expected one of numbers or dates among the inputs")
        self.covariates = covariates + words  # words are categories
        named = [name for name in named if name not in words]
        self._names_values = bool(values)
        one_series = self.group == ["none"] and "none" not in frame.names
        if one_series:
            self.group = []
        self._choose(named, values, targets is not None, dim_x)
        self._read()
        if not named and self.inputs and not one_series:
            self.check_one_series("fill")

    def check_one_series(self, where: str) -> None:
        """Raises an error if a column that is no group seems to name several series."""
        self._columns.check_one_series(where, self.inputs, self.values, self.group, self.x, self.groups, self.forms[0])

    def _choose(self, inputs: list[str], values: list[str], has_targets: bool, dim_x: int | None) -> None:
        coordinates = self.frame.coordinates
        if not inputs and coordinates is not None:
            inputs = [name for name in coordinates if name not in {*self.group, *values, *self.covariates}]
        if len(self.frame) == 0:
            raise _core.InvalidInput("[fill] the table has no rows, expected observed values")
        self.inputs, self.values = inputs, values
        if not ((inputs or self._alone) and values):
            targets = library_columns(self.asked, self._missing) if has_targets else None
            wishes = ["none"] if self._alone else inputs
            self.inputs, self.values = self._columns.choose(wishes, values, self.group, self.covariates, targets, dim_x)
        numbers = [name for name in self.inputs if self.frame.kind(name) != "time"]
        dates = library_columns(self.frame, only=numbers).dates() if numbers else []
        for frame in (self.frame, self.asked):
            frame.read_as_dates(name for name in dates if name in frame.names)
        _check_kinds(self.frame, self.inputs, ("number", "time"), "input")
        if not self._missing:
            _check_kinds(self.frame, self.values, ("number",), "value")

    def _read(self) -> None:
        self.y: list[Doubles] = [self.numbers(self.frame, name) for name in self.values]
        self.forms: list[Form] = []
        self.x = self._places(self.frame)
        self.groups: np.ndarray | None = None
        self.group_labels: list[str] = []
        self.target_groups: np.ndarray | None = None
        self.targets: Doubles | None = None
        if self.asked is not self.frame:
            check_names(self.asked, self.inputs + self.covariates + self.group)
            self.targets = self._places(self.asked)
        if self.group:
            labels, *numbers = number_all([joined_labels(frame, self.group) for frame in [self.frame, *self._other()]])
            self.group_labels = [str(label) for label in labels]
            self.groups = numbers[0]
            self.target_groups = numbers[1] if len(numbers) > 1 else None

    def _other(self) -> list[Frame]:
        """The frame of the targets, if there is one."""
        return [] if self.asked is self.frame else [self.asked]

    def _places(self, frame: Frame) -> Doubles:
        """The inputs (rows, D). The first call finds their forms, which others have to have as well."""
        known = self.forms
        columns = [input_column(frame, name, known[i] if known else None) for i, name in enumerate(self.inputs)]
        if known:
            for name, (_, form), expected in zip(self.inputs, columns, known):
                if form[:2] != expected[:2]:
                    raise _core.InvalidInput(f"[fill] input {name!r} of the targets is not of the same type as that of the table")
        else:
            self.forms = [form for _, form in columns]
        return side_by_side([x for x, _ in columns]) if columns else np.empty((len(frame), 0))

    @functools.cached_property
    def _columns(self) -> _core.Columns:
        """The columns as the library takes them for its choices."""
        return library_columns(self.frame, self._missing)

    def numbers(self, frame: Frame, name: str) -> Doubles:
        """A column of values, NaN where one is missing."""
        if not self._missing:
            return frame.numbers(name)
        column = frame.column(name)
        if column.dtype.kind not in "fiu":
            column = np.array([np.nan if is_missing(v) or v in self._missing else v for v in column], dtype=object)
            try:
                return column.astype(np.float64)
            except (TypeError, ValueError):
                raise _core.InvalidInput(f"[fill] value {name!r} holds texts that are no numbers, expected missing to name them") from None
        numbers = np.array(column, dtype=np.float64)
        numbers[np.isin(numbers, [value for value in self._missing if not isinstance(value, str)])] = np.nan
        return numbers

    def truth_of(self, truth: Frame) -> list[Doubles]:
        """The values in ``truth`` for the requested rows, found by inputs and group. Without targets, its other rows are
        requested as well."""
        if not self.inputs:
            raise _core.InvalidInput("[score] rows without an input found, expected inputs to match rows with those of truth")
        check_names(truth, self.inputs + self.values + self.group)
        known = [self.numbers(truth, name) for name in self.values]
        places, groups, asked_groups, count = self._places(truth), None, None, 0
        if self.group:
            frames = [self.frame, *self._other(), truth]
            labels, *numbers = number_all([joined_labels(frame, self.group) for frame in frames])
            asked_groups, groups, count = numbers[-2], numbers[-1], len(labels)
        rows = _core.match_rows(self.x if self.targets is None else self.targets, asked_groups, places, groups, count)
        found = [np.append(column, np.nan)[rows] for column in known]  # row -1: not known
        if self.targets is None:
            found = [np.where(np.isnan(y), column, np.nan) for y, column in zip(self.y, found)]
            others = np.ones(len(places), dtype=bool)
            others[rows[rows >= 0]] = False
            if others.any():
                self._also = truth, others
                self.targets = np.ascontiguousarray(np.concatenate([self.x, places[others]]))
                self.target_groups = None if groups is None else np.concatenate([self.groups, groups[others]])
                found = [np.concatenate([column, one[others]]) for column, one in zip(found, known)]
        if all(np.isnan(column).all() for column in found):
            raise _core.InvalidInput("[score] truth has none of the predicted values, expected rows with the same "
                                     + " and ".join(self.inputs))
        return found

    def model(self, weights: str | os.PathLike[str] | Model | None, kernel: str | None, linear_mean: bool) -> Model | None:
        """The model that answers; None: a Gaussian process, or the columns of rows without an input."""
        if not self.inputs:
            if weights is not None or kernel is not None or linear_mean:
                raise _core.InvalidInput("[fill] weights or a Gaussian process found for rows without an input, expected inputs to name columns")
            return None
        plain = weights is None and kernel is None and not linear_mean
        if (isinstance(weights, str) and weights == "gp") or (weights is None and not plain):
            return None
        if not plain and (kernel is not None or linear_mean):
            given = f"kernel {kernel!r}" if kernel is not None else "linear_mean"
            raise _core.InvalidInput(f"[fill] {given} found beside weights, expected it with weights='gp'")
        if not plain:
            return as_model(weights, len(self.inputs))
        covariates = sum(2 if self.frame.kind(name) == "text" else 1 for name in self.covariates)  # two words or more
        name = _core.usual_weights(len(self.inputs) + covariates, covariates, self._most_observed())
        if name == "gp":
            return None
        if name not in _loaded:
            _loaded[name] = load(name)
        self.compare_gp = _core.compares_with_gp(_loaded[name].dim_x)
        return _loaded[name]

    def _most_observed(self) -> int:
        """The most observed rows of a series."""
        known = [~np.isnan(y) for y in self.y]
        return int(max(k.sum() if self.groups is None else np.bincount(self.groups[k], minlength=1).max() for k in known))

    def answer(self, model: Model | None, options: _core.FillOptions, truth: Sequence[Doubles] = (), lonlat: bool = False,
               progress: Progress = None, communicator: tuple[int, int] | None = None) -> dict[str, Any]:
        options.compare_gp = self.compare_gp
        helpers = self._helpers()
        return _core.fill(None if model is None else model._core, self.x, self.y, options, groups=self.groups, targets=self.targets,
                          target_groups=self.target_groups, truth=list(truth), x_names=self.inputs, value_names=self.values,
                          x_forms=self.forms, group_name=", ".join(self.group), group_labels=self.group_labels, lonlat=lonlat,
                          covariates=self._covariates(), helpers=[column for _, column in helpers],
                          helper_names=[name for name, _ in helpers], progress=progress, communicator=communicator)

    def _helpers(self) -> list[tuple[str, Doubles]]:
        """Columns that no choice names and that may help to predict values of their rows: complete ones, and of rows without
        an input all. A column of words has an array for each word that tells kinds of rows apart."""
        if self.targets is not None or (self._names_values and self.inputs):
            return []
        numbers, words = self._columns.helpers(self.inputs, self.values, self.group, self.covariates)
        helpers = [(name, self.numbers(self.frame, name)) for name in numbers]
        for name in words:
            helpers += [(name, column) for column in _core.word_indicators(word_numbers(self.frame.labels(name)))]
        return helpers

    def _covariates(self) -> _core.Covariates | None:
        """The covariates as numbers; None without any."""
        if not self.covariates:
            return None
        covariates = _core.Covariates()
        frames = [self.frame, *self._other(), *([] if self._also is None else [self._also[0]])]
        for name in self.covariates:
            if self.frame.kind(name) == "text":
                labels, *numbers = number_all([frame.labels(name) for frame in frames])
                texts = ["missing" if is_missing(label) else str(label) for label in labels]
                covariates.add_categories(name, texts, numbers[0], self._of_targets(numbers))
            else:
                form = self.frame.days(name)[1]
                numbers = [frame.days(name, form)[0] for frame in frames]
                covariates.add_numbers(name, numbers[0], self._of_targets(numbers))
        return covariates

    def _of_targets(self, columns: list[np.ndarray]) -> np.ndarray | None:
        """Returns the part of a column that belongs to the targets."""
        if len(columns) == 1:
            return None
        return columns[1] if self._also is None else np.concatenate([columns[0], columns[1][self._also[1]]])

    def figures(self, result: Mapping[str, Any], quantiles: list[float], samples: int) -> dict[str, Doubles]:
        for column in result["columns"]:
            for figures in column:
                figures[result["blank"]] = np.nan
        return named_figures(self.values, result["columns"], quantiles, samples)

    def check_free(self, columns: Iterable[str]) -> None:
        for name in columns:
            if name in self.asked.names:
                raise _core.InvalidInput(f"[fill] the table has a column {name!r} already, expected another name")


def library_columns(frame: Frame, missing: Sequence[float | str] = (), only: Sequence[str] | None = None) -> _core.Columns:
    """The columns of a frame, or ``only`` some, as the library takes them for its choices."""
    marks = [mark if isinstance(mark, str) else f"{mark:.17g}" for mark in missing]
    columns = frame.names if only is None else list(only)
    return _core.Columns(columns, len(frame), [frame.cells(name) for name in columns], frame.dates, marks)


def input_column(frame: Frame, name: str, form: Form | None = None) -> tuple[Doubles, Form]:
    """An input as the library takes it: numbers, or days; and its form."""
    _check_kinds(frame, [name], ("number", "time"), "input")
    _refuse_missing(frame.missing(name), name, "input")
    x, form = frame.days(name, form)
    _refuse_missing(np.isnan(x), name, "input")
    return x, form


def joined_labels(frame: Frame, columns: Sequence[str]) -> np.ndarray:
    """The labels of one column, or those of several as one text for each row."""
    if len(columns) == 1:
        return frame.labels(columns[0])
    parts = zip(*(frame.labels(name) for name in columns))
    return np.array([", ".join("" if is_missing(v) else str(v) for v in row) for row in parts], dtype=object)


def word_numbers(labels: np.ndarray) -> np.ndarray:
    """The number of each row's word, in the order in which they appear; NO_WORD where one is missing."""
    known: dict[Any, int] = {}
    return np.array([_core.NO_WORD if is_missing(v) else known.setdefault(v, len(known)) for v in labels], np.uint32)


def number_all(columns: Sequence[np.ndarray]) -> list[Any]:
    """Labels of several columns, in the order in which they appear, and the number of each row's label for each column."""
    known: dict[Any, int] = {}
    numbers = [np.fromiter((known.setdefault(None if is_missing(v) else v, len(known)) for v in column), np.uint32, len(column))
               for column in columns]
    return [list(known), *numbers]


def named_figures(values: list[str], columns: Iterable[Sequence[Any]], quantiles: list[float], samples: int) -> dict[str, Doubles]:
    """The columns of a result: ``mean_*``, ``std_*``, ``q*_*`` and ``sample*_*``."""
    named = {f"mean_{name}": column[0] for name, column in zip(values, columns)}
    named.update({f"std_{name}": column[1] for name, column in zip(values, columns)})
    for i, q in enumerate(quantiles):
        named.update({f"q{q:.15g}_{name}": column[2][:, i] for name, column in zip(values, columns)})
    for i in range(samples):
        named.update({f"sample{i + 1}_{name}": column[3][:, i] for name, column in zip(values, columns)})
    return named


def fill_options(limits: tuple[Any, Any, Any] | None = None, **given: Any) -> _core.FillOptions:
    """Options of the library by their names. ``limits`` are transform, bounds and counts."""
    options = _core.FillOptions()
    for name, value in given.items():
        setattr(options, name, seed_of(value, "fill") if name == "seed" else whole(value, f"[fill] {name}", _LEAST[name]) if name in _LEAST else value)
    if limits is not None:
        transform, bounds, counts = limits
        low, high = (None, None) if bounds is None else pair(bounds, "[fill] bounds", "a lower and an upper limit, or None for either")
        options.limit_values("" if transform is None else str(transform), -np.inf if low is None else real(low, "[fill] the lower bound"),
                             np.inf if high is None else real(high, "[fill] the upper bound"), bool(counts))
    return options


def as_model(weights: str | os.PathLike[str] | Model | None, dim_x: int) -> Model:
    if isinstance(weights, Model):
        return weights
    name = _core.default_weights(dim_x) if weights is None else path_of(weights, "[weights] weights")
    if name not in _loaded and weights is None:
        _loaded[name] = load(name)
    return _loaded[name] if weights is None else load(name)


_LEAST = {"samples": 0, "neighbours": 0, "chunk": 1}  # of the options that are whole numbers
_loaded: dict[str, Model] = {}  # the default weights


def named_model(weights: str | os.PathLike[str] | Model | None) -> Model | None:
    """The model that the caller named, if it did: it knows how many inputs it takes."""
    return None if weights is None or (isinstance(weights, str) and weights == "gp") else as_model(weights, 0)


def side_by_side(columns: list[Doubles]) -> Doubles:
    return columns[0].reshape(-1, 1) if len(columns) == 1 else np.ascontiguousarray(np.stack(columns, axis=1))


def check_names(frame: Frame, wanted: list[str], where: str = "fill") -> None:
    for name in wanted:
        if name not in frame.names:
            raise _core.InvalidInput(f"[{where}] there is no column {name!r}, found {', '.join(map(repr, frame.names))}")
        if wanted.count(name) > 1:
            raise _core.InvalidInput(f"[{where}] column {name!r} is named twice, expected each column once")


def _check_kinds(frame: Frame, wanted: list[str], kinds: Sequence[str], what: str) -> None:
    for name in wanted:
        if frame.kind(name) not in kinds:
            raise _core.InvalidInput(f"[fill] {what} {name!r} is a column of {frame.kind(name)}, expected " + " or ".join(kinds))


def _refuse_missing(missing: np.ndarray, name: str, what: str) -> None:
    if missing.any():
        raise _core.InvalidInput(f"[fill] {what} {name!r} misses a value in row {int(np.argmax(missing))}, expected none")
