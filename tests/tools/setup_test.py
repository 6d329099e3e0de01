#!/usr/bin/env python3
"""Tests of tools/setup.sh with stand-ins for the programs of Debian: setup_test.py SETUP"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

STAND_INS = {
    "id": "echo 1000",
    "dpkg-query": 'case "$*" in *ninja-build*) echo installed;; *) exit 1;; esac',
    "sudo": 'echo "sudo $1" >>"$LOG"; exec env -i LOG="$LOG" PATH="$PATH" "$@"',  # which resets the environment
    "apt-get": 'echo "apt-get $* ($DEBIAN_FRONTEND)" >>"$LOG"; echo "noise of apt"; echo "more noise" >&2; cat; ' +
               'case "$*" in *broken*) exit 100;; esac',
}


def main():
    setup = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        log, bin_folder = here / "log", here / "bin"
        bin_folder.mkdir()
        for program in ("bash", "env", "cat", "grep", "rm", "mktemp"):
            (bin_folder / program).symlink_to(shutil.which(program))

        def run(*arguments, without=()):
            for program, script in STAND_INS.items():
                path = bin_folder / program
                path.unlink(missing_ok=True)
                if program not in without:
                    path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
                    path.chmod(0o755)
            log.unlink(missing_ok=True)
            return subprocess.run(["bash", setup, *arguments], env={"PATH": str(bin_folder), "LOG": str(log)}, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def expect(condition, done):
            if not condition:
                sys.exit(f"{done.args}: exit status {done.returncode}\n{done.stdout}{done.stderr}" +
                         (log.read_text() if log.exists() else ""))

        done = run("clang")
        calls = [line for line in log.read_text().splitlines() if line.startswith("apt-get")]
        expect(done.returncode == 0 and not done.stdout and "noise" not in done.stderr, done)
        expect(len(done.stderr.splitlines()) <= 6 and all(line.startswith("setup: ") for line in done.stderr.splitlines()), done)
        expect(len(calls) == 3 and all(call.endswith("(noninteractive)") for call in calls), done)
        expect(" update" in calls[0] and all(" install -y " in call and " clang " in call and "ninja-build" not in call for call in calls[1:]), done)

        done = run("broken")
        expect(done.returncode == 1 and "noise of apt\nmore noise\n" in done.stderr, done)
        expect(done.stderr.splitlines()[-1] == "setup: apt-get install failed", done)

        done = run(without=["sudo"])
        expect(done.returncode == 1 and len(done.stderr.splitlines()) == 1, done)
        expect("as root, run: apt-get update && apt-get install " in done.stderr and not log.exists(), done)

        done = run("--list")
        expect(done.returncode == 0 and "libfmt-dev" in done.stdout.split() and "--list" not in done.stdout, done)
        expect(not log.exists() and not done.stderr, done)

        done = run(without=["apt-get", "dpkg-query"])
        expect(done.returncode == 0 and "libfmt-dev" in done.stderr, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
