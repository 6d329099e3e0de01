"""Tables of all kinds: fill, forecast and score, with the figures of the program."""

import csv
import re
import warnings

import numpy as np
import pytest

import npzoo

pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")
pyarrow = pytest.importorskip("pyarrow")


def series(rows=40, gaps=(3, 4, 5, 20), seed=0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, rows))
    y = 5 + 3 * np.sin(x)
    y[list(gaps)] = np.nan
    return x, y


def by_the_program(program, table, tmp_path, *options):
    """Returns the table of `npzoo predict`, with as many digits as possible."""
    path = tmp_path / "table.csv"
    path.write_text(table if isinstance(table, str) else "\n".join(
        [",".join(table)] + [",".join("" if isinstance(v, float) and np.isnan(v) else repr(v) if isinstance(v, float) else str(v) for v in row)
                             for row in zip(*(np.asarray(c).tolist() for c in table.values()))]) + "\n")
    text = program("predict", path, "--digits", "9", *options)
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    return list(csv.DictReader(rows))


def assert_same(filled, rows, names):
    """The program rounds each figure to as many decimals as its standard deviation has with 9 digits."""
    for name in names:
        told = np.array([float(row[name]) if row[name] else np.nan for row in rows])
        std = np.array([float(row["std_" + name.split("_", 1)[1]] or "nan") for row in rows])
        ours = np.asarray(filled[name])
        digits = 10.0 ** (np.floor(np.log10(std)) - 8)
        assert (np.isnan(told) == np.isnan(ours)).all()
        assert np.nanmax(np.abs(told - ours) / np.maximum(digits, np.spacing(np.abs(told)))) <= 0.5 + 1e-6, name


def test_the_figures_of_the_program_for_one_input(program, tmp_path):
    x, y = series()
    filled = npzoo.fill({"x": x, "y": y}, quantiles=[0.05, 0.95])
    rows = by_the_program(program, {"x": x, "y": y}, tmp_path, "--quantiles", "0.05,0.95")
    assert list(filled) == list(rows[0]) == ["x", "y", "mean_y", "std_y", "q0.05_y", "q0.95_y"]
    assert_same(filled, rows, ["mean_y", "std_y", "q0.05_y", "q0.95_y"])


def test_the_figures_of_the_program_for_groups_and_maps(program, tmp_path):
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(0, 5, (2, 60))
    table = {"lon": lon, "lat": lat, "height": np.where(rng.uniform(size=60) < 0.3, np.nan, lon * lat)}
    rows = by_the_program(program, table, tmp_path, "--inputs", "lon,lat")
    assert_same(npzoo.fill(table, inputs=["lon", "lat"]), rows, ["mean_height", "std_height"])
    x, y = series()
    table = {"x": x, "a": y, "b": -2 * y, "station": np.where(np.arange(40) % 2, "north", "south")}
    rows = by_the_program(program, table, tmp_path, "--inputs", "x", "--values", "a,b", "--group", "station")
    assert_same(npzoo.fill(table, "x", ["a", "b"], "station"), rows, ["mean_a", "std_a", "mean_b", "std_b"])


def test_the_figures_of_the_program_for_a_gaussian_process(program, tmp_path):
    rng = np.random.default_rng(2)
    a, b, c = rng.uniform(0, 1, (3, 40))
    table = {"a": a, "b": b, "c": c, "y": np.where(rng.uniform(size=40) < 0.3, np.nan, a + np.sin(5 * b))}
    rows = by_the_program(program, table, tmp_path, "--inputs", "a,b,c")
    assert_same(npzoo.fill(table, ["a", "b", "c"]), rows, ["mean_y", "std_y"])
    rows = by_the_program(program, table, tmp_path, "--inputs", "a,b", "--kernel", "matern-3/2")
    assert_same(npzoo.fill(table, ["a", "b"], weights="gp", kernel="matern-3/2"), rows, ["mean_y", "std_y"])
    with pytest.raises(ValueError, match="matern-7/2"):
        npzoo.fill(table, ["a", "b"], weights="gp", kernel="matern-7/2")


def test_values_stay_within_their_limits(program, tmp_path):
    x, y = series()
    table = {"x": x, "y": np.exp(y - 6)}
    rows = by_the_program(program, table, tmp_path, "--transform", "log", "--quantiles", "0.05")
    filled = npzoo.fill(table, transform="log", quantiles=[0.05])
    assert_same(filled, rows, ["mean_y", "std_y"])
    assert filled["q0.05_y"].min() > 0


def test_the_figures_of_the_program_for_dates(program, tmp_path):
    start = pandas.Timestamp("2024-02-27T10:30")
    times = start + pandas.to_timedelta(np.cumsum(np.random.default_rng(0).integers(1, 9, 50)), unit="h")
    values = np.sin(np.arange(50) / 4)
    values[[7, 8, 30]] = np.nan
    frame = pandas.DataFrame({"time": times, "value": values})
    text = "time,value\n" + "".join(f"{t.isoformat()},{'' if np.isnan(v) else repr(float(v))}\n" for t, v in zip(times, values))
    assert_same(npzoo.fill(frame), by_the_program(program, text, tmp_path), ["mean_value", "std_value"])


def test_targets_and_samples():
    x, y = series(gaps=())
    filled = npzoo.fill({"x": x, "y": y}, targets={"x": np.array([0.5, 20.0])}, samples=3, seed=7)
    assert list(filled) == ["x", "mean_y", "std_y", "sample1_y", "sample2_y", "sample3_y"]
    again = npzoo.fill({"x": x, "y": y}, targets={"x": np.array([0.5, 20.0])}, samples=3, seed=7)
    np.testing.assert_array_equal(filled["sample2_y"], again["sample2_y"])
    assert filled["std_y"][1] > filled["std_y"][0]


KINDS = {
    "pandas": lambda t: pandas.DataFrame(t),
    "polars": lambda t: pytest.importorskip("polars").DataFrame(t),
    "arrow": lambda t: pyarrow.table(t),
    "dictionary of lists": lambda t: {k: list(v) for k, v in t.items()},
    "xarray": lambda t: xarray.Dataset({"y": ("x", t["y"])}, coords={"x": t["x"]}),
    "DataArray": lambda t: xarray.DataArray(t["y"], dims="x", coords={"x": t["x"]}, name="y"),
    "pandas with pd.NA": lambda t: pandas.DataFrame({"x": t["x"], "y": pandas.array([None if np.isnan(v) else v for v in t["y"]], "Float64")}),
    "pandas of Arrow": lambda t: pandas.DataFrame(t).convert_dtypes(dtype_backend="pyarrow"),
    "polars with null": lambda t: pytest.importorskip("polars").DataFrame({"x": t["x"], "y": [None if np.isnan(v) else v for v in t["y"]]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_comes_back_in_its_kind(kind):
    x, y = series()
    expected = npzoo.fill({"x": x, "y": y})
    data = KINDS[kind]({"x": x, "y": y})
    filled = npzoo.fill(data)
    assert type(filled) is (xarray.Dataset if kind == "DataArray" else type(data))
    np.testing.assert_array_equal(np.asarray(filled["mean_y"]), expected["mean_y"])
    np.testing.assert_array_equal(np.asarray(filled["std_y"]), expected["std_y"])


def test_dates_with_zones_are_moments():
    utc = pandas.date_range("2024-03-30", periods=60, freq="h", tz="UTC")
    values = np.sin(np.arange(60) / 5)
    values[20:25] = np.nan
    frame = pandas.DataFrame({"time": utc, "value": values})
    expected = npzoo.fill(frame)
    berlin = frame.assign(time=utc.tz_convert("Europe/Berlin"))  # the clocks go forward within
    filled = npzoo.fill(berlin)
    np.testing.assert_array_equal(filled["mean_value"], expected["mean_value"])
    assert filled["time"].dtype == berlin["time"].dtype
    indexed = npzoo.fill(berlin.set_index("time"))
    assert isinstance(indexed.index, pandas.DatetimeIndex)
    np.testing.assert_array_equal(indexed["mean_value"], expected["mean_value"])
    polars = pytest.importorskip("polars")
    one = polars.DataFrame({"time": utc.tz_localize(None).to_numpy(), "value": values}).with_columns(
        polars.col("time").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"))
    np.testing.assert_array_equal(npzoo.fill(one)["mean_value"], expected["mean_value"])


@pytest.mark.parametrize("group", [lambda labels: pandas.Categorical(labels, categories=["never", "b", "a"]),
                                   lambda labels: labels, lambda labels: np.array([len(v) + ord(v) for v in labels])])
def test_groups_are_series_by_themselves(group):
    x, y = series()
    labels = np.array(["a"] * 20 + ["b"] * 20)
    filled = npzoo.fill(pandas.DataFrame({"x": x, "y": y, "g": group(labels)}), inputs="x", values="y", group="g")
    expected = npzoo.fill({"x": x[:20], "y": y[:20]})
    np.testing.assert_allclose(filled["mean_y"][:20], expected["mean_y"], atol=1e-4)


@pytest.mark.parametrize("numbers", [False, True])
def test_several_columns_name_the_groups(numbers):
    x, y = series()
    store, item = np.array([1] * 20 + [2] * 20), np.array(([7] * 10 + [8] * 10) * 2)
    frame = pandas.DataFrame({"x": x, "y": y, "store": store if numbers else store.astype(str), "item": item})
    filled = npzoo.fill(frame, inputs="x", group=["store", "item"])
    joined = npzoo.fill(frame.assign(both=frame["store"].astype(str) + "/" + frame["item"].astype(str)), inputs="x", values="y", group="both")
    pandas.testing.assert_series_equal(filled["mean_y"], joined["mean_y"])
    assert filled.attrs["npzoo"]["group"] == ["store", "item"]
    shuffled = frame.sample(frac=1, random_state=0).assign(y=1.0)
    assert npzoo.score(frame, shuffled, inputs="x", group=["store", "item"])[0]["rows"] == int(np.isnan(y).sum())


def test_levels_of_an_index_are_columns():
    x, y = series()
    frame = pandas.DataFrame({"y": y, "x": x, "station": ["a"] * 20 + ["b"] * 20}).set_index(["station", "x"])
    filled = npzoo.fill(frame, inputs="x", values="y", group="station")
    assert filled.index.equals(frame.index)
    flat = npzoo.fill(frame.reset_index(), inputs="x", values="y", group="station")
    np.testing.assert_array_equal(filled["mean_y"], flat["mean_y"])


def test_a_grid_of_xarray():
    lon, lat = np.linspace(0, 3, 7), np.linspace(40, 42, 5)
    field = np.sin(lon)[None, :] * lat[:, None]
    field[1:3, 2:4] = np.nan
    grid = xarray.DataArray(field, dims=("lat", "lon"), coords={"lat": lat, "lon": lon}, name="t")
    filled = npzoo.fill(grid)
    assert filled["mean_t"].dims == ("lat", "lon")
    rows = npzoo.fill({"lat": np.repeat(lat, 7), "lon": np.tile(lon, 5), "t": field.reshape(-1)}, ["lat", "lon"], "t")
    np.testing.assert_array_equal(filled["mean_t"].to_numpy().reshape(-1), rows["mean_t"])
    days = xarray.concat([grid, grid + 1], dim="day")
    by_day = npzoo.fill(days, group="day")
    np.testing.assert_allclose(by_day["mean_t"][1], by_day["mean_t"][0] + 1, atol=1e-4)


def test_scores_are_those_of_the_program(program, tmp_path):
    x, truth = series(gaps=())
    y = np.where(np.arange(40) % 5 == 2, np.nan, truth)
    (tmp_path / "truth.csv").write_text("x,y\n" + "".join(f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), truth.tolist())))
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{a!r},{'' if np.isnan(b) else repr(b)}\n" for a, b in zip(x.tolist(), y.tolist())))
    told = program("predict", tmp_path / "t.csv", "--truth", tmp_path / "truth.csv", "--json")["scores"]
    told = told[0] if isinstance(told, list) else told.get("y", told)
    (row,) = npzoo.score({"x": x, "y": y}, {"x": x, "y": truth})
    assert row["rows"] == 8
    for name in ("mae", "rmse", "crps"):
        assert row[name] == told[name]
    both = npzoo.score({"x": x, "y": y, "z": 2 * y}, {"x": x, "y": truth, "z": 2 * truth})
    assert [r["value"] for r in both] == ["y", "z", "all"]
    assert both[1]["mae"] == pytest.approx(2 * both[0]["mae"], rel=1e-5)


def test_forecasts_go_on_in_steps():
    frame = pandas.DataFrame({"month": pandas.date_range("2020-01-01", periods=60, freq="D"), "sales": np.sin(np.arange(60) / 3)})
    ahead = npzoo.forecast(frame, horizon=4, quantiles=[0.5], samples=2)
    assert list(ahead) == ["month", "mean_sales", "std_sales", "q0.5_sales", "sample1_sales", "sample2_sales"]
    assert list(ahead["month"]) == list(pandas.date_range("2020-03-01", periods=4, freq="D"))
    assert (np.diff(ahead["std_sales"]) > 0).any()
    with pytest.raises(npzoo.InvalidInput, match="horizon None found"):
        npzoo.forecast(frame)


def test_doubts_are_warnings():
    x, y = series()
    with pytest.warns(npzoo.PredictionWarning):
        npzoo.fill({"x": x, "y": y}, targets={"x": np.array([1e3])}, values="y", inputs="x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        npzoo.fill({"x": x, "y": y})


@pytest.mark.parametrize("table, options, message", [
    ({"x": [0.0, 1], "y": [1.0, 2]}, {}, "no value of \"x\" and \"y\" is missing, expected gaps to fill: for forecasts use npzoo.forecast"),
    ({"x": [], "y": []}, {}, "the table has no rows"),
    ({"x": [0.0, 1], "y": ["low", "high"]}, {"inputs": "x"}, "has no column of numbers with some missing, expected rows to fill and values, or targets"),
    ({"x": [0.0, 1, 2, 3], "y": ["12 %", "", "13 %", "14 %"]}, {}, 'column "y" holds texts such as "12 %", expected numbers'),
    ({"day": [0.0, 1], "y": [1.0, np.nan]}, {"weights": "npzoo/any-2d"}, '"day" might be an input, expected inputs to name the 2 of the model'),
    ({"x": [0.0, 1], "y": [1.0, np.nan]}, {"inputs": "z"}, "there is no column 'z', found 'x', 'y'"),
    ({"x": [0.0, np.nan], "y": [1.0, np.nan]}, {"inputs": "x", "values": "y"}, "input 'x' misses a value in row 1"),
    ({"x": ["a", "b"], "y": [1.0, np.nan]}, {"inputs": "x"}, "input 'x' is a column of text, expected one of numbers or dates"),
    ({"x": [0.0, 1], "y": [1.0, np.nan], "mean_y": ["", ""]}, {}, "has a column 'mean_y' already"),
    ({"x": [0.0, 1, 0, 1], "y": [1.0, np.nan, 2, 3], "station": ["a", "a", "b", "b"]}, {}, "2 places twice; if \"station\" names the series, use group='station'; if all rows are one series, use group='none'"),
    ({"x": [0.0, 1, 2, 3, 0.5, 1.5, 2.5], "y": [1.0, np.nan, 2, 3, 1, 2, 3], "animal": ["a"] * 4 + ["b"] * 3}, {},
     "times that begin anew where \"animal\" changes; if it names the series, use group='animal'; if all rows are one series, use group='none'"),
    ({"x": [0.0, 1] * 4, "y": [1.0, np.nan, 2, 3] * 2, "a": ["s", "s", "t", "t"] * 2, "b": ["u"] * 4 + ["v"] * 4}, {},
     re.escape("if \"a\" and \"b\" name the series, use group=['a', 'b']; if all rows are one series")),
    ({"x": [0.0, 1] * 4, "y": [1.0, np.nan, 2, 3] * 2, "a": ["s", "s", "t", "t"] * 2, "b": ["u"] * 4 + ["v"] * 4}, {"group": "a"},
     re.escape("in a group; if \"b\" names the series, use group=['a', 'b']; if all rows are one series")),
    ({"x": [0.0, 1], "y": [1.0, np.nan]}, {"inputs": ["x", "x"]}, "named twice"),
    ({"2018": [0.0, 1], "2019": [1.0, 2], "2020": [np.nan, 2]}, {}, "to predict from all columns of a row; \"2018\", \"2019\" and \"2020\" name times"),
    ({"x": [0.0, 1], "y": [1.0, np.nan]}, {"inputs": "none", "weights": "gp"}, "found for rows without an input"),
    ({"x": [0.0, 1], "y": [1.0, np.nan]}, {"inputs": "none", "group": "x"}, "inputs='none' found with covariates, group"),
    ({"x": [0.0, 1], "y": [1.0, np.nan]}, {"inputs": "none"}, "1 rows with two known values found"),
])
def test_what_is_refused(table, options, message):
    with pytest.raises(npzoo.InvalidInput, match=message) as caught:
        npzoo.fill({name: np.asarray(values) for name, values in table.items()}, **options)
    assert "\n" not in str(caught.value)


def related(rows=80):
    """A column with gaps, a complete one that it follows, and neither of them smooth."""
    rng = np.random.default_rng(5)
    near = rng.normal(size=rows)
    far = 3 + 2 * near + 0.1 * rng.normal(size=rows)
    holes = np.arange(rows) % 7 == 3
    return near, np.where(holes, np.nan, far), far, holes


def test_columns_of_a_row_help_each_other():
    near, gaps, far, holes = related()
    frame = pandas.DataFrame({"day": pandas.date_range("2024-01-01", periods=len(near)), "far": gaps, "near": near})
    together, apart = npzoo.fill(frame), npzoo.fill(frame, columns_apart=True)
    named = npzoo.fill(frame, values="far")
    error = lambda filled: np.abs(filled["mean_far"] - far)[holes].mean()
    assert error(together) < 0.2 < 1 < error(apart)
    np.testing.assert_array_equal(named["mean_far"], apart["mean_far"])
    assert any(line.startswith("columns help each other") for line in together.attrs["npzoo"]["facts"])


def test_rows_without_an_input():
    near, gaps, far, holes = related()
    filled = npzoo.fill(pandas.DataFrame({"far": gaps, "near": near}), inputs="none", quantiles=[0.5])
    assert filled.attrs["npzoo"]["inputs"] == []
    assert np.abs(filled["mean_far"] - far)[holes].mean() < 0.2
    np.testing.assert_array_equal(filled["mean_far"][~holes], far[~holes])
    assert (filled["std_far"][~holes] == 0).all() and (filled["std_far"][holes] > 0).all()
    both = npzoo.fill({"far": gaps, "near": np.where(np.arange(80) % 9 == 1, np.nan, near)})  # nobody has to say it
    assert list(both)[:2] == ["far", "near"] and "mean_near" in both


def test_a_series_with_dates_is_a_table():
    pandas = pytest.importorskip("pandas")
    months = pandas.date_range("2021-01-01", periods=40, freq="MS")
    sold = pandas.Series(np.round(30 + np.arange(40.0) + 5 * np.sin(np.arange(40) * np.pi / 6)), index=months, name="sold")
    ahead = npzoo.forecast(sold, 3)
    assert ahead["index"].tolist() == list(pandas.date_range("2024-05-01", periods=3, freq="MS"))
    as_frame = npzoo.forecast(sold.to_frame(), 3)
    assert ahead["mean_sold"].tolist() == as_frame["mean_sold"].tolist()
    gap = sold.copy()
    gap.iloc[7] = np.nan
    assert npzoo.fill(gap)["mean_sold"].notna().all()
    with pytest.raises(npzoo.InvalidInput, match=r"\[forecast\] Series without dates found, expected one with a DatetimeIndex"):
        npzoo.forecast(pandas.Series([1.0, 2, 3]), 2)


def test_columns_of_several_levels_stay_so():
    x = np.arange(30.0)
    frame = pandas.DataFrame({("a", "x"): x, ("a", "y"): np.where(x % 4 == 0, np.nan, np.sin(x / 3))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled = npzoo.fill(frame)
    assert filled.columns.tolist() == [*frame.columns, ("mean_('a', 'y')", ""), ("std_('a', 'y')", "")]
    pandas.testing.assert_frame_equal(filled[["a"]], frame)


def long_table():
    month = np.tile(np.arange(36.0), 2)
    return {"store": np.repeat(["north", "south"], 36), "month": month,
            "sold": np.where(np.arange(72) < 36, 20 + 5 * np.sin(month * np.pi / 6), 300 + month)}


def test_each_group_is_forecast_as_a_series_of_its_own():
    long = long_table()
    long = {name: column[:66] for name, column in long.items()}  # south ends after 30 months
    ahead = npzoo.forecast(long, 4, "month", group="store", quantiles=[.5], samples=2, seed=3)
    assert list(ahead) == ["store", "month", "mean_sold", "std_sold", "q0.5_sold", "sample1_sold", "sample2_sold"]
    assert ahead["store"].tolist() == ["north"] * 4 + ["south"] * 4
    assert ahead["month"].tolist() == [36, 37, 38, 39, 30, 31, 32, 33]
    hidden = 0
    for i, (store, rows) in enumerate([("north", slice(36)), ("south", slice(36, 66))]):
        series = {name: column[rows] for name, column in long.items() if name != "store"}
        alone = npzoo.forecast(series, 4, "month")
        found = {name: column[4 * i:4 * i + 4] for name, column in ahead.items()}
        # Series learn from each other which methods are good, and nothing else.
        assert np.all(np.abs(found["mean_sold"] - alone["mean_sold"]) < 0.01 * found["std_sold"]), store
        np.testing.assert_allclose(found["std_sold"], alone["std_sold"], rtol=0.1, err_msg=store)
        hidden += npzoo.backtest(series, "month")[0]["values"]
    assert npzoo.backtest(long, "month", group="store")[0]["values"] == hidden


def test_a_forecast_asks_for_the_column_that_names_several_series():
    with pytest.raises(npzoo.InvalidInput, match=r"^\[forecast\] .* if \"store\" names the series, use group='store'$"):
        npzoo.forecast(long_table(), 4, "month")
    with pytest.raises(npzoo.InvalidInput, match=r"group 'b': 1 row found, expected two or more times in 'ds'"):
        npzoo.forecast({"id": ["a", "a", "b"], "ds": [0.0, 1, 0], "y": [1.0, 2, 3]}, 2, "ds", group="id")
    with pytest.raises(npzoo.InvalidInput, match=r"\[forecast\] there is no column 'shop'"):
        npzoo.forecast(long_table(), 4, "month", group="shop")


def test_a_forecast_of_a_grid_is_a_grid():
    sold = long_table()["sold"].reshape(2, 36)
    grid = xarray.DataArray(sold, dims=("store", "month"), coords={"store": ["north", "south"], "month": np.arange(36.0)}, name="sold")
    ahead = npzoo.forecast(grid, 3, "month", group="store")
    assert dict(ahead.sizes) == {"store": 2, "month": 3}
    long = npzoo.forecast(long_table(), 3, "month", group="store")
    np.testing.assert_array_equal(ahead["mean_sold"].to_numpy().reshape(-1), long["mean_sold"])


def test_forecasts_keep_within_bounds():
    month = np.arange(40.0)
    sold = np.maximum(np.round(6 * np.sin(month * np.pi / 6)), 0)
    ahead = npzoo.forecast({"month": month, "sold": sold}, 6, "month", bounds=(0, 7), quantiles=[.05, .95], samples=4)
    assert min(ahead["q0.05_sold"]) >= 0 and max(ahead["q0.95_sold"]) <= 7
    counted = npzoo.forecast({"month": month, "sold": sold}, 6, "month", counts=True, quantiles=[.1, .9])
    assert all(value == round(value) for value in counted["q0.9_sold"])
    with pytest.raises(npzoo.InvalidInput, match="2 times of 'ds' repeat, expected one series"):
        npzoo.forecast({"ds": [0.0, 0, 1, 1], "y": [1.0, 2, 3, 4]}, 2, "ds")
    with pytest.raises(npzoo.InvalidInput, match=r"\[forecast\] the table has no rows"):
        npzoo.forecast({"ds": [], "y": []}, 2, "ds")


def test_messages_name_arguments_of_python():
    x = np.arange(40.0)
    y = np.where(x % 4 == 1, np.nan, np.abs(np.sin(x)) ** 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        npzoo.fill({"x": x, "y": y})
        npzoo.fill({"x": x, "y": np.where(x == 6, -9999, y)})
    texts = " ".join(str(w.message) for w in caught)
    assert "missing=[-9999]" in texts and "--" not in texts, texts
    with pytest.raises(npzoo.InvalidInput) as refused:
        npzoo.fill({"x": x, "y": y - .5}, counts=True)
    assert "--" not in str(refused.value)
    with pytest.raises(npzoo.InvalidInput) as unknown:
        npzoo.load("no-such-model:tnp/gp-rbf")
    assert "npzoo list" not in str(unknown.value)


def test_targets_that_are_nan_are_a_warning():
    model = npzoo.load("npzoo/gp-rbf")
    with pytest.warns(npzoo.PredictionWarning, match="1 target of xt is NaN"):
        mean = model.predict([[0.0], [1.0]], [[0.5], [-0.5]], [[0.0], [np.nan]]).mean
    assert np.isfinite(mean[0, 0]) and np.isnan(mean[1, 0])


def test_other_things_are_no_tables():
    with pytest.raises(npzoo.InvalidInput, match=r"\[fill\] int found, expected a pandas, Polars or Arrow table"):
        npzoo.fill(3)
    with pytest.raises(ValueError, match="one length"):
        npzoo.fill({"x": np.zeros(3), "y": np.zeros(2)})


def test_the_table_is_left_alone():
    x, y = series()
    frame = pandas.DataFrame({"x": x, "y": y})
    before = frame.copy(deep=True)
    npzoo.fill(frame)
    pandas.testing.assert_frame_equal(frame, before)


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    x, y = series()
    filled = npzoo.fill(pandas.DataFrame({"x": x, "y": y}))
    npzoo.plot(filled)[0].figure.savefig(tmp_path / "band.png")
    (axes,) = npzoo.plot(npzoo.fill({"lon": x, "lat": x[::-1], "y": y}, ["lon", "lat"]), ["lon", "lat"])
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in axes] == [("lon", "lat")] * 3
    days = pandas.DataFrame({"day": pandas.date_range("2024-01-01", periods=40).strftime("%d.%m.%Y"), "y": y})
    (ax,) = npzoo.plot(npzoo.fill(days, dates="dmy"))
    assert ax.get_xlabel() == "day" and ax.lines[0].get_xdata().dtype.kind == "M"
    assert (tmp_path / "band.png").stat().st_size > 5000
