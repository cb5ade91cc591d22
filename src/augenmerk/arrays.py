"""What code needs that works on numpy arrays and on torch tensors alike.

Translating on a CPU uses numpy, and torch is not imported; training, and translating on a GPU, use torch.
Search and batches are written once, for both: with operators, methods and functions that the two libraries
have in common, and with the few functions here for what they do not.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""A numpy array, or a tensor of torch. No type of Python's describes what the two have in common."""


def namespace(array: Array) -> Any:
    """Returns the library of an array, numpy or torch, to call its functions by."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def to_numpy(array: Array) -> NDArray[Any]:
    """Returns an array as one of numpy's, without copying it if it is on the CPU."""
    if isinstance(array, np.ndarray):
        return array
    on_cpu: NDArray[Any] = array.detach().cpu().numpy()
    return on_cpu


def to_device(array: Array, device: Any) -> Array:
    """Returns an array as a tensor of torch on a device."""
    import torch

    return torch.as_tensor(array).to(device)


def all_to_numpy(tensors: Mapping[str, Array]) -> dict[str, NDArray[Any]]:
    """Returns named tensors as arrays; tied weights, one tensor with several names, stay one array."""
    converted: dict[object, NDArray[Any]] = {}
    arrays = {}
    for name, tensor in tensors.items():
        identity = (
            id(tensor)
            if isinstance(tensor, np.ndarray)
            else (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        )
        if identity not in converted:
            converted[identity] = to_numpy(tensor)
        arrays[name] = converted[identity]
    return arrays


def smallest(numbers: Array, count: int) -> Array:
    """Returns the places of the `count` smallest numbers in each row (N, C), smallest first.

    No two numbers of a row may be equal.
    """
    if not isinstance(numbers, np.ndarray):
        return numbers.topk(count, largest=False).indices
    if count < numbers.shape[1]:
        places = np.argpartition(numbers, count - 1)[:, :count]
        row = np.arange(len(numbers))[:, None]
        return places[row, np.argsort(numbers[row, places])]
    return np.argsort(numbers)
