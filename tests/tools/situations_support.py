"""Shared by the tests of situations: what people met with other tools, as the smallest table that shows it."""

import csv

from cli_support import expect, npzoo, write


class Answer:
    """What `npzoo predict` printed about a table."""

    def __init__(self, done):
        expect(done.returncode == 0, done.stderr)
        self.notes = [line.removeprefix("npzoo: ") for line in done.stderr.splitlines() if line.startswith("npzoo: ")]
        self.warnings = [note.removeprefix("warning: ") for note in self.notes if note.startswith("warning: ")]
        self.text = done.stdout
        lines = done.stdout.splitlines()
        sep = next(s for s in ";\t," if s in lines[0])
        self.header, *self.rows = csv.reader(lines, delimiter=sep)
        self.comma = "." if sep == "," else ","

    def column(self, name):
        """The numbers of a column."""
        return [float(row[self.header.index(name)].replace(self.comma, ".")) for row in self.rows]

    def figures(self, value="y"):
        """Mean and standard deviation of each row."""
        return list(zip(self.column(f"mean_{value}"), self.column(f"std_{value}")))

    def says(self, *parts):
        return any(all(part in note for part in parts) for note in self.notes)


def predict(table, *args):
    """Fills a table, given as text, bytes or rows."""
    return Answer(npzoo("predict", write("t.csv", table), "--verbose", *args))


def table(names, rows):
    return names + "\n" + "".join(",".join(cell if isinstance(cell, str) else repr(cell) for cell in row) + "\n" for row in rows)


def refused(args, *parts):
    """One line that names `parts`, and nothing else."""
    done = npzoo(*args)
    lines = done.stderr.splitlines()
    expect(done.returncode in (1, 2) and not done.stdout and len(lines) == 1, "one line expected, found:", done.stderr, done.stdout)
    expect(lines[0].startswith("npzoo: error: ["), lines)
    for part in parts:
        expect(part in lines[0], repr(part), "expected in:", lines[0])


def refused_table(content, *parts, args=()):
    refused(["predict", write("t.csv", content), *args], "t.csv", *parts)


def near(found, expected, by, *what):
    expect(abs(found - expected) <= by, found, "found, expected", expected, "+-", by, *what)

