"""Writes the R source package: r/ of the repository with the sources of the library, the headers that they read, and weights.

    r_package.py SOURCE BUILD PACKAGE COMPILER

BUILD is a folder that Meson has configured without unity builds, tools and optional features; PACKAGE is made.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Headers of other libraries that the package brings: folder or file below a folder of headers, name, licence, holder of the copyright.
LIBRARIES = {
    'boost': ('Boost', 'BSL-1.0', 'the authors named in each file'),
    'eigen3': ('Eigen', 'MPL-2.0', 'Gael Guennebaud, Benoit Jacob and others'),
    'fmt': ('fmt', 'MIT', 'Victor Zverovich and contributors'),
    'nlohmann': ('JSON for Modern C++', 'MIT', 'Niels Lohmann'),
    'toml++': ('toml++', 'MIT', 'Mark Gillard'),
    'Random123': ('Random123', 'BSD-3-Clause', 'D. E. Shaw Research'),
    'nanoflann.hpp': ('nanoflann', 'BSD-2-Clause', 'Marius Muja, David G. Lowe, Jose Luis Blanco'),
    'xxhash.h': ('xxHash', 'BSD-2-Clause', 'Yann Collet'),
    'xxh3.h': ('xxHash', 'BSD-2-Clause', 'Yann Collet'),
}
UNIT = 8  # files of host code that are compiled together, as in the default build
DEFINES = ['FMT_HEADER_ONLY', 'BOOST_MATH_STANDALONE']
# R refuses code that ends its process or writes past its console. A process ends so in jobs of several processes, which R starts none of.
REPLACED = {
    'npzoo/engine/ranks/job.cpp': ('::_exit(Job::kStallExit);', 'std::terminate();'),
    'include/nanoflann.hpp': ('fprintf(stderr, "Failed to allocate memory.\\n");', ''),
}
WEIGHTS = ['npzoo/any-1d', 'npzoo/any-2d', 'npzoo/any-3d']


def sources_of(build, target):
    """The sources of a target, and the generated ones, which are made."""
    targets = json.loads(subprocess.check_output(['meson', 'introspect', build, '--targets'], text=True))
    found = next(t for t in targets if t['name'] == target and t['type'] == 'static library')
    parts = [s for s in found['target_sources'] if s.get('language') == 'cpp']
    made = [f for s in parts for f in s['generated_sources']]
    if made:
        subprocess.run(['ninja', '-C', build, *(os.path.relpath(f, build) for f in made)], check=True, stdout=subprocess.DEVNULL)
    return [pathlib.Path(f) for s in parts for f in s['sources']], [pathlib.Path(f) for f in made]


class Package:
    def __init__(self, source, build, folder, compiler):
        self.source, self.build, self.folder = source, build, folder
        self.compiler, self.src = compiler, folder / 'src'
        self.units = []
        self.libraries = collections.Counter()

    def place_of(self, file):
        """Where a file of npzoo is below src/."""
        for root, below in ((self.build / 'include/built', '.'), (self.build / 'include', '.'), (self.source, 'npzoo'), (self.build, 'npzoo/generated')):
            if file.is_relative_to(root):
                return pathlib.Path(below) / file.relative_to(root)
        return None

    def copy(self, file, place):
        target = self.src / place
        target.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding='utf-8', errors='surrogateescape')
        if self.place_of(file) is None:
            # R wants no pragmas that suppress warnings. In system folders they have no effect, and these are none here.
            text = re.sub(r'^[ \t]*#[ \t]*pragma[ \t]+(GCC|clang)[ \t]+diagnostic.*$', '', text, flags=re.M)
            text = re.sub(r'_Pragma\("(GCC|clang) diagnostic[^)]*\)', '', text)
        if str(place) in REPLACED:
            old, new = REPLACED[str(place)]
            if old not in text and place.parts[0] == 'npzoo':
                sys.exit(f'r_package.py: {place} has no {old}, expected it: correct REPLACED')
            text = text.replace(old, new)
        target.write_text(text, encoding='utf-8', errors='surrogateescape', newline='\n')

    def add_unit(self, name, files, first=''):
        lines = [f'#include "{self.place_of(f)}"' for f in files]
        (self.src / name).write_text('\n'.join([first, *lines]).strip() + '\n')
        for file in files:
            self.copy(file, self.place_of(file))
        self.units.append(name)

    def add_kernel(self, file):
        """A kernel is a unit by itself, with what the build says on the command line, where R accepts no flags but common ones."""
        first = '#ifdef __GNUC__\n#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")\n#endif\n#define NPZOO_ISA generic\n\n'
        (self.src / f'kernel_{file.name}').write_text(first + file.read_text())
        self.units.append(f'kernel_{file.name}')

    def flags(self):
        return ['-std=c++20', *(f'-D{d}' for d in DEFINES)]

    def headers_of(self, unit):
        """The files that a unit reads, by the compiler, from the package where it has them, and otherwise from the build."""
        paths = ['-I', self.src, '-I', self.build / 'include', '-I', self.build / 'include/built']
        rule = subprocess.check_output([*self.compiler, *self.flags(), *map(str, paths), '-M', str(self.src / unit)], text=True)
        return rule.replace('\\\n', ' ').split(': ', 1)[1].split()

    def copy_headers(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = {pathlib.Path(os.path.normpath(f)) for files in pool.map(self.headers_of, self.units) for f in files}
        for file in sorted(found):
            real = file.resolve()
            if file.is_relative_to(self.src):
                continue
            if file.is_relative_to(self.build / 'include/npzoo') or real.is_relative_to(self.source):
                place = file.relative_to(self.build / 'include') if file.is_relative_to(self.build / 'include') else self.place_of(file)
                self.copy(real, place.relative_to('built') if place.parts[0] == 'built' else place)
            elif file.is_relative_to(self.build):
                self.copy(file, self.place_of(file))
            else:
                self.copy_library_header(file)

    def copy_library_header(self, file):
        """A header of another library, unless it is the compiler's or the system's."""
        for at, part in enumerate(file.parts):
            if part in LIBRARIES and file.parts[at - 1] in ('include',):
                self.libraries[part] += 1
                self.copy(file, pathlib.Path('include', *file.parts[at:]))
                return

    def check_closed(self):
        """Stops if a unit reads a header of another library that the package lacks."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            flags = [*self.compiler, *self.flags(), '-I', str(self.src), '-I', str(self.src / 'include'), '-M']
            rules = pool.map(lambda unit: subprocess.check_output([*flags, str(self.src / unit)], text=True), self.units)
            read = {word for rule in rules for word in rule.replace('\\\n', ' ').split()[1:]}
        for name in LIBRARIES:
            outside = [f for f in read if f'/include/{name}' in f and not f.startswith(str(self.folder))]
            if outside:
                sys.exit(f'r_package.py: the package lacks {outside[0]}')

    def write_copyrights(self):
        lines = ['The package contains files of npzoo (Apache-2.0) and headers of these libraries, in src/include:', '']
        names = {LIBRARIES[part] for part in self.libraries}
        for name, licence, holder in sorted(names):
            lines.append(f'{name}: {licence}, copyright {holder}')
        (self.folder / 'inst').mkdir(exist_ok=True)
        (self.folder / 'inst/COPYRIGHTS').write_text('\n'.join(lines) + '\n')


def main():
    source, build, folder = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
    version = json.loads(subprocess.check_output(['meson', 'introspect', build, '--projectinfo'], text=True))['version']
    if f'\nVersion: {version}\n' not in (source / 'r/DESCRIPTION').read_text():
        sys.exit(f'r_package.py: r/DESCRIPTION has another version, expected {version}')
    package = Package(source, build, folder, sys.argv[4].split())
    shutil.copytree(source / 'r', folder)
    host, generated = sources_of(build, 'npzoo')
    for i in range(0, len(host), UNIT):
        package.add_unit(f'host_{i // UNIT:02}.cpp', host[i:i + UNIT])
    for file in generated:  # which the default build puts together with others
        package.add_unit(f'host_{file.name}', [file])
    for kernel in sources_of(build, 'npzoo_generic')[0]:
        package.add_kernel(kernel)
    package.add_unit('xxhash.cpp', [], '#define XXH_STATIC_LINKING_ONLY\n#define XXH_IMPLEMENTATION\n#include <xxhash.h>')
    package.copy_headers()
    package.check_closed()
    package.write_copyrights()
    (package.src / 'Makevars').write_text(
        '# Written by tools/r_package.sh.\nCXX_STD = CXX20\n'
        f'PKG_CPPFLAGS = -I. -Iinclude {" ".join("-D" + d for d in DEFINES)}\nPKG_CXXFLAGS = $(CXX_VISIBILITY)\nPKG_LIBS = -pthread\n'
        # R compiles with -g on most systems, which makes the library much larger.
        '\nall: stripped\nstripped: $(SHLIB)\n\t@if command -v strip >/dev/null; then strip -x $(SHLIB); fi\n\n.PHONY: all stripped\n')
    for name in WEIGHTS:
        for file in (source / 'weights' / name).glob('*.safetensors'):
            target = folder / 'inst/weights' / name
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    files = [f for f in package.src.rglob('*') if f.is_file()]
    print(f'{len(package.units)} units, {len(files)} files, {sum(f.stat().st_size for f in files) / 1e6:.1f} MB of sources; '
          + ', '.join(f'{count} of {part}' for part, count in sorted(package.libraries.items())))


main()
