#!/usr/bin/env python3
"""Tests of pictures of attention and of trainings: pictures_test.py PATH_TO_NPZOO"""

import json
import re
import sys
import xml.etree.ElementTree

from cli_support import HERE, as_json, case, checkpoint, checkpoint_2d, expect, fail, run_cases, succeed, trained, write, wrong_usage

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
def functions_one_point_after_the_other():
    def drawn(*args):
        path = HERE / "functions.svg"
        succeed("plot", "--tasks", 1, "--out", path, *args)
        return len(re.findall(r"<path", path.read_text()))

    plain = drawn("--checkpoint", checkpoint())
    expect(drawn("--checkpoint", checkpoint(), "--autoregressive", "--samples", 3) >= plain + 3, "no three functions more")
    joint = checkpoint("tnp-a", "tnp/gp-rbf", model="tnp-a", steps=2, batch=2)
    fail("plot", "--out", HERE / "none.svg", "--checkpoint", joint, "--autoregressive",
         naming=["[plot] --autoregressive found with tnp-a, which predicts targets together"])
    wrong_usage("plot", "--out", HERE / "none.svg", "--checkpoint", checkpoint(), "--attention", "--autoregressive")


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


def log(name, losses, extra="", **others):
    """A file such as trainings write."""
    lines = [json.dumps({"step": 10 * i, "loss": loss, "lr": 0.1} | others) for i, loss in enumerate(losses, 1)]
    return write(name, "".join(line + "\n" for line in lines) + extra)


def curves(*runs):
    """The picture, and the points of its bold lines, which are moving averages."""
    path = HERE / "curves.svg"
    succeed("plot", "--curves", ",".join(str(run) for run in runs), "--out", path)
    bold = [re.findall(r"[-\d.]+ [-\d.]+", re.search(r' d="([^"]*)"', line).group(1)) for line in path.read_text().splitlines()
            if "<path" in line and re.search(r"""stroke-width[=:]"?1\.5[";]""", line) and 'd="M' in line]
    return path.read_bytes(), bold


@case
def curves_of_trainings():
    falling = [1 + 50 / i for i in range(1, 101)]
    plain, lines = curves(log("falling.jsonl", falling))
    expect(max(len(line) for line in lines) > 80, "a point for each loss in sight", [len(line) for line in lines])
    heights = [float(point.split()[1]) for point in max(lines, key=len)]
    expect(heights == sorted(heights), "a loss that falls is a line that falls", heights)
    # What began far away is no reason to show the rest as a flat line.
    _, far = curves(log("falling.jsonl", [1e9, *falling[1:]]))
    expect(max(far, key=len)[-50:] == max(lines, key=len)[-50:], "the range shows what comes later")
    cut, _ = curves(log("falling.jsonl", falling, extra='{"step": 1010, "lo'))
    expect(cut == plain, "a line that is still being written is left out")
    gap, _ = curves(log("falling.jsonl", [None if i == 60 else loss for i, loss in enumerate(falling)]))
    expect(gap != plain, "null is a gap")
    lr, _ = curves(log("falling.jsonl", falling, seconds=3))
    more, _ = curves(log("falling.jsonl", falling, kl_divergence=0.5, of_my_own=2))
    expect(lr == plain and more != plain, "panels for figures, and none for seconds")
    # Few values are marked: one of them alone would not be seen on a line.
    marked = re.compile(rb"""fill[=:]"?rgb\(0%, ?44\.""")  # the first colour
    one, _ = curves(log("falling.jsonl", falling[:1]))
    expect(marked.search(one) and not marked.search(plain), "a marker for one value, and none on long lines")
    succeed("plot", "--curves", log("none.jsonl", [None, None]), "--out", HERE / "curves.png")


@case
def curves_of_folders():
    result = as_json("plot", "--curves", f"{trained()},{trained() / 'metrics.jsonl'}", "--out", HERE / "curves.svg")
    expect(result == {"out": str(HERE / "curves.svg"), "runs": 2}, result)
    many = ",".join(str(log(f"run-{i}.jsonl", [i])) for i in range(14))
    succeed("plot", "--curves", many, "--out", HERE / "curves.svg")
    wrong_usage("plot", "--curves", f"{many},{trained()}", "--out", HERE / "curves.svg", naming=["15 runs found, expected at most 14"])


@case
def curves_refuse_other_files():
    plot = ["plot", "--out", HERE / "none.svg", "--curves"]
    fail(*plot, HERE / "nowhere", naming=["nowhere", "No such file"])
    fail(*plot, f"{trained()},{HERE}", naming=["metrics.jsonl", "No such file"])
    fail(*plot, write("empty.jsonl", ""), naming=["empty.jsonl", "no figure of a training found", "expected"])
    fail(*plot, write("only-lr.jsonl", '{"step": 1, "lr": 0.1}\n'), naming=["only-lr.jsonl", "no figure"])
    for name, line, said in (("text", "step 1", "invalid JSON"), ("array", "[1]", "expected a JSON object"),
                             ("missing", '{"loss": 1}', "step"), ("fraction", '{"step": 1.5, "loss": 1}', "step"),
                             ("below", '{"step": -1, "loss": 1}', "step"), ("again", '{"step": 10, "loss": 1}', "step 10 found after 10")):
        fail(*plot, log(f"{name}.jsonl", [2], extra=line + "\n"), naming=[f"{name}.jsonl:2", said])
    log_file = log("kept.jsonl", [1, 2])
    fail("plot", "--curves", log_file, "--out", log_file, naming=["kept.jsonl"])
    for flag, value in (("--checkpoint", checkpoint()), ("--grid", checkpoint()), ("--tasks", 2), ("--seed", 1), ("--set", "data.points=3"),
                        ("--protocol", "quick/gp1d"), ("--samples", 1), ("--contexts", 3)):
        wrong_usage(*plot, trained(), flag, value, naming=["--curves"])
    wrong_usage(*plot, trained(), "--attention", naming=["--curves"])


if __name__ == "__main__":
    sys.exit(run_cases())
