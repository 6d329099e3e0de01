#!/usr/bin/env python3
"""Time of an update on several ranks: measured on this machine, and by a model of its costs for networks.

    rank_costs.py measure PATH_TO_NPZOO [MODEL] [STEPS]    1 and 2 ranks under each launcher, one thread each
    rank_costs.py table                                    the model, for 2 to 512 ranks, as Markdown

The model. A batch has S parts, and a rank works on at most Q = ⌈S / N⌉ of them. Then the ranks meet and tell each other their
losses. If that is less, each receives its slice of all parts, sums it, and the ranks send each other the sums:

    T(N) = Q c + r + 4 a ⌈log2 N⌉ + (Q + 1) (4 P) (N − 1) / N / b + (3 Q + 3) (4 P) / m

Else every rank receives the gradients of the parts of the others as they are, and sums all in one pass of the optimiser:

    T(N) = Q c + r + 3 a ⌈log2 N⌉ + Q (4 P) (N − 1) / b + 3 S (4 P) / m

c: seconds of a part on one rank; r: the optimiser and all else that every rank does; a: latency of a message, P: parameters,
b: bytes a second of the network, m: of memory (bytes are copied to be sent, copied to be received, and read)."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAUNCHERS = {"Open MPI": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"], "MPICH": ["mpirun.mpich"]}
MEMORY = 8e9  # bytes a second
WORTH_SLICES = 256 << 10  # PartExchange::kWorthSlices
NETWORKS = {"10 Gb/s, 50 µs": (1.25e9, 50e-6), "100 Gb/s, 5 µs": (12.5e9, 5e-6)}
# Name: parts of a batch, seconds of a part and of the rest, parameters. Seconds are processor time of one thread of a Zen 5
# (`npzoo bench train-step --threads 1`).
MODELS = {"TNP-D small": (4, 5.9e-3 / 4, 0.3e-3, 222_082), "TNP-D large": (8, 133e-3 / 8, 1.5e-3, 878_338),
          "CMANP": (4, 115e-3 / 4, 2e-3, 1_341_634)}


def seconds_of_update(ranks, parts, part, rest, parameters, bandwidth, latency, memory=MEMORY):
    if ranks == 1:
        return parts * part + rest
    gradients, most, rounds = 4 * parameters, math.ceil(parts / ranks), math.ceil(math.log2(ranks))
    whole, slices = most * (ranks - 1) * gradients, (most + 1) * gradients * (ranks - 1) / ranks
    if whole - slices < WORTH_SLICES:
        sent = 3 * latency * rounds + whole / bandwidth + 3 * parts * gradients / memory
    else:
        sent = 4 * latency * rounds + slices / bandwidth + (3 * most + 3) * gradients / memory
    return most * part + rest + sent


def table():
    ranks = [2, 4, 8, 16, 32, 64, 128, 256, 512]
    print("| model | network | " + " | ".join(map(str, ranks)) + " |")
    print("|---|---|" + "---:|" * len(ranks))
    for name, model in MODELS.items():
        for network, (bandwidth, latency) in NETWORKS.items():
            alone = seconds_of_update(1, *model, bandwidth, latency)
            shares = [alone / (n * seconds_of_update(n, *model, bandwidth, latency)) for n in ranks]
            print(f"| {name} | {network} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")


def measure(program, model="tnp-d", steps="200"):
    for launcher, command in LAUNCHERS.items():
        if not shutil.which(command[0]):
            continue
        for ranks in (1, 2):
            with tempfile.TemporaryDirectory() as out:
                done = subprocess.run([*command, "-n", str(ranks), program, "train", "--out", out, "--protocol", "tnp/gp-rbf",
                                       "--model", model, "--steps", steps, "--set", "validation.every=0", "--threads", "1",
                                       "--json"], capture_output=True, text=True, env={**os.environ, **AS_ROOT})
            if done.returncode != 0:
                sys.exit(done.stderr)
            result = json.loads(done.stdout)
            share = result.get("seconds_in_gathers", 0) / result["seconds"]
            print(f"{launcher}, {ranks} rank(s): {1e3 * result['seconds'] / int(steps):.2f} ms an update, {100 * share:.0f} % in gathers")


if sys.argv[1:2] == ["measure"]:
    measure(os.path.realpath(sys.argv[2]), *sys.argv[3:])
elif sys.argv[1:] == ["table"]:
    table()
else:
    sys.exit(__doc__)
