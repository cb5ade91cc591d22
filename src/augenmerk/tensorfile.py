"""Tensors in a file: safetensors, with a checksum and a few words about them as JSON.

Loading executes nothing. The checksum reveals accidents and mixed-up files; it is no signature, for
whoever changes a file on purpose can compute it anew.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import safe_open
from torch import Tensor, nn

from augenmerk.errors import AugenmerkError
from augenmerk.storage import atomic_write, explain_read_errors, parse_object

Kind = Literal["model", "state"]

_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def save_tensors(
    path: Path, kind: Kind, tensors: Mapping[str, Tensor], about: Mapping[str, Any], companion: bytes
) -> None:
    """Writes tensors that can be read again only beside the same `companion`."""
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
    atomic_write(path, _safetensors(plain, metadata))


def load_tensors(path: Path, kind: Kind, companion: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors, each in memory of its own, and what was said about them."""
    with explain_read_errors(path), safe_open(path, framework="pt") as file:
        metadata = _metadata(file, kind)
        # Copies: how the rounding falls may depend on where in memory a tensor begins, and a file that is
        # mapped into memory begins its tensors elsewhere than a run that was never interrupted.
        tensors: dict[str, Tensor] = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        if checksum(metadata, tensors, companion) != metadata["sha256"]:
            raise ValueError("it or the tokenizer beside it was changed after they were written")
        for name, first in parse_object(metadata["tied"]).items():
            tensors[name] = tensors[first]
        return tensors, parse_object(metadata["about"])


def read_about(path: Path, kind: Kind) -> dict[str, Any]:
    """What was said about the tensors, which themselves are not read."""
    with explain_read_errors(path), safe_open(path, framework="pt") as file:
        return parse_object(_metadata(file, kind)["about"])


def load_checked(module: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Puts tensors, read from `path`, into the module that they must have come from.

    They may have been stored in half precision.
    """
    expected = module.state_dict()
    for complaint, names in (
        ("lacks", expected.keys() - tensors.keys()),
        ("has unknown", tensors.keys() - expected.keys()),
    ):
        if names:
            raise AugenmerkError(f"{path} {complaint} {_some(names)}: it is not of the model in config.toml.")
    for name, tensor in expected.items():
        dtypes = {tensor.dtype, torch.float16} if tensor.is_floating_point() else {tensor.dtype}
        if tensors[name].shape != tensor.shape or tensors[name].dtype not in dtypes:
            raise AugenmerkError(
                f"{path} has {name} as {_kind_of(tensors[name])}, but the model in config.toml "
                f"needs {_kind_of(tensor)}."
            )
    module.load_state_dict(tensors)


def checksum(metadata: Mapping[str, str], tensors: Mapping[str, Tensor], companion: bytes) -> str:
    """SHA-256 of all that is stored, and of the companion."""
    digest = hashlib.sha256(companion)
    for key in ("augenmerk", "about", "tied"):
        digest.update(f"{len(metadata[key])} {metadata[key]}".encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(_raw(tensor))
    return digest.hexdigest()


def _safetensors(tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> Iterator[bytes | memoryview]:
    """The bytes of a safetensors file: length of the header, header, tensors.

    The library's `save` would put the file together in memory, twice over; its `save_file` has a temporary
    file of its own, which a killed process leaves behind and which nobody else may read.
    """
    # The widest numbers first, so that each tensor begins at a multiple of what its numbers need.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, object] = {"__metadata__": metadata}
    end = 0
    for name, tensor in ordered:
        start, end = end, end + tensor.nbytes
        header[name] = {
            "dtype": _DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    yield from (_raw(tensor) for _, tensor in ordered)


def _raw(tensor: Tensor) -> memoryview:
    """The bytes of a tensor, where they are."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _metadata(file: Any, kind: Kind) -> dict[str, str]:
    """What stands in the header of a file of ours."""
    metadata: dict[str, str] = file.metadata() or {}
    if metadata.get("augenmerk") != kind or not {"about", "tied", "sha256"} <= metadata.keys():
        raise ValueError(f"its header does not say that it holds a {kind}")
    return metadata


def _kind_of(tensor: Tensor) -> str:
    size = " x ".join(map(str, tensor.shape)) or "a single number"
    return f"{size} ({str(tensor.dtype).removeprefix('torch.')})"


def _some(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{first} and {len(others)} more" if others else first
