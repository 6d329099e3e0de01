"""What the reports of this folder say of the machine."""

import pathlib
import platform


def processor():
    known = pathlib.Path("/proc/cpuinfo")
    for line in known.read_text().splitlines() if known.exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
