"""isa_symbols_test.py LIBRARY...: code for newer processors must not replace code for older ones.

The linker keeps one copy of a weak symbol (an inline function, an instance of a template) that several objects define.
Where that copy was built for a newer instruction set, every older processor that calls it dies of an illegal
instruction. So each weak symbol of these libraries must name the instruction set in its type.
"""
import pathlib
import re
import subprocess
import sys

ISAS = {'avx2': '(npzoo::Isa)1', 'avx512': '(npzoo::Isa)2'}
# Holds no code; made of a call to std::terminate alone.
HARMLESS = {'DW.ref.__gxx_personality_v0', '__clang_call_terminate'}
WEAK = re.compile(r'^[0-9a-f]+ ([VWu]) (.+)$')


def shared_symbols(library: pathlib.Path, isa: str) -> tuple[list[str], int]:
    """The weak symbols that other libraries may define as well, and the number of all that were looked at."""
    listing = subprocess.run(['nm', '-C', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    found = [match.groups() for match in map(WEAK.match, listing.splitlines()) if match]
    return [f'{kind} {name}' for kind, name in found if ISAS[isa] not in name and name not in HARMLESS], len(found)


def main() -> int:
    failed = False
    checked = 0
    for library in map(pathlib.Path, sys.argv[1:]):
        isa = next((name for name in ISAS if name in library.name), None)
        if not isa:
            continue  # the oldest instruction set harms nobody
        shared, count = shared_symbols(library, isa)
        checked += 1
        print(f'{library.name}: {count} weak symbols, {len(shared)} without {ISAS[isa]}')
        for symbol in shared:
            print(f'  {symbol}')
        failed |= bool(shared) or count == 0
    if not checked:
        print('no library for a newer instruction set was given')
    return 1 if failed or not checked else 0


sys.exit(main())
