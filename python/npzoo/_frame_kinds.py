"""Tables of libraries as frames. No library is imported here that the caller has not imported."""

from __future__ import annotations

import sys
from typing import Any, Sequence

import numpy as np

from . import _core
from ._arguments import unmasked
from ._frames import Columns, Frame
from ._types import Doubles


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
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(data, pandas.Series):
        return _series_frame(pandas, data, what)
    if polars is not None and isinstance(data, polars.LazyFrame):
        raise _core.InvalidInput(f"[{what}] LazyFrame found, expected a DataFrame: call .collect()")
    if isinstance(data, dict):
        return DictFrame(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return DictFrame({name: data[name] for name in data.dtype.names})
    raise _core.InvalidInput(f"[{what}] {type(data).__name__} found, expected a pandas, Polars or Arrow table, an xarray Dataset or "
                    "DataArray, or a dictionary of arrays")


def _series_frame(pandas: Any, data: Any, what: str) -> Frame:
    """A pandas Series with dates, as a DataFrame of one column."""
    if not isinstance(data.index, (pandas.DatetimeIndex, pandas.PeriodIndex)) and data.index.name is None:
        raise _core.InvalidInput(f"[{what}] Series without dates found, expected one with a DatetimeIndex or a named index, or a "
                                 "DataFrame with a column of inputs")
    return PandasFrame(data.to_frame("value" if data.name is None else data.name))


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
    def made(columns: Columns, coordinates: Sequence[str]) -> Any:
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
        # Thousands of columns, such as samples, are put in place at once: one by one they take a time that grows with their square.
        added: Any = self._pandas.DataFrame(dict(columns), index=self._data.index)
        levels = self._data.columns.nlevels
        if levels > 1:
            added.columns = self._pandas.MultiIndex.from_tuples([(name, *[""] * (levels - 1)) for name in columns], names=self._data.columns.names)
        joined = self._pandas.concat([self._data, added], axis=1)
        joined.attrs = dict(self._data.attrs)
        return joined

    @staticmethod
    def made(columns: Columns, coordinates: Sequence[str]) -> Any:
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
    def made(columns: Columns, coordinates: Sequence[str]) -> Any:
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
    def made(columns: Columns, coordinates: Sequence[str]) -> Any:
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
    def made(columns: Columns, coordinates: Sequence[str]) -> Any:
        import pandas

        table: Any = pandas.DataFrame(columns)
        return table.set_index(list(coordinates)).to_xarray()
