#!/usr/bin/env python3
"""Tests of npzoo under MPI launchers, from outside: ranks_test.py PATH_TO_NPZOO. Needs Debian's openmpi-bin or mpich; those
that are not there are skipped."""

import json
import os
import shutil
import signal
import subprocess
import time

from cli_support import HERE, PROGRAM, as_json, case, expect, model_hash, run_cases

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
                             (("eval", "--checkpoint", "x"), "started npzoo eval as 2 processes, expected one")):
        status, text, errors = under(launcher, 2, *arguments)
        expect(status != 0 and text == "", launcher, arguments, status, text)
        expect(len(errors) == 1 and found in errors[0], launcher, arguments, errors)


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


@each_launcher
def a_killed_rank_ends_the_job_and_the_run_goes_on_with_another_number(launcher):
    out = HERE / f"killed {launcher}"
    many = [*RUN[:RUN.index("--steps")], "--steps", 600, "--batch", 8, "--threads", 1]
    process = start(launcher, 2, "train", "--out", out, *many, "--checkpoint-every", 10)
    checkpoint = out / "checkpoint.safetensors"
    deadline = time.monotonic() + PATIENCE
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    ranks = subprocess.run(["pgrep", "-f", f"train --out {out}"], capture_output=True, text=True).stdout.split()
    programs = [pid for pid in map(int, ranks) if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(PROGRAM)]
    expect(len(programs) == 2, launcher, programs)
    os.kill(programs[1], signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    expect(process.returncode != 0, launcher, process.returncode)
    status, _, errors = under(launcher, 1, "train", "--resume", "--out", out)
    expect(status == 0, launcher, errors)
    whole = HERE / "whole"
    if not whole.exists():
        as_json("train", "--out", whole, *many)
    expect(model_hash(checkpoint) == model_hash(whole / "checkpoint.safetensors"), launcher, "other weights")


@each_launcher
def a_rank_that_stands_still_ends_the_job(launcher):
    out = HERE / f"still {launcher}"
    process = start(launcher, 2, "train", "--out", out, "--protocol", "quick/gp1d", "--model", "cnp", "--steps", 100000,
                    "--batch", 8, "--threads", 1, "--checkpoint-every", 10, "--stall-timeout", 2)
    deadline = time.monotonic() + PATIENCE
    while not (out / "checkpoint.safetensors").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    ranks = subprocess.run(["pgrep", "-f", f"train --out {out}"], capture_output=True, text=True).stdout.split()
    programs = [pid for pid in map(int, ranks) if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(PROGRAM)]
    expect(len(programs) == 2, launcher, programs)
    os.kill(programs[1], signal.SIGSTOP)
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        for pid in programs:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    expect(process.returncode != 0 and "has waited 2 s for the other ranks" in errors, launcher, errors)


run_cases()
