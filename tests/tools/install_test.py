#!/usr/bin/env python3
"""The installed library is found under a sysroot, and a program links to it: install_test.py MESON BUILD C++ COMMAND…"""

import os
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM = """
#include <cstdio>
#include "npzoo/engine/tensor.h"
#include "npzoo/models/registry.h"

int main() {
  npzoo::Tensor x = npzoo::Tensor::full({2, 3}, 1.5);
  std::printf("%zu models, %g\\n", npzoo::models().size(), static_cast<double>(x.values<float>()[5]));
  return npzoo::models().empty();
}
"""


def output(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}:\n{done.stdout}")
    return done.stdout


def check_default_place():
    """pkg-config of any Debian looks in lib; Meson alone would choose lib64 if dpkg-dev is missing."""
    project = pathlib.Path(__file__).resolve().parents[2] / "meson.build"
    options = json.loads(output(["meson", "introspect", "--buildoptions", project]))
    if (libdir := {option["name"]: option["value"] for option in options}["libdir"]) != "lib":
        sys.exit(f"libdir is {libdir} unless a user sets it, expected lib")


def check_includes(folder):
    """Each header includes only what is installed beside it."""
    for header in folder.rglob("*.h"):
        for included in re.findall(r'^ *#include "([^"]+)"', header.read_text(), re.MULTILINE):
            if not (folder / included).exists():
                sys.exit(f"{header.relative_to(folder)} includes {included}, which is not installed")


def main():
    build, compiler = sys.argv[1], sys.argv[2:]
    check_default_place()
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        root = pathlib.Path(name)
        output(["meson", "install", "--no-rebuild", "--quiet", "--tags", "devel,runtime,doc", "--destdir", root], cwd=build)
        (pc,) = root.rglob("npzoo.pc")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(root)}
        flags = output(["pkg-config", "--cflags", "--libs", "npzoo"], env=environment).split()
        folders = [flag[2:] for flag in flags if flag.startswith(("-I", "-L"))]
        for folder in folders:
            if folder.count(str(root)) != 1:
                sys.exit(f"{folder} found, expected a folder under {root}, once")
        if cuda := re.findall(r"\S*cuda[-./\d]*/\S*", pc.read_text()):
            sys.exit(f"{cuda} found in npzoo.pc, expected no folder of the CUDA Toolkit: it may be missing where programs are linked")
        if not any(root.rglob("share/doc/npzoo/examples/station.csv")):
            sys.exit("examples/station.csv is not installed")
        check_includes(next(root.rglob("npzoo/models/registry.h")).parents[2])
        files = [flag for flag in flags if not flag.startswith("-")]
        if files:
            sys.exit(f"{files} found, expected libraries by name: a sysroot does not move files")
        if not any((pathlib.Path(folder) / "npzoo/models/registry.h").exists() for folder in folders):
            sys.exit(f"no headers in {folders}")
        (root / "program.cpp").write_text(PROGRAM)
        output([*compiler, "-std=c++20", root / "program.cpp", "-o", root / "program", *flags])
        libraries = ":".join(folder for folder in folders)
        print(output([root / "program"], env={**os.environ, "LD_LIBRARY_PATH": libraries}), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
