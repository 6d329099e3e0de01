"""A forecasting model of darts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from darts import TimeSeries
from darts.models.forecasting.forecasting_model import FutureCovariatesLocalForecastingModel
from darts.utils.utils import random_method

from ._tables import fill
from ._types import Period

_TIME = "(time)"  # in brackets, so that no component has this name


class Forecaster(FutureCovariatesLocalForecastingModel):
    """Forecasts of :func:`npzoo.forecast` as a local model of darts.

    ``fit`` keeps the series, of one component or several, and trains nothing. ``predict`` returns the mean, or with
    ``num_samples`` above 1 sampled paths: a sum over steps of one path is a sample of the sum. The components of
    ``future_covariates`` are known ahead: values are linear in them, and the rest is forecast. Values may be missing
    (NaN). Components are forecast one by one, so their samples are independent of each other.

    npzoo raises ``npzoo.InvalidInput``, which is also a ValueError, and warns with :exc:`npzoo.PredictionWarning`.

    Parameters
    ----------
    period : int, str, list of these or None, default=None
        The length of a season, or several: steps, or of dates a time such as ``"1y"``, ``"7d"`` or ``"24h"``. By default
        it is found.
    bounds : pair of float or None, default=(None, None)
        A lower and an upper limit of the values, either of which may be None; not beside covariates.
    counts : bool, default=False
        Whether values are whole numbers from 0 on; not beside covariates.
    add_encoders : dict or None, default=None
        Covariates that darts makes of the times.
    random_state : int or None, default=None
        Seed of the paths.

    Examples
    --------
    >>> import numpy as np
    >>> from darts import TimeSeries
    >>> from npzoo.darts import Forecaster
    >>> series = TimeSeries.from_values(10 + np.sin(np.arange(48) * np.pi / 6))
    >>> ahead = Forecaster(period=12, random_state=1).fit(series).predict(3, num_samples=100)
    >>> ahead.all_values().shape
    (3, 1, 100)
    """

    @random_method
    def __init__(self, period: Period = None, bounds: tuple[float | None, float | None] = (None, None), counts: bool = False,
                 add_encoders: dict[str, Any] | None = None, random_state: int | None = None) -> None:
        super().__init__(add_encoders=add_encoders)
        self._options: dict[str, Any] = {"period": period, "bounds": bounds, "counts": counts}

    def _fit(self, series: TimeSeries, future_covariates: TimeSeries | None = None, verbose: bool | None = None) -> Forecaster:
        self._names = [f"(value {i})" for i in range(series.n_components)]
        self._known = {**_table(series.time_index, future_covariates), **dict(zip(self._names, series.values().T))}
        return self

    @random_method
    def _predict(self, n: int, future_covariates: TimeSeries | None = None, num_samples: int = 1,
                 predict_likelihood_parameters: bool = False, verbose: bool = False, random_state: int | None = None) -> TimeSeries:
        targets = _table(self._generate_new_dates(n), future_covariates)
        sampled = 0 if num_samples == 1 else num_samples
        made = fill(self._known, _TIME, self._names, covariates=list(targets)[1:], targets=targets, samples=sampled,
                    seed=int(np.random.randint(2**31)), **self._options)
        kinds = [f"sample{i + 1}" for i in range(sampled)] or ["mean"]
        figures = [[made[f"{kind}_{name}"] for kind in kinds] for name in self._names]
        return self._build_forecast_series(np.moveaxis(np.array(figures), 2, 0))  # (n, components, samples)

    @property
    def supports_multivariate(self) -> bool:
        return True

    @property
    def supports_probabilistic_prediction(self) -> bool:
        return True


def _table(times: pd.Index, covariates: TimeSeries | None) -> dict[str, Any]:
    """Times and their covariates, as columns."""
    return {_TIME: times.to_numpy(), **({} if covariates is None else dict(zip(covariates.components, covariates.values().T)))}
