#!/usr/bin/env python3
"""Tests that each folder of the library includes only folders below it: include_order_test.py [ROOT]"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parent.parent
# From below. A file may include its own folder and those before it.
FOLDERS = ["engine", "ops", "datasets", "models"]
# Within engine: what tensors and gradients do without. Files elsewhere in engine do not include these.
ROOMS = ["engine/io/", "engine/ranks/", "engine/words.h"]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"npzoo/([^"]+)"', re.MULTILINE)


def faults_of(name, text):
    """`name` is the path below the root."""
    order = FOLDERS.index(name.split("/")[0])
    for included in INCLUDE.findall(text):
        folder = included.split("/")[0]
        if folder in FOLDERS and FOLDERS.index(folder) > order:
            yield f"{name} includes {included}, which is above it"
        elif order == 0 and not any(name.startswith(room.removesuffix(".h")) for room in ROOMS):
            if any(included.startswith(room) for room in ROOMS):
                yield f"{name} includes {included}, which tensors and gradients do without"


def main():
    # The check itself.
    expected = [("engine/tape.h", '#include "npzoo/ops/linear/linear.h"', 1), ("engine/tape.h", '#include "npzoo/engine/io/json.h"', 1),
                ("engine/ranks/job.h", '#include "npzoo/engine/io/file.h"', 0), ("models/model.h", '#include "npzoo/ops/x.h"', 0),
                ("ops/linear/linear.h", ' # include "npzoo/models/model.h"', 1)]
    for name, text, count in expected:
        if len(list(faults_of(name, text))) != count:
            sys.exit(f"FAILED: the check finds {list(faults_of(name, text))} for {text} in {name}, expected {count}")
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".h", ".cpp", ".cu", ".def") and path.is_file()]
    if len(files) < 500:
        sys.exit(f"FAILED: {len(files)} files found below {ROOT}, expected the library")
    faults = [fault for path in files for fault in faults_of(path.relative_to(ROOT).as_posix(), path.read_text())]
    print("\n".join(faults) or f"ok      {len(files)} files include their own folder and those below it")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
