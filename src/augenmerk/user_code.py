"""Executes a Python file of the user's own, such as a mechanism or a logger."""

import importlib.util
from pathlib import Path
from types import ModuleType

from augenmerk.errors import AugenmerkError


def load_user_module(path: Path) -> ModuleType:
    """Executes a file and returns its module; raises AugenmerkError if there is none or it fails.

    It must only be called for a file that the user named, never because a run or a study names it.
    """
    if not path.is_file():
        raise AugenmerkError(f"{path}: there is no such file.")
    spec = importlib.util.spec_from_file_location(f"augenmerk_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise AugenmerkError(f"{path} cannot be loaded: {type(error).__name__}: {error}.") from None
    return module
