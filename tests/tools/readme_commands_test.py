#!/usr/bin/env python3
"""The commands of the README run in their order, as they stand but for how long they take: readme_commands_test.py NPZOO README

They run where there is nothing but the program and the examples: no data, no other files of the repository. What would take minutes is made shorter
by the flags below, and what is not npzoo's own is left out; both are printed."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Part of a command: what it becomes here.
SHORTER = {
    "--steps 5000": "--steps 20 --batch 2",
    "--steps 2000": "--steps 20 --batch 2",
    "npzoo eval --checkpoint run/checkpoint.safetensors": "npzoo eval --checkpoint run/checkpoint.safetensors --batches 2",
    "--protocol tnp-kr/bo1d-rbf --batches 1": "--protocol tnp-kr/bo1d-rbf --batches 1 --set evaluation.batch_size=1",
    "--batches 50": "--batches 1 --set evaluation.batch_size=2",
    "npzoo oracle tnp/gp-rbf --tasks 500": "npzoo oracle tnp/gp-rbf --tasks 2",
    "--seeds 0,1": "--seeds 0,1 --steps 2 --batches 1",
    "npzoo bench train-step": "npzoo bench train-step --steps 1 --warmup 0",
    "npzoo bench forward": "npzoo bench forward --steps 1 --warmup 0",
    "--points 100,1e4": "--points 100,300",
    "npzoo bench attention": "npzoo bench attention --queries 64 --repeats 1",
}
# How a command begins: why it is left out.
SKIPPED = {
    "git clone ": "downloads npzoo",
    "tools/": "builds and tests npzoo itself",
    "meson ": "builds npzoo itself",
    "ninja ": "builds npzoo itself",
    "sudo ninja ": "installs npzoo",
}


def commands(readme):
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", readme, re.MULTILINE | re.DOTALL):
        lines = [line for line in block.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
        for line in lines:
            line = line.split(" # ")[0].strip()
            yield line, next((SKIPPED[begin] for begin in SKIPPED if line.startswith(begin)), "")


def main():
    program, readme_path = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    readme = readme_path.read_text()
    unused = set(SHORTER)
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        (here / "bin").mkdir()
        (here / "bin/npzoo").symlink_to(program)
        (here / "work").mkdir()
        (here / "work/examples").symlink_to(readme_path.parent / "examples")
        environment = {**os.environ, "PATH": f"{here / 'bin'}:{os.environ['PATH']}"}
        ran = 0
        for command, reason in commands(readme):
            if reason:
                print(f"skipped, {reason}: {command}")
                continue
            for part, shorter in SHORTER.items():
                if part in command:
                    command = command.replace(part, shorter)
                    unused.discard(part)
            print(command, flush=True)
            done = subprocess.run(["bash", "-c", command], cwd=here / "work", env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                sys.exit(f"exit status {done.returncode} of {shlex.quote(command)}:\n{done.stderr}")
            ran += command.startswith("npzoo ")
        if ran < 20 or unused:
            sys.exit(f"{ran} commands of npzoo, expected at least 20; these shorten nothing any more: {sorted(unused)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
