#!/usr/bin/env python3
"""Tells which CUDA kernels have run on hardware as they are now: gpu_records_test.py

Reads the records of perf/gpu_check.py in perf/results. Fails where one is damaged, not where a kernel has yet to run; and
where the fingerprints that both use do not see a change.
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "perf"))
sys.dont_write_bytecode = True
import kernel_sources as ks  # noqa: E402


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, ("gpu_records_test:", *what))))


def write(root, files):
    for name, text in files.items():
        path = ks.file_of(name, root)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def check_fingerprints():
    with tempfile.TemporaryDirectory(prefix="npzoo-") as folder:
        root = pathlib.Path(folder)
        source = "npzoo/ops/a/a_cuda.cu"
        write(root, {source: '#include "npzoo/ops/a/own.h"\n#include <vector>\n', "npzoo/ops/a/own.h": '  # include "next.h"\n',
                     "npzoo/ops/a/next.h": '#include "npzoo/ops/a/own.h"\n#include "made/by/the/build.h"\n', "npzoo/ops/a/other.h": "1\n",
                     "build/b_cuda.cu": ""})
        expect(ks.kernel_sources(root) == [source], ks.kernel_sources(root))
        expect(sorted(ks.with_includes(source, root)) == [source, "npzoo/ops/a/next.h", "npzoo/ops/a/own.h"], "what is included")
        before = ks.fingerprint(source, root)
        expect(ks.SHA256.fullmatch(before) and before == ks.fingerprint(source, root), "it is a function of the files")
        write(root, {"npzoo/ops/a/other.h": "2\n"})
        expect(ks.fingerprint(source, root) == before, "a file that is not included does not matter")
        write(root, {"npzoo/ops/a/next.h": "\n"})
        changed = ks.fingerprint(source, root)
        expect(changed != before, "the include of an include matters")
        text = '#include "npzoo/ops/a/own.h"\n#include <vector>\n'
        write(root, {source: text + "int a;\n"})
        own = ks.fingerprint(source, root)
        expect(own not in (before, changed), "the file itself matters")
        write(root, {source: "// Words.\n\n" + text + "/* More\n   words. */ int a;  // and more\n"})
        expect(ks.fingerprint(source, root) == own, "comments do not matter")


def check_code():
    for text, code in (('a = "//";  // b\n', 'a = "//";\n'), ("a = '\"';  // \"\n", "a = '\"';\n"),
                       ("a = 1'000 / 2;  // '\n", "a = 1'000 / 2;\n"), ('R"x(//)" /*)x" c;/**/\n', 'R"x(//)" /*)x" c;\n'),
                       ("a /* b\n c */ d\n", "a d\n"), ("\n  a;\n\n", "a;\n"), ('"\\"//" // b\n', '"\\"//"\n'),
                       ("// a \\\n b\nc\n", "c\n")):
        found = ks.without_comments(text.encode()).decode()
        expect(found == code, "code", repr(found), "expected", repr(code))


def check_history():
    def record(date, status="passed", device="cuda", digest="a" * 64):
        return {"date": date, "commit": f"c{date}", "device": device, "gpu": "G", "sources": {"a_cuda.cu": digest},
                "checks": [*({"name": name, "status": "passed"} for name in ks.REQUIRED),
                           {"name": "x", "status": status}]}

    def tell(*records):
        return ks.history("a_cuda.cu", "a" * 64, records)

    expect(tell() == tell(record("1", device="emulated")) == tell(record("1", "failed")) == "not run on hardware", tell())
    part = {**record("1"), "checks": [{"name": "x", "status": "passed"}]}
    expect(tell(part) == "not run on hardware", "without the tests of kernels")
    runs = record("1"), record("2", "skipped"), record("3", digest="b" * 64)
    expect(tell(*runs) == "run on G at c2 (2)", "the last equal one")
    expect(tell(record("1", digest="b" * 64)) == "changed since it was run on G at c1 (1)", "another fingerprint")
    expect(ks.history("b_cuda.cu", "a" * 64, [record("1")]) == "not run on hardware", "another source")
    expect(ks.problem_of(record("1")) is None, ks.problem_of(record("1")))
    for damage in ({"date": ""}, {"commit": None}, {"gpu": None}, {"checks": []},
                   {"checks": [{"name": "x", "status": "ok"}]}, {"sources": {}}, {"sources": ["a_cuda.cu"]},
                   {"sources": {"a_cuda.cu": "abc"}}, {"sources": {"a.cu": "a" * 64}}):
        expect(ks.problem_of({**record("1"), **damage}), "no problem found in", damage)
    expect(ks.problem_of([]), "a list is no record")


def main():
    check_fingerprints()
    check_code()
    check_history()
    try:
        records = [ks.read_record(path) for path in sorted((ROOT / "perf/results").glob("*-gpu-check*.json"))]
    except ValueError as error:
        sys.exit(f"gpu_records_test: {error}")
    for source, digest in ks.fingerprints().items():
        print(f"{source}: {ks.history(source, digest, records)}")


if __name__ == "__main__":
    main()
