#!/usr/bin/env python3
"""Tests of `npzoo fit`: fit_test.py PATH_TO_NPZOO"""

import datetime
import math
import pathlib
import re
import sys
import tempfile

from cli_support import HERE, as_json, case, expect, fail, npzoo, run_cases, succeed, write, wrong_usage


@case
def fitted_processes_are_scored_alike_by_oracle():
    with tempfile.TemporaryDirectory() as name:
        table, process = pathlib.Path(name) / "events.csv", pathlib.Path(name) / "best.toml"
        succeed("sample", "events/hawkes", "--tasks", "4", "--out", table)
        fitted = as_json("fit", "events", table, "--clock", "10", "--parts", "2", "--out", process)
        expect([f["process"] for f in fitted] == ["Poisson", "clock Poisson", "Hawkes"], fitted)
        best = min(fitted, key=lambda f: f["aic"])
        scored = as_json("oracle", table, "--process", process)
        expect(abs(scored["total"] - best["total"]) < 1e-9 * abs(best["total"]), scored, best)
        expect("excitation of 1 by 0" in succeed("fit", "events", table), "parameters have names")


def rows(times, kinds=None, head="time,mark"):
    kinds = [""] * len(times) if kinds is None else [f",{k}" for k in kinds]
    return head + "\n" + "".join(f"{t}{k}\n" for t, k in zip(times, kinds))


TIMES = [round(.4 * i + .3 * math.sin(i), 4) + 1 for i in range(60)]
KINDS = ["503" if i % 7 == 3 else "200" for i in range(60)]


@case
def kinds_are_names_and_not_indices():
    # With 504 kinds the curvature alone would be 500 GB.
    words = as_json("fit", "events", write("words.csv", rows(TIMES, ["fault" if k == "503" else "ask" for k in KINDS])))
    fitted = as_json("fit", "events", write("codes.csv", rows(TIMES, KINDS)))
    for process, other in zip(fitted, words):
        expect(process["aic"] == other["aic"] or abs(process["aic"] - other["aic"]) < 1e-6 * abs(other["aic"]), process, other)
    names = [p["name"] for p in fitted[0]["parameters"]]
    expect(names == ["rate 200", "rate 503"] and "excitation of 503 by 200" in [p["name"] for p in fitted[1]["parameters"]], names)
    expect([p["name"] for p in words[0]["parameters"]] == ["rate ask", "rate fault"], words[0])
    observed = TIMES[-1]
    expect(abs(fitted[0]["parameters"][1]["value"] - KINDS.count("503") / observed) < 1e-12, fitted[0])
    expect("60 events of 2 marks in 1 sequence\n" in succeed("fit", "events", HERE / "codes.csv"), "names of kinds")


@case
def many_kinds_take_little_memory():
    times = [round(.1 * i, 3) + 1 for i in range(200)]
    done = npzoo("fit", "events", write("many.csv", rows(times, [f"k{i % 40}" for i in range(200)])))
    expect(done.returncode == 0 and "1600 excitations: see --json; no standard errors for more than 12 kinds" in done.stdout, done)


@case
def one_kind_one_sequence_and_columns_by_name():
    plain = succeed("fit", "events", write("plain.csv", rows(TIMES, head="time")))
    marked = write("marked.csv", rows(TIMES, KINDS))
    for flag in (["--mark", ""], ["--mark="]):
        expect(succeed("fit", "events", marked, *flag) == plain, flag)
    expect("60 events of 1 mark in 1 sequence" in plain, plain)
    other = write("other.csv", rows(TIMES, KINDS, "at,what"))
    fail("fit", "events", other, naming=["0 columns of dates and none called time", "at, what"])
    named = succeed("fit", "events", other, "--time", "at", "--mark", "what")
    expect(named == succeed("fit", "events", marked), named)
    two = write("two.csv", "sequence,time\n" + "".join(f"{i % 2},{t}\n" for i, t in enumerate(TIMES)))
    expect("in 2 sequences" in succeed("fit", "events", two) and succeed("fit", "events", two, "--sequence", "") == plain, "sequences")


@case
def dates_newest_first_and_equal_times():
    start = datetime.datetime(2024, 2, 3, 4, 5, 6)
    whens = [start + datetime.timedelta(days=t) for t in TIMES]
    ascending = write("ascending.csv", rows([w.isoformat() for w in whens], KINDS, "when,mark"))
    descending = write("descending.csv", rows([w.isoformat() for w in reversed(whens)], KINDS[::-1], "when,mark"))
    text = succeed("fit", "events", ascending)
    done = npzoo("fit", "events", descending)
    first = lambda text: text.splitlines()[:4]  # noqa: E731
    expect(first(done.stdout) == first(text) and "times in days" in text, done.stdout, text)
    expect("1 sequence come newest first" in done.stderr, done.stderr)
    numbers = succeed("fit", "events", write("from0.csv", rows([t - TIMES[0] for t in TIMES], KINDS)))
    rate = lambda text: float(re.search(r"rate 200 +(\S+)", text)[1])  # noqa: E731
    expect(abs(rate(numbers) - rate(text)) < 1e-4 * rate(text), numbers, text)
    fail("fit", "events", ascending, "--start", 3, naming=["--start or --end found, but column \"when\" holds dates"])
    mixed = write("mixed.csv", rows([w.isoformat() for w in whens[10:] + whens[:10]], head="when"))
    fail("fit", "events", mixed, naming=["sort the rows by time, or name the column of sequences"])
    rounded = npzoo("fit", "events", write("rounded.csv", rows([round(t) for t in TIMES], KINDS)), "--out", HERE / "rounded.toml")
    expect(rounded.returncode == 0 and "events at the time of the one before, as after rounding to seconds, moved apart by" in rounded.stderr, rounded.stderr)
    best = as_json("oracle", HERE / "rounded.csv", "--process", HERE / "rounded.toml")
    again = min(as_json("fit", "events", HERE / "rounded.csv"), key=lambda f: f["aic"])
    expect(abs(best["total"] - again["total"]) < 1e-9 * abs(again["total"]), best, again)


@case
def oracle_reads_what_fit_read():
    start = datetime.datetime(2024, 2, 3, 4, 5, 6)
    table = write("log.csv", rows([(start + datetime.timedelta(days=t)).isoformat() for t in TIMES][::-1], KINDS[::-1], "when,status"))
    fitted = as_json("fit", "events", table, "--mark", "status", "--clock", 1, "--parts", 4, "--out", HERE / "log.toml")
    best = min(fitted, key=lambda f: f["aic"])
    scored = as_json("oracle", table, "--process", HERE / "log.toml")
    expect(abs(scored["total"] - best["total"]) < 1e-9 * abs(best["total"]), scored, best)


@case
def wrong_tables_and_flags():
    expect("events" in succeed("fit", "--help"), "fit --help names its commands")
    wrong_usage("fit", "events", "x.csv", "--parts", "0")
    fail("fit", "events", "no_such.csv", naming=["no_such.csv"])
    fail("fit", "events", "-", naming=["TABLE is standard input, expected a file"])
    kinds = write("kinds.csv", rows(range(1, 1200), range(1, 1200)))
    fail("fit", "events", kinds, naming=["column \"mark\" holds more than 1000 kinds of events, expected fewer"])
    fail("fit", "events", write("blank.csv", "time,mark\n1,a\n2,\n"), naming=["column \"mark\" holds \"\", expected the kind of the event"])


if __name__ == "__main__":
    sys.exit(run_cases())
