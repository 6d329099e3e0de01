"""Models as differentiable functions of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._model import Model
from ._types import ArrayLike


class _Predict(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, model: Model, lengths: ArrayLike | None, seed: int | None, samples: int, xc: torch.Tensor, yc: torch.Tensor,
                xt: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        arrays = [a.detach().cpu().numpy() for a in (xc, yc, xt)]
        at = model.vjp(arrays[0], arrays[1], arrays[2], lengths, seed, samples)
        ctx.at, ctx.like = at, [{"dtype": a.dtype, "device": a.device} for a in (xc, yc, xt)]
        return torch.from_numpy(at.mean).to(xt), torch.from_numpy(at.std).to(xt)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_mean: torch.Tensor, d_std: torch.Tensor) -> tuple[Any, ...]:
        gradients = ctx.at.pullback(*(d.detach().cpu().numpy() for d in (d_mean, d_std)))
        return None, None, None, None, *(torch.from_numpy(np.asarray(g)).to(**like) for g, like in zip(gradients, ctx.like))


def predict(model: Model, xc: torch.Tensor, yc: torch.Tensor, xt: torch.Tensor, lengths: ArrayLike | None = None, seed: int | None = None,
            samples: int = 50) -> tuple[torch.Tensor, torch.Tensor]:
    """Predicts mean and standard deviation as tensors of PyTorch, with gradients of ``xc``, ``yc`` and ``xt``.

    Shapes and units as in :meth:`npzoo.Model.predict`. The model computes on the CPU, and its weights get no gradients.
    """
    return _Predict.apply(model, lengths, seed, samples, xc, yc, xt)
