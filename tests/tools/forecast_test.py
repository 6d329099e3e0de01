#!/usr/bin/env python3
"""Tests of forecasts of a table of one's own: forecast_test.py PATH_TO_NPZOO"""

import datetime
import math
import random
import sys

from cli_support import HERE, as_json, case, check_keys, expect, fail, model_hash, run_cases, succeed, write, wrong_usage

HOURS, CONTEXT, HORIZON = 400, 24, 8
FLAGS = ["--time", "when", "--values", "load", "--context", CONTEXT, "--horizon", HORIZON]
SMALL = ["--set", "models.{0}.d_model=16", "--set", "models.{0}.dim_feedforward=16", "--set", "models.{0}.num_layers=2",
         "--set", "models.{0}.emb_depth=2"]
START = datetime.datetime(2024, 3, 1)


def when(hour):
    return f"{START + datetime.timedelta(hours=hour):%Y-%m-%dT%H:%M:%S}"


def table():
    """Days and nights; some hours have no row and some no value. The last row with a value is that of hour 399."""
    draw, rows = random.Random(3), ["when;load;remark"]
    for hour in range(HOURS):
        load = 500 + 80 * math.sin(2 * math.pi * hour / 24) + draw.gauss(0, 5)
        if hour + 1 < HOURS and draw.random() < 0.05:
            continue
        missing = hour + 1 < HOURS and draw.random() < 0.05
        rows.append(f"{when(hour)};{'' if missing else format(load, '.1f').replace('.', ',')};x")
    return write("load.csv", "\n".join(rows) + "\n")


def train(out, model="tnp-d", steps=40, *more):
    small = [text.format(model) for text in SMALL]
    return ["train", "--table", table(), *FLAGS, "--model", model, *small, "--steps", steps, "--batch", 8, "--validation-batches", 2,
            "--lr", 2e-3, "--out", HERE / out, *more]


def trained(model="tnp-d"):
    if not (HERE / model).exists():
        succeed(*train(model, model))
    return HERE / model / "checkpoint.safetensors"


def rows_of(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return lines[0].split(","), [line.split(",") for line in lines[1:]]


@case
def what_comes_next_is_written_with_bands_paths_and_a_picture():
    out, paths, picture = HERE / "next.csv", HERE / "paths.csv", HERE / "next.svg"
    found = as_json("predict", table(), "--checkpoint", trained(), "--quantiles", "0.05,0.95", "--samples", 3, "--samples-out", paths,
                    "--out", out, "--plot", picture)
    check_keys(found, "model", "protocol", "how", "rows", "context_rows", "first", "last", "seconds", "out", "plot", "samples", "samples_out")
    expect((found["rows"], found["how"], found["first"], found["last"]) == (HORIZON, "one-shot, exact", when(400), when(407)), found)
    head, rows = rows_of(out)
    expect(head == ["when", "mean_load", "std_load", "q0.05_load", "q0.95_load"], head)
    expect([row[0] for row in rows] == [when(400 + h) for h in range(HORIZON)], rows)
    for row in rows:
        mean, std, low, high = map(float, row[1:])
        expect(300 < mean < 700 and 0 < std < 200, row)
        expect(abs(high - mean - 1.6449 * std) < 1e-3 * std and abs(mean - low - 1.6449 * std) < 1e-3 * std, row)
    head, rows = rows_of(paths)
    expect(head == ["when", "sample", "load"] and [row[1] for row in rows[:4]] == ["1", "2", "3", "1"] and len(rows) == 3 * HORIZON, head, rows)
    text = picture.read_text()
    expect(text.startswith("<?xml") and "</svg>" in text, text[:100])
    before = out.read_bytes()
    (HERE / "load.csv").rename(HERE / "other.csv")  # a forecast needs no table but its own
    succeed("predict", HERE / "other.csv", "--checkpoint", trained(), "--quantiles", "0.05,0.95", "--out", out)
    expect(out.read_bytes() == before, "the same forecast again")


@case
def a_horizon_is_shortened_and_gone_beyond():
    near = rows_of(write("near.csv", succeed("predict", table(), "--checkpoint", trained(), "--horizon", 3)))[1]
    far = succeed("predict", table(), "--checkpoint", trained(), "--horizon", 30, "--quantiles", 0.5)
    expect("free-running, 200 paths of windows of 8, each at one shot" in far, far)
    all_of_it = rows_of(write("far.csv", succeed("predict", table(), "--checkpoint", trained())))[1]
    expect(near == all_of_it[:3], near, all_of_it)
    far = rows_of(write("far.csv", far))[1]
    expect(len(far) == 30 and far[-1][0] == when(429), far)
    for row, exact in zip(far, all_of_it):  # the mean of 200 paths
        expect(abs(float(row[1]) - float(exact[1])) < 6 * float(exact[2]) / math.sqrt(200), row, exact)


@case
def what_predicts_step_by_step_runs_free():
    found = as_json("predict", table(), "--checkpoint", trained("tnp-a"), "--out", HERE / "next.csv")
    expect(found["how"] == "free-running, 50 samples", found)
    (row,) = as_json("eval", "--checkpoint", trained("tnp-a"), "--batches", 2)
    expect(row["headline"] == "joint_log_likelihood" and row["how"]["joint_log_likelihood"] == "teacher-forced", row)
    for mode in ("teacher_forced", "free_running"):
        check_keys({key: row[mode][key] for key in ("log_likelihood", "mse", "mae", "crps", "coverage_90", "mse_at_8")},
                   "log_likelihood", "mse", "mae", "crps", "coverage_90", "mse_at_8")
    expect("one_shot" not in row, row)
    text = succeed("eval", "--checkpoint", trained("tnp-a"), "--batches", 2)
    expect("teacher forced  " in text and "free running  " in text, text)


@case
def what_predicts_at_one_shot_is_judged_so_beside_baselines():
    (row,) = as_json("eval", "--checkpoint", trained())
    expect(row["headline"] == "log_likelihood" and row["how"]["one_shot.log_likelihood"] == "one-shot, exact", row)
    expect("free_running" not in row and "teacher_forced" not in row, row)
    for baseline in ("persistence_one_step", "persistence", "seasonal_naive", "drift", "holt_winters"):
        expect(row[baseline]["mse"] > 0, row)
    expect(row["seasonal_naive"]["mse"] < 0.2 * row["persistence"]["mse"], row)  # it has days and nights
    expect(row["holt_winters"]["mse"] < 0.5 * row["persistence"]["mse"], row)
    text = succeed("eval", "--checkpoint", trained())
    expect("free-running is one-shot: " in text and "seasonal naive  " in text, text)
    succeed("plot", "--checkpoint", trained(), "--out", HERE / "windows.png")


@case
def a_run_goes_on_and_is_repeated():
    first = model_hash(trained())
    succeed("train", "--config", HERE / "tnp-d/config.toml", "--out", HERE / "again")
    expect(model_hash(HERE / "again/checkpoint.safetensors") == first, "the same run once more")
    before = table().read_bytes()
    table_path = HERE / "load.csv"
    table_path.write_bytes(before.replace(b";x", b";y", 1))
    fail("train", "--config", HERE / "tnp-d/config.toml", "--out", HERE / "third", naming=["has changed: checksum "])
    table_path.write_bytes(before)


@case
def wrong_uses_are_told():
    base = ["train", "--table", table(), "--model", "tnp-d", "--out", HERE / "no"]
    wrong_usage(*base, "--values", "load", "--time", "when", naming=["--table, --time, --context and --horizon belong together"])
    wrong_usage(*base, "--values", "load", "--context", 5, "--horizon", 3, naming=["--table, --time, --context and --horizon belong together"])
    wrong_usage(*base, *FLAGS, "--inputs", "when", naming=["--time excludes --inputs and --group"])
    fail("train", "--table", table(), "--model", "tnp-d", "--out", HERE / "no", "--time", "then", "--values", "load", "--context", 5, "--horizon",
         3, naming=['no column "then"'])
    fail(*base, "--time", "when", "--values", "load", "--context", 300, "--horizon", 60, naming=["load.csv: 400 points found, expected more"])
    twice = write("twice.csv", "when,load\n2024-01-01,1\n2024-01-01,2\n")
    fail("train", "--table", twice, *FLAGS, "--model", "tnp-d", "--out", HERE / "no", naming=["two rows of the time 2024-01-01 found"])
    for flag in (["--group", "remark"], ["--truth", table()], ["--no-standardise"], ["--neighbours", 3]):
        fail("predict", table(), "--checkpoint", trained(), *flag, naming=[f"{flag[0]} found, but tnp-d was trained to forecast"])
    fail("predict", table(), "--checkpoint", trained(), "--horizon", 2.5, naming=["--horizon 2.5 found, expected a whole number of steps from 1 to 4096"])
    fail("predict", table(), "--horizon", 3, naming=["--horizon found, expected a --checkpoint of a model of forecasts"])
    fail("predict", write("short.csv", "when,load\n2024-01-01,1\n2024-01-02,\n"), "--checkpoint", trained(),
         naming=["1 known points found in the last 24, expected 2 or more"])
    expect(not (HERE / "no").exists(), "a refused training leaves a directory")


if __name__ == "__main__":
    sys.exit(run_cases())
