#!/usr/bin/env python3
"""The tour in an environment that has the wheel and nothing else: wheel_tour.py FOLDER

FOLDER holds one wheel. All examples in docstrings run, and the command line's tour."""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def main():
    wheels = list(pathlib.Path(sys.argv[1]).glob("npzoo-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"{len(wheels)} wheels in {sys.argv[1]}, expected one: tools/wheel.sh makes it")
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        run(sys.executable, "-m", "venv", here / "env")
        python = here / "env/bin/python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheels[0])
        alone = {key: value for key, value in os.environ.items() if not key.startswith(("NPZOO_", "PYTHON"))}
        print(run(python, HERE / "python_tour.py", cwd=here, env=alone), end="")
        print(run(sys.executable, HERE / "tour.py", here / "env/bin/npzoo"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
