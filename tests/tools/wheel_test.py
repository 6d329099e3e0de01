#!/usr/bin/env python3
"""Tests of tools/wheel.sh with stand-ins for Python and its packages: wheel_test.py WHEEL.SH"""

import os
import pathlib
import subprocess
import sys
import tempfile

# `python -m venv FOLDER` copies this there. Its pip knows no -C before it is upgraded, as that of Python 3.10.
PYTHON = """#!/bin/bash
here=$(dirname "$0")
case "$*" in
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$here/auditwheel" "$3/bin/" ;;
  "-m pip install "*" --upgrade pip "*) echo noise of pip; touch "$here/upgraded" ;;
  "-m pip wheel "*)
    case "$*" in *" -C"*) [ -e "$here/upgraded" ] || { echo 'no such option: -C' >&2; exit 2; } ;; esac
    echo "$*" >"$LOG"
    while [ "$1" != -w ]; do shift; done
    mkdir "$2"; touch "$2/npzoo-1-linux.whl" ;;
  *split_wheel.py*)
    [ -e "$2" ] || exit 1
    mkdir "$3"; for name in npzoo-1-manylinux.whl npzoo_weights-1-any.whl; do touch "$3/$name"; echo "$3/$name"; done ;;
  *) echo "python $*" >&2; exit 1 ;;
esac
"""
AUDITWHEEL = """#!/bin/bash
echo noise of auditwheel
while [ "$1" != -w ]; do shift; done
[ -e "$3" ] && mkdir "$2" && touch "$2/npzoo-1-manylinux.whl"
"""


def main():
    script = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        for program, text in {"python3": PYTHON, "auditwheel": AUDITWHEEL}.items():
            (here / program).write_text(text)
            (here / program).chmod(0o755)
        (here / "out").mkdir()
        for old in ("npzoo-0-manylinux.whl", "npzoo_weights-0-any.whl"):
            (here / "out" / old).touch()
        done = subprocess.run([script, "out", "-Csetup-args=-Disas=native"], cwd=here, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "PYTHON": here / "python3", "LOG": here / "log"})
        expected = "".join(f"{here.resolve()}/out/{wheel}\n" for wheel in ("npzoo_weights-1-any.whl", "npzoo-1-manylinux.whl"))
        if done.returncode != 0 or done.stdout != expected or "noise of" not in done.stderr:
            sys.exit(f"exit status {done.returncode}, {done.stdout!r}, {done.stderr!r}, expected {expected!r} on standard output")
        if " -Csetup-args=-Disas=native " not in (log := (here / "log").read_text()):
            sys.exit(f"pip {log}, expected the option")
        found = sorted(path.name for path in (here / "out").iterdir())
        if found != ["npzoo-0-manylinux.whl", "npzoo-1-manylinux.whl", "npzoo_weights-0-any.whl", "npzoo_weights-1-any.whl"]:
            sys.exit(f"{found} in the folder, expected both wheels beside the older ones")
    return 0


if __name__ == "__main__":
    sys.exit(main())
