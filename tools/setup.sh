#!/usr/bin/env bash
# Installs what npzoo needs to build, without questions. Debian and Ubuntu only; elsewhere it prints the list.
#   tools/setup.sh [PACKAGE…]     more of them
#   tools/setup.sh --list         prints their names and installs nothing
set -euo pipefail

packages=(g++ meson ninja-build pkg-config python3 python3-dev python3-venv
          libfmt-dev libcli11-dev doctest-dev nlohmann-json3-dev libtomlplusplus-dev librandom123-dev libxxhash-dev
          zlib1g-dev liblzma-dev libpng-dev libjpeg-dev libarchive-dev
          libcairo2-dev fonts-dejavu-core libboost-dev libboost-context-dev libeigen3-dev libnanoflann-dev libkissfft-dev "$@")

if [ "${1:-}" = --list ]; then
  printf '%s\n' "${packages[@]}" | grep -v '^--list$'
  exit 0
fi

say() { printf 'setup: %s\n' "$*" >&2; }

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || exit 0
fi

if ! command -v apt-get >/dev/null; then
  say 'npzoo needs these packages (Debian names); please install them with your package manager:'
  printf '  %s\n' "${packages[@]}" >&2
  exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    { say "as root, run: apt-get update && apt-get install --no-install-recommends ${missing[*]}"; exit 1; }
  sudo=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Runs apt-get; its output is shown if it fails. sudo resets the environment, so that of apt-get is set behind it.
apt() {
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >"$log" 2>&1 </dev/null ||
    { cat "$log" >&2; say "apt-get $1 failed"; exit 1; }
}
say "installing ${missing[*]}"
say '[1/3] reading the lists of packages'
apt update
say '[2/3] downloading'
apt install -y --no-install-recommends --download-only "${missing[@]}"
say '[3/3] unpacking and configuring (a minute or two)'
apt install -y --no-install-recommends "${missing[@]}"
say 'done'
