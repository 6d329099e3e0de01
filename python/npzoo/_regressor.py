"""A scikit-learn regressor."""

from __future__ import annotations

import os
from typing import Any, Literal, Sequence, overload

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._arguments import probabilities, whole
from ._model import Model
from ._question import as_model, fill_options
from ._types import ArrayLike, Doubles
from ._warnings import warn


class NeuralProcessRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Regression with uncertainty by trained neural processes, without fitting.

    For one or two features the weights for any table answer: ``fit`` only keeps the points, and any number of them can
    be used. For three features and at most 1024 points, ``fit`` compares the weights with a Gaussian process on hidden
    points, and keeps the Gaussian process if it is clearly better. For more features or points, or with ``weights="gp"``,
    a Gaussian process answers. It is fitted to the points, with a lengthscale for each feature and a constant mean.
    ``backend_`` says which of them it is. Each target is standardised by itself.

    Parameters
    ----------
    weights : str, path, Model or None, default=None
        Trained weights by name, file or model; ``"gp"`` for a Gaussian process; None for one of them by the number of
        features.
    kernel : str or None, default=None
        The kernel of a Gaussian process, such as ``"matern-3/2 * periodic + linear"``; None for the likeliest of
        matern-1/2, matern-3/2, matern-5/2 and rbf.

    Attributes
    ----------
    backend_ : str
        The name of the weights, or ``"gp"``.
    X_train_, y_train_ : arrays
        The points.
    processes_ : list
        The Gaussian processes of the targets, with ``kernel``, ``hyperparameters(names)`` and ``log_density``; only with
        the backend ``"gp"``.
    n_features_in_ : int
    feature_names_in_ : array of names, if X had some.

    Examples
    --------
    >>> import numpy as np
    >>> from npzoo import NeuralProcessRegressor
    >>> X = np.linspace(0, 6, 30).reshape(-1, 1)
    >>> model = NeuralProcessRegressor().fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[1.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1)) < 0.05)
    True
    >>> model.backend_
    'kriging-tnp:npzoo/any-1d'
    """

    def __init__(self, weights: str | os.PathLike[str] | Model | None = None, kernel: str | None = None) -> None:
        self.weights = weights
        self.kernel = kernel

    def fit(self, X: ArrayLike, y: ArrayLike) -> NeuralProcessRegressor:
        """Takes points X (n, features) and values y (n,) or (n, targets)."""
        points, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=True, order="C")
        self.X_train_, self.y_train_ = points.copy(), np.array(values, dtype=np.float64)
        features = points.shape[1]
        weights = _core.usual_weights(features, 0, len(points)) if self.weights is None and self.kernel is None else self.weights
        if weights is None or (isinstance(weights, str) and weights == "gp"):
            return self._fit_processes()
        if self.kernel is not None:
            raise _core.InvalidInput(f"[fit] kernel {self.kernel!r} found beside weights, expected it with weights='gp'")
        model = as_model(self.weights, features)
        if (model.dim_x, model.dim_y) != (features, 1):
            raise _core.InvalidInput(f"[fit] {features} features found, expected {model.dim_x} and one target, as {model.name} trained "
                                     f"under {model.protocol} has")
        self.model_ = model
        self.backend_ = f"{model.name}:{model.protocol}"
        if self.weights is None and _core.compares_with_gp(features) and self._filled(points[:1], compare_gp=True)["weights"] == "gp":
            return self._fit_processes()
        return self

    def _fit_processes(self) -> NeuralProcessRegressor:
        self.backend_ = "gp"
        self.processes_ = [_core.GaussianProcess(self.X_train_, column, self.kernel or "auto") for column in self._columns()]
        return self

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False, return_cov: Literal[False] = False) -> Doubles: ...
    @overload
    def predict(self, X: ArrayLike, return_std: Literal[True], return_cov: Literal[False] = False) -> tuple[Doubles, Doubles]: ...
    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False, *, return_cov: Literal[True]) -> tuple[Doubles, Doubles]: ...
    @overload
    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Doubles | tuple[Doubles, Doubles]: ...
    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Doubles | tuple[Doubles, Doubles]:
        """Predicts means (n,) or (n, targets); with ``return_std`` also standard deviations, noise included.

        ``return_cov`` adds the covariance (n, n) or (n, n, targets) instead; only a Gaussian process has one, of at most 2000 points.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X = self._checked(X)
        if return_cov:
            if self.backend_ != "gp":
                raise _core.InvalidInput(f"[predict] {self.backend_} predicts each target by itself, expected return_std, or weights='gp'")
            means = [process.predict(X)[0] for process in self.processes_]
            return self._shaped(means, X), self._stacked([process.covariance(X) for process in self.processes_])
        mean, std, _, _ = self._figures(X)
        return (self._shaped(mean, X), self._shaped(std, X)) if return_std else self._shaped(mean, X)

    def predict_quantiles(self, X: ArrayLike, q: ArrayLike) -> Doubles:
        """Predicts quantiles with the probabilities ``q``: (n, Q) or (n, targets, Q)."""
        X, q = self._checked(X), probabilities(q)
        if wrong := [p for p in q if not 0 < p < 1]:
            raise _core.InvalidInput(f"[predict] the quantile {wrong[0]:g} found, expected a number above 0 and below 1")
        if self.backend_ != "gp":
            return self._stacked(self._figures(X, quantiles=q)[2], axis=1)
        from scipy.special import ndtri

        mean, std, _, _ = self._figures(X)
        return self._stacked([m[:, None] + s[:, None] * ndtri(q) for m, s in zip(mean, std)], axis=1)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.RandomState | None = 0) -> Doubles:
        """Draws values, (n, n_samples) or (n, targets, n_samples); weights that are marginal draw each row by itself."""
        X, random, n_samples = self._checked(X), check_random_state(random_state), whole(n_samples, "[sample_y] n_samples")
        if self.backend_ == "gp":
            return self._stacked([p.sample(X, n_samples, int(random.randint(2**31))) for p in self.processes_], axis=1)
        drawn = self._figures(X, samples=n_samples, seed=int(random.randint(2**31)))[3]
        return self._stacked(drawn, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        return tags

    def _checked(self, X: ArrayLike) -> Doubles:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False, order="C")

    def _columns(self) -> list[Doubles]:
        return [np.ascontiguousarray(column) for column in self.y_train_.reshape(len(self.y_train_), -1).T]

    def _figures(self, X: Doubles, quantiles: Sequence[float] = (), samples: int = 0, seed: int | None = None) -> tuple[Any, ...]:
        """Means, deviations, quantiles (n, Q) and samples (n, S) of each target."""
        if self.backend_ == "gp":
            means, stds = zip(*(process.predict(X) for process in self.processes_))
            return means, stds, [], []
        result = self._filled(X, quantiles=list(quantiles), samples=samples, seed=seed)
        warn((text for about, text in result["warnings"] if about == "no prediction"), level=4)
        return tuple(zip(*result["columns"]))

    def _filled(self, X: Doubles, **options: Any) -> dict[str, Any]:
        """The weights' answer at X."""
        columns = self._columns()
        return _core.fill(self.model_._core, self.X_train_, columns, fill_options(**options), targets=X,
                          x_names=[f"x{i}" for i in range(X.shape[1])], value_names=[f"y{i}" for i in range(len(columns))])

    def _shaped(self, columns: Sequence[Doubles], X: Doubles) -> Doubles:
        return np.stack(columns, axis=1).reshape(len(X), *self.y_train_.shape[1:])

    def _stacked(self, columns: Sequence[Doubles], axis: int = -1) -> Doubles:
        return columns[0] if self.y_train_.ndim == 1 else np.stack(columns, axis=axis)
