#!/usr/bin/env python3
"""Tests of `npzoo predict` with weights of several values, which are predicted together: predict_values_test.py
PATH_TO_NPZOO"""

import sys
import xml.etree.ElementTree

from cli_support import (HERE, as_json, case, check_close, checkpoint, expect, fail, numbers, predict_args, run_cases,
                         small_protocol, succeed, write)
from predict_support import checkpoint_of_two_values, comments, predicted


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


if __name__ == "__main__":
    sys.exit(run_cases())
