"""The examples of the pages about other libraries: they run, and print what the pages show."""

import contextlib
import io
import pathlib
import re

import numpy as np
import pytest

pytest.importorskip("pandas")

ROOT = pathlib.Path(__file__).parents[2]
SECTIONS = {
    ("python-adapters", "sktime"): ["sktime"],
    ("python-adapters", "darts"): ["darts"],
    ("python-adapters", "Optuna"): ["optuna"],
    ("python-adapters", "xarray"): ["xarray"],
    ("python-recipes", "DuckDB"): ["duckdb"],
    ("python-recipes", "GeoPandas in, GeoTIFF out"): ["geopandas", "rasterio", "xarray"],
}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def sections(page):
    text = (ROOT / "docs/tutorials" / f"{page}.md").read_text()
    return {part.split("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


def test_every_section_is_here():
    assert set(SECTIONS) == {(page, title) for page in ("python-adapters", "python-recipes") for title in sections(page)}


@pytest.mark.parametrize("page, title", SECTIONS)
def test_sections(page, title, tmp_path, monkeypatch):
    for library in SECTIONS[page, title]:
        pytest.importorskip(library)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", sections(page)[title], re.MULTILINE | re.DOTALL)
    assert len(blocks) == sections(page)[title].count("```python")
    for block, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), names)
        assert NUMBER.sub("#", printed.getvalue()).split() == NUMBER.sub("#", expected).split()
        figures = [[float(number) for number in NUMBER.findall(text)] for text in (printed.getvalue(), expected)]
        np.testing.assert_allclose(figures[0], figures[1], rtol=0.02, atol=0.01)
    if title.startswith("GeoPandas"):
        check_raster(tmp_path / "rain.tif", names["points"], names["known"])


def check_raster(path, points, known):
    """The raster has, at the centres of its cells, what npzoo predicts there."""
    import npzoo
    import rasterio

    with rasterio.open(path) as raster:
        assert raster.crs == points.crs and raster.descriptions == ("mean_rain", "std_rain")
        cells = [(3, 5), (30, 11), (17, 40)]
        centres = np.array([raster.xy(*cell) for cell in cells])
        expected = npzoo.fill(known, ["x", "y"], "rain", targets={"x": centres[:, 0], "y": centres[:, 1]})
        for band, name in ((1, "mean_rain"), (2, "std_rain")):
            np.testing.assert_allclose([raster.read(band)[cell] for cell in cells], expected[name], rtol=1e-4)
