#!/usr/bin/env python3
"""Tests of `npzoo stream`, and of what it shares with `npzoo predict`: stream_test.py PATH_TO_NPZOO"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys

from cli_support import (HERE, PROGRAM, TARGETS, TIMEOUT, WITHOUT_QUARANTINE, Failure, as_json, case, check_close, check_keys,
                         checkpoint, expect, fail, npzoo, numbers, run_cases, snapshot, succeed, write, wrong_usage)

MODEL = "cmanp"
ROWS = [(-1.0, 0.5), (0.0, 0.1), (1.5, -0.3), (0.7, 0.2), (-0.4, 0.9), (1.1, -1.2), (-1.7, 0.0), (0.3, 0.6)]


def streaming():
    return checkpoint("streaming", "tnp/gp-rbf", MODEL, steps=2, batch=2)


def table(rows, header="x,y"):
    return header + "\n" + "".join(f"{x},{y}\n" for x, y in rows)


def stream_args(context=table(ROWS), targets=TARGETS, at=None, out="out.csv", units=("--no-standardise",)):
    return ["stream", *units, "--checkpoint", at or streaming(), "--context", write("context.csv", context), "--targets",
            write("targets.csv", targets), "--out", out if out == "-" else HERE / out]


def predicted(rows, units=("--no-standardise",), targets=TARGETS):
    """Rows of numbers of `npzoo predict` with all of the context at once."""
    context, targets = write("all.csv", table(rows)), write("at.csv", targets)
    return numbers(succeed("predict", "--checkpoint", streaming(), "--context", context, "--targets", targets, "--out", "-",
                           *units))


@case
def one_answer_at_the_end():
    args = stream_args()
    result = as_json(*args)
    check_keys(result, "context_rows", "target_rows", "answers", "out")
    expect((result["context_rows"], result["target_rows"], result["answers"]) == (8, 11, 1), result)
    text = (HERE / "out.csv").read_text()
    expect(text.startswith("# npzoo ") and " stream: cmanp trained under tnp/gp-rbf, seed 0, 2 steps\n" in text, text)
    expect("# inputs and values: used as they are\n" in text and "\ncontext_rows,x,mean_y,std_y\n8,-2.0," in text, text)
    check_close([row[1:] for row in numbers(text)], predicted(ROWS))
    expect(succeed(*stream_args(out="-")) == text, "stream to '-' differs")
    fail(*stream_args(out="-"), "--json", naming=["--json", "--out -"])


@case
def answers_meanwhile():
    for every, counts in ((3, [3, 6, 8]), (4, [4, 8]), (1, list(range(1, 9))), (100, [8])):
        for chunk in (1, 2, 4096):
            found = numbers(succeed(*stream_args(out="-"), "--every", every, "--chunk", chunk))
            expect([row[0] for row in found] == [count for count in counts for _ in range(11)], every, chunk, found)
            for i, count in enumerate(counts):
                check_close([row[1:] for row in found[11 * i:11 * (i + 1)]], predicted(ROWS[:count]))
        expect(as_json(*stream_args(), "--every", every)["answers"] == len(counts), "answers to every", every)


FAR = [(1000 + 50 * x, 20 + 3 * y) for x, y in ROWS]  # in units that no model has seen
FAR_TARGETS = "x\n" + "".join(f"{900 + 20 * i}\n" for i in range(11))


@case
def units_are_those_of_the_first_rows():
    for first in (8, 9, 1000):  # all of them: as predict has it, whenever it is asked
        for more in ([], ["--every", 3], ["--chunk", 1]):
            args = stream_args(table(FAR), FAR_TARGETS, out="-", units=["--standardise-by", first])
            text = succeed(*args, *more)
            check_close([row[1:] for row in numbers(text)[-11:]], predicted(FAR, [], FAR_TARGETS))
            expect("# inputs: x mapped from [915, 1075] to [-2, 2]\n" in text, text)
            expect("# standardised by the first 8 rows of the context\n" in text, text)
            expect([row[0] for row in numbers(text)] == [n for n in ([3, 6, 8] if "--every" in more else [8]) for _ in range(11)],
                   text)
    first = [(x, y) for x, y in FAR if x <= 1025][:4]
    rest = [row for row in FAR if row not in first]
    text = succeed(*stream_args(table(first + rest), FAR_TARGETS, out="-", units=["--standardise-by", 4]))
    low, high = min(first)[0], max(first)[0]
    expect(f"# inputs: x mapped from [{low:g}, {high:g}] to [-2, 2]\n" in text, text)
    # The same by hand: the units of those rows, for a model that takes numbers as they are.
    scale_x, mean = (high - low) / 4, sum(y for _, y in first) / 4
    scale_y = (sum((y - mean) ** 2 for _, y in first) / 4) ** 0.5 / float(text.split("standard deviation ")[1].split(",")[0])
    by_hand = [((x - low) / scale_x - 2, (y - mean) / scale_y) for x, y in first + rest]
    targets = [float(line) for line in FAR_TARGETS.split()[1:]]
    said = predicted(by_hand, targets="x\n" + "".join(f"{(x - low) / scale_x - 2!r}\n" for x in targets))
    # The standard deviation of training is told with four digits.
    check_close([row[1:] for row in numbers(text)],
                [[x, m * scale_y + mean, s * scale_y] for x, (_, m, s) in zip(targets, said)], rel_tol=2e-3)
    result = as_json(*stream_args(table(FAR), FAR_TARGETS, units=[]))
    expect(result["standardised"] and result["inputs"][0]["from"] == [915, 1075], result)


@case
def predictions_wait_for_the_rows_that_decide_the_units():
    args = stream_args(out="-", units=["--standardise-by", "4"])
    args[args.index("--context") + 1] = "-"
    with subprocess.Popen([PROGRAM, *map(str, args), "--every", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        process.stdin.write(table(ROWS[:4]))
        process.stdin.flush()
        while process.stdout.readline().startswith("#"):
            pass
        lines = [process.stdout.readline() for _ in range(44)]  # none is left out
        expect([line.split(",")[0] for line in lines] == [str(n) for n in (1, 2, 3, 4) for _ in range(11)], lines)
        process.stdin.close()
        expect(not process.stdout.read() and process.wait(TIMEOUT) == 0, "an answer too many")


@case
def stream_warns_once_about_points_outside_training():
    # tnp/gp-rbf: inputs from -2 to 2, contexts of 3 to 46 points, scales of up to 1, noise 0.02.
    def told(*args, **tables):
        done = npzoo(*stream_args(**tables), *args, "--json")
        expect(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)["warnings"], [line.removeprefix("npzoo: warning: ") for line in done.stderr.splitlines()
                                                     if line.startswith("npzoo: w")]

    expect(told() == ([], []), "rows as in training")
    far = [(x, 1000 + y) for x, y in ROWS]
    last = "8 of 8 values of y lie outside those of training, here from -5.001 to 5.001; furthest: 1000.9"
    expect(told(context=table(far)) == ([last], [last]), told(context=table(far)))
    at_end, meanwhile = told("--every", 1, context=table(far))
    expect(at_end == [last], at_end)
    expect(meanwhile == ["context points: 1, in training 3 to 46",
                         "1 of 1 values of y lie outside those of training, here from -5.001 to 5.001; furthest: 1000.5"], meanwhile)
    at_end, meanwhile = told("--every", 10, context=table(ROWS * 7), targets="x\n9\n")
    outside = "1 of 1 targets lie outside the range of inputs in training, here x from -2 to 2; furthest: 9"
    expect(meanwhile == [outside, "context points: 50, in training 3 to 46"], meanwhile)
    expect(at_end == ["context points: 56, in training 3 to 46", outside], at_end)


@case
def answers_reach_a_pipe_at_once():
    args = stream_args(out="-")
    args[args.index("--context") + 1] = "-"
    with subprocess.Popen([PROGRAM, *map(str, args), "--every", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        process.stdin.write("x,y\n")
        for count, (x, y) in enumerate(ROWS, start=1):
            process.stdin.write(f"{x},{y}\n")
            process.stdin.flush()
            if count == 1:
                while process.stdout.readline().startswith("#"):
                    pass
            lines = [process.stdout.readline() for _ in range(11)]
            expect(all(line.startswith(f"{count},") for line in lines), lines)
        process.stdin.close()
        expect(not process.stdout.read() and process.wait(TIMEOUT) == 0, "an answer too many")


@case
def standard_input():
    whole = succeed(*stream_args(out="-"))
    for flag, text in (("--context", table(ROWS)), ("--targets", TARGETS)):
        args = stream_args(out="-")
        args[args.index(flag) + 1] = "-"
        expect(succeed(*args, stdin=text) == whole, flag, "from standard input differs")
    args[args.index("--context") + 1] = "-"
    fail(*args, naming=["--context and --targets are both standard input"])


@case
def empty_contexts_and_targets():
    found = numbers(succeed(*stream_args(context="x,y\n", out="-"), "--every", 2))
    expect([row[0] for row in found] == [0] * 11, found)
    check_close([row[1:] for row in found], predicted([]))
    empty = succeed(*stream_args(targets="x\n", out="-"), "--every", 2)
    expect(empty.endswith("\ncontext_rows,x,mean_y,std_y\n"), "a table without rows:", empty)


def peak_resident(process):
    """KiB. (What wait4 tells of a child starts from the size of its parent.)"""
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise Failure("/proc tells no VmHWM")


@case
def memory_does_not_grow_with_the_context():
    if not pathlib.Path("/proc/self/status").exists():
        print("skipped: no /proc")
        return
    draw = random.Random(1)
    args = stream_args(out="-")
    args[args.index("--context") + 1] = "-"
    environment = {**os.environ, **WITHOUT_QUARANTINE}
    with subprocess.Popen([PROGRAM, *map(str, args), "--every", "20000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, env=environment) as process:
        process.stdin.write("x,y\n")
        peaks = []
        for answer in range(4):
            process.stdin.write("".join(f"{draw.uniform(-2, 2):.4f},{draw.gauss(0, 1):.4f}\n" for _ in range(20_000)))
            process.stdin.flush()
            lines = [process.stdout.readline() for _ in range(11)]
            while answer == 0 and not lines[-11].startswith("20000,"):  # comments and the header come first
                lines.append(process.stdout.readline())
            expect(lines[-1].startswith(f"{20_000 * (answer + 1)},"), lines)
            peaks.append(peak_resident(process))
        process.stdin.close()
        expect(process.wait(TIMEOUT) == 0, "exit status", process.returncode)
    expect(peaks[3] <= peaks[0] + 2048, "peaks of resident memory after 20,000 rows each, KiB:", peaks)


@case
def bad_input_is_refused():
    write("out.csv", "precious")
    other = checkpoint()
    bad = [
        (dict(at=other), ["tnp-d", "a model that streams", MODEL]),
        (dict(targets=""), ["targets.csv"]),
        (dict(targets="x\n1\nabc\n"), ["targets.csv:3", "abc"]),
        (dict(targets="x,z\n1,2\n"), ["targets.csv", "2 columns", "expected 1 for the inputs of the model"]),
        (dict(targets="z\n1\n"), ["context.csv", "z"]),
        (dict(targets="context_rows\n1\n", context="context_rows,y\n1,2\n"), ["targets.csv", "context_rows"]),
        (dict(targets="mean_y\n1\n", context="mean_y,y\n1,2\n"), ["targets.csv", "called mean_y"]),
        (dict(context=""), ["context.csv"]),
        (dict(context="x,y,z\n1,2,3\n"), ["context.csv", "2 columns"]),
        (dict(context=table(ROWS) + "1\n"), ["context.csv:10"]),
    ]
    for tables, naming in bad:
        args = stream_args(**tables)
        for more in ([], ["--every", 5000]):
            fail(*args, *more, naming=naming)
    late = [*stream_args(context=table(ROWS * 700) + "1,nan\n"), "--chunk", 500]  # one by one takes ten times as long
    fail(*late, naming=["context.csv:5602"])
    done = npzoo(*late, "--every", 5000)  # after an answer, and what it is warned of
    expect(done.returncode == 1 and not done.stdout and "context.csv:5602" in done.stderr.splitlines()[-1], done.stderr)
    expect((HERE / "out.csv").read_text() == "precious", "an old file was lost")
    for units in ([], ["--no-standardise"]):
        fail(*stream_args(units=units)[:-1], HERE / "no such directory" / "out.csv", naming=["no such directory"])
        fail(*stream_args(context=table(ROWS) + "1\n", units=units), naming=["context.csv:10"])
    fail(*stream_args(context="x,y\n1,1e308\n2,-1e308\n", units=[]), naming=["column y goes from -1e+308 to 1e+308"])
    args = stream_args()
    fail(*args[:-1], HERE / "no such directory" / "out.csv", naming=["no such directory"])
    fail(*args[:-1], "/dev/full")
    (HERE / "context.csv").unlink()
    fail(*args, naming=["context.csv"])
    wrong_usage("stream", "--checkpoint", "x")
    for flags in (["--every", "-1"], ["--chunk", "0"], ["--standardise-by", "0"], ["--standardise-by", "3"]):
        wrong_usage(*args, *flags)


def interrupt_while_waiting(args, header, row):
    """Ctrl-C while the program waits for more of its standard input, which it has read far beyond the header."""
    before = snapshot()
    with subprocess.Popen([PROGRAM, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write(header + row * 4096)
        process.stdin.flush()  # returns when the program has read all but what a pipe holds
        process.send_signal(signal.SIGINT)
        expect(process.wait(TIMEOUT) == 130, "exit status", process.returncode, "expected 130")
        expect(not process.stdout.read(), "nothing expected on stdout")
    expect(snapshot() == before, "files were written or changed")


@case
def interrupted_while_waiting_leaves_nothing():
    field = "0.5" + "0" * 508  # long rows, so that few of them fill the buffers
    write("out.csv", "precious")
    args = stream_args()
    args[args.index("--context") + 1] = "-"
    interrupt_while_waiting(args, "x,y\n", f"{field},{field}\n")
    args = ["predict", *stream_args()[2:]]
    args[args.index("--targets") + 1] = "-"
    for more in ([], ["--plot", HERE / "out.svg"]):
        interrupt_while_waiting([*args, *more], "x\n", f"{field}{'0' * 512}\n")
    expect((HERE / "out.csv").read_text() == "precious", "an old file was lost")


if __name__ == "__main__":
    sys.exit(run_cases())
