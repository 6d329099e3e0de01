"""Models: predictions, states, batches, samples, densities, gradients and copies."""

import copy
import pickle
import statistics

import numpy as np
import pytest

import npzoo


def test_a_sine_is_predicted(model, points):
    xc, yc, xt, yt = points
    p = model.predict(xc, yc, xt)
    assert p.mean.shape == p.std.shape == (12, 1)
    assert (p.std > 0).all()
    assert np.abs(p.mean - yt).mean() < 0.15


def test_state_is_condition_and_query(model, points):
    xc, yc, xt, _ = points
    state = model.condition(xc, yc)
    np.testing.assert_array_equal(state.query(xt).mean, model.predict(xc, yc, xt).mean)
    halves = np.concatenate([state.query(xt[:5]).mean, state.query(xt[5:]).mean])
    np.testing.assert_allclose(halves, model.predict(xc, yc, xt).mean, atol=1e-5)


def test_update_adds_points_and_keeps_the_state(model, points):
    xc, yc, xt, _ = points
    state = model.condition(xc[:6], yc[:6])
    before = state.query(xt).mean
    np.testing.assert_allclose(state.update(xc[6:], yc[6:]).query(xt).mean, model.predict(xc, yc, xt).mean, atol=1e-5)
    np.testing.assert_array_equal(state.query(xt).mean, before)


def test_predictions_outlive_model_and_state(points):
    xc, yc, xt, yt = points
    p = npzoo.load("npzoo/gp-rbf").condition(xc, yc).query(xt)
    assert np.isfinite(p.log_likelihood(yt)).all()
    assert p.sample(2).shape == (2, 12, 1)


def test_batches_are_tasks_side_by_side(model, points):
    xc, yc, xt, _ = points
    both = model.predict(np.stack([xc, xc[::-1]]), np.stack([yc, -yc[::-1]]), np.stack([xt, xt]))
    assert both.mean.shape == (2, 12, 1)
    np.testing.assert_allclose(both.mean[0], model.predict(xc, yc, xt).mean, atol=1e-5)
    np.testing.assert_allclose(both.mean[1], model.predict(xc, -yc, xt).mean, atol=1e-5)


def test_padding_behind_the_lengths_is_not_seen(model, points):
    xc, yc, xt, _ = points
    x, y = np.stack([xc, xc]), np.stack([yc, yc])
    x[1, 4:], y[1, 4:] = np.nan, np.nan
    p = model.predict(x, y, np.stack([xt, xt]), lengths=[10, 4])
    np.testing.assert_allclose(p.mean[1], model.predict(xc[:4], yc[:4], xt).mean, atol=1e-5)
    with pytest.raises(npzoo.InvalidInput, match=r"\[lengths\] 11 found, expected 0 to 10"):
        model.predict(x, y, np.stack([xt, xt]), lengths=[11, 4])


def test_no_context_and_no_targets(model):
    empty = np.zeros((0, 1))
    assert model.predict(empty, empty, [[0.0]]).mean.shape == (1, 1)
    assert model.predict([[0.0]], [[0.0]], empty).mean.shape == (0, 1)


def test_figures_of_a_gaussian(model, points):
    p = model.predict(*points[:3])
    yt = points[3]
    normal = [statistics.NormalDist(m, s) for m, s in zip(p.mean[:, 0], p.std[:, 0])]
    expected = [np.log(n.pdf(y)) for n, y in zip(normal, yt[:, 0])]
    np.testing.assert_allclose(p.log_likelihood(yt), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(p.joint_log_likelihood(yt), sum(expected), rtol=1e-4)
    np.testing.assert_allclose(p.quantiles(0.9)[:, 0], [n.inv_cdf(0.9) for n in normal], rtol=1e-6)
    np.testing.assert_allclose(p.cdf(yt)[:, 0], [n.cdf(y) for n, y in zip(normal, yt[:, 0])], rtol=1e-6)
    assert p.quantiles([0.1, 0.5]).shape == (2, 12, 1)
    assert (p.crps(yt) >= 0).all()
    np.testing.assert_array_equal(model.quantiles(*points[:3], [0.1, 0.5]), p.quantiles([0.1, 0.5]))
    np.testing.assert_array_equal(model.log_likelihood(*points), p.log_likelihood(yt))
    with pytest.raises(npzoo.InvalidInput):
        p.quantiles(1.5)


def test_samples_are_repeatable_and_have_the_moments(model, points):
    p = model.predict(*points[:3])
    many = p.sample(4000, seed=3)
    np.testing.assert_array_equal(many, p.sample(4000, seed=3))
    assert (many != p.sample(4000, seed=4)).any()
    np.testing.assert_allclose(many.mean(axis=0), p.mean, atol=float(5 * p.std.max() / 4000**0.5))
    np.testing.assert_array_equal(model.sample(*points[:3], n=2, seed=3), many[:2])
    with pytest.raises(npzoo.InvalidInput, match="n 0 found, expected a whole number from 1 on"):
        p.sample(0)


def test_latent_models_draw_functions(points):
    latent = npzoo.load("np:tnp/gp-rbf")
    assert latent.draws_functions
    p = latent.predict(*points[:3], samples=7, seed=1)
    assert "7" in p.how
    np.testing.assert_array_equal(p.mean, latent.predict(*points[:3], samples=7, seed=1).mean)
    assert (p.mean != latent.predict(*points[:3], samples=7, seed=2).mean).any()


@pytest.mark.parametrize("name", ["npzoo/gp-rbf", "np:tnp/gp-rbf"])
def test_gradients_equal_central_differences(name, points):
    xc, yc, xt, _ = points
    model = npzoo.load(name, dtype="float64")
    rng = np.random.default_rng(2)
    d_mean, d_std = rng.normal(size=(2, 12, 1))
    at = model.vjp(xc, yc, xt, samples=3)

    def number(xc, yc, xt):
        p = model.predict(xc, yc, xt, samples=3)
        return (d_mean * p.mean).sum() + (d_std * p.std).sum()

    np.testing.assert_allclose(at.mean, model.predict(xc, yc, xt, samples=3).mean, rtol=1e-9)
    for again in range(2):  # a pullback can be asked twice
        gradients = at.pullback(d_mean, d_std)
        for name, i in (("xc", 0), ("yc", 1), ("xt", 2)):
            step = [np.zeros_like(a) for a in (xc, yc, xt)]
            step[i][3] = 1e-6
            up = number(*(a + s for a, s in zip((xc, yc, xt), step)))
            down = number(*(a - s for a, s in zip((xc, yc, xt), step)))
            assert getattr(gradients, name)[3, 0] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-6)
    zero = at.pullback()
    assert not zero.xt.any()


def test_copies_and_pickles_say_the_same(model, points):
    expected = model.predict(*points[:3]).mean
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict(*points[:3]).mean, expected)
        assert repr(other) == repr(model)


def test_facts_of_a_model(model):
    assert (model.name, model.protocol, model.dim_x, model.dim_y, model.dtype) == ("tnp-d", "npzoo/gp-rbf", 1, 1, "float32")
    assert not model.draws_functions
    assert repr(model).startswith("<npzoo.Model tnp-d trained under npzoo/gp-rbf: 1 input, 1 value,")
    with pytest.raises(npzoo.InvalidInput, match=r"\[load\] dtype 'float16' found"):
        npzoo.load("npzoo/gp-rbf", dtype="float16")


def test_lists_and_cards():
    assert {"cnp", "tnp-d"} <= {row["name"] for row in npzoo.models()}
    assert "tnp-d:npzoo/gp-rbf" in [row["name"] for row in npzoo.weights()]
    assert "quick/gp1d" in npzoo.protocols()
    assert npzoo.protocols("quick/gp1d", set={"training.batch_size": 7})["batch_size"] == 7
    assert npzoo.card("npzoo/any-1d").startswith("# kriging-tnp:npzoo/any-1d")
    assert npzoo.facts("npzoo/any-1d")["parameters"] > 0
    assert "<table>" in npzoo.models()._repr_html_()
