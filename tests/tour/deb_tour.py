#!/usr/bin/env python3
"""The tour in a fresh Debian that has the Debian package and no compiler: deb_tour.py DEB_SCRIPT BUILD
or deb_tour.py PACKAGE, a file. Needs root, mmdebstrap and Debian's packages; else the test is skipped."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NEEDED = ("mmdebstrap", "chroot", "dpkg-deb", "dpkg-shlibdeps")
QUIET = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def release():
    """The name of this machine's Debian; the package is made for it."""
    facts = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return facts["VERSION_CODENAME"] if facts.get("ID") == "debian" else None


def main():
    what, *build = map(os.path.abspath, sys.argv[1:])
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing or os.geteuid() != 0 or not release():
        print(f"skipped: needs Debian, root and {', '.join(NEEDED)}; not found: {', '.join(missing) or 'none'}")
        return 77
    with tempfile.TemporaryDirectory(prefix="npzoo-") as name:
        here = pathlib.Path(name)
        lines = run(what, *build, cwd=here).splitlines() if build else [what]
        (package,) = [line for line in lines if line.endswith(".deb") and "/npzoo_" in line]
        root = here / "root"
        run("mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/apt", release(), root)
        shutil.copy(package, root / "tmp/npzoo.deb")
        run("chroot", root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", "/tmp/npzoo.deb", env=QUIET)
        compilers = [name for name in ("cc", "g++", "clang", "ld") if (root / "usr/bin" / name).exists()]
        if compilers:
            sys.exit(f"{compilers} found in the fresh system, expected no compiler")
        run("mount", "--bind", "/proc", root / "proc")  # where the program finds its own file
        try:
            print(run(sys.executable, HERE / "tour.py", "--root", root, "/usr/bin/npzoo"))
        finally:
            run("umount", "--lazy", root / "proc")
        run("chroot", root, "apt-get", "remove", "-y", "-qq", "npzoo", env=QUIET)
        left = [path for folder in ("usr/bin", "usr/share") for path in (root / folder).rglob("*npzoo*")]
        if left:
            sys.exit(f"{left[0]} is left after the package was removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
