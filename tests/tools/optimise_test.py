#!/usr/bin/env python3
"""Tests of `npzoo optimise`: optimise_test.py PATH_TO_NPZOO"""

import json
import math
import sys
import xml.etree.ElementTree

from cli_support import HERE, case, checkpoint, expect, npzoo, run_cases, write
from optimise_support import ONE, TWO, ask, rows, table_of

@case
def without_rows_a_design_fills_the_space():
    missing = rows(ask(ONE, None, "--ask", 8))
    expect(len(missing) == 8 and all(-2 <= r["x"] <= 4 for r in missing), missing)
    expect(missing == rows(ask(ONE, "", "--ask", 8)) == rows(ask(ONE, "x,value\n", "--ask", 8)), "an empty table differs")
    expect(sorted(int((r["x"] + 2) / .75) for r in missing) == list(range(8)), f"{missing}: not one in each eighth")
    expect(missing != rows(ask(ONE, None, "--ask", 8, "--seed", 1)), "the seed changes nothing")
    part = rows(ask(ONE, table_of(missing[:2], lambda p: p["x"]), "--ask", 2))
    expect(part == missing[2:4], "the design does not go on where the table ends")


@case
def axes_have_their_scales_and_types():
    points = rows(ask(TWO + '[[axis]]\nname = "held"\nfixed = 0.25\n', None, "--ask", 16))
    expect(all(r["k"] == int(r["k"]) and 1 <= r["k"] <= 1000 and r["held"] == .25 for r in points), points)
    expect(sum(r["k"] < 32 for r in points) == 8, f"{points}: half of a log axis is below its geometric middle")
    held = TWO.replace("high = 4.0", "high = 4.0\nfixed = 1.5")
    seen = [{"x": -2 + i / 2, "k": 2. ** (i % 9)} for i in range(10)]
    asked = rows(ask(held, table_of(seen, lambda p: p["x"] ** 2 + math.log(p["k"]), ("x", "k")), "--ask", 2))
    expect(all(r["x"] == 1.5 for r in asked) and asked[0] != asked[1], asked)


@case
def a_minimum_is_found_and_a_maximum():
    for flags, sign in (((), 1), (("--maximise",), -1)):
        points = rows(ask(ONE, None, "--ask", 4))
        f = lambda p: sign * (p["x"] - 1.234) ** 2 + 5
        for _ in range(12):
            points += rows(ask(ONE, table_of(points, f), *flags))
        least = min(abs(p["x"] - 1.234) for p in points)
        expect(least < .06, f"{points}: {least} from the optimum, a hundredth of the range is .06")


@case
def the_gaussian_process_predicts_if_no_weights_fit():
    four = "".join(f'[[axis]]\nname = "{n}"\nlow = 0\nhigh = 1\n' for n in "abcd")
    points = rows(ask(four, None, "--ask", 10))
    f = lambda p: sum((p[n] - .3) ** 2 for n in "abcd")
    for _ in range(10):
        done = ask(four, table_of(points, f, "abcd"))
        expect("a Gaussian process makes the predictions" in done.stderr and len(done.stderr.splitlines()) == 2, done.stderr)
        points += rows(done)
    expect(min(map(f, points)) < .01, points)
    table = table_of(rows(ask(ONE, None, "--ask", 5)), lambda p: p["x"])
    for flags, by in (((), "kriging-tnp"), (("--gaussian-process",), "gp")):
        done = ask(ONE, table, "--json", *flags)
        expect(done.stderr == "" and json.loads(done.stdout)["proposals"][0]["by"] == by, done)
    both = ask(ONE, table, "--gaussian-process", "--checkpoint", checkpoint())
    expect(both.returncode != 0 and "expected one of them" in both.stderr, both.stderr)


@case
def batches_are_of_different_points_by_either_rule():
    points = rows(ask(ONE, None, "--ask", 6))
    table = table_of(points, lambda p: math.sin(3 * p["x"]) + p["x"])
    for rule in ("fantasies", "thompson"):
        first = ask(ONE, table, "--ask", 4, "--batch", rule)
        batch = [r["x"] for r in rows(first)]
        expect(len(set(batch)) == 4 and not set(batch) & {p["x"] for p in points}, f"{rule}: {batch}")
        expect(ask(ONE, table, "--ask", 4, "--batch", rule).stdout == first.stdout, f"{rule}: another answer to the same table")
    refused = ask(ONE, table, "--ask", 2, "--batch", "thompson", "--checkpoint", checkpoint())
    expect(refused.returncode != 0 and "predicts each point by itself" in refused.stderr, refused.stderr)


@case
def integers_come_once_as_long_as_there_are_others():
    few = '[[axis]]\nname = "n"\nlow = 0\nhigh = 6\ntype = "integer"\n'
    points = []
    for _ in range(7):
        points += rows(ask(few, table_of(points, lambda p: (p["n"] - 4) ** 2, ("n",))))
    expect(sorted(p["n"] for p in points) == list(range(7)), points)
    used_up = ask(few, table_of(points, lambda p: p["n"], ("n",)))
    expect(used_up.returncode == 1 and used_up.stdout == "" and "[optimise] all 7 points are known" in used_up.stderr, used_up)
    three = few.replace("high = 6", "high = 2")  # fewer than a design has
    for known, left in ((2, 1), (1, 2), (0, 3)):
        done = ask(three, "n,value\n" + "".join(f"{n},{n}\n" for n in range(known)), "--ask", 5)
        expect(sorted(r["n"] for r in rows(done)) == list(range(known, 3)), done)
        expect(f"5 points wanted, but only {left} " in done.stderr, done.stderr)
    expect("all 3 points are known" in ask(three, "n,value\n0,1\n1,\n2,3\n", "--ask", 2).stderr, "a failure is known as well")
    held = few + '[[axis]]\nname = "x"\nlow = 0\nhigh = 1\nfixed = 0.5\n'
    told = "n,x,value\n" + "".join(f"{n},0.5,{n}\n" for n in range(7))
    expect("all 7 points are known" in ask(held, told).stderr, "a held axis adds no points")
    expect(len(rows(ask(held, told.replace("6,0.5", "6,0.25")))) == 1, "another value of a held axis")


@case
def the_recommended_point_has_the_best_expected_value():
    seen = [{"x": -2 + i / 4} for i in range(25)]
    table = table_of(seen, lambda p: -1.5 if p["x"] == 2.75 else (p["x"] - 1) ** 2 + math.sin(40 * p["x"]))
    for flags in ((), ("--gaussian-process",)):
        done = ask(ONE, table, *flags)
        line = done.stderr.splitlines()[-1]
        expect(line.startswith("npzoo: recommended so far, by expected value: x = "), done.stderr)
        found = json.loads(ask(ONE, table, "--json", *flags).stdout)["recommended"]
        expect(f"x = {found['point']['x']:g};" in line and abs(found["point"]["x"] - 1) < 1 and found["std"] > 0, line, found)
    first = ask(ONE, None, "--json")
    expect(json.loads(first.stdout)["recommended"] is None and first.stderr == "", first)
    expect(ask(ONE, None).stderr == "", "a design recommends nothing")


@case
def one_huge_value_does_not_flatten_the_others():
    f = lambda p: (p["x"] - 1) ** 2
    seen = [{"x": -2 + i / 2} for i in range(13) if i not in (5, 6, 7)]
    plain = rows(ask(ONE, table_of(seen, f), "--gaussian-process"))[0]["x"]
    for flags, sign in (((), 1), (("--maximise",), -1)):
        huge = table_of(seen, lambda p: sign * (1e30 if p["x"] == -2 else f(p)))
        expect(abs(rows(ask(ONE, huge, "--gaussian-process", *flags))[0]["x"] - plain) < .5, flags, plain)


@case
def one_huge_value_does_not_hide_a_smooth_minimum():
    """A bowl with a point whose value says nothing: a far value makes the function look rough everywhere."""
    space = "".join(f'[[axis]]\nname = "{name}"\nlow = 0\nhigh = 1\n' for name in "ab")
    f = lambda p: (p["a"] - .3) ** 2 + (p["b"] - .6) ** 2
    points = rows(ask(space, None, "--ask", 8))
    for huge in (1e30, 5):
        table = table_of(points, lambda p: huge if p == points[0] else f(p), "ab")
        best = math.inf
        for _ in range(6):
            (found,) = rows(ask(space, table))
            best = min(best, f(found))
            table += f"{found['a']!r},{found['b']!r},{f(found)!r}\n"
        expect(best < 1e-3, huge, best)


@case
def evaluations_that_failed_are_avoided():
    """The best of what is known is beside a part of the axis that fails."""
    f = lambda p: -p["x"]
    table = table_of([{"x": x} for x in (-2, -1, 0, 1, 1.5, 2)], f)
    failed = "".join(f"{x},{word}\n" for x, word in ((2.5, ""), (3, "nan"), (3.5, "NA"), (4, "")))
    free, avoided = (rows(ask(ONE, text, "--gaussian-process"))[0]["x"] for text in (table, table + failed))
    expect(free > 2.4 > avoided, free, avoided)
    design = rows(ask(ONE, "x,value\n1,\n2,\n", "--ask", 3))
    expect(rows(ask(ONE, "x,value\n1,1\n\n2,2\n")) == rows(ask(ONE, "x,value\n1,1\n2,2\n")), "a blank line between rows counts")
    expect(len(design) == 3 and len({r["x"] for r in design} - {1, 2}) == 3, design)
    expect(len(rows(ask(ONE, "x,value\n" + "".join(f"{x / 3},\n" for x in range(9))))) == 1, "all of them failed")


@case
def proposals_have_few_digits_and_are_taken_back():
    space = ('[[axis]]\nname = "a"\nlow = 0.123456789012\nhigh = 1\n[[axis]]\nname = "b"\nlow = 1e-5\nhigh = 0.1\nscale = "log"\n'
             '[[axis]]\nname = "c"\nlow = -1e6\nhigh = 1e6\n')
    header, told = "a,b,c,value\n", ""
    for i in range(12):
        done = ask(space, header + told)
        (row,) = rows(done)
        (line,) = done.stdout.splitlines()[1:]
        expect(all(len(cell.split("e")[0].strip("-0.").replace(".", "")) <= 7 for cell in line.split(",")), line)
        expect(line + "," not in told, "a known point", line)
        told += f"{line},{row['a'] + math.log(row['b']) + row['c'] / 1e6}\n"


@case
def two_inputs_are_answered_by_a_gaussian_process():
    points = rows(ask(TWO, None, "--ask", 7))
    done = ask(TWO, table_of(points, lambda p: p["x"] - math.log(p["k"]), ("x", "k")), "--json")
    expect(done.stderr == "" and json.loads(done.stdout)["proposals"][0]["by"] == "gp", done)


@case
def the_picture_and_json_show_beliefs():
    points = rows(ask(TWO, None, "--ask", 7))
    table = table_of(points, lambda p: p["x"] - math.log(p["k"]), ("x", "k"))
    done = ask(TWO, table, "--plot", HERE / "p.svg", "--json", "--maximise")
    expect(done.returncode == 0, done.stderr)
    one = json.loads(done.stdout)["proposals"][0]
    expect(set(one) == {"point", "by", "mean", "std", "acquisition"} and one["std"] > 0, one)
    picture = (HERE / "p.svg").read_text()
    expect(xml.etree.ElementTree.fromstring(picture).tag.endswith("svg") and len(picture) > 10_000, len(picture))
    ask(TWO, table, "--plot", HERE / "p.svg", "--maximise", "--acquisition", "pi")
    expect((HERE / "p.svg").read_text() != picture, "another acquisition, the same picture")
    expect(table == (HERE / "results.csv").read_text(), "the table was written to")
    refused = ask(TWO, None, "--plot", HERE / "p.svg")
    expect(refused.returncode != 0 and "nothing was observed so far" in refused.stderr, refused.stderr)
    for kind in ("ei", "ucb", "pi"):
        expect(len(rows(ask(TWO, table, "--acquisition", kind))) == 1, kind)


@case
def two_free_axes_are_drawn_as_maps_with_proposals():
    picture, proposed = HERE / "map.svg", "rgb(83.5%,36.9%,0%)"

    def drawn(space, names, *flags):
        points = rows(ask(space, None, "--ask", 8))
        done = ask(space, table_of(points, lambda p: sum(p[n]**2 for n in names), names), "--plot", picture, "--gaussian-process", *flags)
        expect(done.returncode == 0, done.stderr)
        return picture.read_text()

    maps = drawn(TWO, ("x", "k"))
    expect(maps.count("<image") == 6, f"{maps.count('<image')} images, expected three maps and their colour bars")
    expect(drawn(TWO, ("x", "k"), "--ask", 3).count(proposed) == maps.count(proposed) + 6, "two proposals more on each of three maps")
    expect(drawn(TWO, ("x", "k"), "--maximise") != maps, "another direction, the same picture")
    held = TWO + '[[axis]]\nname = "h"\nlow = 0\nhigh = 1\n'
    expect("<image" not in drawn(held, ("x", "k", "h")), "three free axes are drawn one by one")
    low, high = (drawn(held + f"fixed = {at}\n", ("x", "k", "h")) for at in (.1, .9))
    expect(low.count("<image") == 6 and low != high, "maps through where the third axis is held")
    expect("<image" not in drawn(ONE, ("x",)), "one axis is a line")


def spaces():
    axis = lambda **keys: "[[axis]]\n" + "".join(f"{k} = {v}\n" for k, v in ({"name": '"x"', "low": 0, "high": 1} | keys).items())
    yield "", "axis is missing"
    yield "axis = 3\n", "axis"
    yield "axis = []\n", "axis"
    yield '[axis]\nname = "x"\n', "axis"
    yield "[[axis]\n", "space.toml"
    yield '[[axis]]\nlow = 0\nhigh = 1\n', "name is missing"
    yield '[[axis]]\nname = "x"\nhigh = 1\n', "low is missing"
    yield '[[axis]]\nname = "x"\nlow = 1\n', "high is missing"
    yield axis(name=3), "name is 3"
    yield axis(name='""'), "name of an axis"
    yield axis(name='"a\\nb"'), "name of an axis"
    yield axis(name='"value"'), "called value"
    yield axis() + axis(), "two axes are called x"
    yield axis(low='"a"'), "low is 'a'"
    yield axis(low="nan"), "low is nan"
    yield axis(high="inf"), "high is inf"
    yield axis(high="1e301"), "1e+301"
    yield axis(low=2), "low 2 above high 1"
    yield axis(low=1), "is fixed"
    yield axis(low=1e6, high="1000000.0000000001"), "further apart"
    yield axis(scale='"cubic"'), "scale is 'cubic'"
    yield axis(scale='"log"'), "expected low > 0"
    yield axis(type='"bool"'), "type is 'bool'"
    yield axis(type='"integer"', low=.5), "expected a whole number"
    yield axis(type='"integer"', high=1e17), "expected a whole number"
    yield axis(fixed=2), "fixed at 2"
    yield axis(fixed=.5), "every axis is fixed"
    yield axis(step=.1), "axis[0].step is an unknown key, expected one of: name, low, high, scale, type, fixed, choices"
    yield axis() + "extra = { a = 1 }\n", "extra"
    yield "seed = 1\n" + axis(), "seed"
    yield "".join(axis(name=f'"x{i}"') for i in range(21)), "21 axes found, expected 1 to 20"
    yield '[[axis]]\nname = "k"\nchoices = ["a"]\n', "has 1 choices"
    yield '[[axis]]\nname = "k"\nchoices = ["a", "a"]\n', 'has the choice "a" twice'
    yield '[[axis]]\nname = "k"\nchoices = ["a", "NA"]\n', 'has the choice "NA"'
    yield '[[axis]]\nname = "k"\nchoices = [1, 2]\n', "choices"
    yield axis(choices='["a", "b"]'), "beside choices"
    yield '[[axis]]\nname = "k"\nchoices = ["a", "b"]\nfixed = "c"\n', "one of: a, b"
    yield '[[axis]]\nname = "k"\nchoices = [' + ", ".join(f'"c{i}"' for i in range(201)) + "]\n", "201 choices found"
    yield b"\xff\xfe[[axis]]", "space.toml"


def tables():
    yield "value\n1\n", "x"
    yield "x\n1\n", "value"
    yield "x,x,value\n1,1,1\n", "x"
    yield "1,2\n3,4\n", "results.csv"
    yield "x,value\n1\n", ":2]"
    yield "x,value\n1,2,3\n", ":2]"
    yield "x,value\n1,inf\n", ":2]"
    yield "x,value\n1,1e200\n", "1e+200"
    yield "x,value\n,3\n", ":2]"
    yield "x,value\n1,good\n", "good"
    yield "x,value\none,1\n", "one"
    yield "x,value\n5,1\n", "expected a number from -2 to 4"
    yield "x,value\n0,1\n-2.5,1\n", ":3]"
    yield "x,value\n2024-01-01,1\n", "dates"
    yield 'x,value\n"1,1\n', "results.csv"
    yield "x,value\n" + "1,1\n" * 2001, "expected at most 2000"
    yield "x;value,y\n1;2,3\n", "results.csv"
    yield b"PK\x03\x04\x00\x00", "results.csv"


@case
def optimise_errors_are_one_line():
    def check(done, part, what):
        lines = done.stderr.splitlines()
        expect(done.returncode not in (0, -11, -6) and done.stdout == "" and len(lines) == 1, f"{what!r}: {done}")
        expect(lines[0].startswith("npzoo: error: [") and part in lines[0], f"{what!r}: {lines[0]!r} lacks {part!r}")

    (HERE / "results.csv").unlink(missing_ok=True)
    bad_spaces, bad_tables = list(spaces()), list(tables())
    expect(len(bad_spaces) + len(bad_tables) >= 40, "too few")
    for text, part in bad_spaces:
        (HERE / "space.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
        check(npzoo("optimise", "--space", HERE / "space.toml", "--tell", HERE / "none.csv"), part, text)
    write("space.toml", ONE)
    for text, part in bad_tables:
        (HERE / "results.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        check(npzoo("optimise", "--space", HERE / "space.toml", "--tell", HERE / "results.csv"), part, text)
    write("space.toml", TWO)
    write("results.csv", "x,k,value\n1,2.5,3\n")
    check(npzoo("optimise", "--space", HERE / "space.toml", "--tell", HERE / "results.csv"), "expected a whole number", "2.5")
    check(npzoo("optimise", "--space", HERE / "space.toml", "--tell", HERE), "director", "a folder")
    check(npzoo("optimise", "--space", HERE / "no.toml", "--tell", HERE / "results.csv"), "no.toml", "no space")
    write("results.csv", "x,k,value\n" + "".join(f"{i / 4},{i + 1},{i}\n" for i in range(9)))
    check(npzoo("optimise", "--space", HERE / "space.toml", "--tell", HERE / "results.csv", "--checkpoint", checkpoint()),
          "takes 1 inputs", "weights of one input")


if __name__ == "__main__":
    sys.exit(run_cases())
