"""Shared by the tests of `npzoo reproduce`."""

import json
import pathlib
import subprocess
import sys
import time

from cli_support import HERE, PROTOCOL, TIMEOUT, expect, metrics, read_safetensors, write

REPORT = pathlib.Path(__file__).resolve().parents[2] / "perf/results_report.py"
LONG = 3000  # steps that are enough to stop a run on its way
PUBLISHED = "cnp = [-1.30, 0.02]\ntnp-d = [5.1, 0.0]\nconvcnp = -1.2"
LOW, HIGH = "known_marginal = -9.0", "known_marginal = 9.0\nbayes_diagonal = 8.0"


def table(name="small/table", steps=60, oracle=HIGH, published=PUBLISHED, metric="log-likelihood", densities=None,
          spread='{ kind = "deviation", seeds = 5 }'):
    """A protocol with published rows, of two models of the build and one that is not in it."""
    text = PROTOCOL.format(name=name, dims=1).replace("steps = 400", f"steps = {steps}")
    more = f"\nspread = {spread}" if spread else ""
    more += f"\ndensities = {densities}" if densities else ""
    text = text.replace('metric = "log-likelihood"', f'metric = "{metric}"{more}')
    rows = f"[evaluation.tests.oracle]\n{oracle}\n[evaluation.tests.published]\n{published}\n\n[models.tnp-d]"
    return write(name.replace("/", "-") + ".toml", text.replace("[models.tnp-d]", rows))


def flags(where, protocol=None):
    """Each case works in a directory of its own."""
    return ["reproduce", protocol or table(), "--out", HERE / where / "runs", "--results", HERE / where / "results"]


def directory(where, model, seed=0, name="small/table"):
    return HERE / where / "runs" / name / model / f"seed-{seed}"


def store(where, name="small-table"):
    return HERE / where / "results" / f"{name}.json"


def check_same_run(found, expected):
    """Bit for bit."""
    for path in (found, expected):
        expect(json.loads(read_safetensors(path / "checkpoint.safetensors")[0]["run"])["step"] > 0, path)
    tensors = [read_safetensors(path / "checkpoint.safetensors")[1] for path in (found, expected)]
    expect(tensors[0] == tensors[1], found, "has other weights than", expected)
    expect(metrics(found) == metrics(expected), "other metrics")
    scores = [json.loads((path / "evaluation.json").read_text())["results"] for path in (found, expected)]
    expect(scores[0] == scores[1], "other scores", scores)


def wait_until(condition, what):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        expect(time.monotonic() < deadline, "gave up waiting until", what)
        time.sleep(0.005)


def results_report(where, *more):
    readme = HERE / where / "README.md"
    if not readme.exists():
        readme.write_text("# A\n<!-- results: begin -->\nold\n<!-- results: end -->\nB\n")
    return subprocess.run([sys.executable, REPORT, "--results", HERE / where / "results", "--report",
                           HERE / where / "RESULTS.md", "--readme", readme, *more], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)


def made_report(where):
    done = results_report(where)
    expect(done.returncode == 0, done.stderr)
    return [(HERE / where / name).read_text() for name in ("RESULTS.md", "README.md")]
