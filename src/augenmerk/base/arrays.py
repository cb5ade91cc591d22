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

FEW_SCORES = 2048
"""So few numbers are sorted in less time than it takes to begin to look for the best of them."""

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


def largest(scores: Array, count: int) -> Array:
    """Returns the places of the `count` largest scores in each row (N, C), which must not be positive.

    The largest comes first, and among equals the first. So that no two are equal, many scores are compared
    by their bits, followed by their places: of two floats that are not positive, the larger has the smaller
    bits.
    """
    xp = namespace(scores)
    scores = xp.asarray(scores, dtype=xp.float32)
    if xp is np and scores.size <= FEW_SCORES:
        return np.argsort(-scores, axis=1, kind="stable")[:, :count]
    ranks = xp.asarray(scores.clip(max=0.0).view(xp.int32), dtype=xp.int64)
    ranks &= 0x7FFFFFFF  # the sign goes
    ranks <<= 32
    ranks |= xp.arange(scores.shape[1], device=scores.device)
    if xp is not np:
        return ranks.topk(count, largest=False).indices
    if count < scores.shape[1]:
        places = np.argpartition(ranks, count - 1)[:, :count]
        row = np.arange(len(ranks))[:, None]
        return places[row, np.argsort(ranks[row, places])]
    return np.argsort(ranks)
