"""Packages that can be called, such as `augenmerk.study(...)`, which is also a package."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, name: str) -> None:
    """Makes a call of a package one of its function `name` in its module `session`, imported then."""

    def find() -> Any:
        return getattr(import_module(f"{package}.session"), name)

    class Callable(ModuleType):
        def __call__(self, *arguments: Any, **keywords: Any) -> Any:
            return find()(*arguments, **keywords)

        @property
        def __wrapped__(self) -> Any:
            """What `help` and `inspect.signature` show."""
            return find()

    sys.modules[package].__class__ = Callable
