#!/usr/bin/env python3
"""Tests of trainings on a folder of pictures, and of sets that are not there: train_images_test.py PATH_TO_NPZOO"""

import struct
import sys
import tarfile
import zlib

from cli_support import (HERE, as_json, case, expect, fail, metrics, model_hash, npzoo, read_safetensors, run_cases, succeed, write,
                         wrong_usage)

SMALL = ["--model", "tnp-d", "--set", "models.tnp-d.d_model=16", "--set", "models.tnp-d.dim_feedforward=16",
         "--set", "models.tnp-d.num_layers=2"]
NO_DATA = {"NPZOO_DATA": ""}


def png(width, height, pixel):
    """Writes a picture in colours; `pixel` gives (red, green, blue) at a row and a column."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + bytes(value for column in range(width) for value in pixel(row, column)) for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def stripes(number):
    """Wide pictures of stripes, of which the middle is shown."""
    return png(24, 16, lambda row, column: (200 if (row + number) % 8 < 4 else 40, 20 * (number % 12), 128))


def folder(name="own", count=40):
    path = HERE / name
    if not path.exists():
        (path / "more").mkdir(parents=True)
        for number in range(count):
            write(f"{name}/{'more/' if number % 2 else ''}{number:03}.png", stripes(number))
        write(f"{name}/notes.txt", "no picture")
    return path


def train(out, *more, at=None, steps=150):
    return ["train", "--images", at or folder(), "--size", "8x16", *SMALL, "--steps", steps, "--batch", 8, "--seed", 1,
            "--out", HERE / out, *more]


@case
def a_folder_is_learned():
    succeed(*train("run", "--set", "validation.every=50", "--set", "validation.batches=4"))
    at = HERE / "run/checkpoint.safetensors"
    text = read_safetensors(at)[0]["protocol_text"]
    for part in ('kind = "images"', 'set = "folder"', f'path = "{folder()}"', 'checksum = "xxh3-128:', "channels = 3",
                 "size = [ 16, 8 ]", 'crop = "centre"', "skip_damaged = false"):
        expect(part in text, repr(part), "expected in:", text)
    validations = [line["validation_log_likelihood"] for line in metrics(HERE / "run") if "validation_log_likelihood" in line]
    # Three channels that are guessed by the standard normal density have -2.8 and less.
    expect(len(validations) == 3 and validations[-1] > validations[0] and validations[-1] > -2.2, validations)
    (row,) = as_json("eval", "--checkpoint", at)
    expect(row["test"] == "held out" and row["oracle"] is None and row["published"] is None and row["tasks"] == 4, row)


@case
def a_run_on_a_folder_goes_on_and_is_repeated():
    succeed(*train("first", steps=20))
    at = HERE / "first/checkpoint.safetensors"
    succeed("train", "--config", HERE / "first/config.toml", "--out", HERE / "second")
    expect(model_hash(HERE / "second/checkpoint.safetensors") == model_hash(at), "the same run once more")
    succeed("train", "--resume", "--out", HERE / "first")
    succeed(*train("one thread", "--threads", 1, steps=20))
    expect(model_hash(HERE / "one thread/checkpoint.safetensors") == model_hash(at), "with another number of threads")
    before = (folder() / "004.png").read_bytes()
    (folder() / "004.png").write_bytes(stripes(77))
    fail("eval", "--checkpoint", at, naming=[f"[images] {folder()} has changed: checksum "])
    (folder() / "004.png").write_bytes(before)


@case
def damaged_pictures_are_skipped_only_with_a_flag():
    path = folder("damaged", 12)
    write("damaged/003.jpg", b"\xff\xd8\xff\xe0 no more")
    write("damaged/005.png", stripes(5)[:90])
    fail(*train("refused", at=path, steps=5), naming=[f"[images] {path}/003.jpg: a damaged JPEG: "])
    done = npzoo(*train("skipping", "--skip-damaged", at=path, steps=5))
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    expect(done.returncode == 0 and len(warnings) == 2, done.stderr)
    expect("003.jpg: a damaged JPEG: " in warnings[0] and "005.png: a damaged PNG: it is cut off" in warnings[1], warnings)
    (row,) = as_json("eval", "--checkpoint", HERE / "skipping/checkpoint.safetensors")
    expect(row["tasks"] == 1, row)


@case
def large_members_of_an_archive_are_skipped_with_a_flag():
    path = HERE / "large.tar"
    with open(path, "wb") as out:
        for name, content, size in (("a.png", stripes(1), None), ("large.png", b"", 600 << 20), ("b.png", stripes(2), None), ("c.png", stripes(3), None)):
            header = tarfile.TarInfo(name)
            header.size = size or len(content)
            out.write(header.tobuf())
            out.write(content)
            out.seek(out.tell() + header.size - len(content) + -header.size % 512)  # a hole
        out.write(bytes(1024))
    fail(*train("refused", at=path, steps=2), naming=["large.tar: large.png: has more than 536870912 bytes, expected a picture"])
    done = npzoo(*train("skipped large", "--skip-damaged", at=path, steps=2))
    expect(done.returncode == 0 and "skipped: [images] " in done.stderr and "large.png: has more than" in done.stderr, done.stderr)


@case
def grey_pictures_and_other_protocols():
    succeed(*train("grey", "--grey", "--crop", "none", steps=5))
    text = read_safetensors(HERE / "grey/checkpoint.safetensors")[0]["protocol_text"]
    expect("channels = 1" in text and 'crop = "none"' in text, text)
    succeed("train", "--images", folder(), "--size", "8x8", "--protocol", "tnp-kr/mnist", "--grey", "--model", "cnp", "--steps", 3,
            "--out", HERE / "other")


@case
def images_are_checked():
    path = folder()
    wrong_usage("train", "--images", path, "--out", HERE / "x", naming=["--images and --size belong together"])
    wrong_usage("train", "--size", "8x8", "--resume", "--out", HERE / "x", naming=["--images and --size belong together"])
    wrong_usage("train", "--images", path, "--size", "8x8", "--table", "a.csv", "--inputs", "a", "--values", "b", "--out", HERE / "x",
                naming=["exclude each other"])
    for size in ("8", "8x", "x8", "8x8x8", "1x8", "8x4097", "-8x8", "8 x 8"):
        fail("train", "--images", path, "--size=" + size, *SMALL, "--out", HERE / "x", naming=[f"--size {size} found, expected width"])
    (HERE / "empty").mkdir()
    fail(*train("x", at=HERE / "empty"), naming=["0 PNG or JPEG files that can be read, expected at least two"])
    fail(*train("x", at=HERE / "none"), naming=["none"])


@case
def sets_that_are_not_there_are_named():
    fail("train", "--protocol", "tnp-kr/mnist", "--model", "cnp", "--out", HERE / "x", environment=NO_DATA,
         naming=["mnist/train-images-idx3-ubyte: no folder of data found, expected --data or NPZOO_DATA", "https://"])
    fail("sample", "tnp-kr/cifar10", "--data", HERE, "--out", HERE / "x.csv",
         naming=[f"{HERE} has no file cifar10/test_batch, also none with .gz or .xz", "https://"])
    done = npzoo("reproduce", "tnp/emnist", "--models", "cnp", "--data", HERE, "--out", HERE / "runs", "--results", HERE / "results")
    expect(done.returncode == 1 and f"{HERE} has no file emnist/emnist-balanced-train-images-idx3-ubyte" in done.stderr, done.stderr)


sys.exit(run_cases())
