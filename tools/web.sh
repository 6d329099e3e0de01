#!/usr/bin/env bash
# Builds the page that predicts tables in a browser, or tests it in headless Chromium against the program:
#   tools/web.sh FOLDER
#   tools/web.sh --test FOLDER NPZOO [SCREENSHOTS]
#   FOLDER/index.html is the page. Serve the folder by any web server, such as python3 -m http.server -d FOLDER.
#   BUILD=build-web keeps what is compiled. Needs Emscripten 3.1.69 or newer (em++ in PATH; Debian 13 has it), Meson, ninja and the
#   headers of fmt, nlohmann_json, toml++, Random123, Eigen, nanoflann, Boost, xxHash and CLI11 below /usr/include or INCLUDES.
set -euo pipefail

usage() { sed -n '2,7s/^# *//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
if [ "${1:-}" = --test ]; then
  [ $# -eq 3 ] || [ $# -eq 4 ] || usage
  shift
  exec python3 "$root/tests/web/browser_test.py" "$@"
fi
[ $# -eq 1 ] || usage
case $1 in -*) usage ;; esac
folder=$1 build=${BUILD:-build-web} includes=${INCLUDES:-/usr/include}
version=$(em++ --version 2>/dev/null | grep -om1 '[0-9][0-9.]*[0-9]') || version=none
printf '%s\n' 3.1.69 "$version" | sort -VC && [ "$version" != none ] ||
  { echo "web.sh: Emscripten $version found in PATH, expected 3.1.69 or newer" >&2; exit 1; }

mkdir -p "$build/headers" "$build/pkgconfig"
build=$(cd "$build" && pwd)
# Links to these headers alone: beside them lie the headers of this system's C library, which are not for WebAssembly.
for header in fmt nlohmann toml++ Random123 eigen3 nanoflann.hpp boost xxhash.h xxh3.h CLI; do
  ln -sfn "$includes/$header" "$build/headers/$header"
done
for package in fmt:10.0.0 nlohmann_json:3.11.0 libxxhash:0.8.0 CLI11:2.3.0; do
  printf 'Name: %s\nDescription: headers alone\nVersion: %s\n' \
    "${package%:*}" "${package#*:}" >"$build/pkgconfig/${package%:*}.pc"
done
printf "[constants]\nheaders = '%s'\npackages = '%s'\n" "$build/headers" "$build/pkgconfig" >"$build/paths.ini"
[ -f "$build/meson/build.ninja" ] ||
  meson setup --cross-file "$build/paths.ini" --cross-file "$root/tools/web/wasm.ini" "$build/meson" "$root"
ninja -C "$build/meson" tools/web/npzoo.js
mkdir -p "$folder"
cp "$build/meson/tools/web/npzoo.js" "$build/meson/tools/web/npzoo.wasm" "$root"/tools/web/{index.html,page.js,page.css,worker.js} \
  "$root/examples/station.csv" "$root/docs/tutorials/first/sales.csv" "$folder"
python3 "$root/docs/tutorials/rain.py" >"$folder/rain.csv"
