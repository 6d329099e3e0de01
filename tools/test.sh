#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests.
#   tools/test.sh [--sanitize address,undefined|thread] [--guard] [SUITE…]     suites: engine ops datasets models tools
set -euo pipefail
cd "$(dirname "$0")/.."

build=build options=() suites=()
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) build+=-${2//,/-}; options+=("-Db_sanitize=$2" -Db_lundef=false --buildtype=debugoptimized); shift ;;
    --guard) build+=-guard; options+=(-Dguard=true) ;;
    -*) sed -n '2,3s/^# *//p' "$0" >&2; exit 2 ;;
    *) suites+=(--suite "$1") ;;
  esac
  shift
done

tools/setup.sh
[ -f "$build/build.ninja" ] || meson setup "$build" "${options[@]}" >/dev/null
status=0
meson test -C "$build" --print-errorlogs "${suites[@]}" || status=$?
python3 tools/test_summary.py "$build/meson-logs/testlog.json" || status=1
exit "$status"
