"""Shared by the tests under MPI launchers: Debian's openmpi-bin and mpich, where they are installed."""

import os
import shutil
import signal
import subprocess
import time

from cli_support import HERE, PROGRAM, as_json, case, expect, model_hash

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Under the address sanitizer: MPI libraries leave memory behind, in parts that they have unloaded by then. Under the thread
# sanitizer: UCX watches system calls of threads that have ended for it.
SANITIZED = {"ASAN_OPTIONS": ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"))), "UCX_MEM_EVENTS": "no"}
LAUNCHERS = {name: command for name, command in
             {"Open MPI": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"], "MPICH": ["mpirun.mpich"]}.items()
             if shutil.which(command[0])}
PATIENCE = 120 * float(os.environ.get("NPZOO_TEST_SLOWNESS", 1))  # s


def small_run(steps):
    return ["--protocol", "quick/gp1d", "--model", "cnp", "--steps", steps, "--batch", 8, "--threads", 1]


RUN = small_run(30)


def begin(command, environment=None):
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True, env={**os.environ, **AS_ROOT, **SANITIZED, **(environment or {})})


def result_of(process):
    """(exit status, standard output, lines of standard error that are npzoo's)"""
    try:
        out, errors = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, out, [line for line in errors.splitlines() if line.startswith("npzoo: ")]


def start(launcher, size, *arguments, environment=None):
    return begin([*LAUNCHERS[launcher], "-n", size, PROGRAM, *arguments], environment)


def under(launcher, size, *arguments, environment=None):
    return result_of(start(launcher, size, *arguments, environment=environment))


def each_launcher(function):
    def run():
        for launcher in LAUNCHERS:
            function(launcher)

    if LAUNCHERS:
        run.__name__ = function.__name__
        return case(run)
    print(f"skipped {function.__name__.replace('_', ' ')}: neither mpirun.openmpi nor mpirun.mpich is installed")
    return function


def weights_alone(steps):
    """Of one process."""
    out = HERE / f"alone {steps}"
    if not out.exists():
        as_json("train", "--out", out, *small_run(steps))
    return model_hash(out / "checkpoint.safetensors")


def second_rank_runs(launcher, line):
    """A script that starts the program of its arguments, after a line of shell if it is rank 1."""
    script = HERE / "second"
    rank = "OMPI_COMM_WORLD_RANK" if launcher == "Open MPI" else "PMI_RANK"
    script.write_text(f'#!/bin/sh\n[ "${rank}" = 1 ] && {line}\nexec "$@"\n')
    script.chmod(0o755)
    return script


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
