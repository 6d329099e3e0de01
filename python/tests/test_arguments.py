"""Arguments of all functions: taken as they are meant, or refused in one line that names them."""

import datetime
import decimal
import re

import numpy as np
import pytest

import npzoo

X = np.linspace(0, 6, 12)
Y = np.where(np.arange(12) % 4 == 2, np.nan, np.sin(X))
TABLE = {"x": X, "y": Y}
POINTS = X[:, None] / 3 - 1, np.sin(X)[:, None], X[:, None] / 3 - 1


@pytest.fixture(scope="module")
def events():
    return npzoo.train("events/hawkes", "thp-plus", steps=2, batch_size=2, progress=False).model


def refused(call, message):
    with pytest.raises(npzoo.InvalidInput, match=re.escape(message)) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options, message", [
    ({"samples": 2.5}, "[fill] samples 2.5 found, expected a whole number from 0 on"),
    ({"samples": -1}, "[fill] samples -1 found, expected a whole number from 0 on"),
    ({"seed": -1}, "[fill] seed -1 found, expected a whole number from 0 on"),
    ({"seed": 2**64}, "[fill] seed 18446744073709551616 found, expected a whole number up to 18446744073709551615"),
    ({"chunk": 0}, "[fill] chunk 0 found, expected a whole number from 1 on"),
    ({"neighbours": "a"}, "[fill] neighbours 'a' found, expected a whole number from 0 on"),
    ({"bounds": (1, 2, 3)}, "[fill] bounds (1, 2, 3) found, expected a lower and an upper limit"),
    ({"bounds": ("a", 3)}, "[fill] the lower bound 'a' found, expected a number"),
    ({"quantiles": ["a"]}, "the quantile 'a' found, expected a number"),
    ({"inputs": 3}, "[fill] there is no column '3'"),
    ({"group": 3}, "[fill] there is no column '3'"),
    ({"dates": "ydm"}, "[fill] dates 'ydm' found, expected 'dmy', 'mdy' or 'ymd'"),
    ({"weights": 3}, "[weights] weights of type int found, expected a name or a path"),
    ({"targets": [1]}, "[targets] list found, expected a pandas, Polars or Arrow table"),
])
def test_fill_refuses(options, message):
    refused(lambda: npzoo.fill(TABLE, **options), message)


@pytest.mark.parametrize("call, message", [
    (lambda m: npzoo.load(3), "[load] weights of type int found"),
    (lambda m: npzoo.load("npzoo/gp-rbf", dtype=np.int8), "[load] dtype 'int8' found, expected 'float32' or 'float64'"),
    (lambda m: m.predict(*POINTS, seed=-1), "[condition] seed -1 found"),
    (lambda m: m.predict(*POINTS, samples=0), "[condition] samples 0 found, expected a whole number from 1 on"),
    (lambda m: m.vjp(*POINTS, samples=1.5), "[vjp] samples 1.5 found"),
    (lambda m: m.predict(*POINTS).sample(0), "[sample] n 0 found, expected a whole number from 1 on"),
    (lambda m: m.predict(*POINTS).quantiles("a"), "the quantile 'a' found"),
    (lambda m: m.predict(POINTS[0][None], POINTS[1][None], POINTS[2]), "[xt] 2 axes found, expected 3 as in xc"),
    (lambda m: m.predict(POINTS[0], POINTS[1][:5], POINTS[2]), "[yc] 5 points found, expected 12 as in xc"),
    (lambda m: m.condition(*POINTS[:2]).update(POINTS[0][None], POINTS[1][None]), "[update] 3 axes found, expected 2 as in xc"),
    (lambda m: m.vjp(*POINTS[:2], POINTS[2][None]), "[xt] 3 axes found, expected 2 as in xc"),
    (lambda m: m.predict(*(np.stack([p, p]) for p in POINTS), lengths=[1.5, 2]), "[lengths] 1.5 found, expected whole numbers"),
    (lambda m: m.save(None), "[save] path of type NoneType found"),
    (lambda m: npzoo.set_threads("a"), "[set_threads] count 'a' found"),
    (lambda m: npzoo.evaluate(m, batches=0), "[evaluate] batches 0 found, expected a whole number from 1 on"),
    (lambda m: npzoo.protocols("quick/gp1d", set=3), "[set] 3 found, expected a dictionary"),
    (lambda m: npzoo.protocols("quick/gp1d", set={"data.points": None}), "[set] None found, expected a number, a text"),
])
def test_models_refuse(model, call, message):
    refused(lambda: call(model), message)


@pytest.mark.parametrize("options, message", [
    ({"steps": "a"}, "[train] steps 'a' found, expected a whole number from 1 on"),
    ({"steps": 0}, "[train] steps 0 found"),
    ({"batch_size": 1.5}, "[train] batch_size 1.5 found"),
    ({"learning_rate": "fast"}, "[train] learning_rate 'fast' found, expected a number"),
    ({"resume": True}, "[train] resume without out found"),
])
def test_training_refuses(options, message):
    refused(lambda: npzoo.train("quick/gp1d", "cnp", progress=False, **options), message)


def test_training_on_a_table_wants_its_columns():
    refused(lambda: npzoo.train({"x": X, "y": np.sin(X)}, steps=1), "[train] a table without inputs or values found, expected both")
    refused(lambda: npzoo.train(3, "cnp"), "[train] int found, expected a pandas, Polars or Arrow table")


@pytest.mark.parametrize("space, message", [
    ({"x": 3}, "[optimise] 'x': 3 found, expected bounds (low, high)"),
    ({"x": (0, 1, 2)}, "[optimise] 'x': (0, 1, 2) found, expected bounds (low, high)"),
    ({"x": ("a", 1)}, "[optimise] choices ('a', 1) of 'x' found, expected names"),
    ({"x": (None, 1)}, "[optimise] low of 'x' None found, expected a number"),
    ({"x": {"low": 0}}, "[optimise] high of 'x' None found, expected a number"),
    (None, "[optimise] space of type NoneType found"),
])
def test_spaces_are_refused(space, message):
    refused(lambda: npzoo.Optimiser(space), message)


def test_optimisers_refuse():
    optimiser = npzoo.Optimiser({"a": (0, 1), "b": {"low": 1, "high": 5, "integer": True}})
    refused(lambda: npzoo.Optimiser({"a": (0, 1)}, seed=-1), "[optimise] seed -1 found")
    refused(lambda: optimiser.ask(1.5), "[optimise] n 1.5 found, expected a whole number from 1 on")
    refused(lambda: optimiser.tell([{"a": 0.5}], [1]), "[optimise] a point without 'b' found, expected all of a, b")
    refused(lambda: optimiser.tell([{"a": 0.5, "b": 2}], ["x"]), "[optimise] the value 'x' found, expected a number")
    optimiser.tell({"a": 0.5, "b": 2}, 1.0)  # a single evaluation
    assert optimiser.best == ({"a": 0.5, "b": 2.0}, 1.0)


@pytest.mark.parametrize("options, message", [
    ({"size": 5}, "[complete] size 5 found, expected (height, width)"),
    ({"size": (0, 5)}, "[complete] size 0 found, expected a whole number from 1 on"),
    ({"samples": -1}, "[complete] samples -1 found"),
    ({"seed": -1}, "[complete] seed -1 found"),
    ({"mask": "half"}, "[complete] mask 'half' found, expected a number"),
])
def test_complete_refuses(options, message):
    refused(lambda: npzoo.complete(np.zeros((28, 28), np.uint8), **{"mask": 0.5, **options}), message)


def test_shares_of_white_are_no_bytes():
    refused(lambda: npzoo.complete(np.full((28, 28), 200.0), 0.5), "[complete] pixels from 200 to 200 found, expected shares of white")


def test_masked_pixels_are_hidden():
    image = np.zeros((28, 28), np.uint8)
    image[4:24, 13:16] = 255
    hidden = np.random.default_rng(0).uniform(size=image.shape) < 0.6
    found = npzoo.complete(np.ma.array(image, mask=hidden))
    np.testing.assert_array_equal(found.mean, npzoo.complete(image, ~hidden).mean)
    assert len(repr(found)) < 200


def test_events_refuse(events):
    refused(lambda: npzoo.events.next([[1.0, 2.0]], weights=events), "[times] shape (1, 2) found, expected (n,)")
    refused(lambda: npzoo.events.next([1.0, 2.0], marks=[0.5, 0], weights=events), "[marks] 0.5 found, expected whole numbers")
    refused(lambda: npzoo.events.next(np.array(["2020-01-01"], "datetime64[D]"), weights=events), "[times] an array of numbers expected")
    refused(lambda: npzoo.events.next([1.0], weights=events, samples=-1), "[events] samples -1 found")
    (one,) = npzoo.events.next([1.0, 2.0], weights=events, quantiles=0.5)
    assert one.quantiles.shape == (1,)


def test_forecasts_refuse():
    series = {"t": np.arange(40.0), "v": np.sin(np.arange(40.0) / 3)}
    refused(lambda: npzoo.forecast({"a": series["t"], "v": series["v"]}, 2), '[forecast] the table has the columns of numbers "a" and "v", '
            "expected time and values to name them, such as: time='a' values='v'")
    refused(lambda: npzoo.forecast(series, 2, "q"), "[forecast] there is no column 'q', found 't', 'v'")
    refused(lambda: npzoo.forecast(series, 2.5, "t"), "[forecast] horizon 2.5 found, expected a whole number from 1 on")


@pytest.mark.parametrize("values", [
    [None if np.isnan(v) else v for v in Y],
    np.array([None if np.isnan(v) else v for v in Y], dtype=object),
    [decimal.Decimal("NaN") if np.isnan(v) else decimal.Decimal(float(v)) for v in Y],
    np.ma.array(np.nan_to_num(Y), mask=np.isnan(Y)),
    [float(v) for v in Y],
], ids=["list with None", "objects", "decimals", "masked", "list"])
def test_columns_that_miss_values(values):
    np.testing.assert_array_equal(npzoo.fill({"x": X, "y": values})["mean_y"], npzoo.fill(TABLE)["mean_y"])


def test_masked_whole_numbers_are_missing():
    filled = npzoo.fill({"x": X, "y": np.ma.array(np.arange(12), mask=np.arange(12) % 4 == 2)})
    expected = npzoo.fill({"x": X, "y": np.where(np.arange(12) % 4 == 2, np.nan, np.arange(12.0))})
    np.testing.assert_array_equal(filled["mean_y"], expected["mean_y"])


def test_pandas_na_in_objects_and_groups():
    pandas = pytest.importorskip("pandas")
    values = pandas.Series([pandas.NA if np.isnan(v) else v for v in Y], dtype=object)
    np.testing.assert_array_equal(npzoo.fill(pandas.DataFrame({"x": X, "y": values}))["mean_y"], npzoo.fill(TABLE)["mean_y"])
    labels = pandas.array(["a", pandas.NA, "b"] * 4, dtype="string")
    filled = npzoo.fill(pandas.DataFrame({"x": X, "y": Y, "g": labels}), "x", "y", "g")
    plain = npzoo.fill({"x": X, "y": Y, "g": np.array(["a", "none", "b"] * 4)}, "x", "y", "g")
    np.testing.assert_array_equal(filled["mean_y"], plain["mean_y"])


def test_one_stands_for_a_list_of_one():
    table = {0: X, 1: np.where(np.isnan(Y), -9.0, Y)}
    filled = npzoo.fill(table, 0, 1, missing=-9, quantiles=0.5, bounds=None)
    np.testing.assert_array_equal(filled["mean_1"], npzoo.fill(TABLE)["mean_y"])
    assert "q0.5_1" in filled


@pytest.mark.parametrize("dtype", ["float16", "longdouble", ">f8", ">i4", "object"])
def test_other_types_of_numbers_are_copied(model, dtype):
    x = np.linspace(-1, 1, 5)[:, None].round().astype(dtype)
    np.testing.assert_array_equal(model.predict(x, x, x).mean, model.predict(*[x.astype(np.float64)] * 3).mean)


def test_numbers_of_numpy_are_numbers(model):
    sampled = model.predict(*POINTS, seed=np.uint8(3), samples=np.int64(2)).sample(np.int32(2), np.int64(1))
    np.testing.assert_array_equal(sampled, model.predict(*POINTS, seed=3).sample(2, 1))
    changed = {"data.points": np.int64(20), "training.learning_rate": np.float32(0.5)}
    assert npzoo._catalogue.changes(changed) == ["data.points=20", "training.learning_rate=0.5"]
    assert npzoo._catalogue.changes({"a": float("inf"), "b": [True, "c"]}) == ["a=inf", 'b=[true, "c"]']
    assert npzoo.load(b"npzoo/gp-rbf", dtype=np.float64).dtype == "float64"


def test_short_texts_for_notebooks(model):
    assert repr(model.condition(*POINTS[:2])) == "<npzoo.State of 1 task>"
    assert repr(model.vjp(*POINTS)) == "<npzoo.Linearised of shape (12, 1)>"
    assert {"Imputer", "NeuralProcessRegressor"} <= set(dir(npzoo))


TOKYO = datetime.timezone(datetime.timedelta(hours=9))
HOURS = [datetime.datetime(2024, 5, 1, tzinfo=TOKYO) + datetime.timedelta(hours=i) for i in range(42)]


class TestForecastsKeepTheirZone:
    """The times of a forecast are in the time zone of the table."""

    values = np.sin(np.arange(40.0) / 3)

    def expected(self):
        return [moment.isoformat() for moment in HOURS[40:]]

    def test_pandas(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"t": pandas.DatetimeIndex(HOURS[:40]), "v": self.values})
        ahead = npzoo.forecast(frame, 2)
        assert ahead["t"].dtype.tz == frame["t"].dtype.tz
        assert [moment.isoformat() for moment in ahead["t"]] == self.expected()

    def test_arrow(self):
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pandas")
        times = pyarrow.array(HOURS[:40], pyarrow.timestamp("us", tz="+09:00"))
        ahead = npzoo.forecast(pyarrow.table({"t": times, "v": self.values}), 2)
        assert ahead["t"].type.tz == "+09:00"
        assert [moment.isoformat() for moment in ahead["t"].to_pylist()] == self.expected()

    def test_polars(self):
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame({"t": HOURS[:40], "v": self.values}).with_columns(polars.col("t").dt.convert_time_zone("Asia/Tokyo"))
        ahead = npzoo.forecast(frame, 2)
        assert ahead["t"].dtype.time_zone == "Asia/Tokyo"
        assert [moment.isoformat() for moment in ahead["t"].to_list()] == self.expected()

    def test_a_dictionary(self):
        ahead = npzoo.forecast({"t": HOURS[:40], "v": self.values}, 2)
        assert [moment.isoformat() for moment in ahead["t"]] == self.expected()


def test_pictures_show_the_clocks_of_the_zone():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    times = pandas.date_range("2024-05-01", periods=12, freq="h", tz="Asia/Tokyo")
    (ax,) = npzoo.plot(npzoo.fill(pandas.DataFrame({"t": times, "y": Y})))
    assert ax.lines[0].get_xdata()[0] == np.datetime64("2024-05-01T00:00")
    refused(lambda: npzoo.plot({"x": X, "mean_y": Y, "std_y": Y}, "q", "y"), "[plot] there is no column 'q'")
