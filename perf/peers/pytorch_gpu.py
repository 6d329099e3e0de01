"""The part of perf/peers/pytorch.py for GPUs alone."""

import torch

WARM_UP = 3


def prepare(settings):
    """Precision and memory limit of this process. bf16 is the business of autocast."""
    short = settings["precision"] == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = short
    torch.backends.cudnn.allow_tf32 = short
    limit = settings.get("memory_limit")
    if limit:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total))


def describe(settings):
    return {"device": "cuda", "precision": settings["precision"], "gpu": torch.cuda.get_device_name(0),
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}


def warm_up(work):
    """On a stream of its own, as a capture asks for."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(side)


class Graph:
    """Work that is captured once and then repeated in the same memory. A call returns what the work did, made anew."""

    def __init__(self, work):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.result = work()
        self.peak_live_bytes = torch.cuda.max_memory_allocated()

    def __call__(self):
        self.graph.replay()
        return self.result
