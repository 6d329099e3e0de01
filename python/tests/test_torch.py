"""Gradients by PyTorch, where it is installed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import npzoo
import npzoo.torch


@pytest.fixture(scope="module")
def exact():
    """The model in double precision, so that differences of its outputs are gradients to six digits."""
    return npzoo.load("npzoo/gp-rbf", dtype="float64")


def tensors(arrays, requires_grad=True):
    return [torch.tensor(a, requires_grad=requires_grad) for a in arrays]


def test_gradients_reach_the_points(exact, points):
    xc, yc, xt = tensors(points[:3])
    mean, std = npzoo.torch.predict(exact, xc, yc, xt)
    np.testing.assert_array_equal(mean.detach().numpy(), exact.predict(*points[:3]).mean)
    np.testing.assert_array_equal(std.detach().numpy(), exact.predict(*points[:3]).std)
    (mean.sum() + std.square().sum()).backward()
    at = exact.vjp(*points[:3])
    gradients = at.pullback(np.ones_like(at.mean), 2 * at.std)
    for tensor, gradient in zip((xc, yc, xt), gradients):
        np.testing.assert_array_equal(tensor.grad.numpy(), gradient)


@pytest.mark.parametrize("argument", [0, 1, 2], ids=["xc", "yc", "xt"])
def test_gradients_are_those_of_finite_differences(exact, points, argument):
    given = tensors(points[:3], requires_grad=False)

    def predict(changed):
        return npzoo.torch.predict(exact, *given[:argument], changed, *given[argument + 1:])

    assert torch.autograd.gradcheck(predict, given[argument].clone().requires_grad_(), eps=1e-6, atol=1e-6, rtol=1e-5)


def test_gradients_of_batches_leave_padding_alone(exact):
    rng = np.random.default_rng(0)
    given = tensors(rng.normal(size=(3, 2, 5, 1)))

    def predict(*arrays):
        return npzoo.torch.predict(exact, *arrays, lengths=[5, 3])

    assert torch.autograd.gradcheck(predict, given, eps=1e-6, atol=1e-6, rtol=1e-5)
    sum(output.sum() for output in predict(*given)).backward()
    for tensor in given[:2]:
        assert (tensor.grad[1, 3:] == 0).all() and (tensor.grad[1, :3] != 0).all()


def test_one_output_and_two_backward_passes(exact, points):
    xc, yc, xt = tensors(points[:3])
    mean, _ = npzoo.torch.predict(exact, xc, yc, xt)
    mean.sum().backward(retain_graph=True)
    once = xt.grad.clone()
    mean.sum().backward()
    np.testing.assert_array_equal(xt.grad.numpy(), 2 * once.numpy())


def test_single_precision_and_points_without_gradients(model, points):
    xc, yc, xt = (torch.tensor(a, dtype=torch.float32) for a in points[:3])
    xt.requires_grad_()
    mean, std = npzoo.torch.predict(model, xc, yc, xt)
    assert mean.dtype == std.dtype == torch.float32
    std.sum().backward()
    assert xt.grad.dtype == torch.float32 and xc.grad is None
    at = model.vjp(*points[:3])
    np.testing.assert_array_equal(xt.grad.numpy(), at.pullback(d_std=np.ones_like(at.std)).xt)


def test_an_optimiser_climbs(exact, points):
    xc, yc, _ = tensors(points[:3], requires_grad=False)
    x = torch.tensor([[0.2]], dtype=torch.float64, requires_grad=True)
    steps = torch.optim.Adam([x], lr=0.02)
    means = []
    for _ in range(40):
        steps.zero_grad()
        mean = npzoo.torch.predict(exact, xc, yc, x)[0].sum()
        (-mean).backward()
        steps.step()
        means.append(mean.item())
    assert max(means) == pytest.approx(exact.predict(*points[:2], np.linspace(0.1, 1, 200)[:, None]).mean.max(), abs=0.02)


def test_tensors_are_arrays(model, points):
    mean = model.predict(*tensors(points[:3])).mean
    np.testing.assert_array_equal(mean, model.predict(*points[:3]).mean)
