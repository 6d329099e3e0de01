#!/usr/bin/env python3
"""Situations of public threads about dates, tables, events, decisions and files: situations_of_tables_test.py PATH_TO_NPZOO"""

import datetime
import json
import math
import struct
import sys

from cli_support import HERE, case, checkpoint, expect, npzoo, read_safetensors, run_cases, succeed, write
from situations_support import near, predict, refused, refused_table, table

DAYS = [(f"2020-01-{d:02d}", round(math.sin(d / 3), 3) if d != 8 else "") for d in range(1, 16)]
TRUTH = math.sin(8 / 3)


def filled(content, *args, row=7):
    """Mean and standard deviation of the row without a value."""
    return predict(content, *args).figures()[row]


@case
def days_before_months_are_read_or_refused():  # 19
    near(filled("date;y\n13/06/2018;1\n12/06/2018;2\n11/06/2018;\n10/06/2018;4\n", row=2)[0], 3, .2)
    unclear = "date;y\n10/06/2018;1\n09/06/2018;2\n08/06/2018;\n07/06/2018;4\n"
    refused_table(unclear, 'line 2: column "date" holds "10/06/2018"', "as ISO 8601 writes it", "--dates dmy")
    expect(predict(unclear, "--dates", "dmy").figures() == predict(unclear.replace("/06/2018", "/06/2019"), "--dates", "dmy").figures(), "June")


@case
def eight_digits_are_dates():  # 20
    start = datetime.date(2020, 1, 25)
    rows = [(start + datetime.timedelta(i), "" if i == 7 else round(math.sin(i / 3), 3)) for i in range(15)]
    iso, digits = (predict(table("date,y", [(f"{day:{form}}", y) for day, y in rows])) for form in ("%Y-%m-%d", "%Y%m%d"))
    expect(iso.figures() == digits.figures() and digits.says("date mapped from [2020-01-25, 2020-02-08]"), digits.notes)
    near(digits.figures()[7][0], math.sin(7 / 3), .01)


@case
def days_of_a_spreadsheet_are_noted():  # 21
    answer = predict(table("date,y", [(43830 + i, y) for i, (_, y) in enumerate(DAYS, 1)]))
    near(answer.figures()[7][0], TRUTH, .01)
    expect(answer.says("date holds numbers from 43831 to 43845: if they are days of a spreadsheet"), answer.notes)
    expect(not predict(table("depth,y", [(43830 + i, y) for i, (_, y) in enumerate(DAYS, 1)])).says("spreadsheet"), "depth")


@case
def leap_days_are_days():  # 22
    rows = "date,y\n{0}-02-27,1\n{0}-02-28,2\n{0}-02-29,\n{0}-03-01,4\n{0}-03-02,5\n"
    near(filled(rows.format(2020), row=2)[0], 3, .05)
    refused_table(rows.format(2021), 'line 4: column "date" holds "2021-02-29", expected a date')


@case
def an_hour_that_comes_twice_is_warned_of():  # 23
    times = "00:00+02:00", "01:00+02:00", "02:00+02:00", "02:00+01:00", "03:00+01:00", "04:00+01:00"
    rows = [("2022-10-30T" + at, "" if i == 4 else i) for i, at in enumerate(times)]
    zoned = predict(table("time,y", rows))
    near(zoned.figures()[4][0], 4, .2)
    expect(not zoned.warnings, zoned.warnings)
    wall = predict(table("time,y", [(at[:16], y) for at, y in rows]))
    expect(wall.says("1 time of day with more than one observed row, such as 2022-10-30T02:00:00", "write times with a zone"), wall.notes)


@case
def zones_and_other_notations_of_times_are_read_or_named():  # 24
    forms = ("2022-10-30 0{}:00 UTC", "2022-10-30 {}:00 PM", "{}", "2022-10-30T0{}:00Z")
    found = [predict(table("time,y", [(form.format(i), y) for i, y in ((1, 0), (2, 1), (3, ""), (4, 3), (5, 4))])).figures()[2]
             for form in forms]
    for mean, std in found:
        near(mean, found[2][0], .001)
        near(std, found[2][1], .001)
    quarters = predict("time,y\n2006-Q1,13\n2006-Q2,2\n2006-Q3,\n2006-Q4,3\n")
    expect(quarters.says("time mapped from [2006-01-01, 2006-10-01]"), quarters.notes)
    zoned = predict("time,y\n" + "".join(f"2022-10-30 {h:02}:00 {'CEST' if h < 3 else 'CET'},{'' if h == 4 else h}\n" for h in range(6)))
    expect(zoned.says("time mapped from [2022-10-29T22:00:00Z, 2022-10-30T04:00:00Z]"), zoned.notes)
    refused_table("time,y\n2022-10-30 00:00 XYZ,0\n2022-10-30 01:00 XYZ,\n", 'line 2: column "time" holds "2022-10-30 00:00 XYZ"',
                  "expected a number, or a date as ISO 8601 writes it")


@case
def milliseconds_since_1970_keep_their_digits():  # 25
    rows = [(1664447976000 + 200 * i, "" if i == 20 else round(math.sin(i / 3), 5)) for i in range(40)]
    mean, std = filled(table("time_ms,y", rows), row=20)
    near(mean, math.sin(20 / 3), .002)
    expect(std < .01, std)


def weekdays(count):
    days = (datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(2 * count))
    return [day for day in days if day.weekday() < 5][:count]


def train(name, content):
    out = HERE / name
    succeed("train", "--table", write(f"{name}.csv", content), "--time", "time", "--values", "y", "--context", 12, "--horizon", 4,
            "--steps", 2, "--out", out)
    return out / "checkpoint.safetensors"


def times_of(text):
    return [line.split(",")[0] for line in text.splitlines()[1:]]


@case
def weekends_and_odd_minutes_do_not_disturb_a_forecast():  # 26
    f = lambda i: round(math.sin(i / 3), 4)
    work = weekdays(204)
    weights = train("work", table("time,y", [(str(day), f(i)) for i, day in enumerate(work[:200])]))
    rows = table("time,y", [(str(day), f(i)) for i, day in enumerate(work[:200])])
    forecast = npzoo("predict", write("t.csv", rows), "--verbose", "--checkpoint", weights)
    expect(times_of(forecast.stdout) == [str(day) for day in work[200:]], forecast.stdout, forecast.stderr)
    expect("12 known points of the last 12 steps" in forecast.stderr, "a weekend is no gap", forecast.stderr)
    ends = predict(table("time,y", [(str(day), f(i) if i < 200 else "") for i, day in enumerate(work)]))
    for i, (mean, _) in enumerate(ends.figures()[200:], 200):
        near(mean, f(i), .25)
    start = datetime.datetime(2020, 1, 1)
    hours = [(start + datetime.timedelta(hours=i, minutes=17 if i % 24 == 5 else 0), f(i)) for i in range(200)]
    text = table("time,y", [(f"{at:%Y-%m-%dT%H:%M}", y) for at, y in hours])
    odd = npzoo("predict", write("t.csv", text), "--verbose", "--checkpoint", train("odd", text))
    expect(times_of(odd.stdout) == [f"2020-01-09T{h:02d}:00:00" for h in (8, 9, 10, 11)], odd.stdout, odd.stderr)


@case
def rows_may_come_in_any_order_but_not_twice_in_a_forecast():  # 27
    rows = DAYS[:7] + DAYS[8:]
    shuffled = rows[::2] + rows[1::2] + [DAYS[7]]
    expect(predict(table("date,y", shuffled)).figures()[-1] == filled(table("date,y", DAYS)), "another order of rows")
    hours = [(f"2020-01-{1 + i // 24:02d}T{i % 24:02d}:00", math.sin(i / 3)) for i in range(100)]
    refused(["train", "--table", write("t.csv", table("time,y", hours + hours[30:31])), "--time", "time", "--values", "y", "--context", 12,
             "--horizon", 4, "--steps", 2, "--out", HERE / "twice"], "two rows of the time 2020-01-02T06:00:00 found, expected one")


@case
def shops_of_equal_dates_are_groups():  # 28
    rows = [(f"2020-01-{d:02d}", shop, level + d if d < 11 else "") for d in range(1, 12) for shop, level in (("A", 0), ("B", 100))]
    refused_table(table("date,shop,y", rows), '11 dates twice; if "shop" names the series, use --group shop')
    (a, _), (b, _) = predict(table("date,shop,y", rows), "--group", "shop").figures()[-2:]
    near(a, 11, .5)
    near(b, 111, .5)


@case
def very_short_series_are_wide_in_their_unit():  # 29
    two = predict("date,y\n2020-01-01,1\n2020-01-02,2\n2020-01-03,\n").figures()[-1]
    expect(abs(two[0] - 2) < 1.5 and two[1] > 1, two)
    for unit in (1, 1e6):
        answer = predict(f"date,y\n2020-01-01,{3 * unit}\n2020-01-03,\n")
        expect(answer.figures()[-1][1] > unit and answer.says("one value alone in the context"), "one row", answer.text)
        good = [(g, str(d), unit * (level + math.sin(d)) if d != 4 else "") for g, level in (("a", 50), ("b", 54)) for d in range(9)]
        rows = good + [("one", "3", 52. * unit), ("one", "5", ""), ("none", "2", "")]
        answer = predict(table("id,day,y", rows), "--group", "id", "--inputs", "day")
        expect(answer.says("1 of 4 series have no observed point: they are predicted to be like the other series"), answer.notes)
        for (mean, std), truth in zip([answer.figures()[4], *answer.figures()[-2:]], (50 + math.sin(4), 52, 52)):
            near(mean / unit, truth, 4)
            expect(0 < std / unit < 10, std)


@case
def encodings_and_line_ends():  # 30
    text = table("date,y", DAYS)
    plain = predict(text).figures()
    for content in (b"\xef\xbb\xbf" + text.encode(), text.replace("\n", "\r\n").encode(), text.replace("\n", "\r").encode()):
        expect(predict(content).figures() == plain, content[:40])
    refused_table(text.encode("utf-16"), "is UTF-16, expected a table as text in UTF-8")
    latin = "Datum;Température °C\n2020-01-01;1,5\n2020-01-02;\n2020-01-03;2,5\n2020-01-04;2,0\n".encode("latin-1")
    done = npzoo("predict", write("t.csv", latin))
    expect(done.returncode == 0 and len(done.stdout.splitlines()) == 5, done.stderr)
    refused(["predict", write("t.csv", latin), "--plot", HERE / "t.svg"], "UTF-8")


@case
def lines_and_words_that_are_no_data():  # 31
    rows = "2020-01-01;1\n2020-01-02;\n2020-01-03;3\n2020-01-04;4\n"
    plain = predict("date;y\n" + rows).figures()
    expect(predict("sep=;\ndate;y\n" + rows).figures() == plain, "sep=;")
    units = predict("date;y\n;degC\n" + rows)
    expect(units.figures() == plain and units.says(":2] 1 line of units below the names skipped"), units.notes)
    refused_table("date;y\n;warm\n" + rows, 'line 2 has "warm" in column "y"', "if it is a row of units, remove it")
    for word in ("#N/A", "?", "None", "NA", "null", "-"):
        expect(predict("date;y\n" + rows.replace("02;", f"02;{word}")).figures() == plain, word)
    refused_table("date;y\n" + rows.replace("3\n", "missing\n"), 'line 4 has "missing" in column "y"')


@case
def signs_within_numbers_are_read_or_named():  # 32
    plain = predict('date;y\n2020-01-01;1234.5\n2020-01-02;\n2020-01-03;1250\n2020-01-04;1240\n').figures()
    for text in ("1234,5 1250,0 1240", "1.234,5 1.250,0 1.240,0"):
        a, b, c = text.split()
        found = predict(f"date;y\n2020-01-01;{a}\n2020-01-02;\n2020-01-03;{b}\n2020-01-04;{c}\n").figures()
        expect(found == plain, text, found, plain)
    quoted = predict('date,y\n2020-01-01,"1,234.5"\n2020-01-02,\n2020-01-03,"1,250.0"\n2020-01-04,"1,240.0"\n')
    expect(quoted.figures() == plain, quoted.text)
    for cell in ("12%", "$12", "12 kg"):
        refused_table(f"date,y\n2020-01-01,{cell}\n2020-01-02,\n2020-01-03,15\n", f'line 2: column "y" holds "{cell}", expected a number')


@case
def headers_and_blank_lines():  # 33
    text = table("date,y", DAYS)
    refused_table(text.split("\n", 1)[1], ":1] holds only numbers, expected column names")
    lines = text.splitlines()
    indexed = [f",{lines[0]}"] + [f"{i},{line}" for i, line in enumerate(lines[1:])]
    answer = predict("\n".join(indexed) + "\n")
    expect(answer.says("the first column of", "has no name"), answer.notes)
    trailing = predict("".join(line + ",\n" for line in lines))
    expect(predict(text).figures() == answer.figures() == trailing.figures(), "an index, or a comma at the end")
    spaced = predict(text.replace("\n2020-01-05", "\n\n2020-01-05"))
    expect(spaced.figures() == answer.figures() and spaced.says(":6] 1 line between rows skipped"), spaced.notes)


@case
def the_language_of_the_machine_changes_nothing():  # 34
    args = "predict", write("t.csv", table("date,y", DAYS)), "--quantiles", ".5"
    found = [npzoo(*args, environment={"LC_ALL": name, "LC_NUMERIC": name, "LANG": name}).stdout for name in ("C", "de_DE.UTF-8", "none")]
    expect(found[0] and found[0] == found[1] == found[2], found)


HAWKES = 'kind = "hawkes"\nbaseline = [0.2, 0.3]\nexcitation = [[0.8, 0.1], [0.4, 0.5]]\ndecay = [[2.0, 1.0], [1.5, 1.0]]\n'


def oracle(rows, *process):
    return ["oracle", write("e.csv", "sequence,time,mark\n" + rows), "--process", write("p.toml", "".join(process) or HAWKES)]


def likelihood(*args):
    (found,) = [value for key, value in json.loads(succeed(*oracle(*args), "--json")).items() if key == "log_likelihood"]
    return found["value"] if isinstance(found, dict) else found


@case
def events_at_one_time_and_times_of_a_clock():  # 38
    refused(oracle("a,0.5,0\na,1.25,0\na,1.25,1\n"), ':4] column "time" holds "1.25"', "move the later one by a little, or give a least_gap")
    ties = likelihood("a,0.5,0\na,1.25,0\na,1.25,1\n", HAWKES + "least_gap = 0.25\n")
    expect(math.isfinite(ties), ties)
    far = npzoo(*oracle("a,1700000000,0\na,1700000001,0\n"))
    expect(far.returncode == 0 and "subtract the time at which it began from all times, or write it as start" in far.stderr, far.stderr)
    near(likelihood("a,1700000000.5,0\na,1700000001,0\n", HAWKES + "start = 1.7e9\n"), likelihood("a,0.5,0\na,1,0\n"), 1e-6)
    expect(math.isfinite(likelihood("".join(f"a,{i},0\n" for i in range(1, 30)))), "gaps of 1")
    refused(oracle("a,0.5,buy\na,0.7,sell\n"), 'column "mark" holds "buy"')
    refused(oracle("a,2020-01-01T00:00,0\na,2020-01-01T06:00,0\n"), "not a date: write the time since observation began")
    refused(oracle("a,0.5,0\n", HAWKES + "start = 3\nend = 2\n"), "end is 2")
    minutes = HAWKES
    for old in ("[0.2, 0.3]", "[[0.8, 0.1], [0.4, 0.5]]", "[[2.0, 1.0], [1.5, 1.0]]"):
        minutes = minutes.replace(old, json.dumps(scaled(json.loads(old))))
    near(likelihood("a,30,0\na,72,1\na,78,0\n", minutes) - likelihood("a,0.5,0\na,1.2,1\na,1.3,0\n"), -math.log(60), 1e-9)


def scaled(numbers):
    return [scaled(n) if isinstance(n, list) else n / 60 for n in numbers]


def optimise(space, told, *args):
    return ["optimise", "--space", write("space.toml", space), "--tell", write("told.csv", told), *args]


@case
def trials_that_fail_repeat_or_tell_nothing():  # 39
    space = '[[axis]]\nname = "n"\nlow = 1\nhigh = {}\ntype = "integer"\n'
    refused(optimise(space.format(3), "n,value\n1,3\n2,2\n3,1\n", "--ask", "2"), "[optimise] all 3 points are known")
    refused(optimise(space.format(3), "n,value\n4,1\n"), ":2] n is 4, expected a number from 1 to 3")
    refused(optimise(space.format(3).replace("low = 1", "low = 0") + 'scale = "log"\n', ""), 'low 0 and scale "log", expected low > 0')
    rows = "".join(f"{n},{(n - 12) ** 2}\n" for n in (1, 5, 9, 15, 20))
    plain = int(succeed(*optimise(space.format(20), "n,value\n" + rows)).split()[1])
    near(plain, 12, 2)
    for failed in ("", "nan", "NA"):
        avoided = int(succeed(*optimise(space.format(20), "n,value\n" + rows + f"{plain},{failed}\n")).split()[1])
        expect(avoided != plain, "a failed trial is proposed again")
    near(int(succeed(*optimise(space.format(20), "n,value\n" + rows + "2,1e30\n")).split()[1]), 12, 2, "an outlier")
    same = "n,value\n" + "".join(f"{n},1\n" for n in (1, 2, 3, 4, 5, 6))
    expect(int(succeed(*optimise(space.format(20), same)).split()[1]) > 8, "equal values leave the far end unexplored")


@case
def damaged_files_are_one_line():  # 40
    good = checkpoint()
    content = good.read_bytes()
    refused_file = lambda data, *parts: refused(["predict", write("t.csv", table("date,y", DAYS)), "--checkpoint", write("w.safetensors", data)],
                                                "w.safetensors", *parts)
    refused_file(content[:3000], "bytes")
    refused_file(content + b"junk", f"found {len(content) + 4 - 8 - struct.unpack('<Q', content[:8])[0]} bytes")
    header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
    first = next(name for name in header if name != "__metadata__")
    header["empty"] = {"dtype": "F32", "shape": [0], "data_offsets": [len(content)] * 2}
    for change in ({}, {first: {**header[first], "shape": [0]}}):
        text = json.dumps({**header, **change}).encode()
        refused_file(struct.pack("<Q", len(text)) + text + content[8 + struct.unpack("<Q", content[:8])[0]:])
    expect(read_safetensors(good)[1], "the weights themselves are whole")


@case
def periods_of_no_calendar_and_a_gap_before_the_end():  # 41
    months = [(f"{1990 + i // 12}-{i % 12 + 1:02d}", round(math.sin(2 * math.pi * i / 87) + .3 * math.sin(i), 3)) for i in range(400)]
    answer = predict(table("month,y", [(m, y if i < 390 else "") for i, (m, y) in enumerate(months)]), "--period", "87")
    for (mean, std), (_, y) in list(zip(answer.figures(), months))[390:]:
        near(mean, y, .5)
        expect(0 < std < 1, std)
    hours = [(f"2020-01-{1 + i // 24:02d}T{i % 24:02d}:00", round(math.sin(math.pi * i / 12), 3)) for i in range(168)]
    whole, gap = (predict(table("time,y", [(t, y if i < end else "") for i, (t, y) in enumerate(hours)])).figures() for end in (162, 156))
    for i in range(162, 168):
        near(whole[i][0], hours[i][1], .3)
        near(gap[i][0], whole[i][0], .3)
        expect(gap[i][1] >= .5 * whole[i][1], "surer behind a gap", gap[i], whole[i])


@case
def german_dates_of_two_digit_years():
    days = [datetime.date(2023, 11, 1) + datetime.timedelta(i) for i in range(60)]
    for count in (22, 60):
        answer = predict("Datum;y\n" + "".join(f"{day:%d.%m.%y};{round(10 + math.sin(i / 3), 3)}\n" for i, day in enumerate(days[:count])),
                         "--horizon", 3)
        after = [days[count - 1] + datetime.timedelta(i) for i in (1, 2, 3)]
        expect([row[0] for row in answer.rows] == [f"{day:%d.%m.%y}" for day in after], answer.rows)
    clocks = predict("t;y\n" + "".join(f"18.{i // 2:02}.{30 * (i % 2):02};{i % 5}\n" for i in range(40)), "--horizon", 1)
    expect(clocks.rows[0][0] in ("18:20:00", "18.20.00"), clocks.rows)


@case
def rows_of_persons_are_filled_from_their_other_columns():
    rows = [(f"P{i}", "FM"[i % 2], (37 * i) % 90, "" if i % 9 == 4 else 12 + i % 2 + .1 * (i % 3)) for i in range(60)]
    answer = predict(table("patient,sex,ferritin,hb", rows))
    expect(not answer.says("by ferritin"), answer.notes)
    near(answer.figures("hb")[4][0], 12.1, .3)
    refused_table(table("week,points,goals", [(f"Week {i}", (7 * i) % 40, i % 5 if i % 9 else "") for i in range(30)]), 'holds "Week 0"')


@case
def runs_that_begin_anew_are_warned_of():
    run = [(i / 2, round(level + math.sin(i / 5), 3) if i != 7 else "") for level in (0, 5, 9) for i in range(20)]
    answer = predict(table("t_s,force", run))
    expect(any("t_s begins anew in line 22" in w and "--group" in w for w in answer.warnings), answer.warnings)
    expect(not any("begins anew" in w for w in predict(table("t_s,force", sorted(run[:20], key=lambda row: row[0]))).warnings), "one run")


@case
def a_pace_is_no_time_of_day():
    rows = [(km, f"{4 + km % 2}:{(17 * km) % 60:02}", 140 + km if km != 9 else "") for km in range(1, 43)]
    near(predict(table("km,pace,hr", rows)).figures("hr")[8][0], 149, 1)


if __name__ == "__main__":
    sys.exit(run_cases())
