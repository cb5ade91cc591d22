"""What libraries read from the environment when they are imported.

Both programs of this package set it first: the command line, and the worker of a study, which may run on
another machine. `import augenmerk` leaves the environment as it is.
"""

import os

from augenmerk.base.device import count_cores


def prepare_environment() -> None:
    """Sets what makes this process fast and silent, unless the user has set it to something else."""
    defaults = {
        # Else pydantic would look for plugins of its own in every package that is installed.
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
        # Torch then asks for huge pages, which Linux hands out with fewer interruptions: training a large
        # model on a CPU takes a tenth less time.
        "THP_MEM_ALLOC_ENABLE": "1",
    }
    if "OMP_WAIT_POLICY" not in os.environ:
        # Threads of torch that wait for each other otherwise spin for milliseconds, on cores that other
        # processes, or the thread they wait for, could use (docs/training.md). The first is for GNU's OpenMP,
        # in spins, the second for LLVM's and Intel's, in milliseconds.
        defaults |= {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}
    if count_cores() < (os.cpu_count() or 1):
        # Else some libraries start a thread for each core of the machine, also in a container with few.
        defaults["OMP_NUM_THREADS"] = str(count_cores())
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    # Pictures go into files. A notebook names its own backend in the environment of the commands it starts,
    # and where that is not installed, matplotlib cannot even be imported.
    os.environ["MPLBACKEND"] = "agg"
