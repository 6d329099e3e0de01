#!/usr/bin/env bash
# Makes npzoo_VERSION.tar.gz, a source package for R that compiles the whole library itself (for the CPU, with the generic
# instruction set, without readers of compressed files and pictures), and puts it into FOLDER. Users need R and a compiler for
# C++20. The last line of standard output is the path of the package, progress goes to standard error.
#   tools/r_package.sh FOLDER [--check]     --check also runs `R CMD check --no-manual`, in FOLDER
# `R CMD build` compiles the library once, since the vignette runs, and a check once more: many minutes each on two cores.
# It needs what a build of the library needs, R, and R's packages knitr, rmarkdown and ggplot2; --check also testthat.
set -euo pipefail

folder=$(realpath -m "$1")
check=${2:-}
[ -z "$check" ] || [ "$check" = --check ] || { printf 'r_package.sh: found %s, expected --check\n' "$check" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf 'r_package: collecting sources and headers\n' >&2
meson setup "$work/build" "$root" -Dtools=false -Dtests=false -Dcuda=disabled -Demulator=disabled -Dgzip=disabled -Dxz=disabled \
  -Dimages=disabled -Darchive=disabled -Disas= -Dunity=off -Db_pch=false >"$work/meson.log" || { cat "$work/meson.log" >&2; exit 1; }
python3 "$root/tools/package/r_package.py" "$root" "$work/build" "$work/npzoo" "${CXX:-g++}" >&2

export MAKEFLAGS=${MAKEFLAGS:--j$(nproc)}
printf 'r_package: R CMD build (compiles the library for the vignette)\n' >&2
mkdir -p "$folder"
(cd "$work" && R CMD build npzoo) >&2
package=$(basename "$work"/npzoo_*.tar.gz)
mv "$work/$package" "$folder/"
if [ -n "$check" ]; then
  printf 'r_package: R CMD check (compiles it again)\n' >&2
  # R asks a server for the time of day otherwise.
  (cd "$folder" && _R_CHECK_FUTURE_FILE_TIMESTAMPS_=false _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual "$package") >&2
fi
printf '%s\n' "$folder/$package"
