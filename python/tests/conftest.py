import json
import subprocess
import sys

import numpy as np
import pytest

import npzoo


@pytest.fixture(scope="session")
def model():
    """A small transformer neural process for one input, trained under npzoo/gp-rbf."""
    return npzoo.load("npzoo/gp-rbf")


@pytest.fixture
def points():
    """Ten observed points of a sine, twelve targets and their values."""
    rng = np.random.default_rng(1)
    xc, xt = rng.uniform(-2, 2, (10, 1)), np.linspace(-1.9, 1.9, 12)[:, None]
    return xc, np.sin(2 * xc), xt, np.sin(2 * xt)


@pytest.fixture(scope="session")
def program():
    """Runs the program as `python -m npzoo` and returns its standard output, read as JSON with --json."""

    def run(*arguments, status=0):
        done = subprocess.run([sys.executable, "-m", "npzoo", *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return run
