#!/usr/bin/env python3
"""Tests of flags of `npzoo predict` together: compositions_test.py PATH_TO_NPZOO [--all]

Every run has a method, a question and some wrappers: flags, or other forms of the same table. It gives an answer of the method that was asked for,
near to the answer without wrappers, or one line that says why not. A run has up to eight wrappers, so that few runs hold every pair of them."""

import collections
import csv
import datetime
import itertools
import json
import math
import random
import re
import resource
import sys

from cli_support import HERE, case, error_lines, expect, npzoo, run_cases, write

STEPS, AHEAD, SEASON = 66, 6, 12
HOLES = {"y": (5, 15, 16, 27, 28, 40, 52, 59), "z": (9, 20, 34, 47)}
PLACES = 40
START = datetime.datetime(2023, 6, 5)
FLAT = 1000000

# Flags of each method, for series and for maps.
SERIES = {
    "default": [],
    "weights": ["--model", "weights"],
    "weights alone": ["--ends", "weights"],
    "columns apart": ["--columns-apart"],
    "gp": ["--model", "gp"],
    "gp periodic": ["--kernel", "matern-3/2 * periodic"],
    "gp linear mean": ["--linear-mean"],
}
MAPS = {"map": [], "map weights": ["--model", "weights"], "map gp": ["--model", "gp"], "map columns apart": ["--columns-apart"]}
METHODS = {**SERIES, **MAPS}

QUESTIONS = ("holes", "ends", "both", "horizon", "add-rows", "targets", "grid")

# How far means may move from the answer without the wrapper, in standard deviations. None: a wrapper that says something new, so that the truth decides.
WRAPPERS = {
    "duplicate": .35,  # a row twice; the row itself may be nearer to its value
    "shuffled": .01,
    "jitter": None,  # times up to a tenth of a step early or late
    "dates": .05,  # two hours between rows; a jittered time is a whole minute
    "group": .01,  # a second series below the first one
    "second": None,  # a second column of values
    "covariate": None,  # numbers with an effect
    "words": None,  # words with an effect
    "bounds": .01,  # far away
    "wide": .01,  # further away on both sides
    "counts": None,
    "log": None,
    "sqrt": None,
    "auto": .01,
    "period": None,
    "quantiles": .01,
    "unnamed": .01,  # without --inputs and --values
    "json": .01,
    "header": .01,
    "verbose": .01,
    "lonlat": None,
}
REPORTS = {"json", "header", "verbose"}
OLD = [wrapper for wrapper, moved in WRAPPERS.items() if moved is not None]
# How much further from the truth a new wrapper may bring the answer, as a root mean square. Seasons go from -8 to 8 with a noise of 1, maps from 40 to 53.
ALLOWED = {"series": 1.5, "map": 2.0}
FLAGS = {
    "bounds": ["--bounds", "0,"],
    "wide": ["--bounds", f"-{FLAT},{FLAT}"],
    "counts": ["--counts"],
    "log": ["--transform", "log"],
    "sqrt": ["--transform", "sqrt"],
    "auto": ["--transform", "auto"],
    "period": ["--period", SEASON],
    "quantiles": ["--quantiles", ".1,.5,.9"],
    "json": ["--json"],
    "header": ["--header"],
    "verbose": ["--verbose"],
    "lonlat": ["--lonlat"],
    "group": ["--group", "g"],
    "covariate": ["--covariates", "c"],
    "words": ["--covariates", "w"],
}


def values_of(step, draw):
    truth = 50 + .2 * step + 8 * math.sin(2 * math.pi * step / SEASON)
    return truth, truth + draw.gauss(0, 1)


class Table:
    """The rows of a run, and what is true of each. A key is (group, step), or (group, number of the place)."""

    def __init__(self, maps, question, wrappers):
        self.maps, self.question, self.wrappers = maps, question, wrappers
        draw = random.Random(7)
        self.rows, self.truth, self.effect, self.places = [], {}, {}, {}
        count = PLACES if maps else STEPS + AHEAD
        for group in "AB":
            for i in range(count):
                if maps:
                    at = (round(6 + 5 * draw.random(), 2), round(47 + 5 * draw.random(), 2))
                    if group == "B":
                        at = self.places["A", i]
                    self.places[group, i] = at
                    truth = 40 + 3 * math.sin(at[0]) + 2 * (at[1] - 47)
                    y = truth + draw.gauss(0, .3)
                else:
                    truth, y = values_of(i, draw)
                number, word, late, other = round(draw.gauss(0, 1), 2), draw.choice(("wet", "dry")), draw.uniform(-.1, .1), draw.gauss(0, .1)
                effect = (3 * number if "covariate" in wrappers else 0) + (3 if word == "wet" and "words" in wrappers else 0)
                y += effect + (30 if group == "B" else 0)
                key = (group, i)
                self.truth[key], self.effect[key] = truth + (30 if group == "B" else 0), effect
                if group == "B" and "group" not in wrappers:
                    continue
                digits = 0 if "counts" in wrappers else 2
                self.rows.append({"key": key, "y": f"{y:.{digits}f}", "z": f"{.5 * y + 20 + other:.{digits}f}", "c": number, "w": word, "g": group,
                                  **(dict(zip(("lon", "lat"), at)) if maps else {"t": self.time(i + (late if "jitter" in wrappers else 0))})})

    def time(self, step):
        if "dates" not in self.wrappers:
            return f"{step:.3f}".rstrip("0").rstrip(".")
        return (START + datetime.timedelta(minutes=round(120 * step))).strftime("%Y-%m-%dT%H:%M")

    def step(self, text):
        if "dates" in self.wrappers:
            return (datetime.datetime.fromisoformat(text) - START).total_seconds() / 7200
        return float(text)

    def true_value(self, key, name):
        value = self.truth[key] + self.effect[key]
        return value if name == "y" else .5 * value + 20

    def inputs(self):
        return ["lon", "lat"] if self.maps else ["t"]

    def values(self):
        return ["y", "z"] if "second" in self.wrappers else ["y"]

    def missing(self, key, name):
        """Whether the question asks for it. Grids and horizons ask for other rows."""
        holes = self.question in ("holes", "both", "add-rows", "targets")
        ends = self.question in ("ends", "both", "targets")
        together = self.question in ("add-rows", "targets")
        if self.maps:  # an end is the east, with no known place behind it
            return (holes and key[1] % 6 == (0 if name == "y" or together else 1)) or (ends and self.places[key][0] > 10)
        return (holes and key[1] in HOLES["y" if together else name]) or (ends and key[1] >= STEPS)

    def write(self, name):
        """Writes the tables, and returns the flags that name them, and the keys that the answer has (None: points of a grid)."""
        columns = [*self.inputs(), *(["g"] if "group" in self.wrappers else []), *(["c"] if "covariate" in self.wrappers else []),
                   *(["w"] if "words" in self.wrappers else [])]
        rows, targets = self.rows, None
        if self.question in ("horizon", "add-rows", "grid", "holes") and not self.maps:
            rows = [row for row in rows if row["key"][1] < STEPS]
        if self.question in ("add-rows", "targets"):
            rows, targets = ([row for row in rows if not self.missing(row["key"], "y")], [row for row in rows if self.missing(row["key"], "y")])
        keys = [row["key"] for row in rows]
        if self.question == "targets":
            keys = [row["key"] for row in targets]
        elif self.question == "horizon":
            keys = [(g, i) for g in ("AB" if "group" in self.wrappers else "A") for i in range(STEPS, STEPS + AHEAD)]
        elif self.question == "add-rows":
            keys += [row["key"] for row in targets]
        elif self.question == "grid":
            keys = None
        if "duplicate" in self.wrappers:
            rows = rows[:21] + [rows[20]] + rows[21:]
            if self.question in ("holes", "ends", "both", "add-rows"):
                keys += [rows[20]["key"]]
        if "shuffled" in self.wrappers:
            draw = random.Random(3)
            rows, targets = draw.sample(rows, len(rows)), targets and draw.sample(targets, len(targets))

        def text(chosen, values):
            lines = [",".join([*columns, *values])]
            for row in chosen:
                cells = ["" if self.missing(row["key"], v) else row[v] for v in values]
                lines.append(",".join(map(str, [*(row[c] for c in columns), *cells])))
            return "\n".join(lines) + "\n"

        args = [write(f"{name}.csv", text(rows, self.values()))]
        if self.question == "targets":
            args += ["--targets", write(f"{name}_targets.csv", text(targets, []))]
        elif self.question == "horizon":
            args += ["--horizon", AHEAD]
        elif self.question == "grid":
            args += ["--grid", "4x3" if self.maps else ".5"]
        elif self.question == "add-rows":
            args += ["--add-rows"]
        return args, keys

    def key_of(self, row):
        """Of a row of the answer; None for a point between steps."""
        group = row.get("g", "A")
        if self.maps:
            at = (float(row["lon"]), float(row["lat"]))
            return next((key for key, place in self.places.items() if key[0] == group and place == at), (group, at))
        step = self.step(row["t"])
        return (group, round(step)) if self.question != "grid" or step == round(step) else (group, step)


def arguments(method, question, wrappers):
    table = Table(method in MAPS, question, wrappers)
    args, keys = table.write("table")
    if "unnamed" not in wrappers:
        args += ["--inputs", ",".join(table.inputs()), "--values", ",".join(table.values())]
    covariates = [w[0] for w in ("covariate", "words") if w in wrappers]
    for wrapper in sorted(wrappers):
        if wrapper not in ("covariate", "words"):
            args += FLAGS.get(wrapper, [])
    if covariates:
        args += ["--covariates", ",".join(covariates)]
    return table, ["predict", *args, *METHODS[method], "--threads", 1, "--out", HERE / "answer.csv"], keys


def new_in(wrappers):
    """Those that say something new. So do limits beside a transform, and groups and limits beside a second column."""
    new = set(wrappers).difference(OLD)
    if wrappers & {"counts", "log", "sqrt", "auto"}:
        new |= wrappers & {"bounds", "wide"}
    if wrappers & {"counts", "bounds", "wide", "second"}:
        new |= wrappers & {"auto"}
    if "second" in wrappers:
        new |= wrappers & {"group", "bounds", "wide"}
    return new


def method_of(facts):
    """The weights or the process, and whether forecasts are combined and columns help each other."""
    model = re.search(r" predict: (gp|[\w-]+ trained under [\w/-]+)", facts)
    return (model and model[1], "a combination of the weights" in facts, "columns help each other" in facts)


class Run:
    """One run of the program, and all that is wrong with it."""

    count = 0

    def __init__(self, method, question, wrappers):
        Run.count += 1
        self.method, self.question, self.wrappers = method, question, frozenset(wrappers)
        self.faults, self.answer, self.refusal, self.told, self.line = [], {}, None, None, None
        for path in HERE.glob("*"):
            path.unlink()
        self.table, self.args, keys = arguments(method, question, wrappers)
        before = {path.name for path in HERE.glob("*")}
        done = npzoo(*self.args)
        self.command = " ".join(map(str, self.args)).replace(f"{HERE}/", "")
        self.stderr = done.stderr
        lines = error_lines(done)
        left = {path.name for path in HERE.glob("*")} - before
        if done.returncode != 0:
            self.refusal = done.stderr.strip()
            self.expect(done.returncode in (1, 2), "exit status", done.returncode)
            self.expect(len(lines) == 1 and lines[0].startswith("npzoo: error: "), "one line of error expected:", done.stderr)
            self.expect(re.search(r'--[a-z]|"[a-z]+"', self.refusal), "the line names no flag and no column:", self.refusal)
            self.expect(not left, "files left behind:", left)
            return
        self.expect(left == {"answer.csv"}, "files written:", left)
        self.read((HERE / "answer.csv").read_text(), keys)
        facts = (HERE / "answer.csv").read_text() if "header" in wrappers else done.stderr
        if "json" in wrappers:
            try:
                told = json.loads(done.stdout, parse_constant=lambda name: self.faults.append(f"{name} in JSON"))
                facts = "\n".join(told["facts"])
                self.expect(told["model"] in ("gp", "kriging-tnp:npzoo/any-1d", "kriging-tnp:npzoo/any-2d", "kriging-tnp:npzoo/any-3d"), "model", told["model"])
                self.expect((told["model"] == "gp") == (method_of(facts)[0] == "gp"), "two methods are told:", told["model"], told["facts"][0])
                self.expect(told["out"].endswith("answer.csv"), "out", told["out"])
            except (ValueError, KeyError) as error:
                self.expect(False, "bad JSON:", repr(error), done.stdout[:200])
        else:
            self.expect(not done.stdout, "standard output:", done.stdout[:200])
        if self.wrappers & REPORTS:
            self.told, self.facts = method_of(facts), facts
            self.expect(self.told[0], "no line names the method:", facts[:300])
        else:
            said = [line for line in lines if not line.startswith("npzoo: warning")]
            self.line = said[-1] if said else ""

    def expect(self, condition, *what):
        if not condition:
            self.faults.append(" ".join(map(str, what)))

    def read(self, text, keys):
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.expect(("header" in self.wrappers) == text.startswith("#"), "facts in the table")
        rows = list(csv.DictReader(lines))
        names = [f"{kind}_{v}" for v in self.table.values() for kind in ("mean", "std", *(("q0.1", "q0.5", "q0.9") if "quantiles" in self.wrappers else ()))]
        self.expect(rows and all(name in rows[0] for name in names), "columns", lines[0])
        found = collections.Counter(self.table.key_of(row) for row in rows)
        if keys is not None:
            lost = collections.Counter(keys) - found
            more = found - collections.Counter(keys)
            self.expect(not lost and not more, len(lost), "rows lost,", len(more), "added:", [*lost, *more][:4])
        for row in rows:
            key = self.table.key_of(row)
            for v in self.table.values():
                cells = [row.get(f"{kind}_{v}", "") for kind in ("mean", "std")]
                try:
                    mean, std = map(float, cells)
                except ValueError:
                    self.expect(False, "blank cell", key, v, cells)
                    continue
                certain = "counts" in self.wrappers and not self.table.missing(key, v)  # a whole number whose error is small
                self.expect(math.isfinite(mean) and math.isfinite(std) and (std > 0 or std == 0 and certain), "mean and deviation", key, v, cells)
                if (key, v) in self.answer:
                    self.expect(self.answer[key, v] == (mean, std), "two answers for one row", key, v, self.answer[key, v], (mean, std))
                self.answer[key, v] = (mean, std)
                if self.wrappers & {"bounds", "counts", "log", "sqrt"}:
                    self.expect(mean >= 0, "mean below the limit", key, v, mean)
                if "quantiles" in self.wrappers:
                    q = [float(row.get(f"q{p}_{v}") or "nan") for p in ("0.1", "0.5", "0.9")]
                    self.expect(q[0] <= q[1] <= q[2] and (q[0] < q[2] or "counts" in self.wrappers), "quantiles", key, v, q)
                    if "counts" in self.wrappers:
                        self.expect(all(x >= 0 and x == round(x) for x in q), "quantiles of counts", key, v, q)

    def means(self, values="y"):
        """Means without the effects of covariates, and deviations."""
        return {key: (mean - self.table.effect.get(key, 0), std) for (key, v), (mean, std) in self.answer.items() if v == values}

    def error(self, values="y"):
        """Root mean square error on what was asked for."""
        asked = [(mean - self.table.true_value(key, v))**2 for (key, v), (mean, _) in self.answer.items() if v == values and key in self.table.truth
                 and (self.table.missing(key, v) or self.question in ("horizon", "grid"))]
        return math.sqrt(sum(asked) / len(asked)) if asked else 0

    def moved(self, plain):
        """The furthest that a mean moved, in standard deviations of the plain answer, and where."""
        own, old = self.means(), plain.means()
        twice = ("A", 20) if "duplicate" in self.wrappers - plain.wrappers else None
        return max(((abs(own[key][0] - mean) / std, key) for key, (mean, std) in old.items() if key in own and key != twice), default=(0, None))


# Wrappers that a method or a question refuses, and what the line says.
TRANSFORMS = ("bounds", "wide", "counts", "log", "sqrt", "auto")
REFUSED = [
    ({"map", "horizon"}, "expected one input: use --grid"),
    ({"map", "add-rows"}, "expected one input: use --grid"),
    ({"add-rows", "jitter"}, "are not in equal steps"),
    ({"grid", "dates"}, "holds dates, expected inputs of numbers"),
    *(({question, covariate}, "found, but the added rows have none") for question in ("horizon", "add-rows", "grid") for covariate in ("covariate", "words")),
    ({"series", "lonlat"}, "expected longitude and latitude first"),
    ({"map by weights", "period"}, "--period or --check found, expected one input"),
    ({"gp", "period"}, "--period or --check found with a Gaussian process"),
    ({"map by choice", "period"}, "--period or --check found"),
    ({"weights alone", "period"}, "--period found with --ends weights"),
    *(({"linear part", covariate, wrapper}, "--covariates found with --bounds, --counts or --transform") for covariate in ("covariate", "words")
      for wrapper in TRANSFORMS),
]
MEANINGLESS = [
    ({"map", "dates"}, "places have no times"),
    ({"map", "jitter"}, "places have no times"),
    ({"bounds", "wide"}, "one flag"),
    *((set(pair), "one flag") for pair in itertools.combinations(("log", "sqrt", "auto"), 2)),
]


# Faults of the program. Each is a set of words (method, question, wrappers), what the fault says, and what happens. A fault that is gone must leave the list.
KNOWN = [
]
known_found = set()


def features(method, question, wrappers):
    kinds = {"gp": "gp" in method, "map by weights": method in MAPS and "gp" not in method, "map by choice": method in ("map", "map columns apart"),
             "linear part": method == "map weights" or (method in SERIES and "gp" not in method)}
    return {method, "map" if method in MAPS else "series", *(kind for kind, fits in kinds.items() if fits), question, *wrappers}


def refusal(method, question, wrappers):
    found = features(method, question, wrappers)
    return next((text for needs, text in REFUSED if needs <= found), None)


def meaningless(method, question, wrappers):
    found = features(method, question, wrappers)
    return any(needs <= found for needs, _ in MEANINGLESS)


def covering(method, question, size, draw, seen, among):
    """Sets of wrappers that hold every pair which is neither refused nor meaningless, but those in `seen`, to which they add theirs."""
    def allowed(wrappers):
        return not meaningless(method, question, wrappers) and not refusal(method, question, wrappers)

    names = [w for w in among if allowed({w})]
    left = {frozenset(pair) for pair in itertools.combinations(names, 2) if allowed(pair)} - seen
    while left:
        chosen = set(draw.choice(sorted(left, key=sorted)))
        while len(chosen) < size:
            gain = {w: sum(frozenset({w, c}) in left for c in chosen) + .5 * draw.random() for w in names if w not in chosen and allowed(chosen | {w})}
            if not gain:
                break
            chosen.add(max(gain, key=gain.get))
        held = {frozenset(pair) for pair in itertools.combinations(chosen, 2)}
        left -= held
        seen |= held
        yield frozenset(chosen)


def check(run, found):
    """Adds the faults that are not known to `found`."""
    for fault in dict.fromkeys(run.faults):
        entries = [i for i, (needs, text, _) in enumerate(KNOWN) if needs <= features(run.method, run.question, run.wrappers) and text in fault]
        known_found.update(entries)
        if not entries:
            found.append(f"{fault[:400]}\n    by {run.method} and {', '.join(sorted(run.wrappers))}: npzoo {run.command}\n    {run.stderr.strip()[:400]}")


def compare(run, plain, told):
    """With the answers without wrappers: a plain run, and what one with --json tells."""
    run.expect(not run.refusal, "refused:", run.refusal)
    if run.refusal:
        return
    new = new_in(run.wrappers)
    at_end = run.question == "grid" and run.wrappers & {"jitter", "dates"}  # the range of the grid moves a little
    if run.told:
        same = run.told[0] == told.told[0] and (run.told[1] == told.told[1] or at_end)
        third = "covariate" in new and run.told[0].endswith("any-3d") and "by lon, lat, c" in run.facts  # a column of numbers is a third input
        said = "a Gaussian process makes the predictions: " in run.stderr or "compared on hidden rows: the CRPS of a fitted" in run.facts
        run.expect(same or third or said, "another method without a word:", run.told, "instead of", told.told)
        run.expect(not run.told[2] or ("second" in new and "gp" not in run.method and "apart" not in run.method), "columns help each other")
    else:
        run.expect(("average of" in run.line) == ("average of" in plain.line) or at_end, "another method in the line:", run.line, "instead of", plain.line)
    if "period" in new:
        run.expect(("gp" not in run.method and run.method != "weights alone") or "--period" in run.stderr, "--period has no effect")
    allowed = sum(WRAPPERS[w] for w in run.wrappers - plain.wrappers if WRAPPERS[w])
    if new == new_in(plain.wrappers):
        moved, at = run.moved(plain)
        run.expect(moved <= allowed, f"a mean moved by {moved:.2f} standard deviations, allowed: {allowed:.2f}, at", at)
    for v in run.table.values():
        far = run.error(v) - plain.error("y")
        limit = ALLOWED["map" if run.table.maps else "series"]
        run.expect(far <= limit, f"far from the truth: {v} by {run.error(v):.2f}, {far:.2f} more than y without wrappers")


RARELY = ("weights", "columns apart", "gp linear mean", "map columns apart")  # the same program as other methods


def every_pair(method):
    """Wrappers that say nothing new with each question. Pairs with new ones are shared among the questions, unless --all is there."""
    draw, seen, found = random.Random(method), set(), []
    first = list(METHODS).index(method)
    questions = [q for q in (*QUESTIONS[first % 7:], *QUESTIONS[:first % 7]) if not refusal(method, q, ())]
    for question in questions:
        if EVERYTHING or method not in RARELY:
            seen = set() if EVERYTHING else {pair for pair in seen if new_in(pair)}
        plain, told = Run(method, question, frozenset()), Run(method, question, frozenset({"json"}))
        check(plain, found)
        compare(told, plain, told)
        check(told, found)
        references = {frozenset(): plain}
        share = None if EVERYTHING or question == questions[-1] else 3
        for wrappers in itertools.chain(covering(method, question, 8, draw, seen, OLD),
                                        itertools.islice(covering(method, question, 8, draw, seen, list(WRAPPERS)), share)):
            run = Run(method, question, wrappers)
            compare(run, plain, told)
            new = frozenset(new_in(wrappers))
            if not run.refusal and new not in references:
                references[new] = Run(method, question, new)
            if not run.refusal and new:
                compare(run, references[new], told)
            check(run, found)
    expect(not found, len(found), "faults", *[f"\n  {fault}" for fault in found])


EVERYTHING = "--all" in sys.argv
for one in METHODS:
    def every(method=one):
        every_pair(method)
    every.__name__ = f"{one}, every pair of wrappers"
    case(every)


@case
def what_is_refused_has_one_line():
    turn, found = 0, []
    for needs, text in REFUSED:
        wrappers = frozenset(needs & WRAPPERS.keys())
        for method in METHODS:
            fits = [q for q in QUESTIONS if needs <= features(method, q, wrappers) and not meaningless(method, q, wrappers)
                    and refusal(method, q, wrappers) == text]
            for question in fits if EVERYTHING else [fits[turn % len(fits)]] if fits else []:
                turn += 1
                run = Run(method, question, wrappers)
                run.expect(run.refusal and text in run.refusal, repr(text), "expected in the line of a refusal, found:", run.refusal or run.stderr)
                check(run, found)
    expect(not found, *[f"\n  {fault}" for fault in found])


# Flags that a method cannot use: method, question, flags. The program takes them without a word, and should refuse them or say so.
WITHOUT_EFFECT = [
    ("gp", "both", ["--ends", "weights"]),
    ("gp", "both", ["--ends", "combined"]),
    ("map", "holes", ["--ends", "weights"]),
]


@case
def flags_without_an_effect():
    for method, question, flags in WITHOUT_EFFECT:
        args = arguments(method, question, frozenset())[1]
        plain, done = npzoo(*args), npzoo(*args, *flags)
        expect(done.returncode == 0 and done.stdout == plain.stdout and done.stderr == plain.stderr, flags, "of", method,
               "is not ignored any more, take it out of WITHOUT_EFFECT:", done.stdout, done.stderr)
    checked = npzoo(*arguments("gp", "both", frozenset())[1], "--check")
    expect(checked.returncode == 1 and "--period or --check found with a Gaussian process" in checked.stderr, checked.stdout, checked.stderr)


@case
def known_faults_are_still_there():
    gone = [what for i, (_, _, what) in enumerate(KNOWN) if i not in known_found]
    expect(not gone, "faults that are gone, take them out of KNOWN:", gone)


if __name__ == "__main__":
    status = run_cases()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{Run.count} runs, {used.ru_utime + used.ru_stime:.1f} seconds of processor time")
    sys.exit(status)
