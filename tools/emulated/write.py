"""Writes a script that starts a program by an emulator: write.py SCRIPT PROGRAM EMULATOR..., an EMULATOR being a command."""
import pathlib
import shlex
import sys

script, program, *emulator = sys.argv[1:]
script = pathlib.Path(script).resolve()
command = shlex.join([*emulator, str(pathlib.Path(program).resolve())])
# The program cannot start itself again by its own file: it gets the script instead.
script.write_text(f'#!/bin/sh\nNPZOO_STARTED_BY={shlex.quote(str(script))} exec {command} "$@"\n')
script.chmod(0o755)
