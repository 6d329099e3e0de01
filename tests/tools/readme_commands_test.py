#!/usr/bin/env python3
"""Runs the commands of Markdown files in their order: readme_commands_test.py NPZOO FILE...

Each file runs in a folder of its own, which has the program, the examples, the scripts of the tutorials and collected results: no data, no
other files of the repository. Trainings and other long commands are shortened as listed below, and printed so. Commands that build
or install npzoo are left out.

A block after `<!-- output -->` must be what the commands before it printed or wrote: each line of it, in any order, with numbers
that differ by rounding at most. Lines of `…` stand for others."""

import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Part of a command: what it becomes here.
SHORTER = {
    "--protocol tnp-kr/bo1d-rbf --batches 1": "--protocol tnp-kr/bo1d-rbf --batches 1 --set evaluation.batch_size=1",
    "npzoo bench train-step": "npzoo bench train-step --steps 1 --warmup 0",
    "--steps 200 --batches 20": "--steps 2 --batches 1",
    "npzoo oracle tnp/gp-rbf --tests rbf --tasks 20": "npzoo oracle tnp/gp-rbf --tests rbf --tasks 2",
    "--checkpoint run/checkpoint.safetensors --batches 50": "--checkpoint run/checkpoint.safetensors --batches 2",
}
TRAINING = re.compile(r"(npzoo train .*--steps )\d+")  # becomes a few small updates
EVALUATION = re.compile(r"npzoo eval --checkpoint \w+/checkpoint.safetensors$")  # of few batches
# How a command begins: why it is left out.
SKIPPED = {
    "git clone ": "downloads npzoo",
    "tools/": "builds and tests npzoo itself",
    "meson ": "builds npzoo itself",
    "ninja ": "builds npzoo itself",
    "sudo ninja ": "installs npzoo",
}


BLOCK = re.compile(r"^(<!-- output -->\n)?```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def commands(block):
    lines = [line for line in block.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    for line in lines:
        line = line.split(" # ")[0].strip()
        yield line, next((SKIPPED[begin] for begin in SKIPPED if line.startswith(begin)), "")


def alike(line, other):
    """Whether two lines have the same words, and numbers as another processor may round them."""
    if NUMBER.sub("0", line).split() != NUMBER.sub("0", other).split():
        return False
    pairs = zip(NUMBER.findall(line), NUMBER.findall(other))
    return all(abs(float(a) - float(b)) <= 0.002 + 0.02 * abs(float(a)) for a, b in pairs)


def missing_lines(block, folder, printed):
    """Lines of a block that were neither printed nor written."""
    files = [path for path in folder.iterdir() if path.suffix == ".csv" and path.is_file()]
    known = collections.defaultdict(list)
    for line in "\n".join([printed, *(path.read_text() for path in files)]).splitlines():
        known[NUMBER.sub("0", line).replace(" ", "")].append(line)
    return [line for line in block.splitlines() if line.strip() not in ("", "…") and
            not any(alike(line, other) for other in known[NUMBER.sub("0", line).replace(" ", "")])]


def shortened(command, unused):
    for part, shorter in SHORTER.items():
        if part in command:
            command = command.replace(part, shorter)
            unused.discard(part)
    command = TRAINING.sub(r"\g<1>10 --batch 2", command)
    return f"{command} --batches 1" if EVALUATION.search(command) else command


def run_file(path, program, unused):
    """Returns how many commands of npzoo ran."""
    ran = 0
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        (here / "bin").mkdir()
        (here / "bin/npzoo").symlink_to(program)
        (here / "work/docs").mkdir(parents=True)
        (here / "work/examples").symlink_to(ROOT / "examples")
        (here / "work/docs/tutorials").symlink_to(ROOT / "docs/tutorials")
        (here / "work/perf/results").mkdir(parents=True)
        shutil.copy(ROOT / "perf/results/tnp-gp-rbf.json", here / "work/perf/results")
        environment = {**os.environ, "PATH": f"{here / 'bin'}:{os.environ['PATH']}"}
        printed = ""
        for output, language, block in BLOCK.findall(path.read_text()):
            if output and (lines := missing_lines(block, here / "work", printed)):
                sys.exit(f"{path}: npzoo neither prints nor writes these lines:\n{chr(10).join(lines)}")
            for command, reason in commands(block) if language in ("sh", "console") else ():
                if reason:
                    print(f"skipped, {reason}: {command}")
                    continue
                command = shortened(command, unused)
                print(command, flush=True)
                done = subprocess.run(["bash", "-c", command], cwd=here / "work", env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
                if done.returncode != 0:
                    sys.exit(f"{path}: exit status {done.returncode} of {shlex.quote(command)}:\n{done.stdout}")
                printed += done.stdout
                ran += command.startswith("npzoo ")
    return ran


def main():
    program, *paths = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    unused = set(SHORTER)
    ran = sum(run_file(path, program, unused) for path in paths)
    if ran < 40 or unused:
        sys.exit(f"{ran} commands of npzoo, expected at least 40; these shorten nothing any more: {sorted(unused)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
