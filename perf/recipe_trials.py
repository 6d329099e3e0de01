#!/usr/bin/env python3
"""Short trainings from which the recipe of npzoo/gp-rbf was chosen: recipe_trials.py NPZOO OUT [TRIAL ...]

Each trial is TNP-D (unless its name says otherwise) under the rules of tnp/gp-rbf, whose data it keeps, with the changes that
are listed below; all take about as much arithmetic. What is told is by how much they miss the exact posterior that
knows the hyper-parameters, in nats per target point on the RBF test, paired task by task; the optimum without knowing them misses
it by about 0.06. A trial that is in OUT already is not trained again.
"""

import argparse
import json
import pathlib
import re
import subprocess

BATCHES = 600
CLIPPED = {"clip_norm": "1.0", "warmup_steps": "1000"}
WIDE = {"d_model": "128", "nhead": "8", "dim_feedforward": "256"}
TRIALS = {  # name: (model, changes)
    "as published": ("tnp-d", {"steps": "20_000"}),
    "lr 1e-3": ("tnp-d", CLIPPED | {"steps": "20_000", "lr": "1e-3"}),
    "pre-norm (tnp-kr-full)": ("tnp-kr-full", {"steps": "20_000"}),
    "pre-norm (tnp-kr-full), lr 1e-3": ("tnp-kr-full", CLIPPED | {"steps": "20_000", "lr": "1e-3"}),
    "12 layers": ("tnp-d", CLIPPED | {"steps": "20_000", "num_layers": "12"}),  # twice the arithmetic
    "47 targets and more": ("tnp-d", {"steps": "8_000", "points": "94", "min_targets": "47"}),
    "batch 4": ("tnp-d", CLIPPED | {"steps": "60_000", "batch_size": "4"}),
    "batch 4, lr 1e-3": ("tnp-d", CLIPPED | {"steps": "60_000", "batch_size": "4", "lr": "1e-3"}),
    "batch 4, width 128": ("tnp-d", CLIPPED | WIDE | {"steps": "26_000", "batch_size": "4"}),
}


def protocol(rules, changes):
    """A protocol's text with other values; those of a model are changed for every model that has them."""
    head, evaluation, models = re.split(r"(?m)^(?=\[evaluation\]|\[models\.)", rules, maxsplit=2)
    changes = changes | {"every": changes["steps"]}
    for key, value in changes.items():
        pattern = rf"\b{key} = [\w.-]+"
        if not re.search(pattern, head + models):
            raise SystemExit(f"the protocol has no {key}")
        head, models = (re.sub(pattern, f"{key} = {value}", part) for part in (head, models))
    return head + evaluation + models


def run(program, rules, folder, model, changes):
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.safetensors"
    file = folder / "protocol.toml"
    if not checkpoint.exists():
        file.write_text(protocol(rules, changes))
        subprocess.run([program, "train", "--protocol", file, "--model", model, "--out", folder], check=True)
    scores = subprocess.run([program, "eval", "--protocol", "tnp/gp-rbf", "--checkpoint", checkpoint, "--batches", str(BATCHES),
                             "--json"], check=True, stdout=subprocess.PIPE)
    return next(row for row in json.loads(scores.stdout) if row["test"] == "rbf")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help="one of: " + "; ".join(TRIALS))
    options = parser.parse_args()
    unknown = set(options.trials) - set(TRIALS)
    if unknown:
        parser.error(f"no trial {', '.join(sorted(unknown))}; there are: {'; '.join(TRIALS)}")
    rules = (pathlib.Path(__file__).parents[1] / "datasets/protocols/tnp/gp-rbf.toml").read_text()
    for name in options.trials or TRIALS:
        row = run(options.program, rules, options.out / re.sub(r"\W+", "-", name).strip("-"), *TRIALS[name])
        print(f"{name:<32} {row['exact_gap']:.3f} ± {row['exact_gap_error']:.3f}", flush=True)


if __name__ == "__main__":
    main()
