"""NVIDIA's multi-process service: programs use a GPU at the same time. Without it they take turns."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = "nvidia-cuda-mps-control"  # comes with the driver
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"


@contextlib.contextmanager
def service():
    """Starts the service for this process and its children, and ends it. If the environment names one, they use that."""
    if PIPES in os.environ:
        yield
        return
    program = shutil.which(PROGRAM) or shutil.which(f"/usr/local/nvidia/bin/{PROGRAM}")
    if not program:
        sys.exit(f"{os.path.basename(sys.argv[0])}: --mps found, and no program {PROGRAM}, which comes with NVIDIA's driver")
    with tempfile.TemporaryDirectory(prefix="npzoo-mps-") as folder:
        os.environ[PIPES] = os.environ[LOGS] = folder
        subprocess.run([program, "-d"], check=True)
        try:
            yield
        finally:
            subprocess.run([program], input="quit\n", text=True, stdout=subprocess.DEVNULL)
            del os.environ[PIPES], os.environ[LOGS]


def without():
    """Returns the environment of a program that is to use the GPU in turns."""
    return {name: value for name, value in os.environ.items() if name not in (PIPES, LOGS)}
