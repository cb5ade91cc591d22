"""Splits text into sentences and words, in any alphabet. Attention and gold alignments are about words.

Letters, digits and marks belong together; so do parts joined inside a word by a hyphen, an apostrophe
or, between digits, by a full stop, comma or colon (`T-Shirt`, `girl's`, `3.5`, `11:27`). A hyphen that
replaces half a compound stays with its word (`Obst- und Gemüsestand`), and an abbreviation keeps
its full stops (`U.S.`, `z.B.`). An emoji with all its modifiers is one word. So is every other character that
is not white space: punctuation is split off.

Invisible characters (`INVISIBLE`) are ignored, and the words of a text do not depend on how its accents are
encoded: normalising a text (`augenmerk.text.tokenizer.normalise`) never moves the end of a word.

A sentence ends at a line break, and at `.`, `!`, `?` or a mark that means the same in another script, with
the quotation marks and brackets that close there, before white space and what may begin a sentence:
anything but a small letter. Chinese, Japanese and some other scripts need no space. In a text without a
capital letter, a small letter also begins a sentence. No sentence ends

- after a title (`Dr.`);
- after an abbreviation, a single letter or several with full stops (`z. B.`, `J. R. R. Tolkien`, `U.S.`),
  unless a word follows that often begins sentences (`in the U.S. The weather`);
- after a number of one or two digits, or a Roman one, in languages that write ordinals so (`am 3. Mai`);
- after the number of an item (`1. Der Hund bellt.`);
- after dots that replace something left out (`Er sah ... Hunde`).

Where a space was forgotten, a sentence ends between two small letters and a capital (`schläft.Ein Hund`).
Bullets are not part of the sentences in a list.

`languages.toml` has abbreviations and first words by language; without a language, all of them count. The
exported page splits texts in the same way: `web/engine/words.js` and `web/engine/sentences.js`.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from augenmerk.base.errors import AugenmerkError

Span = tuple[int, int]

INVISIBLE = re.compile(
    # Control characters that are not white space, soft hyphen, direction marks, byte order mark, ...;
    # but not the joiners U+200C and U+200D, which change how Persian, Hindi or an emoji looks.
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""Characters that cannot be seen and do not belong to the text."""


_MARKED = ((0x300, 0x3400), (0xA000, 0xAC00), (0xFB00, 0x12000), (0x13000, 0x17000), (0x1B000, 0x1F000))
"""Ranges of characters with combining marks. Looking at the others, such as 20,000 Chinese ones, would add
milliseconds to the start of every command."""


def _mark_ranges() -> str:
    """Returns all combining marks for use in a character class, since Python's `re` has no `\\p{M}`."""
    ranges: list[list[int]] = []
    for point in chain.from_iterable(range(*limits) for limits in _MARKED):
        if unicodedata.category(chr(point))[0] == "M":
            if ranges and point == ranges[-1][1] + 1:
                ranges[-1][1] = point
            else:
                ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


# Characters that belong to the one before: marks, the two joiners, skin tones, the tags in the flag of Wales.
# The lookahead is for speed: nearly every character is too low to be in one of these hundreds of ranges.
_COMBINING_RANGES = (
    _mark_ranges() + "\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
COMBINING = f"(?:(?=[^\0-\u02ff])[{_COMBINING_RANGES}])"
"""A regular expression for one character that belongs to the one before."""

# Atomic groups never give anything back. Possessive quantifiers of groups mean the same, but lose characters
# up to Python 3.11.4.
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


def word_spans(text: str) -> list[Span]:
    """Returns the (start, end) in the text of each word that `split_words` returns."""
    if not INVISIBLE.search(text):
        return [match.span() for match in _FIND_WORD.finditer(text)]
    visible = [position for position, character in enumerate(text) if not INVISIBLE.match(character)]
    spans = word_spans("".join(text[position] for position in visible))
    return [(visible[start], visible[end - 1] + 1) for start, end in spans]


_ATTACHED_LEFT = frozenset(".,;:!?)]}%…”’")
_ATTACHED_RIGHT = frozenset("([{„‚¿¡#$£@")
# For each closing mark, the marks that open its quotation. If none is open, the mark itself opens one.
_CLOSES = {'"': '"', "'": "'", "“": "„", "‘": "‚", "«": "«»", "»": "«»", "‹": "‹›", "›": "‹›"}


def detokenise(words: Sequence[str]) -> str:
    """Returns the text of the words, with spaces where people write them.

    `split_words` gives the words back: two words are never joined in a way that it would not undo.
    """
    parts: list[str] = []
    before, attached = "", False
    for word, (left, right) in zip(words, _find_attachments(words), strict=True):
        joined = (attached or left) and split_words(before + word) == split_words(before) + split_words(word)
        if before and not joined:
            parts.append(" ")
        parts.append(word)
        before, attached = word, right
    return "".join(parts)


def _find_attachments(words: Sequence[str]) -> Iterator[tuple[bool, bool]]:
    """Yields for each word whether it is written without a space before it and after it."""
    last_apostrophe = max((position for position, word in enumerate(words) if word == "'"), default=0)
    opened: set[str] = set()
    closed = False  # whether the word before closed a quotation
    for position, word in enumerate(words):
        both = word == "/" or (word == "-" and closed)  # the „Stop“-Schild
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


# Sentences

_TERMINATORS = ".!?…‥‼⁇⁈⁉‽\u037e։؟۔؞؝܀܁܂߹࠷᙮᠃᠉᥄᥅꓿꘎꘏꛳꛷﹒﹖﹗．⸮"
"""End a sentence if white space follows: marks with the Unicode property Sentence_Terminal."""
_ENDS_ALWAYS = "。｡！？।॥။។៕።፧፨"
"""End a sentence even without white space."""
_QUESTION_MARK, _GREEK = ";", "\u0370-\u03ff\u1f00-\u1fff"
"""This mark ends a sentence after a Greek letter."""
_CLOSERS = "\"'”’“‘»«›‹)]}）］｝」』】》〉〕＂＇"
_CLOSERS_APART = "»›"
"""May follow a space and still close: `« Bonjour. » Elle sourit.`"""
_BEFORE_SENTENCE = "\"'„‚“‘”’»«›‹([{（［｛「『【《〈〔¿¡-‐‑‒–—―•·*"
"""May come before the first letter of a sentence."""
_LINE_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_LIST_MARKS = "-–•·*▪‣"
"""Come before an item of a list, at the beginning of a line and before a space."""
_LONGEST_WORD, _LONGEST_NUMBER = 40, 12
"""The most characters that are read of a word beside a full stop, and of the number of an item."""
_STREET = "str"
"""Ends German words that are abbreviations before a number: `Hauptstr. 5`."""

_ENDS = re.escape(_TERMINATORS + _ENDS_ALWAYS)
_LINE = re.compile(f"[^{_LINE_BREAKS}]+")
_LIST_ITEM = re.compile(rf"\s*+[{re.escape(_LIST_MARKS)}]++\s++(?=\S)")
_HIDDEN = INVISIBLE.pattern[1:-1]
_CLOSING = rf"[{_ENDS}{re.escape(_CLOSERS)}{_HIDDEN}]*+"
_RUN = re.compile(
    rf"(?:[{_ENDS}]|(?<=[{_GREEK}]){_QUESTION_MARK}){_CLOSING}"
    rf"(?P<apart>\s+[{_CLOSERS_APART}]{_CLOSING}(?=\s|\Z))?"
)
_NOT_FIRST = re.compile(rf"[\s{re.escape(_BEFORE_SENTENCE)}{_HIDDEN}]*+")
_WORDS = re.compile(_LETTERS)
_LAST_MARKS = re.compile(rf"[{_ENDS}{_QUESTION_MARK}]+")
_ORDINAL = re.compile(r"\d{1,2}|[IVX]+")
_ITEM = re.compile(r"\d+|[IVXivx]+")


@cache
def read_languages() -> dict[str, Any]:
    """Returns the content of `languages.toml`."""
    return tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))


def name_language(code: str | None) -> str | None:
    """Returns the English name of a language by its code, if it is known."""
    name: str | None = read_languages()["languages"].get(code, {}).get("name")
    return name


class Rules(NamedTuple):
    """What ends no sentence in a language; the texts are in small letters."""

    titles: frozenset[str]
    capital_titles: frozenset[str]
    before_numbers: frozenset[str]
    abbreviations: frozenset[str]
    starters: frozenset[str]
    ordinals: bool

    @classmethod
    @cache
    def of(cls, language: str | None) -> "Rules":
        """Returns the rules of a language by its code (`de`, `de-AT`); of all, for none or another one."""
        tree = read_languages()
        code = (language or "").lower().replace("_", "-").partition("-")[0]
        entry = tree["languages"].get({"nb": "no", "nn": "no"}.get(code, code), {})
        entries = [entry] if "starters" in entry else tree["languages"].values()

        def words(*texts: str) -> frozenset[str]:
            return frozenset(" ".join(texts).split())

        return cls(
            words(tree["titles"]),
            words(tree["capital_titles"]),
            words(tree["before_numbers"]),
            words(*(each.get("abbreviations", "") for each in entries)),
            words(*(each.get("starters", "") for each in entries)),
            entry.get("ordinals", True),
        )


def describe_rules(language: str | None) -> dict[str, Any]:
    """Returns all that `engine/sentences.js` needs to know, ready for JSON."""
    *words, ordinals = Rules.of(language)
    return {
        "terminators": _TERMINATORS,
        "ends_always": _ENDS_ALWAYS,
        "closers": _CLOSERS,
        "closers_apart": _CLOSERS_APART,
        "before_sentence": _BEFORE_SENTENCE,
        "line_breaks": _LINE_BREAKS,
        "list_marks": _LIST_MARKS,
        **dict(zip(Rules._fields, map(sorted, words), strict=False)),
        "ordinals": ordinals,
    }


def split_sentences(text: str, language: str | None = None) -> list[str]:
    """Returns the sentences of a text; `language` is the code of its language, if it is known."""
    return [text[start:end] for start, end in sentence_spans(text, language)]


def sentence_spans(text: str, language: str | None = None) -> list[Span]:
    """Returns the (start, end) in the text of each sentence that `split_sentences` returns.

    Between the sentences are white space, and what has no letter or digit, such as a line of dashes. A text
    without letters and digits is one sentence, unless it is white space.
    """
    spans = [span for span in _all_spans(text, Rules.of(language)) if _WORDS.search(text, *span)]
    return [_strip(text, 0, len(text))] if not spans and text.strip() else spans


def check_sentences(sentences: Sequence[str]) -> None:
    """Raises AugenmerkError if one of these sentences is empty or not UTF-8."""
    for number, sentence in enumerate(sentences, 1):
        if not sentence.strip():  # empty lines of a file are kept, but an empty argument is a mistake
            raise AugenmerkError(f"Sentence {number} is empty; give a sentence, in quotation marks.")
        # Python decodes bytes of an argument that are not UTF-8 to surrogates.
        if not sentence.isascii() and any("\ud800" <= character <= "\udfff" for character in sentence):
            raise AugenmerkError(f"Sentence {number} is not UTF-8; convert it to UTF-8.")


def is_one_sentence(text: str, spans: Sequence[Span]) -> bool:
    """Returns whether nothing but spaces surrounds the only span, if there is one."""
    outside = text[: spans[0][0]] + text[spans[0][1] :] if spans else ""
    return len(spans) < 2 and not outside.strip() and set(outside).isdisjoint(_LINE_BREAKS)


def replace_sentences(text: str, spans: Sequence[Span], sentences: Sequence[str]) -> str:
    """Returns the text with other sentences at the spans; all between them is kept.

    Where nothing is between two, as in Chinese, a space is added, unless the first ends in such a script.
    """
    replaced, before, end = [], "", 0
    for (start, next_end), sentence in zip(spans, sentences, strict=True):
        between = text[end:start]
        if not between and before and before[-1] not in _ENDS_ALWAYS:
            between = " "
        replaced += [between, sentence]
        before, end = sentence, next_end
    return "".join(replaced) + text[end:]


def _all_spans(text: str, rules: Rules) -> Iterator[Span]:
    all_small = text.lower() == text
    for line in _LINE.finditer(text):
        start, end = line.span()
        if item := _LIST_ITEM.match(text, start, end):
            start = item.end()
        for run in _RUN.finditer(text, start, end):
            if _is_end(text, start, end, run, rules, all_small):
                yield _strip(text, start, run.end())
                start = run.end()
        if text[start:end].strip():
            yield _strip(text, start, end)


def _strip(text: str, start: int, end: int) -> Span:
    while text[start].isspace():
        start += 1
    while text[end - 1].isspace():
        end -= 1
    return start, end


def _is_end(text: str, start: int, end: int, run: re.Match[str], rules: Rules, all_small: bool) -> bool:
    """Returns whether the sentence that began at `start` ends with this run of marks, not with its line."""
    after = run.end()
    if after == end:
        return False
    apart = run["apart"] is not None
    if not apart and not text[after].isspace() and text[after - 1] not in _ENDS_ALWAYS:
        return _lacks_space(text, start, end, run)
    first = _NOT_FIRST.match(text, after, end).end()  # type: ignore[union-attr]  # it may match nothing
    if first == end or text[first] in _TERMINATORS + _ENDS_ALWAYS + _CLOSERS:
        return False
    if is_small(text[first]) and not all_small and not _is_capital(text[first + 1 : first + 2]):  # iPhone
        return False
    *_, marks = _LAST_MARKS.finditer(text, run.start(), after)
    if set(marks[0]) - set(".…‥"):
        return True
    if marks[0] != ".":  # something is left out, unless the dots follow a word or a sentence begins
        follows_word = marks.start() > start and not text[marks.start() - 1].isspace()
        return follows_word or (not all_small and _starts(text, (first, end), rules))
    return _is_full_stop(text, start, marks.start(), (first, end), rules, all_small)


def _is_full_stop(text: str, start: int, stop: int, rest: Span, rules: Rules, all_small: bool) -> bool:
    """Returns whether the full stop at `stop` ends the sentence, rather than a number or an abbreviation."""
    if stop - start <= _LONGEST_NUMBER and all(
        _is_letter(word) or _ITEM.fullmatch(word) for word in _WORDS.findall(text, start, stop)
    ):
        return False  # it ends the number of an item
    *_, found = None, *_WORDS.finditer(text, max(start, stop - _LONGEST_WORD), stop)
    if found is None or found.end() < stop:
        return True
    last, lowered = found[0], _lower(found[0])
    if lowered in rules.titles:
        return False
    if not all_small and _starts(text, rest, rules):
        return True
    if lowered in rules.capital_titles and not is_small(last[0]):
        return False
    if text[rest[0]].isdecimal() and (lowered in rules.before_numbers or lowered.endswith(_STREET)):
        return False
    return not (
        lowered in rules.abbreviations or _is_letter(last) or (rules.ordinals and _ORDINAL.fullmatch(last))
    )


def _lacks_space(text: str, start: int, end: int, run: re.Match[str]) -> bool:
    """Returns whether a sentence begins without a space: after two small letters, with one capital."""
    before, after = run.span()
    return (
        before - 2 >= start
        and is_small(text[before - 1])
        and is_small(text[before - 2])
        and _is_capital(text[after])
        and after + 1 < end
        and (is_small(text[after + 1]) or text[after + 1].isspace())
    )


def _starts(text: str, rest: Span, rules: Rules) -> bool:
    """Returns whether the rest of a line begins with a word that often begins sentences."""
    word = _WORDS.match(text, rest[0], min(rest[1], rest[0] + _LONGEST_WORD))
    # If a full stop follows, it may be an initial.
    return word is not None and not text.startswith(".", word.end()) and _lower(word[0]) in rules.starters


def _lower(word: str) -> str:
    return "".join(map(str.lower, word))  # letter by letter, so that Σ does not depend on its neighbours


def _is_capital(character: str) -> bool:
    return character.lower() != character


def _is_letter(word: str) -> bool:
    """Returns whether a word is one letter of an alphabet with capitals."""
    return len(word) == 1 and (_is_capital(word) or is_small(word))


def is_small(character: str) -> bool:
    """Returns whether a letter is small, in an alphabet where capitals begin sentences: not in Georgian."""
    return character.islower() and character.upper() != character and not "\u10d0" <= character <= "\u10ff"
