"""Tensors in a safetensors file, with a checksum and a JSON description.

Loading executes no code. The checksum reveals damaged and mixed-up files. It is not a signature:
somebody who changes a file on purpose can compute a new checksum.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from augenmerk.errors import AugenmerkError
from augenmerk.storage import explain_read_errors, parse_object, replacing

Kind = Literal["model", "state"]


def save_tensors(
    path: Path, kind: Kind, tensors: Mapping[str, Tensor], about: Mapping[str, Any], companion: bytes
) -> None:
    """Writes tensors, which can only be read again together with the same `companion`."""
    # Tied weights are one tensor with several names, and are stored once.
    name_of: dict[object, str] = {}
    tied, plain = {}, {}
    for name, tensor in tensors.items():
        identity = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        first = name_of.setdefault(identity, name)
        if first == name:
            plain[name] = tensor.detach().cpu().contiguous()
        else:
            tied[name] = first
    metadata = {"augenmerk": kind, "about": json.dumps(dict(about)), "tied": json.dumps(tied)}
    metadata["sha256"] = checksum(metadata, plain, companion)
    with replacing(path, in_folder=True) as temporary:
        temporary.touch()
        mode = temporary.stat().st_mode
        save_file(plain, temporary, metadata=metadata)
        temporary.chmod(mode)  # the library makes files that only their owner can read


def load_tensors(path: Path, kind: Kind, companion: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads tensors and their description."""
    with explain_read_errors(path), safe_open(path, framework="pt") as file:
        metadata = _metadata(file, kind)
        # Copies, because rounding may depend on the alignment of a tensor in memory, which in a mapped file
        # differs from that in a run that was never interrupted.
        tensors: dict[str, Tensor] = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        if checksum(metadata, tensors, companion) != metadata["sha256"]:
            raise ValueError(
                "it, the tokenizer beside it, or [text], [model] or train.seed in config.toml was changed "
                "after it was written"
            )
        for name, first in parse_object(metadata["tied"]).items():
            tensors[name] = tensors[first]
        return tensors, parse_object(metadata["about"])


def read_about(path: Path, kind: Kind) -> dict[str, Any]:
    """Reads the description of the tensors without the tensors."""
    with explain_read_errors(path), safe_open(path, framework="pt") as file:
        return parse_object(_metadata(file, kind)["about"])


def load_checked(module: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Loads tensors, read from `path`, into a module; raises AugenmerkError if they are not its own.

    They may have been stored in half precision.
    """
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


def checksum(metadata: Mapping[str, str], tensors: Mapping[str, Tensor], companion: bytes) -> str:
    """Returns the SHA-256 of everything that is stored and of the companion."""
    digest = hashlib.sha256(companion)
    for key in ("augenmerk", "about", "tied"):
        digest.update(f"{len(metadata[key])} {metadata[key]}".encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(_raw(tensor))
    return digest.hexdigest()


def _raw(tensor: Tensor) -> memoryview:
    """Returns the bytes of a tensor without copying them."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _metadata(file: Any, kind: Kind) -> dict[str, str]:
    """Returns the metadata of a file; raises ValueError if Augenmerk did not write it."""
    metadata: dict[str, str] = file.metadata() or {}
    if metadata.get("augenmerk") != kind or not {"about", "tied", "sha256"} <= metadata.keys():
        raise ValueError(f"its header does not say that it holds a {kind}")
    return metadata


def _describe(tensor: Tensor) -> str:
    size = " x ".join(map(str, tensor.shape)) or "a single number"
    return f"{size} ({str(tensor.dtype).removeprefix('torch.')})"


def _list_names(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{first} and {len(others)} more" if others else first
