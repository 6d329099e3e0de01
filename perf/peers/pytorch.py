#!/usr/bin/env python3
"""PyTorch's side of perf/compare.py: pytorch.py CASE_JSON

Speaks the protocol of perf_worker (perf/README.md). The case has besides `variant`:

    eager             attention as matmul, softmax, matmul; TNP-D under the dense mask of its authors' code
    sdpa              torch's fused scaled_dot_product_attention, keys from the context alone
    sdpa-chunks       the same, targets predicted CHUNK at a time
    compile           torch.compile of the loss and its gradient, with the form of attention that is faster then
    compile-sdpa, compile-explicit   the two to choose from

and, from the description of our worker, `model_config` and `optimiser`. Needs perf/peers/requirements.txt.
"""

import json
import math
import os
import resource
import sys
import time

import torch
from safetensors.torch import load_file

import pytorch_models

# Context points from which fused attention is the faster form under torch.compile, as measured.
LONG_CONTEXT = 64
CHUNK = 4096


def form_of_attention(case):
    variant = case["variant"]
    if variant == "compile":
        return "sdpa" if case.get("context", 0) >= LONG_CONTEXT else "explicit"
    return variant.removeprefix("compile-").removesuffix("-chunks")


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


def make_optimiser(parameters, o):
    if o["weight_decay"] != 0:
        raise ValueError("weight decay is not written in PyTorch here")
    if o["name"] == "yogi":
        return Yogi(parameters, o)
    if o["name"] == "adam" and o["clip_norm"] == 0:
        return torch.optim.Adam(parameters, o["learning_rate"], (o["beta1"], o["beta2"]), o["epsilon"], fused=True)
    raise ValueError(f"optimiser {o} is not written in PyTorch here")


class ModelCase:
    def __init__(self, case):
        self.case = case
        self.training = case["kind"] == "train-step"
        self.model = pytorch_models.make_model(case["model"], case["model_config"], form_of_attention(case))
        self.parameters = list(self.model.parameters())
        function = self.model.loss if self.training else self.model.forward
        self.function = torch.compile(function) if case["variant"].startswith("compile") else function

    def describe(self):
        return {"attention": form_of_attention(self.case), "parameters": self.parameter_count()}

    def parameter_count(self):
        return sum(p.numel() for p in self.parameters)

    def reset(self):
        """Initial weights and a new optimiser."""
        pytorch_models.load_weights(self.model, self.weights)
        if self.training:
            self.optimiser = make_optimiser(self.parameters, self.case["optimiser"])

    def load(self, path):
        tensors = load_file(path)
        self.task = [tensors.pop(f"task.{name}") for name in ("xc", "yc", "xt", "yt")]
        self.weights = tensors
        self.model.prepare(self.task[0].shape[1], self.task[2].shape[1])
        self.reset()
        with torch.no_grad():
            if self.training:
                loss = self.model.loss(*self.task)
            else:
                loss = pytorch_models.nll(*self.predict(self.model), self.task[3])
        return {"loss": loss.item(), "parameters": self.parameter_count()}

    def predict(self, function):
        xc, yc, xt, _ = self.task
        if not self.case["variant"].endswith("-chunks"):
            return function(xc, yc, xt)
        parts = [function(xc, yc, chunk) for chunk in xt.split(CHUNK, 1)]
        return [torch.cat(each, 1) for each in zip(*parts)]

    def update(self):
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.function(*self.task)
        loss.backward()
        self.optimiser.step()
        return loss.detach()

    def repeat(self):
        if self.training:
            self.update().item()
            return
        with torch.inference_mode():
            self.predict(self.function)

    def losses(self, count):
        found = [self.update().item() for _ in range(count)]
        self.reset()
        return found


class AttentionCase:
    def __init__(self, case):
        self.case = case
        self.backward = case["kind"] == "attention-backward"
        form = form_of_attention(case)

        def function(q, k, v):
            return pytorch_models.attend(form, q, k, v)

        self.function = torch.compile(function) if case["variant"].startswith("compile") else function

    def describe(self):
        return {"attention": form_of_attention(self.case)}

    def load(self, path):
        tensors = load_file(path)
        heads = self.case["heads"]
        self.inputs = [pytorch_models.split_heads(tensors[f"attention.{name}"], heads).contiguous() for name in "qkv"]
        self.d_out = pytorch_models.split_heads(tensors["attention.d_out"], heads).contiguous()
        for x in self.inputs:
            x.requires_grad_(self.backward)
        found = [self.function(*self.inputs).detach()]
        if self.backward:
            self.repeat()
            found += [x.grad for x in self.inputs]
        return {"loss": sum(x.square().mean().item() for x in found)}

    def repeat(self):
        if not self.backward:
            with torch.inference_mode():
                self.function(*self.inputs)
            return
        for x in self.inputs:
            x.grad = None
        self.function(*self.inputs).backward(self.d_out)


class DataCase:
    """Tasks of tnp/gp-rbf, as the TNP authors' code draws them: one batch of covariances, float32."""

    def __init__(self, case):
        self.batch, self.points = case["batch"], case["points"]

    def describe(self):
        return {}

    def repeat(self):
        nc = int(torch.randint(3, self.points - 3, ()))
        nt = int(torch.randint(3, self.points - nc, ()))
        n = nc + nt
        x = torch.rand(self.batch, n, 1) * 4 - 2
        lengthscale, scale = 0.1 + 0.5 * torch.rand(self.batch, 1, 1), 0.1 + 0.9 * torch.rand(self.batch, 1, 1)
        distance = (x - x.transpose(1, 2)) / lengthscale
        covariance = scale.square() * torch.exp(-0.5 * distance.square()) + 0.02**2 * torch.eye(n)
        y = torch.linalg.cholesky(covariance) @ torch.randn(self.batch, n, 1)
        return x[:, :nc], y[:, :nc], x[:, nc:], y[:, nc:]


def blas():
    for line in torch.__config__.show().splitlines():
        for part in line.split(","):
            if "BLAS_INFO" in part:
                return part.split("=", 1)[1].strip()
    return "unknown"


def run(case, count, seconds):
    """`count` repetitions, or fewer where they take longer than `seconds`."""
    wall, cpu = [], []
    while len(wall) < count and sum(wall) <= 1e3 * seconds:
        cpu_before, before = time.process_time(), time.perf_counter()
        case.repeat()
        wall.append((time.perf_counter() - before) * 1e3)
        cpu.append((time.process_time() - cpu_before) * 1e3)
    return {"wall_ms": wall, "cpu_ms": cpu}


def answer(case, request):
    if "run" in request:
        return run(case, request["run"], request.get("seconds", math.inf))
    if "import" in request:
        return case.load(request["import"])
    if "losses" in request:
        return {"losses": case.losses(request["losses"])}
    raise ValueError(f"request {request} found, expected run, import or losses")


def serve(settings, answers):
    torch.set_num_threads(settings["threads"])
    torch.set_num_interop_threads(1)
    torch.manual_seed(settings.get("seed", 0))
    if settings.get("memory_limit"):
        resource.setrlimit(resource.RLIMIT_DATA, (settings["memory_limit"], settings["memory_limit"]))
    kinds = {"train-step": ModelCase, "forward": ModelCase, "attention": AttentionCase,
             "attention-backward": AttentionCase, "data": DataCase}
    case = kinds[settings["kind"]](settings)
    print(json.dumps({"name": "pytorch", "version": torch.__version__, "variant": settings["variant"], "blas": blas(),
                      "threads": torch.get_num_threads(), "interop_threads": torch.get_num_interop_threads(),
                      "isa": torch.backends.cpu.get_cpu_capability(), **case.describe()}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(case, json.loads(line))), file=answers, flush=True)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed must not come between the answers
    try:
        serve(json.loads(sys.argv[1]), answers)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
