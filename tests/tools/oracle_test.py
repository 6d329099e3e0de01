#!/usr/bin/env python3
"""Tests of `npzoo oracle`: oracle_test.py PATH_TO_NPZOO"""

import math
import sys

from cli_support import HERE, as_json, case, check_keys, expect, fail, npzoo, run_cases, small_protocol, succeed, write, wrong_usage

FREE = 'kernels = [{ kind = "rbf", lengthscale = { uniform = [0.2, 0.8] }, scale = 1.0 }]'
FIXED = 'kernels = [{ kind = "rbf", lengthscale = 0.5, scale = 1.0 }]'
FIGURES = ["known_marginal", "known_joint", "bayes_diagonal", "bayes_mixture", "bayes_joint"]


def protocol(tail="", **changes):
    """A small protocol whose last test has the hyper-parameters to itself; `changes` are of its other lines."""
    head, kernel, rest = small_protocol().read_text().rpartition(FIXED)
    text = head.replace('name = "small1"', 'name = "two"', 1) + kernel + f'\n\n[[evaluation.tests]]\nname = "free"\n{FREE}\n{tail}' + rest
    for key, value in changes.items():
        lines = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in text.splitlines()]
        text = "\n".join(lines)
    return write("two.toml", text)


@case
def json_of_every_test():
    rows = as_json("oracle", protocol(), "--tasks", 30)
    expect([row["test"] for row in rows] == ["rbf", "free"], rows)
    for row in rows:
        check_keys(row, "protocol", "test", "tasks", "known_tasks", "quadrature_error", "stated", "differs", *FIGURES)
        expect((row["protocol"], row["tasks"], row["known_tasks"]) == ("two", 30, 720), row)
        for figure in FIGURES:
            check_keys(row[figure], "value", "standard_error")
            expect(math.isfinite(row[figure]["value"]) and row[figure]["standard_error"] > 0, figure, row)
        check_keys(row["bayes_diagonal"], "coverage", "crps")
        expect(set(row["bayes_diagonal"]["coverage"]) == {"50", "80", "90", "95"}, row)
        expect(row["stated"] == {**{figure: None for figure in FIGURES}, "standard_error": None}, row)
        expect(row["differs"] == [], row)
    fixed, free = rows
    expect(fixed["quadrature_error"] == 0, "nothing is integrated out:", fixed)
    for known, bayes in (("known_marginal", "bayes_diagonal"), ("known_joint", "bayes_joint")):
        expect(math.isclose(fixed[known]["value"], fixed[bayes]["value"], rel_tol=1e-9), "equal expected:", fixed)
        expect(free[known]["value"] > free[bayes]["value"], "a cost of not knowing expected:", free)


@case
def the_table():
    text = succeed("oracle", protocol(), "--tasks", 8, "--tests", "free")
    for part in ("two / free: 8 tasks, 192 with known kernels", "known, marginal", "Bayes, joint", "diagonal's coverage",
                 "quadrature error"):
        expect(part in text, part, "expected in", text)
    expect("states another" not in text, text)


@case
def chosen_tests_seed_and_threads():
    path = protocol()
    both = as_json("oracle", path, "--tests", "free,rbf", "--tasks", 8)
    expect([row["test"] for row in both] == ["free", "rbf"], both)
    expect(as_json("oracle", path, "--tests", "free", "--tasks", 8, "--threads", 3) == both[:1], "threads change something")
    expect(as_json("oracle", path, "--tests", "free", "--tasks", 8, "--seed", 0) == both[:1], "0 is the protocol's seed")
    expect(as_json("oracle", path, "--tests", "free", "--tasks", 8, "--seed", 1) != both[:1], "--seed changes nothing")


@case
def stated_values():
    stated = "[evaluation.tests.oracle]\nstandard_error = 0.004\nknown_marginal = {}\nbayes_mixture = {}\n"
    (row,) = as_json("oracle", protocol(), "--tests", "free", "--tasks", 8)
    near, far = row["known_marginal"]["value"] + 0.001, row["bayes_mixture"]["value"] + 5
    path = protocol(stated.format(near, far))
    (row,) = as_json("oracle", path, "--tests", "free", "--tasks", 8)
    expect(row["stated"]["standard_error"] == 0.004 and row["stated"]["bayes_joint"] is None, row)
    expect(row["differs"] == ["bayes_mixture"], row)
    expect("the protocol states another value: Bayes, mixture\n" in succeed("oracle", path, "--tests", "free", "--tasks", 8),
           "a line that says so")
    path = protocol(stated.format(-near, -far), metric='"nll"')
    expect(as_json("oracle", path, "--tests", "free", "--tasks", 8)[0] == row, "the sign of a stated value is its metric's")


@case
def noise_free_targets():
    path = protocol(target_noise="0.0")
    for row in as_json("oracle", path, "--tasks", 8):
        expect(row["known_joint"] is None and row["bayes_joint"] is None, row)
    lines = succeed("oracle", path, "--tests", "free", "--tasks", 8).splitlines()
    expect([line.split()[-2:] for line in lines if "joint" in line] == [["-", "-"]] * 2, lines)


@case
def a_single_task_has_no_standard_error():
    (row,) = as_json("oracle", protocol(), "--tests", "free", "--tasks", 1)
    expect(row["tasks"] == 1 and row["bayes_mixture"]["standard_error"] is None, row)


@case
def a_quadrature_that_has_not_converged():
    # One context point says nothing about the kernel, and the targets say all.
    path = protocol(points=40, context="[1, 2]", target_noise="0.001")
    path.write_text(path.read_text().replace("[0.2, 0.8]", "[0.02, 2.0]"))
    done = npzoo("oracle", path, "--tests", "free", "--tasks", 8, "--nodes", 4, "--json")
    expect(done.returncode == 0, done.stderr)
    expect("npzoo: free: the quadrature has not converged, its error is 0." in done.stderr, done.stderr)


@case
def expectation_of_the_posterior():
    path, both = protocol(), HERE / "both.toml"
    rows = as_json("oracle", path, "--expectation", "--tasks", 300)
    expect([(row["protocol"], row["test"], row["tasks"]) for row in rows] == [("two", "rbf", 300), ("two", "free", 300)], rows)
    expect(rows[0]["version"] != rows[1]["version"] and len(rows[0]["version"]) == 32, rows)
    expect(as_json("oracle", path, "--expectation", "--tasks", 300, "--threads", 3) == rows, "threads change something")
    expect(as_json("oracle", path, "--expectation", "--tasks", 300, "--seed", 1) != rows, "--seed changes nothing")
    both.write_text("# of two\n" + succeed("oracle", path, "--expectation", "--tasks", 300))

    succeed("train", "--protocol", path, "--model", "cnp", "--steps", 2, "--out", HERE / "expected")
    at = HERE / "expected/checkpoint.safetensors"
    plain = as_json("eval", "--checkpoint", at)
    expect(all("controlled" not in row for row in plain), "no expectation is known")
    scored = as_json("eval", "--checkpoint", at, "--expectations", both)
    for row, expected, without in zip(scored, rows, plain):
        controlled = row.pop("controlled")
        expect(row == without, row, without)
        expect(math.isclose(controlled["expectation"], expected["marginal"]["value"], abs_tol=1e-6), controlled, expected)
        expect(math.isclose(controlled["value"], controlled["expectation"] - row["exact_gap"], rel_tol=1e-9), controlled, row)
        expect(controlled["standard_error"] > row["exact_gap_error"] and controlled["expectation_tasks"] == 300, controlled)
    expect("  by the posterior     " in succeed("eval", "--checkpoint", at, "--expectations", both), "a line for people")

    done = npzoo("eval", "--checkpoint", at, "--protocol", path, "--set", "data.points=12", "--expectations", both)
    expect(done.returncode == 0 and "by the posterior" not in done.stdout, done.stdout)
    expect("test rbf: the stored expectation of the posterior is for other tasks (version " in done.stderr
           and "and is not used; to compute it, run npzoo oracle two --set data.points=12 --expectation" in done.stderr, done.stderr)
    fail("eval", "--checkpoint", at, "--expectations", write("bad.toml", "[[expectation]]\nprotocol = 1\n"),
         naming=["[expectations]", "bad.toml", "protocol"])
    fail("eval", "--checkpoint", at, "--expectations", HERE / "none.toml", naming=["none.toml"])
    fail("oracle", "quick/hawkes", "--expectation", naming=["[expectation] the tasks are events or series"])
    wrong_usage("oracle", path, "--expectation", "--nodes", 8)


@case
def bad_input_is_refused():
    fail("oracle", "no/such", naming=["no/such", "npzoo list protocols"])
    fail("oracle", HERE / "missing.toml", naming=["missing.toml"])
    fail("oracle", protocol(), "--tests", "free,matern", naming=["two has no test matern, expected one of: rbf, free"])
    wrong_usage("oracle")
    for flags in (["--tasks", "0"], ["--tasks", "many"], ["--nodes", "3"], ["--nodes", "33"]):
        wrong_usage("oracle", "quick/gp1d", *flags)


if __name__ == "__main__":
    sys.exit(run_cases())
