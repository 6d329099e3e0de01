"""The forecasting model of darts."""

import sys

import numpy as np
import pytest

darts = pytest.importorskip("darts")
pd = pytest.importorskip("pandas")

import npzoo
from npzoo.darts import Forecaster

N = 60
TIMES = {"month": pd.date_range("2015-01-01", periods=N, freq="MS"), "business day": pd.date_range("2015-01-01", periods=N, freq="B"),
         "hour": pd.date_range("2015-01-01", periods=N, freq="h"), "range": pd.RangeIndex(5, 5 + N)}


def values():
    """Two components (N, 2)."""
    rng = np.random.default_rng(0)
    first = 10 + 3 * np.sin(np.arange(N) * np.pi / 6) + 0.3 * rng.normal(size=N)
    return np.c_[first, first[::-1] + np.arange(N) / 10]


def series(kind="month", of=None):
    return darts.TimeSeries.from_times_and_values(TIMES[kind], values() if of is None else of, columns=["a", "b"])


@pytest.mark.parametrize("kind", TIMES)
def test_forecasts_are_those_of_the_package(kind):
    ahead = npzoo.forecast(pd.DataFrame({"time": TIMES[kind], "a": values()[:, 0], "b": values()[:, 1]}), 6, "time", period=12)
    forecast = Forecaster(period=12).fit(series(kind)).predict(6)
    np.testing.assert_array_equal(forecast.values(), ahead[["mean_a", "mean_b"]])
    assert list(forecast.components) == ["a", "b"] and list(forecast.time_index) == list(ahead["time"])


def test_samples_are_paths_with_the_deviation_of_the_forecast():
    model = Forecaster(random_state=1).fit(series())
    paths = model.predict(6, num_samples=2000).all_values()
    assert paths.shape == (6, 2, 2000)
    ahead = npzoo.forecast(pd.DataFrame({"time": TIMES["month"], "a": values()[:, 0], "b": values()[:, 1]}), 6, "time")
    np.testing.assert_allclose(paths.std(axis=2), ahead[["std_a", "std_b"]], rtol=0.1)
    np.testing.assert_allclose(paths.mean(axis=2), ahead[["mean_a", "mean_b"]], atol=0.05)
    assert abs(np.corrcoef(paths[0])[0, 1]) < 0.1


def test_a_seed_repeats_paths_and_calls_differ():
    first, second = (Forecaster(random_state=1).fit(series()) for _ in range(2))
    one = first.predict(3, num_samples=4).all_values()
    np.testing.assert_array_equal(second.predict(3, num_samples=4).all_values(), one)
    assert (first.predict(3, num_samples=4).all_values() != one).all()
    np.testing.assert_array_equal(first.predict(3, num_samples=4, random_state=7).all_values(),
                                  second.predict(3, num_samples=4, random_state=7).all_values())


def test_missing_values_bounds_and_counts():
    gaps = values()
    gaps[[4, 30], 0] = np.nan
    assert np.isfinite(Forecaster().fit(series(of=gaps)).predict(3).values()).all()
    low = np.clip(values() - 10, 0, None)
    assert Forecaster(bounds=(0, None)).fit(series(of=low)).predict(12, num_samples=50).all_values().min() >= 0
    counts = Forecaster(counts=True).fit(series(of=low.round())).predict(12, num_samples=50).all_values()
    assert (counts == counts.round()).all() and counts.min() >= 0


def test_covariates_that_are_known_ahead():
    times = pd.date_range("2015-01-01", periods=N + 6, freq="MS")
    price = np.random.default_rng(1).normal(size=N + 6)
    covariates = darts.TimeSeries.from_times_and_values(times, price, columns=["price"])
    ahead = Forecaster().fit(series(of=values() + 3 * price[:N, None]), future_covariates=covariates).predict(6)
    expected = Forecaster().fit(series()).predict(6).values() + 3 * price[N:, None]
    np.testing.assert_allclose(ahead.values(), expected, atol=0.4)
    assert np.ptp(3 * price[N:]) > 2


def test_covariates_of_the_times():
    model = Forecaster(add_encoders={"cyclic": {"future": ["month"]}}).fit(series())
    np.testing.assert_allclose(model.predict(6).values(), Forecaster().fit(series()).predict(6).values(), atol=0.5)


def test_historical_forecasts_are_those_of_the_known_part():
    one = series()["a"]
    history = Forecaster(period=12).historical_forecasts(one, start=0.8, forecast_horizon=3, stride=4)
    known = one.drop_after(history.time_index[0] - 2 * one.freq)
    assert history.values()[0, 0] == Forecaster(period=12).fit(known).predict(3).values()[-1, 0]


def test_a_saved_model_is_loaded(tmp_path):
    from darts.utils.serialization import safe_globals

    model = Forecaster(period=12).fit(series())
    model.save(str(tmp_path / "model.pkl"))
    with safe_globals([Forecaster]):
        again = Forecaster.load(str(tmp_path / "model.pkl"))
    np.testing.assert_array_equal(again.predict(3).values(), model.predict(3).values())
    assert repr(again) == repr(model) and "period=12" in repr(model)


def test_no_torch():
    import subprocess

    subprocess.run([sys.executable, "-c", "import sys, npzoo.darts; assert 'torch' not in sys.modules"], check=True)


def test_what_is_refused():
    with pytest.raises(npzoo.InvalidInput, match="period x found"):
        Forecaster(period="x").fit(series()).predict(3)
    with pytest.raises(npzoo.InvalidInput, match="covariates found with bounds"):
        Forecaster(counts=True, add_encoders={"cyclic": {"future": ["month"]}}).fit(series()).predict(3)
    with pytest.raises(ValueError, match="at least 3"):
        Forecaster().fit(series()[:2])
