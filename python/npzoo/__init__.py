"""npzoo: neural processes that fill tables, forecast and optimise, with uncertainty.

    import npzoo
    filled = npzoo.fill(frame)              # a table with gaps: pandas, xarray, Polars or a dictionary of arrays
    model = npzoo.load("npzoo/any-1d")      # trained weights by name, see npzoo.weights()
    model.predict(xc, yc, xt).mean
"""

from typing import TYPE_CHECKING

from . import _core, events
from ._arguments import whole as _whole
from ._catalogue import card, facts, models, protocols, weights
from ._core import Error, FileError, Interrupted, InvalidInput, OutOfMemory
from ._decisions import Optimiser, Proposal, Recommendation
from ._forecasts import backtest, forecast
from ._images import Completed, complete
from ._model import Gradients, Linearised, Model, Prediction, State, load
from ._plots import plot
from ._tables import fill, score
from ._training import Training, evaluate, train
from ._warnings import PredictionWarning

__version__ = _core.version
__all__ = [
    "Completed", "Error", "FileError", "Gradients", "Interrupted", "InvalidInput", "Linearised", "Model", "Optimiser", "OutOfMemory",
    "Prediction", "PredictionWarning", "Proposal", "Recommendation", "State", "Training", "backtest", "card", "complete", "evaluate",
    "events", "facts", "fill", "forecast", "load", "models", "plot", "protocols", "score", "set_threads", "threads", "train", "weights",
]


def threads() -> int:
    """Returns the number of threads that share the work of a call, the caller included."""
    return _core.threads()


def set_threads(count: int) -> None:
    """Changes the number of threads; 0 means all cores. It changes the speed and no bit of any result."""
    _core.set_threads(_whole(count, "[set_threads] count", most=2**31 - 1))


if TYPE_CHECKING:
    from ._imputer import Imputer as Imputer
    from ._regressor import NeuralProcessRegressor as NeuralProcessRegressor
else:

    def __getattr__(name):
        """Imports scikit-learn when one of its estimators is used."""
        if name == "Imputer":
            from ._imputer import Imputer

            return Imputer
        if name == "NeuralProcessRegressor":
            from ._regressor import NeuralProcessRegressor

            return NeuralProcessRegressor
        raise AttributeError(f"module 'npzoo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "Imputer", "NeuralProcessRegressor"])
