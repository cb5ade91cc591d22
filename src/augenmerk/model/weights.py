"""Puts weights that were read from a file into a model."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from augenmerk.base.arrays import Array
from augenmerk.base.errors import AugenmerkError


def load_checked(module: nn.Module, arrays: Mapping[str, Array], path: Path) -> None:
    """Loads arrays, read from `path`, into a module; raises AugenmerkError if they are not its own.

    They may have been stored in half precision.
    """
    tensors = {name: torch.as_tensor(array) for name, array in arrays.items()}
    expected = module.state_dict()
    for complaint, names in (
        ("lacks", expected.keys() - tensors.keys()),
        ("has unknown", tensors.keys() - expected.keys()),
    ):
        if names:
            raise AugenmerkError(
                f"{path} {complaint} {_list_names(names)}: it is not of the model in config.toml."
            )
    for name, tensor in expected.items():
        dtypes = {tensor.dtype, torch.float16} if tensor.is_floating_point() else {tensor.dtype}
        if tensors[name].shape != tensor.shape or tensors[name].dtype not in dtypes:
            raise AugenmerkError(
                f"{path} has {name} as {_describe(tensors[name])}, but the model in config.toml "
                f"needs {_describe(tensor)}."
            )
    module.load_state_dict(tensors)


def _describe(tensor: Tensor) -> str:
    size = " x ".join(map(str, tensor.shape)) or "a single number"
    return f"{size} ({str(tensor.dtype).removeprefix('torch.')})"


def _list_names(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{first} and {len(others)} more" if others else first
