#!/usr/bin/env python3
"""Tests of `npzoo predict TABLE`: predict_table_test.py PATH_TO_NPZOO"""

import json
import math
import random
import statistics
import sys
import xml.etree.ElementTree

from cli_support import (HERE, as_json, case, check_close, checkpoint, checkpoint_2d, expect, fail, npzoo, run_cases, succeed,
                         write, wrong_usage)
from predict_support import comments, figures, rows_of

NORMAL = statistics.NormalDist()


def args(*more, table="t.csv", at=None):
    return ["predict", "--header", HERE / table, "--digits", 9, "--checkpoint", at or checkpoint(), *more]


def make(groups=("a", "b", "c"), points=14, seed=2):
    """(group, day, u, v, true u, true v), None where it is missing."""
    draw = random.Random(seed)
    rows = []
    for k, group in enumerate(groups):
        for day in range(points):
            u, v = round(math.sin(day / 2 + k), 3), round(100 + 20 * math.cos(day / 3 + k), 2)
            gap = 4 <= day < 6
            rows.append((group, day, None if gap or draw.random() < .2 else u, None if draw.random() < .3 else v, u, v))
    draw.shuffle(rows)
    return rows


def text_of(rows, columns=("id", "day", "u", "v")):
    names = ("id", "day", "u", "v")
    lines = [",".join("" if row[names.index(c)] is None else str(row[names.index(c)]) for c in columns) for row in rows]
    return ",".join(columns) + "\n" + "".join(line + "\n" for line in lines)


def truth_of(rows):
    return "day,v,id,u\n" + "".join(f"{day}.0,{v},{group},{u}\n" for group, day, _, _, u, v in reversed(rows))


@case
def missing_values_are_filled_and_all_rows_stay():
    rows = make(("a",))
    write("t.csv", "# mine\n" + text_of(rows, ("day", "u")))
    done = npzoo(*args())
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    header, found = rows_of(done.stdout)
    expect(header == ["day", "u", "mean_u", "std_u"] and len(found) == len(rows), header)
    for row, (_, day, u, *_) in zip(found, rows):
        expect(row[:2] == [str(day), "" if u is None else str(u)], row)
    expect(comments(done.stdout)[1] == "# columns: u by day", done.stdout)
    known = [row for row in rows if row[2] is not None]
    write("context.csv", text_of(known, ("day", "u")))
    write("targets.csv", text_of(rows, ("day",)))
    two = succeed("predict", "--header", "--digits", 9, "--checkpoint", checkpoint(), "--context", HERE / "context.csv", "--targets", HERE / "targets.csv")
    check_close(figures(done.stdout, "u"), figures(two, "u"))
    of_table = ("# columns", "# rows: ", "# steps: ", "# missing: ", "# season: ")
    expect([line for line in comments(done.stdout) if not line.startswith(of_table)] == comments(two), "what is told of units")
    expect("# rows: 14, day, numbers from 0 to 13" in comments(done.stdout) and "# steps: 1" in comments(done.stdout), done.stdout)
    also = succeed("predict", HERE / "t.csv", "--header", "--digits", 9, "--targets", HERE / "targets.csv", "--checkpoint", checkpoint())
    check_close(figures(also, "u"), figures(two, "u"))
    for chunk in (1, 5):
        check_close(figures(succeed(*args("--chunk", chunk)), "u"), figures(two, "u"))
    result = as_json(*args("--out", HERE / "out.csv"))
    expect((HERE / "out.csv").read_text() == done.stdout, "a file differs from standard output")
    expect((result["rows"], result["context_rows"], result["series"]) == (len(rows), len(known), 1), result)
    expect(result["seconds"] > 0 and result["warnings"] == [] and "mae" not in result, result)
    expect(result["inputs"][0]["name"] == "day" and result["values"][0]["name"] == "u", result)
    succeed(*args("--out", HERE / "out.csv"))
    expect((HERE / "out.csv").read_text() == done.stdout, "a second run differs")


@case
def each_group_and_value_is_a_series_of_its_own():
    rows = make()
    write("t.csv", text_of(rows))
    together = succeed(*args("--group", "id"))
    header, found = rows_of(together)
    expect(header == ["id", "day", "u", "v", "mean_u", "mean_v", "std_u", "std_v"], header)
    expect(comments(together)[1] == "# columns: u, v by day, in 3 groups of id", together)
    expect(comments(together)[2].startswith("# series: 6, of ") and "each standardised by itself" in comments(together)[2], together)
    for name in ("u", "v"):
        said = figures(together, name)
        for group in "abc":
            picked = [i for i, row in enumerate(rows) if row[0] == group]
            write("one.csv", text_of([rows[i] for i in picked], ("day", name)))
            check_close([said[i] for i in picked], figures(succeed(*args(table="one.csv")), name), abs_tol=1e-3)
    numbered = [({"a": "1", "b": "2", "c": "10"}[row[0]], *row[1:]) for row in rows]
    write("t.csv", text_of(numbered))
    expect(figures(succeed(*args("--group", "id")), "u") == figures(together, "u"), "groups that are numbers")
    expect(figures(succeed(*args("--group", "id", "--values", "v")), "v") != [], "one value of two")
    result = as_json(*args("--group", "id", "--threads", 1, "--out", HERE / "one.csv"))
    expect((result["group"], result["groups"], result["series"]) == ("id", 3, 6), result)
    succeed(*args("--group", "id", "--threads", 2, "--out", HERE / "two.csv"))
    expect((HERE / "one.csv").read_bytes() == (HERE / "two.csv").read_bytes(), "the number of threads changes bits")


def expected_scores(text, rows, name):
    """Returns scores of the missing cells, from the written Gaussians."""
    at = {"u": 2, "v": 3}[name]
    triples = [(mean, std, row[at + 2]) for (mean, std), row in zip(figures(text, name), rows) if row[at] is None]
    crps = [std * (z * (2 * NORMAL.cdf(z) - 1) + 2 * NORMAL.pdf(z) - 1 / math.sqrt(math.pi))
            for mean, std, y in triples for z in [(y - mean) / std]]
    return {"mae": statistics.fmean(abs(mean - y) for mean, _, y in triples),
            "rmse": math.sqrt(statistics.fmean((mean - y)**2 for mean, _, y in triples)), "crps": statistics.fmean(crps),
            "coverage_95": statistics.fmean(abs(mean - y) < 1.959964 * std for mean, std, y in triples), "scored": len(triples)}


@case
def scores_against_the_truth():
    rows = make()
    write("t.csv", text_of(rows))
    write("truth.csv", truth_of(rows))
    text = succeed(*args("--group", "id"))
    result = as_json(*args("--group", "id", "--truth", HERE / "truth.csv"))
    for name in ("u", "v"):
        for key, value in expected_scores(text, rows, name).items():
            expect(math.isclose(result["scores"][name][key], value, rel_tol=1e-4), name, key, result, value)
    counts = [result["scores"][name]["scored"] for name in ("u", "v")]
    mean = sum(n * result["scores"][name]["mae"] for n, name in zip(counts, ("u", "v"))) / sum(counts)
    expect(math.isclose(result["mae"], mean, rel_tol=1e-9) and result["scored"] == sum(counts), result)
    shown = succeed(*args("--group", "id", "--truth", HERE / "truth.csv")).splitlines()
    expect([line.split(":")[0] for line in shown] == ["u", "v", "all"] and "CRPS" in shown[0], shown)
    both = npzoo(*args("--group", "id", "--truth", HERE / "truth.csv", "--out", "-"))
    expect(both.stdout == text and "u: MAE" in both.stderr, "scores spoil the table", both.stderr)
    # Times are the same moment however they are written.
    write("t.csv", "t,y\n2024-01-01T00:00Z,1\n2024-01-02T00:00Z,\n2024-01-03T00:00Z,3\n")
    write("truth.csv", "t,y\n2024-01-02T01:00+01:00,2\n")
    expect(as_json(*args("--truth", HERE / "truth.csv"))["scored"] == 1, "another zone")


@case
def truths_that_cannot_be():
    rows = make(("a",))
    write("t.csv", text_of(rows, ("day", "u")))
    for content, naming in (("day,u\n100,1\n", ["[truth]", "has none of the predicted values"]),
                            ("day,u\n1,1\n1,1\n", ["rows 1 and 2 have the same inputs"]), ("day\n1\n", ['no column "u"']),
                            ("day,u\n1,x\n", ["truth.csv:2", 'column "u" holds "x"']),
                            ("day,u\n2020-01-01,1\n", ['expected a number, like the others of the column'])):
        write("truth.csv", content)
        fail(*args("--truth", HERE / "truth.csv"), naming=naming)
    fail(*args("--truth", HERE / "none.csv"), naming=["none.csv", "No such file"])


@case
def quantiles_and_samples():
    rows = make()
    write("t.csv", text_of(rows))
    text = succeed(*args("--group", "id", "--quantiles", ".05,.5,.975"))
    header, found = rows_of(text)
    expect(header[4:] == ["mean_u", "mean_v", "std_u", "std_v", *(f"q{p}_{n}" for p in ("0.05", "0.5", "0.975") for n in "uv")], header)
    for row in found:
        for j in range(2):
            mean, std = float(row[4 + j]), float(row[6 + j])
            for k, p in enumerate((.05, .5, .975)):
                expect(abs(float(row[8 + 2 * k + j]) - mean - NORMAL.inv_cdf(p) * std) < 1e-5 * std + 1e-6 * abs(mean), row, p)
    succeed(*args("--group", "id", "--samples", 2000, "--samples-out", HERE / "s.csv"))
    header, drawn = rows_of((HERE / "s.csv").read_text())
    expect(header == ["id", "day", "u", "v", "sample", "sample_u", "sample_v"] and len(drawn) == 2000 * len(rows), header)
    for i in (0, 7):
        own = drawn[2000 * i:2000 * (i + 1)]
        expect([int(row[4]) for row in own] == list(range(1, 2001)) and own[0][:4] == found[i][:4], own[0])
        for j in range(2):
            mean, std = float(found[i][4 + j]), float(found[i][6 + j])
            values = [float(row[5 + j]) for row in own]
            expect(abs(statistics.fmean(values) - mean) < 5 * std / math.sqrt(2000), "mean of samples")
            expect(abs(statistics.pvariance(values) / std**2 - 1) < 5 * math.sqrt(2 / 2000), "variance of samples")


@case
def two_inputs_by_their_names():
    draw = random.Random(4)
    rows = "".join(f"{draw.uniform(5, 9):.3f},{draw.uniform(40, 50):.3f},{'' if i % 3 == 0 else draw.gauss(0, 1):}\n" for i in range(12))
    write("t.csv", "lon,lat,temp\n" + rows)
    text = succeed(*args(at=checkpoint_2d()))
    expect(comments(text)[1] == "# columns: temp by lon, lat" and len(figures(text, "temp")) == 12, text)
    expect("kriging-tnp trained under npzoo/any-2d" in comments(succeed("predict", "--header", HERE / "t.csv"))[0], "the weights for tables")
    write("t.csv", "a,b,c,d,temp\n1,2,3,4,5\n2,3,4,5,\n")
    fail("predict", HERE / "t.csv", naming=['"a", "b", "c" and "d" might be inputs, expected --inputs to name them'])
    fail("predict", HERE / "t.csv", "--inputs", "a,b,c,d", "--model", "weights", naming=["4 inputs found, weights for any table take 1 to 3"])


@case
def many_points_are_answered_by_those_near_by():
    rows = "".join(f"{day},{'' if day % 7 == 5 else round(math.sin(day / 9), 4)}\n" for day in range(200))
    write("t.csv", "day,y\n" + rows)
    done = npzoo(*args())
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    expect("# contexts of more than 32 points: targets that are near to each other share 32 of them" in done.stdout, done.stdout[:900])
    text = succeed(*args("--neighbours", 10))
    expect("# contexts of more than 10 points: targets that are near to each other share 10 of them" in text, text[:900])


@case
def groups_that_one_table_lacks():
    write("t.csv", "id,day,u\na,1,2\na,2,3\na,4,2\nb,1,5\nb,3,4\n")
    write("targets.csv", "note,id,day\nx,c,1\ny,a,3\nz,b,2\n")
    more = ["--targets", HERE / "targets.csv", "--group", "id", "--inputs", "day"]
    done = npzoo(*args(*more))
    expect(done.returncode == 0, done.stderr)
    header, found = rows_of(done.stdout)
    expect(header == ["note", "id", "day", "mean_u", "std_u"] and [row[0] for row in found] == ["x", "y", "z"], done.stdout)
    expect("1 of 3 series have no observed point" in done.stderr, done.stderr)


def mixed_stations():
    return "date,station,temp\n" + "".join(f"2026-01-{day:02},{s},{'' if day % 5 == 4 else round(level + math.sin(day), 2)}\n"
                                           for day in range(1, 31) for s, level in (("A", 0), ("B", 100)))


@case
def rows_of_two_stations_are_not_averaged():
    write("t.csv", mixed_stations())
    fail(*args(), naming=['[columns]', 't.csv has 30 dates twice; if "station" names the series, use --group station; if all rows '
                          'are one series, use --group none'])
    grouped = figures(succeed(*args("--group", "station")), "temp")
    expect(all(abs(mean) < 30 for mean, _ in grouped[::2]) and all(abs(mean - 100) < 30 for mean, _ in grouped[1::2]), grouped)
    expect(len(figures(succeed(*args("--group", "none")), "temp")) == 60, "as asked for")
    fail(*args("--inputs", "date"), naming=['if "station" names the series, use --group station'])
    write("targets.csv", "date\n2026-02-01\n")
    fail(*args("--targets", HERE / "targets.csv"), naming=['if "station" names the series'])


@case
def replicates_are_counted():
    rows = "".join(f"{x},{x + off}\n" for x in range(4) for off in (-.5, 0, .5)) + "1.5,\n"
    write("t.csv", "x,y\n" + rows)
    expect("# repeated inputs: 4 places with more than one observed row, 12 rows in all" in comments(succeed(*args())), "a count")
    write("t.csv", "x,y\n1,2\n1,\n2,3\n3,5\n")  # one of the two is to be filled
    expect("repeated" not in succeed(*args()), "nothing repeats")


def warned(table, *more):
    write("t.csv", table)
    done = npzoo(*args(*more))
    expect(done.returncode == 0, done.stderr)
    return [line.removeprefix("npzoo: warning: ") for line in done.stderr.splitlines() if line.startswith("npzoo: ")]


@case
def points_that_spoil_all_others_are_warned_of():
    far = warned("x,y\n0,0\n1,1\n2,2\n1e9,3\n5e8,\n")
    expect("1 of 1 series has an observed point that is far from all others, such as x = 1000000000: beside it the others fall on one spot"
           in far, far)
    rows = "".join(f"2020-01-{d:02},{'' if d == 9 else 12 + math.sin(d)}\n" for d in range(1, 29))
    expect(warned("date,y\n" + rows) == [], "nothing to warn of")
    (found,) = [line for line in warned("date,y\n" + rows + "2020-01-29,-999\n") if "which is left out" in line]
    expect("y = -999 is" in found and "standard deviations of the others away" in found and "use --missing -999;" in found, found)
    (clock,) = [line for line in warned("t,y\n" + "".join(f"2022-10-30T0{h}:00,{y}\n" for h, y in enumerate((1, 2, 3, 4, 5)))
                                        + "2022-10-30T02:00,9\n2022-10-30T05:00,\n") if "clocks" in line]
    expect(clock.startswith("1 time of day with more than one observed row, such as 2022-10-30T02:00:00: if clocks were put back"), clock)
    write("t.csv", "lon,lat,z\n" + "".join(f"{x},{y},{x % 7}\n" for x in (-179, -176, 173, 179) for y in (0, 1)) + "180,0,\n")
    done = npzoo(*args(at=checkpoint_2d()))
    expect("longitudes lie on both sides of 180 degrees" in done.stderr, done)


@case
def groups_of_one_row_or_none_are_like_the_others():
    def text(unit):
        good = "".join(f"{g},{day},{'' if day == 4 else (level + math.sin(day)) * unit}\n" for g, level in (("a", 50), ("b", 54))
                       for day in range(9))
        return "id,day,y\n" + good + f"one,3,{52 * unit!r}\none,5,\nnone,2,\n"

    write("t.csv", text(1.0))
    done = npzoo(*args("--group", "id"))
    found = figures(done.stdout, "y")
    expect("1 of 4 series have no observed point: they are predicted to be like the other series" in done.stderr, done.stderr)
    expect("1 of 4 series have one observed point: the spread of all series is used for theirs" in done.stderr, done.stderr)
    for mean, std in found[-3:]:
        expect(40 < mean < 64 and std < 10, found[-3:], "the others are at 50 and 54")
    write("t.csv", text(1000.0))
    check_close([[f / 1000 for f in row] for row in figures(succeed(*args("--group", "id")), "y")], found)


@case
def the_unit_of_a_constant_column_does_not_matter():
    def found(unit):
        write("t.csv", "t,y\n" + "".join(f"{t},{5000 * unit!r}\n" for t in range(10)) + "4.5,\n10,\n")
        return [[f / unit for f in row] for row in figures(succeed(*args()), "y")]

    metres = found(1.0)
    expect(all(std > 0 for _, std in metres), metres)
    for unit in (1e-3, 1e6):
        check_close(found(unit), metres)
    write("t.csv", "x,y\n" + "".join(f"{i},{9223372036854775807 - i}\n" for i in range(8)) + "8,\n")
    expect(all(std >= 1024 for _, std in figures(succeed(*args()), "y")), "below the spacing of doubles")


@case
def a_hundred_thousand_columns():
    count = 100_000
    names = ",".join(f"c{i}" for i in range(count))
    write("t.csv", f"x,{names}\n" + "".join(f"{x}{f',{y}' * count}\n" for x, y in ((1, 4), (2, 6), (3, ""), (4, 5))))
    header, found = rows_of(succeed(*args("--values", "c99999")))
    expect(header[-3:] == ["c99999", "mean_c99999", "std_c99999"] and len(header) == count + 3, header[-3:])
    expect(rows_of(succeed(*args("--out", "-")))[0][-1] == "std_c99999", "all of them")
    write("t.csv", f"x,{names},c7\n")
    fail(*args(), naming=['has two columns "c7"'])


@case
def predictions_that_are_no_numbers():
    write("out.csv", "precious")
    for rows, more, line, found in (("1,1e300\n2,\n", ("--no-standardise",), 2, "no number"),
                                    ("1,1.79e308\n2,1.7e308\n3,\n", ("--quantiles", "0.9999999999"), 2, "infinite")):
        write("t.csv", "x,u\n" + rows)
        fail(*args("--out", HERE / "out.csv", *more), naming=[f"t.csv:{line}] the prediction is {found}, expected a finite number"])
    write("t.csv", "x,u\n1,1.79e308\n2,1.7e308\n3,\n")
    fail(*args("--samples", 400, "--samples-out", HERE / "out.csv"), naming=["the prediction is infinite, expected a finite number"])
    expect((HERE / "out.csv").read_text() == "precious", "an old file was lost")


@case
def one_row_without_a_prediction_leaves_the_others():
    write("t.csv", "x,u\n1,1\n2,2\n3,\n1e300,\n")
    done = npzoo(*args("--quantiles", ".5", "--out", HERE / "out.csv", "--samples", 2, "--samples-out", HERE / "s.csv", "--json"))
    expect(done.returncode == 3, done.returncode, done.stderr)
    expect("t.csv:5] has no prediction, so that the cells are blank: inputs or values are too large" in done.stderr, done.stderr)
    header, found = rows_of((HERE / "out.csv").read_text())
    expect(len(found) == 4 and found[3] == ["1e300", "", "", "", ""], found)
    expect(all(math.isfinite(float(cell)) for row in found[:3] for cell in row[2:]), found)
    header, found = rows_of((HERE / "s.csv").read_text())
    expect(len(found) == 8 and found[6][2:] == ["", ""] and float(found[5][3]), found)
    write("t.csv", "x,u\n1,1\n2,2\n1e300,\n3,\n2e300,\n")
    done = npzoo(*args("--out", HERE / "out.csv"))
    expect(done.returncode == 3 and "t.csv:4] and 1 others have no prediction" in done.stderr, done.stderr)


@case
def commands_that_cannot_be():
    write("t.csv", text_of(make(("a",)), ("day", "u")))
    write("out.csv", "precious")
    wrong_usage("predict", "--checkpoint", checkpoint(), naming=["neither TABLE nor --context found, expected one of them"])
    wrong_usage(*args("--context", HERE / "t.csv"), naming=["TABLE and --context found, expected one of them"])
    wrong_usage("predict", HERE / "t.csv", HERE / "t.csv", naming=["2 tables found, expected one TABLE"])
    wrong_usage("predict", "--context", HERE / "t.csv", naming=["--context found without --targets, expected both, or TABLE alone"])
    for text in ("0", "1", "-.1", "x", ".5x", "nan"):
        wrong_usage(*args("--quantiles", text), naming=[f"--quantiles {text} found, expected numbers above 0 and below 1"])
    wrong_usage(*args("--quantiles", ".5,.9,0.50"), naming=["--quantiles 0.50 found twice, expected each once"])
    for first, second, more in (("TABLE", "--targets", ["-"]), ("TABLE", "--truth", ["-"]), ("--context", "--targets", ["--context", "-"]),
                                ("--targets", "--truth", [HERE / "t.csv", "--targets", "-"])):
        fail("predict", *more, second, "-", "--checkpoint", checkpoint(), stdin="day,u\n1,2\n",
             naming=[f"[predict] {first} and {second} are both standard input, expected a file for one of them"])
    fail(*args("--out", HERE / "t.csv"), naming=["--out", "is TABLE as well"])
    fail(*args("--truth", HERE / "out.csv", "--out", HERE / "out.csv"), naming=["is --truth as well"])
    fail(*args("--out", HERE / "no such directory" / "o.csv"), naming=["no such directory"])
    fail(*args("--group", "u", "--plot", HERE / "p.svg"), naming=["expected"])
    expect((HERE / "out.csv").read_text() == "precious", "an old file was lost")


@case
def picture():
    write("t.csv", text_of(make(("a",)), ("day", "u", "v")))
    expect(as_json(*args("--plot", HERE / "p.svg"))["plot"] == str(HERE / "p.svg"), "JSON names the picture")
    xml.etree.ElementTree.parse(HERE / "p.svg")
    expect(not succeed(*args("--plot", HERE / "p.svg")), "the table is printed although a picture was asked for")


@case
def pictures_of_groups_show_the_first_ones():
    heights = []
    for count in (1, 3, 14):
        groups = [f"g{k}" for k in range(count)]
        write("t.csv", text_of(make(groups), ("id", "day", "u")))
        done = npzoo(*args("--group", "id", "--plot", HERE / "p.svg", "--out", HERE / "o.csv"))
        expect(done.returncode == 0, done.stderr)
        expect(("shows the first 12 of 14 groups" in done.stderr) == (count == 14), done.stderr)
        expect(len(rows_of((HERE / "o.csv").read_text())[1]) == 14 * count, "the table has all groups")
        heights.append(float(xml.etree.ElementTree.parse(HERE / "p.svg").getroot().get("height").removesuffix("px")))
    expect(heights[0] < heights[1] and heights[2] < 1.5 * heights[1], heights, "one, three and twelve panels, three beside each other")
    grid = "".join(f"{g},{i % 4},{i // 4},{'' if i == 5 else i + 10 * k}\n" for k, g in enumerate("ab") for i in range(16))
    write("t.csv", "id,lon,lat,z\n" + grid)
    succeed(*args("--group", "id", "--plot", HERE / "maps.svg", at=checkpoint_2d()))
    expect((HERE / "maps.svg").read_text().count("<image") >= 6, "three maps for each group")


@case
def names_that_cannot_be_drawn_are_refused_before_the_work():
    write("t.csv", "day,gr\xf6\xdfe\n1,2\n2,\n3,4\n4,3\n".encode("latin-1"))
    fail(*args("--plot", HERE / "p.svg"), naming=["[plot]", "p.svg cannot show the name", "expected UTF-8: convert the table"])
    expect(succeed(*args()) != "", "a table without a picture")
    write("t.csv", "id,day,u\nM\xfcnchen,1,2\nM\xfcnchen,2,\nM\xfcnchen,3,1\n".encode("latin-1"))
    fail(*args("--group", "id", "--plot", HERE / "p.svg"), naming=["p.svg cannot show the name"])


@case
def tables_are_written_as_text():
    write("t.csv", text_of(make(("a",)), ("day", "u")))
    for ending in ("xlsx", "XLSX", "ods", "parquet", "gz"):
        fail(*args("--out", HERE / f"f.{ending}"), naming=[f"--out {HERE}/f.{ending} ends with .{ending.lower()}, expected a table as "
                                                           f"text, such as {HERE}/f.csv"])
    fail(*args("--samples", 2, "--samples-out", HERE / "f.xlsx"), naming=["--samples-out"])
    succeed(*args("--out", HERE / "f.txt"))


@case
def counts_are_printed_in_words():
    write("t.csv", "id,day,u\na,1,2\na,2,3\na,4,2\na,3,\n")
    expect("in 1 group of id" in comments(succeed(*args("--group", "id")))[1], "one group")
    write("t.csv", "id,day,u\na,1,2\na,2,3\na,4,\nb,1,2\nb,2,3\nb,3,\n")
    expect("# series: 2, of 2 observed points, each standardised by itself" in succeed(*args("--group", "id")), "as many in each")


if __name__ == "__main__":
    sys.exit(run_cases())
