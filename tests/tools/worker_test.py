#!/usr/bin/env python3
"""Tests of perf_worker and of perf/compare.py without peers: worker_test.py PATH_TO_PERF_WORKER"""

import json
import math
import pathlib
import subprocess
import sys

from cli_support import HERE, PROGRAM, TIMEOUT, case, check_keys, expect, read_safetensors, run_cases, small_protocol

COMPARE = pathlib.Path(__file__).resolve().parent.parent.parent / "perf/compare.py"
sys.path.append(str(COMPARE.parent))
sys.dont_write_bytecode = True
import compare_report  # noqa: E402
SIZES = {"batch": 3, "context": 5, "targets": 4, "threads": 1, "seed": 1}
ATTENTION = {"batch": 2, "heads": 2, "queries": 5, "keys": 3, "width": 4, "threads": 1}


def talk(settings, *requests, status=0):
    """The lines of an exchange. A status of None is any."""
    text = "".join(f"{request if isinstance(request, str) else json.dumps(request)}\n" for request in requests)
    done = subprocess.run([PROGRAM, settings if isinstance(settings, str) else json.dumps(settings)], input=text,
                          capture_output=True, text=True, timeout=TIMEOUT)
    expect(status in (None, done.returncode), "exit status", done.returncode, done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def model_case(kind, model="tnp-d"):
    return {"kind": kind, "model": model, "protocol": str(small_protocol()), **SIZES}


def check_run(answer, count):
    expect(set(answer) == {"wall_ms", "cpu_ms"}, answer)
    for times in answer.values():
        expect(len(times) == count and all(ms >= 0 for ms in times), answer)


@case
def training_step():
    path = HERE / "train.safetensors"
    description, exported, updates, again, timed = talk(model_case("train-step"), {"export": str(path)}, {"losses": 3},
                                                        {"losses": 2}, {"run": 4})
    check_keys(description, "version", "commit", "compiler", "isa", "model_config", "optimiser")
    expect(description["name"] == "npzoo" and description["threads"] == 1 and description["gflop"] > 0, description)
    expect([description[key] for key in ("batch", "context", "targets")] == [3, 5, 4], description)
    expect(len(updates["losses"]) == 3 and updates["losses"][0] == exported["loss"], updates, exported)
    expect(again["losses"] == updates["losses"][:2] and len(set(updates["losses"])) == 3, "a fresh start each time")
    check_run(timed, 4)
    tensors = read_safetensors(path)[1]
    task = {name: tensors.pop(name) for name in list(tensors) if name.startswith("task.")}
    expect({name: len(data) for name, data in task.items()}
           == {"task.xc": 60, "task.yc": 60, "task.xt": 48, "task.yt": 48}, "sizes of the task")
    expect(sum(map(len, tensors.values())) == 4 * description["parameters"], "all weights are there")


@case
def forward():
    path = HERE / "forward.safetensors"
    _, trained = talk(model_case("train-step"), {"export": str(path)})
    description, predicted, timed, short = talk(model_case("forward"), {"export": str(path)}, {"run": 2},
                                                {"run": 1000, "seconds": 1e-9})
    expect(math.isclose(predicted["loss"], trained["loss"], rel_tol=1e-6), predicted, trained)
    expect(description["gflop"] > 0 and "optimiser" not in description, description)
    check_run(timed, 2)
    check_run(short, 1)


@case
def attention():
    path = HERE / "attention.safetensors"
    losses = []
    for kind in ("attention", "attention-backward"):
        description, exported, timed = talk({"kind": kind, **ATTENTION}, {"export": str(path)}, {"run": 2})
        check_run(timed, 2)
        losses.append((description["gflop"], exported["loss"]))
    expect(all(a < b for a, b in zip(*losses)), "the backward pass adds to both", losses)
    expect(set(read_safetensors(path)[1]) == {"attention.q", "attention.k", "attention.v", "attention.d_out"}, "names")


@case
def convolutions():
    path = HERE / "convolution.safetensors"
    size = {"batch": 2, "channels": 3, "size": 5, "kernel": 3, "threads": 1}
    losses = []
    for kind in ("convolution", "convolution-backward"):
        description, exported, timed = talk({"kind": kind, **size}, {"export": str(path)}, {"run": 2})
        check_run(timed, 2)
        losses.append((description["gflop"], exported["loss"]))
    expect(all(a < b for a, b in zip(*losses)), "the backward pass adds to both", losses)
    expect(set(read_safetensors(path)[1]) == {"convolution.x", "convolution.weight", "convolution.d_out"}, "names")


@case
def data_and_machine():
    description, timed = talk({"kind": "data", "protocol": "tnp/gp-rbf", "batch": 2, "threads": 1}, {"run": 3})
    expect(description["batch"] == 2 and description["points"] == 50, description)
    check_run(timed, 3)
    _, peak = talk({"kind": "machine", "threads": 1}, {"peak": True})
    expect(peak["peak_gflops"] > 0 and peak["bandwidth_gbs"] > 0, peak)


def has_emulator():
    (line,) = talk({"kind": "machine", "threads": 1, "device": "emulated"}, status=None)
    return "no emulated device" not in line.get("error", "")


@case
def emulated_device():
    if not has_emulator():
        return
    on_device = {"device": "emulated"}
    for settings in (model_case("train-step", "cnp"), {"kind": "attention-backward", **ATTENTION}):
        path = HERE / "device.safetensors"
        description, here, _ = talk(settings, {"export": str(path)}, {"run": 1})
        expect(description["device"] == "cpu" and "gpu" not in description, description)
        description, there, timed = talk({**settings, **on_device}, {"export": str(path)}, {"run": 2})
        expect(description["device"] == "cuda" and "emulation" in description["gpu"], description)
        expect(math.isclose(here["loss"], there["loss"], rel_tol=1e-5), here, there)
        expect(len(timed["wall_ms"]) == 2 and 0 < timed["peak_live_bytes"] <= timed["peak_reserved_bytes"], timed)
    _, peak = talk({"kind": "machine", "threads": 1, **on_device}, {"peak": True})
    expect(peak["peak_gflops"] > 0 and peak["bandwidth_gbs"] > 0, peak)


@case
def wrong_cases():
    usual = model_case("forward")
    for settings, part in (("no JSON", "no JSON object"), ({"threads": 1}, "'kind' is missing"),
                           ({**usual, "kind": "backward"}, "backward"), ({**usual, "model": "gpt"}, "gpt"),
                           ({**usual, "model": 1}, "'model' is 1"), ({**usual, "threads": 0}, "'threads' is 0"),
                           ({**usual, "context": -1}, "'context' is -1"), ({**usual, "batch": "two"}, "'batch' is \"two\""),
                           ({**usual, "device": "tpu"}, "'tpu' is not a device"),
                           ({**usual, "precision": "half"}, "'half' found"),
                           ({**usual, "precision": "bf16"}, "bf16 needs a CUDA device"),
                           ({**ATTENTION, "kind": "attention", "keys": 0}, "'keys' is 0")):
        lines = talk(settings, status=1)
        expect(len(lines) == 1 and part in lines[0]["error"], part, "expected in", lines)


@case
def wrong_requests():
    for request, part in (("no JSON", "no JSON object"), ({"walk": 1}, "walk"), ({"run": 0}, "'run' is 0"),
                          ({"losses": 2}, "not trained"), ({"export": "/nowhere/at/all"}, "/nowhere/at/all")):
        lines = talk(model_case("forward"), request, {"run": 1}, status=1)
        expect(len(lines) == 2 and part in lines[1]["error"], part, "expected in", lines)
    lines = talk({"kind": "machine", "threads": 1}, {"run": 1}, status=1)
    expect("nothing to run" in lines[1]["error"], lines)


def compare(*args, status=0):
    done = subprocess.run([sys.executable, str(COMPARE), *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=TIMEOUT)
    expect(done.returncode == status, "exit status", done.returncode, done.stderr)
    return done


@case
def comparison():
    out = HERE / "comparison"
    compare("--worker", PROGRAM, "--peers", "none", "--quick", "--rounds", 1, "--cases", "cnp", "--out", out)
    written, table = HERE / "comparison.json", HERE / "comparison.md"
    record, text = json.loads(written.read_text()), table.read_text()
    (result,) = record["results"]
    expect([c["threads"] for c in result["contestants"]] == [1, 2] and "### cnp" in text, text)
    for contestant in result["contestants"]:
        (only,) = contestant["rounds"]
        expect(only["busy"] is False and len(only["wall_ms"]) == len(only["cpu_ms"]) > 0, only)
    table.unlink()
    compare("--report", written)
    expect(table.read_text() == text, "the report is made of the figures alone")
    expect(not list(HERE.glob("*.part")), "no temporary files are left")


@case
def comparison_on_a_device():
    if not has_emulator():
        return
    out = HERE / "on a device"
    compare("--worker", PROGRAM, "--device", "emulated", "--quick", "--rounds", 1, "--cases", "cnp", "--suite", "forward",
            "--out", out)
    record, text = json.loads(out.with_suffix(".json").read_text()), out.with_suffix(".md").read_text()
    (result,) = record["results"]
    expect([c["threads"] for c in result["contestants"]] == [1] and record["failed"] == [], record)
    expect("emulation" in record["gpu"]["name"] and "emulation" in text and "live MB" in text, text)
    for wrong in (["--device", "emulated", "--peers", "eager"], ["--device", "cuda", "--busy"], ["--precision", "bf16"],
                  ["--peers", "graph"]):
        compare("--worker", PROGRAM, *wrong, status=2)


def contestant(program, variant, threads, idle, busy):
    """Each round has one repetition."""
    rounds = [{"busy": is_busy, "wall_ms": [ms], "cpu_ms": [ms]} for pair in zip(idle, busy)
              for is_busy, ms in zip((False, True), pair)]
    return {"program": program, "variant": variant, "threads": threads, "loss": 2.0, "losses": [2.0, 1.0],
            "description": {"parameters": 7, "gflop": 0.5, "version": "0", "blas": "none", "isa": "avx512"},
            "rounds": rounds}


def row_of(text, program, threads, columns):
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:2] == [program, str(threads)] and len(cells) == columns:
            return cells


@case
def ratios_of_a_report():
    """The machine becomes slower from round to round: ratios within a round do not see it."""
    contestants = [contestant("npzoo", "", 1, [10, 20, 40], [20, 40, 80]), contestant("npzoo", "", 2, [5, 10, 20], [10, 20, 40]),
                   contestant("pytorch", "sdpa", 1, [30, 60, 120], [60, 120, 240]),
                   contestant("pytorch", "sdpa", 2, [20, 40, 80], [60, 120, 240])]
    contestants[2]["losses"] = [2.0, 1.25]
    record = {"date": "2000-01-01", "machine": {"processor": "p", "cores": 2, "system": "s", "kernel": "k"},
              "npzoo": {"version": "0", "commit": "c", "isa": "avx512", "compiler": "g++"}, "environment": {},
              "options": {"rounds": 6, "slice_s": 0.5, "threads": [1, 2]},
              "peaks": [{"threads": n, "peak_gflops": 100.0 * n, "bandwidth_gbs": 10.0} for n in (1, 2)],
              "results": [{"suite": "train-step", "case": "any", "settings": {"kind": "train-step"},
                           "contestants": contestants, "skipped": []}]}
    text = compare_report.report(record)
    expect(row_of(text, "npzoo", 1, 11) == ["npzoo", "1", "20", "10", "40", "20", "25.0", "25 %", "", "", ""], text)
    expect(row_of(text, "npzoo", 2, 11)[-1] == "2.00", text)
    expect(row_of(text, "pytorch sdpa", 2, 11)[-3:] == ["4.00", "4.00", "1.50"], text)
    expect(row_of(text, "npzoo", 2, 7) == ["npzoo", "2", "10", "20", "40", "2.00", "1.00"], text)
    expect(row_of(text, "any", 2, 7) == ["any", "2", "10", "sdpa", "40", "4.00", "4.00"], text)
    expect(row_of(text, "train-step any", 7, 5) == ["train-step any", "7", "2", "0.0e+00", "2.5e-01"], text)


@case
def goals_in_a_report():
    contestants = [contestant("npzoo", "", 1, [2], [2]), contestant("pytorch", "graph", 1, [8], [8])]
    for c in contestants:
        c["rounds"][0].update({"peak_live_bytes": 400_000_000, "peak_reserved_bytes": 500_000_000})
        c["description"].update({"cuda": "13", "cudnn": 9})
    record = {"date": "2000-01-01", "machine": {"processor": "p", "cores": 2, "system": "s", "kernel": "k"},
              "npzoo": {"version": "0", "commit": "c", "isa": "avx512", "compiler": "g++"}, "environment": {},
              "gpu": {"name": "GPU", "driver": "1.2", "driver_cuda": "13.0"},
              "options": {"rounds": 1, "slice_s": 0.5, "threads": [1], "device": "cuda", "precision": "bf16"},
              "peaks": [{"threads": 1, "peak_gflops": 1000.0, "bandwidth_gbs": 10.0}],
              "failed": [{"suite": "goals", "case": "other", "reason": "it fell"}],
              "results": [{"suite": "goals", "case": "any", "settings": {"kind": "forward"}, "skipped": [],
                           "goal": {"ms": 1, "bytes": 300_000_000}, "contestants": contestants}]}
    text = compare_report.report(record)
    expect(row_of(text, "any", 1, 7)[2:] == ["2", "50 %", "300", "400", "75 %"], text)
    for part in ("GPU, driver 1.2, for CUDA 13.0; matrix products in bf16", "in bf16", "goals other: it fell"):
        expect(part in text, part, "expected in", text)


@case
def comparison_that_cannot_start():
    usual = ["--quick", "--rounds", 1, "--threads", 1, "--cases", "cnp", "--out", HERE / "never"]
    for args, parts in ((["--worker", HERE / "none"], ["npzoo's worker", "perf/perf_worker"]),
                        (["--worker", PROGRAM, "--peer-python", HERE / "none"], ["PyTorch", "perf/peers/requirements.txt"])):
        lines = compare(*args, *usual, status=1).stderr.splitlines()
        expect(lines[-1].startswith("compare.py: error: ") and all(part in lines[-1] for part in parts), lines)
    compare("--worker", PROGRAM, "--suite", "all", status=2)
    expect(not (HERE / "never.json").exists(), "nothing is written")


if __name__ == "__main__":
    sys.exit(run_cases())
