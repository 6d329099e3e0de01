"""Effects of the package on the process: the lock, signals, threads, fork, the command line."""

import concurrent.futures
import locale
import multiprocessing
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest

import npzoo


def endless(callback=None):
    return npzoo.train("quick/gp1d", "cnp", steps=10**6, progress=False, callback=callback)


@pytest.mark.parametrize("delay", [0.05, 0.12, 0.2, 0.33])
def test_ctrl_c_ends_a_call(delay):
    timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless()
    timer.join()


def test_a_handler_that_returns_lets_the_call_go_on():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        thread = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        thread.start()
        endless(lambda event, step, value: bool(seen))
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_other_threads_run_during_a_call():
    ticks = []

    def run():
        while not done:
            ticks.append(1)
            time.sleep(0.002)

    done = False
    thread = threading.Thread(target=run)
    thread.start()
    end = time.perf_counter() + 0.4
    endless(lambda event, step, value: time.perf_counter() > end)
    done = True
    thread.join()
    assert len(ticks) > 10


def test_eight_threads_get_the_same_bits(model):
    rng = np.random.default_rng(0)
    tasks = [(rng.normal(size=(20 + i, 1)), rng.normal(size=(20 + i, 1)), rng.normal(size=(30, 1))) for i in range(8)]
    expected = [model.predict(*task).mean for task in tasks]
    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        for _ in range(5):
            for mean, right in zip(executor.map(lambda task: model.predict(*task).mean, tasks), expected):
                np.testing.assert_array_equal(mean, right)


def in_eight_threads(work):
    """The results of work(0) … work(7), begun together."""
    begin = threading.Barrier(8)

    def run(i):
        begin.wait()
        return work(i)

    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        return list(executor.map(run, range(8)))


def test_eight_threads_share_a_prediction_with_gradients(model):
    rng = np.random.default_rng(0)
    at = model.vjp(*rng.normal(size=(3, 40, 1)))
    expected = [at.pullback(np.full((40, 1), float(i))) for i in range(8)]
    for _ in range(5):
        for gradients, right in zip(in_eight_threads(lambda i: at.pullback(np.full((40, 1), float(i)))), expected):
            for gradient, other in zip(gradients, right):
                np.testing.assert_array_equal(gradient, other)


def test_eight_threads_share_an_optimiser():
    optimiser = npzoo.Optimiser({"a": (0.0, 1.0), "b": (0.0, 1.0)}, seed=0)

    def work(i):
        for _ in range(3):
            (point,) = optimiser.ask()
            optimiser.tell([point], [point["a"] + 2 * point["b"]])

    in_eight_threads(work)
    assert len(optimiser.points) == len(optimiser.values) == 24
    assert all(value == point["a"] + 2 * point["b"] for point, value in zip(optimiser.points, optimiser.values))


def test_ctrl_c_ends_a_wait_for_another_thread(model):
    rng = np.random.default_rng(0)
    at = model.vjp(*rng.normal(size=(3, 32, 400, 1)))
    done = threading.Event()

    def hold():
        while not done.is_set():
            at.pullback(np.ones((32, 400, 1)))

    threads = [threading.Thread(target=hold) for _ in range(3)]
    for thread in threads:
        thread.start()
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                at.pullback(np.ones((32, 400, 1)))
    finally:
        done.set()
        for thread in [*threads, timer]:
            thread.join()


def child(model, queue):
    queue.put(float(model.predict([[0.0]] * 200, [[1.0]] * 200, [[0.5]] * 200).mean.sum()))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(model, method):
    whole = float(model.predict([[0.0]] * 200, [[1.0]] * 200, [[0.5]] * 200).mean.sum())
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=child, args=(model, queue))
    process.start()
    assert queue.get(timeout=60) == whole
    process.join(20)
    assert process.exitcode == 0


def test_import_changes_neither_signals_nor_locale():
    code = """
import locale, signal
before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)]
place = locale.setlocale(locale.LC_ALL)
import npzoo, sys
npzoo.load("npzoo/gp-rbf").predict([[0.0]], [[0.0]], [[0.0]])
assert before == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)]
assert place == locale.setlocale(locale.LC_ALL)
assert not {"pandas", "sklearn", "matplotlib", "torch", "xarray", "polars", "tqdm"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="an interpreter with its lock")
def test_import_leaves_the_lock_off():
    code = "import npzoo, sys; npzoo.load('npzoo/gp-rbf'); assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_threads_can_be_changed(model, points):
    before = npzoo.threads()
    expected = model.predict(*points[:3]).mean
    try:
        npzoo.set_threads(1)
        assert npzoo.threads() == 1
        np.testing.assert_array_equal(model.predict(*points[:3]).mean, expected)
    finally:
        npzoo.set_threads(before)
    with pytest.raises(npzoo.InvalidInput):
        npzoo.set_threads(-1)


def test_the_program_runs(program, tmp_path):
    assert program("--version").startswith("npzoo ")
    assert {"cnp"} <= {row["name"] for row in program("list", "models", "--json")}
    (tmp_path / "table.csv").write_text("x,y\n0,1\n1,\n2,3\n3,2\n")
    assert "mean_y" in program("predict", tmp_path / "table.csv")


def test_the_program_ends_as_programs_do():
    unknown = subprocess.run([sys.executable, "-m", "npzoo", "nothing"], capture_output=True, text=True)
    assert unknown.returncode == 2 and unknown.stderr.startswith("npzoo: error:")
    unread = subprocess.run(f"{sys.executable} -m npzoo list protocols | true; exit ${{PIPESTATUS[0]}}", shell=True,
                            executable="/bin/bash", capture_output=True, text=True)
    assert unread.returncode in (0, 128 + signal.SIGPIPE) and not unread.stderr


def test_commands_that_start_the_program_again(program, tmp_path):
    text = program("reproduce", "quick/gp1d", "--models", "cnp", "--steps", 2, "--batches", 1, "--out", tmp_path / "runs")
    assert "cnp" in text
    assert list(tmp_path.glob("runs/**/checkpoint.safetensors"))
