"""Gradients by PyTorch, where it is installed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import npzoo
import npzoo.torch


def test_gradients_reach_the_points(points):
    xc, yc, xt, _ = (torch.tensor(a, requires_grad=True) for a in points)
    model = npzoo.load("npzoo/gp-rbf", dtype="float64")
    mean, std = npzoo.torch.predict(model, xc, yc, xt)
    np.testing.assert_allclose(mean.detach().numpy(), model.predict(*points[:3]).mean)
    (mean.sum() + std.square().sum()).backward()
    at = model.vjp(*points[:3])
    gradients = at.pullback(np.ones_like(at.mean), 2 * at.std)
    for tensor, gradient in zip((xc, yc, xt), gradients):
        np.testing.assert_allclose(tensor.grad.numpy(), gradient)


def test_tensors_are_arrays(model, points):
    mean = model.predict(*(torch.tensor(a, requires_grad=True) for a in points[:3])).mean
    np.testing.assert_array_equal(mean, model.predict(*points[:3]).mean)
