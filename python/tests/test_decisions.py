"""Optimisation of objectives, and completion of images."""

import numpy as np
import pytest

import npzoo


def test_a_minimum_is_found():
    optimiser = npzoo.Optimiser({"x": (0.0, 4.0), "n": {"low": 1, "high": 9, "integer": True}}, seed=3)
    for _ in range(14):
        (point,) = optimiser.ask()
        assert point["n"] == round(point["n"])
        optimiser.tell([point], [(point["x"] - 1) ** 2 + (point["n"] - 4) ** 2])
    assert optimiser.best[1] < 1
    assert optimiser.by == "gp" and optimiser.proposals[0].std > 0
    assert repr(optimiser) == "<npzoo.Optimiser of x, n: 14 evaluations>"


def test_proposals_are_those_of_the_program(program, tmp_path):
    (tmp_path / "space.toml").write_text('[[axis]]\nname = "rate"\nlow = 1e-5\nhigh = 0.1\nscale = "log"\n')
    rows = [(1e-4, 3.0), (1e-3, 1.0), (1e-2, 2.0), (5e-2, 4.0), (3e-4, 1.5)]
    (tmp_path / "told.csv").write_text("rate,value\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows))
    told = program("optimise", "--space", tmp_path / "space.toml", "--tell", tmp_path / "told.csv", "--ask", "2", "--json")
    for space in (tmp_path / "space.toml", {"rate": {"low": 1e-5, "high": 0.1, "log": True}}):
        optimiser = npzoo.Optimiser(space)
        optimiser.tell([[x] for x, _ in rows], [y for _, y in rows])
        assert optimiser.recommended is None
        assert optimiser.ask(2) == [p["point"] for p in told["proposals"]]
        assert [p.mean for p in optimiser.proposals] == [p["mean"] for p in told["proposals"]]
        assert optimiser.recommended._asdict() == told["recommended"]


def test_failed_evaluations_and_maxima():
    optimiser = npzoo.Optimiser({"x": (0, 1)}, maximise=True, weights="gp")
    optimiser.tell([[0.1], [0.5], [0.9]], [None, 2.0, float("nan")])
    assert optimiser.best == ({"x": 0.5}, 2.0)
    optimiser.tell([{"x": 0.2}], [3.0])
    assert optimiser.best[1] == 3.0


def test_points_are_pending_until_they_are_told():
    optimiser = npzoo.Optimiser({"x": (0, 1), "kind": ["a", "b", "c"]})
    first, second = optimiser.ask(3), optimiser.ask(3)
    assert optimiser.pending == first + second
    assert len({tuple(point.values()) for point in first + second}) == 6
    optimiser.tell(second, [1.0, 2.0, None])
    assert optimiser.pending == first
    optimiser.forget_pending()
    optimiser.wait_for([{"x": 0.25, "kind": "b"}])
    assert optimiser.pending == [{"x": 0.25, "kind": "b"}]


def test_choices_are_names():
    optimiser = npzoo.Optimiser({"x": (0, 1), "kind": ["a", "b", "c"], "held": {"choices": ["u", "v"], "fixed": "v"}}, seed=1)
    for _ in range(16):
        (point,) = optimiser.ask()
        assert point["kind"] in ("a", "b", "c") and point["held"] == "v"
        optimiser.tell([point], [(point["x"] - 0.3) ** 2 + (point["kind"] != "b")])
    assert optimiser.by == "gp"
    assert optimiser.best[0]["kind"] == "b" and optimiser.best[1] < 0.05
    optimiser.tell([[0.5, "c", "u"]], [3.0])
    assert optimiser.points[-1] == {"x": 0.5, "kind": "c", "held": "u"}


@pytest.mark.parametrize("call, message", [
    (lambda: npzoo.Optimiser({"k": ["a"]}), "choices"),
    (lambda: npzoo.Optimiser({"k": {"choices": ["a", "b"], "low": 1}}), "'low' of 'k' found, expected choices or fixed"),
    (lambda: npzoo.Optimiser({"k": {"choices": ["a", "b"], "fixed": "c"}}), "k is 'c', expected one of: a, b"),
    (lambda: npzoo.Optimiser({"k": ["a", 2]}), "expected names"),
    (lambda: npzoo.Optimiser({"k": ["a", "b"]}).tell([["c"]], [1.0]), "k is 'c', expected one of: a, b"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}).wait_for([[2.0]]), "pending point 1"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}).wait_for([[0.5, 0.5]]), "expected 1 coordinates"),
    (lambda: npzoo.Optimiser({"x": (1, 0)}), "x"),
    (lambda: npzoo.Optimiser({"x": {"low": 0, "up": 1}}), "'up' of 'x' found"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}, batch="none"), "batch 'none' found"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}, acquisition="none"), "none"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}).tell([[1.0, 2.0]], [1.0]), "expected a value for each point"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}).tell([[2.0]], [1.0]), "x"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}).best, "no evaluation has a value yet"),
    (lambda: npzoo.Optimiser({"x": (0, 1)}).ask(0), "n 0 found, expected a whole number from 1 on"),
])
def test_what_is_refused(call, message):
    with pytest.raises(npzoo.InvalidInput, match=message):
        call()


@pytest.fixture(scope="module")
def stroke():
    picture = np.zeros((28, 28), np.uint8)
    picture[4:24, 13:16] = 255
    return picture


def test_an_image_is_completed(stroke):
    rng = np.random.default_rng(0)
    mask = rng.uniform(size=stroke.shape) < 0.4
    done = npzoo.complete(stroke, mask)
    assert done.image.dtype == np.uint8 and (done.image[mask][:, 0] == stroke[mask]).all()
    assert done.squared_error < 0.1 and done.std.min() >= 0
    shares = np.where(mask, stroke / 255, np.nan)
    np.testing.assert_array_equal(npzoo.complete(shares).mean, done.mean)
    assert npzoo.complete(stroke, 0.2, size=(14, 10)).mean.shape == (14, 10, 1)


def test_what_an_image_must_be(stroke, model):
    with pytest.raises(npzoo.InvalidInput, match="neither a mask nor NaN"):
        npzoo.complete(stroke)
    with pytest.raises(npzoo.InvalidInput, match="expected a model of images"):
        npzoo.complete(stroke, 0.5, model)
    with pytest.raises(npzoo.InvalidInput, match=r"a mask of shape \(3, 3\) found"):
        npzoo.complete(stroke, np.ones((3, 3), bool))
    with pytest.raises(npzoo.InvalidInput, match="no pixel|shown"):
        npzoo.complete(stroke, np.zeros(stroke.shape, bool))
