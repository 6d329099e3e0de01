#!/usr/bin/env python3
"""Makes the tables of results from what `npzoo reproduce` has collected: results_report.py [--check]

Reads the stores in perf/results (tools/reproduce/results_store.h describes them), writes perf/RESULTS.md and, between its two
marks, the table in README.md. With --check nothing is written, and the exit status is 1 where one of them would change.
"""

import argparse
import json
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKS = "<!-- results: begin -->", "<!-- results: end -->"
NONE = "–"
FIGURES = ["ours", "published", "difference", "oracle", "verdict"]
METRICS = {"log-likelihood": "log-likelihood, higher is better", "nll": "negative log-likelihood, lower is better",
           "nll per channel": "negative log-likelihood per channel, lower is better"}

LEGEND = """Nats per target point. *Ours*: mean over seeds ± its standard error, then each seed; with one seed, ± the standard error over
test tasks. *Difference*: ours minus published ± half of the 95 % interval (with one seed, without the noise of seeds).
*Oracle*: the best possible value; in brackets, of a predictor that knows the hyper-parameters. † published without a spread. ‡ by the
expectation of the exact posterior, which removes most of the noise of the test tasks. """

# The README shows at most so many rows, the models of a protocol's test.
README_ROWS = 8
README_MODELS = {("tnp/gp-rbf", "rbf"): ("cnp", "anp", "tnp-d", "tnp-a", "tnp-nd", "lbanp"),
                 ("tnp-kr/gp1d-rbf", "rbf"): ("tnp-kr-full", "tnp-kr-fast")}

INTRODUCTION = f"""# Results

Made by `perf/results_report.py` from the files that `npzoo reproduce` keeps in `results/`.

{LEGEND}[The rule of the verdicts](../docs/verdicts.md).
"""


def read_stores(directory):
    stores = []
    for path in sorted(directory.glob("*.json")):
        try:
            content = json.loads(path.read_text())
        except ValueError as error:
            sys.exit(f"results_report: {path}: {error}")
        if isinstance(content, dict) and {"protocol", "metric", "runs", "rows", "not_run", "other_versions"} <= content.keys():
            stores.append(content)
    return stores


def is_likelihood(store):
    return store["trial"] == "likelihood"


def decimals(row):
    """Returns the decimals of our figures: one more than the paper's for an error or a regret."""
    return 3 if row["figure"].endswith("log_likelihood") else max(3, row["published_decimals"] + 1)


def number(value, decimals=3):
    return NONE if value is None else f"{value:.{decimals}f}"


def with_error(value, error, decimals=3):
    return number(value, decimals) + ("" if value is None or error is None else f" ± {error:.{decimals}f}")


def table(header, rows, text):
    """`text` names the columns that are not numbers."""
    rule = ["---" if title in text else "---:" for title in header]
    return "".join("| " + " | ".join(line) + " |\n" for line in [header, rule, *rows])


def ours(row):
    text = with_error(row["ours"], row["standard_error"], decimals(row)) + (" ‡" if row["controlled"] else "")
    return text if len(row["runs"]) == 1 else f"{text} ({', '.join(number(run, decimals(row)) for run in row['runs'])})"


def published(row):
    text = with_error(row["published"], row["published_error"], row["published_decimals"])
    return text if row["published"] is None or row["published_error"] is not None else f"{text} †"


def difference(row):
    if row["difference"] is None or row["collapsed"]:
        return NONE
    return f"{row['difference']:+.{decimals(row)}f} ± {number(row['half_interval'], decimals(row))}"


def oracle(row):
    known = (row["oracle_kind"] or "").startswith("known_")
    return f"({number(row['oracle'])})" if known else number(row["oracle"])


def verdict(row):
    if row["collapsed"]:
        return f"{row['verdict']}: seed {', '.join(map(str, row['collapsed']))}"
    return row["verdict"] or NONE


def figures(row):
    return [ours(row), published(row), difference(row), oracle(row), verdict(row)]


def place(store, row):
    """The test and, where a test has several figures, which one it is."""
    return row["test"] if is_likelihood(store) else f"{row['test']}, `{row['figure']}`"


def comparison(store):
    rows = [[place(store, row), f"`{row['model']}`", *figures(row)] for row in store["rows"]]
    return table(["test", "model", *FIGURES], rows, ["test", "model", "verdict"])


def is_current(store, run, result):
    """Measured under the protocol as it is."""
    found = {"model": run["model"], "seed": run["seed"], "test": result["test"], "version": result.get("version", "")}
    return found not in store["other_versions"]


def current_runs(store):
    return [{**run, "results": results} for run in store["runs"]
            if (results := [result for result in run["results"] if is_current(store, run, result)])]


def scores(store):
    rows = []
    for run in current_runs(store):
        for result in run["results"]:
            coverage = [number(100 * result["coverage"][level], 1) for level in ("50", "80", "90", "95")]
            rows.append([f"`{run['model']}`", result["test"], str(run["seed"]), *coverage, number(result["crps"], 4),
                         number(result.get("calibration_error"), 4), number(result.get("context_rmse"), 4),
                         f"{result['std_floor']:.3g}"])
    return table(["model", "test", "seed", "50 %", "80 %", "90 %", "95 %", "CRPS", "calibration error", "context RMSE",
                  "std floor"], rows, ["model", "test"])


def runs(store):
    rows = [[f"`{run['model']}`", run["training_commit"] or NONE, run["commit"], run["machine"], str(run["seed"]),
             f"{run['parameters']:,}", f"{run['steps']:,}", str(run["batch_size"]), f"{run['lr']:g}", f"{run['seconds']:,.0f}"]
            for run in current_runs(store)]
    return table(["model", "trained with", "scored with", "machine", "seed", "parameters", "steps", "batch", "learning rate",
                  "seconds"], rows, ["model", "trained with", "scored with", "machine"])


def not_run(store):
    """Published figures alone."""
    rows = [[place(store, row), f"`{row['model']}`", published(row)] for row in store["not_run"]]
    return f"Not run:\n\n{table(['test', 'model', 'published'], rows, ['test', 'model'])}"


def other_versions(store):
    names = "; ".join(f"`{old['model']}`, seed {old['seed']} ({old['test']})" for old in store["other_versions"])
    return f"Measured under another version of the protocol, kept and not averaged: {names}.\n"


def results(store):
    calibration = f"""Share of targets within central intervals, in per cent, and other scores:

{scores(store)}
""" if is_likelihood(store) else ""
    return f"""{comparison(store)}
{calibration}Commits, and the machine of the evaluation:

{runs(store)}"""


def spread(store):
    if store["spread"] is None:
        return ""
    said = store["spread"]
    kind = "standard error of the mean" if said["kind"] == "error" else "standard deviation"
    over = f"{said['seeds']} seeds" if said["seeds"] else f"{said['tasks']} tasks of one training"
    return f" Published ±: {kind} over {over}{', which is assumed: the source does not say' if said['assumed'] else ''}."


def section(store):
    source = " ".join(store["source"].split())
    measured = METRICS[store["metric"]].capitalize() if is_likelihood(store) else f"Trial `{store['trial']}`, each figure in its unit"
    head = f"\n## {store['protocol']}\n\n{measured}. {source}{spread(store)}\n"
    parts = [head, results(store) if store["rows"] else "", not_run(store) if store["not_run"] else "",
             other_versions(store) if store["other_versions"] else ""]
    return "\n".join(part for part in parts if part)


def report(stores):
    return INTRODUCTION + "".join(map(section, stores))


def compared(stores):
    """Log-likelihoods that have a published one beside them, each with its store."""
    return [(store, row) for store in stores if is_likelihood(store) for row in store["rows"] if row["published"] is not None]


def gain(store, row):
    """Returns by how much our figure is better, for any metric."""
    return row["difference"] if store["metric"] == "log-likelihood" else -row["difference"]


def pattern(stores):
    """Returns a paragraph on the common difference of the rows of each protocol."""
    sentences = []
    for store in stores:
        rows = [(gain(store, row), row) for _, row in compared([store]) if not row["collapsed"] and row["difference"] is not None]
        if len(rows) < 4:
            continue
        low = sum(value < 0 for value, _ in rows)
        mean = sum(value for value, _ in rows) / len(rows)
        outside = {}
        for value, row in rows:
            if row["half_interval"] is not None and abs(value) > row["half_interval"]:
                outside.setdefault((row["model"], "low" if value < 0 else "high"), []).append(row["test"])
        named = ", ".join(f"`{model}` {side} ({', '.join(tests)})" for (model, side), tests in outside.items()) or "none"
        sentences.append(f"`{store['protocol']}`: of {len(rows)} rows without a collapse, {low} {'is' if low == 1 else 'are'} worse than "
                         f"published; mean difference {mean:+.3f} (+ is better). Outside the interval: {named}.")
    if not sentences:
        return ""
    sentences.append("All rows of a test share its tasks, so their errors are not independent.")
    return f"\n{textwrap.fill(' '.join(sentences), 150)}\n"


def shown(stores):
    """The rows with a published one beside them, or the README's choice of them if there are many."""
    rows = compared(stores)
    if len(rows) <= README_ROWS:
        return rows
    return [(store, row) for store, row in rows if row["model"] in README_MODELS.get((store["protocol"], row["test"]), ())]


def main_table(stores):
    """Returns the tables of the README, one for each metric, and the common difference of a protocol's rows."""
    parts = []
    for metric, words in METRICS.items():
        rows = [[f"`{row['model']}`", f"`{store['protocol']}`, {row['test']}", *figures(row)]
                for store, row in shown(stores) if store["metric"] == metric]
        if rows:
            parts.append(f"{words.capitalize()}:\n\n{table(['model', 'protocol, test', *FIGURES], rows, ['model', 'protocol, test', 'verdict'])}")
    return f"{chr(10).join(parts)}\n{LEGEND}[The rule of the verdicts](docs/verdicts.md).\n{pattern(stores)}"


def between_marks(readme, path, content, marks):
    begin, end = marks
    if readme.count(begin) != 1 or readme.count(end) != 1 or readme.index(begin) > readme.index(end):
        sys.exit(f"results_report: {path} must hold one line {begin} and, after it, one line {end}")
    before, after = readme.split(begin)[0], readme.split(end)[1]
    return f"{before}{begin}\n{content}{end}{after}"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 where something would change")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "perf/results", help="directory of the stores")
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "perf/RESULTS.md")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    return parser.parse_args()


def main():
    options = parse_options()
    stores = read_stores(options.results)
    if not stores:
        print(f"no results in {options.results}")
        return
    readme = options.readme.read_text()
    wanted = {options.report: report(stores), options.readme: between_marks(readme, options.readme, main_table(stores), MARKS)}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if options.check and stale:
        sys.exit(f"results_report: {' and '.join(map(str, stale))} not up to date; run perf/results_report.py")
    for path in stale:
        path.write_text(wanted[path])
        print(path)


if __name__ == "__main__":
    main()
