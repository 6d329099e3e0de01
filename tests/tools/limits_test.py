#!/usr/bin/env python3
"""Tests of the npzoo program where threads or memory are scarce: limits_test.py PATH_TO_NPZOO"""

import functools
import json
import os
import resource
import subprocess
import sys

from cli_support import HERE, PROGRAM, TIMEOUT, as_json, case, expect, fail, metrics, model_hash, run_cases, small_protocol, succeed

MIB = 1 << 20


def limited(*args, prepare):
    """Runs the program in a process that called `prepare` first."""
    return subprocess.run([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=TIMEOUT, preexec_fn=prepare)


def address_space(bytes):
    def prepare():
        resource.setrlimit(resource.RLIMIT_STACK, (8 * MIB, resource.getrlimit(resource.RLIMIT_STACK)[1]))  # of a thread
        resource.setrlimit(resource.RLIMIT_AS, (bytes, bytes))
    return prepare


@functools.cache
def least_space():
    """Returns the memory that the program needs to start; None if it is unbounded, as with an address sanitizer."""
    for bytes in range(64 * MIB, 8192 * MIB, 64 * MIB):
        if limited("devices", "--threads", 1, prepare=address_space(bytes)).returncode == 0:
            return bytes
    print("skipped: this build reserves address space without bound")
    return None


def one_warning(done):
    lines = done.stderr.splitlines()
    expect(done.returncode == 0, "exit status", done.returncode, done.stderr)
    expect(len(lines) == 1 and lines[0].startswith("npzoo: warning: [threads] "), "expected one warning, found", lines)
    return lines[0]


def threads_of(text):
    return json.loads(text)[0]["threads"]


@case
def threads_without_number():
    found = limited("devices", "--threads", 50_000, "--json", prepare=None)
    warning = one_warning(found)
    expect(f"{threads_of(found.stdout)} instead of 50000: more would only wait for the " in warning, warning)
    expect(64 <= threads_of(found.stdout) < 50_000, found.stdout)
    train = ["train", "--protocol", small_protocol(), "--model", "cnp", "--steps", 3, "--batch", 8, "--out"]
    succeed(*train, HERE / "many", "--threads", 50_000)
    succeed(*train, HERE / "one", "--threads", 1)
    expect(model_hash(HERE / "many/checkpoint.safetensors") == model_hash(HERE / "one/checkpoint.safetensors"), "other weights")


@case
def cores_that_the_process_may_use():
    core = min(os.sched_getaffinity(0))
    done = limited("devices", "--json", prepare=lambda: os.sched_setaffinity(0, {core}))
    expect(done.returncode == 0 and done.stderr == "", done.stderr)
    expect(threads_of(done.stdout) == 1, done.stdout)


@case
def few_threads_are_allowed():
    done = limited("devices", "--threads", 8, "--json", prepare=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)))
    if os.geteuid() == 0:  # whom this limit does not bind
        expect(done.returncode == 0 and done.stderr == "" and threads_of(done.stdout) == 8, done.stdout, done.stderr)
    else:
        expect(one_warning(done).endswith(" 1 instead of 8: the system starts no more"), done.stderr)
        expect(threads_of(done.stdout) == 1, done.stdout)


@case
def little_address_space():
    if least_space() is None:
        return
    train = ["train", "--protocol", small_protocol(), "--model", "cnp", "--steps", 3, "--batch", 8, "--threads", 64, "--out"]
    done = limited(*train, HERE / "narrow", prepare=address_space(least_space() + 256 * MIB))
    expect(done.returncode == 0, "exit status", done.returncode, done.stderr)
    warning = done.stderr.splitlines()[0]
    expect(warning.startswith("npzoo: warning: [threads] ") and warning.endswith(" instead of 64: the system starts no more"),
           done.stderr)
    succeed(*train, HERE / "wide")
    expect(model_hash(HERE / "narrow/checkpoint.safetensors") == model_hash(HERE / "wide/checkpoint.safetensors"),
           "other weights")
    expect(metrics(HERE / "narrow") == metrics(HERE / "wide"), "other metrics")


@case
def batches_that_no_memory_can_hold():
    (HERE / "large").mkdir()
    train = ["train", "--protocol", "tnp/gp-rbf", "--model", "cnp", "--steps", 1, "--out", HERE / "large", "--batch"]
    fail(*train, 1_000_000_000, naming=["[memory] a batch of 1000000000 tasks takes ", " bytes or more, expected at most "])
    if least_space() is None:
        return
    for batch, threads in ((1_000_000, 1), (100_000, 1), (100_000, 2)):  # known before, found while it is drawn, or later
        done = limited(*train, batch, "--threads", threads, prepare=address_space(least_space() + 64 * MIB))
        lines = done.stderr.splitlines()
        expect(done.returncode == 1 and lines[-1].startswith("npzoo: error: [memory] "), batch, done.returncode, done.stderr)


if __name__ == "__main__":
    sys.exit(run_cases())
