#!/usr/bin/env python3
"""How often `npzoo fit events` finds the parameters of simulated processes: fit_recovery.py NPZOO [--runs 200]

Each run samples a table of a known process, fits it, and counts the parameters that lie within two standard errors of the true
ones: 95.4 % are expected. A run whose standard errors are not known counts as none of them within."""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import tempfile

EVENTS, SEQUENCES = 64, 20
# Process, its fit's name, and the true parameters by name.
CASES = {
    "Poisson, 2 marks": ('{ kind = "poisson", rates = [0.7, 0.3] }', "Poisson", {"rate 0": 0.7, "rate 1": 0.3}),
    "Hawkes, 1 mark": ('{ kind = "hawkes", baseline = [0.5], excitation = [[0.8]], decay = [[1.6]] }', "Hawkes",
                       {"baseline 0": 0.5, "excitation of 0 by 0": 0.8, "decay": 1.6}),
    "Hawkes, 2 marks": ('{ kind = "hawkes", baseline = [0.4, 0.3], excitation = [[0.6, 0.4], [0.3, 0.5]], decay = [[1.5, 1.5], [1.5, 1.5]] }',
                        "Hawkes",
                        {"baseline 0": 0.4, "baseline 1": 0.3, "excitation of 0 by 0": 0.6, "excitation of 0 by 1": 0.4,
                         "excitation of 1 by 0": 0.3, "excitation of 1 by 1": 0.5, "decay": 1.5}),
}


def within(program, case, seed):
    """Whether each parameter of one run is within two standard errors."""
    process, name, truth = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder, "events.csv")
        subprocess.run([program, "sample", "events/hawkes", "--set", f"data.process={process}", "--set", f"data.events={EVENTS}",
                        "--tasks", str(SEQUENCES), "--seed", str(seed), "--threads", "1", "--out", table], check=True, capture_output=True)
        told = subprocess.run([program, "fit", "events", table, "--threads", "1", "--json"], check=True, capture_output=True).stdout
    (fit,) = (row for row in json.loads(told) if row["process"] == name)
    found = {p["name"]: p for p in fit["parameters"]}
    assert found.keys() == truth.keys(), (found.keys(), truth.keys())
    return {key: found[key]["standard_error"] is not None
            and abs(found[key]["value"] - value) <= 2 * found[key]["standard_error"] for key, value in truth.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npzoo")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.runs} runs of {SEQUENCES} sequences of {EVENTS} events\n\n| process | parameter | within two standard errors, % |\n|---|---|---:|")
    for case, (_, _, truth) in CASES.items():
        with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
            runs = list(pool.map(lambda seed: within(options.npzoo, case, seed), range(options.runs)))
        shares = {key: sum(run[key] for run in runs) / len(runs) for key in truth}
        for key, share in shares.items():
            print(f"| {case} | {key} | {100 * share:.1f} |")
        count = len(runs) * len(truth)
        error = math.sqrt(0.0455 * 0.9545 / count)
        print(f"| {case} | all | {100 * sum(shares.values()) / len(shares):.1f} ± {100 * error:.1f} |", flush=True)


if __name__ == "__main__":
    main()
