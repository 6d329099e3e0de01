#!/usr/bin/env python3
"""Text from strangers is parsed in one place for each format, where depth and size are bounded: readers_test.py ROOT"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
PARSERS = {
    r"\bjson::(parse|sax_parse|accept|from_\w+)\(": {"engine/io/json.cpp", "engine/io/safetensors_header.cpp"},
    r"\btoml::parse(_file)?\(": {"engine/io/toml.cpp"},
    r"#include <toml\+\+": {"engine/io/toml.h"},
}

sources = [path for part in ("engine", "ops", "datasets", "models", "python", "tools", "perf")
           for path in (ROOT / part).rglob("*") if path.suffix in (".h", ".cpp", ".cu")]
if len(sources) < 300:
    sys.exit(f"{len(sources)} sources under {ROOT}, expected all of them")
found = {pattern: set() for pattern in PARSERS}
for path in sources:
    text = path.read_text()
    for pattern in PARSERS:
        if re.search(pattern, text):
            found[pattern].add(str(path.relative_to(ROOT)))
for pattern, expected in PARSERS.items():
    if found[pattern] != expected:
        sys.exit(f"{pattern} is in {sorted(found[pattern])}, expected only in {sorted(expected)}: use parse_json or parse_toml")
