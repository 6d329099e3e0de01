#!/usr/bin/env python3
"""Tests of `npzoo predict TABLE`: predict_table_test.py PATH_TO_NPZOO"""

import json
import math
import random
import statistics
import sys
import xml.etree.ElementTree

from cli_support import (HERE, as_json, case, check_close, checkpoint, checkpoint_2d, expect, fail, npzoo, run_cases, succeed,
                         write, wrong_usage)
from predict_support import comments, figures, rows_of

NORMAL = statistics.NormalDist()


def args(*more, table="t.csv", at=None):
    return ["predict", HERE / table, "--checkpoint", at or checkpoint(), *more]


def make(groups=("a", "b", "c"), points=14, seed=2):
    """(group, day, u, v, true u, true v), None where it is missing."""
    draw = random.Random(seed)
    rows = []
    for k, group in enumerate(groups):
        for day in range(points):
            u, v = round(math.sin(day / 2 + k), 3), round(100 + 20 * math.cos(day / 3 + k), 2)
            gap = 4 <= day < 6
            rows.append((group, day, None if gap or draw.random() < .2 else u, None if draw.random() < .3 else v, u, v))
    draw.shuffle(rows)
    return rows


def text_of(rows, columns=("id", "day", "u", "v")):
    names = ("id", "day", "u", "v")
    lines = [",".join("" if row[names.index(c)] is None else str(row[names.index(c)]) for c in columns) for row in rows]
    return ",".join(columns) + "\n" + "".join(line + "\n" for line in lines)


def truth_of(rows):
    return "day,v,id,u\n" + "".join(f"{day}.0,{v},{group},{u}\n" for group, day, _, _, u, v in reversed(rows))


@case
def what_is_missing_is_filled_and_every_row_stays():
    rows = make(("a",))
    write("t.csv", "# mine\n" + text_of(rows, ("day", "u")))
    done = npzoo(*args())
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    header, found = rows_of(done.stdout)
    expect(header == ["day", "u", "mean_u", "std_u"] and len(found) == len(rows), header)
    for row, (_, day, u, *_) in zip(found, rows):
        expect(row[:2] == [str(day), "" if u is None else str(u)], row)
    expect(comments(done.stdout)[1] == "# columns: u by day", done.stdout)
    known = [row for row in rows if row[2] is not None]
    write("context.csv", text_of(known, ("day", "u")))
    write("targets.csv", text_of(rows, ("day",)))
    two = succeed("predict", "--checkpoint", checkpoint(), "--context", HERE / "context.csv", "--targets", HERE / "targets.csv")
    check_close(figures(done.stdout, "u"), figures(two, "u"))
    expect([line for line in comments(done.stdout) if "columns" not in line] == comments(two), "what is told of units")
    also = succeed("predict", HERE / "t.csv", "--targets", HERE / "targets.csv", "--checkpoint", checkpoint())
    check_close(figures(also, "u"), figures(two, "u"))
    for chunk in (1, 5):
        check_close(figures(succeed(*args("--chunk", chunk)), "u"), figures(two, "u"))
    result = as_json(*args("--out", HERE / "out.csv"))
    expect((HERE / "out.csv").read_text() == done.stdout, "a file differs from standard output")
    expect((result["rows"], result["context_rows"], result["series"]) == (len(rows), len(known), 1), result)
    expect(result["seconds"] > 0 and result["warnings"] == [] and "mae" not in result, result)
    expect(result["inputs"][0]["name"] == "day" and result["values"][0]["name"] == "u", result)
    succeed(*args("--out", HERE / "out.csv"))
    expect((HERE / "out.csv").read_text() == done.stdout, "a second run differs")


@case
def each_group_and_value_is_a_series_of_its_own():
    rows = make()
    write("t.csv", text_of(rows))
    together = succeed(*args("--group", "id"))
    header, found = rows_of(together)
    expect(header == ["id", "day", "u", "v", "mean_u", "mean_v", "std_u", "std_v"], header)
    expect(comments(together)[1] == "# columns: u, v by day, in 3 groups of id", together)
    expect(comments(together)[2].startswith("# series: 6, of ") and "each standardised by itself" in comments(together)[2], together)
    for name in ("u", "v"):
        said = figures(together, name)
        for group in "abc":
            picked = [i for i, row in enumerate(rows) if row[0] == group]
            write("one.csv", text_of([rows[i] for i in picked], ("day", name)))
            check_close([said[i] for i in picked], figures(succeed(*args(table="one.csv")), name), abs_tol=1e-3)
    numbered = [({"a": "1", "b": "2", "c": "10"}[row[0]], *row[1:]) for row in rows]
    write("t.csv", text_of(numbered))
    expect(figures(succeed(*args("--group", "id")), "u") == figures(together, "u"), "groups that are numbers")
    expect(figures(succeed(*args("--group", "id", "--values", "v")), "v") != [], "one value of two")
    result = as_json(*args("--group", "id", "--threads", 1, "--out", HERE / "one.csv"))
    expect((result["group"], result["groups"], result["series"]) == ("id", 3, 6), result)
    succeed(*args("--group", "id", "--threads", 2, "--out", HERE / "two.csv"))
    expect((HERE / "one.csv").read_bytes() == (HERE / "two.csv").read_bytes(), "the number of threads changes bits")


def expected_scores(text, rows, name):
    """Of the cells that were missing, from what is written and its Gaussians."""
    at = {"u": 2, "v": 3}[name]
    triples = [(mean, std, row[at + 2]) for (mean, std), row in zip(figures(text, name), rows) if row[at] is None]
    crps = [std * (z * (2 * NORMAL.cdf(z) - 1) + 2 * NORMAL.pdf(z) - 1 / math.sqrt(math.pi))
            for mean, std, y in triples for z in [(y - mean) / std]]
    return {"mae": statistics.fmean(abs(mean - y) for mean, _, y in triples),
            "rmse": math.sqrt(statistics.fmean((mean - y)**2 for mean, _, y in triples)), "crps": statistics.fmean(crps),
            "coverage_95": statistics.fmean(abs(mean - y) < 1.959964 * std for mean, std, y in triples), "scored": len(triples)}


@case
def scores_against_the_truth():
    rows = make()
    write("t.csv", text_of(rows))
    write("truth.csv", truth_of(rows))
    text = succeed(*args("--group", "id"))
    result = as_json(*args("--group", "id", "--truth", HERE / "truth.csv"))
    for name in ("u", "v"):
        for key, value in expected_scores(text, rows, name).items():
            expect(math.isclose(result["scores"][name][key], value, rel_tol=1e-4), name, key, result, value)
    counts = [result["scores"][name]["scored"] for name in ("u", "v")]
    mean = sum(n * result["scores"][name]["mae"] for n, name in zip(counts, ("u", "v"))) / sum(counts)
    expect(math.isclose(result["mae"], mean, rel_tol=1e-9) and result["scored"] == sum(counts), result)
    shown = succeed(*args("--group", "id", "--truth", HERE / "truth.csv")).splitlines()
    expect([line.split(":")[0] for line in shown] == ["u", "v", "all"] and "CRPS" in shown[0], shown)
    both = npzoo(*args("--group", "id", "--truth", HERE / "truth.csv", "--out", "-"))
    expect(both.stdout == text and "u: MAE" in both.stderr, "scores spoil the table", both.stderr)
    # Times are the same moment however they are written.
    write("t.csv", "t,y\n2024-01-01T00:00Z,1\n2024-01-02T00:00Z,\n2024-01-03T00:00Z,3\n")
    write("truth.csv", "t,y\n2024-01-02T01:00+01:00,2\n")
    expect(as_json(*args("--truth", HERE / "truth.csv"))["scored"] == 1, "another zone")


@case
def truths_that_cannot_be():
    rows = make(("a",))
    write("t.csv", text_of(rows, ("day", "u")))
    for content, naming in (("day,u\n100,1\n", ["[truth]", "knows none of the values that were predicted"]),
                            ("day,u\n1,1\n1,1\n", ["rows 1 and 2 have the same inputs"]), ("day\n1\n", ['no column "u"']),
                            ("day,u\n1,x\n", ["truth.csv:2", 'column "u" holds "x"']),
                            ("day,u\n2020-01-01,1\n", ['expected a number, as others of the column are'])):
        write("truth.csv", content)
        fail(*args("--truth", HERE / "truth.csv"), naming=naming)
    fail(*args("--truth", HERE / "none.csv"), naming=["none.csv", "No such file"])


@case
def quantiles_and_samples():
    rows = make()
    write("t.csv", text_of(rows))
    text = succeed(*args("--group", "id", "--quantiles", ".05,.5,.975"))
    header, found = rows_of(text)
    expect(header[4:] == ["mean_u", "mean_v", "std_u", "std_v", *(f"q{p}_{n}" for p in ("0.05", "0.5", "0.975") for n in "uv")], header)
    for row in found:
        for j in range(2):
            mean, std = float(row[4 + j]), float(row[6 + j])
            for k, p in enumerate((.05, .5, .975)):
                expect(abs(float(row[8 + 2 * k + j]) - mean - NORMAL.inv_cdf(p) * std) < 1e-5 * std + 1e-6 * abs(mean), row, p)
    succeed(*args("--group", "id", "--samples", 2000, "--samples-out", HERE / "s.csv"))
    header, drawn = rows_of((HERE / "s.csv").read_text())
    expect(header == ["id", "day", "u", "v", "sample", "sample_u", "sample_v"] and len(drawn) == 2000 * len(rows), header)
    for i in (0, 7):
        own = drawn[2000 * i:2000 * (i + 1)]
        expect([int(row[4]) for row in own] == list(range(1, 2001)) and own[0][:4] == found[i][:4], own[0])
        for j in range(2):
            mean, std = float(found[i][4 + j]), float(found[i][6 + j])
            values = [float(row[5 + j]) for row in own]
            expect(abs(statistics.fmean(values) - mean) < 5 * std / math.sqrt(2000), "mean of samples")
            expect(abs(statistics.pvariance(values) / std**2 - 1) < 5 * math.sqrt(2 / 2000), "variance of samples")


@case
def two_inputs_by_their_names():
    draw = random.Random(4)
    rows = "".join(f"{draw.uniform(5, 9):.3f},{draw.uniform(40, 50):.3f},{'' if i % 3 == 0 else draw.gauss(0, 1):}\n" for i in range(12))
    write("t.csv", "lon,lat,temp\n" + rows)
    text = succeed(*args(at=checkpoint_2d()))
    expect(comments(text)[1] == "# columns: temp by lon, lat" and len(figures(text, "temp")) == 12, text)
    expect("kriging-tnp trained under npzoo/any-2d" in comments(succeed("predict", HERE / "t.csv"))[0], "the weights for tables")
    write("t.csv", "a,b,c,temp\n1,2,3,4\n2,3,4,\n")
    fail("predict", HERE / "t.csv", naming=['"a", "b" and "c" might be inputs, expected --inputs to name them'])
    fail("predict", HERE / "t.csv", "--inputs", "a,b,c", naming=["3 inputs found, weights for any table take 1 or 2"])


@case
def many_points_are_answered_by_those_near_by():
    rows = "".join(f"{day},{'' if day % 7 == 5 else round(math.sin(day / 9), 4)}\n" for day in range(200))
    write("t.csv", "day,y\n" + rows)
    done = npzoo(*args())
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    expect("# contexts of more than 32 points: targets that are near to each other share 32 of them" in done.stdout, done.stdout[:900])
    text = succeed(*args("--neighbours", 10))
    expect("# contexts of more than 10 points: targets that are near to each other share 10 of them" in text, text[:900])


@case
def groups_that_one_table_lacks():
    write("t.csv", "id,day,u\na,1,2\na,2,3\na,4,2\nb,1,5\nb,3,4\n")
    write("targets.csv", "note,id,day\nx,c,1\ny,a,3\nz,b,2\n")
    more = ["--targets", HERE / "targets.csv", "--group", "id", "--inputs", "day"]
    done = npzoo(*args(*more))
    expect(done.returncode == 0, done.stderr)
    header, found = rows_of(done.stdout)
    expect(header == ["note", "id", "day", "mean_u", "std_u"] and [row[0] for row in found] == ["x", "y", "z"], done.stdout)
    expect("1 of 3 series have no observed point" in done.stderr, done.stderr)


@case
def a_hundred_thousand_columns():
    count = 100_000
    names = ",".join(f"c{i}" for i in range(count))
    write("t.csv", f"x,{names}\n" + "".join(f"{x}{f',{y}' * count}\n" for x, y in ((1, 4), (2, 6), (3, ""), (4, 5))))
    header, found = rows_of(succeed(*args("--values", "c99999")))
    expect(header[-3:] == ["c99999", "mean_c99999", "std_c99999"] and len(header) == count + 3, header[-3:])
    expect(rows_of(succeed(*args("--out", "-")))[0][-1] == "std_c99999", "all of them")
    write("t.csv", f"x,{names},c7\n")
    fail(*args(), naming=['has two columns "c7"'])


@case
def predictions_that_are_no_numbers():
    write("out.csv", "precious")
    for rows, more, line, found in (("1,1e300\n2,\n", ("--no-standardise",), 2, "no number"),
                                    ("1,1.79e308\n2,1.7e308\n3,\n", ("--quantiles", "0.9999999999"), 2, "infinite")):
        write("t.csv", "x,u\n" + rows)
        fail(*args("--out", HERE / "out.csv", *more), naming=[f"t.csv:{line}] the prediction is {found}, expected a finite number"])
    write("t.csv", "x,u\n1,1.79e308\n2,1.7e308\n3,\n")
    fail(*args("--samples", 400, "--samples-out", HERE / "out.csv"), naming=["the prediction is infinite, expected a finite number"])
    expect((HERE / "out.csv").read_text() == "precious", "an old file was lost")


@case
def one_row_without_a_prediction_leaves_the_others():
    write("t.csv", "x,u\n1,1\n2,2\n3,\n1e300,\n")
    done = npzoo(*args("--quantiles", ".5", "--out", HERE / "out.csv", "--samples", 2, "--samples-out", HERE / "s.csv", "--json"))
    expect(done.returncode == 3, done.returncode, done.stderr)
    expect("t.csv:5] has no prediction, so that the cells are blank: inputs or values are too large" in done.stderr, done.stderr)
    header, found = rows_of((HERE / "out.csv").read_text())
    expect(len(found) == 4 and found[3] == ["1e300", "", "", "", ""], found)
    expect(all(math.isfinite(float(cell)) for row in found[:3] for cell in row[2:]), found)
    header, found = rows_of((HERE / "s.csv").read_text())
    expect(len(found) == 8 and found[6][2:] == ["", ""] and float(found[5][3]), found)
    write("t.csv", "x,u\n1,1\n2,2\n1e300,\n3,\n2e300,\n")
    done = npzoo(*args("--out", HERE / "out.csv"))
    expect(done.returncode == 3 and "t.csv:4] and 1 others have no prediction" in done.stderr, done.stderr)


@case
def commands_that_cannot_be():
    write("t.csv", text_of(make(("a",)), ("day", "u")))
    write("out.csv", "precious")
    wrong_usage("predict", "--checkpoint", checkpoint(), naming=["neither TABLE nor --context found, expected one of them"])
    wrong_usage(*args("--context", HERE / "t.csv"), naming=["TABLE and --context found, expected one of them"])
    wrong_usage("predict", HERE / "t.csv", HERE / "t.csv", naming=["2 tables found, expected one TABLE"])
    wrong_usage("predict", "--context", HERE / "t.csv", naming=["--context found without --targets, expected both, or TABLE alone"])
    for text in ("0", "1", "-.1", "x", ".5x", "nan"):
        wrong_usage(*args("--quantiles", text), naming=[f"--quantiles {text} found, expected numbers above 0 and below 1"])
    wrong_usage(*args("--quantiles", ".5,.9,0.50"), naming=["--quantiles 0.50 found twice, expected each once"])
    for first, second, more in (("TABLE", "--targets", ["-"]), ("TABLE", "--truth", ["-"]), ("--context", "--targets", ["--context", "-"]),
                                ("--targets", "--truth", [HERE / "t.csv", "--targets", "-"])):
        fail("predict", *more, second, "-", "--checkpoint", checkpoint(), stdin="day,u\n1,2\n",
             naming=[f"[predict] {first} and {second} are both standard input, expected a file for one of them"])
    fail(*args("--out", HERE / "t.csv"), naming=["--out", "is TABLE as well"])
    fail(*args("--truth", HERE / "out.csv", "--out", HERE / "out.csv"), naming=["is --truth as well"])
    fail(*args("--out", HERE / "no such directory" / "o.csv"), naming=["no such directory"])
    fail(*args("--group", "u", "--plot", HERE / "p.svg"), naming=["expected"])
    expect((HERE / "out.csv").read_text() == "precious", "an old file was lost")


@case
def picture():
    write("t.csv", text_of(make(("a",)), ("day", "u", "v")))
    expect(as_json(*args("--plot", HERE / "p.svg"))["plot"] == str(HERE / "p.svg"), "JSON names the picture")
    xml.etree.ElementTree.parse(HERE / "p.svg")
    expect(not succeed(*args("--plot", HERE / "p.svg")), "the table is printed although a picture was asked for")


if __name__ == "__main__":
    sys.exit(run_cases())
