"""Code for numpy arrays and torch tensors alike, and files that keep them.

Translating on a CPU uses numpy, and torch is not imported; training, and translating on a GPU, use torch.
Search and batches are written once, with operators, methods and functions that the two libraries have in
common, and with the few functions here where they differ.

A file of arrays is in the safetensors format, with a checksum and a JSON description. Loading executes no
code. The checksum reveals damaged and mixed-up files. It is not a signature: somebody who changes a file on
purpose can compute a new checksum.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from augenmerk.base.files import explain_read_errors, parse_object, replacing

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


Kind = Literal["model", "state"]
Arrays = dict[str, NDArray[Any]]


def save_tensors(
    path: Path, kind: Kind, tensors: Mapping[str, Array], about: Mapping[str, Any], companion: bytes
) -> None:
    """Writes arrays, or tensors of torch; they can only be read again together with the same `companion`."""
    # Tied weights are one array with several names, and are stored once.
    name_of: dict[int, str] = {}
    tied, plain = {}, {}
    arrays = all_to_numpy(tensors)
    for name, array in arrays.items():
        first = name_of.setdefault(id(array), name)
        if first == name:
            plain[name] = np.asarray(array, order="C")
        else:
            tied[name] = first
    metadata = {"augenmerk": kind, "about": json.dumps(dict(about)), "tied": json.dumps(tied)}
    metadata["sha256"] = checksum(metadata, plain, companion)
    with replacing(path, in_folder=True) as temporary:
        temporary.touch()
        mode = temporary.stat().st_mode
        save_file(plain, temporary, metadata=metadata)
        temporary.chmod(mode)  # the library makes files that only their owner can read


def load_tensors(path: Path, kind: Kind, companion: bytes) -> tuple[Arrays, dict[str, Any]]:
    """Reads arrays and their description."""
    with explain_read_errors(path), safe_open(path, framework="np") as file:
        metadata = _metadata(file, kind)
        arrays: Arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if checksum(metadata, arrays, companion) != metadata["sha256"]:
            raise ValueError(
                "it, the tokenizer beside it, or [text], [model] or train.seed in config.toml was changed "
                "after it was written"
            )
        for name, first in parse_object(metadata["tied"]).items():
            arrays[name] = arrays[first]
        return arrays, parse_object(metadata["about"])


def read_about(path: Path, kind: Kind) -> dict[str, Any]:
    """Reads the description of the arrays without the arrays."""
    with explain_read_errors(path), safe_open(path, framework="np") as file:
        return parse_object(_metadata(file, kind)["about"])


def checksum(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]], companion: bytes) -> str:
    """Returns the SHA-256 of everything that is stored and of the companion."""
    digest = hashlib.sha256(companion)
    for key in ("augenmerk", "about", "tied"):
        digest.update(f"{len(metadata[key])} {metadata[key]}".encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} torch.{array.dtype} {list(array.shape)}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _metadata(file: Any, kind: Kind) -> dict[str, str]:
    """Returns the metadata of a file; raises ValueError if Augenmerk did not write it."""
    metadata: dict[str, str] = file.metadata() or {}
    if metadata.get("augenmerk") != kind or not {"about", "tied", "sha256"} <= metadata.keys():
        raise ValueError(f"its header does not say that it holds a {kind}")
    return metadata
