"""What type checkers know of the package: its stub, and mypy on programs that use it."""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys
import types

import pytest

import npzoo

PACKAGE = pathlib.Path(npzoo.__file__).parent
# For the programs and the package. nanobind writes `list` and `dict` alone.
CONFIGURATION = """
[mypy]
strict = True
disallow_subclassing_any = False
disallow_untyped_decorators = False
warn_return_any = False
[mypy-npzoo._core]
disallow_any_generics = False
[mypy-darts.*,optuna.*,scipy.*,sklearn.*,sktime.*,torch.*,tqdm.*]
follow_imports = skip
follow_imports_for_stubs = True
ignore_missing_imports = True
"""
# The classes of libraries that signatures name. Mypy needs half a minute to read the libraries, and some have no types.
STAND_INS = {"matplotlib/__init__": [], "matplotlib/axes": ["Axes"], "matplotlib/dates": [], "matplotlib/pyplot": [],
             "mpi4py/__init__": [], "mpi4py/MPI": ["Intracomm"], "pandas": ["DataFrame"], "polars": ["DataFrame"],
             "pyarrow": ["RecordBatch", "Table"], "xarray": ["DataArray", "Dataset"]}
PROGRAM = """
import numpy as np
import npzoo

day = np.arange(20.0)
level = 50 + day
table = {"day": day, "level": np.where(day % 4 == 2, np.nan, level)}
filled = npzoo.fill(table, "day", quantiles=[0.05, 0.95], bounds=(0, None))
ahead = npzoo.forecast({"day": day, "level": level}, 3, time="day")
highest: float = max(filled["mean_level"].max(), ahead["mean_level"].max())
rows = npzoo.score(table, {"day": day, "level": level}, baselines=True)
errors: list[float] = [row["mae"] for row in rows]
model = npzoo.load("npzoo/gp-rbf")
prediction = model.condition([[0.0], [1.0]], [[0.5], [-0.5]]).query([[0.5]])
mean, std = prediction.mean.item(), prediction.std.item()
names = [name for name in npzoo.protocols() if npzoo.protocols(name)["inputs"] == 1]
try:
    npzoo.load("nothing", dtype=np.float64)
except npzoo.Error as error:
    print(error)
"""
MISTAKES = {
    'npzoo.fill(3)': '"TableT"',
    'npzoo.fill(table, quantile=[0.5])': 'did you mean "quantiles"?',
    'npzoo.fill(table, bounds=0)': '"bounds"',
    'npzoo.forecast(table, "3")': 'expected "int | None"',
    'model.predict([[0.0]], [[0.5]])': '"xt"',
    'model.nmae': 'has no attribute "nmae"',
    'npzoo.fil(table)': 'has no attribute "fil"',
    'npzoo.NeuralProcessRegressor(weight="gp")': '"weight"',
    'npzoo.protocols().keys()': 'has no attribute "keys"',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("mypy")  # keeps what the first run, of several seconds, learns of NumPy
    (folder / "mypy.ini").write_text(CONFIGURATION)
    for module, classes in STAND_INS.items():
        path = folder / "stubs" / f"{module}.pyi"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("from typing import Any\ndef __getattr__(name: str) -> Any: ...\n" + "".join(
            f"class {one}:\n  def __init__(self, *given: Any, **named: Any) -> None: ...\n  def __getattr__(self, name: str) -> Any: ...\n"
            for one in classes))
    (folder / "stubs/npzoo").symlink_to(PACKAGE)  # mypy takes no folder of installed packages
    return folder


def mypy(program, folder):
    """The messages of mypy about a program and the package: file, line and text."""
    (folder / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", ".cache", "program.py"], cwd=folder,
                          env={**os.environ, "MYPYPATH": "stubs"}, capture_output=True, text=True)
    print(done.stdout)
    assert re.search(r"^(Success|Found \d+ error)", done.stdout, re.MULTILINE), done.stderr
    return [(match[1], int(match[2]), match[3]) for match in re.finditer(r"^(\S+\.pyi?):(\d+): (?:error|note): (.*)$", done.stdout, re.MULTILINE)]


def public():
    """The public names of the package as expressions of a program, and the parameters that give them a meaning."""
    for name in sorted([*npzoo.__all__, "Imputer", "NeuralProcessRegressor"]):
        yield f"npzoo.{name}", ""
        thing = getattr(npzoo, name)
        if inspect.isclass(thing) and not issubclass(thing, (Exception, Warning)):
            own = [member for member, value in vars(thing).items() if isinstance(value, (property, types.FunctionType))]
            members = {member for member in [*own, *inspect.get_annotations(thing)] if not member.startswith("_")}
            yield from ((f"one.{member}", f"one: npzoo.{name}") for member in sorted(members))


def test_the_stub_is_python_and_has_the_exceptions():
    classes = {node.name: node for node in ast.parse((PACKAGE / "_core.pyi").read_text()).body if isinstance(node, ast.ClassDef)}
    for thing in (npzoo.Error, npzoo.FileError, npzoo.Interrupted, npzoo.InvalidInput, npzoo.OutOfMemory):
        assert [base.id for base in classes[thing.__name__].bases] == [base.__name__ for base in thing.__bases__]


def test_a_typical_program_passes_and_runs(folder):
    assert mypy(PROGRAM, folder) == []
    exec(compile(PROGRAM, "program", "exec"), {})


def test_adapters_of_other_libraries_pass(folder):
    program = ("import npzoo.darts, npzoo.optuna, npzoo.sktime, npzoo.torch, npzoo.xarray\nimport xarray\n"
               "npzoo.xarray.Accessor(xarray.Dataset()).fill(quantiles=[0.5]).mean_t\n")
    assert mypy(program, folder) == []
    (found,) = mypy(program + "npzoo.xarray.Accessor(xarray.Dataset()).fill(quantile=[0.5])\n", folder)
    assert found[1] == 4 and '"quantile"' in found[2]


def test_mistakes_are_found(folder):
    found = mypy(PROGRAM + "\n".join(MISTAKES), folder)
    first = PROGRAM.count("\n") + 1
    for number, (mistake, text) in enumerate(MISTAKES.items()):
        assert any(line == first + number and text in message for _, line, message in found), mistake


def test_a_result_is_of_the_kind_of_the_table(folder):
    program = "import pandas, polars, xarray, npzoo\n" + "".join(
        f"reveal_type(npzoo.{call})\n" for call in ("fill(pandas.DataFrame())", "fill(xarray.Dataset())", "forecast(polars.DataFrame(), 3)"))
    assert [message for _, _, message in mypy(program, folder)] == [
        f'Revealed type is "{kind}"' for kind in ("pandas.DataFrame", "xarray.Dataset", "polars.DataFrame")]


def test_nothing_public_is_of_unknown_type(folder):
    names = list(public())
    lines = [f"def check_{i}({parameter}) -> None: reveal_type({name})" for i, (name, parameter) in enumerate(names)]
    found = {line: message for _, line, message in mypy("\n".join(["import npzoo", *lines]), folder)}
    assert len(names) > 60
    for number, (name, parameter) in enumerate(names):
        revealed = re.fullmatch(r'Revealed type is "(.*)"', found[number + 2])[1]
        assert revealed != "Any" and not re.search(r"-> Any\b|(?<!\*)\b\w+: Any\b(?!\s*\[)", revealed), (name, parameter, revealed)
