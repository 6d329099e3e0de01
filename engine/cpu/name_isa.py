"""name_isa.py ISA READELF OBJCOPY OBJECT... OUTPUT...: makes what kernels define in common their instruction set's own.

An inline function or an instance of a template is a weak symbol of every object that uses it, and the linker keeps one
of them for all. Where that one was compiled for a newer processor, an older one dies of an illegal instruction. So each
weak symbol of a kernel's object, and each group of sections of which the linker keeps one, gets the name of the
instruction set appended, unless its type names it: by those the rest of the program calls kernels.
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
