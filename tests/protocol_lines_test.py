#!/usr/bin/env python3
"""Compares the lines that readers of keys have in the sources with what `npzoo help protocol` prints: protocol_lines_test.py NPZOO

A line that help does not print belongs to a key that no protocol can have, or that described_keys does not reach."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
METHODS = "share|prior|length|text|texts|boolean|choice|integer|number|two_numbers|numbers|rows|range|value|table|tables|any_form|get<[\\w:]+>|size|depth"
STRING = r'"((?:[^"\\]|\\.)*)"'
READ = re.compile(rf'\b(?:\w+)\.(?:{METHODS})\(\s*{STRING},\s*((?:{STRING}\s*)+)')
NAMED = re.compile(rf"\bKeyLine k\w+ =\s*((?:{STRING}\s*)+);")
# Readers of other files: a search space, a process to score events by, and stored expectations.
OTHERS = {"models/applications/optimise/search_space.cpp", "datasets/events/scores.cpp", "datasets/expectation.cpp"}


def joined(literals):
    return "".join(part.replace('\\"', '"') for part in re.findall(STRING, literals))


def lines_in(text):
    return [joined(match[2]) for match in READ.finditer(text)] + [joined(match[1]) for match in NAMED.finditer(text)]


def printed(npzoo):
    def help_of(*names):
        return json.loads(subprocess.run([npzoo, "help", "protocol", *names, "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)

    top = help_of()
    pages = [top] + [help_of(name) for name in {*top["kinds"], *top["trials"], *top["models"]}]
    return {key["meaning"] for page in pages for table in page["tables"] for key in table["keys"]}


def main():
    example = 'a.size("k", "one "\n  "line", 3); constexpr KeyLine kB = "two"; b.get<bool>("c", "three \\"x\\"")'
    assert sorted(lines_in(example)) == ["one line", 'three "x"', "two"], lines_in(example)
    known, found, missing = printed(sys.argv[1]), 0, []
    for folder in ("datasets", "models"):
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.suffix not in (".h", ".cpp") or name in OTHERS or name == "datasets/toml_reader.h":
                continue
            for line in lines_in(path.read_text()):
                found += 1
                if line and line not in known:
                    missing.append(f"{name}: {line}")
    print(f"{found} lines in the sources, {len(known)} printed")
    if missing or found < 250:
        sys.exit("\n".join(["not printed:"] + missing))


if __name__ == "__main__":
    main()
