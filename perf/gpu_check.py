#!/usr/bin/env python3
"""Runs npzoo's CUDA kernels on a GPU in every way that finds mistakes, and writes down what was seen:

    ninja -C build tests/test_engine tests/test_ops tests/test_datasets tests/test_models tools/npzoo
    perf/gpu_check.py --build build

Writes perf/results/DATE-gpu-check.json: the checks, and of every kernel source a fingerprint, by which
tests/gpu_records_test.py tells what has run on hardware as it is now. perf/README.md tells more. What a check printed is
in BUILD/gpu-check. With --device emulated it can be tried out where there is no GPU.
"""

import argparse
import concurrent.futures
import contextlib
import copy
import datetime
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import mps
from kernel_sources import ROOT, file_of, fingerprints, kernel_sources, with_includes
from machine import first_line, gpu_driver

SUITES = ["engine", "ops", "datasets", "models"]
PROTOCOL = "perf/protocols/gpu-check.toml"
MODELS = ["tnp-d", "tnp-kr-full", "tnp-kr-fast", "eqtnp", "lbanp", "cmanp", "cnp"]
LIMIT = 1800  # s of a program
# Allowed difference of a log-likelihood between devices, for weights after few updates.
AGREEMENT = 1e-3
# The test programs share memory with the host. They need five times as long and more beside programs that take turns with them.
ALONE = ("build", "test_", "gradcheck")
SANITIZERS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SANITIZER_ERRORS = 86  # exit status
# One case of each operation, on all its shapes, and none of those on large ones.
SHORT_TESTS = ["-tc=*: values*,elementwise: functions*,reduce: one axis*,incremental_cross_attention: the mean*,"
               "key_summary: the sums*", "-tce=*float32*"]
QUICK_TESTS = ["-tc=layer_norm: values*,linear: values*,softmax: values*"]


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def end(process):
    """With all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


class Programs:
    """Those that run: threads that wait for them cannot be interrupted, but their programs can be ended."""

    def __init__(self):
        self.running, self.lock, self.closed = set(), threading.Lock(), False

    def start(self, command, environment):
        with self.lock:
            if self.closed:
                raise Failed("interrupted")
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, errors="replace", cwd=ROOT,
                                       env={**environment, "NPZOO_SOURCE_ROOT": str(ROOT)}, start_new_session=True)
            self.running.add(process)
            return process

    def end(self, process):
        end(process)
        with self.lock:
            self.running.discard(process)

    def end_all(self):
        with self.lock:
            self.closed = True
            for process in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


class Checks:
    def __init__(self, options):
        self.build, self.device, self.quick = options.build, options.device, options.quick
        self.parts = options.jobs if options.mps else 1  # of a test program, at a time
        self.npzoo = self.build / "tools/npzoo"
        self.programs = Programs()
        self.folder = self.log = None  # of one check
        emulated = self.device == "emulated"
        self.steps, self.batch, self.repeats = (3, 2, 3) if emulated else (30, 16, 10 if self.quick else 100)
        self.models = MODELS[:1] if self.quick else MODELS

    def run(self, command, limit=LIMIT, environment=os.environ):
        """(exit status, standard output, standard error)"""
        command = list(map(str, command))
        try:
            process = self.programs.start(command, environment)
        except OSError as error:
            raise Failed(f"{command[0]} cannot be started: {error.strerror}") from None
        try:
            out, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise Failed(f"{pathlib.Path(command[0]).name} took longer than {limit} s") from None
        finally:
            self.programs.end(process)
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(command)}\n{out}{errors}exit status {process.returncode}\n\n")
        return process.returncode, out, errors

    def succeed(self, command, limit=LIMIT):
        status, out, errors = self.run(command, limit)
        if status != 0:
            raise Failed(why(status, out, errors))
        return out

    def answer(self, command):
        """Returns the JSON of a command of npzoo, whatever its exit status."""
        status, out, errors = self.run([self.npzoo, *command, "--json"])
        try:
            return json.loads(out)
        except ValueError:
            raise Failed(why(status, out, errors)) from None

    def train(self, name, model, steps, *flags, device=None):
        """The checkpoint."""
        out = self.folder / name
        self.succeed([self.npzoo, "train", "--protocol", PROTOCOL, "--model", model, "--steps", steps, "--batch",
                      self.batch, "--device", device or self.device, "--out", out, *flags])
        return out / "checkpoint.safetensors"

    # The checks: each returns what is to be told of it.

    def check_build(self):
        program = self.build / "tests/test_ops"
        files = sorted({name for source in kernel_sources() for name in with_includes(source)})
        newer = [name for name in files if file_of(name, ROOT).stat().st_mtime > program.stat().st_mtime]
        if newer:
            raise Failed(f"{newer[0]} is newer than {program}: build first")
        return f"newer than {len(files)} files"

    def check_suite(self, suite):
        program = [self.build / f"tests/test_{suite}", "--device", self.device]
        _, out, errors = self.run([*program, "--count"])
        counted = re.search(r"(?:matching|passing) the current filters: ([1-9]\d*)", out)
        if not counted:
            raise Failed(why(1, out, errors))
        cases = int(counted[1])
        # Small parts, since some cases take far longer than others.
        size = cases if self.parts == 1 else math.ceil(cases / (8 * self.parts))
        parts = [[*program, f"--first={first}", f"--last={first + size - 1}"] for first in range(1, cases + 1, size)]
        with concurrent.futures.ThreadPoolExecutor(self.parts) as pool:
            failed = [name for names in pool.map(self.failures, parts) for name in names]
        if failed:
            raise Failed("; ".join([f"{len(failed)} of {cases} test cases failed", *failed[:5]]))
        return f"{cases} test cases passed"

    def failures(self, command):
        """Returns the names of the test cases that failed, or what else happened."""
        status, out, errors = self.run(command)
        if status == 0:
            return []
        blocks = [block for block in re.split(r"^={20,}$", out, flags=re.MULTILINE) if " ERROR: " in block]
        failed = dict.fromkeys(re.findall(r"^TEST CASE:\s*(.+)$", "\n".join(blocks), re.MULTILINE))
        return list(failed) or [why(status, out, errors)]

    def check_gradients(self):
        result = self.answer(["gradcheck", "--device", self.device])
        wrong = [row["op"] for row in result["ops"] if not row["passed"]]
        if not result["passed"] or result["device"] != "cuda":
            raise Failed(f"on {result['device']}: wrong {wrong}, unchecked {result['unchecked']}")
        return f"{len(result['ops'])} folders, largest error {max(row['max_error'] for row in result['ops']):.1e}"

    def check_parity(self):
        files = sorted((ROOT / "tests/golden").glob("*.safetensors"))
        rows = self.answer(["parity", *files, "--device", self.device])
        wrong = [f"{pathlib.Path(row['file']).name} ({row['max_error']})" for row in rows if not row["passed"]]
        if wrong or len(rows) != len(files):
            raise Failed(f"{len(rows)} files, different: {', '.join(wrong)}")
        return f"{len(rows)} files, largest error {max(row['max_error'] for row in rows):.1e}"

    def check_two_runs(self, model, *flags):
        hashes = [weights_hash(self.train(f"run {i}", model, self.steps, *flags)) for i in range(2)]
        if hashes[0] != hashes[1]:
            raise Failed(f"two runs of {self.steps} updates have other weights: {hashes[0]}, {hashes[1]}")
        return f"{self.steps} updates, SHA-256 {hashes[0]}"

    def check_many_runs(self, model):
        hashes = {}
        for i in range(self.repeats):
            digest = weights_hash(self.train(f"run {i}", model, min(3, self.steps)))
            hashes[digest] = hashes.get(digest, 0) + 1
            shutil.rmtree(self.folder / f"run {i}")
        if len(hashes) != 1:
            raise Failed(f"{self.repeats} runs have {len(hashes)} different weights, {sorted(hashes.values())} times each")
        return f"{self.repeats} runs, SHA-256 {next(iter(hashes))}"

    def check_evaluation_elsewhere(self, model):
        """Weights of each device are scored on both."""
        told = []
        for device in (self.device, "cpu"):
            checkpoint = self.train(device, model, self.steps, device=device)
            rows = [self.answer(["eval", "--checkpoint", checkpoint, "--batches", 2, "--device", on])
                    for on in (self.device, "cpu")]
            for here, there in zip(*rows):
                a, b = here["log_likelihood"], there["log_likelihood"]
                if a is None or b is None or abs(a - b) > AGREEMENT * max(1, abs(b)):
                    raise Failed(f"trained on {device}: {a} on {self.device}, {b} on the CPU")
                told.append(f"trained on {device}: {a:.6f}, on the CPU {b:.6f}")
        return "; ".join(told)

    def check_resuming_elsewhere(self, model):
        """A run is stopped on the device and goes on on the CPU."""
        out, steps = self.folder / "stopped", 20 if self.device == "emulated" else 5000
        process = self.programs.start(
            list(map(str, [self.npzoo, "train", "--protocol", PROTOCOL, "--model", model, "--steps", steps, "--batch",
                           2, "--device", self.device, "--checkpoint-every", 1, "--out", out])), os.environ)
        checkpoint = out / "checkpoint.safetensors"
        try:
            deadline = time.monotonic() + 300
            while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            raise Failed("it was asked to stop and did not") from None
        finally:
            self.programs.end(process)
        if process.returncode not in (0, 130):
            raise Failed(why(process.returncode, "", errors))
        stopped = updates_of(checkpoint)
        if process.returncode == 0 or stopped >= steps:
            raise Skipped(f"{steps} updates were over before the run could be stopped")
        self.succeed([self.npzoo, "train", "--resume", "--out", out, "--device", "cpu"])
        if updates_of(checkpoint) != steps:
            raise Failed(f"resumed at {stopped} of {steps} updates, it ended at {updates_of(checkpoint)}")
        return f"stopped at {stopped} of {steps} updates, ended on the CPU"

    def sanitize(self, what, command):
        if self.device == "emulated":
            raise Skipped("compute-sanitizer watches hardware")
        program = tool("compute-sanitizer")
        if not program:
            raise Skipped("there is no compute-sanitizer")
        status, out, errors = self.run([program, "--tool", what, "--error-exitcode", SANITIZER_ERRORS, *command],
                                    environment=mps.without())
        summary = [line.lstrip("= ") for line in re.findall(r"^=+ \w+ SUMMARY: .*$", out + errors, re.MULTILINE)]
        if status == 0 and summary and not re.search(r"\b[1-9]\d* errors?\b", summary[-1]):
            return summary[-1]
        found = re.findall(r"^=+ ((?:Invalid|Error|Uninitialized|Barrier|Program hit|Warning).*)$", out + errors,
                           re.MULTILINE)
        raise Failed("; ".join([*dict.fromkeys(found), *summary[-1:]][:4]) or why(status, out, errors))

    def check_sanitized_tests(self, what):
        return self.sanitize(what, [self.build / "tests/test_ops", "--device", self.device,
                                    *(QUICK_TESTS if self.quick else SHORT_TESTS)])

    def check_sanitized_update(self, what, model):
        """In memory of the device alone, where test programs use memory that the host writes as well."""
        return self.sanitize(what, [self.npzoo, "train", "--protocol", PROTOCOL, "--model", model, "--steps", 1,
                                    "--batch", 2, "--device", self.device, "--out", self.folder / "run"])

    def all(self):
        """(name, function of Checks), the quick and the telling ones first."""
        checks = [("build", Checks.check_build)]
        checks += [(f"test_{suite}", lambda self, suite=suite: self.check_suite(suite)) for suite in SUITES]
        checks += [("gradcheck", Checks.check_gradients), ("parity", Checks.check_parity)]
        checks += [(f"same weights twice, {model}", lambda self, model=model: self.check_two_runs(model))
                   for model in self.models]
        first = self.models[0]
        if self.device == "cuda":
            checks += [(f"same weights twice, {first} in {precision}", lambda self, precision=precision:
                        self.check_two_runs(first, "--precision", precision)) for precision in ("tf32", "bf16")]
        checks += [("same weights many times", lambda self: self.check_many_runs(first)),
                   ("evaluation on the CPU", lambda self: self.check_evaluation_elsewhere(first)),
                   ("resuming on the CPU", lambda self: self.check_resuming_elsewhere(first))]
        for what in SANITIZERS:
            if what != "initcheck":  # does not see what the host writes
                checks.append((f"{what}, test_ops", lambda self, what=what: self.check_sanitized_tests(what)))
            checks += [(f"{what}, an update of {model}", lambda self, what=what, model=model:
                        self.check_sanitized_update(what, model)) for model in self.models]
        return checks


def why(status, out, errors):
    """A line about a program that failed."""
    lines = [line.strip() for line in (errors.strip() or out.strip()).splitlines() if line.strip()]
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return f"{how}: {lines[-1][:300]}" if lines else how


def read_safetensors(path):
    """(header, data)"""
    content = path.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    return json.loads(content[8:8 + size]), content[8 + size:]


def weights_hash(path):
    """Returns a checksum of all tensors of a checkpoint, those of the optimiser included."""
    header, data = read_safetensors(path)
    digest = hashlib.sha256()
    for name in sorted(set(header) - {"__metadata__"}):
        begin, stop = header[name]["data_offsets"]
        digest.update(name.encode() + b"\0" + data[begin:stop])
    return digest.hexdigest()


def updates_of(path):
    return json.loads(read_safetensors(path)[0]["__metadata__"]["run"])["step"]


def perform(name, check, folder, checks, logs):
    """Whatever happens, it becomes a record."""
    checks = copy.copy(checks)
    checks.folder = folder / re.sub(r"\W+", "-", name)
    checks.folder.mkdir()
    checks.log = logs / f"{checks.folder.name}.log"
    checks.log.write_text("")
    begin = time.monotonic()
    try:
        status, detail = "passed", check(checks)
    except Skipped as reason:
        status, detail = "skipped", str(reason)
    except Failed as reason:
        status, detail = "failed", str(reason)
    except Exception as error:
        status, detail = "failed", f"{type(error).__name__}: {error}"
    if checks.programs.closed:
        status, detail = "skipped", "interrupted"
    seconds = round(time.monotonic() - begin, 1)
    shutil.rmtree(checks.folder, ignore_errors=True)
    print(f"{status:<8}{seconds:>8.1f} s  {name}: {detail}", file=sys.stderr, flush=True)
    return {"name": name, "status": status, "seconds": seconds, "detail": detail}


def passed_before(path, record):
    """Returns the checks that passed in an earlier record of the same kernels on the same GPU, by name."""
    earlier = json.loads(path.read_text())
    for key in ("gpu", "driver", "sources"):
        if earlier[key] != record[key]:
            raise ValueError(f"{path} has other {key}; expected a record of these kernels on this GPU")
    return {check["name"]: {"commit": earlier["commit"], **check}
            for check in earlier["checks"] if check["status"] == "passed" and check["name"] != "build"}


def perform_all(options, checks, folder, record, logs):
    """Runs `jobs` of them at a time. The record is written after each, since a machine may go away at any time."""
    every = checks.all()
    before = passed_before(options.resume, record) if options.resume else {}
    results = [before.get(name) for name, _ in every]
    missing = [i for i, (name, _) in enumerate(every) if not results[i] and
               (not options.checks or any(word in name for word in options.checks.split(",")))]
    alone = [i for i in missing if every[i][0].startswith(ALONE)]

    def keep(i, result):
        results[i] = result
        record["checks"] = [result for result in results if result]
        write(record, options.out)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            for i in alone:
                keep(i, pool.submit(perform, *every[i], folder, checks, logs).result())
            tasks = {pool.submit(perform, *every[i], folder, checks, logs): i for i in missing if i not in alone}
            for task in concurrent.futures.as_completed(tasks):
                keep(tasks[task], task.result())
        except BaseException:
            checks.programs.end_all()
            pool.shutdown(cancel_futures=True)
            raise


def commit(npzoo):
    head = first_line("git", "-C", ROOT, "rev-parse", "--short", "HEAD")
    if head:
        return head + ("-changed" if first_line("git", "-C", ROOT, "status", "--porcelain", "-uno", "--", ":!perf/results")
                       else "")
    done = subprocess.run([npzoo, "bench", "attention", "--queries", "1", "--repeats", "1", "--json"],
                          stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)[0]["commit"] if done.returncode == 0 else "unknown"


def tool(name):
    """A program of the CUDA Toolkit, or None."""
    return shutil.which(name) or shutil.which(f"/usr/local/cuda/bin/{name}")


def toolkit():
    if not tool("nvcc"):
        return None
    told = subprocess.run([tool("nvcc"), "--version"], stdout=subprocess.PIPE, text=True).stdout
    release = re.search(r"release ([\d.]+)", told)
    return release[1] if release else None


def describe(options):
    """Date, commit and machine. Throws OSError or ValueError where there is no such device."""
    npzoo = options.build / "tools/npzoo"
    if not npzoo.exists():
        raise ValueError(f"{npzoo} is missing; expected: ninja -C {options.build} tools/npzoo and the tests")
    done = subprocess.run([npzoo, "devices", "--json"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ValueError(f"{npzoo} devices ended with status {done.returncode}")
    found = [row for row in json.loads(done.stdout) if row["device"] == options.device]
    if not found:
        raise ValueError(f"{npzoo} finds no device '{options.device}'; `npzoo devices` tells why")
    return {"date": datetime.date.today().isoformat(), "commit": commit(npzoo), "device": options.device,
            "gpu": found[0].get("name", "emulated"),
            "driver": gpu_driver() or found[0].get("driver_cuda", "none"), "toolkit": toolkit(),
            "quick": options.quick}


def write(record, path):
    if not path:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    os.replace(part, path)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--device", choices=["cuda", "emulated"], default="cuda")
    parser.add_argument("--quick", action="store_true", help="fewer models, repetitions and sanitized tests")
    parser.add_argument("--jobs", type=int, default=1, help="trainings and sanitizers that run at a time")
    parser.add_argument("--mps", action="store_true",
                        help="they use the GPU at the same time, and so do parts of the test programs; sanitizers take turns")
    parser.add_argument("--checks", help="only those whose names have one of these words in them, like test_,memcheck")
    parser.add_argument("--resume", type=pathlib.Path, metavar="RECORD", help="run only what has not passed there")
    parser.add_argument("--out", type=pathlib.Path, help="the record's path; of an emulated device there is none without it")
    options = parser.parse_args()
    if options.mps and options.device != "cuda":
        parser.error(f"--mps and --device {options.device}; expected: --device cuda")
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}; expected: at least 1")
    options.build = options.build.resolve()
    if not options.out and options.device == "cuda":
        quick = "-quick" if options.quick else ""
        options.out = ROOT / f"perf/results/{datetime.date.today().isoformat()}-gpu-check{quick}.json"
    return options


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        record = {**describe(options), "checks": [], "sources": fingerprints()}
        logs = options.build / "gpu-check"
        logs.mkdir(exist_ok=True)
        with mps.service() if options.mps else contextlib.nullcontext(), tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
            perform_all(options, Checks(options), pathlib.Path(folder), record, logs)
    except (OSError, ValueError) as error:
        print(f"gpu_check.py: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    failed = sum(check["status"] == "failed" for check in record["checks"])
    print(f"{len(record['checks'])} checks, {failed} failed" + (f": {options.out}" if options.out else ""), file=sys.stderr)
    return 1 if failed or not record["checks"] else 0


if __name__ == "__main__":
    sys.exit(main())
