#!/usr/bin/env bash
# Makes a virtual environment with all that the Python package is built and tested with, unless it is there, and writes the file
# by which Meson finds its Python.
#   tools/python_env.sh FOLDER
set -euo pipefail

folder=$(realpath -m "$1")
packages=(nanobind nanobind-backend numpy pandas xarray polars pyarrow scikit-learn matplotlib pytest)
if ! [ -f "$folder/complete" ]; then
  printf 'python_env: installing %s\n' "${packages[*]}" >&2
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  printf "[binaries]\npython = '%s/bin/python3'\n" "$folder" >"$folder/meson.ini"
  touch "$folder/complete"
fi
