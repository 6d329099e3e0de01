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
        (here / "out/npzoo-0-manylinux.whl").touch()  # an older one
        done = subprocess.run([script, "out", "-Csetup-args=-Disas=native"], cwd=here, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "PYTHON": here / "python3", "LOG": here / "log"})
        if done.returncode != 0 or done.stdout != f"{here.resolve()}/out/npzoo-1-manylinux.whl\n" or "noise of" not in done.stderr:
            sys.exit(f"exit status {done.returncode}, {done.stdout!r}, {done.stderr!r}, expected the wheel's path on standard output")
        if " -Csetup-args=-Disas=native " not in (log := (here / "log").read_text()):
            sys.exit(f"pip {log}, expected the option")
        if not (here / "out/npzoo-1-manylinux.whl").exists():
            sys.exit("the wheel is not in its folder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
