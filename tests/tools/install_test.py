#!/usr/bin/env python3
"""The installed library is found under a sysroot, and a program links to it: install_test.py MESON BUILD C++ COMMAND…"""

import os
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


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


def run_example(program, libraries, weights):
    """The examples print what they learn; a loss that is no number would be a failure."""
    text = output([program], env={**os.environ, "LD_LIBRARY_PATH": libraries, "NPZOO_WEIGHTS": str(weights)})
    if "nan" in text or not re.search(r"-?\d+\.\d+", text):
        sys.exit(f"{program.name} printed {text!r}, expected finite figures")


def check_other_languages(root, examples, flags, folders, weights):
    """The examples in R and Julia run, where these are installed."""
    environment = {**os.environ, "NPZOO_WEIGHTS": str(weights), "LD_LIBRARY_PATH": ":".join(folders)}
    if shutil.which("Rscript"):
        headers = [flag for flag in flags if flag.startswith("-I")]
        libraries = [flag for flag in flags if not flag.startswith("-I")]
        work = shutil.copytree(examples / "r", root / "r")
        output(["R", "CMD", "SHLIB", "npzoo_fill.c"], cwd=work,
               env={**environment, "PKG_CPPFLAGS": shlex.join(headers), "PKG_LIBS": shlex.join(libraries)})
        text = output(["Rscript", "fill_table.R"], cwd=work, env=environment)
        if len(re.findall(r"^\d+  \d+\.\d+ \+- \d+\.\d+$", text, re.MULTILINE)) != 10:
            sys.exit(f"fill_table.R printed {text!r}, expected ten rows")
    else:
        print("R is not installed: its example is left out")
    shared = [library for folder in folders for library in pathlib.Path(folder).glob("libnpzoo.so")]
    if shutil.which("julia") and shared:
        text = output(["julia", examples / "julia/fill_table.jl"], env=environment)
        if text.count("+-") != 10:
            sys.exit(f"fill_table.jl printed {text!r}, expected ten rows")
    else:
        print("Julia or the shared library is not installed: its example is left out")


def check_c(examples, environment, folders, weights):
    """The commands of the C tutorial compile its example and run it."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/tutorials/c-r-julia.md").read_text()
    commands = re.search(r"^## C\n\n```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    text = output(["bash", "-euc", commands], cwd=examples.parent,
                  env={**environment, "LD_LIBRARY_PATH": ":".join(folders), "NPZOO_WEIGHTS": str(weights)})
    if len(re.findall(r"^\d+  \d+\.\d+ \+- \d+\.\d+$", text, re.MULTILINE)) != 10:
        sys.exit(f"{commands}\nprinted {text!r}, expected ten rows")


def check_examples(root, compiler, flags, folders):
    """Each example in C++ compiles with each compiler by pkg-config, and all of them by CMake, and runs."""
    (sources,) = root.rglob("share/doc/npzoo/examples/cpp")
    (weights,) = root.rglob("share/npzoo/weights")
    libraries = ":".join(folders)
    compilers = [compiler, *([other] for other in ("g++", "clang++") if shutil.which(other) and other not in compiler)]
    for i, command in enumerate(compilers):
        for source in sorted(sources.glob("*.cpp")):
            program = root / f"{source.stem}-{i}"
            output([*command, "-std=c++20", source, "-o", program, *flags])
            run_example(program, libraries, weights)
    check_other_languages(root, sources.parent, flags, folders, weights)
    build = root / "cmake"
    output(["cmake", "-S", sources, "-B", build, f"-DCMAKE_CXX_COMPILER={compiler[-1]}",
            f"-Dnpzoo_DIR={next(root.rglob('npzooConfig.cmake')).parent}"])
    output(["cmake", "--build", build])
    for source in sorted(sources.glob("*.cpp")):
        run_example(build / source.stem, libraries, weights)
    print(f"{len(list(sources.glob('*.cpp')))} examples, compiled by {', '.join(c[-1] for c in compilers)} and CMake")


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
        if "-lstdc++" in flags and not any(root.rglob("libnpzoo.a")):
            sys.exit(f"{flags} found, expected nothing that a shared library links by itself")
        check_c(next(root.rglob("share/doc/npzoo/examples/c")).parent, environment, folders, next(root.rglob("share/npzoo/weights")))
        check_examples(root, compiler, flags, folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
