#!/usr/bin/env python3
"""The installed library is found under a sysroot, and a program links to it: install_test.py MESON BUILD C++ COMMAND…"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

PROGRAM = """
#include <cstdio>
#include "engine/tensor.h"
#include "models/registry.h"

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


def main():
    build, compiler = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        root = pathlib.Path(name)
        output(["meson", "install", "--no-rebuild", "--quiet", "--tags", "devel,runtime", "--destdir", root], cwd=build)
        (pc,) = root.rglob("npzoo.pc")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(root)}
        flags = output(["pkg-config", "--cflags", "--libs", "npzoo"], env=environment).split()
        folders = [flag[2:] for flag in flags if flag.startswith(("-I", "-L"))]
        for folder in folders:
            if folder.count(str(root)) != 1:
                sys.exit(f"{folder} found, expected a folder under {root}, once")
        files = [flag for flag in flags if not flag.startswith("-")]
        if files:
            sys.exit(f"{files} found, expected libraries by name: a sysroot does not move files")
        if not any((pathlib.Path(folder) / "models/registry.h").exists() for folder in folders):
            sys.exit(f"no headers in {folders}")
        (root / "program.cpp").write_text(PROGRAM)
        output([*compiler, "-std=c++20", root / "program.cpp", "-o", root / "program", *flags])
        libraries = ":".join(folder for folder in folders)
        print(output([root / "program"], env={**os.environ, "LD_LIBRARY_PATH": libraries}), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
