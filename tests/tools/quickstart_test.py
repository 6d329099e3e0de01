#!/usr/bin/env python3
"""tools/quickstart.sh with a program that is built already and a short training: quickstart_test.py NPZOO SCRIPT"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    program, script = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        stand_ins = {"tools/setup.sh": "exit 0", "bin/ninja": 'echo "ninja $*"',
                     "build/tools/npzoo": f'[ "$1" != train ] || set -- "$@" --steps 20 --batch 2\nexec "{program}" "$@"'}
        for path, text in stand_ins.items():
            (here / path).parent.mkdir(parents=True, exist_ok=True)
            (here / path).write_text(f"#!{shutil.which('bash')}\n{text}\n")
            (here / path).chmod(0o755)
        (here / "build/build.ninja").touch()
        (here / "examples").symlink_to(script.parents[1] / "examples")
        shutil.copy(script, here / "tools/quickstart.sh")
        done = subprocess.run([here / "tools/quickstart.sh"], text=True,
                              env={"PATH": f"{here / 'bin'}:/usr/bin:/bin", "LSAN_OPTIONS": os.environ.get("LSAN_OPTIONS", "")},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        made = here / "runs/quickstart"
        results = ("filled.csv", "filled.svg", "posterior.svg", "posterior.png", "model/checkpoint.safetensors")
        missing = [path for path in results if not (made / path).exists()]
        if done.returncode != 0 or missing:
            sys.exit(f"exit status {done.returncode}, missing {missing}:\n{done.stdout}{done.stderr}")
        end = done.stdout.splitlines()[-4:]
        if "build/tools/npzoo" not in end[0] or "build/tools/npzoo predict TABLE.csv" not in end[1] or "install" not in end[2]:
            sys.exit(f"the program, the next command and how to install it expected at the end, found {end}")
        if ",,nan" in (made / "filled.csv").read_text():
            sys.exit("the table has gaps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
