#!/usr/bin/env python3
"""Writes docs/results/papers.md, the state of every table and figure of the five papers, and its totals in README.md:
paper_matrix.py [--check] [--paper NAME]

The states of numbers come from three places: the transcription of the papers' tables (tests/datasets/published_rows.csv), the
results that `npzoo reproduce` has collected (perf/results), and the lists in this file. The lists have other trials and short
trainings; they repeat perf/NOTES.md. With --check the program writes nothing and exits with 1 if a file would change. With
--paper it prints the part of one paper and writes nothing.
"""

import argparse
import collections
import csv
import dataclasses
import math
import pathlib
import sys
import textwrap

import results_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / "tests/datasets/published_rows.csv"

MARKS = "<!-- papers: begin -->", "<!-- papers: end -->"

WITHIN, DIFFERS, NOT_JUDGED, ONE_SEED = "full, within", "full, differs", "full, not judged", "full, one seed"
NO_DATA_HERE, RULES_UNKNOWN, DEFINED = "no data here", "rules unknown", "by definition"

STATES = {
    WITHIN: "whole trainings, and the verdict is *within*",
    DIFFERS: "whole trainings, and the verdict is *better*, *worse*, *collapsed* or *above the oracle*",
    NOT_JUDGED: "whole trainings with two seeds or more, *too uncertain to tell* or *published without spread*",
    ONE_SEED: "one whole training, so that the noise of our seeds is unknown",
    "short": "a part of the updates, of the tests or of the data",
    "owed": "a command or a few lines are all that is needed, and time",
    NO_DATA_HERE: "the data are not at hand; the command runs where they are",
    RULES_UNKNOWN: "the paper and its code do not say how the number was computed",
    DEFINED: "the unit of its table, which nobody measures",
}
FULL = "full"  # of a figure: all that it shows has been computed
OTHER_STATES = (FULL, "short", "owed", NO_DATA_HERE)

# States of the verdicts of docs/verdicts.md.
VERDICTS = {"within": WITHIN, "better": DIFFERS, "worse": DIFFERS, "collapsed": DIFFERS, "above the oracle: leak": DIFFERS,
            "too uncertain to tell": NOT_JUDGED, "published without spread: not judged for seeds": NOT_JUDGED,
            "one seed: not judged for seeds": ONE_SEED}
# docs/verdicts.md, "The interval": the normal quantile, and the error of rounding in units of the last place.
NORMAL, ROUNDING = 1.959964, 1 / math.sqrt(12)

PAPERS = {
    "tnp-kr": "TNP-KR: Transformer Neural Process – Kernel Regression (Jenson et al. 2024, version 1)",
    "anp": "ANP: Attentive Neural Processes (Kim et al. 2019)",
    "eqtnp": "EQTNP: Efficient Queries Transformer Neural Processes (Feng et al. 2022)",
    "cmanp": "CMANP: Memory Efficient Neural Processes via Constant Memory Attention Block (Feng et al. 2024)",
    "taylorformer": "Taylorformer: Probabilistic Modelling for Random Processes including Time Series (Nivron et al. 2023)",
}

# Whole sets of images and JODIE's tables are large and not at hand.
NO_DATA = {"tnp/celeba32", "tnp/celeba64", "tnp/celeba128", "tnp/emnist", "tnp-kr/celeba32", "tnp-kr/cifar10",
           "taylorformer/celeba32", "taylorformer/emnist", "events/mooc", "events/reddit"}
# By words in the table, the row and the column of a number.
NO_PROTOCOL = {
    "4 Autoformer": (RULES_UNKNOWN, "how its forecasts of points got deviations is not stated"),
    "4 Informer": (RULES_UNKNOWN, "how its forecasts of points got deviations is not stated"),
    "Electricity": (NO_DATA_HERE, "client 322; `taylorformer/electricity-mt200` has another one"),
    "RMSE": (RULES_UNKNOWN, "its times are scaled in an unknown way"),
    "NLL": (RULES_UNKNOWN, "its times are scaled in an unknown way"),
    "Uniform": (DEFINED, ""),
}

# Trainings and scores that `npzoo reproduce` does not collect (perf/NOTES.md).
ELSEWHERE = {
    ("tnp/gp-rbf", "banp"): ("short", "40,000 of 100,000 updates"),
    ("tnp/gp-rbf", "lbanp-nd"): ("short", "20,000 of 100,000 updates"),
    ("tnp/gp-rbf", "cmanp"): ("short", "20,000 of 100,000 updates"),
    ("tnp/gp-rbf", "cmanp-and"): ("short", "17,500 of 100,000 updates"),
    ("tnp-kr/mnist", "cnp"): ("short", "4,000 of 100,000 updates"),
    ("tnp-kr/mnist", "tnp-d"): ("short", "1,500 of 100,000 updates"),
    ("tnp-kr/mnist", "tnp-kr-full"): ("short", "800 of 100,000 updates"),
    ("tnp-kr/cifar10", "cnp"): ("short", "1,500 updates on a part of the set"),
    ("tnp-kr/cifar10", "tnp-kr-full"): ("short", "500 updates on a part of the set"),
    ("tnp-kr/celeba32", "cnp"): ("short", "1,017 updates on a part of the set"),
    ("tnp/wheel", "cnp"): ("short", "40,000 of 100,000 updates"),
    ("tnp/wheel", "np"): ("short", "20,000 of 100,000 updates"),
    ("taylorformer/exchange", "taylorformer"): ("short", "1,300 of 40,000 updates, 256 windows scored"),
    ("taylorformer/exchange", "taylorformer-tnp"): ("short", "700 of 40,000 updates, 128 windows scored"),
    ("taylorformer/ettm2", "taylorformer"): ("short", "900 of 40,000 updates, 128 windows scored"),
    ("taylorformer/ettm2", "taylorformer-tnp"): ("short", "500 of 40,000 updates, 128 windows scored"),
    ("autoformer/exchange", "autoformer"): ("short", "a width of 64 instead of 512"),
    ("autoformer/exchange", "informer"): ("short", "a width of 64 instead of 512"),
}


def wheels(*regrets):
    return dict(zip(("delta-0.7", "delta-0.9", "delta-0.95", "delta-0.99", "delta-0.995"), regrets))


# Regrets of one training, ours ± as the paper prints it, by test. Words are the updates of a short training, or where the figures are.
REGRETS = {
    ("tnp-kr/bo1d-rbf", "tnp-d"): ("", {"rbf": (0.0246, 0.0050)}),
    ("tnp-kr/bo1d-rbf", "tnp-kr-full"): ("", {"rbf": (0.0247, 0.0052)}),
    ("tnp-kr/bo1d-rbf", "tnp-kr-fast"): ("", {"rbf": (0.0291, 0.0054)}),
    ("tnp-kr/bo1d-rbf", "canp"): ("", {"rbf": (0.0313, 0.0061)}),
    ("tnp-kr/bo1d-rbf", "cnp"): ("", {"rbf": (0.0477, 0.0061)}),
    ("tnp-kr/bo1d-matern", "tnp-kr-full"): ("", {"matern32": (0.0516, 0.0086)}),
    ("tnp-kr/bo1d-matern", "cnp"): ("", {"matern32": (0.0990, 0.0101)}),
    ("tnp-kr/bo1d-periodic", "tnp-kr-full"): ("", {"periodic": (0.0333, 0.0057)}),
    ("tnp-kr/bo1d-periodic", "cnp"): ("", {"periodic": (0.2676, 0.0162)}),
    ("tnp-kr/bo1d-rbf", "banp"): ("3,000 of 100,000 updates", {"rbf": (0.0544, 0.0083)}),
    ("tnp-kr/bo1d-rbf", "anp"): ("4,000 of 100,000 updates", {"rbf": (0.0905, 0.0123)}),
    ("tnp-kr/bo1d-rbf", "bnp"): ("5,000 of 100,000 updates", {"rbf": (0.1698, 0.0143)}),
    ("tnp-kr/bo1d-rbf", "np"): ("10,000 of 100,000 updates", {"rbf": (0.1987, 0.0158)}),
    ("tnp/wheel", "tnp-d"): ("of [`tnp/wheel-fresh`](wheels.md)",
                             wheels((0.93, 0.38), (1.24, 0.37), (1.68, 0.56), (3.57, 1.02), (5.45, 1.18))),
    ("tnp/wheel", "lbanp"): ("[figures](wheels.md)", wheels((2.65, 0.41), (39.96, 5.39), (43.54, 0.61), (46.32, 2.00), (52.68, 2.00))),
    ("tnp/wheel", "cmanp"): ("[figures](wheels.md)", wheels((2.77, 0.17), (9.11, 2.13), (16.60, 0.54), (28.69, 1.22), (32.19, 0.59))),
}
TIMES = ("short", "on a CPU; on an H100 only some of the larger sizes")

R, B = "`npzoo reproduce {}`", "`npzoo bench scaling`, `perf/scaling_report.py`"


@dataclasses.dataclass
class Item:
    """A table or a figure. Of a table of numbers state and note are those of its cells."""
    name: str
    shows: str
    how: str
    table: int = 0  # with numbers in the transcription
    state: str = ""
    note: str = ""


def figure(number, shows, how, state, note=""):
    name = "figures" if "," in str(number) else "figure"
    return Item(f"{name} {number}", shows, how, state=state, note=note)


ITEMS = {
    "tnp-kr": [
        Item("table 1", "time against targets", B, 1), Item("table 2", "time against context points", B, 2),
        Item("table 3", "1D Gaussian processes", R.format("tnp-kr/gp1d-rbf") + ", `-matern`, `-periodic`", 3),
        Item("table 4", "Bayesian optimisation", R.format("tnp-kr/bo1d-rbf") + ", `-matern`, `-periodic`", 4),
        Item("table 5", "2D Gaussian processes", R.format("tnp-kr/gp2d-rbf"), 5),
        Item("table 6", "MNIST", R.format("tnp-kr/mnist"), 6), Item("table 7", "CelebA", R.format("tnp-kr/celeba32"), 7),
        Item("table 8", "CIFAR-10", R.format("tnp-kr/cifar10"), 8),
        figure(1, "architecture", "recordings of the authors' code (`npzoo parity`)", FULL),
        figure(2, "bands of TNP-KR-Fast", "`npzoo plot`", "short", "RBF only: there are no other weights"),
        figure("3, 4", "time against targets and context points", B, *TIMES),
        figure("5, 6", "bands on Matérn and periodic functions", "`npzoo plot --grid`", "short", "CNP alone, of 10 models"),
        figure(7, "bands on RBF functions", "`npzoo plot --grid`", "short", "3 of 10 models"),
        figure(8, "a 2D Gaussian process", "`npzoo plot`", "owed", "weights of table 5"),
        figure("9, 10, 11", "images of MNIST, CelebA, CIFAR-10", "`npzoo plot`, `npzoo complete`", "short", "MNIST of a short training"),
        Item("appendix", "hyper-parameters", "presets of the protocols", state=FULL),
    ],
    "anp": [
        figure(1, "predictions in 1D and of an image", "`npzoo plot --grid np:anp/gp1d,anp:anp/gp1d`", "short", "in 1D; for images the weights of figure 4"),
        figure("2, 8", "architecture", "`architecture = \"anp\"` of `np` and `anp`", "short", "code, without a recording of the authors'"),
        figure(3, "kinds of attention, bottleneck: NLL, context error, time", "`perf/anp_figures.py`, `npzoo plot --curves`", "short", "four kinds in full, since NP is uniform attention; NP with a bottleneck of 128 alone"),
        figure("4, 13", "CelebA and MNIST: NLL and context error", "`npzoo train --protocol anp/celeba32`, `anp/mnist`", "owed", "of CelebA no data"),
        figure("5, 14, 15", "a whole image from its top half", "`npzoo complete --mask`", "owed", "weights of figure 4"),
        figure("6, 19", "other resolutions", "`npzoo complete --size`", "owed", "weights of figure 4; linear and cubic baselines are not drawn"),
        figure("7, 16", "what each head attends to", "`npzoo plot --attention --target`", "owed", "weights of figure 4"),
        figure(9, "the oracle beside", "`npzoo plot --grid np:anp/gp1d,anp:anp/gp1d`", FULL),
        figure(10, "fixed kernel parameters", "`perf/anp_figures.py`, `npzoo plot --curves`", "short", "NP with a bottleneck of 128 alone"),
        figure(11, "KL term during training", "`npzoo plot --curves` of `anp/gp1d` and `anp/gp1d-fixed`", FULL),
        figure(12, "Bayesian optimisation by Thompson's rule", "`npzoo eval --protocol anp/bo1d`", FULL),
        figure("17, 18", "more of figure 4", "`npzoo complete`", "owed", "weights of figure 4"),
    ],
    "eqtnp": [
        Item("table 1", "complexity", B, state=FULL, note="measured on a CPU"),
        Item("table 2", "1D Gaussian processes", R.format("tnp/gp-rbf"), 2),
        Item("table 3", "CelebA, EMNIST", R.format("tnp/celeba32") + ", `tnp/emnist`", 3),
        figure(1, "architecture", "recordings of the authors' code (`npzoo parity`)", FULL),
    ],
    "cmanp": [
        Item("tables 1, 2, 8", "memory classes", B, state=FULL, note="measured on a CPU"),
        Item("table 3", "CelebA, EMNIST", R.format("tnp/celeba32") + ", `-64`, `-128`, `tnp/emnist`", 3),
        Item("table 4", "1D Gaussian processes", R.format("tnp/gp-rbf"), 4),
        Item("table 5", "events: Reddit", R.format("events/reddit"), 5),
        Item("table 6", "events: MOOC, Reddit", R.format("events/mooc") + ", `events/reddit`", 6),
        Item("table 7", "wheel bandits", R.format("tnp/wheel"), 7),
        figure("1, 2, 5", "architecture", "recordings of the authors' code (`npzoo parity`)", "short", "none of CMHP, which has no published code"),
        figure(3, "memory and time against context points", B, FULL, "measured on a CPU"),
        figure("4 left, middle", "block size of CMANP-AND", "`npzoo eval --set models.cmanp-and.AND_block_size=N`", "owed", "weights of a whole training"),
        figure("4 right, 6", "latents and their dimension", "`npzoo train --set models.cmanp.num_latents=N`", "owed"),
        figure(7, "number of context points, CelebA 128", "`npzoo eval --protocol tnp/celeba128 --set data.context=[A,B]`", NO_DATA_HERE),
        figure(8, "time of an update and of a query", "`npzoo bench`, `perf/stream_bench`", "short", "updates of CMANP alone"),
        figure(9, "bands on test functions", "`npzoo plot`", "short", "weights of a short training"),
        figure(10, "context from a part of the range", "`npzoo predict --plot` on a table", "owed", "by hand: no protocol"),
        figure(11, "image completion", "`npzoo complete`", NO_DATA_HERE),
        Item("appendix E", "hyper-parameters", "presets of the protocols", state=FULL, note="sizes for the wheel and of CMHP are not published"),
    ],
    "taylorformer": [
        Item("table 1", "1D Gaussian processes, images", R.format("taylorformer/gp-rbf") + ", `-matern`, `-periodic`, `emnist`, `celeba32`", 1),
        Item("table 2", "MSE of forecasts", R.format("taylorformer/exchange") + ", `ettm2`, `-192`, `-336`, `-720`, `autoformer/*`", 2),
        Item("table 3", "hyper-parameters", "presets of the protocols", state="short", note="electricity has the heads of exchange rates"),
        Item("table 4", "NLL of forecasts", "as table 2", 4),
        figure(1, "samples beside Autoformer's", "`npzoo predict --samples --plot`", "short", "weights of short trainings"),
        figure(2, "architecture", "recordings (`npzoo parity`)", FULL),
        figure("3a", "orders of the targets, one permutation", "trial `orders`", "short", "12,000 of 250,000 updates"),
        figure("3b", "orders of the targets, five permutations", "`--set models.taylorformer.permutation_repeats=5`", "owed"),
        figure(4, "validation curves", "`npzoo plot --curves`", "owed", "weights of table 1"),
        figure(5, "without LocalTaylor, without MHA-X", "`npzoo train --protocol taylorformer/gp-rbf --set models.taylorformer.local_taylor=false`, `mha_x=false`", "owed"),
        figure(6, "samples of electricity", "`npzoo predict --samples --plot`", NO_DATA_HERE, "client 322"),
    ],
}


@dataclasses.dataclass
class Cell:
    row: str  # model, or what the paper calls it
    column: str
    state: str
    note: str


def read_rows():
    with ROWS.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["value"] != "-"]


def collected(stores):
    """Rows of the stores by protocol, test, figure and model, as the transcription names them, each with its store."""
    return {(store["protocol"], row["test"], "" if results_report.is_likelihood(store) else row["figure"], row["model"]): (store, row)
            for store in stores for row in store["rows"]}


def beside_interval(gain, half):
    """Describes a difference that has no verdict, since there is one seed. The interval lacks the noise of seeds."""
    return "inside its interval" if abs(gain) <= half else f"{'better' if gain > 0 else 'worse'}, outside its interval"


def judged(store, row):
    """State and note of a number that `npzoo reproduce` has collected."""
    if row["verdict"] not in VERDICTS:
        sys.exit(f"paper_matrix: {store['protocol']}, {row['model']}: verdict '{row['verdict']}' found, expected one of {', '.join(VERDICTS)}")
    state, seeds = VERDICTS[row["verdict"]], len(row["seeds"])
    if state == ONE_SEED:
        return state, beside_interval(results_report.gain(store, row), row["half_interval"])
    words = f"{seeds} seed{'s' if seeds > 1 else ''}"
    return state, words if state == WITHIN else f"{words}, {row['verdict']}"


def regret(row, words, regrets):
    """State and note of a regret. The interval is that of docs/verdicts.md for errors over the tasks of one training."""
    (ours, spread), published, theirs = regrets[row["test"]], float(row["value"]), float(row["second"])
    numbers = f"{ours:.4f} ± {spread:.4f}, published {row['value']} ± {row['second']}" if len(regrets) == 1 else ""  # others have a page
    if words.endswith("updates"):
        return "short", f"{numbers}; {words}"
    tasks = float(row["runs"]) if row["spread"] == "deviation" else 1
    rounding = ROUNDING * 10.0 ** -len(row["value"].partition(".")[2])
    half = NORMAL * math.hypot(spread / math.sqrt(tasks), theirs / math.sqrt(tasks), rounding)
    return ONE_SEED, "; ".join(part for part in (numbers, words, beside_interval(published - ours, half)) if part)


def state_of(row, results):
    """State and note of a number."""
    if row["paper"] == "tnp-kr" and row["table"] in ("1", "2"):
        return TIMES
    if not row["protocol"]:
        words = f"{row['table']} {row['row']} {row['column']}"
        return NO_PROTOCOL[next(word for word in NO_PROTOCOL if word in words)]
    protocol = row["protocol"].split()[0]
    if found := results.get((protocol, row["test"], row["figure"], row["model"])):
        return judged(*found)
    if (protocol, row["model"]) in REGRETS:
        return regret(row, *REGRETS[protocol, row["model"]])
    if (protocol, row["model"]) in ELSEWHERE:
        return ELSEWHERE[protocol, row["model"]]
    return (NO_DATA_HERE if protocol in NO_DATA else "owed"), ""


def notes(cells):
    """Describes the cells: models with one state and note together, with the columns if they are not all."""
    columns = list(dict.fromkeys(cell.column for cell in cells))
    places = collections.defaultdict(list)  # of a state, a note and a row
    for cell in cells:
        places[cell.state, cell.note, cell.row].append(cell.column)
    rows = collections.defaultdict(list)  # that have the same columns
    for (state, note, row), where in places.items():
        rows[state, note, tuple(where)].append(row)
    lines = []
    for wanted in STATES:
        for (state, note, where), names in rows.items():
            if state != wanted:
                continue
            words = "; ".join(part for part in ("" if len(where) == len(columns) else ", ".join(where), note) if part)
            lines.append(f"*{state}*: {', '.join(names)}{f' ({words})' if words else ''}")
    return ". ".join(lines)


def counts(found, states=STATES):
    """Counts in words, such as "2 *full, within*; 3 *owed*"."""
    return "; ".join(f"{found.count(state)} *{state}*" for state in states if state in found)


def section(paper, rows, results):
    lines, numbers, others = [], [], []
    for item in ITEMS[paper]:
        if item.table:
            cells = [Cell(f"`{row['model']}`" if row["model"] else row["row"], row["column"], *state_of(row, results))
                     for row in rows if row["paper"] == paper and row["table"] == str(item.table)]
            numbers += cells
            lines.append([item.name, item.shows, item.how, counts([cell.state for cell in cells]), notes(cells)])
        else:
            others.append(item.state)
            lines.append([item.name, item.shows, item.how, item.state, item.note or results_report.NONE])
    header = ["item", "shows", "how", "state", "seeds, verdicts, what is missing"]
    return f"## {PAPERS[paper]}\n\n{results_report.table(header, lines, header)}", numbers, others


def check_complete(rows):
    """Every table of numbers of the five papers has an item."""
    listed = {(paper, str(item.table)) for paper, items in ITEMS.items() for item in items if item.table}
    printed = {(row["paper"], row["table"]) for row in rows if row["paper"] in PAPERS}
    if listed != printed:
        sys.exit(f"paper_matrix: the tables {sorted(printed ^ listed)} are in one of the transcription and the items")


def sections_of(stores, papers):
    rows, results = read_rows(), collected(stores)
    check_complete(rows)
    return {paper: section(paper, rows, results) for paper in papers}


def page(sections):
    totals = [[paper, numbers, others] for paper, (_, numbers, others) in sections.items()]
    totals.append(["all", *(sum(lists, []) for lists in list(zip(*totals))[1:])])
    lines = [[paper, str(len(numbers)), *(str(sum(cell.state == state for cell in numbers)) for state in STATES), counts(others, OTHER_STATES)]
             for paper, numbers, others in totals]
    legend = "".join(f"- *{state}*: {words}.\n" for state, words in STATES.items())
    summary = results_report.table(["paper", "numbers", *STATES, "figures and other tables"], lines, ["paper", "figures and other tables"])
    return f"""# Tables and figures of the papers

Made by `perf/paper_matrix.py`. Each number of a table has a state. *Full* ones follow the rule of the [verdicts](../verdicts.md).
With one seed, the note says whether the difference from the published number is inside its interval. That interval lacks the noise of our seeds.

{legend}
Figures and other tables have no verdict. *{FULL}* then means that all of it has been computed.

{summary}
""" + "\n".join(text for text, _, _ in sections.values())


def readme_lines(sections):
    """The totals, in a paragraph."""
    numbers = sum((numbers for _, numbers, _ in sections.values()), [])
    outside = [cell.note for cell in numbers if cell.state == ONE_SEED and "outside" in cell.note]
    better = sum("better" in note for note in outside)
    text = (f"The tables of five papers have {len(numbers)} numbers. By state: {counts([cell.state for cell in numbers])}. "
            f"Of those with one seed, {len(outside)} are outside their interval, which lacks the noise of seeds: {better} better, "
            f"{len(outside) - better} worse than published. [Every table and figure](docs/results/papers.md), with the meaning of the states.")
    return textwrap.fill(text, 150, break_long_words=False) + "\n"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if a file would change")
    parser.add_argument("--paper", choices=PAPERS, help="print the part of one paper")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "perf/results", help="directory of the stores")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/results/papers.md")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    return parser.parse_args()


def main():
    options = parse_options()
    sections = sections_of(results_report.read_stores(options.results), [options.paper] if options.paper else PAPERS)
    if options.paper:
        print(page(sections), end="")
        return
    readme = results_report.between_marks(options.readme.read_text(), options.readme, readme_lines(sections), MARKS)
    wanted = {options.page: page(sections), options.readme: readme}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if options.check and stale:
        sys.exit(f"paper_matrix: {' and '.join(map(str, stale))} not up to date; run perf/paper_matrix.py")
    for path in stale:
        path.write_text(wanted[path])
        print(path)


if __name__ == "__main__":
    main()
