#!/usr/bin/env python3
"""Trains flownp and tnp-a on a mixture of two steps, then compares their samples, and their densities against quadrature.

flow.py BUILD OUT.md [STEPS]: about three minutes of one core; `ninja -C BUILD perf/two_steps` before. Writes OUT.md and, with matplotlib
(requirements.txt), OUT.png. Trainings and findings stay in BUILD/flow; remove that folder to begin anew.
"""
import json
import math
import pathlib
import subprocess
import sys

from machine import processor
from svg_pictures import svg_pyplot

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROTOCOL = ROOT / "perf/protocols/two-steps.toml"
MODELS = ("flownp", "tnp-a")
ENDS = {"flownp": "1.8", "tnp-a": "5"}  # tnp-a has wide tails
MORE_STEPS = (25, 100, 400)  # of flownp from time 0 to 1, besides those of the protocol
NOISE = 0.1


def run(program, *words):
    if not program.exists():
        sys.exit(f"flow: {program} is missing, expected ninja -C BUILD perf/two_steps before")
    done = subprocess.run([str(program), *map(str, words), "--threads", "1"], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"flow: {program.name} failed")
    return json.loads(done.stdout)


def kept(path, make):
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def findings(program, folder, steps):
    found, others = {}, {}
    for model in MODELS:
        checkpoint = folder / model / "checkpoint.safetensors"
        more = ["--steps", steps] if steps else []
        kept(folder / f"{model}-training.json",
             lambda: run(program, "--protocol", PROTOCOL, "--model", model, "--out", folder / model, *more))
        found[model] = kept(folder / f"{model}.json", lambda: run(program, "--checkpoint", checkpoint))
        densities = kept(folder / f"{model}-densities.json", lambda: run(
            program, "--checkpoint", checkpoint, "--end", ENDS[model], "--batches", "0", "--samples", "50"))
        found[model].update({key: densities[key] for key in ("density", "two_targets")})
    checkpoint = folder / "flownp/checkpoint.safetensors"
    for count in MORE_STEPS:
        others[count] = kept(folder / f"flownp-{count}.json", lambda: run(
            program, "--checkpoint", checkpoint, "--timesteps", count, "--batches", "0", "--samples", "50"))
    return found, others


def off(value):
    return f"{value - 1:+.1e}"


def mean_error(values):
    mean = sum(values) / len(values)
    return f"{mean:.3f} ± {math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)):.3f}"


def share(value):
    return f"{100 * value:.1f} %"


def share_rows(found):
    inside = math.erf(3 / math.sqrt(2))
    lines = ["| | near the first | near the second | elsewhere |", "|---|---:|---:|---:|"]
    for key, title, power in (("one", "one target at 0", 1), ("two", "two targets at −0.25 and 0.25", 2)):
        true = 0.5 * inside ** power
        lines.append(f"| truth, {title} | {share(true)} | {share(true)} | {share(1 - 2 * true)} |")
        for model in MODELS:
            first, second = found[model][key]["first"], found[model][key]["second"]
            lines.append(f"| `{model}`, {title} | {share(first)} | {share(second)} | {share(1 - first - second)} |")
    return lines


def integral_rows(found, others):
    lines = ["| density | integral − 1 | with every other value |", "|---|---:|---:|"]
    for model in MODELS:
        rows = [(found[model].get("timesteps"), found[model]["density"])]
        if model == "flownp":
            rows += [(count, each["density"]) for count, each in others.items()]
        for count, each in sorted(rows, key=lambda row: row[0] or 0):
            steps = f", {count} steps" if count else ""
            lines.append(f"| `{model}`, one target{steps} | {off(each['integral'])} | {off(each['integral_of_every_other'])} |")
        steps = f", {found[model]['timesteps']} steps" if model == "flownp" else ""
        lines.append(f"| `{model}`, two targets{steps} | {off(found[model]['two_targets']['integral'])} | |")
    return lines


def score_rows(found):
    lines = ["| model | each target by itself | joint | true joint |", "|---|---:|---:|---:|"]
    return lines + [f"| `{model}` | {mean_error(s['marginal'])} | {mean_error(s['joint'])} | {mean_error(s['true_joint'])} |"
                    for model, s in ((model, found[model]["scores"]) for model in MODELS)]


def draw(found, path):
    pyplot = svg_pyplot()
    if pyplot is None:
        print("flow: no picture: matplotlib is missing (perf/requirements.txt)", file=sys.stderr)
        return None
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 6.4), layout="constrained")
    for row, model in zip(axes, MODELS):
        each = found[model]
        for y in each["functions"]:
            row[0].plot(each["x"], y, linewidth=1, alpha=0.7)
        row[0].scatter([-1.5, 1.5], [-1, 1], color="black", zorder=3)
        row[0].set(title=f"{model}: 12 samples of a function", xlabel="x", ylabel="y", ylim=(-3, 3))
        values = [y[0] for y in each["one"]["samples"]]
        row[1].hist(values, bins=[0.1 * i - 3 for i in range(61)], density=True, color="#9dbbe0", label="samples")
        density = each["density"]
        row[1].plot(density["y"], density["density"], color="#1f5fa8", linewidth=1, label="density")
        truth = [sum(math.exp(-0.5 * ((y - m) / NOISE) ** 2) for m in (-1, 1)) / (2 * NOISE * math.sqrt(2 * math.pi)) for y in density["y"]]
        row[1].plot(density["y"], truth, color="black", linestyle=":", linewidth=1, label="truth")
        row[1].set(title="one target at x = 0", xlabel="y", xlim=(-3, 3))
        row[1].legend(loc="upper right", fontsize=8)
        pairs = each["two"]["samples"]
        row[2].scatter([y[0] for y in pairs], [y[1] for y in pairs], s=4, alpha=0.4, color="#1f5fa8")
        row[2].scatter([-1, 1], [-1, 1], marker="x", color="black", zorder=3, label="modes of the truth")
        row[2].set(title="two targets", xlabel="y at −0.25", ylabel="y at 0.25", xlim=(-3, 3), ylim=(-3, 3))
        row[2].legend(loc="upper left")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=90)
    pyplot.close(figure)
    return path.name


def report(found, others, picture):
    flow, chain = found["flownp"], found["tnp-a"]
    image = f"\n![Samples of functions, of one target and of two, by flownp and by tnp-a]({picture})\n" if picture else ""
    grids = {model: found[model]["two_targets"] for model in MODELS}
    return "\n".join([
        "# FlowNP and TNP-A on a mixture of two steps", "",
        f"Made by `perf/flow.py` on one thread of {processor()}. A function rises from −1 to 1 at −0.5, or at 0.5, each with probability 1/2; values have noise of",
        f"{NOISE}. Inputs are uniform on [−2, 2]. A context has 0 to 6 points, and a task 1 to 12 targets (`perf/protocols/two-steps.toml`). Both models are small and",
        f"had {flow['updates']:,} updates (`tnp-a`: {chain['updates']:,}) of 32 tasks, with one seed.", "",
        "The context below is (−1.5, −1) and (1.5, 1). It leaves open which function it is. Between the steps the value is −1 or 1: all targets there together.", "",
        "## Samples", "",
        f"Shares of {len(flow['one']['samples']):,} samples within three standard deviations of the noise of the functions. The first function rises at −0.5.", "",
        *share_rows(found), image,
        "## Density against quadrature", "",
        "Sums of the density times the spacing. The divergence of `flownp` is exact, in float32. One target: −4 to 4 in steps of 0.005. Two targets: cells of 0.1, and of",
        f"0.025 within 0.4 of (−1, −1) and of (1, 1); from −{ENDS['flownp']} to {ENDS['flownp']} for `flownp`, from −{ENDS['tnp-a']} to {ENDS['tnp-a']} for `tnp-a`.", "",
        *integral_rows(found, others), "",
        f"Both values are above 0 in {share(grids['flownp']['mass_above'])} of the density of `flownp` and in {share(grids['tnp-a']['mass_above'])} of that of `tnp-a`; "
        f"both are below in {share(grids['flownp']['mass_below'])} and {share(grids['tnp-a']['mass_below'])}. The truth is 50 %.", "",
        "## Log-likelihood", "",
        f"Nats per target on {flow['scores']['tasks']} tasks, the same for both. The marginal ones are of 50 samples.", "",
        *score_rows(found), ""])


def main():
    if len(sys.argv) not in (3, 4) or not sys.argv[2].endswith(".md"):
        sys.exit(__doc__)
    build, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder = build / "flow"
    folder.mkdir(exist_ok=True)
    found, others = findings(build / "perf/two_steps", folder, sys.argv[3] if len(sys.argv) > 3 else None)
    out.write_text(report(found, others, draw(found, out.with_suffix(".png"))))
    print(out.read_text())


if __name__ == "__main__":
    main()
