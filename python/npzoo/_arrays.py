"""Arrays of any library as NumPy arrays, without copies where that is possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arguments import unmasked
from ._types import Doubles


def as_array(values: Any, name: str) -> np.ndarray:
    """Returns an array of numbers of any library on the CPU as a NumPy array.

    NumPy arrays come back as they are. Arrays of PyTorch, JAX, CuPy and others that speak DLPack share their memory.
    Lists, pandas and Polars columns become arrays of numbers; missing and masked values become NaN. Types of numbers
    that the library does not read, such as float16, are copied as float64.
    """
    if type(values) is np.ndarray and values.dtype.kind in "fiub":
        return _readable(values)
    if hasattr(values, "detach") and hasattr(values, "requires_grad"):  # a tensor of PyTorch
        values = values.detach()
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        try:
            return _readable(np.from_dlpack(values))
        except (BufferError, RuntimeError, TypeError, ValueError, AttributeError):
            pass  # of a kind that NumPy cannot share
    try:
        array = _column(values)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else "no numbers"
        raise _core.InvalidInput(f"[{name}] an array of numbers expected, found {type(values).__name__}: {reason}") from None
    if array.dtype.kind not in "fiub":
        raise _core.InvalidInput(f"[{name}] an array of numbers expected, found dtype {array.dtype}")
    return _readable(array)


def as_double(values: Any, name: str) -> Doubles:
    """Returns numbers as float64 in C order: a view if they are that already, else a copy."""
    return np.ascontiguousarray(as_array(values, name), dtype=np.float64)


def as_whole(values: Any, name: str) -> np.ndarray:
    """Returns whole numbers as int64 in C order."""
    array = as_array(values, name)
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():
        raise _core.InvalidInput(f"[{name}] {array[array != np.floor(array)][0]} found, expected whole numbers")
    return np.ascontiguousarray(array, dtype=np.int64)


def _readable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy in float64 if the library does not read its type."""
    known = array.dtype.kind != "f" or array.dtype.itemsize in (4, 8)
    return array if known and array.dtype.isnative else array.astype(np.float64)


def _column(values: Any) -> np.ndarray:
    values = unmasked(values)
    if hasattr(values, "to_numpy") and getattr(getattr(values, "dtype", None), "kind", "") not in ("m", "M"):
        try:
            return values.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas; pd.NA becomes NaN
        except TypeError:
            return np.asarray(values.to_numpy())  # Polars, xarray
    if values is None:
        raise TypeError("nothing was given")
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype == object else array
