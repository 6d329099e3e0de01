#!/usr/bin/env python3
"""Tests of exported weights and their names: weights_test.py PATH_TO_NPZOO"""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

from cli_support import (HERE, PROGRAM, as_json, case, check_keys, checkpoint, expect, fail, npzoo, read_safetensors, run_cases,
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
def exported_weights_are_small_and_have_their_history():
    metadata, tensors = read_safetensors(stored())
    expect(metadata["checksum"].startswith("xxh3-128:"), metadata["checksum"])
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
def export_takes_the_scores_of_eval():
    directory = trained("beside", small_protocol(), steps=20)
    at, out, kept = directory / "checkpoint.safetensors", HERE / "beside.safetensors", directory / "evaluation.json"
    done = npzoo("export", "--checkpoint", at, "--out", out)
    expect(done.returncode == 0 and f"npzoo eval --checkpoint {at}" in done.stderr, done.stderr)
    expect(read_safetensors(out)[0]["evaluation"] == "[]" and "Scores" not in succeed("info", out), "scores of what nobody scored")
    fail("export", "--checkpoint", at, "--out", out, "--evaluation", HERE / "none.json", naming=["none.json"])
    for other in (["--batches", 1], ["--seed", 1], ["--protocol", small_protocol()]):
        succeed("eval", "--checkpoint", at, *other)
        expect(not kept.exists(), "an evaluation by other rules was kept:", other)
    scores = as_json("eval", "--checkpoint", at)
    check_keys(json.loads(kept.read_text()), "commit", "results")
    expect(json.loads(kept.read_text())["results"] == scores, "other scores are kept than those printed")
    result = as_json("export", "--checkpoint", at, "--out", out)
    check_keys(result, "out", "bytes", "command")
    expect(result["bytes"] == out.stat().st_size, result)
    expect(json.loads(read_safetensors(out)[0]["evaluation"]) == scores, "scores")
    copy = HERE / "copied"
    copy.mkdir()
    for path in (copy / "checkpoint.safetensors", copy / "mine.safetensors", directory / "mine.safetensors"):
        path.write_bytes(at.read_bytes())
        before = kept.read_bytes()
        succeed("eval", "--checkpoint", path)
        expect(len(list(copy.iterdir())) <= 2 and kept.read_bytes() == before, "something was left beside", path)
        expect(not (copy / "evaluation.json").exists(), "left in a directory that is no run's")


@case
def exported_weights_take_other_scores():
    out = HERE / "rescored.safetensors"
    succeed("export", "--checkpoint", stored(), "--evaluation", evaluation(), "--out", out)
    expect(out.read_bytes() == stored().read_bytes(), "the same scores make another file")
    scores = as_json("eval", "--checkpoint", NAME, "--batches", 1)
    result = as_json("export", "--checkpoint", NAME, "--evaluation", write("few.json", json.dumps(scores)), "--out", out)
    before, after = read_safetensors(stored()), read_safetensors(out)
    expect(json.loads(after[0]["evaluation"]) == scores != json.loads(before[0]["evaluation"]), after[0]["evaluation"])
    expect(after[1] == before[1] and result["command"] == after[0]["command"] == before[0]["command"], result)
    fail("export", "--checkpoint", NAME, "--out", out, naming=["is an exported file", "or --evaluation with other scores"])


@case
def eval_changes_options_that_keep_the_weights():
    def headline(*more):
        row, = as_json("eval", "--checkpoint", checkpoint(), "--batches", 2, *more)
        return row["log_likelihood"]

    expect(headline("--set", "evaluation.seed=0") == headline(), "another key changed the model")
    expect(headline("--set", "models.tnp-d.nhead=1") != headline(), "heads")
    for change in ("d_model=16", "num_layers=1"):
        fail("eval", "--checkpoint", checkpoint(), "--batches", 2, "--set", f"models.tnp-d.{change}", naming=["[checkpoint]"])


@case
def eval_keeps_the_scores_of_reproduce():
    directory = trained("reproduced", small_protocol(), steps=20)
    at, kept = directory / "checkpoint.safetensors", directory / "evaluation.json"
    scores = as_json("eval", "--checkpoint", at)
    theirs = json.dumps({"commit": "x", "subject": {"step": 20}, "results": scores})
    kept.write_text(theirs)
    succeed("eval", "--checkpoint", at)
    expect(kept.read_text() == theirs, "replaced")
    kept.write_text(theirs.replace(scores[0]["weights"], "xxh3-128:0"))
    succeed("eval", "--checkpoint", at)
    expect(json.loads(kept.read_text())["results"] == scores, "an evaluation of other weights was left")
    kept.unlink()
    kept.mkdir()
    done = npzoo("eval", "--checkpoint", at)
    expect(done.returncode == 0 and done.stdout and "npzoo: warning: " in done.stderr, done.returncode, done.stderr)


@case
def an_unfinished_training_is_exported_only_with_a_flag():
    out = HERE / "unfinished"
    run = ["train", "--protocol", small_protocol(), "--model", "cnp", "--steps", 100_000, "--checkpoint-every", 10, "--out", out]
    with subprocess.Popen([PROGRAM, *map(str, run)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while not (out / "checkpoint.safetensors").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate()
    expect(process.returncode == 130, process.returncode)
    at = out / "checkpoint.safetensors"
    succeed("eval", "--checkpoint", at)
    fail("export", "--checkpoint", at, "--out", HERE / "none", naming=["of 100000 updates", "--unfinished"])
    succeed("export", "--checkpoint", at, "--out", HERE / "unfinished.safetensors", "--unfinished")


@case
def a_name_stands_for_its_path():
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
def the_protocol_names_its_only_weights():
    path, name = stored(), "quick/gp1d"
    by_path = as_json("eval", "--checkpoint", path, "--batches", 2)
    expect(by_path == as_json("eval", "--checkpoint", name, "--batches", 2), "eval")
    run = HERE / "from-protocol"
    succeed("train", "--protocol", name, "--init", name, "--steps", 2, "--batch", 2, "--out", run)
    expect(as_json("info", run / "checkpoint.safetensors")["init"] == NAME, "the full name is kept")
    fail("export", "--checkpoint", name, "--out", HERE / "none", naming=["is an exported file"])
    table = write("gaps.csv", "x,y\n0,1\n1,\n2,3\n3,2\n")
    expect(succeed("predict", table, "--checkpoint", "npzoo/any-1d") == succeed("predict", table), "predict")
    (HERE / name).mkdir(parents=True, exist_ok=True)
    done = subprocess.run([PROGRAM, "info", name], cwd=HERE, stdout=subprocess.PIPE, text=True)
    expect(done.stdout.startswith(f"# {NAME}"), "beside a folder of that name")
    (path.parent / "cnp.safetensors").write_bytes(path.read_bytes())
    fail("eval", "--checkpoint", name, naming=["there are no weights 'quick/gp1d', did you mean 'cnp:quick/gp1d' or 'tnp-d:quick/gp1d'?"])
    (path.parent / "cnp.safetensors").unlink()


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
        del header["__metadata__"]["checksum"]
        header = json.dumps(header).encode()
        return struct.pack("<Q", len(header)) + header + content[8 + size:]

    null = json.dumps([{**row, "log_likelihood": None} for row in json.loads(scored)])
    unsure = json.dumps([{**row, "standard_error": None} for row in json.loads(scored)])
    bad = {"checkpoint": (checkpoint().read_bytes(), "is a checkpoint, expected weights that npzoo export wrote"),
           "null": (with_scores(null), 'the score of test "rbf" is null'), "list": (with_scores("[1]"), "the score of test null"),
           "object": (with_scores("{}"), "the scores are not an array"), "words": (with_scores("scores"), "the scores"),
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
def unknown_weights_get_suggestions():
    stored()
    fail("eval", "--checkpoint", "tnp-d:no/such", naming=["tnp-d:no/such", NAME])
    fail("eval", "--checkpoint", "anp:quick/gp1", naming=["anp:quick/gp1", NAME])
    fail("eval", "--checkpoint", "tnp-d", naming=["no weights 'tnp-d'", NAME])
    fail("eval", "--checkpoint", "npzoo/any1d", naming=["did you mean 'kriging-tnp:npzoo/any-1d'?"])
    fail("eval", "--checkpoint", "no-such-file", naming=["no-such-file", "npzoo list weights"])
    fail("eval", "--checkpoint", "none.safetensors", naming=["[none.safetensors] cannot open"])
    fail("eval", "--checkpoint", "no/such/run", naming=["[no/such/run] cannot open"])
    fail("eval", "--checkpoint", "x" * 100_000, naming=["100", "npzoo list weights"])


@case
def files_that_are_no_checkpoints_are_refused():
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


@case
def scores_must_be_of_these_weights():
    for content in ["", "{}", "[]", "[1]", "7", json.dumps([{"model": "tnp-d"}]), '{"results": []}']:
        fail("export", "--checkpoint", checkpoint(), "--evaluation", write("odd.json", content), "--out", HERE / "none",
             naming=["odd.json"])
    other = as_json("eval", "--checkpoint", checkpoint("cnp", model="cnp"), "--batches", 2)
    fail("export", "--checkpoint", checkpoint(), "--evaluation", write("odd.json", json.dumps(other)), "--out", HERE / "none",
         naming=["odd.json", "cnp", "tnp-d"])
    own = as_json("eval", "--checkpoint", checkpoint(), "--batches", 2)
    again = HERE / "other seed"
    succeed("train", "--protocol", "quick/gp1d", "--model", "tnp-d", "--steps", 30, "--batch", 4, "--seed", 1, "--out", again)
    others = [as_json("eval", "--checkpoint", again / "checkpoint.safetensors", "--batches", 2),
              as_json("eval", "--checkpoint", checkpoint("longer", steps=31), "--batches", 2),
              [{key: value for key, value in row.items() if key != "weights"} for row in own]]
    for scores in others:
        fail("export", "--checkpoint", checkpoint(), "--evaluation", write("odd.json", json.dumps(scores)), "--out",
             HERE / "none", naming=["odd.json", "not of these weights"])


@case
def weights_from_before_there_were_checksums():
    folder = pathlib.Path(__file__).resolve().parents[2] / "weights"
    old = [path for path in sorted(folder.rglob("*.safetensors")) if "checksum" not in read_safetensors(path)[0]]
    expect(old, "weights without a checksum in", folder)
    tables = ["--context", write("context.csv", "x,y\n-1,0.5\n0,0.1\n1,-0.2\n"), "--targets", write("targets.csv", "x\n0.5\n")]
    for path in old:
        succeed("predict", "--checkpoint", path, *tables, "--out", "-")


@case
def damaged_weights_are_refused():
    for path in (checkpoint(), stored()):
        content = bytearray(path.read_bytes())
        content[-5] ^= 1
        damaged = write("damaged.safetensors", bytes(content))
        tables = ["--context", write("context.csv", "x,y\n-1,0.5\n"), "--targets", write("targets.csv", "x\n0.5\n")]
        for command in (["eval"], ["plot", "--out", HERE / "none.svg"], ["predict", *tables, "--out", HERE / "none.csv"],
                        ["stream", *tables, "--out", HERE / "none.csv"], ["export", "--out", HERE / "none"]):
            fail(*command, "--checkpoint", damaged, naming=["damaged.safetensors", "it is damaged: checksum"])


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
    oracle = "\n[evaluation.tests.oracle]\n{} = {}\n"
    at = "\n[models.tnp-d]"

    def scored(value, batches, density="bayes_diagonal"):
        protocol = write("leak.toml", small_protocol().read_text().replace(at, oracle.format(density, value) + at))
        return npzoo("eval", "--checkpoint", stored(), "--protocol", protocol, "--batches", batches, "--json")

    expect(scored(5.0, 100).returncode == 0, "below the oracle")
    expect(scored(-50.0, 5).returncode == 0, "a few batches prove nothing")
    done = scored(-50.0, 100)
    expect(done.returncode == 1 and "leaks: rbf: log-likelihood" in done.stderr.splitlines()[-1], done.stderr)
    (row,) = json.loads(done.stdout)  # told in any case
    expect(row["oracle"] == -50.0, row)
    done = scored(-50.0, 100, "bayes_joint")  # of a figure that is not the headline
    expect(done.returncode == 1 and "leaks: rbf: joint-log-likelihood" in done.stderr.splitlines()[-1], done.stderr)
    (row,) = json.loads(done.stdout)
    expect(row["oracles"]["joint_log_likelihood"] == -50.0, row)


if __name__ == "__main__":
    sys.exit(run_cases())
