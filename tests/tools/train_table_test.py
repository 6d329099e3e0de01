#!/usr/bin/env python3
"""Tests of trainings on a table of one's own: train_table_test.py PATH_TO_NPZOO"""

import datetime
import gzip
import math
import pathlib
import random
import sys

from cli_support import (HERE, as_json, case, expect, fail, metrics, model_hash, read_safetensors, run_cases, succeed, write,
                         wrong_usage)

GROUPS, HOURS = 200, 48
FLAGS = ["--group", "station", "--inputs", "time", "--values", "temp,wind,load"]
SMALL = ["--model", "tnp-d", "--set", "models.tnp-d.d_model=16", "--set", "models.tnp-d.dim_feedforward=16",
         "--set", "models.tnp-d.num_layers=2"]


def measurements():
    """The table with its holes, and the values that are missing. Dates, blanks in runs, three value columns of one common curve, a column that nobody asks for."""
    draw = random.Random(5)
    lines = ["station;time;temp;wind;load;remark"]
    truth = lines[:]
    for station in range(GROUPS):
        phase, level = draw.uniform(0, 2 * math.pi), draw.gauss(10, 5)
        gone = {column: {(begin + i) % HOURS for begin in [draw.randrange(HOURS)] for i in range(draw.randrange(2, 9))} for column in range(3)}
        for hour in range(HOURS):
            time = datetime.datetime(2024, 3, 1) + datetime.timedelta(hours=hour)
            wave = math.sin(2 * math.pi * hour / 24 + phase)
            cells = [f"{level + size * wave + draw.gauss(0, 0.1):.2f}".replace(".", ",") for size in (4, -2, 9)]
            for rows, kept in ((lines, False), (truth, True)):
                shown = [cell if (hour in gone[column]) == kept else "" for column, cell in enumerate(cells)]
                rows.append(f"S{station};{time:%Y-%m-%d %H:%M};{';'.join(shown)};a remark")
    return "\n".join(lines) + "\n", "\n".join(truth) + "\n"


def table():
    path = HERE / "stations.csv"
    if not path.exists():
        for name, text in zip(("stations.csv", "truth.csv"), measurements()):
            write(name, text)
    return path


def train(out, *more, steps=60, at=None):
    return ["train", "--table", at or table(), *FLAGS, *SMALL, "--steps", steps, "--batch", 8, "--seed", 1, "--out", HERE / out, *more]


def tune(out, init, steps, *more):
    return ["train", "--table", table(), *FLAGS, "--init", init, "--steps", steps, "--batch", 8, "--out", HERE / out, *more]


def zoo_weights():
    """Returns weights that were trained on smooth functions alone."""
    return pathlib.Path(__file__).resolve().parents[2] / "weights/tnp/gp-rbf/tnp-d.safetensors"


def trained():
    if not (HERE / "run").exists():
        succeed(*tune("run", zoo_weights(), 60, "--set", "validation.every=20", "--set", "validation.batches=20"))
    return HERE / "run/checkpoint.safetensors"


@case
def a_table_is_learned():
    at = trained()
    validations = [line["validation_log_likelihood"] for line in metrics(HERE / "run") if "validation_log_likelihood" in line]
    # Standardised values that are guessed without looking have -1.42, the entropy of a standard normal number.
    # The first validation is of the weights that the training begins with.
    expect(len(validations) == 4 and validations[0] < validations[-1] and validations[-1] > 0, validations)
    (row,) = as_json("eval", "--checkpoint", at, "--batches", 40)
    expect(row["test"] == "held out" and row["protocol"].startswith("stations.csv --set ") and row["oracle"] is None, row)
    expect(row["log_likelihood"] > 0 and "test_chose_weights" not in row, row)
    succeed("plot", "--checkpoint", at, "--out", HERE / "tasks.svg")


@case
def a_test_that_chose_the_weights_says_so():
    for out, table_text, more in (("two", "".join(f"{g},{x},{x * g}\n" for g in (1, 2) for x in range(12)), []),
                                  ("one share", "".join(f"{g},{x},{x * g}\n" for g in range(1, 9) for x in range(12)),
                                   ["--set", "data.held_out=0.25"])):
        path = write(f"{out}.csv", "g,x,y\n" + table_text)
        command = ["train", "--table", path, "--group", "g", "--inputs", "x", "--values", "y", *SMALL, *more, "--steps", 2,
                   "--batch", 2, "--set", "validation.every=1", "--set", "validation.batches=1"]
        for keep in ("best", "last"):
            weights = HERE / f"{out} {keep}" / "checkpoint.safetensors"
            succeed(*command, "--set", f'training.keep="{keep}"', "--out", weights.parent)
            (row,) = as_json("eval", "--checkpoint", weights, "--batches", 2)
            told = "it chose the weights" in succeed("eval", "--checkpoint", weights, "--batches", 2)
            expect(row.get("test_chose_weights", False) == told == (keep == "best"), out, keep, row)


@case
def trained_weights_fill_the_table_better():
    def scores(weights):
        return as_json("predict", table(), *FLAGS, "--checkpoint", weights, "--truth", HERE / "truth.csv", "--out", HERE / "filled.csv")

    before, after = scores(zoo_weights()), scores(trained())
    expect(after["crps"] < 0.8 * before["crps"] and after["mae"] < before["mae"], before, after)
    lines = (HERE / "filled.csv").read_text().splitlines()
    head = next(line for line in lines if not line.startswith("#"))
    expect(head.startswith("station;time;temp;wind;load;remark;mean_temp"), head)


@case
def a_run_on_a_table_goes_on_and_is_repeated():
    succeed(*train("first"))
    at = HERE / "first/checkpoint.safetensors"
    metadata = read_safetensors(at)[0]
    text = metadata["protocol_text"]
    for part in ('kind = "table_tasks"', f'path = "{table()}"', 'checksum = "xxh3-128:', 'group = "station"', 'inputs = [ "time" ]',
                 'values = [ "temp", "wind", "load" ]'):
        expect(part in text, repr(part), "expected in:", text)
    succeed("train", "--config", HERE / "first/config.toml", "--out", HERE / "second")
    expect(model_hash(HERE / "second/checkpoint.safetensors") == model_hash(at), "the same run once more")
    succeed("train", "--resume", "--out", HERE / "first")
    succeed(*train("first", "--resume"))
    succeed(*train("one thread", "--threads", 1))
    expect(model_hash(HERE / "one thread/checkpoint.safetensors") == model_hash(at), "with another number of threads")

    before = table().read_bytes()
    table().write_bytes(before.replace(b"S7;", b"S8;", 1))
    fail("train", "--config", HERE / "first/config.toml", "--out", HERE / "third", naming=[f"[table] {table()} has changed: checksum "])
    fail("eval", "--checkpoint", at, naming=["has changed"])
    fail(*train("first", "--resume"), naming=["began under another version of protocol stations.csv"])
    table().unlink()
    fail("eval", "--checkpoint", at, naming=["stations.csv"])
    # A prediction needs no table but its own.
    points = ["--context", write("context.csv", "t,y\n0,1\n1,2\n2,1\n"), "--targets", write("targets.csv", "t\n0.5\n")]
    succeed("predict", "--checkpoint", at, *points, "--out", HERE / "filled.csv")
    expect(len((HERE / "filled.csv").read_text().splitlines()) == 2, (HERE / "filled.csv").read_text())
    table().write_bytes(before)


@case
def compressed_tables_and_weights_to_begin_with():
    packed = HERE / "stations.csv.gz"
    packed.write_bytes(gzip.compress(table().read_bytes(), mtime=0))
    succeed(*train("packed", at=packed))
    succeed(*train("plain"))
    hashes = {model_hash(HERE / out / "checkpoint.safetensors") for out in ("packed", "plain")}
    expect(len(hashes) == 1, "compressed or not")
    tuned = HERE / "tuned"
    succeed(*tune("tuned", trained(), 50))
    expect(f"from the weights `{trained()}`" in succeed("info", tuned / "checkpoint.safetensors"), "what it began with")
    losses = [[line["loss"] for line in metrics(HERE / out) if "loss" in line][0] for out in ("tuned", "plain")]
    expect(losses[0] < losses[1] - 1, "losses of the first fifty updates:", losses)


@case
def one_group_is_split_into_blocks_and_two_inputs_are_a_map():
    draw = random.Random(6)
    rows = "".join(f"{x:.4f},{y:.4f},{math.sin(3 * x) + y:.4f}\n" for x, y in ((draw.random(), draw.random()) for _ in range(600)))
    path = write("map.csv", "lon,lat,height\n" + rows + "0.5,0.5,\n0.5,,3\n")
    out = HERE / "map"
    succeed("train", "--table", path, "--inputs", "lon,lat", "--values", "height", *SMALL, "--set", "data.points=64", "--steps", 20,
            "--batch", 4, "--out", out)
    expect(metrics(out), "losses")
    succeed("plot", "--checkpoint", out / "checkpoint.safetensors", "--out", HERE / "map.svg")


@case
def the_recipe_for_tables_is_a_protocol():
    text = succeed("info", "own/table")
    for part in ('name = "own/table"', 'kind = "table_tasks"', "steps = 5000", "[models.kriging-tnp]", "[models.tnp-d]"):
        expect(part in text, repr(part), "expected in:", text)
    fail("train", "--protocol", "own/table", "--model", "tnp-d", "--out", HERE / "never",
         naming=["[table] no table found, expected npzoo train --table FILE"])
    expect(not (HERE / "never").exists(), "a directory was left")


@case
def tables_to_train_on_are_checked():
    def refused(text, *naming, flags=("--group", "g", "--inputs", "x", "--values", "y")):
        fail("train", "--table", write("bad.csv", text), *flags, "--out", HERE / "never", naming=naming)

    few = "g,x,y\n" + "".join(f"a,{i},{i}\n" for i in range(8)) + "b,1,2\n"
    refused(few, "[table] ", "1 group or block with at least 6 known values found, expected two or more")
    refused("g,x,y\n", "no groups or blocks with at least 6 known values")
    refused("g,x,z\n1,2,3\n", "bad.csv", "y")
    refused("g,x,y\n1,2,3\n", "x is named twice", flags=["--inputs", "x", "--values", "x"])
    refused("g,x,y\n1,2,3\n", "g is named twice", flags=["--group", "g", "--inputs", "g", "--values", "x"])
    refused("g,x,y\n1,2,abc\n" * 20, "bad.csv")
    four = "g,a,b,c,d,y\n" + "1,2,3,4,5,6\n" * 20
    refused(four, "data.inputs is of 4 columns, expected at most 3", flags=["--inputs", "a,b,c,d", "--values", "y"])
    fail("train", "--table", HERE / "none.csv", *FLAGS, "--out", HERE / "never", naming=["none.csv"])
    fail("train", "--table", "-", *FLAGS, "--out", HERE / "never", naming=["[table] - found, expected a file"])
    fail("train", "--table", "/dev/stdin", *FLAGS, "--out", HERE / "never", stdin="g,x,y\n", naming=["[table] /dev/stdin found, expected a file"])
    wide = "g,x,y\n" + "".join(f"{g},{i},{1.7e308 if i % 2 else -1.7e308}\n" for g in "abcd" for i in range(8))
    refused(wide, 'column "y" goes from -1.7e+308 to 1.7e+308, expected an extent that a double can hold')
    for flags in (["--inputs", "x"], ["--table", "t.csv"], ["--group", "g"], ["--table", "t.csv", "--inputs", "x"]):
        wrong_usage("train", "--protocol", "quick/gp1d", "--model", "cnp", *flags, "--out", HERE / "never",
                    naming=["--table, --inputs and --values belong together"])
    expect(not (HERE / "never").exists(), "a directory was left")


if __name__ == "__main__":
    sys.exit(run_cases())
