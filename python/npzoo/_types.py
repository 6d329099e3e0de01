"""Types of arguments and results, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import xarray

Doubles = NDArray[np.float64]
Names = Union[str, Sequence[str], None]
Period = Union[int, float, str, Sequence[Union[int, float, str]], None]
Progress = Optional[Callable[[int, int], object]]

TableLike = Union["dict[str, Any]", "pandas.DataFrame", "polars.DataFrame", "pyarrow.Table", "pyarrow.RecordBatch", "xarray.Dataset",
                  "xarray.DataArray", NDArray[np.void]]
#: A table, where the result is one of the same kind. Checkers do not know that a DataArray becomes a Dataset, a RecordBatch a
#: Table and a structured array a dictionary: that would take an overload of all arguments for each.
TableT = TypeVar("TableT", bound=TableLike)
