#!/usr/bin/env python3
"""Tests of exported weights and their names: weights_test.py PATH_TO_NPZOO"""

import json
import os
import shutil
import struct
import sys

from cli_support import (HERE, as_json, case, check_keys, checkpoint, expect, fail, npzoo, read_safetensors, run_cases,
                         small_protocol, succeed, trained, write)

STORE = HERE / "store"
os.environ["NPZOO_WEIGHTS"] = str(STORE)
NAME = "tnp-d:quick/gp1d"


def evaluation(at=None):
    return write("scores.json", succeed("eval", "--checkpoint", at or checkpoint(), "--batches", 3, "--json"))


def stored():
    """The name of weights in a folder of them, made when first asked for."""
    path = STORE / "quick" / "gp1d" / "tnp-d.safetensors"
    if not path.exists():
        path.parent.mkdir(parents=True)
        succeed("export", "--checkpoint", checkpoint(), "--evaluation", evaluation(), "--out", path)
    return path


@case
def exported_weights_are_small_and_tell_where_they_come_from():
    metadata, tensors = read_safetensors(stored())
    check_keys(metadata, "format", "npzoo_version", "model", "config", "protocol", "protocol_text", "run", "commit", "command",
               "evaluation")
    expect(metadata["format"] == "npzoo-weights-1", metadata["format"])
    expect(metadata["command"] == "npzoo train --protocol quick/gp1d --model tnp-d --steps 30 --batch 4 --seed 0 --out DIR",
           metadata["command"])
    expect([row["test"] for row in json.loads(metadata["evaluation"])] == ["rbf"], metadata["evaluation"])
    full = read_safetensors(checkpoint())[1]
    expect(len(full) >= 3 * len(tensors), len(full), "tensors in the checkpoint,", len(tensors), "in the weights")
    for name, data in tensors.items():
        expect(not name.startswith(("best.", "optimiser.")) and full[name] == data, name)


@case
def the_evaluation_beside_the_checkpoint_is_taken():
    directory = trained("beside")
    out = HERE / "beside.safetensors"
    fail("export", "--checkpoint", directory / "checkpoint.safetensors", "--out", out, naming=["evaluation.json"])
    scores = as_json("eval", "--checkpoint", directory / "checkpoint.safetensors", "--batches", 2)
    (directory / "evaluation.json").write_text(json.dumps({"commit": "x", "results": scores}))
    result = as_json("export", "--checkpoint", directory / "checkpoint.safetensors", "--out", out)
    check_keys(result, "out", "bytes", "command")
    expect(result["bytes"] == out.stat().st_size, result)
    expect(json.loads(read_safetensors(out)[0]["evaluation"]) == scores, "scores")


@case
def a_name_does_what_the_path_does():
    path = stored()
    by_path = as_json("eval", "--checkpoint", path, "--batches", 2)
    expect(by_path == as_json("eval", "--checkpoint", NAME, "--batches", 2), "eval by name")
    expect(by_path == as_json("eval", "--checkpoint", checkpoint(), "--batches", 2), "eval of the checkpoint")
    tables = ["--context", write("context.csv", "x,y\n-1,0.5\n0,0.1\n1,-0.2\n"), "--targets", write("targets.csv", "x\n0.5\n")]
    expect(succeed("predict", "--checkpoint", NAME, *tables, "--out", "-").splitlines()[-1] ==
           succeed("predict", "--checkpoint", path, *tables, "--out", "-").splitlines()[-1], "predict by name")
    succeed("plot", "--checkpoint", NAME, "--out", HERE / "picture.svg")
    fail("stream", "--checkpoint", NAME, *tables, "--out", "-", naming=["tnp-d", "cmanp"])  # found, but does not stream


@case
def weights_are_listed():
    stored()
    (row,) = [row for row in as_json("list", "weights") if row["name"] == NAME]
    check_keys(row, "model", "protocol", "parameters", "bytes", "steps", "seed", "commit", "command", "evaluation", "path")
    expect(row["steps"] == 30 and row["evaluation"][0]["test"] == "rbf", row)
    line = next(line for line in succeed("list", "weights").splitlines() if line.startswith(NAME))
    expect(f"rbf {row['evaluation'][0]['log_likelihood']:.3f}" in line, line)


@case
def one_bad_file_is_one_row():
    good = stored()
    (own,) = [row for row in as_json("list", "weights") if row["name"] == NAME]
    scored = read_safetensors(good)[0]["evaluation"]

    def with_scores(text):
        content = good.read_bytes()
        (size,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + size])
        header["__metadata__"]["evaluation"] = text
        header = json.dumps(header).encode()
        return struct.pack("<Q", len(header)) + header + content[8 + size:]

    null = json.dumps([{**row, "log_likelihood": None} for row in json.loads(scored)])
    unsure = json.dumps([{**row, "standard_error": None} for row in json.loads(scored)])
    bad = {"checkpoint": (checkpoint().read_bytes(), "is a checkpoint, expected weights that npzoo export wrote"),
           "null": (with_scores(null), 'a score of test "rbf" is null'), "list": (with_scores("[1]"), "a score of test null"),
           "object": (with_scores("{}"), "the scores are no array"), "words": (with_scores("scores"), "the scores"),
           "cut": (good.read_bytes()[:99], "cut.safetensors"), "empty": (b"", "empty.safetensors"),
           "table": (b"x,y\n1,2\n3,4\n", "a table (CSV)")}
    folder = STORE / "bad"
    folder.mkdir()
    (folder / "fine.safetensors").write_bytes(with_scores(unsure))
    for name, (content, _) in bad.items():
        (folder / f"{name}.safetensors").write_bytes(content)
    done, table = npzoo("list", "weights", "--json"), npzoo("list", "weights")
    shutil.rmtree(folder)
    for result in (done, table):
        expect(result.returncode == 1, "exit status", result.returncode)
        (line,) = result.stderr.splitlines()
        expect(line.startswith("npzoo: error: [list] weights that cannot be used: 8 of "), line)
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    expect(rows[NAME] == own and own["problem"] is None, rows[NAME])
    for name, (_, problem) in bad.items():
        row = rows[f"{name}:bad"]
        expect(set(row) == {"name", "path", "problem"} and problem in row["problem"], row)
        (line,) = [line for line in table.stdout.splitlines() if line.startswith(f"{name}:bad ")]
        expect(problem in line, line)
    expect(rows["fine:bad"]["evaluation"][0]["standard_error"] is None, rows["fine:bad"])
    (line,) = [line for line in table.stdout.splitlines() if line.startswith("fine:bad ")]
    expect("rbf " in line and "±" not in line, line)


@case
def what_is_no_name_is_told_what_there_is():
    stored()
    fail("eval", "--checkpoint", "tnp-d:no/such", naming=["tnp-d:no/such", NAME])
    fail("eval", "--checkpoint", "tnp-d", naming=["no weights 'tnp-d'", NAME])
    fail("eval", "--checkpoint", "no-such-file", naming=["no-such-file", NAME])
    fail("eval", "--checkpoint", "none.safetensors", naming=["[none.safetensors] cannot open"])
    fail("eval", "--checkpoint", "no/such/run", naming=["[no/such/run] cannot open"])
    fail("eval", "--checkpoint", "x" * 100_000, naming=["100", NAME])


@case
def what_is_no_checkpoint_is_named():
    picture = HERE / "p.png"
    succeed("plot", "--checkpoint", checkpoint(), "--out", picture)
    kinds = {"a table (CSV)": "# seen\nx,y\n-1.5,2.25\n", "text": "hello, hello = 1\n", "text (JSON or TOML)": '{"a": [1, 2, 3]}',
             "a ZIP archive (PyTorch's format, or an .npz)": b"PK\3\4" + bytes(30), "a NumPy array": b"\x93NUMPY" + bytes(20),
             "compressed (gzip)": b"\x1f\x8b" + bytes(20), "a picture (PNG)": picture.read_bytes()}
    for kind, content in kinds.items():
        fail("eval", "--checkpoint", write("wrong.csv", content), naming=[f"wrong.csv: is {kind}, expected a safetensors file"])


@case
def weights_cannot_be_trained_on():
    out = HERE / "resumed"
    out.mkdir()
    (out / "checkpoint.safetensors").write_bytes(stored().read_bytes())
    fail("train", "--resume", "--out", out, naming=["weights alone"])
    fail("export", "--checkpoint", stored(), "--evaluation", evaluation(), "--out", HERE / "again.safetensors",
         naming=["exported already"])


@case
def scores_must_be_of_these_weights():
    for content in ["", "{}", "[]", "[1]", "7", json.dumps([{"model": "tnp-d"}]), '{"results": []}']:
        fail("export", "--checkpoint", checkpoint(), "--evaluation", write("odd.json", content), "--out", HERE / "none",
             naming=["odd.json"])
    other = as_json("eval", "--checkpoint", checkpoint("cnp", model="cnp"), "--batches", 2)
    fail("export", "--checkpoint", checkpoint(), "--evaluation", write("odd.json", json.dumps(other)), "--out", HERE / "none",
         naming=["odd.json", "cnp", "tnp-d"])


@case
def published_figures_may_change_while_a_run_goes_on():
    protocol = small_protocol()
    args = ["train", "--protocol", protocol, "--model", "cnp", "--steps", 20, "--out", HERE / "corrected"]
    succeed(*args)
    text = protocol.read_text()
    protocol.write_text(text.replace("for tests", "for tests, described better"))
    succeed(*args, "--resume")
    protocol.write_text(text.replace("points = 16", "points = 17"))
    fail(*args, "--resume", naming=["another version", "small1"])


@case
def more_than_possible_is_a_leak():
    oracle = "\n[evaluation.tests.oracle]\nbayes_diagonal = {}\n"
    at = "\n[models.tnp-d]"

    def scored(value, batches):
        protocol = write("leak.toml", small_protocol().read_text().replace(at, oracle.format(value) + at))
        return npzoo("eval", "--checkpoint", stored(), "--protocol", protocol, "--batches", batches, "--json")

    expect(scored(5.0, 100).returncode == 0, "below the oracle")
    expect(scored(-50.0, 5).returncode == 0, "a few batches prove nothing")
    done = scored(-50.0, 100)
    expect(done.returncode == 1 and "leaks: rbf: log-likelihood" in done.stderr.splitlines()[-1], done.stderr)
    (row,) = json.loads(done.stdout)  # told in any case
    expect(row["oracle"] == -50.0, row)


if __name__ == "__main__":
    sys.exit(run_cases())
