"""What the package knows of a table: columns of numbers, dates and labels.

A frame has ``names``, ``kind(name)`` ("number", "time" or "text"), ``missing(name)``, ``numbers(name)``, ``days(name)``,
``times(name)`` (datetime64 of UTC, and whether they have a zone) and ``labels(name)``. ``attached(columns)`` returns the
table in its own kind with more columns. Columns of text that hold dates alone are times, by the rules of the program.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from . import _core
from ._arguments import is_missing
from ._types import Doubles

# Of an input: whether it is times, whether these have a zone, the day that they count from, and whether they lack a date.
Form = tuple[bool, bool, int, bool]
Columns = Mapping[str, np.ndarray]

_DAY = 86_400_000_000_000  # ns


def is_dates(values: np.ndarray) -> bool:
    """Whether an array of objects holds dates and missing values alone."""
    known = [v for v in values[:1000] if not is_missing(v)]
    return bool(known) and all(isinstance(v, (datetime.date, np.datetime64)) for v in known)


def is_numbers(values: np.ndarray) -> bool:
    """Whether an array of objects holds numbers and missing values alone."""
    known = [v for v in values if not is_missing(v)]
    return bool(known) and all(isinstance(v, (numbers.Real, decimal.Decimal)) and not isinstance(v, (bool, np.bool_)) for v in known)


class Frame:
    """The common part of all kinds of tables. A kind of table defines ``column``, ``attached`` and ``made``, and what it
    stores in another way than a NumPy array."""

    names: list[str]
    coordinates: list[str] | None = None  #: the inputs, where the kind of table has such
    dates = ""  #: the order of day, month and year in text: "dmy", "mdy", "ymd" or ""

    def column(self, name: str) -> np.ndarray:
        """The column as a NumPy array of its own dtype."""
        raise NotImplementedError

    def kind(self, name: str) -> str:
        kind = self._kind(name)
        return "time" if name in self._inputs_as_dates() or (kind == "text" and self._text_dates(name) is not None) else kind

    def read_as_dates(self, names: Iterable[str]) -> None:
        """Takes inputs for dates that are so only as inputs: numbers such as 20240131, and times of day."""
        self._inputs_as_dates().update(name for name in names if self.kind(name) != "time")

    def cells(self, name: str) -> Any:
        """The column as the library takes it for its choices: numbers, days with their form, or texts."""
        kind = self._kind(name)
        if kind == "number":
            return self.numbers(name)
        if kind == "text":
            return self._cells(name)
        return self.days(name)

    def _inputs_as_dates(self) -> set[str]:
        found: set[str] = self.__dict__.setdefault("_as_dates", set())
        return found

    def missing(self, name: str) -> np.ndarray:
        values = self.column(name)
        if values.dtype.kind == "f":
            return np.isnan(values)
        if values.dtype.kind == "M":
            return np.isnat(values)
        if values.dtype.kind == "O":
            return np.array([is_missing(v) for v in values], dtype=bool)
        return np.zeros(len(values), dtype=bool)

    def numbers(self, name: str) -> Doubles:
        """float64, NaN where a value is missing: a view if the column is that already, else a copy."""
        values = self.column(name)
        if values.dtype.kind == "O":
            return np.array([np.nan if is_missing(v) else float(v) for v in values], dtype=np.float64)
        return np.ascontiguousarray(values, dtype=np.float64)

    def times(self, name: str) -> tuple[np.ndarray, bool]:
        if self._kind(name) != "text" and name not in self._inputs_as_dates():
            return self._times(name)
        days, form = self._dates(name)
        return as_times(days, form), form[1]

    def in_zone(self, name: str, times: np.ndarray) -> Any:
        """Times of UTC as a column like that of this name: in its time zone, if it has one."""
        if self._kind(name) == "time":
            zone = next((v.tzinfo for v in self.column(name) if getattr(v, "tzinfo", None) is not None), None)
            if zone is not None:
                utc = times.astype("datetime64[us]").tolist()
                return np.array([t.replace(tzinfo=datetime.timezone.utc).astimezone(zone) for t in utc], dtype=object)
        return times

    def clock_times(self, name: str) -> np.ndarray:
        """Times as clocks of their zone show them."""
        return self.times(name)[0]

    def days(self, name: str, form: Form | None = None) -> tuple[Doubles, Form]:
        """A column of inputs as float64, and its form. With the ``form`` of another column days count from the same one."""
        kind = "text" if name in self._inputs_as_dates() else self._kind(name)
        if kind == "number":
            return self.numbers(name), (False, False, 0, False)
        if kind == "text":
            return self._dates(name, form)
        times, zoned = self._times(name)
        known = ~np.isnat(times)
        days = times.astype("datetime64[D]")
        rest = (times - days).astype("timedelta64[ns]").astype(np.int64)
        day = days.astype(np.int64)
        epoch = form[2] if form is not None and form[0] else int(day[known][0]) if known.any() else 0
        return np.where(known, (day - epoch).astype(np.float64) + rest.astype(np.float64) / _DAY, np.nan), (True, zoned, epoch, False)

    def labels(self, name: str) -> np.ndarray:
        return np.asarray(self.column(name))

    def __len__(self) -> int:
        return len(self.column(self.names[0])) if self.names else 0

    def attached(self, columns: Columns) -> Any:
        raise NotImplementedError

    @staticmethod
    def made(columns: Columns, coordinates: Sequence[str]) -> Any:
        """A new table of this kind; ``coordinates`` together name a row."""
        raise NotImplementedError

    def _kind(self, name: str) -> str:
        values = self.column(name)
        if values.dtype.kind in "fiu" or (values.dtype.kind == "O" and is_numbers(values)):
            return "number"
        if values.dtype.kind == "M" or (values.dtype.kind == "O" and is_dates(values)):
            return "time"
        return "text"

    def _times(self, name: str) -> tuple[np.ndarray, bool]:
        values = self.column(name)
        if values.dtype.kind == "M":
            return values, False
        zoned = any(getattr(v, "tzinfo", None) is not None for v in values[:1000])
        plain = [v.astimezone(datetime.timezone.utc).replace(tzinfo=None) if getattr(v, "tzinfo", None) else v for v in values]
        return np.array(plain, dtype="datetime64[us]"), zoned

    def _dates(self, name: str, form: Form | None = None) -> tuple[Doubles, Form]:
        """Returns what `_text_dates` reads in a column of which ``kind`` is "time"."""
        read = self._text_dates(name, form)
        assert read is not None
        return read

    def _text_dates(self, name: str, form: Form | None = None) -> tuple[Doubles, Form] | None:
        """A column of text as days, and their form; None if it holds anything but dates."""
        sure = name in self._inputs_as_dates()
        if form is not None and form[0]:
            return _core.read_dates(name, self._cells(name), self.dates, sure, form)
        known = self.__dict__.setdefault("_read_dates", {})
        if known.get(name) is None and (sure or name not in known):
            labels, missing = self.labels(name), self.missing(name)
            first = labels[int(np.argmin(missing))] if len(missing) and not missing.all() else None
            known[name] = _core.read_dates(name, self._cells(name), self.dates, sure) if sure or isinstance(first, str) else None
        return known[name]

    def _cells(self, name: str) -> list[str]:
        if self._kind(name) == "number":
            return ["" if np.isnan(value) else f"{value:.17g}" for value in self.numbers(name)]
        return ["" if blank else str(cell) for cell, blank in zip(self.labels(name), self.missing(name))]


def as_times(days: np.ndarray, form: Form) -> np.ndarray:
    """Days as dates, to the microsecond, and NaN as no date; numbers stay."""
    if not form[0]:
        return days
    known = ~np.isnan(days)
    whole = np.floor(np.where(known, days, 0))
    micro = np.rint((np.where(known, days, 0) - whole) * (_DAY // 1000)).astype(np.int64)
    times = (whole.astype(np.int64) + form[2]).astype("datetime64[D]").astype("datetime64[us]") + micro.astype("timedelta64[us]")
    return np.where(known, times, np.datetime64("NaT"))
