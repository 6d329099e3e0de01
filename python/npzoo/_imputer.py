"""A scikit-learn transformer that fills missing values."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from . import _core
from ._types import ArrayLike, Doubles


class Imputer(TransformerMixin, BaseEstimator):
    """Fills missing values of rows from the other values of their row, with uncertainty.

    ``fit`` estimates how the columns depend on each other: Gaussians and mixtures of Gaussians, on the values and on their ranks,
    weighed by their errors on hidden values. ``transform`` predicts each row by itself, so a row's answer does not depend on the
    rows that come with it. This is the method of :func:`npzoo.fill` for rows without an input. Rows in the order of time are better
    filled by :func:`npzoo.fill`, which uses the time too.

    Parameters
    ----------
    add_indicator : bool, default=False
        Append a column of 0 and 1 for each column that had missing values in ``fit``: 1 where a value is missing.
    keep_empty_features : bool, default=False
        Keep columns without a value in ``fit``, filled with 0. By default they are dropped, as in scikit-learn.

    Attributes
    ----------
    sources_ : array (columns, columns)
        Row i: the share of each column in what the others say of column i. Rows add up to 1, or are 0 if no column helps.
    indicator_ : MissingIndicator or None
    n_features_in_ : int
    feature_names_in_ : array of names, if X had some.

    Examples
    --------
    >>> import numpy as np
    >>> from npzoo import Imputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1)) * [1, -2, 3] + rng.normal(size=(200, 3)) * 0.1
    >>> imputer = Imputer().fit(X)
    >>> filled, std = imputer.transform([[1.0, np.nan, 3.0]], return_std=True)
    >>> bool(abs(filled[0, 1] + 2) < 0.2), bool(0.05 < std[0, 1] < 0.3), float(std[0, 0])
    (True, True, 0.0)
    """

    def __init__(self, *, add_indicator: bool = False, keep_empty_features: bool = False) -> None:
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features

    def fit(self, X: ArrayLike, y: object = None) -> Imputer:
        """Takes rows X (n, columns) with NaN for missing values, two rows or more."""
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2, order="C")
        self._seen = ~np.all(np.isnan(rows), axis=0)  # columns with a value
        if not self._seen.any():
            raise _core.InvalidInput(f"[impute] {rows.shape[1]} columns without a value found, expected some values")
        self._keep(np.ascontiguousarray(rows[:, self._seen]))
        self.indicator_ = MissingIndicator(error_on_new=False).fit(rows) if self.add_indicator else None
        return self

    def _keep(self, rows: Doubles) -> None:
        """Fits the model, and keeps the rows that restore it."""
        self._rows = rows
        self._model = _core.RowModel(rows)
        self.sources_ = self._model.sources()

    @overload
    def transform(self, X: ArrayLike, return_std: Literal[False] = False) -> Doubles: ...
    @overload
    def transform(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Doubles, Doubles]: ...
    def transform(self, X: ArrayLike, return_std: bool = False) -> Doubles | tuple[Doubles, Doubles]:
        """Returns the rows with missing values filled by their means (n, columns out).

        With ``return_std`` also their standard deviations, 0 where a value is known; they have no columns of the indicator.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False, order="C")
        mean, std = self._model.predict(np.ascontiguousarray(rows[:, self._seen]))
        if self.keep_empty_features and not self._seen.all():
            empty = np.where(np.isnan(rows), 0.0, rows)
            whole, spread = empty, np.zeros_like(empty)
            whole[:, self._seen], spread[:, self._seen] = mean, std
            mean, std = whole, spread
        if self.indicator_ is not None:
            mean = np.hstack([mean, self.indicator_.transform(rows).astype(np.float64)])
        return (mean, std) if return_std else mean

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray[Any, Any]:
        """Returns the names of the columns of ``transform``."""
        check_is_fitted(self)
        names = np.asarray(_check_feature_names_in(self, input_features), dtype=object)
        out = names if self.keep_empty_features else names[self._seen]
        return out if self.indicator_ is None else np.concatenate([out, self.indicator_.get_feature_names_out(names)])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_model", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_rows" in state:
            self._keep(self._rows)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
