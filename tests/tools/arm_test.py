#!/usr/bin/env python3
"""Tests of tools/arm.sh with stand-ins for the programs of Debian, and of the script that starts an emulated program:
arm_test.py ARM.SH WRITE.PY"""

import os
import pathlib
import subprocess
import sys
import tempfile

STAND_INS = {
    "dpkg-query": "echo installed",
    "aarch64-linux-gnu-gcc": "echo 12",
    "apt-get": 'echo "apt-get $*" >>"$LOG"; cp "$APT_CONFIG" "$LOG.conf"; touch "$(dirname "$APT_CONFIG")/archives/some_1_arm64.deb"; '
               '[ -z "${BROKEN:-}" ] || { echo "no such package"; exit 100; }',
    "dpkg-deb": 'case $1 in -x) echo "unpack $3" >>"$LOG" ;; '
                '-e) mkdir "$3"; printf "Package: some\\nMulti-Arch: same\\n" >"$3/control"; echo "libsome 1 some" >"$3/shlibs" ;; '
                '-f) echo some ;; *) tar -c -C "$(dirname "$2")" "$(basename "$2")" ;; esac',
    "meson": 'echo "meson $*" >>"$LOG"',
    "ninja": 'echo "ninja $*" >>"$LOG"',
}


def check_script(here, arm):
    build, log = here / "build", here / "log"
    for program, script in STAND_INS.items():
        path = here / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run(*arguments, status=0, **environment):
        log.unlink(missing_ok=True)
        done = subprocess.run(["bash", arm, *arguments], cwd=here, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "PATH": f"{here / 'bin'}:{os.environ['PATH']}", "LOG": str(log), "BUILD": "build", **environment})
        lines = log.read_text().splitlines() if log.exists() else []
        if done.returncode != status:
            sys.exit(f"{done.args}: exit status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}{lines}")
        return done, lines

    def expect(condition, *what):
        if not condition:
            sys.exit(" ".join(map(str, what)))

    for arguments in (["--none"], ["--deb"], ["folder"]):
        done, _ = run(*arguments, status=2)
        expect("tools/arm.sh --test" in done.stderr and not build.exists(), arguments, done.stderr)

    done, lines = run(status=77, BROKEN="1")
    expect("no such package" in done.stderr and done.stderr.splitlines()[-1] == "arm: apt-get update failed", done.stderr)

    done, lines = run()
    expect(done.stdout == f"{build}/meson/tools/emulated/npzoo\n", done.stdout)
    (install,) = [line for line in lines if " install " in line]
    expect("--download-only" in install and " libfmt-dev " in install and install.endswith(" libstdc++-12-dev"), install)
    expect(" g++ " not in install and " ninja-build " not in install, install, "has programs of the wrong processor")
    # Nothing that apt writes is outside the folder of the build.
    configuration = (here / "log.conf").read_text()
    for name in ("State::lists", "State::status", "Cache::archives", "Log"):
        expect(f'Dir::{name} "{build}/' in configuration, configuration)
    expect('APT::Architecture "arm64"' in configuration, configuration)
    expect(f"unpack {build}/system" in lines, lines)
    database = build / "system/var/lib/dpkg"
    expect((database / "info/some:arm64.shlibs").exists() and "Status: install ok installed" in (database / "status").read_text(), database)
    (setup,) = [line for line in lines if line.startswith("meson setup")]
    expect("--cross-file" in setup and "tools/arm.ini" in setup, setup)
    expect(f"system = '{build}/system'" in (build / "constants.ini").read_text(), "constants.ini")

    _, lines = run("--test")
    expect(not any("apt-get" in line or "unpack" in line for line in lines), "the second call downloads again:", lines)
    expect(lines[-1].startswith(f"meson test -C {build}/meson") and lines[-1].endswith(" --suite=arm"), lines)
    _, lines = run("--test", "engine", "ops")
    expect(lines[-1].endswith(" --suite=engine --suite=ops"), lines)
    _, lines = run("--test", "all")
    expect("--suite" not in lines[-1], lines)


def check_launcher(here, write):
    """The script passes words as they are, and names itself for programs that start themselves again."""
    program, script = here / "a program", here / "npzoo"
    program.write_text("""#!/bin/sh\nprintf '%s\\n' "$NPZOO_STARTED_BY" "$@"\n""")
    subprocess.run([sys.executable, write, script, program, "/bin/sh"], check=True)
    said = subprocess.run([script, "a b", "$c", ""], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    if said != [str(script), "a b", "$c", "", ""]:
        sys.exit(f"{said} of the script, expected its name and the words")


def main():
    arm, write = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name).resolve()
        check_script(here, arm)
        check_launcher(here, write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
