#!/usr/bin/env python3
"""Tests that processes under MPI launchers compute what one does: ranks_test.py PATH_TO_NPZOO. Launchers that are not installed
are skipped. MPI's standard ABI is tested with the package `mpich` of PyPI, in the virtual environment NPZOO_TEST_MPICH or in
`build-python`."""

import functools
import json
import os
import pathlib
import re
import shlex
import sys

from cli_support import HERE, PROGRAM, as_json, case, expect, model_hash, run_cases, succeed, write
from pictures_support import disc, png
from ranks_support import LAUNCHERS, RUN, begin, each_launcher, result_of, under, weights_alone


@each_launcher
def any_number_of_ranks_trains_the_same_weights(launcher):
    for size in (1, 2, 3):
        out = HERE / f"{launcher} {size}"
        status, text, errors = under(launcher, size, "train", "--out", out, *RUN, "--json")
        expect(status == 0, launcher, size, errors)
        expect(json.loads(text)["steps"] == 30, text)
        expect(model_hash(out / "checkpoint.safetensors") == weights_alone(30), launcher, size, "other weights")


@each_launcher
def sums_of_slices_train_the_same_weights(launcher):
    run = ["--protocol", "tnp/gp-rbf", "--model", "tnp-d", "--steps", 3, "--batch", 4, "--set", "validation.every=0",
           "--threads", 1]
    alone = HERE / "large alone"
    if not alone.exists():
        as_json("train", "--out", alone, *run)
    for size, limit in ((2, 0), (3, 0), (2, 60)):  # with a time limit MPI's calls do not block
        out = HERE / f"large {launcher} {size} {limit}"
        status, _, errors = under(launcher, size, "train", "--out", out, *run, "--stall-timeout", limit)
        expect(status == 0, launcher, size, errors)
        expect(model_hash(out / "checkpoint.safetensors") == model_hash(alone / "checkpoint.safetensors"), launcher, size)


@each_launcher
def ranks_share_batches_on_a_gpu_by_the_parts_of_the_protocol(launcher):
    if "emulated" not in [row["device"] for row in as_json("devices")]:
        print("skipped: this build has no emulated device")
        return
    run = ["--protocol", "quick/gp1d", "--model", "cnp", "--steps", 2, "--batch", 4, "--device", "emulated"]
    alone = HERE / "parts alone"
    if not alone.exists():
        as_json("train", "--out", alone, *run, "--set", "training.parts=4")
    out = HERE / f"parts {launcher}"
    status, _, errors = under(launcher, 2, "train", "--out", out, *run, "--set", "training.parts=4")
    expect(status == 0, launcher, errors)
    expect(model_hash(out / "checkpoint.safetensors") == model_hash(alone / "checkpoint.safetensors"), launcher)
    status, _, errors = under(launcher, 2, "train", "--out", HERE / f"no parts {launcher}", *run)
    expect(status != 0 and len(errors) == 1 and "--set training.parts=NUMBER" in errors[0], status, errors)


@case
def the_standard_abi_trains_the_same_weights():
    source = pathlib.Path(__file__).resolve().parents[2]
    environment = pathlib.Path(os.environ.get("NPZOO_TEST_MPICH") or source / "build-python")
    library = environment / "lib" / "libmpi_abi.so.1"
    if not library.exists():
        print(f"skipped: {library} is not there (pip install mpich, NPZOO_TEST_MPICH=FOLDER)")
        return
    for size, named in ((2, False), (2, True), (3, True)):  # the library beside the launcher, and the one that is named
        out = HERE / f"abi {size} {named}"
        process = begin([environment / "bin" / "mpiexec", "-n", size, PROGRAM, "train", "--out", out, *RUN],
                        {"NPZOO_MPI": str(library)} if named else {})
        status, text, errors = result_of(process)
        expect(status == 0 and re.search(f"^ranks +{size},", text, re.MULTILINE), size, named, status, text, errors)
        expect(model_hash(out / "checkpoint.safetensors") == weights_alone(30), size, named, "other weights")


# Two hosts: network namespaces with host names of their own, and a cable between them. `agent HOST COMMAND` is their ssh.
HOSTS = """
set -e
mount -t tmpfs tmpfs /run
mkdir /run/netns
ip netns add host1
ip netns add host2
ip -n host1 link add name veth1 type veth peer name veth2 netns host2
for i in 1 2; do
  ip -n host$i addr add 10.77.0.$i/24 dev veth$i
  ip -n host$i link set lo up
  ip -n host$i link set veth$i up
done
printf '127.0.0.1 localhost\\n10.77.0.1 host1\\n10.77.0.2 host2\\n' >{folder}/hosts
mount --bind {folder}/hosts /etc/hosts
cat >{folder}/agent <<'end'
#!/bin/sh
while case $1 in -*) true;; *) false;; esac; do shift; done
host=$1; shift
exec ip netns exec $host unshare --uts sh -c "hostname $host; $*"
end
chmod +x {folder}/agent
{folder}/agent host1 hostname | grep host1
"""
ON_HOSTS = {"Open MPI": ["--mca", "plm_rsh_agent", "{agent}", "--host", "host1,host2"],
            "MPICH": ["-launcher", "ssh", "-launcher-exec", "{agent}", "-hosts", "host1,host2", "-ppn", 1]}


@each_launcher
def ranks_on_two_hosts_train_the_same_weights(launcher):
    folder = HERE / f"hosts-{launcher.replace(' ', '-')}"
    folder.mkdir()
    agent, out = folder / "agent", folder / "out"
    flags = [str(word).format(agent=agent) for word in ON_HOSTS[launcher]]
    # Each rank records its host, since a launcher might start all on one.
    rank = f"hostname >>{folder}/seen; exec {PROGRAM} {shlex.join(map(str, ['train', '--out', out, *RUN]))}"
    command = [agent, "host1", *LAUNCHERS[launcher], *flags, "-n", 2, "sh", write("rank.sh", rank)]
    script = HOSTS.format(folder=folder) + f"touch {folder}/ready\n" + shlex.join(map(str, command)) + "\n"
    status, _, errors = result_of(begin(["unshare", "--mount", "--net", "--map-root-user", "sh", "-c", script]))
    if not (folder / "ready").exists():
        print("skipped: no network namespaces with a cable between them can be made here")
        return
    expect(status == 0, launcher, status, errors)
    expect(sorted((folder / "seen").read_text().split()) == ["host1", "host2"], launcher, (folder / "seen").read_text())
    expect(model_hash(out / "checkpoint.safetensors") == weights_alone(30), launcher, "other weights")


BANDIT = """
name = "small/wheel"
description = "for tests"
source = "npzoo"
extends = "tnp/wheel"

[evaluation]
batches = 3
batch_size = 2
rules = { policy = "ucb", width = 1.0, samples = 1, last = 4, ridge = 1.0, over = "orders" }

[[evaluation.tests]]
name = "delta-0.7"
delta = 0.7
context = 0
targets = 12
"""
SEARCH = """
name = "small/bo"
description = "for tests"
source = "npzoo"
extends = "tnp/bo1d"

[evaluation]
batches = 3
batch_size = 2
rules = { steps = 3, acquisition = "ei", repeat = false, fit_every = 0 }
tests = [{ name = "rbf", kernels = [{ kind = "rbf", lengthscale = 0.5, scale = 1.0 }] }]
"""


def series():
    rows = [f"{day},{(day * 37 % 101) / 50 + day % 7}" for day in range(400)]
    return write("series.csv", "day,y\n" + "\n".join(rows) + "\n")


def trained(name, *arguments):
    out = HERE / name
    if not out.exists():
        as_json("train", "--out", out, "--steps", 2, "--threads", 1, *arguments)
    return out / "checkpoint.safetensors"


def scored_runs():
    """A small run for each trial, and how it is evaluated."""
    yield trained("scored-cnp", "--protocol", "quick/gp1d", "--model", "cnp", "--batch", 4), ["--batches", 70]
    yield trained("scored-np", "--protocol", "tnp/gp-rbf", "--model", "np", "--batch", 4, "--set", "evaluation.batch_size=4"), ["--batches", 5]
    yield trained("scored-thp", "--protocol", "quick/hawkes", "--model", "thp-plus", "--batch", 4), ["--batches", 20]
    yield trained("scored-wheel", "--protocol", write("wheel.toml", BANDIT), "--model", "cnp"), []
    yield trained("scored-bo", "--protocol", write("bo.toml", SEARCH), "--model", "cnp"), []
    yield (trained("scored-series", "--table", series(), "--time", "day", "--values", "y", "--context", 12, "--horizon", 4,
                   "--model", "taylorformer"), ["--batches", 5])


@functools.cache
def scored_alone(checkpoint, *flags):
    return succeed("eval", "--checkpoint", checkpoint, *flags, "--json")


@each_launcher
def any_number_of_ranks_scores_the_same_figures(launcher):
    for checkpoint, flags in scored_runs():
        alone = scored_alone(checkpoint, *flags)
        for size, threads in ((2, 1), (3, 2)):
            status, text, errors = under(launcher, size, "eval", "--checkpoint", checkpoint, *flags, "--threads", threads, "--json")
            expect(status == 0 and not errors, launcher, size, errors)
            expect(text == alone, launcher, size, checkpoint, "other figures:", text, "expected", alone)


def table_with_gaps():
    """Groups of several sizes, and one that is large enough to be predicted in tiles."""
    lines = ["group,x,y"]
    for group, rows in (("a", 5), ("b", 30), ("c", 31), ("d", 1000)):
        lines += [f"{group},{i / 10},{'' if i % 5 == 2 else round((i * 29 % 83) / 41 - 1, 3)}" for i in range(rows)]
    return write("gaps.csv", "\n".join(lines) + "\n")


DRAWN = HERE / "drawn.csv"


def filled(run, flags):
    """The table that `run` makes, and its samples if the flags ask for them."""
    files = [HERE / "filled.csv"] + [DRAWN] * (DRAWN in flags)
    for file in files:
        file.unlink(missing_ok=True)  # of the run before
    run("predict", *flags, "--out", files[0])
    return [file.read_bytes() for file in files]


@functools.cache
def filled_alone(*flags):
    return filled(succeed, flags)


@each_launcher
def any_number_of_ranks_fills_the_same_table(launcher):
    table = table_with_gaps()
    for ask in (["--quantiles", "0.1,0.9"], ["--samples", 2, "--samples-out", DRAWN], ["--transform", "auto", "--bounds", "-2,2"],
                ["--model", "gp"]):
        flags = [table, "--group", "group", "--inputs", "x", "--values", "y", *ask]
        expected = filled_alone(*flags)
        for size in (2, 3):
            def run(*arguments):
                status, _, errors = under(launcher, size, *arguments, "--threads", 1)
                expect(status == 0, launcher, ask, size, errors)
            expect(filled(run, flags) == expected, launcher, ask, size, "another table or other samples")
    status, _, errors = under(launcher, 2, "predict", "-", "--out", HERE / "never.csv")
    expect(status == 1 and len(errors) == 1 and "expected a file: 2 ranks read it" in errors[0], launcher, errors)


@each_launcher
def any_number_of_ranks_completes_the_same_picture(launcher):
    folder = HERE / "pictures"
    if not folder.exists():
        folder.mkdir()
        for i in range(12):
            write(folder / f"{i}.png", png(8, 8, 3, disc(8, (2 + i % 4, 3), 2 + i % 2, ([250] * 3, [20, 40, 60]))))
    checkpoint = trained("of-pictures", "--images", folder, "--size", "8x8", "--model", "cnp", "--batch", 4, "--validation-batches", 1)
    # More pixels than a rank works on at a time, and a number that the ranks cannot share evenly.
    flags = ["complete", "--checkpoint", checkpoint, "--image", folder / "0.png", "--keep", 0.4, "--size", "131x109"]
    succeed(*flags, "--out", HERE / "alone.png", "--panels", HERE / "alone.svg")
    for size in (2, 3):
        files = [HERE / f"{launcher} {size}.{ending}" for ending in ("png", "svg")]
        status, text, errors = under(launcher, size, *flags, "--out", files[0], "--panels", files[1], "--threads", 1)
        expect(status == 0 and text.count(str(files[0])) == 1, launcher, size, status, text, errors)
        for file in files:
            expect(file.read_bytes() == (HERE / f"alone{file.suffix}").read_bytes(), launcher, size, "another", file.suffix)


@each_launcher
def ranks_take_whole_runs_of_a_table(launcher):
    flags = ["reproduce", "quick/gp1d", "--models", "cnp,tnp-d,tnp-kr-fast", "--steps", 4, "--batches", 2, "--results", HERE / "results"]
    alone = as_json(*flags, "--out", HERE / "runs")
    status, text, errors = under(launcher, 2, *flags, "--out", HERE / f"runs {launcher}", "--threads", 1, "--json")
    expect(status == 0, launcher, errors)
    expect(json.loads(text)["rows"] == alone["rows"], launcher, text)


if __name__ == "__main__":
    sys.exit(run_cases())
