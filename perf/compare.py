#!/usr/bin/env python3
"""Times npzoo and PyTorch in turn, in one run:

    perf/compare.py --worker BUILD_FOLDER/perf/perf_worker --peer-python VENV/bin/python

All programs compute the same from the same weights: counts of parameters, losses and the losses of three updates are
compared before anything is timed. Then they take turns, in rounds of a slice each, so that what the machine does
besides meets all of them alike. Writes OUT.json (all figures) and OUT.md (tables; --report OUT.json makes them anew).
perf/README.md tells more. Needs nothing but Python's library; the peer needs perf/peers/requirements.txt.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import signal
import sys
import tempfile
import time

import compare_report
from compare_programs import PAUSE, BusyCore, Machine, OutOfMemory, Problem, say, start_ours, start_peer
from machine import processor

HERE = pathlib.Path(__file__).resolve().parent
VARIANTS = ["eager", "sdpa", "sdpa-chunks", "compile"]
MORE_VARIANTS = ["compile-sdpa", "compile-explicit"]

GP = {"protocol": "tnp/gp-rbf", "batch": 16, "context": 25, "targets": 25}
GP_KR = {"protocol": "tnp-kr/gp1d-rbf", "batch": 32, "context": 25, "targets": 150}
LARGE = {"protocol": "perf/protocols/large.toml", "batch": 32, "context": 100, "targets": 50}
MODELS = {
    "tnp-d-small": {"model": "tnp-d", **GP},
    "tnp-d-large": {"model": "tnp-d", **LARGE},
    "cnp": {"model": "cnp", **GP},
    "tnp-kr-full": {"model": "tnp-kr-full", **GP},
    "tnp-kr-fast": {"model": "tnp-kr-fast", **GP},
    "cmanp": {"model": "cmanp", **GP},
    "tnp-kr-full-gp1d": {"model": "tnp-kr-full", **GP_KR},
    "tnp-kr-fast-gp1d": {"model": "tnp-kr-fast", **GP_KR},
}
WITHOUT_SOFTMAX = ["cnp", "tnp-kr-fast"]
ATTENTION = {
    "150x50": {"batch": 32, "heads": 4, "queries": 150, "keys": 50, "width": 16},
    "10000x10000": {"batch": 1, "heads": 4, "queries": 10_000, "keys": 10_000, "width": 16},
}
SUITES = {
    "train-step": {name: {"kind": "train-step", **settings} for name, settings in MODELS.items()},
    "forward": {name: {"kind": "forward", **settings} for name, settings in MODELS.items()},
    "attention": {f"{kind}-{name}": {"kind": kind, **settings} for name, settings in ATTENTION.items()
                  for kind in ("attention", "attention-backward")},
    "data": {"gp-rbf": {"kind": "data", "protocol": "tnp/gp-rbf", "batch": 16}},
    "scaling": {f"{model}-1e{power}": {"kind": "forward", "model": model, "protocol": "tnp/gp-rbf", "batch": 1,
                                       "context": 100, "targets": 10**power}
                for model in ("tnp-kr-full", "tnp-d") for power in range(2, 7)},
}
MOST_SECONDS = 20  # of a repetition in the scaling suite
MOST_REPETITIONS = 200  # of a slice
PATIENCE = 3  # slices: a program that has slowed down that much makes fewer repetitions
ROUNDS_PER_PEAK = 4
ENVIRONMENT = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_", "TORCH", "NPZOO_", "MALLOC_",
               "LD_PRELOAD")


def variants_of(suite, case, chosen):
    if suite == "data":
        usable = ["eager"]
    elif suite == "scaling":
        usable = ["sdpa", "sdpa-chunks"]
    elif suite == "attention":
        usable = ["eager", "sdpa"]
    elif case["model"] in WITHOUT_SOFTMAX:
        usable = ["eager", "compile"]
    else:
        usable = ["eager", "sdpa", "compile", *MORE_VARIANTS]
    return [variant for variant in chosen if variant in usable]


class Limits:
    """What the scaling suite leaves out: a program that was too slow or too large for one size gets no larger one."""

    def __init__(self):
        self.reasons, self.times = {}, {}

    def reason(self, key, targets):
        if key in self.reasons:
            return self.reasons[key]
        if key in self.times:
            smaller, ms = self.times[key]
            expected = ms / 1000 * targets / smaller
            if expected > MOST_SECONDS:
                self.reasons[key] = f"about {expected:.0f} s a repetition, more than {MOST_SECONDS}"
        return self.reasons.get(key)


def start_contestants(options, suite, case, weights, limits, running, skipped):
    """Adds to `running` one by one, so that the caller can end them whatever happens."""
    def start(program, variant, threads, make):
        key = (case.get("model"), program, variant, threads)
        reason = limits.reason(key, case.get("targets")) if suite == "scaling" else None
        try:
            if not reason:
                running.append(make())
        except OutOfMemory as problem:
            if suite != "scaling":
                raise
            reason = limits.reasons[key] = str(problem)
        if reason:
            say(f"  skipped: {program} {variant}, {threads} thread(s): {reason}")
            skipped.append({"program": program, "variant": variant, "threads": threads, "reason": reason})

    for threads in options.threads:
        start("npzoo", "", threads, lambda: start_ours(options, case, threads, weights))
    if not running:
        return
    ours = running[0]
    for variant in variants_of(suite, case, options.peers):
        for threads in options.threads:
            start("pytorch", variant, threads,
                  lambda: start_peer(options, suite, case, variant, threads, weights, ours))


def run_rounds(contestants, rounds, options, machine):
    for number in range(rounds):
        busy = options.busy and number % 2 == 1
        first = (number // 2 if options.busy else number) % len(contestants)
        if number % ROUNDS_PER_PEAK == 0:
            machine.measure()
        with BusyCore() if busy else contextlib.nullcontext():
            for contestant in contestants[first:] + contestants[:first]:
                time.sleep(PAUSE)
                contestant.run_slice(busy, PATIENCE * options.slice)


def measure_case(options, suite, name, machine, limits):
    case = SUITES[suite][name]
    say(f"{suite} {name}")
    running, skipped = [], []
    with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
        try:
            weights = str(pathlib.Path(folder) / "case.safetensors")
            start_contestants(options, suite, case, weights, limits, running, skipped)
            expected = 0
            for c in running:
                ms = c.warm_up(options.slice)
                limits.times[case.get("model"), c.program, c.variant, c.threads] = case.get("targets"), ms
                c.repetitions = max(1, min(MOST_REPETITIONS, round(1000 * options.slice / ms)))
                expected += ms / 1000 * c.repetitions
                say(f"  {c.name}, {c.threads} thread(s): about {ms:.3f} ms, "
                    f"{c.repetitions} repetition(s) a round")
            rounds = options.rounds
            if suite == "scaling" and expected > 0:
                rounds = min(rounds, max(3, round(options.rounds * options.slice * len(running) / expected)))
            if running:
                run_rounds(running, rounds, options, machine)
            return {"suite": suite, "case": name, "settings": case, "contestants": [c.record() for c in running],
                    "skipped": skipped}
        finally:
            for c in running:
                c.child.close()


def measure(options):
    chosen = [(suite, name) for suite in options.suite for name in SUITES[suite]
              if not options.cases or name in options.cases]
    if not chosen:
        raise Problem("no case is left to measure: --suite and --cases have none in common")
    limits, machine = Limits(), Machine()
    try:
        machine.start(options)
        results = [measure_case(options, suite, name, machine, limits) for suite, name in chosen]
        machine.measure()
        description = machine.children[0].description
    finally:
        machine.close()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.system(),
                    "kernel": platform.release(), "python": platform.python_version()},
        "npzoo": {key: description[key] for key in ("version", "commit", "compiler", "isa")},
        "environment": {key: value for key, value in sorted(os.environ.items()) if key.startswith(ENVIRONMENT)},
        "options": {"rounds": options.rounds, "slice_s": options.slice, "threads": options.threads,
                    "peers": options.peers, "busy": options.busy, "quick": options.quick},
        "peaks": machine.peaks,
        "results": results,
    }


def write(paths_and_texts):
    """All of the files or none."""
    temporary = [(path.with_name(path.name + ".part"), path) for path, _ in paths_and_texts]
    try:
        for (part, _), (_, text) in zip(temporary, paths_and_texts):
            part.write_text(text)
        for part, path in temporary:
            os.replace(part, path)
    finally:
        for part, _ in temporary:
            part.unlink(missing_ok=True)


def to_text(record):
    """JSON with a line for each contestant's round."""
    def plain(value):
        return json.dumps(value, separators=(",", ":"))

    results = []
    for result in record["results"]:
        contestants = ",\n".join(
            plain({key: value for key, value in c.items() if key != "rounds"})[:-1] + ',"rounds":[\n'
            + ",\n".join(map(plain, c["rounds"])) + "]}" for c in result["contestants"])
        head = {key: value for key, value in result.items() if key != "contestants"}
        results.append(plain(head)[:-1] + f',"contestants":[\n{contestants}]}}')
    head = "".join(f"{plain(key)}:{plain(value)},\n" for key, value in record.items() if key != "results")
    return "{\n" + head + '"results":[\n' + ",\n".join(results) + "]\n}\n"


def names(known):
    def parse(text):
        chosen = [] if text == "none" else text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name} found, expected some of {', '.join(known)}")
        return chosen
    return parse


def thread_counts(text):
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1 or len(set(counts)) != len(counts):
        raise argparse.ArgumentTypeError(f"{text} found, expected numbers like 1,2")
    return sorted(counts)


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} found, expected a number from 1")
    return int(text)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = list(dict.fromkeys(name for suite in SUITES.values() for name in suite))
    parser.add_argument("--worker", type=pathlib.Path, help="perf_worker, our side")
    parser.add_argument("--peer-python", default="python3", help="a Python that has perf/peers/requirements.txt")
    parser.add_argument("--suite", type=names(SUITES), default=["train-step"], help=f"some of {','.join(SUITES)}")
    parser.add_argument("--cases", type=names(cases), default=[], help="some of a suite's instead of all")
    parser.add_argument("--peers", type=names(VARIANTS + MORE_VARIANTS), default=VARIANTS,
                        help=f"some of {','.join(VARIANTS + MORE_VARIANTS)}, or none")
    parser.add_argument("--threads", type=thread_counts, default=[1, 2], help="all of them take turns in one run")
    parser.add_argument("--rounds", type=positive, help="12, or 3 with --quick")
    parser.add_argument("--busy", action="store_true", help="every other round beside a program that keeps a core busy")
    parser.add_argument("--quick", action="store_true", help="short slices, to try it out")
    parser.add_argument("--out", type=pathlib.Path, help="the results' path without .json and .md")
    parser.add_argument("--report", type=pathlib.Path, metavar="OUT.json", help="only makes OUT.md of it")
    options = parser.parse_args()
    if not options.report and not options.worker:
        parser.error("--worker is required")
    if options.worker:
        options.worker = options.worker.resolve()
    if os.sep in options.peer_python:  # the link itself tells Python of its environment
        options.peer_python = os.path.abspath(options.peer_python)
    options.slice = 0.1 if options.quick else 0.5
    options.rounds = options.rounds or (3 if options.quick else 12)
    if options.busy and options.rounds < 2:
        parser.error("--busy needs two rounds")
    if not options.out:
        quick = "-quick" if options.quick else ""
        options.out = HERE / "results" / f"{datetime.date.today().isoformat()}-compare{quick}"
    return options


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.report:
            record = json.loads(options.report.read_text())
            write([(options.report.with_suffix(".md"), compare_report.report(record))])
            return 0
        record = measure(options)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        text = to_text(record)
        outputs = [options.out.with_name(options.out.name + ending) for ending in (".json", ".md")]
        write(list(zip(outputs, [text, compare_report.report(json.loads(text))])))
        print(outputs[1])
        return 0
    except (Problem, OSError, ValueError) as error:
        say(f"compare.py: error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
