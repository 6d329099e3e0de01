#!/usr/bin/env python3
"""Tests of forecasts of a table of one's own: forecast_test.py PATH_TO_NPZOO"""

import datetime
import json
import math
import random
import sys

from cli_support import HERE, as_json, case, check_keys, expect, fail, model_hash, npzoo, run_cases, succeed, write, wrong_usage

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
def forecasts_have_bands_paths_and_a_picture():
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
    alone = as_json("predict", table(), "--checkpoint", trained(), "--samples", 3, "--plot", picture)
    expect(picture.read_text() == text and alone["samples"] == 3 and "samples_out" not in alone, "paths are drawn without a table of them", alone)
    succeed("predict", table(), "--checkpoint", trained(), "--plot", picture)
    expect(picture.read_text() != text, "a picture without paths")
    before = out.read_bytes()
    (HERE / "load.csv").rename(HERE / "other.csv")  # a forecast needs no table but its own
    succeed("predict", HERE / "other.csv", "--checkpoint", trained(), "--quantiles", "0.05,0.95", "--out", out)
    expect(out.read_bytes() == before, "the same forecast again")


@case
def a_horizon_is_shortened_and_gone_beyond():
    near = rows_of(write("near.csv", succeed("predict", "--header", table(), "--checkpoint", trained(), "--horizon", 3)))[1]
    far = succeed("predict", "--header", table(), "--checkpoint", trained(), "--horizon", 30, "--quantiles", 0.5)
    expect("one-shot, exact; from step 9 on free-running, 200 paths of windows of 8, each at one shot" in far, far)
    all_of_it = rows_of(write("far.csv", succeed("predict", "--header", table(), "--checkpoint", trained())))[1]
    expect(near == all_of_it[:3], near, all_of_it)
    far = rows_of(write("far.csv", far))[1]
    expect(len(far) == 30 and far[-1][0] == when(429), far)
    for row, exact in zip(far, all_of_it):
        expect(row[:3] == exact, row, exact)


@case
def a_longer_horizon_changes_no_step_before():
    for model in ("tnp-d", "tnp-a"):
        tables = []
        for horizon in (3, 8, 9, 20):
            paths = HERE / "paths.csv"
            text = succeed("predict", table(), "--checkpoint", trained(model), "--horizon", horizon, "--quantiles", 0.9, "--samples", 4,
                           "--out", "-", "--samples-out", paths)
            tables.append((rows_of(write("out.csv", text))[1], rows_of(paths)[1]))
        for rows, paths in tables:
            expect(rows[:9] == tables[-1][0][:min(9, len(rows))], model, len(rows), rows[0], tables[-1][0][0])
            expect(paths == tables[-1][1][:len(paths)], model, len(rows), paths[:4])


@case
def monthly_forecasts_go_on_by_the_calendar():
    months = lambda last: [datetime.date(2012 + m // 12, m % 12 + 1, 1) if not last else
                           datetime.date(2012 + (m + 1) // 12, (m + 1) % 12 + 1, 1) - datetime.timedelta(days=1) for m in range(120)]
    for last in (False, True):
        rows = "".join(f"{day},{math.sin(i / 2):.4f}\n" for i, day in enumerate(months(last)[:108]))
        path, out = write("mon.csv", "time,y\n" + rows), HERE / f"months-{last}"
        small = [text.format("tnp-d") for text in SMALL]
        if not last:
            succeed("train", "--table", path, "--time", "time", "--values", "y", "--context", 12, "--horizon", 3, "--model", "tnp-d", *small,
                    "--steps", 2, "--batch", 4, "--validation-batches", 1, "--out", HERE / "months")
        found = rows_of(write("out.csv", succeed("predict", path, "--checkpoint", HERE / "months/checkpoint.safetensors", "--horizon", 12)))[1]
        expect([row[0] for row in found] == [str(day) for day in months(last)[108:]], found)


@case
def forecasts_go_on_by_leap_days_business_days_and_quarters():
    def days(first, count):
        return [datetime.date.fromisoformat(first) + datetime.timedelta(days=day) for day in range(count)]

    steps = {"leap": days("2023-07-01", 246), "business": [day for day in days("2023-01-02", 350) if day.weekday() < 5][:246],
             "quarters": [datetime.date(1990 + q // 4, 3 * (q % 4) + 1, 1) for q in range(126)]}
    for name, times in steps.items():
        path = write(f"{name}.csv", "when,load\n" + "".join(f"{day},{math.sin(i / 2):.4f}\n" for i, day in enumerate(times[:-6])))
        small = [text.format("tnp-d") for text in SMALL]
        succeed("train", "--table", path, "--time", "when", "--values", "load", "--context", 12, "--horizon", 6, "--model", "tnp-d", *small,
                "--steps", 1, "--batch", 4, "--validation-batches", 1, "--out", HERE / name)
        found = rows_of(write("out.csv", succeed("predict", path, "--checkpoint", HERE / name / "checkpoint.safetensors")))[1]
        expect([row[0] for row in found] == [str(day) for day in times[-6:]], name, found)


@case
def a_series_unlike_that_of_training_is_warned_of():
    hours = [(when(hour), 500 + hour % 7) for hour in range(40)]

    def told(rows, *naming, **more):
        done = npzoo("predict", write("now.csv", "when,load\n" + "".join(f"{t},{y}\n" for t, y in rows)), "--checkpoint", trained(), "--json",
                     "--out", HERE / "o.csv")
        expect(done.returncode == 0, done.stderr)
        warnings = json.loads(done.stdout)["warnings"]
        expect(len(warnings) == len(naming) == done.stderr.count("warning"), warnings, done.stderr)
        for part, warning in zip(naming, warnings):
            expect(part in warning, warning)

    told(hours)
    told(hours[:5], "5 known rows to forecast from, but the model was trained on windows of 24")
    told([(when(24 * i), y) for i, (_, y) in enumerate(hours)], "rows are 1 apart, but 0.04167 in training, in days")
    told([(t, 500) for t, _ in hours], "column load is 500 in all rows to forecast from")
    fail("predict", write("now.csv", "when,load\n" + "".join(f"{t},{y}e300\n" for t, y in hours)), "--checkpoint", trained(),
         naming=["the forecast is no number, expected a finite number: values as large as 5.06e+302 are too large"])
    late = "".join(f"9999-12-31T{hour:02}:00:00,{hour}\n" for hour in range(24))
    fail("predict", write("now.csv", "when,load\n" + late), "--checkpoint", trained(), naming=["the horizon ends after the year 9999"])
    fail("predict", table(), "--checkpoint", trained(), "--samples", 10_000, "--horizon", 4096, "--samples-out", HERE / "s.csv",
         naming=["10000 paths of 4096 steps of 1 columns found", "expected at most 20000000"])


@case
def rows_with_some_of_their_values_are_counted():
    rows = "".join(f"{when(hour)},{hour % 5},{hour % 3}\n" for hour in range(200)) + f"{when(200)},,5\n"
    path = write("two.csv", "when,a,b\n" + rows)
    small = [text.format("tnp-d") for text in SMALL]
    succeed("train", "--table", path, "--time", "when", "--values", "a,b", "--context", 12, "--horizon", 3, "--model", "tnp-d", *small, "--steps",
            2, "--batch", 4, "--validation-batches", 1, "--out", HERE / "two")
    done = npzoo("predict", path, "--checkpoint", HERE / "two/checkpoint.safetensors", "--out", HERE / "o.csv")
    expect("1 row has some of a, b and not all: the forecast does not use it" in done.stderr, done.stderr)


@case
def stepwise_models_forecast_free_running():
    found = as_json("predict", table(), "--checkpoint", trained("tnp-a"), "--out", HERE / "next.csv")
    expect(found["how"] == "free-running, 50 samples", found)
    (row,) = as_json("eval", "--checkpoint", trained("tnp-a"), "--batches", 2)
    expect(row["headline"] == "joint_log_likelihood" and row["how"]["joint_log_likelihood"] == "teacher-forced", row)
    for mode in ("teacher_forced", "free_running"):
        check_keys({key: row[mode][key] for key in ("log_likelihood", "mse", "mae", "crps", "coverage", "mse_at_8")},
                   "log_likelihood", "mse", "mae", "crps", "coverage", "mse_at_8")
        check_keys(row[mode]["coverage"], "50", "80", "90", "95")
    expect("one_shot" not in row, row)
    text = succeed("eval", "--checkpoint", trained("tnp-a"), "--batches", 2)
    expect("teacher forced  " in text and "free running  " in text, text)


@case
def one_shot_models_are_scored_beside_baselines():
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
def a_training_is_compared_with_forecasts_without_training():
    found = as_json(*train("weak", "tnp-d", 2))
    check_keys(found["forecasts"], "windows", "best", "trained", "untrained", "seasonal_naive")
    ways = {way: score for way, score in found["forecasts"].items() if isinstance(score, dict)}
    expect(all(score["mase"] > 0 and score["crps"] > 0 for score in ways.values()), ways)
    expect(found["forecasts"]["best"] in ("untrained", "seasonal_naive"), found)
    expect(0 < found["forecasts"]["windows"] <= 24, found)
    said = succeed("train", "--resume", "--out", HERE / "weak")
    for line in ("trained weights  ", "no training  ", "seasonal naive  ", "recommended: "):
        expect(line in said, said)
    advice = "Without these weights: npzoo predict TABLE --inputs when --values load --targets FUTURE"
    expect(advice in said, said)
    future = write("future.csv", "when\n" + "".join(f"{when(HOURS + h)}\n" for h in range(HORIZON)))
    command = [{"TABLE": table(), "FUTURE": future}.get(word, word) for word in advice.split("npzoo ")[1].split()]
    rows = rows_of(write("untrained.csv", succeed(*command)))[1]
    expect([row[0] for row in rows] == [when(HOURS + h) for h in range(HORIZON)], rows)


@case
def weights_that_training_does_not_improve_are_kept():
    begun = ["train", "--table", table(), *FLAGS, "--init", trained(), "--batch", 4, "--steps", 2, "--lr", 0.1]
    found = as_json(*begun, "--out", HERE / "kept")
    expect(found["best_step"] == 0, found)
    said = succeed("train", "--resume", "--out", HERE / "kept")
    expect("weights kept    those that the training began with" in said, said)


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
def wrong_uses_are_refused():
    base = ["train", "--table", table(), "--model", "tnp-d", "--out", HERE / "no"]
    wrong_usage(*base, "--values", "load", "--time", "when", naming=["--table, --time, --context and --horizon belong together"])
    wrong_usage(*base, "--values", "load", "--context", 5, "--horizon", 3, naming=["--table, --time, --context and --horizon belong together"])
    wrong_usage(*base, *FLAGS, "--inputs", "when", naming=["--time excludes --inputs and --group"])
    fail("train", "--table", table(), "--model", "tnp-d", "--out", HERE / "no", "--time", "then", "--values", "load", "--context", 5, "--horizon",
         3, naming=['no column "then"'])
    fail(*base, "--time", "when", "--values", "load", "--context", 300, "--horizon", 60, naming=["load.csv: 400 points found, expected a window of 300 + 60 known points"])
    twice = write("twice.csv", "when,load\n2024-01-01,1\n2024-01-01,2\n")
    fail("train", "--table", twice, *FLAGS, "--model", "tnp-d", "--out", HERE / "no", naming=["two rows of the time 2024-01-01 found"])
    for flag in (["--group", "remark"], ["--truth", table()], ["--no-standardise"], ["--neighbours", 3]):
        fail("predict", table(), "--checkpoint", trained(), *flag, naming=[f"{flag[0]} found, but tnp-d was trained to forecast"])
    fail("predict", table(), "--checkpoint", trained(), "--horizon", 2.5, naming=["--horizon 2.5 found, expected a whole number of steps from 1 to 4096"])
    fail("predict", write("short.csv", "when,load\n2024-01-01,1\n2024-01-02,\n"), "--checkpoint", trained(),
         naming=["1 known points found in the last 24, expected 2 or more"])
    expect(not (HERE / "no").exists(), "a refused training leaves a directory")


if __name__ == "__main__":
    sys.exit(run_cases())
