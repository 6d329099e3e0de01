#!/usr/bin/env python3
"""Trains many models, some at a time, and goes on after a stop: train_many.py NPZOO LIST [--width 15] [--device cuda --mps] [--estimate]

LIST has a training a line: the protocol, the model, and flags of `npzoo train` if any. A name before them, with a colon, is the
folder of the training; # begins a comment:

    tnp-kr/gp1d-matern tnp-kr-full --seed 0
    tnp-nd-clipped: tnp/gp-rbf tnp-nd --seed 0 --set training.clip_norm=1.0

Without a name the folder is PROTOCOL/MODEL/seed-N, where `npzoo reproduce PROTOCOL --out FOLDER` finds and scores it. What a training
prints is in its folder's name with .log behind. After SIGTERM or Ctrl-C all trainings write a checkpoint and end; the same
command later goes on with them. Small models leave most of a GPU idle. With --mps they share it at the same time by
NVIDIA's multi-process service, which is started here and ended with the last training. Without it they take turns.

With --estimate nothing is trained: each line of the list is printed with the hours of one training, without validations, by the
processor time of a few updates (`npzoo bench train-step`).
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import mps

Training = collections.namedtuple("Training", "name flags")
PATIENCE = 60  # s for a checkpoint
TIMED = 5  # updates


def trainings(path):
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        sys.exit(f"train_many.py: {path}: {error.strerror}; expected a list of trainings")
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name = words.pop(0)[:-1] if words[0].endswith(":") else None
        if len(words) < 2:
            sys.exit(f"train_many.py: {path}:{number}: {len(words)} words found, expected a protocol and a model")
        protocol, model, *flags = words
        seed = flags[flags.index("--seed") + 1] if "--seed" in flags[:-1] else "0"
        yield Training(name or f"{protocol}/{model}/seed-{seed}", ["--protocol", protocol, "--model", model, *flags])


class Pool:
    def __init__(self, options):
        self.options, self.running, self.stopped = options, {}, False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)

    def stop(self, *_):
        self.stopped = True

    def start(self, training):
        out = self.options.out / training.name
        flags = ["--resume"] if (out / "checkpoint.safetensors").exists() else training.flags
        out.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{out}.log", "a") as log:
            self.running[training.name] = subprocess.Popen(
                [self.options.npzoo, "train", *flags, "--device", self.options.device, "--threads", str(self.options.threads),
                 "--out", out], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def end_all(self):
        """With a checkpoint, where there is time for one."""
        for process in self.running.values():
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        for name, process in self.running.items():
            try:
                process.wait(timeout=max(0, deadline - time.monotonic()))
                print(f"stopped  {name}", flush=True)
            except subprocess.TimeoutExpired:
                process.kill()
                print(f"killed   {name}", flush=True)

    def run(self, waiting):
        """Returns the number of trainings that failed."""
        failed = 0
        while (waiting or self.running) and not self.stopped:
            while waiting and len(self.running) < self.options.width:
                self.start(waiting.popleft())
            time.sleep(0.2)
            for name in [name for name, process in self.running.items() if process.poll() is not None]:
                status = self.running.pop(name).returncode
                failed += status != 0
                print(f"{'ended' if status == 0 else f'status {status}':8} {name}", flush=True)
        self.end_all()
        return failed


def json_of(*command):
    done = subprocess.run([*map(str, command), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"train_many.py: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def flag_values(training, flag):
    return [value for name, value in zip(training.flags, training.flags[1:]) if name == flag]


def estimate(options, listed):
    """Prints the hours of each training of the list. Returns the exit status."""
    updates = {row["name"]: row["steps"] for row in json_of(options.npzoo, "list", "protocols")}
    total = 0
    for training in listed:
        (protocol,), (model,) = flag_values(training, "--protocol"), flag_values(training, "--model")
        changes = [word for change in flag_values(training, "--set") for word in ("--set", change)]
        found = json_of(options.npzoo, "bench", "train-step", "--protocol", protocol, "--model", model, *changes, "--steps", TIMED,
                        "--warmup", 1, "--device", options.device, "--threads", options.threads)
        steps = int((flag_values(training, "--steps") or [updates[protocol]])[0])
        hours = steps * found["median_ms" if options.device != "cpu" else "cpu_ms"] / 3.6e6
        total += hours
        print(f"{hours:6.1f}  {training.name}", flush=True)
    print(f"{total:6.1f}  all")
    return 0


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo", type=pathlib.Path)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs"), metavar="FOLDER")
    parser.add_argument("--width", type=int, default=1, help="trainings at a time (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="of each training (default: 1)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mps", action="store_true", help="trainings share the GPU at the same time")
    parser.add_argument("--estimate", action="store_true", help="train nothing, print the hours of each training")
    options = parser.parse_args()
    if options.width < 1:
        parser.error(f"--width {options.width}; expected: at least 1")
    if options.mps and not options.device.startswith("cuda"):
        parser.error(f"--mps and --device {options.device}; expected: --device cuda")
    options.npzoo = options.npzoo.resolve()
    if not os.access(options.npzoo, os.X_OK):
        parser.error(f"{options.npzoo} cannot be run; expected the program npzoo")
    return options


def main():
    options = parse_options()
    waiting = collections.deque(trainings(options.list))
    if options.estimate:
        return estimate(options, waiting)
    options.out.mkdir(parents=True, exist_ok=True)
    pool = Pool(options)
    with mps.service() if options.mps else contextlib.nullcontext():
        failed = pool.run(waiting)
    return 130 if pool.stopped else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
