#!/usr/bin/env python3
"""Tables as people have them, made here by the hundred: each is filled rightly or refused in one clear line.
tables_test.py PATH_TO_NPZOO"""

import bz2
import gzip
import itertools
import lzma
import math
import sys

from cli_support import HERE, case, check_close, checkpoint, error_lines, expect, npzoo, numbers, run_cases, write

DAYS, GAPS = range(12), (3, 4, 9)
VALUES = [round(20 + 5 * math.sin(day), 2) for day in DAYS]
PATH = HERE / "t.csv"


def predict(content, *args, stdin=False):
    """Runs `npzoo predict` on a table of these bytes."""
    write("t.csv", content)
    if not stdin:
        return npzoo("predict", PATH, "--header", "--digits", 9, "--checkpoint", checkpoint(), *args)
    with PATH.open() as file:
        import subprocess
        from cli_support import PROGRAM, TIMEOUT
        return subprocess.run([PROGRAM, "predict", "-", "--digits", "9", "--checkpoint", str(checkpoint()), *map(str, args)], stdin=file,
                              capture_output=True, text=True, errors="replace", timeout=TIMEOUT)


def table(sep=",", decimal=".", eol="\n", missing="", quote=False, input="{day}", names=("day", "rate"), before="", last=True,
          encode=lambda text: text.encode(), blank=""):
    """A table of days and rates, with gaps, in some dress."""

    def cell(text):
        return f'{blank}"{text}"{blank}' if quote else f"{blank}{text}{blank}"

    rows = [sep.join(map(cell, names))]
    for day, value in zip(DAYS, VALUES):
        shown = missing if day in GAPS else f"{value:.2f}".replace(".", decimal)
        rows.append(sep.join((cell(input.format(day=day, two=day + 1, hour=2 * day)), cell(shown))))
    return encode(before + eol.join(rows) + (eol if last else ""))


def predictions(text, sep=",", decimal="."):
    """Mean and deviation of every row."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    expect(lines[0].replace('"', "").split(sep)[-2:] == ["mean_rate", "std_rate"], lines[0])
    return [[float(field.replace(decimal, ".")) for field in line.split(sep)[-2:]] for line in lines[1:]]


class Plain:
    answer = None

    @classmethod
    def get(cls):
        if cls.answer is None:
            done = predict(table())
            expect(done.returncode == 0, done.stderr)
            cls.answer = predictions(done.stdout)
            expect(len(cls.answer) == len(DAYS), done.stdout)
        return cls.answer


def named_like_other_files():
    """Columns whose names begin as some files do."""
    for name in ("PAR1", "BZh9", "FEA1", "PK", "sep=;"):
        yield table(names=(f'"{name}"' if ";" in name else name, "rate"))


def check_same(content, *args, sep=",", decimal=".", stdin=False, rel_tol=1e-4):
    done = predict(content, *args, stdin=stdin)
    expect(done.returncode == 0, done.stderr, content[:200])
    check_close(predictions(done.stdout, sep, decimal), Plain.get(), rel_tol=rel_tol)
    return done.stdout


MISSING = ("", "-", "NA", "na", "N/A", "NaN", "nan", "NAN", "null", "NULL", " ", "\t ", "?", "None", "#N/A", "n/a")


@case
def dresses():
    count = 0
    for (sep, decimal), eol, quote, last in itertools.product(((",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ",")),
                                                              ("\n", "\r\n", "\r"), (False, True), (True, False)):
        missing = [word for word in MISSING if not (sep == "\t" and "\t" in word and not quote)]
        for word in (missing[count % len(missing)], missing[(5 * count + 3) % len(missing)]):
            before = ("", "# seen\n", "\ufeff", "\ufeff#\n# two\n")[count % 4].replace("\n", eol)
            blank = ("", " ")[count % 3 == 0]
            check_same(table(sep, decimal, eol, word, quote, before=before, last=last, blank=blank), sep=sep, decimal=decimal)
            count += 1
    expect(count == 120, count)


@case
def names_like_those_of_other_files():
    for content in named_like_other_files():
        check_same(content)


@case
def words_for_missing_values():
    for word, sep in itertools.product(MISSING, (",", ";")):
        check_same(table(sep, missing=word), sep=sep)


@case
def a_line_that_names_the_separator():
    for sep, name in ((",", ","), (";", ";"), ("\t", "\t")):
        check_same(table(sep, before=f"\ufeffsep={name}\n"), sep=sep)
    check_same(table(";", eol="\r\n", before="sep=;\r\n", names=("day", "rate")), sep=";")


@case
def dates_of_eight_digits():
    text = check_same(table(input="202402{two:02}", names=("date", "rate")))
    expect("date mapped from [2024-02-01, 2024-02-12]" in text, text[:400])
    steps = [line for line in table(input="2024{two:02}01", names=("date", "rate")).decode().splitlines()]
    iso = [line if i == 0 else f"{line[:4]}-{line[4:6]}-{line[6:]}" for i, line in enumerate(steps)]
    months = [predictions(predict("\n".join(lines).encode()).stdout) for lines in (steps, iso)]
    expect(months[0] == months[1] != Plain.get(), "months of different lengths")
    for first in ("17991231", "20240230", "2024020"):  # then numbers
        done = predict(("n,rate\n" + "".join(f"{day},{VALUES[i]}\n" for i, day in enumerate((first, 20240301, 20240302)))
                        + "20240303,\n").encode())
        expect(done.returncode == 0 and "2024-" not in done.stdout, first, done.stdout[:300], done.stderr)


@case
def compressions():
    text = table()
    gz, xz = gzip.compress(text), lzma.compress(text)
    halves = text[:40], text[40:]
    delta = [{"id": lzma.FILTER_DELTA, "dist": 3}, {"id": lzma.FILTER_LZMA2, "preset": 6}]
    for content in (gz, gzip.compress(text, 1), xz, lzma.compress(text, preset=9 | lzma.PRESET_EXTREME),
                    lzma.compress(text, check=lzma.CHECK_NONE), lzma.compress(text, check=lzma.CHECK_SHA256),
                    lzma.compress(text, filters=delta), b"".join(map(gzip.compress, halves)), b"".join(map(lzma.compress, halves)),
                    gz + gzip.compress(b""), xz + b"\0" * 8):
        check_same(content)
        check_same(content, stdin=True)


@case
def times():
    forms = ("2024-02-{two:02}", "1999-12-{two:02} 00:00", "2024-01-{two:02}T06:30", "2024-01-{two:02}T06:30:15.25",
             "2024-03-{two:02}T00:00Z", "2024-03-{two:02} 01:00:00+01:00", "0001-01-{two:02}", "9999-12-{two:02}",
             "2024-03-{two:02}T00:00:00-0530", "2024-03-{two:02}T00:00+05", "1970-01-01T{hour:02}:00", "1969-12-31 {hour:02}:00:00",
             "2024-02-29T23:59:59.{two:06}", "2024-02-29T23:59:59.{two:09}Z", "1582-10-{two:02}", "2024-{two:02}-01T00:00,5"[:0] or
             "2024-01-{two:02}T24:00")
    for form, (sep, names) in itertools.product(forms, ((",", ("day", "rate")), (";", ("day", "rate")))):
        # A double holds days to about a hundredth of a nanosecond, the step of one of these tables.
        text = check_same(table(sep, input=form, names=names), sep=sep, rel_tol=1e-2 if "{two:09}" in form else 1e-4)
        rows = [line for line in text.splitlines() if not line.startswith("#")][1:]
        for day, row in zip(DAYS, rows):
            expect(row.startswith(form.format(day=day, two=day + 1, hour=2 * day) + sep), row)
    for form in forms[:4]:  # the input is the column of dates, whatever other numbers there are
        content = table(input=form).decode().splitlines()
        wide = "\n".join([content[0] + ",other"] + [line + f",{i}" for i, line in enumerate(content[1:])]) + "\n"
        done = predict(wide.encode())
        expect(done.returncode == 0, done.stderr)
        check_close(predictions(done.stdout), Plain.get())


@case
def mixed_offsets_are_moments():
    rows = "".join(f"2024-03-{1 + day:02}T{day % 5:02}:00+{day % 5:02}:00,{'' if day in GAPS else VALUES[day]}\n" for day in DAYS)
    check_same(("day,rate\n" + rows).encode())


@case
def further_columns_change_no_prediction():
    content = table().decode().splitlines()
    for name, cell in (("note", "a b"), ('"a,b"', '"x,y"'), ("größe", "süß"), ("date", "01/02/2020"), ("empty", ""), ("", "7"),
                       ("text", "NA"), ('"two ""quotes"""', '"1 ""2"""'), ("long", "x" * 100_000), ("nul", "1e999")):
        for front in (False, True):
            def wide(line, more):
                return f"{more},{line}" if front else f"{line},{more}"
            rows = [wide(content[0], name)] + [wide(line, cell) for line in content[1:]]
            done = predict(("\n".join(rows) + "\n").encode(), "--inputs", "day", "--values", "rate")
            expect(done.returncode == 0, name, done.stderr)
            lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
            check_close([[float(field) for field in line.rsplit(",", 2)[1:]] for line in lines[1:]], Plain.get())
            expect(all(line.startswith(row + ",") for line, row in zip(lines[1:], rows[1:])), name, lines[1][:200])
    latin = ("\n".join([content[0] + ",gr\xf6\xdfe"] + [line + ",s\xfc\xdf" for line in content[1:]])).encode("latin-1")
    check_same_columns = predict(latin)
    expect(check_same_columns.returncode == 0, check_same_columns.stderr)
    lines = "a,b\nover,lines".join(("\"", "\""))
    rows = [content[0] + ",text"] + [f"{line},{lines}" for line in content[1:]]
    done = predict("\n".join(rows).encode())
    expect(done.returncode == 0 and done.stdout.count("over,lines\",") == len(DAYS), done.stdout, done.stderr)


@case
def very_many_columns():
    count = 100_000
    content = table().decode().splitlines()
    more = ",".join(f"c{i}" for i in range(count))
    zeros = ",".join(["0"] * count)
    rows = [f"{content[0]},{more}"] + [f"{line},{zeros}" for line in content[1:]]
    done = predict("\n".join(rows).encode(), "--inputs", "day", "--values", "rate")
    expect(done.returncode == 0, done.stderr)
    check_close(predictions(done.stdout), Plain.get())
    done = predict("\n".join(rows).encode(), "--values", "rate")
    lines = error_lines(done)
    expect(done.returncode == 1 and len(lines) == 1, done.stderr[:300])
    expect(lines[0].startswith(f'npzoo: error: [columns] {PATH}: "day", "c0", "c1"') and
           lines[0].endswith("and 99993 more might be inputs, expected --inputs to name the 1 of the model"), done.stderr[:400])


@case
def repeated_times_are_observed_twice():
    content = table().decode() + "5,21\n5,\n"
    done = predict(content.encode())
    expect(done.returncode == 0, done.stderr)
    found = predictions(done.stdout)
    expect(len(found) == 14 and found[5] == found[12] == found[13], found)


HEAD = "day,rate\n1,2\n2,\n"
GOOD = table()
NO_NUMBER = 'column "rate" holds "{}", expected a number'
NO_DATE = ('column "day" holds "{}", expected a number, or a date as ISO 8601 writes it: 2020-02-01 or 2020-02-01T12:30')
NO_ORDER = ('column "day" holds "{}", expected a number, or a date as ISO 8601 writes it: 2020-02-01; predict reads '
            'other orders with --dates dmy, mdy or ymd')
MAGIC = ((b"PAR1\x15\x04", "a Parquet file"), (b"ARROW1\0\0", "an Arrow file"), (b"FEA1\0\0\0\0", "a Feather file"),
         (b"PK\x03\x04....", "a zip archive or a spreadsheet"), (b"\xd0\xcf\x11\xe0\xa1\xb1", "a spreadsheet"),
         (bz2.compress(GOOD), "compressed by bzip2"), (b"\x28\xb5\x2f\xfd\x04\x00", "compressed by zstd"),
         (b"\x89HDF\r\n\x1a\n", "an HDF5 file"), (b"SQLite format 3\0", "a database of SQLite"),
         ("\ufeff".encode("utf-16-le") + GOOD.decode().encode("utf-16-le"), "UTF-16"),
         ("\ufeff".encode("utf-16-be") + GOOD.decode().encode("utf-16-be"), "UTF-16"))
NAMED = ("--inputs", "day", "--values", "rate")


def refused():
    """(content, message behind the file's name, more arguments)"""
    yield "", "[{}] is empty, expected a line of column names", ()
    yield "\n", "[{}] is empty, expected a line of column names", ()
    yield "\ufeff", "[{}] is empty, expected a line of column names", ()
    yield "# a\n#b\n", "[{}] is empty after its comments, expected a line of column names", ()
    for content, what in MAGIC:
        remedy = ": iconv -f utf-16 -t utf-8 {} > NEW.csv" if what == "UTF-16" else ""
        yield content, f"[{{}}] is {what}, expected a table as text in UTF-8 (CSV), which gzip or xz may have compressed{remedy}", ()
    yield GOOD.decode().encode("utf-16-le"), "[{}:1] holds a byte of value 0, expected a table as text in UTF-8 (CSV)", ()
    yield b"day,rate\n1,2\n2,\0\n", "[{}:3] holds a byte of value 0, expected a table as text in UTF-8 (CSV)", ()
    gz, xz = gzip.compress(GOOD, mtime=0), lzma.compress(GOOD)
    for size in (2, 5, 10, 11, len(gz) // 2, len(gz) - 8, len(gz) - 4, len(gz) - 1):
        yield gz[:size], "[{}] ends within its gzip data: the file is cut off", ()
    for size in (6, 7, 12, 13, len(xz) // 2, len(xz) - 12, len(xz) - 1):
        yield xz[:size], "[{}] ends within its xz data: the file is cut off", ()
    yield gz + gz[:7], "[{}] ends within its gzip data: the file is cut off", ()
    for more in (b"x", b"\0" * 512, b"\n", GOOD):
        yield gz + more, "[{}] has more bytes after its gzip data, expected the end of the file", ()
    for more in (b"x" * 12, b"\0" * 3, GOOD):
        yield xz + more, "[{}] has damaged xz data, or more bytes after its end", ()
    yield gz[:-8] + bytes([gz[-8] ^ 1]) + gz[-7:], "[{}] has damaged gzip data: incorrect data check", ()
    yield gz[:-1] + bytes([gz[-1] ^ 1]), "[{}] has damaged gzip data: incorrect length check", ()
    yield gzip.compress(gz), "[{}:1] ", ()
    # Headers.
    yield "day,rate,day\n1,2,3\n", '[{}:1] has two columns "day"', ()
    numbers = "[{}:1] holds only numbers, expected column names: add a line of names above it"
    yield "1,2\n3,\n", numbers, ()
    yield "2020-01-01,2\n2020-01-02,\n", numbers, ()
    both = "between its names, expected one separator, and quotes around names that hold another"
    yield "day,rate;x\n", f'[{{}}:1] has "," and ";" {both}', ()
    yield "day\trate,x\n", f'[{{}}:1] has "," and a tab {both}', ()
    yield "day\trate;x\n1\t2;3\n", f'[{{}}:1] has ";" and a tab {both}', ()
    yield 'day,"rate\n1,2\n', "[{}:1] column 2 has an opening quote and no closing one", ()
    yield 'day,"rate"x\n1,2\n', '[{}:1] column "rate" has text after its closing quote', ()
    yield "day,ra\rte\n1,2\n", '[{}:1] column "ra?te" has a control character in its name, expected UTF-8 text', ()
    yield "x" * (1 << 25), "[{}:1] is a line of more than 16777216 bytes", ()
    # Rows.
    yield "day,rate\n1,2\n2\n", '[{}:3] column "rate" is missing, found 1 fields, expected 2', ()
    yield "day,rate\n1,2\n2,,\n", '[{}:3] has more fields after the last column "rate", found 3 fields, expected 2', ()
    yield "#\n# x\nday,rate\r\n1,2\r\n2\r\n", '[{}:5] column "rate" is missing, found 1 fields, expected 2', ()
    yield "day;rate\n1;2\n3,4\n", '[{}:3] column "rate" is missing, found 1 fields, expected 2', ()
    yield "day,rate,text\n1,2,a b\n2,,a,b\n", '[{}:3] has more fields after the last column "text", found 4 fields, expected 3', ()
    yield "rate\n1\n\n2\n", '[{}:3] is blank between rows, expected column "rate"', ()
    yield "day,rate\n1,2\n3,4\nEND\n", '[{}:4] column "rate" is missing, found 1 fields, expected 2; if the table ends above, delete line 4', ()
    yield "A,2024-01-01,5\nA,2024-01-02,6\n", '[{}:1] has the name "2024-01-01" above dates, found data, expected column names: add a line of names above it', ()
    yield 'day,rate\n1,"2\n2,\n', '[{}:2] column "rate" has an opening quote and no closing one', ()
    yield 'day,rate\n1,"2"3\n', '[{}:2] column "rate" has text after its closing quote', ()
    mark = "; if it stands for a missing value, use --missing "
    yield 'day,rate,t\n1,2,"a\nb"\n2,,"c\n\nd"\n3,x,\n', '[{}:7] column "rate" holds "x", expected a number' + mark + "x", NAMED
    # Numbers.
    for text in ("x", "#", "***", "n/e"):
        flag = f"'{text}'" if text in ("#", "***") else text
        yield f"{HEAD}3,{text}\n", "[{}:4] " + NO_NUMBER.format(text) + mark + flag, NAMED
    for text in ("1.2.3", "0x10", "1 2", "--1", "+-1", "1e", "1\u00a0", "1;2", "e5", "1'00"):
        row = f'"{text}"' if "," in text else text
        yield f"{HEAD}3,{row}\n", "[{}:4] " + NO_NUMBER.format(text), NAMED
    for text in ("12 %", "12 m", "$12", "12 €"):
        yield f"{HEAD}3,{text}\n", "[{}:4] " + NO_NUMBER.format(text) + f": write 12 in place of {text}", NAMED
    for text in ("(12)", "12-", "-$12"):
        yield f"{HEAD}3,{text}\n", "[{}:4] " + NO_NUMBER.format(text) + f": write -12 in place of {text}", NAMED
    for text in ("inf", "-inf", "Infinity", "-nan", "#DIV/0!"):
        flag = f"'{text}'" if "#" in text else text
        yield f"{HEAD}3,{text}\n", "[{}:4] " + NO_NUMBER.format(text) + mark + flag, NAMED
    yield f"{HEAD}3,1e999\n", '[{}:4] column "rate" holds "1e999", expected a number that a double can hold', NAMED
    for text in ("1,234", "-1,234"):
        yield (f'{HEAD}3,"{text}"\n', f'[{{}}:4] column "rate" holds "{text}", expected a number without thousands separators, or '
               "--decimal . or , to name the decimal sign", NAMED)
    yield ("day;rate\n1;2,5\n2;\n3;2.5\n",
           '[{}:4] column "rate" holds "2.5", expected a decimal comma, like the other numbers of the table', NAMED)
    yield ("day;rate\n1.5;2,5\n2;\n",
           '[{}:2] column "rate" holds "2,5", expected a decimal point, like the other numbers of the table', NAMED)
    # Inputs, which may not be missing.
    for word in MISSING[:11]:
        text = word.strip()
        expected = ('column "day" is empty, expected a number' if not text else
                    f'column "day" holds "{text}", expected a finite number' if text.lower() == "nan" else
                    f'column "day" holds "{text}", expected a number')
        yield f"day,rate\n1,2\n{word},3\n2,\n", f"[{{}}:3] {expected}", NAMED
    # Dates.
    for text in ("01/02/2020", "1.2.2020", "20-01-2020"):
        yield f"day,rate\n{text},2\n1,\n", "[{}:2] " + NO_ORDER.format(text), NAMED
    for text in ("2020/01/02", "2020-1-1", "Jan 1 2020", "2020-01-01T12:30 UTC", "2006-Q1", "Jan-20", "13. May 2020", "2020-01-01T12",
                 "2020-W01", "2020-020", "2018M01", "01/2018", "20200101T0130Z"):
        yield f"day,rate\n{text},2\n1,\n", '[{}:3] column "day" holds "1", expected a date, like the others of the column', NAMED
    for text in ("2020-02-30", "2021-02-29", "2020-13-01", "2020-00-10", "12:30", "2020-01-01 25:00",
                 "2020-01-01 12:60", "2020-01-01 24:00:01", "2020-01-01T12:30+25:00", "2020-W54", "2020-01-01Z",
                 "2020-01-01T12:30:60Z", "1:00 PM"):
        yield f"day,rate\n{text},2\n1,\n", "[{}:2] " + NO_DATE.format(text), NAMED
    zone = ("day,rate\n2020-01-01T12:00Z,2\n2020-01-02T12:00,\n",
            '[{}:3] column "day" holds "2020-01-02T12:00", expected a time with a zone (Z or +01:00), like the others of the column')
    yield *zone, ()
    yield *zone, NAMED
    yield ("day,rate\n2020-01-01,2\n2020-01-02T12:00+01:00,\n", '[{}:3] column "day" holds "2020-01-02T12:00+01:00", expected a time '
           "without a zone, like the others of the column", ())
    yield ("day,rate\n2020-01-01,2\n2,\n", '[{}:3] column "day" holds "2", expected a date, like the others of the column', NAMED)
    yield ("day,rate\n2,2\n2020-01-01,\n", '[{}:3] column "day" holds "2020-01-01", expected a number, like the others of the column',
           NAMED)
    yield "day,rate\n2020-01-01,2\n,3\n2020-01-03,\n", '[{}:3] column "day" is empty, expected a date', NAMED
    yield "day,rate\n1,2020-01-01\n2,\n", '[predict] {}: column "rate" holds dates, expected numbers to predict', NAMED
    # Columns.
    nothing = "[predict] {} has no rows, expected observed points"
    yield "day,rate\n", nothing, ()
    yield "day,rate\n", nothing, NAMED
    yield "day,rate\n1,\n2,\n", '[columns] {} has no value in "rate", expected some rows with one', ()
    yield "day,rate\n1,\n2,\n", '[predict] {} has no value in "rate", expected some rows with one', NAMED
    yield "sep=|\nday|rate\n1|2\n", '[{}:1] names the separator "|", expected ",", ";" or a tab', ()
    unit = 'line 2 has "warm" in column "rate", unlike those below: if it is a row of units, remove it; '
    unit += "if it has the names of the columns, use --skip-rows 1"
    yield "day,rate\n,warm\n1,2\n2,\n3,4\n", f"[columns] {{}}: {unit}", ()
    yield "day,rate\nd,warm\n1,2\n2,\n3,4\n4,5\n", f"[columns] {{}}: {unit.replace('warm', 'd').replace('rate', 'day')}", ()
    yield "day,rate\n,warm\n1,2\n2,\n3,4\n", f"[columns] {{}}: {unit}", NAMED
    yield ("day,rate\n1,a\n2,\n",
           '[columns] {} has no column of numbers besides the inputs "day", expected --inputs and --values to name them', ())
    yield ("rate\n1\nNA\n", "[columns] {} has no column for an input, expected one of times, or of numbers such as 1, 2, 3 and so on "
           "beside the values", ())
    yield ("a,b,rate\n1,2,3\n2,3,\n", '[columns] {}: "a" and "b" might be inputs, expected --inputs to name the 1 of the model', ())
    yield ("a,b,rate\n2020-01-01,2020-01-01,3\n2020-01-02,2020-01-01,\n",
           '[columns] {} has 2 columns of dates, "a" and "b", expected one of them: --inputs a or --inputs b', ())
    yield "day,rate\n1,2\n2,\n", '[{}:1] has no column "x", found "day", "rate"', ("--inputs", "x")
    yield "day,rate\n1,2\n2,\n", '[{}:1] has no column "x", found "day", "rate"', ("--values", "x")
    yield "day,rate\n1,2\n2,\n", '[{}:1] has no column "x", found "day", "rate"', ("--group", "x")
    yield "day,rate\n1,2\n2,\n", '[columns] "rate" is named twice by --inputs, --values, --covariates, --group and --date', (
        "--inputs", "rate", "--values", "rate")
    yield ("a,b,rate\n1,2,3\n2,3,\n", "[predict] 2 inputs found, a and b, tnp-d trained under quick/gp1d takes 1", ("--inputs", "a,b"))
    yield "id,day,rate\nx,1,2\n,2,\n", '[{}:3] column "id" is empty, expected the name of a group', ("--group", "id")
    yield ("mean_rate,rate\n1,2\n2,\n", "[targets] {}: a column is called mean_rate, expected another name: the output has one for "
           "the predictions", ())
    yield ("q0.5_rate,rate\n1,2\n2,\n", "[targets] {}: a column is called q0.5_rate, expected another name: the output has one for "
           "the predictions", ("--quantiles", ".5"))
    yield ("day,rate\n-1.7e308,1\n1.7e308,2\n0,\n", "[standardise] column day goes from -1.7e+308 to 1.7e+308, expected an extent "
           "that a double can hold", ())
    yield ("day,rate\n1,0\n2,1e-320\n3,\n", "[standardise] column rate goes from 0 to 1e-320, expected an extent that a double can "
           "hold", ())


@case
def refusals():
    count, wrong = 0, []
    for content, message, args in refused():
        content = content if isinstance(content, bytes) else content.encode()
        done = predict(content, *args)
        expected = f"npzoo: error: {message.replace('{}', str(PATH))}"
        lines = done.stderr.splitlines()
        one_line = done.returncode == 1 and len(lines) == 1 and not done.stdout
        if not one_line or (lines[0] != expected and (message != "[{}:1] " or not lines[0].startswith(expected))):
            wrong.append(f"\n{content[:60]!r} {args}: {done.stderr[:400] or done.stdout[:100]} expected {expected}")
        count += 1
    expect(not wrong, *wrong)
    expect(count > 120, count)
    print(f"{count} tables refused")


if __name__ == "__main__":
    sys.exit(run_cases())
