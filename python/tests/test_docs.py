"""The examples of the documentation strings."""

import doctest
import importlib
import pkgutil

import pytest

import npzoo

MODULES = ["npzoo"] + [f"npzoo.{m.name}" for m in pkgutil.iter_modules(npzoo.__path__) if m.name not in ("__main__", "_core")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name == "npzoo.torch":
        pytest.importorskip("torch")
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


def test_everything_public_is_documented():
    for name in npzoo.__all__:
        assert getattr(npzoo, name).__doc__, name
