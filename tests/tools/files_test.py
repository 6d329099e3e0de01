#!/usr/bin/env python3
"""Tests of the files that commands write, and of those they must not: files_test.py PATH_TO_NPZOO"""

import os
import resource
import shutil
import stat
import subprocess
import sys

from cli_support import (CONTEXT, HERE, PROGRAM, TARGETS, TIMEOUT, case, check_error, checkpoint, expect, fail, npzoo, run_cases,
                         small_protocol, snapshot, succeed, trained, write)


def scores():
    path = HERE / "scores.json"
    if not path.exists():
        write(path.name, succeed("eval", "--checkpoint", checkpoint(), "--batches", 2, "--json"))
    return path


def tables():
    return [write("context.csv", CONTEXT), write("targets.csv", TARGETS)]


def predict_args(out, at=None, context=None, targets=None):
    default_context, default_targets = tables()
    return ["predict", "--checkpoint", at or checkpoint(), "--context", context or default_context, "--targets",
            targets or default_targets, "--out", out]


def other_names(path):
    """One file, called in every way."""
    names = HERE / "names"
    shutil.rmtree(names, ignore_errors=True)
    names.mkdir()
    (names / "symbolic").symlink_to(path)
    (names / "symbolic twice").symlink_to("symbolic")
    os.link(path, names / "hard")
    return [path, f"{path.parent}/./{path.name}", f"{names}/../{path.relative_to(HERE)}", *sorted(names.iterdir())]


@case
def inputs_are_not_overwritten():
    context, targets = tables()
    path, evaluation = checkpoint(), scores()
    read_by = {
        path: [["export", "--checkpoint", path, "--evaluation", evaluation, "--out"], predict_args("")[:-1],
               [*predict_args(HERE / "out.csv"), "--plot"], ["plot", "--checkpoint", path, "--out"], ["plot", "--grid", path, "--out"],
               [*predict_args(HERE / "out.csv"), "--samples", 2, "--samples-out"]],
        evaluation: [["export", "--checkpoint", path, "--evaluation", evaluation, "--out"]],
        context: [predict_args("")[:-1], [*predict_args(HERE / "out.csv"), "--plot"],
                  ["stream", *predict_args("")[1:-1]]],
        targets: [predict_args("")[:-1], [*predict_args(HERE / "out.csv"), "--plot"],
                  ["stream", *predict_args("")[1:-1]]],
        small_protocol(): [["plot", "--checkpoint", path, "--protocol", small_protocol(), "--out"]],
    }
    for file, commands in read_by.items():
        for name in other_names(file):
            for command in commands:
                fail(*command, name, naming=[f"{command[-1]} {name} is --", "as well, expected another file"])


@case
def the_evaluation_beside_a_checkpoint_is_read_as_well():
    directory = HERE / "beside"
    shutil.copytree(trained(), directory)
    shutil.copy(scores(), directory / "evaluation.json")
    fail("export", "--checkpoint", directory / "checkpoint.safetensors", "--out", directory / "evaluation.json",
         naming=["--evaluation"])


@case
def standard_output_may_be_a_file_that_is_read():
    context, targets = tables()
    for flag, path in (("--context", context), ("--targets", targets)):
        before = snapshot()
        with open(path, "a") as out:
            done = npzoo(*predict_args("-"), stdout=out)
        check_error(done, f"--out - is {flag} as well")
        expect(snapshot() == before, flag, "was written to")


@case
def a_state_of_training_is_never_replaced():
    other = trained("other", steps=2) / "checkpoint.safetensors"
    link = HERE / "latest"
    link.symlink_to(other)
    for out in (other, link):
        for command in (["export", "--checkpoint", checkpoint(), "--evaluation", scores(), "--out"], predict_args("")[:-1],
                        [*predict_args(HERE / "out.csv"), "--plot"], ["plot", "--checkpoint", checkpoint(), "--out"],
                        ["stream", *predict_args("")[1:-1]]):
            fail(*command, out, naming=[out, "holds a state of training"])
    out = HERE / "exported.safetensors"
    for _ in range(2):  # weights may be replaced
        succeed("export", "--checkpoint", checkpoint(), "--evaluation", scores(), "--out", out)


@case
def two_outputs_are_two_files():
    (HERE / "to out").symlink_to("none.svg")
    for name in ("none.svg", "./none.svg", "to out"):
        for flag in (["--plot"], ["--samples", 2, "--samples-out"]):
            fail(*predict_args(HERE / "none.svg"), *flag, f"{HERE}/{name}", naming=[flag[-1], "is --out as well"])


@case
def weights_to_standard_output():
    export = ["export", "--checkpoint", checkpoint(), "--evaluation", scores(), "--out"]
    said = succeed(*export, HERE / "weights.safetensors")
    expected = (HERE / "weights.safetensors").read_bytes()
    expect(said == f"{HERE}/weights.safetensors: {len(expected)} bytes\n", said)
    done = subprocess.run([PROGRAM, *map(str, export), "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
    expect(done.returncode == 0 and not done.stderr, "exit status", done.returncode, done.stderr)
    expect(done.stdout == expected, len(done.stdout), "bytes on standard output,", len(expected), "in the file")
    fail(*export, "-", "--json", naming=["--json", "--out -"])


@case
def modes_and_links_are_kept():
    out = write("private.csv", "old")
    out.chmod(0o600)
    succeed(*predict_args(out))
    expect(stat.S_IMODE(out.stat().st_mode) == 0o600, oct(out.stat().st_mode))
    text = out.read_text()
    out.chmod(0o444)
    fail(*predict_args(out), naming=["private.csv", "read-only"])
    link = HERE / "dangling.csv"
    link.symlink_to("made.csv")
    succeed(*predict_args(link))
    expect(link.is_symlink() and (HERE / "made.csv").read_text() == text, "the link's target has the predictions")


@case
def long_names():
    for length in (244, 255):
        out = HERE / ("n" * (length - 4) + ".csv")
        succeed(*predict_args(out))
        expect(out.stat().st_size > 0, length)
        out.unlink()
    fail(*predict_args(HERE / ("n" * 256)), naming=["File name too long"])


@case
def a_limit_on_the_size_of_files():
    old = write("small.safetensors", "old")
    args = ["export", "--checkpoint", checkpoint(), "--evaluation", scores(), "--out", old]
    before = snapshot()
    done = subprocess.run([PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    check_error(done, old, "File too large")
    expect(snapshot() == before, "files were written or changed")


@case
def a_training_finds_at_once_that_it_cannot_save():
    directory = HERE / "locked"
    shutil.copytree(trained(), directory)
    (directory / "checkpoint.safetensors").chmod(0o444)
    fail("train", "--resume", "--out", directory, naming=["checkpoint.safetensors", "read-only"])


if __name__ == "__main__":
    sys.exit(run_cases())
