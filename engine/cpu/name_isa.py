"""name_isa.py ISA READELF OBJCOPY OBJECT... OUTPUT...

Appends the instruction set's name to every weak symbol, so that the linker does not merge code for different processors.

An inline function or an instance of a template is a weak symbol of every object that uses it, and the linker keeps one of
them. If that one was compiled for a newer processor, an older processor stops with an illegal instruction. Groups of
sections, of which the linker keeps one too, are renamed as well. Kernels keep their names: the type of a kernel contains
the instruction set, and the rest of the program calls it by that name.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ISAS = ('generic', 'avx2', 'avx512')  # as in engine/cpu/context.h
SYMBOL = re.compile(r'^ *\d+: +[0-9a-f]+ +\S+ +\S+ +(?:WEAK|UNIQUE) .* +(?!UND)\S+ (\S+)$', re.MULTILINE)
GROUP = re.compile(r'^COMDAT group section .* \[(\S+)\] contains', re.MULTILINE)


def rename(isa: str, readelf: str, objcopy: str, item: pathlib.Path, output: pathlib.Path) -> None:
    listing = subprocess.run([readelf, '--syms', '--section-groups', '--wide', item], check=True, capture_output=True,
                             text=True).stdout
    own = f'3IsaE{ISAS.index(isa)}E'  # of npzoo::Isa, as argument of a template
    names = {name for name in SYMBOL.findall(listing) + GROUP.findall(listing) if own not in name}
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as table:
        table.writelines(f'{name} {name}.{isa}\n' for name in sorted(names))
        table.flush()
        subprocess.run([objcopy, f'--redefine-syms={table.name}', item, output], check=True)


def main() -> None:
    isa, readelf, objcopy, *files = sys.argv[1:]
    half = len(files) // 2
    for item, output in zip(files[:half], files[half:], strict=True):
        rename(isa, readelf, objcopy, pathlib.Path(item), pathlib.Path(output))


main()
