#!/usr/bin/env python3
"""Tests of `npzoo fit`: fit_test.py PATH_TO_NPZOO"""

import pathlib
import sys
import tempfile

from cli_support import as_json, case, expect, fail, run_cases, succeed, wrong_usage


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


@case
def wrong_tables_and_flags():
    expect("events" in succeed("fit", "--help"), "fit --help names its commands")
    wrong_usage("fit", "events", "x.csv", "--parts", "0")
    fail("fit", "events", "no_such.csv", naming=["no_such.csv"])


if __name__ == "__main__":
    sys.exit(run_cases())
