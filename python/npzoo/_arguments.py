"""Arguments of the caller: taken as they are meant, or refused in one line."""

from __future__ import annotations

import math
import operator
import os
import sys
from typing import Any, Iterable

import numpy as np

from . import _core


def whole(value: Any, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number of any library. ``what`` begins the message, such as ``"[sample] n"``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        bounds = f"from {least} on" if number is None or number < least else f"up to {most}"
        raise _core.InvalidInput(f"{what} {value!r} found, expected a whole number {bounds}")
    return number


def optional_whole(value: Any, what: str, least: int = 0) -> int | None:
    return None if value is None else whole(value, what, least)


def seed_of(value: Any, where: str) -> int | None:
    return None if value is None else whole(value, f"[{where}] seed", most=2**64 - 1)


def real(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _core.InvalidInput(f"{what} {value!r} found, expected a number") from None


def pair(value: Any, what: str, expected: str) -> tuple[Any, Any]:
    """Two of something."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise _core.InvalidInput(f"{what} {value!r} found, expected {expected}") from None
    return first, second


def path_of(value: Any, what: str) -> str:
    try:
        return os.fsdecode(os.fspath(value))
    except TypeError:
        raise _core.InvalidInput(f"{what} of type {type(value).__name__} found, expected a name or a path") from None


def listed(given: Any) -> list[Any]:
    """One or several of something as a list; None is an empty one."""
    return [] if given is None else [given] if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else list(given)


def names(given: Any) -> list[str]:
    return [str(name) for name in listed(given)]


def probabilities(quantiles: Any) -> list[float]:
    """One probability or several; the library checks that they lie between 0 and 1."""
    return [real(q, "[quantiles] the quantile") for q in listed(quantiles)]


def is_missing(value: Any) -> bool:
    """Whether an object stands for a missing value: None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def unmasked(values: Any) -> Any:
    """A masked array of NumPy as one whose masked elements are missing: NaN, NaT or None. Others as they are."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "fiu":
        return np.ma.filled(values.astype(np.float64), math.nan)
    return values.filled(np.datetime64("NaT")) if values.dtype.kind == "M" else np.ma.filled(values.astype(object), None)


def communicator_of(given: Any, where: str) -> tuple[int, int] | None:
    """The handle of a communicator of mpi4py, and its size in bytes."""
    if given is None:
        return None
    mpi = sys.modules.get("mpi4py.MPI")  # not imported here, since that would start MPI
    if mpi is None or not isinstance(given, mpi.Intracomm) or given == mpi.COMM_NULL:
        raise _core.InvalidInput(f"[{where}] communicator {given!r} found, expected one of mpi4py, such as MPI.COMM_WORLD")
    return mpi._handleof(given), mpi._sizeof(given)
