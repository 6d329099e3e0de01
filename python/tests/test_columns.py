"""Columns: the rules of the program, dates in text, covariates, and scores with baselines."""

import json
import subprocess
import sys

import numpy as np
import pytest

import npzoo

pandas = pytest.importorskip("pandas")

TABLES = {
    "a number without a gap": "x,y\n1,2\n2,\n3,4\n4,3\n",
    "a date before numbers": "day,u,n,v,note\n2020-01-01,1,1,,a\n2020-01-02,NA,2,4,\n2020-01-03,2,3,4,b\n",
    "coordinates": "lat,lon,t\n1,2,3\n2,3,\n4,2,5\n2,1,3\n",
    "names in capitals": "Northing,EASTING,t\n1,2,3\n2,3,\n4,2,5\n2,1,3\n",
    "two numbers": "a,b,t\n1,2,3\n2,3,\n4,2,5\n",
    "no gap": "x,y\n1,2\n2,3\n",
    "a value that all rows miss": "x,y\n1,\n2,\n",
    "a value that all rows miss beside others": "x,y,z\n1,,1\n2,,\n3,,3\n4,,2\n",
    "text alone": "note,y\na,2\nb,\n",
    "two columns of dates": "a,b,y\n2020-01-01,2020-01-01,2\n2020-01-02,2020-01-03,\n",
    "one of two columns of dates in ISO 8601": "a,b,y\n2020-01-01,5 Jan 2020,2\n2020-01-02,6 Jan 2020,\n2020-01-03,7 Jan 2020,3\n",
    "dates of three numbers": "day,y\n13/06/2018,2\n14/06/2018,\n15/06/2018,3\n",
    "dates that leave a doubt": "day,y\n01/02/2018,2\n02/02/2018,\n03/02/2018,3\n",
    "two series": "x,station,y\n1,a,2\n2,a,\n3,a,3\n1,b,2\n2,b,4\n3,b,3\n",
    "two series with numbers": "x,station,y\n1,1,2\n2,1,\n3,1,3\n1,2,2\n2,2,4\n3,2,3\n",
    "places twice without a reason": "x,note,y\n1,a,2\n2,b,\n3,c,3\n1,d,2\n2,e,4\n3,f,3\n",
    "an index that cannot be read": "season,price,y\n1990/91,5,2\n1991/92,3,\n1992/93,9,4\n1993/94,4,3\n",
    "an index of weeks beside numbers in no order": "week,price,y\nWeek 1,5,2\nWeek 2,3,\nWeek 3,9,4\nWeek 4,4,3\n",
    "paces beside ascending numbers": "km,pace,y\n" + "".join(f"{i},{4 + i % 2}:{10 + 7 * i % 40},{'' if i == 5 else i % 4}\n" for i in range(12)),
    "dates of digits": "day,y\n20240130,2\n20240131,\n20240201,3\n20240202,4\n",
    "months of digits": "period,y\n202311,2\n202312,\n202401,3\n202402,4\n",
    "times of day": "time,y\n13:00,2\n13:30,\n14:00,3\n14:30,4\n",
    "a status that marks gaps": "x,status,y\n" + "".join(f"{i},{int(i % 9 > 6)},{'' if i % 9 > 6 else 3 + i % 5}\n" for i in range(60)),
    "patients with categories": "patient,sex,age,bp\n" + "".join(f"P{i},{'mf'[i % 2]},{30 + i * 7 % 40},{'' if i % 11 == 4 else 100 + i * 7 % 40}\n" for i in range(60)),
    "an input that begins anew": "depth,y\n" + "".join(f"{i % 8},{'' if i == 5 else i * i % 7}\n" for i in range(24)),
    "years as columns": "2018,2019,2020\n0,1,\n1,2,2\n4,2,3\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
def test_the_columns_that_the_program_chooses(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    frame = pandas.read_csv(path)
    told = subprocess.run([sys.executable, "-m", "npzoo", "predict", path, "--json", "--digits", "9", "--out", tmp_path / "filled.csv"],
                          capture_output=True, text=True)
    if told.returncode:
        with pytest.raises(npzoo.InvalidInput):
            npzoo.fill(frame)
        return
    row = json.loads(told.stdout)
    filled = npzoo.fill(frame)
    facts = filled.attrs["npzoo"]
    assert facts["inputs"] == [column["name"] for column in row["inputs"]]
    assert facts["values"] == [column["name"] for column in row["values"]]
    told = row["facts"]  # the program also says how it understood the rows
    assert facts["facts"] == told[: len(facts["facts"])]
    written = pandas.read_csv(tmp_path / "filled.csv", comment="#")
    for name in facts["values"]:
        np.testing.assert_allclose(filled[f"mean_{name}"], written[f"mean_{name}"], rtol=1e-6, atol=1e-7)


def test_an_input_that_begins_anew_is_a_warning_that_names_the_row():
    table = {"depth": np.tile(np.arange(8.0), 3), "y": np.where(np.arange(24) == 5, np.nan, np.arange(24.0) ** 2 % 7)}
    with pytest.warns(npzoo.PredictionWarning, match="depth begins anew in row 8, in 3 runs .* use group with it"):
        npzoo.fill(table)


def test_numbers_that_are_dates_are_days_for_targets_as_well():
    days = pandas.date_range("2024-01-20", periods=40, freq="D")
    codes = days.strftime("%Y%m%d").astype(int)
    later = pandas.date_range("2024-01-25", periods=3, freq="9D")
    filled = npzoo.fill(dated(codes), targets=pandas.DataFrame({"day": later.strftime("%Y%m%d").astype(int)}))
    expected = npzoo.fill(dated(days), targets=pandas.DataFrame({"day": later}))
    np.testing.assert_array_equal(filled["mean_value"], expected["mean_value"])
    named = npzoo.fill(dated(codes), "day", "value")
    np.testing.assert_array_equal(named["mean_value"], npzoo.fill(dated(days))["mean_value"])


@pytest.mark.parametrize("table, message", [
    ({"date": ["2024-01-01"] * 3 + ["2024-01-02"] * 3, "time": ["01:00", "02:00", "03:00"] * 2, "y": [1, np.nan, 3, 4, 5, 6]},
     r'^\[fill\] "date" and "time" are a date together, expected one column: such as pandas.to_datetime'),
    ({"year": [2020, 2020, 2021], "month": [11, 12, 1], "y": [1, np.nan, 3]}, "expected one column of dates made of year,month"),
    ({"season": ["1990/91", "1991/92", "1992/93", "1993/94"], "price": [5, 3, 9, 4], "y": [1, np.nan, 2, 3]},
     r"^\[fill\] row 0: column \"season\" holds \"1990/91\", .* use inputs='price'; .* use inputs='none'$"),
])
def test_doubts_about_columns_have_a_remedy_in_python(table, message):
    with pytest.raises(npzoo.InvalidInput, match=message):
        npzoo.fill(pandas.DataFrame(table))


def test_a_model_that_is_named_says_how_many_inputs_there_are():
    rng = np.random.default_rng(0)
    table = {"a": rng.uniform(size=20), "b": rng.uniform(size=20), "y": np.where(np.arange(20) < 3, np.nan, rng.uniform(size=20))}
    assert npzoo.fill(pandas.DataFrame(table), weights="npzoo/any-2d").attrs["npzoo"]["inputs"] == ["a", "b"]
    with pytest.raises(npzoo.InvalidInput, match='"a" and "b" might be inputs, expected inputs to name the 1 of the model'):
        npzoo.fill(table, weights="npzoo/any-1d")
    with pytest.raises(npzoo.InvalidInput, match="expected inputs to name them"):
        npzoo.fill(table)


def test_targets_have_the_inputs():
    x = np.arange(12.0)
    table = {"u": x, "v": x % 3, "y": np.sin(x)}
    filled = npzoo.fill(table, targets={"u": np.array([1.5]), "v": np.array([0.5])})
    assert list(filled) == ["u", "v", "mean_y", "std_y"]
    expected = npzoo.fill(table, ["u", "v"], "y", targets={"u": np.array([1.5]), "v": np.array([0.5])})
    assert filled["mean_y"] == expected["mean_y"]
    with pytest.raises(npzoo.InvalidInput, match="expected values to name one"):
        npzoo.fill({"u": x, "v": x}, targets={"u": np.array([1.5]), "v": np.array([0.5])})


def dated(cells):
    values = np.sin(np.arange(len(cells)) / 3)
    values[5:8] = np.nan
    return pandas.DataFrame({"day": cells, "value": values})


def test_text_that_holds_dates_is_dates():
    days = pandas.date_range("2024-02-20", periods=40, freq="D")
    expected = npzoo.fill(dated(days))["mean_value"].to_numpy()
    for notation in ("%Y-%m-%d", "%d/%m/%Y", "%d %b %Y", "%Y%m%d"):
        filled = npzoo.fill(dated(days.strftime(notation)))
        np.testing.assert_array_equal(filled["mean_value"], expected)
        assert list(filled["day"]) == list(days.strftime(notation))
    hours = pandas.date_range("2024-02-20", periods=40, freq="7h", tz="UTC")
    filled = npzoo.fill(dated(hours.tz_convert("Asia/Tokyo").strftime("%Y-%m-%dT%H:%M:%S%z")))
    np.testing.assert_array_equal(filled["mean_value"], npzoo.fill(dated(hours))["mean_value"])


def test_the_order_of_day_and_month():
    days = pandas.date_range("2024-02-01", periods=40, freq="MS")  # the first of each month leaves a doubt
    table = dated(days.strftime("%d/%m/%Y"))
    with pytest.raises(npzoo.InvalidInput):
        npzoo.fill(table)
    expected = npzoo.fill(dated(days))["mean_value"]
    np.testing.assert_array_equal(npzoo.fill(table, dates="dmy")["mean_value"], expected)
    targets = pandas.DataFrame({"day": ["01/01/2025", "01/03/2025"]})
    filled = npzoo.fill(table, targets=targets, dates="dmy")
    np.testing.assert_array_equal(
        filled["mean_value"], npzoo.fill(dated(days), targets=pandas.DataFrame({"day": pandas.to_datetime(["2025-01-01", "2025-03-01"])}))["mean_value"])
    with pytest.raises(npzoo.InvalidInput, match="dates 'ydm' found, expected 'dmy', 'mdy' or 'ymd'"):
        npzoo.fill(table, dates="ydm")


def test_text_that_misses_a_date_names_the_row():
    table = dated(["2024-01-%02d" % (1 + i) for i in range(20)])
    table.loc[4, "day"] = None
    with pytest.raises(npzoo.InvalidInput, match=r"input 'day' misses a value in row 4"):
        npzoo.fill(table)


@pytest.fixture(scope="module")
def field():
    """A map whose values depend on elevation and soil."""
    rng = np.random.default_rng(3)
    rows = 60
    table = {"lon": rng.uniform(0, 4, rows), "lat": rng.uniform(40, 44, rows), "elevation": rng.uniform(0, 2, rows),
             "soil": rng.choice(["clay", "sand", "loam"], rows)}
    rain = np.sin(table["lon"]) + 2 * table["elevation"] + (table["soil"] == "sand") + rng.normal(0, 0.05, rows)
    return table, rain, rng.uniform(size=rows) < 0.3


def written(path, table):
    pandas.DataFrame(table).to_csv(path, index=False, float_format="%.17g")
    return path


@pytest.mark.parametrize("weights, flags", [(None, []), ("npzoo/any-2d", ["--model", "weights"]), ("gp", ["--linear-mean"])])
def test_scores_with_covariates_and_baselines_are_those_of_the_program(program, tmp_path, field, weights, flags):
    table, rain, hidden = field
    shown, truth = {**table, "rain": np.where(hidden, np.nan, rain)}, {**table, "rain": rain}
    told = program("predict", written(tmp_path / "t.csv", shown), "--inputs", "lon,lat", "--covariates", "elevation,soil", "--truth",
                   written(tmp_path / "truth.csv", truth), "--baselines", "--json", *flags)
    rows = npzoo.score(shown, truth, ["lon", "lat"], weights=weights, covariates=["elevation", "soil"], baselines=True,
                       linear_mean=bool(weights == "gp"))
    expected = {told["model"]: told["scores"]["rain"], **{name: row["scores"]["rain"] for name, row in told["baselines"].items()}}
    assert [row["by"] for row in rows] == list(expected)
    for row in rows:
        for name in ("mae", "rmse", "crps", "coverage_95"):
            assert row[name] == expected[row["by"]][name], (row["by"], name)


def test_words_among_the_inputs_are_covariates(field):
    table, rain, hidden = field
    shown = pandas.DataFrame({**table, "rain": np.where(hidden, np.nan, rain)})
    named = npzoo.fill(shown, ["lon", "lat", "soil"])
    covariate = npzoo.fill(shown, ["lon", "lat"], covariates="soil")
    np.testing.assert_array_equal(named["mean_rain"], covariate["mean_rain"])
    assert named.attrs["npzoo"]["covariates"] == ["soil"]
    slopes = named.attrs["npzoo"]["processes"][0]["slopes"]
    assert set(slopes) <= {"soil = clay", "soil = sand", "soil = loam"} and slopes


def test_covariates_of_targets(field):
    table, rain, hidden = field
    shown = pandas.DataFrame({**table, "rain": np.where(hidden, np.nan, rain)})
    filled = npzoo.fill(shown, ["lon", "lat"], "rain", covariates=["elevation", "soil"], targets=shown[hidden].drop(columns="rain"))
    whole = npzoo.fill(shown, ["lon", "lat"], "rain", covariates=["elevation", "soil"])
    np.testing.assert_allclose(filled["mean_rain"], whole["mean_rain"][hidden], rtol=1e-10)
    with pytest.raises(npzoo.InvalidInput, match="there is no column 'soil'"):
        npzoo.fill(shown, ["lon", "lat"], "rain", covariates="soil", targets=pandas.DataFrame({"lon": [1.0], "lat": [41.0]}))
    gap = shown.assign(elevation=shown["elevation"].where(shown.index != 7))
    with pytest.warns(npzoo.PredictionWarning, match="1 value of elevation, a covariate, was missing and predicted"):
        around = npzoo.fill(gap, ["lon", "lat"], "rain", covariates="elevation")
    assert np.isfinite(around["mean_rain"]).all()
    many = shown.assign(soil=[f"kind {i}" for i in range(len(shown))]).loc[lambda t: t.index.repeat(2)]
    many["soil"] = [f"kind {i}" for i in range(len(many))]
    with pytest.raises(npzoo.InvalidInput, match="more than 64 categories"):
        npzoo.fill(many, ["lon", "lat"], "rain", covariates="soil")


def test_rows_that_only_the_truth_has_are_scored(field):
    table, rain, hidden = field
    frame = pandas.DataFrame({**table, "rain": rain})
    rows = npzoo.score(frame[~hidden], frame, ["lon", "lat"], "rain", covariates="elevation")
    filled = npzoo.fill(frame[~hidden], ["lon", "lat"], "rain", covariates="elevation", targets=frame[hidden].drop(columns="rain"))
    assert rows[0]["rows"] == hidden.sum()
    assert rows[0]["mae"] == pytest.approx(np.abs(filled["mean_rain"] - rain[hidden]).mean(), rel=1e-9)
    same = npzoo.score(frame[~hidden], frame, ["lon", "lat"], "rain", covariates="elevation", targets=frame[hidden].drop(columns="rain"))
    assert same[0]["mae"] == pytest.approx(rows[0]["mae"], rel=1e-9)
    with pytest.raises(npzoo.InvalidInput, match="truth has none of the predicted values"):
        npzoo.score(frame, frame.iloc[:0], ["lon", "lat"], "rain")


def test_groups_of_the_truth():
    x = np.tile(np.arange(20.0), 2)
    labels = np.repeat(["a", "b"], 20)
    y = np.sin(x / 3) + (labels == "b")
    shown = {"x": x, "g": labels, "y": np.where(x % 5 == 2, np.nan, y)}
    order = np.random.default_rng(0).permutation(40)
    rows = npzoo.score(shown, {"x": x[order], "g": labels[order], "y": y[order]}, group="g")
    assert rows == npzoo.score(shown, {"x": x, "g": labels, "y": y}, group="g")
    assert rows[0]["rows"] == 8 and rows[0]["mae"] < 0.1


def test_forecasts_of_weights_alone(program, tmp_path):
    step = np.arange(48.0)
    table = {"step": step, "y": np.where(step < 40, np.sin(step * np.pi / 6), np.nan)}
    path = written(tmp_path / "t.csv", table)
    for options, flags in (({}, []), ({"ends": "weights"}, ["--ends", "weights"]), ({"period": 12}, ["--period", "12"])):
        program("predict", path, "--digits", "9", "--out", tmp_path / "filled.csv", *flags)
        told = pandas.read_csv(tmp_path / "filled.csv")
        np.testing.assert_allclose(npzoo.fill(table, **options)["mean_y"], told["mean_y"], rtol=1e-6, atol=1e-8)
    assert (npzoo.fill(table)["mean_y"][40:] != npzoo.fill(table, ends="weights")["mean_y"][40:]).any()
    with pytest.raises(npzoo.InvalidInput, match="ends 'both' found"):
        npzoo.fill(table, ends="both")


def test_backtests_are_the_check_of_the_program(program, tmp_path):
    step = np.arange(60.0)
    y = np.sin(step * np.pi / 6) + 0.1 * np.random.default_rng(0).normal(size=60)
    rows = npzoo.backtest({"step": step, "y": y}, "step")
    frame = pandas.DataFrame({"step": np.arange(61.0), "y": np.append(y, np.nan)})
    text = program("predict", written(tmp_path / "t.csv", frame), "--check", "--out", tmp_path / "filled.csv")
    told = {line[:35].strip(): line[35:].split() for line in text.splitlines()[1:] if "%" in line}
    assert rows[0]["method"] == "combination" and {row["method"] for row in rows} == set(told)
    for row in rows:
        assert [f"{row['mase']:.3f}", f"{row['crps']:.3f}"] == told[row["method"]][:2]
    assert [row["skill"] for row in rows if row["method"] == "seasonal naive"] == [0]
    assert list(npzoo.backtest({"step": step[:9], "y": y[:9]}, "step")) == []
