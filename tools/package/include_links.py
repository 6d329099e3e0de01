"""include_links.py SOURCE BUILD: makes BUILD/include, so that `#include "npzoo/engine/tensor.h"` finds SOURCE/engine/tensor.h.

Installed headers lie in a folder npzoo. Here relative links stand for it: `include` leads to the sources, `include/built` to
generated headers. Source archives cannot hold such links: pip drops links to folders.
"""
import os
import pathlib
import sys

FOLDERS = ('engine', 'ops', 'datasets', 'models')
C_HEADER = 'models/npzoo.h'


def link(at: pathlib.Path, target: pathlib.Path) -> None:
    relative = os.path.relpath(target, at.parent)
    if not at.is_symlink() or os.readlink(at) != relative:
        at.unlink(missing_ok=True)
        at.symlink_to(relative)


def main() -> None:
    source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    for include, of in ((build / 'include', source), (build / 'include/built', build)):
        (include / 'npzoo').mkdir(parents=True, exist_ok=True)
        for folder in FOLDERS:
            link(include / 'npzoo' / folder, of / folder)
    link(build / 'include/npzoo/npzoo.h', source / C_HEADER)


if __name__ == '__main__':
    main()
