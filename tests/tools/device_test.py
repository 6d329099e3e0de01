#!/usr/bin/env python3
"""Tests of --device, from outside: device_test.py PATH_TO_NPZOO. On a machine without a GPU they use the emulated one."""

import math
import pathlib
import subprocess
import sys

from cli_support import (HERE, PROGRAM, as_json, case, check_close, check_error, check_keys, checkpoint, expect, fail,
                         model_hash, npzoo, numbers, run_cases, succeed, wrong_usage, write)

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
DEVICES = {row["device"]: row for row in as_json("devices")}
GPU = next((name for name in ("cuda", "emulated") if name in DEVICES), None)
ON_GPU = ["--device", GPU]


def gpu_case(function):
    if GPU:
        return case(function)
    print(f"skipped {function.__name__.replace('_', ' ')}: no CUDA device, and no emulated one in this build")
    return function


@case
def devices_lists_the_names_of_device():
    expect(list(DEVICES)[0] == "cpu" and DEVICES["cpu"]["threads"] >= 1, DEVICES)
    text = succeed("devices")
    expect(text.startswith("cpu"), text)
    if "cuda" in DEVICES:
        check_keys(DEVICES["cuda"], "name", "compute_capability", "multiprocessors", "memory_bytes", "driver_cuda")
    else:
        expect("CUDA" in text.splitlines()[-1], "a line that says why there is no GPU expected in", text)


@case
def a_device_that_is_not_there_is_one_clear_line():
    for name in ("tpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999"):
        wrong_usage("devices", "--device", name, naming=[f'"{name}" found', "cuda"])
    fail("gradcheck", "concat", "--precision", "tf32", naming=["tf32 needs a CUDA device"])
    if "cuda" not in DEVICES:
        fail("train", "--protocol", "quick/gp1d", "--model", "cnp", "--device", "cuda", "--out", HERE / "none",
             naming=["[device]", "CUDA"])
        fail("gradcheck", "concat", "--device", "cuda:1", naming=["[device]", "CUDA"])
        expect(as_json("gradcheck", "concat", "--device", "auto")["device"] == "cpu", "auto falls back to the CPU")
    else:
        fail("gradcheck", "concat", "--device", "cuda:9999", naming=["[device] cuda:9999 found, expected an index below"])
    if "emulated" not in DEVICES:
        fail("gradcheck", "concat", "--device", "emulated", naming=["[device] this build of npzoo has no emulated device"])


@case
def an_instruction_set_that_is_not_known_is_one_clear_line():
    check_error(npzoo("gradcheck", "concat", environment={"NPZOO_ISA": "sse9"}),
                "[cpu] NPZOO_ISA is 'sse9', expected generic, avx2 or avx512")


@case
def a_program_without_a_gpu_loads_none_of_its_libraries():
    libraries = subprocess.run([PROGRAM], env={"LD_TRACE_LOADED_OBJECTS": "1"}, stdout=subprocess.PIPE, text=True).stdout
    expect("libc.so" in libraries, "a list of libraries expected in", libraries)
    expect(not any(name in libraries for name in ("libcublas", "libcufft", "libcurand", "libcuda")), libraries)


@gpu_case
def gradients_and_recorded_runs():
    result = as_json("gradcheck", "linear", "layer_norm", "mask_points", *ON_GPU)
    expect(result["passed"] and result["device"] == "cuda", result)
    for row in as_json("parity", GOLDEN / "cnp.a.safetensors", GOLDEN / "tnp-d.a.safetensors", *ON_GPU):
        expect(row["passed"], row)


@gpu_case
def training_is_repeatable_and_goes_on():
    def train(name, *more):
        return as_json("train", "--out", HERE / name, *more, *ON_GPU)["checkpoint"]

    run = ["--protocol", "quick/gp1d", "--model", "cnp", "--batch", 2, "--steps", 6]
    whole, again = train("whole", *run), train("again", *run)
    expect(model_hash(HERE / "whole/checkpoint.safetensors") == model_hash(HERE / "again/checkpoint.safetensors"),
           "two runs gave different weights:", whole, again)
    on_cpu = as_json("train", *run, "--out", HERE / "on-cpu")
    expect(math.isclose(as_json("train", *run, "--out", HERE / "third", *ON_GPU)["loss"], on_cpu["loss"], rel_tol=1e-3),
           "losses of the GPU and of the CPU differ")
    check_error(npzoo("train", *run, "--out", HERE / "whole", *ON_GPU), "exists")


@gpu_case
def checkpoints_move_between_devices():
    targets = write("targets.csv", "x\n-1\n0\n0.5\n")
    context = write("context.csv", "x,y\n-0.5,1\n0.25,-1\n")
    made = []
    for device in ("cpu", GPU):
        out = HERE / f"on-{device}.csv"
        succeed("predict", "--checkpoint", checkpoint(), "--context", context, "--targets", targets, "--out", out,
                "--device", device)
        made.append(numbers(out.read_text()))
    check_close(*made)
    rows = [as_json("eval", "--checkpoint", checkpoint(), "--batches", 2, "--device", device)[0]
            for device in ("cpu", GPU)]
    expect(math.isclose(rows[0]["log_likelihood"], rows[1]["log_likelihood"], rel_tol=1e-4), rows)
    succeed("plot", "--checkpoint", checkpoint(), "--out", HERE / "on-gpu.svg", *ON_GPU)


@gpu_case
def bench_names_the_device():
    row = as_json("bench", "train-step", "--protocol", "quick/gp1d", "--model", "cnp", "--batch", 2, "--steps", 3,
                  "--warmup", 2, *ON_GPU)
    check_keys(row, "device", "gpu", "precision", "median_ms", "peak_live_bytes", "peak_reserved_bytes")
    expect(row["device"] == "cuda" and row["precision"] == "float32" and row["peak_live_bytes"] > 0, row)
    rows = as_json("bench", "scaling", "--models", "cnp", "--points", 10, "--repeats", 1, *ON_GPU)
    expect(rows[0]["status"] == "ok" and rows[0]["device"] == "cuda", rows)


if __name__ == "__main__":
    sys.exit(run_cases())
