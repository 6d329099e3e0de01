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
from compare_cases import (GOALS, GPU_VARIANTS, LIMITED, MORE_GPU_VARIANTS, MORE_VARIANTS, SUITES, VARIANTS, Limits,
                           variants_of)
from compare_programs import PAUSE, BusyCore, Machine, OutOfMemory, Problem, say, start_ours, start_peer
from machine import gpu_driver, processor

HERE = pathlib.Path(__file__).resolve().parent
MOST_REPETITIONS = 200  # of a slice
PATIENCE = 3  # slices: a program that has slowed down that much makes fewer repetitions
ROUNDS_PER_PEAK = 4
ENVIRONMENT = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_", "TORCH", "NPZOO_", "MALLOC_",
               "LD_PRELOAD")


def skip(skipped, program, variant, threads, reason):
    say(f"  skipped: {program} {variant}, {threads} thread(s): {reason}")
    skipped.append({"program": program, "variant": variant, "threads": threads, "reason": reason})


def may_fail(options, program):
    """On a GPU, which may be there for an hour alone, a peer that fails does not take the others down."""
    return options.device != "cpu" and program != "npzoo"


def start_contestants(options, suite, case, weights, limits, running, skipped):
    """Adds to `running` one by one, so that the caller can end them whatever happens."""
    def start(program, variant, threads, make):
        key = limits.key(suite, case, program, variant, threads)
        reason = limits.reason(suite, case, key)
        try:
            if not reason:
                running.append(make())
        except OutOfMemory as problem:
            if suite not in LIMITED:
                raise
            reason = limits.reasons[key] = str(problem)
        except Problem as problem:
            if not may_fail(options, program):
                raise
            reason = str(problem)
        if reason:
            skip(skipped, program, variant, threads, reason)

    for threads in options.threads:
        start("npzoo", "", threads, lambda: start_ours(options, case, threads, weights))
    if not running:
        return
    ours = running[0]
    for variant in variants_of(suite, case, options.peers):
        for threads in options.threads:
            start("pytorch", variant, threads,
                  lambda: start_peer(options, suite, case, variant, threads, weights, ours))


def warm_up(options, suite, case, limits, running, skipped):
    """Tells each how many repetitions make a slice; returns the seconds that a round of all of them takes."""
    expected = 0
    for c in list(running):
        try:
            ms = c.warm_up(options.slice)
        except Problem as problem:
            if not may_fail(options, c.program):
                raise
            c.child.close()
            running.remove(c)
            skip(skipped, c.program, c.variant, c.threads, str(problem))
            continue
        limits.took(suite, case, limits.key(suite, case, c.program, c.variant, c.threads), ms)
        c.repetitions = max(1, min(MOST_REPETITIONS, round(1000 * options.slice / ms)))
        expected += ms / 1000 * c.repetitions
        say(f"  {c.name}, {c.threads} thread(s): about {ms:.3f} ms, {c.repetitions} repetition(s) a round")
    return expected


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
            expected = warm_up(options, suite, case, limits, running, skipped)
            rounds = options.rounds
            if suite in LIMITED and expected > 0:
                rounds = min(rounds, max(3, round(options.rounds * options.slice * len(running) / expected)))
            if running:
                run_rounds(running, rounds, options, machine)
            goal = {"goal": GOALS[name]} if suite == "goals" else {}
            return {"suite": suite, "case": name, "settings": case, **goal,
                    "contestants": [c.record() for c in running], "skipped": skipped}
        finally:
            for c in running:
                c.child.close()


def measure_cases(options, chosen, machine):
    """Results, and on a GPU the cases that failed."""
    limits, results, failed = Limits(), [], []
    for suite, name in chosen:
        try:
            results.append(measure_case(options, suite, name, machine, limits))
        except Problem as problem:
            if options.device == "cpu":
                raise
            say(f"  failed: {problem}")
            failed.append({"suite": suite, "case": name, "reason": str(problem)})
    return results, failed


def measure(options):
    chosen = [(suite, name) for suite in options.suite for name in SUITES[suite]
              if not options.cases or name in options.cases]
    if not chosen:
        raise Problem("no case is left to measure: --suite and --cases have none in common")
    machine = Machine()
    try:
        machine.start(options)
        results, failed = measure_cases(options, chosen, machine)
        machine.measure()
        description = machine.children[0].description
    finally:
        machine.close()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.system(),
                    "kernel": platform.release(), "python": platform.python_version()},
        "gpu": describe_gpu(options, description),
        "npzoo": {key: description[key] for key in ("version", "commit", "compiler", "isa")},
        "environment": {key: value for key, value in sorted(os.environ.items())
                        if key.startswith(ENVIRONMENT) and not os.path.isabs(value)},  # folders are of no matter
        "options": {"device": options.device, "precision": options.precision, "rounds": options.rounds,
                    "slice_s": options.slice, "threads": options.threads, "peers": options.peers,
                    "busy": options.busy, "quick": options.quick},
        "peaks": machine.peaks,
        "failed": failed,
        "results": results,
    }


def describe_gpu(options, description):
    if options.device == "cpu":
        return None
    return {"name": description["gpu"], "driver": gpu_driver() if options.device == "cuda" else None,
            "driver_cuda": description["driver_cuda"]}


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
    variants = VARIANTS + MORE_VARIANTS + GPU_VARIANTS + MORE_GPU_VARIANTS
    parser.add_argument("--device", choices=["cpu", "cuda", "emulated"], default="cpu",
                        help="emulated: npzoo's CUDA kernels on the CPU, slow, to try it out")
    parser.add_argument("--precision", choices=["float32", "tf32", "bf16"], default="float32",
                        help="of matrix products; the short ones need a GPU")
    parser.add_argument("--peers", type=names(variants), help=f"some of {','.join(variants)}, or none")
    parser.add_argument("--threads", type=thread_counts,
                        help="all of them take turns in one run; 1,2 where not given, and 1 on a GPU")
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
    check_device(parser, options)
    options.slice = 0.1 if options.quick else 0.5
    options.rounds = options.rounds or (3 if options.quick else 12)
    if options.busy and options.rounds < 2:
        parser.error("--busy needs two rounds")
    if not options.out:
        where = "" if options.device == "cpu" else f"-{options.device}-{options.precision}"
        quick = "-quick" if options.quick else ""
        options.out = HERE / "results" / f"{datetime.date.today().isoformat()}-compare{where}{quick}"
    return options


def check_device(parser, options):
    """Checks that options fit together, and sets defaults."""
    if options.device == "cpu":
        if options.precision != "float32":
            parser.error(f"--precision {options.precision} needs --device cuda")
        if set(options.peers or []) & {*GPU_VARIANTS, *MORE_GPU_VARIANTS}:
            parser.error(f"{', '.join(GPU_VARIANTS + MORE_GPU_VARIANTS)} need --device cuda")
    elif options.busy:
        parser.error("--busy is for the CPU: a busy core does not keep a GPU from its work")
    if options.device == "emulated" and options.peers:
        parser.error("PyTorch has no emulated device: --device emulated goes with --peers none")
    known = {"cpu": VARIANTS, "cuda": VARIANTS + GPU_VARIANTS, "emulated": []}
    options.peers = known[options.device] if options.peers is None else options.peers
    options.threads = options.threads or ([1, 2] if options.device == "cpu" else [1])


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
        return 1 if record["failed"] else 0
    except (Problem, OSError, ValueError) as error:
        say(f"compare.py: error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
