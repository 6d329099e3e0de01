#!/usr/bin/env python3
"""Measures how time and memory of predictions grow, and writes the report: scaling_report.py BUILD_FOLDER

Runs `npzoo bench scaling` (and perf/naive_tnp_d where it is built: ninja -C BUILD_FOLDER perf/naive_tnp_d) and writes
DATE-scaling.json, .md, and pictures -memory.svg and -time.svg to perf/results. The pictures need matplotlib
(requirements.txt); without it they are left out.
"""

import argparse
import datetime
import json
import math
import pathlib
import subprocess
import sys

from machine import gpu_driver, processor
from paper_times import PAPER
from svg_pictures import svg_pyplot

FIXED = 100  # points of the kind that does not vary, as in the tables
NAIVE = "tnp-d-naive"
# Models of the tables and of the picture, in their order. Those whose time is linear in the context go on to longer
# ones, those that stream to longer ones still.
MODELS = ["tnp-d", "tnp-kr-full", "tnp-kr-fast", "eqtnp", "lbanp", "cmanp", "cnp"]
LINEAR = ["tnp-kr-fast", "lbanp"]
STREAMING = ["cmanp", "cnp"]
PICTURE = [NAIVE, "tnp-d", "eqtnp", "lbanp", "cmanp"]
QUICK_POINTS = 1000

TITLES = {"test": "Test points varied", "context": "Context points varied"}


def decades(most):
    return [10**power for power in range(int(math.log10(most)) + 1)]


def run_json(command):
    """Returns the JSON of a program, or the reason why there is none."""
    print("+", *command, file=sys.stderr)
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return None, f"`{pathlib.Path(command[0]).name}` ended with status {done.returncode}"
    return json.loads(done.stdout), None


def measure(options, notes):
    """Rows of all models, each with `vary`."""
    program = options.build / "tools/npzoo"
    naive = options.build / "perf/naive_tnp_d"
    names, problem = run_json([program, "list", "models", "--json"])
    if problem:
        sys.exit(f"{program}: {problem}")
    available = {row["name"] for row in names}
    jobs = []
    for name in MODELS:
        if name in available:
            jobs.append((name, [program, "bench", "scaling", "--models", name]))
        else:
            notes.append(f"`{name}` is not a model of this build.")
    if naive.exists():
        jobs.append((NAIVE, [naive]))
    else:
        notes.append(f"`{NAIVE}` is left out: `perf/naive_tnp_d` is not built.")

    rows = []
    for vary in ("test", "context"):
        for name, command in jobs:
            points = decades(most_points(options, name, vary))
            found, problem = run_json([*command, "--vary", vary, "--fixed", FIXED, "--points", ",".join(map(str, points)),
                                       "--device", options.device, "--precision", options.precision,
                                       "--threads", options.threads, "--repeats", options.repeats,
                                       "--memory-limit", options.memory_limit, "--json"])
            if problem:
                notes.append(f"`{name}`, {vary} points varied: {problem}; no figures.")
                continue
            rows += [{"vary": vary, **row} for row in found]
    return rows


def most_points(options, name, vary):
    if options.quick:
        return QUICK_POINTS
    if name == NAIVE:
        return options.max_naive
    if vary == "test":
        return options.max_test
    if name in STREAMING:
        return options.max_stream_context
    return options.max_linear_context if name in LINEAR else options.max_context


def points_of(row):
    return row["nt"] if row["vary"] == "test" else row["nc"]


def series(rows, vary, name, key):
    """(points, value) where the run succeeded."""
    return [(points_of(row), row[key]) for row in rows
            if row["vary"] == vary and row["model"] == name and row["status"] == "ok"]


def models_in(rows, vary):
    return list(dict.fromkeys(row["model"] for row in rows if row["vary"] == vary))


def growth(values):
    """Exponent p of points^p over the last decade of sizes, by least squares; None for fewer than two sizes."""
    if not values:
        return None
    last = [(math.log(n), math.log(value)) for n, value in values if n * 10 >= values[-1][0] and value > 0]
    if len(last) < 2:
        return None
    mean_x, mean_y = (sum(column) / len(last) for column in zip(*last))
    return sum((x - mean_x) * (y - mean_y) for x, y in last) / sum((x - mean_x)**2 for x, _ in last)


def table(header, lines):
    return "\n".join(["| " + " | ".join(line) + " |" for line in [header, ["---"] + ["---:"] * (len(header) - 1), *lines]])


def as_power(n):
    power = round(math.log10(n))
    return f"10^{power}" if n == 10**power and n > 1000 else f"{n}"


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def size_table(rows, vary):
    sizes = sorted({points_of(row) for row in rows if row["vary"] == vary})
    lines = []
    for name in models_in(rows, vary):
        by_size = {points_of(row): row for row in rows if row["vary"] == vary and row["model"] == name}

        def cells(text):
            return ["" if n not in by_size else "oom" if by_size[n]["status"] == "oom" else text(by_size[n]) for n in sizes]

        lines.append([f"`{name}`, ms", *cells(lambda row: number(row["median_ms"]))])
        lines.append([f"`{name}`, peak MB", *cells(lambda row: number(row["peak_live_bytes"] * 1e-6))])
        paper = PAPER[vary].get(name)
        if paper:
            printed = {10**power: "oom" if value is None else f"{value:,}" for power, value in enumerate(paper)}
            lines.append([f"*{name}, RTX 4090, µs*", *(f"*{printed[n]}*" if n in printed else "" for n in sizes)])
    return table([f"{vary} points", *map(as_power, sizes)], lines)


def growth_table(rows):
    lines = []
    for vary in ("test", "context"):
        for name in models_in(rows, vary):
            values = [growth(series(rows, vary, name, key)) for key in ("median_ms", "peak_live_bytes")]
            lines.append([f"`{name}`", vary, *("" if p is None else f"{p:.2f}" for p in values)])
    return table(["model", "varied", "time", "memory"], lines)


def where(row, driver):
    """Returns the processor or GPU in words."""
    if "gpu" not in row:
        return f"{processor()}, {row['threads']} thread(s), {row['isa']}"
    return f"{row['gpu']}{f', driver {driver}' if driver else ''} (for CUDA {row['driver_cuda']})"


def report(rows, notes, options, date, pictures, driver):
    first = rows[0]
    pictures = "".join(f"\n![{what.capitalize()} against context points]({path.name})\n"
                       for what, path in pictures.items())
    notes = "\n## Notes\n\n" + "".join(f"- {note}\n" for note in notes) if notes else ""
    return f"""# Time and memory of predictions, {date}

{where(first, driver)}, commit {first['commit']}; one task (batch 1), {first['precision']}, random weights
and points, {FIXED} points of the kind that does not vary. Median of up to {options.repeats} repetitions. Peak MB (10^6 bytes) is what
tensors use, weights included; "oom": more than {options.memory_limit}. Targets are predicted 4096 at a time, except by
`{NAIVE}`, which runs [context; targets] as one stream with a dense mask and keeps the attention weights.

Lines in italics are **another machine**: microseconds on an NVIDIA RTX 4090 as printed in the TNP-KR paper (Jenson et al.,
version 1), whose timing does not wait for the GPU. They show how its models grow; they are no measure of ours.

## {TITLES['test']}, {FIXED} context points

{size_table(rows, 'test')}

## {TITLES['context']}, {FIXED} test points

{size_table(rows, 'context')}

## Growth

Exponent p of points^p, fitted over the last decade of sizes that fit in memory.

{growth_table(rows)}
{pictures}{notes}"""


def draw(rows, stem, notes):
    """Figure 3 of the CMANP paper (memory against context points), and the same of time."""
    pyplot = svg_pyplot()
    if pyplot is None:
        notes.append("There are no pictures: matplotlib is missing (perf/requirements.txt).")
        return {}
    paths = {}
    for what, key, unit, label in (("memory", "peak_live_bytes", 1e-6, "peak memory, MB"),
                                   ("time", "median_ms", 1, "time, ms")):
        figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
        for name in [*PICTURE, *(m for m in models_in(rows, "context") if m not in PICTURE)]:
            values = series(rows, "context", name, key)
            if values:
                n, value = zip(*values)
                axes.loglog(n, [v * unit for v in value], marker="o", markersize=3, label=name,
                            linestyle="-" if name in PICTURE else ":")
        axes.set(xlabel="context points", ylabel=label)
        axes.grid(True, alpha=0.3)
        axes.legend()
        paths[what] = stem.parent / f"{stem.name}-{what}.svg"
        figure.savefig(paths[what], metadata={"Date": None})
        pyplot.close(figure)
    return paths


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    count = lambda text: int(float(text))
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("--quick", action="store_true", help=f"up to {QUICK_POINTS} points, to try the report out")
    parser.add_argument("--device", choices=["cpu", "cuda", "emulated"], default="cpu")
    parser.add_argument("--precision", choices=["float32", "tf32", "bf16"], default="float32",
                        help="of matrix products; the short ones need a GPU")
    parser.add_argument("--threads", type=int, default=0, help="0: one per core")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--memory-limit", default="16GB")
    parser.add_argument("--max-test", type=count, default=10**6)
    parser.add_argument("--max-context", type=count, default=10**5, help="1e6 takes hours where time is quadratic")
    parser.add_argument("--max-linear-context", type=count, default=10**6, help="where time is linear")
    parser.add_argument("--max-stream-context", type=count, default=10**7, help="of models that stream")
    parser.add_argument("--max-naive", type=count, default=10**5)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "results")
    options = parser.parse_args()
    if options.device == "cpu" and options.precision != "float32":
        parser.error(f"--precision {options.precision} needs --device cuda")
    return options


def main():
    options = parse_options()
    notes = []
    rows = measure(options, notes)
    if not rows:
        sys.exit("no model could be measured: " + " ".join(notes))
    date = datetime.date.today().isoformat()
    options.out.mkdir(parents=True, exist_ok=True)
    device = "" if options.device == "cpu" else f"-{options.device}-{options.precision}"
    stem = options.out / f"{date}-scaling{device}{'-quick' if options.quick else ''}"
    driver = gpu_driver() if options.device == "cuda" else None
    pictures = draw(rows, stem, notes)
    record = {"date": date, "machine": processor(), "driver": driver, "memory_limit": options.memory_limit, "notes": notes, "rows": rows}
    stem.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    stem.with_suffix(".md").write_text(report(rows, notes, options, date, pictures, driver))
    print(stem.with_suffix(".md"))


if __name__ == "__main__":
    main()
