#!/usr/bin/env python3
"""Tests of how the command line and files of options are read: options_test.py PATH_TO_NPZOO"""

import re
import sys

from cli_support import (HERE, as_json, case, commands, expect, model_hash, npzoo, run_cases, small_protocol, succeed, trained, write,
                         wrong_usage)

NOT_WHOLE = ["", "-1", "+1", "1 ", " 1", "1.5", "0x1", "one", "nan", "1_000", "1" + "0" * 20, str(2**64), "9" * 400]
NOT_POSITIVE = ["", "-1", "0", "+1", "1 ", "nan", "inf", "1e400", "1e-400", "one", "0x1"]
WRONG = {
    "INT": [*NOT_WHOLE, "1e-1", "1.25e1", "1e400", "e3", "1,2"],
    "FLOAT": NOT_POSITIVE,
    "BYTES": ["", "-1", "1.5GB", "GB", "12XB", "1 GB", "9" * 30, "9999999999TB"],
    "INT,...": ["0,-1", "1,,2", ",", "1,", ",1", "1 2", "[1]", *NOT_WHOLE],
    "COUNT,...": ["10,0", "1,,2", ",", "1.5", *NOT_WHOLE],
}
WRONG_IN_FILES = {"INT": ['"1"', "-1", "1.5", "true", "[1]", "{}"], "FLOAT": ['"1"', "-1.0", "inf", "nan", "false", "[1.0]"],
                  "BYTES": ["-1", "1.0", '"x"', "true"], "INT,...": ["[0, -1]", "[]", '["1"]', "[[1]]", "[1.5]", '"1"'],
                  "COUNT,...": ["[0]", "[]", '["1"]', "[1.5]"]}


def typed_flags():
    """Every flag that takes a number, as [command, flag, type]."""
    found = [(command, flag, kind) for command in commands()
             for flag, kind in re.findall(r"^  (--[a-z-]+) ([A-Z]+(?:,\.\.\.)?)(?=[= ])", succeed("help", *command), re.MULTILINE)
             if kind != "TEXT" and kind != "TEXT,..."]
    expect(len(found) > 60 and {kind for _, _, kind in found} == set(WRONG), found)
    return found


@case
def every_number_is_read_whole_or_refused():
    for command, flag, kind in typed_flags():
        common = flag == "--threads" and command != ["list"]  # the same in each command
        for text in WRONG[kind][:1] if common else WRONG[kind]:
            wrong_usage(*command, f"{flag}={text}", naming=[flag])
        wrong_usage(*command, flag, "", naming=[flag, "expected"])


@case
def numbers_of_files_are_as_strict():
    for command, flag, kind in typed_flags():
        if flag == "--threads" and command != ["list"]:
            continue
        key = flag.removeprefix("--")
        for text in WRONG_IN_FILES[kind]:
            path = write("wrong.toml", f"[{'.'.join(command)}]\n{key} = {text}\n")
            wrong_usage("list", "--config", path, naming=["wrong.toml", ".".join([*command, key]), "expected"])


@case
def files_of_options_are_checked():
    cases = {
        "[train]\nstpes = 5\n": ["train.stpes", "unknown key", "did you mean 'steps'?"],
        "[train]\nfrobnicate = 5\n": ["train.frobnicate", "expected one of: device, ", "checkpoint-every"],
        "[trian]\nsteps = 5\n": ["trian", "unknown table", "did you mean 'train'?"],
        "[frobnicate]\n": ["frobnicate", "expected one of: predict, "],
        "[bench]\nsteps = 5\n": ["bench.steps", "expected one of: train-step, "],
        "[bench.fly]\nsteps = 5\n": ["bench.fly", "expected one of: train-step, "],
        "steps = 5\n": ["steps", "expected one of: predict, "],
        "train = 5\n": ["train is an integer, expected a table"],
        "config = \"x\"\n": ["config"], "help = true\n": ["help"], "[train]\nhelp = true\n": ["train.help"],
        "[train]\n\"--steps\" = 5\n": ["--steps"],
        "[train]\nprotocol = 5\n": ["train.protocol is an integer, expected a string"],
        "[eval]\nprotocol = \"\"\n": ["eval.protocol: nothing found"],
        "[train]\nresume = 1\n": ["train.resume is an integer, expected true or false"],
        "[train]\ndevice = \"gpu\"\n": ["train.device", "gpu", "cpu, cuda"],
        "[reproduce]\nmodels = [1]\n": ["reproduce.models is an integer, expected an array of strings"],
        "[reproduce]\nmodels = []\n": ["reproduce.models is empty, expected an array of strings"],
        "[train]\nseed = 1979-05-27\n": ["train.seed is a date or a time, expected an integer"],
        "[train]\nsteps = 5\nsteps = 6\n": ["line 3"], "[train\n": ["line 1"], "steps": ["line 1"], "[train]\nsteps = \n": ["line 2"],
        b"\x7fELF\0\1\2": ["line 1"], "[train]\nprotocol = \"ü\"\n".encode(): ["line 2", "ASCII"],
        "#" * (1 << 20) + "\n": ["larger than 1048576 bytes"], "a." * 100_000 + "a = 1": ["more than"],
        trained().joinpath("checkpoint.safetensors").read_bytes(): ["wrong.toml"],
    }
    for content, naming in cases.items():
        out = HERE / "not trained"
        wrong_usage("train", "--protocol", "quick/gp1d", "--model", "cnp", "--steps", 1, "--out", out,
                    "--config", write("wrong.toml", content), naming=["wrong.toml", *naming])
        expect(not out.exists(), "training began with", content[:80])
    for path, what in (("/dev/urandom", "larger than"), ("/dev/zero", "larger than"), (HERE, "is a directory"),
                       (HERE / "none.toml", "cannot open"), ("", "nothing found")):
        wrong_usage("list", "--config", path, naming=[what])
    wrong_usage("list", "--config", "a", "--config", "b", naming=["--config"])


@case
def a_file_of_options_is_equal_to_flags():
    path = write("options.toml", """
[list]
what = "ops"
json = true
threads = 1
[train]
lr = 1
resume = false
checkpoint-every = 5
[bench.scaling]
models = ["cnp", "tnp-d"]
points = [3, 1e1]
fixed = 2
repeats = 1
memory-limit = "1GB"
[gradcheck]
ops = ["linear", "concat"]
[reproduce]
table = "quick/gp1d"
seeds = [0, 9223372036854775807]
steps = 5
report = false
""")
    expect(npzoo("list", "--config", path).stdout == succeed("list", "ops", "--json"), "values of a file")
    expect(succeed("list", "protocols", "--json") == npzoo("list", "protocols", "--config", path).stdout, "the command line wins")
    rows = as_json("bench", "scaling", "--config", path)
    expect([(row["model"], row["nt"], row["nc"]) for row in rows] == [(m, n, 2) for m in ("cnp", "tnp-d") for n in (3, 10)], rows)
    expect([row["op"] for row in as_json("gradcheck", "--config", path)["ops"]] == ["linear", "concat"], "a list without a flag")


@case
def the_configuration_of_a_run_is_read_back():
    own = HERE / 'odd "quoted" \\ näme 𝛼'
    succeed("train", "--protocol", small_protocol(), "--model", "cnp", "--steps", 3, "--lr", "1e-9", "--seed", 2**63 - 1, "--out", own)
    text = (own / "config.toml").read_bytes()
    expect(text.isascii() and f"seed = {2**63 - 1}".encode() in text, text)
    succeed("train", "--config", own / "config.toml", "--out", HERE / "again")
    expect(model_hash(HERE / "again/checkpoint.safetensors") == model_hash(own / "checkpoint.safetensors"), "other weights")
    expect((HERE / "again/config.toml").read_text().replace("again", "") != "", "a configuration of its own")


@case
def help_and_version_are_commands():
    expect(succeed("version") == succeed("--version"), "version")
    expect(succeed("help") == succeed("--help"), "help")
    for command in (["train"], ["bench"], ["bench", "scaling"], ["help"]):
        expect(succeed("help", *command) == succeed(*command, "--help"), command)
    wrong_usage("help", "trian", naming=["did you mean 'train'?"])
    wrong_usage("help", "bench", "scalign", naming=["did you mean 'scaling'?"])
    wrong_usage("help", "train", "x" * 100_000)


@case
def misspelt_words_are_reported_first():
    wrong_usage("trian", naming=['"trian"', "did you mean 'train'?"])
    wrong_usage("trian", "--protocol", "quick/gp1d", naming=["did you mean 'train'?"])
    wrong_usage("frobnicate", naming=["expected one of: predict, complete, optimise, "])
    wrong_usage("bench", "train-setp", naming=["did you mean 'train-step'?"])
    wrong_usage("train", "--otu", "x", naming=['no flag "--otu"', "did you mean '--out'?"])
    wrong_usage("train", "--stpes=7", naming=['no flag "--stpes"', "did you mean '--steps'?"])
    wrong_usage("oracle", "--taks", 5, "quick/gp1d", naming=["did you mean '--tasks'?"])
    wrong_usage("list", "--threds", 2, naming=["did you mean '--threads'?"])
    wrong_usage("list", "--confgi", "x", naming=["did you mean '--config'?"])
    wrong_usage("list", "--frobnicate", naming=["expected one of: --help, --protocol, --device, --precision, --threads, --json, --version, --config ("])
    wrong_usage("list", "ops", "models", naming=['"models" found after ops, expected no further argument'])
    for command, flag, meant in (["predict", "--output", "--out"], ["predict", "-o", "--out"], ["list", "-v", "--version"],
                                 ["train", "--learning-rate", ""], ["train", "--set-seed", ""]):
        wrong_usage(command, flag, "x", naming=[f"did you mean '{meant}'?" if meant else "expected one of: "])
    wrong_usage("list", "weigths", naming=["did you mean 'weights'?"])
    wrong_usage("train", "--seed", "--out", "x", naming=["--seed", '"--out" found, expected a whole number'])
    wrong_usage("train", "--out", naming=["--out needs a value"])
    wrong_usage("--threads", 2, "list", naming=['"--threads" found before the command, expected after it'])


@case
def long_and_odd_words_are_shortened():
    long = "9" * 100_000
    for args in ([long], ["train", f"--{long}"], ["list", long], ["train", "--steps", long], ["train", "--lr", "-" + long],
                 ["list", "--device", long], ["list", f"--json={long}"], ["train", "--out", "x", long], ["list", "--config", long],
                 ["bench", "scaling", "--models", "cnp", "--memory-limit", long], ["reproduce", "x", "--seeds", f"0,{long}"]):
        wrong_usage(*args)
    for word in ("\x1b[2J", "a\nb", "ü", "\udcff", "$(x)", "%s", "{}", "--=", "-", "--", "---", "-x"):
        for args in ([word], ["train", word], ["list", word], ["list", "--device", word], ["train", "--steps", word]):
            done = npzoo(*args)
            expect(done.returncode in (0, 2) and len(done.stderr.splitlines()) == (done.returncode == 2), args, done.stderr)
            expect("\x1b" not in done.stderr, "an escape sequence reaches the terminal:", args)


if __name__ == "__main__":
    sys.exit(run_cases())
