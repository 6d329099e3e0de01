"""Files with CUDA kernels, the files that they include, and records of their runs on hardware."""

import hashlib
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A comment; or a string, a character or a number, in which // and quotes mean something else.
TOKEN = re.compile(rb"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
                       |R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'
                       |\b[0-9](?:'?[0-9A-Za-z_.])*""", re.DOTALL | re.VERBOSE)
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
SUFFIXES = ("_cuda.cu", "_kernels.cpp")
LIBRARY = ("engine", "ops", "datasets", "models")  # folders that `#include` finds below npzoo/
STATUSES = ("passed", "failed", "skipped")
REQUIRED = ("test_engine", "test_ops")  # the checks that run every kernel
SHA256 = re.compile(r"[0-9a-f]{64}")


def name_of(path):
    """The name by which `#include` finds a file, from its path below the root. Records of runs use it."""
    return ("npzoo/" if path.parts[0] in LIBRARY else "") + path.as_posix()


def file_of(name, root):
    return root / name.removeprefix("npzoo/")


def kernel_sources(root=ROOT):
    """Names, sorted; none of build folders."""
    found = (path.relative_to(root) for path in root.rglob("*_*.c*") if path.name.endswith(SUFFIXES))
    return sorted(name_of(path) for path in found if not path.parts[0].startswith(("build", ".")))


def with_includes(source, root=ROOT):
    """The file and all that it includes from the repository, and that in turn: a dictionary from name to bytes. Includes
    count under any condition."""
    root = root.resolve()
    contents, waiting = {}, [file_of(source, root).resolve()]
    while waiting:
        path = waiting.pop()
        name = name_of(path.relative_to(root))
        if name in contents:
            continue
        contents[name] = path.read_bytes()
        for included in INCLUDE.findall(contents[name]):
            included = included.decode(errors="replace")
            for candidate in (path.parent / included, file_of(included, root)):
                candidate = candidate.resolve()
                if candidate.is_file() and candidate.is_relative_to(root):
                    waiting.append(candidate)
                    break
    return contents


def without_comments(content):
    """The code of a file in C++, without comments, blank lines and indentation: words change no kernel."""
    code = TOKEN.sub(lambda token: b" " if token["comment"] else token[0], content)
    return b"".join(b" ".join(line.split()) + b"\n" for line in code.split(b"\n") if line.strip())


def fingerprint(source, root=ROOT):
    """SHA-256 over names and code of all of them."""
    digest = hashlib.sha256()
    for name, content in sorted(with_includes(source, root).items()):
        content = without_comments(content)
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def fingerprints(root=ROOT):
    return {source: fingerprint(source, root) for source in kernel_sources(root)}


def problem_of(record):
    """Returns the error in the structure of a record of perf/gpu_check.py, or None."""
    if not isinstance(record, dict):
        return "no JSON object"
    for key in ("date", "commit", "device"):
        if not isinstance(record.get(key), str) or not record[key]:
            return f"'{key}' is {record.get(key)!r}, expected a text"
    if record["device"] == "cuda" and not isinstance(record.get("gpu"), str):
        return f"'gpu' is {record.get('gpu')!r}, expected its name"
    checks, sources = record.get("checks"), record.get("sources")
    if not isinstance(checks, list) or not checks:
        return "'checks' is no list of checks"
    for check in checks:
        if not isinstance(check, dict) or not isinstance(check.get("name"), str) or check.get("status") not in STATUSES:
            return f"{check!r} is no check with a name and a status of {', '.join(STATUSES)}"
    if not isinstance(sources, dict) or not sources:
        return "'sources' names no kernel source"
    for source, digest in sources.items():
        if not source.endswith(SUFFIXES) or not isinstance(digest, str) or not SHA256.fullmatch(digest):
            return f"source {source!r} has {digest!r}, expected a *_cuda.cu or *_kernels.cpp and its SHA-256"
    return None


def read_record(path):
    """Throws ValueError, with the path, where it is damaged."""
    try:
        record = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    problem = problem_of(record)
    if problem:
        raise ValueError(f"{path.name}: {problem}")
    return record


def passed_on_hardware(record):
    statuses = {check["name"]: check["status"] for check in record["checks"]}
    return (record["device"] == "cuda" and "failed" not in statuses.values()
            and all(statuses.get(name) == "passed" for name in REQUIRED))


def history(source, digest, records):
    """Returns in words when a source with this fingerprint ran on hardware, by `records`, oldest first."""
    runs = [record for record in records if passed_on_hardware(record) and source in record["sources"]]
    if not runs:
        return "not run on hardware"
    same = [record for record in runs if record["sources"][source] == digest]
    last = (same or runs)[-1]
    where = f"{last['gpu']} at {last['commit']} ({last['date']})"
    return f"run on {where}" if same else f"changed since it was run on {where}"
