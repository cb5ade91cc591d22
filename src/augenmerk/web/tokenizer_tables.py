"""A tokenizer, and what Python knows about characters, as plain data for their mirror in JavaScript.

JavaScript has other character classes than Python, and each browser another version of Unicode. So everything
about characters that decides where a word ends, or how a text is normalised, is written into these tables;
`engine/words.js` and `engine/tokenizer.js` read them.
"""

import re
import unicodedata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.text.sentences import is_small
from augenmerk.text.tokenizer import Tokenizer
from augenmerk.text.words import COMBINING, INVISIBLE


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


def describe_characters() -> dict[str, Any]:
    """Returns what `words.js` and `tokenizer.js` need to know about every character, ready for JSON.

    `runs` holds the length of each run of code points that have the same properties, and the sum of the bits
    of these properties (1, 2, 4, ... in the order of `properties`). `lower` holds four numbers for each run
    of capital letters: the first code point, how many, the step from one to the next, and what to add to
    each; `lower_special` holds the letters that become several. `small` holds runs of letters that begin no
    sentence, in the same way.
    """
    points = np.arange(0x110000, dtype="<u4")
    text = points.tobytes().decode("utf-32-le", "surrogatepass")  # the place of a character is its code point
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
