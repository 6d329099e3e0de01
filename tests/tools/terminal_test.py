#!/usr/bin/env python3
"""Tests of what a terminal shows while a command works: terminal_test.py PATH_TO_NPZOO"""

import os
import pathlib
import pty
import subprocess
import sys
import threading

from cli_support import (HERE, PROGRAM, TIMEOUT, case, checkpoint, expect, predict_args, run_cases, small_protocol, succeed, write)

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


def on_a_terminal(*args):
    """Standard output, and what a terminal on standard error has got."""
    ours, theirs = pty.openpty()
    shown = bytearray()

    def collect():
        try:
            while chunk := os.read(ours, 65536):
                shown.extend(chunk)
        except OSError:  # nobody holds the other end any more
            pass

    reader = threading.Thread(target=collect)
    reader.start()
    try:
        done = subprocess.run([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
                              text=True, timeout=TIMEOUT, env={**os.environ, "TERM": "xterm"})
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    expect(done.returncode == 0, "exit status", done.returncode, "of", args, shown.decode(errors="replace"))
    return done.stdout, shown.decode()


@case
def long_commands_show_progress():
    protocol = small_protocol()
    steps = ["--protocol", protocol, "--steps", 2]
    commands = {
        "known rbf": ["oracle", protocol, "--tasks", 2], "eval rbf": ["eval", "--checkpoint", checkpoint(), "--batches", 2],
        "stream": ["stream", "--checkpoint", checkpoint("streaming", "tnp/gp-rbf", "cmanp", steps=2, batch=2), *predict_args()[6:]], "gradcheck": ["gradcheck", "concat"],
        "parity": ["parity", GOLDEN / "cnp.a.safetensors"], "warm-up": ["bench", "train-step", *steps, "--model", "cnp"],
        "bench": ["bench", "forward", *steps, "--model", "cnp"], "bench ": ["bench", "data", *steps],
        "bench attention": ["bench", "attention", "--queries", 3, "--repeats", 1],
        "bench scaling": ["bench", "scaling", "--models", "cnp", "--points", "3", "--repeats", 1],
    }
    for label, args in commands.items():
        out, shown = on_a_terminal(*args)
        expect(shown.startswith(f"\r\x1b[2K{label.strip()} "), label, "expected at the start of", repr(shown))
        expect(shown.endswith("\n"), "a bar is left unfinished:", repr(shown))
        expect("\x1b" not in out and "\r" not in out, "the bar reaches standard output:", out)


@case
def a_bar_in_passing_is_erased():
    space = write("space.toml", "".join(f'[[axis]]\nname = "{name}"\nlow = 0\nhigh = 1\n' for name in "abc"))
    rows = "".join(f"0.{i},0.{9 - i},0.{i * 7 % 10},{i}\n" for i in range(9))
    commands = {"optimise": ["optimise", "--space", space, "--tell", write("tell.csv", "a,b,c,value\n" + rows), "--gaussian-process"],
                "plot": ["plot", "--checkpoint", checkpoint(), "--out", HERE / "plot.svg"], "predict": predict_args(),
                "sample": ["sample", small_protocol(), "--tasks", 3, "--out", HERE / "sample.csv"]}
    for label, args in commands.items():
        shown = on_a_terminal(*args)[1]
        erased = shown.startswith(f"\r\x1b[2K{label} ") and shown.count("\r\x1b[2K") > 1
        expect(erased and all(line.startswith("npzoo: ") for line in shown.rsplit("\r\x1b[2K", 1)[1].splitlines()),
               label, "and its end expected, found:", repr(shown))


@case
def results_do_not_depend_on_the_terminal():
    for args in (["gradcheck", "concat", "linear"], ["parity", GOLDEN / "cnp.a.safetensors"],
                 ["oracle", small_protocol(), "--tasks", 2], ["eval", "--checkpoint", checkpoint(), "--batches", 2]):
        expect(on_a_terminal(*args)[0] == succeed(*args), args)


if __name__ == "__main__":
    sys.exit(run_cases())
