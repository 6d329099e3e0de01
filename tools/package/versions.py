#!/usr/bin/env python3
"""Prints the version that all places name: versions.py [ROOT]

Stops with a line for each place that names another version than meson.build, or none."""

import json
import pathlib
import re
import sys

# Each place, and a pattern with the version. Python's package takes its version from Meson.
PLACES = {
    "CITATION.cff": r"^version: *(\S+)$",
    "CHANGELOG.md": r"\A# Changelog\s+^## (\S+)",
    "docs/reference/versions.md": r"npzoo has version (\d+\.\d+\.\d+)",
    "tools/package/conda-forge/recipe.yaml": r"^  version: \"?([\d.]+)",
    "tools/package/homebrew/npzoo.rb": r"^  version \"([\d.]+)\"",
}
VCPKG = "tools/package/vcpkg/vcpkg.json"
R_PACKAGES = "*/DESCRIPTION", "*/*/DESCRIPTION"


def found(root, place, pattern):
    """The version in a file: a reason in brackets if there is none."""
    path = root / place
    if not path.is_file():
        return "(no file)"
    match = re.search(pattern, path.read_text(), re.MULTILINE)
    return match[1] if match else "(no version)"


def versions(root):
    """The version of each place by its name; those of R packages where there are any."""
    places = {place: found(root, place, pattern) for place, pattern in PLACES.items()}
    places[VCPKG] = json.loads((root / VCPKG).read_text()).get("version", "(no version)") if (root / VCPKG).is_file() else "(no file)"
    for pattern in R_PACKAGES:
        for path in root.glob(pattern):
            place = str(path.relative_to(root))
            if not place.startswith("build"):
                places[place] = found(root, place, r"^Version: *(\S+)$")
    return places


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    version = found(root, "meson.build", r"^  version: '([^']+)'")
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"versions: meson.build has version {version}, expected MAJOR.MINOR.PATCH")
    others = {place: other for place, other in versions(root).items() if other != version}
    for place, other in others.items():
        print(f"versions: {place} has {other}, expected {version} as in meson.build", file=sys.stderr)
    if others:
        return 1
    print(version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
