#!/usr/bin/env bash
# From a fresh clone to a filled table and its picture, then to a trained model and its picture.
#   tools/quickstart.sh [DIRECTORY]     for the results (default: runs/quickstart)
# If there is no build yet, it makes build-quickstart for this machine alone: the program without tests, GPU kernels and
# kernels for other processors. Host code at -O1 takes less time to compile; kernels keep their -O3.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/quickstart}
say() { printf '\nquickstart: %s\n' "$*"; }

tools/setup.sh
build=build
if [ ! -f build/build.ninja ]; then
  build=build-quickstart
  [ -f $build/build.ninja ] ||
    meson setup $build --native-file=tools/quick.ini -Dtests=false >/dev/null
fi
say "[1/3] compiling the program (about five minutes of processor time)"
ninja -C $build tools/npzoo
npzoo=$build/tools/npzoo

say '[2/3] filling the gaps of examples/station.csv'
mkdir -p "$out"
"$npzoo" predict examples/station.csv --out "$out/filled.csv" --plot "$out/filled.svg"
printf '%s\n' "table:    $out/filled.csv" "picture:  $out/filled.svg"

say '[3/3] training a small model (half a minute on two idle cores; Ctrl-C stops it)'
"$npzoo" train --protocol quick/gp1d --model tnp-d --out "$out/model" --resume
"$npzoo" eval --checkpoint "$out/model/checkpoint.safetensors"
"$npzoo" plot --checkpoint "$out/model/checkpoint.safetensors" --out "$out/posterior.svg" >/dev/null
printf 'picture:  '
"$npzoo" plot --checkpoint "$out/model/checkpoint.safetensors" --out "$out/posterior.png"

say "done. The program is $npzoo"
cat <<END
Fill a table of your own:  $npzoo predict TABLE.csv --out filled.csv --plot filled.svg
Install it as npzoo:       sudo ninja -C $build install
All commands:              $npzoo help
END
