"""The forecaster of sktime."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sktime")
pd = pytest.importorskip("pandas")

import npzoo
from npzoo.sktime import Forecaster
from sktime.forecasting.base import ForecastingHorizon

N = 60


def series(index, noise=0.3):
    rng = np.random.default_rng(0)
    return pd.Series(10 + 3 * np.sin(np.arange(N) * np.pi / 6) + noise * rng.normal(size=N), index, name="sales")


INDICES = {
    "period": pd.period_range("2015-01", periods=N, freq="M"),
    "week": pd.period_range("2015-01-04", periods=N, freq="W"),
    "datetime": pd.date_range("2015-01-01", periods=N, freq="MS"),
    "month end": pd.date_range("2015-01-31", periods=N, freq="ME"),
    "business day": pd.date_range("2015-01-01", periods=N, freq="B"),
    "hour": pd.date_range("2015-01-01", periods=N, freq="h"),
    "range": pd.RangeIndex(5, 5 + N),
    "whole": pd.Index(np.arange(3, 3 + N)),
}


def of_the_package(y, horizon, **options):
    return npzoo.forecast(pd.DataFrame({"time": y.index, "y": y.to_numpy()}), horizon, "time", **options)


def test_conformance():
    """All of sktime's own tests of a forecaster."""
    from sktime.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(Forecaster(), verbose=False)
    assert len(results) > 300
    assert {name: result for name, result in results.items() if result != "PASSED"} == {}


@pytest.mark.parametrize("kind", INDICES)
def test_forecasts_are_those_of_the_package(kind):
    y = series(INDICES[kind])
    forecaster = Forecaster(period=12).fit(y)
    ahead = of_the_package(y, 12, period=12, quantiles=[0.1, 0.5, 0.9])
    mean = forecaster.predict(fh=range(1, 13))
    assert mean.name == "sales" and list(mean.index) == list(ForecastingHorizon(range(1, 13)).to_absolute_index(forecaster.cutoff))
    np.testing.assert_array_equal(mean, ahead["mean_y"])
    quantiles = forecaster.predict_quantiles(fh=[12, 3], alpha=[0.1, 0.9])
    np.testing.assert_array_equal(quantiles, ahead[["q0.1_y", "q0.9_y"]].iloc[[2, 11]])
    assert list(quantiles.columns) == [("sales", 0.1), ("sales", 0.9)]
    interval = forecaster.predict_interval(fh=[3, 12], coverage=0.8)
    np.testing.assert_array_equal(interval, quantiles)
    np.testing.assert_array_equal(forecaster.predict_var(fh=[3, 12])["sales"], ahead["std_y"].iloc[[2, 11]] ** 2)
    np.testing.assert_array_equal(forecaster.predict(fh=[3]), of_the_package(y, 3, period=12)["mean_y"][2:])


def test_horizons_by_time_and_in_any_order():
    y = series(INDICES["period"])
    forecaster = Forecaster().fit(y)
    all_steps = forecaster.predict(fh=range(1, 25))
    for fh in ([24, 1, 7], pd.PeriodIndex(["2021-12", "2020-01", "2020-07"], freq="M")):
        some = forecaster.predict(fh=fh)
        pd.testing.assert_series_equal(some, all_steps.loc[some.index], check_freq=False)
        assert sorted(map(str, some.index)) == ["2020-01", "2020-07", "2021-12"]


def test_bounds_and_counts():
    y = series(INDICES["range"], noise=2.0) - 9
    limited = Forecaster(bounds=(0, None)).fit(y.clip(0))
    assert limited.predict_quantiles(fh=[3, 9], alpha=[0.01]).min(axis=None) >= 0
    counts = Forecaster(counts=True).fit(y.clip(0).round()).predict_quantiles(fh=range(1, 13), alpha=[0.1, 0.9])
    assert (counts == counts.round()).all(axis=None) and (counts >= 0).all(axis=None)


def test_missing_values_and_updates():
    y = series(INDICES["datetime"])
    y.iloc[[4, 30]] = np.nan
    forecaster = Forecaster().fit(y[:40])
    forecaster.update(y[38:], update_params=False)
    pd.testing.assert_series_equal(forecaster.predict(fh=[1, 2]), Forecaster().fit(y).predict(fh=[1, 2]))
    np.testing.assert_array_equal(forecaster.predict(fh=[1, 2]), of_the_package(y, 2)["mean_y"])


def test_covariates_that_are_known_ahead():
    months = pd.period_range("2015-01", periods=N + 12, freq="M")
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"price": rng.normal(size=N + 12), "promotion": rng.choice(["yes", "no"], N + 12)}, index=months)
    effect = 3 * X["price"] + 2 * (X["promotion"] == "yes")
    y = series(INDICES["period"]) + effect[:N]
    ahead = Forecaster().fit(y, X[:N]).predict(fh=[1, 5, 12], X=X)
    expected = Forecaster().fit(series(INDICES["period"])).predict(fh=[1, 5, 12]) + effect.loc[ahead.index]
    np.testing.assert_allclose(ahead, expected, atol=0.4)
    assert np.ptp(effect.loc[ahead.index]) > 2
    known = Forecaster().fit(y[:40], X[:40]).update(y[40:], X[40:N])
    pd.testing.assert_series_equal(known.predict(fh=[1, 5, 12], X=X), ahead)


def test_columns_and_panels_are_forecast_one_by_one():
    y = series(INDICES["datetime"])
    both = Forecaster().fit(pd.DataFrame({"a": y, "b": 2 * y[::-1].to_numpy()}))
    np.testing.assert_array_equal(both.predict(fh=[1, 2])["a"], Forecaster().fit(y).predict(fh=[1, 2]))
    panel = pd.concat({"north": y.to_frame(), "south": 2 * y.to_frame()}, names=["store", "month"])
    np.testing.assert_array_equal(Forecaster().fit(panel).predict(fh=[2]).loc["north", "sales"], Forecaster().fit(y).predict(fh=[2]))


FITTED = pd.DataFrame({"price": 1.0}, index=INDICES["period"])


@pytest.mark.parametrize("error, message, call", [
    (npzoo.InvalidInput, "period x found", lambda y: Forecaster(period="x").fit(y).predict(fh=[1])),
    (npzoo.InvalidInput, "bounds 3 found", lambda y: Forecaster(bounds=3).fit(y).predict(fh=[1])),
    (npzoo.InvalidInput, "1 observed values found, expected two or more", lambda y: Forecaster().fit(y[:1]).predict(fh=[1])),
    (npzoo.InvalidInput, r"columns \['price'\] found, expected those of fit: \[\]",
     lambda y: Forecaster().fit(y).predict(fh=[1], X=pd.DataFrame({"price": [1.0]}, index=y.index[-1:] + 1))),
    (npzoo.InvalidInput, r"columns \[\] found, expected those of fit: \['price'\]", lambda y: Forecaster().fit(y, FITTED).predict(fh=[1])),
    (npzoo.InvalidInput, "X has no row at 2020-01", lambda y: Forecaster().fit(y, FITTED).predict(fh=[1], X=FITTED)),
    (NotImplementedError, "in-sample", lambda y: Forecaster().fit(y).predict(fh=[0, 1])),
])
def test_what_is_refused(error, message, call):
    with pytest.raises(error, match=message):
        call(series(INDICES["period"]))
