"""What a word is: the unit that attention is shown over and that gold alignments count.

Letters, digits and marks belong together; so do parts joined inside a word by a hyphen, an apostrophe
or, between digits, by a full stop, comma or colon (`T-Shirt`, `girl's`, `3.5`, `11:27`). A hyphen that
stands for half a compound stays with its word (`Obst- und Gemüsestand`), and an abbreviation keeps
its full stops (`U.S.`, `z.B.`). An emoji with all its modifiers is one word. Every other character that
is not white space is a word by itself, so punctuation is split off.

Invisible characters (`INVISIBLE`) count for nothing, and a text has the same words whichever way its
accents are encoded: normalising a text (`augenmerk.text.normalise`) never changes where a word ends.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

INVISIBLE = re.compile(
    # Control characters that are not white space, soft hyphen, direction marks, byte order mark, ...;
    # but not the joiners U+200C and U+200D, which change how Persian, Hindi or an emoji looks.
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""Characters that cannot be seen and say nothing about the text."""


def _mark_ranges() -> str:
    """Every combining mark, as the inside of a character class: Python's `re` has no `\\p{M}`."""
    points = [point for point in range(0x300, 0x1F000) if unicodedata.category(chr(point)).startswith("M")]
    starts = [point for point, before in zip(points, [0, *points], strict=False) if point != before + 1]
    ends = [point for point, after in zip(points, [*points[1:], 0], strict=True) if point != after - 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


# What clings to the character before it: marks, the two joiners, skin tones, the tags in the flag of Wales.
# Looking first whether a character is that high spares nearly every word a walk through hundreds of ranges.
_CLINGING_RANGES = (
    _mark_ranges() + "\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
_CLINGING = f"(?:(?=[^\0-\u02ff])[{_CLINGING_RANGES}])"
_LETTERS = rf"(?:\w++|{_CLINGING})++"
_ABBREVIATION = rf"(?:[^\W\d_]{_CLINGING}*\.){{2,9}}+(?!\w)"
_WORD = (
    rf"{_LETTERS}(?:[-'’‐‑](?=\w){_LETTERS}|(?<=\d)[.,:](?=\d){_LETTERS})*+"
    r"(?:[-‐‑](?=[\s\u200b,;.:!?)]|\Z))?"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_SYMBOL = rf"(?:{_FLAG}|[^\w\s\u200b]){_CLINGING}*+(?:(?<=\u200d)[^\w\s\u200b]{_CLINGING}*+)*"

WORD_PATTERN = f"(?:{_ABBREVIATION}|{_WORD}|{_SYMBOL})"
"""One word, in a text without invisible characters (see `word_spans` for one that may have them)."""

_FIND_WORD = re.compile(WORD_PATTERN)


def split_words(text: str) -> list[str]:
    """The words of a text, punctuation split off: `"Der Hund schläft."` has four."""
    if text.isprintable():  # true of nearly every text, and spares it the detour over spans
        return _FIND_WORD.findall(text)
    return [text[start:end] for start, end in word_spans(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each of `split_words` stands in the text, as (start, end)."""
    if not INVISIBLE.search(text):
        return [match.span() for match in _FIND_WORD.finditer(text)]
    visible = [place for place, character in enumerate(text) if not INVISIBLE.match(character)]
    spans = word_spans("".join(text[place] for place in visible))
    return [(visible[start], visible[end - 1] + 1) for start, end in spans]


_CLINGS_LEFT = frozenset(".,;:!?)]}%…”’")
_CLINGS_RIGHT = frozenset("([{„‚¿¡#$£@")
_CLINGS_BOTH = frozenset("/")
# What a quotation must have been opened with for this mark to close it; otherwise the mark opens one itself.
_CLOSES = {'"': '"', "'": "'", "“": "„", "‘": "‚", "«": "«»", "»": "«»", "‹": "‹›", "›": "‹›"}


def detokenise(words: Sequence[str]) -> str:
    """Words set as a person would write them: `split_words` backwards, as far as that can be known.

    Two words are never glued together in a way that `split_words` would not undo.
    """
    parts: list[str] = []
    before, clings = "", False
    for word, (left, right) in zip(words, _clinging(words), strict=True):
        if before and not ((clings or left) and _stay_apart(before, word)):
            parts.append(" ")
        parts.append(word)
        before, clings = word, right
    return "".join(parts)


def _stay_apart(before: str, word: str) -> bool:
    return split_words(before + word) == split_words(before) + split_words(word)


def _clinging(words: Sequence[str]) -> Iterator[tuple[bool, bool]]:
    """For each word, whether it clings to the one before it and to the one after it."""
    last_apostrophe = max((place for place, word in enumerate(words) if word == "'"), default=0)
    opened: set[str] = set()
    closed = False  # whether the word before closed a quotation
    for place, word in enumerate(words):
        both = word in _CLINGS_BOTH or (word == "-" and closed)  # the „Stop“-Schild
        left, right = both or word in _CLINGS_LEFT, both or word in _CLINGS_RIGHT
        closed = word in "”’"
        if word in "„‚":
            opened.add(word)
        elif word in _CLOSES:
            closed = not opened.isdisjoint(_CLOSES[word])
            # An apostrophe that is left without a partner belongs to its word: the boys' room.
            left = closed or 0 < place == last_apostrophe
            right = not left
            if closed:
                opened.difference_update(_CLOSES[word])
            elif right:
                opened.add(word)
        yield left, right
