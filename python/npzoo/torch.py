"""Models as differentiable functions of PyTorch."""

from __future__ import annotations

import numpy as np
import torch

from ._model import Model


class _Predict(torch.autograd.Function):
    @staticmethod
    def forward(ctx, model, lengths, seed, samples, xc, yc, xt):
        at = model.vjp(*(a.detach().cpu().numpy() for a in (xc, yc, xt)), lengths, seed, samples)
        ctx.at, ctx.like = at, [{"dtype": a.dtype, "device": a.device} for a in (xc, yc, xt)]
        return torch.from_numpy(at.mean).to(xt), torch.from_numpy(at.std).to(xt)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_mean, d_std):
        gradients = ctx.at.pullback(*(d.detach().cpu().numpy() for d in (d_mean, d_std)))
        return None, None, None, None, *(torch.from_numpy(np.asarray(g)).to(**like) for g, like in zip(gradients, ctx.like))


def predict(model: Model, xc, yc, xt, lengths=None, seed=None, samples: int = 50):
    """Predicts mean and standard deviation as tensors of PyTorch, with gradients of ``xc``, ``yc`` and ``xt``.

    Shapes and units as in :meth:`npzoo.Model.predict`. The model computes on the CPU, and its weights get no gradients.
    """
    return _Predict.apply(model, lengths, seed, samples, xc, yc, xt)
