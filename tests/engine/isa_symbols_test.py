"""isa_symbols_test.py [--expect-shared] OBJECT...: code for newer processors must not replace code for older ones.

Of a weak symbol (an inline function, an instance of a template) and of a group of sections that several objects define,
the linker keeps one. So each name that these objects have outside must contain their instruction set, which their file
names tell. With --expect-shared, those of every object must be found wanting.
"""
import pathlib
import re
import subprocess
import sys

ISAS = ('generic', 'avx2', 'avx512')
OUTSIDE = re.compile(r'^[0-9a-f]+ [A-TV-Zu] (.+)$', re.MULTILINE)  # weak, unique and other global names
GROUP = re.compile(r'^COMDAT group section .* \[(\S+)\] contains', re.MULTILINE)


def output_of(*command: object) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def shared_symbols(item: pathlib.Path) -> tuple[list[str], int]:
    """Returns symbols that objects of other instruction sets define as well, and the number of all symbols."""
    isa = next(isa for isa in ISAS if isa in item.name)
    number = ISAS.index(isa)
    # Mangled, since c++filt leaves some names as they are.
    names = OUTSIDE.findall(output_of('nm', '--defined-only', item))
    groups = GROUP.findall(output_of('readelf', '--section-groups', '--wide', item))
    shared = [name for name in names + groups if f'3IsaE{number}E' not in name]
    return shared, len(names)


def main() -> int:
    expected = '--expect-shared' in sys.argv
    objects = [pathlib.Path(name) for name in sys.argv[1:] if not name.startswith('--')]
    failed = not objects
    total = 0
    for item in objects:
        shared, count = shared_symbols(item)
        total += count
        failed |= count == 0 or bool(shared) != expected
        for name in shared:
            print(f'{item.name}: {name}')
    print(f'{len(objects)} objects, {total} names outside')
    return 1 if failed else 0


sys.exit(main())
