#!/usr/bin/env bash
# From a fresh clone to a trained neural process and a picture of its predictions.
#   tools/quickstart.sh [DIRECTORY]     default: runs/quickstart
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/quickstart}

tools/setup.sh
[ -f build/build.ninja ] || meson setup build >/dev/null
ninja -C build tools/npzoo

npzoo=build/tools/npzoo
"$npzoo" train --protocol quick/gp1d --model tnp-d --out "$out" --resume
"$npzoo" eval --checkpoint "$out/checkpoint.safetensors"
"$npzoo" plot --checkpoint "$out/checkpoint.safetensors" --out "$out/posterior.svg" >/dev/null
printf 'picture: '
"$npzoo" plot --checkpoint "$out/checkpoint.safetensors" --out "$out/posterior.png"
