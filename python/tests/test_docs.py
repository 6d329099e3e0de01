"""The examples of the documentation strings and of the pages, and the tables of flags and arguments."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest

import npzoo

ROOT = pathlib.Path(__file__).parents[2]
MODULES = ["npzoo"] + [f"npzoo.{m.name}" for m in pkgutil.iter_modules(npzoo.__path__) if m.name not in ("__main__", "_core")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name in ("npzoo.darts", "npzoo.optuna", "npzoo.sktime", "npzoo.torch", "npzoo.xarray"):
        pytest.importorskip(name.removeprefix("npzoo."))
    if name in ("npzoo._imputer", "npzoo._regressor"):
        pytest.importorskip("sklearn", minversion="1.6")
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


def test_everything_public_is_documented():
    for name in npzoo.__all__:
        assert getattr(npzoo, name).__doc__, name


@pytest.mark.parametrize("function", [npzoo.fill, npzoo.score, npzoo.forecast, npzoo.backtest, npzoo.plot, npzoo.train, npzoo.evaluate,
                                      npzoo.complete, npzoo.events.next, npzoo.events.log_likelihood], ids=lambda f: f.__name__)
def test_every_argument_is_documented_once(function):
    """In sections that begin with "Parameters", each argument has an entry `name : type` or shares one with others."""
    text = inspect.getdoc(function)
    sections = re.split(r"^(.+)\n-{3,}$", text, flags=re.MULTILINE)
    headings = sections[1::2]
    assert {"Parameters", "Returns", "Raises", "Examples"} <= set(headings)
    groups = [body for heading, body in zip(headings, sections[2::2]) if heading.startswith("Parameters")]
    entries = [line.split(" : ")[0] for body in groups for line in body.splitlines() if re.match(r"[a-z]", line)]
    documented = [name for entry in entries for name in entry.split(", ")]
    assert sorted(documented) == sorted(inspect.signature(function).parameters)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_pages(page, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    pytest.importorskip("sklearn", minversion="1.6")
    pytest.importorskip("matplotlib").use("Agg")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 2))
    names = {"X": X, "y": X[:, 0] - X[:, 1], "X_new": rng.uniform(size=(5, 2))}
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert (tmp_path / "filled.svg").stat().st_size > 5000


PAGE = (ROOT / "docs/python.md").read_text()
COMMANDS = {"predict": (npzoo.fill, npzoo.score, npzoo.forecast, npzoo.backtest, npzoo.events.next), "train": (npzoo.train,),
            "eval": (npzoo.evaluate,), "optimise": (npzoo.Optimiser.__init__,), "complete": (npzoo.complete,)}


def rows_of(command):
    """The rows of the table of flags of a command: flags, arguments."""
    section = next(part for part in PAGE.split("\n### ")[1:] if f"`npzoo {command}`" in part.split("\n")[0]).split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    alone = section.split("\n")[0].count("`npzoo ") == 1
    return [row for row in rows if alone or row[0].strip().startswith(f"`{command} ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_has_an_argument_or_a_reason(program, command):
    flags = set(re.findall(r"--[a-z][a-z-]*", " ".join(flags for flags, _ in rows_of(command))))
    help_text = program(command, "--help")
    known = set(re.findall(r"^ +(?:-\w,)?(--[a-z][a-z-]*)", help_text, re.MULTILINE)) - {"--help", "--options"}
    general = {"--data", "--threads", "--device", "--precision", "--json"}
    assert flags - general == known - general
    assert len(known) > 5


@pytest.mark.parametrize("command", COMMANDS)
def test_arguments_of_the_tables_exist(command):
    parameters = {name for function in COMMANDS[command] for name in inspect.signature(function).parameters}
    for flags, arguments in rows_of(command):
        if arguments.strip().startswith(("none", "as for", "the method", "the attributes")):
            continue
        words = [word for word in re.findall(r"`(\w+)(?:=[^`]*)?`", arguments) if not word.startswith("npzoo")]
        assert words or "npzoo." in arguments, flags
        assert set(words) <= parameters, flags


def test_unusual_values(tmp_path, monkeypatch, capsys):
    """The tutorial finds the faults that it says it finds."""
    pytest.importorskip("pandas")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    table = subprocess.run([sys.executable, ROOT / "docs/tutorials/faults.py"], check=True, stdout=subprocess.PIPE, text=True).stdout
    (tmp_path / "faults.csv").write_text(table)
    names, shown, text = {}, 0, (ROOT / "docs/tutorials/anomalies.md").read_text()
    for printed, language, block in re.findall(r"^(<!-- printed -->\n)?```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            exec(compile(block, "anomalies.md", "exec"), names)
        elif printed:
            lines = [line.split() for line in capsys.readouterr().out.splitlines()]
            expected = [line.split() for line in block.splitlines()]
            assert [line[:-1] for line in lines] == [line[:-1] for line in expected]
            assert [float(line[-1]) for line in lines[1:]] == pytest.approx([float(line[-1]) for line in expected[1:]], abs=0.2)
            shown += 1
    assert shown == 2


def test_troubleshooting_quotes_messages_of_the_sources():
    """Three words or more of each quoted message stand in the sources one after the other; numbers are filled in there."""
    files = [path for folder in ("engine", "datasets", "models", "tools", "python/npzoo") for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".cpp", ".cu", ".py", ".sh")] + [ROOT / "meson.build"]
    text = re.sub(r'"\s*\n\s*"', "", "".join(path.read_text() for path in files)).replace('\\"', '"')
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs/troubleshooting.md").read_text(), re.MULTILINE)
    assert len(rows) > 25
    for row in rows:
        if "Preparing metadata" in row:
            continue
        words = re.sub(r"\b\d+\b", "{}", re.search(r"`([^`]+)`", row)[1]).split()
        assert any(" ".join(words[i:i + 3]) in text for i in range(len(words) - 2)), row
