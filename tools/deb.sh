#!/usr/bin/env bash
# Makes a Debian package of the program, the library with its headers, the manual, completions and trained weights.
#   tools/deb.sh [BUILD]     npzoo_VERSION_ARCHITECTURE.deb in this directory, of a build that is there or, where none is
#                            named, of build-deb, which is made with MESON_OPTIONS, "-Dcuda=disabled" for example
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
source=$PWD

for tool in dpkg-deb dpkg-shlibdeps meson; do
  command -v $tool >/dev/null || { printf 'deb: %s is missing: apt-get install dpkg-dev meson\n' $tool >&2; exit 1; }
done
build=${1:+$(cd "$here" && cd "$1" && pwd)}
if [ -z "$build" ]; then
  build=$source/build-deb
  # shellcheck disable=SC2086
  [ -f "$build/build.ninja" ] || meson setup "$build" --prefix=/usr -Dtests=false ${MESON_OPTIONS:-}
  ninja -C "$build"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
meson install -C "$build" --no-rebuild --quiet --destdir "$root"
# A build may have been made for another place, /usr/local mostly; what is installed finds the rest from where it is.
prefix=$(find "$root" -type d -name bin -printf '%h\n' -quit)
if [ "$prefix" != "$root/usr" ]; then
  mkdir "$work/usr"
  mv "$prefix"/* "$work/usr/"
  rm -rf "$root"
  mkdir "$root"
  mv "$work/usr" "$root/usr"
  find "$root" -name npzoo.pc -exec sed -i 's|^prefix=.*|prefix=/usr|' {} +
fi

strip --strip-unneeded "$root/usr/bin/npzoo"
gzip -9n "$root"/usr/share/man/man1/*.1
documents=$root/usr/share/doc/npzoo
mkdir -p "$documents" "$root/DEBIAN"
gzip -9nc CHANGELOG.md >"$documents/changelog.gz"
cp README.md "$documents/"
printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nCopyright: the authors of npzoo\nLicense: Apache-2.0\n The full text is in /usr/share/common-licenses/Apache-2.0.\n' >"$documents/copyright"
find "$root/usr" -type d -exec chmod 755 {} + -o -type f -exec chmod u=rwX,go=rX {} +

version=$("$root/usr/bin/npzoo" version | cut -d' ' -f2)
mkdir "$work/debian"  # which dpkg-shlibdeps wants to see
printf 'Source: npzoo\n\nPackage: npzoo\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/npzoo 2>"$work/log" | sed -n 's/^shlibs:Depends=//p') ||
  { cat "$work/log" >&2; exit 1; }
cat >"$root/DEBIAN/control" <<END
Package: npzoo
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: the authors of npzoo <npzoo@localhost>
Section: science
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: $depends, fonts-dejavu-core
Suggests: g++, pkg-config, libfmt-dev, nlohmann-json3-dev, libxxhash-dev, libboost-context-dev
Description: neural processes: predictions with uncertainty from a few observations
 A program and a C++ library that train neural processes and predict with them, on an
 autograd engine of their own. Trained weights are included.
END
package=$here/npzoo_${version}_$(dpkg --print-architecture).deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
printf '%s\n' "$package"
