#!/usr/bin/env python3
"""Kills a training run over and over, resumes it, and wants the bits of a run that nobody killed.

kill_test.py PATH_TO_NPZOO [KILLS]
"""

import json
import random
import subprocess
import sys
import time

from cli_support import HERE, PROGRAM, metrics, read_safetensors

# A CNP of full size, saved every second step, so that a good part of the time goes into writing the checkpoint.
STEPS, EVERY = 600, 2
TRAIN = ["--protocol", "quick/gp1d", "--model", "cnp", "--steps", str(STEPS), "--batch", "2", "--threads", "1",
         "--checkpoint-every", str(EVERY)]


def read(path):
    """Step, and every tensor's bytes by name. Any damage to the file raises."""
    metadata, tensors = read_safetensors(path)
    return json.loads(metadata["run"])["step"], tensors


def main(kills):
    whole, killed = HERE / "whole", HERE / "killed"
    subprocess.run([PROGRAM, "train", *TRAIN, "--out", whole], check=True, capture_output=True, timeout=300)
    started = time.monotonic()
    subprocess.run([PROGRAM, "train", *TRAIN, "--out", HERE / "timed"], check=True, capture_output=True, timeout=300)
    duration = time.monotonic() - started

    draw = random.Random(20240607)
    checkpoint = killed / "checkpoint.safetensors"
    steps = [0]
    hits = 0
    for kill in range(kills):
        process = subprocess.Popen([PROGRAM, "train", *TRAIN, "--out", killed, "--resume"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=draw.uniform(0, 2 * duration / kills))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            hits += 1
        assert process.returncode in (0, -9), f"exit status {process.returncode} before kill {kill + 1}"
        if checkpoint.exists():
            step, _ = read(checkpoint)
            assert step >= steps[-1], f"kill {kill + 1} went back from step {steps[-1]} to {step}"
            steps.append(step)
            if kill % 5 == 0:
                subprocess.run([PROGRAM, "eval", "--checkpoint", checkpoint, "--batches", "1"], check=True, capture_output=True)
    print(f"{hits} of {kills} runs killed, checkpoints at steps {steps[1:]}")
    assert hits > 0, "no run was still alive when it was to be killed"

    subprocess.run([PROGRAM, "train", *TRAIN, "--out", killed, "--resume"], check=True, capture_output=True, timeout=300)
    expected, found = read(whole / "checkpoint.safetensors"), read(checkpoint)
    assert found[0] == expected[0] == STEPS, f"ended at step {found[0]}"
    different = [name for name in expected[1] if found[1].get(name) != expected[1][name]]
    assert not different and found[1].keys() == expected[1].keys(), f"other bytes in {different}"
    assert metrics(killed) == metrics(whole), "other metrics"
    left = [path.name for path in killed.iterdir() if path.name.startswith(".")]
    assert not left, f"temporary files left: {left}"
    print(f"all {len(found[1])} tensors are those of the run that nobody killed")


if __name__ == "__main__":
    main(int(sys.argv[2]) if len(sys.argv) > 2 else 20)
