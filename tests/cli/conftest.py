"""What several files of tests need that call the command line."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder for the runs of a file."""
    return tmp_path_factory.mktemp("runs")
