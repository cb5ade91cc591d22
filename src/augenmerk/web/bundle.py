"""A run as the page and its JavaScript read it: settings for JSON, and weights in half precision.

The settings hold what Python knows about characters. JavaScript has other character classes than Python, and
each browser another version of Unicode. So tables say where a word ends and how a text is normalised;
`engine/words.js` and `engine/tokenizer.js` read them.
"""

import re
import unicodedata
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
from augenmerk.mechanisms.custom import find_mechanism
from augenmerk.mechanisms.record import record
from augenmerk.text.tokenizer import Tokenizer
from augenmerk.text.words import COMBINING, INVISIBLE, describe_rules, is_small
from augenmerk.translation import Translator

FORMAT = 2
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
    find_mechanism(config.attention)  # raises AugenmerkError for one in a file that was not loaded
    missing = f"attention mechanism, '{config.attention}'"
    if not config.entry.in_browser:
        missing = f"architecture, '{config.architecture}'"
    raise AugenmerkError(
        f"{name}: its {missing}, is written in Python, which a browser cannot run, so it cannot be exported."
    )


def make_bundle(translator: Translator, name: str, arrays: Arrays | None = None) -> Bundle:
    """Returns the model of a translator as data; `name` is what the page calls it.

    `arrays` are its weights, by default those of its run; single precision is rounded to half. Raises
    AugenmerkError for an ensemble, a mechanism that is no data, or weights too large for half precision.
    """
    _ = translator.model  # raises AugenmerkError for an ensemble
    config, tokenizers = translator.config, translator.tokenizers
    check_browser(config.model, name)
    tensors, weights = pack_weights(translator.runs[0].load_model() if arrays is None else arrays)
    source, target = config.data.languages
    learnt = translator.runs[0].read_familiarity() if translator.runs else None
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
        "attention": record(config.model),
        "characters": describe_characters(),
        "sentences": describe_rules(source),
        "familiarity": learnt and {name: learnt[name] for name in ("per_token", "per_word", "counts")},
        "tensors": tensors,
        "licence": LICENCES.get(config.data.bitext, OWN_DATA),
    }
    return Bundle(settings, weights)


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


def describe_tokenizer(tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns the vocabulary and the merges of a tokenizer, ready for JSON.

    `tokens` holds a text for each id; for BPE each of its characters is a byte (Latin-1). `merges` holds two
    ids and the id they become for each merge, in the order in which they were learnt.
    """
    tables: dict[str, Any] = {"unit": "bpe" if tokenizer.is_bpe else "word", "lowercase": tokenizer.lowercase}
    if not tokenizer.is_bpe:
        return {**tables, "tokens": [tokenizer.token(i) for i in range(tokenizer.size)]}
    merges = sorted(tokenizer.merges().items(), key=lambda merge: merge[1])  # by rank
    return {
        **tables,
        "tokens": [raw.decode("latin-1") for raw in tokenizer.bytes],
        "merges": [i for (left, right), (_, merged) in merges for i in (left, right, merged)],
    }


@cache
def describe_characters() -> dict[str, Any]:
    """Returns what `words.js` and `tokenizer.js` need to know about every character, ready for JSON.

    `runs` holds the length of each run of code points that have the same properties, and the sum of the bits
    of these properties (1, 2, 4, ... in the order of `properties`). `lower` holds four numbers for each run
    of capital letters: the first code point, how many, the step from one to the next, and what to add to
    each; `lower_special` holds the letters that become several. `small` holds runs of letters that begin no
    sentence, in the same way. It takes a second, because there are a million characters.
    """
    points = np.arange(0x110000, dtype="<u4")
    text = points.tobytes().decode("utf-32-le", "surrogatepass")  # the index of a character is its code point
    categories = [unicodedata.category(c) for c in text]
    # What is unassigned, private or half a surrogate pair has no case. That is most of the text.
    without_case = ("Cn", "Co", "Cs")
    assigned = [c for c, category in zip(text, categories, strict=True) if category not in without_case]
    # `str.lower` writes Σ as ς at the end of a word: after a cased letter, where case-ignorable characters
    # may stand between the two. Python has no function for these two properties, but its ς gives them away.
    cased = {ord(c) for c in assigned if (c + "Σ").lower().endswith("ς")}
    ignorable = {ord(c) for c in assigned if ("a" + c + "Σ").lower().endswith("ς")} - cased
    properties = {
        "word": _find(r"\w", text),
        "space": _find(r"\s", text),
        "digit": _find(r"\d", text),
        "combining": _find(COMBINING, text),
        "invisible": _find(INVISIBLE.pattern, text),
        "unassigned": np.array([category == "Cn" for category in categories]),
        "cased": np.isin(points, list(cased)),
        "case_ignorable": np.isin(points, list(ignorable)),
    }
    bits = np.packbits(list(properties.values()), axis=0, bitorder="little")[0]
    starts = np.flatnonzero(np.diff(bits, prepend=-1))
    lower = {c: c.lower() for c in assigned if c.lower() != c}
    return {
        "unicode": unicodedata.unidata_version,
        "properties": list(properties),
        "runs": np.stack([np.diff(starts, append=len(text)), bits[starts]], axis=1).ravel().tolist(),
        "lower": _runs({ord(a): ord(b) - ord(a) for a, b in lower.items() if len(b) == 1}),
        "lower_special": {a: b for a, b in lower.items() if len(b) > 1},
        "small": _runs({ord(c): 0 for c in assigned if is_small(c)}),
    }


def _find(pattern: str, text: str) -> NDArray[np.bool_]:
    """Returns whether each character of the text matches a pattern for one character."""
    found = np.zeros(len(text), dtype=np.bool_)
    for match in re.finditer(f"(?:{pattern})+", text):
        found[match.start() : match.end()] = True
    return found


def _runs(differences: dict[int, int]) -> list[int]:
    """Returns (first, length, step, difference) of each run of numbers with one step and one difference."""
    runs: list[tuple[int, int, int, int]] = []
    for number, difference in differences.items():
        if runs:
            first, length, step, same_difference = runs[-1]
            gap = number - (first + (length - 1) * step)
            if difference == same_difference and (length == 1 or gap == step):
                runs[-1] = (first, length + 1, gap, difference)
                continue
        runs.append((number, 1, 1, difference))
    return [number for run in runs for number in run]
