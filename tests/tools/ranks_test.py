#!/usr/bin/env python3
"""Tests of npzoo under MPI launchers, from outside: ranks_test.py PATH_TO_NPZOO. Needs Debian's openmpi-bin or mpich; those
that are not there are skipped."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from cli_support import HERE, PROGRAM, as_json, case, expect, model_hash, run_cases, succeed, write

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAUNCHERS = {name: command for name, command in
             {"Open MPI": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"], "MPICH": ["mpirun.mpich"]}.items()
             if shutil.which(command[0])}
RUN = ["--protocol", "quick/gp1d", "--model", "cnp", "--steps", 30, "--batch", 8, "--threads", 1]
PATIENCE = 120  # s


def start(launcher, size, *arguments, environment=None):
    command = [*LAUNCHERS[launcher], "-n", size, PROGRAM, *arguments]
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True,
                            env={**os.environ, **AS_ROOT, **(environment or {})})


def under(launcher, size, *arguments, environment=None):
    """(exit status, standard output, lines of standard error that are npzoo's)"""
    process = start(launcher, size, *arguments, environment=environment)
    try:
        out, errors = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, out, [line for line in errors.splitlines() if line.startswith("npzoo: ")]


def each_launcher(function):
    def run():
        for launcher in LAUNCHERS:
            function(launcher)

    if LAUNCHERS:
        run.__name__ = function.__name__
        return case(run)
    print(f"skipped {function.__name__.replace('_', ' ')}: neither mpirun.openmpi nor mpirun.mpich is installed")
    return function


def alone():
    out = HERE / "alone"
    if not out.exists():
        as_json("train", "--out", out, *RUN)
    return model_hash(out / "checkpoint.safetensors")


@each_launcher
def any_number_of_ranks_trains_the_same_weights(launcher):
    for size in (1, 2, 3):
        out = HERE / f"{launcher} {size}"
        status, text, errors = under(launcher, size, "train", "--out", out, *RUN, "--json")
        expect(status == 0, launcher, size, errors)
        expect(json.loads(text)["steps"] == 30, text)
        expect(model_hash(out / "checkpoint.safetensors") == alone(), launcher, size, "other weights")


@each_launcher
def an_error_is_one_line_of_one_rank(launcher):
    for arguments, found in ((("train", "--out", HERE / "x", *RUN, "--stps", 3), "--stps"),
                             (("train", "--out", HERE / "x", "--protocol", "none/such", "--model", "cnp"), "none/such"),
                             (("eval", "--checkpoint", "none-such"), "none-such"),
                             (("list", "models"), "as 2 processes, expected one")):
        status, text, errors = under(launcher, 2, *arguments)
        expect(status != 0 and text == "", launcher, arguments, status, text)
        expect(len(errors) == 1 and found in errors[0], launcher, arguments, errors)


BANDIT = """
name = "small/wheel"
description = "for tests"
source = "npzoo"
extends = "tnp/wheel"

[evaluation]
batches = 3
batch_size = 2
rules = { policy = "ucb", width = 1.0, samples = 1, last = 4, ridge = 1.0, over = "orders" }

[[evaluation.tests]]
name = "delta-0.7"
delta = 0.7
context = 0
targets = 12
"""
SEARCH = """
name = "small/bo"
description = "for tests"
source = "npzoo"
extends = "tnp/bo1d"

[evaluation]
batches = 3
batch_size = 2
rules = { steps = 3, acquisition = "ei", repeat = false, fit_every = 0 }
"""


def series():
    rows = [f"{day},{(day * 37 % 101) / 50 + day % 7}" for day in range(400)]
    return write("series.csv", "day,y\n" + "\n".join(rows) + "\n")


def trained(name, *arguments):
    out = HERE / name
    if not out.exists():
        as_json("train", "--out", out, "--steps", 2, "--threads", 1, *arguments)
    return out / "checkpoint.safetensors"


def scored_runs():
    """A small run for each trial, and how it is evaluated."""
    yield trained("scored-cnp", "--protocol", "quick/gp1d", "--model", "cnp", "--batch", 4), ["--batches", 70]
    yield trained("scored-np", "--protocol", "tnp/gp-rbf", "--model", "np", "--batch", 4, "--set", "evaluation.batch_size=4"), ["--batches", 5]
    yield trained("scored-thp", "--protocol", "quick/hawkes", "--model", "thp-plus", "--batch", 4), ["--batches", 20]
    yield trained("scored-wheel", "--protocol", write("wheel.toml", BANDIT), "--model", "cnp"), []
    yield trained("scored-bo", "--protocol", write("bo.toml", SEARCH), "--model", "cnp"), []
    yield (trained("scored-series", "--table", series(), "--time", "day", "--values", "y", "--context", 12, "--horizon", 4,
                   "--model", "taylorformer"), ["--batches", 5])


@each_launcher
def any_number_of_ranks_scores_the_same_figures(launcher):
    for checkpoint, flags in scored_runs():
        alone = succeed("eval", "--checkpoint", checkpoint, *flags, "--json")
        for size, threads in ((2, 1), (3, 2)):
            status, text, errors = under(launcher, size, "eval", "--checkpoint", checkpoint, *flags, "--threads", threads, "--json")
            expect(status == 0 and not errors, launcher, size, errors)
            expect(text == alone, launcher, size, checkpoint, "other figures:", text, "expected", alone)


def table_with_gaps():
    """Groups of several sizes, and one that is large enough to be predicted in tiles."""
    lines = ["group,x,y"]
    for group, rows in (("a", 5), ("b", 30), ("c", 31), ("d", 2500)):
        lines += [f"{group},{i / 10},{'' if i % 5 == 2 else round((i * 29 % 83) / 41 - 1, 3)}" for i in range(rows)]
    return write("gaps.csv", "\n".join(lines) + "\n")


@each_launcher
def any_number_of_ranks_fills_the_same_table(launcher):
    table = table_with_gaps()
    for name, flags in {"plain": ["--quantiles", "0.1,0.9"], "samples": ["--samples", 2, "--samples-out", HERE / "drawn.csv"],
                        "transformed": ["--transform", "auto", "--bounds", "-2,2"], "gp": ["--model", "gp"]}.items():
        flags = [table, "--group", "group", "--inputs", "x", "--values", "y", *flags]
        alone, drawn = HERE / f"{name}.csv", HERE / "drawn.csv"
        succeed("predict", *flags, "--out", alone)
        expected = drawn.read_bytes() if name == "samples" else b""
        for size in (2, 3):
            together = HERE / f"{name} {launcher} {size}.csv"
            status, _, errors = under(launcher, size, "predict", *flags, "--out", together, "--threads", 1)
            expect(status == 0, launcher, name, size, errors)
            expect(together.read_bytes() == alone.read_bytes(), launcher, name, size, "another table")
            expect(name != "samples" or drawn.read_bytes() == expected, launcher, size, "other samples")
    status, _, errors = under(launcher, 2, "predict", "-", "--out", HERE / "never.csv")
    expect(status == 1 and len(errors) == 1 and "expected a file: 2 ranks read it" in errors[0], launcher, errors)


def second_rank_runs(launcher, line):
    """A script that starts the program of its arguments, after a line of shell if it is rank 1."""
    script = HERE / "second"
    rank = "OMPI_COMM_WORLD_RANK" if launcher == "Open MPI" else "PMI_RANK"
    script.write_text(f'#!/bin/sh\n[ "${rank}" = 1 ] && {line}\nexec "$@"\n')
    script.chmod(0o755)
    return script


@each_launcher
def ranks_that_differ_are_named(launcher):
    other = HERE / "other"
    shutil.copy(PROGRAM, other)
    with other.open("ab") as file:
        file.write(b"\0")
    generic = {**os.environ, "NPZOO_ISA": "generic"}
    lines = {f'{{ shift; set -- {other} "$@"; }}': "has the program "}
    if subprocess.run([PROGRAM, "gradcheck", "concat"], env=generic, capture_output=True).returncode == 0:
        lines["export NPZOO_ISA=generic"] = "has the instruction set generic, expected "
    for line, found in lines.items():
        script = second_rank_runs(launcher, line)
        command = [*LAUNCHERS[launcher], "-n", 2, script, PROGRAM, "train", "--out", HERE / "differ", *RUN]
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env={**os.environ, **AS_ROOT})
        errors = [line for line in done.stderr.splitlines() if line.startswith("npzoo: ")]
        expect(done.returncode != 0 and len(errors) == 1 and found in errors[0] and "rank 1 on " in errors[0],
               launcher, done.returncode, done.stderr)


def programs_of(out, count=2):
    """The processes of the ranks that train in `out`."""
    found = subprocess.run(["pgrep", "-f", f"train --out {out}"], capture_output=True, text=True).stdout.split()
    ranks = [pid for pid in map(int, found) if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(PROGRAM)]
    expect(len(ranks) == count, "ranks", ranks, "expected", count)
    return ranks


def wait_for(process, path):
    deadline = time.monotonic() + PATIENCE
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    expect(path.exists(), path, "did not appear")


def small_run(steps):
    return ["--protocol", "quick/gp1d", "--model", "cnp", "--steps", steps, "--batch", 8, "--threads", 1]


def weights_alone(name, steps):
    out = HERE / name
    if not out.exists():
        as_json("train", "--out", out, *small_run(steps))
    return model_hash(out / "checkpoint.safetensors")


@each_launcher
def a_killed_rank_ends_the_job_and_the_run_goes_on_with_another_number(launcher):
    out = HERE / f"killed {launcher}"
    process = start(launcher, 2, "train", "--out", out, *small_run(600), "--checkpoint-every", 10)
    checkpoint = out / "checkpoint.safetensors"
    wait_for(process, checkpoint)
    os.kill(programs_of(out)[1], signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    expect(process.returncode != 0, launcher, process.returncode)
    status, _, errors = under(launcher, 1, "train", "--resume", "--out", out)
    expect(status == 0, launcher, errors)
    expect(model_hash(checkpoint) == weights_alone("whole", 600), launcher, "other weights")


@each_launcher
def a_rank_that_stands_still_ends_the_job(launcher):
    for number in (0, 1):
        out = HERE / f"still {number} {launcher}"
        process = start(launcher, 2, "train", "--out", out, *small_run(100000), "--checkpoint-every", 10, "--stall-timeout", 5)
        wait_for(process, out / "checkpoint.safetensors")
        ranks = programs_of(out)
        os.kill(ranks[number], signal.SIGSTOP)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            for pid in ranks:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        lines = [line for line in errors.splitlines() if line.startswith("npzoo: ")]
        expect(process.returncode != 0 and len(lines) == 1, launcher, process.returncode, errors)
        expect(re.fullmatch(r"npzoo: error: \[ranks\] rank \d on \S+ has stood still for 5 s: the job ends", lines[0]), errors)


@each_launcher
def a_rank_that_stands_still_for_a_while_changes_nothing(launcher):
    out = HERE / f"paused {launcher}"
    process = start(launcher, 2, "train", "--out", out, *small_run(600), "--checkpoint-every", 10, "--stall-timeout", 60)
    wait_for(process, out / "checkpoint.safetensors")
    rank = programs_of(out)[1]
    os.kill(rank, signal.SIGSTOP)
    time.sleep(2)
    os.kill(rank, signal.SIGCONT)
    _, errors = process.communicate(timeout=PATIENCE)
    expect(process.returncode == 0, launcher, errors)
    expect(model_hash(out / "checkpoint.safetensors") == weights_alone("whole", 600), launcher, "other weights")


@each_launcher
def a_rank_that_ends_early_is_no_complete_run(launcher):
    out = HERE / f"early {launcher}"
    script = second_rank_runs(launcher, "exit 0")
    command = [*LAUNCHERS[launcher], "-n", 2, script, PROGRAM, "train", "--out", out, *RUN]
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, **AS_ROOT})
    try:
        text, _ = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:  # the launcher waits for the other rank, which waits in MPI_Init
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
    expect("checkpoint" not in text and not (out / "checkpoint.safetensors").exists(), launcher, text)


@each_launcher
def a_full_disk_ends_all_ranks_in_one_line(launcher):
    size = (HERE / "whole" / "checkpoint.safetensors").stat().st_size if weights_alone("whole", 600) else 0
    disk, kept = HERE / "disk", HERE / f"kept {launcher}"
    disk.mkdir(exist_ok=True)
    command = [*LAUNCHERS[launcher], "-n", 2, PROGRAM, "train", "--out", disk / "run", *small_run(600), "--checkpoint-every", 10]
    script = (f"mount -t tmpfs -o size={size + size // 2} tmpfs {disk} || exit 99\n{shlex.join(map(str, command))}\nstatus=$?\n"
              f"cp {disk}/run/checkpoint.safetensors '{kept}'\nexit $status\n")
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **AS_ROOT})
    if done.returncode == 99 or "unshare" in done.stderr:
        print("skipped: no file system of a fixed size can be mounted here")
        return
    errors = [line for line in done.stderr.splitlines() if line.startswith("npzoo: ")]
    expect(done.returncode == 1 and len(errors) == 1 and "No space left on device" in errors[0], launcher, done.returncode, done.stderr)
    out = HERE / f"more room {launcher}"
    out.mkdir()
    shutil.copy(kept, out / "checkpoint.safetensors")
    status, _, errors = under(launcher, 1, "train", "--resume", "--out", out)
    expect(status == 0 and model_hash(out / "checkpoint.safetensors") == weights_alone("whole", 600), launcher, errors)


@each_launcher
def ranks_take_whole_runs_of_a_table(launcher):
    flags = ["reproduce", "quick/gp1d", "--models", "cnp,tnp-d,tnp-kr-fast", "--steps", 4, "--batches", 2, "--results", HERE / "results"]
    alone = as_json(*flags, "--out", HERE / "runs")
    status, text, errors = under(launcher, 2, *flags, "--out", HERE / f"runs {launcher}", "--threads", 1, "--json")
    expect(status == 0, launcher, errors)
    expect(json.loads(text)["rows"] == alone["rows"], launcher, text)


if __name__ == "__main__":
    sys.exit(run_cases())
