#!/usr/bin/env python3
"""Splits a wheel of npzoo into two: split_wheel.py WHEEL FOLDER [LARGEST]

The first has the name of WHEEL, all code, and the weights of KEPT. The second, npzoo_weights-VERSION-py3-none-any.whl, has the other
weights and installs them into the same folder. The first lists their names, so that the program can say which wheel has them.
Prints the paths of both. Stops if the first has more than LARGEST megabytes."""

import base64
import csv
import hashlib
import io
import pathlib
import re
import sys
import zipfile

# The defaults of commands, and the first examples of the documentation.
KEPT = ("npzoo/any-1d", "npzoo/any-2d", "npzoo/any-3d", "npzoo/any-events", "quick/mnist")  # what commands use by default
WEIGHTS = "npzoo/share/npzoo/weights/"
ELSEWHERE = WEIGHTS + "elsewhere.txt"  # models/training/named_weights.cpp reads it
ENDS = (".safetensors", ".card.md")
METADATA = """Metadata-Version: 2.1
Name: npzoo-weights
Version: {version}
Summary: Further trained weights for npzoo
License: Apache-2.0
Requires-Dist: npzoo=={version}
"""
TAG = "Wheel-Version: 1.0\nGenerator: npzoo\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
DATE = (1980, 1, 1, 0, 0, 0)  # of files that are written here


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class Wheel:
    """A wheel that is written: its files, and their record at its end."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record, self.rows = info + "/RECORD", []

    def add(self, name, data, date=DATE, attributes=0o644 << 16):
        member = zipfile.ZipInfo(name, date)
        member.external_attr = attributes
        self.zip.writestr(member, data, zipfile.ZIP_DEFLATED, 9)
        self.rows.append((name, digest(data), len(data)))

    def close(self):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*self.rows, (self.record, "", "")])
        self.add(self.record, text.getvalue().encode())
        self.zip.close()


def moves(name):
    """Whether a file belongs to the second wheel."""
    return name.startswith(WEIGHTS) and name.endswith(ENDS) and not name.removeprefix(WEIGHTS).startswith(tuple(f"{folder}/" for folder in KEPT))


def weights_name(name):
    """MODEL:PROTOCOL of a file of weights."""
    protocol, _, model = name.removeprefix(WEIGHTS).removesuffix(".safetensors").rpartition("/")
    return f"{model}:{protocol}"


def split(path, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path) as whole:
        version = re.fullmatch(r"npzoo-([^-]+)-.+\.whl", path.name)[1]
        first, second = folder / path.name, folder / f"npzoo_weights-{version}-py3-none-any.whl"
        infos = {name.split("/")[0] for name in whole.namelist() if name.startswith(f"npzoo-{version}.dist-info/")}
        if len(infos) != 1:
            raise SystemExit(f"split_wheel: {path} has no npzoo-{version}.dist-info")
        moved = sorted(weights_name(name) for name in whole.namelist() if moves(name) and name.endswith(ENDS[0]))
        if not moved:
            raise SystemExit(f"split_wheel: {path} has no weights besides {', '.join(KEPT)}, expected those of all protocols")
        kept, other = Wheel(first, f"npzoo-{version}.dist-info"), Wheel(second, f"npzoo_weights-{version}.dist-info")
        for member in whole.infolist():
            if member.filename not in (kept.record, ELSEWHERE) and not member.is_dir():
                (other if moves(member.filename) else kept).add(member.filename, whole.read(member), member.date_time, member.external_attr)
        kept.add(ELSEWHERE, "\n".join([second.name, *moved, ""]).encode())
        license_file = f"npzoo-{version}.dist-info/licenses/LICENSE"
        if license_file in whole.namelist():
            other.add(f"npzoo_weights-{version}.dist-info/licenses/LICENSE", whole.read(license_file))
        other.add(f"npzoo_weights-{version}.dist-info/METADATA", METADATA.format(version=version).encode())
        other.add(f"npzoo_weights-{version}.dist-info/WHEEL", TAG.encode())
        kept.close()
        other.close()
    return first, second


def main():
    path, folder = map(pathlib.Path, sys.argv[1:3])
    first, second = split(path, folder)
    print(first, second, sep="\n")
    megabytes = first.stat().st_size / 1e6
    if len(sys.argv) > 3 and megabytes > float(sys.argv[3]):
        sys.exit(f"split_wheel: {first.name} has {megabytes:.1f} MB, expected at most {sys.argv[3]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
