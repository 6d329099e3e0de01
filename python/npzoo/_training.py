"""Training and evaluation under protocols."""

from __future__ import annotations

import csv
import os
import sys
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Iterable, Mapping, Sequence

from . import _core
from ._arguments import communicator_of, names, optional_whole, path_of, real, seed_of, whole
from ._catalogue import Table, changes
from ._frame_kinds import as_frame
from ._frames import Frame
from ._model import Model, load
from ._types import Progress, TableLike

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm
    from tqdm import tqdm


@dataclass
class Training:
    """The result of :func:`train`."""

    model: Model
    steps: int
    loss: float  #: mean over the last steps, in nats
    log_likelihood: float  #: on the validation batches, in nats per target point
    seconds: float
    finished: bool  #: False if the callback ended it early
    checkpoint: str | None  #: the file to resume from; None if no folder was named
    losses: list[float] = field(repr=False, default_factory=list)  #: of each update
    validations: list[tuple[int, float]] = field(repr=False, default_factory=list)  #: step and log-likelihood


def train(protocol: str | os.PathLike[str] | TableLike, model: str | None = None, *, steps: int | None = None, batch_size: int | None = None,
          learning_rate: float | None = None, seed: int | None = None, set: Mapping[str, object] | Iterable[str] = (),
          init: str | os.PathLike[str] | None = None, inputs: str | Sequence[str] = (), values: str | Sequence[str] = (),
          group: str = "", context: int = 0, horizon: int = 0, time: str = "", sequence: str = "", mark: str = "",
          out: str | os.PathLike[str] | None = None, resume: bool = False, tensorboard: bool = False,
          callback: Callable[[str, int, float], object] | None = None, progress: bool | None = None,
          communicator: Intracomm | None = None) -> Training:
    """Trains a model under a protocol, or on a table of your own.

    Parameters
    ----------
    protocol : str, path or table
        Name of a protocol (see :func:`npzoo.protocols`), path of a TOML file, or a table of any kind that
        :func:`npzoo.fill` takes.
    model : str, optional
        Name of a model that the protocol has a preset of. On a table the training begins with the weights for tables
        unless ``model`` or ``init`` is given.

    Parameters (protocol)
    ---------------------
    steps, batch_size : int, optional
        Number of updates, and of tasks in each. Default: those of the protocol.
    learning_rate : float, optional
        Default: that of the protocol.
    seed : int, optional
        Default: that of the protocol.
    set : dict or list of str, optional
        Changes of any keys of the protocol, such as ``{"data.noise": 0.1}``.
    init : str or path, optional
        Weights to begin with.

    Parameters (table)
    ------------------
    inputs, values : str or list of str
        Columns of the table. Both are required unless ``time`` is given.
    group : str, optional
        Column of groups. Tasks are its groups, or blocks of the rows without it.
    context, horizon : int, default 0
        With both, in steps of the one column ``inputs``, tasks are forecasts.

    Parameters (events)
    -------------------
    time : str, optional
        The rows are events, and this is the column of their times: numbers or dates that ascend in each sequence.
    sequence : str, optional
        Column of the sequences. Without it there is one.
    mark : str, optional
        Column of the kinds of events.

    Parameters (run)
    ----------------
    out : str or path, optional
        Folder for the checkpoint and the metrics. Without it only the returned model is kept.
    resume : bool, default False
        Continues the run in ``out``.
    tensorboard : bool, default False
        Also writes the curves for TensorBoard into ``out``.
    callback : callable, optional
        Called as ``callback(event, step, value)``: ``"step"`` with the loss after each update, and ``"validation"`` with the
        log-likelihood. The training ends early if it returns True.
    progress : bool, optional
        Shows a bar. Default: in terminals and notebooks.
    communicator : mpi4py.MPI.Intracomm, optional
        Its ranks share the parts of each batch. All ranks make the call with the same arguments and get the model of one
        process, to the bit. See Notes.

    Returns
    -------
    Training
        The model and its curves.

    Raises
    ------
    npzoo.InvalidInput
        An argument, the protocol or the table cannot be used, or ``out`` holds another run.
    npzoo.FileError
        A file cannot be written.
    KeyboardInterrupt
        Ctrl-C ends the training. With ``out`` it can be resumed.

    Notes
    -----
    With a communicator the first rank alone writes ``out``, shows progress, calls ``callback`` and has ``losses`` and
    ``validations``. A table then needs an ``out`` that all ranks can read.

    Examples
    --------
    >>> import npzoo
    >>> result = npzoo.train("quick/gp1d", "cnp", steps=3, progress=False)
    >>> result.steps, len(result.losses)
    (3, 3)
    """
    if resume and out is None:
        raise _core.InvalidInput("[train] resume without out found, expected out to name the folder of the run")
    if isinstance(protocol, (str, os.PathLike)):
        own, name = None, os.fspath(protocol)
    else:
        own, name = as_frame(protocol, "train"), ""
    if own is not None and time and (names(inputs) or names(values) or group):
        raise _core.InvalidInput("[train] inputs, values or group found beside time, expected time, sequence and mark for a table of events")
    if own is not None and not time and not (names(inputs) and names(values)):
        raise _core.InvalidInput("[train] a table without inputs or values found, expected both to name columns of it, or time for events")
    if (sequence or mark) and not (own is not None and time):
        raise _core.InvalidInput("[train] sequence or mark found, expected time and a table of events with them")
    joined = communicator_of(communicator, "train")
    leads = communicator is None or communicator.Get_rank() == 0
    if own is not None and out is None and communicator is not None and communicator.Get_size() > 1:
        raise _core.InvalidInput("[train] a table and a communicator without out found, expected out: a folder that all ranks can read")
    losses: list[float] = []
    validations: list[tuple[int, float]] = []
    with _Bar(progress if leads else False) as bar, tempfile.TemporaryDirectory(prefix="npzoo-") as temporary:

        def report(event: str, step: int, value: float) -> object:
            if event == "begin":
                bar.begin(int(value), step)
                return None
            if event == "step":
                losses.append(value)
                bar.show(step, f"loss {value:.3f}")
            else:
                validations.append((step, value))
            return callback(event, step, value) if callback is not None else None

        folder = path_of(out, "[train] out") if out is not None else os.path.join(temporary, "run")
        table = events = None
        if own is not None:
            path = _written(own, os.path.join(temporary, "table.csv") if out is None else folder + "-table.csv", communicator)
            if time:
                events = (path, str(sequence), str(time), str(mark))
            else:
                table = (path, names(inputs), names(values), str(group), whole(context, "[train] context"), whole(horizon, "[train] horizon"))
        result = _core.train(table, events, name, changes(set), model or "", path_of(init, "[train] init") if init else "",
                             optional_whole(steps, "[train] steps", least=1), optional_whole(batch_size, "[train] batch_size", least=1),
                             None if learning_rate is None else real(learning_rate, "[train] learning_rate"), seed_of(seed, "train"),
                             folder, bool(resume), bool(tensorboard), report, joined,
                             os.path.join(temporary, "weights.safetensors"))
        trained = load(result["weights"])
    return Training(model=trained, steps=result["steps"], loss=result["loss"],
                    log_likelihood=result["log_likelihood"], seconds=result["seconds"], finished=result["finished"],
                    checkpoint=result["checkpoint"] if out is not None else None, losses=losses,
                    validations=validations)


def evaluate(model: Model | str | os.PathLike[str], protocol: str | os.PathLike[str] | None = None, *,
             set: Mapping[str, object] | Iterable[str] = (), batches: int | None = None, seed: int | None = None,
             autoregressive: bool = False, progress: Progress = None, communicator: Intracomm | None = None) -> Table:
    """Scores a model on the tests of a protocol.

    Parameters
    ----------
    model : Model, str or path
        A model, or the name or file of weights.
    protocol : str or path, optional
        Name or TOML file of a protocol. Default: the protocol of the training.
    set : dict or list of str, optional
        Changes of keys of the protocol, such as ``{"data.noise": 0.1}``.
    batches : int, optional
        Number of batches of each test. Default: that of the protocol.
    seed : int, optional
        Seed of the test tasks and of the model's random numbers. Default: that of the protocol.
    autoregressive : bool, optional
        Predicts targets one after the other, each given those before it, which makes joint densities of a model that predicts
        each target by itself. Slow.
    progress : callable, optional
        Called as ``progress(done, all)`` with the number of batches scored so far.
    communicator : mpi4py.MPI.Intracomm, optional
        Its ranks share the batches. All ranks make the call with the same arguments, and all get the scores of one process,
        to the bit.

    Returns
    -------
    list of dict
        A row for each test: its name, ``figures`` (the headline is the first), their ``standard_errors``, the published figure
        and the oracle (the best possible value), where these are known.

    Raises
    ------
    npzoo.InvalidInput
        The protocol cannot be used with the model, or an argument is wrong.

    Examples
    --------
    >>> import npzoo
    >>> row = npzoo.evaluate("npzoo/any-1d", batches=2)[0]
    >>> row["headline"]
    'log_likelihood'
    """
    if not isinstance(model, Model):
        model = load(model)
    return Table(_core.evaluate(model._core, path_of(protocol, "[evaluate] protocol") if protocol is not None else "", changes(set),
                                optional_whole(batches, "[evaluate] batches", least=1), seed_of(seed, "evaluate"), bool(autoregressive),
                                progress, communicator_of(communicator, "evaluate")))


def _written(frame: Frame, path: str, communicator: Intracomm | None = None) -> str:
    """Writes a table as CSV with all digits, as a training reads it, and returns its path. The first rank writes for all."""
    path, failure = os.path.abspath(path), None
    if communicator is None or communicator.Get_rank() == 0:
        try:
            _write(frame, path)
        except OSError as error:
            failure = error
    if communicator is not None:
        failure = communicator.bcast(failure)
    if failure is not None:
        raise failure
    return path


def _write(frame: Frame, path: str) -> None:
    columns = []
    for name in frame.names:
        missing = frame.missing(name)
        if frame.kind(name) == "time":
            times, zoned = frame.times(name)
            cells = [str(t) + "Z" * zoned for t in times.astype("datetime64[us]")]
        elif frame.kind(name) == "number":
            cells = [repr(v) for v in frame.numbers(name).tolist()]
        else:
            cells = [str(v) for v in frame.labels(name)]
        columns.append(["" if blank else cell for blank, cell in zip(missing, cells)])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(frame.names)
        writer.writerows(zip(*columns))


class _Bar:
    """A progress bar: tqdm's if it is installed, else a line on standard error."""

    def __init__(self, wanted: bool | None) -> None:
        self._wanted = sys.stderr.isatty() or "ipykernel" in sys.modules if wanted is None else wanted
        self._bar: tqdm | None = None
        self._all = 0

    def __enter__(self) -> _Bar:
        return self

    def begin(self, all_steps: int, done: int) -> None:
        self._all = all_steps
        if not self._wanted:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(total=all_steps, initial=done, unit="step", desc="npzoo train")

    def show(self, done: int, text: str) -> None:
        if not self._wanted:
            return
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
            self._bar.set_postfix_str(text, refresh=False)
        elif done % 10 == 0 or done == self._all:
            sys.stderr.write(f"\rnpzoo train: {done}/{self._all} steps, {text} ")
            sys.stderr.flush()

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._wanted:
            sys.stderr.write("\n")
