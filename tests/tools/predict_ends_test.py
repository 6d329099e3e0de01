#!/usr/bin/env python3
"""Tests of `npzoo predict` after the last known value of a series: predict_ends_test.py PATH_TO_NPZOO"""

import csv
import io
import math
import sys

from cli_support import HERE, as_json, case, expect, fail, run_cases, succeed, write, wrong_usage

MONTHS, AHEAD = 60, 12


def sales(i):
    """A line and a season of twelve months."""
    return 100 + 2 * i + 15 * math.sin(2 * math.pi * i / 12)


def table(known=MONTHS, name="sales.csv"):
    rows = [f"{2015 + i // 12}-{1 + i % 12:02d}-01,{f'{sales(i):.4f}' if i < known else ''}" for i in range(known + AHEAD)]
    return write(name, "\n".join(["month,sales", *rows]) + "\n")


def means(*flags):
    rows = csv.DictReader(io.StringIO(succeed("predict", table(), *flags)))
    return [float(row["mean_sales"]) for row in rows][-AHEAD:]


@case
def trend_and_season_go_on():
    for flags in ((), ("--period", "1y"), ("--period", "12")):
        error = max(abs(mean - sales(MONTHS + i)) for i, mean in enumerate(means(*flags)))
        expect(error < 5, flags, error)
    alone = max(abs(mean - sales(MONTHS + i)) for i, mean in enumerate(means("--ends", "weights")))
    expect(alone > 5, "the weights by themselves do not follow a line, so the combination did:", alone)


@case
def check_hides_the_last_season():
    (told,) = [as_json("predict", table(), "--check", "--out", HERE / "checked.csv")["check"]]
    expect(len({row["method"] for row in told}) == len(told) >= 4 and all(row["values"] == AHEAD for row in told), told)
    expect(all(set(row) == {"method", "mase", "crps", "coverage_95", "skill", "values"} for row in told), told)
    best = min(told, key=lambda row: row["crps"])
    expect(best["skill"] > 0 and sum(row["skill"] == 0 for row in told) == 1, "the seasonal naive forecast has skill 0:", told)
    lines = succeed("predict", table(), "--check", "--out", HERE / "checked.csv").splitlines()
    expect(lines[0].startswith("last season hidden") and len(lines) == len(told) + 2, lines)
    expect(lines[-1] == f"lowest CRPS: {best['method']}, {AHEAD} values", lines[-1])


@case
def check_of_a_short_series():
    short = table(4, "short.csv")
    expect(as_json("predict", short, "--check", "--out", HERE / "short-out.csv")["check"] == [], "nothing was hidden")
    text = succeed("predict", short, "--check", "--out", HERE / "short-out.csv")
    expect(text == "check: no series with equal steps is long enough to hide its last season\n", text)


@case
def pictures_show_paths_truth_and_other_methods():
    truth = write("truth.csv", table(MONTHS + AHEAD, "all.csv").read_text())
    picture = HERE / "ends.svg"

    def curves(*flags):
        succeed("predict", table(), "--plot", picture, *flags)
        return picture.read_text().count("<path")

    plain = curves()
    expect(curves("--samples", 9, "--samples-out", HERE / "paths.csv") == plain + 4, "nine paths instead of five")
    expect(curves("--baselines") > plain + 3, "four methods")
    expect(curves("--truth", truth) > plain, "the truth")
    expect(curves("--ends", "weights") < plain, "paths after the end are those of the combination")


@case
def what_ends_refuse():
    wrong_usage("predict", table(), "--ends", "guess")
    fail("predict", table(), "--period", "5q", naming=["5q"])
    fail("predict", table(), "--period", "1", naming=["period"])


if __name__ == "__main__":
    sys.exit(run_cases())
