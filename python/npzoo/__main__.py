"""Runs the command-line program: `python -m npzoo predict table.csv --out filled.csv`."""

from __future__ import annotations

import signal
import sys
from typing import Iterable

from . import _core


def main(arguments: Iterable[str] | None = None) -> int:
    """Runs the program with these arguments, by default those of the process, and returns its exit status."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it; the program ends quietly without a reader
    return _core.run_program(list(sys.argv[1:] if arguments is None else arguments), sys.executable)


if __name__ == "__main__":
    sys.exit(main())
