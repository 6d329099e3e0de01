#!/usr/bin/env python3
"""Tests of `npzoo reproduce` that is stopped, killed, or run several times at once: reproduce_shared_test.py PATH_TO_NPZOO"""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys

from cli_support import HERE, PROGRAM, TIMEOUT, as_json, case, expect, read_safetensors, run_cases, write, wrong_usage
from reproduce_support import LONG, check_same_run, directory, flags, store, table, wait_until


def children_of(process):
    return [int(child) for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
            for child in path.read_text().split()]


def is_over(process):
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def stop_on_the_way(where, send):
    """Starts two runs and lets `send` stop them when both are under way."""
    args = [PROGRAM, *map(str, flags(where, table("small/long", steps=LONG))), "--jobs", "2"]
    runs = [directory(where, model, name="small/long") for model in ("cnp", "tnp-d")]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        logs = [run / "metrics.jsonl" for run in runs]
        wait_until(lambda: process.poll() is not None or all(log.exists() and log.stat().st_size > 0 for log in logs),
                   "both runs are under way")
        children = children_of(process)
        send(process)
        out, errors = process.communicate(timeout=TIMEOUT)
    wait_until(lambda: all(map(is_over, children)), "the children are over")
    expect(children and not out, "children", children, "and nothing on stdout expected, found", out)
    expect(not store(where, "small-long").exists(), "there are results of runs that were stopped")
    left = [path for path in (HERE / where).rglob(".*")]
    expect(not left, "temporary files left:", left)
    for run in runs:
        step = json.loads(read_safetensors(run / "checkpoint.safetensors")[0]["run"])["step"]
        expect(0 < step < LONG, run, "was stopped at step", step)
    return process.returncode, errors


@case
def stopped_runs_go_on_with_the_same_bits():
    if not pathlib.Path("/proc/self/task").exists():
        print("skipped: no /proc")
        return
    whole = as_json(*flags("whole", table("small/long", steps=LONG)))
    ways = {"interrupt": lambda process: process.send_signal(signal.SIGINT),
            "terminate": lambda process: process.send_signal(signal.SIGTERM),
            "ctrl-c": lambda process: os.killpg(process.pid, signal.SIGINT),
            "kill": lambda process: process.kill()}
    for where, send in ways.items():
        status, errors = stop_on_the_way(where, send)
        if where != "kill":
            expect(status == 130, "exit status", status, "expected 130")
            expect(errors.splitlines()[-1] == "interrupted; to continue, run the same command", errors)
        out = as_json(*flags(where, table("small/long", steps=LONG)))
        for model in ("cnp", "tnp-d"):
            check_same_run(directory(where, model, name="small/long"), directory("whole", model, name="small/long"))
        expect(out["rows"] == whole["rows"], "other rows after", where)


def begin(*args):
    return subprocess.Popen([PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process):
    out, errors = process.communicate(timeout=TIMEOUT)
    expect(process.returncode == 0, "exit status", process.returncode, errors)
    return json.loads(out), errors


@case
def several_at_once_keep_all_results():
    seeds = range(6)
    whole = as_json(*flags("several"), "--models", "cnp", "--seeds", ",".join(map(str, seeds)))
    for attempt in range(5):
        results = HERE / f"several/results-{attempt}"
        args = [*flags("several")[:4], "--results", results, "--models", "cnp", "--json"]
        processes = [begin(*args, "--seeds", seed) for seed in seeds]
        for process in processes:
            out, _ = end(process)
            expect(out["runs"] and out["failed"] == [], out)
        expect((results / "small-table.json").read_bytes() == store("several").read_bytes(), "results were lost")
        expect([path.name for path in results.iterdir()] == ["small-table.json"], list(results.iterdir()))
    expect(len(whole["runs"]) == len(seeds), whole)


@case
def parts_of_a_table_make_the_whole_of_it():
    seeds = ["--seeds", "0,1"]  # of two models: four runs
    whole = as_json(*flags("not-in-parts"), *seeds)
    parts = [as_json(*flags("in-parts"), *seeds, "--shard", f"{part}/3") for part in (3, 1, 2)]
    expect([part["runs"] for part in parts] == [1, 2, 1] and not any(part["failed"] for part in parts), parts)
    expect(not store("in-parts").exists(), "a part has collected results")
    runs = [directory("in-parts", model, seed) for model in ("cnp", "tnp-d") for seed in (0, 1)]
    times = [(run / "checkpoint.safetensors").stat().st_mtime_ns for run in runs]
    collected = as_json(*flags("in-parts"), *seeds)
    expect(collected["rows"] == whole["rows"], collected["rows"])
    expect(store("in-parts").exists() and len(collected["runs"]) == 4, collected["runs"])
    expect(times == [(run / "checkpoint.safetensors").stat().st_mtime_ns for run in runs], "a run was trained again")
    for wrong in ("0/3", "4/3", "1", "1/", "a/b", "1/3x", "-1/3"):
        wrong_usage(*flags("in-parts"), f"--shard={wrong}", naming=["such as 2/4"])


def commands(where, model):
    lines = (directory(where, model, name="small/long") / "train.log").read_text().splitlines()
    return [line.split()[2] for line in lines if line.startswith("$ npzoo ")]


def is_under_way(where, model):
    log = directory(where, model, name="small/long") / "metrics.jsonl"
    return log.exists() and log.stat().st_size > 0


@case
def results_are_kept_as_soon_as_a_run_ends():
    protocol = table("small/long", steps=LONG)
    args = [*flags("soon", protocol), "--jobs", "1", "--json"]
    with begin(*args) as process:
        wait_until(lambda: process.poll() is not None or is_under_way("soon", "tnp-d"), "the second run is under way")
        expect(process.poll() is None, "it ended early")
        process.kill()
    kept = json.loads(store("soon", "small-long").read_text())
    expect([run["model"] for run in kept["runs"]] == ["cnp"], kept["runs"])
    out, _ = end(begin(*args))  # at once: children of the one that was killed may still be there
    expect([run["model"] for run in out["runs"]] == ["cnp", "tnp-d"] and out["runs"][0] == kept["runs"][0], out["runs"])
    expect(commands("soon", "cnp") == ["train", "eval"], commands("soon", "cnp"))


@case
def two_of_the_same_share_the_work():
    protocol = table("small/long", steps=LONG)
    args = [*flags("shared", protocol), "--json"]
    first = begin(*args, "--jobs", "1")
    wait_until(lambda: is_under_way("shared", "cnp"), "the first run is under way")
    second = begin(*args, "--jobs", "2")
    (a, errors), (b, more) = end(first), end(second)
    expect(a == b and len(a["runs"]) == 2, a, b)
    for model in ("cnp", "tnp-d"):
        expect(commands("shared", model) == ["train", "eval"], model, commands("shared", model), errors, more)

    first = begin(*flags("left", protocol), "--json", "--jobs", "1", "--models", "cnp")
    wait_until(lambda: is_under_way("left", "cnp"), "the first run is under way")
    second = begin(*flags("left", protocol), "--json", "--models", "cnp")
    train = children_of(first)
    first.kill()
    first.communicate()
    out, errors = end(second)
    expect(train and len(out["runs"]) == 1 and commands("left", "cnp") == ["train", "train", "eval"], errors)
    check_same_run(directory("left", "cnp", name="small/long"), directory("shared", "cnp", name="small/long"))

    logs = directory("locked", "cnp", name="small/long")
    logs.mkdir(parents=True)
    errors = HERE / "locked/errors"
    with open(logs / "train.log", "w") as log, open(errors, "w") as told:
        fcntl.flock(log, fcntl.LOCK_EX)
        args = [PROGRAM, *map(str, flags("locked", protocol))]
        with subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=told) as process:
            wait_until(lambda: "cnp, seed 0: another process runs it" in errors.read_text().splitlines() and
                       "tnp-d, seed 0: done" in errors.read_text().splitlines(), "the other run is done")
            expect(process.poll() is None and commands("locked", "cnp") == [], errors.read_text())
            fcntl.flock(log, fcntl.LOCK_UN)
    expect(process.returncode == 0 and commands("locked", "cnp") == ["train", "eval"], errors.read_text())
    expect(errors.read_text().count("another process") == 1, errors.read_text())

    by_hand = begin("train", "--protocol", protocol, "--model", "cnp", "--out", directory("hand", "cnp", name="small/long"))
    wait_until(lambda: is_under_way("hand", "cnp"), "the training is under way")
    out, errors = end(begin(*flags("hand", protocol), "--json", "--models", "cnp"))
    by_hand.communicate()
    expect(out["runs"][0]["steps"] == LONG and commands("hand", "cnp") == ["eval"], errors)


@case
def a_protocol_that_changes_meanwhile_is_told():
    protocol = table("small/long", steps=LONG)
    process = begin(*flags("changing", protocol), "--models", "cnp")
    wait_until(lambda: is_under_way("changing", "cnp"), "the run is under way")
    write(protocol.name, protocol.read_text().replace("batches = 2", "batches = 1"))
    _, errors = process.communicate(timeout=TIMEOUT)
    (line,) = [line for line in errors.splitlines() if line.startswith("cnp, seed 0: failed: ")]
    expect(process.returncode == 1 and f"{protocol} has changed since this run began" in line, errors)
    table("small/long", steps=LONG)
    out = as_json(*flags("changing", protocol), "--models", "cnp")
    expect(out["runs"][0]["results"][0]["tasks"] == 8, out["runs"])
    expect(commands("changing", "cnp") == ["train", "eval"], "what was trained was trained as it says")

if __name__ == "__main__":
    sys.exit(run_cases())
