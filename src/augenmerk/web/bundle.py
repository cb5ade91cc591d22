"""A run as the page and its JavaScript read it: settings for JSON, and weights in half precision."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Arrays
from augenmerk.base.config import ModelConfig
from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError
from augenmerk.text.sentences import describe_rules
from augenmerk.translation import Translator
from augenmerk.web.tokenizer_tables import describe_characters, describe_tokenizer

FORMAT = 1
"""The number of the format, which the page checks."""

LARGEST_HALF = 65504.0

LICENCES = {name: dataset.licence for name, dataset in DATASETS.items()}
OWN_DATA = "Who may use this model depends on the data that it was trained on."


@dataclass(frozen=True)
class Bundle:
    """A model for the browser."""

    settings: dict[str, Any]
    """Everything but the numbers, ready for JSON."""
    weights: bytes
    """The numbers, one tensor after another, little-endian fp16; `settings["tensors"]` has their offsets."""


def check_browser(config: ModelConfig, name: str) -> None:
    """Raises AugenmerkError if a browser cannot compute a run's model."""
    if config.runs_in("browser"):
        return
    missing = f"attention mechanism, '{config.attention}'"
    if not config.entry.in_browser:
        missing = f"architecture, '{config.architecture}'"
    raise AugenmerkError(
        f"{name}: its {missing}, is written in Python, which a browser cannot run, so it cannot be exported."
    )


def make_bundle(translator: Translator, name: str, arrays: Arrays | None = None) -> Bundle:
    """Returns the model of a translator as data; `name` is what the page calls it.

    `arrays` are its weights, by default those of its run; single precision is rounded to half. Raises
    AugenmerkError for an ensemble, a custom attention mechanism, or weights too large for half precision.
    """
    _ = translator.model  # raises AugenmerkError for an ensemble
    config, tokenizers = translator.config, translator.tokenizers
    check_browser(config.model, name)
    tensors, weights = pack_weights(translator.runs[0].load_model() if arrays is None else arrays)
    source, target = config.data.languages
    settings = {
        "format": FORMAT,
        "name": name,
        "config": {
            "model": config.model.model_dump(mode="json"),
            "search": config.search.model_dump(mode="json"),
        },
        "source_language": source,
        "target_language": target,
        "max_source_length": translator.max_source_length,
        "source_vocabulary": tokenizers.source.size,
        "target_vocabulary": tokenizers.target.size,
        "tokenizers": {
            "source": describe_tokenizer(tokenizers.source),
            "target": None if tokenizers.joint else describe_tokenizer(tokenizers.target),
        },
        "characters": _describe_characters_once(),
        "sentences": describe_rules(source),
        "familiarity": _familiarity(translator),
        "tensors": tensors,
        "licence": LICENCES.get(config.data.bitext, OWN_DATA),
    }
    return Bundle(settings, weights)


def _familiarity(translator: Translator) -> dict[str, Any] | None:
    """Returns the statistics that recognise unfamiliar text, if the run has them."""
    learnt = translator.runs[0].read_familiarity() if translator.runs else None
    return learnt and {name: learnt[name] for name in ("per_token", "per_word", "counts")}


@cache
def _describe_characters_once() -> dict[str, Any]:
    """Returns the same for every model; it takes a second, because there are a million characters."""
    return describe_characters()


def pack_weights(arrays: Mapping[str, NDArray[Any]]) -> tuple[list[dict[str, Any]], bytes]:
    """Returns the name, shape and offset of each array, and all of them as bytes of little-endian fp16.

    Each begins at a multiple of 4 bytes. Tied weights, one array with several names, are stored once.
    """
    tensors: list[dict[str, Any]] = []
    parts: list[bytes] = []
    offset_of: dict[int, int] = {}
    end = 0
    for name, array in arrays.items():
        if id(array) not in offset_of:
            part = _to_half(name, array)
            offset_of[id(array)] = end
            parts.append(part)
            end += len(part)
        tensors.append({"name": name, "shape": list(array.shape), "offset": offset_of[id(array)]})
    return tensors, b"".join(parts)


def _to_half(name: str, array: NDArray[Any]) -> bytes:
    """Returns an array in half precision, filled up to a multiple of 4 bytes."""
    if not np.isfinite(array).all():
        raise AugenmerkError(
            f"The weights {name} are not all numbers: they are broken, as they are when training has "
            f"diverged."
        )
    if (largest := float(np.abs(array).max(initial=0.0))) > LARGEST_HALF:
        raise AugenmerkError(
            f"The weights {name} go up to {largest:g}, and a web page has them in half precision, which ends "
            f"at {LARGEST_HALF:g}: this run cannot be exported."
        )
    part = array.astype("<f2").tobytes()
    return part + bytes(-len(part) % 4)
