"""Measuring speed: ours against the plain way, both in one run, and both against what the machine can do.

`session.py` has the commands of `augenmerk bench` as functions: `augenmerk.bench.train` and `.decode`.

May import: everything but cli. Read first: `machine.py`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from augenmerk.bench.session import decode, train

__all__ = ["decode", "train"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'augenmerk.bench' has no attribute {name!r}")
    return getattr(import_module("augenmerk.bench.session"), name)
