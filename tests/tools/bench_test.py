#!/usr/bin/env python3
"""Tests of `npzoo bench`: bench_test.py PATH_TO_NPZOO"""

import math
import sys

from cli_support import as_json, case, check_keys, expect, fail, run_cases, small_protocol, succeed, write, wrong_usage

SCALING = ["bench", "scaling", "--repeats", "3"]


def check_times(row):
    expect(0 < row["p10_ms"] <= row["median_ms"] <= row["p90_ms"] and row["gflops"] > 0, row)
    expect(0 < row["share_of_peak"] and 1 <= row["repeats"] <= 3, row)


@case
def help_of_every_command():
    expect("scaling" in succeed("bench", "--help"), "bench --help names its commands")
    for command, flag in (("train-step", "--warmup"), ("forward", "--targets"), ("data", "--batch"),
                          ("scaling", "--points"), ("attention", "--mask")):
        expect(flag in succeed("bench", command, "--help"), command, "--help")


@case
def wrong_flags():
    models = [*SCALING, "--models", "cnp"]
    for points in ("0", "-1", "1.5", "x", "1,,x", "1e9", "nan", "inf", "1e400"):
        wrong_usage(*models, f"--points={points}", naming=["expected a whole number from 1 to 100000000"])
    for limit in ("-1", "12XB", "a lot", "99999999999GB", "9223372036854775808"):
        wrong_usage(*models, f"--memory-limit={limit}", naming=["expected bytes like 512MB"])
    for flags in (["--points="], ["--memory-limit="], ["--vary", "both"], ["--fixed", "-1"], ["--repeats", "0"]):
        wrong_usage(*models, *flags)
    wrong_usage(*SCALING)
    for flags in (["--queries", "0"], ["--mask", "none"], ["--heads", "two"], ["--repeats", "0"]):
        wrong_usage("bench", "attention", *flags)
    for command in ("train-step", "forward"):
        model = ["bench", command, "--protocol", "quick/gp1d", "--model", "cnp"]
        for flags in (["--context", "-1"], ["--targets", "0"], ["--targets", "1e-3"], ["--context", "x"], ["--batch", "0"],
                      ["--steps", "0"], ["--warmup", "-1"], ["--context", "10000001"]):
            wrong_usage(*model, *flags)
        wrong_usage(*model[:4])
        fail("bench", command, "--protocol", "quick/gp1d", "--model", "gpt", naming=["gpt"])
    for flags in ([], ["--protocol", "quick/gp1d", "--model", "cnp"], ["--protocol", "quick/gp1d", "--batch", "0"]):
        wrong_usage("bench", "data", *flags)
    fail("bench", "data", "--protocol", "no/such", naming=["no/such"])


def check_steps(row, batch, steps=4):
    check_keys(row, "protocol", "device", "isa", "commit")
    expect((row["threads"], row["steps"], row["batch"]) == (1, steps, batch), row)
    expect(0 < row["p10_ms"] <= row["median_ms"] <= row["p90_ms"] and row["cpu_ms"] > 0, row)
    expect(0 < row["peak_live_bytes"] <= row["peak_reserved_bytes"], row)


@case
def steps_and_predictions():
    gflop = {}
    for command in ("train-step", "forward"):
        run = ["bench", command, "--protocol", small_protocol(), "--model", "tnp-d", "--steps", 4, "--warmup", 1, "--threads", 1]
        typical, chosen = as_json(*run), as_json(*run, "--batch", 2, "--context", 0, "--targets", 33)
        expect((typical["nc"], typical["nt"]) == (7, 9) and (chosen["nc"], chosen["nt"]) == (0, 33), typical, chosen)
        for row, batch in ((typical, 4), (chosen, 2)):
            check_steps(row, batch)
            expect(row["model"] == "tnp-d" and row["protocol"] == "small1", row)
            expect(math.isclose(row["gflops"] * row["median_ms"], 1e3 * row["gflop_per_step"], rel_tol=1e-9), row)
            expect(math.isclose(row["share_of_peak"], row["gflops"] / row["peak_gflops"], rel_tol=1e-9), row)
        gflop[command] = typical["gflop_per_step"]
        table = succeed(*run, "--targets", 3).splitlines()
        expect(len(table) == 4 and "7 context and 3 target points" in table[0] and "processor time" in table[1], table)
    expect(2 < gflop["train-step"] / gflop["forward"] < 4, "forward and backward against forward", gflop)


@case
def steps_of_models_of_events():
    for model in ("thp", "cmhp"):
        run = ["bench", "train-step", "--protocol", "quick/hawkes", "--model", model, "--steps", 1, "--warmup", 0]
        check_steps(as_json(*run, "--batch", 2, "--targets", 5, "--threads", 1), 2, steps=1)


@case
def a_context_that_the_protocol_fixes():
    for fixed in (5, 11):
        text = small_protocol().read_text().replace("context = [2, 8]", f"context = [{fixed}, {fixed + 1}]")
        path = write("fixed.toml", text.replace('name = "small1"', 'name = "fixed"'))
        for command in ("train-step", "forward"):
            row = as_json("bench", command, "--protocol", path, "--model", "cnp", "--steps", 1, "--warmup", 0)
            expect((row["nc"], row["nt"]) == (fixed, 16 - fixed), row)


@case
def profile():
    run = ["bench", "train-step", "--protocol", small_protocol(), "--model", "tnp-d", "--steps", 4, "--profile"]
    for threads in (1, 2):
        row = as_json(*run, "--threads", threads)
        operations = {(line["operation"], line["pass"]): line for line in row["operations"]}
        for name, passes in (("linear", ("forward", "backward")), ("optimiser", ("",)), ("rest", ("",))):
            expect(all((name, each) in operations for each in passes), name, row)
        expect(operations["linear", "forward"]["calls"] == operations["linear", "backward"]["calls"] > 20, row)
        expect(all(line["ms"] >= 0 for line in row["operations"]), row)
        counted = sum(line["gflops"] * line["ms"] * 1e-3 for line in row["operations"])
        expect(math.isclose(counted, row["gflop_per_step"], rel_tol=1e-9), counted, row)
    table = succeed(*run).splitlines()
    expect("of peak" in table[5] and any(line.split()[:2] == ["linear", "backward"] for line in table), table)
    expect("operations" not in as_json(*run[:-1]), "without --profile")


@case
def data():
    run = ["bench", "data", "--protocol", "tnp/gp-rbf", "--steps", 4, "--warmup", 0, "--threads", 1]
    check_steps(as_json(*run), 16)
    check_steps(as_json(*run, "--batch", 3), 3)
    table = succeed(*run).splitlines()
    expect(len(table) == 3 and "data of tnp/gp-rbf: batch 16" in table[0] and "median" in table[1], table)


@case
def scaling_rows():
    for vary, other in (("test", "nc"), ("context", "nt")):
        varied = {"test": "nt", "context": "nc"}[vary]
        rows = as_json(*SCALING, "--models", "tnp-d,cnp", "--vary", vary, "--points", "1,1e1,64", "--fixed", 7)
        expect([row["model"] for row in rows] == ["tnp-d"] * 3 + ["cnp"] * 3, rows)
        expect([row[varied] for row in rows] == [1, 10, 64] * 2 and {row[other] for row in rows} == {7}, rows)
        for row in rows:
            check_keys(row, "protocol", "device", "isa", "threads", "peak_rss_bytes", "commit")
            expect(row["status"] == "ok" and row["protocol"] == "tnp-kr/gp1d-rbf" and row["device"] == "cpu", row)
            check_times(row)
            expect(0 < row["peak_live_bytes"] <= row["peak_reserved_bytes"], row)
            expect(row["peak_rss_bytes"] is None or row["peak_rss_bytes"] > row["peak_live_bytes"], row)


@case
def scaling_under_a_protocol():
    for protocol, name in (("tnp/gp-rbf", "tnp/gp-rbf"), (small_protocol(2), "small2")):
        (row,) = as_json(*SCALING, "--models", "tnp-d", "--protocol", protocol, "--points", 5, "--fixed", 0)
        expect(row["protocol"] == name and row["status"] == "ok" and (row["nc"], row["nt"]) == (0, 5), row)
    fail(*SCALING, "--models", "cnp,gpt", naming=["gpt", "npzoo list models"])
    fail(*SCALING, "--models", "tnp-kr-full", "--protocol", small_protocol(), naming=["small1", "tnp-kr-full"])
    fail(*SCALING, "--models", "cnp", "--protocol", "no/such", naming=["no/such"])


@case
def memory_does_not_grow_with_the_targets():
    rows = as_json(*SCALING, "--models", "cnp", "--points", "8192,32768", "--threads", 1)
    expect(rows[0]["peak_live_bytes"] == rows[1]["peak_live_bytes"], rows)


@case
def out_of_memory():
    rows = as_json(*SCALING, "--models", "tnp-d,cnp", "--vary", "context", "--points", "10,1e5,20", "--memory-limit", "3MB")
    expect([row["status"] for row in rows] == ["ok", "oom", "ok"] * 2, rows)
    for row in rows:
        expect(row["peak_live_bytes"] <= 3_000_000, row)
        if row["status"] == "ok":
            check_times(row)
        else:
            expect(all(row[key] is None for key in ("median_ms", "p10_ms", "p90_ms", "gflops", "share_of_peak")), row)
    rows = as_json(*SCALING, "--models", "tnp-d", "--points", "1,10", "--memory-limit", "1kB")  # not even the model fits
    expect([row["status"] for row in rows] == ["oom", "oom"], rows)
    table = succeed(*SCALING, "--models", "tnp-d", "--points", "1,10", "--memory-limit", "1kB").splitlines()
    expect(len(table) == 3 and "median ms" in table[0] and all(" oom " in line for line in table[1:]), table)


def visible_pairs(row):
    batch, queries, keys = row["batch"], row["queries"], row["keys"]
    if row["mask"] == "causal":
        return batch * sum(min(i + 1, keys) for i in range(queries))
    if row["mask"] == "prefix":  # spread over the batch, half of the keys in the mean
        return queries * sum((keys * (2 * b + 1) + batch) // (2 * batch) for b in range(batch))
    return batch * queries * keys


@case
def attention_rows():
    for mask in ("all", "prefix", "causal"):
        (row,) = as_json("bench", "attention", "--queries", 33, "--keys", 20, "--heads", 2, "--width", 8, "--batch", 3,
                         "--mask", mask, "--repeats", 3)
        check_keys(row, "forward_recorded_ms", "peak_gflops", "peak_reserved_bytes", "threads", "isa", "commit")
        shape = [row[key] for key in ("batch", "heads", "queries", "keys", "width", "mask")]
        expect(shape == [3, 2, 33, 20, 8, mask], shape)
        expect(row["peak_live_bytes"] > 4 * 3 * 33 * 16 and row["forward_recorded_ms"] > 0, row)
        flops = 4 * 2 * 8 * visible_pairs(row)
        for direction, times in (("forward", 1), ("backward", 2.5)):
            gflops = row[f"{direction}_gflops"]
            expect(math.isclose(gflops * row[f"{direction}_ms"] * 1e6, times * flops, rel_tol=1e-9), direction, row)
            expect(math.isclose(row[f"{direction}_share_of_peak"], gflops / row["peak_gflops"], rel_tol=1e-9), row)
    (row,) = as_json("bench", "attention", "--queries", 5, "--repeats", 1)
    expect([row[key] for key in ("batch", "heads", "queries", "keys", "width", "mask")] == [1, 4, 5, 5, 16, "all"], row)
    table = succeed("bench", "attention", "--queries", 5, "--repeats", 1).splitlines()
    expect(len(table) == 3 and "backward ms" in table[0] and "visible pair" in table[2], table)


if __name__ == "__main__":
    sys.exit(run_cases())
