#!/usr/bin/env python3
"""Kills npzoo at random instants, over and over, and wants nothing lost, nothing half-written and in the end the bits of
what nobody killed.

kill_test.py PATH_TO_NPZOO [KILLS]

Four processes at a time train, go on with a training, export, predict and reproduce; the last share a file of results.
"""

import collections
import itertools
import json
import os
import pathlib
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

from cli_support import (CONTEXT, HERE, PROGRAM, PROTOCOL, TARGETS, TIMEOUT, Failure, expect, metrics, read_safetensors, succeed,
                         write)
from event_file import EVENTS, check_events, events

WORKERS = 4
STEPS = 100
# A CNP of full size, so that a good part of the time goes into writing checkpoints.
TRAIN = ["train", "--protocol", "quick/gp1d", "--model", "cnp", "--steps", STEPS, "--batch", 2, "--threads", 1,
         "--checkpoint-every", 10, "--tensorboard"]
RESULTS = HERE / "results" / "kills.json"


def reproduction(where, model, seeds, results=RESULTS.parent):
    return ["reproduce", HERE / "kills.toml", "--models", model, "--seeds", ",".join(map(str, seeds)), "--threads", 1,
            "--out", where, "--results", results]


def run_directory(where, model, seed):
    return where / "kills" / model / f"seed-{seed}"


def temporary_files(directory):
    return {path.name for path in directory.rglob(".*") if "tmp" in path.name}


def children_of(process):
    return [int(child) for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
            for child in path.read_text().split()]


def kill(process, whole_family):
    """Children that live on are told by the system that their parent died."""
    if whole_family:
        process.send_signal(signal.SIGSTOP)  # it shall not see its children die
        for child in children_of(process):
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
    process.kill()


def attempt(args, log, seconds=TIMEOUT, whole_family=False):
    """Runs a command; whether it ended before it was to be killed. Returns when its children have ended as well."""
    alive, hold = os.pipe()  # at its end when nobody holds it any more
    with open(log, "w") as errors:
        process = subprocess.Popen([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                   pass_fds=[hold])
    os.close(hold)
    if not select.select([alive], [], [], seconds)[0]:
        kill(process, whole_family)
    over = select.select([alive], [], [], TIMEOUT)[0]
    os.close(alive)
    expect(over, args, "left children that did not end")
    status = process.wait(TIMEOUT)
    expect(status in (0, -signal.SIGKILL), "exit status", status, "of", args, log.read_text())
    return status == 0


class Training:
    """A training from its beginning to its end, then the next one."""

    def __init__(self, directory, seconds):
        self.directory, self.seconds, self.step = directory, seconds, 0
        self.checkpoint = directory / "checkpoint.safetensors"

    def name(self):
        return "resume" if self.checkpoint.exists() else "train"

    def args(self, draw):
        return [*TRAIN, "--out", self.directory, *(["--resume"] if self.checkpoint.exists() else [])]

    def check(self, over):
        if self.checkpoint.exists():  # any damage raises
            metadata, tensors = read_safetensors(self.checkpoint)
            step = json.loads(metadata["run"])["step"]
            expect(step >= self.step, self.directory, "went back from step", self.step, "to", step)
            self.step = step
        expect(self.step == 0 or self.checkpoint.exists(), self.directory, "lost its checkpoint")
        if (self.directory / EVENTS).exists():  # any record but a last one that is not whole must be right
            events(self.directory / EVENTS, cut=True)
        if over:
            expect(self.step == STEPS, self.directory, "ended at step", self.step)
            expect(tensors == read_safetensors(HERE / "whole/checkpoint.safetensors")[1], "other bits in", self.directory)
            expect(metrics(self.directory) == metrics(HERE / "whole"), "other metrics in", self.directory)
            check_events(self.directory)
            expect(not temporary_files(self.directory), "temporary files left:", temporary_files(self.directory))
            shutil.rmtree(self.directory)
            self.step = 0


class Writing:
    """A command that replaces what it wrote from one source by what it writes from another."""

    def __init__(self, kind, directory, seconds):
        self.kind, self.directory, self.seconds = kind, directory, seconds
        self.files = {path.name: None for path in (HERE / kind / "0").iterdir()}
        self.source = 0
        directory.mkdir()

    def name(self):
        return self.kind

    def args(self, draw):
        self.source = draw.randrange(2)
        return writing_args(self.kind, self.source, self.directory)

    def check(self, over):
        for name, before in self.files.items():
            path = self.directory / name
            content = path.read_bytes() if path.exists() else None
            expected = (HERE / self.kind / str(self.source) / name).read_bytes()
            expect(content == expected or (content == before and not over), path, "is neither the old file nor the new one")
            self.files[name] = content
        if over:
            expect(not temporary_files(self.directory), "temporary files left:", temporary_files(self.directory))


def writing_args(kind, source, directory):
    checkpoint = run_directory(HERE / "sources", "cnp", source) / "checkpoint.safetensors"
    if kind == "export":
        return ["export", "--checkpoint", checkpoint, "--out", directory / "weights.safetensors"]
    return ["predict", "--checkpoint", checkpoint, "--context", HERE / "context.csv", "--targets", HERE / "targets.csv",
            "--out", directory / "table.csv", "--plot", directory / "picture.svg", "--samples", 3, "--samples-out",
            directory / "samples.csv"]


class Results:
    """Results seen in the file of results. They must stay there."""

    def __init__(self):
        self.lock, self.seen = threading.Lock(), {}

    def check(self):
        with self.lock:
            before = dict(self.seen)
        found = read_results(RESULTS)
        for run, results in before.items():
            expect(run in found, "the results of", run, "were lost")
            expect(found[run] == results, "the results of", run, "have changed")
        with self.lock:
            self.seen.update(found)
        return found


def read_results(path):
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    return {(run["model"], run["seed"]): run["results"] for run in runs}


class Reproduction:
    """One seed after the other of one model."""

    def __init__(self, number, directory, seconds, results):
        self.directory, self.seconds, self.results = directory, seconds, results
        self.model = ("cnp", "tnp-d")[number % 2]
        self.seeds = itertools.count(number, WORKERS)
        self.done, self.seed = [], next(self.seeds)

    def name(self):
        return "reproduce"

    def args(self, draw):
        return reproduction(self.directory, self.model, [self.seed])

    def check(self, over):
        found = self.results.check()
        if over:
            expect((self.model, self.seed) in found, "the results of", self.model, self.seed, "are missing")
            expect(not temporary_files(self.directory), "temporary files left:", temporary_files(self.directory))
            self.done.append(self.seed)
            self.seed = next(self.seeds)


class Worker:
    def __init__(self, number, seconds, results):
        self.directory = HERE / f"worker {number}"
        self.directory.mkdir()
        self.draw = random.Random(20240607 + number)
        self.reproduction = Reproduction(number, self.directory / "runs", seconds["reproduce"], results)
        training = Training(self.directory / "run", seconds["train"])
        self.jobs = [training, *(Writing(kind, self.directory / kind, seconds[kind]) for kind in ("export", "predict")),
                     self.reproduction]
        self.rounds = [training, *self.jobs]
        self.kills, self.while_writing, self.failure = collections.Counter(), 0, None

    def work(self, kills):
        try:
            for number in range(kills):
                if number % len(self.rounds) == 0:
                    self.draw.shuffle(self.rounds)
                self.kill_once(self.rounds[number % len(self.rounds)])
            for job in self.jobs:
                job.check(attempt(job.args(self.draw), self.directory / "log"))
        except Exception as failure:  # of a thread, told at the end
            self.failure = failure

    def kill_once(self, job):
        """Repeats a command that ended before it was killed, and kills it sooner."""
        longest = 1.5 * job.seconds
        while True:
            name, args = job.name(), job.args(self.draw)
            left, began = temporary_files(self.directory), time.monotonic()
            over = attempt(args, self.directory / "log", self.draw.uniform(0, longest), self.draw.random() < 0.5)
            self.while_writing += not over and not temporary_files(self.directory) <= left
            job.check(over)
            if not over:
                self.kills[name] += 1
                return
            job.seconds = 0.5 * (job.seconds + time.monotonic() - began)
            longest /= 2


def prepare():
    """Runs the commands without killing them: seconds of each, several at a time."""
    write("kills.toml", PROTOCOL.format(name="kills", dims=1).replace("steps = 400", "steps = 60"))
    write("context.csv", CONTEXT)
    write("targets.csv", TARGETS + "".join(f"{i / 500}\n" for i in range(1000)))
    seconds = {}

    def timed(kind, *args):
        began = time.monotonic()
        succeed(*args)
        seconds[kind] = WORKERS / 2 * (time.monotonic() - began)

    timed("train", *TRAIN, "--out", HERE / "whole")
    timed("reproduce", *reproduction(HERE / "sources", "cnp", [0], HERE / "ignored"))
    succeed(*reproduction(HERE / "sources", "cnp", [1], HERE / "ignored"))
    for kind, source in itertools.product(("export", "predict"), (0, 1)):
        directory = HERE / kind / str(source)
        directory.mkdir(parents=True)
        timed(kind, *writing_args(kind, source, directory))
        expect(all(path.stat().st_size > 0 for path in directory.iterdir()), "an empty file in", directory)
    return seconds


def check_against_the_unkilled(workers, results):
    for model in ("cnp", "tnp-d"):
        seeds = [seed for worker in workers if worker.reproduction.model == model for seed in worker.reproduction.done]
        succeed(*reproduction(HERE / "unkilled", model, seeds, HERE / "unkilled results"))
    expected = read_results(HERE / "unkilled results/kills.json")
    expect(results.check() == expected, "other results than those of runs that nobody killed")
    return len(expected)


def main(kills):
    began = time.monotonic()
    results = Results()
    seconds = prepare()
    workers = [Worker(number, seconds, results) for number in range(WORKERS)]
    threads = [threading.Thread(target=worker.work, args=[kills // WORKERS + (worker_number < kills % WORKERS)])
               for worker_number, worker in enumerate(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in workers:
        if worker.failure:
            raise worker.failure
    runs = check_against_the_unkilled(workers, results)

    by_name = sum((worker.kills for worker in workers), collections.Counter())
    expect(sum(by_name.values()) == kills, by_name)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{kills} kills: {', '.join(f'{count} {name}' for name, count in sorted(by_name.items()))}; "
          f"{sum(worker.while_writing for worker in workers)} while a file was written")
    print(f"nothing lost, nothing half-written, and the bits of what nobody killed; {runs} runs in the file of results")
    print(f"{time.monotonic() - began:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors")


if __name__ == "__main__":
    try:
        main(int(sys.argv[2]) if len(sys.argv) > 2 else 25)
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
