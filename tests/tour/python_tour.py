#!/usr/bin/env python3
"""Runs the examples in the docstrings of the installed package, with nothing but NumPy beside it: python_tour.py

Fails if a public function has neither an example nor a place among those that need another package."""

import doctest
import importlib
import inspect
import pkgutil
import sys

import npzoo

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Public names that need a package: a call that says so.
OTHERS = {
    "plot": ("matplotlib", lambda: npzoo.plot(npzoo.fill({"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, float("nan"), 1.0]}))),
    "Imputer": ("sklearn", lambda: npzoo.Imputer),
    "NeuralProcessRegressor": ("sklearn", lambda: npzoo.NeuralProcessRegressor),
}
WITHOUT_EXAMPLE = {"set_threads", "threads"}
ADAPTERS = ("npzoo.darts", "npzoo.optuna", "npzoo.sktime", "npzoo.torch", "npzoo.xarray")


def examples():
    """Runs all examples of the package and returns the names of public objects that have one."""
    finder, runner, found = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=FLAGS), set()
    for module in pkgutil.iter_modules(npzoo.__path__, "npzoo."):
        if module.name in ("npzoo.__main__", "npzoo._imputer", "npzoo._regressor", *ADAPTERS):
            continue  # they need a command line, scikit-learn and other libraries
        for test in finder.find(importlib.import_module(module.name)):
            runner.run(test)
            if test.examples:
                found.add(test.name.removeprefix(module.name + ".").split(".")[0])
    results = runner.summarize(verbose=False)
    if results.failed:
        sys.exit(f"{results.failed} of {results.attempted} examples fail")
    return found, results.attempted


def main():
    for name, (package, call) in OTHERS.items():
        try:
            call()
        except ImportError as error:
            if package not in str(error) and package.replace("sklearn", "scikit-learn") not in str(error):
                sys.exit(f"npzoo.{name}: {error}, expected a message that names {package}")
    found, count = examples()
    npzoo.set_threads(npzoo.threads())
    public = {name for name in npzoo.__all__ if inspect.isfunction(getattr(npzoo, name))}
    missing = public - found - OTHERS.keys() - WITHOUT_EXAMPLE
    if missing or count < 40:
        sys.exit(f"{count} examples, and none for {sorted(missing)}")
    print(f"{count} lines of examples")


if __name__ == "__main__":
    main()
