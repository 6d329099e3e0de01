#!/usr/bin/env python3
"""PyTorch's side of perf/compare.py: pytorch.py CASE_JSON

Speaks the protocol of perf_worker (perf/README.md). The case has besides `variant`:

    eager             attention as matmul, softmax, matmul; TNP-D under the dense mask of its authors' code
    sdpa              torch's fused scaled_dot_product_attention, keys from the context alone
    sdpa-chunks       the same, targets predicted CHUNK at a time
    compile           torch.compile of the loss and its gradient, with the form of attention that is faster then
    compile-sdpa, compile-explicit   the two to choose from
    channels-last     convolutions of images in the order of memory that ours have
    graph             on a GPU: the whole update or prediction as it is, with fused attention, captured in a CUDA graph
    graph-explicit    the same with attention as matmul, softmax, matmul
    compile-graph     on a GPU: torch.compile that captures what it makes in CUDA graphs (mode "reduce-overhead")

and, from the description of our worker, `model_config` and `optimiser`. Needs perf/peers/requirements.txt.
"""

import contextlib
import json
import math
import os
import resource
import sys
import time

import torch
from safetensors.torch import load_file

import pytorch_gpu
import pytorch_layers
import pytorch_models
from pytorch_optimisers import make_optimiser

# Context points from which fused attention is the faster form under torch.compile, as measured on the CPU.
LONG_CONTEXT = 64
CHUNK = 4096


def form_of_attention(case):
    variant = case["variant"]
    if variant == "compile" and not on_gpu(case):
        return "sdpa" if case.get("context", 0) >= LONG_CONTEXT else "explicit"
    if variant in ("compile", "graph", "compile-graph"):
        return "sdpa"
    return variant.removeprefix("compile-").removeprefix("graph-").removesuffix("-chunks")


def on_gpu(case):
    return case.get("device", "cpu") != "cpu"


def device_of(case):
    return torch.device("cuda" if on_gpu(case) else "cpu")


def autocast(case):
    """For the forward pass; gradients have the types of their values."""
    return torch.autocast("cuda", torch.bfloat16) if case.get("precision") == "bf16" else contextlib.nullcontext()


def compiled(case, function):
    """`function` as the variant wants it."""
    if case["variant"] == "compile-graph":
        return torch.compile(function, mode="reduce-overhead")
    return torch.compile(function) if case["variant"].startswith("compile") else function


class ModelCase:
    def __init__(self, case):
        self.case = case
        self.training = case["kind"] == "train-step"
        self.model = pytorch_models.make_model(case["model"], case["model_config"], form_of_attention(case))
        self.model.to(device_of(case))
        self.parameters = list(self.model.parameters())
        self.function = compiled(case, self.model.loss if self.training else self.model.forward)
        self.optimiser = self.graph = None

    def describe(self):
        return {"attention": form_of_attention(self.case), "parameters": self.parameter_count()}

    def parameter_count(self):
        return sum(p.numel() for p in self.parameters)

    def reset(self):
        """Initial weights and a new optimiser."""
        pytorch_models.load_weights(self.model, self.weights)
        if self.optimiser and on_gpu(self.case):  # graphs know where everything lies
            self.optimiser.restart()
        elif self.training:
            self.optimiser = make_optimiser(self.parameters, self.case["optimiser"])

    def load(self, path):
        tensors = load_file(path, str(device_of(self.case)))
        self.task = [tensors.pop(f"task.{name}") for name in ("xc", "yc", "xt", "yt")]
        drawn = sorted((name for name in tensors if name.startswith("draw.")), key=lambda name: int(name[5:]))
        self.model.draws = [tensors.pop(name) for name in drawn]  # by every update
        self.weights = tensors
        self.model.prepare(self.task[0].shape[1], self.task[2].shape[1])
        self.reset()
        if self.case["variant"].startswith("graph"):
            self.capture()
            loss = self.graph() if self.training else pytorch_layers.nll(*self.graph(), self.task[3])
            self.reset()
        else:
            with torch.no_grad(), autocast(self.case):
                if self.training:
                    loss = self.model.loss(*self.task)
                else:
                    loss = pytorch_layers.nll(*self.predict(self.model), self.task[3])
        return {"loss": loss.item(), "parameters": self.parameter_count()}

    def capture(self):
        if self.training:
            pytorch_gpu.warm_up(self.update)
            self.optimiser.zero_grad(set_to_none=True)
            self.graph = pytorch_gpu.Graph(self.update)
            self.reset()  # of what the warm-up did to the weights
            return
        with torch.inference_mode():
            pytorch_gpu.warm_up(lambda: self.predict(self.function))
            self.graph = pytorch_gpu.Graph(lambda: self.predict(self.function))

    def predict(self, function):
        xc, yc, xt, _ = self.task
        with autocast(self.case):
            if not self.case["variant"].endswith("-chunks"):
                return function(xc, yc, xt)
            parts = [function(xc, yc, chunk) for chunk in xt.split(CHUNK, 1)]
            return [torch.cat(each, 1) for each in zip(*parts)]

    def update(self):
        self.optimiser.zero_grad(set_to_none=True)
        with autocast(self.case):
            loss = self.function(*self.task)
        loss.backward()
        self.optimiser.step()
        return loss.detach()

    def repeat(self):
        if self.training:
            self.work().item()
            return
        with torch.inference_mode():
            self.work()

    def work(self):
        """The timed call: an update, which returns the loss before it, or a prediction."""
        if self.graph:
            return self.graph()
        if self.case["variant"] == "compile-graph":
            torch.compiler.cudagraph_mark_step_begin()
        return self.update() if self.training else self.predict(self.function)

    def losses(self, count):
        found = [self.work().item() for _ in range(count)]
        self.reset()
        return found


class AttentionCase:
    def __init__(self, case):
        self.case = case
        self.backward = case["kind"] == "attention-backward"
        form = form_of_attention(case)

        def function(q, k, v):
            return pytorch_layers.attend(form, q, k, v)

        self.function = compiled(case, function)

    def describe(self):
        return {"attention": form_of_attention(self.case)}

    def load(self, path):
        tensors = load_file(path, str(device_of(self.case)))
        heads = self.case["heads"]
        self.inputs = [pytorch_layers.split_heads(tensors[f"attention.{name}"], heads).contiguous() for name in "qkv"]
        self.d_out = pytorch_layers.split_heads(tensors["attention.d_out"], heads).contiguous()
        for x in self.inputs:
            x.requires_grad_(self.backward)
        with autocast(self.case):
            found = [self.function(*self.inputs).detach().float()]
        if self.backward:
            self.repeat()
            found += [x.grad for x in self.inputs]
        return {"loss": sum(x.square().mean().item() for x in found)}

    def repeat(self):
        if not self.backward:
            with torch.inference_mode(), autocast(self.case):
                self.function(*self.inputs)
            return
        for x in self.inputs:
            x.grad = None
        with autocast(self.case):
            out = self.function(*self.inputs)
        out.backward(self.d_out.to(out.dtype))


class ConvolutionCase:
    """Convolution of square images with a square kernel that keeps their size."""

    def __init__(self, case):
        self.case = case
        self.backward = case["kind"] == "convolution-backward"

    def describe(self):
        return {}

    def load(self, path):
        tensors = load_file(path, str(device_of(self.case)))
        order = torch.channels_last if self.case["variant"] == "channels-last" else torch.contiguous_format
        x, weight, d_out = (tensors[f"convolution.{name}"] for name in ("x", "weight", "d_out"))
        self.x, self.d_out = (each.permute(0, 3, 1, 2).contiguous(memory_format=order) for each in (x, d_out))
        self.weight = weight.permute(3, 2, 0, 1).contiguous(memory_format=order)
        for each in (self.x, self.weight):
            each.requires_grad_(self.backward)
        found = [self.convolve().detach().float()]
        if self.backward:
            self.repeat()
            found += [self.x.grad, self.weight.grad]
        return {"loss": sum(each.square().mean().item() for each in found)}

    def convolve(self):
        with autocast(self.case):
            return torch.nn.functional.conv2d(self.x, self.weight, padding=self.case["kernel"] // 2)

    def repeat(self):
        if not self.backward:
            with torch.inference_mode():
                self.convolve()
            return
        self.x.grad = self.weight.grad = None
        out = self.convolve()
        out.backward(self.d_out.to(out.dtype))


class DataCase:
    """Tasks of tnp/gp-rbf, as the TNP authors' code draws them: one batch of covariances, float32."""

    def __init__(self, case):
        self.case = case
        self.batch, self.points, self.device = case["batch"], case["points"], device_of(case)

    def describe(self):
        return {}

    def repeat(self):
        nc = int(torch.randint(3, self.points - 3, ()))
        nt = int(torch.randint(3, self.points - nc, ()))
        n = nc + nt
        x = torch.rand(self.batch, n, 1, device=self.device) * 4 - 2
        lengthscale, scale = (low + span * torch.rand(self.batch, 1, 1, device=self.device)
                              for low, span in ((0.1, 0.5), (0.1, 0.9)))
        distance = (x - x.transpose(1, 2)) / lengthscale
        noise = 0.02**2 * torch.eye(n, device=self.device)
        covariance = scale.square() * torch.exp(-0.5 * distance.square()) + noise
        y = torch.linalg.cholesky(covariance) @ torch.randn(self.batch, n, 1, device=self.device)
        return x[:, :nc], y[:, :nc], x[:, nc:], y[:, nc:]


def blas():
    for line in torch.__config__.show().splitlines():
        for part in line.split(","):
            if "BLAS_INFO" in part:
                return part.split("=", 1)[1].strip()
    return "unknown"


def run(case, count, seconds, wait):
    """`count` repetitions, or fewer where they take longer than `seconds`; `wait` returns when their work is done."""
    wall, cpu = [], []
    while len(wall) < count and sum(wall) <= 1e3 * seconds:
        wait()
        cpu_before, before = time.process_time(), time.perf_counter()
        case.repeat()
        wait()
        wall.append((time.perf_counter() - before) * 1e3)
        cpu.append((time.process_time() - cpu_before) * 1e3)
    return {"wall_ms": wall, "cpu_ms": cpu}


def run_on_gpu(case, count, seconds):
    """The same, and the memory that it took. What lives while a compiled graph is repeated cannot be told."""
    torch.cuda.reset_peak_memory_stats()
    times = run(case, count, seconds, torch.cuda.synchronize)
    graph, live = getattr(case, "graph", None), torch.cuda.max_memory_allocated()
    if graph:
        live = max(live, graph.peak_live_bytes)
    if case.case["variant"] == "compile-graph":
        live = None
    return {**times, "peak_live_bytes": live, "peak_reserved_bytes": torch.cuda.max_memory_reserved()}


def answer(case, request):
    if "run" in request:
        count, seconds = request["run"], request.get("seconds", math.inf)
        return run_on_gpu(case, count, seconds) if on_gpu(case.case) else run(case, count, seconds, lambda: None)
    if "import" in request:
        found = case.load(request["import"])
    elif "losses" in request:
        found = {"losses": case.losses(request["losses"])}
    else:
        raise ValueError(f"request {request} found, expected run, import or losses")
    if on_gpu(case.case):
        torch.cuda.empty_cache()  # the memory of a GPU is shared with the programs that take turns, and counted
    return found


def serve(settings, answers):
    torch.set_num_threads(settings["threads"])
    torch.set_num_interop_threads(1)
    torch.manual_seed(settings.get("seed", 0))
    if on_gpu(settings):
        pytorch_gpu.prepare(settings)
    elif settings.get("memory_limit"):
        resource.setrlimit(resource.RLIMIT_DATA, (settings["memory_limit"], settings["memory_limit"]))
    kinds = {"train-step": ModelCase, "forward": ModelCase, "attention": AttentionCase,
             "attention-backward": AttentionCase, "convolution": ConvolutionCase,
             "convolution-backward": ConvolutionCase, "data": DataCase}
    case = kinds[settings["kind"]](settings)
    gpu = pytorch_gpu.describe(settings) if on_gpu(settings) else {}
    print(json.dumps({"name": "pytorch", "version": torch.__version__, "variant": settings["variant"], "blas": blas(),
                      "threads": torch.get_num_threads(), "interop_threads": torch.get_num_interop_threads(),
                      "isa": torch.backends.cpu.get_cpu_capability(), **gpu, **case.describe()}), file=answers, flush=True)
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
