"""Models with trained weights: load, predict, sample, score and differentiate."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import path_of, probabilities, seed_of, whole
from ._arrays import as_array, as_whole
from ._types import ArrayLike, Doubles
from ._warnings import warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import DTypeLike


def load(weights: str | os.PathLike[str], dtype: DTypeLike = "float32") -> Model:
    """Loads trained weights by their name (see :func:`npzoo.weights`) or from a file.

    ``dtype="float64"`` computes in double precision, at half the speed: for gradients that are checked.

    >>> import npzoo
    >>> model = npzoo.load("npzoo/any-1d")
    >>> model
    <npzoo.Model kriging-tnp trained under npzoo/any-1d: 1 input, 1 value, 148105 parameters>
    """
    try:
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    return Model(_core.Model.load(path_of(weights, "[load] weights"), name))


class Model:
    """A neural process with trained weights. :func:`npzoo.load` makes one.

    Shapes: B tasks of N points with D inputs and C values each. Points of one task may be given as (N, D) instead of
    (B, N, D); results then lack the first axis. Tasks of different sizes are padded, and ``lengths`` (B) counts their
    real points.

    Units: inputs and values are in the units of the training, as ``npzoo info PROTOCOL`` describes them.
    :func:`npzoo.fill` takes tables in any units.

    A model can be used by several threads at the same time, and it can be pickled.
    """

    def __init__(self, core: _core.Model) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The architecture, such as ``"tnp-d"``."""
        return self._core.name

    @property
    def protocol(self) -> str:
        """The protocol that the model was trained under."""
        return self._core.protocol

    @property
    def dim_x(self) -> int:
        """Inputs of a point."""
        return self._core.dim_x

    @property
    def dim_y(self) -> int:
        """Values of a point."""
        return self._core.dim_y

    @property
    def parameters(self) -> int:
        """Trained numbers."""
        return self._core.parameters

    @property
    def dtype(self) -> str:
        """``"float32"`` or ``"float64"``."""
        return self._core.dtype

    @property
    def draws_functions(self) -> bool:
        """Whether samples are whole functions, and not each target by itself."""
        return self._core.draws_functions

    def condition(self, xc: ArrayLike, yc: ArrayLike, lengths: ArrayLike | None = None, seed: int | None = None,
                  samples: int = 50) -> State:
        """Encodes observed points once, for any number of queries.

        ``xc`` (B, N, D) and ``yc`` (B, N, C), or without B. ``samples`` is the number of functions that a latent model
        draws for each task; others ignore it. ``seed`` of what is random; by default that of the training.

        >>> import npzoo
        >>> state = npzoo.load("npzoo/any-1d").condition([[0.0], [1.0]], [[0.5], [-0.5]])
        >>> state.query([[0.0]]).mean.shape
        (1, 1)
        """
        core = self._core.condition(as_array(xc, "xc"), as_array(yc, "yc"), _lengths(lengths), seed_of(seed, "condition"),
                                    whole(samples, "[condition] samples", least=1))
        return State(core)

    def predict(self, xc: ArrayLike, yc: ArrayLike, xt: ArrayLike, lengths: ArrayLike | None = None, seed: int | None = None,
                samples: int = 50) -> Prediction:
        """Predicts the values at ``xt`` (B, M, D) given observed points: ``condition(xc, yc).query(xt)``.

        >>> import npzoo
        >>> p = npzoo.load("npzoo/any-1d").predict([[0.0], [1.0]], [[0.5], [-0.5]], [[0.0], [0.5], [1.0]])
        >>> p.mean.round(1).tolist()
        [[0.5], [0.0], [-0.5]]
        """
        return self.condition(xc, yc, lengths, seed, samples)._query(xt, 4)

    def sample(self, xc: ArrayLike, yc: ArrayLike, xt: ArrayLike, n: int = 1, seed: int | None = None, lengths: ArrayLike | None = None,
               samples: int = 50) -> Doubles:
        """Draws values at ``xt``: (n, B, M, C), or (n, M, C) of a single task. See :meth:`Prediction.sample`."""
        return self.predict(xc, yc, xt, lengths, seed, samples).sample(n, seed)

    def log_likelihood(self, xc: ArrayLike, yc: ArrayLike, xt: ArrayLike, yt: ArrayLike, lengths: ArrayLike | None = None,
                       seed: int | None = None, samples: int = 50) -> Doubles:
        """Log-density of each target by itself in nats, (B, M) or (M,)."""
        return self.predict(xc, yc, xt, lengths, seed, samples).log_likelihood(yt)

    def quantiles(self, xc: ArrayLike, yc: ArrayLike, xt: ArrayLike, q: ArrayLike, lengths: ArrayLike | None = None,
                  seed: int | None = None, samples: int = 50) -> Doubles:
        """Quantiles with the probabilities ``q`` (Q): (Q, B, M, C) or (Q, M, C)."""
        return self.predict(xc, yc, xt, lengths, seed, samples).quantiles(q)

    def vjp(self, xc: ArrayLike, yc: ArrayLike, xt: ArrayLike, lengths: ArrayLike | None = None, seed: int | None = None,
            samples: int = 50) -> Linearised:
        """Predicts, and keeps what gradients need: a vector-Jacobian product.

        >>> import npzoo, numpy
        >>> at = npzoo.load("npzoo/any-1d").vjp([[0.0], [1.0]], [[0.5], [-0.5]], [[0.5]])
        >>> gradients = at.pullback(d_mean=numpy.ones((1, 1)))
        >>> gradients.xt.shape, gradients.yc.shape
        ((1, 1), (2, 1))
        """
        arrays = as_array(xc, "xc"), as_array(yc, "yc"), as_array(xt, "xt")
        return Linearised(_core.vjp(self._core, *arrays, _lengths(lengths), seed_of(seed, "vjp"),
                                    whole(samples, "[vjp] samples", least=1)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the weights to a file that :func:`npzoo.load` and the program read.

        >>> import npzoo, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "mine.safetensors")
        >>> npzoo.load("npzoo/any-1d").save(path)
        >>> npzoo.load(path).name
        'kriging-tnp'
        """
        self._core.save(path_of(path, "[save] path"))

    def __getstate__(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
            path = os.path.join(folder, "weights.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return {"weights": file.read(), "dtype": self.dtype}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
            path = os.path.join(folder, "weights.safetensors")
            with open(path, "wb") as file:
                file.write(state["weights"])
            self._core = _core.Model.load(path, state["dtype"])

    def __repr__(self) -> str:
        return (f"<npzoo.Model {self.name} trained under {self.protocol}: {_count(self.dim_x, 'input')}, "
                f"{_count(self.dim_y, 'value')}, {self.parameters} parameters>")


class State:
    """A context as a model has encoded it. It never changes: :meth:`update` returns another one."""

    def __init__(self, core: _core.State) -> None:
        self._core = core

    def query(self, xt: ArrayLike) -> Prediction:
        """Predicts the values at ``xt`` (B, M, D), or (M, D) of a single task. Where ``xt`` is NaN, so is the prediction, with
        a warning."""
        return self._query(xt, 4)

    def _query(self, xt: ArrayLike, level: int) -> Prediction:
        targets = as_array(xt, "xt")
        if targets.dtype.kind == "f" and (missing := int(np.isnan(targets).any(axis=-1).sum()) if targets.ndim else 0):
            warn([f"{_count(missing, 'target')} of xt {'is' if missing == 1 else 'are'} NaN: the prediction there is NaN"],
                 level)
        return Prediction(self._core.query(targets))

    def update(self, xc: ArrayLike, yc: ArrayLike, lengths: ArrayLike | None = None) -> State:
        """Returns the state with more observed points. Models that stream encode the new points alone.

        >>> import npzoo
        >>> state = npzoo.load("npzoo/any-1d").condition([[0.0]], [[0.5]])
        >>> state = state.update([[1.0]], [[-0.5]])
        """
        return State(self._core.update(as_array(xc, "xc"), as_array(yc, "yc"), _lengths(lengths)))

    def __repr__(self) -> str:
        return f"<npzoo.State of {_count(self._core.tasks, 'task')}>"


class Prediction:
    """The prediction at M targets: (B, M, C), or (M, C) for a single task. float64."""

    def __init__(self, core: _core.Prediction) -> None:
        self._core = core
        self._mean: Doubles | None = None
        self._std: Doubles | None = None

    @property
    def mean(self) -> Doubles:
        """Means."""
        if self._mean is None:
            self._mean = self._core.mean
        return self._mean

    @property
    def std(self) -> Doubles:
        """Standard deviations, noise included."""
        if self._std is None:
            self._std = self._core.std
        return self._std

    @property
    def how(self) -> str:
        """The way in which the joint density is computed: ``"exact"``, or the number of samples."""
        return self._core.how

    def quantiles(self, q: ArrayLike) -> Doubles:
        """Quantiles with these probabilities, each above 0 and below 1: (Q, …), without Q for a single number."""
        found = [self._core.quantile(p) for p in probabilities(q)]
        return found[0] if np.ndim(q) == 0 else np.stack(found) if found else np.empty((0, *self.mean.shape))

    def sample(self, n: int = 1, seed: int | None = None, functions: bool = False) -> Doubles:
        """Draws all targets together, (n, …). A marginal model draws each target by itself.

        ``functions=True`` leaves out the noise of observations if the model separates it.
        """
        return self._core.sample(whole(n, "[sample] n", least=1), seed_of(seed, "sample"), bool(functions))

    def cdf(self, y: ArrayLike) -> Doubles:
        """Probability of a value up to ``y``."""
        return self._core.cdf(as_array(y, "y"))

    def crps(self, y: ArrayLike) -> Doubles:
        """Continuous ranked probability score in units of y; lower is better."""
        return self._core.crps(as_array(y, "y"))

    def log_likelihood(self, y: ArrayLike) -> Doubles:
        """Log-density of each target by itself, in nats: (B, M) or (M,)."""
        return self._core.log_likelihood(as_array(y, "y"))

    def joint_log_likelihood(self, y: ArrayLike) -> Doubles:
        """Log-density of all targets of a task together, in nats: (B,), or a number."""
        return self._core.joint_log_likelihood(as_array(y, "y"))

    def plot(self, x: ArrayLike, ax: Axes | None = None, observed: tuple[ArrayLike, ArrayLike] | None = None, label: str | None = None,
             **style: Any) -> Axes:
        """Draws mean and 95 % band over one input ``x`` (M,) with matplotlib; returns the axes."""
        from ._plots import band

        return band(x, self.mean, self.std, ax=ax, observed=observed, label=label, **style)

    def __repr__(self) -> str:
        return f"<npzoo.Prediction of shape {self.mean.shape}>"


class Gradients(NamedTuple):
    """Gradients with respect to the arrays of a prediction, in the model's dtype."""

    xc: np.ndarray
    yc: np.ndarray
    xt: np.ndarray


class Linearised:
    """A prediction with gradients. Threads may share it: a call waits for the one before it."""

    def __init__(self, core: _core.Pullback) -> None:
        self._core = core

    @property
    def mean(self) -> np.ndarray:
        """Means, in the model's dtype."""
        return self._core.mean

    @property
    def std(self) -> np.ndarray:
        """Standard deviations, in the model's dtype."""
        return self._core.std

    def pullback(self, d_mean: ArrayLike | None = None, d_std: ArrayLike | None = None) -> Gradients:
        """Turns gradients of a number with respect to ``mean`` and ``std`` into those with respect to the arrays."""
        given = [None if d is None else as_array(d, name) for d, name in ((d_mean, "d_mean"), (d_std, "d_std"))]
        return Gradients(*self._core(*given))

    def __repr__(self) -> str:
        return f"<npzoo.Linearised of shape {self.mean.shape}>"


def _lengths(lengths: ArrayLike | None) -> np.ndarray | None:
    return None if lengths is None else as_whole(lengths, "lengths")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
