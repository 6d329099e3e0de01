#!/usr/bin/env python3
"""Compares all models that take points: parameters, times of an update and of a prediction, and log-likelihoods.

zoo.py PROGRAM --out OUT.md [--page PAGE.md]: about ten minutes of one core. Writes OUT.md, OUT.json with all figures, OUT.svg, and
PAGE.md, a short form of OUT.md (docs/results/zoo.md). A second run with the same OUT keeps the figures of OUT.json and measures only the missing ones; remove the file to measure all of them anew. Times are
those of the processor on one thread. Log-likelihoods are from shipped weights and perf/results. The picture needs matplotlib
(requirements.txt).
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

from machine import processor
from svg_pictures import svg_pyplot

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "perf/results"
ZOO = ROOT / "perf/protocols/zoo.toml"
SIZES = ["--batch", "16", "--context", "25", "--targets", "25"]
OTHERS = {"cmhp": "events", "thp": "events", "thp-plus": "events", "autoformer": "series", "informer": "series"}
# Where parameters of models without a preset under tnp/gp-rbf are counted: the networks are the same.
PRESETS = {"convcnp": "sconvcnp/rbf", "sconvcnp": "sconvcnp/rbf", "kriging-tnp": "npzoo/any-1d", "taylorformer": "taylorformer/gp-rbf",
           "taylorformer-tnp": "taylorformer/gp-rbf"}
FAMILY, KERNELS, ANY = "tnp/gp-rbf", ["tnp-kr/gp1d-rbf", "tnp-kr/gp1d-matern", "tnp-kr/gp1d-periodic"], "npzoo/any-1d"
# The test whose log-likelihoods count, as `eval --set` takes it, and the batches of joint ones.
RBF = '{ name = "rbf", kernels = [{ kind = "rbf", lengthscale = { uniform = [0.1, 0.6] }, scale = { uniform = [0.1, 1.0] } }] }'
TESTS = {FAMILY: ("rbf", RBF, 20), ANY: ("mixed", '{ name = "mixed" }', 8),
         **{name: (test, None, 0) for name, test in zip(KERNELS, ["rbf", "matern32", "periodic"])}}
SECONDS, REPEATS, ENOUGH = 0.2, 2, 0.4
NONE = "–"


class Zoo:
    def __init__(self, program, store, measures):
        self.program, self.store, self.measures = program, store, measures
        try:
            self.kept = json.loads(store.read_text()) if store.exists() else {}
        except ValueError as error:
            sys.exit(f"zoo: {store}: {error}")
        if not isinstance(self.kept, dict):
            sys.exit(f"zoo: {store} holds no object, expected the figures of zoo.py")

    def json(self, *words):
        words = [str(self.program), *words, "--json"]
        try:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            sys.exit(f"zoo: {self.program}: {error.strerror}")
        if done.returncode:
            sys.exit(f"zoo: '{' '.join(words)}' failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no message'}")
        return json.loads(done.stdout)

    def figure(self, name, measure):
        """Returns a figure of the store, measured and stored if it is missing; None for a missing one if nothing is measured."""
        if name not in self.kept and not self.measures:
            return None
        if name not in self.kept:
            self.kept[name] = measure()
            self.store.write_text(json.dumps(self.kept, indent=1) + "\n")
            print(name, self.kept[name], flush=True)
        return self.kept[name]

    def time(self, what, protocol, model, sizes):
        """Returns the least of some measurements, milliseconds of the processor."""
        def measure():
            words = ["bench", what, "--protocol", protocol, "--model", model, *sizes, "--threads", "1"]
            once = self.json(*words, "--steps", "1", "--warmup", "0")["cpu_ms"]
            if once > 1000 * ENOUGH:
                return once
            steps = str(min(max(int(1000 * SECONDS / once), 1), 200))
            return min(self.json(*words, "--steps", steps, "--warmup", "2")["cpu_ms"] for _ in range(REPEATS))
        place = "zoo" if protocol == str(ZOO) else protocol
        return self.figure(f"{what} {model} {place}{'' if sizes else ' own sizes'}", measure)

    def gain(self, model, protocol):
        """Returns how much higher the joint density of shipped weights is than the marginal one, on the same tasks."""
        def measure():
            test, text, batches = TESTS[protocol]
            chain = [] if self.draws_together(model) else ["--autoregressive"]
            row = next(row for row in self.json("eval", "--checkpoint", f"{model}:{protocol}", "--batches", str(batches), "--threads", "1",
                                                "--set", f"evaluation.tests=[{text}]", *chain) if row["test"] == test)
            return {"tasks": row["tasks"], "log_likelihood": row["log_likelihood"], "joint_log_likelihood": row["joint_log_likelihood"]}
        found = self.figure(f"eval {model} {protocol}", measure)
        return None if found is None else found["joint_log_likelihood"] - found["log_likelihood"]

    @staticmethod
    def draws_together(model):
        """Models with a joint density that is not the product of the marginal ones."""
        return model in ("np", "anp", "bnp", "banp", "tnp-a", "tnp-nd", "lbanp-nd")


def densities(zoo, weights):
    """Returns the marginal and the joint density on all test tasks, each with its standard error, or None for an error that is
    not known: one of the two is then the other one and the gain on a part of the tasks."""
    protocol, model, test = weights["protocol"], weights["model"], TESTS[weights["protocol"]][0]
    known = {}
    store = RESULTS / f"{protocol.replace('/', '-')}.json"
    for run in json.loads(store.read_text())["runs"] if store.exists() else []:
        if (run["model"], run["seed"]) == (model, weights["seed"]):
            known |= next((result for result in run["results"] if result["test"] == test), {})
    known |= next((row for row in weights["evaluation"] if row["test"] == test), {})
    def of(name):
        error = known.get(f"{name}_error", known.get("standard_error") if weights["metric"] == name else None)
        return None if known.get(name) is None or error is None else [known[name], error]
    marginal = of("log_likelihood")
    joint = of("joint_log_likelihood") if zoo.draws_together(model) else None
    wanted = TESTS[protocol][2] and (marginal is None or joint is None)
    gain = zoo.gain(model, protocol) if wanted else None
    if gain is not None and joint is None:
        joint = [marginal[0] + gain, None]
    if gain is not None and marginal is None:
        marginal = [joint[0] - gain, None]
    return marginal, joint


def number(value, decimals):
    return NONE if value is None else f"{value:,.{decimals}f}"


def milliseconds(value):
    return number(value, 1 if value is None or value < 100 else 0)


def with_error(pair):
    if pair is None:
        return NONE
    return f"≈ {pair[0]:.2f}" if pair[1] is None else f"{pair[0]:.3f} ± {pair[1]:.3f}"


def table(header, rows):
    rule = ["---", *["---:" for _ in header[1:]]]
    return "".join("| " + " | ".join(line) + " |\n" for line in [header, rule, *rows])


def points_models(zoo):
    known = zoo.json("info", str(ZOO))["models"]
    names = [model["name"] for model in zoo.json("list", "models")]
    strange = [name for name in names if name not in known and name not in OTHERS]
    if strange:
        sys.exit(f"zoo: no preset of {', '.join(strange)} in {ZOO}, expected one of every model that takes points")
    return [name for name in names if name in known]


def same_network(presets, protocol, of_zoo):
    """Returns the protocol under which a model is timed: the first with the same network, since all have the same sizes."""
    if protocol == FAMILY or presets[protocol]["options"] == presets[of_zoo]["options"]:
        return str(ZOO)
    return next(each for each in [*KERNELS, ANY] if each in presets and presets[each]["options"] == presets[protocol]["options"])


def measure(zoo):
    weights = {entry["name"]: entry for entry in zoo.json("list", "weights")}
    zoo.figure("processor", processor)
    presets = {name: {preset["protocol"]: preset for preset in zoo.json("info", name)["protocols"]} for name in points_models(zoo)}
    rows = []
    for protocol in [FAMILY, *KERNELS, ANY]:
        for name in presets:
            if protocol not in presets[name] and protocol != FAMILY:
                continue
            counted = protocol if protocol in presets[name] else PRESETS[name]
            timed = same_network(presets[name], protocol, PRESETS.get(name, FAMILY))
            row = {"protocol": protocol, "model": name, "preset": counted, "parameters": presets[name][counted]["parameters"],
                   "update_ms": zoo.time("train-step", timed, name, SIZES), "prediction_ms": zoo.time("forward", timed, name, SIZES),
                   "own_update_ms": None, "updates": None, "marginal": None, "joint": None}
            entry = weights.get(f"{name}:{protocol}")
            if entry:
                row["own_update_ms"] = row["update_ms"] if protocol == FAMILY else zoo.time("train-step", protocol, name, [])
                row["updates"], row["init"] = entry["steps"], entry["init"]
            rows.append(row)
    for row in rows:  # the longest measurements come last
        if row["updates"]:
            row["marginal"], row["joint"] = densities(zoo, weights[f"{row['model']}:{row['protocol']}"])
    return rows


def hours(row):
    return None if row["updates"] is None or row["own_update_ms"] is None else row["updates"] * row["own_update_ms"] / 3.6e6


def likelihoods(row):
    return [with_error(row["marginal"]), with_error(row["joint"])]


def by(row):
    if row["updates"] is None:
        return "no training"
    if row["model"] in ("np", "anp", "bnp", "banp"):
        return "50 functions"
    if row["model"] == "tnp-a":
        return "own chain"
    return "covariance" if Zoo.draws_together(row["model"]) else "its conditionals"


def family_table(rows):
    header = ["model", "parameters", "update, ms", "prediction, ms", "updates", "training, hours", "marginal", "joint", "joint by"]
    return table(header, [[f"`{row['model']}`" + (" ‡" if row["preset"] != FAMILY else ""), number(row["parameters"], 0),
                           milliseconds(row["update_ms"]), milliseconds(row["prediction_ms"]), number(row["updates"], 0),
                           number(hours(row), 2), *likelihoods(row), by(row)] for row in rows if row["protocol"] == FAMILY])


def kernels_table(rows):
    header = ["model", "parameters", "update, ms", "prediction, ms", "training, hours", "rbf", "matern", "periodic"]
    lines = []
    for row in (row for row in rows if row["protocol"] == KERNELS[0]):
        same = [next((each for each in rows if (each["protocol"], each["model"]) == (name, row["model"])), None) for name in KERNELS]
        lines.append([f"`{row['model']}`", number(row["parameters"], 0), milliseconds(row["update_ms"]), milliseconds(row["prediction_ms"]),
                      number(hours(row), 2), *(with_error(each["marginal"]) if each else NONE for each in same)])
    return table(header, lines)


def any_table(rows):
    header = ["model", "parameters", "update, ms", "prediction, ms", "updates", "training, hours", "marginal", "joint", "joint by"]
    return table(header, [[f"`{row['model']}`" + (" §" if row.get("init") else ""), number(row["parameters"], 0), milliseconds(row["update_ms"]),
                           milliseconds(row["prediction_ms"]), number(row["updates"], 0), number(hours(row), 2), *likelihoods(row), by(row)]
                          for row in rows if row["protocol"] == ANY])


def tasks_of(zoo, protocol):
    return next((found["tasks"] for name, found in zoo.kept.items() if name.startswith("eval ") and name.endswith(f" {protocol}")),
                16 * TESTS[protocol][2])


def tables(zoo, rows):
    has_joint = any(row["protocol"] == ANY and row["joint"] is not None for row in rows)
    of_any = f' "≈" as above, on {tasks_of(zoo, ANY)} tasks.' if has_joint else ""
    return f"""An update and a prediction are of 16 tasks with 25 context points and 25 targets, whatever the protocol, in milliseconds of the
processor on one thread. A prediction encodes the context and computes the distribution of each target by itself. `np`, `anp`, `bnp`,
`banp`, `tnp-a`, `taylorformer`, `taylorformer-tnp` and `flownp` draw 50 samples for it; `np` and `anp` of `tnp-kr` draw one. Training is the number of updates times the time of
one, at the sizes of the protocol, without validations. Log-likelihoods are in nats per target, ± standard error. A dash: no training.

## tnp/gp-rbf

Test `rbf`, 48,000 tasks (`banp`: 1,600). The protocol has 100,000 updates; those of `banp` and `lbanp-nd` were fewer. The Bayes oracle is 1.459, and 1.781 joint. "≈": the other density plus or minus the difference of the two on the first
{tasks_of(zoo, FAMILY)} tasks; the error is not known. The marginal density of `tnp-a` is of 1,600 tasks.

{family_table(rows)}
‡ no preset under `tnp/gp-rbf`: its own preset, on the data of `tnp/gp-rbf`.

## tnp-kr/gp1d

Marginal densities of 160,000 tasks for each kernel. Joint densities are left out: values have no noise, and the best joint density is not known. The
three kernels have the same networks and so the same times. The training is that for the kernel `rbf`.

{kernels_table(rows)}
## npzoo/any-1d

Test `mixed`, 1,600 tasks.{of_any}

{any_table(rows)}
§ the last training alone: it began with weights of earlier ones."""


def report(zoo, rows, picture):
    missing = [f"{what} of `{row['model']}` ({row['protocol']})" for row in rows for what, key in (("update", "update_ms"), ("prediction", "prediction_ms"))
               if row[key] is None and row["protocol"] not in KERNELS[1:]]
    missing += [f"joint density of `{row['model']}` ({row['protocol']})" for row in rows
                if row["updates"] and row["joint"] is None and row["protocol"] not in KERNELS]
    missing = f"\nNot measured in this run: {', '.join(missing)}.\n" if missing else ""
    untrained = sorted({row["model"] for row in rows} - {row["model"] for row in rows if row["updates"]})
    image = f"\n![Log-likelihood under tnp/gp-rbf against the time of a prediction and of an update]({picture})\n" if picture else ""
    return f"""# All models that take points

Made by `perf/zoo.py` on one thread of {zoo.kept['processor']}, which other programs used as well. Times are the least of {REPEATS} or more measurements of
about {SECONDS} seconds; one update or prediction if it takes more than {ENOUGH} seconds. Weights are random there. Marginal log-likelihoods are those
of `npzoo list weights` and `perf/results/*.json`, and so are joint ones of `np`, `anp`, `bnp`, `tnp-a`, `tnp-nd` and `lbanp-nd`. The others are from
`npzoo eval` of shipped weights, with `--autoregressive` for models that predict each target by itself. All trainings have one seed; of `tnp-nd`, seed 0 collapsed and seed 1 is here.

{tables(zoo, rows)}
{image}
Without a training: {', '.join(f'`{name}`' for name in untrained)}. Not compared: {', '.join(f'`{name}` ({form})' for name, form in OTHERS.items())}.
{missing}"""


def page(zoo, rows, page, out, picture):
    link = os.path.relpath(out.resolve(), page.resolve().parent)
    image = f"\n![Log-likelihood against the time of a prediction and of an update]({link.replace(out.name, picture)})\n" if picture else ""
    header = ["model", "parameters", "update, ms", "prediction, ms", "updates", "training, hours", "marginal", "joint"]
    lines = [[f"[`{row['model']}`](../models/{row['model']}.md)", number(row["parameters"], 0), milliseconds(row["update_ms"]),
              milliseconds(row["prediction_ms"]), number(row["updates"], 0), number(hours(row), 2), *likelihoods(row)]
             for row in rows if row["protocol"] == FAMILY]
    return f"""# All models that take points

Under `tnp/gp-rbf`: functions of Gaussian processes with an RBF kernel. Times are those of the
processor on one thread, for 16 tasks with 25 context points and 25 targets. A prediction is the distribution of each target by itself.
The protocol has 100,000 updates; two trainings were shorter. Log-likelihoods are in nats per target on 48,000 tasks, ± standard error; the best possible values are 1.459
and 1.781 joint. A value with "≈" is less certain: it comes from the other one and their difference on {tasks_of(zoo, FAMILY)} tasks. A dash: the model has
not been trained, or this was not measured ([reasons]({link})).

{table(header, lines)}{image}
[The whole report]({link}) has other protocols, the ways of joint densities, and how all of this was measured.
"""


def draw(rows, path):
    pyplot = svg_pyplot()
    if pyplot is None:
        print("zoo: no picture: matplotlib is missing (perf/requirements.txt)", file=sys.stderr)
        return None
    trained = [row for row in rows if row["protocol"] == FAMILY and row["updates"] and row["marginal"] and row["update_ms"] and row["prediction_ms"]]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
    for place, key, label in zip(axes, ["prediction_ms", "update_ms"], ["time of a prediction, ms", "time of an update, ms"]):
        for row in trained:
            x, marginal = row[key], row["marginal"][0]
            place.scatter(x, marginal, color="#1f5fa8", s=28, zorder=3, label="marginal" if row is trained[0] else None)
            if row["joint"] is None:
                continue
            joint = row["joint"][0]
            place.plot([x, x], [marginal, joint], color="#bbbbbb", linewidth=1, zorder=1)
            place.scatter(x, joint, facecolor="white", edgecolor="#c8501e", s=28, zorder=2, label="joint" if row is trained[0] else None)
        spread_labels(place, [(row["model"], row[key], row["marginal"][0]) for row in trained])
        place.set_xscale("log")
        place.set(xlabel=f"{label} (16 tasks, 25 + 25 points, one thread)")
        place.grid(True, alpha=0.3)
        place.margins(x=0.14)
    axes[0].set(ylabel="nats per target, tnp/gp-rbf, test rbf")
    for place in axes:
        place.axhline(1.459, color="#1f5fa8", linestyle=":", linewidth=1)
        place.annotate("best marginal", (0.99, 1.465), xycoords=("axes fraction", "data"), fontsize=8, ha="right", va="bottom", color="#1f5fa8")
    axes[0].legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    pyplot.close(figure)
    return path.name


def spread_labels(place, points):
    """Writes names beside points, alternately to the right and to the left where points are close."""
    for name, x, y in points:
        close = [(math.log10(other / x), height - y) for each, other, height in points if each != name and abs(height - y) < 0.07]
        right = not any(0 <= dx < 0.45 for dx, _ in close)
        place.annotate(name, (x, y), xytext=(6 if right else -6, -3), textcoords="offset points", fontsize=8,
                       ha="left" if right else "right")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="npzoo")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="OUT.md")
    parser.add_argument("--page", type=pathlib.Path, help="page of the site")
    parser.add_argument("--report", action="store_true", help="measures nothing: missing figures are dashes")
    options = parser.parse_args()
    if options.out.suffix != ".md" or not options.out.parent.is_dir():
        sys.exit(f"zoo: --out {options.out} found, expected a path OUT.md in a folder that exists")
    zoo = Zoo(options.program, options.out.with_suffix(".json"), not options.report)
    rows = measure(zoo)
    picture = draw(rows, options.out.with_suffix(".svg"))
    options.out.write_text(report(zoo, rows, picture))
    if options.page:
        options.page.write_text(page(zoo, rows, options.page, options.out, picture))
    print(options.out)


if __name__ == "__main__":
    main()
