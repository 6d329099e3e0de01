"""Shared by the tests of `npzoo optimise`."""

import csv
import io

from cli_support import HERE, expect, npzoo, write

ONE = '[[axis]]\nname = "x"\nlow = -2.0\nhigh = 4.0\n'
TWO = ONE + '[[axis]]\nname = "k"\nlow = 1\nhigh = 1000\nscale = "log"\ntype = "integer"\n'


def ask(space=ONE, table=None, *more):
    write("space.toml", space)
    if table is None:
        (HERE / "results.csv").unlink(missing_ok=True)
    else:
        write("results.csv", table)
    return npzoo("optimise", "--space", HERE / "space.toml", "--tell", HERE / "results.csv", *more)


def rows(done):
    expect(done.returncode == 0, done.stderr)
    return [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(done.stdout))]


def table_of(points, f, names=("x",)):
    return ",".join(names) + ",value\n" + "".join(
        ",".join(repr(p[n]) for n in names) + f",{f(p)!r}\n" for p in points)
