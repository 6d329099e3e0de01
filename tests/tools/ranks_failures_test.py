#!/usr/bin/env python3
"""Tests of what npzoo does under MPI launchers when something fails: ranks_failures_test.py PATH_TO_NPZOO. Launchers that are not
installed are skipped."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from cli_support import HERE, PROGRAM, expect, metrics, model_hash, run_cases, succeed
from ranks_support import (AS_ROOT, LAUNCHERS, PATIENCE, RUN, SANITIZED, begin, each_launcher, programs_of, result_of, second_rank_runs,
                           small_run, start, under, wait_for, weights_alone)


@each_launcher
def an_error_is_one_line_of_one_rank(launcher):
    for arguments, found in ((("train", "--out", HERE / "x", *RUN, "--stps", 3), "--stps"),
                             (("train", "--out", HERE / "x", "--protocol", "none/such", "--model", "cnp"), "none/such"),
                             (("eval", "--checkpoint", "none-such"), "none-such"),
                             (("list", "models"), "as 2 processes, expected one")):
        status, text, errors = under(launcher, 2, *arguments)
        expect(status != 0 and text == "", launcher, arguments, status, text)
        expect(len(errors) == 1 and found in errors[0], launcher, arguments, errors)


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
        status, _, errors = result_of(begin([*LAUNCHERS[launcher], "-n", 2, script, PROGRAM, "train", "--out", HERE / "differ", *RUN]))
        expect(status != 0 and len(errors) == 1 and found in errors[0] and "rank 1 on " in errors[0], launcher, status, errors)


@each_launcher
def ranks_of_different_protocols_are_named(launcher):
    same = ["train", "--out", HERE / "differ", *RUN]
    other = HERE / "other.toml"
    other.write_text(succeed("info", "quick/gp1d").replace("uniform = [0.25, 0.6]", "uniform = [0.25, 0.7]"))
    expect("uniform = [0.25, 0.7]" in other.read_text(), other.read_text())
    for changed in ([*same, "--seed", 1], [other if word == "quick/gp1d" else word for word in same]):
        command = [*LAUNCHERS[launcher], "-n", 1, PROGRAM, *same, ":", "-n", 1, PROGRAM, *changed]
        status, _, errors = result_of(begin(command))
        expect(status != 0 and len(errors) == 1, launcher, status, errors)
        expect(re.search(r"\[ranks\] rank 1 on \S+ has the protocol, model or weights \S+, expected \S+, as on rank 0", errors[0]), errors)


@each_launcher
def a_signal_saves_a_checkpoint_on_one_rank_and_another_ends_all(launcher):
    out, steps = HERE / f"signal {launcher}", 600
    process = start(launcher, 2, "train", "--out", out, *small_run(steps), "--checkpoint-every", steps)
    checkpoint = out / "checkpoint.safetensors"
    wait_for(process, out / "metrics.jsonl")
    expect(not checkpoint.exists(), launcher, "a checkpoint before the signal")
    process.send_signal(signal.SIGUSR1)
    wait_for(process, checkpoint)
    expect(process.poll() is None, launcher, "SIGUSR1 ended the job")
    process.send_signal(signal.SIGTERM)  # the status is the launcher's: Open MPI returns 1, MPICH any rank's or 0
    _, errors = process.communicate(timeout=PATIENCE)
    expect("npzoo: " not in errors and not is_complete(out, steps), launcher, errors)
    expect(launcher == "Open MPI" or errors.count("interrupted; to continue") == 1, errors)  # it kills the ranks after a second
    status, _, errors = under(launcher, 1, "train", "--resume", "--out", out)
    expect(status == 0, launcher, errors)
    expect(model_hash(checkpoint) == weights_alone(steps), launcher, "other weights")


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
    expect(model_hash(checkpoint) == weights_alone(600), launcher, "other weights")


@each_launcher
def a_rank_that_stands_still_ends_the_job(launcher):
    jobs, ranks = [], []
    try:
        for number in (0, 1):
            out = HERE / f"still {number} {launcher}"
            jobs.append(start(launcher, 2, "train", "--out", out, *small_run(100000), "--checkpoint-every", 10, "--stall-timeout", 5))
            wait_for(jobs[-1], out / "checkpoint.safetensors")
            both = programs_of(out)
            ranks += both
            os.kill(both[number], signal.SIGSTOP)
        for job in jobs:
            _, errors = job.communicate(timeout=PATIENCE)
            lines = [line for line in errors.splitlines() if line.startswith("npzoo: ")]
            expect(job.returncode != 0 and len(lines) == 1, launcher, job.returncode, errors)
            expect(re.fullmatch(r"npzoo: error: \[ranks\] rank \d on \S+ has stood still for 5 s: the job ends", lines[0]), errors)
    finally:
        for pid in ranks:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


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
    expect(model_hash(out / "checkpoint.safetensors") == weights_alone(600), launcher, "other weights")


def run_early_end(launcher, out, line, steps, patience):
    """Runs a job whose second rank does `line`. A launcher may wait for the other rank for ever, which waits for the second."""
    script = second_rank_runs(launcher, line)
    process = begin([*LAUNCHERS[launcher], "-n", 2, script, PROGRAM, "train", "--out", out, *small_run(steps), "--checkpoint-every", 10])
    try:
        process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def is_complete(out, steps):
    return (out / "metrics.jsonl").exists() and any(line["step"] == steps for line in metrics(out))


@each_launcher
def a_rank_that_ends_early_is_no_complete_run(launcher):
    before = HERE / f"early {launcher}"
    run_early_end(launcher, before, "exit 0", 30, 5)
    expect(not is_complete(before, 30) and not (before / "checkpoint.safetensors").exists(), launcher)
    # The rank ends when it has joined and trained; its parent tells the launcher that all is well.
    out, steps = HERE / f"later {launcher}", 600
    checkpoint = out / "checkpoint.safetensors"
    line = f'{{ "$@" & rank=$!; while ! [ -e "{checkpoint}" ]; do sleep 0.05; done; kill -9 $rank; exit 0; }}'
    run_early_end(launcher, out, line, steps, PATIENCE)
    expect(not is_complete(out, steps), launcher, "a complete run")
    status, _, errors = under(launcher, 2, "train", "--resume", "--out", out)
    expect(status == 0 and is_complete(out, steps), launcher, errors)
    expect(model_hash(checkpoint) == weights_alone(steps), launcher, "other weights")


@each_launcher
def a_full_disk_ends_all_ranks_in_one_line(launcher):
    size = (HERE / "alone 600" / "checkpoint.safetensors").stat().st_size if weights_alone(600) else 0
    disk, kept = HERE / "disk", HERE / f"kept {launcher}"
    disk.mkdir(exist_ok=True)
    command = [*LAUNCHERS[launcher], "-n", 2, PROGRAM, "train", "--out", disk / "run", *small_run(600), "--checkpoint-every", 10]
    script = (f"mount -t tmpfs -o size={size + size // 2} tmpfs {disk} || exit 99\n{shlex.join(map(str, command))}\nstatus=$?\n"
              f"cp {disk}/run/checkpoint.safetensors '{kept}'\nexit $status\n")
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **AS_ROOT, **SANITIZED})
    if done.returncode == 99 or "unshare" in done.stderr:
        print("skipped: no file system of a fixed size can be mounted here")
        return
    errors = [line for line in done.stderr.splitlines() if line.startswith("npzoo: ")]
    expect(done.returncode == 1 and len(errors) == 1 and "No space left on device" in errors[0], launcher, done.returncode, done.stderr)
    out = HERE / f"more room {launcher}"
    out.mkdir()
    shutil.copy(kept, out / "checkpoint.safetensors")
    status, _, errors = under(launcher, 1, "train", "--resume", "--out", out)
    expect(status == 0 and model_hash(out / "checkpoint.safetensors") == weights_alone(600), launcher, errors)


if __name__ == "__main__":
    sys.exit(run_cases())
