#!/usr/bin/env python3
"""Whether eleven common commands take as much processor time as before: perf/paired.py [OLD [NEW]] [--rounds N] [--limit RATIO] [--cases NAME…]

OLD and NEW are programs or revisions of git; by default the last tag and HEAD. A revision is built in a temporary worktree with the
options of the quick start (about five minutes of processor time; ccache helps). Each uses the weights that it comes with.

Runs each command with both programs in turn, on one thread, and prints the ratio of the smallest processor times (above 1: NEW is slower). What
else a machine does makes a run slower and never faster. Cases above RATIO are measured again. Ends with 1 if one is above RATIO both times
or fails with NEW alone, and with 2 if nothing could be compared."""

import argparse
import contextlib
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = "bench train-step --warmup 0 --threads 1"
# Each takes about half a second of processor time.
CASES = {
    "train tnp-d": f"{STEP} --protocol tnp/gp-rbf --model tnp-d --steps 25",
    "train cnp": f"{STEP} --protocol tnp/gp-rbf --model cnp --steps 60",
    "train lbanp": f"{STEP} --protocol tnp/gp-rbf --model lbanp --steps 3",
    "train convcnp": f"{STEP} --protocol convcnp/eq --model convcnp --steps 120",
    "forecast": "predict series.csv --horizon 24 --out out.csv --threads 1",
    "fill": "predict gaps.csv --out out.csv --threads 1",
    "columns": "predict columns.csv --out out.csv --threads 1",
    "map": "predict map.csv --inputs lon,lat --out out.csv --threads 1",
    "gp": "predict process.csv --model gp --out out.csv --threads 1",
    "optimise": "optimise --space space.toml --tell results.csv --ask 4 --threads 1",
    "fit events": "fit events events.csv --threads 1",
}
SPACE = "".join(f'[[axis]]\nname = "{name}"\nlow = 0.0\nhigh = 1.0\n' for name in "ab")


class Problem(Exception):
    pass


def write_inputs(folder):
    """Tables with fixed random numbers."""
    rng = random.Random(1)

    def table(name, header, rows):
        (folder / name).write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")

    def value(t):
        return f"{20 + 5 * math.sin(t * math.pi / 12) + rng.gauss(0, 1):.2f}"

    times = [f"2026-{1 + t // 672:02}-{1 + t // 24 % 28:02}T{t % 24:02}:00" for t in range(700)]
    table("series.csv", "time,load", ((time, value(t)) for t, time in enumerate(times)))
    table("gaps.csv", "time,load", ((time, "" if rng.random() < 0.3 else value(t)) for t, time in enumerate(times)))
    shared = [rng.gauss(0, 1) for _ in range(3)]
    rows = []
    for day in range(365):
        shared = [level + rng.gauss(0, 1) for level in shared]
        rows.append([f"{day}", *("" if rng.random() < 0.2 or day // 20 % 12 == c else
                                f"{shared[c % 3] + shared[(c + 1) % 3] + rng.gauss(0, 0.5):.3f}" for c in range(12))])
    table("columns.csv", "day," + ",".join(f"s{c}" for c in range(12)), rows)
    table("process.csv", "x,y", ((f"{t / 10}", "" if t % 4 == 0 else value(t)) for t in range(480)))
    places = [(rng.uniform(5, 15), rng.uniform(45, 55)) for _ in range(2000)]
    table("map.csv", "lon,lat,rain", ((f"{x:.3f}", f"{y:.3f}", f"{math.sin(x) + math.cos(y):.3f}" if i % 3 else "")
                                      for i, (x, y) in enumerate(places)))
    (folder / "space.toml").write_text(SPACE)
    points = [(rng.random(), rng.random()) for _ in range(150)]
    table("results.csv", "a,b,value", ((f"{a:.4f}", f"{b:.4f}", f"{(a - 0.3) ** 2 + math.sin(5 * b):.5f}") for a, b in points))
    events = [(sequence, time, rng.choice("pq")) for sequence in range(200)
              for time in sorted(rng.uniform(0, 100) for _ in range(200))]
    table("events.csv", "sequence,time,mark", ((str(s), f"{t:.4f}", mark) for s, t, mark in events))


class Program:
    def __init__(self, path, weights=None):
        self.path = str(path)
        self.environment = {**os.environ, "NPZOO_WEIGHTS": str(weights)} if weights else dict(os.environ)

    def seconds(self, line, folder):
        """Runs a command and returns its processor time."""
        with tempfile.TemporaryFile(mode="w+", errors="replace") as errors:
            process = subprocess.Popen([self.path, *line.split()], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                errors.seek(0)
                last = (errors.read().strip().splitlines() or [f"exit status {process.returncode}"])[-1]
                raise Problem(last)
        return usage.ru_utime + usage.ru_stime


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise Problem(f"{' '.join(map(str, command))}: {(done.stdout.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout.strip()


@contextlib.contextmanager
def worktree(revision):
    """A program that is built of a revision; the worktree is removed afterwards."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npzoo-"))
    tree, build = folder / "tree", folder / "tree/build"
    try:
        run("git", "-C", ROOT, "worktree", "add", "--detach", tree, revision)
        print(f"paired: building {revision} (minutes)", file=sys.stderr, flush=True)
        run("meson", "setup", build, "--native-file", tree / "tools/quick.ini", "-Dtests=false", cwd=tree)
        run("ninja", "-C", build, "tools/npzoo")
        yield Program(build / "tools/npzoo", tree / "weights")
    finally:
        subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def last_tag():
    try:
        return run("git", "-C", ROOT, "describe", "--tags", "--abbrev=0")
    except Problem:
        raise Problem("there is no tag, expected OLD: a revision or a program") from None


def open_program(name, stack):
    """The program at a path, or that of a revision."""
    if os.path.isfile(name):
        if not os.access(name, os.X_OK):
            raise Problem(f"{name} is not a program, expected one or a revision of git")
        return Program(pathlib.Path(name).resolve())
    try:
        run("git", "-C", ROOT, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except Problem:
        raise Problem(f"{name} is neither a program nor a revision of git") from None
    return stack.enter_context(worktree(name))


def measure(line, programs, folder, rounds):
    """The smallest seconds of each program, or the message of the first that fails: (seconds, seconds), (which, message)."""
    times = ([], [])
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            try:
                times[which].append(programs[which].seconds(line, folder))
            except Problem as problem:
                return None, (which, str(problem))
    return tuple(map(min, times)), None


def compare(names, programs, folder, options):
    """Prints a line for each case and returns the names of those above the limit, of those that fail with NEW, and how many were compared."""
    slow, failing, count = [], [], 0
    for name in names:
        seconds, failure = measure(CASES[name], programs, folder, options.rounds)
        if failure and failure[0] == 0:
            print(f"| {name} | | | not compared, OLD: {failure[1]} |", flush=True)
        elif failure:
            print(f"| {name} | | | NEW: {failure[1]} |", flush=True)
            failing.append(name)
        else:
            count += 1
            ratio = seconds[1] / max(seconds[0], 1e-3)
            print(f"| {name} | {seconds[0]:.3f} | {seconds[1]:.3f} | {ratio:.2f} |", flush=True)
            if ratio > options.limit:
                slow.append(name)
    return slow, failing, count


def paired(options):
    with contextlib.ExitStack() as stack:
        programs = [open_program(name, stack) for name in (options.old or last_tag(), options.new)]
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="npzoo-")))
        write_inputs(folder)
        print("| case | OLD s | NEW s | NEW / OLD |\n|---|---:|---:|---:|")
        slow, failing, count = compare(options.cases or list(CASES), programs, folder, options)
        if slow:
            print(f"| *again, above {options.limit:g}* | | | |")
            slow, more, _ = compare(slow, programs, folder, options)
            failing += more
    if count == 0 and not failing:
        raise Problem("no case runs with OLD")
    if slow or failing:
        print(f"paired: {', '.join(slow + failing)}: slower than {options.limit:g} twice, or failing", file=sys.stderr)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", nargs="?", metavar="OLD")
    parser.add_argument("new", nargs="?", metavar="NEW", default="HEAD")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program for a ratio (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=1.15, help="largest ratio that passes (default: %(default)s)")
    parser.add_argument("--cases", nargs="+", choices=CASES, metavar="NAME", help=", ".join(CASES))
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}, expected at least 1")
    try:
        return paired(options)
    except (Problem, OSError) as problem:
        print(f"paired: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
