"""The accessor of xarray."""

import inspect

import numpy as np
import pytest

xarray = pytest.importorskip("xarray")

import npzoo
import npzoo.xarray


@pytest.fixture
def months():
    """Three years of months at 3 x 2 places, degC."""
    rng = np.random.default_rng(0)
    latitude, longitude = np.arange(50, 53.0), np.arange(5, 7.0)
    season = 3 * np.sin(np.arange(36) * np.pi / 6)
    values = season[:, None, None] + latitude[:, None] + longitude + rng.normal(size=(36, 3, 2)) * 0.2
    time = np.datetime64("2020-01") + np.arange(36)
    return xarray.DataArray(values, dims=("time", "lat", "lon"), name="t",
                            coords={"time": time.astype("datetime64[ns]"), "lat": latitude, "lon": longitude})


@pytest.fixture
def gaps(months):
    """One month with two gaps."""
    return months.isel(time=3, drop=True).where(lambda t: (t.lat + t.lon != 57))


def test_fill_is_that_of_the_package(gaps):
    filled = gaps.npzoo.fill(quantiles=[0.1, 0.9], bounds=(0, None))
    xarray.testing.assert_identical(filled, npzoo.fill(gaps, quantiles=[0.1, 0.9], bounds=(0, None)))
    assert list(filled) == ["t", "mean_t", "std_t", "q0.1_t", "q0.9_t"]
    assert filled.mean_t.dims == ("lat", "lon") and not filled.mean_t.isnull().any() and int(filled.t.isnull().sum()) == 2
    xarray.testing.assert_identical(gaps.to_dataset().npzoo.fill(quantiles=[0.1, 0.9], bounds=(0, None)), filled)


def test_positional_arguments_and_another_grid(gaps):
    finer = xarray.Dataset(coords={"lat": np.linspace(50, 52, 5), "lon": np.linspace(5, 6, 4)})
    filled = gaps.npzoo.fill(["lat", "lon"], "t", targets=finer)
    assert filled.mean_t.shape == (5, 4)
    xarray.testing.assert_identical(filled, npzoo.fill(gaps, ["lat", "lon"], "t", targets=finer))


def test_each_place_of_a_grid_is_forecast(months):
    ahead = months.npzoo.forecast(6, "time", group=["lat", "lon"], quantiles=[0.5])
    xarray.testing.assert_identical(ahead, npzoo.forecast(months, 6, "time", group=["lat", "lon"], quantiles=[0.5]))
    assert dict(ahead.sizes) == {"lat": 3, "lon": 2, "time": 6}
    one = months.sel(lat=51, lon=6).npzoo.forecast(6)
    here = ahead.sel(lat=51, lon=6)  # which has learnt from other places how good methods are
    assert np.all(np.abs(one.mean_t - here.mean_t) < 0.05 * here.std_t)
    np.testing.assert_allclose(one.std_t, here.std_t, rtol=0.1)


def test_an_array_without_a_name(gaps):
    assert list(gaps.rename(None).npzoo.fill()) == ["value", "mean_value", "std_value"]


@pytest.mark.parametrize("name", ["fill", "forecast"])
def test_arguments_and_documentation_are_those_of_the_function(name, months):
    method, function = getattr(months.npzoo, name), getattr(npzoo, name)
    assert list(inspect.signature(method).parameters) == list(inspect.signature(function).parameters)[1:]
    assert inspect.getdoc(method) == inspect.getdoc(function)


def test_what_is_refused(months):
    with pytest.raises(npzoo.InvalidInput, match="there is no column 'depth'"):
        months.npzoo.fill("depth")
    with pytest.raises(npzoo.InvalidInput, match="variables of different dimensions"):
        months.to_dataset().assign(height=("lat", np.zeros(3))).npzoo.fill()
