#!/usr/bin/env python3
"""Tests of `npzoo reproduce` and of the report on what it collects: reproduce_test.py PATH_TO_NPZOO"""

import json
import math
import pathlib
import sys
import xml.etree.ElementTree

from cli_support import (HERE, as_json, case, check_error, check_keys, expect, fail, npzoo, run_cases, snapshot, succeed, write,
                         wrong_usage)
from reproduce_support import LOW, REPORT, check_same_run, directory, flags, made_report, results_report, store, table

ONE_SEED = "one seed: not judged for seeds"


@case
def a_table_is_made_once():
    out = as_json(*flags("once"))
    check_keys(out, "protocol", "source", "trial", "metric", "spread", "runs", "rows", "not_run", "other_versions", "failed", "shortened")
    expect(out["other_versions"] == [], out["other_versions"])
    expect(out["spread"] == {"kind": "deviation", "seeds": 5, "tasks": 0, "assumed": False}, out["spread"])
    expect(out["protocol"] == "small/table" and out["failed"] == [] and out["shortened"] is False, out)
    expect([(row["model"], row["test"], row["seeds"]) for row in out["rows"]] == [("cnp", "rbf", [0]), ("tnp-d", "rbf", [0])],
           out["rows"])
    for row, run, (published, error) in zip(out["rows"], out["runs"], [(-1.3, 0.02), (5.1, 0)]):
        check_keys(run, "model", "seed", "steps", "batch_size", "lr", "parameters", "seconds", "commit", "machine", "results")
        expect((run["steps"], run["batch_size"], run["lr"]) == (60, 4, 1e-3) and run["parameters"] > 0, run)
        (result,) = run["results"]
        expect(row["ours"] == result["log_likelihood"] and row["standard_error"] == result["standard_error"], row, result)
        expect((row["published"], row["published_error"], row["published_decimals"]) == (published, error, 2), row)
        expect(row["difference"] == row["ours"] - published and row["verdict"] == ONE_SEED, row)
        expect((row["controlled"], row["plain"], row["plain_task_error"]) == (False, row["ours"], row["task_error"]), row)
        expect(row["runs"] == [row["ours"]] and row["collapsed"] == [] and row["half_interval"] > row["standard_error"], row)
        expect((row["oracle"], row["oracle_error"], row["oracle_kind"]) == (8, 0.004, "bayes_diagonal"), row)
        made = directory("once", run["model"])
        expect({path.name for path in made.iterdir()} == {"checkpoint.safetensors", "config.toml", "metrics.jsonl", "train.log",
                                                          "evaluation.json", "protocol.toml"}, sorted(made.iterdir()))
        evaluation = json.loads((made / "evaluation.json").read_text())
        check_keys(evaluation, "commit", "command", "machine", "results")
        expect([{**scores, "version": result["version"]} for scores in evaluation["results"]] == run["results"], evaluation)
        expect(evaluation["command"].startswith("npzoo eval "), evaluation)
        expect("train" in (made / "train.log").read_text(), "train.log")
    expect(out["not_run"] == [{"model": "convcnp", "test": "rbf", "figure": "log_likelihood", "published": -1.2, "published_error": None,
                               "published_decimals": 2, "oracle": 8, "oracle_error": 0.004,
                               "oracle_kind": "bayes_diagonal"}], out["not_run"])
    kept = json.loads(store("once").read_text())
    expect(kept == {key: out[key] for key in kept}, "the store is what was printed")

    before = snapshot()
    text = succeed(*flags("once"))
    expect(snapshot() == before, "a second run changed files")
    lines = [line.split() for line in text.splitlines()]
    expect(["rbf", "convcnp", "not", "run", "-1.20", "8.000"] in lines, text)
    expect(any(line[:3] == ["rbf", "cnp", "1"] and line[6:] == ["-1.30", "±", "0.02", "8.000", *line[10:13],
                                                                           *ONE_SEED.split()] for line in lines),
           text)
    expect(as_json(*flags("once"), "--threads", 1, "--jobs", 1) == out, "threads change what is printed")
    expect(snapshot() == before, "the number of threads changed files")


@case
def seeds_are_collected():
    first = as_json(*flags("seeds"), "--models", "cnp")
    expect([row["model"] for row in first["not_run"]] == ["tnp-d", "convcnp"], first["not_run"])
    both = as_json(*flags("seeds"), "--models", "cnp,cnp", "--seeds", "1,0,1")
    expect([(run["model"], run["seed"]) for run in both["runs"]] == [("cnp", 0), ("cnp", 1)], both["runs"])
    expect(both["runs"][0] == first["runs"][0], "the first run has changed")
    (row,) = both["rows"]
    a, b = (run["results"][0]["log_likelihood"] for run in both["runs"])
    expect(row["runs"] == [a, b] and row["verdict"] == "within", row)
    expect(row["half_interval"] > 12 * row["standard_error"], "one degree of freedom", row)
    expect(row["seeds"] == [0, 1] and math.isclose(row["ours"], (a + b) / 2), row)
    expect(math.isclose(row["standard_error"], abs(a - b) / 2), "standard error over two seeds", row, a, b)
    expect(as_json(*flags("seeds"), "--report") == both, "--report tells the same")
    args = flags("seeds")
    expect(as_json(args[0], "--models", "cnp", "--seeds", "0", *args[1:]) == both, "the table may be named last")
    each = f"({a:.3f}, {b:.3f})"
    expect(each in made_report("seeds")[0] and each in succeed(*flags("seeds"), "--report"), "every seed is shown")

    before = snapshot()
    mine = table(published="cnp = 0.5")
    told = as_json(*flags("seeds", mine), "--report")
    expect([row["published"] for row in told["rows"]] == [0.5] and told["not_run"] == [], "another published row", told)
    expect(told["rows"][0]["difference"] == row["ours"] - 0.5 and told["runs"] == both["runs"], told)
    expect(json.loads(store("seeds").read_text())["rows"] == told["rows"], "rows are written again")
    as_json(*flags("seeds"), "--report")
    expect(snapshot() == before, "nothing else is")


@case
def another_number_of_steps_is_no_row():
    as_json(*flags("steps"), "--models", "cnp")
    longer = as_json(*flags("steps", table(steps=61)), "--report")
    expect(longer["rows"] == [] and len(longer["runs"]) == 1 and len(longer["not_run"]) == 3, longer)
    table()


def versions(out):
    return [(run["seed"], [result["version"] for result in run["results"]]) for run in out["runs"]]


@case
def another_version_of_a_protocol_is_not_averaged():
    def reproduced(where, protocol, *more):
        return as_json(*flags("versions", protocol)[:2], "--out", HERE / "versions" / where, "--results",
                       HERE / "versions/results", "--models", "cnp", *more)

    protocol = table()
    old = reproduced("old", protocol, "--seeds", "0,1")
    ((_, (old_version,)), _) = versions(old)
    write(protocol.name, protocol.read_text().replace("lengthscale = 0.5", "lengthscale = 0.3", 1))
    told = reproduced("none", protocol, "--report")
    expect(told["rows"] == [] and told["runs"] == old["runs"], "the old runs are kept, and are no row", told)
    listed = [{"model": "cnp", "seed": seed, "test": "rbf", "version": old_version} for seed in (0, 1)]
    expect(told["other_versions"] == listed, told["other_versions"])
    new = reproduced("new", protocol)
    expect([row["seeds"] for row in new["rows"]] == [[0]] and new["other_versions"] == listed, new)
    (((_, (new_version,)),), *_) = [[run for run in versions(new) if run not in versions(old)]]
    expect(len(new["runs"]) == 3 and new_version != old_version, versions(new))
    text = succeed(*flags("versions", protocol), "--report")
    expect("measured under another version of small/table, so not averaged: cnp, seed 0 (rbf); cnp, seed 1 (rbf)" in
           text.splitlines(), text)
    report, _ = made_report("versions")
    expect("Measured under another version of the protocol, kept and not averaged: `cnp`, seed 0 (rbf); `cnp`, seed 1 (rbf)."
           in report and report.count("| `cnp` | rbf | 0 |") == 1 and "| `cnp` | rbf | 1 |" not in report, report)

    back = reproduced("none", table(), "--report")
    expect(back["rows"] == old["rows"] and [old["seed"] for old in back["other_versions"]] == [0], back)
    said = table(oracle="known_marginal = 3.0", published="cnp = 0.5", densities='{ cnp = "marginal" }')
    write(said.name, said.read_text().replace("for tests", "for something else") + "# the end\n")
    same = reproduced("none", said, "--report")
    expect(same["runs"] == back["runs"] and [row["seeds"] for row in same["rows"]] == [[0, 1]], "words change no figure", same)

    content = json.loads(store("versions").read_text())
    for run in content["runs"]:
        del run["results"][0]["version"]  # as before there were any
    store("versions").write_text(json.dumps(content))
    untold = reproduced("none", table(), "--report")
    expect(untold["rows"] == [] and [old["version"] for old in untold["other_versions"]] == ["", "", ""], untold)
    mended = reproduced("old", table(), "--seeds", "0,1")
    expect(mended["rows"] == back["rows"] and len(mended["runs"]) == 5, "runs that do not tell are kept", mended)


@case
def oracles_are_those_of_the_density():
    oracle = "\n".join(f"{name} = {value}" for name, value in (("known_marginal", 8), ("known_joint", 9), ("bayes_diagonal", 5),
                                                            ("bayes_mixture", 6)))
    densities = table("small/densities", oracle=oracle, published="cnp = 1.0\nnp = 1.0\ntnp-a = 1.0\nanp = 1.0",
                      densities='{ np = "mixture", tnp-a = "joint" }')
    out = as_json(*flags("densities", densities), "--models", "cnp")
    found = {row["model"]: (row["oracle_kind"], row["oracle"]) for row in [*out["rows"], *out["not_run"]]}
    expect(found == {"cnp": ("bayes_diagonal", 5), "np": ("bayes_mixture", 6), "tnp-a": ("known_joint", 9),
                     "anp": ("bayes_diagonal", 5)}, found)
    text = succeed(*flags("densities", densities), "--report")
    expect(["rbf", "tnp-a", "not", "run", "1", "(9.000)"] in [line.split() for line in text.splitlines()], text)


@case
def metric_of_the_protocol():
    nll = table("small/nll", oracle="known_marginal = -3.0", published="cnp = [0.101, 0.001]", metric="nll")
    args = flags("nll", nll)
    out = as_json(*args)
    (row,), (run,) = out["rows"], out["runs"]
    expect(out["metric"] == "nll" and row["ours"] == -run["results"][0]["log_likelihood"], row)
    expect(row["difference"] == row["ours"] - 0.101 and row["ours"] > 1 and row["verdict"] == ONE_SEED, row)
    expect((row["oracle"], row["oracle_kind"]) == (-3, "known_marginal"), row)
    text = succeed(*args)
    expect("lower is better" in text and "(-3.000)" in text, text)


@case
def more_than_possible_is_an_error():
    for name, metric, oracle in (("low", "log-likelihood", LOW), ("lownll", "nll", "bayes_diagonal = 9.0")):
        leaking = table(f"small/{name}", oracle=oracle, metric=metric)
        args = [*flags(name, leaking), "--models", "cnp"]
        for more in ([], [], ["--report"]):
            done = npzoo(*args, *more)
            expect(done.returncode == 1, "exit status", done.returncode, done.stderr)
            last = done.stderr.splitlines()[-1]
            expect(last.startswith("npzoo: error: [reproduce] cnp on rbf: ") and "oracle" in last, done.stderr)
            expect("above the oracle: leak" in done.stdout, done.stdout)
        check_error(npzoo(*args, "--json"), "cnp on rbf")
    short = [*flags("low short", table("small/low", oracle=LOW)), "--models", "cnp", "--steps", 20]
    error = npzoo(*short).stderr.splitlines()[-1]
    expect("cnp on rbf" in error, "fewer steps are no excuse:", error)
    expect(as_json(*short, "--batches", 1)["rows"][0]["verdict"] is None, "fewer batches prove nothing")


@case
def folders_of_train_can_be_resumed():
    part = directory("train", "cnp")
    run = ["train", "--protocol", table(), "--model", "cnp", "--seed", 0]
    succeed(*run, "--out", part)
    before = snapshot()
    as_json(*flags("train"), "--models", "cnp")
    after = snapshot()
    expect(all(after[path] == content for path, content in before.items()), "the finished run was touched")
    added = set(after) - set(before)
    names = {pathlib.Path(path).name for path in added}
    expect(names == {"evaluation.json", "train.log", "results", "small-table.json"}, added)
    as_json(*flags("once"), "--models", "cnp")
    check_same_run(part, directory("once", "cnp"))


@case
def another_run_in_a_directory_is_refused():
    succeed("train", "--protocol", table(), "--model", "cnp", "--steps", 5, "--out", directory("other", "cnp"))
    done = npzoo(*flags("other"), "--json")
    expect(done.returncode == 1 and "1 of 2 runs failed" in done.stderr.splitlines()[-1], done.stderr)
    out = json.loads(done.stdout)
    (failed,) = out["failed"]
    expect((failed["model"], failed["seed"]) == ("cnp", 0), failed)
    expect("began with steps 5, now it is 60" in failed["error"], failed)
    expect([row["model"] for row in out["rows"]] == ["tnp-d"], out["rows"])


@case
def one_failing_run_does_not_stop_the_others():
    damaged, stuck = directory("failing", "cnp"), directory("failing", "tnp-d", 1)
    (stuck / "metrics.jsonl").mkdir(parents=True)  # where a file is to be
    damaged.mkdir(parents=True)
    (damaged / "checkpoint.safetensors").write_bytes(b"no checkpoint")
    done = npzoo(*flags("failing"), "--seeds", "0,1")
    expect(done.returncode == 1, "exit status", done.returncode)
    errors = done.stderr.splitlines()
    expect(errors[-1] == "npzoo: error: [reproduce] 2 of 4 runs failed", done.stderr)
    for name, part in (("cnp, seed 0", "checkpoint.safetensors"), ("tnp-d, seed 1", "metrics.jsonl")):
        lines = [line for line in errors if line.startswith(f"{name}: failed: ")]
        expect(len(lines) == 1 and part in lines[0], name, done.stderr)
    kept = json.loads(store("failing").read_text())
    expect([(run["model"], run["seed"]) for run in kept["runs"]] == [("cnp", 1), ("tnp-d", 0)], kept["runs"])

    done = npzoo(*flags("failing"), "--seeds", "0,1", "--steps", 30, "--models", "cnp")
    expect(done.returncode == 1 and ["rbf", "cnp", "failed", "-1.30", "±", "0.02", "8.000"] in
           [line.split() for line in done.stdout.splitlines()], done.stdout)
    (damaged / "checkpoint.safetensors").unlink()
    (stuck / "metrics.jsonl").rmdir()
    expect(len(as_json(*flags("failing"), "--seeds", "0,1")["runs"]) == 4, "the same command mends it")


@case
def a_shortened_run_is_no_result():
    for more in (["--steps", 20], ["--steps", 20, "--batches", 3]):
        text = succeed(*flags("short"), *more)
        expect(text.startswith("A shortened run of 20 steps"), text)
    evaluation = json.loads((directory("short", "cnp") / "evaluation.json").read_text())
    expect(evaluation["results"][0]["tasks"] == 12, "the evaluation was made again", evaluation["results"])
    out = as_json(*flags("short"), "--steps", 20)
    expect(out["shortened"] is True and out["runs"][0]["results"][0]["tasks"] == 8, out)
    expect(not store("short").exists(), "a shortened run was collected")
    same = as_json(*flags("short whole"), "--steps", 60, "--batches", 2, "--models", "cnp")
    expect(same["shortened"] is False and store("short whole").exists(), "these are the protocol's own numbers")


@case
def a_table_of_which_nothing_has_been_run():
    (HERE / "nothing/results").mkdir(parents=True)
    told = as_json(*flags("nothing"), "--report")
    expect(told["rows"] == [] and {row["model"] for row in told["not_run"]} >= {"convcnp"}, told)
    report, readme = made_report("nothing")
    expect("| rbf | `convcnp` | -1.20 † |" in report and "Commits" not in report and "within central" not in report, report)
    expect("small/table" not in readme, "the main table has what was run alone")


def paper(where, *args):
    return ["reproduce", "--paper", *args, "--out", HERE / where / "runs", "--results", HERE / where / "results", "--data", HERE / "no data"]


def states(told):
    return {(row["protocol"], row["model"]): (row["state"], row["note"]) for row in told["matrix"]}


@case
def all_protocols_of_a_paper_and_how_far_they_are():
    few = ["eqtnp", "--models", "cnp,canp"]
    (HERE / "paper/results").mkdir(parents=True)
    told = as_json(*paper("paper", *few), "--report")
    expect(told["paper"] == "eqtnp" and told["tables"] == [], "nothing was collected", told)
    gp, images = "tnp/gp-rbf", "tnp/celeba32"
    before = states(told)
    expect(set(before) == {(protocol, model) for protocol in (gp, images, "tnp/emnist") for model in ("cnp", "canp")}, before)
    expect(before[gp, "cnp"] == ("owed", "") and before[images, "cnp"][0] == "impossible" and "celeba" in before[images, "cnp"][1], before)

    (HERE / "no data").mkdir(exist_ok=True)
    short = ["--steps", 3, "--batches", 1]
    told = as_json(*paper("short paper", "eqtnp", "--models", "cnp"), *short)
    expect([table["protocol"] for table in told["tables"]] == [gp] and told["tables"][0]["shortened"], told["tables"])
    expect(states(told)[gp, "cnp"] == ("begun", "3 of 100000 updates"), "a shortened run is not done", told["matrix"])
    text = succeed(*paper("short paper", "eqtnp", "--models", "cnp"), *short)
    lines = [line.split() for line in text.splitlines()]
    expect([gp, "begun", "cnp", "3", "of", "100000", "updates"] in lines and "3 rows: 1 begun, 2 impossible" in text, text)
    text = succeed(*paper("paper", *few), "--report")
    lines = [line.split() for line in text.splitlines()]
    expect([gp, "owed", "cnp,", "canp"] in lines and "6 rows: 2 owed, 4 impossible" in text, text)
    expect(any(line[:4] == [images, "impossible", "cnp,", "canp"] for line in lines), "models with one reason share a line", text)

    (HERE / "paper/results/tnp-gp-rbf.json").write_text((REPORT.parent / "results/tnp-gp-rbf.json").read_text())
    told = as_json(*paper("paper", *few), "--report")
    expect(states(told)[gp, "cnp"] == states(told)[gp, "canp"] == ("done", "seed 0"), told["matrix"])
    expect(len(told["tables"]) == 1, told["tables"])

    fail(*paper("paper", "eqtnp", "--models", "cmanp"), naming=["eqtnp", "none of these models: cmanp", "eqtnp"])
    fail(*paper("paper", "bert"), naming=["no paper 'bert'", "cmanp"])
    wrong_usage("reproduce", "tnp/gp-rbf", "--paper", "cmanp", naming=["a table and --paper"])
    wrong_usage("reproduce", naming=["neither a table nor --paper"])


@case
def a_picture_of_results():
    out = HERE / "rows.svg"
    succeed(*flags("once"), "--report", "--plot", out)
    xml.etree.ElementTree.parse(out)
    ours = out.read_text()
    succeed(*flags("nothing"), "--report", "--plot", out)
    expect(out.read_text() != ours, "the picture has no figure of ours")
    fail(*paper("nothing", "anp"), "--report", "--plot", out, naming=["[reproduce] there is nothing to draw"])
    fail(*flags("once"), "--report", "--plot", HERE / "rows.gif", naming=[".gif", ".svg or .png"])
    fail(*flags("once"), "--report", "--plot", HERE / "none/rows.svg", naming=["none/rows.svg"])
    wrong_usage(*flags("once"), "--shard", "1/2", "--plot", out)


@case
def reproduce_refuses_wrong_requests():
    args = flags("wrong")
    fail("reproduce", "no/such", naming=["no/such", "npzoo list protocols"])
    fail("reproduce", "quick/gp1d", naming=["quick/gp1d", "--models"])
    fail(*args, "--models", "gpt", naming=["gpt", "npzoo list models"])
    fail(*args, "--models", "cmanp", naming=["small/table", "cmanp"])
    fail(*args, "--report", naming=["wrong/results"])
    (HERE / "wrong/results").mkdir(parents=True)
    fail(*flags("wrong", "quick/gp1d"), "--report", naming=["quick-gp1d.json", "no published row"])
    ordeal = table().read_text().replace("[evaluation]\n", '[evaluation]\ntrial = "ordeal"\n')
    fail(*flags("wrong", write("ordeal.toml", ordeal)), naming=["no trial 'ordeal'", "bandit", "likelihood"])
    for name in ("../up", "/top", "a//b", "a/./b", "a b", ""):
        fail(*flags("wrong", write("odd.toml", table().read_text().replace("small/table", name))), naming=[f"'{name}'"])
    for more in ([], ["--steps", "0"], ["--batches", "0"], ["--jobs", "0"], ["--seeds", "one"], ["--seeds", "-1"],
                 ["--report", "--steps", "5"], ["--report", "--batches", "5"]):
        wrong_usage(*(args if more else ["reproduce"]), *more)

    for content, naming in [("", "small-table.json"), ("[]", "small-table.json"), ("{}", "protocol"),
                            ('{"protocol": "other", "runs": []}', "other"),
                            ('{"protocol": "small/table", "runs": {}}', "object"),
                            ('{"protocol": "small/table", "runs": [{"model": "cnp", "seed": 0}]}', "steps"),
                            ('{"protocol": "small/table", "runs": [{"model": "cnp", "seed": 0, "steps": 1, "lr": 1, '
                             '"batch_size": 1, "results": [{"test": "rbf", "log_likelihood": "x"}]}]}', "number")]:
        store("wrong").parent.mkdir(parents=True, exist_ok=True)
        store("wrong").write_text(content)
        fail(*args, naming=["small-table.json", naming])
        fail(*args, "--report", naming=["small-table.json", naming])

    write("occupied", "a file")
    done = npzoo("reproduce", table(), "--out", HERE / "occupied", "--results", HERE / "occupied")
    expect(done.returncode == 1 and "occupied/small/table/cnp/seed-0 cannot be created" in done.stderr, done.stderr)


@case
def a_collapsed_seed_is_named():
    out = as_json(*flags("collapsed"), "--models", "cnp", "--seeds", "0,1,2")
    content = json.loads(store("collapsed").read_text())
    content["runs"][1]["results"][0]["log_likelihood"] -= 50
    store("collapsed").write_text(json.dumps(content))
    (row,) = as_json(*flags("collapsed"), "--report")["rows"]
    expect(row["verdict"] == "collapsed" and row["collapsed"] == [1] and len(row["runs"]) == 3, row, out)
    _, readme = made_report("collapsed")
    expect("| collapsed: seed 1 |" in readme and f"{row['runs'][1]:.3f}" in readme, readme)


BANDIT = """
extends = "tnp/wheel"
name = "small/wheel"
[training]
steps = 4
batch_size = 2
[validation]
every = 0
batches = 1
seed = 0
[evaluation]
batches = 1
batch_size = 3
rules = { policy = "ucb", width = 1.0, samples = 1, last = 10, ridge = 1.0, over = "orders of one problem" }
spread = { kind = "deviation", tasks = 50 }
[[evaluation.tests]]
name = "delta-0.7"
delta = 0.7
context = 0
targets = 20
[evaluation.tests.published_figures.cumulative_regret]
cnp = [4.08, 0.29]
np = [1.56, 0.13]
[evaluation.tests.published_figures.best_arm]
cnp = 0.5
"""


@case
def a_table_of_another_trial():
    args = flags("bandit", write("wheel.toml", BANDIT))
    out = as_json(*args, "--models", "cnp", "--seeds", "0,1")
    expect(out["trial"] == "bandit" and out["failed"] == [], out)
    expect([(row["figure"], row["model"]) for row in out["rows"]] == [("best_arm", "cnp"), ("cumulative_regret", "cnp")], out["rows"])
    share, regret = out["rows"]
    results = [run["results"][0] for run in out["runs"]]
    expect(results[0]["better"] == {"best_arm": "higher", "cumulative_regret": "lower"}, results[0])
    for row, published in ((share, 0.5), (regret, 4.08)):
        expect(row["runs"] == [result[row["figure"]] for result in results] and row["seeds"] == [0, 1], row, results)
        expect(math.isclose(row["ours"], sum(row["runs"]) / 2) and row["controlled"] is False, row)
        expect(math.isclose(row["difference"], row["ours"] - published), row)
        expect(row["published"] == published and row["oracle"] is None, row)
    # The paper prints deviations over tasks of one training, so nothing is known of its seeds.
    expect(regret["verdict"] == "published without spread: not judged for seeds", regret)
    errors = [regret["task_error"], 0.29 / 50**0.5, 0.01 / 12**0.5]
    seeds = 12.7062 * regret["standard_error"]
    expect(math.isclose(regret["half_interval"], math.hypot(seeds, 1.959964 * math.hypot(*errors)), rel_tol=1e-4), regret)
    expect([(row["figure"], row["model"], row["published"]) for row in out["not_run"]] == [("cumulative_regret", "np", 1.56)], out["not_run"])

    text = succeed(*args, "--models", "cnp", "--seeds", "0,1")
    for part in ("small/wheel: the trial bandit, each figure in its unit", "test, figure", "delta-0.7 cumulative_regret  cnp    2",
                 "± deviation over 50 tasks of one training"):
        expect(part in text, part, "expected in", text)
    expect("*:" not in text, text)
    report, readme = made_report("bandit")
    expect("Trial `bandit`, each figure in its unit." in report and "| delta-0.7, `cumulative_regret` | `cnp` |" in report, report)
    expect("Share of targets" not in report and "wheel" not in readme, report, readme)
    only = as_json(*args, "--report")
    expect(only["rows"] == out["rows"] and only["not_run"] == out["not_run"], only)


@case
def reports_mean_difference_of_a_table():
    succeed(*flags("pattern"))
    content = json.loads(store("pattern").read_text())
    model = content["rows"][0]
    content["rows"] = [{**model, "model": f"m{i}", "difference": value, "half_interval": 0.03}
                       for i, value in enumerate((-0.01, -0.02, 0.01, -0.05))] + [{**model, "collapsed": [0], "difference": -9}]
    store("pattern").write_text(json.dumps(content))
    _, readme = made_report("pattern")
    readme = " ".join(readme.split())
    expect("`small/table`: of 4 rows without a collapse, 3 are worse than published; mean difference -0.018" in readme, readme)
    expect("Outside the interval: `m3` low (rbf)." in readme, readme)
    content["metric"] = "nll"
    store("pattern").write_text(json.dumps(content))
    _, readme = made_report("pattern")
    readme = " ".join(readme.split())
    expect("of 4 rows without a collapse, 1 is worse than published; mean difference +0.018" in readme and
           "`m3` high (rbf)" in readme, readme)


@case
def report_of_results():
    succeed(*flags("report"))
    done = results_report("report", "--check")
    expect(done.returncode == 1 and len(done.stderr.splitlines()) == 1, "nothing is there yet", done.stderr)
    expect("RESULTS.md" in done.stderr and "README.md" in done.stderr, done.stderr)
    report, readme = made_report("report")
    expect(results_report("report", "--check").returncode == 0, "it is up to date now")
    row = json.loads(store("report").read_text())["rows"][0]
    difference = f"{row['difference']:+.3f} ± {row['half_interval']:.3f}"
    line = f"| -1.30 ± 0.02 | {difference} | 8.000 | {ONE_SEED} |"
    expect("## small/table" in report and line in report, report)
    expect("| rbf | `convcnp` | -1.20 † |" in report and "Published ±: standard deviation over 5 seeds." in report, report)
    expect(readme.startswith("# A\n<!-- results: begin -->\nLog-likelihood, higher is better:\n\n| model |"), readme)
    expect(readme.endswith("<!-- results: end -->\nB\n"), readme)
    expect(f"| `cnp` | `small/table`, rbf | {row['ours']:.3f} ± {row['standard_error']:.3f} {line}" in readme, readme)
    expect("old" not in readme and "`convcnp`" not in readme, readme)

    content = json.loads(store("report").read_text())
    content["runs"][0]["results"][0].update(calibration_error=0.0123, context_rmse=0.4567)
    content["runs"][1]["results"][0].update(calibration_error=None, context_rmse=None)
    content["rows"][0]["verdict"] = None
    store("report").write_text(json.dumps(content))
    expect(results_report("report", "--check").returncode == 1, "a store has changed")
    report, _ = made_report("report")
    expect("| 0.0123 | 0.4567 |" in report and "| – | – |" in report and "| – |\n" in report, report)

    write("report/README.md", "no marks")
    for more in ([], ["--check"]):
        done = results_report("report", *more)
        expect(done.returncode == 1 and "README.md must hold" in done.stderr, done.stderr)
    (HERE / "report/results/other.json").write_text('{"rows": []}')
    store("report").unlink()
    expect(results_report("report", "--check").returncode == 0, "no store, nothing to tell")
    store("report").write_text("{")
    done = results_report("report", "--check")
    expect(done.returncode == 1 and "small-table.json" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


if __name__ == "__main__":
    sys.exit(run_cases())
