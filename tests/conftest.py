"""What several test files need: the real data, where it is to be had."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The models of the tests are tiny: sharing their work among cores takes longer than doing it, and where
# something else runs too, far longer. Set before torch is there, and for all processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says more about what else the machine does. In CI the examples are always the
# same, so that a change is judged and not chance; elsewhere every run tries new ones.
settings.register_profile("augenmerk", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("augenmerk")


@pytest.fixture(scope="session")
def multi30k_folder() -> Path:
    """The raw Multi30k files, from $AUGENMERK_DATA or from `shared` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    for place in (os.environ.get("AUGENMERK_DATA"), beside):
        if place and (Path(place) / "multi30k" / "train.de.gz").is_file():
            return Path(place) / "multi30k"
    pytest.skip("Multi30k is not on this machine: set AUGENMERK_DATA to the folder that holds multi30k/")


@pytest.fixture(autouse=True)
def _own_consoles() -> None:
    """A console knows the width of the terminal it was made in; each test has a terminal of its own."""
    from augenmerk.cli.terminal import err, out

    out.cache_clear()
    err.cache_clear()
