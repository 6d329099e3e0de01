#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests; then, with clang++, those that every compiler has to pass.
#   tools/test.sh [--compiler COMPILER] [--sanitize address,undefined|thread] [--guard] [SUITE…]
# With an option or a suite there is one build. Suites: engine ops datasets models tools compilers
set -euo pipefail
cd "$(dirname "$0")/.."

build=build compiler= options=() suites=() patience=1 everything=$#
while [ $# -gt 0 ]; do
  case $1 in
    --compiler) compiler=$2; build+=-$2; shift ;;
    --sanitize)
      build+=-${2//,/-} patience=5
      options+=("-Db_sanitize=$2" -Db_lundef=false --buildtype=debugoptimized); shift ;;
    --guard) build+=-guard; options+=(-Dguard=true) ;;
    -*) sed -n '2,4s/^# *//p' "$0" >&2; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done

status=0 logs=()
# Builds with $compiler and $options in $1 and tests the suites that follow, or all.
run() {
  local build=$1; shift
  local log=$build/meson-logs/testlog.json
  logs+=("$log")
  rm -f "$log"
  [ -f "$build/build.ninja" ] || env ${compiler:+CXX="$compiler"} meson setup "$build" "${options[@]}" >/dev/null
  meson test -C "$build" --timeout-multiplier $patience --print-errorlogs "${@/#/--suite=}" || status=$?
}

if [ "$everything" -eq 0 ]; then
  tools/setup.sh clang
  run "$build"
  # Each file alone, so that a missing include is found.
  compiler=clang++ options=(-Dcuda=disabled -Demulator=disabled -Dunity=off)
  run "$build-$compiler" compilers
else
  tools/setup.sh ${compiler:+"${compiler/clang++/clang}"}
  run "$build" "${suites[@]}"
fi
python3 tools/test_summary.py "${logs[@]}" || status=1
exit "$status"
