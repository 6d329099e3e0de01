"""Completion of images from some of their pixels."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Sequence

import numpy as np

from . import _core
from ._arguments import pair, real, whole
from ._model import Model, load
from ._types import ArrayLike, Doubles, Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class Completed:
    """A completed image; arrays are (height, width, channels), figures are shares of white."""

    image: np.ndarray = field(repr=False)  #: the mean as bytes, with the pixels that were shown as they were
    mean: Doubles = field(repr=False)
    std: Doubles = field(repr=False)
    samples: list[Doubles] = field(repr=False)
    shown: np.ndarray = field(repr=False)  #: which pixels the model saw, (height, width) of the given image
    squared_error: float | None  #: of the hidden pixels, in shares of white; None if all were shown
    log_likelihood: float | None  #: of each hidden pixel by itself, in nats

    def plot(self, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """Draws what was shown, the completed image and the standard deviation, with matplotlib; returns the axes."""
        import matplotlib.pyplot as plt

        panels = {"completed": self.image, "standard deviation": self.std.mean(axis=2)}
        if self.shown.shape == self.image.shape[:2]:
            panels = {"shown": np.where(self.shown[..., None], self.image, 128).astype(np.uint8), **panels}
        if axes is None:
            axes = plt.subplots(1, len(panels), figsize=(3 * len(panels), 3), layout="constrained", squeeze=False)[1][0]
        for ax, (title, picture) in zip(axes, panels.items()):
            ax.imshow(picture.squeeze(), cmap="gray" if picture.squeeze().ndim == 2 else None)
            ax.set_title(title)
            ax.set_axis_off()
        return axes


def complete(image: ArrayLike | os.PathLike[str], mask: ArrayLike | None = None,
             weights: str | os.PathLike[str] | Model = "quick/mnist", *, size: tuple[int, int] | None = None, samples: int = 0,
             seed: int = 0, progress: Progress = None) -> Completed:
    """Completes an image of which a model sees some pixels.

    Parameters
    ----------
    image : array or path
        Array (height, width) or (height, width, channels) of bytes, or of shares of white from 0 to 1; or the path of a PNG or
        JPEG.
    mask : array or float, optional
        Array (height, width), true where the model sees the pixel; or the share of pixels to show, which ``seed`` chooses.
        Without it, NaN marks the hidden pixels of an array of shares.
    weights : str, path or Model, default "quick/mnist"
        Weights of a model of images with as many channels.
    size : (int, int), optional
        Height and width of the result. Default: those of the image.
    samples : int, default 0
        Number of images to sample. Models that predict each pixel by itself sample none.
    seed : int, default 0
        Seed of the shown pixels and of the samples.
    progress : callable, optional
        Called as ``progress(done, all)``.

    Returns
    -------
    Completed
        The image, its mean, standard deviation and samples, and the scores of the hidden pixels.

    Raises
    ------
    npzoo.InvalidInput
        The image, the mask or an argument cannot be used, or the model is not one of images.

    Examples
    --------
    >>> import npzoo, numpy
    >>> stroke = numpy.zeros((28, 28), numpy.uint8)
    >>> stroke[4:24, 13:16] = 255
    >>> completed = npzoo.complete(stroke, 0.3)
    >>> completed.image.shape, completed.std.shape
    ((28, 28, 1), (28, 28, 1))
    """
    seed, samples = whole(seed, "[complete] seed", most=2**64 - 1), whole(samples, "[complete] samples")
    if size is None:
        height = width = 0  # those of the image
    else:
        height, width = (whole(n, "[complete] size", least=1) for n in pair(size, "[complete] size", "(height, width)"))
    pixels = _core.read_picture(os.fspath(image)) if isinstance(image, (str, os.PathLike)) else np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3:
        raise _core.InvalidInput(f"[complete] an image of shape {pixels.shape} found, expected (height, width) or (height, width, channels)")
    masked = np.ma.getmaskarray(image if isinstance(image, np.ma.MaskedArray) else pixels)
    hidden: np.ndarray = np.any(masked.reshape(pixels.shape), axis=2)
    if pixels.dtype.kind == "f":
        hidden |= np.isnan(pixels).any(axis=2)
    if mask is None:
        if not hidden.any():
            raise _core.InvalidInput("[complete] neither a mask nor NaN pixels found, expected one of them")
        shown = ~hidden
    elif np.ndim(mask) == 0:
        share = real(mask, "[complete] mask")
        if not 0 <= share <= 1:
            raise _core.InvalidInput(f"[complete] a share of {mask} found, expected 0 to 1")
        shown = np.zeros(hidden.size, bool)
        shown[np.random.default_rng(seed).permutation(hidden.size)[:round(share * hidden.size)]] = True
        shown = shown.reshape(hidden.shape) & ~hidden
    else:
        shown = np.ascontiguousarray(np.asarray(mask).astype(bool))
        if shown.shape != hidden.shape:
            raise _core.InvalidInput(f"[complete] a mask of shape {shown.shape} found, expected {hidden.shape} as the image")
        shown &= ~hidden
    model = weights if isinstance(weights, Model) else load(weights)
    result = _core.complete(model._core, _bytes(pixels), shown, height, width, samples, seed, progress)
    return Completed(image=result["image"].astype(np.uint8), mean=result["mean"], std=result["std"], samples=result["samples"],
                     shown=shown, squared_error=result["squared_error"], log_likelihood=result["log_likelihood"])


def _bytes(pixels: np.ndarray) -> np.ndarray:
    if pixels.dtype.kind == "f":
        pixels = np.rint(np.nan_to_num(pixels) * 255)
        if pixels.size and not 0 <= pixels.min() <= pixels.max() <= 255:
            raise _core.InvalidInput(f"[complete] pixels from {pixels.min() / 255:g} to {pixels.max() / 255:g} found, expected shares of "
                                     "white from 0 to 1, or bytes")
    elif pixels.dtype.kind == "b":
        pixels = pixels * 255
    elif pixels.dtype.kind not in "iu" or (pixels.size and (pixels.min() < 0 or pixels.max() > 255)):
        raise _core.InvalidInput(f"[complete] pixels of {pixels.dtype} found, expected bytes or shares of white from 0 to 1")
    return np.ascontiguousarray(pixels.astype(np.uint8))
