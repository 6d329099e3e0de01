#!/usr/bin/env python3
"""Weights of kriging-tnp for one more input, to begin a training with: add_input.py WEIGHTS TEMPLATE OUT

TEMPLATE are exported weights of the larger model, such as those after one update (npzoo train --steps 1, then npzoo export). OUT has
its description and the tensors of WEIGHTS. The new input's column of the embedding is 0, so that the network answers as before."""

import json
import struct
import sys

import numpy as np


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    (size,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8:8 + size])
    metadata = head.pop("__metadata__")
    data = content[8 + size:]
    return metadata, {name: np.frombuffer(data[slice(*t["data_offsets"])], np.float32).reshape(t["shape"]) for name, t in head.items()}


def main():
    weights, template, out = sys.argv[1:]
    smaller, tensors = read(weights)
    metadata, expected = read(template)
    inputs = json.loads(smaller["config"])["dim_x"]
    name = "embedder.layers.0.weight"
    tensors[name] = np.insert(tensors[name], inputs, 0, axis=1)
    wrong = [n for n in {*tensors, *expected} if n not in tensors or n not in expected or tensors[n].shape != expected[n].shape]
    if wrong:
        sys.exit(f"add_input: {', '.join(sorted(wrong))} differ, expected models of {inputs} and {inputs + 1} inputs that are else alike")
    del metadata["checksum"]  # of the template's tensors
    head, offset = {"__metadata__": metadata}, 0
    for n, tensor in tensors.items():
        head[n] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(np.ascontiguousarray(t).tobytes() for t in tensors.values()))


if __name__ == "__main__":
    main()
