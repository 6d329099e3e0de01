"""Ranks of mpi4py that share a call: the results of one process. Needs mpi4py and a launcher of its MPI, as the PyPI packages
mpi4py and mpich are."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

import npzoo

LAUNCHER = os.path.join(os.path.dirname(sys.executable), "mpiexec")
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None or not os.path.exists(LAUNCHER),
                               reason="mpi4py or the mpiexec of the package mpich is not installed beside this Python")

SETUP = """
import hashlib, json, sys
import numpy as np
from mpi4py import MPI
import npzoo
npzoo.set_threads(1)
world = MPI.COMM_WORLD
def digest(array): return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
def train(**options): return npzoo.train("quick/gp1d", "cnp", steps=6, batch_size=4, progress=False, **options)
def report(found):
    all = world.gather(found)
    if world.rank == 0: print(json.dumps(all))
"""


def on_ranks(size, code):
    """What each rank reports, after `code`."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([LAUNCHER, "-n", str(size), sys.executable, "-c", SETUP + code], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FIGURES = """
x = np.arange(80.0)
table = {"x": x, "y": np.where(x % 5 == 2, np.nan, np.sin(x / 4)), "station": np.where(x < 30, "a", np.where(x < 55, "b", "c"))}
points = np.linspace(-1, 1, 7)[:, None]
def figures(communicator):
    result = train(communicator=communicator)
    scores = npzoo.evaluate("npzoo/gp-rbf", batches=3, communicator=communicator)
    filled = npzoo.fill(table, "x", "y", "station", communicator=communicator)
    return {"steps": result.steps, "loss": result.loss, "log_likelihood": result.log_likelihood, "finished": result.finished,
            "model": digest(result.model.predict(points, points, points).mean), "scores": [row["figures"] for row in scores],
            "table": digest(filled["mean_y"]) + digest(filled["std_y"])}, len(result.losses)
"""


@needs_mpi
def test_any_communicator_gives_the_results_of_one_process():
    (alone, losses), = on_ranks(1, FIGURES + "report(figures(None))")
    assert losses == 6
    code = FIGURES + """
half = world.Split(world.rank % 2, world.rank)
found = [figures(communicator) for communicator in (world, MPI.COMM_SELF, half)]
report((found, world.rank, half.rank, world.allreduce(1)))
"""
    for size in (2, 3):
        for found, rank, of_half, ranks in on_ranks(size, code):
            assert ranks == size  # MPI works after the calls
            assert [figures for figures, _ in found] == [alone] * 3
            assert [count for _, count in found] == [6 * (rank == 0), 6, 6 * (of_half == 0)]


@needs_mpi
def test_a_callback_of_the_first_rank_ends_all_and_the_run_goes_on(tmp_path):
    code = f"""
seen = []
def callback(event, step, value):
    seen.append(event)
    return step >= 2
first = train(communicator=world, out={str(tmp_path / "run")!r}, callback=callback)
again = train(communicator=world, out={str(tmp_path / "run")!r}, resume=True)
report([first.steps, first.finished, len(seen) > 0, again.steps, again.finished, again.loss, train().loss])
"""
    for rank, (steps, finished, heard, *again, loss, expected) in enumerate(on_ranks(2, code)):
        assert (steps, finished, heard) == (2, False, rank == 0)
        assert again == [6, True] and loss == expected


@needs_mpi
def test_an_error_of_one_rank_is_one_of_all():
    code = """
def raising(event, step, value): raise KeyError("mine")
calls = {"callback": lambda: train(communicator=world, callback=raising),
         "protocols": lambda: train(communicator=world, set={"training.schedule.warmup_steps": world.rank}),
         "batches": lambda: npzoo.evaluate("npzoo/gp-rbf", batches=2 + world.rank, communicator=world),
         "tables": lambda: npzoo.fill({"x": [0.0, 1.0, 2.0], "y": [0.0, float(world.rank), np.nan]}, communicator=world)}
found = {}
for name, call in calls.items():
    try:
        call()
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"
report([found, train(communicator=world).loss == train().loss])
"""
    (first, fine), (second, also) = on_ranks(2, code)
    assert fine and also
    assert first["callback"] == "KeyError: 'mine'" and second["callback"].startswith("Interrupted: ")
    for name, differs in {"protocols": "protocol, model or weights", "batches": "protocol, batches or seed", "tables": "table"}.items():
        for found in (first, second):
            assert f"has the {differs} " in found[name] and "[ranks] rank 1 on " in found[name]


@needs_mpi
def test_a_table_needs_a_folder_that_all_ranks_can_read(tmp_path):
    code = f"""
x = np.arange(60.0)
table = {{"x": x, "y": np.sin(x / 4), "station": np.where(x < 30, "a", "b")}}
def tuned(**options): return npzoo.train(table, inputs="x", values="y", group="station", steps=2, progress=False, **options)
try:
    tuned(communicator=world)
    message = ""
except npzoo.InvalidInput as error:
    message = str(error)
report([message, tuned(communicator=world, out={str(tmp_path / "run")!r}).loss, tuned().loss])
"""
    for message, loss, expected in on_ranks(2, code):
        assert message == "[train] a table and a communicator without out found, expected out: a folder that all ranks can read"
        assert loss == expected


def test_other_communicators_are_refused():
    for call in (lambda: npzoo.train("quick/gp1d", "cnp", communicator=3), lambda: npzoo.evaluate("npzoo/gp-rbf", communicator=3),
                 lambda: npzoo.fill({"x": [0.0, 1.0], "y": [0.0, float("nan")]}, communicator=3)):
        with pytest.raises(npzoo.InvalidInput, match=r"communicator 3 found, expected one of mpi4py, such as MPI.COMM_WORLD"):
            call()
