#!/usr/bin/env python3
"""Situations of public threads about values, points, maps and counts: situations_test.py PATH_TO_NPZOO"""

import math
import random
import resource
import sys

from cli_support import WITHOUT_QUARANTINE, case, expect, npzoo, run_cases, write
from situations_support import Answer, near, predict, refused, refused_table, table

X = ("--inputs", "x")
SPACING = {1e15: .125, 2.0**63: 1024}


def sines(copies=1):
    rows = [(i / 10, round(math.sin(i / 10), 4)) for i in range(20)]
    return table("x,y", rows[:12] + rows[5:6] * (copies - 1) + rows[12:] + [(.45, ""), (1.23, "")])


@case
def rows_that_repeat_change_nothing():  # 1
    plain, copied = (predict(sines(copies), *X).figures()[-2:] for copies in (1, 3))
    for (mean, std), (other, _), truth in zip(copied, plain, (math.sin(.45), math.sin(1.23))):
        near(mean, truth, .002)
        near(mean, other, .001)
        expect(0 < std < .01, std)


@case
def points_that_nearly_coincide_are_finite():  # 2
    (mean, std) = predict("x,y\n0,0\n1,1\n1.000000000001,1.1\n2,2\n1.5,\n", *X).figures()[-1]
    near(mean, 1.5, .5)
    expect(.01 < std < 3, std)


@case
def replicates_that_disagree_are_averaged_and_counted():  # 3
    rows = [(x, x + off) for x in range(4) for off in (-.5, 0, .5)]
    answer = predict(table("x,y", rows + [(0, ""), (1.5, ""), (3, "")]), *X)
    for (mean, std), truth in zip(answer.figures()[-3:], (0, 1.5, 3)):
        near(mean, truth, .3)
        expect(.4 < std < 1, std)
    expect(answer.says("repeated inputs: 4 places with more than one observed row, 12 rows in all"), answer.notes)


@case
def replicates_of_a_map_are_averaged():  # 4
    rows = [(a, b, a + b + off) for a in range(4) for b in range(4) for off in (-.5, .5)]
    answer = predict(table("lon,lat,z", rows + [(1, 1, "")]))
    ((mean, std),) = answer.figures("z")[-1:]
    near(mean, 2, .3)
    expect(.3 < std < 1, std)
    expect(answer.says("16 places with more than one observed row"), answer.notes)


@case
def a_constant_column_keeps_its_unit():  # 5
    def found(unit):
        answer = predict(table("t,y", [(t, 5000 * unit) for t in range(10)] + [(4.5, ""), (10, "")]), "--inputs", "t")
        (warning,) = [w for w in answer.warnings if "one value alone" in w]
        expect("divided by its own size: y" in warning, warning)
        return [(mean / unit, std / unit) for mean, std in answer.figures()]

    metres, millimetres = found(1.0), found(1000.0)
    for (mean, std), (other, other_std) in zip(metres, millimetres):
        near(mean, 5000, 5)
        expect(0 < std < 50, std)
        near(other, mean, .01)
        near(other_std, std, .01 * std)


@case
def a_nearly_constant_column_has_its_own_deviation():  # 6
    answer = predict(table("t,y", [(t, 5000 + 1e-9 * (t % 2)) for t in range(10)] + [(4.5, ""), (10, "")]), "--inputs", "t")
    for mean, std in answer.figures():
        near(mean, 5000, 2e-9)
        expect(1e-12 < std < 1e-8, std)


@case
def a_constant_input_gives_the_mean():  # 7
    answer = predict(table("x,y", [(7, y) for y in range(8)] + [(7, ""), (8, "")]), *X, "--values", "y")
    for mean, std in answer.figures()[-2:]:
        near(mean, 3.5, .5)
        expect(1.5 < std < 4, std)
    expect(answer.says("one value alone in the context", "x"), answer.notes)


@case
def places_on_a_line_leave_the_other_axis_open():  # 8
    rows = [(i, 0, round(math.sin(i / 3), 3)) for i in range(20) if i != 9]
    answer = predict(table("lon,lat,z", rows + [(9, 0, ""), (9, 1, "")]))
    (mean, std), (_, off) = answer.figures("z")[-2:]
    near(mean, math.sin(3), .02)
    expect(off > 10 * std and off > .2, off, std)
    expect(answer.says("one value alone in the context", "lat"), answer.notes)


@case
def deviations_have_the_unit_of_the_values():  # 9
    (mean, std), (_, far) = predict(table("x,y", [(i / 10, -5000. * i) for i in range(10)] + [(.45, ""), (2, "")]), *X).figures()[-2:]
    near(mean, -22500, 200)
    expect(1 < std < 200 and far > 1000, std, far)


@case
def several_targets_have_scales_of_their_own():  # 10
    rows = [(x, 12 + math.sin(x), 1e6 * (12 + math.sin(x))) for x in range(12)]
    answer = predict(table("x,a,b", rows + [(4.5, "", "")]), *X)
    (mean, std), (large, large_std) = answer.figures("a")[-1], answer.figures("b")[-1]
    near(mean, 12 + math.sin(4.5), .2)
    near(large / mean, 1e6, 1)
    near(large_std / std, 1e6, 1000)


@case
def a_large_level_costs_no_digits():  # 11
    for level in (1e6, 1e9, 1e12, 1e15):
        answer = predict(table("t,y", [(t, level + math.sin(t)) for t in range(20) if t != 9] + [(9, "")]), "--inputs", "t")
        mean, std = answer.figures()[-1]
        near(mean - level, math.sin(9), .02 + SPACING.get(level, 0), level)
        expect(.05 < std < .2, std)


@case
def deviations_at_observed_points_are_positive():  # 12
    for rows in ([(x, math.sin(x)) for x in range(12)], [(x, x) for x in range(12)], [(x, 0) for x in range(12)]):
        answer = predict(table("x,y", rows + [(3, ""), (11, "")]), *X)
        expect(all(std > 0 and math.isfinite(mean) for mean, std in answer.figures()), answer.text)


@case
def numbers_at_the_ends_of_doubles():  # 13
    for rows, level in (([(t, 9223372036854775807 - t) for t in range(6)], 2.0**63), ([(t, 1e300 * (1 + t % 2)) for t in range(6)], 1.5e300),
                        ([(t, (1 + t % 2) * 1e-300) for t in range(6)], 1.5e-300),
                        ([(t, 9e15 + t) for t in range(12)], 9e15)):
        for mean, std in predict(table("t,y", rows + [(2.5, "")]), "--inputs", "t").figures():
            near(mean / level, 1, .5)
            expect(math.isfinite(std) and std >= math.nextafter(level, math.inf) - level, "below the spacing of doubles:", std)


@case
def a_number_that_stands_for_missing_is_named():  # 14
    for text in ("2020-01-01,1\n2020-01-02,-999\n2020-01-03,\n2020-01-04,2\n2020-01-05,1.5\n",
                 "".join(f"2020-01-{d:02},{'' if d == 9 else -9999 if d == 12 else d % 4}\n" for d in range(1, 29))):
        answer = predict("date,y\n" + text)
        value = "-9999" if "-9999" in text else "-999"
        expect(answer.says(f"y = {value} is", f"use --missing {value}"), answer.notes)
        mean, _ = predict("date,y\n" + text, "--missing", value).figures()[2]
        near(mean, 1.5, 1.5)


@case
def far_from_all_data_predictions_are_wide_and_warned_of():  # 15
    answer = predict(table("x,y", [(x, 2 * x) for x in range(20)] + [(x, "") for x in (20, 40, 1000, 1e6)]), *X)
    (mean, std), (_, further), (_, far), (_, furthest) = answer.figures()[-4:]
    near(mean, 40, .5)
    expect(std < 1 < further < far <= furthest, answer.figures()[-4:])
    expect(answer.says("3 of 24 targets lie outside the range of inputs in training", "furthest: 1000000"), answer.notes)


@case
def one_far_input_is_warned_of():  # 16
    answer = predict("x,y\n0,1\n1,2\n2,3\n1e9,4\n1,\n5e8,\n", *X)
    expect(answer.says("such as x = 1000000000: beside it the others fall on one spot"), answer.notes)
    expect(all(std > .5 for _, std in answer.figures()), "as sure as if they were apart", answer.figures())


@case
def a_map_of_33000_places_needs_little_memory():  # 17
    rng = random.Random(1)
    f = lambda a, b: math.sin(a / 10) + math.cos(b / 12)
    at = [(round(100 * rng.random(), 4), round(100 * rng.random(), 4)) for _ in range(33_000)]
    asked = [(5 * i + 2.3, 97 - 4.5 * i) for i in range(20)]
    context = write("map.csv", table("lon,lat,z", [(a, b, round(f(a, b) + .1 * rng.gauss(0, 1), 3)) for a, b in at]))
    targets = write("at.csv", table("lon,lat", asked))
    answer = Answer(npzoo("predict", "--context", context, "--targets", targets, environment=WITHOUT_QUARANTINE))
    for (a, b), (mean, _) in zip(asked, answer.figures("z")):
        near(mean, f(a, b), .15)
    expect(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2**20, "more than 1 GB")


@case
def tables_without_a_value_are_refused():  # 18
    refused_table("date,y\n2020-01-01,\n2020-01-03,\n", 'has no value in "y"')
    refused_table("date,y\n2020-01-01,nan\n2020-01-03,NaN\n", 'has no value in "y"')


@case
def the_date_line_and_the_poles_meet():  # 35
    f = lambda a: 10 + .3 * math.cos((a % 360 - 180) / 5)
    east = [(a, b) for a in (*range(-179, -172, 2), *range(173, 180, 2)) for b in (-4, -1, 2, 4)]
    rows = [(a, b, f(a) + .1 * b) for a, b in east] + [(180, 0, ""), (-180, 0, "")]
    flat = predict(table("lon,lat,z", rows))
    expect(flat.says("longitudes lie on both sides of 180 degrees and count as far apart: use --lonlat"), flat.notes)
    answer = predict(table("lon,lat,z", rows), "--lonlat")
    (mean, std), other = answer.figures("z")[-2:]
    near(mean, f(180), .02)
    expect((mean, std) == other and std < .02, mean, std, other)
    expect(not answer.says("use --lonlat"), answer.notes)
    turned = predict(table("lon,lat,z", [(a % 360, b, z) for a, b, z in rows]), "--lonlat").figures("z")[-1]
    near(turned[0], mean, 1e-3)
    polar = [(lon, lat, -30 + .8 * (90 - lat)) for lon in range(-180, 180, 30) for lat in (80, 84, 88)]
    polar = table("lon,lat,z", polar + [(0, 90, ""), (90, 90, ""), (-135, 90, "")])
    flat = predict(polar)
    expect(flat.says("longitudes near a pole count as far apart: use --lonlat"), flat.notes)
    found = predict(polar, "--lonlat").figures("z")[-3:]
    expect(found[0] == found[1] == found[2], found)
    near(found[0][0], -30, 1.5)
    world = predict(table("lon,lat,z", [(a, b, a % 7) for a in range(1, 360, 2) for b in (0, 5)] + [(0, 1, "")]))
    expect(world.says("longitudes lie on both sides of 0 degrees"), world.notes)


@case
def each_axis_of_a_map_has_its_own_unit():  # 36
    rng = random.Random(3)
    f = lambda a, b: math.sin(6 * a) + .001 * b
    at = [(rng.random(), 1000 * rng.random()) for _ in range(80)]
    rows = [(a, b, f(a, b)) for a, b in at] + [(.5, 500, ""), (.25, 100, "")]
    found = predict(table("x1,x2,z", rows)).figures("z")[-2:]
    for (mean, std), at in zip(found, ((.5, 500), (.25, 100))):
        near(mean, f(*at), .05)
        expect(std < .05, std)
    for (mean, std), other in zip(predict(table("x1,x2,z", [(1000 * a, b, z) for a, b, z in rows])).figures("z")[-2:], found):
        near(mean, other[0], 1e-3)
        near(std, other[1], 1e-3)


@case
def predictions_stay_within_the_support():  # 37
    levels = ("--quantiles", ".05,.95")
    demand = "month,y\n" + "".join(f"{2019 + i // 12}-{i % 12 + 1:02d},{y}\n" for i, y in enumerate([0] * 30 + [1, 158])) + "2021-09,\n"
    rain = [0, 0, 0, 5.2, 0, 0, 0, 0, 12.1, .4, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]
    rain = "date,y\n" + "".join(f"2020-01-{1 + i:02d},{y}\n" for i, y in enumerate(rain)) + "2020-01-25,\n"
    for text in (demand, rain):
        free = predict(text, *levels)
        expect(free.column("q0.05_y")[-1] >= 0, free.text)
        expect(free.says("have a lower 95 % bound below 0", "use --bounds 0, or --transform auto"), free.notes)
        for more in (("--bounds", "0"), ("--counts",) if text is demand else ("--transform", "sqrt")):
            bound = predict(text, *levels, *more)
            expect(min(bound.column("q0.05_y") + bound.column("mean_y")) >= 0, bound.text)
            expect(not bound.says("use --bounds"), bound.notes)
    humid = "date,y\n" + "".join(f"2020-01-{1 + i:02d},{y}\n" for i, y in enumerate(
        (99, 100, 100, 98, 100, "", 100, 99, 100, 100, 97, 100)))
    free = predict(humid, *levels)
    expect(free.says("have an upper 95 % bound above 100, which no observed value exceeds: use --bounds 0,100"), free.notes)
    bound = predict(humid, *levels, "--bounds", "0,100")
    expect(max(bound.column("q0.95_y") + bound.column("mean_y")) <= 100 and not bound.says("use --bounds"), bound.text)
    warm = predict(humid.replace("100", "101"), *levels)
    expect(not warm.says("use --bounds 0,1"), "101 is no obvious limit", warm.notes)


@case
def quantiles_are_ordered_by_their_probability():  # 42
    answer = predict(sines(), *X, "--quantiles", ".9,.1,.5")
    for low, middle, high in zip(*(answer.column(f"q{p}_y") for p in (.1, .5, .9))):
        expect(low < middle < high, low, middle, high)
    for p in ("0", "1", "1.5", "x"):
        refused(["predict", write("t.csv", sines()), *X, "--quantiles", p], "--quantiles")


@case
def answers_do_not_depend_on_how_they_are_computed():  # 43
    rng = random.Random(4)
    at = sorted(round(10 * rng.random(), 4) for _ in range(1300))
    for size in (300, 1300):  # below and above the largest context of training
        rows = [(x, round(math.sin(x), 4) if i % 3 else "") for i, x in enumerate(at[:size])]
        text = predict(table("x,y", rows), *X).text
        for more in (("--chunk", "1") if size == 300 else ("--chunk", "100"), ("--threads", "1"), ("--threads", "3")):
            expect(predict(table("x,y", rows), *X, *more).text == text, more)
        header, *lines = text.splitlines()
        shuffled = rows[:]
        rng.shuffle(shuffled)
        expect(sorted(predict(table("x,y", shuffled), *X).text.splitlines()[1:]) == sorted(lines), "another order of rows")
        context = write("context.csv", table("x,y", [row for row in rows if row[1] != ""]))
        alone = [line for row, line in zip(rows, lines) if row[1] == ""][:3]
        for line in alone:
            done = npzoo("predict", "--context", context, "--targets", write("at.csv", f"x\n{line.split(',')[0]}\n"))
            expect(done.stdout.splitlines()[1].split(",")[1:] == line.split(",")[2:], done.stdout, line)


@case
def warnings_name_column_range_and_furthest():  # 44
    answer = predict(table("depth,y", [(d, d * d) for d in range(10)] + [(40, "")]), "--inputs", "depth")
    expect(answer.says("1 of 11 targets lie outside the range of inputs in training, here depth from -9 to 18; furthest: 40"), answer.notes)


if __name__ == "__main__":
    sys.exit(run_cases())
