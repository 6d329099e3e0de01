#!/usr/bin/env python3
"""Whether a program is as fast and as small as another: perf/same_speed.py OLD NEW [--rounds N] [--steps N] [--device D] [--models NAME…]

Times a training step and a forward pass of every model, or of those named, with both programs in turn, and prints the ratio of the medians over
the rounds (above 1: NEW is faster) and that of the peak memory (below 1: NEW needs less). The faster tenth of a round's steps
stands for it: what else a machine does makes steps slower and never faster.
"""

import argparse
import json
import statistics

from same_bits import pairs, run

PREFERRED = "tnp/gp-rbf"


def cases(program, models):
    """Each model, or each of those, under one protocol that has a preset of it."""
    found = {}
    for protocol, model in sorted(pairs(program), key=lambda pair: pair[0] != PREFERRED):
        if model in found or (models and model not in models):
            continue
        try:
            run(program, "bench", "forward", "--protocol", protocol, "--model", model, "--steps", 1, "--warmup", 0, "--json")
        except RuntimeError:
            continue
        found[model] = protocol
    return found


def measure(program, kind, protocol, model, options):
    told = json.loads(run(program, "bench", kind, "--protocol", protocol, "--model", model, "--steps", options.steps,
                          "--warmup", 5, "--device", options.device, "--json"))
    return told["p10_ms"], told["peak_live_bytes"]


def in_turn(i, kind, protocol, model, options):
    """The figures of old and new. Every second round begins with new: the first of two programs may find a cooler processor."""
    programs = [options.old, options.new]
    order = (0, 1) if i % 2 == 0 else (1, 0)
    figures = {which: measure(programs[which], kind, protocol, model, options) for which in order}
    return figures[0], figures[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", nargs="*")
    options = parser.parse_args()
    print("| model | measured | old ms | new ms | old / new | memory, new / old |\n|---|---|---|---|---|---|")
    for model, protocol in cases(options.old, options.models).items():
        for kind in ("train-step", "forward"):
            rounds = [in_turn(i, kind, protocol, model, options) for i in range(options.rounds)]
            old, new = (statistics.median(pair[i][0] for pair in rounds) for i in (0, 1))
            ratio = statistics.median(pair[0][0] / pair[1][0] for pair in rounds)
            memory = statistics.median(pair[1][1] / pair[0][1] for pair in rounds)
            print(f"| {model} | {kind} | {old:.3f} | {new:.3f} | {ratio:.3f} | {memory:.3f} |", flush=True)


if __name__ == "__main__":
    main()
