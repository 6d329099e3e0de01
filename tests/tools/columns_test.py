#!/usr/bin/env python3
"""Columns that help each other in `npzoo predict`: columns_test.py PATH_TO_NPZOO"""

import json
import math
import sys

from cli_support import case, expect, npzoo, run_cases, succeed, write
from pictures_support import pixels


def noise(i, c):
    x = math.sin(12.9898 * (i + 1) + 78.233 * (c + 1)) * 43758.5453
    return 3.4 * (x - math.floor(x) - .5)


def walk(i, c):
    """A slow wave, the same for all columns but for a noise of their own."""
    return 3 * math.sin(i / 9) + noise(i, 50) + .3 * noise(i, c)


def stations(rows=120, holes=True, names=("north", "south", "west")):
    """Three stations that share their weather: one has a long gap, all have short ones."""
    lines = ["day," + ",".join(names)]
    for i in range(rows):
        cells = [f"{walk(i, c):.3f}" for c in range(len(names))]
        for c in range(len(names)):
            if holes and (i % 11 == 4 * c or (c == 0 and 40 <= i < 60)):
                cells[c] = ""
        lines.append(f"{i}," + ",".join(cells))
    return "\n".join(lines) + "\n"


def table(path):
    lines = [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]
    return lines[0], lines[1:]


def error(path, name, column, rows):
    header, cells = table(path)
    at = header.index(f"mean_{name}")
    return math.sqrt(sum((float(cells[i][at]) - walk(i, column)) ** 2 for i in rows) / len(rows))


def predict(content, *args):
    source, out = write("table.csv", content), write("out.csv", "")
    r = npzoo("predict", source, "--out", out, *args)
    expect(r.returncode == 0, r.stderr)
    return out, r.stderr


GAP = range(40, 60)


@case
def a_total_of_a_small_table_is_the_sum_of_its_parts():
    parts = [(10 + round(9 * noise(i, 1)), 40 + round(9 * noise(i, 2))) for i in range(40)]
    gap = range(3, 40, 5)
    lines = [f"{i},{'' if i in gap else a + b},{a},{b}" for i, (a, b) in enumerate(parts)]
    out, told = predict("day,total,north,south\n" + "\n".join(lines) + "\n")
    expect("columns help each other" in told, told)
    header, cells = table(out)
    for i in gap:
        mean, std = (float(cells[i][header.index(name)]) for name in ("mean_total", "std_total"))
        expect(abs(mean - sum(parts[i])) < 2 and std < 3, f"row {i}: {mean} ± {std}, expected {sum(parts[i])}")


@case
def a_long_gap_of_one_column_is_filled_from_the_others():
    together, told = predict(stations())
    expect("columns help each other, CRPS on hidden values" in told, told)
    first = error(together, "north", 0, GAP)
    apart, said = predict(stations(), "--columns-apart")
    expect("columns help" not in said, said)
    expect(first < .5 and first < .6 * error(apart, "north", 0, GAP), (first, error(apart, "north", 0, GAP)))


@case
def complete_columns_help_and_are_named():
    content = "\n".join(",".join(line.split(",")[:2] + [f"{walk(i - 1, 1):.3f}" if i else "south"])
                        for i, line in enumerate(stations().splitlines())) + "\n"
    out, told = predict(content)
    expect("(also used: south)" in told, told)
    expect(error(out, "north", 0, GAP) < .6, error(out, "north", 0, GAP))
    _, named = predict(content, "--values", "north")  # then only named columns are looked at
    expect("south" not in named, named)


def dust(marks, start=70, rows=200):
    """Dust of two sizes, the coarser one missing for ten days, and other columns: one number or word for the gap and one for the rest of each."""
    header, gap, rest = zip(*marks) if marks else ((), (), ())
    lines = [",".join(("day", "pm10", "pm25") + header)]
    for i in range(rows):
        missing, fine = start <= i < start + 10, 20 + 8 * math.sin(i / 7) + noise(i, 2)
        lines.append(",".join((str(i), "" if missing else f"{1.5 * fine + noise(i, 1):.1f}", f"{fine:.1f}") + (gap if missing else rest)))
    return "\n".join(lines) + "\n"


@case
def columns_that_tell_gaps_from_values_are_not_used():
    gap = range(70, 80)
    expected = [row[:5] for row in table(predict(dust([]))[0])[1]]
    for mark in (("status", "3", "1"), ("state", "error", "ok"), ("count", "0", "24")):
        out, told = predict(dust([mark]))
        expect("(also used: pm25)" in told and f"; {mark[0]} is not used: it is the same wherever pm10 is known" in told, told)
        header, rows = table(out)
        figures = [[row[header.index(name)] for name in ("day", "pm10", "pm25", "mean_pm10", "std_pm10")] for row in rows]
        expect(figures == expected, [figures[i] for i in gap])
    out, _ = predict(dust([("status", "3", "1")]), "--header")
    expect("; status is not used: it is the same" in out.read_text(), out.read_text()[:900])
    _, told = predict(dust([("status", "3", "1")]).replace("pm25", "day2"), "--inputs", "none")
    expect("also used: day, day2)" in told and "; status is not used:" in told, told)


@case
def known_rows_that_columns_did_not_help_are_no_reason_for_a_warning():
    lines = ["time,height,type"] + [f"{i},{'' if 40 <= i < 44 else f'{(4.5 if i % 2 else .6) + .1 * noise(i, 3):.2f}'},{'high' if i % 2 else 'low'}" for i in range(100)]
    _, told = predict("\n".join(lines) + "\n")
    expect("columns help each other" in told and "below 0" not in told, told)


@case
def whole_rows_come_half_from_components_of_the_rows():
    rows = [line if i == 0 or i % 30 < 24 else line.split(",")[0] + ",,," for i, line in enumerate(stations(240, holes=False).splitlines())]
    whole = [i - 1 for i in range(240) if i % 30 >= 24]
    out, told = predict("\n".join(rows) + "\n", "--header")
    line = next((line for line in out.read_text().splitlines() if "principal components" in line), "")
    expect(line == "# rows without a value come half from principal components of the rows", out.read_text()[:800])
    half, half_error = table(out)[1][whole[5]], error(out, "north", 0, whole)
    apart, _ = predict("\n".join(rows) + "\n", "--columns-apart")
    expect("principal" not in apart.read_text(), "columns stay apart")
    expect(half != table(apart)[1][whole[5]], "rows without a value changed")
    expect(half_error < 1.1 * error(apart, "north", 0, whole), (half_error, error(apart, "north", 0, whole)))


@case
def header_and_json_give_the_shares():
    out, _ = predict(stations(), "--header")
    line = [line for line in out.read_text().splitlines() if line.startswith("# columns help each other: on hidden values the CRPS is")]
    expect(len(line) == 1 and "most from" in line[0], out.read_text()[:800])
    source = write("table.csv", stations())
    facts = json.loads(succeed("predict", source, "--json", "--out", write("out.csv", "")))["columns_help"]
    expect(facts["together"] and set(facts["gaps"]) == {"short gaps", "long gaps"}, facts)
    for gap in facts["gaps"].values():
        expect(abs(sum(gap["shares"].values()) - 1) < 1e-9 and gap["hidden"] > 0, gap)
    expect(set(facts["columns"]["north"]["from"]) == {"south", "west"}, facts)


@case
def columns_that_know_nothing_of_each_other_are_answered_as_apart():
    lines = ["day,a,b"]
    for i in range(150):
        a, b = math.sin(i / 7) + .1 * noise(i, 0), math.cos(i / 4.3) + .1 * noise(i, 1)
        lines.append(f"{i},{'' if i % 9 == 3 else f'{a:.4f}'},{'' if i % 8 == 5 else f'{b:.4f}'}")
    content = "\n".join(lines) + "\n"
    together, told = predict(content)
    both = together.read_text()
    apart, _ = predict(content, "--columns-apart")
    expect("columns help" not in told and both == apart.read_text(), told)


@case
def one_column_has_the_answer_and_the_text_of_apart():
    content = "\n".join(",".join(line.split(",")[:2]) for line in stations().splitlines()) + "\n"
    out, told = predict(content, "--header")
    text = out.read_text()
    out, said = predict(content, "--header", "--columns-apart")
    expect(text == out.read_text() and told == said, told)


@case
def limits_that_nothing_reaches_change_no_digit():
    figures = "--quantiles", "0.1,0.9", "--samples", "7", "--samples-out", write("samples.csv", "")
    plain, _ = predict(stations(), *figures)
    text, samples = plain.read_text(), figures[-1].read_text()
    limited, told = predict(stations(), *figures, "--bounds", "-1e6,")
    expect("columns help each other" in told and limited.read_text() == text and figures[-1].read_text() == samples, told)


@case
def columns_help_each_other_through_a_transform():
    raised = "\n".join(",".join(cell if not cell or i == 0 or k == 0 else f"{math.exp(float(cell) / 2):.5f}" for k, cell in enumerate(line.split(",")))
                       for i, line in enumerate(stations().splitlines())) + "\n"
    def worst(*flags):
        out, told = predict(raised, "--transform", "log", "--quantiles", "0.05", *flags)
        header, rows = table(out)
        at, low = header.index("mean_north"), header.index("q0.05_north")
        expect(all(float(row[low]) > 0 for row in rows), "a lower quantile beyond the limit")
        return math.sqrt(sum(math.log(float(rows[i][at]) / math.exp(walk(i, 0) / 2)) ** 2 for i in GAP) / len(GAP)), told
    together, told = worst()
    apart, said = worst("--columns-apart")
    expect("columns help each other" in told and "help" not in said and together < .6 * apart, (together, apart, told))


@case
def values_as_they_are_keep_columns_apart_and_that_is_told():
    _, told = predict(stations(), "--no-standardise")
    expect("; columns are predicted apart: values are used as they are" in told, told)


def long_form(content, left_out=lambda day, name: False):
    """A wide table with a row for each cell."""
    header, *rows = [line.split(",") for line in content.splitlines()]
    return "day,station,level\n" + "".join(f"{row[0]},{name},{cell}\n" for row in rows for name, cell in zip(header[1:], row[1:])
                                          if not left_out(int(row[0]), name))


def by_cell(path):
    header, rows = table(path)
    at = [header.index(kind + "_level") for kind in ("mean", "std")]
    return {(row[0], row[1]): [float(row[i]) for i in at] for row in rows}


@case
def groups_of_the_same_times_help_each_other_as_columns_do():
    wide, _ = predict(stations(), "--digits", "9")
    header, rows = table(wide)
    out, told = predict(long_form(stations()), "--group", "station", "--digits", "9")
    expect("in 3 groups of station; groups help each other, CRPS on hidden values" in told, told)
    cells = by_cell(out)
    for row in rows:
        for name in ("north", "south", "west"):
            expected = [float(row[header.index(f"{kind}_{name}")]) for kind in ("mean", "std")]
            expect(all(math.isclose(a, b, rel_tol=1e-8, abs_tol=1e-8) for a, b in zip(cells[row[0], name], expected)), (row[0], name))
    _, told = predict(long_form(stations()), "--group", "station", "--columns-apart")
    expect("help" not in told, told)


@case
def groups_may_lack_rows_and_are_named():
    content = long_form(stations(), lambda day, name: name == "west" and day % 5 == 2)
    out, _ = predict(content, "--group", "station", "--header", "--samples", "20", "--samples-out", write("samples.csv", ""))
    line = next(line for line in out.read_text().splitlines() if line.startswith("# groups help each other"))
    expect("north" in line and "(most from" in line, line)
    cells = by_cell(out)
    expect(len(cells) == 360 - 24, len(cells))
    squares = [(cells[str(i), "north"][0] - walk(i, 0)) ** 2 for i in GAP]
    expect(math.sqrt(sum(squares) / len(squares)) < .6, squares)


@case
def groups_that_cannot_be_laid_side_by_side_say_why():
    shifted = "".join(f"{int(day) + 1000 * 'nsw'.index(name[0])},{name},{level}\n"
                      for day, name, level in (line.split(",") for line in long_form(stations()).splitlines()[1:]))
    out, told = predict("day,station,level\n" + shifted, "--group", "station", "--header")
    expect("groups are predicted apart: groups have values at fewer than 20 common places" in out.read_text() and "help" not in told, told)
    twice = long_form(stations()) + "3,north,1.5\n"
    out, _ = predict(twice, "--group", "station", "--header")
    expect("groups are predicted apart: a group has several rows of one place" in out.read_text(), out.read_text()[:900])


@case
def words_tell_kinds_of_rows_apart():
    kinds = ("clay", "sand", "silt")
    lines = ["soil,depth,water"]
    for i in range(120):
        kind = (i * 7) % 3
        depth, water = 20 * kind + noise(i, 4), noise(i, 5) - 30 * (kind == 1)
        lines.append(f"{'' if i == 50 else kinds[kind]},{'' if i % 9 == 2 else f'{depth:.3f}'},{'' if i % 8 == 3 else f'{water:.3f}'}")
    out, told = predict("\n".join(lines) + "\n")
    expect("columns help each other" in told and told.count("soil") == 1 and "also used: soil" in told, told)
    header, rows = table(out)
    squares = [(float(rows[i][header.index("mean_depth")]) - 20 * ((i * 7) % 3)) ** 2 for i in range(2, 120, 9) if i != 50]
    expect(math.sqrt(sum(squares) / len(squares)) < 3, squares)
    source = write("table.csv", "\n".join(lines) + "\n")
    facts = json.loads(succeed("predict", source, "--json", "--out", write("out.csv", "")))["columns_help"]["columns"]
    expect(set(facts["depth"]["from"]) == {"water", "soil"} and abs(sum(facts["depth"]["from"].values()) - 1) < 1e-9, facts)
    names = "\n".join([lines[0]] + [f"name{i}," + line.split(",", 1)[1] for i, line in enumerate(lines[1:])]) + "\n"
    _, told = predict(names)
    expect("also used" not in told, told)


@case
def a_picture_shows_who_helps_whom():
    picture = write("columns.png", "")
    _, told = predict(stations(), "--plot-columns", picture)
    height, width, channels, content = pixels(picture)
    brightest = bytes((253, 231, 37))  # the largest share
    expect("not drawn" not in told and channels == 3 and content.count(brightest) > 100, (told, height, width))
    predict(ROWS, "--plot-columns", picture)
    expect(pixels(picture)[3] != content, "another table, another picture")
    picture.unlink()
    _, told = predict(stations(), "--columns-apart", "--plot-columns", picture)
    expect("columns.png was not drawn: columns do not help each other" in told and not picture.exists(), told)
    r = npzoo("predict", write("table.csv", stations()), "--out", write("out.csv", ""), "--plot-columns", "columns.pdf")
    expect(r.returncode == 1 and ".svg or .png" in r.stderr, r.stderr)


@case
def rows_without_a_value_keep_the_forecasts():
    content = stations() + "".join(f"{i},,,\n" for i in range(120, 126))
    out, _ = predict(content)
    rows = table(out)[1][-6:]
    out, _ = predict(content, "--columns-apart")
    expect(rows == table(out)[1][-6:], rows)


ROWS = "size,weight,age,rank\n" + "".join(
    f"{'' if i % 6 == 1 else f'{noise(i, 9) + .3 * noise(i, 0):.3f}'},{'' if i % 7 == 2 else f'{2 * noise(i, 9):.3f}'},"
    f"{'' if i % 9 == 4 else f'{noise(i, 3):.3f}'},{(i * 37) % 11}\n" for i in range(90))


@case
def rows_without_an_input_are_filled():
    out, told = predict(ROWS)
    expect("by the other columns of a row" in told and "columns help each other" in told and "also used: rank" in told, told)
    header, rows = table(out)
    squares = []
    for i, row in enumerate(rows):
        mean, std = (float(row[header.index(f"{kind}_weight")]) for kind in ("mean", "std"))
        if i % 7 == 2:
            squares.append((mean - 2 * noise(i, 9)) ** 2)
            expect(std > 0, row)
        else:
            expect(mean == float(row[1]) and std == 0, row)
    expect(math.sqrt(sum(squares) / len(squares)) < 1.4, squares)  # 2 by the mean
    one, told = predict(ROWS, "--inputs", "none", "--values", "weight")
    expect("also used: size, age, rank" in told, told)
    names, cells = table(one)
    expect(all(row[names.index("mean_weight")] == all_of[header.index("mean_weight")] for row, all_of in zip(cells, rows)), cells[:3])
    again, _ = predict(ROWS, "--quantiles", "0.1,0.9", "--header")
    expect("# columns: size, weight, age by the other columns of a row" in again.read_text(), again.read_text()[:300])
    header, rows = table(again)
    low, high = (float(rows[2][header.index(f"q{q}_weight")]) for q in ("0.1", "0.9"))
    expect(low < float(rows[2][header.index("mean_weight")]) < high, rows[2])


@case
def the_only_complete_column_is_no_input_without_a_word():
    _, told = predict(ROWS.replace("rank", "grade"))
    expect("by grade" not in told and "also used: grade" in told, told)
    _, told = predict(ROWS, "--inputs", "rank", "--values", "size")
    expect("by rank" in told, told)
    counted = "\n".join(f"{'id' if i == 0 else i},{line}" for i, line in enumerate(ROWS.splitlines())) + "\n"
    _, told = predict(counted)  # a column that counts the rows orders them
    expect("of age by id" in told, told)
    _, told = predict(counted, "--inputs", "none")
    expect("by the other columns of a row" in told, told)


@case
def rows_without_an_input_refuse_what_they_cannot_do():
    def refused(message, content, *args):
        out = write("out.csv", "")
        r = npzoo("predict", write("table.csv", content), "--out", out, *args)
        expect(r.returncode == 1 and message in r.stderr and r.stderr.count("\n") == 1, (r.returncode, r.stderr))
        expect(out.read_text() == "", "nothing is written")
    refused("has rows without an input, expected --inputs", ROWS, "--plot", write("p.svg", ""))
    refused("--model gp found, and", ROWS, "--model", "gp")
    refused("--bounds, --counts or --transform found for rows without an input, expected --inputs", ROWS, "--bounds", "0,")
    refused("has rows without an input, expected --inputs to match rows", ROWS, "--truth", write("truth.csv", ROWS))
    refused("--inputs none found with flags about", ROWS, "--inputs", "none", "--group", "rank")
    refused("2 rows with two known values found, expected 5 or more", "a,b,c\n1,2,\n2,,\n,4,\n1,,4\n")
    refused("one column without an input found", "a,b\n1,x\n,y\n2,z\n", "--inputs", "none")


@case
def the_order_of_rows_and_the_units_do_not_matter():
    lines = ROWS.splitlines()
    out, _ = predict(ROWS)
    header, rows = table(out)
    turned = "\n".join([lines[0], *(",".join("" if not c else f"{1000 * float(c):.3f}" for c in line.split(",")) for line in reversed(lines[1:]))]) + "\n"
    out, _ = predict(turned)
    _, other = table(out)
    at = header.index("mean_size")
    for a, b in zip(rows, reversed(other)):
        expect(abs(float(a[at]) - float(b[at]) / 1000) < 2e-3, (a, b))


if __name__ == "__main__":
    sys.exit(run_cases())
