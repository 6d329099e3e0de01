"""Training and evaluation under protocols."""

import os

import numpy as np
import pytest

import npzoo

SMALL = {"steps": 6, "batch_size": 4, "progress": False}


def test_a_training_is_repeatable_and_reports():
    events = []
    result = npzoo.train("quick/gp1d", "cnp", seed=3, callback=lambda *event: events.append(event), **SMALL)
    assert result.finished and result.steps == 6 and len(result.losses) == 6
    assert [e for e in events if e[0] == "step"] == [("step", i + 1, loss) for i, loss in enumerate(result.losses)]
    assert result.validations and np.isfinite(result.log_likelihood)
    assert result.losses == npzoo.train("quick/gp1d", "cnp", seed=3, **SMALL).losses
    x = np.zeros((2, 1))
    assert np.isfinite(result.model.predict(x, x, x).mean).all()


def test_a_callback_ends_a_training_and_it_goes_on(tmp_path):
    out = tmp_path / "run"
    first = npzoo.train("quick/gp1d", "cnp", out=out, callback=lambda event, step, value: step >= 2, **SMALL)
    assert not first.finished and first.steps == 2
    assert os.path.exists(first.checkpoint)
    second = npzoo.train("quick/gp1d", "cnp", out=out, resume=True, **SMALL)
    assert second.finished and second.steps == 6
    assert second.losses == npzoo.train("quick/gp1d", "cnp", **SMALL).losses[2:]


def test_an_exception_of_the_callback_comes_out():
    def callback(event, step, value):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        npzoo.train("quick/gp1d", "cnp", callback=callback, **SMALL)


def test_changes_of_a_protocol():
    changed = npzoo.train("quick/gp1d", "cnp", set={"training.schedule.warmup_steps": 0}, **SMALL)
    assert changed.model.protocol.startswith("quick/gp1d --set")
    with pytest.raises(npzoo.InvalidInput, match="nothing"):
        npzoo.train("quick/gp1d", "cnp", set={"nothing.at_all": 1}, **SMALL)


def test_training_begins_with_weights():
    tuned = npzoo.train("npzoo/gp-rbf", init="npzoo/gp-rbf", **SMALL)
    assert tuned.model.name == "tnp-d"
    assert tuned.losses[0] < 0


def test_what_a_training_refuses():
    with pytest.raises(npzoo.InvalidInput, match="neither a model nor init found"):
        npzoo.train("quick/gp1d", **SMALL)
    with pytest.raises(npzoo.InvalidInput, match=r"\[train\] steps 0 found, expected a whole number from 1 on"):
        npzoo.train("quick/gp1d", "cnp", steps=0)
    with pytest.raises(npzoo.InvalidInput, match="quick/gp2d"):
        npzoo.train("quick/gp2d", "cnp", **SMALL)


def test_scores_are_those_of_the_program(model, program):
    rows = npzoo.evaluate(model, batches=2)
    told = program("eval", "--checkpoint", "npzoo/gp-rbf", "--batches", "2", "--json")
    assert [row["test"] for row in rows] == [row["test"] for row in told]
    for row, other in zip(rows, told):
        assert row["figures"]["log_likelihood"] == other["log_likelihood"]
        assert row["figures"]["crps"] == other["crps"]
        assert row["standard_errors"]["log_likelihood"] == other["standard_error"]
        assert row["tasks"] == other["tasks"]


def test_training_on_a_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frames = []
    for station in range(12):
        x = np.sort(rng.uniform(0, 10, 30))
        frames.append(pandas.DataFrame({"x": x, "y": np.sin(x + station) + rng.normal(0, 0.1, 30), "station": f"s{station}"}))
    table = pandas.concat(frames, ignore_index=True)
    tuned = npzoo.train(table, inputs="x", values="y", group="station", steps=2, progress=False)
    assert tuned.model.name == "kriging-tnp" and tuned.steps == 2
    fresh = npzoo.train(table, "tnp-d", inputs="x", values="y", group="station", steps=2, progress=False, out=tmp_path / "run")
    assert fresh.model.name == "tnp-d"
    filled = npzoo.fill({"x": table["x"][:30], "y": table["y"][:30]}, "x", "y", weights=fresh.model)
    assert np.isfinite(filled["mean_y"]).all()


def test_training_to_forecast():
    pandas = pytest.importorskip("pandas")
    times = pandas.date_range("2020-01-01", periods=300, freq="D")
    table = pandas.DataFrame({"day": times, "sales": np.sin(np.arange(300) / 5)})
    tuned = npzoo.train(table, "taylorformer", inputs="day", values="sales", context=24, horizon=6, steps=1, batch_size=2, progress=False)
    ahead = npzoo.forecast(table, weights=tuned.model, quantiles=[0.5])
    assert list(ahead["day"]) == list(pandas.date_range(times[-1], periods=7, freq="D")[1:])
    assert np.isfinite(ahead["mean_sales"]).all() and (ahead["std_sales"] > 0).all()


def test_the_joint_density_of_conditionals():
    plain, chain = (npzoo.evaluate("npzoo/gp-rbf", batches=1, set={"evaluation.batch_size": 2}, autoregressive=flag)[0]["figures"]
                    for flag in (False, True))
    assert chain["log_likelihood"] == plain["log_likelihood"]
    assert plain["joint_log_likelihood"] == pytest.approx(plain["log_likelihood"])
    assert abs(chain["joint_log_likelihood"] - plain["joint_log_likelihood"]) > 1e-3
    with pytest.raises(npzoo.InvalidInput, match="autoregressive found with np, which predicts targets together"):
        npzoo.evaluate("np:tnp/gp-rbf", batches=1, autoregressive=True)
