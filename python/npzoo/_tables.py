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
         covariates: str | Sequence[str] | None = None, quantiles: Iterable[float] = (), samples: int = 0, targets: TableLike | None = None,
         seed: int | None = None, standardise: bool = True, neighbours: int = 0, chunk: int = 4096,
         transform: str | None = None, bounds: tuple[float | None, float | None] = (None, None), counts: bool = False,
         missing: Iterable[float | str] = (), dates: str | None = None, turn: bool = True, kernel: str | None = None,
         linear_mean: bool = False, lonlat: bool = False, ends: str = "combined",
         period: Period = None, columns_apart: bool = False,
         progress: Progress = None, communicator: Intracomm | None = None) -> TableT:
    """Predicts the values of a table, known or missing, with their uncertainty.

    ``data`` is a pandas or Polars DataFrame, an Arrow table, an xarray Dataset or DataArray, or a dictionary of arrays.
    The result is of the same kind, with columns ``mean_VALUE``, ``std_VALUE``, for each of ``quantiles`` ``qP_VALUE``,
    and for each of ``samples`` ``sampleK_VALUE``, in the units of the table. With ``targets``, another table with
    the columns of the inputs, its rows are predicted instead.

    ``inputs`` are the columns that the values depend on, numbers or dates; by default the column of dates, or the one
    of numbers without a gap, or two that are called like coordinates. ``values`` are the columns of numbers to
    predict; by default those with gaps. With ``targets`` the inputs are its columns, and the values all other columns
    of numbers. Each value of the column ``group``, or each combination of several, is a series of its own, standardised
    by itself. In an xarray object the inputs are its dimensions but those of the group. ``covariates`` are columns without a gap that the values are also
    linear in, such as elevation; text is categories.

    ``weights`` are trained weights by name, file or :class:`Model`; by default those for any table of one to three
    inputs, which need no training. One covariate of numbers beside two inputs is a third one; of one input, weights
    predict what a linear part in the covariates leaves. With three inputs, a Gaussian process is compared with the
    weights on hidden rows, and answers if it is clearly better. ``"gp"`` fits a Gaussian process in any case, as is done
    for more inputs, for more than 1024 observed rows of three, and with other covariates; ``kernel`` names its kernel, such as ``"matern-3/2 * periodic + linear"``, and ``linear_mean`` makes
    its mean linear in all inputs. With ``lonlat`` the first two inputs are longitude and latitude in degrees, and
    distances those on the sphere. ``seed`` is that of what is random, by default that of the training.
    ``standardise=False`` takes inputs and values as they are. ``neighbours`` is the number of observed points used for
    each target, by default chosen from the training; ``chunk`` is the number of targets predicted at a time.
    ``progress(done, all)`` is called with the values predicted so far. ``turn=False`` leaves two inputs of a table with
    many points as they are; by default they are turned and stretched if values vary less along a slanted line than
    across it. Behind the last value of a series with equal steps ``ends="combined"`` combines the weights with methods
    of forecasting (see :func:`forecast`, also for ``period``); ``"weights"`` uses the weights alone.

    Columns of a row help to predict each other's missing values where that is better on hidden cells; so do complete
    columns of numbers unless ``values`` names the columns. ``columns_apart=True`` predicts each by itself. Without dates
    and columns of numbers that may be inputs, rows have none and their columns alone predict each other; so they do with
    ``inputs="none"``. Known values then have a deviation of 0.

    ``bounds`` are a lower and an upper limit of the values, either of which may be None; no figure leaves them.
    ``transform`` predicts a function of the values: ``"log"`` above the lower limit (0), ``"sqrt"`` from it on,
    ``"logit"`` between two limits, or ``"auto"``, for each column the one that predicts left-out values best.
    ``counts`` are whole numbers from 0 on, and so are their quantiles and samples. All figures and scores are in the
    unit of the table. ``missing`` are numbers and texts that stand for a missing value, such as -9999.

    Text that holds dates alone is read as the program does; ``dates`` is the order of its day, month and year, ``"dmy"``,
    ``"mdy"`` or ``"ymd"``, if the dates leave a doubt.

    Reasons to doubt a figure are warnings (:class:`PredictionWarning`). Figures that are not finite become NaN. Tables of
    pandas and xarray have the facts of the result in ``attrs["npzoo"]``.

    ``communicator``, one of mpi4py, has ranks that share the groups and the parts of large ones. All of them call this
    function with the same arguments, and all return the table of one process, to the bit.

    Columns of float64 are read where they lie if there is one input; several inputs are copied into one array. Dates
    become days, exact to the nanosecond.

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
    options = fill_options((transform, bounds, counts), quantiles=quantiles, samples=samples, seed=seed, standardise=standardise,
                           neighbours=neighbours, chunk=chunk, turn=turn, kernel=kernel or "auto", linear_mean=linear_mean,
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
          covariates: str | Sequence[str] | None = None, baselines: bool = False, targets: TableLike | None = None, seed: int | None = None,
          standardise: bool = True, neighbours: int = 0, chunk: int = 4096, transform: str | None = None,
          bounds: tuple[float | None, float | None] = (None, None), counts: bool = False,
          missing: Iterable[float | str] = (), dates: str | None = None, turn: bool = True, kernel: str | None = None,
          linear_mean: bool = False, lonlat: bool = False, ends: str = "combined",
          period: Period = None, columns_apart: bool = False,
          progress: Progress = None) -> Table:
    """Scores predictions of the missing values of ``data`` against ``truth``, a table with the same columns.

    Rows are found by their inputs and their group. Values that ``data`` shows do not count. Rows of ``truth`` that ``data``
    lacks are predicted as well; with ``targets``, the rows of that table are predicted instead.

    Returns a row for each value column, and the row ``"all"`` if there are several: MAE, RMSE and CRPS in the units of
    the table, and ``coverage_95``, the share of true values inside the central interval of 95 %. ``by`` is the name of
    the weights. ``baselines`` adds rows for a fitted Gaussian process and for interpolation. The other arguments are
    those of :func:`fill`.

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
