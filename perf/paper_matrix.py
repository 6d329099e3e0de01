#!/usr/bin/env python3
"""Writes docs/results/papers.md, where every table and figure of the five papers stands: paper_matrix.py [--check] [--paper NAME]

The states of single numbers come from the transcription of the papers' tables (tests/datasets/published_rows.csv), from what
`npzoo reproduce` has collected (perf/results) and, for other trials and for trainings of a part of their length, from the lists
here, which repeat perf/NOTES.md. With --check nothing is written, and the exit status is 1 where the page would change. With
--paper the part of one paper is printed and nothing is written.
"""

import argparse
import collections
import csv
import dataclasses
import pathlib
import sys

import results_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/results/papers.md"
ROWS = ROOT / "tests/datasets/published_rows.csv"

STATES = {"full": "a whole training, scored by all rules", "short": "a part of the updates, of the tests or of the data",
          "owed": "a command or a few lines are all that is needed, and time", "impossible": "data or rules are not at hand"}

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
NO_PROTOCOL = {
    "Electricity": ("impossible", "the paper uses another client than the one at hand"),
    "RMSE": ("impossible", "its times are scaled in an unknown way"),
    "NLL": ("impossible", "its times are scaled in an unknown way"),
    "delta": ("full", "the unit of the table"),  # uniform choice
    "Autoformer": ("impossible", "how its forecasts of points got deviations is not stated"),
    "Informer": ("impossible", "how its forecasts of points got deviations is not stated"),
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
    ("tnp-kr/bo1d-rbf", "tnp-kr-full"): ("full", "1 seed, 0.0247 ± 0.0052"),
    ("tnp-kr/bo1d-rbf", "tnp-kr-fast"): ("full", "1 seed, 0.0291 ± 0.0054"),
    ("tnp-kr/bo1d-rbf", "cnp"): ("full", "1 seed, 0.0477 ± 0.0061"),
    ("tnp-kr/bo1d-matern", "cnp"): ("full", "1 seed, 0.0990 ± 0.0101"),
    ("tnp-kr/bo1d-periodic", "cnp"): ("full", "1 seed, 0.2676 ± 0.0162"),
    ("tnp-kr/bo1d-rbf", "tnp-d"): ("short", "6,000 of 100,000 updates"),
    ("tnp-kr/bo1d-rbf", "np"): ("short", "10,000 of 100,000 updates"),
    ("tnp-kr/bo1d-rbf", "canp"): ("full", "1 seed, 0.0313 ± 0.0061"),
    ("tnp-kr/bo1d-rbf", "anp"): ("short", "4,000 of 100,000 updates"),
    ("tnp-kr/bo1d-rbf", "bnp"): ("short", "5,000 of 100,000 updates"),
    ("tnp-kr/bo1d-rbf", "banp"): ("short", "3,000 of 100,000 updates"),
    ("tnp/wheel", "cnp"): ("short", "40,000 of 100,000 updates"),
    ("tnp/wheel", "np"): ("short", "20,000 of 100,000 updates"),
    ("tnp/wheel", "tnp-d"): ("full", "of `tnp/wheel-fresh`, 1 seed, 0.7 to 1.2 times the published regret"),
    ("tnp/wheel", "lbanp"): ("full", "1 seed, 2.4 to 26 times the published regret"),
    ("tnp/wheel", "cmanp"): ("full", "1 seed, 2.5 to 8.9 times the published regret"),
    ("taylorformer/exchange", "taylorformer"): ("short", "1,300 of 40,000 updates, 256 windows scored"),
    ("taylorformer/exchange", "taylorformer-tnp"): ("short", "700 of 40,000 updates, 128 windows scored"),
    ("taylorformer/ettm2", "taylorformer"): ("short", "900 of 40,000 updates, 128 windows scored"),
    ("taylorformer/ettm2", "taylorformer-tnp"): ("short", "500 of 40,000 updates, 128 windows scored"),
    ("autoformer/exchange", "autoformer"): ("short", "a width of 64 instead of 512"),
    ("autoformer/exchange", "informer"): ("short", "a width of 64 instead of 512"),
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
        figure(1, "architecture", "recordings of the authors' code (`npzoo parity`)", "full"),
        figure(2, "bands of TNP-KR-Fast", "`npzoo plot`", "short", "RBF only: there are no other weights"),
        figure("3, 4", "time against targets and context points", B, *TIMES),
        figure("5, 6", "bands on Matérn and periodic functions", "`npzoo plot --grid`", "short", "CNP alone, of 10 models"),
        figure(7, "bands on RBF functions", "`npzoo plot --grid`", "short", "3 of 10 models"),
        figure(8, "a 2D Gaussian process", "`npzoo plot`", "owed", "weights of table 5"),
        figure("9, 10, 11", "images of MNIST, CelebA, CIFAR-10", "`npzoo plot`, `npzoo complete`", "short", "MNIST of a short training"),
        Item("appendix", "hyper-parameters", "presets of the protocols", state="full"),
    ],
    "anp": [
        figure(1, "predictions in 1D and of an image", "`npzoo plot --grid np:anp/gp1d,anp:anp/gp1d`", "short", "in 1D; for images the weights of figure 4"),
        figure("2, 8", "architecture", "`architecture = \"anp\"` of `np` and `anp`", "short", "code, without a recording of the authors'"),
        figure(3, "kinds of attention, bottleneck: NLL, context error, time", "`perf/anp_figures.py`, `npzoo plot --curves`", "short", "four kinds in full, since NP is uniform attention; NP with a bottleneck of 128 alone"),
        figure("4, 13", "CelebA and MNIST: NLL and context error", "`npzoo train --protocol anp/celeba32`, `anp/mnist`", "owed", "of CelebA no data"),
        figure("5, 14, 15", "a whole image from its top half", "`npzoo complete --mask`", "owed", "weights of figure 4"),
        figure("6, 19", "other resolutions", "`npzoo complete --size`", "owed", "weights of figure 4; linear and cubic baselines are not drawn"),
        figure("7, 16", "what each head attends to", "`npzoo plot --attention --target`", "owed", "weights of figure 4"),
        figure(9, "the oracle beside", "`npzoo plot --grid np:anp/gp1d,anp:anp/gp1d`", "full"),
        figure(10, "fixed kernel parameters", "`perf/anp_figures.py`, `npzoo plot --curves`", "short", "NP with a bottleneck of 128 alone"),
        figure(11, "KL term during training", "`npzoo plot --curves` of `anp/gp1d` and `anp/gp1d-fixed`", "full"),
        figure(12, "Bayesian optimisation by Thompson's rule", "`npzoo eval --protocol anp/bo1d`", "full"),
        figure("17, 18", "more of figure 4", "`npzoo complete`", "owed", "weights of figure 4"),
    ],
    "eqtnp": [
        Item("table 1", "complexity", B, state="full", note="measured on a CPU"),
        Item("table 2", "1D Gaussian processes", R.format("tnp/gp-rbf"), 2),
        Item("table 3", "CelebA, EMNIST", R.format("tnp/celeba32") + ", `tnp/emnist`", 3),
        figure(1, "architecture", "recordings of the authors' code (`npzoo parity`)", "full"),
    ],
    "cmanp": [
        Item("tables 1, 2, 8", "memory classes", B, state="full", note="measured on a CPU"),
        Item("table 3", "CelebA, EMNIST", R.format("tnp/celeba32") + ", `-64`, `-128`, `tnp/emnist`", 3),
        Item("table 4", "1D Gaussian processes", R.format("tnp/gp-rbf"), 4),
        Item("table 5", "events: Reddit", R.format("events/reddit"), 5),
        Item("table 6", "events: MOOC, Reddit", R.format("events/mooc") + ", `events/reddit`", 6),
        Item("table 7", "wheel bandits", R.format("tnp/wheel"), 7),
        figure("1, 2, 5", "architecture", "recordings of the authors' code (`npzoo parity`)", "short", "none of CMHP, which has no published code"),
        figure(3, "memory and time against context points", B, "full", "measured on a CPU"),
        figure("4 left, middle", "block size of CMANP-AND", "`npzoo eval --set models.cmanp-and.AND_block_size=N`", "owed", "weights of a whole training"),
        figure("4 right, 6", "latents and their dimension", "`npzoo train --set models.cmanp.num_latents=N`", "owed"),
        figure(7, "number of context points, CelebA 128", "`npzoo eval --protocol tnp/celeba128 --set data.context=[A,B]`", "impossible", "no data"),
        figure(8, "time of an update and of a query", "`npzoo bench`, `perf/stream_bench`", "short", "updates of CMANP alone"),
        figure(9, "bands on test functions", "`npzoo plot`", "short", "weights of a short training"),
        figure(10, "context from a part of the range", "`npzoo predict --plot` on a table", "owed", "by hand: no protocol"),
        figure(11, "image completion", "`npzoo complete`", "impossible", "no data"),
        Item("appendix E", "hyper-parameters", "presets of the protocols", state="full", note="sizes for the wheel and of CMHP are not published"),
    ],
    "taylorformer": [
        Item("table 1", "1D Gaussian processes, images", R.format("taylorformer/gp-rbf") + ", `-matern`, `-periodic`, `emnist`, `celeba32`", 1),
        Item("table 2", "MSE of forecasts", R.format("taylorformer/exchange") + ", `ettm2`, `-192`, `-336`, `-720`, `autoformer/*`", 2),
        Item("table 3", "hyper-parameters", "presets of the protocols", state="short", note="electricity has the heads of exchange rates"),
        Item("table 4", "NLL of forecasts", "as table 2", 4),
        figure(1, "samples beside Autoformer's", "`npzoo predict --samples --plot`", "short", "weights of short trainings"),
        figure(2, "architecture", "recordings (`npzoo parity`)", "full"),
        figure("3a", "orders of the targets, one permutation", "trial `orders`", "short", "12,000 of 250,000 updates"),
        figure("3b", "orders of the targets, five permutations", "`--set models.taylorformer.permutation_repeats=5`", "owed"),
        figure(4, "validation curves", "`npzoo plot --curves`", "owed", "weights of table 1"),
        figure(5, "without LocalTaylor, without MHA-X", "`npzoo train --protocol taylorformer/gp-rbf --set models.taylorformer.local_taylor=false`, `mha_x=false`", "owed"),
        figure(6, "samples of electricity", "`npzoo predict --samples --plot`", "impossible", "another client's data"),
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
    """Rows of the stores by protocol, test, figure and model, as the transcription names them."""
    return {(store["protocol"], row["test"], "" if results_report.is_likelihood(store) else row["figure"], row["model"]): row
            for store in stores for row in store["rows"]}


def state_of(row, results):
    """State and note of a number."""
    if row["paper"] == "tnp-kr" and row["table"] in ("1", "2"):
        return TIMES
    if not row["protocol"]:
        words = f"{row['row']} {row['column']}"
        return NO_PROTOCOL[next(word for word in NO_PROTOCOL if word in words)]
    protocol = row["protocol"].split()[0]
    if found := results.get((protocol, row["test"], row["figure"], row["model"])):
        seeds = len(found["seeds"])
        return "full", f"{seeds} seeds, {found['verdict']}" if seeds > 1 else "1 seed, not judged"
    if (protocol, row["model"]) in ELSEWHERE:
        return ELSEWHERE[protocol, row["model"]]
    return ("impossible", "no data") if protocol in NO_DATA else ("owed", "")


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


def counts(states):
    return ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)


def section(paper, rows, results):
    lines, numbers, others = [], [], []
    for item in ITEMS[paper]:
        if item.table:
            cells = [Cell(f"`{row['model']}`" if row["model"] else row["row"], row["column"], *state_of(row, results))
                     for row in rows if row["paper"] == paper and row["table"] == str(item.table)]
            states = [cell.state for cell in cells]
            numbers += states
            lines.append([item.name, item.shows, item.how, counts(states), notes(cells)])
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


def page(stores, papers=PAPERS):
    rows, results = read_rows(), collected(stores)
    check_complete(rows)
    sections = {paper: section(paper, rows, results) for paper in papers}
    total = [[paper, *(str(numbers.count(state)) for state in STATES),
              counts(others)] for paper, (_, numbers, others) in sections.items()]
    legend = "".join(f"- *{state}*: {words}.\n" for state, words in STATES.items())
    summary = results_report.table(["paper", *(f"numbers {state}" for state in STATES), "figures and other tables"], total,
                                   ["paper", "figures and other tables"])
    return f"""# Tables and figures of the papers

Made by `perf/paper_matrix.py`. Each number of a table has a state; *full* ones name the seeds of training and the
[verdict](../verdicts.md).

{legend}
{summary}
""" + "\n".join(text for text, _, _ in sections.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 where the page would change")
    parser.add_argument("--paper", choices=PAPERS, help="print the part of one paper")
    options = parser.parse_args()
    stores = results_report.read_stores(ROOT / "perf/results")
    if options.paper:
        print(page(stores, [options.paper]), end="")
        return
    text = page(stores)
    if PAGE.exists() and PAGE.read_text() == text:
        return
    if options.check:
        sys.exit(f"paper_matrix: {PAGE} is not up to date; run perf/paper_matrix.py")
    PAGE.write_text(text)
    print(PAGE)


if __name__ == "__main__":
    main()
