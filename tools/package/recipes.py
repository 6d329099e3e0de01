#!/usr/bin/env python3
"""Writes the recipes for conda-forge, vcpkg and Homebrew with the URL and the hashes of a release:

    recipes.py --archive FILE --url URL --homepage URL --maintainer NAME [--random123 FILE URL] FOLDER

FILE is the source archive that URL leads to. Homebrew has no Random123: its formula needs a source archive of that and is left out
without one. Stops if a place of a recipe would stay open."""

import argparse
import hashlib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
RECIPES = {"conda-forge": ("recipe.yaml",), "vcpkg": ("vcpkg.json", "portfile.cmake", "usage"), "homebrew": ("npzoo.rb",)}


def digest(path, kind):
    return hashlib.new(kind, pathlib.Path(path).read_bytes()).hexdigest()


def values(options):
    found = {"URL": options.url, "HOMEPAGE": options.homepage, "MAINTAINER": options.maintainer,
             "SHA256": digest(options.archive, "sha256"), "SHA512": digest(options.archive, "sha512")}
    if options.random123:
        path, url = options.random123
        found |= {"URL_RANDOM123": url, "SHA256_RANDOM123": digest(path, "sha256")}
    return found


def write(target, names, known, folder):
    for name in names:
        text = re.sub(r"@([A-Z0-9_]+)@", lambda match: known.get(match[1], match[0]), (HERE / target / name).read_text())
        if left := re.findall(r"@[A-Z0-9_]+@", text):
            raise SystemExit(f"recipes: {target}/{name} needs {', '.join(sorted(set(left)))}")
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / name).write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("archive", "url", "homepage", "maintainer"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--random123", nargs=2, metavar=("FILE", "URL"))
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    try:
        known = values(options)
        for target, names in RECIPES.items():
            if target == "homebrew" and not options.random123:
                print("recipes: no formula for Homebrew without --random123", file=sys.stderr)
                continue
            write(target, names, known, options.folder)
            print(options.folder / target)
    except OSError as error:
        sys.exit(f"recipes: {error.filename}: {error.strerror}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
