#!/usr/bin/env python3
"""The recipes of packages agree with meson.build in version and dependencies, and can be filled in: recipes_test.py ROOT

The recipes in YAML and Ruby are also parsed where PyYAML and ruby are installed."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
PACKAGE = ROOT / "tools/package"
# Of a dependency or header of meson.build: its names in conda-forge, vcpkg and Homebrew.
NAMES = {
    "fmt": ("fmt", "fmt", "fmt"), "nlohmann_json": ("nlohmann_json", "nlohmann-json", "nlohmann-json"),
    "libxxhash": ("xxhash", "xxhash", "xxhash"), "zlib": ("zlib", "zlib", "zlib"), "liblzma": ("liblzma-devel", "liblzma", "xz"),
    "CLI11": ("cli11", "cli11", "cli11"), "cairo": ("cairo", "cairo", "cairo"), "libpng": ("libpng", "libpng", "libpng"),
    "libjpeg": ("libjpeg-turbo", "libjpeg-turbo", "jpeg-turbo"), "libarchive": ("libarchive", "libarchive", "libarchive"),
    "Random123": ("random123", "random123", "random123"), "toml++": ("tomlplusplus", "tomlplusplus", "tomlplusplus"),
    "nanoflann.hpp": ("nanoflann", "nanoflann", "nanoflann"),
    "boost": ("libboost-headers", "boost-random boost-math", "boost"), "eigen3": ("eigen", "eigen3", "eigen"),
}
OPTIONAL = {"threads", "doctest", ""}  # tests and fibers alone need them, or every system has them
BUILD_TOOLS = {"meson", "ninja", "pkgconf", "pkg-config", "python", "vcpkg-cmake-config", "vcpkg-tool-meson"}


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def of_meson():
    """Names of the dependencies and folders of the headers that meson.build looks for."""
    text = (ROOT / "meson.build").read_text()
    headers = re.search(r"headers_alone = \[(.*?)\]", text, re.DOTALL)[1]
    of_files = re.search(r"feature_libraries = \{(.*?)\}", text, re.DOTALL)[1]
    libraries = {name for names in re.findall(r"\[(.*?)\]", of_files) for name in re.findall(r"'([^']+)'", names)}
    found = libraries | set(re.findall(r"\bdependency\('([^']*)'", text)) | {name.split("/")[0] for name in re.findall(r"'([^']+)'", headers)}
    return found - OPTIONAL


def of_conda(text):
    host = re.search(r"^  host:\n((?:    .*\n)+)", text, re.MULTILINE)[1]
    return set(re.findall(r"^    - ([\w-]+)", host, re.MULTILINE))


def of_vcpkg(text):
    port = json.loads(text)
    listed = port["dependencies"] + port["features"]["tools"]["dependencies"]
    return {entry if isinstance(entry, str) else entry["name"] for entry in listed}


def of_homebrew(text):
    return set(re.findall(r'(?:depends_on|resource) "([\w-]+)"', text))


def check_dependencies():
    wanted = of_meson()
    expect(wanted == NAMES.keys(), "meson.build needs", sorted(wanted), "and this test knows", sorted(NAMES))
    for i, (file, read) in enumerate((("conda-forge/recipe.yaml", of_conda), ("vcpkg/vcpkg.json", of_vcpkg), ("homebrew/npzoo.rb", of_homebrew))):
        found = read((PACKAGE / file).read_text()) - BUILD_TOOLS
        expected = {word for names in NAMES.values() for word in names[i].split()}
        expect(found == expected, file, "has", sorted(found), "expected", sorted(expected))


def check_versions(here):
    """One version everywhere; each place that names another is reported."""
    def run(root):
        return subprocess.run([sys.executable, PACKAGE / "versions.py", root], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    done = run(ROOT)
    expect(done.returncode == 0 and re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout), done)
    version = done.stdout.strip()
    places = ["CITATION.cff", "CHANGELOG.md", "docs/reference/versions.md", "tools/package/conda-forge/recipe.yaml", "tools/package/homebrew/npzoo.rb",
              "tools/package/vcpkg/vcpkg.json"]
    copy = here / "copy"
    for place in ["meson.build", *places]:
        (copy / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place, copy / place)
    (copy / "r/npzoo").mkdir(parents=True)
    (copy / "r/npzoo/DESCRIPTION").write_text("Package: npzoo\nVersion: 9.9.9\n")
    for place in places:
        (copy / place).write_text((copy / place).read_text().replace(version, "9.9.9", 1))
    done = run(copy)
    lines = done.stderr.splitlines()
    expect(done.returncode == 1 and len(lines) == len(places) + 1 and all(f"has 9.9.9, expected {version}" in line for line in lines), done)
    (copy / "CITATION.cff").unlink()
    expect("CITATION.cff has (no file)" in run(copy).stderr, "a missing file")


def check_filled(here):
    for name in ("npzoo.tar.gz", "random.tar.gz"):
        (here / name).write_text(name)
    headers = ["--random123", here / "random.tar.gz", "https://example.org/random.tar.gz"]

    def run(archive, *more):
        return subprocess.run([sys.executable, PACKAGE / "recipes.py", "--archive", here / archive, "--url", "https://example.org/n.tar.gz", "--homepage",
                               "https://example.org", "--maintainer", "someone", *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    done = run("npzoo.tar.gz", *headers, here / "recipes")
    expect(done.returncode == 0 and len(done.stdout.splitlines()) == 3, done)
    texts = {path.name: path.read_text() for path in (here / "recipes").rglob("*") if path.is_file()}
    expect(sorted(texts) == ["npzoo.rb", "portfile.cmake", "recipe.yaml", "usage", "vcpkg.json"], sorted(texts))
    for name, text in texts.items():
        expect(not re.search(r"@\w+@", text), name, "has an open place")
    sha = {kind: hashlib.new(kind, b"npzoo.tar.gz").hexdigest() for kind in ("sha256", "sha512")}
    expect(sha["sha256"] in texts["recipe.yaml"] and sha["sha256"] in texts["npzoo.rb"] and sha["sha512"] in texts["portfile.cmake"], "hashes")
    expect(hashlib.sha256(b"random.tar.gz").hexdigest() in texts["npzoo.rb"], "the hash of Random123")
    check_syntax(here / "recipes")
    done = run("npzoo.tar.gz", here / "fewer")
    expect(done.returncode == 0 and "no formula for Homebrew" in done.stderr and not (here / "fewer/homebrew").exists(), done)
    done = run("none.tar.gz", here / "none")
    expect(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "none.tar.gz" in done.stderr, done)


def check_syntax(folder):
    json.loads((folder / "vcpkg/vcpkg.json").read_text())
    try:
        import yaml
        recipe = yaml.safe_load((folder / "conda-forge/recipe.yaml").read_text())
        expect({"context", "package", "source", "build", "requirements", "tests", "about"} <= recipe.keys(), recipe.keys())
        yaml.safe_load((ROOT / "tests/fuzz/oss-fuzz/project.yaml").read_text())
    except ImportError:
        print("skipped: YAML is not read, since PyYAML is missing")
    if shutil.which("ruby"):
        done = subprocess.run(["ruby", "-c", folder / "homebrew/npzoo.rb"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        expect(done.returncode == 0, done.stdout)
    else:
        print("skipped: the formula is not read, since ruby is missing")


def main():
    check_dependencies()
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        check_versions(pathlib.Path(name))
        check_filled(pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
