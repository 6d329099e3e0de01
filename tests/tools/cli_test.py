#!/usr/bin/env python3
"""Tests of the npzoo program from outside: cli_test.py PATH_TO_NPZOO"""

import json
import math
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import xml.etree.ElementTree

from cli_support import (HERE, PROGRAM, TIMEOUT, as_json, case, check_error, check_keys, checkpoint, checkpoint_2d, commands, expect,
                         fail, metrics, model_hash, npzoo, predict_args, read_safetensors, run_cases, small_protocol, succeed,
                         trained, write, write_safetensors, wrong_usage)

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
# Commands in the order of --help, below the headings that say what they are for.
PURPOSES = {
    "Predict from data": ["predict", "complete", "optimise", "stream", "fit events"],
    "Train and score models": ["train", "eval", "plot", "export", "sample", "oracle", "reproduce"],
    "Look something up": ["list", "info", "help", "version"],
    "Check the program and this machine": ["devices", "bench train-step", "bench forward", "bench data", "bench scaling", "bench attention",
                                           "gradcheck", "parity", "completion"]}


@case
def help_of_every_command():
    expect("train" in succeed("--help"), "--help names the commands")
    expect(succeed("--version").startswith("npzoo "), "--version")
    found = [" ".join(command) for command in commands()]
    expect(found == sum(PURPOSES.values(), []), found)
    for command in [["bench"], ["fit"], *commands()]:
        text = succeed(*command, "--help")
        expect(f"Usage: npzoo {' '.join(command)}" in text and re.match(r"[A-Z].+\.\n", text), command, text)


@case
def help_lists_commands_by_purpose_with_examples():
    overview = succeed("--help")
    headings = re.findall(r"^([A-Z].*):$", overview, re.MULTILINE)
    expect(headings == ["Options", *PURPOSES], headings)
    for heading, names in PURPOSES.items():
        below = overview.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        expect(re.findall(r"^  ([a-z]+)", below, re.MULTILINE) == list(dict.fromkeys(name.split()[0] for name in names)), below)
    for command in commands():
        text = succeed(*command, "--help")
        example = text.rstrip().splitlines()[-1].removeprefix("Example: ")
        expect(example.startswith(" ".join(["npzoo", *command])), command, example)
        shown = overview if len(command) == 1 else succeed(command[0], "--help")
        expect(f" {example}\n" in shown, example, "expected in", shown)
        for flag in re.findall(r"--[a-z-]+", example):
            expect(re.search(rf"^  {flag} ", text, re.MULTILINE), command, "has no", flag)
    for line in (["list", "models"], ["info", "tnp-d:tnp/gp-rbf"], ["devices"], ["gradcheck", "linear", "softmax"]):
        expect(" ".join(["npzoo", *line]) in overview, line)
        succeed(*line)


@case
def wrong_usage_exits_2():
    train = ["train", "--protocol", "quick/gp1d", "--model", "cnp", "--out", "x"]
    for args in [["frobnicate"], ["list", "nothing"], ["list", "--frob"], ["list", "--device", "gpu"],
                 ["list", "--threads", "-1"], ["list", "--threads", "two"], ["train"], ["train", "--out", "x"],
                 [*train, "--steps", "0"], [*train, "--steps", "1.5"], [*train, "--lr", "-1"],
                 [*train, "--seed", "1", "--seed", "2"],
                 ["eval"], ["predict", "--checkpoint", "x"], ["plot", "--checkpoint", "x", "--out", "y.svg", "--tasks", "9"],
                 ["bench", "fly"], ["parity"], ["completion", "csh"], ["list", "--config", "no such file"]]:
        wrong_usage(*args)


@case
def counts_may_have_an_exponent():
    out = HERE / "exponent"
    succeed("train", "--protocol", small_protocol(), "--model", "cnp", "--steps", "2e0", "--out", out)
    expect("steps = 2\n" in (out / "config.toml").read_text(), "steps")


@case
def a_run_that_is_not_there_is_not_resumed():
    fail("train", "--resume", "--out", HERE / "nodir", naming=["nodir holds no run to resume"])


@case
def help_of_a_command_that_has_none_below():
    wrong_usage("help", "predict", "x", naming=["'predict' has no commands of its own, found"])
    wrong_usage("help", "bench", "x", naming=["there is no command"])


@case
def keys_of_protocols_have_bounds():
    out = HERE / "bounds"
    base = ["train", "--protocol", "tnp/wheel", "--model", "cnp", "--steps", 1, "--out", out]
    for change, told in (('evaluation.rules.last="x"', "[bandit] last is x, expected an integer"),
                         ("evaluation.rules=false", "[bandit] policy is missing"),
                         ("evaluation.rules.steps=true", "[bandit] steps is an unknown key"),
                         ("evaluation.densities=[nan,nan]", "a changed protocol has no published figures"),
                         ("evaluation.batch_size=70000", "evaluation.batch_size is 70000, expected an integer from 1 to 65536"),
                         ("models.cnp.dim_hid=-1", "[cnp] dim_hid is -1, expected an integer from 1 to 65536")):
        fail(*base, "--set", change, naming=[told])
    expect(not out.exists(), "a directory was left")
    fail("sample", "convcnp/sawtooth", "--set", "data.shift=[-1e308,1e308]", "--out", HERE / "s.csv",
         naming=["data.shift is -1e+308, expected 0 or a number whose size is from 1e-30 to 1e15"])
    fail("sample", "events/renewal", "--set", "data.process.gaps.mean=800", "--out", HERE / "s.csv",
         naming=["[events] a simulated time is inf, expected a process whose gaps are finite"])


@case
def without_a_command_there_is_help():
    for command in ([], ["bench"]):
        done = npzoo(*command)
        expect((done.returncode, done.stdout, done.stderr) == (2, "", succeed(*command, "--help")), command, done.stderr)


@case
def errors_of_the_environment():
    fail("train", "--protocol", "no/such", "--model", "cnp", "--out", HERE / "x", naming=["no/such", "npzoo list protocols"])
    fail("train", "--protocol", "quick/gp1d", "--model", "gpt", "--out", HERE / "x", naming=["gpt", "npzoo list models"])
    fail("train", "--protocol", "quick/gp1d", "--model", "cnp", "--out", small_protocol(), naming=["small1.toml"])
    fail("train", "--protocol", small_protocol(), "--model", "tnp-kr-full", "--out", HERE / "x",
         naming=["small1", "tnp-kr-full"])
    fail("gradcheck", "concat", "--precision", "bf16", naming=["bf16"])
    fail("gradcheck", "no-such-op", naming=["no-such-op", "linear"])
    write("bad.toml", "name = 1")
    fail("train", "--protocol", HERE / "bad.toml", "--model", "cnp", "--out", HERE / "x", naming=["bad.toml"])


@case
def list_json():
    models = as_json("list", "models")
    for row in models:
        check_keys(row, "name", "title", "paper", "weights")
    expect("tnp-d:tnp/gp-rbf" in next(row["weights"] for row in models if row["name"] == "tnp-d"), models)
    presets = as_json("list", "models", *(row["name"] for row in models))
    for row in presets:
        check_keys(row, "name", "parameters", "paper", "protocol")
    counts = {(row["name"], row["protocol"]): row["parameters"] for row in presets}
    expect(counts["tnp-d", "tnp/gp-rbf"] == 222082, "parameters of TNP-D:", counts)
    protocols = [row["name"] for row in as_json("list", "protocols")]
    expect({protocol for _, protocol in counts} == set(protocols), "every protocol has models")
    expect("masked_attention" in [row["name"] for row in as_json("list", "ops")], "list ops")
    of_protocol = as_json("list", "models", "--protocol", "quick/gp1d")
    expect({row["name"]: row["parameters"] for row in of_protocol} ==
           {name: count for (name, protocol), count in counts.items() if protocol == "quick/gp1d"}, of_protocol)


@case
def lists_are_short_and_aligned():
    rows = succeed("list").splitlines()
    expect(len(rows) == 1 + len(as_json("list", "models")) < 40, len(rows), "rows")
    heads = {"models": ["name", "weights", "paper", "title"], "protocols": ["name", "tasks"],
             "weights": ["name", "inputs", "values", "parameters", "file", "for", "scores"]}
    for what, head in heads.items():
        rows = succeed("list", what).splitlines()
        expect(rows[0].split() == head, rows[0])
        last = rows[0].index(head[-1])
        expect(all(row[last - 2:last] == "  " and row[last] != " " for row in rows), what, "columns")
    names = [row.split()[0] for row in succeed("list", "protocols").splitlines()[1:]]
    # First those to try and npzoo's own; recipes for the user's own data come last.
    order = lambda name: ({"quick": 0, "npzoo": 1, "own": 3}.get(name.split("/")[0], 2), name)
    expect(names == sorted(names, key=order) and len({order(name)[0] for name in names}) == 4, names)
    wrong_usage("list", "weights", "tnp-d", naming=["found after weights"])
    wrong_usage("list", "ops", "--protocol", "quick/gp1d", naming=["--protocol found after ops"])
    fail("list", "models", "tnpd", naming=["did you mean 'tnp-d'?"])


@case
def gradcheck_json():
    result = as_json("gradcheck", "linear", "layer_norm")
    check_keys(result, "passed", "device", "ops", "unchecked")
    expect(result["passed"] is True and result["device"] == "cpu", result)
    expect([row["op"] for row in result["ops"]] == ["linear", "layer_norm"], result["ops"])
    for row in result["ops"]:
        check_keys(row, "op", "cases", "max_error", "passed")
        expect(row["cases"] > 0 and 0 < row["max_error"] <= 1e-6, row)


@case
def parity_json():
    files = sorted(GOLDEN.glob("*.safetensors"))
    expect(len(files) >= 4, "recorded runs in", GOLDEN)
    for row in as_json("parity", *files):
        check_keys(row, "file", "model", "max_error", "passed", "quantities", "not_compared")
        expect(row["passed"] and row["max_error"] <= 1e-9, row)
        for quantity in row["quantities"]:
            check_keys(quantity, "name", "max_error")
        if row["file"].endswith("/cnp.a.safetensors"):
            expect(row["not_compared"] == ["train.py.mean", "train.py.std"], row)
    text = npzoo("parity", GOLDEN / "dl4bi-canp.a.safetensors").stdout
    expect("\n  not compared: adam.final.* (2), eval.coverage, eval.mae, eval.rmse, train.layer.* (2), train.mean, "
           "train.std\n" in text, text)
    content = bytearray(files[0].read_bytes())
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    at = 8 + size + header["train.loss"]["data_offsets"][0]
    content[at:at + 8] = struct.pack("<d", struct.unpack("<d", content[at:at + 8])[0] + 1e-6)
    done = npzoo("parity", write("deviating.safetensors", bytes(content)), "--json")
    expect(done.returncode == 1, "a deviation must exit with 1")
    expect(json.loads(done.stdout)[0]["passed"] is False, done.stdout)


@case
def bench_json():
    result = as_json("bench", "train-step", "--protocol", "quick/gp1d", "--model", "cnp", "--steps", 5, "--warmup", 1)
    row = result[0] if isinstance(result, list) else result
    check_keys(row, "model", "protocol", "device", "threads", "median_ms", "p10_ms", "p90_ms", "gflops", "share_of_peak",
               "peak_live_bytes", "peak_reserved_bytes", "commit")
    expect(0 < row["p10_ms"] <= row["median_ms"] <= row["p90_ms"], row)
    expect(0 < row["peak_live_bytes"] <= row["peak_reserved_bytes"], row)


@case
def train_eval_plot():
    result = as_json("train", "--protocol", "quick/gp1d", "--model", "tnp-d", "--steps", 30, "--batch", 4,
                     "--out", HERE / "quick")
    check_keys(result, "steps", "loss", "log_likelihood", "seconds", "checkpoint")
    expect(result["steps"] == 30 and math.isfinite(result["loss"]), result)
    expect({p.name for p in trained().iterdir()} == {"checkpoint.safetensors", "config.toml", "metrics.jsonl"},
           "files in --out")
    expect(metrics(trained())[-1]["step"] == 30, "metrics end at the last step")
    for row in as_json("eval", "--checkpoint", checkpoint(), "--batches", 3):
        check_keys(row, "model", "protocol", "log_likelihood", "standard_error", "published", "oracle", "coverage", "crps",
                   "std_floor", "tasks", "joint_log_likelihood", "how")
        expect(set(row["how"]) == {"log_likelihood", "joint_log_likelihood"} and row["how"]["log_likelihood"] == "exact", row)
        expect(math.isclose(row["joint_log_likelihood"], row["log_likelihood"], rel_tol=1e-9), row)
        expect(set(row["coverage"]) == {"50", "80", "90", "95"}, row)
        expect(row["tasks"] == 48 and row["crps"] > 0 and row["log_likelihood"] < row["exact_gp"], row)
    first, second = (succeed("eval", "--checkpoint", checkpoint(), "--batches", 3, "--threads", n) for n in (1, 2))
    expect(first == second and "log-likelihood" in first, "eval repeats itself")
    for name, inputs in (("p.svg", checkpoint()), ("q.svg", checkpoint_2d())):
        succeed("plot", "--checkpoint", inputs, "--out", HERE / name)
        xml.etree.ElementTree.parse(HERE / name)
    succeed("plot", "--checkpoint", checkpoint(), "--out", HERE / "p.png", "--tasks", 1)
    expect((HERE / "p.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n"), "p.png is no PNG")
    fail("plot", "--checkpoint", checkpoint(), "--out", HERE / "p.gif", naming=["p.gif"])


def panels(path, *args):
    """Width and height of a picture, and how many paths of a thin line it has."""
    succeed("plot", "--out", path, *args)
    root = xml.etree.ElementTree.parse(path).getroot()
    thin = len(re.findall(r"""stroke-width[=:]"?0\.6[";]""", path.read_text()))
    return *(float(root.get(side).removesuffix("px")) for side in ("width", "height")), thin


@case
def sample_functions_through_the_band():
    out = HERE / "s.svg"
    for model in ("np", "tnp-a"):
        at = checkpoint(model, "tnp/gp-rbf", model=model, steps=5)
        *_, lines = panels(out, "--checkpoint", at, "--tasks", 2, "--samples", 3)
        *_, none = panels(out, "--checkpoint", at, "--tasks", 2, "--samples", 0)
        expect(none == 0 and lines == 2 * 3 + 1, "functions and a legend expected, found", lines, none)
    *_, lines = panels(out, "--checkpoint", checkpoint(), "--samples", 3)
    expect(lines == 0, "a model of independent targets has functions", lines)
    wrong_usage("plot", "--checkpoint", at, "--out", out, "--samples", 51)


@case
def models_side_by_side():
    out, joint = HERE / "grid.svg", checkpoint("tnp-a", "tnp/gp-rbf", model="tnp-a", steps=5)
    one, _, _ = panels(out, "--grid", checkpoint())
    narrow, low, _ = panels(out, "--grid", f"{checkpoint()},{joint}", "--tasks", 1, "--samples", 2)
    wide, high, lines = panels(out, "--grid", f"{checkpoint()},{joint},{checkpoint()}", "--tasks", 3, "--samples", 2)
    expect(wide > narrow + 140 and high > low + 200 and lines == 3 * 2 + 1, wide, narrow, high, low, lines)
    seven, tall, _ = panels(out, "--grid", ",".join([str(checkpoint())] * 7), "--tasks", 2)
    five, broken, _ = panels(out, "--grid", ",".join([str(checkpoint())] * 8), "--tasks", 2)
    expect(five < seven and broken > tall + 200, "8 models and the truth are two lines of a task", five, seven, broken, tall)
    flat, _, _ = panels(HERE / "maps.svg", "--checkpoint", checkpoint_2d(), "--tasks", 1)
    maps, _, _ = panels(HERE / "maps.svg", "--grid", f"{checkpoint_2d()},{checkpoint_2d()},{checkpoint_2d()}", "--tasks", 1)
    expect(maps > flat, maps, flat)
    before = out.read_bytes()
    wrong_usage("plot", "--out", out)
    wrong_usage("plot", "--out", out, "--checkpoint", checkpoint(), "--grid", checkpoint())
    fail("plot", "--out", out, "--grid", f"{checkpoint()},none", naming=["none"])
    fail("plot", "--out", out, "--grid", f"{checkpoint()},{checkpoint_2d()}", naming=["1 inputs", f"the model of {checkpoint_2d()} takes 2"])
    fail("plot", "--out", joint, "--grid", f"{checkpoint()},{joint}", naming=["is --grid as well, expected another file"])
    expect(out.read_bytes() == before, "an old picture was lost")


@case
def second_run_is_refused():
    run = ["train", "--protocol", "quick/gp1d", "--model", "tnp-d", "--steps", 30, "--batch", 4, "--out", trained()]
    fail(*run, naming=["--resume"])
    fail(*run, "--resume", "--seed", 5, naming=["seed 0, now it is 5"])
    fail("train", "--protocol", "quick/gp1d", "--model", "cnp", "--steps", 30, "--batch", 4, "--out", trained(), "--resume",
         naming=["model tnp-d, now it is cnp"])
    fail("train", "--resume", "--out", HERE / "nothing", naming=["nothing"])
    before = model_hash(checkpoint())
    succeed("train", "--out", trained(), "--resume")
    expect(model_hash(checkpoint()) == before, "resuming a finished run changed its weights")


@case
def weights_that_are_not_finite_are_no_weights():
    metadata = read_safetensors(checkpoint())[0]
    metadata.pop("checksum")
    path = write_safetensors("nan.safetensors", metadata, checkpoint(),
                             lambda name, data: struct.pack("<f", math.nan) + data[4:] if name == "predictor.layers.0.bias" else data)
    naming = ["nan.safetensors", "predictor.layers.0.bias", "not finite"]
    fail("eval", "--checkpoint", path, "--batches", 1, naming=naming)
    fail("plot", "--checkpoint", path, "--out", HERE / "nan.svg", naming=naming)
    fail(*predict_args(at=path, out="nan.csv"), naming=naming)
    fail("stream", *(part for part in predict_args(at=path, out="nan.csv")[1:] if part != "--header"), naming=naming)
    fail("export", "--checkpoint", path, "--out", HERE / "nan", naming=naming)
    resumed = HERE / "nan"
    resumed.mkdir()
    (resumed / "checkpoint.safetensors").write_bytes(path.read_bytes())
    fail("train", "--resume", "--out", resumed, naming=["predictor.layers.0.bias", "not finite"])


@case
def training_that_diverges_fails_and_loses_nothing():
    run = ["train", "--protocol", "quick/gp1d", "--model", "cnp", "--batch", 2]
    done = npzoo(*run, "--steps", 1, "--lr", "1e38", "--out", HERE / "diverged")
    check_error(done, "[train] the ", " became ", "after step 1", "a lower learning rate may help")
    expect(not (HERE / "diverged/checkpoint.safetensors").exists(), "a checkpoint of nothing")
    succeed(*run, "--steps", 1, "--config", HERE / "diverged/config.toml", "--lr", "1e-3", "--out", HERE / "diverged")


@case
def train_leaves_foreign_files_untouched():
    run = ["train", "--protocol", small_protocol(), "--model", "cnp", "--steps", 2]
    for name, text in (("config.toml", "# mine\n[train]\nsteps = 7\n"), ("protocol.toml", "name = 1\n"), ("metrics.jsonl", "{}\n"),
                       ("paper.tex", "Abstract\n")):
        out = HERE / f"foreign {name}"
        out.mkdir()
        (out / name).write_text(text)
        for resume in ([], ["--resume"]):
            fail(*run, *resume, "--out", out, naming=[out / name, "was not written by a training"])
    for out in (HERE / "empty", HERE / "not there" / "yet"):
        if out.name == "empty":
            out.mkdir()
        succeed(*run, "--out", out)
        expect((out / "config.toml").read_text().startswith("# Repeats this run: "), "config.toml")


@case
def rejected_runs_leave_no_directory():
    text = small_protocol().read_text()
    odd = write("odd-preset.toml", text.replace("nhead = 2", "nhead = 3"))
    fail("train", "--protocol", odd, "--model", "tnp-d", "--out", HERE / "rejected" / "deep", naming=["3 heads"])
    fail("train", "--protocol", write("odd-protocol.toml", text.replace("points = 16", "points = -1")), "--model", "tnp-d",
         "--out", HERE / "rejected", naming=["points"])


@case
def a_shortened_training_validates_no_longer_than_it_trains():
    text = small_protocol().read_text().replace("batches = 3", "batches = 5000")
    protocol = write("validates.toml", text)

    def batches_of(*args):
        out = HERE / "validates"
        shutil.rmtree(out, ignore_errors=True)
        succeed("train", "--protocol", protocol, "--model", "cnp", "--out", out, *args)
        state = json.loads(read_safetensors(out / "checkpoint.safetensors")[0]["run"])
        again = HERE / "validates again"
        shutil.rmtree(again, ignore_errors=True)
        succeed("train", "--config", out / "config.toml", "--out", again)
        expect(metrics(again) == metrics(out), "config.toml repeats another run")
        succeed("train", "--resume", "--out", out)
        return state["validation_batches"]

    expect(batches_of("--steps", 30) == 30, "30 updates, 30 batches")
    expect(batches_of("--steps", 120) == 90, "90 updates before each validation")
    expect(batches_of("--steps", 30, "--validation-batches", 40) == 40, "as asked")


@case
def config_repeats_a_run():
    succeed("train", "--config", trained() / "config.toml", "--out", HERE / "again")
    expect(model_hash(HERE / "again/checkpoint.safetensors") == model_hash(checkpoint()), "other weights")
    expect(metrics(HERE / "again") == metrics(trained()), "other metrics")
    own = trained("own", small_protocol(), steps=20)
    succeed("train", "--config", own / "config.toml", "--out", HERE / "own again")
    expect(model_hash(HERE / "own again/checkpoint.safetensors") == model_hash(own / "checkpoint.safetensors"),
           "other weights")


@case
def interrupted_run_saves_and_resumes():
    run = ["train", "--protocol", str(small_protocol()), "--model", "tnp-d"]
    succeed(*run, "--out", HERE / "whole")
    for number in (signal.SIGINT, signal.SIGTERM):
        out = HERE / f"stopped by {number.name}"
        with subprocess.Popen([PROGRAM, *run, "--out", str(out)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            process.stderr.readline()  # printed once some of the way is done
            process.send_signal(number)
            process.communicate(timeout=TIMEOUT)
        expect(process.returncode == 130, "exit status", process.returncode, "expected 130")
        step = json.loads(read_safetensors(out / "checkpoint.safetensors")[0]["run"])["step"]
        expect(0 < step < 400, "stopped at step", step)
        succeed("train", "--resume", "--out", out)
        expected = read_safetensors(HERE / "whole/checkpoint.safetensors")[1]
        expect(read_safetensors(out / "checkpoint.safetensors")[1] == expected, "the resumed run has other weights")
        expect(metrics(out) == metrics(HERE / "whole"), "the resumed run has other metrics")
        config = (out / "config.toml").read_text().replace(out.name, "whole")
        expect(config == (HERE / "whole/config.toml").read_text(), "config.toml differs")


@case
def threads_change_no_bit():
    hashes = set()
    for threads in (1, 2, 3):
        out = HERE / f"threads {threads}"
        succeed("train", "--protocol", "quick/gp1d", "--model", "tnp-d", "--steps", 20, "--batch", 8,
                "--out", out, "--threads", threads)
        hashes.add(model_hash(out / "checkpoint.safetensors"))
    expect(len(hashes) == 1, "weights depend on the number of threads:", hashes)


@case
def hostile_checkpoints_are_refused():
    good = checkpoint().read_bytes().replace(b'"checksum":', b'"changing":', 1)  # or it would tell before anything else
    (size,) = struct.unpack("<Q", good[:8])
    huge = good[:8 + size].replace(b'\\"d_model\\":64', b'\\"d_model\\":9999')  # longer header, so its length changes
    huge = struct.pack("<Q", len(huge) - 8) + huge[8:] + good[8 + size:]
    expect(b"9999" in huge, "the config names d_model")
    files = {
        "empty": b"", "text": b"hello, world\n", "short": good[:4], "cut": good[:len(good) // 2], "long": good + b"\0",
        "huge header": struct.pack("<Q", 1 << 62) + good[8:], "no header": struct.pack("<Q", 2) + b"{}",
        "garbage": good[:8] + b"\xff" * size + good[8 + size:], "huge model": huge,
        "escapes": good.replace(b'"format":"npzoo-checkpoint-1"', b'"format":"x\\n\\u001b[2J\\u001b"', 1),
        "recorded run": (GOLDEN / "tnp-d.a.safetensors").read_bytes(),
    }
    hints = {"huge model": "9999", "escapes": "format 'x??[2J?' found", "recorded run": "no 'format'"}
    for name, content in files.items():
        path = write(f"{name}.safetensors", content)
        fail("eval", "--checkpoint", path, "--batches", 1, naming=[hints.get(name, path)])
        fail("plot", "--checkpoint", path, "--out", HERE / "hostile.svg")
        fail(*predict_args(at=path, out="hostile.csv"))
        if name != "recorded run":
            fail("parity", path)
    fail("eval", "--checkpoint", HERE / "none.safetensors", naming=["none.safetensors"])
    fail("eval", "--checkpoint", HERE)
    fail("parity", checkpoint())
    fail("eval", "--checkpoint", checkpoint_2d(), "--protocol", "quick/gp1d", "--batches", 1, naming=["1 inputs", "2"])
    fail("plot", "--checkpoint", checkpoint_2d(), "--protocol", "quick/gp1d", "--out", HERE / "hostile.svg", naming=["1 inputs", "2"])
    fail("plot", "--checkpoint", checkpoint(), "--protocol", small_protocol(3), "--out", HERE / "hostile.svg", naming=["3 inputs", "two"])
    broken = HERE / "broken"
    broken.mkdir()
    (broken / "checkpoint.safetensors").write_bytes(files["cut"])
    fail("train", "--resume", "--out", broken, naming=["checkpoint.safetensors"])


@case
def output_that_cannot_be_written():
    lines = [["list"], ["list", "--json"], ["--help"], ["completion", "bash"],
             ["eval", "--checkpoint", checkpoint(), "--batches", "1"],
             [*predict_args()[:-1], "-"]]
    for args in lines:
        with open("/dev/full", "w") as full:
            done = npzoo(*args, stdout=full)
        expect(done.returncode == 1, "exit status", done.returncode, "of", args, "with a full disk")
        expect(done.stderr.splitlines()[-1].startswith("npzoo: error: "), done.stderr)
        quoted = " ".join(f"'{word}'" for word in map(str, args))
        done = subprocess.run(["bash", "-c", f"'{PROGRAM}' {quoted} >&-"], stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT)
        expect(done.returncode == 1, "exit status", done.returncode, "of", args, "without stdout")
    fail(*predict_args()[:-1], "/dev/full")


@case
def closed_streams_do_not_reach_files():
    whole = trained("small", small_protocol(), steps=60)
    for name, closed in (("quiet", "2>&-"), ("deaf", ">&- 2>&- <&-"), ("full", "2>/dev/full")):
        out = HERE / name
        subprocess.run(["bash", "-c", f"'{PROGRAM}' train --protocol '{small_protocol()}' --model tnp-d --steps 60 "
                        f"--batch 4 --out '{out}' {closed}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT)
        expect(metrics(out) == metrics(whole), "metrics with", closed)
        expect(model_hash(out / "checkpoint.safetensors") == model_hash(whole / "checkpoint.safetensors"),
               "weights with", closed)


if __name__ == "__main__":
    sys.exit(run_cases())
