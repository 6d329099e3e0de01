#!/usr/bin/env python3
"""Tests of changed protocols (--set), of trainings that begin with weights (--init) and of event files (--tensorboard):
fine_tune_test.py PATH_TO_NPZOO"""

import json
import pathlib
import shutil
import struct
import subprocess
import sys
import time

from cli_support import (HERE, PROGRAM, as_json, case, checkpoint, expect, fail, metrics, model_hash, npzoo, read_safetensors,
                         run_cases, small_protocol, succeed, trained, write, wrong_usage)
from event_file import EVENTS, check_events, crc32c, events

TNP = "tnp/gp-rbf"


def protocol_of(path):
    return read_safetensors(path)[0]["protocol"]


def run_of(path):
    return json.loads(read_safetensors(path)[0]["run"])


@case
def a_changed_protocol_is_another_protocol():
    out = HERE / "changed"
    succeed("train", "--protocol", TNP, "--set", "data.points=30", "--set", 'training.schedule={name = "constant"}', "--set",
            "data.context = [3, 20]", "--model", "cnp", "--steps", 3, "--batch", 2, "--out", out)
    at = out / "checkpoint.safetensors"
    name = f"{TNP} --set 'data.context=[3, 20]' --set data.points=30 --set 'training.schedule={{name = \"constant\"}}'"
    expect(protocol_of(at) == name, protocol_of(at))
    (rbf, matern, *_) = as_json("eval", "--checkpoint", at, "--batches", 2)
    expect(rbf["protocol"] == name and rbf["published"] is None and rbf["oracle"] is None, rbf)
    (rbf, *_) = as_json("eval", "--checkpoint", at, "--protocol", TNP, "--batches", 2)
    expect(rbf["protocol"] == TNP and rbf["oracle"] is not None, rbf)
    fail("train", "--protocol", TNP, "--model", "cnp", "--steps", 3, "--batch", 2, "--out", out, "--resume",
         naming=["began with protocol", name])
    command = as_json("export", "--checkpoint", at, "--evaluation",
                      write("changed.json", succeed("eval", "--checkpoint", at, "--batches", 2, "--json")), "--out",
                      HERE / "changed.safetensors")["command"]
    expect(command == f"npzoo train --protocol {name} --model cnp --steps 3 --batch 2 --seed 0 --out DIR", command)
    succeed("train", "--config", out / "config.toml", "--out", HERE / "changed again")
    again = HERE / "changed again/checkpoint.safetensors"
    expect(protocol_of(again) == name and model_hash(again) == model_hash(at), "the same run once more")


@case
def changes_are_made_wherever_a_protocol_is_named():
    text = succeed("info", TNP, "--set", "data.points=60")
    expect("points = 60\n" in text and "published" not in text and "oracle" not in text, text)
    text = succeed("info", TNP, "--set", "training.steps=7", "--set", "training.steps=8")
    expect("steps = 8\n" in text and "published" not in text and "bayes_diagonal" in text, text)
    expect(f'name = "{TNP} --set training.steps=8"' in text, text)
    (row,) = as_json("eval", "--checkpoint", checkpoint(), "--set", "evaluation.batches=3")
    expect((row["tasks"], row["protocol"]) == (48, "quick/gp1d --set evaluation.batches=3"), row)
    (row,) = as_json("oracle", "quick/gp1d", "--set", "data.context=[3, 4]", "--tasks", 20)
    expect(row["protocol"] == "quick/gp1d --set 'data.context=[3, 4]'" and row["stated"]["known_joint"] is None, row)
    for command in (["bench", "data"], ["bench", "forward", "--model", "cnp"], ["bench", "train-step", "--model", "cnp"]):
        row = as_json(*command, "--protocol", "quick/gp1d", "--set", "training.batch_size=3", "--steps", 1, "--warmup", 0)
        expect((row["batch"], row["protocol"]) == (3, "quick/gp1d --set training.batch_size=3"), row)
    for seed in (1, 2):
        succeed("plot", "--checkpoint", checkpoint(), "--set", f"data.context=[{10 * seed}, {10 * seed + 2}]", "--out", HERE / f"{seed}.svg")
    expect((HERE / "1.svg").read_text() != (HERE / "2.svg").read_text(), "the picture of other tasks")
    config = write("set.toml", '[eval]\nset = ["evaluation.batches=1", "evaluation.batch_size=2"]\n')
    (row,) = as_json("eval", "--checkpoint", checkpoint(), "--config", config)
    expect(row["tasks"] == 2, row)


@case
def changes_of_a_protocol_are_checked():
    def refused(change, *naming):
        fail("info", "quick/gp1d", "--set", change, naming=naming)

    for change in ("data.points", "=3", "data.points=", "training.keep=last", "data points=3", "data.points=3\nname=1", "[data]",
                   "data.points=1 2", "a=\"", "x" * 100_000):
        refused(change, "[set] ", "expected a key and a value of TOML, as data.points=100")
    refused("name=\"mine\"", "expected another key: npzoo makes the name of a changed protocol")
    refused("data.pionts=3", "quick/gp1d --set data.pionts=3: data.pionts is an unknown key, expected one of: ")
    refused("data.points=1", "quick/gp1d --set data.points=1: data.points is 1, expected an integer from")
    refused("data.points=\"3\"", "data.points is '3', expected an integer")
    refused("data.points.x=3", "data.points is a TOML table, expected an integer")
    refused("frobnicate=3", "frobnicate is an unknown key")
    wrong_usage("info", "quick/gp1d", "--set", "", naming=["--set"])
    wrong_usage("info", "quick/gp1d", "--set", naming=["--set"])
    fail("train", "--resume", "--set", "data.points=3", "--out", HERE / "x",
         naming=["found --resume with some of --protocol, --model, --init and --set, expected none of them"])
    fail("info", checkpoint(), "--set", "data.points=3", naming=["--set found with", "expected it with a protocol"])


def fine_tune(out, *more, init=None, steps=6):
    return ["train", "--init", init or checkpoint(), "--protocol", "quick/gp1d", *more, "--steps", steps, "--batch", 2, "--seed", 3,
            "--out", out]


@case
def a_training_begins_with_weights():
    out, at = HERE / "tuned", HERE / "tuned/checkpoint.safetensors"
    succeed(*fine_tune(out))
    start = checkpoint()
    tuned, first = read_safetensors(at)[1], read_safetensors(start)[1]
    close = max(max(abs(a - b) for a, b in zip(floats(tuned[name]), floats(first[name])))
                for name in first if not name.startswith(("best.", "optimiser.")))
    # Adam moves a weight by at most about the learning rate an update, 1e-3 in the warm-up of 200.
    expect(0 < close < 6e-3, "largest distance from the weights that it began with:", close)
    init = run_of(at)["init"]
    expect(init["source"] == str(start) and init["checksum"].startswith("xxh3-128:"), init)
    fresh = HERE / "fresh"
    succeed("train", "--protocol", "quick/gp1d", "--model", "tnp-d", "--steps", 6, "--batch", 2, "--seed", 3, "--out", fresh)
    expect("init" not in run_of(fresh / "checkpoint.safetensors"), "a run with random weights tells of none")
    expect(metrics(fresh) != metrics(out), "the losses of random weights")

    succeed("train", "--config", out / "config.toml", "--out", HERE / "tuned again")
    expect(model_hash(HERE / "tuned again/checkpoint.safetensors") == model_hash(at), "the same run once more")
    text = succeed("info", at)
    expect(f"from the weights `{start}`" in text, text)

    (HERE / "scores.json").write_text(succeed("eval", "--checkpoint", at, "--batches", 1, "--json"))
    given = HERE / "given away.safetensors"
    succeed("export", "--checkpoint", at, "--evaluation", HERE / "scores.json", "--out", given)
    expect(run_of(given)["init"] == {**init, "source": start.name}, "no folders of the machine that trained:", run_of(given))
    expect(f" --init {start.name} " in read_safetensors(given)[0]["command"], read_safetensors(given)[0]["command"])


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


@case
def a_run_that_began_with_weights_goes_on_without_them():
    out, weights = HERE / "halted", HERE / "weights.safetensors"
    shutil.copy(checkpoint(), weights)
    args = fine_tune(out, "--checkpoint-every", 50, init=weights, steps=1000)
    with subprocess.Popen([PROGRAM, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (out / "checkpoint.safetensors").exists() and process.poll() is None:
            time.sleep(0.001)
        early = (out / "checkpoint.safetensors").read_bytes()
    final = model_hash(out / "checkpoint.safetensors")
    (out / "checkpoint.safetensors").write_bytes(early)
    weights.unlink()
    succeed("train", "--resume", "--out", out)
    expect(model_hash(out / "checkpoint.safetensors") == final, "weights")
    fail(*fine_tune(out, "--resume", init=checkpoint("other", steps=31), steps=1000), naming=["began with weights xxh3-128:"])
    done = npzoo("train", "--resume", "--protocol", "quick/gp1d", "--model", "tnp-d", "--steps", 1000, "--batch", 2, "--seed", 3,
                 "--out", out)
    expect(done.returncode == 1 and "now it is random weights" in done.stderr, done.stderr)


@case
def names_are_weights_to_begin_with():
    store = HERE / "store"
    path = store / "mine" / "cnp.safetensors"
    path.parent.mkdir(parents=True)
    at = checkpoint("cnp", model="cnp")
    scores = write("scores.json", succeed("eval", "--checkpoint", at, "--batches", 2, "--json"))
    succeed("export", "--checkpoint", at, "--evaluation", scores, "--out", path)
    out = HERE / "by name"
    done = npzoo(*fine_tune(out, init="cnp:mine"), environment={"NPZOO_WEIGHTS": str(store)})
    expect(done.returncode == 0, done.stderr)
    expect((out / "initial.safetensors").read_bytes() == path.read_bytes(), "a copy of the weights")
    shutil.rmtree(store)
    succeed("train", "--config", out / "config.toml", "--out", HERE / "by name again")
    expect(model_hash(HERE / "by name again/checkpoint.safetensors") == model_hash(out / "checkpoint.safetensors"), "weights")
    expect(run_of(out / "checkpoint.safetensors")["init"]["source"] == "cnp:mine", "its name")


@case
def weights_that_do_not_fit_are_refused():
    out = HERE / "never"
    two = checkpoint("two", small_protocol(2))
    fail(*fine_tune(out, init=two), naming=["[init] ", "takes 2 inputs and predicts 1 values, quick/gp1d has 1 and 1"])
    fail(*fine_tune(out, "--model", "cnp"), naming=["[init] ", "is a tnp-d without '", "which the cnp under quick/gp1d has"])
    small = checkpoint("small", small_protocol(1))
    fail(*fine_tune(out, "--model", "tnp-d", init=small), naming=["[init] ", "has the shape ", "expected "])
    succeed(*fine_tune(HERE / "small tuned", init=small))  # without a word on the model it is theirs
    expect("model =" not in (HERE / "small tuned/config.toml").read_text(), "the weights' own model is no preset")
    fail(*fine_tune(out, init="no-such-weights"), naming=["no weights 'no-such-weights'"])
    fail(*fine_tune(out, init=HERE / "none.safetensors"), naming=["none.safetensors"])
    wrong_usage("train", "--init", checkpoint(), "--out", out, naming=["--protocol and --model (or --table, --events, --images or --resume) is required"])
    expect(not out.exists(), "a directory was left")


def with_events(out, *more):
    return ["train", "--protocol", small_protocol(), "--model", "cnp", "--tensorboard", "--out", out, *more]


@case
def events_are_written_beside_the_metrics():
    assert crc32c(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF  # RFC 3720
    out = HERE / "events"
    succeed(*with_events(out))
    check_events(out)
    expect({90, 180, 270, 360, 400} <= {step for step, values in events(out / EVENTS) if len(values) == 1}, "validations")
    expect(not (trained() / EVENTS).exists(), "an event file that nobody asked for")
    before = (out / EVENTS).read_bytes()
    succeed("train", "--resume", "--out", out)
    expect((out / EVENTS).read_bytes() == before, "a finished run that goes on writes no event")


@case
def a_resumed_run_writes_no_event_twice():
    out, at = HERE / "killed", HERE / "killed/checkpoint.safetensors"
    args = with_events(out, "--steps", 6000, "--checkpoint-every", 300)
    with subprocess.Popen([PROGRAM, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not at.exists() and process.poll() is None:
            time.sleep(0.001)
        early = at.read_bytes()
    expect(process.returncode == 0, "exit status", process.returncode)
    final, steps = model_hash(at), [step for step, _ in events(out / EVENTS)]
    whole = (out / EVENTS).read_bytes()
    for cut in (0, 1, 5, 20, 70):  # as a kill leaves them: a checkpoint of before, and the last event cut short
        at.write_bytes(early)
        (out / EVENTS).write_bytes(whole[:len(whole) - cut])
        succeed("train", "--resume", "--out", out)
        expect(model_hash(at) == final, "weights")
        expect([step for step, _ in events(out / EVENTS)] == steps, "events twice, or lost, after a cut by", cut)
        check_events(out)


@case
def foreign_event_files_are_left_alone():
    out = HERE / "foreign"
    out.mkdir()
    (out / EVENTS).write_text("precious")
    fail(*with_events(out), naming=[EVENTS, "was not written by a training"])
    shutil.copytree(trained(), HERE / "foreign in a run")
    (HERE / "foreign in a run" / EVENTS).write_text("precious")
    fail("train", "--resume", "--out", HERE / "foreign in a run", naming=[EVENTS, "was not written by a training"])


if __name__ == "__main__":
    sys.exit(run_cases())
