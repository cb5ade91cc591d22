"""Custom code: executed as it is in the file, and compared by what a class uses."""

from pathlib import Path

import pytest

from augenmerk.base.custom_code import load_user_module, same_code
from augenmerk.base.errors import AugenmerkError
from augenmerk.training.loggers import load_logger

CODE = '''
"""Two classes."""
import math
import json

SIZE = 3
FACTORS = [SIZE]


def scale(x):
    """Scales."""
    return helper(x) * math.sqrt(FACTORS[0])


def helper(x):
    return x + 1


class Mine:
    """The one that is asked for."""

    def scores(self, x):
        return scale(x)


class Other(Mine):
    limit = 2


if __name__ == "__main__":
    print(Mine())
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return x + 1", "return (x\n            + 1)  # one more"),
        ('"""Scales."""', '"""Returns x, scaled."""'),
        ('    """The one that is asked for."""\n', ""),
        ("limit = 2", "limit = 3"),
        ("import json", "import csv"),
        ("print(Mine())", "print(Other())"),
        ("class Other(Mine):", "def unused():\n    return 1\n\n\nclass Other(Mine):"),
    ],
)
def test_what_a_class_does_not_use_may_differ(old: str, new: str) -> None:
    assert old in CODE
    assert same_code(CODE.encode(), CODE.replace(old, new).encode(), "Mine")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return x + 1", "return x + 2"),
        ("SIZE = 3", "SIZE = 4"),
        ("import math", "from numpy import math"),
        ("    def scores(self, x):", "    def scores(self, x, y=0):"),
        ("class Other(Mine):", "Mine.scores = None\n\n\nclass Other(Mine):"),
        ("class Other(Mine):", "print(1)\n\n\nclass Other(Mine):"),
        ("class Other(Mine):", "from numpy import *\n\n\nclass Other(Mine):"),
        ("class Other(Mine):", "@print\ndef unused():\n    pass\n\n\nclass Other(Mine):"),
        ("SIZE = 3", "SIZE = 3\nFACTORS = []"),
        ("class Mine:", "class Mine(:"),
        ("class Mine:", "class Renamed:"),
    ],
)
def test_what_it_uses_may_not(old: str, new: str) -> None:
    assert old in CODE
    assert not same_code(CODE.encode(), CODE.replace(old, new).encode(), "Mine")


def test_code_that_looks_names_up_uses_all_of_its_file() -> None:
    code = CODE.replace("return helper(x)", "return globals()['helper'](x)")
    assert not same_code(code.encode(), code.replace("limit = 2", "limit = 3").encode(), "Mine")
    assert same_code(code.encode(), code.replace("import json", "import json  # x").encode(), "Mine")


def test_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    """Each is found in sys.modules under its own name, without which a dataclass cannot be made."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(
            "from __future__ import annotations\n\nfrom dataclasses import dataclass\n\n\n"
            f"@dataclass\nclass Row:\n    place: str = '{folder}'\n\n\n"
            "class Logger:\n    place = Row().place\n    start = log = close = print\n",
            encoding="utf-8",
        )
    first, second = (load_user_module(tmp_path / folder / "mine.py") for folder in ("a", "b"))
    assert first.__name__ != second.__name__
    assert (first.Row().place, second.Row().place) == ("a", "b")
    loggers = [load_logger(f"{tmp_path / folder / 'mine.py'}:Logger") for folder in ("a", "b")]
    assert [vars(type(logger))["place"] for logger in loggers] == ["a", "b"]


def test_a_file_that_fails_leaves_no_module_behind(tmp_path: Path) -> None:
    import sys

    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    before = set(sys.modules)
    with pytest.raises(AugenmerkError, match=r"broken\.py cannot be loaded: ZeroDivisionError"):
        load_user_module(tmp_path / "broken.py")
    assert not [name for name in set(sys.modules) - before if name.startswith("augenmerk_user_")]
