#!/usr/bin/env python3
"""Figures of a program for another processor equal those of this one's generic instruction set: figures_test.py NPZOO

NPZOO_REFERENCE is the program of this processor. Without it the test is skipped."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Both processors round differently in sums and products of float32. Measured: 2.8e-7 of values around 10.
TOLERANCE = 3e-7
STATION = ROOT / "examples/station.csv"
# Each writes "out" or prints JSON. Values of the README's table are in the first.
COMMANDS = {
    "README's table": ["predict", STATION, "--digits", "9", "--out", "out"],
    "a Gaussian process": ["predict", STATION, "--model", "gp", "--digits", "9", "--out", "out"],
    "a map": ["predict", "rain.csv", "--inputs", "lon,lat", "--grid", "8x5", "--digits", "9", "--out", "out"],
    "scores of trained weights": ["eval", "--checkpoint", "cnp:tnp/gp-rbf", "--batches", "1", "--json"],
    "a training": ["train", "--protocol", "quick/gp1d", "--model", "tnp-d", "--steps", "3", "--out", "run", "--json"],
}
# Names of the program, of its machine and of its speed.
NOT_COMPARED = ("seconds", "commit", "isa", "device", "hash", "time", "memory", "speed", "version", "per_second")


def run(program, words, folder):
    """What a program writes, or else prints."""
    environment = {**os.environ, "NPZOO_ISA": "generic", "NPZOO_WEIGHTS": str(ROOT / "weights")}
    done = subprocess.run([program, *map(str, words)], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {words}: exit status {done.returncode}\n{done.stderr}")
    out = folder / "out"
    if not out.exists():
        return dict(leaves(last_json(done.stdout)))
    rows = list(csv.reader(line for line in out.read_text().splitlines() if not line.startswith("#")))
    out.unlink()
    return {f"line {i} {name}": value for i, row in enumerate(rows[1:], 2) for name, value in zip(rows[0], row)}


def last_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def leaves(value, name=""):
    """The values in JSON, each with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{name}[{i}]")
    else:
        yield name, value


def number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def largest_difference(ours, theirs):
    """Of numbers; other values must be equal."""
    if ours.keys() != theirs.keys():
        sys.exit(f"{sorted(ours.keys() ^ theirs.keys())[:5]} are figures of one program alone")
    largest = 0.0, "none"
    for name in ours:
        if any(word in name for word in NOT_COMPARED):
            continue
        a, b = number(ours[name]), number(theirs[name])
        if a is None or b is None:
            if ours[name] != theirs[name]:
                sys.exit(f"{name} is {ours[name]!r}, expected {theirs[name]!r}")
        elif a != b:  # by as much as float32 rounds values of this size
            largest = max(largest, (abs(a - b) / max(1.0, abs(b)), f"{name}: {a!r}, expected {b!r}"))
    return largest


def main():
    program, reference = os.path.abspath(sys.argv[1]), os.environ.get("NPZOO_REFERENCE")
    if not reference or not os.path.exists(reference):
        print("skipped: NPZOO_REFERENCE names no program to compare with")
        return 77
    failed = 0
    for name, words in COMMANDS.items():
        found = []
        for candidate in (program, os.path.abspath(reference)):
            with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
                folder = pathlib.Path(folder)
                rain = subprocess.run([sys.executable, ROOT / "docs/tutorials/rain.py"], check=True, stdout=subprocess.PIPE)
                (folder / "rain.csv").write_bytes(rain.stdout)
                found.append(run(candidate, words, folder))
        difference, where = largest_difference(*found)
        ok = difference <= TOLERANCE
        failed += not ok
        print(f"{'ok     ' if ok else 'FAILED '} {name}: {len(found[0])} values, largest difference {difference:.2g} ({where})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
