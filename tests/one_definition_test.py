#!/usr/bin/env python3
"""Checks that no name has two definitions: one_definition_test.py SOURCE INCLUDES C++ COMMAND…

The linker keeps one of two definitions of a name, without a word. First, the script reads all sources: a type must have a name that no other
file uses in its namespace. Then it compiles all headers of host code together, which also finds functions and constants. INCLUDES are flags,
separated by commas. The test takes 14 seconds of processor time. GCC's link-time optimisation (-Wodr) takes 11 minutes and does not see
kernels."""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDERS = ("engine", "ops", "datasets", "models", "tools", "python/core", "perf", "tests")
SOURCES = (".h", ".cpp", ".cu")
OPENED = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{(?! *\})")
CLOSED = re.compile(r"\} *// namespace\b")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?)(?: alignas\([^)]*\))? (\w+)(?: final)?(?: :(?!:)[^{;]*)? *(?:\{|$)")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def types(text):
    """Pairs of a namespace and the name of a type that is defined in it; those of unnamed namespaces are left out. The sources are
    formatted: what is at namespace scope begins a line."""
    inside = []
    for line in text.splitlines():
        if opened := OPENED.match(line):
            inside.append(opened[1])
        elif CLOSED.match(line):
            inside.pop()
        elif (found := TYPE.match(line)) and None not in inside:
            yield "::".join(inside), found[1]


def all_sources(root):
    for folder in FOLDERS:
        yield from (path for path in sorted((root / folder).rglob("*")) if path.suffix in SOURCES)


def repeated_types(root):
    places = collections.defaultdict(set)
    for path in all_sources(root):
        for name in types(path.read_text()):
            places[name].add(str(path.relative_to(root)))
    if len(places) < 800:
        sys.exit(f"{len(places)} types found, expected all of them")
    return [f"{'::'.join(name)} is defined in {' and '.join(sorted(files))}" for name, files in sorted(places.items()) if len(files) > 1]


def file_of(name, root):
    return root / name.removeprefix("npzoo/")


def host_headers(root):
    """The headers that host code includes, but for those of the Python module, which need nanobind."""
    waiting = [path for path in all_sources(root) if path.suffix == ".cpp" and not path.name.endswith(("_cpu.cpp", "_kernels.cpp")) and
               not re.search("emulat|nvidia|cublas|cufft", path.name) and path.relative_to(root).parts[0] not in ("python", "tests", "perf")]
    found = {}
    while waiting:
        for name in INCLUDE.findall(waiting.pop().read_text()):
            if name.endswith(".h") and name not in found and file_of(name, root).is_file():
                found[name] = True
                waiting.append(file_of(name, root))
    return sorted(found)


def main():
    example = "namespace a {\nstruct B;\nstruct C {\n  struct D {};\n};\nnamespace {\nclass E {};\n}  // namespace\n" \
              "template <class T>\nstruct F<T*> {};\nenum class G { one };\nclass H final : public I {\n};\n}  // namespace a\n"
    assert list(types(example)) == [("a", "C"), ("a", "G"), ("a", "H")], list(types(example))
    root, includes, compiler = pathlib.Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
    if repeated := repeated_types(root):
        sys.exit("\n".join(repeated))
    headers = host_headers(root)
    if len(headers) < 300:
        sys.exit(f"{len(headers)} headers found, expected all of host code")
    with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
        unit = pathlib.Path(folder) / "headers.cpp"
        unit.write_text("".join(f'#include "{name}"\n' for name in headers))
        done = subprocess.run([*compiler, "-std=c++20", "-fsyntax-only", "-w", "-DNPZOO_GUARD", *includes, unit], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr[:4000])
    print(f"{len(headers)} headers compile together")


if __name__ == "__main__":
    main()
