#!/usr/bin/env python3
"""Tests of perf/paired.py with stand-ins for the program, Meson and Ninja: paired_test.py PAIRED.PY"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Takes processor time: of the case, as `seconds` beside it has it by its first words. "0.05 0.3" is 0.05 s at first and then 0.3 s.
PROGRAM = f"""#!{sys.executable} -SE
import os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
line = " ".join(sys.argv[1:])
own = [text.split("=") for text in open(here + "/seconds").read().splitlines()]
wanted = next((value for begin, value in own if line.startswith(begin)), "0.05").split()
if wanted[0] == "fails":
    sys.exit("npzoo: error: no such thing")
count = here + "/count-" + line.split()[1]
with open(count, "a") as file:
    file.write("x")
seconds = float(wanted[min(os.path.getsize(count) - 1, len(wanted) - 1)])
assert os.path.exists("events.csv") and "--threads 1" in line
while time.process_time() < seconds:
    pass
"""
MESON = """#!/bin/sh
mkdir -p "$2" && echo "meson $*" >>"$LOG"
"""
NINJA = """#!/bin/sh
mkdir -p "$2/tools" && cp "$2/../npzoo" "$2/../seconds" "$2/tools/" && chmod 755 "$2/tools/npzoo"
"""
FAST = ["--cases", "fill", "gp", "--rounds", "1", "--limit", "3"]  # far from the noise of a busy machine


def expect(condition, done, *what):
    if not condition:
        sys.exit(f"{' '.join(map(str, what))}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def write_program(folder, seconds=""):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "npzoo").write_text(PROGRAM)
    (folder / "npzoo").chmod(0o755)
    (folder / "seconds").write_text(seconds)
    return folder / "npzoo"


def rows(done):
    return {row[0]: row[1:] for row in re.findall(r"^\| ([\w -]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", done.stdout, re.MULTILINE)}


def check_programs(here, run):
    old = write_program(here / "old")
    done = run(old, write_program(here / "new"), "--rounds", 1, "--limit", 9)
    expect(done.returncode == 0 and len(rows(done)) == 11, done, "the same eleven cases")
    slow = write_program(here / "new", "predict gaps.csv=0.4\n")
    done = run(old, slow, *FAST)
    expect(done.returncode == 1 and "paired: fill:" in done.stderr and "*again, above 3*" in done.stdout, done, "a slow case")
    expect(done.stdout.count("| fill |") == 2 and float(rows(done)["fill"][2]) > 3, done, "the ratio of a slow case, measured twice")
    done = run(old, slow, "--cases", "fill", "--rounds", 1)
    expect(done.returncode == 1 and "slower than 1.15 twice" in done.stderr, done, "the default limit")
    done = run(old, write_program(here / "new", "predict gaps.csv=0.4 0.02\n"), *FAST)
    expect(done.returncode == 0 and done.stdout.count("| fill |") == 2, done, "a case that is slow once")
    done = run(write_program(here / "slow", "predict gaps.csv=0.4\n"), write_program(here / "new"), *FAST)
    expect(done.returncode == 0 and float(rows(done)["fill"][2]) < 0.5, done, "a case that became faster")
    # The smallest of the rounds counts.
    done = run(old, write_program(here / "new", "predict gaps.csv=0.4 0.05\n"), "--cases", "fill", "--rounds", 2, "--limit", 3)
    expect(done.returncode == 0 and "again" not in done.stdout, done, "one slow round")


def check_failures(here, run):
    old, fails = write_program(here / "old"), "predict gaps.csv=fails\n"
    done = run(old, write_program(here / "new", fails), *FAST)
    expect(done.returncode == 1 and "NEW: npzoo: error: no such thing" in done.stdout, done, "a case that fails now")
    broken = write_program(here / "broken", fails)
    done = run(broken, old, *FAST)
    expect(done.returncode == 0 and "not compared, OLD: npzoo: error: no such thing" in done.stdout, done, "a case that is new")
    done = run(broken, old, "--cases", "fill")
    expect(done.returncode == 2 and done.stderr == "paired: no case runs with OLD\n", done, "nothing to compare")
    for arguments, message in ((["nothing", old], "nothing is neither a program nor a revision of git"),
                               ([here / "old/seconds", old], "is not a program"), ([old, old, "--rounds", "0"], "expected at least 1")):
        done = run(*arguments)
        expect(done.returncode == 2 and message in done.stderr, done, message)


def check_revisions(here, run):
    """A revision is built in a worktree of its own, which is removed; the last tag is the default."""
    repository, stand_ins = here / "repository", here / "bin"
    (repository / "perf").mkdir(parents=True)
    stand_ins.mkdir()
    for name, text in {"meson": MESON, "ninja": NINJA}.items():
        (stand_ins / name).write_text(text)
        (stand_ins / name).chmod(0o755)
    shutil.copy(sys.argv[1], repository / "perf/paired.py")
    environment = {**os.environ, "PATH": f"{stand_ins}:{os.environ['PATH']}", "LOG": str(here / "log")}

    def git(*words):
        subprocess.run(["git", "-C", repository, "-c", "user.name=A", "-c", "user.email=a@example.org", *words], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    git("init")
    done = run(*FAST, script=repository / "perf/paired.py", env=environment)
    expect(done.returncode == 2 and done.stderr == "paired: there is no tag, expected OLD: a revision or a program\n", done, "no tag")
    for seconds, tag in (("predict gaps.csv=0.02\n", "v0.1.0"), ("predict gaps.csv=0.4\n", "later")):
        (repository / "npzoo").write_text(PROGRAM)
        (repository / "seconds").write_text(seconds)
        git("add", "-A")
        git("commit", "-m", "one")
        if tag.startswith("v"):
            git("tag", tag)
    done = run(*FAST, script=repository / "perf/paired.py", env=environment)
    expect(done.returncode == 1 and "paired: fill:" in done.stderr and "building v0.1.0" in done.stderr, done, "a slow revision")
    expect((here / "log").read_text().count("-Dtests=false") == 2, done, "options of both builds")
    left = subprocess.run(["git", "-C", repository, "worktree", "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    expect(len(left) == 1, done, "worktrees are left:", left)


def main():
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)

        def run(*arguments, script=os.path.abspath(sys.argv[1]), env=None):
            return subprocess.run([sys.executable, script, *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=env, cwd=here)

        check_programs(here, run)
        check_failures(here, run)
        if shutil.which("git"):
            check_revisions(here, run)
        else:
            print("skipped: the part with revisions needs git")
    return 0


if __name__ == "__main__":
    sys.exit(main())
