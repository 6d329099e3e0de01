#!/usr/bin/env python3
"""Compares the answers of a program with those of an older one: before_after.py OLD OLD_ROOT NEW NEW_ROOT [--part P] [--only WORD] [--tests FILE…]

OLD_ROOT and NEW_ROOT are the repositories of both programs; each uses the weights of its own. `--part pages` runs the commands that the README and the documentation of OLD_ROOT
show, with trainings shortened, `--part examples` further ones on its example tables. `--part tests` runs the calls of the program in tests/tools/FILE of OLD_ROOT, by default those
of the situations, without their checks. Both programs get the same files: those that OLD wrote, or NEW where OLD failed.

Prints a line for each command: `equal`, `rounding` (numbers within 1e-6), or what differs. For predictions that is the largest and mean change of the mean in old standard
deviations, the largest of quantiles, and the median ratio of standard deviations. NEW runs with --verbose too.
A message is lost if neither run has it, numbers aside; a warning must come without --verbose. Ends with 1 if anything differs.
"""

import argparse
import array
import collections
import csv
import importlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

SKIPPED = re.compile(r"git |tools/|meson |ninja |sudo |python|pip |mpirun |srun |g\+\+|cc |cmake |perf/|npzoo (reproduce|bench)|npzoo train (?!.*--(steps|resume|config))")
SHORTER = (("--protocol tnp-kr/bo1d-rbf --batches 1", "--protocol tnp-kr/bo1d-rbf --batches 1 --set evaluation.batch_size=1"),
           ("--tasks 20", "--tasks 2"), ("--batches 50", "--batches 2"), ("--batches 20", "--batches 2"))
EXAMPLES = (
    "npzoo predict examples/station.csv", "npzoo predict examples/station.csv --json --out out.csv", "npzoo predict examples/station.csv --header",
    "npzoo predict examples/station.csv --samples 3 --samples-out samples.csv --out out.csv", "npzoo predict examples/station.csv --model gp",
    "npzoo predict examples/station.csv --check", "npzoo predict examples/station.csv --period 24", "npzoo predict examples/station.csv --bounds 0",
    "npzoo predict examples/station.csv --transform auto", "npzoo predict examples/station.csv --linear-mean", "npzoo predict examples/station.csv --ends weights",
    "npzoo predict examples/station.csv --neighbours 30", "npzoo predict examples/station.csv --digits 9",
    "npzoo predict examples/station.csv --targets docs/tutorials/next_day.csv", "npzoo predict examples/station.csv --targets docs/tutorials/next_day.csv --ends weights",
    "npzoo predict examples/station.csv --checkpoint tnp-d:tnp/gp-rbf",
    "npzoo predict docs/tutorials/two_stations.csv", "npzoo predict docs/tutorials/two_stations.csv --group station --quantiles .1,.9",
    "npzoo predict docs/tutorials/two_stations.csv --group station --model gp", "npzoo predict docs/tutorials/two_stations.csv --group station --ends weights",
    "docs/tutorials/rain.py > rain.csv", "npzoo predict rain.csv", "npzoo predict rain.csv --model gp", "npzoo predict rain.csv --lonlat", "npzoo predict rain.csv --bounds 0",
    "npzoo predict rain.csv --no-turn", "npzoo predict rain.csv --samples 2 --samples-out samples.csv --out out.csv",
    "npzoo predict columns.csv --inputs x",
    "npzoo optimise --space examples/space.toml --tell results.csv --ask 12 > ask.csv", "docs/tutorials/objective.py ask.csv results.csv",
    "npzoo optimise --space examples/space.toml --tell results.csv --ask 3 --json",
    "npzoo optimise --space examples/space.toml --tell results.csv --acquisition ucb", "npzoo sample events/hawkes --tasks 3 --out events.csv",
    "npzoo fit events events.csv --json", "npzoo oracle events.csv --process examples/hawkes.toml --json",
    "npzoo plot --checkpoint tnp-d:tnp/gp-rbf --tasks 1 --out plot.svg", "docs/tutorials/pictures.py discs",
    "npzoo complete --image discs/disc-007.png --checkpoint tnp-d:quick/mnist --show .3 --out out.png")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TIME = re.compile(r"\b\d[\d.,]*(e-?\d+)? ?(s|ms|us|seconds?|min|minutes|MB|MiB|GiB|updates/s|tasks/s)\b")
PROGRESS = re.compile(r"^[\w ]+( +\d+%)?  (working|\d.*)$|^# npzoo |\d+%  ")
UNLIKE = ("seconds", "version", "commit", "path", "ms")  # keys of JSON and TOML


def read(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


def numbers(old, new):
    """Largest relative difference of two texts of the same words; None if words differ."""
    if old == new:
        return 0
    if NUMBER.sub("0", old) != NUMBER.sub("0", new):
        return None
    pairs = zip(map(float, NUMBER.findall(old)), map(float, NUMBER.findall(new)))
    return max((abs(a - b) / max(abs(a), abs(b), 1e-300) for a, b in pairs if a != b), default=0)


def table(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    separator = next((s for s in ";\t," if lines and s in lines[0]), None)
    rows = list(csv.reader(lines, delimiter=separator)) if separator else []
    return rows if len(rows) > 1 and any(name.startswith("mean_") for name in rows[0]) else None


def value(cell):
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return math.nan


def columns(rows):
    return {name: [row[i] if i < len(row) else "" for row in rows[1:]] for i, name in enumerate(rows[0])}


def compare_tables(old, new):
    if len(old) != len(new):
        return f"{len(old) - 1} rows, now {len(new) - 1}"
    before, after = columns(old), columns(new)
    told = [f"lost column {name}" for name in before if name not in after] + [f"new column {name}" for name in after if name not in before]
    worst, changes, ratios, tails = 0, [], [], []
    for name in [n for n in before if n in after]:
        pairs = list(zip(before[name], after[name]))
        if any(bool(a) != bool(b) for a, b in pairs):
            told.append(f"{name}: {sum(bool(a) > bool(b) for a, b in pairs)} cells now blank, {sum(bool(a) < bool(b) for a, b in pairs)} now filled")
        kind, _, of = name.partition("_")
        widths = [value(cell) for cell in before.get(f"std_{of}", [])] or [math.nan] * len(pairs)
        for (a, b), width in zip(pairs, widths):
            gap = numbers(a, b) if a and b else 0
            worst = max(worst, math.inf if gap is None else gap)
            if not (a and b) or not (kind in ("mean", "std") or name[0] == "q"):
                continue
            if kind == "mean" and width > 0:
                changes.append(abs(value(a) - value(b)) / width)
            elif kind == "std" and value(a) > 0:
                ratios.append(value(b) / value(a))
            elif width > 0:
                tails.append(abs(value(a) - value(b)) / width)
    if worst > 1e-6 and not any(changes) and not any(tails) and all(ratio == 1 for ratio in ratios):
        told.append("other cells differ")
    elif worst > 1e-6:
        moved, ratios = sum(change > 0 for change in changes), ratios or [1]
        told.append(f"{moved} of {len(changes)} means by at most {max(changes, default=0):.3g} old std, mean {statistics.fmean(changes or [0]):.2g}; "
                    f"std × {statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})")
        if tails:
            told[-1] += f"; quantiles by at most {max(tails):.3g}"
    return "; ".join(told) or ("rounding" if worst else "")


def flat(thing, at=""):
    if isinstance(thing, (dict, list)):
        for key, inner in thing.items() if isinstance(thing, dict) else enumerate(thing):
            if not any(word in str(key) for word in UNLIKE):
                yield from flat(inner, f"{at}.{key}")
    else:
        yield at, thing


def compare_json(old, new):
    before, after = dict(flat(old)), dict(flat(new))
    lost, more = ([key for key in a if key not in b] for a, b in ((before, after), (after, before)))
    other = [key for key in before if key in after and (numbers(str(before[key]), str(after[key])) or 0 if before[key] != after[key] else 0) > 1e-6
             or key in after and numbers(str(before[key]), str(after[key])) is None]
    named = lambda what, keys: [f"{what} {', '.join(keys[:6])}{f' and {len(keys) - 6} more' if len(keys) > 6 else ''}"] if keys else []
    return "; ".join(named("lost keys", lost) + named("new keys", more) + named("other values of", other))


def tensors(data):
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    return {name: data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]] for name, entry in header.items()}


def floats(data):
    return array.array("f", data[:len(data) // 4 * 4])


def compare(name, old, new):
    """Empty where equal, "rounding", or what differs."""
    if old == new:
        return ""
    if name.endswith(".safetensors"):
        before, after = tensors(old), tensors(new)
        other = [key for key in before if before[key] != after.get(key)]
        worst = max((abs(a - b) for key in other for a, b in zip(floats(before[key]), floats(after.get(key, b"")))), default=0)
        largest = max((abs(a) for key in other for a in floats(before[key])), default=0)
        return f"{len(other)} of {len(before)} tensors by at most {worst:.2g}, of numbers up to {largest:.2g}" if other else ""
    if name.endswith(".png"):
        return "picture differs"
    try:
        found = [[json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text) for text in (old, new)]
        return compare_json(*found)
    except ValueError:
        pass
    before, after = (TIME.sub("-", "\n".join(line for line in text.decode(errors="replace").splitlines() if not PROGRESS.search(line))) for text in (old, new))
    if name.endswith(".svg"):
        if (drawn := re.sub(r"base64,[^\"]*", "", before)) != before and numbers(drawn, re.sub(r"base64,[^\"]*", "", after)) == 0:
            return "embedded pictures alone differ"
        gap = numbers(before, after)
        return "" if gap == 0 else "rounding" if gap is not None and gap <= 1e-6 else "picture differs"
    tables = table(before), table(after)
    if all(tables):
        return compare_tables(*tables)
    comment = "# " if name == "stdout" or name.endswith(".csv") else "\0"
    lines = [[line for line in text.splitlines() if not re.match(r"\W*(seconds|commit|version)", line) and not line.startswith(comment)] for text in (before, after)]
    gaps = [numbers(a, b) for a, b in zip(*lines)]
    if len(lines[0]) == len(lines[1]) and None not in gaps:
        worst = max(gaps, default=0)
        return "" if worst == 0 else "rounding" if worst <= 1e-6 else f"numbers by at most {worst:.2g}"
    before, after = ([line.strip() for line in text] for text in lines)
    show = lambda sign, a, b: " ".join(f"{sign}[{line[:150]}]" for line in sorted(set(a) - set(b), key=a.index)[:9])
    return f"lines: {show('-', before, after)[:700]} {show('+', after, before)[:700]}"


def messages(text):
    return [TIME.sub("-", line.removeprefix("npzoo: ")).strip() for line in text.splitlines() if line.strip() and not PROGRESS.search(line)]


def masked(line):
    return NUMBER.sub("0", line)


def compare_messages(old, new, verbose):
    """Lines that are lost and added, numbers aside."""
    before, after, every = messages(old), messages(new), messages(new) + messages(verbose)
    lost = [line for line in before if masked(line) not in {masked(other) for other in (after if line.startswith(("warning", "error")) else every)}]
    added = [line for line in every if masked(line) not in {masked(other) for other in before}]
    other = [line for line in before if line not in every and line not in lost]
    return list(dict.fromkeys(lost)), list(dict.fromkeys(added)), other


class Comparison:
    def __init__(self, options):
        self.options, self.counts, self.timed = options, collections.Counter(), 0
        self.programs = [str(pathlib.Path(p).resolve()) for p in (options.old, options.new)]
        self.weights = [str(pathlib.Path(p, "weights").resolve()) for p in (options.old_root, options.new_root)]

    def run(self, which, command, folder, stdin=None):
        """A command of the shell, or words, in a folder. Returns the process, the files that it changed, and all files."""
        before = read(folder)
        bin_folder = pathlib.Path(self.options.scratch, f"bin{which}")
        bin_folder.mkdir(exist_ok=True)
        if not (bin_folder / "npzoo").exists():
            (bin_folder / "npzoo").symlink_to(self.programs[which])
        environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "NPZOO_WEIGHTS": self.weights[which]}
        words = ["bash", "-c", command] if isinstance(command, str) else ["npzoo", *command]
        try:
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL if stdin is None else None, input=stdin, timeout=120)
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(words, 124, b"", b"more than 120 s")
        done.returncode = 128 - done.returncode if done.returncode < 0 else done.returncode
        after = read(folder)
        return done, {name for name, data in after.items() if before.get(name) != data}, after

    def compare(self, label, command, folder, stdin=None):
        """Runs both in `folder`, which has the files of OLD afterwards, or those of NEW where OLD failed. Returns the process that it kept."""
        copies = [pathlib.Path(self.options.scratch, name) for name in ("before", "after")]
        keep = lambda source, target: (shutil.rmtree(target, ignore_errors=True), shutil.copytree(source, target, symlinks=True))
        keep(folder, copies[0])
        old, old_files, old_every = self.run(0, command, folder, stdin)
        keep(folder, copies[1])

        def again(changed):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            shutil.copytree(copies[0], folder, symlinks=True, dirs_exist_ok=True)
            return self.run(1, changed, folder, stdin)

        verbose = b""
        told = command if isinstance(command, str) else " ".join(map(str, command))
        if re.search(r"\bpredict ", told + " ") and "--json" not in told:
            verbose = again(command.replace("npzoo predict ", "npzoo predict --verbose ") if isinstance(command, str) else ["predict", "--verbose", *command[1:]])[0].stderr
        new, new_files, new_every = again(command)
        if old.returncode not in (0, 3) and new.returncode == 0:
            pass
        else:
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            shutil.copytree(copies[1], folder, symlinks=True, dirs_exist_ok=True)
        found = []
        if old.returncode != new.returncode:
            found.append(f"exit {old.returncode}, now {new.returncode}")
        if old.returncode == new.returncode or old.returncode in (0, 3):
            for name in sorted({"stdout"} | old_files | new_files):
                a, b = (old.stdout, new.stdout) if name == "stdout" else (every.get(name) for every in (old_every, new_every))
                what = "not written any more" if b is None else "new file" if a is None else compare(name, a, b)
                if what:
                    found.append(f"{name}: {what}")
        lost, added, other = compare_messages(*(text.decode(errors="replace") for text in (old.stderr, new.stderr, verbose)))
        rounding = all(part.endswith(": rounding") for part in found)
        kind = "error" if old.returncode == new.returncode != 0 else "equal" if not found else "rounding" if rounding else "was broken" if old.returncode >= 128 else "differs"
        self.counts[kind] += 1
        self.counts["messages lost"] += bool(lost)
        row = {"label": label, "command": told.replace(str(folder), "."), "kind": kind, "found": found, "lost": lost, "added": added, "other": other, "exit": old.returncode}
        messages = {"lost": lost, "added": added if self.options.added else [], "was": other}
        text = f"{label}: {kind}. {' | '.join(found)}" + "".join(f"\n    {sign} {line[:300]}" for sign, lines in messages.items() for line in lines)
        print(json.dumps(row, ensure_ascii=False) if self.options.json else text, flush=True)
        return new if old.returncode >= 128 or old.returncode not in (0, 3) and new.returncode == 0 else old


def page_folder(folder, root):
    """What the commands of a page expect, and a table whose three columns say something of each other."""
    (folder / "docs").mkdir(parents=True)
    (folder / "perf/results").mkdir(parents=True)
    draw, rows = random.Random(1), ["x,a,b,c"]
    for i in range(200):
        shared = math.sin(i / 5) + .3 * draw.gauss(0, 1)
        cells = [f"{slope * shared + .1 * draw.gauss(0, 1):.3f}" if draw.random() > .15 or i in (0, 199) else "" for slope in (1, 2, -1)]
        rows.append(f"{i + .7 * draw.random():.3f},{','.join(cells)}")
    (folder / "columns.csv").write_text("\n".join(rows) + "\n")
    (folder / "examples").symlink_to(root / "examples")
    (folder / "docs/tutorials").symlink_to(root / "docs/tutorials")


def run_pages(comparison, root, only):
    for page in [root / "README.md", *sorted(root.glob("docs/**/*.md"))]:
        lines = [line.split(" # ")[0].strip() for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
                 for line in block.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
        run_commands(comparison, str(page.relative_to(root)), [line for line in lines if not SKIPPED.match(line)], root, only)


def run_commands(comparison, name, lines, root, only):
    if only not in name or not any("npzoo " in line for line in lines):
        return
    with tempfile.TemporaryDirectory(dir=comparison.options.scratch) as scratch:
        folder = pathlib.Path(scratch, "work")
        page_folder(folder, root)
        for line in lines:
            for long, short in SHORTER:
                line = line.replace(long, short)
            line = re.sub(r"(npzoo train .*--steps )\d+", r"\g<1>10 --batch 2", line)
            line += " --batches 1" if re.search(r"npzoo eval --checkpoint \w+/checkpoint.safetensors$", line) else ""
            if line.startswith("npzoo "):
                comparison.compare(f"{name}: {line}", line, folder)
            else:
                comparison.run(0, line, folder)


def run_tests(comparison, root, files):
    """Replaces the functions of the tests' support that start the program and that check what it said."""
    sys.path.insert(0, str(root / "tests/tools"))
    sys.argv = [sys.argv[0], comparison.programs[0]]
    support = importlib.import_module("cli_support")
    at = [""]

    def call(*args, stdin=None, stdout=None, environment=None):
        words = [str(arg) for arg in args]
        done = comparison.compare(f"{at[0]}", words, support.HERE, stdin.encode() if isinstance(stdin, str) else stdin)
        return subprocess.CompletedProcess(words, done.returncode, *(text.decode(errors="replace") for text in (done.stdout, done.stderr)))

    support.npzoo, support.expect = call, lambda *_: None
    for file in files:
        support.CASES.clear()
        importlib.import_module(file.removesuffix(".py"))
        for function in list(support.CASES):
            at[0] = f"{file.removesuffix('_test.py')}: {function.__name__.replace('_', ' ')}"
            if comparison.options.only in at[0]:
                try:
                    function()
                except Exception as error:  # a check of a case, which stands on its own answers
                    print(f"# {at[0]}: ended by {type(error).__name__}: {str(error)[:100]}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("old", "old_root", "new", "new_root"):
        parser.add_argument(name)
    parser.add_argument("--part", choices=("pages", "examples", "tests"), action="append")
    parser.add_argument("--only", default="", help="pages or cases whose name holds this word")
    parser.add_argument("--tests", nargs="*", default=["situations_test.py", "situations_of_tables_test.py"])
    parser.add_argument("--added", action="store_true", help="print messages that only NEW has")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="before-after-") as options.scratch:
        comparison, root = Comparison(options), pathlib.Path(options.old_root).resolve()
        for part in options.part or ("pages", "examples", "tests"):
            if part == "pages":
                run_pages(comparison, root, options.only)
            elif part == "examples":
                run_commands(comparison, "examples", EXAMPLES, root, options.only)
            else:
                run_tests(comparison, root, options.tests)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(comparison.counts.items())), file=sys.stderr)
    return 1 if set(comparison.counts) - {"equal", "rounding", "error"} else 0


if __name__ == "__main__":
    sys.exit(main())
