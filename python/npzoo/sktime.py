"""A forecaster of sktime."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sktime.forecasting.base import BaseForecaster

from . import _core
from ._tables import fill
from ._types import Period

_TIME, _VALUE = "(time)", "(value)"  # in brackets, so that no column of X has these names


class Forecaster(BaseForecaster):
    """Forecasts of :func:`npzoo.forecast` with the interface of sktime.

    ``fit`` keeps the series and trains nothing; ``predict`` forecasts from all values that ``fit`` and ``update`` got. The
    horizon may have gaps and any order. Values of ``y`` may be missing. Columns of ``X``, numbers or names, are covariates
    that are known ahead: values are linear in them, and the rest is forecast. Columns of ``y`` and the series of a panel are
    forecast one by one.

    A forecast is that of :func:`npzoo.forecast` with the farthest step of the horizon: a step may differ slightly beside
    others, since methods of forecasting are weighted by their scores over as many steps.

    ``predict_quantiles`` and ``predict_interval`` keep ``bounds`` and ``counts``. ``predict_proba`` is sktime's normal
    distribution with the mean and the variance of the forecast, which keeps neither. Horizons inside the known series are
    refused (NotImplementedError). npzoo raises ``npzoo.InvalidInput``, which is also a ValueError, and warns with
    :exc:`npzoo.PredictionWarning`.

    Parameters
    ----------
    period : int, str, list of these or None, default=None
        The length of a season, or several: steps, or of dates a time such as ``"1y"``, ``"7d"`` or ``"24h"``. By default
        it is found.
    bounds : pair of float or None, default=(None, None)
        A lower and an upper limit of the values, either of which may be None; not beside X.
    counts : bool, default=False
        Whether values are whole numbers from 0 on; not beside X.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from npzoo.sktime import Forecaster
    >>> month = pd.period_range("2020-01", periods=48, freq="M")
    >>> sales = pd.Series(10 + np.sin(np.arange(48) * np.pi / 6), month)
    >>> forecaster = Forecaster(period=12).fit(sales)
    >>> [str(month) for month in forecaster.predict(fh=[3, 1]).index]
    ['2024-01', '2024-03']
    >>> bool((forecaster.predict_var(fh=[1, 3]) > 0).all(axis=None))
    True
    """

    _tags = {
        "authors": ["npzoo"],
        "maintainers": ["npzoo"],
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
        "requires-fh-in-fit": False,
        "capability:multivariate": False,
        "capability:exogenous": True,
        "capability:categorical_in_X": True,
        "capability:missing_values": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:update": True,
        "capability:random_state": False,
        "property:randomness": "deterministic",
    }
    _config = {"remember_data": False}  # this class keeps the series itself

    def __init__(self, period: Period = None, bounds: tuple[float | None, float | None] = (None, None), counts: bool = False) -> None:
        self.period = period
        self.bounds = bounds
        self.counts = counts
        super().__init__()
        self._y = self._X = None  # as in sktime's own, for callers that set remember_data

    def _fit(self, y: pd.Series, X: pd.DataFrame | None, fh: Any) -> Forecaster:
        self._name, self._covariates = y.name, [] if X is None else [str(name) for name in X.columns]
        self._known = self._table(y.index, X, y.to_numpy())
        return self

    def _update(self, y: pd.Series, X: pd.DataFrame | None = None, update_params: bool = True) -> Forecaster:
        # With no parameters to fit, new values count whatever update_params says.
        known = pd.concat([self._known, self._table(y.index, X, y.to_numpy())])
        self._known = known.drop_duplicates(_TIME, keep="last").sort_values(_TIME, ignore_index=True)
        return self

    def _predict(self, fh: Any, X: pd.DataFrame | None) -> pd.Series:
        index, made = self._forecast(fh, X)
        return pd.Series(made[f"mean_{_VALUE}"].to_numpy(), index=index, name=self._name)

    def _predict_quantiles(self, fh: Any, X: pd.DataFrame | None, alpha: list[float]) -> pd.DataFrame:
        index, made = self._forecast(fh, X, alpha)
        columns = pd.MultiIndex.from_product([self._get_varnames(), alpha])
        return pd.DataFrame(made[[f"q{q:.15g}_{_VALUE}" for q in alpha]].to_numpy(), index=index, columns=columns)

    def _predict_var(self, fh: Any, X: pd.DataFrame | None, cov: bool = False) -> pd.DataFrame:
        index, made = self._forecast(fh, X)
        return pd.DataFrame(made[[f"std_{_VALUE}"]].to_numpy() ** 2, index=index, columns=self._get_varnames())

    def _forecast(self, fh: Any, X: pd.DataFrame | None, quantiles: list[float] | None = None) -> tuple[pd.Index, Any]:
        """Returns the times of a horizon and the predictions of `npzoo.fill` there. After the end these are the forecast of
        `npzoo.forecast`. The targets may be any times."""
        observed = int(self._known[_VALUE].notna().sum())
        if observed < 2:
            raise _core.InvalidInput(f"[forecast] {observed} observed values found, expected two or more")
        index = fh.to_absolute_index(self.cutoff)
        made = fill(self._known, _TIME, _VALUE, covariates=self._covariates, targets=self._table(index, X), quantiles=quantiles or [],
                    period=self.period, bounds=self.bounds, counts=self.counts)
        return index, made

    def _table(self, index: pd.Index, X: pd.DataFrame | None, values: Any = None) -> Any:
        """A row for each time of the index, with its covariates."""
        columns = [] if X is None else [str(name) for name in X.columns]
        if sorted(columns) != sorted(self._covariates):
            raise _core.InvalidInput(f"[forecast] X with the columns {columns} found, expected those of fit: {self._covariates}")
        table: Any = pd.DataFrame({_TIME: index} if values is None else {_TIME: index, _VALUE: values})
        if X is None:
            return table
        absent = index.difference(X.index)
        if len(absent):
            raise _core.InvalidInput(f"[forecast] X has no row at {absent[0]}, expected one at each time of y and of the horizon")
        return table.join(X.loc[index].rename(columns=str).reset_index(drop=True))

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Returns parameters for sktime's tests of interfaces."""
        return [{}, {"period": 3}]
