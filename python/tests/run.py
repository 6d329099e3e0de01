#!/usr/bin/env python3
"""Tests the Python package, with the examples of its documentation strings:

    run.py MESON BUILD [ARGUMENT…]      that of a build folder, installed into a temporary one
    run.py --installed [ARGUMENT…]      the one that this Python imports, such as that of a wheel

The arguments are pytest's. Another Python than the one of the build must have the packages of `npzoo[test]`."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile


def install(meson: str, build: str, folder: str) -> dict[str, str]:
    """Installs the package of a build folder and returns the variables by which Python finds it."""
    command = [*shlex.split(meson), "install", "-C", build, "--no-rebuild", "--quiet", "--tags=python-runtime", "--destdir", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (package,) = pathlib.Path(folder).rglob("npzoo/__init__.py")
    extra = {p.suffix for p in pathlib.Path(folder).rglob("*") if p.is_file()} - {".py", ".pyc", ".pyi", ".so", ".typed", ".safetensors", ".md"}
    if extra:
        sys.exit(f"files ending in {', '.join(sorted(extra))} are installed, expected none in the package")
    return {"PYTHONPATH": str(package.parents[1])}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
        if sys.argv[1] == "--installed":
            arguments = sys.argv[2:]
        else:
            meson, build, *arguments = sys.argv[1:]
            environment.update(install(meson, build, name))
        tests = pathlib.Path(__file__).parent.resolve()
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, tests], env=environment,
                              cwd=name).returncode


if __name__ == "__main__":
    sys.exit(main())
