#!/usr/bin/env python3
"""Installs the package of a build folder into a temporary one and tests it there: run.py MESON BUILD [ARGUMENT…]

The arguments are pytest's. Another Python than the one of the build must have the packages of `npzoo[test]`."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile


def main() -> int:
    meson, build, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        install = [*shlex.split(meson), "install", "-C", build, "--no-rebuild", "--quiet", "--tags=python-runtime", "--destdir", name]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        (package,) = pathlib.Path(name).rglob("npzoo/__init__.py")
        extra = {p.suffix for p in pathlib.Path(name).rglob("*") if p.is_file()} - {".py", ".pyc", ".pyi", ".so", ".typed", ".safetensors", ".md"}
        if extra:
            sys.exit(f"files ending in {', '.join(sorted(extra))} are installed, expected none in the package")
        environment = {**os.environ, "PYTHONPATH": str(package.parents[1]), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
        tests = pathlib.Path(__file__).parent
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, tests], env=environment,
                              cwd=name).returncode


if __name__ == "__main__":
    sys.exit(main())
