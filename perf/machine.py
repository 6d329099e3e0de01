"""The description of the machine in the reports of this folder."""

import pathlib
import platform
import subprocess


def processor():
    known = pathlib.Path("/proc/cpuinfo")
    for line in known.read_text().splitlines() if known.exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def first_line(*command):
    """That a program prints, or None."""
    try:
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None


def gpu_driver():
    """Version of the first NVIDIA device's driver, or None."""
    return first_line("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
