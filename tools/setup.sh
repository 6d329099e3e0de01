#!/usr/bin/env bash
# Installs what npzoo needs to build. Debian and Ubuntu only; elsewhere it prints the list.
#   tools/setup.sh [PACKAGE…]     more of them
set -euo pipefail

packages=(g++ meson ninja-build pkg-config python3
          libfmt-dev libcli11-dev doctest-dev nlohmann-json3-dev libtomlplusplus-dev librandom123-dev libxxhash-dev
          zlib1g-dev liblzma-dev libpng-dev libjpeg-dev libarchive-dev
          libcairo2-dev fonts-dejavu-core libboost-context-dev libnanoflann-dev libkissfft-dev "$@")

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || exit 0
fi

if ! command -v apt-get >/dev/null; then
  printf 'npzoo needs these packages (Debian names); please install them with your package manager:\n' >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { printf 'setup: as root, run: apt-get install %s\n' "${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
printf 'setup: installing %s\n' "${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
