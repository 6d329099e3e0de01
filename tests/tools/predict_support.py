"""Shared by the tests of `npzoo predict`."""

import json
import struct

from cli_support import checkpoint, predict_args, read_safetensors, small_protocol, succeed, write


def predicted(*args, **tables):
    """Returns the standard output of `npzoo predict`."""
    return succeed(*predict_args(**tables)[:-1], "-", *args)


def rows_of(text, sep=","):
    """Header and rows, as text."""
    lines = [line.split(sep) for line in text.splitlines() if not line.startswith("#")]
    return lines[0], lines[1:]


def figures(text, name):
    header, rows = rows_of(text)
    return [[float(row[header.index(f"{kind}_{name}")]) for kind in ("mean", "std")] for row in rows]


def comments(text):
    return [line for line in text.splitlines() if line.startswith("#")]


def checkpoint_of_two_values():
    """A model that weighs its two values alike and says of both what the model of one value would say of it."""
    path = checkpoint("small", small_protocol(), steps=60)
    size = struct.unpack("<Q", path.read_bytes()[:8])[0]
    shapes = {name: info["shape"] for name, info in json.loads(path.read_bytes()[8:8 + size]).items() if name != "__metadata__"}
    metadata, tensors = read_safetensors(path)
    metadata.pop("checksum")
    metadata["config"] = metadata["config"].replace('"dim_y":1', '"dim_y":2')
    header, data = {"__metadata__": metadata}, b""
    for name, content in tensors.items():
        values, shape = struct.unpack(f"<{len(content) // 4}f", content), shapes[name]
        if name.endswith("embedder.layers.0.weight"):
            values = [v for i in range(0, len(values), 2) for v in (values[i], values[i + 1] / 2, values[i + 1] / 2)]
            shape = [shape[0], 3]
        elif "predictor.layers.1." in name:
            half = len(values) // 2
            values = [*values[:half], *values[:half], *values[half:], *values[half:]]
            shape = [4, *shape[1:]]
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return write("two values.safetensors", struct.pack("<Q", len(text)) + text + data)
