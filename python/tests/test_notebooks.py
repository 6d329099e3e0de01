"""The notebooks run from top to bottom. They are MyST Markdown, whose code cells are Python."""

import pathlib
import re

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.md"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    matplotlib.use("Agg")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    assert len(cells) >= 3
    names: dict = {}
    for cell in cells:
        exec(compile(cell, str(path), "exec"), names)
    import matplotlib.pyplot as plt

    assert plt.get_fignums()
    plt.close("all")
