"""The programs that perf/compare.py times: starting them, asking them, checking that they compute the same."""

import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from compare_cases import LIMITED

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER = ROOT / "perf/peers/pytorch.py"
# Of the loss, and of the losses of so many updates. Short factors are rounded by up to 5e-4 and 4e-3 of their size, and not
# the same ones by both programs.
TOLERANCES = {"float32": (1e-4, 1e-3), "tf32": (5e-3, 2e-2), "bf16": (5e-2, 1e-1)}
UPDATES = 3
MEMORY_LIMIT = {"cpu": 16 * 10**9, "cuda": 40 * 10**9}  # of a peer where it may be refused memory
REFUSED = ("MemoryError", "can't allocate memory", "[memory] ", "out of memory", "ALLOC_FAILED")
PAUSE = 0.02  # s between slices: threads that wait by spinning give up by then
HINT = "python3 -m venv VENV && VENV/bin/pip install -r perf/peers/requirements.txt; --peers none does without"
# Ends by itself when this program is killed.
BUSY = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
parent = os.getppid()
while os.getppid() == parent:
    for i in range(1000000): pass
"""


class Problem(Exception):
    pass


class OutOfMemory(Problem):
    """A program was refused memory."""


class Child:
    """A program that describes itself in a line and answers every line of JSON by one."""

    def __init__(self, what, command, case, hint):
        self.what = what
        self.errors = tempfile.TemporaryFile(mode="w+", errors="replace")
        try:
            self.process = subprocess.Popen([*map(str, command), json.dumps(case)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=ROOT,
                                            start_new_session=True)
        except OSError as error:
            raise Problem(f"{what} cannot be started: {command[0]}: {error.strerror}; expected: {hint}") from None
        try:
            self.description = self.read(f"; expected: {hint}")
        except BaseException:
            self.close()
            raise

    def read(self, hint=""):
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.errors.seek(0)
            why = "".join(f": {line.strip()}" for line in self.errors.read().strip().splitlines()[-1:])
            raise Problem(f"{self.what} ended with status {status}{why}{hint}")
        try:
            answer = json.loads(line)
        except ValueError:
            raise Problem(f"{self.what}: '{line.strip()}' is no answer in JSON") from None
        if "error" in answer:
            refused = any(words in answer["error"] for words in REFUSED)
            raise (OutOfMemory if refused else Problem)(f"{self.what}: {answer['error']}")
        return answer

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # reading tells why
        return self.read()

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.errors.close()


class Contestant:
    """One program with one number of threads."""

    def __init__(self, program, variant, threads, child):
        self.program, self.variant, self.threads, self.child = program, variant, threads, child
        self.name = f"{program} {variant}".strip()
        self.loss, self.losses, self.rounds, self.repetitions = None, [], [], 1

    def warm_up(self, seconds):
        """Runs until times have settled; returns milliseconds of one repetition."""
        first = self.child.ask(run=1)["wall_ms"][0]  # compiles where there is something to compile
        spent, last = 0, 0
        while True:
            times = self.child.ask(run=1 if first > 1000 * seconds else 3)["wall_ms"]
            median = statistics.median(times)
            spent += sum(times)
            if spent >= 1000 * seconds and median > 0.9 * last or spent >= 4000 * seconds:
                return median
            last = median

    def run_slice(self, busy, seconds):
        answer = self.child.ask(run=self.repetitions, seconds=seconds)
        times = {key: [round(ms, 4) for ms in answer.pop(key)] for key in ("wall_ms", "cpu_ms")}
        self.rounds.append({"busy": busy, **times, **answer})

    def record(self):
        return {"program": self.program, "variant": self.variant, "threads": self.threads, "loss": self.loss,
                "losses": self.losses, "description": self.child.description, "rounds": self.rounds}


class Machine:
    """Peak and bandwidth, measured again and again during a run."""

    def __init__(self):
        self.children, self.peaks = [], []

    def start(self, options):
        for threads in options.threads:
            self.children.append(start_worker(options, {"kind": "machine"}, threads))

    def measure(self):
        for child in self.children:
            self.peaks.append({"threads": child.description["threads"], **child.ask(peak=True)})

    def close(self):
        for child in self.children:
            child.close()


class BusyCore:
    """While entered, one core is wholly taken."""

    def __enter__(self):
        core = min(os.sched_getaffinity(0))
        self.process = subprocess.Popen([sys.executable, "-c", BUSY, str(core)], start_new_session=True)
        time.sleep(10 * PAUSE)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def say(*what):
    print(*what, file=sys.stderr, flush=True)


def start_worker(options, case, threads):
    settings = {**case, "device": options.device, "precision": options.precision, "threads": threads, "seed": 0}
    return Child("npzoo's worker", [options.worker], settings,
                 "the program that `ninja -C BUILD_FOLDER perf/perf_worker` builds")


def start_ours(options, case, threads, weights):
    child = start_worker(options, case, threads)
    ours = Contestant("npzoo", "", threads, child)
    try:
        if case["kind"] != "data":
            ours.loss = child.ask(**{"export": weights})["loss"]
        if case["kind"] == "train-step":
            ours.losses = child.ask(losses=UPDATES)["losses"]
    except BaseException:
        child.close()
        raise
    return ours


def start_peer(options, suite, case, variant, threads, weights, ours):
    """Throws Problem where it does not compute what ours does."""
    shared = {key: value for key, value in ours.child.description.items()
              if key in ("model_config", "optimiser", "points")}
    limit = {"memory_limit": MEMORY_LIMIT[options.device]} if suite in LIMITED else {}
    settings = {**case, **shared, **limit, "variant": variant, "device": options.device,
                "precision": options.precision, "threads": threads, "seed": 0}
    peer = Contestant("pytorch", variant, threads,
                      Child(f"PyTorch ({variant})", [options.peer_python, PEER], settings, HINT))
    try:
        check_peer(peer, case, weights, ours, *TOLERANCES[options.precision])
    except BaseException:
        peer.child.close()
        raise
    return peer


def check_peer(peer, case, weights, ours, of_loss, of_updates):
    if case["kind"] == "data":
        return
    what = peer.child.what
    found = peer.child.ask(**{"import": weights})
    expected = ours.child.description.get("parameters")
    if found.get("parameters") != expected:
        raise Problem(f"{what}: {found.get('parameters')} parameters found, npzoo has {expected}")
    peer.loss = found["loss"]
    if not math.isclose(peer.loss, ours.loss, rel_tol=of_loss):
        raise Problem(f"{what}: loss {peer.loss} found, npzoo has {ours.loss} on the same weights")
    if case["kind"] == "train-step":
        peer.losses = peer.child.ask(losses=UPDATES)["losses"]
        pairs = zip(peer.losses, ours.losses)
        if not all(math.isclose(a, b, rel_tol=of_updates) for a, b in pairs):
            raise Problem(f"{what}: losses {peer.losses} of the first updates found, npzoo has {ours.losses}")
