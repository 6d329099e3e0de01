#!/usr/bin/env python3
"""Tests of `npzoo predict` with weights of several values, which are predicted together: predict_values_test.py
PATH_TO_NPZOO"""

import math
import random
import sys
import xml.etree.ElementTree

from cli_support import (HERE, as_json, case, check_close, checkpoint, expect, fail, numbers, predict_args, run_cases,
                         small_protocol, succeed, write)
from predict_support import checkpoint_of_two_values, comments, predicted, rows_of


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
    one = succeed("predict", "--header", table, "--digits", 9, "--checkpoint", at, "--inputs", "x", "--values", "u,v")
    lines = [line.split(",") for line in one.splitlines() if not line.startswith("#")]
    expect(lines[0] == ["x", "u", "v", "mean_u", "mean_v", "std_u", "std_v"] and lines[2][:3] == ["0.5", "", "7"], one)
    check_close([[float(field) for field in line[3:]] for line in lines[1:]], [row[1:] for row in two])
    expect(comments(one)[1] == "# columns: u, v by x" and comments(one)[3].startswith("# values: u minus 0.1, "), one)
    result = as_json("predict", table, "--checkpoint", at)
    expect((result["rows"], result["context_rows"], result["series"], result["warnings"]) == (5, 3, 1, []), result)
    for columns in ("u", "u,v,w"):
        count = columns.count(",") + 1
        fail("predict", write("three.csv", "x,u,v,w\n1,2,3,4\n2,,,\n"), "--checkpoint", at, "--values", columns,
             naming=[f"[predict] {count} columns of values found, u", "trained under small1 takes 2 together"])


GROUPS = ("a", "b", "c")


def tables(draw):
    """Rows (group, x, u, v) with v = 10 u + 5, which lack u, v or both here and there; and the truth of all of them."""
    rows, truth = [], []
    for k, group in enumerate(GROUPS):
        for i in range(7 + k):
            x, u = round(i / 2 + k, 2), round(math.sin(i + k), 3)
            v = round(10 * u + 5, 2)
            lacks = draw.choice(("", "", "u", "v", "uv"))
            rows.append((group, x, "" if "u" in lacks else u, "" if "v" in lacks else v))
            truth.append((group, x, u, v))
    order = draw.sample(range(len(rows)), len(rows))
    return [rows[i] for i in order], [truth[i] for i in order]


def text_of(rows):
    return "id,x,u,v\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


@case
def groups_quantiles_and_truth():
    rows, truth = tables(random.Random(5))
    both = [row if "" not in row else (*row[:2], "", "") for row in rows]  # what a model of u alone would be given
    write("two.csv", text_of(rows))
    write("one.csv", "id,x,u\n" + "".join(f"{g},{x},{u}\n" for g, x, u, _ in both))
    write("truth.csv", text_of(reversed(truth)))
    more = ["--inputs", "x", "--group", "id", "--quantiles", ".1,.9"]
    small = checkpoint("small", small_protocol(), steps=60)
    one = succeed("predict", "--header", HERE / "one.csv", "--digits", 9, "--checkpoint", small, "--values", "u", *more)
    args = ["predict", "--header", HERE / "two.csv", "--digits", 9, "--checkpoint", checkpoint_of_two_values(), "--values", "u,v", *more]
    two = succeed(*args)
    header, found = rows_of(two)
    expect(header[4:] == ["mean_u", "mean_v", "std_u", "std_v", "q0.1_u", "q0.1_v", "q0.9_u", "q0.9_v"], header)
    expect([row[:4] for row in found] == [list(map(str, row)) for row in rows], "the rows stay as they are")
    expected = [[float(cell) for cell in row[3:]] for row in rows_of(one)[1]]
    check_close([[float(cell) for cell in row[4:]] for row in found],
                [[m, 10 * m + 5, s, 10 * s, low, 10 * low + 5, high, 10 * high + 5] for m, s, low, high in expected],
                abs_tol=1e-4)
    expect(comments(two)[2].startswith("# series: 3, of "), two)

    result = as_json(*args, "--truth", HERE / "truth.csv", "--out", HERE / "out.csv")
    expect((HERE / "out.csv").read_text() == two, "scores change the table")
    expect((result["groups"], result["series"]) == (3, 3), result)
    expect(result["context_rows"] == sum("" not in row for row in rows), result)
    for j, name in enumerate("uv"):  # only what was not seen is scored
        errors = [float(row[4 + j]) - known[2 + j] for row, given, known in zip(found, rows, truth) if given[2 + j] == ""]
        scores = result["scores"][name]
        expect(scores["scored"] == len(errors) > 3, name, scores)
        expect(math.isclose(scores["mae"], sum(map(abs, errors)) / len(errors), rel_tol=1e-5), name, scores)
    for threads in (1, 2):
        expect(succeed(*args, "--threads", threads) == two, "other bits on", threads, "threads")


@case
def targets_of_their_own_and_neighbours():
    at = checkpoint_of_two_values()
    rows = "".join(f"{i / 10},{math.sin(i / 9):.4f},{10 * math.sin(i / 9) + 5:.3f},note {i}\n" for i in range(60))
    table, targets = write("table.csv", "x,u,v,note\n" + rows), write("targets.csv", "x\n0.25\n5\n")
    args = ["predict", "--header", table, "--digits", 9, "--targets", targets, "--checkpoint", at]
    text = succeed(*args)
    expect(rows_of(text)[0] == ["x", "mean_u", "mean_v", "std_u", "std_v"] and len(rows_of(text)[1]) == 2, text)
    expect("# contexts of more than 7 points: targets that are near to each other share 7 of them" in text, text)
    expect("share 5 of them" in succeed(*args, "--neighbours", 5, "--values", "u,v"), "neighbours")
    whole = ["predict", "--header", "--digits", 9, "--context", write("whole.csv", "x,u,v\n0,1,15\n1,0,5\n2,.5,10\n"), "--targets", targets, "--checkpoint", at]
    streamed, held = succeed(*whole), succeed(*whole, "--quantiles", ".5")
    check_close([[float(cell) for cell in row[:5]] for row in rows_of(held)[1]], numbers(streamed))
    succeed(*args, "--samples", 2, "--samples-out", HERE / "s.csv")
    header, drawn = rows_of((HERE / "s.csv").read_text())
    expect(header == ["x", "sample", "u", "v"] and [row[:2] for row in drawn] == [["0.25", "1"], ["0.25", "2"], ["5", "1"], ["5", "2"]],
           drawn)


if __name__ == "__main__":
    sys.exit(run_cases())
