#!/usr/bin/env python3
"""Tests of `npzoo optimise` with choices, many axes and pending points: optimise_spaces_test.py PATH_TO_NPZOO"""

import csv
import io
import json
import sys

from cli_support import HERE, case, expect, run_cases, write
from optimise_support import ONE, ask, rows, table_of

CHOICES = ONE + '[[axis]]\nname = "kind"\nchoices = ["plain", "with, comma", "third"]\n'


def named(done):
    expect(done.returncode == 0, done.stderr)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def told(points, f):
    text = io.StringIO()
    writer = csv.DictWriter(text, ["x", "kind", "value"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**p, "value": f(p)} for p in points)
    return text.getvalue()


@case
def choices_have_names():
    f = lambda p: (float(p["x"]) - 1) ** 2 + {"plain": 2, "with, comma": 0, "third": 1}[p["kind"]]
    points = named(ask(CHOICES, None, "--ask", 6))
    expect({p["kind"] for p in points} == {"plain", "with, comma", "third"}, points)
    for _ in range(10):
        done = ask(CHOICES, told(points, f), "--json")
        (one,) = json.loads(done.stdout)["proposals"]
        expect(one["by"] == "gp" and done.stderr == "", done)
        points.append(one["point"])
    best = min(points, key=f)
    expect(best["kind"] == "with, comma" and f(best) < .02, best)
    expect(named(ask(CHOICES, told(points, f)))[0]["kind"] in ("plain", "with, comma", "third"), "a name")
    picture = HERE / "choices.svg"
    expect(ask(CHOICES, told(points, f), "--plot", picture).returncode == 0 and "<image" not in picture.read_text(), "lines")
    other = ask(CHOICES, told(points, f).replace("third", "fourth"))
    expect(other.returncode == 1 and 'column "kind" holds "fourth", expected one of: plain, with, comma, third' in other.stderr, other.stderr)
    blank = ask(CHOICES, "x,kind,value\n1,,2\n")
    expect(':2] column "kind" is empty, expected one of the choices' in blank.stderr, blank.stderr)
    held = named(ask(CHOICES + 'fixed = "third"\n', told(points, f)))
    expect(held[0]["kind"] == "third", held)
    refused = ask(CHOICES, told(points, f), "--checkpoint", "npzoo/any-2d")
    expect("axis kind has choices, which weights do not know" in refused.stderr, refused.stderr)


@case
def pending_points_are_not_proposed_again():
    f = lambda p: (p["x"] - 1) ** 2
    points = rows(ask(ONE, None, "--ask", 5))
    table = table_of(points, f)
    first = ask(ONE, table)
    pending = write("pending.csv", first.stdout)
    second = rows(ask(ONE, table, "--pending", pending))
    expect(second != rows(first), second)
    both = write("pending.csv", first.stdout + f"{second[0]['x']!r}\n")
    third = rows(ask(ONE, table, "--pending", both, "--ask", 2))
    expect(len({p["x"] for p in points + rows(first) + second + third}) == 9, third)
    design = rows(ask(ONE, None, "--ask", 2))
    write("pending.csv", table_of(design, f))
    expect(rows(ask(ONE, None, "--ask", 2, "--pending", pending)) == rows(ask(ONE, None, "--ask", 4))[2:], "the design goes on")
    write("pending.csv", first.stdout)
    done = table + "".join(f"{p['x']!r},{f(p)!r}\n" for p in rows(first))
    expect(ask(ONE, done, "--pending", pending).stdout == ask(ONE, done).stdout, "a told point is not pending")
    few = '[[axis]]\nname = "n"\nlow = 0\nhigh = 2\ntype = "integer"\n'
    write("pending.csv", "n\n2\n")
    used_up = ask(few, "n,value\n0,1\n1,2\n", "--pending", pending)
    expect("[optimise] all 3 points are known or pending" in used_up.stderr, used_up.stderr)
    left = ask(few, "n,value\n0,1\n", "--pending", pending, "--ask", 3)
    expect(rows(left) == [{"n": 1}] and "3 points wanted, but only 1 is not evaluated or pending yet" in left.stderr, left)
    for text, part in (("n\n7\n", ":2] n is 7"), ("x\n1\n", "no column"), ("n,x\n,1\n", ":2] column")):
        write("pending.csv", text)
        wrong = ask(few, "n,value\n0,1\n", "--pending", pending)
        expect(wrong.returncode == 1 and part in wrong.stderr, wrong.stderr)
    expect("none.csv" in ask(few, None, "--pending", HERE / "none.csv").stderr, "a missing file of pending points")


@case
def twenty_axes_are_searched():
    names = [f"a{i}" for i in range(20)]
    space = "".join(f'[[axis]]\nname = "{name}"\nlow = 0\nhigh = 1\n' for name in names)
    f = lambda p: (p["a0"] - .3) ** 2 + (p["a7"] - .8) ** 2
    points = rows(ask(space, None, "--ask", 42))
    design = min(map(f, points))
    for _ in range(4):
        points += rows(ask(space, table_of(points, f, names), "--ask", 3))
    expect(min(map(f, points)) < min(design, .02), min(map(f, points)), design)
    picture = HERE / "twenty.svg"
    expect(ask(space, table_of(points, f, names), "--plot", picture).returncode == 0 and picture.stat().st_size > 10_000, "a picture")


if __name__ == "__main__":
    sys.exit(run_cases())
