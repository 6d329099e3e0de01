"""Arrays of any library as NumPy arrays, without copies where that is possible."""

from __future__ import annotations

import numpy as np


def as_array(values, name: str) -> np.ndarray:
    """Returns an array of numbers of any library on the CPU as a NumPy array.

    NumPy arrays come back as they are. Arrays of PyTorch, JAX, CuPy and others that speak DLPack share their memory.
    Lists, pandas and Polars columns become arrays of numbers; missing values become NaN.
    """
    if type(values) is np.ndarray and values.dtype.kind in "fiub":
        return values
    if hasattr(values, "detach") and hasattr(values, "requires_grad"):  # a tensor of PyTorch
        values = values.detach()
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError, ValueError, AttributeError):
            pass  # of a kind that NumPy cannot share
    try:
        array = _column(values)
    except (TypeError, ValueError) as error:
        raise TypeError(f"[{name}] an array of numbers expected, found {type(values).__name__}: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"[{name}] an array of numbers expected, found dtype {array.dtype}")
    return array


def as_double(values, name: str) -> np.ndarray:
    """Returns numbers as float64 in C order: a view if they are that already, else a copy."""
    return np.ascontiguousarray(as_array(values, name), dtype=np.float64)


def _column(values) -> np.ndarray:
    if hasattr(values, "to_numpy"):
        try:
            return values.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas; pd.NA becomes NaN
        except TypeError:
            return np.asarray(values.to_numpy())  # Polars, xarray
    if values is None:
        raise TypeError("nothing was given")
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype == object else array
