"""units.py ROOT SOURCE...: prints a line for each translation unit: its name and its sources.

Short kernel sources share units, since their compilation spends most of its time on headers. Two sources that define the
same name at their top level do not share one.
"""
import pathlib
import re
import sys

SHORT = 130  # lines
UNITS = 4
DEFINED = re.compile(r'^#define (\w+)|^[^(={;]*?(\w+)(?:<[^>]*>)? ?(?:[(={;]|$)|, (\w+) =')
NO_DEFINITION = ('namespace', 'template', '#undef', 'NPZOO_')


def definitions(root: pathlib.Path, file: str, seen: set[str]) -> set[tuple[str, str]]:
    """Returns the names that a file and its includes define on lines without indentation, each with its file."""
    if file in seen or not (root / file).is_file():
        return set()
    seen.add(file)
    found = set()
    for line in re.sub(r'//.*|__launch_bounds__\(\w+\) ?', '', (root / file).read_text()).splitlines():
        if included := re.match(r'#include "(.*)"', line):
            found |= definitions(root, included[1], seen)
        elif re.match(r'#define|\w', line) and not line.startswith(NO_DEFINITION):
            found.update((name, file) for names in DEFINED.findall(line) for name in names if name)
    return found


def fit(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> bool:
    """True if the two sources can share a unit: no name is defined by a file that only one of them includes."""
    return {name for name, _ in one - other}.isdisjoint(name for name, _ in other - one)


def main() -> None:
    root, sources = pathlib.Path(sys.argv[1]), sys.argv[2:]
    shared: list[tuple[list[str], list[set[tuple[str, str]]]]] = [([], []) for _ in range(UNITS)]
    for source in sources:
        if len((root / source).read_text().splitlines()) >= SHORT:
            print(source.replace('/', '_').removesuffix('.cu').removesuffix('.cpp'), source)
            continue
        names = definitions(root, source, set())
        free = [unit for unit in shared if all(fit(names, others) for others in unit[1])]
        if not free:
            free = [([], [])]
            shared += free
        members, taken = min(free, key=lambda unit: len(unit[0]))
        members.append(source)
        taken.append(names)
    for i, (members, _) in enumerate(shared):
        if members:
            print(f'short_kernels_{i + 1}_cuda', *members)


if __name__ == '__main__':
    main()
