"""Splits text into words, the unit in which attention is shown and gold alignments are counted.

Letters, digits and marks belong together; so do parts joined inside a word by a hyphen, an apostrophe
or, between digits, by a full stop, comma or colon (`T-Shirt`, `girl's`, `3.5`, `11:27`). A hyphen that
stands for half a compound stays with its word (`Obst- und Gemüsestand`), and an abbreviation keeps
its full stops (`U.S.`, `z.B.`). An emoji with all its modifiers is one word. Every other character that
is not white space is a word by itself, so punctuation is split off.

Invisible characters (`INVISIBLE`) are ignored, and the words of a text do not depend on how its accents are
encoded: normalising a text (`augenmerk.text.tokenizer.normalise`) never moves the end of a word.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

INVISIBLE = re.compile(
    # Control characters that are not white space, soft hyphen, direction marks, byte order mark, ...;
    # but not the joiners U+200C and U+200D, which change how Persian, Hindi or an emoji looks.
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""Characters that cannot be seen and do not belong to the text."""


def _mark_ranges() -> str:
    """Returns all combining marks for use in a character class, since Python's `re` has no `\\p{M}`."""
    categories = map(unicodedata.category, map(chr, range(0x300, 0x1F000)))
    points = [point for point, category in enumerate(categories, 0x300) if category in ("Mn", "Mc", "Me")]
    starts = [point for point, before in zip(points, [0, *points], strict=False) if point != before + 1]
    ends = [point for point, after in zip(points, [*points[1:], 0], strict=True) if point != after - 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


# Characters that belong to the one before: marks, the two joiners, skin tones, the tags in the flag of Wales.
# The lookahead is for speed: nearly every character is too low to be in one of these hundreds of ranges.
_COMBINING_RANGES = (
    _mark_ranges() + "\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
COMBINING = f"(?:(?=[^\0-\u02ff])[{_COMBINING_RANGES}])"
"""A regular expression for one character that belongs to the one before."""

# What is never given back is in atomic groups. Possessive quantifiers of groups mean the same, but lose
# characters up to Python 3.11.4.
_LETTERS = rf"(?>(?:\w++|{COMBINING})+)"
_ABBREVIATION = rf"(?>(?:[^\W\d_]{COMBINING}*\.){{2,9}})(?!\w)"
_WORD = (
    rf"{_LETTERS}(?>(?:[-'’‐‑](?=\w){_LETTERS}|(?<=\d)[.,:](?=\d){_LETTERS})*)"
    r"(?:[-‐‑](?=[\s\u200b,;.:!?)]|\Z))?"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_SYMBOL = rf"(?:{_FLAG}|[^\w\s\u200b])(?>{COMBINING}*)(?:(?<=\u200d)[^\w\s\u200b](?>{COMBINING}*))*"

WORD_PATTERN = f"(?:{_ABBREVIATION}|{_WORD}|{_SYMBOL})"
"""A regular expression for one word, in a text without invisible characters (else use `word_spans`)."""

_FIND_WORD = re.compile(WORD_PATTERN)


def split_words(text: str) -> list[str]:
    """Returns the words of a text, punctuation split off: `"Der Hund schläft."` has four."""
    if text.isprintable():  # true of nearly every text, and faster than by way of spans
        return _FIND_WORD.findall(text)
    return [text[start:end] for start, end in word_spans(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Returns the (start, end) in the text of each word that `split_words` returns."""
    if not INVISIBLE.search(text):
        return [match.span() for match in _FIND_WORD.finditer(text)]
    visible = [position for position, character in enumerate(text) if not INVISIBLE.match(character)]
    spans = word_spans("".join(text[position] for position in visible))
    return [(visible[start], visible[end - 1] + 1) for start, end in spans]


_ATTACHED_LEFT = frozenset(".,;:!?)]}%…”’")
_ATTACHED_RIGHT = frozenset("([{„‚¿¡#$£@")
_ATTACHED_BOTH = frozenset("/")
# For each closing mark, the marks that open its quotation. If none is open, the mark itself opens one.
_CLOSES = {'"': '"', "'": "'", "“": "„", "‘": "‚", "«": "«»", "»": "«»", "‹": "‹›", "›": "‹›"}


def detokenise(words: Sequence[str]) -> str:
    """Returns the text of the words, with spaces where a person would write them.

    `split_words` gives the words back: two words are never joined in a way that it would not undo.
    """
    parts: list[str] = []
    before, attached = "", False
    for word, (left, right) in zip(words, _find_attachments(words), strict=True):
        if before and not ((attached or left) and _remain_two_words(before, word)):
            parts.append(" ")
        parts.append(word)
        before, attached = word, right
    return "".join(parts)


def _remain_two_words(before: str, word: str) -> bool:
    return split_words(before + word) == split_words(before) + split_words(word)


def _find_attachments(words: Sequence[str]) -> Iterator[tuple[bool, bool]]:
    """Yields for each word whether it is written without a space before it and after it."""
    last_apostrophe = max((position for position, word in enumerate(words) if word == "'"), default=0)
    opened: set[str] = set()
    closed = False  # whether the word before closed a quotation
    for position, word in enumerate(words):
        both = word in _ATTACHED_BOTH or (word == "-" and closed)  # the „Stop“-Schild
        left, right = both or word in _ATTACHED_LEFT, both or word in _ATTACHED_RIGHT
        closed = word in "”’"
        if word in "„‚":
            opened.add(word)
        elif word in _CLOSES:
            closed = not opened.isdisjoint(_CLOSES[word])
            # An apostrophe without a partner belongs to the word before it: the boys' room.
            left = closed or 0 < position == last_apostrophe
            right = not left
            if closed:
                opened.difference_update(_CLOSES[word])
            elif right:
                opened.add(word)
        yield left, right
