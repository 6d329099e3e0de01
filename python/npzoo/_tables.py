"""Tables with gaps: fill them, score what was predicted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Iterable, Sequence

import numpy as np

from . import _core
from ._arguments import communicator_of, listed, probabilities
from ._catalogue import Table
from ._frame_kinds import as_frame
from ._model import Model
from ._question import Question, fill_options, named_model
from ._types import Period, Progress, TableLike, TableT
from ._warnings import warn

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


def fill(data: TableT, inputs: str | Sequence[str] | None = None, values: str | Sequence[str] | None = None,
         group: str | Sequence[str] | None = None, weights: str | os.PathLike[str] | Model | None = None, *,
         covariates: str | Sequence[str] | None = None, targets: TableLike | None = None, columns_apart: bool = False,
         quantiles: Iterable[float] = (), samples: int = 0, autoregressive: bool = False, seed: int | None = None,
         bounds: tuple[float | None, float | None] = (None, None), counts: bool = False, transform: str | None = None,
         missing: Iterable[float | str] = (), dates: str | None = None, ends: str = "combined", period: Period = None,
         kernel: str | None = None, linear_mean: bool = False, lonlat: bool = False, standardise: bool = True,
         neighbours: int = 0, turn: bool = True, chunk: int = 4096, progress: Progress = None,
         communicator: Intracomm | None = None) -> TableT:
    """Predicts the values of a table, known or missing, with their uncertainty.

    By default npzoo finds the columns and uses weights that need no training.

    Parameters
    ----------
    data : table
        A pandas or Polars DataFrame, an Arrow table, an xarray Dataset or DataArray, or a dictionary of arrays.
    inputs : str or list of str, optional
        Columns that the values depend on, numbers or dates. Default: the column of dates, or the one of numbers without a
        gap, or two with names of coordinates. ``"none"``: rows without an input. See Notes.
    values : str or list of str, optional
        Columns of numbers to predict. Default: those with gaps; with ``targets``, all columns of numbers that are no inputs.
    group : str or list of str, optional
        Each value of this column, or each combination of several, is a series of its own, standardised by itself.
        ``"none"``: all rows are one series, where a column seems to name several.
    weights : str, path or Model, optional
        Trained weights by name, file or :class:`Model`, or ``"gp"`` for a Gaussian process. Default: the weights for tables
        of one to three inputs. See Notes.

    Parameters (columns)
    --------------------
    covariates : str or list of str, optional
        Columns without a gap that the values are also linear in, such as elevation. Text is categories.
    targets : table, optional
        Predicts the rows of this table instead. It has the columns of the inputs, of the group and of the covariates.
    columns_apart : bool, default False
        True predicts each column and group by itself. By default columns of a row, and groups that share their times, help
        each other if that is better. See Notes.

    Parameters (uncertainty)
    ------------------------
    quantiles : list of float, optional
        Probabilities of the quantiles to return, such as ``[0.05, 0.95]``.
    samples : int, default 0
        Number of samples to return.
    autoregressive : bool, default False
        Draws the samples of a series place by place, each given those drawn before it, with weights that predict each place
        by itself. So they are joint samples. Slow. A Gaussian process draws all places together in any case.
    seed : int, optional
        Seed of random numbers. Default: the seed of the training.

    Parameters (limits)
    -------------------
    bounds : (float or None, float or None), default (None, None)
        Lower and upper limit of the values. No mean, quantile or sample leaves them.
    counts : bool, default False
        Values are whole numbers from 0 on, and so are their quantiles and samples.
    transform : str, optional
        Predicts a function of the values: ``"log"`` above the lower limit (0), ``"sqrt"`` from it on, ``"logit"`` between two
        limits, or ``"auto"``: for each column the one that predicts hidden values best. All results have the unit of the table.

    Parameters (cells)
    ------------------
    missing : list of float or str, optional
        Numbers and texts that stand for a missing value, such as -9999.
    dates : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year in columns of text, if the dates leave a doubt. Text of dates alone is read as the program does.

    Parameters (forecasts)
    ----------------------
    ends : {"combined", "weights"}, default "combined"
        After the last value of a series with equal steps, ``"combined"`` averages the weights with methods of forecasting (see
        :func:`forecast`). ``"weights"`` uses the weights alone.
    period : int, float, str or list of these, optional
        Length of a season, as in :func:`forecast`. Default: found in the values.

    Parameters (Gaussian process)
    -----------------------------
    kernel : str, optional
        Kernel of a Gaussian process, such as ``"matern-3/2 * periodic + linear"``. Default: the likeliest of ``matern-1/2``,
        ``matern-3/2``, ``matern-5/2`` and ``rbf``.
    linear_mean : bool, default False
        The mean of the Gaussian process is linear in all inputs.
    lonlat : bool, default False
        The first two inputs are longitude and latitude in degrees, and distances are those on the sphere.

    Parameters (computation)
    ------------------------
    standardise : bool, default True
        False takes inputs and values as they are.
    neighbours : int, default 0
        Number of observed points used for each target. 0: chosen from the training range.
    turn : bool, default True
        Two inputs of a table with many points are turned and stretched if values vary less along a slanted line than across
        it. False leaves them as they are.
    chunk : int, default 4096
        Number of targets predicted at a time.
    progress : callable, optional
        Called as ``progress(done, all)`` with the number of values predicted so far.
    communicator : mpi4py.MPI.Intracomm, optional
        Its ranks share the groups and the parts of large ones. All ranks make the call with the same arguments, and all get
        the table of one process, to the bit.

    Returns
    -------
    table
        A table of the same kind as ``data``, with columns ``mean_VALUE`` and ``std_VALUE``, ``qP_VALUE`` for each quantile and
        ``sampleK_VALUE`` for each sample, in the units of the table. Figures that are not finite become NaN. Tables of pandas and
        xarray have the facts of the result in ``attrs["npzoo"]``.

    Raises
    ------
    npzoo.InvalidInput
        An argument or the table cannot be used. The message names the argument. It is also a ``ValueError``.

    Warns
    -----
    npzoo.PredictionWarning
        A reason to doubt a figure, such as inputs outside the range of the training.

    Notes
    -----
    *Inputs.* With ``targets`` the inputs are its columns. The inputs of an xarray object are its dimensions but those of the
    group. If a table has neither dates nor columns of numbers that may be inputs, its rows have no input and their columns
    predict each other, as with ``inputs="none"``. Known values then have a standard deviation of 0.

    *Columns.* Columns of a row help to predict each other's missing values if that is better on hidden cells. So do
    complete columns of numbers, unless ``values`` names the columns.

    *Weights or Gaussian process.* With three inputs, npzoo compares a Gaussian process with the weights on hidden rows and
    uses it if it is clearly better. It fits a Gaussian process without a comparison for more than three inputs, and for three
    inputs with more than 1024 observed rows. One covariate of numbers beside two inputs counts as a third input. With one
    input, the weights predict the remainder of a linear part in the covariates. Other covariates need a Gaussian process.

    *Copies.* Columns of float64 are read where they lie if there is one input. Several inputs are copied into one array.
    Dates become days, exact to the nanosecond.

    Examples
    --------
    >>> import npzoo, numpy
    >>> day = numpy.arange(10.0)
    >>> level = numpy.where((day == 4) | (day == 5), numpy.nan, 20 + numpy.sin(day))
    >>> filled = npzoo.fill({"day": day, "level": level})
    >>> list(filled)
    ['day', 'level', 'mean_level', 'std_level']
    >>> bool(filled["std_level"][4] > filled["std_level"][3])
    True
    """
    asked = None if targets is None else as_frame(targets, "targets", dates)
    named = named_model(weights)
    question = Question(as_frame(data, "fill", dates), inputs, values, group, covariates, asked, missing,
                        None if named is None else named.dim_x)
    quantiles = probabilities(quantiles)
    options = fill_options((transform, bounds, counts), quantiles=quantiles, samples=samples, autoregressive=bool(autoregressive),
                           seed=seed, standardise=standardise, neighbours=neighbours, chunk=chunk, turn=turn,
                           kernel=kernel or "auto", linear_mean=linear_mean,
                           combine_ends=combines_ends(ends), columns_help=not columns_apart, periods=period_texts(period))
    model = question.model(weights if named is None else named, kernel, linear_mean)
    result = question.answer(model, options, lonlat=lonlat, progress=progress, communicator=communicator_of(communicator, "fill"))
    warn(text for _, text in result["warnings"])
    columns = question.figures(result, quantiles, samples)
    question.check_free(columns)
    made = question.asked.attached(columns)
    attributes = getattr(made, "attrs", None)
    if isinstance(attributes, dict):
        attributes["npzoo"] = {"weights": result["weights"], "inputs": question.inputs, "values": question.values,
                               "group": question.group, "covariates": question.covariates, "dates": dates,
                               "transforms": [name for name, *_ in result["transforms"]],
                               "processes": result["processes"], "facts": result["facts"]}
    return made


def score(data: TableLike, truth: TableLike, inputs: str | Sequence[str] | None = None, values: str | Sequence[str] | None = None,
          group: str | Sequence[str] | None = None, weights: str | os.PathLike[str] | Model | None = None, *,
          baselines: bool = False, covariates: str | Sequence[str] | None = None, targets: TableLike | None = None,
          columns_apart: bool = False, seed: int | None = None, bounds: tuple[float | None, float | None] = (None, None),
          counts: bool = False, transform: str | None = None, missing: Iterable[float | str] = (), dates: str | None = None,
          ends: str = "combined", period: Period = None, kernel: str | None = None, linear_mean: bool = False,
          lonlat: bool = False, standardise: bool = True, neighbours: int = 0, turn: bool = True, chunk: int = 4096,
          progress: Progress = None) -> Table:
    """Scores predictions of the missing values of a table against their true values.

    Parameters
    ----------
    data : table
        The table with gaps. Values that it shows do not count.
    truth : table
        A table with the same columns. Rows are found by their inputs and their group. Rows that ``data`` lacks are predicted too.
    inputs, values, group, weights : optional
        As in :func:`fill`.
    baselines : bool, default False
        Adds rows for a fitted Gaussian process and for interpolation.

    Parameters (columns)
    --------------------
    covariates, columns_apart : optional
        As in :func:`fill`.
    targets : table, optional
        Predicts the rows of this table instead.

    Parameters (computation)
    ------------------------
    seed, bounds, counts, transform, missing, dates, ends, period, kernel, linear_mean, lonlat : optional
        As in :func:`fill`.
    standardise, neighbours, turn, chunk, progress : optional
        As in :func:`fill`.

    Returns
    -------
    list of dict
        A row for each value column, and the row ``"all"`` if there are several: ``rows``, their number, ``mae``, ``rmse`` and
        ``crps`` in the units of the table, and ``coverage_95``, the share of true values inside the central interval of 95 %.
        ``by`` is the name of the weights.

    Raises
    ------
    npzoo.InvalidInput
        An argument or a table cannot be used, rows have no input, or ``truth`` has none of the predicted values.

    Warns
    -----
    npzoo.PredictionWarning
        A reason to doubt a figure, as in :func:`fill`.

    Examples
    --------
    >>> import npzoo, numpy
    >>> day = numpy.arange(20.0)
    >>> level = numpy.sin(day / 2)
    >>> shown = {"day": day, "level": numpy.where(day % 4 == 2, numpy.nan, level)}
    >>> [(row["by"], row["rows"]) for row in npzoo.score(shown, {"day": day, "level": level}, baselines=True)]
    [('kriging-tnp:npzoo/any-1d', 5), ('gp', 5), ('linear interpolation', 5)]
    """
    asked = None if targets is None else as_frame(targets, "targets", dates)
    named = named_model(weights)
    question = Question(as_frame(data, "score", dates), inputs, values, group, covariates, asked, missing,
                        None if named is None else named.dim_x)
    known = question.truth_of(as_frame(truth, "score", dates))
    options = fill_options((transform, bounds, counts), seed=seed, standardise=standardise, neighbours=neighbours, chunk=chunk,
                           turn=turn, kernel=kernel or "auto", linear_mean=linear_mean, baselines=baselines,
                           combine_ends=combines_ends(ends), columns_help=not columns_apart, periods=period_texts(period))
    model = question.model(weights if named is None else named, kernel, linear_mean)
    result = question.answer(model, options, known, lonlat, progress)
    warn(text for _, text in result["warnings"])
    rows = []
    for by, scores in [(result["weights"], result["scores"]), *result["baselines"]]:
        rows += [{"value": name, "by": by, **figures} for name, figures in zip(question.values, scores)]
        if len(scores) > 1:
            figures = [(s["rows"], s["mae"], s["rmse"], s["crps"], s["coverage_95"]) for s in scores]
            rows.append({"value": "all", "by": by, **_core.pooled_scores(figures)})
    return Table(rows)


def combines_ends(ends: str) -> bool:
    if ends not in ("combined", "weights"):
        raise _core.InvalidInput(f"[fill] ends {ends!r} found, expected 'combined' or 'weights'")
    return ends == "combined"


def period_texts(period: Period) -> list[str]:
    return [str(one) for one in listed(period)]
