#!/usr/bin/env python3
"""Whether two programs compute the same, to the bit: perf/same_bits.py OLD NEW [--steps N] [--batch N] [--device D]

Trains every model under every protocol that has a preset of it with both programs, evaluates and predicts with what came
out, and compares SHA-256 sums: of each tensor of the checkpoint (weights, moments, best weights), of the metrics but for the
seconds, of what `eval` tells and of the table that `predict` writes. Prints a line for each and ends with 1 where any differs.
What only NEW tells is no difference.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

CONTEXT = [(-1.7, 0.3), (-0.9, -0.6), (-0.2, 0.1), (0.4, 1.1), (1.3, 0.2)]  # input (both, where there are two) and value


def sha(data):
    return hashlib.sha256(data).hexdigest()


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def pairs(program):
    models = dict.fromkeys(model["name"] for model in json.loads(run(program, "list", "models", "--json")))
    protocols = [protocol["name"] for protocol in json.loads(run(program, "list", "protocols", "--json"))]
    return [(protocol, model) for protocol in protocols for model in models]


def tensors(path):
    """SHA-256 of every tensor of a safetensors file, with its type and shape."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    return sha("".join(f"{name} {entry['dtype']} {entry['shape']} "
                       f"{sha(data[begin + entry['data_offsets'][0]:begin + entry['data_offsets'][1]])}\n"
                       for name, entry in sorted(header.items())).encode())


def metrics(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def write_tables(folder, dims):
    names = [f"x{i}" for i in range(dims)]
    rows = [",".join([*[str(x)] * dims, str(y)]) for x, y in CONTEXT]
    (folder / "context.csv").write_text("\n".join([",".join([*names, "y"]), *rows]) + "\n")
    targets = [",".join([f"{i / 10 - 2:.1f}"] * dims) for i in range(41)]
    (folder / "targets.csv").write_text("\n".join([",".join(names), *targets]) + "\n")


def results(program, protocol, model, options, folder):
    """Returns the tensors to compare, by name; none if the protocol has no preset of the model."""
    train = ["train", "--protocol", protocol, "--model", model, "--steps", options.steps, "--batch", options.batch,
             "--validation-batches", 1, "--device", options.device, "--out", folder / "run"]
    try:
        run(program, *train)
    except RuntimeError as error:
        if "has no preset" in str(error):
            return None
        raise
    checkpoint = folder / "run/checkpoint.safetensors"
    scores = json.loads(run(program, "eval", "--checkpoint", checkpoint, "--batches", 2, "--device", options.device, "--json"))
    for row in scores:
        del row["weights"]  # a sum of the tensors' own
    found = {"checkpoint": tensors(checkpoint), "metrics": metrics(folder / "run/metrics.jsonl"), "eval": scores}
    for dims in (1, 2):
        write_tables(folder, dims)
        try:
            run(program, "predict", "--checkpoint", checkpoint, "--context", folder / "context.csv", "--targets",
                folder / "targets.csv", "--device", options.device, "--out", folder / "predictions.csv")
            break
        except RuntimeError as error:
            if "expected a TABLE" in str(error) or "expected TABLE" in str(error):  # events and series are predicted otherwise
                return found
            if dims == 2:
                raise
    table = "\n".join(line for line in (folder / "predictions.csv").read_text().splitlines() if not line.startswith("#"))
    return found | {"predict": sha(table.encode())}


def same(old, new):
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and same(value, new[key]) for key, value in old.items())
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(same, old, new))
    return old == new


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    compared = different = 0
    for protocol, model in pairs(options.old):
        with tempfile.TemporaryDirectory() as old_folder, tempfile.TemporaryDirectory() as new_folder:
            old = results(options.old, protocol, model, options, pathlib.Path(old_folder))
            if old is None:
                continue
            new = results(options.new, protocol, model, options, pathlib.Path(new_folder)) or {}
        for what, value in old.items():
            compared += 1
            equal = what in new and same(value, new[what])
            different += not equal
            digest = value if isinstance(value, str) else sha(json.dumps(value, sort_keys=True).encode())
            print(f"{digest}  {protocol} {model} {what}{'' if equal else '  DIFFERS'}", flush=True)
    print(f"{compared} compared, {different} different")
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
