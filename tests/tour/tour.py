#!/usr/bin/env python3
"""Runs every command of the program once, on real input: tour.py [--root DIRECTORY] COMMAND…

The same list is for a build, for the quick start's build, for the Debian package and for the wheel. COMMAND is the program and words that
come before its own, such as `python3 -m npzoo`. With --root it runs inside that directory (chroot), which has no compiler.
Needs nothing but Python. Fails if the program has a command that is not in the list."""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 300 * float(os.environ.get("NPZOO_TEST_SLOWNESS", 1))  # s
STATIONS = 90  # of rain.py


class Program:
    """The program, and the folder that it works in."""

    def __init__(self, command, folder, root):
        self.command, self.folder, self.root = command, folder, root
        self.ran = []
        # Weights must be found where they are installed.
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("NPZOO_")}

    def __call__(self, line, status=0):
        """Runs `npzoo LINE` and returns what it printed."""
        words = shlex.split(line)
        self.ran.append(words)
        if self.root:
            inside = "/" + str(self.folder.relative_to(self.root))
            command, where = ["chroot", self.root, "env", "-C", inside, *self.command, *words], None
        else:
            command, where = [*self.command, *words], self.folder
        done = subprocess.run(command, cwd=where, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, text=True)
        if done.returncode != status:
            raise Failure(f"npzoo {line}: exit status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, line):
        return json.loads(self(line + " --json"))

    def table(self, name):
        """The rows of a table that the program wrote."""
        lines = [line for line in (self.folder / name).read_text().splitlines() if not line.startswith("#")]
        return list(csv.DictReader(lines))

    def expect_file(self, name, begin):
        path = self.folder / name
        if not path.is_file() or not path.read_bytes()[:200].lstrip().startswith(begin):
            raise Failure(f"{name} does not begin with {begin}")


class Failure(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(map(str, what)))


def finite(row, *columns):
    return all(row[column] and math.isfinite(float(row[column])) for column in columns)


# The tour. Each stop is a function; they run in this order, and later ones use files of earlier ones.


def look_up(npzoo):
    expect(re.fullmatch(r"npzoo \d+\.\d+\.\d+.*\n", npzoo("version")), "version")
    expect("predict" in npzoo("help") and "--targets" in npzoo("help predict"), "help")
    expect("learning rate" in npzoo("help protocol"), "help protocol")
    names = [entry["name"] for entry in npzoo.json("list weights")]
    expect("kriging-tnp:npzoo/any-1d" in names, "the installed weights", names)
    expect("tnp-d" in npzoo("info tnp-d") and "gp" in npzoo("info --text quick/gp1d"), "info")
    expect("cpu" in npzoo("devices"), "devices")
    expect("complete" in npzoo("completion bash"), "completion")


def fill(npzoo):
    npzoo("predict station.csv --out filled.csv --plot filled.svg")
    rows = npzoo.table("filled.csv")
    expect(len(rows) == 336 and all(finite(row, "mean_temperature", "std_temperature") for row in rows), len(rows), "rows")
    npzoo.expect_file("filled.svg", b"<?xml")


def fill_by_a_gaussian_process(npzoo):
    npzoo("predict station.csv --model gp --out process.csv --plot process.png")
    expect(all(finite(row, "mean_temperature", "std_temperature") for row in npzoo.table("process.csv")), "a Gaussian process")
    npzoo.expect_file("process.png", b"\x89PNG")


def sales(month):
    return 100 + month + 10 * math.sin(month * math.pi / 6)


def months(count, known):
    rows = [f"{2000 + m // 12}-{m % 12 + 1:02}," + (f"{sales(m):.1f}" if m < known else "") for m in range(count)]
    return "\n".join(["month,sales", *rows]) + "\n"


def forecast(npzoo):
    """48 months with a value and twelve without one."""
    (npzoo.folder / "sales.csv").write_text(months(60, known=48))
    npzoo("predict sales.csv --out forecast.csv --check --plot forecast.svg")
    asked = [row for row in npzoo.table("forecast.csv") if not row["sales"]]
    expect(len(asked) == 12 and all(finite(row, "mean_sales", "std_sales") for row in asked), "twelve months", asked)
    for month, row in enumerate(asked, 48):
        expect(abs(float(row["mean_sales"]) - sales(month)) < 5, row, "is far from", sales(month))


def train_for_forecasts(npzoo):
    (npzoo.folder / "years.csv").write_text(months(130, known=130))
    npzoo("train --table years.csv --time month --values sales --context 12 --horizon 6 --steps 2 --batch 2 --out next")
    npzoo("predict years.csv --checkpoint next/checkpoint.safetensors --out next.csv")
    expect(len(npzoo.table("next.csv")) == 6, "half a year")


def forecast_a_complete_series(npzoo):
    """48 months with a value, and nothing after them."""
    (npzoo.folder / "complete.csv").write_text(months(48, known=48))
    npzoo("predict complete.csv", status=1)
    npzoo("predict complete.csv --explain")
    npzoo("predict complete.csv --horizon 12 --out ahead.csv")
    rows = npzoo.table("ahead.csv")
    expect([row["month"] for row in rows] == [f"2004-{m:02}" for m in range(1, 13)], "the next twelve months", rows)
    lines = months(48, known=48).splitlines()
    (npzoo.folder / "absent.csv").write_text("\n".join(lines[:20] + lines[22:]) + "\n")
    npzoo("predict absent.csv --add-rows --out whole.csv")
    expect(len(npzoo.table("whole.csv")) == 48, "two absent months")


def draw_a_map(npzoo):
    rain = subprocess.run([sys.executable, ROOT / "docs/tutorials/rain.py"], check=True, stdout=subprocess.PIPE, text=True).stdout
    (npzoo.folder / "rain.csv").write_text(rain)
    npzoo("predict rain.csv --inputs lon,lat --out map.csv --plot map.png")
    rows = npzoo.table("map.csv")
    expect(len(rows) == 864 and all(finite(row, "mean_rain", "std_rain") for row in rows), len(rows), "places")
    expect(sum(bool(row["rain"]) for row in rows) == STATIONS, "stations keep their values")
    npzoo.expect_file("map.png", b"\x89PNG")
    npzoo("predict rain.csv --inputs lon,lat --grid 8x5 --out grid.csv")
    expect(len(npzoo.table("grid.csv")) == 40, "8 by 5 places")


def optimise(npzoo):
    ask = "optimise --space space.toml --tell results.csv --ask 3"
    objective = [sys.executable, ROOT / "docs/tutorials/objective.py", npzoo.folder / "ask.csv", npzoo.folder / "results.csv"]
    for _ in range(2):
        (npzoo.folder / "ask.csv").write_text(npzoo(ask))
        expect(len(npzoo.table("ask.csv")) == 3, "three proposals")
        subprocess.run(objective, check=True)
    npzoo(ask + " --plot surrogate.svg")
    npzoo.expect_file("surrogate.svg", b"<?xml")


def events(npzoo):
    npzoo("sample events/hawkes --tasks 10 --out events.csv")
    expect(math.isfinite(npzoo.json("oracle events.csv --process hawkes.toml")["log_likelihood"]), "an oracle of events")
    npzoo("fit events events.csv --out best.toml")
    npzoo("predict events.csv --horizon 5 --out next.csv")
    npzoo.expect_file("best.toml", b"")
    npzoo("train --events events.csv --sequence sequence --time time --mark mark --steps 2 --out own")
    npzoo("predict events.csv --checkpoint own/checkpoint.safetensors --out coming.csv")
    expect(npzoo.table("coming.csv"), "the next event of each sequence")


def complete(npzoo):
    subprocess.run([sys.executable, ROOT / "docs/tutorials/pictures.py", npzoo.folder / "discs", "30"], check=True)
    npzoo("train --images discs --size 16x16 --grey --steps 2 --batch 2 --out images")
    npzoo("complete --checkpoint images/checkpoint.safetensors --image discs/disc-007.png --keep 0.2 --out whole.png")
    npzoo.expect_file("whole.png", b"\x89PNG")


def train(npzoo):
    begin = "train --protocol quick/gp1d --model tnp-d --steps 6 --batch 2 --out run"
    npzoo(begin)
    npzoo(begin, status=1)  # keeps what is there
    npzoo("train --resume --out run")
    scores = npzoo.json("eval --checkpoint run/checkpoint.safetensors --batches 1")
    expect(math.isfinite(scores[0]["log_likelihood"]), "eval", scores)
    npzoo("plot --checkpoint run/checkpoint.safetensors --out posterior.svg")
    npzoo("plot --curves run --out curves.png")
    npzoo("export --checkpoint run/checkpoint.safetensors --out mine.safetensors")
    expect("6 of 6 updates" in npzoo("info mine.safetensors"), "the card of exported weights")
    npzoo.expect_file("posterior.svg", b"<?xml")
    npzoo.expect_file("curves.png", b"\x89PNG")


def stream(npzoo):
    (npzoo.folder / "observed.csv").write_text("x,y\n" + "".join(f"{i / 10 - 2},{math.sin(i / 5):.3f}\n" for i in range(40)))
    (npzoo.folder / "where.csv").write_text("x\n-1\n0\n1\n")
    npzoo("train --protocol quick/gp1d --model cnp --steps 2 --batch 2 --out streamed")
    npzoo("stream --checkpoint streamed/checkpoint.safetensors --context observed.csv --targets where.csv --out answers.csv")
    expect(len(npzoo.table("answers.csv")) == 3, "answers of a stream")


def reproduce(npzoo):
    npzoo("reproduce tnp/gp-rbf --models cnp --seeds 0 --steps 2 --batches 1 --out reproduced --results collected")
    npzoo("oracle tnp/gp-rbf --tests rbf --tasks 2")


def check(npzoo):
    npzoo("parity recording.safetensors")
    npzoo("gradcheck lower_triangle")
    small = "--model tnp-d --steps 1 --warmup 0"
    npzoo(f"bench train-step --protocol quick/gp1d {small}")
    npzoo(f"bench forward --protocol quick/gp1d {small}")
    npzoo("bench data --protocol quick/gp1d --steps 1")
    npzoo("bench attention --queries 64 --repeats 1")
    npzoo("bench scaling --models cnp --points 1,10 --repeats 1")


def mistakes(npzoo):
    npzoo("predict missing.csv", status=1)
    npzoo("predict station.csv --uot filled.csv", status=2)


STOPS = (look_up, fill, fill_by_a_gaussian_process, forecast, forecast_a_complete_series, train_for_forecasts, draw_a_map, optimise, events, complete, train, stream,
         reproduce, check, mistakes)


def commands(text):
    """The names in the output of `npzoo help` or `npzoo help bench`."""
    return re.findall(r"^  ([a-z][\w-]*) {2,}\S", text, re.MULTILINE)


def check_all_ran(npzoo):
    """Each command that the program has was run."""
    expected = []
    for name in commands(npzoo("help")):
        below = commands(npzoo(f"help {name}"))
        expected += [[name, word] for word in below] or [[name]]
    missing = [" ".join(words) for words in expected if not any(ran[:len(words)] == words for ran in npzoo.ran)]
    expect(len(expected) > 20, "commands in `npzoo help`", expected)
    expect(not missing, "not in this tour:", ", ".join(missing))
    return len(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="npzoo-", dir=options.root and options.root / "tmp") as name:
        folder = pathlib.Path(name)
        for file in ("station.csv", "space.toml", "hawkes.toml"):
            shutil.copy(ROOT / "examples" / file, folder)
        shutil.copy(ROOT / "tests/golden/dl4bi-cnp.a.safetensors", folder / "recording.safetensors")
        command = [os.path.abspath(word) if not options.root and os.path.isfile(word) else word for word in options.command]
        npzoo = Program(command, folder, options.root)
        for stop in STOPS:
            before = time.monotonic()
            try:
                stop(npzoo)
            except (Failure, LookupError, TypeError, ValueError, subprocess.SubprocessError) as error:
                sys.exit(f"tour: {stop.__name__.replace('_', ' ')}: {error}")
            print(f"{stop.__name__.replace('_', ' ')}: {time.monotonic() - before:.1f} s", flush=True)
        count = check_all_ran(npzoo)
        print(f"{count} commands in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
