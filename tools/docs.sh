#!/bin/sh
# Builds the documentation site: tools/docs.sh [BUILD_FOLDER [NPZOO]]
#
# BUILD_FOLDER (default: build) holds the program, or NPZOO is its path. The site is then BUILD_FOLDER/docs/html/index.html.
# PAGE=FOLDER adds the page of tools/web.sh as html/try/. Warnings are errors.
# Needs python3 with venv and, for the first time, the network.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
npzoo=${2:-$build/tools/npzoo}
[ -x "$npzoo" ] || { echo "docs: $npzoo not found, expected the program; build it or name another: tools/docs.sh $build NPZOO" >&2; exit 1; }

venv=$build/docs/venv
if ! cmp -s docs/requirements.txt "$venv/requirements.txt"; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r docs/requirements.txt
  cp docs/requirements.txt "$venv/requirements.txt"
fi
"$venv/bin/python" docs/generate.py "$npzoo" "$build/docs/source"
NPZOO_ROOT=$PWD "$venv/bin/sphinx-build" ${PAGE:+-t page} --quiet -W --keep-going -n -b html -d "$build/docs/doctrees" "$build/docs/source" "$build/docs/html"
[ -z "${PAGE:-}" ] || { rm -rf "$build/docs/html/try" && cp -r "$PAGE" "$build/docs/html/try"; }
echo "$build/docs/html/index.html"
