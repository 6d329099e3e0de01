#!/usr/bin/env python3
"""The functions of R, with the library of this build and not one of their own, pass their tests: r_test.py BUILD PROGRAM

`tools/r_package.sh FOLDER --check` checks the package that users install, which compiles the library once more."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def output(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}")
    return done.stdout


def install(build, package, library, environment):
    """Compiles the functions in C alone and links them to the build's library."""
    shutil.copytree(ROOT / "r", package)
    flags = output(["pkg-config", "--libs", "npzoo"], env={**environment, "PKG_CONFIG_PATH": str(build / "meson-uninstalled")}).split()
    others = [flag for flag in flags if not flag.startswith("-L") and flag != "-lnpzoo"]
    (package / "src/Makevars").write_text(f"PKG_CPPFLAGS = -I{build}/include\nPKG_LIBS = -L{build} -lnpzoo {' '.join(others)}\n")
    library.mkdir()
    output(["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(package)], env=environment)


def main():
    build, program = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    if not shutil.which("Rscript"):
        print("R is not installed: its functions are not tested")
        sys.exit(SKIPPED)
    if subprocess.run(["Rscript", "-e", "library(testthat)"], capture_output=True).returncode != 0:
        print("R's package testthat is not installed: the functions for R are not tested")
        sys.exit(SKIPPED)
    environment = {**os.environ, "NPZOO_WEIGHTS": str(ROOT / "weights"), "NPZOO_PROGRAM": str(program), "NOT_CRAN": "true",
                   "LD_LIBRARY_PATH": str(build)}
    with tempfile.TemporaryDirectory() as folder:
        package, library = pathlib.Path(folder) / "npzoo", pathlib.Path(folder) / "library"
        install(build, package, library, environment)
        text = output(["Rscript", "-e", 'library(testthat); library(npzoo); '
                       f'test_dir("{package}/tests/testthat", package = "npzoo", load_package = "installed", reporter = "check")'],
                      env={**environment, "R_LIBS": str(library)})
    print(text)
    passed = re.search(r"FAIL 0 \| WARN (\d+) \| SKIP \d+ \| PASS (\d+)", text)
    if not passed or int(passed[1]) > 0 or int(passed[2]) < 100:
        sys.exit("expected no failure, no warning and a hundred passed expectations or more")


main()
