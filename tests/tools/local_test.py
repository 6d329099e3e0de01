#!/usr/bin/env python3
"""Tests of what `npzoo predict` does with large contexts and with maps: local_test.py PATH_TO_NPZOO"""

import math
import sys
import xml.etree.ElementTree

from cli_support import HERE, as_json, case, checkpoint_2d, expect, npzoo, run_cases, succeed, write, wrong_usage


@case
def maps_of_a_table():
    """A grid with a hole, and scattered points."""
    grid = "".join(f"{i},{j},{'' if 3 < i < 7 and 2 < j < 6 else i - j}\n" for i in range(12) for j in range(9))
    scattered = "".join(f"{i * 0.37 % 1},{i * 0.61 % 2},{'' if i % 3 else i % 5}\n" for i in range(60))
    sizes = []
    for name, rows in (("grid", grid), ("scattered", scattered)):
        table = write(f"{name}.csv", "east,north,depth\n" + rows)
        for ending in ("svg", "png"):
            plot = HERE / f"{name}.{ending}"
            found = as_json("predict", table, "--checkpoint", checkpoint_2d(), "--inputs", "east,north", "--values", "depth",
                            "--out", HERE / "filled.csv", "--plot", plot)
            expect(found["plot"] == str(plot) and plot.stat().st_size > 1000, found)
        root = xml.etree.ElementTree.parse(HERE / f"{name}.svg").getroot()
        sizes.append([float(root.get(side).removesuffix("px")) for side in ("width", "height")])
    expect(sizes[0][0] < 3.6 * 260 + 200 and sizes[0][1] < sizes[1][1], "the grid is wide, the scattered points are high", sizes)


@case
def neighbours():
    """Series with more points than training showed go by tiles."""
    rows = [(i * 0.37 % 1, i * 0.61 % 2, math.sin(i)) for i in range(300)]
    context = "a,b,value\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows)
    targets = "a,b\n" + "".join(f"{a + 0.01},{b}\n" for a, b, _ in rows)
    args = ["predict", write("many.csv", context), "--targets", write("asked.csv", targets), "--checkpoint", checkpoint_2d(),
            "--inputs", "a,b", "--values", "value", "--out", "-", "--header"]
    few = succeed(*args, "--neighbours", 8)
    expect("targets that are near to each other share 8 of them" in few, few[:800])
    asked = [line.split(",")[:2] for line in few.splitlines() if not line.startswith("#")][1:]
    expect(asked == [line.split(",") for line in targets.splitlines()[1:]], "the targets' order")
    by_itself = succeed(*args)
    expect("near to each other share" in by_itself, "chosen by the range of training")
    expect(succeed(*args, "--neighbours", 8, "--threads", 1) == few == succeed(*args, "--neighbours", 8, "--threads", 3), "threads")
    whole = succeed(*args, "--neighbours", 300)
    expect("near to each other" not in whole and whole != few, "as many as there are: no tiles")
    wrong_usage(*args, "--neighbours", -1)
    # A target among few points of its own is answered from these alone.
    far = "a,b,value\n" + "".join(f"{i % 4},{i // 4},{i}\n" for i in range(8)) + "".join(f"{1000 + i % 4},{i // 4},{-i}\n" for i in range(8))
    near = "".join(f"{i % 4},{i // 4},{i}\n" for i in range(8))
    one = ["--digits", 9, "--targets", write("one.csv", "a,b\n1.5,0.5\n"), *args[4:]]
    both, alone = (succeed("predict", write("part.csv", text), *one, "--neighbours", 8).splitlines()[-1].split(",")
                   for text in (far, "a,b,value\n" + near))
    expect(all(math.isclose(float(b), float(a), rel_tol=1e-6) for b, a in zip(both, alone, strict=True)), both, alone)


@case
def digits_follow_each_rows_standard_deviation():
    """Growth by e^35: the last tile's unit is no measure of the first one's."""
    rows = [math.exp(i / 20) for i in range(700)]
    table = write("growth.csv", "x,y\n" + "".join(f"{i},{'' if i % 9 == 0 else repr(y)}\n" for i, y in enumerate(rows)))
    args = ["predict", table, "--quantiles", ".05,.95", "--samples", 2, "--samples-out", HERE / "s.csv", "--out", HERE / "o.csv"]
    succeed(*args)
    header, *found = [line.split(",") for line in (HERE / "o.csv").read_text().splitlines() if not line.startswith("#")]
    drawn = [line.split(",")[-1] for line in (HERE / "s.csv").read_text().splitlines() if not line.startswith("#")][1:]
    expect(header == ["x", "y", "mean_y", "std_y", "q0.05_y", "q0.95_y"], header)
    for i, ((x, y, *figures), truth) in enumerate(zip(found, rows, strict=True)):
        mean, std, low, high = map(float, figures)
        expect(y == ("" if i % 9 == 0 else repr(truth)), "an observed value changed", y)
        expect(low < mean < high and abs(mean - low) > .5 * std, "digits are lost", x, figures)
        expect(float(drawn[2 * i]) != float(drawn[2 * i + 1]), "samples that are rounded away", x)
        expect(len(figures[1].split("e")[0].replace(".", "").strip("0")) <= 4, "more than four digits of a deviation", figures)
    expect(abs(float(found[99][2]) - rows[99]) < 10, found[99], "expected 141")
    full = succeed(*args[:-1], HERE / "full.csv", "--digits", 9)
    expect(full == "" and len((HERE / "full.csv").read_text()) > len((HERE / "o.csv").read_text()), "more digits")
    wrong_usage(*args, "--digits", 0)
    wrong_usage(*args, "--digits", 10)


@case
def a_usual_table_has_no_superfluous_digits():
    rows = "".join(f"{i},{'' if i % 7 == 3 else round(12 + 5 * math.sin(i / 4), 1)}\n" for i in range(60))
    text = succeed("predict", write("usual.csv", "day,temperature\n" + rows), "--out", "-")
    for line in [line.split(",") for line in text.splitlines() if not line.startswith("#")][1:]:
        mean, std = line[2:]
        expect(len(std.lstrip("0.").rstrip("0")) <= 4 and len(mean.partition(".")[2]) <= len(std.partition(".")[2]) + 1, line)


@case
def a_far_point_leaves_the_others_alone():
    rows = "".join(f"{i},{'' if i % 9 == 4 else math.sin(i / 20)}\n" for i in range(700))
    alone = [line.split(",") for line in succeed("predict", write("wave.csv", "x,y\n" + rows), "--out", "-").splitlines()][-700:]
    for far in ("1e5", "1e7", "1e300"):
        table = write("far.csv", f"x,y\n{rows}{far},0.3\n")
        done = npzoo("predict", table, "--out", "-")
        expect(done.returncode == 0 and "1 of 1 series has an observed point that is far from all others" in done.stderr, done.stderr)
        expect("it is left out where the others are predicted" in done.stderr, done.stderr)
        found = [line.split(",") for line in done.stdout.splitlines()][-701:-1]
        for a, b in zip(found, alone, strict=True):
            expect(a[0] == b[0] and abs(float(a[2]) - float(b[2])) < .1 * float(b[3]), far, a, b)
            expect(.9 < float(a[3]) / float(b[3]) < 1.1, far, a, b)
    # Two inputs, the same places asked for: not a digit changes.
    grid = "".join(f"{i},{j},{math.sin(i / 3) + j}\n" for i in range(18) for j in range(18))
    places = write("places.csv", "a,b\n" + "".join(f"{i + .5},{j + .5}\n" for i in range(17) for j in range(17)))
    found = [[line for line in succeed("predict", write("grid.csv", "a,b,z\n" + grid + more), "--targets", places, "--checkpoint",
                                       checkpoint_2d(), "--neighbours", 8).splitlines() if not line.startswith("#")]
             for more in ("", "1e12,0,0.3\n", "1e300,1e300,0.3\n")]
    expect(found[0] == found[1] == found[2], "a far place in two dimensions")


if __name__ == "__main__":
    sys.exit(run_cases())
