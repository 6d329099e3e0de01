"""An accessor of xarray: after ``import npzoo.xarray``, Datasets and DataArrays have ``.npzoo.fill()`` and ``.npzoo.forecast()``."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Concatenate, ParamSpec

import xarray

from . import _forecasts, _tables

P = ParamSpec("P")


def _method(function: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[Accessor, P], xarray.Dataset]:
    """A function of a table as a method of the accessor, with its arguments and its documentation."""

    @functools.wraps(function)
    def method(self: Accessor, /, *arguments: P.args, **named: P.kwargs) -> xarray.Dataset:
        return function(self._data, *arguments, **named)

    method.__signature__ = inspect.signature(function).replace(return_annotation="xarray.Dataset")  # type: ignore[attr-defined]
    return method


class Accessor:
    """``data.npzoo`` of a Dataset or a DataArray: :func:`npzoo.fill` and :func:`npzoo.forecast` of ``data``.

    The dimensions are the inputs, and a row is a place of the grid. Either method returns a Dataset, also of a DataArray:
    ``mean_VALUE``, ``std_VALUE`` and further variables, where VALUE is the name of the array, or ``value`` if it has none.
    ``fill`` keeps the variables of the data; ``forecast`` returns the new times alone.

    >>> import numpy as np, xarray
    >>> import npzoo.xarray
    >>> height = xarray.DataArray(np.add.outer(np.arange(5.0), np.arange(4.0)), dims=("y", "x"), name="height")
    >>> filled = height.where(height != 3).npzoo.fill()
    >>> list(filled)
    ['height', 'mean_height', 'std_height']
    >>> bool(abs(filled.mean_height.sel(y=2, x=1) - 3) < 0.5)
    True
    """

    def __init__(self, data: xarray.Dataset | xarray.DataArray) -> None:
        self._data = data

    fill = _method(_tables.fill)
    forecast = _method(_forecasts.forecast)


xarray.register_dataset_accessor("npzoo")(Accessor)
xarray.register_dataarray_accessor("npzoo")(Accessor)
