#!/usr/bin/env python3
"""Tests of `npzoo predict` by a Gaussian process: gaussian_process_test.py PATH_TO_NPZOO"""

import math
import random
import sys

from cli_support import HERE, as_json, case, expect, fail, npzoo, run_cases, succeed, write, wrong_usage
from predict_support import comments, figures


def table_of(inputs, noise=0.0, rows=90):
    """A smooth function of the inputs a and b; others have no effect."""
    draw = random.Random(1)
    lines = [",".join([*inputs, "y"])]
    for i in range(rows):
        at = [round(draw.random(), 4) for _ in inputs]
        lines.append(",".join(map(str, at)) + f",{'' if i % 5 == 0 else math.sin(5 * at[0]) + 2 * at[1] + noise * draw.gauss(0, 1)}")
    return write(f"{inputs}.csv", "\n".join(lines) + "\n")


def three_inputs():
    return table_of("abc")


@case
def smooth_functions_of_three_inputs_and_all_of_four_are_answered_by_a_gaussian_process():
    four = npzoo("predict", table_of("abcd"), "--inputs", "a,b,c,d", "--header")
    expect("a Gaussian process makes the predictions: no weights take 4 inputs" in four.stderr, four.stderr)
    three = npzoo("predict", three_inputs(), "--inputs", "a,b,c", "--header")
    expect("npzoo: " not in three.stderr and "# compared on hidden rows: the CRPS of a fitted Gaussian process is " in three.stdout, three)
    for done in (three, four):
        expect("gp, fitted to the table" in comments(done.stdout)[0] and "# kernel: " in done.stdout, done.stdout)
        for line, (mean, _) in zip([r for r in done.stdout.splitlines() if not r.startswith(("#", "a"))], figures(done.stdout, "y")):
            a, b = (float(v) for v in line.split(",")[:2])
            expect(abs(mean - math.sin(5 * a) - 2 * b) < 0.05, line)
    result = as_json("predict", three_inputs(), "--inputs", "a,b,c", "--kernel", "matern-5/2", "--out", HERE / "out.csv")
    expect(result["model"] == "gp" and result["processes"][0]["kernel"] == "matern-5/2", result)
    expect(set(result["processes"][0]["hyperparameters"]) >= {"scale", "lengthscale of a", "noise"}, result)


@case
def a_note_says_what_the_process_does_after_the_last_row():
    rows = [f"{t},{1.05 ** t:.3f}" for t in range(40)]
    ahead = write("ahead.csv", "\n".join(["t,y", *rows, "40,", "41,"]) + "\n")
    holes = write("holes.csv", "\n".join(["t,y", *rows[:20], "20,", *rows[21:]]) + "\n")
    said = lambda table, *flags: next((line for line in comments(succeed("predict", table, "--model", "gp", "--header", *flags))
                                       if "after the last row" in line), "")
    expect("returns to its mean" in said(ahead) and "a straight trend with --linear-mean" in said(ahead), said(ahead))
    expect("returns to its line" in said(ahead, "--linear-mean") and "straight" not in said(ahead, "--linear-mean"), said(ahead, "--linear-mean"))
    expect(said(holes) == said(ahead, "--kernel", "rbf + linear") == "", said(holes))


@case
def noisy_tables_of_three_inputs_are_answered_by_weights():
    noisy = table_of("abc", noise=2, rows=150)
    named = succeed("predict", noisy, "--inputs", "a,b,c", "--header", "--digits", 9)
    expect("kriging-tnp trained under npzoo/any-3d" in comments(named)[0], named)
    expect("# compared on hidden rows: " in named, named)
    covariate = succeed("predict", noisy, "--inputs", "a,b", "--covariates", "c", "--digits", 9)
    expect(figures(covariate, "y") == figures(named, "y"), "a covariate beside two inputs is a third one")
    backwards = noisy.with_name("backwards.csv")
    head, *lines = noisy.read_text().splitlines()
    backwards.write_text("\n".join([head, *reversed(lines)]) + "\n")
    expect(figures(succeed("predict", backwards, "--inputs", "a,b,c", "--digits", 9), "y") == figures(named, "y")[::-1], "in any order")
    bounded = as_json("predict", noisy, "--inputs", "a,b,c", "--bounds", "-9,9", "--out", HERE / "out.csv")
    expect("kriging-tnp trained under npzoo/any-3d" in bounded["facts"][0] and "compared on hidden rows" in str(bounded["facts"]), bounded["facts"])
    many = npzoo("predict", table_of("abc", noise=1, rows=1300), "--inputs", "a,b,c", "--out", HERE / "out.csv")
    expect("a Gaussian process makes the predictions: too many observed rows for the weights for three inputs" in many.stderr, many.stderr)
    words = write("words.csv", "x,z,soil,y\n" + "".join(f"{i},{i * i % 7},{'clay' if i % 2 else 'sand'},{i if i % 4 else ''}\n" for i in range(24)))
    expect("predictions: because of --covariates" in npzoo("predict", words, "--inputs", "x,z", "--covariates", "soil", "--out",
                                                           HERE / "out.csv").stderr, "two inputs and two words are four columns")
    few = succeed("predict", table_of("abc", rows=20), "--inputs", "a,b,c", "--header")
    expect("npzoo/any-3d" in comments(few)[0] and "compared on" not in few, "too few rows to compare")


@case
def covariates_of_one_input_are_known_beforehand_and_weights_predict_the_rest():
    draw = random.Random(5)
    rows, truth = ["day,promo,y"], ["day,y"]
    for day in range(98):
        promo = draw.choice(("none", "none", "none", "half price"))
        y = 20 + 3 * math.sin(2 * math.pi * day / 7) + (6 if promo == "half price" else 0) + draw.gauss(0, 0.3)
        rows.append(f"{day},{promo},{y if day < 84 and day % 9 else ''}")
        truth.append(f"{day},{y}")
    table, truth = write("promo.csv", "\n".join(rows) + "\n"), write("promo_truth.csv", "\n".join(truth) + "\n")
    flags = ("predict", table, "--inputs", "day", "--truth", truth, "--out", HERE / "out.csv")
    known = as_json(*flags, "--covariates", "promo")
    expect("npzoo/any-1d" in known["facts"][0] and "ends of one series" in str(known["facts"]), known["facts"])
    expect("compared on" not in str(known["facts"]), "weights of one input are not compared")
    alone = as_json(*flags)
    expect(known["mae"] < 0.6 and known["mae"] < 0.4 * alone["mae"], known["mae"], alone["mae"])
    expect(known["warnings"] == [], known["warnings"])
    new = write("new.csv", table.read_text().replace("97,none", "97,free").replace("97,half price", "97,free"))
    warned = npzoo("predict", new, "--inputs", "day", "--covariates", "promo", "--out", HERE / "out.csv").stderr
    expect("promo = free is in no observed row and in a row to predict: its effect is unknown" in warned, warned)


@case
def many_covariates_of_few_rows_have_one_answer_in_any_order():
    draw = random.Random(6)
    rows, truth = ["day,a,b,c,d,y"], []
    for day in range(13):
        at = [round(draw.gauss(0, 1 if day < 9 else 4), 3) for _ in range(4)]
        truth.append(3 - 8 * at[3])
        rows.append(",".join(map(str, (day, *at, round(truth[-1] + draw.gauss(0, 0.1), 3) if day < 9 else ""))))
    table = write("few.csv", "\n".join(rows) + "\n")
    for model in ("auto", "gp"):
        flags = ("predict", table, "--inputs", "day", "--model", model, "--digits", 9)
        first = figures(succeed(*flags, "--covariates", "a,b,c,d"), "y")
        expect(first == figures(succeed(*flags, "--covariates", "c,d,a,b"), "y"), "the order of names has no effect")
        for (mean, std), value in zip(first[9:], truth[9:]):
            expect(abs(mean - value) < 1.5 and std < 3, model, mean, std, value)
    done = npzoo("predict", table, "--inputs", "day", "--covariates", "a,b,c,d", "--out", HERE / "out.csv")
    expect("c is up to 7.76 in 4 rows to predict, observed from -1.022 to 1.787: its effect is continued as a straight line" in done.stderr, done.stderr)


@case
def covariates_and_categories_have_a_linear_part():
    draw = random.Random(2)
    rows, truth = ["lon,lat,height,soil,t"], ["lon,lat,t"]
    for i in range(120):
        lon, lat, height, soil = draw.random() * 5, draw.random() * 5, draw.random() * 2000, draw.choice(("clay", "sand"))
        t = 15 - 0.0065 * height + math.sin(lon) + (3 if soil == "clay" else 0)
        rows.append(f"{lon},{lat},{height},{soil},{t if i % 4 else ''}")
        truth.append(f"{lon},{lat},{t}")
    table, truth = write("cov.csv", "\n".join(rows) + "\n"), write("cov_truth.csv", "\n".join(truth) + "\n")
    args = ("predict", table, "--covariates", "height,soil", "--truth", truth)
    both = as_json(*args, "--baselines")
    expect(both["model"] == "gp" and both["crps"] < 0.2, both)
    expect(abs(both["processes"][0]["slopes"]["height"] + 0.0065) < 0.001, both["processes"])
    expect(both["baselines"]["inverse distance"]["crps"] > 2 * both["crps"], both["baselines"])
    weights = as_json(*args, "--model", "weights")
    expect(weights["model"].startswith("kriging-tnp") and weights["crps"] < 0.4, weights)
    expect(any("for each unit of height" in note for note in weights["notes"]), weights["notes"])


@case
def longitudes_meet_and_a_pole_is_one_place():
    draw = random.Random(3)
    rows = ["lon,lat,z"]
    for _ in range(80):
        lon, lat = draw.uniform(173, 187), draw.uniform(-5, 5)
        rows.append(f"{lon if lon <= 180 else lon - 360},{lat},{math.sin(lon / 3) + lat / 5}")
    table = write("seam.csv", "\n".join([*rows, "180,1,", "-180,1,", "30,90,", "-100,90,", ""]))
    for model, pole in (("gp", True), ("weights", True)):
        found = figures(succeed("predict", table, "--lonlat", "--model", model), "z")
        expect(found[-4] == found[-3], model, found[-4:-2])
        expect(abs(found[-4][0] - math.sin(60) - 0.2) < 0.05, model, found[-4])
        expect(not pole or abs(found[-1][0] - found[-2][0]) < 1e-3 * found[-1][1], model, found[-2:])
    fail("predict", write("swapped.csv", "lon,lat,z\n1,100,2\n2,50,\n"), "--lonlat", naming=["the latitude of row 0 is 100"])


@case
def bad_kernels_and_columns_have_one_line():
    table = three_inputs()
    wrong_usage("predict", table, "--inputs", "a,b,c", "--kernel", "foo", naming=["[gp] kernel 'foo' found"])
    wrong_usage("predict", table, "--checkpoint", "npzoo/any-2d", "--kernel", "rbf", naming=["--checkpoint and --kernel found"])
    wrong_usage("predict", table, "--model", "weights", "--kernel", "rbf", naming=["--model weights and --kernel found"])
    wrong_usage("predict", table, "--baselines", naming=["--baselines found without --truth and without --plot"])
    fail("predict", table, "--inputs", "a,b", "--covariates", "nope", naming=['no column "nope"'])


if __name__ == "__main__":
    sys.exit(run_cases())
