#!/usr/bin/env python3
"""Tests the states of published numbers in perf/paper_matrix.py: paper_matrix_test.py"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "perf"))
sys.dont_write_bytecode = True
import paper_matrix as matrix  # noqa: E402

STORE = {"protocol": "tnp/gp-rbf", "trial": "likelihood", "metric": "log-likelihood"}


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, ("paper_matrix_test:", *what))))


def judged(verdict, seeds=2, difference=0.0, metric="log-likelihood"):
    row = {"model": "cnp", "verdict": verdict, "seeds": list(range(seeds)), "difference": difference, "half_interval": 0.01}
    return matrix.judged({**STORE, "metric": metric}, row)


def check_verdicts():
    """Every verdict of models/trials/verdict.cpp has a state, and a training of one seed is never within or different."""
    written = (ROOT / "models/trials/verdict.cpp").read_text()
    for verdict, state in matrix.VERDICTS.items():
        expect(f'return "{verdict}";' in written, "verdict.cpp has no", verdict)
        expect(judged(verdict)[0] == state, verdict, judged(verdict))
    expect(written.count("    case Verdict::") == len(matrix.VERDICTS) + 1, "verdict.cpp has other verdicts")  # and none
    expect(judged("within") == ("full, within", "2 seeds"), judged("within"))
    expect(judged("collapsed", 3) == ("full, differs", "3 seeds, collapsed"), judged("collapsed", 3))
    one = "one seed: not judged for seeds"
    for difference, metric, note in ((0.01, "log-likelihood", "inside its interval"), (0.02, "log-likelihood", "better, outside its interval"),
                                     (-0.02, "log-likelihood", "worse, outside its interval"), (-0.02, "nll", "better, outside its interval")):
        found = judged(one, 1, difference, metric)
        expect(found == ("full, one seed", note), difference, metric, found)
    try:
        message = f"state {judged('splendid')}"
    except SystemExit as stop:
        message = str(stop)
    expect("tnp/gp-rbf, cnp: verdict 'splendid' found, expected one of within, " in message, message)


PUBLISHED = {"value": "0.100", "second": "0.004", "spread": "error", "runs": "500", "test": "rbf"}


def regret(ours, words="", **more):
    return matrix.regret({**PUBLISHED, **more}, words, {"rbf": (ours, 0.003)})


def check_regrets():
    """Half of the interval is 1.96 · √(0.003² + 0.004² + 0.00029²) = 0.00982."""
    for ours, note in ((0.1098, "inside its interval"), (0.1099, "worse, outside its interval"),
                       (0.0902, "inside its interval"), (0.0901, "better, outside its interval")):
        expected = "full, one seed", f"{ours:.4f} ± 0.0030, published 0.100 ± 0.004; {note}"
        expect(regret(ours) == expected, regret(ours), "expected", expected)
    short = regret(0.5, words="7 of 9 updates")
    expect(short == ("short", "0.5000 ± 0.0030, published 0.100 ± 0.004; 7 of 9 updates"), short)
    # A deviation over 25 orders is divided by 5 on both sides.
    far, near = (regret(ours, spread="deviation", runs="25")[1] for ours in (0.1021, 0.1020))
    expect(far.endswith("worse, outside its interval") and near.endswith("; inside its interval"), far, near)
    several = matrix.regret({**PUBLISHED, "test": "a"}, "there", {"a": (0.1, 0.003), "b": (0.2, 0.003)})
    expect(several == ("full, one seed", "there; inside its interval"), several)


def check_numbers():
    """Each of the transcribed numbers has one of the states, and each figure and training of the lists belongs to one."""
    rows = matrix.read_rows()
    results = matrix.collected(matrix.results_report.read_stores(ROOT / "perf/results"))
    states = {(row["paper"], row["table"], row["row"], row["column"]): matrix.state_of(row, results)[0] for row in rows if row["paper"] in matrix.PAPERS}
    expect(set(states.values()) <= set(matrix.STATES), set(states.values()) - set(matrix.STATES))
    for key, state in ((("cmanp", "7", "Uniform", "delta 0.7"), "by definition"), (("cmanp", "6", "CMHP", "Mooc ACC"), "no data here"),
                       (("cmanp", "6", "CMHP", "Mooc NLL"), "rules unknown"), (("taylorformer", "2", "Informer", "Electricity 96"), "no data here"),
                       (("taylorformer", "4", "Informer", "Electricity 96"), "rules unknown"), (("cmanp", "7", "LBANP", "delta 0.9"), "full, one seed")):
        expect(states[key] == state, key, states[key], "expected", state)
    found = {(protocol, row["model"]): set() for row in rows for protocol in row["protocol"].split()}
    for row in rows:
        for protocol in row["protocol"].split():
            found[protocol, row["model"]].add(row["test"])
    for key, (_, regrets) in matrix.REGRETS.items():
        expect(found.get(key) == set(regrets), key, found.get(key), sorted(regrets))
    strangers = [key for key in matrix.ELSEWHERE if key not in found]
    expect(not strangers, "no such numbers:", strangers)
    others = {item.state for items in matrix.ITEMS.values() for item in items if not item.table}
    expect(others == set(matrix.OTHER_STATES), others)


def lines_of(name):
    return [line for line in (ROOT / "perf" / name).read_text().splitlines() if line and not line.startswith("#")]


def check_trainings():
    """Every number that waits for a training has it in the list, for bo1d that of gp1d. The GPU's list is a part of it."""
    owed = lines_of("owed_trainings.txt")
    expect(len(set(owed)) == len(owed), "a training is listed twice")
    listed = {tuple(line.partition(": ")[2].split()[:2] if ": " in line else line.split()[:2]) for line in owed}
    results = matrix.collected(matrix.results_report.read_stores(ROOT / "perf/results"))
    for row in matrix.read_rows():
        protocols = row["protocol"].replace("bo1d", "gp1d").split()
        if row["paper"] in matrix.PAPERS and protocols and not set(protocols) & matrix.NO_DATA and matrix.state_of(row, results)[0] in ("short", "owed"):
            expect(any((protocol, row["model"]) in listed for protocol in protocols), "no training for", protocols, row["model"])
    for protocol, model in listed:
        expect((ROOT / f"datasets/protocols/{protocol}.toml").exists(), "no protocol", protocol)
    strangers = set(lines_of("gpu_trainings.txt")) - set(owed)
    expect(not strangers, "gpu_trainings.txt has", strangers)
    begun = {path.parent.relative_to(ROOT / "perf/unfinished").as_posix() for path in (ROOT / "perf/unfinished").rglob("checkpoint.safetensors")}
    folders = {"{}/{}/seed-{}".format(*line.split()[:2], line.split()[3]) for line in owed if ": " not in line}
    expect(begun <= folders, "begun and not owed:", begun - folders)


def check_wheels():
    """The page on wheels has the figures of the list, the published ones, and the regrets of a choice by geometry."""
    page = (ROOT / "docs/results/wheels.md").read_text()
    rows = {tuple(cell.strip() for cell in line.split("|")[2:7]) for line in page.splitlines() if line.startswith("| ")}
    for model in ("tnp-d", "lbanp", "cmanp"):
        ours = tuple(f"{mean:.2f} ± {spread:.2f}" for mean, spread in matrix.REGRETS["tnp/wheel", model][1].values())
        published = tuple(f"{row['value']} ± {row['second']}" for row in matrix.read_rows() if row["protocol"] == "tnp/wheel" and row["model"] == model)
        expect(ours in rows and published in rows, model, "is not on the page:", ours, published)
    lost = [(0.2 * d * d, (1 - d * d) * (48.8 + 3 * 49) / 5 + d * d * 4 * 0.2 / 5) for d in (0.7, 0.9, 0.95, 0.99, 0.995)]
    geometry = tuple(f"{100 * ours / uniform:.2f}" for ours, uniform in lost)
    expect(geometry in rows, "not on the page:", geometry)


def check_files():
    with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
        page, readme, stores = (pathlib.Path(folder) / name for name in ("papers.md", "README.md", "results"))
        stores.mkdir()

        def run(*more):
            return subprocess.run([sys.executable, ROOT / "perf/paper_matrix.py", "--results", stores, "--page", page, "--readme", readme, *more],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        readme.write_text("A\n")
        done = run()
        expect(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and f"{readme} must hold" in done.stderr, done.stderr)
        readme.write_text(f"A\n{matrix.MARKS[0]}\nold\n{matrix.MARKS[1]}\nB\n")
        done = run("--check")
        expect(done.returncode == 1 and "papers.md and" in done.stderr and "README.md not up to date" in done.stderr, done.stderr)
        expect("old" in readme.read_text() and not page.exists(), "--check writes nothing")
        expect(run().returncode == 0 and run("--check").returncode == 0, "it is up to date now")
        text = " ".join(readme.read_text().split())
        expect(text.startswith("A <!-- papers: begin --> The tables of five papers have 431 numbers. By state: ") and text.endswith("--> B"), text)
        within = STORE | {"runs": [], "not_run": [], "other_versions": [], "rows": [
            {"test": "rbf", "figure": "log_likelihood", "model": "cnp", "verdict": "within", "seeds": [0, 1], "difference": 0.0, "half_interval": 0.1}]}
        (stores / "a.json").write_text(json.dumps(within))
        expect(run("--check").returncode == 1, "a store has changed")
        expect(run().returncode == 0 and "By state: 2 *full, within*;" in " ".join(readme.read_text().split()), readme.read_text())
        expect("| eqtnp | 40 | 1 | 0 |" in page.read_text(), page.read_text())
        done = run("--paper", "eqtnp")
        expect(done.returncode == 0 and "*full, within*: `cnp` (RBF; 2 seeds)." in done.stdout, done.stdout)


if __name__ == "__main__":
    check_verdicts()
    check_regrets()
    check_numbers()
    check_trainings()
    check_wheels()
    check_files()
