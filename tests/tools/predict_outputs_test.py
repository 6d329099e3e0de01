#!/usr/bin/env python3
"""Tests of the tables, pictures and samples that `npzoo predict` writes, and of what it refuses: predict_outputs_test.py
PATH_TO_NPZOO"""

import math
import random
import sys
import xml.etree.ElementTree

from cli_support import (CONTEXT, HERE, TARGETS, as_json, case, check_close, check_keys, checkpoint, checkpoint_2d,
                         expect, fail, numbers, predict_args, run_cases, succeed, write, wrong_usage)
from predict_support import checkpoint_of_two_values, comments, predicted


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
    # Samples of independent targets, of functions, and of targets one after the other.
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
def samples_one_target_after_the_other():
    close = dict(targets="x\n0.70\n0.71\n")

    def correlation(*flags):
        rows = numbers(succeed(*predict_args(**close), "--samples", 300, "--samples-out", "-", *flags))
        first, second = ([row[2] for row in rows[i * 300:(i + 1) * 300]] for i in (0, 1))
        means = sum(first) / 300, sum(second) / 300
        both = sum((a - means[0]) * (b - means[1]) for a, b in zip(first, second))
        return both / math.sqrt(sum((a - means[0])**2 for a in first) * sum((b - means[1])**2 for b in second))

    args = predict_args(**close)
    text = succeed(*args[:-1], "-")
    expect(abs(correlation()) < 0.25, "targets by themselves are correlated")
    succeed(*args, "--samples", 2, "--samples-out", HERE / "s.csv", "--autoregressive")
    expect((HERE / "out.csv").read_text() == text, "samples change the table")
    expect(comments((HERE / "s.csv").read_text())[-1] == "# samples: 2 of all targets together", "how samples are drawn")
    # The weights for tables draw functions as well.
    table = write("gaps.csv", "x,y\n" + "".join(f"{i / 10},{math.sin(i / 3):.3f}\n" for i in range(12)) + "1.5,\n1.51,\n2.5,0.3\n")
    text = succeed("predict", table, "--samples", 30, "--samples-out", "-", "--autoregressive", "--ends", "weights")
    first, second = ([float(line.split(",")[-1]) for line in text.splitlines() if line.startswith(x)] for x in ("1.5,", "1.51,"))
    apart = sum(abs(a - b) for a, b in zip(first, second)) / 30
    expect(len(first) == len(second) == 30 and apart < 0.3 * (max(first) - min(first)), apart, first)
    wrong_usage("predict", table, "--autoregressive", naming=["found without --samples-out"])
    more = "--samples", 2, "--samples-out", HERE / "s.csv", "--autoregressive"
    wrong_usage("predict", table, *more, "--model", "gp", naming=["--autoregressive and --model gp found"])
    joint = checkpoint("tnp-a", "tnp/gp-rbf", model="tnp-a", steps=5)
    for at in (predict_args(at=joint), ["predict", table, "--checkpoint", joint]):
        fail(*at, *more, naming=["[predict] --autoregressive found with tnp-a, which predicts targets together"])


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
    fail(*args, "--samples", 3, "--plot", HERE / "s.svg", naming=["--samples found without --samples-out", "a picture of points shows no samples"])
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
def numbers_are_written_as_the_targets_are():
    tables = dict(at=checkpoint_2d(), context="a;b;y\n-1,5;1;2,5\n0;2;1,5\n1;2,5;3\n", targets="b;a\n1;0\n-1,5;1,5\n")
    args = predict_args(**tables)
    text = predicted(**tables)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    expect(lines[0] == "b;a;mean_y;std_y" and lines[2].startswith("-1,5;1,5;"), text)
    expect([line.count(",") for line in lines[1:]] == [2, 4] and "." not in "".join(lines), text)
    succeed(*args, "--samples", 1, "--samples-out", HERE / "s.csv", "--plot", HERE / "p.svg")
    expect((HERE / "out.csv").read_text() == text, "a picture changes the table")
    drawn = [line for line in (HERE / "s.csv").read_text().splitlines() if not line.startswith("#")]
    expect(drawn[0] == "b;a;sample;y" and "." not in "".join(drawn), drawn)


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
        (dict(at=checkpoint_2d()), ["targets.csv", "expected 2 for the inputs of the model"]),
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
