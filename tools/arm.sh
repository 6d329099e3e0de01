#!/usr/bin/env bash
# Builds npzoo for 64-bit Arm (aarch64) by a cross-compiler and tests it by an emulator, qemu. Debian alone.
#   tools/arm.sh                   the program; the last line is the path of a script that starts it
#   tools/arm.sh --test [SUITE…]   tests as well: the suite `arm` of CI, or those of these suites; `all` for every test (hours)
#   tools/arm.sh --deb FOLDER      Debian packages
#   tools/arm.sh --wheel FOLDER    wheels for Python
#   It ends with 77 if its packages cannot be downloaded.
#   BUILD=build-arm is the folder of the build. OPTIONS are more options of Meson ("-Doptimization=1" compiles in less time).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

usage() { sed -n '2,8s/^# *//p' "$0" >&2; exit 2; }
say() { printf 'arm: %s\n' "$*" >&2; }

task=build folder='' suites=()
case ${1:-} in
  '') ;;
  --test) task=test; shift; suites=("${@:-arm}") ;;
  --deb | --wheel) [ $# -eq 2 ] || usage; task=${1#--} folder=$(realpath -m "$2") ;;
  *) usage ;;
esac
command -v dpkg-query >/dev/null || { say 'dpkg is missing; this cross-compiler and its libraries are packages of Debian'; exit 1; }
"$root/tools/setup.sh" g++-aarch64-linux-gnu qemu-user-static >&2 || exit 77
mkdir -p "${BUILD:-build-arm}"
build=$(cd "${BUILD:-build-arm}" && pwd)
system=$build/system
cross_files=(--cross-file="$build/constants.ini" --cross-file="$root/tools/arm.ini")

# apt-get for Arm, with the sources of this system and all else in the folder of the build: no package of this system changes.
apt() {
  APT_CONFIG=$build/apt/apt.conf apt-get -qq "$@" >"$build/apt/log" 2>&1 </dev/null ||
    { cat "$build/apt/log" >&2; say "apt-get $1 failed"; exit 77; }
}

prepare_apt() {
  mkdir -p "$build"/apt/{lists,archives}/partial
  : >"$build/apt/status"
  cat >"$build/apt/apt.conf" <<CONFIGURATION
APT::Architecture "arm64";
#clear APT::Architectures;
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State::status "$build/apt/status";
Dir::State::lists "$build/apt/lists";
Dir::State::extended_states "$build/apt/extended_states";
Dir::Cache::archives "$build/apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "$build/apt";
CONFIGURATION
}

# Enters PACKAGE into the list of packages below $system, which dpkg-query and dpkg-shlibdeps read.
enter() {
  local database=$system/var/lib/dpkg name control=$build/apt/control
  rm -rf "$control"
  dpkg-deb -e "$1" "$control"
  name=$(dpkg-deb -f "$1" Package)
  ! grep -q '^Multi-Arch: same' "$control/control" || name+=:arm64
  { sed '/^Package:/a Status: install ok installed' "$control/control"; echo; } >>"$database/status"
  dpkg-deb --fsys-tarfile "$1" | tar -t | sed "s|^\.|$system|; s|/\$||" >"$database/info/$name.list"
  for part in shlibs symbols; do
    [ ! -f "$control/$part" ] || mv "$control/$part" "$database/info/$name.$part"
  done
}

# Debian's packages for Arm with all that they need, in $system.
unpack_system() {
  local packages gcc package
  gcc=$(aarch64-linux-gnu-gcc -dumpversion)
  mapfile -t packages < <("$root/tools/setup.sh" --list | grep -e '-dev$' -e '^fonts-')
  packages+=("libstdc++-${gcc%%.*}-dev")
  [ "$(cat "$build/complete" 2>/dev/null)" != "${packages[*]}" ] || return 0
  rm -rf "$system" "$build/apt"
  prepare_apt
  say 'downloading Debian packages for Arm'
  apt update
  apt install -y --no-install-recommends --download-only "${packages[@]}"
  say 'unpacking them'
  mkdir -p "$system/var/lib/dpkg/info"
  echo 1 >"$system/var/lib/dpkg/info/format"  # names of files have the processor
  for package in "$build"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$system"
    enter "$package"
  done
  # Links to absolute paths would end outside; without a shared library the linker takes the archive beside it.
  find "$system" -lname '/*' | while read -r link; do ln -sfn "$system$(readlink "$link")" "$link"; done
  rm -rf "$build/apt"
  printf '%s\n' "${packages[*]}" >"$build/complete"
}

configure() {
  local ccache=''
  ! command -v ccache >/dev/null || ccache="'ccache'"
  cat >"$build/constants.ini" <<CONSTANTS
[constants]
system = '$system'
ccache = [$ccache]
[binaries]
python = '$build/python/bin/python3'
[properties]
emulated_python = '$build/emulated-python'
CONSTANTS
  # shellcheck disable=SC2086
  [ -f "$build/meson/build.ninja" ] || meson setup --prefix=/usr "${cross_files[@]}" ${OPTIONS:-} "$build/meson" "$root" >&2
}

# All that is installed, without the tests.
compile() {
  local manual=tools/manual
  ninja -C "$build/meson" libnpzoo.a tools/emulated/npzoo $manual/npzoo.1 $manual/npzoo $manual/_npzoo $manual/npzoo.fish >&2
}

make_packages() {
  compile
  mkdir -p "$folder"
  cd "$folder"
  SYSTEM=$system ARCHITECTURE=arm64 "$root/tools/deb.sh" "$build/meson"
}

# The module is compiled in the same folder. Debian's Python for Arm imports it by the emulator, to write its stub.
make_wheels() {
  local version option settings=() libraries=$system/usr/lib/aarch64-linux-gnu
  "$root/tools/python_env.sh" "$build/python"
  version=$("$build/python/bin/python3" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  [ -x "$system/usr/bin/python$version" ] ||
    { say "Python $version found here, expected the version of Debian's python3, which Arm's system has"; exit 1; }
  [ -d "$build/packages/nanobind" ] ||
    "$build/python/bin/pip" install --quiet --disable-pip-version-check --target "$build/packages" --platform manylinux_2_28_aarch64 \
      --platform manylinux2014_aarch64 --python-version "$version" --only-binary=:all: nanobind nanobind-backend numpy >&2
  python3 "$root/tools/emulated/write.py" "$build/emulated-python" "$system/usr/bin/python$version" \
    env PYTHONHOME="$system/usr" PYTHONPATH="$build/packages" PYTHONDONTWRITEBYTECODE=1 qemu-aarch64-static -L "$system"
  mkdir -p "$build/bin"
  ln -sf "$(command -v aarch64-linux-gnu-strip)" "$build/bin/strip"  # which auditwheel calls
  for option in --prefix=/usr "${cross_files[@]}" -Dtests=true ${OPTIONS:-}; do settings+=("--config-settings=setup-args=$option"); done
  _PYTHON_HOST_PLATFORM=linux-aarch64 AUDITWHEEL_LD_LIBRARY_PATH=$libraries:$system/lib/aarch64-linux-gnu PATH=$build/bin:$PATH \
    MESON=$(command -v meson) ENVIRONMENT=$build/python "$root/tools/wheel.sh" "$folder" --config-settings=build-dir="$build/meson" "${settings[@]}"
}

unpack_system
configure
case $task in
  build)
    compile
    printf '%s\n' "$build/meson/tools/emulated/npzoo" ;;
  test)
    [ "${suites[*]}" != all ] || suites=()
    # An emulated program takes 20 to 60 times as long.
    export NPZOO_TEST_SLOWNESS=60
    meson test -C "$build/meson" --num-processes $(($(nproc) + 1)) --timeout-multiplier 60 --print-errorlogs "${suites[@]/#/--suite=}" ;;
  deb) make_packages ;;
  wheel) make_wheels ;;
esac
