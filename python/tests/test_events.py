"""Events of any kind, by weights that need no training on them."""

import numpy as np
import pytest

import npzoo


def poisson(rate=2.0, events=120):
    return np.cumsum(np.random.default_rng(3).exponential(1 / rate, events))


def test_next_of_a_poisson_process():
    times = poisson()
    (after,) = npzoo.events.next(times, quantiles=[0.5, 0.95], horizon=10.0)
    assert after.last == pytest.approx(times[-1])
    # Of a process with this rate the mean gap is .5, the median .35 and the quantile 1.5; ten units have 20 events.
    assert after.mean - after.last == pytest.approx(0.5, rel=0.3)
    assert after.quantiles - after.last == pytest.approx([0.35, 1.5], rel=0.35)
    assert after.events.mean == pytest.approx(20, rel=0.3)
    assert after.events.quantiles[0] < after.events.quantiles[1] <= 40
    assert after.mark_probability.tolist() == [1.0] and after.paths == []


def test_units_of_time_and_names_of_sequences_do_not_matter():
    times, labels = np.concatenate([poisson(), poisson(0.5)]), ["b"] * 120 + ["a"] * 120
    plain, seconds = npzoo.events.next(times, sequences=labels), npzoo.events.next(3600 * times, sequences=labels)
    assert len(plain) == 2
    for a, b in zip(plain, seconds):
        assert b.mean == pytest.approx(3600 * a.mean, rel=1e-5)
    assert plain[1].mean - plain[1].last > 2 * (plain[0].mean - plain[0].last)  # the second one has a quarter of the rate


def test_densities_and_what_is_left_out():
    times = np.concatenate([poisson(events=300)])
    (each,) = npzoo.events.log_likelihood(times)
    assert each.shape == (300,) and np.isnan(each[:141]).all() and np.isfinite(each[141:]).all()
    assert each[141:].mean() == pytest.approx(np.log(2) - 1, abs=0.35)  # of the process itself


def test_more_kinds_than_the_weights_know():
    with pytest.raises(npzoo.InvalidInput, match="the mark 8 found, expected one of 0 to 7 without a training"):
        npzoo.events.next([1.0, 2.0, 3.0], marks=[0, 8, 1])
