"""What several test files need: the real data, where it is to be had."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def multi30k_folder() -> Path:
    """The raw Multi30k files, from $AUGENMERK_DATA or from `shared` beside the checkout; never in the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    for place in (os.environ.get("AUGENMERK_DATA"), beside):
        if place and (Path(place) / "multi30k" / "train.de.gz").is_file():
            return Path(place) / "multi30k"
    pytest.skip("Multi30k is not on this machine: set AUGENMERK_DATA to the folder that holds multi30k/")
