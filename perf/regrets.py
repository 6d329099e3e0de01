#!/usr/bin/env python3
"""Regrets of decisions, as a table and as curves: regrets.py NPZOO --protocol P WEIGHTS... [--set KEY=VALUE] --out STEM

Evaluates each of the weights (a name or a checkpoint; LABEL=WEIGHTS calls it otherwise) under a protocol whose trial is
`optimisation` or `bandit`. Writes STEM.json with what `eval --json` tells of each, STEM.md with one row for each of them
and for those who stand beside them (the exact posterior, a fitted process, the model before training, LinUCB, chance),
and STEM.png with the curves, one panel a test (requirements.txt). Who stands beside the models does not depend on these,
but for the untrained model, which is that of the first weights. regrets.py --report STEM.json makes table and picture anew.
"""

import argparse
import json
import pathlib
import subprocess

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BESIDE = {"exact": "exact GP", "fitted_gp": "fitted GP", "untrained": "untrained", "sobol": "Sobol sequence",
          "random": "random search", "linear": "LinUCB", "uniform": "uniform"}
LINES = dict(zip(BESIDE.values(), ["-", "--", ":", "-.", (0, (1, 1)), "--", "-"], strict=True))


def evaluated(program, protocol, changes, weights):
    command = [program, "eval", "--checkpoint", weights, "--protocol", protocol, "--json"]
    for change in changes:
        command += ["--set", change]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def searchers(label, result, others):
    """(name, prefix of its figures, published headline) of those a result tells of."""
    yield label, "", (result.get("published_figures") or {}).get(result["headline"])
    for prefix, name in BESIDE.items() if others else []:
        if f"{prefix}_regret_after" in result:
            yield name, f"{prefix}_", None


def curve_of(result, prefix):
    steps = {int(step): value for step, value in result[f"{prefix}regret_after"].items()}
    return sorted(steps), [steps[step] for step in sorted(steps)]


def row(test, name, prefix, result, published):
    if "cumulative_deviation" in result:  # of a bandit, in per cent of uniform choice
        figures = [f"{result[prefix + key + '_regret']:.2f} ± {result[prefix + key + '_deviation']:.2f}"
                   for key in ("cumulative", "simple")]
    else:
        errors = [result.get(f"{prefix}{key}_error", result["standard_error"]) for key in ("regret", "cumulative_regret")]
        simple = result[f"{prefix}regret" if prefix else "simple_regret"]
        figures = [f"{simple:.4f} ± {errors[0]:.4f}", f"{result[prefix + 'cumulative_regret']:.2f} ± {errors[1]:.2f}"]
    return f"| {test} | {name} | {' | '.join(figures)} | {'' if published is None else f'{published:g}'} |"


def write(results, out):
    """`results`: pairs of a label and what `eval` told."""
    rows, curves = {}, {}
    for number, (label, tests) in enumerate(results):
        for result in tests:
            test = result["test"]
            for name, prefix, published in searchers(label or result["model"], result, number == 0):
                rows.setdefault(test, []).append((bool(prefix), row(test, name, prefix, result, published)))
                curves.setdefault(test, []).append((bool(prefix), name, *curve_of(result, prefix)))

    bandit = "cumulative_deviation" in results[0][1][0]
    columns = "cumulative, % of uniform | the last steps | published" if bandit else "simple | cumulative | published"
    lines = [f"| test | who | {columns} |", "|---|---|---|---|---|"]
    for of_test in rows.values():
        lines += [line for _, line in sorted(of_test, key=lambda pair: pair[0])]
    out.with_suffix(".md").write_text("\n".join(lines) + "\n")

    across = min(3, len(curves))
    down = -(-len(curves) // across)
    figure, axes = plt.subplots(down, across, figsize=(4.2 * across + 1.6, 3.6 * down), squeeze=False)
    for panel, (test, of_test) in zip(axes.flat, curves.items(), strict=False):
        for beside, name, steps, values in sorted(of_test, key=lambda curve: curve[0]):
            looks = {"color": "0.35", "linestyle": LINES[name], "linewidth": 1} if beside else {"linewidth": 1.7}
            panel.plot(steps, values, label=name, **looks)
        panel.set_title(test)
        panel.set_yscale("log" if bandit else "symlog", **({} if bandit else {"linthresh": 1e-2}))
        panel.set_xlabel("steps")
    for panel in list(axes.flat)[len(curves):]:
        panel.axis("off")
    for panel in axes[:, 0]:
        panel.set_ylabel("regret, % of uniform choice" if bandit else "simple regret")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="center right", frameon=False)
    figure.tight_layout(rect=(0, 0, 1 - 1.5 / (4.2 * across + 1.6), 1))
    figure.savefig(out.with_suffix(".png"), dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npzoo", nargs="?")
    parser.add_argument("weights", nargs="*")
    parser.add_argument("--protocol")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    a = parser.parse_args()
    if a.report:
        return write(json.loads(a.report.read_text()), a.report)
    if not (a.npzoo and a.weights and a.protocol and a.out):
        parser.error("expected NPZOO, WEIGHTS, --protocol and --out, or --report")
    named = [each.rpartition("=") for each in a.weights]
    results = [(label, evaluated(a.npzoo, a.protocol, a.set, weights)) for label, _, weights in named]
    a.out.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    write(results, a.out)


main()
