#!/usr/bin/env python3
"""Tests of tools/package/split_wheel.py with a small wheel: split_wheel_test.py SPLIT_WHEEL.PY"""

import base64
import csv
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

WEIGHTS = "npzoo/share/npzoo/weights/"
KEPT = {"npzoo/__init__.py": b"code", "npzoo/_core.abi3.so": bytes(range(256)) * 40, WEIGHTS + "README.md": b"readme",
        WEIGHTS + "npzoo/any-1d/kriging-tnp.safetensors": b"kept", WEIGHTS + "quick/mnist/tnp-d.card.md": b"card",
        "npzoo.libs/libfmt.so": b"library", "npzoo-0.1.0.dist-info/METADATA": b"Name: npzoo\n",
        "npzoo-0.1.0.dist-info/licenses/LICENSE": b"terms"}
# The first begins as the name of a folder that is kept.
MOVED = {WEIGHTS + "npzoo/any-1d-more/cnp.safetensors": b"1", WEIGHTS + "tnp/gp-rbf/cnp.safetensors": b"2", WEIGHTS + "tnp/gp-rbf/cnp.card.md": b"3"}
NAME, FURTHER = "npzoo-0.1.0-cp310-abi3-manylinux_2_36_x86_64.whl", "npzoo_weights-0.1.0-py3-none-any.whl"


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def write(path, files):
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            info.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            wheel.writestr(info, data)
        wheel.writestr("npzoo-0.1.0.dist-info/RECORD", "stale")


def read(path):
    """The files of a wheel. Checks that its record names each with its size and hash."""
    with zipfile.ZipFile(path) as wheel:
        expect(wheel.testzip() is None, path, "is damaged")
        files = {name: wheel.read(name) for name in wheel.namelist()}
        modes = {info.filename: info.external_attr >> 16 for info in wheel.infolist()}
    (record,) = [name for name in files if name.endswith(".dist-info/RECORD")]
    rows = {name: (sha, size) for name, sha, size in csv.reader(files[record].decode().splitlines())}
    expect(rows.keys() == files.keys(), record, "names", sorted(rows), "expected", sorted(files))
    for name, data in files.items():
        sha = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        expect(name == record or rows[name] == (sha, str(len(data))), record, "has", rows[name], "for", name)
    return {name: data for name, data in files.items() if name != record}, modes


def main():
    script = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)

        def run(*arguments):
            return subprocess.run([sys.executable, script, here / NAME, here / "out", *arguments], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)

        write(here / NAME, KEPT | MOVED)
        done = run("0.01")
        expect(done.returncode == 0 and done.stdout == f"{here}/out/{NAME}\n{here}/out/{FURTHER}\n", done)
        first, modes = read(here / "out" / NAME)
        elsewhere = first.pop(WEIGHTS + "elsewhere.txt").decode()
        expect(first == KEPT, "the first wheel has", sorted(first))
        expect(modes["npzoo/_core.abi3.so"] == 0o755 and modes["npzoo/__init__.py"] == 0o644, modes)
        expect(elsewhere == f"{FURTHER}\ncnp:npzoo/any-1d-more\ncnp:tnp/gp-rbf\n", elsewhere)
        second, _ = read(here / "out" / FURTHER)
        metadata = second.pop("npzoo_weights-0.1.0.dist-info/METADATA").decode()
        expect("Name: npzoo-weights\nVersion: 0.1.0\n" in metadata and "Requires-Dist: npzoo==0.1.0\n" in metadata, metadata)
        expect(second.pop("npzoo_weights-0.1.0.dist-info/WHEEL").endswith(b"Tag: py3-none-any\n"), "WHEEL")
        expect(second.pop("npzoo_weights-0.1.0.dist-info/licenses/LICENSE") == b"terms", "LICENSE")
        expect(second == MOVED, "the second wheel has", sorted(second))

        done = run("0.0001")
        expect(done.returncode == 1 and "expected at most 0.0001" in done.stderr, done)
        # A wheel that is split already.
        (here / "out" / NAME).replace(here / NAME)
        done = run()
        expect(done.returncode == 1 and "expected those of all protocols" in done.stderr, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
