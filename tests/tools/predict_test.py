#!/usr/bin/env python3
"""Tests of `npzoo predict`: predict_test.py PATH_TO_NPZOO"""

import json
import math
import random
import struct
import sys
import xml.etree.ElementTree

from cli_support import (CONTEXT, HERE, TARGETS, as_json, case, check_close, check_keys, checkpoint, checkpoint_2d, expect, fail,
                         npzoo, numbers, predict_args, read_safetensors, run_cases, small_protocol, succeed, write,
                         wrong_usage)

# quick/gp1d: inputs from -2 to 2, contexts of 3 to 32 points, noise 0.05, scales uniform from 0.6 to 1.2
VALUE_STD = math.sqrt((0.6**2 + 0.6 * 1.2 + 1.2**2) / 3)


def predicted(*args, **tables):
    """What `npzoo predict` writes to standard output."""
    return succeed(*predict_args(**tables)[:-1], "-", *args)


def warnings(*args, **tables):
    """Checks that standard error and JSON tell the same."""
    args = [*predict_args(**tables), *args]
    done = npzoo(*args, "--json")
    expect(done.returncode == 0, done.stderr)
    printed = [line.removeprefix("npzoo: warning: ") for line in done.stderr.splitlines() if line.startswith("npzoo: w")]
    expect(json.loads(done.stdout)["warnings"] == printed, done.stdout, done.stderr)
    return printed


def comments(text):
    return [line for line in text.splitlines() if line.startswith("#")]


@case
def table():
    args = predict_args()
    result = as_json(*args)
    check_keys(result, "rows", "context_rows", "out", "standardised", "inputs", "values", "warnings")
    expect(result["rows"] == 11 and result["context_rows"] == 3, result)
    text = (HERE / "out.csv").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    expect(lines[0] == "x,mean_y,std_y" and len(lines) == 12, lines)
    for row, x in zip(numbers(text), TARGETS.splitlines()[1:]):
        expect(row[0] == float(x) and math.isfinite(row[1]) and row[2] > 0, row)

    expect(succeed(*args[:-1], "-") == text, "predict to '-' differs")
    targets = args.index("--targets") + 1
    expect(succeed(*args[:targets], "-", "--out", "-", stdin=TARGETS) == text, "predict from '-' differs")
    check_close(numbers(succeed(*args[:-1], "-", "--chunk", 2)), numbers(text))
    fail(*args[:-1], "-", "--json", naming=["--json", "--out -"])
    expect(predicted(context="y,x\n0.5,-1.0\n0.1,0.0\n-0.3,1.5\n") == text, "the order of columns matters")
    expect(predicted(context="# seen\n#\n" + CONTEXT, targets="# asked\n" + TARGETS) == text, "comments matter")


@case
def the_output_says_what_it_is():
    context = "day,rate\n1,3\n3,5\n5,3\n2,5\n"
    scale = 1 / VALUE_STD
    model = f"# {succeed('--version').strip()} predict: tnp-d trained under quick/gp1d, seed 0, 30 steps"
    text = predicted(context=context, targets="day\n2\n")
    expect(comments(text) == [
        model,
        "# inputs: day mapped from [1, 5] to [-2, 2]",
        f"# values: rate minus 4, divided by {scale:.4g}: standard deviation {VALUE_STD:.4g}, as in training",
        f"# noise: 0.05 in the targets of training, here {0.05 * scale:.4g} (rate), included in std; smallest std possible: "
        "0 (rate)"], text)
    result = as_json(*predict_args(context=context, targets="day\n2\n"))
    expect(result["standardised"] is True, result)
    expect(result["inputs"] == [{"name": "day", "from": [1, 5], "to": [-2, 2]}], result)
    (values,) = result["values"]
    expect(values["name"] == "rate" and values["std_floor"] == 0, result)
    for key, expected in (("shift", 4), ("scale", scale), ("noise_floor", 0.05 * scale)):
        expect(math.isclose(values[key], expected, rel_tol=1e-12), key, result)

    text = predicted("--no-standardise", context=context, targets="day\n2\n")
    expect(comments(text) == [
        model, "# inputs and values: used as they are",
        "# noise: 0.05 in the targets of training, here 0.05 (rate), included in std; smallest std possible: 0 (rate)"], text)
    result = as_json(*predict_args(context=context, targets="day\n2\n"), "--no-standardise")
    expect(result["standardised"] is False, result)
    expect(result["inputs"] == [{"name": "day", "from": [-2, 2], "to": [-2, 2]}], result)
    expect(result["values"] == [{"name": "rate", "shift": 0, "scale": 1, "noise_floor": 0.05, "std_floor": 0}], result)


@case
def noise_free_targets_and_a_floor():
    protocol = small_protocol().read_text().replace("target_noise = 0.1", "target_noise = 0.0").replace(
        '[models.tnp-d]\narchitecture = "tnp"', '[models.tnp-d]\narchitecture = "dl4bi"\nmin_std = 0.1')
    at = checkpoint("floor", write("floor.toml", protocol.replace('"small1"', '"floor"')), steps=2)
    text = predicted(at=at, context="x,y\n0,10\n1,30\n")  # the deviation of y is 10, that of training 1
    expect(comments(text)[3] == "# noise: none in the targets of training, std is that of the function alone; smallest std "
           "possible: 1 (y)", text)
    (values,) = as_json(*predict_args(at=at, context="x,y\n0,10\n1,30\n"))["values"]
    expect(values["noise_floor"] == 0 and math.isclose(values["std_floor"], 1, rel_tol=1e-6), values)


@case
def a_table_in_the_units_of_training_is_left_alone():
    context = f"x,y\n-2,{VALUE_STD!r}\n-0.5,{-VALUE_STD!r}\n0.25,{-VALUE_STD!r}\n2,{VALUE_STD!r}\n"
    raw = numbers(predicted("--no-standardise", context=context))
    check_close(numbers(predicted(context=context)), raw)
    moved = numbers(predicted("--no-standardise", context=context.replace("-0.5,", "-0.6,")))
    expect(max(abs(a[1] - b[1]) for a, b in zip(raw, moved)) > 1e-4, "the test sees no difference", raw, moved)


@case
def affine_maps_of_a_table_carry_over():
    draw = random.Random(3)
    rows = [(draw.uniform(-1, 3), draw.gauss(0, 1)) for _ in range(12)]
    at = [-1 + 0.25 * i for i in range(17)]
    plain = numbers(predicted(context="x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows),
                              targets="x\n" + "".join(f"{x!r}\n" for x in at)))
    for x_scale, x_shift, y_scale, y_shift in ((86400.0, 1.7e9, 1.0, 0.0), (1.0, 0.0, 1e-3, -5.0), (0.5, 3.0, 1.0, 1e6),
                                               (1e-20, 0.0, 1e30, 0.0)):
        context = "".join(f"{x_scale * x + x_shift!r},{y_scale * y + y_shift!r}\n" for x, y in rows)
        found = numbers(predicted(context="x,y\n" + context,
                                  targets="x\n" + "".join(f"{x_scale * x + x_shift!r}\n" for x in at)))
        check_close([[(row[1] - y_shift) / y_scale, row[2] / y_scale] for row in found], [row[1:] for row in plain])


@case
def more_digits_than_float32_under_an_offset():
    found = numbers(predicted(context="x,y\n0,1000000.001\n1,1000000.002\n2,1000000.004\n", targets="x\n0.5\n1\n1.5\n"))
    plain = numbers(predicted(context="x,y\n0,0.001\n1,0.002\n2,0.004\n", targets="x\n0.5\n1\n1.5\n"))
    check_close([[row[1] - 1e6, row[2]] for row in found], [row[1:] for row in plain], rel_tol=1e-4, abs_tol=1e-8)


@case
def nothing_to_learn_a_scale_from():
    empty = predicted(targets="x\n")
    expect(empty.splitlines()[-1] == "x,mean_y,std_y", "a table without rows:", empty)
    text = predicted(context="x,y\n")
    expect(len(numbers(text)) == 11, "predictions without context")
    expect(comments(text)[1] == "# inputs and values: used as they are, without a context to standardise by", text)
    expect(numbers(text) == numbers(predicted("--no-standardise", context="x,y\n")), "the identity")

    single = predicted(context="x,y\n7,3\n", targets="x\n6\n7\n8\n")
    expect(comments(single)[1:3] == ["# inputs: x shifted from 7 to 0", "# values: y minus 3"], single)
    raw = numbers(predicted("--no-standardise", context="x,y\n0,0\n", targets="x\n-1\n0\n1\n"))
    check_close(numbers(single), [[x + 7, mean + 3, std] for x, mean, std in raw])

    constant = "one value alone in the context, so shifted and not scaled: "
    expect(warnings(context="x,y\n7,3\n7,4\n7,5\n", targets="x\n") == [constant + "x"], "x alone is constant")
    expect(warnings(context="x,y\n1,3\n2,3\n4,3\n", targets="x\n") == [constant + "y"], "y alone is constant")
    expect(warnings(context="x,y\n7,3\n", targets="x\n") == [constant + "x, y", "context points: 1, in training 3 to 32"],
           "one point")
    expect(warnings(context="x,y\n", targets="x\n") == ["the context is empty: inputs and values are used as they are",
                                                        "context points: 0, in training 3 to 32"], "no point")


@case
def what_training_has_not_seen():
    context = "day,rate\n" + "".join(f"{i},{math.sin(i)}\n" for i in range(1, 21))
    for chunk in (1, 2, 4096):
        found = warnings("--chunk", chunk, context=context, targets="day\n0.5\n1\n20.000001\n-30\n20\n48\n")
        expect(found == ["3 of 6 targets lie outside the range of inputs in training, here day from 1 to 20; furthest: -30"], found)
    expect(warnings(context=context, targets="day\n1\n20\n") == [], "all is as in training")
    for rows, outside in ((33, True), (32, False), (3, False), (2, True)):
        table = "day,rate\n" + "".join(f"{i},{math.sin(i)}\n" for i in range(rows))
        expected = [f"context points: {rows}, in training 3 to 32"] if outside else []
        expect(warnings(context=table, targets="day\n1\n") == expected, rows, "points")
    found = warnings("--no-standardise", context=context, targets="day\n-2\n2\n2.25\n")
    expect(found == [
        "18 of 20 context points lie outside the range of inputs in training, here day from -2 to 2; furthest: 20",
        "1 of 3 targets lie outside the range of inputs in training, here day from -2 to 2; furthest: 2.25"], found)


@case
def values_that_training_has_not_seen():
    # Scales of up to 1.2 and noise of 0.05: five standard deviations are 6.005.
    x = [-2 + i / 5 for i in range(21)]

    def told(*args, values):
        table = "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, values))
        return warnings(*args, context=table, targets="x\n0\n")

    waves = [math.sin(3 * a) for a in x]
    as_it_is = "--no-standardise"
    expect(told(as_it_is, values=waves) == [], "values as in training")
    expect(told(as_it_is, values=[*waves[:-2], 6.0, -6.0]) == [], "rare values, but possible")
    expect(told(as_it_is, values=[*waves[:-2], 6.1, -7]) == [
        "2 of 21 values of y lie outside those of training, here from -6.005 to 6.005; furthest: -7"], "two outside")
    for values in ([4 + v / 2 for v in waves], [0.01 * v for v in waves]):
        (line,) = told(as_it_is, values=values)
        expect(line.startswith("the values of y have mean ") and line.endswith("the functions of training 0 and from 0.6 to 1.2"),
               line)
        expect(told(values=values) == [], "a map to the units of training")
        expect(told(as_it_is, values=values[:9]) == [], "few points prove nothing")


@case
def two_inputs():
    context, targets = "a,b,value\n0,0,1\n1,1,2\n", "b,a\n0.5,0.25\n7,0.5\n"
    text = predicted(at=checkpoint_2d(), context=context, targets=targets)
    expect(comments(text)[1] == "# inputs: b mapped from [0, 1] to [-2, 2]; a mapped from [0, 1] to [-2, 2]", text)
    lines = text.splitlines()
    expect(lines[4] == "b,a,mean_value,std_value" and lines[5].startswith("0.5,0.25,"), text)
    expect(warnings(at=checkpoint_2d(), context=context, targets=targets) == [
        "1 of 2 targets lie outside the range of inputs in training, here b from 0 to 1; furthest: 7"], "a column leaves")
    plot = HERE / "two.svg"
    succeed(*predict_args(at=checkpoint_2d(), context=context, targets=targets), "--plot", plot)
    expect("<image" in plot.read_text() and "standard deviation" not in plot.read_text(), "maps are images, text is drawn")
    fail(*predict_args(at=checkpoint("three", small_protocol(3)), context="a,b,c,value\n0,0,1,2\n1,1,2,1\n", targets="a,b,c\n0,1,2\n"),
         "--plot", plot, naming=["tnp-d trained under small3 has 3 inputs, a, b, c", "one or two"])


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


@case
def two_values():
    context = "x,u,v\n-1,0.5,10\n0,0.1,6\n1.5,-0.3,2\n"  # v = 10 u + 5
    one = numbers(predicted(at=checkpoint("small", small_protocol(), steps=60), context="x,u\n-1,0.5\n0,0.1\n1.5,-0.3\n"))
    at = checkpoint_of_two_values()
    text = predicted(at=at, context=context)
    expect("x,mean_u,mean_v,std_u,std_v" in text.splitlines(), text)
    check_close(numbers(text), [[x, mean, 10 * mean + 5, std, 10 * std] for x, mean, std in one])
    (_, _, values, noise) = comments(text)
    expect(values.startswith("# values: u minus 0.1, divided by ") and "; v minus 6, divided by " in values, values)
    expect(" (u); " in noise and noise.endswith(" 0 (u); 0 (v)"), noise)
    expect([v["name"] for v in as_json(*predict_args(at=at, context=context))["values"]] == ["u", "v"], "JSON")
    heights = []
    for tables in (dict(at=at, context=context), {}):
        succeed(*predict_args(**tables), "--plot", HERE / "panels.svg")
        heights.append(float(xml.etree.ElementTree.parse(HERE / "panels.svg").getroot().get("height").removesuffix("px")))
    expect(heights[0] > 1.6 * heights[1], "a panel for each value:", heights)


@case
def one_table_of_two_values():
    at, rows = checkpoint_of_two_values(), ["-1,0.5,10", "0,0.1,6", "1.5,-0.3,2"]
    two = numbers(predicted(at=at, context="x,u,v\n" + "\n".join(rows), targets="x\n-1\n0.5\n0\n1\n1.5\n"))
    table = write("one.csv", "\n".join(["x,u,v", rows[0], "0.5,,7", rows[1], "1,NA,-", rows[2], ""]))
    one = succeed("predict", table, "--checkpoint", at, "--inputs", "x", "--values", "u,v")
    lines = [line.split(",") for line in one.splitlines() if not line.startswith("#")]
    expect(lines[0] == ["x", "u", "v", "mean_u", "mean_v", "std_u", "std_v"] and lines[2][:3] == ["0.5", "", "7"], one)
    check_close([[float(field) for field in line[3:]] for line in lines[1:]], [row[1:] for row in two])
    fail("predict", table, "--checkpoint", at, "--group", "x", naming=["[predict] --group found, expected weights of one value"])
    fail("predict", table, "--checkpoint", at, "--values", "u", naming=["1 columns of values found, u, the model takes 2"])


@case
def picture():
    args = predict_args()
    text = succeed(*args[:-1], "-")
    expect(as_json(*args, "--plot", HERE / "p.svg")["plot"] == str(HERE / "p.svg"), "JSON names the picture")
    expect((HERE / "out.csv").read_text() == text, "a picture changes the table")
    xml.etree.ElementTree.parse(HERE / "p.svg")
    drawn = (HERE / "p.svg").read_bytes()
    expect(succeed(*args[:-1], "-", "--plot", HERE / "p.svg", "--chunk", 3).count("\n") == text.count("\n"), "in chunks")
    rows = TARGETS.splitlines()[1:]
    random.Random(1).shuffle(rows)
    succeed(*predict_args(targets="x\n" + "\n".join(rows) + "\n"), "--plot", HERE / "shuffled.svg")
    expect(len((HERE / "shuffled.svg").read_bytes()) == len(drawn), "the order of targets shows")
    succeed(*args, "--plot", HERE / "p.png")
    expect((HERE / "p.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n"), "p.png is no PNG")
    for tables in (dict(targets="x\n"), dict(context="x,y\n"), dict(context="x,y\n", targets="x\n"),
                   dict(context="x,y\n7,3\n", targets="x\n7\n")):
        succeed(*predict_args(**tables), "--plot", HERE / "p.svg")
        xml.etree.ElementTree.parse(HERE / "p.svg")


@case
def pictures_that_cannot_be():
    write("out.csv", "precious")
    write("p.svg", "precious")
    long = "\n".join(["x", *("0.5" for _ in range(100_001)), ""])
    both = "x,y\n" + "0.5,1\n" * 100_001
    fail(*predict_args(targets=long), "--plot", HERE / "p.svg", naming=["targets.csv", "more than 100000 rows"])
    fail(*predict_args(context=both), "--plot", HERE / "p.svg", naming=["context.csv", "100001 rows"])
    args = predict_args()
    fail(*args, "--plot", HERE / "p.gif", naming=["p.gif", ".svg or .png"])
    fail(*args, "--plot", HERE / "no such directory" / "p.svg", naming=["no such directory"])
    fail(*args[:-1], HERE / "no such directory" / "out.csv", "--plot", HERE / "p.svg", naming=["no such directory"])
    fail(*args[:-1], HERE / "p.svg", "--plot", f"{HERE}/./p.svg", naming=["p.svg", "--out"])
    fail(*predict_args(targets="x\n1\nnan\n"), "--plot", HERE / "p.svg", naming=["targets.csv:3"])
    fail(*predict_args(context=b"x,\xff\n1,2\n2,3\n3,4\n"), "--plot", HERE / "p.svg", naming=["p.svg", "UTF-8"])
    wrong_usage(*args, "--plot")
    wrong_usage(*args, "--no-standardise", "--no-standardise=maybe")
    expect((HERE / "out.csv").read_text() == (HERE / "p.svg").read_text() == "precious", "an old file was lost")


@case
def samples():
    # Of independent targets, of functions that are drawn, and of targets one after the other.
    for at in (checkpoint(), *(checkpoint(model, "tnp/gp-rbf", model=model, steps=5) for model in ("np", "tnp-a"))):
        args = predict_args(at=at)
        text, out = succeed(*args[:-1], "-"), HERE / "samples.csv"
        result = as_json(*args, "--samples", 4, "--samples-out", out)
        expect(result["samples"] == 4 and result["samples_out"] == str(out), result)
        expect((HERE / "out.csv").read_text() == text, "samples change the table")
        lines = [line for line in out.read_text().splitlines() if not line.startswith("#")]
        expect(lines[0] == "x,sample,y", lines[0])
        rows, targets = numbers(out.read_text()), TARGETS.splitlines()[1:]
        expect([row[:2] for row in rows] == [[float(x), k] for x in targets for k in range(1, 5)], rows)
        for k, (_, mean, std) in enumerate(numbers(text)):
            for _, _, y in rows[4 * k:4 * k + 4]:
                expect(abs(y - mean) < 6 * std, "a sample is", (y - mean) / std, "deviations off")
        expect(len({row[2] for row in rows}) == len(rows), "samples repeat themselves")
        more = HERE / "more.csv"
        succeed(*args, "--samples", 6, "--samples-out", more, "--chunk", 11)
        check_close([row for row in numbers(more.read_text()) if row[1] <= 4], rows)
        said = comments(out.read_text())
        expect(said[:-1] == comments(text), said)
        expect(said[-1] == f"# samples: 4 of {'each target by itself' if at == checkpoint() else 'all targets together'}", said)
        expect(succeed(*args, "--samples", 4, "--samples-out", "-") == out.read_text(), "samples to '-' differ")
        if at == checkpoint():
            continue
        succeed(*args, "--samples", 4, "--samples-out", more, "--chunk", 2)
        expect(more.read_text() == out.read_text(), "chunks cut functions apart")
        expect((HERE / "out.csv").read_text() == text, "all targets at once change the table")


@case
def samples_have_the_moments_of_the_table():
    args = predict_args()
    rows = numbers(succeed(*args, "--samples", 4000, "--samples-out", "-"))
    for k, (_, mean, std) in enumerate(numbers((HERE / "out.csv").read_text())):
        drawn = [row[2] for row in rows[4000 * k:4000 * (k + 1)]]
        found = sum(drawn) / 4000
        expect(abs(found - mean) < 5 * std / math.sqrt(4000), found, mean, std)
        variance = sum((y - found)**2 for y in drawn) / 4000
        expect(abs(variance / std**2 - 1) < 5 * math.sqrt(2 / 4000), variance, std)


@case
def samples_of_tables_with_other_columns():
    text = succeed(*predict_args(at=checkpoint_2d(), context="a,b,value\n0,0,1\n1,1,2\n", targets="b,a\n0.5,0.25\n7,0.5\n"),
                   "--samples", 2, "--samples-out", "-")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    expect(lines[0] == "b,a,sample,value" and lines[1].startswith("0.5,0.25,1,") and lines[4].startswith("7,0.5,2,"), text)
    context = "x,u,v\n-1,0.5,10\n0,0.1,6\n1.5,-0.3,2\n"
    text = succeed(*predict_args(at=checkpoint_of_two_values(), context=context), "--samples", 2, "--samples-out", "-")
    expect("x,sample,u,v" in text.splitlines(), text)
    expect(succeed(*predict_args(targets="x\n"), "--samples", 2, "--samples-out", "-").splitlines()[-1] == "x,sample,y", "no targets")


@case
def samples_that_cannot_be():
    write("out.csv", "precious")
    write("s.csv", "precious")
    args, out = predict_args(), ["--samples-out", HERE / "s.csv"]
    wrong_usage(*args, "--samples", 3, naming=["--samples found without --samples-out, expected both or none"])
    wrong_usage(*args, *out, naming=["--samples-out found without --samples, expected both or none"])
    for number in (-1, 10_001, "x"):
        wrong_usage(*args, "--samples", number, *out)
    fail(*args, "--samples", 2, "--samples-out", HERE / "out.csv", naming=["--samples-out", "is --out as well"])
    fail(*args, "--samples", 2, "--samples-out", HERE / "context.csv", naming=["--samples-out", "is --context as well"])
    fail(*args[:-1], "-", "--samples", 2, "--samples-out", "-", naming=["--out - and --samples-out - are both for standard output"])
    fail(*args, "--samples", 2, "--samples-out", "-", "--json", naming=["--json", "--samples-out -"])
    fail(*args, "--samples", 2, "--samples-out", HERE / "no such directory" / "s.csv", naming=["no such directory"])
    fail(*predict_args(targets="x\n1\nnan\n"), "--samples", 2, *out, naming=["targets.csv:3"])
    fail(*predict_args(targets="sample\n1\n", context="sample,y\n1,2\n2,3\n"), "--samples", 2, *out,
         naming=["targets.csv: a column is called sample, expected another name"])
    fail(*predict_args(context="x,sample\n1,2\n2,3\n"), "--samples", 2, *out,
         naming=["context.csv: a column is called sample, expected another name"])
    expect((HERE / "out.csv").read_text() == (HERE / "s.csv").read_text() == "precious", "an old file was lost")


@case
def bad_tables_are_refused():
    write("out.csv", "precious")
    long = "x\n" + "0.5\n" * 9000
    bad = [
        (dict(targets=""), ["targets.csv"]),
        (dict(targets="# x\n"), ["targets.csv", "after its comments"]),
        (dict(targets="x\n1.0\n2.0,3.0\n"), ["targets.csv:3"]),
        (dict(targets="x\n1.0\nabc\n"), ["targets.csv:3", "abc"]),
        (dict(targets="x\nnan\n"), ["targets.csv:2"]),
        (dict(targets="x\n1e999\n"), ["targets.csv:2"]),
        (dict(targets=long + "inf\n"), ["targets.csv:9002"]),
        (dict(targets="x,z\n1,2\n"), ["targets.csv", "2 columns"]),
        (dict(targets="x,x\n1,2\n"), ["targets.csv"]),
        (dict(targets="z\n1\n"), ["context.csv", "z"]),
        (dict(context=""), ["context.csv"]),
        (dict(context="x,y\n1\n"), ["context.csv:2"]),
        (dict(context="x,y\n1,2\n3,four\n"), ["context.csv:3", "four"]),
        (dict(context="x,y\n1,NaN\n"), ["context.csv:2"]),
        (dict(context="x,y,z\n1,2,3\n"), ["context.csv", "2 columns"]),
        (dict(context="x\n1\n"), ["context.csv", "0 columns"]),
        (dict(targets="mean_y\n1\n", context="mean_y,y\n1,2\n"), ["targets.csv", "called mean_y"]),
        (dict(targets="std_y\n1\n", context="y,std_y\n1,2\n"), ["targets.csv", "called std_y"]),
        (dict(context=checkpoint().read_bytes()), ["context.csv"]),
        (dict(context="x,y\n-1.7e308,1\n1.7e308,2\n"), ["column x goes from -1.7e+308 to 1.7e+308"]),
        (dict(context="x,y\n1,0\n2,1e-320\n"), ["column y goes from 0 to 1e-320"]),
        (dict(targets=b"x\n\xff\xfe\x00\n"), ["targets.csv"]),
        (dict(at=checkpoint_2d()), ["targets.csv", "2 inputs"]),
    ]
    for tables, naming in bad:
        for out in ("out.csv", "new.csv"):
            fail(*predict_args(**tables, out=out), naming=naming)
    args = predict_args()
    (HERE / "context.csv").unlink()
    fail(*args, naming=["context.csv"])
    args = predict_args()
    fail(*args[:-1], HERE / "no such directory" / "out.csv", naming=["no such directory"])
    expect((HERE / "out.csv").read_text() == "precious", "an old file was lost")


@case
def names_that_are_no_utf_8():
    done = as_json(*predict_args(context=b"x,gr\xf6\xdfe\n1,2\n2,3\n3,4\n"))
    expect(done["values"][0]["name"].startswith("gr"), done)


if __name__ == "__main__":
    sys.exit(run_cases())
