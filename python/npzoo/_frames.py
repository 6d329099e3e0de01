"""Tables of any library as columns of numbers, dates and labels, and results in the same kind.

A frame has ``names``, ``kind(name)`` ("number", "time" or "text"), ``missing(name)``, ``numbers(name)``, ``days(name)``,
``times(name)`` (datetime64 of UTC, and whether they have a zone) and ``labels(name)``. ``attached(columns)`` returns the
table in its own kind with more columns. Columns of text that hold dates alone are times, by the rules of the program. No
library is imported here that the caller has not imported.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import sys
from typing import Any, Mapping

import numpy as np

from . import _core
from ._arguments import is_missing, unmasked
from ._types import Doubles

Form = tuple[bool, bool, int]  # of an input: whether it is times, whether these have a zone, and the day that they count from
Columns = Mapping[str, np.ndarray]

_DAY = 86_400_000_000_000  # ns


def as_frame(data: Any, what: str, dates: str | None = None) -> Frame:
    """Wraps a table: pandas, xarray, Polars, Arrow, a dictionary of arrays, or a structured array. ``dates`` is the order
    of day, month and year in columns of text."""
    if dates not in (None, "dmy", "mdy", "ymd"):
        raise _core.InvalidInput(f"[{what}] dates {dates!r} found, expected 'dmy', 'mdy' or 'ymd'")
    frame = _wrapped(data, what)
    frame.dates = dates or ""
    return frame


def _wrapped(data: Any, what: str) -> Frame:
    for library, names, frame in (("pandas", ("DataFrame",), PandasFrame), ("xarray", ("Dataset", "DataArray"), XarrayFrame),
                                  ("polars", ("DataFrame",), PolarsFrame), ("pyarrow", ("Table", "RecordBatch"), ArrowFrame)):
        module = sys.modules.get(library)
        if module is not None and isinstance(data, tuple(getattr(module, name) for name in names)):
            return frame(data)
    if isinstance(data, dict):
        return DictFrame(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return DictFrame({name: data[name] for name in data.dtype.names})
    raise _core.InvalidInput(f"[{what}] {type(data).__name__} found, expected a pandas, Polars or Arrow table, an xarray Dataset or "
                    "DataArray, or a dictionary of arrays")


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
        return "time" if kind == "text" and self._text_dates(name) is not None else kind

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
        if self._kind(name) != "text":
            return self._times(name)
        days, form, _ = self._dates(name)
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
        kind = self._kind(name)
        if kind == "number":
            return self.numbers(name), (False, False, 0)
        if kind == "text":
            return self._dates(name, form)[:2]
        times, zoned = self._times(name)
        day = times.astype("datetime64[D]")
        rest = (times - day).astype("timedelta64[ns]").astype(np.int64)
        day = day.astype(np.int64)
        epoch = form[2] if form is not None and form[0] else int(day[0]) if len(day) else 0
        return (day - epoch).astype(np.float64) + rest.astype(np.float64) / _DAY, (True, zoned, epoch)

    def iso(self, name: str) -> bool:
        """Whether a column of times is not text in a notation other than ISO 8601."""
        return self._kind(name) != "text" or self._dates(name)[2]

    def labels(self, name: str) -> np.ndarray:
        return np.asarray(self.column(name))

    def __len__(self) -> int:
        return len(self.column(self.names[0])) if self.names else 0

    def attached(self, columns: Columns) -> Any:
        raise NotImplementedError

    @staticmethod
    def made(columns: Columns) -> Any:
        """A new table of this kind."""
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

    def _dates(self, name: str, form: Form | None = None) -> tuple[Doubles, Form, bool]:
        """Returns what `_text_dates` reads in a column of which ``kind`` is "time"."""
        read = self._text_dates(name, form)
        assert read is not None
        return read

    def _text_dates(self, name: str, form: Form | None = None) -> tuple[Doubles, Form, bool] | None:
        """A column of text as days, their form and whether they are of ISO 8601; None if it holds anything but dates."""
        if form is not None and form[0]:
            return _core.read_dates(name, self._cells(name), self.dates, [], form)
        known = self.__dict__.setdefault("_read_dates", {})
        if name not in known:
            labels, missing = self.labels(name), self.missing(name)
            first = labels[int(np.argmin(missing))] if len(missing) and not missing.all() else None
            known[name] = _core.read_dates(name, self._cells(name), self.dates, []) if isinstance(first, str) else None
        return known[name]

    def _cells(self, name: str) -> list[str]:
        return ["" if blank else str(cell) for cell, blank in zip(self.labels(name), self.missing(name))]


class DictFrame(Frame):
    """A dictionary of arrays of one length."""

    def __init__(self, data: dict[Any, Any]) -> None:
        self._data = data
        self._columns = {str(name): np.asarray(unmasked(values)) for name, values in data.items()}
        lengths = {name: values.shape for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1 or any(len(shape) != 1 for shape in lengths.values()):
            raise _core.InvalidInput(f"[table] columns of shapes {lengths} found, expected arrays of one axis and one length")
        self.names = list(self._columns)

    def column(self, name: str) -> np.ndarray:
        return self._columns[name]

    def attached(self, columns: Columns) -> Any:
        return {**self._data, **columns}

    @staticmethod
    def made(columns: Columns) -> Any:
        return dict(columns)


class PandasFrame(Frame):
    """A pandas DataFrame; named levels of the index, and an index of dates, are columns as well."""

    def __init__(self, data: Any) -> None:
        import pandas

        self._pandas, self._data = pandas, data
        if not data.columns.is_unique:
            raise _core.InvalidInput("[table] columns with equal names found, expected each name once")
        self._columns = {str(name): data[name] for name in data.columns}
        index = data.index
        for level in range(index.nlevels):
            values = index.get_level_values(level)
            name = index.names[level]
            if name is None and not isinstance(values, (pandas.DatetimeIndex, pandas.PeriodIndex)):
                continue
            name = "index" if name is None else str(name)
            self._columns.setdefault(name, values.to_series(index=pandas.RangeIndex(len(values))))
        self.names = list(self._columns)

    def _kind(self, name: str) -> str:
        types = self._pandas.api.types
        values = self._columns[name]
        if isinstance(values.dtype, self._pandas.CategoricalDtype) or types.is_bool_dtype(values.dtype):
            return "text"
        if types.is_numeric_dtype(values.dtype) and not types.is_complex_dtype(values.dtype):
            return "number"
        if types.is_datetime64_any_dtype(values.dtype) or isinstance(values.dtype, self._pandas.PeriodDtype):
            return "time"
        return super()._kind(name)

    def column(self, name: str) -> np.ndarray:
        return self._columns[name].to_numpy()

    def missing(self, name: str) -> np.ndarray:
        return self._columns[name].isna().to_numpy()

    def numbers(self, name: str) -> Doubles:
        return np.ascontiguousarray(self._columns[name].to_numpy(dtype=np.float64, na_value=np.nan))

    def _times(self, name: str) -> tuple[np.ndarray, bool]:
        values = self._columns[name]
        if isinstance(values.dtype, self._pandas.PeriodDtype):
            values = values.dt.to_timestamp()
        zoned = getattr(values.dtype, "tz", None) is not None
        if zoned:
            values = values.dt.tz_convert("UTC").dt.tz_localize(None)
        if values.dtype.kind == "M":
            return values.to_numpy(), zoned
        if str(values.dtype).startswith("timestamp"):  # Arrow
            return values.astype("datetime64[ns]").to_numpy(), zoned
        return super()._times(name)

    def in_zone(self, name: str, times: np.ndarray) -> Any:
        zone = self._zone(name)
        return times if zone is None else self._pandas.DatetimeIndex(times).tz_localize("UTC").tz_convert(zone)

    def clock_times(self, name: str) -> np.ndarray:
        if self._zone(name) is None:
            return super().clock_times(name)
        return self._columns[name].astype(f"datetime64[us, {self._zone(name)}]").dt.tz_localize(None).to_numpy()

    def _zone(self, name: str) -> Any:
        """The time zone of a column; None if it has none."""
        dtype = self._columns[name].dtype
        arrow = getattr(dtype, "pyarrow_dtype", None)
        return getattr(dtype, "tz", None) if arrow is None else getattr(arrow, "tz", None)

    def attached(self, columns: Columns) -> Any:
        return self._data.assign(**columns)

    @staticmethod
    def made(columns: Columns) -> Any:
        import pandas

        return pandas.DataFrame(columns)


class PolarsFrame(Frame):
    """A Polars DataFrame."""

    def __init__(self, data: Any) -> None:
        import polars

        self._polars, self._data = polars, data
        self.names = list(data.columns)

    def _kind(self, name: str) -> str:
        dtype = self._data[name].dtype
        if dtype.is_numeric():
            return "number"
        return "time" if dtype in (self._polars.Date, self._polars.Datetime) else "text"

    def column(self, name: str) -> np.ndarray:
        return self._data[name].to_numpy()

    def missing(self, name: str) -> np.ndarray:
        column = self._data[name]
        missing = column.is_null()
        return (missing | column.is_nan().fill_null(True) if column.dtype.is_float() else missing).to_numpy()

    def numbers(self, name: str) -> Doubles:
        return np.ascontiguousarray(self._data[name].cast(self._polars.Float64).fill_null(float("nan")).to_numpy())

    def _times(self, name: str) -> tuple[np.ndarray, bool]:
        column = self._data[name]
        zoned = getattr(column.dtype, "time_zone", None) is not None
        if zoned:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return column.to_numpy(), zoned

    def in_zone(self, name: str, times: np.ndarray) -> Any:
        zone = getattr(self._data[name].dtype, "time_zone", None)
        return times if zone is None else self._polars.Series(times).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)

    def clock_times(self, name: str) -> np.ndarray:
        zone = getattr(self._data[name].dtype, "time_zone", None)
        return super().clock_times(name) if zone is None else self._data[name].dt.replace_time_zone(None).to_numpy()

    def attached(self, columns: Columns) -> Any:
        return self._data.with_columns([self._polars.Series(name, values) for name, values in columns.items()])

    @staticmethod
    def made(columns: Columns) -> Any:
        import polars

        return polars.DataFrame(columns)


class ArrowFrame(Frame):
    """An Arrow table, as many libraries give theirs."""

    def __init__(self, data: Any) -> None:
        import pyarrow

        self._data = pyarrow.table(data)
        self.names = list(self._data.column_names)
        self._frame = PandasFrame(self._data.to_pandas())

    def column(self, name: str) -> np.ndarray:
        return self._frame.column(name)

    def _kind(self, name: str) -> str:
        return self._frame._kind(name)

    def missing(self, name: str) -> np.ndarray:
        return self._frame.missing(name)

    def numbers(self, name: str) -> Doubles:
        return self._frame.numbers(name)

    def _times(self, name: str) -> tuple[np.ndarray, bool]:
        return self._frame._times(name)

    def in_zone(self, name: str, times: np.ndarray) -> Any:
        return self._frame.in_zone(name, times)

    def clock_times(self, name: str) -> np.ndarray:
        return self._frame.clock_times(name)

    def attached(self, columns: Columns) -> Any:
        table = self._data
        for name, values in columns.items():
            table = table.append_column(name, [values])
        return table

    @staticmethod
    def made(columns: Columns) -> Any:
        import pyarrow

        return pyarrow.table(columns)


class XarrayFrame(Frame):
    """A Dataset or a DataArray: a row for each place of the grid; its coordinates are columns."""

    def __init__(self, data: Any) -> None:
        import xarray

        self._xarray = xarray
        if isinstance(data, xarray.DataArray):
            data = data.to_dataset(name="value" if data.name is None else data.name)
        self._data = data
        variables = [v for v in data.data_vars if data[v].ndim > 0]
        dims = {d for v in variables for d in data[v].dims} if variables else set(data.dims)
        self.dims = [d for d in (data[variables[0]].dims if variables else data.dims)] if dims else []
        if any(set(data[v].dims) != dims for v in variables):
            raise _core.InvalidInput("[table] variables of different dimensions found, expected all variables over the same ones")
        self._shape = tuple(data.sizes[d] for d in self.dims)
        self.variables = [str(v) for v in variables]
        self.coordinates = [str(d) for d in self.dims]
        self.names = self.coordinates + self.variables

    def column(self, name: str) -> np.ndarray:
        if name in self.variables:
            return self._data[name].transpose(*self.dims).to_numpy().reshape(-1)
        axis = self.names.index(name)
        values = self._data[self.dims[axis]].to_numpy() if self.dims[axis] in self._data.coords else np.arange(self._shape[axis])
        shape = [1] * len(self.dims)
        shape[axis] = -1
        return np.broadcast_to(values.reshape(shape), self._shape).reshape(-1)

    def __len__(self) -> int:
        return int(np.prod(self._shape))

    def attached(self, columns: Columns) -> Any:
        grids = {name: (self.dims, np.asarray(values).reshape(self._shape)) for name, values in columns.items()}
        return self._data.assign(**{name: self._xarray.Variable(*grid) for name, grid in grids.items()})

    @staticmethod
    def made(columns: Columns) -> Any:
        import xarray

        (time, _), *_ = columns.items()
        return xarray.Dataset({name: (time, values) for name, values in columns.items() if name != time},
                              coords={time: columns[time]})


def as_times(days: np.ndarray, form: Form) -> np.ndarray:
    """Days as dates, to the microsecond, and NaN as no date; numbers stay."""
    if not form[0]:
        return days
    known = ~np.isnan(days)
    whole = np.floor(np.where(known, days, 0))
    micro = np.rint((np.where(known, days, 0) - whole) * (_DAY // 1000)).astype(np.int64)
    times = (whole.astype(np.int64) + form[2]).astype("datetime64[D]").astype("datetime64[us]") + micro.astype("timedelta64[us]")
    return np.where(known, times, np.datetime64("NaT"))
