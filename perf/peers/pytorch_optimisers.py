"""The optimisers of npzoo in PyTorch, for perf/peers/pytorch.py. Those for a GPU leave no number to the host, so that a
whole update can be captured in a CUDA graph, and can start again in the same memory."""

import math

import torch


class Yogi:
    """As optax.yogi: both moments start at 1e-6. All parameters lie in one vector, so that an update is a few calls."""

    def __init__(self, parameters, o):
        self.parameters, self.o = parameters, o
        self.values = torch.cat([p.detach().flatten() for p in parameters])
        for p, part in zip(parameters, self.values.split([p.numel() for p in parameters])):
            p.data = part.view_as(p)
        self.first, self.second = torch.full_like(self.values, 1e-6), torch.full_like(self.values, 1e-6)
        self.steps = 0

    def zero_grad(self, set_to_none):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        o = self.o
        self.steps += 1
        grad = torch.cat([p.grad.flatten() for p in self.parameters])
        if o["clip_norm"] > 0:
            grad *= min(1.0, o["clip_norm"] / grad.norm().item())
        self.first.lerp_(grad, 1 - o["beta1"])
        square = grad.square_()
        self.second.addcmul_((self.second - square).sign_(), square, value=o["beta2"] - 1)
        roots = self.second.sqrt().div_(math.sqrt(1 - o["beta2"]**self.steps)).add_(o["epsilon"])
        self.values.addcdiv_(self.first, roots, value=-o["learning_rate"] / (1 - o["beta1"]**self.steps))


class GpuYogi(Yogi):
    def __init__(self, parameters, o):
        super().__init__(parameters, o)
        # In float64, for 1 - 0.999 is no number of float32.
        self.steps = torch.zeros((), dtype=torch.float64, device=self.values.device)

    def restart(self):
        self.first.fill_(1e-6)
        self.second.fill_(1e-6)
        self.steps.zero_()

    @torch.no_grad()
    def step(self):
        o = self.o
        self.steps += 1
        grad = torch.cat([p.grad.flatten() for p in self.parameters])
        if o["clip_norm"] > 0:
            grad *= (o["clip_norm"] / grad.norm()).clamp_max(1)
        self.first.lerp_(grad, 1 - o["beta1"])
        square = grad.square_()
        self.second.addcmul_((self.second - square).sign_(), square, value=o["beta2"] - 1)
        roots = self.second.sqrt().div_((1 - o["beta2"]**self.steps).sqrt()).add_(o["epsilon"])
        rate = o["learning_rate"] / (1 - o["beta1"]**self.steps)
        self.values.sub_(self.first.div(roots).mul_(rate))


class GpuAdam(torch.optim.Adam):
    def __init__(self, parameters, o):
        super().__init__(parameters, o["learning_rate"], (o["beta1"], o["beta2"]), o["epsilon"], fused=True,
                         capturable=True)

    def restart(self):
        for state in self.state.values():
            for x in state.values():
                x.zero_()


def make_optimiser(parameters, o):
    if o["weight_decay"] != 0:
        raise ValueError("weight decay is not written in PyTorch here")
    on_gpu = parameters[0].is_cuda
    if o["name"] == "yogi":
        return (GpuYogi if on_gpu else Yogi)(parameters, o)
    if o["name"] in ("adam", "keras-adam") and o["clip_norm"] == 0:  # Keras' has its epsilon elsewhere, which rounding hides
        if on_gpu:
            return GpuAdam(parameters, o)
        return torch.optim.Adam(parameters, o["learning_rate"], (o["beta1"], o["beta2"]), o["epsilon"], fused=True)
    raise ValueError(f"optimiser {o} is not written in PyTorch here")
