"""Imputer as scikit-learn wants its transformers."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
from sklearn.base import clone
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import npzoo
from npzoo import Imputer


@pytest.fixture(scope="module")
def rows():
    """Columns that depend on each other, the first of them not linearly, and some values left out."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=400)
    truth = np.stack([np.exp(z), 5 - 2 * z, z + rng.normal(0, 0.3, 400), rng.normal(size=400)], axis=1) + rng.normal(0, 0.1, (400, 4))
    return truth, np.where(rng.uniform(size=truth.shape) < 0.2, np.nan, truth)


@pytest.mark.parametrize("options", [{}, {"add_indicator": True}, {"keep_empty_features": True}])
def test_check_estimator(options):
    results = check_estimator(Imputer(**options), on_fail=None, on_skip=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []
    assert len(results) > 40


def test_missing_values_follow_from_the_others(rows):
    truth, shown = rows
    missing = np.isnan(shown)
    filled, std = Imputer().fit(shown).transform(shown, return_std=True)
    np.testing.assert_array_equal(filled[~missing], shown[~missing])
    assert np.all(std[~missing] == 0) and np.all(std[missing] > 0)
    by_means = SimpleImputer().fit_transform(shown)
    for c in range(3):
        at = missing[:, c]
        assert np.abs(filled - truth)[at, c].mean() < 0.4 * np.abs(by_means - truth)[at, c].mean()
        assert 0.9 < np.mean(np.abs(filled - truth)[at, c] < 1.96 * std[at, c]) <= 1
    alone = missing[:, 3]  # depends on nothing
    assert np.abs(filled - by_means)[alone, 3].mean() < 0.2


def test_figures_are_those_of_fill(rows):
    shown = rows[1]
    filled, std = Imputer().fit(shown).transform(shown, return_std=True)
    table = npzoo.fill({f"c{i}": column for i, column in enumerate(shown.T)}, inputs="none")
    for i in range(4):
        np.testing.assert_array_equal(filled[:, i], table[f"mean_c{i}"])
        np.testing.assert_array_equal(std[:, i], table[f"std_c{i}"])


def test_rows_do_not_depend_on_those_that_come_with_them(rows):
    truth, shown = rows
    imputer = Imputer().fit(shown[:300])
    together = imputer.transform(shown[300:])
    for i in (0, 17, 99):
        np.testing.assert_array_equal(imputer.transform(shown[300 + i : 301 + i])[0], together[i])
    unordered = Imputer().fit(shown[:300][::-1])
    np.testing.assert_allclose(unordered.transform(shown[300:]), together, rtol=1e-9)
    error = np.abs(together - truth[300:])[:, :3][np.isnan(shown[300:, :3])]
    assert error.mean() < 0.4


def test_a_fit_without_gaps_predicts_rows_with_some(rows):
    truth = rows[0]
    shown = truth[300:].copy()
    shown[:, 1] = np.nan
    filled, std = Imputer().fit(truth[:300]).transform(shown, return_std=True)
    linear = IterativeImputer(random_state=0).fit(truth[:300]).transform(shown)
    assert np.abs(filled - truth[300:])[:, 1].mean() < 0.7 * np.abs(linear - truth[300:])[:, 1].mean()
    assert 0.9 < np.mean(np.abs(filled - truth[300:])[:, 1] < 1.96 * std[:, 1]) <= 1


def test_columns_that_come_and_go(rows):
    shown = np.column_stack([rows[1][:50], np.full(50, np.nan), np.full(50, 7.0)])
    imputer = Imputer(add_indicator=True).fit(shown)
    filled = imputer.transform(shown)
    assert filled.shape == (50, 5 + 5)  # four columns with gaps, the empty one, which is an indicator alone, the constant one
    assert list(imputer.get_feature_names_out()) == ["x0", "x1", "x2", "x3", "x5", *(f"missingindicator_x{i}" for i in range(5))]
    np.testing.assert_array_equal(filled[:, 5:], np.isnan(shown[:, :5]))
    assert np.all(filled[:, 4] == 7)
    kept = Imputer(keep_empty_features=True).fit(shown).transform(shown)
    assert kept.shape == (50, 6) and np.all(kept[:, 4] == 0)
    nothing = Imputer().fit(rows[1]).transform(np.full((1, 4), np.nan))
    np.testing.assert_allclose(nothing[0], np.nanmean(rows[1], axis=0), rtol=1e-9)


def test_sources_name_the_columns_that_help(rows):
    sources = Imputer().fit(rows[1]).sources_
    assert sources.shape == (4, 4) and np.all(np.diag(sources) == 0)
    np.testing.assert_allclose(sources.sum(axis=1), 1)
    assert sources[1, 3] < 0.1 < sources[1, 0] + sources[1, 2]


def test_pickles_clones_and_pipelines(rows):
    shown = rows[1]
    imputer = Imputer().fit(shown)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(imputer)).transform(shown), imputer.transform(shown))
    assert not hasattr(clone(imputer), "sources_")
    model = make_pipeline(Imputer(), LinearRegression()).fit(shown[:, 1:], np.nan_to_num(shown[:, 0]))
    assert model.predict(shown[:, 1:]).shape == (400,)


def test_wrong_rows_name_what_is_wrong(rows):
    with pytest.raises(npzoo.InvalidInput, match="3 columns without a value"):
        Imputer().fit(np.full((5, 3), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        Imputer().fit([[1.0, np.inf], [2.0, 3.0]])
    with pytest.raises(ValueError, match="2 features"):
        Imputer().fit(rows[1]).transform([[1.0, 2.0]])
    with pytest.raises(npzoo.InvalidInput, match="at most 500 columns"):
        Imputer().fit(np.ones((2, 501)))
