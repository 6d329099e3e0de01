#!/usr/bin/env python3
"""The tour in an environment that has the wheel and nothing else: wheel_tour.py FOLDER

FOLDER holds a wheel of npzoo and one of further weights. All examples in docstrings run, and the command line's tour. Then the
other wheel is installed: before that, its weights are refused with its name."""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ELSEWHERE = "cnp:tnp/gp-rbf"  # of the other wheel


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def one(pattern):
    """The only wheel of a pattern in the folder."""
    wheels = list(pathlib.Path(sys.argv[1]).glob(pattern))
    if len(wheels) != 1:
        sys.exit(f"{len(wheels)} wheels {pattern} in {sys.argv[1]}, expected one: tools/wheel.sh makes it")
    return wheels[0]


def check_weights(program, python, further, **options):
    """Names of the other wheel are refused with its name until it is installed. Then they load, and those of the first wheel still do."""
    done = subprocess.run([program, "info", ELSEWHERE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 1 or further.name not in done.stderr or len(done.stderr.splitlines()) != 1:
        sys.exit(f"npzoo info {ELSEWHERE}: exit status {done.returncode}, {done.stderr!r}, expected a line that names {further.name}")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", further)
    for name in (ELSEWHERE, "kriging-tnp:npzoo/any-1d"):
        run(program, "info", name, **options)
    found = run(program, "list", "weights", **options)
    missing = [name for name in all_weights() if name not in found]
    if missing:
        sys.exit(f"{missing} of the sources are in neither wheel")


def all_weights():
    root = HERE.parents[1] / "weights"
    return [f"{path.stem}:{path.parent.relative_to(root)}" for path in root.rglob("*.safetensors")]


def main():
    wheel, further = one("npzoo-*.whl"), one("npzoo_weights-*.whl")
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        run(sys.executable, "-m", "venv", here / "env")
        python = here / "env/bin/python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        alone = {key: value for key, value in os.environ.items() if not key.startswith(("NPZOO_", "PYTHON"))}
        print(run(python, HERE / "python_tour.py", cwd=here, env=alone), end="")
        print(run(sys.executable, HERE / "tour.py", here / "env/bin/npzoo"), end="")
        check_weights(here / "env/bin/npzoo", python, further, cwd=here, env=alone)
    return 0


if __name__ == "__main__":
    sys.exit(main())
