#!/usr/bin/env python3
"""Tests of the units that `npzoo predict` brings tables to, and of what it warns of: predict_units_test.py PATH_TO_NPZOO"""

import json
import math
import random
import sys

from cli_support import (HERE, as_json, case, check_close, checkpoint, checkpoint_2d, expect, fail, npzoo, numbers,
                         predict_args, run_cases, small_protocol, succeed, write)
from predict_support import comments, predicted

# quick/gp1d: inputs from -2 to 2, contexts of 3 to 32 points, noise 0.05, scales uniform from 0.6 to 1.2
VALUE_STD = math.sqrt((0.6**2 + 0.6 * 1.2 + 1.2**2) / 3)


def warnings(*args, **tables):
    """Checks that standard error and JSON tell the same."""
    args = [*predict_args(**tables), *args]
    done = npzoo(*args, "--json")
    expect(done.returncode == 0, done.stderr)
    printed = [line.removeprefix("npzoo: warning: ") for line in done.stderr.splitlines() if line.startswith("npzoo: w")]
    expect(json.loads(done.stdout)["warnings"] == printed, done.stdout, done.stderr)
    return printed


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
    expect(comments(single)[1:3] == ["# inputs: x shifted from 7 to 0", "# values: y minus 3, divided by 3: its only value"], single)
    raw = numbers(predicted("--no-standardise", context="x,y\n0,0\n", targets="x\n-1\n0\n1\n"))
    check_close(numbers(single), [[x + 7, 3 * mean + 3, 3 * std] for x, mean, std in raw])

    constant = "one value alone in the context, so shifted and not scaled: "
    size = "one value alone in the context, so shifted and divided by its own size: y"
    expect(warnings(context="x,y\n7,3\n7,4\n7,5\n", targets="x\n") == [constant + "x"], "x alone is constant")
    expect(warnings(context="x,y\n1,3\n2,3\n4,3\n", targets="x\n") == [size], "y alone is constant")
    expect(warnings(context="x,y\n7,3\n", targets="x\n") == [constant + "x", size, "context points: 1, in training 3 to 32"],
           "one point")
    expect(warnings(context="x,y\n", targets="x\n") == ["the context is empty: inputs and values are used as they are",
                                                        "context points: 0, in training 3 to 32"], "no point")


@case
def predict_warns_about_points_outside_training():
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


if __name__ == "__main__":
    sys.exit(run_cases())
