"""Times that were published, to set beside ours."""

import csv
import pathlib

ROWS = pathlib.Path(__file__).resolve().parent.parent / "tests/datasets/published_rows.csv"


def read_times():
    """Microseconds per sample for 1, 10, ..., 1e6 points, batch 1, by what varies and model. None: out of memory.

    Jenson et al., "Transformer neural processes - kernel regression", version 1, tables 1 and 2.
    """
    times = {"test": {}, "context": {}}
    with ROWS.open(encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["paper"] == "tnp-kr" and row["table"] in ("1", "2"):
                vary, points = row["column"].split()
                column = times[vary].setdefault(row["row"].lower(), [])
                assert points == f"1e{len(column)}", row
                column.append(None if row["value"] == "OOM" else int(row["value"]))
    return times


PAPER = read_times()


def published_ms(vary, model, points):
    """Returns the published time for so many test or context points; None if there is none, or memory did not suffice."""
    times = PAPER[vary].get(model, [])
    for power, microseconds in enumerate(times):
        if points == 10**power and microseconds is not None:
            return microseconds / 1000
    return None
