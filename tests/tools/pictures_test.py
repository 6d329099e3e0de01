#!/usr/bin/env python3
"""Tests of pictures of attention: pictures_test.py PATH_TO_NPZOO"""

import re
import sys
import xml.etree.ElementTree

from cli_support import HERE, as_json, case, checkpoint, checkpoint_2d, expect, fail, run_cases, succeed, wrong_usage

LAYERS, HEADS = 2, 2  # of the TNP-D in small_protocol


def panels(*args):
    """Width, height, images and circles of a picture."""
    path = HERE / "attention.svg"
    succeed("plot", "--attention", "--out", path, *args)
    root, text = xml.etree.ElementTree.parse(path).getroot(), path.read_text()
    sizes = (float(root.get(side).removesuffix("px")) for side in ("width", "height"))
    return *sizes, len(re.findall(r"<image", text)), text


@case
def every_kind_of_attention_has_its_picture():
    models = {"anp": (1, 8), "canp": (1, 8), "banp": (1, 8), "tnp-a": (6, 4), "tnp-kr-fast": (6, 4), "lbanp": (6, 4), "eqtnp": (6, 4)}
    for model, (layers, heads) in models.items():
        at = checkpoint(model, "tnp/gp-rbf", model=model, steps=2, batch=2)
        *_, maps, _ = panels("--checkpoint", at)
        expect(maps == layers * (heads + 1), model, maps, "maps found, expected", layers * (heads + 1))
    _, low, one, _ = panels("--checkpoint", at, "--layer", 6, "--head", 4)
    _, high, row, _ = panels("--checkpoint", at, "--layer", 6)
    expect((one, row) == (1, 5) and low < high, one, row, low, high)


@case
def a_target_looks():
    _, _, maps, first = panels("--checkpoint", checkpoint(), "--target", "0.25", "--layer", 1)
    *_, again = panels("--checkpoint", checkpoint(), "--target", "0.25", "--layer", 1)
    *_, other = panels("--checkpoint", checkpoint(), "--target", "-1.5", "--layer", 1)
    *_, task = panels("--checkpoint", checkpoint(), "--target", "0.25", "--layer", 1, "--seed", 4)
    expect(maps == 0 and first == again and first != other and first != task, "curves of another target or task")
    wide, high, _, middle = panels("--checkpoint", checkpoint_2d())
    *_, same = panels("--checkpoint", checkpoint_2d(), "--target", "0,0")
    *_, corner = panels("--checkpoint", checkpoint_2d(), "--target", "-2,2")
    expect(middle == same and same != corner, "the middle is the target where none is given")
    narrow, low, *_ = panels("--checkpoint", checkpoint_2d(), "--head", 1)
    expect(narrow < wide and low == high, "one head of each layer", narrow, wide, low, high)
    png = HERE / "attention.png"
    result = as_json("plot", "--attention", "--checkpoint", checkpoint_2d(), "--out", png)
    expect(result == {"out": str(png), "tasks": 1} and png.read_bytes().startswith(b"\x89PNG"), result)


@case
def plot_refuses_wrong_requests():
    out = HERE / "none.svg"
    plain = checkpoint("plain", model="cnp")
    plot = ["plot", "--attention", "--out", out, "--checkpoint"]
    fail(*plot, plain, naming=["cnp has no attention to its context"])
    fail(*plot, checkpoint_2d(), "--layer", LAYERS + 1, naming=["--layer 3 found, expected 1 to 2"])
    fail(*plot, checkpoint_2d(), "--head", HEADS + 1, naming=["--head 3 found, expected 1 to 2"])
    fail(*plot, checkpoint_2d(), "--target", "1", naming=["--target of 1 numbers found, expected 2"])
    fail(*plot, checkpoint(), "--target", "left", naming=["'left' found, expected a number"])
    fail(*plot, checkpoint(), "--target", "nan", naming=["'nan' found, expected a number"])
    wrong_usage(*plot, checkpoint(), "--layer", 0)
    wrong_usage(*plot, checkpoint(), "--tasks", 2)
    wrong_usage("plot", "--attention", "--out", out, "--grid", checkpoint())
    for flag in ("--layer", "--head", "--target"):
        wrong_usage("plot", "--out", out, "--checkpoint", checkpoint(), flag, 1, naming=["need --attention"])


if __name__ == "__main__":
    sys.exit(run_cases())
