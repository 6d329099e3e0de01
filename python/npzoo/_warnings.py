"""Warnings about results."""

from __future__ import annotations

import warnings
from typing import Iterable


class PredictionWarning(UserWarning):
    """A reason why a prediction may be worse than it looks, such as inputs outside the range of the training."""


def warn(texts: Iterable[str], level: int = 3) -> None:
    """Issues each text as a :class:`PredictionWarning` of the caller's caller."""
    for text in texts:
        warnings.warn(text, PredictionWarning, stacklevel=level)
