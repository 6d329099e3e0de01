#!/usr/bin/env python3
"""Tests of trainings on a table of one's own events: train_events_test.py PATH_TO_NPZOO"""

import datetime
import math
import random
import sys

from cli_support import HERE, as_json, case, expect, fail, run_cases, succeed, write, wrong_usage

VISITS = ["look", "buy", "leave"]


def visits(shops=1, events=120):
    """A table of visits to shops, most of them minutes and every fourth hours after the one before; two at one time."""
    draw = random.Random(7)
    rows = ["when;shop;what;clerk"]
    for shop in range(shops):
        time = datetime.datetime(2024, 3, 1, 8)
        for i in range(events):
            if i != 5:
                time += datetime.timedelta(seconds=round(draw.expovariate(1 / 600 if i % 4 else 1 / 7200)))
            rows.append(f"{time:%Y-%m-%d %H:%M:%S};shop {shop};{draw.choice(VISITS)};x")
    return write(f"visits{shops}.csv", "\n".join(rows) + "\n")


def train_on(path, out, *more):
    return ["train", "--events", path, "--time", "when", "--mark", "what", "--set", "models.thp-plus.d_model=16", "--set",
            "models.thp-plus.d_inner=16", "--steps", 60, "--batch", 4, "--seed", 1, "--out", HERE / out, *more]


@case
def training_on_an_own_sequence():
    path = visits()
    told = as_json(*train_on(path, "own"))
    weights = told["checkpoint"]
    protocol = (HERE / "own" / "protocol.toml").read_text()
    expect('held_out_by = "time"' in protocol and "mark_names = [ 'buy', 'leave', 'look' ]" in protocol.replace('"', "'"), protocol)
    (scores,) = as_json("eval", "--checkpoint", weights)
    expect(all(math.isfinite(scores[name]) for name in ("log_likelihood", "poisson_log_likelihood", "hawkes_log_likelihood")), scores)
    out, paths = HERE / "own-next.csv", HERE / "own-paths.csv"
    succeed("predict", path, "--checkpoint", weights, "--out", out, "--samples", 3, "--horizon", 0.5, "--samples-out", paths)
    head, row = [line.split(",") for line in out.read_text().splitlines()]
    expect(head == ["sequence", "last_when", "mean_when", "q0.05_when", "q0.5_when", "q0.95_when", "p_what_buy", "p_what_leave", "p_what_look",
                    "mean_events", "q0.05_events", "q0.5_events", "q0.95_events"], head)
    last = path.read_text().splitlines()[-1].split(";")[0].replace(" ", "T")
    expect(row[1] == last and last <= row[3] <= row[4] <= row[5] and last < row[2] < "2025", row)
    lines = [line.split(",") for line in paths.read_text().splitlines()]
    expect(lines[0] == ["sequence", "sample", "when", "what"] and len(lines) > 3, lines[0])
    expect(all(last <= when and what in VISITS for _, _, when, what in lines[1:]), lines)
    later = f"{datetime.datetime.fromisoformat(last) + datetime.timedelta(hours=1):%Y-%m-%dT%H:%M:%S}"
    rows = succeed("predict", path, "--checkpoint", weights, "--now", later).splitlines()
    expect(all(later < cell for cell in rows[1].split(",")[2:6]), rows, later)
    fail("predict", path, "--checkpoint", weights, "--now", 3, naming=['the time "3" found, expected a date without a zone as in the table'])
    other = write("other.csv", path.read_text().replace(";look;", ";steal;"))
    fail("predict", other, "--checkpoint", weights, naming=['column "what" holds "steal", expected a mark of the training: buy, leave, look'])
    succeed("plot", "--checkpoint", weights, "--out", HERE / "own.svg", "--tasks", 1)
    expect(as_json("train", "--resume", "--out", HERE / "own")["steps"] == 60, "a finished run has nothing to do")
    path.write_text(path.read_text().replace("look", "buy", 1))
    fail("eval", "--checkpoint", weights, naming=["visits1.csv", "checksum"])


@case
def training_on_own_sequences():
    path = visits(shops=12, events=12)
    weights = as_json(*train_on(path, "shops", "--sequence", "shop"))["checkpoint"]
    expect('held_out_by = "sequence"' in (HERE / "shops" / "protocol.toml").read_text().replace("'", '"'), "twelve sequences are enough")
    rows = [line.split(",") for line in succeed("predict", path, "--checkpoint", weights).splitlines()]
    expect([row[0] for row in rows] == ["shop", *(f"shop {i}" for i in range(12))], rows)


@case
def training_on_own_events_that_do_not_suffice():
    one = write("one.csv", "t\n1\n")
    fail("train", "--events", one, "--time", "t", "--out", HERE / "no", naming=["one.csv: no time passes between events of a sequence"])
    fail("train", "--events", write("few.csv", "t\n1\n2\n"), "--time", "t", "--out", HERE / "no", naming=["few.csv has too few events"])
    fail("train", "--events", one, "--time", "u", "--out", HERE / "no", naming=["one.csv", '"u"'])
    fail("train", "--events", write("back.csv", "t\n5\n2\n9\n"), "--time", "t", "--out", HERE / "no",
         naming=['back.csv:3] column "t" holds "2", expected more than 5, the time of the previous event of the sequence'])
    fail("train", "--events", write("gap.csv", "t,k\n1,a\n2,\n3,b\n"), "--time", "t", "--mark", "k", "--out", HERE / "no",
         naming=['gap.csv:3] column "k" holds ""', "expected the kind of the event"])
    wrong_usage("train", "--events", one, "--out", HERE / "no", naming=["--events and --time belong together"])
    wrong_usage("train", "--sequence", "a", "--protocol", "quick/hawkes", "--model", "cmhp", "--out", HERE / "no",
                naming=["--events and --time belong together"])
    wrong_usage("train", "--events", one, "--time", "t", "--images", "p", "--out", HERE / "no", naming=["exclude each other"])
    expect(not (HERE / "no").exists(), "a refused training leaves no folder")


sys.exit(run_cases())
