#!/usr/bin/env python3
"""The Debian packages hold what is installed, the program runs from where it is unpacked, and a C++ program links to the
library there: deb_test.py SCRIPT BUILD C++ COMMAND…"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# By package: files as regular expressions, and packages that it depends on.
WANTED = {
    "npzoo": ["/usr/bin/npzoo", "/usr/share/man/man1/npzoo.1.gz", "/usr/share/man/man1/npzoo-bench-train-step.1.gz",
              "/usr/share/bash-completion/completions/npzoo", "/usr/share/zsh/vendor-completions/_npzoo",
              "/usr/share/fish/vendor_completions.d/npzoo.fish", "/usr/share/doc/npzoo/copyright",
              "/usr/share/doc/npzoo/examples/station.csv", "/usr/share/npzoo/weights/tnp/gp-rbf/tnp-d.safetensors"],
    "libnpzoo-dev": ["/usr/include/npzoo/models/registry.h", "/usr/include/npzoo/ops/elementwise/table.def",
                     r"/usr/lib/.*libnpzoo\.(a|so)", r"/usr/lib/.*pkgconfig/npzoo\.pc", "/usr/share/doc/libnpzoo-dev/copyright"],
}
DEPENDS = {
    "npzoo": ["libc6", "libcairo2", "libstdc++6"],
    # Packages that npzoo.pc requires, and those that the headers include.
    "libnpzoo-dev": ["libfmt-dev", "nlohmann-json3-dev", "libxxhash-dev", "zlib1g-dev", "liblzma-dev", "libpng-dev", "libjpeg",
                     "libarchive-dev", "librandom123-dev"],
}


def output(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


# Links the archive's kernels, its readers of files and the libraries that these need.
PROGRAM = """
#include "npzoo/engine/tensor.h"
int main() { return npzoo::Tensor::full({2, 3}, 1.5).values<float>()[5] == 1.5f ? 0 : 1; }
"""
# Links with a C compiler, which adds neither the C++ library nor the mathematical one.
C_PROGRAM = """
#include <npzoo/npzoo.h>
int main(void) { return npzoo_last_error() == 0; }
"""


def check_files(build, files):
    """Each installed file is in one of the packages, and in one alone. The Python package is in none."""
    introspected = json.loads(output("meson", "introspect", "--installed", "--buildoptions", build))
    (prefix,) = (option["value"] for option in introspected["buildoptions"] if option["name"] == "prefix")
    everything = files["npzoo"] | files["libnpzoo-dev"]
    if both := files["npzoo"] & files["libnpzoo-dev"]:
        sys.exit(f"in both packages: {sorted(both)}")
    if python := sorted(file for file in everything if "-packages/" in file):
        sys.exit(f"{python[0]} is in a package, expected no part of the Python package")
    for path in introspected["installed"].values():
        path = "/usr" + path.removeprefix(prefix)
        if re.search(r"/python3[^/]*/(site|dist)-packages/", path):
            continue
        if path not in everything and path + ".gz" not in everything and not any(file.startswith(path + "/") for file in everything):
            sys.exit(f"{path} is installed, but in none of the packages")


def check_link(root, pc, compiler):
    """Programs in C++ and C compile and link with the flags that pkg-config prints for the unpacked files."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    flags = output("pkg-config", "--cflags", "--libs", "npzoo", env=environment).split()
    (root / "mine.cpp").write_text(PROGRAM)
    (root / "mine.c").write_text(C_PROGRAM)
    for command in ([*compiler, "-std=c++20", root / "mine.cpp"], ["cc", root / "mine.c"]):
        output(*command, "-o", root / "mine", *flags)
        output(root / "mine")


def main():
    script, build = map(os.path.abspath, sys.argv[1:3])
    compiler = sys.argv[3:]
    if not all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps"))):
        print("skipped: no dpkg-dev")
        return 77
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        environment = {**os.environ, "DEBFULLNAME": "A Maintainer", "DEBEMAIL": "a@example.org"}
        packages = output(script, build, cwd=here, env=environment).split()
        names = [pathlib.Path(package).name.split("_")[0] for package in packages]
        if names != ["npzoo", "libnpzoo-dev"]:
            sys.exit(f"{names} found, expected npzoo and libnpzoo-dev")
        files = {}
        for package, wanted in WANTED.items():
            path = packages[names.index(package)]
            found = files[package] = set(re.findall(r" \.(/\S+[^/\s])(?: -> .*)?$", output("dpkg-deb", "-c", path), re.MULTILINE))
            if missing := [pattern for pattern in wanted if not any(re.fullmatch(pattern, file) for file in found)]:
                sys.exit(f"missing in {package}: {missing}")
            if foreign := {file for file in found if not file.startswith("/usr/")}:
                sys.exit(f"outside /usr: {sorted(foreign)}")
            if "Maintainer: A Maintainer <a@example.org>\n" not in output("dpkg-deb", "-f", path):
                sys.exit(f"Maintainer: {output('dpkg-deb', '-f', path, 'Maintainer')}")
        check_files(build, files)
        for package, wanted in DEPENDS.items():
            depends = output("dpkg-deb", "-f", packages[names.index(package)], "Depends")
            if missing := [library for library in wanted if library not in depends]:
                sys.exit(f"{missing} expected in Depends of {package}: {depends}")
        root = here / "root"
        for package in packages:
            output("dpkg-deb", "-x", package, root)
        (pc,) = root.rglob("npzoo.pc")
        if "prefix=/usr\n" not in pc.read_text():
            sys.exit(f"prefix=/usr expected in {pc.read_text()}")
        check_link(root, pc, compiler)
        environment = {key: value for key, value in os.environ.items() if key != "NPZOO_WEIGHTS"}
        program = root / "usr/bin/npzoo"
        if str(root) not in output(program, "list", "weights", "--json", env=environment):
            sys.exit("the installed program does not find the installed weights")
        page = subprocess.run(["gzip", "-dc", root / "usr/share/man/man1/npzoo-train.1.gz"], stdout=subprocess.PIPE, text=True, check=True)
        if page.stdout != output(program, "help", "--man", "train"):
            sys.exit("the page of npzoo train is not what the program tells")
        script = root / "usr/share/bash-completion/completions/npzoo"
        completed = output("bash", "-c", f"source '{script}'; COMP_LINE='npzoo info tnp-d:tnp'; COMP_POINT=${{#COMP_LINE}}; "
                           f"_npzoo '{program}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"", env=environment)
        if "tnp/gp-rbf" not in completed.split():
            sys.exit(f"completed: {completed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
