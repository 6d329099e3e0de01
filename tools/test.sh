#!/usr/bin/env bash
# Installs what is missing, builds and tests what g++ and this processor's best instruction set can show.
#   tools/test.sh [--all] [--compiler COMPILER] [--sanitize address,undefined|thread] [--guard] [SUITE…]
# --all: also the other instruction sets, the emulated GPU, kernels for real ones and, unless another option or a suite is given,
# clang++. Suites: engine ops datasets models tools python compilers. The suite python needs packages of PyPI, in build-python.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build compiler= all= options=() suites=() patience=1
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=1 ;;
    --compiler) compiler=$2; build+=-$2; shift ;;
    --sanitize)
      build+=-${2//,/-} patience=5
      options+=("-Db_sanitize=$2" -Db_lundef=false --buildtype=debugoptimized); shift ;;
    --guard) build+=-guard; options+=(-Dguard=true) ;;
    -*) sed -n '2,5s/^# *//p' "$0" >&2; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done

export NPZOO_TEST_SLOWNESS=${NPZOO_TEST_SLOWNESS:-$patience}  # how many times as long a test waits for other processes
status=0 logs=()
# Options for the Python package. Not with sanitizers, which would have to be loaded before Python.
with_python=()
prepare_python() {
  case $build in *-address* | *-thread* | *-undefined* | *-guard*) return ;; esac
  tools/python_env.sh build-python || { status=1; return; }
  with_python=(--native-file=build-python/meson.ini -Dpython=enabled)
}
# Builds with $compiler and the options up to -- in $1, unless it is there, and tests with the flags that follow.
run() {
  local build=$1 setup=(); shift
  while [ "$1" != -- ]; do setup+=("$1"); shift; done
  shift
  local log=$build/meson-logs/testlog.json
  logs+=("$log")
  rm -f "$log"
  [ -f "$build/build.ninja" ] || env ${compiler:+CXX="$compiler"} meson setup "$build" "${setup[@]}" >/dev/null
  meson test -C "$build" --timeout-multiplier $patience --print-errorlogs "$@" || status=$?
}

if [ -z "$all" ]; then
  tools/setup.sh cmake ${compiler:+"${compiler/clang++/clang}"}
  prepare_python
  run "$build" "${options[@]}" "${with_python[@]}" -Dcuda=disabled -Demulator=disabled -Disas=only-native -Doptimization=1 -- --no-suite=more "${suites[@]/#/--suite=}"
else
  clang=$([ "$build" != build ] || [ ${#suites[@]} -gt 0 ] || echo clang)
  tools/setup.sh cmake openmpi-bin mpich ${compiler:+"${compiler/clang++/clang}"} $clang
  # Here kernels for real GPUs are compiled to find errors and not to be fast.
  if nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) && "$nvcc" --help | grep -q -- --Ofast-compile; then
    export NVCC_APPEND_FLAGS=--Ofast-compile=max
  fi
  prepare_python
  run "$build-all" "${options[@]}" "${with_python[@]}" -Doptimization=1 -- "${suites[@]/#/--suite=}"
  if [ "$clang" ]; then
    compiler=clang++
    run build-clang++ -Dcuda=disabled -Demulator=disabled -Disas=only-native -Doptimization=1 -- --suite=compilers
  fi
fi
python3 tools/test_summary.py "${logs[@]}" || status=1
exit "$status"
