"""Pictures by matplotlib, which is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from . import _core
from ._arguments import names
from ._types import ArrayLike, Names, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]  # Okabe and Ito, 2008


def band(x: ArrayLike, mean: ArrayLike, std: ArrayLike, ax: Axes | None = None, observed: tuple[ArrayLike, ArrayLike] | None = None,
         samples: ArrayLike | None = None, label: str | None = None, colour: str = _COLOURS[0]) -> Axes:
    """Draws means and bands of 95 % over one input; returns the axes.

    ``observed`` are points (x, y), ``samples`` (S, M) are drawn as thin lines.
    """
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(7, 3.2), layout="constrained")[1] if ax is None else ax
    x, mean, std = (np.asarray(a) for a in (x, mean, std))
    order = np.argsort(x.reshape(-1), kind="stable")
    x, mean, std = x.reshape(-1)[order], mean.reshape(-1)[order], std.reshape(-1)[order]
    ax.fill_between(x, mean - 1.96 * std, mean + 1.96 * std, color=colour, alpha=0.25, linewidth=0)
    ax.plot(x, mean, color=colour, label=label)
    for sample in [] if samples is None else np.asarray(samples).reshape(np.shape(samples)[0], -1):
        ax.plot(x, sample[order], color=colour, linewidth=0.5, alpha=0.5)
    if observed is not None:
        ax.plot(np.asarray(observed[0]).reshape(-1), np.asarray(observed[1]).reshape(-1), ".", color="black", markersize=4)
    if x.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    if label:
        ax.legend()
    return ax


def maps(x: ArrayLike, y: ArrayLike, panels: Mapping[str, ArrayLike], axes: Sequence[Axes] | None = None,
         names: Sequence[str] = ("", "")) -> Sequence[Axes]:
    """Draws figures over two inputs side by side, each with its scale; returns the axes. ``panels`` maps titles to
    arrays; ``names`` are those of the inputs."""
    import matplotlib.pyplot as plt

    if axes is None:
        axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 3.4), layout="constrained", squeeze=False)[1][0]
    grid = _grid(np.asarray(x), np.asarray(y))
    for ax, (title, values) in zip(axes, panels.items()):
        values = np.asarray(values)
        if grid is None:
            seen = ~np.isnan(values)
            drawn = ax.scatter(np.asarray(x)[seen], np.asarray(y)[seen], c=values[seen], s=8, linewidths=0)
        else:
            (xs, columns), (ys, rows) = grid
            cells = np.full((len(ys), len(xs)), np.nan)
            cells[rows, columns] = values
            drawn = ax.pcolormesh(xs, ys, cells, shading="nearest")
        ax.set_title(title)
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1])
        ax.figure.colorbar(drawn, ax=ax)
    return axes


def _grid(x: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """The lines of a grid that the places lie on, and each place's number on them; None for scattered places."""
    lines = [np.unique(values, return_inverse=True) for values in (x, y)]
    return lines if x.dtype.kind != "M" and y.dtype.kind != "M" and len(lines[0][0]) * len(lines[1][0]) <= 4 * len(x) else None


def plot(filled: TableLike, inputs: Names = None, values: Names = None, group: Names = None) -> list[Any]:
    """Draws a table that :func:`npzoo.fill` returned: bands over one input, maps over two.

    Parameters
    ----------
    filled : table
        The result of :func:`npzoo.fill`.
    inputs, values, group : str or list of str, optional
        Columns, as given to :func:`npzoo.fill`. Default: read from the table. Of many groups the first six are drawn.

    Returns
    -------
    list of matplotlib.axes.Axes
        For bands one for each value column. For maps a row of three for each value column: the values, their means and their
        standard deviations.

    Raises
    ------
    npzoo.InvalidInput
        The inputs are not one or two columns, or a column is missing.

    Examples
    --------
    >>> import npzoo, numpy
    >>> day = numpy.arange(10.0)
    >>> filled = npzoo.fill({"day": day, "level": numpy.where(day == 4, numpy.nan, numpy.sin(day))})
    >>> (ax,) = npzoo.plot(filled, inputs="day")  # doctest: +SKIP
    """
    import matplotlib.pyplot as plt

    from ._frame_kinds import as_frame
    from ._question import check_names, joined_labels

    told = getattr(filled, "attrs", {}).get("npzoo", {})
    frame = as_frame(filled, "plot", told.get("dates"))
    inputs = names(inputs) or told.get("inputs") or []
    values = names(values) or [name[5:] for name in frame.names if name.startswith("mean_")]
    group = names(group or told.get("group"))
    if len(inputs) not in (1, 2):
        raise _core.InvalidInput(f"[plot] {len(inputs)} inputs found, expected inputs to name one or two columns")
    check_names(frame, [*inputs, *group, *(prefix + name for name in values for prefix in ("mean_", "std_"))], "plot")
    places = [frame.clock_times(name) if frame.kind(name) == "time" else frame.numbers(name) for name in inputs]
    figures = {name: [frame.numbers(prefix + name) for prefix in ("mean_", "std_")] for name in values}
    known = {name: frame.numbers(name) if name in frame.names else np.full(len(frame), np.nan) for name in values}
    if len(inputs) == 2:
        return [maps(places[0], places[1], {name: known[name], f"mean of {name}": figures[name][0],
                                            f"standard deviation of {name}": figures[name][1]}, names=inputs) for name in values]
    axes = plt.subplots(len(values), 1, figsize=(7, 3 * len(values)), layout="constrained", squeeze=False)[1][:, 0]
    labels = joined_labels(frame, group) if group else np.zeros(len(frame))
    for ax, name in zip(axes, values):
        for i, label in enumerate(list(dict.fromkeys(labels))[:6]):
            rows = labels == label
            band(places[0][rows], figures[name][0][rows], figures[name][1][rows], ax=ax, colour=_COLOURS[i % len(_COLOURS)],
                 observed=(places[0][rows], known[name][rows]), label=str(label) if group else None)
        ax.set_xlabel(inputs[0])
        ax.set_ylabel(name)
    return list(axes)
