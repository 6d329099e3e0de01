#!/usr/bin/env python3
"""Tests of how the program ends when it is told to: signals_test.py PATH_TO_NPZOO"""

import itertools
import json
import math
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

from cli_support import (HERE, PROGRAM, TIMEOUT, case, expect, fail, metrics, model_hash, predict_args,
                         read_safetensors, run_cases, small_protocol, succeed, trained, write)
from signals_support import mask_of, set_signals, start

STEPS = 4000  # about a second: a test that is held up must not find the run at its end


def train(out):
    return ["train", "--protocol", small_protocol(), "--model", "tnp-d", "--steps", STEPS, "--batch", 4, "--out", HERE / out]


def whole():
    return trained("whole", small_protocol(), steps=STEPS)


def step_of(out):
    return json.loads(read_safetensors(HERE / out / "checkpoint.safetensors")[0]["run"])["step"]


def check_saved(out):
    """It was stopped on the way, and goes on with the same bits."""
    expect(0 < step_of(out) < STEPS, out, "stopped at step", step_of(out))
    process = start("train", "--resume", "--out", HERE / out)
    process.communicate(timeout=TIMEOUT)
    check_whole(out)


def check_whole(out):
    expect(model_hash(HERE / out / "checkpoint.safetensors") == model_hash(whole() / "checkpoint.safetensors"), "other weights")
    expect(metrics(HERE / out) == metrics(whole()), "other metrics")


@case
def each_signal_saves():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with start(*train(number.name)) as process:
            process.stderr.readline()  # printed once some of the way is done
            process.send_signal(number)
            _, errors = process.communicate(timeout=TIMEOUT)
        expect(process.returncode == 130, "exit status", process.returncode, "after", number.name)
        expect(errors.splitlines()[-1].startswith("interrupted; to continue, run npzoo train --resume"), errors)
        check_saved(number.name)


@case
def repeated_requests_to_stop_save_as_well():
    """Linux sends the children of a killed process one SIGTERM for each thread of it."""
    with start(*train("repeated")) as process:
        process.stderr.readline()
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            time.sleep(0.001)
        errors = process.stderr.read()
    # Between its last write and its end a signal does what it does by default.
    expect(process.returncode in (130, -signal.SIGTERM), "exit status", process.returncode, errors)
    expect(not list((HERE / "repeated").glob(".*")), "temporary files left:", list((HERE / "repeated").glob(".*")))
    check_saved("repeated")


@case
def a_run_that_has_ended_refuses_other_flags():
    out = trained("ended", small_protocol(), steps=30)
    before = model_hash(out / "checkpoint.safetensors")
    for flag, value, told in (("--steps", 60, "steps 30, now it is 60"), ("--batch", 9, "batch size 4, now it is 9"),
                              ("--seed", 5, "seed 0, now it is 5"), ("--lr", 0.5, "now it is 0.5")):
        fail("train", "--resume", "--out", out, flag, value, naming=["began with", told, "resume it unchanged or choose another --out"])
    succeed("train", "--resume", "--out", out, "--steps", 30)
    expect(model_hash(out / "checkpoint.safetensors") == before, "other weights")


@case
def the_end_of_its_terminal_saves():
    master, slave = pty.openpty()

    def take_terminal():
        set_signals()
        os.setsid()
        os.close(os.open(os.ttyname(slave), os.O_RDWR))  # the first one opened is a session's own

    arguments = [PROGRAM, *map(str, train("terminal"))]
    with subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal) as process:
        os.close(slave)
        shown = b""
        while b"validation" not in shown:
            shown += os.read(master, 1000)
        os.close(master)
        process.wait(TIMEOUT)
    expect(process.returncode > 0, "exit status", process.returncode)
    check_saved("terminal")


@case
def ignored_signals_stay_ignored():
    ignored = (signal.SIGINT, signal.SIGHUP)  # as in the background of a script under nohup
    with start(*train("ignoring"), ignored=ignored) as process:
        process.stderr.readline()
        if pathlib.Path("/proc/self/status").exists():
            for number in ignored:
                expect(mask_of(process, "SigIgn") & 1 << number - 1, number.name, "is no longer ignored")
        for number in ignored:
            process.send_signal(number)
        process.communicate(timeout=TIMEOUT)
    expect(process.returncode == 0, "exit status", process.returncode)
    check_whole("ignoring")


@case
def a_prediction_that_is_stopped_writes_nothing():
    rows = (f"{group},{day},{'' if day % 2 else math.sin(day / 9 + group)}\n" for group in range(300) for day in range(200))
    table, weights = write("table.csv", "id,day,y\n" + "".join(rows)), trained() / "checkpoint.safetensors"
    files = [write(name, "precious") for name in ("out.csv", "samples.csv")] + [HERE / "new.csv"]
    for number, out in itertools.product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), ("out.csv", "new.csv")):
        before = sorted(HERE.iterdir())
        with start("predict", table, "--group", "id", "--checkpoint", weights, "--threads", 1, "--out", HERE / out, "--samples", 100,
                   "--samples-out", HERE / "samples.csv") as process:
            while not mask_of(process, "SigCgt") & 1 << number - 1 and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(number)
            said, errors = process.communicate(timeout=TIMEOUT)
        expect(process.returncode == 130 and "error" not in errors and not said, "exit status", process.returncode, errors)
        expect(sorted(HERE.iterdir()) == before, "files appeared or went:", set(HERE.iterdir()) ^ set(before))
        expect([path.read_text() for path in files if path.exists()] == 2 * ["precious"], "an old file was lost")


@case
def a_command_that_is_stopped_leaves_no_temporary_file():
    out, before = write("sampled.csv", "precious"), None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before = sorted(HERE.iterdir())
        with start("sample", "quick/gp1d", "--tasks", 20_000, "--out", out, "--threads", 1) as process:
            while sorted(HERE.iterdir()) == before and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(number)
            said, errors = process.communicate(timeout=TIMEOUT)
        expect(process.returncode == 130 and "error" not in errors and not said, "exit status", process.returncode, errors)
        expect(sorted(HERE.iterdir()) == before, "files appeared or went:", set(HERE.iterdir()) ^ set(before))
        expect(out.read_text() == "precious", "an old file was lost")


def unread_pipe():
    """The end to write to of a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


@case
def training_continues_without_a_reader_of_its_progress():
    with unread_pipe() as unread, start(*train("unread"), stdout=subprocess.DEVNULL, stderr=unread) as process:
        process.wait(TIMEOUT)
    expect(process.returncode == 0, "exit status", process.returncode)
    check_whole("unread")


@case
def a_reader_that_leaves_ends_the_program():
    many = write("many.csv", "x\n" + "0.5\n" * 20_000)
    args = [*predict_args()[:-1], "-"]
    args[args.index("--targets") + 1] = many
    for command in (args, ["list", "ops"], ["--help"]):
        for ignored in ((), (signal.SIGPIPE,)):
            with unread_pipe() as unread, start(*command, ignored=ignored, stdout=unread) as process:
                errors = process.stderr.read()
                process.wait(TIMEOUT)
            complaints = [line for line in errors.splitlines() if "error" in line]
            if ignored:
                expect(process.returncode == 1 and len(complaints) == 1, "exit status", process.returncode, errors)
            else:
                expect(process.returncode == -signal.SIGPIPE and not complaints, "exit status", process.returncode, errors)


if __name__ == "__main__":
    sys.exit(run_cases())
