#!/usr/bin/env python3
"""Tests of `npzoo complete`, and of what `npzoo plot` draws of images: complete_test.py PATH_TO_NPZOO"""

import functools
import itertools
import re
import signal
import sys
import xml.etree.ElementTree

from cli_support import npzoo, HERE, TIMEOUT, as_json, case, checkpoint, expect, fail, run_cases, succeed, write, wrong_usage
from pictures_support import disc, pixels, png
from signals_support import start

SIDE = 12


@functools.cache
def discs(channels):
    """A folder of pictures of one kind, and a picture of the kind that is not in it."""
    folder = HERE / f"discs{channels}"
    folder.mkdir()
    colors = [[250] * channels, [20, 40, 60][:channels]]
    for i in range(30):
        at = disc(SIDE, (3 + i % 6, 3 + i % 5), 2 + i % 3, colors)
        (folder / f"{i}.png").write_bytes(png(SIDE, SIDE, channels, at))
    return folder, write(f"disc{channels}.png", png(SIDE, SIDE, channels, disc(SIDE, (5.5, 5.5), 3.5, colors)))


@functools.cache
def trained_on_discs(channels, model, steps=20):
    folder, _ = discs(channels)
    out = HERE / f"{model}-of-discs{channels}-{steps}"
    succeed("train", "--images", folder, "--size", f"{SIDE}x{SIDE}", "--model", model, "--steps", steps, "--batch", 4,
            "--validation-batches", 1, "--out", out, *(["--grey"] if channels == 1 else []))
    return out / "checkpoint.safetensors"


def complete(channels, *args, model="tnp-d"):
    picture = discs(channels)[1]
    return ["complete", "--checkpoint", trained_on_discs(channels, model), "--image", picture, *args]


@case
def a_picture_at_its_size_and_at_four_times_its_size():
    for channels in (1, 3):
        _, picture = discs(channels)
        out, large = HERE / "completed.png", HERE / "large.png"
        own = as_json(*complete(channels, "--keep", 0.3, "--seed", 1, "--out", out))
        expect({"mse", "log_likelihood", "seconds"} <= own.keys() and own["shown"] == round(0.3 * SIDE * SIDE), own)
        *shape, found = pixels(out)
        *given_shape, given = pixels(picture)
        expect(shape == given_shape == [SIDE, SIDE, channels], shape, given_shape)
        same = sum(found[i:i + channels] == given[i:i + channels] for i in range(0, len(found), channels))
        expect(same >= own["shown"], same, "pixels are as they were, of which", own["shown"], "were shown")
        finer = as_json(*complete(channels, "--keep", 0.3, "--seed", 1, "--size", f"{4 * SIDE}x{4 * SIDE}", "--out", large))
        *shape, fine = pixels(large)
        expect(shape == [4 * SIDE, 4 * SIDE, channels] and len(set(fine)) > 4, shape, "a picture of several values")
        expect((finer["mse"], finer["log_likelihood"]) == (own["mse"], own["log_likelihood"]), own, finer)
        wide = HERE / "wide.png"
        succeed(*complete(channels, "--keep", 0.3, "--size", "20x10", "--out", wide))
        expect(pixels(wide)[:2] == (10, 20), "width, then height")


@case
def a_trained_model_beats_the_mean_colour():
    """The score is that of the written picture, and a model of discs knows more of one than its mean colour."""
    out = HERE / "completed.png"
    at = trained_on_discs(1, "tnp-d", steps=300)
    args = ["complete", "--checkpoint", at, "--image", discs(1)[1], "--keep", 0.4, "--seed", 3, "--out", out]
    result = as_json(*args)
    found, given = pixels(out)[3], pixels(discs(1)[1])[3]
    hidden = len(given) - result["shown"]
    squares = sum((a - b) ** 2 for a, b in zip(found, given)) / 255 ** 2 / hidden
    # Rounding to bytes moves an error of 1 by at most 2 · 0.5 / 255; limiting to black and white makes it less.
    expect(squares <= result["mse"] + 0.004, squares, "of the picture, told:", result["mse"])
    mean = sum(given) / len(given)
    flat = sum((b - mean) ** 2 for b in given) / 255 ** 2 / len(given)
    expect(result["mse"] < flat, result["mse"], "found, expected less than", flat)


@case
def a_completion_that_is_stopped_writes_nothing():
    args = complete(1, "--keep", 0.3, "--size", "2000x2000", "--threads", 1)  # many seconds
    files = [write(name, "precious") for name in ("stopped.png", "stopped.svg")] + [HERE / "new.png", HERE / "new.svg"]
    for number, name in itertools.product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), ("stopped", "new")):
        before = sorted(HERE.iterdir())
        with start(*args, "--out", HERE / f"{name}.png", "--panels", HERE / f"{name}.svg") as process:
            process.stderr.readline()  # printed once some of the way is done
            process.send_signal(number)
            said, errors = process.communicate(timeout=TIMEOUT)
        expect(process.returncode == 130 and "error" not in errors and not said, "exit status", process.returncode, errors)
        expect(sorted(HERE.iterdir()) == before, "files appeared or went:", set(HERE.iterdir()) ^ set(before))
        expect([path.read_text() for path in files if path.exists()] == 2 * ["precious"], "an old file was lost")


@case
def the_same_again_and_a_mask_like_it():
    first, again, masked = HERE / "first.png", HERE / "again.png", HERE / "masked.png"
    succeed(*complete(1, "--keep", 0.5, "--seed", 7, "--out", first))
    succeed(*complete(1, "--keep", 0.5, "--seed", 7, "--out", again, "--threads", 1))
    expect(first.read_bytes() == again.read_bytes(), "the seed says it all")
    succeed(*complete(1, "--keep", 0.5, "--seed", 8, "--out", again))
    expect(first.read_bytes() != again.read_bytes(), "another seed shows other pixels")
    top = write("top.png", png(SIDE, SIDE, 1, lambda r, c: [200 if r < SIDE // 2 else 100]))
    result = as_json(*complete(1, "--mask", top, "--out", masked))
    expect(result["shown"] == SIDE * SIDE // 2, result)
    half = SIDE * SIDE // 2
    expect(pixels(masked)[3][:half] == pixels(discs(1)[1])[3][:half] != pixels(masked)[3][half:], "the upper half is as it was")
    whole = as_json(*complete(1, "--keep", 1, "--out", masked))
    expect(whole["mse"] is None and whole["log_likelihood"] is None, whole)
    expect(pixels(masked) == pixels(discs(1)[1]), "all of it was shown")
    text = succeed(*complete(1, "--keep", 0.5, "--out", masked))
    expect(text.startswith(str(masked)) and "mse" in text and "log-likelihood" in text, text)


def images(path):
    xml.etree.ElementTree.parse(path)
    return len(re.findall(r"<image", path.read_text()))


@case
def panels():
    path = HERE / "panels.svg"
    succeed(*complete(3, "--keep", 0.2, "--panels", path))
    expect(images(path) == 4, images(path), "context, mean, deviation, truth")
    succeed(*complete(1, "--keep", 0.2, "--panels", path, "--samples", 3, "--size", "24x24", model="np"))
    expect(images(path) == 7, images(path), "samples of a model that draws functions")
    for channels in (1, 3):
        at = trained_on_discs(channels, "tnp-d")
        succeed("plot", "--checkpoint", at, "--out", path, "--tasks", 2)
        expect(images(path) == 2 * 4, images(path))
        succeed("plot", "--checkpoint", at, "--out", path, "--tasks", 2, "--contexts", "5,20,144")
        expect(images(path) == 2 * 3 * 4, images(path))
    succeed("plot", "--grid", f"{at},{at}", "--out", path, "--tasks", 1)
    expect(images(path) == 4, images(path), "context, two means, truth")
    succeed("plot", "--attention", "--checkpoint", at, "--out", path, "--layer", 1)
    all_heads = images(path)
    succeed("plot", "--attention", "--checkpoint", at, "--out", path, "--layer", 1, "--head", 1, "--target", f"0,{SIDE - 1}")
    expect(images(path) == 1 < all_heads, images(path), all_heads)
    plot = ["plot", "--out", HERE / "none.svg", "--checkpoint", at]
    fail(*plot, "--contexts", SIDE * SIDE + 1, naming=["a context of 145 pixels found, expected 1 to 144"])
    fail(*plot, "--attention", "--target", f"0,{SIDE}", naming=["--target 0,12", "a column of 0 to 11"])
    fail(*plot[:-1], checkpoint(), "--contexts", 3, naming=["the tasks are not images"])


@case
def weights_of_grey_pictures_read_colours_as_grey():
    out, model = HERE / "grey.png", trained_on_discs(1, "tnp-d")
    same = write("same.png", png(SIDE, SIDE, 3, lambda r, c: [20 * r] * 3))
    grey = write("grey_one.png", png(SIDE, SIDE, 1, lambda r, c: [20 * r]))
    ask = ["complete", "--checkpoint", model, "--keep", 0.5, "--out", out, "--image"]
    done = npzoo(*ask, same)
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    bytes_of_same = out.read_bytes()
    succeed(*ask, grey)
    expect(out.read_bytes() == bytes_of_same, "three equal channels are grey")
    coloured = npzoo(*ask, write("red.png", png(SIDE, SIDE, 3, lambda r, c: [200, 10 * r, 0])))
    expect(coloured.returncode == 0 and "red.png is in colour and was read as grey" in coloured.stderr, coloured.stderr)


@case
def complete_refuses_wrong_requests():
    out = HERE / "none.png"
    _, grey = discs(1)
    _, colours = discs(3)
    args = lambda *more: [*complete(1), "--out", out, *more]  # noqa: E731
    ask = ["complete", "--checkpoint", trained_on_discs(1, "tnp-d"), "--out", out, "--keep", 0.5, "--image"]
    fail(*ask, HERE / "nothing.png", naming=["nothing.png"])
    fail(*ask, write("cut.png", grey.read_bytes()[:60]), naming=["cut.png"])
    fail(*ask, write("text.png", "no picture"), naming=["text.png"])
    fail(*args("--mask", write("small.png", png(4, 5, 1, lambda r, c: [255]))), naming=["small.png is 5 x 4 pixels, expected 12 x 12"])
    fail(*args("--mask", write("dark.png", png(SIDE, SIDE, 1, lambda r, c: [9]))), naming=["no pixel is shown"])
    fail(*args("--keep", 0.001), naming=["no pixel is shown"])
    fail(*args("--keep", 0.5, "--size", "12"), naming=["--size '12' found, expected width and height"])
    fail(*args("--keep", 0.5, "--size", "12x0"), naming=["--size '12x0'"])
    fail(*args("--keep", 0.5, "--size", "12x12x1"), naming=["--size '12x12x1'"])
    fail(*complete(1, "--keep", 0.5, "--out", HERE / "none.jpg"), naming=["none.jpg", ".png"])
    fail(*complete(1, "--keep", 0.5, "--out", grey), naming=["disc1.png is --image as well, expected another file"])
    fail(*complete(1, "--keep", 0.5, "--out", HERE / "no folder" / "none.png"), naming=["no folder"])
    fail(*args("--keep", 0.5, "--panels", HERE / "no folder" / "none.svg"), naming=["no folder"])
    fail(*args("--keep", 0.5, "--panels", out), naming=["none.png"])
    fail(*args("--keep", 0.5, "--panels", HERE / "none.gif"), naming=["none.gif"])
    fail("complete", "--checkpoint", checkpoint(), "--image", grey, "--keep", 0.5, "--out", out, naming=["found, expected a model of images"])
    for keep in ("0", "1.5", "-0.1", "nan", "much"):
        wrong_usage(*args("--keep", keep), naming=["expected a number above 0, up to 1"])
    wrong_usage(*args(), naming=["--keep or --mask is required"])
    wrong_usage(*args("--keep", 0.5, "--mask", grey))
    wrong_usage(*complete(1), "--keep", 0.5, naming=["complete needs a file to write: --out"])
    wrong_usage(*args("--keep", 0.5, "--samples", 2), naming=["--samples needs --panels"])


if __name__ == "__main__":
    sys.exit(run_cases())
