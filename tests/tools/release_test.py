#!/usr/bin/env python3
"""Tests of tools/release.sh in a small repository with stand-ins for what builds: release_test.py ROOT"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
COPIED = ["tools/release.sh", "tools/package/versions.py", "tools/package/conda-forge/recipe.yaml", "tools/package/homebrew/npzoo.rb",
          "tools/package/vcpkg/vcpkg.json", "docs/reference/versions.md", "meson.build", "CITATION.cff", "CHANGELOG.md"]
STAND_INS = {
    # ENVIRONMENT is made by the stand-in for python3 below.
    "tools/wheel.sh": 'test -n "$ENVIRONMENT" && case "$2" in *build-dir=*/build-release) ;; *) exit 1 ;; esac\n'
                      'head -c "${WHEEL_BYTES:-1000}" /dev/zero >"$1/npzoo-$V-cp310-abi3-linux.whl"; echo w >"$1/npzoo_weights-$V-py3-none-any.whl"',
    "tools/deb.sh": 'for name in npzoo libnpzoo-dev; do echo $name >"${name}_${V}_$(dpkg --print-architecture).deb"; done',
    "tools/docs.sh": 'mkdir -p "$1/docs/html" && echo page >"$1/docs/html/index.html"',
    "tools/r_package.sh": 'echo r >"$1/npzoo_$V.tar.gz"',
    "tools/arm.sh": '[ "$BUILD" = build-release/arm ]\ncase $1 in --deb) echo d >"$2/npzoo_${V}_other.deb" ;; '
                    '--wheel) head -c "${ARM_BYTES:-1000}" /dev/zero >"$2/npzoo-$V-cp310-abi3-linux_aarch64.whl" ;; esac',
}
TOURS = {"tests/tour/wheel_tour.py": "import glob, sys; assert len(glob.glob(sys.argv[1] + '/npzoo-*.whl')) == 1",
         "tests/tour/deb_tour.py": "import os, sys; assert os.path.basename(sys.argv[1]).startswith('npzoo_'); sys.exit(int(os.environ.get('TOUR', 0)))"}
PROGRAMS = {"meson": "exit 0", "ninja": "exit 0",
            # `python3 -m venv FOLDER` makes one whose pip does nothing; all else is Python.
            "python3": 'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit; fi\n'
                       f'[ "$2" = pip ] && exit\nexec {sys.executable} "$@"'}


def expect(condition, done, *what):
    if not condition:
        sys.exit(f"{' '.join(map(str, what))}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Repository:
    def __init__(self, here):
        self.here, self.root = here, here / "repository"
        self.environment = {**os.environ, "PATH": f"{here}/bin:{os.environ['PATH']}", "V": self.version()}
        for file in COPIED:
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, self.root / file)
        for file, text in STAND_INS.items():
            write(self.root / file, f"#!/bin/bash\nset -e\n{text}\n")
        for file, text in TOURS.items():
            write(self.root / file, text + "\n")
        for file, text in PROGRAMS.items():
            write(here / "bin" / file, f"#!/bin/bash\n{text}\n")
        (self.root / "pyproject.toml").write_text('[build-system]\nrequires = ["something"]\n')
        (self.root / ".gitignore").write_text("/build*/\n__pycache__/\n")
        self.git("init", "-q")
        self.commit()

    @staticmethod
    def version():
        return re.search(r"^  version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=A", "-c", "user.email=a@example.org", *words], check=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "one")

    def run(self, *arguments, **variables):
        return subprocess.run([self.root / "tools/release.sh", *arguments], cwd=self.here, env={**self.environment, **variables}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def check_all(repository):
    version, folder = repository.version(), repository.here / "out"
    done = repository.run("out")
    expect(done.returncode == 0, done, "a release")
    names = {path.name for path in folder.iterdir()}
    for pattern in (f"npzoo-{version}.tar.gz", f"npzoo-{version}-site.tar.gz", f"npzoo_{version}.tar.gz", f"npzoo-{version}-cp310-abi3-linux.whl",
                    f"npzoo_weights-{version}-py3-none-any.whl", f"npzoo_{version}_*.deb", f"libnpzoo-dev_{version}_*.deb", "SHA256SUMS"):
        expect(len(list(folder.glob(pattern))) == 1 and f"\n{next(folder.glob(pattern)).name} " in done.stdout, done, pattern, "in", sorted(names))
    expect(len(names) == 8, done, sorted(names))
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    expect(sums == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names - {"SHA256SUMS"}}, done, sums)
    for step in ("source archive", "wheels", "Debian packages", "site", "R package", "tour of wheel", "tour of package", "all"):
        expect(re.search(rf"^{step} +\d+\.\d$", done.stdout, re.MULTILINE), done, "minutes of", step)
    listed = subprocess.run(["tar", "-tzf", folder / f"npzoo-{version}.tar.gz"], stdout=subprocess.PIPE, text=True, check=True).stdout
    expect(f"npzoo-{version}/tools/release.sh" in listed.splitlines(), done, listed)

    expect("is not empty, expected a new folder" in repository.run("out").stderr, done, "a folder with files")
    done = repository.run("quick", "--skip-tours", TOUR="1")
    expect(done.returncode == 0 and "tour of" not in done.stdout and "not tested (--skip-tours)" in done.stderr, done, "without tours")
    done = repository.run("arm", "--arm")  # the wheel's tour expects one wheel, also here
    names = {path.name for path in (repository.here / "arm").iterdir()}
    expect(done.returncode == 0 and len(names) == 10 and f"npzoo-{version}-cp310-abi3-linux_aarch64.whl" in names, done, sorted(names))
    for step in ("Arm packages", "Arm wheel"):
        expect(re.search(rf"^{step} +\d+\.\d$", done.stdout, re.MULTILINE), done, "minutes of", step)


def check_failures(repository):
    """Each has one clear line at the end, and leaves the folder empty."""
    def fails(message, *arguments, **variables):
        done = repository.run("failed", *arguments, **variables)
        expect(done.returncode == 1 and re.search(message, done.stderr.splitlines()[-1]), done, "expected", message)
        expect(not list((repository.here / "failed").glob("*")), done, "artefacts of a release that failed")
        return done

    fails("tour of package failed", TOUR="1")
    expect("not tested: see above" in fails("tour of package failed", TOUR="77").stderr, repository.run("--help"), "a tour that is skipped")
    done = fails("size of wheel failed", WHEEL_BYTES="10000001")
    expect("10000001 bytes, expected at most 10000000" in done.stderr, done, "a large wheel")
    fails("size of Arm wheel failed", "--arm", ARM_BYTES="10000001")
    shutil.rmtree(repository.here / "failed")
    done = repository.run("--allow-large", "--skip-tours", "failed", WHEEL_BYTES="10000001")
    expect(done.returncode == 0, done, "a large wheel that is allowed")
    shutil.rmtree(repository.here / "failed")
    script = repository.root / "tools/docs.sh"
    text = script.read_text()
    script.write_text(text.replace("mkdir", "false; mkdir"))
    fails("the tree has changes, expected a clean checkout")
    repository.commit()
    fails("site failed; all of its output is in build-release/log-site.txt")
    script.write_text(text)
    repository.commit()
    repository.git("tag", f"v{repository.version()}")
    fails("the tag .* is there already")
    (repository.root / "CITATION.cff").write_text("version: 9.9.9\n")
    done = fails("versions differ")
    expect("CITATION.cff has 9.9.9" in done.stderr, done, "the place of another version")
    for arguments in ((), ("--unknown", "out")):
        done = repository.run(*arguments)
        expect(done.returncode == 2 and "tools/release.sh [" in done.stderr, done, "usage")


def main():
    missing = [program for program in ("git", "dpkg-deb", "dpkg") if not shutil.which(program)]
    if missing:
        print(f"skipped: needs {', '.join(missing)}")
        return 77
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        repository = Repository(pathlib.Path(name))
        check_all(repository)
        check_failures(repository)
    return 0


if __name__ == "__main__":
    sys.exit(main())
