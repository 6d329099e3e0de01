#!/usr/bin/env python3
"""A project of ten lines has npzoo as a Meson subproject, of which it builds the library alone: subproject_test.py SOURCE C++ COMMAND…

Most of the library is not compiled here: what Ninja would do is enough."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROJECT = """
project('mine', 'cpp', default_options: ['cpp_std=c++20'])
npzoo = dependency('npzoo', fallback: 'npzoo')
executable('mine', 'mine.cpp', dependencies: npzoo)
"""
PROGRAM = """
#include "npzoo/engine/tensor.h"
int main() { return npzoo::Tensor::full({2, 3}, 1.5).values<float>()[5] == 1.5f ? 0 : 1; }
"""


def output(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}:\n{done.stdout}")
    return done.stdout


def main():
    source, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        project = pathlib.Path(name)
        build = project / "build"
        (project / "subprojects").mkdir()
        (project / "subprojects/npzoo").symlink_to(source)
        (project / "meson.build").write_text(PROJECT)
        (project / "mine.cpp").write_text(PROGRAM)
        # Not an npzoo that is installed on this machine.
        output("meson", "setup", build, project, "--force-fallback-for=npzoo", "-Dnpzoo:cuda=disabled", "-Dnpzoo:emulator=disabled",
               "-Dnpzoo:isas=only-native", env={**os.environ, "CXX": shlex.join(compiler)})
        targets = json.loads(output("meson", "introspect", "--targets", build))
        programs = [target["name"] for target in targets if target["type"] == "executable"]
        if programs != ["mine"]:
            sys.exit(f"programs {programs} found, expected the project's own")
        steps = output("ninja", "-C", build, "-n").splitlines()
        alone = [step for step in steps if re.search(r"/libnpzoo\.\w+\.p/(?!.*unity)", step)]
        if alone or not any(re.search(r"/libnpzoo\.\w+\.p/.*unity", step) for step in steps):
            sys.exit(f"{len(alone)} sources of the library are compiled one by one, expected none")
        if any("pch/host.h" in step for step in steps):
            sys.exit("a header with fmt is precompiled without optimisation, which breaks intrinsics of g++ (meson.build says why)")
        output("ninja", "-C", build, "mine.p/mine.cpp.o")
    return 0


if __name__ == "__main__":
    sys.exit(main())
