#!/usr/bin/env bash
# From a fresh clone to a trained neural process and a picture of its predictions.
#   tools/quickstart.sh [DIRECTORY]     default: runs/quickstart
# Where there is no build yet, build-quickstart is made, with what this machine can run and no more. At -O2 it is there
# sooner; kernels have their own -O3.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/quickstart}

build=build
tools/setup.sh
if [ ! -f build/build.ninja ]; then
  build=build-quickstart
  # Whether there is a driver with a device: without one the CUDA Toolkit would compile kernels for minutes, for nothing.
  cuda=disabled
  python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL("libcuda.so.1").cuInit(0))' 2>/dev/null && cuda=auto
  [ -f $build/build.ninja ] ||
    meson setup $build -Dcuda=$cuda -Demulator=disabled -Dtests=false -Disas=native -Doptimization=2 >/dev/null
fi
ninja -C $build tools/npzoo

npzoo=$build/tools/npzoo
"$npzoo" train --protocol quick/gp1d --model tnp-d --out "$out" --resume
"$npzoo" eval --checkpoint "$out/checkpoint.safetensors"
"$npzoo" plot --checkpoint "$out/checkpoint.safetensors" --out "$out/posterior.svg" >/dev/null
printf 'picture: '
"$npzoo" plot --checkpoint "$out/checkpoint.safetensors" --out "$out/posterior.png"
