"""Shared by the tests of the npzoo program. The program's path is the first argument of the command line."""

import hashlib
import json
import math
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else sys.exit(f"usage: {sys.argv[0]} PATH_TO_NPZOO")
TEMPORARY = tempfile.TemporaryDirectory(prefix="npzoo-")  # removed when the program ends
HERE = pathlib.Path(TEMPORARY.name)
TIMEOUT = 300 * float(os.environ.get("NPZOO_TEST_SLOWNESS", 1))  # s
# For tests that measure memory: the address sanitizer keeps freed memory in a quarantine.
WITHOUT_QUARANTINE = {"ASAN_OPTIONS": ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1")))}

# In the background of a script Ctrl-C is ignored, and so it would be by every program that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PROTOCOL = """
name = "{name}"
description = "for tests"
source = "npzoo"

[data]
kind = "gp"
kernels = [{{ kind = "rbf", lengthscale = 0.5, scale = 1.0 }}]
dims = {dims}
domain = [-2.0, 2.0]
points = 16
shared = false
context = [2, 8]
context_per = "batch"
targets = "disjoint"
min_targets = 3
context_noise = 0.1
target_noise = 0.1
jitter = 1e-9

[training]
steps = 400
batch_size = 4
clip_norm = 1.0
keep = "best"
optimiser = {{ name = "adam", lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0 }}
schedule = {{ name = "cosine", warmup_steps = 10 }}

[validation]
every = 90
batches = 3
seed = 0

[evaluation]
batches = 2
batch_size = 4
seed = 0
metric = "log-likelihood"

[[evaluation.tests]]
name = "rbf"
kernels = [{{ kind = "rbf", lengthscale = 0.5, scale = 1.0 }}]

[models.tnp-d]
architecture = "tnp"
d_model = 8
emb_depth = 2
dim_feedforward = 12
nhead = 2
num_layers = 2

[models.cnp]
architecture = "tnp"
dim_hid = 8
enc_pre_depth = 2
enc_post_depth = 2
dec_depth = 2
"""


class Failure(Exception):
    pass


CASES = []


def case(function):
    """Makes a function one of the cases that `run_cases` runs."""
    CASES.append(function)
    return function


def run_cases():
    """Exit status."""
    failed = 0
    for function in CASES:
        name, begin = function.__name__.replace("_", " "), time.monotonic()
        try:
            function()
            print(f"ok      {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except (Failure, OSError, subprocess.SubprocessError, ValueError, LookupError) as error:
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(CASES) - failed} of {len(CASES)} cases passed")
    return 1 if failed else 0


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w) for w in what))


def npzoo(*args, stdin=None, stdout=subprocess.PIPE, environment=None):
    """`environment` is set besides what the test itself runs in."""
    return subprocess.run([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL if stdin is None else None, input=stdin,
                          stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace", timeout=TIMEOUT,
                          env={**os.environ, **(environment or {})})


def succeed(*args, **options):
    done = npzoo(*args, **options)
    expect(done.returncode == 0, "exit status", done.returncode, "of", args, done.stderr)
    return done.stdout


def commands():
    """Every command that --help tells of, as the words that call it."""
    for name in re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", succeed("--help"), re.MULTILINE):
        nested = succeed("help", name).partition("Subcommands:")[2]
        yield from ([name, inner] for inner in re.findall(r"^  ([a-z-]+) +[A-Z]", nested, re.MULTILINE))
        if not nested:
            yield [name]


def as_json(*args):
    text = succeed(*args, "--json")
    try:
        return json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
    except ValueError as error:
        raise Failure(f"{args}: stdout is no JSON: {error}: {text[:200]}") from None


def error_lines(done):
    """Lines of standard error, without those of progress, which a slow machine shows."""
    return [line for line in done.stderr.splitlines() if not re.fullmatch(r"[\w ]+( +\d+%)?  (working|\d.*)", line)]


def check_error(done, *parts):
    lines = error_lines(done)
    expect(done.returncode == 1, "exit status", done.returncode, "expected 1;", done.stderr)
    expect(len(lines) == 1 and lines[0].startswith("npzoo: error: "), "one line of error expected, found:", done.stderr)
    for part in parts:
        expect(str(part) in lines[0], repr(part), "expected in:", lines[0])


def wrong_usage(*args, naming=()):
    """A command line that cannot be understood."""
    done = npzoo(*args)
    expect(done.returncode == 2, "exit status", done.returncode, "of", args)
    expect(not done.stdout, "nothing expected on stdout of", args)
    lines = done.stderr.splitlines()
    expect(len(lines) == 1 and lines[0].startswith("npzoo: error: ["), "one line of error expected, found:", done.stderr)
    expect(len(lines[0]) < 1000, "a short line expected, found:", lines[0])
    for part in naming:
        expect(str(part) in done.stderr, repr(part), "expected in:", done.stderr)


def fail(*args, naming=(), **options):
    """Runs a command that must fail with one line which names `naming`, and must leave every file as it was."""
    before = snapshot()
    done = npzoo(*args, **options)
    check_error(done, *naming)
    expect(not done.stdout, "nothing expected on stdout, found:", done.stdout)
    expect(snapshot() == before, "files were written or changed by", args)


def snapshot():
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(HERE.rglob("*"))}


def write(name, content):
    path = HERE / name
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
    return path


def read_safetensors(path):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__", {})
    data = content[8 + size:]
    expect(len(data) == max(info["data_offsets"][1] for info in header.values()), path, "has", len(data), "bytes of data")
    return metadata, {name: data[slice(*info["data_offsets"])] for name, info in header.items()}


def write_safetensors(name, metadata, path, change=lambda tensor, data: data):
    """The tensors of `path`, each as `change` makes it, with other metadata."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = {**json.loads(content[8:8 + size]), "__metadata__": metadata}
    data = bytearray(content[8 + size:])
    for tensor, info in header.items():
        if tensor != "__metadata__":
            at = slice(*info["data_offsets"])
            data[at] = change(tensor, bytes(data[at]))
    text = json.dumps(header).encode()
    return write(name, struct.pack("<Q", len(text)) + text + bytes(data))


def model_hash(path):
    """SHA-256 of the weights alone, by name."""
    tensors = read_safetensors(path)[1]
    digest = hashlib.sha256()
    for name in sorted(tensors):
        if not name.startswith(("best.", "optimiser.")):
            digest.update(name.encode() + tensors[name])
    return digest.hexdigest()


def metrics(directory):
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("seconds", None)
    return lines


def check_keys(row, *keys):
    missing = [key for key in keys if key not in row]
    expect(not missing, "missing keys", missing, "in", row)


def trained(name="quick", protocol="quick/gp1d", model="tnp-d", steps=30, batch=4):
    """Directory of a short run, trained when first asked for."""
    out = HERE / name
    if not out.exists():
        succeed("train", "--protocol", protocol, "--model", model, "--steps", steps, "--batch", batch, "--out", out)
    return out


def checkpoint(*args, **options):
    return trained(*args, **options) / "checkpoint.safetensors"


def small_protocol(dims=1):
    return write(f"small{dims}.toml", PROTOCOL.format(name=f"small{dims}", dims=dims))


def checkpoint_2d():
    return checkpoint("two", small_protocol(2))


CONTEXT = "x,y\n-1.0,0.5\n0.0,0.1\n1.5,-0.3\n"
TARGETS = "x\n" + "".join(f"{-2 + 0.4 * i:.1f}\n" for i in range(11))


def predict_args(context=CONTEXT, targets=TARGETS, at=None, out="out.csv"):
    """With as many digits as a model knows, so that figures can be compared, and with the facts."""
    return ["predict", "--digits", 9, "--header", "--checkpoint", at or checkpoint(), "--context", write("context.csv", context), "--targets",
            write("targets.csv", targets), "--out", HERE / out]


def numbers(text):
    """Rows of a table, without comments and header."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [[float(field) for field in line.split(",")] for line in lines[1:]]


def check_close(found, expected, rel_tol=1e-4, abs_tol=1e-5):
    """Rows of numbers; the tolerances explain float32 in another order of sums."""
    expect(len(found) == len(expected), len(found), "rows found, expected", len(expected))
    for a, b in zip(found, expected):
        close = [math.isclose(p, q, rel_tol=rel_tol, abs_tol=abs_tol) for p, q in zip(a, b)]
        expect(len(a) == len(b) and all(close), a, "found, expected", b)
