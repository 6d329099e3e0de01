"""Shared by the tests of signals."""

import pathlib
import signal
import subprocess

from cli_support import PROGRAM, TIMEOUT

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def set_signals(ignored=()):
    """Signals do what they do by default, whatever the tests themselves were started with, or are ignored."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


def start(*args, ignored=(), **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, preexec_fn=lambda: set_signals(ignored),
                            restore_signals=False, **options)


def mask_of(process, kind):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1], 16)
    return 0
