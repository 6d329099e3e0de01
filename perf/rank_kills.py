#!/usr/bin/env python3
"""Kills a random rank of a training at random instants, and goes on with another number of ranks. The last weights must be
those of one process, to the bit: rank_kills.py PATH_TO_NPZOO [KILLS] [LAUNCHER]. LAUNCHER is mpirun.openmpi or
mpirun.mpich (default: every one that is installed, with its share of the kills)."""

import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.realpath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
FLAGS = {"mpirun.openmpi": ["--oversubscribe", "--bind-to", "none"], "mpirun.mpich": []}
LAUNCHERS = sys.argv[3:] or [name for name in FLAGS if shutil.which(name)]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
STEPS, EVERY = 400, 10
# A model that is large enough for its gradients to be summed in slices.
RUN = ["--protocol", "tnp/gp-rbf", "--model", "tnp-d", "--steps", STEPS, "--batch", 4, "--threads", 1,
       "--set", "validation.every=0", "--checkpoint-every", EVERY]


def read(checkpoint):
    """Metadata, and the bytes of each tensor."""
    content = checkpoint.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    metadata, data = header.pop("__metadata__"), content[8 + size:]
    return metadata, {name: data[slice(*info["data_offsets"])] for name, info in header.items()}


def step_of(checkpoint):
    return json.loads(read(checkpoint)[0]["run"])["step"] if checkpoint.exists() else 0


def weights_of(checkpoint):
    """A checksum of everything that a run continues from: weights and moments."""
    digest = hashlib.sha256()
    for name, data in sorted(read(checkpoint)[1].items()):
        digest.update(name.encode() + data)
    return digest.hexdigest()


def descendants(pid):
    found, waiting = [], [pid]
    while waiting:
        for tasks in pathlib.Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            try:
                children = [int(child) for child in tasks.read_text().split()]
            except OSError:
                continue
            found += children
            waiting += children
    return found


def is_rank(pid):
    try:
        return os.path.realpath(f"/proc/{pid}/exe") == PROGRAM
    except OSError:
        return False


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def start(launcher, ranks, out):
    command = [launcher, *FLAGS[launcher], "-n", ranks, PROGRAM, "train", "--resume", "--out", out, *RUN]
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, **AS_ROOT})


def kill_often(launcher, kills, where, expected, chance):
    tally = collections.Counter()
    longest = 4.0  # s after which a rank is killed, at most
    while tally["kills"] < kills:
        out = where / f"run-{launcher}-{tally['runs']}"
        checkpoint = out / "checkpoint.safetensors"
        tally["runs"] += 1
        ranks = 0
        while True:
            ranks = chance.choice([n for n in (1, 2, 3) if n != ranks])
            before = step_of(checkpoint)
            process = start(launcher, ranks, out)
            instant = chance.uniform(0, longest) if tally["kills"] < kills else 1e9
            try:
                process.wait(timeout=instant)
            except subprocess.TimeoutExpired:
                pass
            own = [pid for pid in descendants(process.pid) if is_rank(pid)]
            if process.poll() is None and not own:
                tally["too early: no rank was there"] += 1
                process.kill()
                process.wait()
                continue
            if process.poll() is not None:
                assert process.returncode == 0, process.returncode
                break
            try:
                os.kill(chance.choice(own), signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait(timeout=60)
            tally["kills"] += 1
            tally["kills before the first checkpoint"] += not checkpoint.exists()
            tally[f"kills of {ranks} rank(s)"] += 1
            deadline = time.monotonic() + 10
            while any(map(is_alive, own)) and time.monotonic() < deadline:
                time.sleep(0.01)
            tally["ranks that outlived their job"] += sum(map(is_alive, own))
            tally["checkpoints that went back"] += step_of(checkpoint) < before
        assert step_of(checkpoint) == STEPS
        tally["runs with other weights"] += weights_of(checkpoint) != expected
        shutil.rmtree(out)
    return tally


def main():
    chance = random.Random(43)
    total = collections.Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="npzoo-kills-") as folder:
        where = pathlib.Path(folder)
        out = where / "alone"
        subprocess.run(list(map(str, [PROGRAM, "train", "--out", out, *RUN])), check=True, capture_output=True)
        expected = weights_of(out / "checkpoint.safetensors")
        for launcher in LAUNCHERS:
            tally = kill_often(launcher, -(-KILLS // len(LAUNCHERS)), where, expected, chance)
            print(launcher, json.dumps(tally), flush=True)
            total += tally
    print(f"{total['kills']} kills, {total['runs']} runs, {time.monotonic() - began:.0f} s")
    wrong = total["runs with other weights"] + total["ranks that outlived their job"] + total["checkpoints that went back"]
    return 1 if wrong else 0


sys.exit(main())
