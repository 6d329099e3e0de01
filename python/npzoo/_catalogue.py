"""Models, weights and protocols of this build, and their cards."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Iterable, Mapping, overload

from . import _core
from ._arguments import path_of


class Table(list[dict[str, Any]]):
    """A list of dictionaries with the same keys, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>none</p>"
        from html import escape

        head = "".join(f"<th>{escape(key)}</th>" for key in self[0])
        rows = "".join("<tr>" + "".join(f"<td>{escape(str(v))}</td>" for v in row.values()) + "</tr>" for row in self)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


class Text(str):
    """Markdown, which notebooks show formatted."""

    def _repr_markdown_(self) -> str:
        return str(self)


def models() -> Table:
    """Lists the architectures: name, title and paper.

    >>> import npzoo
    >>> [row["title"] for row in npzoo.models() if row["name"] == "cnp"]
    ['Conditional neural process']
    """
    return Table(_core.models())


def weights() -> Table:
    """Lists the trained weights that can be loaded by name: name and path.

    >>> import npzoo
    >>> "kriging-tnp:npzoo/any-1d" in [row["name"] for row in npzoo.weights()]
    True
    """
    return Table(_core.weights())


@overload
def protocols(name: None = None) -> list[str]: ...
@overload
def protocols(name: str | os.PathLike[str], set: Mapping[str, object] | Iterable[str] = ()) -> dict[str, Any]: ...
def protocols(name: str | os.PathLike[str] | None = None, set: Mapping[str, object] | Iterable[str] = ()) -> list[str] | dict[str, Any]:
    """Lists the names of the protocols, or describes one: a dictionary of facts and its text.

    >>> import npzoo
    >>> npzoo.protocols("quick/gp1d")["inputs"]
    1
    """
    if name is None:
        return list(_core.protocols())
    return dict(_core.protocol_facts(path_of(name, "[protocols] name"), changes(set)))


def card(name: str | os.PathLike[str]) -> Text:
    """Returns the card of trained weights in Markdown: what they are for, how they were trained, how they score.

    >>> import npzoo
    >>> print(npzoo.card("npzoo/any-1d").splitlines()[0])
    # kriging-tnp:npzoo/any-1d
    """
    return Text(_core.card(path_of(name, "[card] name"))[0])


def facts(name: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the facts that a file of weights holds: sizes, training and scores.

    >>> import npzoo
    >>> npzoo.facts("npzoo/any-1d")["steps"]
    22000
    """
    known: dict[str, Any] = json.loads(_core.card(path_of(name, "[facts] name"))[1])
    return known


def changes(set: Mapping[str, object] | Iterable[str]) -> list[str]:
    """Changes of a protocol as the program's ``--set`` takes them: ``KEY=VALUE`` in TOML."""
    if isinstance(set, str):
        return [set]
    if isinstance(set, Mapping):
        return [f"{key}={_toml(value)}" for key, value in set.items()]
    try:
        return [str(change) for change in set]
    except TypeError:
        raise _core.InvalidInput(f"[set] {set!r} found, expected a dictionary, or texts such as 'data.points=100'") from None


def _toml(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value  # a number of NumPy
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(v)}" for key, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if not isinstance(value, (bool, int, float, str)):
        raise _core.InvalidInput(f"[set] {value!r} found, expected a number, a text, True, False, or a list or dictionary of these")
    return json.dumps(value)
