#!/usr/bin/env python3
"""Whether two programs write the same: perf/same_outputs.py OLD NEW [--data DIR] [--only WORD]

Runs each command of a list with both programs in folders of their own and compares SHA-256 sums of standard output and of
every file that was written, without times, versions and paths. With --data also commands on public data (../shared/data/README.md
has the layout). Prints a line for each command and ends with 1 if any differs. Trainings are compared by perf/same_bits.py.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIMES = re.compile(r'"(seconds|version|commit|\w*seconds\w*|path|file|checkpoint|protocol_file)": ?("[^"]*"|[-\d.e+]+)')

TABLE = """station,day,hour,depth,rain
a,2024-01-01,1,0.5,1.5
a,2024-01-02,2,,2.25
a,2024-01-03,4,1.25,
b,2024-01-01,1,10,3
b,2024-01-02,3,11.5,
b,2024-01-04,5,,4.5
"""
MAP = "x,y,v\n" + "\n".join(f"{i % 7 / 3},{i // 7 / 5},{'' if i % 5 == 0 else (i * 37 % 11) / 7}" for i in range(49)) + "\n"
LONG = "x,y\n" + "\n".join(f"{i},{'' if i % 9 == 0 else (i * i % 101) / 10}" for i in range(700)) + "\n"
TOLD = "x,depth,rate,value\n" + "\n".join(f"{i % 4 / 2},{1 + i % 3},{0.01 * 2 ** i},{(i * 29 % 13) / 5}" for i in range(9)) + "\n"
SPACE = """[[axis]]
name = "x"
low = -1.0
high = 2.0
[[axis]]
name = "depth"
type = "integer"
low = 1
high = 6
[[axis]]
name = "rate"
scale = "log"
low = 0.001
high = 10.0
"""
LINE = '[[axis]]\nname = "x"\nlow = -1.0\nhigh = 2.0\n'
LINE_TOLD = "x,value\n" + "\n".join(f"{i / 3 - 1},{(i * 7 % 5) / 2}" for i in range(6)) + "\n"
XS = "x\n" + "\n".join(str(i / 40 - 2) for i in range(161)) + "\n"
FILES = {"xs.csv": XS, "table.csv": TABLE, "map.csv": MAP, "long.csv": LONG, "told.csv": TOLD, "space.toml": SPACE, "line.toml": LINE,
         "line.csv": LINE_TOLD}


def commands(program, data):
    """Commands as words; {root} is this repository, {data} the public data."""
    rows = json.loads(subprocess.run([program, "list", "protocols", "--json"], capture_output=True, check=True).stdout)
    protocols = [row["name"] for row in rows]
    for what in ("models", "weights", "protocols", "ops"):
        yield f"list {what} --json"
        yield f"list {what}"
    for name in protocols:
        yield f"info {name}"
        yield f"info {name} --json"
    yield "predict {root}/examples/station.csv --out out.csv --plot out.svg --quantiles .05,.5,.95 --samples 3 --samples-out s.csv --json"
    yield "predict table.csv --inputs hour --values depth,rain --group station --out out.csv --plot out.svg --json"
    yield "predict table.csv --inputs day --values rain --group station --quantiles .1 --out -"
    yield "predict map.csv --inputs x,y --values v --out out.csv --plot out.svg --json"
    yield "predict long.csv --out out.csv --json"
    yield "predict long.csv --out out.csv --neighbours 30 --digits 9"
    yield "predict map.csv --inputs x,y --values v --targets map.csv --out out.csv --samples 2 --samples-out s.csv"
    for weights in ("cnp", "np", "anp", "banp", "eqtnp", "lbanp", "tnp-a", "tnp-nd"):
        yield f"predict --checkpoint {weights}:tnp/gp-rbf --context line.csv --targets xs.csv --out out.csv --chunk 100"
    yield "optimise --space space.toml --tell told.csv --ask 3 --plot out.svg --json"
    yield "optimise --space space.toml --tell none.csv --ask 4"
    yield "optimise --space space.toml --tell told.csv --ask 2 --batch thompson --acquisition ei --maximise"
    for rule in ("ei", "log-ei", "ucb", "pi"):
        yield f"optimise --space line.toml --tell line.csv --ask 2 --acquisition {rule} --plot out.svg --json"
    yield "optimise --space line.toml --tell line.csv --gaussian-process --json"
    yield "sample tnp/gp-rbf --tasks 3 --out out.csv"
    yield "sample events/hawkes --tasks 3 --out events.csv"
    yield "oracle tnp/gp-rbf --tasks 2 --json"
    for name in ("tnp/gp-rbf", "tnp-kr/gp2d-rbf", "tnp-kr/bo1d-rbf"):
        yield f"plot --protocol {name} --tasks 2 --out out.svg"
    yield "plot --checkpoint tnp-d:tnp/gp-rbf --tasks 2 --out out.svg --samples 2"
    yield "plot --grid cnp:tnp/gp-rbf,np:tnp/gp-rbf --tasks 2 --out out.svg"
    yield "plot --attention --checkpoint anp:tnp/gp-rbf --out out.svg"
    for weights in ("cnp:tnp/gp-rbf", "lbanp:tnp/gp-rbf", "kriging-tnp:npzoo/any-1d", "tnp-kr-full:tnp-kr/gp1d-rbf"):
        yield f"eval --checkpoint {weights} --batches 2 --json"
    yield "eval --checkpoint tnp-kr-full:tnp-kr/gp1d-rbf --protocol tnp-kr/bo1d-rbf --batches 1 --json"
    yield "stream --checkpoint cnp:tnp/gp-rbf --context line.csv --targets xs.csv --every 2 --standardise-by 3 --out out.csv"
    yield "export --checkpoint cnp:tnp/gp-rbf --out out.safetensors"
    if data:
        for picture in sorted(pathlib.Path(data, "celeba").rglob("*.jpg"))[:1]:
            yield f"complete {picture} --checkpoint tnp-d:quick/mnist --show .3 --out out.png"
        yield "eval --checkpoint tnp-d:quick/mnist --batches 2 --json --data {data}"
        yield "plot --checkpoint tnp-d:quick/mnist --tasks 2 --out out.svg --data {data}"


def outcome(program, command, data):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            pathlib.Path(folder, name).write_text(text)
        words = [word.format(root=ROOT, data=data) for word in command.split()]
        done = subprocess.run([program, *words], cwd=folder, capture_output=True)
        sums = {"status": done.returncode, "stdout": masked(done.stdout), "stderr": masked(done.stderr)}
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and path.name not in FILES:
                sums[path.name] = masked(path.read_bytes())
        return sums, done.stderr.decode(errors="replace").strip().splitlines()[-1:]


def masked(data):
    text = TIMES.sub(r'"\1": -', data.decode("latin-1"))
    progress = re.compile(r"^# npzoo |\b\d+%  |[a-z]/s$")
    text = "\n".join(line for line in text.splitlines() if not progress.search(line))
    return hashlib.sha256(text.encode("latin-1")).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--data", default="")
    parser.add_argument("--only", default="", help="commands that hold this word")
    options = parser.parse_args()
    programs = [str(pathlib.Path(p).resolve()) for p in (options.old, options.new)]
    different = compared = 0
    for command in commands(programs[0], options.data):
        if options.only not in command:
            continue
        (old, said), (new, says) = (outcome(program, command, options.data) for program in programs)
        parts = [name for name in old | new if old.get(name) != new.get(name)]
        compared += 1
        different += bool(parts)
        digest = hashlib.sha256(json.dumps(old, sort_keys=True).encode()).hexdigest()[:16]
        note = f"  DIFFERS in {', '.join(parts)}" if parts else ""
        failed = f"  (status {old['status']}: {' '.join(said)})" if old["status"] else ""
        print(f"{digest}  {command}{note}{failed}", flush=True)
    print(f"{compared} compared, {different} different")
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
