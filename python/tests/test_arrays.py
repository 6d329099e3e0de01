"""Arrays in and out: dtypes, orders, read-only and foreign arrays, and what is refused."""

import numpy as np
import pytest

import npzoo


def views():
    """Ways to store the same numbers."""
    return {
        "float32": lambda a: a.astype(np.float32),
        "float64": lambda a: a.astype(np.float32).astype(np.float64),
        "Fortran order": lambda a: np.asfortranarray(a.astype(np.float32)),
        "every second row": lambda a: np.repeat(a, 2, axis=0).astype(np.float32)[::2],
        "backwards": lambda a: a.astype(np.float32)[::-1].copy()[::-1],
        "a column of a table": lambda a: np.hstack([a, a]).astype(np.float32)[:, :1],
        "list": lambda a: a.astype(np.float32).tolist(),
    }


@pytest.mark.parametrize("view", views().values(), ids=views().keys())
def test_order_and_dtype_change_no_bit(model, points, view):
    xc, yc, xt, _ = points
    plain = model.predict(*(a.astype(np.float32) for a in (xc, yc, xt)))
    other = model.predict(*(view(a) for a in (xc, yc, xt)))
    np.testing.assert_array_equal(plain.mean, other.mean)
    np.testing.assert_array_equal(plain.std, other.std)


def test_read_only_and_mapped_arrays_work(model, points, tmp_path):
    xc, yc, xt, _ = points
    expected = model.predict(xc, yc, xt).mean
    np.save(tmp_path / "xc.npy", xc)
    mapped = np.load(tmp_path / "xc.npy", mmap_mode="r")
    yc = yc.copy()
    yc.flags.writeable = False
    np.testing.assert_array_equal(model.predict(mapped, yc, xt).mean, expected)


def test_whole_numbers_and_booleans_are_numbers(model):
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, bool):
        ones = np.ones((3, 1), dtype)
        np.testing.assert_array_equal(model.predict(ones, ones, ones).mean,
                                      model.predict(*[ones.astype(np.float64)] * 3).mean)


def test_results_own_their_memory(model, points):
    mean = model.predict(*points[:3]).mean
    copy = mean.copy()
    for _ in range(20):
        model.predict(*points[:3])
    np.testing.assert_array_equal(mean, copy)
    assert mean.flags.c_contiguous and mean.dtype == np.float64


class Foreign:
    """An array of another library: it speaks DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack(model, points):
    xc, yc, xt, _ = points
    p = model.predict(Foreign(xc), Foreign(yc), Foreign(xt))
    np.testing.assert_array_equal(p.mean, model.predict(xc, yc, xt).mean)
    np.testing.assert_array_equal(np.from_dlpack(p.mean), p.mean)


def test_columns_of_frames_are_arrays(model):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    x = [[0.0], [1.0], [2.0]]
    expected = model.predict(x, x, x).mean
    for frame in (pandas.DataFrame({"x": [0.0, 1.0, 2.0]}), polars.DataFrame({"x": [0.0, 1.0, 2.0]})):
        np.testing.assert_array_equal(model.predict(frame[["x"]], frame[["x"]], frame[["x"]]).mean, expected)


@pytest.mark.parametrize("wrong, message", [
    (np.zeros(3), r"\[xc\] shape \(3,\) found, expected \(N, 1\) or \(B, N, 1\)"),
    (np.zeros((3, 2)), r"\[xc\] shape \(3, 2\) found, expected \(N, 1\)"),
    (np.zeros((1, 1, 3, 1)), r"\[xc\] shape \(1, 1, 3, 1\) found"),
])
def test_wrong_shapes_name_the_argument(model, wrong, message):
    with pytest.raises(npzoo.InvalidInput, match=message):
        model.predict(wrong, np.zeros((3, 1)), np.zeros((1, 1)))


@pytest.mark.parametrize("wrong", ["abc", np.zeros((3, 1), complex), np.array([["a"], ["b"]]), None, {"x": 1}])
def test_wrong_types_name_the_argument(model, wrong):
    with pytest.raises(npzoo.InvalidInput, match=r"\[xc\] an array of numbers expected"):
        model.predict(wrong, np.zeros((3, 1)), np.zeros((1, 1)))


def test_errors_are_values_errors_and_one_line():
    for error in (npzoo.InvalidInput, npzoo.OutOfMemory, npzoo.FileError, npzoo.Interrupted):
        assert issubclass(error, npzoo.Error)
    assert issubclass(npzoo.InvalidInput, ValueError)
    assert issubclass(npzoo.OutOfMemory, MemoryError)
    with pytest.raises(ValueError, match="there are no weights 'nobody'") as caught:
        npzoo.load("nobody")
    assert "\n" not in str(caught.value)
