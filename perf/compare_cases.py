"""The suites of cases of perf/compare.py, and the variants of PyTorch that can run them."""

import math

VARIANTS = ["eager", "sdpa", "sdpa-chunks", "compile", "channels-last"]
MORE_VARIANTS = ["compile-sdpa", "compile-explicit"]
GPU_VARIANTS = ["graph", "compile-graph"]
MORE_GPU_VARIANTS = ["graph-explicit"]

GP = {"protocol": "tnp/gp-rbf", "batch": 16, "context": 25, "targets": 25}
GP_KR = {"protocol": "tnp-kr/gp1d-rbf", "batch": 32, "context": 25, "targets": 150}
LARGE = {"protocol": "perf/protocols/large.toml", "batch": 32, "context": 100, "targets": 50}
MODELS = {
    "tnp-d-small": {"model": "tnp-d", **GP},
    "tnp-d-large": {"model": "tnp-d", **LARGE},
    "cnp": {"model": "cnp", **GP},
    "tnp-kr-full": {"model": "tnp-kr-full", **GP},
    "tnp-kr-fast": {"model": "tnp-kr-fast", **GP},
    "cmanp": {"model": "cmanp", **GP},
    "canp": {"model": "canp", **GP},
    "lbanp": {"model": "lbanp", **GP},
    "tnp-kr-full-gp1d": {"model": "tnp-kr-full", **GP_KR},
    "tnp-kr-fast-gp1d": {"model": "tnp-kr-fast", **GP_KR},
}
# Their predictions are drawn, in other ways elsewhere.
TRAINED = {
    "np": {"model": "np", **GP},
    "anp": {"model": "anp", **GP},
    "bnp": {"model": "bnp", **GP},
    "banp": {"model": "banp", **GP},
    "tnp-a": {"model": "tnp-a", **GP},
    "tnp-nd": {"model": "tnp-nd", **GP},
    "lbanp-nd": {"model": "lbanp-nd", **GP},
    "cmanp-and": {"model": "cmanp-and", **GP},
}
WINDOW = {"batch": 32, "context": 96, "targets": 96}
SERIES = {
    "taylorformer": {"model": "taylorformer", "protocol": "perf/protocols/taylorformer.toml", **WINDOW},
    "autoformer-d64": {"model": "autoformer", "protocol": "perf/protocols/autoformer.toml", **WINDOW},
}
WITHOUT_SOFTMAX = ["autoformer", "cnp", "np", "bnp", "tnp-kr-fast"]
ATTENTION = {
    "150x50": {"batch": 32, "heads": 4, "queries": 150, "keys": 50, "width": 16},
    "10000x10000": {"batch": 1, "heads": 4, "queries": 10_000, "keys": 10_000, "width": 16},
}
CONVOLUTION = {f"{kernel}x{kernel}": {"batch": 16, "channels": 64, "size": 28, "kernel": kernel} for kernel in (3, 5)}
FIXED = 100  # points of the kind that does not grow
GOAL_SIZES = {"protocol": "perf/protocols/goals.toml", "batch": 1, "context": FIXED, "targets": FIXED}


def growing(models, vary):
    return {f"{model}-1e{power}": {"kind": "forward", "model": model, "protocol": "tnp/gp-rbf", "batch": 1,
                                   "context": FIXED, "targets": FIXED, vary: 10**power}
            for model in models for power in range(2, 7)}


SUITES = {
    "train-step": {name: {"kind": "train-step", **settings} for name, settings in (MODELS | TRAINED).items()},
    "series": {name: {"kind": "train-step", **settings} for name, settings in SERIES.items()},
    "forward": {name: {"kind": "forward", **settings} for name, settings in MODELS.items()},
    "attention": {f"{kind}-{name}": {"kind": kind, **settings} for name, settings in ATTENTION.items()
                  for kind in ("attention", "attention-backward")},
    "convolution": {f"{kind}-{name}": {"kind": kind, **settings} for name, settings in CONVOLUTION.items()
                    for kind in ("convolution", "convolution-backward")},
    "data": {"gp-rbf": {"kind": "data", "protocol": "tnp/gp-rbf", "batch": 16}},
    "scaling": growing(["tnp-kr-full", "tnp-kr-fast", "tnp-d"], "targets"),
    "scaling-context": growing(["tnp-kr-full", "tnp-kr-fast"], "context"),
    "goals": {
        "tnp-kr-full-targets-1e6": {"kind": "forward", "model": "tnp-kr-full", **GOAL_SIZES, "targets": 10**6},
        "tnp-kr-fast-context-1e6": {"kind": "forward", "model": "tnp-kr-fast", **GOAL_SIZES, "context": 10**6},
        "tnp-kr-fast-context-1e6-training": {"kind": "train-step", "model": "tnp-kr-fast", **GOAL_SIZES,
                                             "context": 10**6},
        "tnp-d-context-1e4": {"kind": "forward", "model": "tnp-d", **GOAL_SIZES, "context": 10**4},
        "tnp-d-context-1e4-training": {"kind": "train-step", "model": "tnp-d", **GOAL_SIZES, "context": 10**4},
        "gp1d-training": {"kind": "train-step", "model": "tnp-kr-full", **GP_KR},
    },
}
# Goals for one H200: milliseconds and bytes.
GOALS = {
    "tnp-kr-full-targets-1e6": {"ms": 2.4, "bytes": 300 * 10**6},
    "tnp-kr-fast-context-1e6": {"ms": 4},
    "tnp-kr-fast-context-1e6-training": {"ms": 13, "bytes": 10**9},
    "tnp-d-context-1e4": {"ms": 1.3},
    "tnp-d-context-1e4-training": {"ms": 2.6, "bytes": 150 * 10**6},
    "gp1d-training": {"ms": 0.6},
}
GROWING = {"scaling": "targets", "scaling-context": "context"}
LIMITED = [*GROWING, "goals"]  # suites in which a program may be refused memory
MOST_SECONDS = 20  # of a repetition where points grow


def variants_of(suite, case, chosen):
    with_softmax = case.get("model") not in WITHOUT_SOFTMAX
    if suite == "data":
        usable = ["eager"]
    elif suite == "attention":
        usable = ["eager", "sdpa"]
    elif suite == "convolution":
        usable = ["eager", "channels-last"]
    elif suite in GROWING:
        usable = ["sdpa" if with_softmax else "eager", "graph"] + (["sdpa-chunks"] if suite == "scaling" else [])
    elif with_softmax:
        usable = ["eager", "sdpa", "compile", *MORE_VARIANTS, *GPU_VARIANTS, *MORE_GPU_VARIANTS]
    else:
        usable = ["eager", "compile", *GPU_VARIANTS]
    return [variant for variant in chosen if variant in usable]


class Limits:
    """Cases that growing suites leave out: a program that was too slow or too large for one size gets no larger one."""

    def __init__(self):
        self.reasons, self.times = {}, {}

    @staticmethod
    def key(suite, case, program, variant, threads):
        return suite, case.get("model"), program, variant, threads

    def took(self, suite, case, key, ms):
        if suite in GROWING:
            self.times.setdefault(key, []).append((case[GROWING[suite]], ms))

    def reason(self, suite, case, key):
        """Why it is left out, or None. The time is expected to grow as it did last, or in proportion if that is more."""
        if suite not in GROWING:
            return None
        times = self.times.get(key)
        if key not in self.reasons and times:
            size, ms = times[-1]
            power = 1
            if len(times) > 1:
                smaller, before = times[-2]
                power = max(1, math.log(ms / before) / math.log(size / smaller))
            expected = ms / 1000 * (case[GROWING[suite]] / size)**power
            if expected > MOST_SECONDS:
                self.reasons[key] = f"about {expected:.0f} s a repetition, more than {MOST_SECONDS}"
        return self.reasons.get(key)
