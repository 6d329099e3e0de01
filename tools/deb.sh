#!/usr/bin/env bash
# Makes two Debian packages: npzoo (program, manual, completions, trained weights, examples) and libnpzoo-dev (library and
# headers, for C++ programs). Their names go to standard output, progress to standard error.
#   tools/deb.sh [BUILD]     npzoo_VERSION_ARCHITECTURE.deb and libnpzoo-dev_VERSION_ARCHITECTURE.deb in this directory, of
#                            an existing build. Without BUILD: of build-deb, which is made with MESON_OPTIONS
#                            ("-Dcuda=disabled" for example). DEBFULLNAME and DEBEMAIL name the maintainer. For a build for
#                            another processor, ARCHITECTURE is Debian's name of it and SYSTEM a folder with its packages (tools/arm.sh)
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
source=$PWD

say() { printf 'deb: %s\n' "$*" >&2; }

[ $# -gt 0 ] && command -v dpkg-shlibdeps >/dev/null || tools/setup.sh dpkg-dev >&2
command -v dpkg-shlibdeps >/dev/null || { say 'dpkg-shlibdeps is missing; packages are made on Debian and Ubuntu alone'; exit 1; }
build=${1:+$(cd "$here" && cd "$1" && pwd)}
if [ -z "$build" ]; then
  build=$source/build-deb
  say "[1/3] building in $build (minutes)"
  # shellcheck disable=SC2086
  [ -f "$build/build.ninja" ] || meson setup "$build" --prefix=/usr -Dtests=false ${MESON_OPTIONS:-} >&2
  ninja -C "$build" >&2
fi

! grep -q 'kHasGeneric = false' "$build/engine/config.h" ||
  say 'warning: this build (-Disas=only-native) runs on processors of this kind alone'
say '[2/3] collecting files'
system=${SYSTEM:-} architecture=${ARCHITECTURE:-$(dpkg --print-architecture)} libraries=() strip=strip
if [ -n "$system" ]; then
  # It warns that this machine's compiler is for another processor.
  for variable in $(dpkg-architecture -a"$architecture" 2>/dev/null); do export "${variable?}"; done
  export DPKG_ADMINDIR=$system/var/lib/dpkg PKG_CONFIG_LIBDIR=$system/usr/lib/$DEB_HOST_MULTIARCH/pkgconfig:$system/usr/share/pkgconfig
  libraries=(--admindir="$DPKG_ADMINDIR" "-l$system/usr/lib/$DEB_HOST_MULTIARCH" "-l$system/lib/$DEB_HOST_MULTIARCH")
  strip=$DEB_HOST_GNU_TYPE-strip
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$work/npzoo library=$work/libnpzoo-dev
rm -f "$build/meson-logs/install-log.txt"  # root's after `sudo ninja install`, and Meson opens it to write
meson install -C "$build" --no-rebuild --quiet --destdir "$work/all" >&2
# A build may have been made for another place, /usr/local mostly; the program finds its files relative to itself.
prefix=$(find "$work/all" -type d -name bin -printf '%h\n' -quit)
mkdir -p "$program/DEBIAN" "$library/DEBIAN" "$library/usr/lib"
mv "$prefix" "$program/usr"
usr=$program/usr
rm -rf "$usr"/lib*/python3*  # pip installs the Python package
pc=$(find "$usr" -name npzoo.pc)
sed -i 's|^prefix=.*|prefix=/usr|' "$pc"
libdir=$(realpath --relative-to="$usr" "$(dirname "$(dirname "$pc")")")
[ -e "$usr/$libdir/libnpzoo.a" ] || { say "a shared library found in $build, expected a build with -Ddefault_library=static"; exit 1; }
mkdir -p "$library/usr/$libdir"
mv "$usr/include" "$library/usr/"
for item in "$usr/$libdir"/{pkgconfig,npzoo,libnpzoo.a}; do
  [ ! -e "$item" ] || mv "$item" "$library/usr/$libdir/"
done
find "$usr" -type d -empty -delete
pc=$library/usr/$libdir/pkgconfig/npzoo.pc

"$strip" --strip-unneeded "$usr/bin/npzoo"
gzip -9n "$usr"/share/man/man1/*.1
copyright='Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nCopyright: the authors of npzoo\nLicense: Apache-2.0\n The full text is in /usr/share/common-licenses/Apache-2.0.\n'
for package in "$program" "$library"; do
  documents=$package/usr/share/doc/$(basename "$package")
  mkdir -p "$documents"
  gzip -9nc CHANGELOG.md >"$documents/changelog.gz"
  # shellcheck disable=SC2059
  printf "$copyright" >"$documents/copyright"
done
cp README.md "$usr/share/doc/npzoo/"
find "$program/usr" "$library/usr" -type d -exec chmod 755 {} + -o -type f -exec chmod u=rwX,go=rX {} +

# The packages that own these files, as a list with commas.
owners() { dpkg-query -S "$@" 2>/dev/null | sed -n 's/^\([^:]*\).*/\1/p' | sort -u | paste -sd, - | sed 's/,/, /g'; }
# What a program that uses the library needs: the modules that npzoo.pc requires, and the headers that ours include.
needed() {
  local module header
  for module in $(sed -n 's/^Requires: *//p' "$pc" | tr ',' ' '); do
    printf '%s/%s.pc\n' "$(pkg-config --variable=pcfiledir "$module")" "$module"
  done
  grep -rhoE '^#include <[^>]+/[^>]+>' "$library/usr/include" | sort -u | tr -d '<>' | cut -d' ' -f2 | while read -r header; do
    [ ! -f "$system/usr/include/$header" ] || printf '%s\n' "$system/usr/include/$header"
  done
  ! grep -q -e -lboost_context "$pc" || printf '%s\n' "$system/usr/include/boost/context/fiber.hpp"
}
version=$(sed -n 's/^Version: *//p' "$pc")
maintainer="${DEBFULLNAME:-$(git log -1 --format=%cn 2>/dev/null || echo unknown)} <${DEBEMAIL:-$(git log -1 --format=%ce 2>/dev/null || echo unknown@invalid.invalid)}>"
mkdir "$work/debian"  # which dpkg-shlibdeps wants to see
printf 'Source: npzoo\n\nPackage: npzoo\nArchitecture: any\n' >"$work/debian/control"
# The program loads cairo when it draws, so that dpkg-shlibdeps does not see it.
shared=$(cd "$work" && dpkg-shlibdeps "${libraries[@]}" -O npzoo/usr/bin/npzoo 2>"$work/log" | sed -n 's/^shlibs:Depends=//p') ||
  { cat "$work/log" >&2; exit 1; }
mapfile -t files < <(needed | sort -u)
development=$(owners "${files[@]}" | sed 's/libboost1[^,]*-dev/libboost-context-dev/')

# control FOLDER SECTION RELATIONS DESCRIPTION
control() {
  cat >"$1/DEBIAN/control" <<END
Package: $(basename "$1")
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Section: $2
Priority: optional
Installed-Size: $(du -sk "$1/usr" | cut -f1)
$3
Description: $4
END
}
control "$program" science "Depends: $shared, libcairo2, fonts-dejavu-core
Suggests: libnpzoo-dev" "neural processes: predictions with uncertainty from a few observations
 A program that trains neural processes and predicts with them: it fills tables, makes
 forecasts and maps. Trained weights and an example are included."
control "$library" libdevel "Depends: $development
Recommends: npzoo (= $version), g++, pkg-config" "neural processes: C++ library
 Headers and the library of npzoo: tensors, an autograd engine, models, training. Find
 them with pkg-config npzoo."

for folder in "$program" "$library"; do
  package=$here/$(basename "$folder")_${version}_$architecture.deb
  say "[3/3] packing $(basename "$package")"
  dpkg-deb --root-owner-group -Zzstd --build "$folder" "$package" >/dev/null
  printf '%s\n' "$package"
done
