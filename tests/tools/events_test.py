#!/usr/bin/env python3
"""Tests of sequences of events in the program: events_test.py PATH_TO_NPZOO"""

import json
import math
import sys

from cli_support import HERE, as_json, case, check_keys, expect, fail, npzoo, run_cases, succeed, write, wrong_usage

MU = [0.2, 0.3]
ALPHA = [[0.8, 0.1], [0.4, 0.5]]
BETA = [[2.0, 1.0], [1.5, 1.0]]
HAWKES = f'kind = "hawkes"\nbaseline = {MU}\nexcitation = {ALPHA}\ndecay = {BETA}\n'
EVENTS = {"a": [(0.5, 0), (1.25, 1), (1.5, 1), (4.0, 0)], "b": [(2.0, 1)], "c": [(0.0, 0), (0.125, 0)]}


def table(events=EVENTS, head="sequence,time,mark"):
    rows = [f"{name},{time},{mark}" for name, row in events.items() for time, mark in row]
    return write("events.csv", "\n".join([head, *rows]) + "\n")


def naive(events, end=None):
    """Every event against every other one, and the integral of every intensity in closed form."""
    total = 0
    for row in events.values():
        until = end or row[-1][0]
        for i, (time, k) in enumerate(row):
            total += math.log(MU[k] + sum(ALPHA[k][j] * math.exp(-BETA[k][j] * (time - s)) for s, j in row[:i]))
        for k in range(2):
            total -= MU[k] * until + sum(ALPHA[k][j] / BETA[k][j] * (1 - math.exp(-BETA[k][j] * (until - s))) for s, j in row)
    return total


@case
def oracle_of_a_table():
    path, process = table(), write("hawkes.toml", HAWKES)
    found = as_json("oracle", path, "--process", process)
    check_keys(found, "table", "process", "sequences", "events", "log_likelihood", "standard_error", "total")
    expect((found["process"], found["sequences"], found["events"]) == ("Hawkes", 3, 7), found)
    expect(math.isclose(found["total"], naive(EVENTS), rel_tol=1e-12), found, naive(EVENTS))
    expect(math.isclose(found["log_likelihood"], naive(EVENTS) / 7, rel_tol=1e-12), found)
    later = as_json("oracle", path, "--process", write("later.toml", HAWKES + "end = 6\n"))
    expect(math.isclose(later["total"], naive(EVENTS, 6), rel_tol=1e-12), later, naive(EVENTS, 6))
    text = succeed("oracle", path, "--process", process)
    expect("7 events in 3 sequences under the Hawkes process" in text and "nats per event" in text, text)


@case
def oracle_of_times_that_do_not_begin_at_zero():
    unix = {name: [(1_700_000_000 + time, mark) for time, mark in row] for name, row in EVENTS.items() if len(row) > 1}
    plain = {name: row for name, row in EVENTS.items() if len(row) > 1}
    process, path = write("hawkes.toml", HAWKES), table(unix)
    done = npzoo("oracle", path, "--process", process)
    expect(done.returncode == 0 and done.stderr.count("warning") == 1, done.stderr)
    expect("the first event is at 1700000000, long after time 0, where observation begins" in done.stderr, done.stderr)
    done = npzoo("oracle", path, "--process", write("start.toml", HAWKES + "start = 1.7e9\n"), "--json")
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    expect(math.isclose(json.loads(done.stdout)["total"], naive(plain), rel_tol=1e-5), done.stdout, naive(plain))
    expect("warning" not in npzoo("oracle", table(), "--process", process).stderr, "usual times")
    ties = write("ties.csv", "sequence,time,mark\na,1,0\na,1,1\na,3,0\n")
    found = as_json("oracle", ties, "--process", write("gap.toml", HAWKES + "least_gap = 0.25\n"))
    expect(math.isclose(found["total"], naive({"a": [(1, 0), (1.25, 1), (3, 0)]}), rel_tol=1e-12), found)
    far = succeed("oracle", table({"a": [(1e15, 0)]}), "--process", process)
    expect(len(far) < 200, "hundreds of digits:", far)


@case
def oracle_without_marks_or_errors():
    one = {name: [(time, 0) for time, _ in row] for name, row in EVENTS.items()}
    plain = write("plain.csv", "".join(f"{name},{time}\n" if name else "" for name, time in
                                       [("sequence", "time")] + [(n, t) for n, row in one.items() for t, _ in row]))
    poisson = write("poisson.toml", 'kind = "poisson"\nrates = [0.5]\n')
    found = as_json("oracle", plain, "--process", poisson)
    expect(math.isclose(found["total"], 7 * math.log(0.5) - 0.5 * 6.125, rel_tol=1e-12), found)
    expect(found == {**as_json("oracle", table(one), "--process", poisson), "table": str(plain)}, "marks of 0 change something")
    single = as_json("oracle", table({"a": [(1.0, 0)]}), "--process", poisson)
    expect(single["standard_error"] is None, single)
    expect("nan" not in succeed("oracle", table({"a": [(1.0, 0)]}), "--process", poisson), "of one sequence no error is known")


@case
def oracle_refuses():
    process = write("hawkes.toml", HAWKES)
    score = lambda rows, *parts: fail("oracle", write("events.csv", "sequence,time,mark\n" + rows), "--process", process, naming=parts)
    score("a,2,0\na,1,0\n", "events.csv:3]", '"time" holds "1"', "expected more than 2")
    score("a,2,0\na,2,1\n", "events.csv:3]", '"time" holds "2"', "expected more than 2")
    score("a,-1,0\n", "events.csv:2]", "expected a time of 0 or more")
    score("a,1,2\n", "events.csv:2]", '"mark" holds "2"', "expected a mark, one of 0 … 1")
    score("a,1,x\n", "events.csv:2]", "expected a number")
    score("", "has no events")
    fail("oracle", write("events.csv", "sequence,time\na,1\n"), "--process", process, naming=["no column", "mark"])
    fail("oracle", HERE / "no.csv", "--process", process, naming=["no.csv"])
    fail("oracle", table(), "--process", HERE / "no.toml", naming=["no.toml"])
    bad = lambda text, *parts: fail("oracle", table(), "--process", write("bad.toml", text), naming=parts)
    bad(HAWKES.replace("[[0.8, 0.1], [0.4, 0.5]]", "[[0.8, 0.1]]"), "excitation is of 1 rows with 2 numbers", "expected 2 rows of 2")
    bad(HAWKES.replace("[1.5, 1.0]", "[1.5, 0.0]"), "decay[1][1] is 0", "expected a number > 0")
    bad(HAWKES.replace("0.8", "-0.8"), "excitation[0][0] is -0.8", "expected a number >= 0")
    bad(HAWKES + "end = 3.0\n", "events.csv:5]", "expected at most the end, 3")
    bad(HAWKES + "start = 3.0\nend = 2.0\n", "end is 2", "expected more than the start, 3")
    bad(HAWKES + "start = 0.1\n", "events.csv:7]", "expected a time of 0.1 or more")
    score("a,2,0\na,2,1\n", "move the later one by a little, or give a least_gap")
    score("a,1,buy\n", '"mark" holds "buy"', "expected a number: write the kinds of events as 0 … 1")
    score("a,2024-01-05,0\n", '"time" holds "2024-01-05"', "not a date: write the time since observation began")
    score("a,1,0\na,1e40,0\n", "events.csv:3]", '"time" holds "1e40"', "expected at most 1e+15")
    bad(HAWKES + "gamma = 3.0\n", "gamma is an unknown key")
    bad(HAWKES.replace("hawkes", "cox"), "kind is 'cox'")
    fail("oracle", table({"a": [(1.0, 1)]}), "--process", write("bad.toml", 'kind = "poisson"\nrates = [1, 0]\n'), naming=['sequence "a"', "-inf"])
    wrong_usage("oracle", table(), "--process", process, "--tasks", 3)
    wrong_usage("oracle", table(), "--process", process, "--set", "data.points=3", naming=["--set"])


@case
def sampled_sequences_score_alike():
    out = HERE / "sampled.csv"
    told = as_json("sample", "events/hawkes", "--tasks", 30, "--seed", 5, "--out", out)
    expect(told == {"tasks": 30, "rows": 30 * 64, "targets": 0}, told)
    process = write("hawkes.toml", HAWKES)
    found = as_json("oracle", out, "--process", process)
    expect((found["events"], found["sequences"]) == (1920, 30), found)
    other = as_json("oracle", out, "--process", write("other.toml", HAWKES.replace("[0.2, 0.3]", "[0.5, 0.6]")))
    expect(found["log_likelihood"] > other["log_likelihood"] + 0.01, found, other)
    fail("sample", "events/hawkes", "--truth", HERE / "truth.csv", naming=["--out alone"])


@case
def oracle_of_protocols():
    (row,) = as_json("oracle", "events/poisson", "--tasks", 400)
    expect((row["protocol"], row["test"], row["tasks"], row["differs"]) == ("events/poisson", "test", 400, []), row)
    entropy = sum(p * math.log(p) for p in (0.2, 0.3, 0.5)) - 1  # of a rate of 1
    expect(abs(row["known_joint"]["value"] - entropy) <= 4 * row["known_joint"]["standard_error"], row, entropy)
    expect("Poisson process" in succeed("oracle", "events/poisson", "--tasks", 400), "its name expected")
    recorded = write("recorded.toml", f"""name = "recorded"
description = "for tests"
source = "npzoo"
extends = "events/taxi"
[data]
file = "{table()}"
""")
    fail("oracle", recorded, naming=["recorded, expected simulated ones"])


def trained():
    """A model that predicts no events, under a protocol of events."""
    path = write("cnp.toml", """name = "events-cnp"
description = "for tests"
source = "npzoo"
extends = "events/hawkes"
[training]
steps = 2
batch_size = 2
schedule = { name = "constant" }
[validation]
every = 2
batches = 1
[evaluation]
trial = "likelihood"
[models.cnp]
architecture = "tnp"
dim_hid = 8
enc_pre_depth = 2
enc_post_depth = 2
dec_depth = 2
""")
    succeed("train", "--protocol", path, "--model", "cnp", "--out", HERE / "run")
    return HERE / "run" / "checkpoint.safetensors"


@case
def predict_refuses_wrong_events():
    weights, path = trained(), table()
    fail("predict", path, "--checkpoint", weights, naming=["the model does not predict events"])
    fail("eval", "--checkpoint", weights, "--set", 'evaluation.trial = "events"', naming=["the model does not predict events"])
    fail("plot", "--checkpoint", weights, "--out", HERE / "p.svg", naming=["the model does not predict events"])
    fail("predict", path, "--checkpoint", weights, "--values", "kind", naming=["no column", "kind"])
    fail("predict", path, "--checkpoint", weights, "--samples", 3, "--samples-out", HERE / "s.csv", naming=["--samples found", "--horizon with it"])
    fail("predict", path, "--checkpoint", weights, "--truth", path, naming=["--truth", "a TABLE of events alone"])
    fail("predict", write("late.csv", "sequence,time,mark\na,2,0\na,1,0\n"), "--checkpoint", weights, naming=["late.csv:3]", "expected more than 2"])
    wrong_usage("predict", path, "--events", "--model", "gp")
    wrong_usage("predict", path, "--events", "--checkpoint", weights)
    values = write("values.csv", "when,load\n2024-01-01,3\n2024-01-02,4\n2024-01-03,5\n")
    fail("predict", values, "--events", "--values", "load", "--truth", values, naming=["a TABLE of events alone"])


@case
def a_model_of_events_from_training_to_picture():
    small = [flag for change in ("data.events=12", "evaluation.batches=3", "validation.every=20", "validation.batches=2",
                                 "training.schedule.warmup_steps=2", "models.thp-plus.d_model=8", "models.thp-plus.d_inner=8",
                                 "models.thp-plus.d_k=8", "models.thp-plus.d_v=8", "models.thp-plus.n_layers=1")
             for flag in ("--set", change)]
    succeed("train", "--protocol", "events/hawkes", "--model", "thp-plus", "--steps", 20, *small, "--out", HERE / "thp")
    weights = HERE / "thp" / "checkpoint.safetensors"
    (scores,) = as_json("eval", "--checkpoint", weights)
    check_keys(scores, "log_likelihood", "time_log_likelihood", "mark_log_likelihood", "mark_accuracy", "gap_rmse", "gap_rmse_of_sums",
               "poisson_log_likelihood", "hawkes_log_likelihood", "true_log_likelihood", "how")
    expect(scores["headline"] == "log_likelihood" and set(scores["how"].values()) == {"teacher-forced"}, scores)
    expect(math.isclose(scores["time_log_likelihood"] + scores["mark_log_likelihood"], scores["log_likelihood"], rel_tol=1e-9), scores)
    text = succeed("eval", "--checkpoint", weights)
    expect("the model is" in text and " below)" in text and "nats per event, teacher-forced" in text and "Poisson" in text, text)

    out, paths = HERE / "next.csv", HERE / "paths.csv"
    told = as_json("predict", table(), "--header", "--checkpoint", weights, "--quantiles", "0.1,0.9", "--out", out, "--samples", 4, "--horizon", 5,
                   "--samples-out", paths)
    expect((told["sequences"], told["events"], told["samples"]) == (3, 7, 4), told)
    rows = [line.split(",") for line in out.read_text().splitlines() if not line.startswith("#")]
    expect(rows[0] == ["sequence", "last_time", "mean_time", "q0.1_time", "q0.9_time", "p_mark_0", "p_mark_1", "mean_events", "q0.1_events",
                       "q0.9_events"], rows[0])
    expect([row[0] for row in rows[1:]] == ["a", "b", "c"], rows)
    for name, *numbers in rows[1:]:
        last, mean, low, high, first, second, count, fewest, most = map(float, numbers)
        expect(last == EVENTS[name][-1][0] and last < low < high and last < mean, name, numbers)
        expect(0 <= fewest <= most and fewest == int(fewest) and fewest <= count <= most + 1, "events until the horizon", numbers)
        expect(math.isclose(first + second, 1, rel_tol=1e-5), numbers)
    lines = paths.read_text().splitlines()
    expect(any("free-running" in line for line in lines), lines[:3])
    before = None
    for line in [line for line in lines if not line.startswith("#")][1:]:
        name, sample, time, mark = line.split(",")
        expect(1 <= int(sample) <= 4 and mark in "01", line)
        last = EVENTS[name][-1][0]
        expect(last <= float(time) <= last + 5, line)
        expect(before is None or before[:2] != (name, sample) or before[2] <= float(time), "times ascend:", line)
        before = (name, sample, float(time))
    succeed("plot", "--checkpoint", weights, "--out", HERE / "p.svg", "--tasks", 1)
    picture = (HERE / "p.svg").read_text()
    expect("<svg" in picture and picture.count("<path") > 3, "curves and events expected")
    fail("predict", table({"a": [(1.0, 2)]}), "--checkpoint", weights, naming=["expected a mark, one of 0 … 1"])

    # Given a silence after the last events.
    later = [row.split(",") for row in succeed("predict", table(), "--checkpoint", weights, "--quantiles", "0.1,0.9", "--now", 6).splitlines()
             if not row.startswith("#")]
    for (name, *numbers), before in zip(later[1:], rows[1:]):
        last, mean, low, high, first, second = map(float, numbers)
        expect(name == before[0] and 6 < low < high and 6 < mean, name, numbers)
    succeed("predict", table(), "--checkpoint", weights, "--now", 6, "--samples", 3, "--horizon", 2, "--out", out, "--samples-out", paths)
    for line in [line for line in paths.read_text().splitlines() if not line.startswith("#")][1:]:
        expect(6 < float(line.split(",")[2]) <= 8, line)
    fail("predict", table(), "--checkpoint", weights, "--now", 3, naming=['--now 3 found, expected 4 or later: sequence "a"'])
    fail("predict", write("values.csv", "time,load\n1,2\n2,3\n"), "--now", 3, naming=["--now found, expected a --checkpoint of a model of events"])
    # Far times and far horizons end at once.
    fail("predict", write("far.csv", "sequence,time,mark\na,1,0\na,1e40,1\n"), "--checkpoint", weights, naming=["far.csv:3]", "expected at most 1e+15"])
    fail("predict", table(), "--checkpoint", weights, "--samples", 1, "--horizon", 1e9, "--samples-out", paths,
         naming=["events on each path until the horizon found, expected at most 4096"])


@case
def a_table_to_predict_is_read_as_that_of_training():
    rows = [("u%d" % (i % 30), i // 30 + i % 3 * 0.25, i % 2) for i in range(360)]
    jodie = write("jodie.csv", "user_id,item_id,timestamp,state_label,features\n" +
                  "".join(f"{int(user[1:])},{mark},{time * 10},0,0.5\n" for user, time, mark in rows for _ in range(1 + (mark == 0))))
    protocol = write("jodie.toml", f"""name = "own-jodie"
description = "for tests"
source = "npzoo"
extends = "events/mooc"
[data]
file = "{jodie}"
marks = 2
unit = 10.0
least_gap = 1e-3
points = 8
[training]
steps = 2
batch_size = 4
schedule = {{ name = "constant" }}
[validation]
every = 2
batches = 1
""")
    small = [flag for change in ("d_model=8", "d_inner=8", "n_head=2", "num_latents=4", "num_latents_per_layer=4", "n_layers=1")
             for flag in ("--set", f"models.cmhp.{change}")]
    succeed("train", "--protocol", protocol, "--model", "cmhp", *small, "--out", HERE / "jodie")
    weights = HERE / "jodie/checkpoint.safetensors"
    text = succeed("predict", jodie, "--checkpoint", weights)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    expect(lines[0].startswith("user,last_timestamp,mean_timestamp,") and len(lines) == 31, lines[:2])
    plain = write("plain.csv", "sequence,time,mark\na,1,0\na,1,1\na,30,0\n")  # with a tie
    expect(len([line for line in succeed("predict", plain, "--checkpoint", weights).splitlines() if line.startswith("a,30,")]) == 1, "ties")


@case
def any_table_of_events_without_a_training():
    """Tables that hold nothing but events are taken for such; others with --events. No unit of time changes the answer."""
    def answer(path, *flags):
        lines = [line for line in succeed("predict", path, *flags).splitlines() if not line.startswith("#")]
        return lines[0].split(","), [line.split(",") for line in lines[1:]]

    out = HERE / "hawkes.csv"
    succeed("sample", "events/hawkes", "--tasks", 3, "--seed", 5, "--out", out)
    header, rows = answer(out)
    expect(header == ["sequence", "last_time", "mean_time", "q0.05_time", "q0.5_time", "q0.95_time", "p_mark_0", "p_mark_1"], header)
    expect(len(rows) == 3 and all(float(row[1]) < float(row[3]) < float(row[4]) < float(row[5]) for row in rows), rows)
    events = [line.split(",") for line in out.read_text().splitlines()[1:] if line.startswith("1,")]
    single = write("single.csv", "time,mark\n" + "".join(f"{t},{k}\n" for _, t, k in events))
    (plain,) = answer(single)[1]
    words = write("words.csv", "when,what\n" + "".join(
        f"2024-01-01 00:{int(float(t)):02}:{float(t) % 1 * 60:09.6f},{'ab'[int(k)]}\n" for _, t, k in events))
    header, (dated,) = answer(words, "--horizon", 0.01)
    expect(header[1:3] == ["last_when", "mean_when"] and header[6:] == ["p_what_a", "p_what_b", "mean_events", "q0.05_events", "q0.5_events",
                                                                       "q0.95_events"], header)
    expect(dated[2].startswith("2024-01-01T00:") and abs(float(dated[6]) - float(plain[6])) < 1e-3, dated, plain)
    hours = write("hours.csv", "t,kind,other\n" + "".join(f"{float(t) / 60!r},{k},1\n" for _, t, k in events))
    header, (named,) = answer(hours, "--events", "--inputs", "t", "--values", "kind")
    expect(all(math.isclose(60 * float(a), float(b), rel_tol=1e-3) for a, b in zip(named[1:6], plain[1:6])), named, plain)
    fail("predict", hours, "--events", naming=["none called time, expected --inputs to name the column of times"])
    dates = write("dates.csv", "when;what\n03/04/2024;a\n05/04/2024;b\n06/05/2024;a\n")
    fail("predict", dates, naming=["--dates dmy, mdy or ymd"])
    expect(answer(dates, "--dates", "dmy")[1][0][1] == "2024-05-06", "the latest of April and May")
    expect(answer(dates, "--dates", "mdy")[1][0][1] == "2024-06-05", "in the order of March, May and June")
    expect(answer(write("plain.csv", "when;what\n03.04.2024;a\n13.04.2024;b\n22.05.2024;a\n"))[1][0][1] == "2024-05-22", "days first")
    ties = npzoo("predict", write("ties.csv", "time,mark\n1,0\n2,1\n2,1\n4,0\n5,1\n"))
    expect(ties.returncode == 0 and "1 event at the time of the one before, as after rounding to seconds, moved apart by 0.001" in ties.stderr, ties.stderr)
    fail("predict", write("many.csv", "time,mark\n" + "".join(f"{i},{i}\n" for i in range(12))),
         naming=["has 12 kinds of events, expected at most 8 without a training", "npzoo train --events"])
    fail("predict", write("once.csv", "time\n3\n"), naming=["no time passes"])
    fail("predict", write("back.csv", "time,mark\n1,a\n4,b\n2,a\n"), naming=["back.csv:4]", "expected more than 4"])


@case
def forecasts_are_in_the_unit_of_the_table():
    """Times in minutes, under a protocol of hours, are those of a table in hours times 60."""
    answers, paths = [], []
    for unit in (1, 60):
        events = {f"s{i}": [(unit * (0.25 * i + 0.5 * j + 0.125 * (j % 3)), j % 2) for j in range(8)] for i in range(10)}
        path = write(f"unit-{unit}.csv", "sequence,time,mark\n" + "".join(f"{name},{time},{mark}\n" for name, row in events.items()
                                                                         for time, mark in row))
        protocol = write(f"unit-{unit}.toml", f"""name = "unit"
description = "for tests"
source = "npzoo"
extends = "events/taxi"
[data]
file = "{path}"
marks = 2
mark = "mark"
sequence = "sequence"
time = "time"
unit = {unit}.0
end = "last event"
points = 8
[training]
steps = 2
batch_size = 2
schedule = {{ name = "constant" }}
[validation]
every = 2
batches = 1
[models.thp-plus]
d_model = 8
d_inner = 8
d_k = 8
d_v = 8
n_layers = 1
""")
        out = HERE / f"unit-{unit}"
        succeed("train", "--protocol", protocol, "--model", "thp-plus", "--out", out)
        succeed("predict", path, "--checkpoint", out / "checkpoint.safetensors", "--out", HERE / "next.csv", "--samples", 3,
                "--horizon", 4 * unit, "--samples-out", HERE / "paths.csv")
        rows = [line.split(",") for line in (HERE / "next.csv").read_text().splitlines() if not line.startswith("#")]
        answers.append([[float(cell) / unit for cell in row[1:6]] for row in rows[1:]])
        rows = [line.split(",") for line in (HERE / "paths.csv").read_text().splitlines() if not line.startswith("#")]
        paths.append([(row[:2], float(row[2]) / unit) for row in rows[1:]])
    for hours, minutes in zip(*answers):
        expect(all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(hours[:5], minutes[:5])), hours, minutes)
        expect(hours[0] < hours[1], "after the last event", hours)
    expect(len(paths[0]) > 30 and len(paths[0]) == len(paths[1]), "events drawn", len(paths[0]), len(paths[1]))
    for hours, minutes in zip(*paths):
        expect(hours[0] == minutes[0] and math.isclose(hours[1], minutes[1], rel_tol=1e-4), "drawn", hours, minutes)


if __name__ == "__main__":
    sys.exit(run_cases())
