#!/usr/bin/env python3
"""Figures 3, 10, 11 and 12 of the ANP paper as tables and curves: anp_figures.py NPZOO RUNS [--out FOLDER]

RUNS is the folder that `train_many.py NPZOO perf/anp_figures.txt --out RUNS` filled. For each training there: scores on
fresh tasks, the KL term at the end (mean of the last tenth of its records), processor time of an update; and the regret of
Thompson's rule by those for random kernels. Writes curves of the trainings to FOLDER/anp-random.png and anp-fixed.png, and prints the tables.
"""

import argparse
import json
import pathlib
import subprocess

NAMES = ("np", "laplace", "dot-product", "multihead")
KINDS = {"random": "anp/gp1d", "fixed": "anp/gp1d-fixed"}


def ask(npzoo, *words):
    return json.loads(subprocess.run([npzoo, *map(str, words), "--json"], check=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL).stdout)


def divergence(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    values = [line["kl_divergence"] for line in lines if "kl_divergence" in line]
    last = values[-len(values) // 10:]
    return sum(last) / len(last)


def milliseconds(npzoo, protocol, run):
    """Processor time of an update."""
    kind = {"np": [], "multihead": []}.get(run.name, ["--set", f'models.anp.attention="{run.name.replace("-", "_")}"'])
    return ask(npzoo, "bench", "train-step", "--protocol", protocol, "--model", "np" if run.name == "np" else "anp", "--threads", 1,
               *kind)["cpu_ms"]


def print_search(name, row, key, last, error):
    after = row[f"{key}regret_after"]
    print(f"| {name} | {after['8']:.3f} | {after['16']:.3f} | {last:.3f} ± {error:.3f} | {row[f'{key}cumulative_regret']:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npzoo")
    parser.add_argument("runs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("perf/results"), metavar="FOLDER")
    parser.add_argument("--batches", type=int, default=3000, help="of 16 tasks, for the scores (default: 3000)")
    options = parser.parse_args()
    for kind, protocol in KINDS.items():
        runs = [run for name in NAMES if (run := options.runs / kind / name).exists()]
        print(f"\n{protocol}\n\n| | NLL | NLL at context | RMSE at context | KL | ms |\n|---|" + "---:|" * 5)
        for run in runs:
            (row,) = ask(options.npzoo, "eval", "--checkpoint", run / "checkpoint.safetensors", "--batches", options.batches)
            best = row.get("controlled") or {"value": row["log_likelihood"], "standard_error": row["standard_error"]}
            print(f"| {run.name} | {-best['value']:.3f} ± {best['standard_error']:.3f} | {-row['context_log_likelihood']:.3f} "
                  f"| {row['context_rmse']:.4f} | {divergence(run):.2f} | {milliseconds(options.npzoo, protocol, run):.1f} |", flush=True)
        print(f"| the Gaussian process of the tasks | {-row['exact_gp']:.3f} | | | | |")
        subprocess.run([options.npzoo, "plot", "--curves", ",".join(map(str, runs)), "--out", options.out / f"anp-{kind}.png"], check=True)
    print("\nanp/bo1d\n\n| | regret after 8 | after 16 | after 50 | cumulative |\n|---|" + "---:|" * 4)
    for run in (options.runs / "random" / name for name in NAMES):
        if not run.exists():
            continue
        (row,) = ask(options.npzoo, "eval", "--protocol", "anp/bo1d", "--checkpoint", run / "checkpoint.safetensors")
        print_search(run.name, row, "", row["simple_regret"], row["standard_error"])
    for name, key in (("Gaussian process, known kernel", "exact_"), ("Gaussian process, fitted", "fitted_gp_"), ("random", "random_")):
        print_search(name, row, key, row[f"{key}regret"], row[f"{key}regret_error"])


if __name__ == "__main__":
    main()
