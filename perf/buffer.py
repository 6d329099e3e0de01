#!/usr/bin/env python3
"""Trains tnp-d, tnp-a and tnp-buffer shortly, then compares their joint densities and the times of joint samples.

buffer.py BUILD OUT [STEPS]: about four minutes of one core. Tasks are those of tnp/gp-rbf with 108 to 145 targets. The file OUT
gets the tables; trainings stay in BUILD/buffer.
"""
import json
import pathlib
import subprocess
import sys
import time

MODELS = ("tnp-d", "tnp-a", "tnp-buffer")
TASKS = ["data.points=148", "data.context=[3, 21]", "data.min_targets=108"]
CHANGES = [word for change in TASKS for word in ("--set", change)]


def run(*words):
    began = time.monotonic()
    text = subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout
    return text, time.monotonic() - began


def train(npzoo, folder, model, steps):
    run(npzoo, "train", "--protocol", "tnp/gp-rbf", "--model", model, *CHANGES, "--set", f"validation.every={steps}", "--steps", steps,
        "--validation-batches", "1", "--threads", "1", "--out", str(folder / model), "--json")


def score(npzoo, folder, model, batches):
    """Marginal and joint log-likelihoods of the test rbf."""
    plain = ["--autoregressive"] if model == "tnp-d" else []
    text, seconds = run(npzoo, "eval", "--checkpoint", str(folder / model / "checkpoint.safetensors"), *plain, "--batches", batches,
                        "--threads", "1", "--json")
    found = next(row for row in json.loads(text) if row["test"] == "rbf")
    return found, seconds


def main():
    build, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    steps = sys.argv[3] if len(sys.argv) > 3 else "300"
    npzoo, folder = str(build / "tools/npzoo"), build / "buffer"
    folder.mkdir(exist_ok=True)
    lines = ["# Joint samples by a buffer, by TNP-A and by plain autoregression", "",
             f"`perf/buffer.py`, one thread. {steps} updates under `tnp/gp-rbf` with {', '.join(TASKS)}.", "",
             "| model | seconds of training | joint by | marginal log-likelihood | joint log-likelihood | seconds of the evaluation |",
             "|---|---:|---|---:|---:|---:|"]
    for model in MODELS:
        began = time.monotonic()
        if not (folder / model).exists():
            train(npzoo, folder, model, steps)
        trained = time.monotonic() - began
        row, seconds = score(npzoo, folder, model, "3")
        lines.append(f"| `{model}` | {trained:.0f} | {row['how']['joint_log_likelihood']} | {row['log_likelihood']:.3f} | "
                     f"{row['joint_log_likelihood']:.3f} | {seconds:.1f} |")
        print(lines[-1], flush=True)
    names = ",".join(str(folder / model / "checkpoint.safetensors") for model in MODELS)
    table, _ = run(str(build / "perf/buffer_bench"), "--checkpoints", names, "--buffers", "1,8,16,32,64,128", "--repeats", "2",
                   "--threads", "1")
    lines += ["", "Milliseconds of the processor for 50 joint samples at 128 targets after 20 context points, and the largest",
              "difference of the joint density in one pass from that of one target after the other, in float64, nats per target:", "", table.strip()]
    out.write_text("\n".join(lines) + "\n")
    print(out.read_text())


main()
