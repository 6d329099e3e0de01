"""Sequences of events."""

import numpy as np
import pytest

import npzoo


@pytest.fixture(scope="module")
def hawkes():
    return npzoo.train("events/hawkes", "thp-plus", steps=2, batch_size=2, progress=False).model


def test_what_comes_next(hawkes):
    times, sequences = [0.5, 1.0, 2.5, 0.2, 0.9], ["a", "a", "a", "b", "b"]
    first, second = npzoo.events.next(times, sequences=sequences, weights=hawkes, quantiles=[0.1, 0.9], samples=3, horizon=2.0)
    assert (first.last, second.last) == (2.5, 0.9)
    assert first.last < first.quantiles[0] < first.quantiles[1]
    assert len(first.paths) == 3 and all((p.times > 2.5).all() and len(p.times) == len(p.marks) for p in first.paths)
    np.testing.assert_allclose(first.mark_probability.sum(), 1, rtol=1e-5)
    (alone,) = npzoo.events.next(times[:3], weights=hawkes, quantiles=[0.1, 0.9])
    np.testing.assert_allclose(alone.quantiles, first.quantiles, rtol=1e-5)
    (later,) = npzoo.events.next(times[:3], weights=hawkes, now=5.0)
    assert later.quantiles[0] > 5


def test_training_on_a_table_of_events():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    hours = rng.exponential(size=150).cumsum()
    frame = pandas.DataFrame({"when": pandas.Timestamp("2024-03-01") + pandas.to_timedelta(np.round(3600 * hours), unit="s"),
                              "what": rng.choice(["tea", "coffee"], size=150)})
    trained = npzoo.train(frame, "thp-plus", time="when", mark="what", steps=3, batch_size=2, progress=False)
    days = hours / 24
    (after,) = npzoo.events.next(days[-20:], marks=(frame["what"] == "tea")[-20:].astype(int), weights=trained.model)
    assert after.last == pytest.approx(days[-1], rel=1e-12) and after.mean > days[-1] and len(after.mark_probability) == 2
    with pytest.raises(npzoo.Error, match="mark of event 0 is 2"):
        npzoo.events.next([1.0, 2.0], marks=[2, 0], weights=trained.model)
    for wrong in ({"mark": "what"}, {"time": "when", "inputs": "what"}, {}):
        with pytest.raises(npzoo.InvalidInput, match="expected"):
            npzoo.train(frame, **wrong)


def test_densities_add_up(hawkes):
    one, two = npzoo.events.log_likelihood([0.5, 1.0, 2.5, 0.2], sequences=[7, 7, 7, 8], weights=hawkes)
    assert one.shape == (3,) and np.isnan(one[0]) and np.isfinite(one[1:]).all() and np.isnan(two).all()
    # The density of the third event's time, summed over marks, integrates to 1.
    marks = len(npzoo.events.next([0.5, 1.0], weights=hawkes)[0].mark_probability)
    grid = np.concatenate([np.linspace(1.0001, 3, 150), np.linspace(3, 60, 400)[1:]])
    density = sum(np.exp([npzoo.events.log_likelihood([0.5, 1.0, t], [0, 0, m], weights=hawkes)[0][2] for t in grid]) for m in range(marks))
    assert (np.diff(grid) * (density[1:] + density[:-1]) / 2).sum() == pytest.approx(1, abs=0.05)


def test_what_is_refused(hawkes, model):
    with pytest.raises(npzoo.InvalidInput, match="events"):
        npzoo.events.next([0.0, 1.0], weights=model)
    with pytest.raises(npzoo.InvalidInput):
        npzoo.events.next([1.0, 0.5], weights=hawkes)
