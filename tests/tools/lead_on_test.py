#!/usr/bin/env python3
"""Tests of the first commands on a table: what a complete table leads to, added rows, --explain, and lists of flags:
lead_on_test.py PATH_TO_NPZOO"""

import datetime
import math
import re
import shlex
import sys

from cli_support import HERE, as_json, case, expect, fail, npzoo, run_cases, succeed, write, wrong_usage
from predict_support import comments, figures, rows_of

START = datetime.date(2019, 3, 1)


def quarters(notation="%Y-%m", count=40, blank=()):
    rows = []
    for i in range(count):
        month = START.month - 1 + 3 * i
        when = datetime.date(START.year + month // 12, month % 12 + 1, 1)
        rows.append((when.strftime(notation), "" if i in blank else round(50 + i + 8 * math.sin(math.pi * i / 2), 1)))
    return "quarter,output\n" + "".join(f"{a},{b}\n" for a, b in rows)


def hours(absent=(7, 8, 30), count=60, notation="%Y-%m-%dT%H:%M"):
    start = datetime.datetime(2023, 6, 5)
    rows = [((start + datetime.timedelta(hours=i)).strftime(notation), round(12 + 5 * math.sin(i / 4), 2)) for i in range(count)
            if i not in absent]
    return "when,flow\n" + "".join(f"{a},{b}\n" for a, b in rows)


def places(extra=""):
    rows = [(2 + .37 * i % 3.1, 40 + .53 * i % 1.7) for i in range(30)]
    return "site,lon,lat,snow\n" + "".join(f"S{i},{x:.2f},{y:.2f},{20 + 3 * math.sin(x) + 2 * y:.1f}{extra}\n" for i, (x, y) in enumerate(rows))


def advised(*args):
    """Runs the last command that a refusal names, and returns what it prints."""
    done = npzoo(*args)
    expect(done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr)
    command = re.findall(r"npzoo predict .*?(?=\. |$)", done.stderr.strip())[-1]
    words = shlex.split(command)
    expect(words[0] == "npzoo", words)
    return done.stderr, words[1:]


@case
def a_complete_series_leads_to_a_forecast():
    table = write("output by quarter.csv", quarters())
    message, words = advised("predict", table)
    expect("misses no value of output. To forecast the next 8 quarters:" in message, message)
    expect(words == ["predict", str(table), "--horizon", "8"], words)
    header, rows = rows_of(succeed(*words))
    expect(header == ["quarter", "mean_output", "std_output"], header)
    expect([row[0] for row in rows] == ["2029-03", "2029-06", "2029-09", "2029-12", "2030-03", "2030-06", "2030-09", "2030-12"], rows)
    truth = [50 + i + 8 * math.sin(math.pi * i / 2) for i in range(40, 48)]
    expect(all(abs(float(row[1]) - y) < 6 for row, y in zip(rows, truth)), rows)


@case
def a_horizon_writes_dates_as_the_table_does():
    for notation, last in (("%d.%m.%Y", "01.03.2029"), ("%Y/%m/%d", "2029/03/01"), ("%Y%m%d", "20290301"), ("%Y-%m-%d", "2029-03-01")):
        table = write("q.csv", quarters(notation))
        _, rows = rows_of(succeed("predict", table, "--dates", "dmy", "--horizon", 1))
        expect([row[0] for row in rows] == [last], notation, rows)


@case
def a_horizon_is_that_of_every_group():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(20)]
    text = "day,shop,sold\n" + "".join(f"{d},{s},{10 * k + i % 7}\n" for i, d in enumerate(days) for k, s in enumerate("AB"))
    table = write("shops.csv", text)
    fail("predict", table, naming=["20 dates twice", "--group shop"])
    _, words = advised("predict", table, "--group", "shop")
    header, rows = rows_of(succeed(*words))
    expect(header == ["day", "shop", "mean_sold", "std_sold"] and len(rows) == 2 * 10, header, len(rows))
    expect({row[1] for row in rows} == {"A", "B"} and rows[0][0] == "2024-01-21", rows)
    one = figures(succeed("predict", write("a.csv", "".join(line for line in text.splitlines(True) if ",B," not in line)),
                          "--inputs", "day", "--values", "sold", "--horizon", 10), "sold")
    both = [[float(row[2]), float(row[3])] for row in rows if row[1] == "A"]
    expect(one == both, one, both)


@case
def absent_rows_are_counted_and_added():
    table = write("flow.csv", hours())
    message, _ = advised("predict", table)
    expect("but 3 of 60 hours have no row. To add and fill them: npzoo predict" in message and "--add-rows" in message, message)
    header, rows = rows_of(succeed("predict", table, "--add-rows"))
    expect(header == ["when", "flow", "mean_flow", "std_flow"] and len(rows) == 60, header, len(rows))
    expect([row[0] for row in rows if row[1] == ""] == ["2023-06-05T07:00", "2023-06-05T08:00", "2023-06-06T06:00"], rows)
    expect(abs(float(rows[30][2]) - (12 + 5 * math.sin(30 / 4))) < .5, rows[30])
    filled = succeed("predict", write("blank.csv", re.sub(r"^(2023-06-0(5T07|5T08|6T06):00),.*$", r"\1,", hours(()), flags=re.M)))
    expect(filled == succeed("predict", table, "--add-rows"), "as if the rows were there")
    split = write("split.csv", hours(notation="%d.%m.%Y,%H:%M").replace("when", "Day,Clock"))
    _, rows = rows_of(succeed("predict", split, "--date", "Day,Clock", "--dates", "dmy", "--values", "flow", "--add-rows"))
    expect(["05.06.2023", "07:00", ""] == rows[7][:3] and len(rows) == 60, rows[7])
    newest = write("newest.csv", "when,flow\n" + "".join(reversed(hours().splitlines(True)[1:])))
    _, rows = rows_of(succeed("predict", newest, "--add-rows"))
    expect(rows[0][0] == "2023-06-07T11:00" and rows[-8][0] == "2023-06-05T07:00", rows[0], rows[-8])
    fail("predict", write("uneven.csv", "t,y\n0,1\n1,2\n2.5,3\n7,2\n7.1,4\n"), "--inputs", "t", "--values", "y", "--add-rows",
         naming=["uneven.csv are not in equal steps"])


@case
def business_hours_are_not_absent_rows():
    kept = [line for line in hours((), 24 * 14).splitlines()[1:] if 9 <= int(line[11:13]) < 15]
    done = npzoo("predict", write("office.csv", "when,flow\n" + "\n".join(kept) + "\n"))
    expect("have no row" not in done.stderr and "--horizon" in done.stderr, done.stderr)


@case
def places_lead_to_a_grid():
    table = write("snow.csv", places())
    for more in ([], ["--inputs", "lon,lat", "--values", "snow"]):
        message, words = advised("predict", table, *more)
        expect("misses no value of snow. To predict a map:" in message and words[-2:] == ["--plot", "map.svg"], message)
    picture = HERE / "map.svg"
    succeed(*words[:-1], picture, "--out", HERE / "map.csv")
    expect("<svg" in picture.read_text(), "a picture")
    header, rows = rows_of((HERE / "map.csv").read_text())
    expect(header == ["lon", "lat", "mean_snow", "std_snow"] and len(rows) == 100 * int(words[words.index("--grid") + 1].split("x")[1]), header, len(rows))
    _, rows = rows_of(succeed("predict", table, "--grid", "3x2"))
    xs = [float(line.split(",")[1]) for line in places().splitlines()[1:]]
    expect(len(rows) == 6 and abs(float(rows[0][0]) - min(xs)) < 1e-2 and abs(float(rows[2][0]) - max(xs)) < 1e-2, rows)
    _, rows = rows_of(succeed("predict", table, "--grid", ".5"))
    expect(all(float(row[0]) * 2 == round(float(row[0]) * 2) for row in rows) and rows[0][0] == "2", rows[0])
    targets = write("rows.csv", "lon,lat\n" + "".join(f"{row[0]},{row[1]}\n" for row in rows))
    expect(figures(succeed("predict", table, "--targets", targets, "--values", "snow"), "snow") == figures(succeed("predict", table, "--grid", ".5"), "snow"), "as --targets")
    fail("predict", table, "--grid", "2x2x2", naming=["--grid 2x2x2 found for the inputs lon, lat, expected 2 numbers"])
    fail("predict", table, "--grid", "1e-9", naming=["expected at most"])
    fail("predict", table, "--horizon", 3, naming=["--horizon found with the inputs lon, lat", "--grid"])
    fail("predict", write("flow.csv", hours()), "--grid", "9x9", naming=["holds dates", "--horizon"])
    for grid in ("0", "-1", "x", "3x", "1x1", "axb", "2x2x2x2", "nan", "inf"):
        wrong_usage("predict", table, "--grid", grid, naming=["expected counts of points, such as 100x80, or a step, such as 0.5"])


@case
def only_one_flag_says_which_rows():
    table = write("flow.csv", hours())
    for pair in (("--horizon", 2, "--add-rows"), ("--grid", "2x2", "--add-rows"), ("--targets", table, "--horizon", 3)):
        wrong_usage("predict", table, *pair, naming=["found, expected one of them"])
    fail("predict", table, "--horizon", 1.5, naming=["--horizon 1.5 found, expected a whole number"])
    fail("predict", write("priced.csv", "day,sold,price\n" + "".join(f"2024-01-{i:02},{i},{i % 3}\n" for i in range(1, 20))), "--covariates", "price",
         "--values", "sold", "--horizon", 3, naming=["--horizon and covariates (price) found", "--targets FILE"])
    fail("predict", write("empty.csv", "day,sold\n"), "--inputs", "day", "--values", "sold", "--horizon", 3, naming=["empty.csv"])
    fail("predict", write("one.csv", "day,sold\n2024-01-01,3\n"), "--values", "sold", "--horizon", 3, naming=["1 rows with a time found, expected 2 or more"])
    fail("predict", write("twice.csv", "day,sold\n2024-01-01,3\n2024-01-01,4\n"), "--values", "sold", "--horizon", 3,
         naming=["1 rows with a time found, expected 2 or more"])


@case
def years_as_columns_lead_to_a_long_table():
    fail("predict", write("wide.csv", "place,2018,2019,2020\na,1,2,3\nb,3,4,5\n"),
         naming=["has no column of times", '"2018", "2019" and "2020" name times: put them into a column of their own'])


@case
def a_row_written_twice_changes_no_forecast():
    lines = quarters().splitlines(True)
    once = succeed("predict", write("once.csv", "".join(lines)), "--horizon", 3)
    table = write("twice.csv", "".join(lines[:9] + [lines[8]] + lines[9:]))
    done = npzoo("predict", table, "--horizon", 3)
    expect(done.returncode == 0 and done.stdout == once, done.stderr, done.stdout, once)
    expect("1 value is at a time that another row of the series has" in done.stderr, done.stderr)
    explained = succeed("predict", table, "--explain")
    expect("steps: quarters" in explained and "season: 4 steps" in explained, explained)


def said(done):
    """The lines of standard error but those of progress."""
    return [line for line in done.stderr.splitlines() if line.startswith("npzoo")]


@case
def one_line_by_default_and_the_rest_on_request():
    table = write("q.csv", quarters(blank=(3, 9, 38, 39)))
    done = npzoo("predict", table)
    one, = said(done)
    expect(re.fullmatch(r"npzoo: filled 4 of 40 values of output by quarter; 2 rows after the last known value: average of \d+ methods", one), one)
    verbose = npzoo("predict", table, "--verbose")
    expect(verbose.stdout == done.stdout and "npzoo: rows: 40, quarter, dates from 2019-03-01 to 2028-12-01" in verbose.stderr, verbose.stderr)
    header = npzoo("predict", table, "--header")
    expect(said(header) == [] and "# missing: 4 of 40 values of output" in header.stdout, header.stderr, header.stdout)
    facts = [line.removeprefix("# ") for line in comments(header.stdout)]
    expect(as_json("predict", table, "--out", HERE / "o.csv")["facts"] == facts, facts)
    ahead = npzoo("predict", write("q.csv", quarters()), "--horizon", 4)
    one, = said(ahead)
    expect(re.fullmatch(r"npzoo: forecast: 4 steps of output by quarter, average of \d+ methods", one), one)


@case
def explain_states_what_is_understood_and_writes_nothing():
    lines = quarters(blank=(3, 9)).splitlines()
    table = write("q.csv", "\n".join([lines[0] + ",note", *(line + ",x" for line in lines[1:])]) + "\n")
    text = succeed("predict", table, "--explain").splitlines()
    expect(text[0] == "columns: output by quarter" and "steps: quarters" in text and "missing: 2 of 40 values of output" in text, text)
    expect("season: 4 steps, found in output" in text and "columns not used: note" in text, text)
    expect(text[-1].startswith("to do: fill 2 of 40 values of output by quarter, by the weights kriging-tnp:npzoo/any-1d"), text)
    complete = succeed("predict", write("complete.csv", quarters()), "--explain").splitlines()
    expect(complete[-1].startswith("to do: nothing, ") and "complete.csv misses no value of output" in complete[-1], complete)
    expect("--explain" not in complete[-1] and complete[-1].endswith("--horizon 8"), complete[-1])
    expect(as_json("predict", table, "--explain")["explain"] == text, text)
    wrong_usage("predict", table, "--explain", "--out", HERE / "x.csv", naming=["--explain and --out"])
    expect(not (HERE / "x.csv").exists(), "nothing is written")


@case
def lists_have_commas_or_are_repeated():
    table = write("q.csv", quarters(blank=(3,)))
    once = succeed("predict", table, "--quantiles", "0.1,0.9")
    expect(once == succeed("predict", table, "--quantiles", 0.1, "--quantiles", 0.9), "repeated")
    wrong_usage("predict", table, "--quantiles", "0.1", "0.9",
                naming=["2 tables found, expected one TABLE; lists have commas: --quantiles 0.1,0.9"])
    wrong_usage("predict", "--inputs", "lon", "lat", table, naming=["lists have commas: --inputs lon,lat"])
    snow = write("snow.csv", places())
    expect(succeed("predict", snow, "--inputs", "lon", "--inputs", "lat", "--values", "snow", "--grid", "2x2")
           == succeed("predict", snow, "--inputs", "lon,lat", "--values", "snow", "--grid", "2x2"), "inputs")
    named = write("named.csv", quarters(blank=(3,)).replace("quarter,output", 'quarter,"output, 1000 t (""gross"")"'))
    column = '"output, 1000 t (""gross"")"'
    header, _ = rows_of(succeed("predict", named, "--values", column), sep="\n")
    expect("mean_output, 1000 t" in header[0], header)
    fail("predict", named, "--values", "output, 1000 t", naming=["has no column"])
    config = write("options.toml", f"[predict]\nvalues = ['output, 1000 t (\"gross\")']\n")
    expect(succeed("--config", config, "predict", named) == succeed("predict", named, "--values", column), "an array of a file")
    wrong_usage("predict", table, "--out=", naming=["nothing found, expected a text"])
    wrong_usage("forecast", table, naming=["there is no command \"forecast\", use npzoo predict TABLE --horizon 12"])


@case
def no_forecast_of_one_row_and_no_input_of_one_column():
    single = write("one.csv", "date,y\n2024-01-01,3\n")
    fail("predict", single, naming=["misses no value of y", "add more rows"])
    expect("--horizon" not in npzoo("predict", single).stderr, "no advice that fails")
    fail("predict", write("alone.csv", "co2\n400\n401\n402\n"), naming=["has no column for an input"])
    fail("predict", write("gaps.csv", "co2\n400\nNA\n402\n"), naming=["has no column for an input"])
    sales = "".join(f"2024-01-{i:02},{i} Main St,{10 + i % 3}\n" for i in range(1, 20))
    fail("predict", write("shops.csv", "date,address,sales\n" + sales), naming=["misses no value of sales", "--horizon"])


if __name__ == "__main__":
    sys.exit(run_cases())
