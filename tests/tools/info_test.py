#!/usr/bin/env python3
"""Tests of info, of list weights, of the manual and of completion: info_test.py PATH_TO_NPZOO"""

import json
import os
import re
import shutil
import subprocess
import sys

from cli_support import (HERE, PROGRAM, as_json, case, check_error, checkpoint, commands, expect, fail, npzoo, read_safetensors, run_cases,
                         small_protocol, succeed, write, wrong_usage)

STORE = HERE / "store"
os.environ["NPZOO_WEIGHTS"] = str(STORE)
NAME = "cnp:quick/gp1d"


def stored():
    path = STORE / "quick/gp1d/cnp.safetensors"
    if not path.exists():
        path.parent.mkdir(parents=True)
        at = checkpoint("cnp", model="cnp")
        scores = write("scores.json", succeed("eval", "--checkpoint", at, "--batches", 2, "--json"))
        succeed("export", "--checkpoint", at, "--evaluation", scores, "--out", path)
    return path


@case
def info_of_weights_is_their_card():
    path = stored()
    text = succeed("info", NAME)
    metadata = read_safetensors(path)[0]
    (score,) = json.loads(metadata["evaluation"])
    for part in (f"# {NAME}\n", "Conditional neural process (`cnp`; Garnelo", "1 input, 1 value, ", f"{path.stat().st_size / 1e6:.1f} MB",
                 "Trained under `quick/gp1d` (1D Gaussian", ": 30 of 30 updates of 4 tasks, seed 0", "Contexts of 3 to 32 points",
                 "inputs from -2 to 2", "noise of 0.05", f"rbf {score['log_likelihood']:.3f}", f"Made by `{metadata['command']}`."):
        expect(part in text, repr(part), "expected in:", text)
    expect(succeed("info", path).replace(str(path), NAME) == text, "by path")
    (STORE / "quick/gp1d/cnp.card.md").write_text("# A card\n\nWhat it saw.\n")
    expect(succeed("info", NAME) == "# A card\n\nWhat it saw.\n\n" + text, "the card comes first")
    found = as_json("info", NAME)
    expect((found["kind"], found["card"], found["bytes"]) == ("weights", "# A card\n\nWhat it saw.\n", path.stat().st_size), found)
    (STORE / "quick/gp1d/cnp.card.md").unlink()
    found = as_json("info", NAME)
    expect((found["card"], found["inputs"], found["values"], found["metric"]) == (None, 1, 1, "log_likelihood"), found)
    expect(found["evaluation"][0]["log_likelihood"] == score["log_likelihood"], found)


@case
def info_of_a_training():
    at = checkpoint("best", small_protocol(), "cnp", steps=95)
    text = succeed("info", at)
    expect("95 of 95 updates" in text and "Best validation: log-likelihood " in text and "Made by" not in text, text)
    found = as_json("info", at)
    expect((found["kind"], found["steps"], found["steps_to_go"], found["evaluation"]) == ("training", 95, 0, []), found)


@case
def info_of_a_protocol_is_all_of_its_text():
    text = succeed("info", "tnp-kr/bo1d-matern")  # extends another
    path = write("whole.toml", text)
    expect("extends" not in text and "[models.tnp-kr-fast]" in text, text)
    expect(succeed("info", path) == text, "of a file")
    found = as_json("info", "tnp-kr/bo1d-matern")
    expect((found["kind"], found["text"], found["inputs"], found["tests"]) == ("protocol", text, 1, ["matern32"]), found)


@case
def info_of_a_model():
    text = succeed("info", "cnp")
    for part in ("# cnp\n", "\nConditional neural process\n", "\nPaper: Garnelo et al., Conditional neural processes, ICML 2018\n",
                 '\n  architecture = "tnp"\n', "--set models.cnp.KEY=VALUE"):
        expect(part in text, repr(part), "expected in:", text)
    expect(re.search(r"^tnp/gp-rbf +215682  cnp:tnp/gp-rbf$", text, re.MULTILINE), text)
    found = as_json("info", "cnp")
    expect((found["kind"], found["name"], found["title"]) == ("model", "cnp", "Conditional neural process"), found)
    (row,) = [row for row in found["protocols"] if row["protocol"] == "tnp/gp-rbf"]
    expect((row["parameters"], row["weights"], row["options"]["architecture"]) == (215682, "cnp:tnp/gp-rbf", "tnp"), row)


@case
def a_protocol_with_one_set_of_weights_stands_for_them():
    stored()
    text = succeed("info", "quick/gp1d")
    expect(text == succeed("info", NAME) + "- Text of the protocol: `npzoo info quick/gp1d --text`.\n", text)
    expect(succeed("info", "quick/gp1d", "--text").startswith("name = "), "text of the protocol")
    expect(succeed("info", "quick/gp1d", "--set", "data.points=40").count("points = 40") == 1, "text of a changed protocol")
    expect(as_json("info", "quick/gp1d") == as_json("info", NAME), "as JSON")


@case
def info_refuses_unknown_names():
    stored()
    fail("info", "tnp-kr/gp1d-matrn", naming=["[info] there is no file, model, protocol or weights", "did you mean 'tnp-kr/gp1d-matern'?"])
    fail("info", "cnp:quick/gp1", naming=[f"did you mean '{NAME}'?"])
    fail("info", "tnpd", naming=["did you mean 'tnp-d'?"])
    for name in ("x" * 50, "zebra"):
        done = npzoo("info", name)
        check_error(done, "npzoo list models, weights or protocols")
        expect(len(done.stderr) < 200, done.stderr)
    fail("info", "none.safetensors", naming=["[none.safetensors] cannot open"])
    fail("info", "tnp-d", "--set", "data.points=3", naming=["--set found"])
    fail("info", "none.toml", naming=["none.toml"])
    fail("info", write("t.csv", "x,y\n1,2\n3,4\n"), naming=["a table (CSV)"])
    wrong_usage("info")


@case
def weights_are_listed_with_their_sizes():
    path = stored()
    (row,) = [row for row in as_json("list", "weights") if row["name"] == NAME]
    expect((row["inputs"], row["values"], row["metric"], row["bytes"]) == (1, 1, "log_likelihood", path.stat().st_size), row)
    head, *lines = succeed("list", "weights").splitlines()
    expect(head.split() == ["name", "inputs", "values", "parameters", "file", "for", "scores"], head)
    (line,) = [line for line in lines if line.startswith(NAME)]
    expect(line.split()[:6] == [NAME, "1", "1", str(row["parameters"]), f"{path.stat().st_size / 1e6:.1f}", "MB"], line)
    expect(f"log-likelihood: rbf {row['evaluation'][0]['log_likelihood']:.3f} ± " in line, line)
    expect("1D Gaussian processes for a first try  " in line and row["description"].startswith("1D Gaussian processes"), line)
    (line,) = [line for line in lines if line.startswith("kriging-tnp:npzoo/any-1d")]
    expect("(predict's own choice)" in line, line)


@case
def tasks_are_tables():
    names = ("all", "truth", "context", "targets")
    files = {name: HERE / f"{name}.csv" for name in names}
    args = ["sample", "tnp/gp-rbf", "--seed", 4, "--out", files["all"], "--truth", files["truth"], "--context", files["context"],
            "--targets", files["targets"]]
    result = as_json(*args)
    rows = {name: [line.split(",") for line in path.read_text().splitlines()] for name, path in files.items()}
    expect([rows[name][0] for name in names] == [["x", "y"], ["x", "y"], ["x", "y"], ["x"]], rows)
    expect(result == {"tasks": 1, "rows": len(rows["all"]) - 1, "targets": len(rows["truth"]) - 1}, result)
    both = sorted(rows["context"][1:] + rows["truth"][1:], key=lambda row: float(row[0]))
    blank = [[x, "" if [x, y] in rows["truth"] else y] for x, y in both]
    expect(rows["all"][1:] == blank, "all points by x, targets without values")
    expect(rows["targets"][1:] == [[x] for x, _ in rows["truth"][1:]], "targets")
    again = succeed("sample", "tnp/gp-rbf", "--seed", 4, "--out", "-")
    expect(again == files["all"].read_text(), "the same seed")
    expect(succeed("sample", "tnp/gp-rbf", "--seed", 5, "--out", "-") != again, "another seed")
    several = succeed("sample", "tnp-kr/gp2d-rbf", "--tasks", 3, "--set", "data.context=[64, 65]", "--out", "-").splitlines()
    expect(several[0] == "task,x1,x2,y", several[0])
    tasks = [line.split(",") for line in several[1:]]
    expect({row[0] for row in tasks} == {"1", "2", "3"}, "tasks")
    places = [tuple(row[:3]) for row in tasks]
    expect(len(places) == len(set(places)), "a target at a place of the context is not told twice")
    wrong_usage("sample", "tnp/gp-rbf", naming=["sample needs a file to write: --out"])
    fail("sample", "tnp/gp-rbf", "--out", files["all"], "--truth", files["all"], naming=["--truth", "is --out as well"])


def plain(page):
    """Returns the text of a page of the manual, without roff."""
    text = re.sub(r"\\f[BIR]", "", page).replace("\\-", "-").replace("\\e", "\\")
    return re.sub(r"^\\&", "", text, flags=re.MULTILINE)


@case
def the_manual_agrees_with_help():
    pages = [[], ["bench"], *commands()]
    for command in pages:
        page, text = plain(succeed("help", "--man", *command)), succeed("help", *command)
        name = "-".join(["npzoo", *command])
        expect(page.startswith(f".TH {name.upper()} 1 ") and f"\n.SH NAME\n{name} - " in page, page)
        wanted = re.sub(r"\s+", " ", text)
        flags = re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE)
        expect([flag for flag in flags if f"\n.TP\n{flag}" not in page] == [], command, flags)
        for help_line in re.findall(r"^\.TP\n--.*\n(.*?)(?: \(default: .*\))?(?: \(required\))?$", page, re.MULTILINE):
            expect(re.sub(r"\s+", " ", help_line) in wanted, help_line, "expected in:", text)
        for below in re.findall(r"^  ([a-z-]+) +[A-Z]", text.partition("Subcommands:")[2], re.MULTILINE):
            expect(f"\n.TP\n{below}\n" in page and f"{name}-{below}(1)" in page, command, below)
        if shutil.which("groff"):
            checked = subprocess.run(["groff", "-man", "-ww", "-z", "-Kutf8"], input=succeed("help", "--man", *command), text=True,
                                     stderr=subprocess.PIPE, stdout=subprocess.PIPE)
            expect(checked.returncode == 0 and not checked.stderr, command, checked.stderr)
    wrong_usage("help", "--man", "trian", naming=["did you mean 'train'?"])


def candidates(line):
    return succeed("completion", "candidates", line).split()


@case
def words_are_completed():
    stored()
    every = {command[0] for command in commands()}
    expect(every <= set(candidates("npzoo ")), candidates("npzoo "))
    cases = {"npzoo tr": ["train"], "npzoo train --res": ["--resume"], "npzoo bench sc": ["scaling"],
             "npzoo bench scaling --me": ["--memory-limit"], "npzoo oracle quick/g": ["quick/gp1d"], "npzoo info quick/g": ["quick/gp1d"],
             "npzoo info cnp:quick": [NAME],
             "npzoo train --device cu": ["cuda"], "npzoo list w": ["weights"], "npzoo list --device=em": ["--device=emulated"],
             "npzoo help exp": ["export"], "npzoo list models tnp-kr-fa": ["tnp-kr-fast"], "npzoo info tnp-kr-fas": ["tnp-kr-fast", "tnp-kr-fast:tnp-kr/gp1d-rbf"], "npzoo train --model tnp-kr-fa": ["tnp-kr-fast"], "npzoo reproduce quick/g": ["quick/gp1d"],
             "npzoo bench scaling --models cnp,tnp-kr-fu": ["cnp,tnp-kr-full"], "npzoo train --steps ": [], "npzoo train --out x": [],
             "npzoo train --steps 3 --mod": ["--model"], "npzoo frobnicate x": [], "npzoo train --frob=": [], "npzoo bench attention --mask c":
             ["causal"], "npzoo completion ": ["bash", "zsh", "fish", "candidates", "--help"]}
    for line, expected in cases.items():
        expect(candidates(line) == expected, line, candidates(line))
    for flag in ("--checkpoint", "--init", "--grid"):
        command = {"--checkpoint": "eval", "--init": "train", "--grid": "plot"}[flag]
        expect(NAME in candidates(f"npzoo {command} {flag} cnp:q"), flag)
    expect(candidates("npzoo plot --grid tnp-d:x,cnp:quick") == [f"tnp-d:x,{NAME}"], candidates("npzoo plot --grid tnp-d:x,cnp:quick"))
    expect("tnp/gp-rbf" in candidates("npzoo train --protocol t"), "protocols")
    wrong_usage("completion", "bash", "npzoo ")
    wrong_usage("completion", "candidates", naming=["expected a command line"])


@case
def shells_ask_the_program():
    stored()
    script = write("completion.bash", succeed("completion", "bash"))

    def completed(line):
        text = subprocess.run(["bash", "-c", f"source '{script}'; COMP_LINE=$1; COMP_POINT=${{#1}}; _npzoo '{PROGRAM}'; "
                               "printf '%s\\n' \"${COMPREPLY[@]}\"", "bash", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        expect(text.returncode == 0 and not text.stderr, line, text.stderr)
        return text.stdout.split()

    expect(completed("npzoo tr") == ["train"], completed("npzoo tr"))
    expect(completed("npzoo info cnp:q") == ["quick/gp1d"], "readline's word begins behind the colon:", completed("npzoo info cnp:q"))
    expect(completed("npzoo list --device=em") == ["emulated"], completed("npzoo list --device=em"))
    expect(completed("npzoo train --out x") == [], "files are left to the shell")
    for shell in ("zsh", "fish"):
        text = succeed("completion", shell)
        expect("completion candidates" in text, shell)
        if shutil.which(shell):
            checked = subprocess.run([shell, "-n"], input=text, text=True, stderr=subprocess.PIPE)
            expect(checked.returncode == 0, shell, checked.stderr)


if __name__ == "__main__":
    sys.exit(run_cases())
