#!/usr/bin/env bash
# Installs what is missing, builds and tests what g++ and this processor's best instruction set can show, without the suite `more`.
#   tools/test.sh [--all [--arm] [--paired]] [--compiler COMPILER] [--sanitize address,undefined|thread] [--guard] [SUITE…]
# --all: `more`, what users install (the default build, the wheel, the Debian package, the site, the quick start), the other instruction sets, kernels
# for GPUs, clang++ and the emulated GPU. With --arm, also a build for 64-bit Arm by an emulator (Debian on x86-64 alone). With --paired, also
# the processor time of common commands against the last tag (perf/paired.py). Suites: engine ops datasets models tools python compilers
# emulated tour. The suite python needs packages of PyPI, in build-python.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build compiler= sanitize= all= arm= paired= special= options=() suites=() packages=() patience=1
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=1 ;;
    --arm) arm=1 ;;
    --paired) paired=1 ;;
    --compiler) compiler=$2 build+=-$2 special=1; packages+=("${2/clang++/clang}"); shift ;;
    --sanitize)
      # Optimised code: what is found there is what users run.
      sanitize=$2 build+=-${2//,/-} patience=5 special=1
      options+=("-Db_sanitize=$2" -Db_lundef=false --buildtype=debugoptimized -Doptimization=2); shift ;;
    --guard) build+=-guard special=1; options+=(-Dguard=true) ;;
    -*) sed -n '2,7s/^# *//p' "$0" >&2; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done

[ -z "$sanitize" ] || [[ $compiler != clang* ]] || packages+=("${compiler/clang++/libclang-rt}-dev")
export NPZOO_TEST_SLOWNESS=${NPZOO_TEST_SLOWNESS:-$patience}  # how many times as long a test waits for other processes
quick=--native-file=tools/quick.ini
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
  SECONDS=0
  [ -f "$build/build.ninja" ] || env ${compiler:+CXX="$compiler"} meson setup "$build" "${setup[@]}" >/dev/null
  # One program more than processors: some wait for others most of the time.
  meson test -C "$build" --num-processes $(($(nproc) + 1)) --timeout-multiplier $patience --print-errorlogs "$@" || status=$?
  printf 'test: %s took %d s\n' "$build" "$SECONDS" >&2
}
# Notes the result of what Meson does not run: OK, FAIL or SKIP.
note() {
  logs+=("build-all/meson-logs/${1//\//-}.json")
  printf '{"name": "%s", "result": "%s"}\n' "$1" "$2" >"${logs[-1]}"
  printf 'test: %s took %d s\n' "$1" "$SECONDS" >&2
}
# The pages of the documentation, whose warnings are errors. One processor makes them, beside the build that follows.
begin_site() { tools/docs.sh build-all >/dev/null & site=$!; }
end_site() {
  SECONDS=0
  if wait "$site"; then note site OK; else note site FAIL; status=1; fi
}
# Another processor, by a cross-compiler and an emulator of Debian.
run_arm() {
  local log=build-arm/meson/meson-logs/testlog.json result=0
  rm -f "$log"
  SECONDS=0
  OPTIONS=-Doptimization=1 NPZOO_REFERENCE=$PWD/build-all/tools/npzoo tools/arm.sh --test || result=$?
  if [ $result -eq 77 ]; then  # its packages cannot be downloaded
    note build-arm SKIP
  else
    logs+=("$log") status=$((status ? status : result))
    printf 'test: build-arm took %d s\n' "$SECONDS" >&2
  fi
}
# The processor time of common commands against the last tag.
run_paired() {
  SECONDS=0
  if [ -z "$(git describe --tags --abbrev=0 2>/dev/null)" ]; then
    printf 'test: there is no tag, so perf/paired.py has nothing to compare with\n' >&2
    note perf/paired.py SKIP
  elif perf/paired.py; then
    note perf/paired.py OK
  else
    note perf/paired.py FAIL
  fi
}

if [ -z "$all" ]; then
  tools/setup.sh cmake "${packages[@]}"
  prepare_python
  run "$build" "$quick" "${options[@]}" "${with_python[@]}" -- --no-suite=more "${suites[@]/#/--suite=}"
elif [ "$special" ]; then
  tools/setup.sh cmake openmpi-bin mpich "${packages[@]}"
  prepare_python
  run "$build-all" -Demulator=enabled -Doptimization=1 "${options[@]}" "${with_python[@]}" -- "${suites[@]/#/--suite=}"
else
  tools/setup.sh cmake openmpi-bin mpich clang dpkg-dev mmdebstrap
  # Here kernels for real GPUs are compiled to find errors and not to be fast.
  if nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) && "$nvcc" --help | grep -q -- --Ofast-compile; then
    export NVCC_APPEND_FLAGS=--Ofast-compile=max
  fi
  prepare_python
  # The tests run on the objects of which pip makes the wheel and tools/deb.sh the Debian packages.
  if [ ${#with_python[@]} -gt 0 ]; then
    rm -rf build-all/wheel
    SECONDS=0
    MESON=$(command -v meson) ENVIRONMENT=build-python tools/wheel.sh build-all/wheel \
      --config-settings=build-dir="$PWD/build-all" --config-settings=setup-args=-Dtests=true \
      --config-settings=setup-args=-Dcuda=auto >/dev/null || status=1
    printf 'test: the wheel took %d s\n' "$SECONDS" >&2
  fi
  run build-all -- "${suites[@]/#/--suite=}"
  if [ ${#suites[@]} -eq 0 ]; then
    begin_site
    # The quick start by the other compiler: g++ builds it in each `tools/test.sh`.
    compiler=clang++
    run build-clang++ "$quick" -Demulator=enabled -- --suite=tour --suite=compilers --suite=emulated
    end_site
    [ -z "$arm" ] || [ "$(uname -m)" != x86_64 ] || ! grep -qsx 'ID=debian' /etc/os-release || run_arm
    [ -z "$paired" ] || run_paired
  fi
fi
python3 tools/test_summary.py "${logs[@]}" || status=1
exit "$status"
