"""NeuralProcessRegressor as scikit-learn wants its estimators."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.utils.estimator_checks import check_estimator

import npzoo
from npzoo import NeuralProcessRegressor


@pytest.mark.parametrize("weights", [None, "gp"])
def test_check_estimator(weights):
    results = check_estimator(NeuralProcessRegressor(weights=weights), on_fail=None, on_skip=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []
    assert len(results) > 40


@pytest.mark.parametrize("features", [1, 2, 3, 4])
@pytest.mark.parametrize("targets", [(), (2,)])
def test_shapes_are_those_of_a_gaussian_process(features, targets):
    rng = np.random.default_rng(0)
    X, y, Z = rng.normal(size=(30, features)), rng.normal(size=(30, *targets)), rng.normal(size=(5, features))
    ours, theirs = NeuralProcessRegressor().fit(X, y), GaussianProcessRegressor(alpha=1e-2).fit(X, y)
    assert ours.backend_ == ("gp" if features > 3 else f"kriging-tnp:npzoo/any-{features}d")
    assert ours.predict(Z).shape == theirs.predict(Z).shape
    assert ours.predict(Z, return_std=True)[1].shape == theirs.predict(Z, return_std=True)[1].shape
    assert ours.sample_y(Z, 4).shape == theirs.sample_y(Z, 4).shape
    assert ours.predict_quantiles(Z, [0.1, 0.5, 0.9]).shape == (5, *targets, 3)
    with pytest.raises(RuntimeError, match="At most one"):
        ours.predict(Z, return_std=True, return_cov=True)
    if features > 3:
        assert ours.predict(Z, return_cov=True)[1].shape == theirs.predict(Z, return_cov=True)[1].shape
    else:
        with pytest.raises(ValueError, match="predicts each target by itself"):
            ours.predict(Z, return_cov=True)


def test_three_features_are_fitted_where_that_predicts_hidden_points_better():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(90, 3))
    smooth = np.sin(5 * X[:, 0]) + 2 * X[:, 1]
    assert NeuralProcessRegressor().fit(X, smooth).backend_ == "gp"
    assert NeuralProcessRegressor().fit(X, smooth + rng.normal(0, 2, 90)).backend_ == "kriging-tnp:npzoo/any-3d"
    table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": np.where(rng.uniform(size=90) < 0.2, np.nan, smooth)}
    filled = npzoo.fill(table, ["a", "b", "c"], "y")
    np.testing.assert_array_equal(filled["mean_y"], npzoo.fill(table, ["a", "b", "c"], "y", weights="gp")["mean_y"])
    within = npzoo.fill(table, ["a", "b", "c"], "y", bounds=(-5, 5))
    np.testing.assert_array_equal(within["std_y"], npzoo.fill(table, ["a", "b", "c"], "y", weights="gp", bounds=(-5, 5))["std_y"])
    np.testing.assert_array_equal(npzoo.fill(table, ["a", "b"], "y", covariates="c", bounds=(-5, 5), weights="npzoo/any-3d")["std_y"],
                                  npzoo.fill(table, ["a", "b", "c"], "y", weights="npzoo/any-3d", bounds=(-5, 5))["std_y"])


def test_predictions_are_those_of_fill():
    x = np.linspace(0, 5, 20)
    y = np.sin(x)
    mean, std = NeuralProcessRegressor().fit(x[:, None], y).predict([[2.2], [7.0]], return_std=True)
    filled = npzoo.fill({"x": x, "y": y}, inputs="x", values="y", targets={"x": np.array([2.2, 7.0])})
    np.testing.assert_array_equal(mean, filled["mean_y"])
    np.testing.assert_array_equal(std, filled["std_y"])


def points(features, rows=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, features))
    return X, np.sin(5 * X[:, 0]) + X[:, -1] + rng.normal(0, 0.05, rows), rng.uniform(size=(6, features))


@pytest.mark.parametrize("kernel", [None, "matern-3/2", "rbf + linear"])
def test_a_gaussian_process_is_that_of_fill(kernel):
    X, y, Z = points(3)
    table, targets = ({name: a[:, i] for i, name in enumerate("abc")} for a in (X, Z))
    filled = npzoo.fill({**table, "y": y}, ["a", "b", "c"], "y", targets=targets, weights="gp", kernel=kernel)
    regressor = NeuralProcessRegressor("gp", kernel).fit(X, y)
    mean, std = regressor.predict(Z, return_std=True)
    np.testing.assert_array_equal(mean, filled["mean_y"])
    np.testing.assert_array_equal(std, filled["std_y"])
    if kernel is not None:
        assert regressor.processes_[0].kernel == kernel
    assert "noise" in regressor.processes_[0].hyperparameters(["a", "b", "c"])


@pytest.mark.parametrize("targets", [1, 2])
def test_covariances_and_samples_of_a_gaussian_process(targets):
    X, y, Z = points(2)
    y = y if targets == 1 else np.stack([y, 1000 * y**2], axis=1)
    regressor = NeuralProcessRegressor("gp").fit(X, y)
    mean, std = regressor.predict(Z, return_std=True)
    same, cov = regressor.predict(Z, return_cov=True)
    np.testing.assert_array_equal(same, mean)
    np.testing.assert_allclose(np.sqrt(np.einsum("ii...->i...", cov)), std, rtol=1e-9)
    drawn = regressor.sample_y(Z, 20000, random_state=1)
    np.testing.assert_array_equal(drawn, regressor.sample_y(Z, 20000, random_state=1))
    np.testing.assert_allclose(drawn.mean(axis=-1), mean, atol=0.05 * std.max())
    found = np.cov(drawn if targets == 1 else drawn[:, 1])
    expected = cov if targets == 1 else cov[..., 1]
    np.testing.assert_allclose(found, expected, atol=0.06 * expected.max())


def test_many_points_have_no_covariance():
    X, y, Z = points(1, rows=2100)
    regressor = NeuralProcessRegressor("gp", "matern-3/2").fit(X, y)
    assert np.abs(regressor.predict(Z) - np.sin(5 * Z[:, 0]) - Z[:, 0]).max() < 0.2
    with pytest.raises(npzoo.InvalidInput, match="expected at most 2000"):
        regressor.predict(Z, return_cov=True)


def test_pickles_clones_and_searches():
    pandas = pytest.importorskip("pandas")
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.uniform(size=(40, 2)), columns=["a", "b"])
    y = 2 * X["a"] - X["b"]
    fitted = NeuralProcessRegressor().fit(X, y)
    assert list(fitted.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    process = NeuralProcessRegressor("gp").fit(X, y)
    again = pickle.loads(pickle.dumps(process))
    for ours, theirs in zip(process.predict(X, return_cov=True), again.predict(X, return_cov=True)):
        np.testing.assert_array_equal(ours, theirs)
    assert again.processes_[0].log_density == process.processes_[0].log_density
    assert clone(fitted).get_params() == fitted.get_params()
    search = GridSearchCV(make_pipeline(StandardScaler(), NeuralProcessRegressor()),
                          {"neuralprocessregressor__weights": [None, "gp"]}, cv=2)
    assert search.fit(X, y).score(X, y) > 0.95


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(npzoo.InvalidInput, match=r"\[fit\] 3 features found, expected 1"):
        NeuralProcessRegressor(weights="npzoo/any-1d").fit(np.ones((4, 3)), np.ones(4))
    with pytest.raises(npzoo.InvalidInput, match=r"\[fit\] kernel 'rbf' found beside weights"):
        NeuralProcessRegressor("npzoo/any-1d", "rbf").fit(np.ones((4, 1)), np.ones(4))
    with pytest.raises(npzoo.InvalidInput, match=r"\[gp\] kernel 'cosine' found"):
        NeuralProcessRegressor("gp", "cosine").fit(np.ones((4, 1)), np.ones(4))
