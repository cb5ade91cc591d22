"""Statistics that tell, without any knowledge of the languages, whether pairs are what they should be.

- A word is of that side's language on which it occurs more often. So a pair whose sides were exchanged, or a
  sentence that was not translated, is found by its words (`LanguageStatistics`).
- Long sentences have long translations (`measure_length_deviation`). If one side lost a line, lengths go
  together at another offset (`find_offsets`).
- Words that translate each other occur together. An alignment model learns them, and a pair that shares none
  of what the other pairs teach fits badly (`measure_fit`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_OFFSET = 5
BLOCK = 10
"""Lines that are judged together when offsets are looked for."""
END_WINDOW = 50
"""Lines before and after the end of a block among which the line is looked for where the offset changes."""
DOUBT = 6.0
"""Log-likelihood that a line may have less than the best one, and still be where the offset changes."""
SWITCH_COST = 20.0
"""Log-likelihood that a shift must gain before it is reported."""

_WORD = re.compile(r"\w+")
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_FUNCTION_WORDS = {
    "de": "der die das und ist nicht ein eine mit auf von zu dem den im",
    "en": "the and is of to a in that with on for are an this at",
    "es": "el la los las y es en un una con por que del se no",
    "fr": "le la les et est un une dans des du avec pour sur que ne",
    "it": "il la gli e è di un una con per che del non in si",
    "nl": "de het een en is van in op met niet dat te zijn voor aan",
    "pt": "o a os as e é um uma com por que do da não em",
}


def words_of(sentence: str) -> list[str]:
    """Returns the words of a sentence in lower case, without punctuation."""
    return _WORD.findall(sentence.lower())


def scripts_of(sentence: str) -> Iterable[str]:
    """Returns the scripts of a sentence: those of which it has two letters or more."""
    if not _NOT_LATIN.search(sentence):
        return ("LATIN",) if any(map(str.isalpha, sentence)) else ()
    counts = Counter(script for letter in sentence if (script := _script_of(letter)))
    return [script for script, count in counts.items() if count > 1]


@cache
def _script_of(letter: str) -> str | None:
    if not letter.isalpha():
        return None
    script = unicodedata.name(letter, "UNKNOWN").split()[0]
    if script in ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "HALFWIDTH", "BOPOMOFO"):
        return "CJK"  # Japanese uses several in one sentence
    others = ("FEMININE", "MASCULINE", "MICRO", "MODIFIER", "FULLWIDTH", "UNKNOWN")
    return None if script in others else script


class LanguageStatistics:
    """How often each word occurs in sources and in targets, which tells one language from the other."""

    def __init__(self) -> None:
        self._source: Counter[str] = Counter()
        self._target: Counter[str] = Counter()
        self.pairs = 0

    def count(self, source: Sequence[str], target: Sequence[str]) -> None:
        self._source.update(source)
        self._target.update(target)
        self.pairs += 1

    def judge(self, source: Sequence[str], target: Sequence[str]) -> tuple[float, float]:
        """Returns for both sentences of a pair the mean log-odds that a word is of the source language.

        The pair itself does not count, or a word that occurs nowhere else would always be where it belongs.
        """
        in_source, in_target = self._odds
        return (
            sum([in_source.get(word, 0.0) for word in source]) / max(len(source), 1),
            sum([in_target.get(word, 0.0) for word in target]) / max(len(target), 1),
        )

    @cached_property
    def _odds(self) -> tuple[dict[str, float], dict[str, float]]:
        """The log-odds of each word in a source, and in a target."""
        balance = log(max(self._source.total(), 1) / max(self._target.total(), 1))
        in_source, in_target = {}, {}
        for word in self._source.keys() | self._target.keys():
            source, target = self._source[word], self._target[word]
            in_source[word] = log((max(source - 1, 0) + 0.5) / (target + 0.5)) - balance
            in_target[word] = log((source + 0.5) / (max(target - 1, 0) + 0.5)) - balance
        return in_source, in_target

    def look_swapped(self, source_language: str, target_language: str) -> bool:
        """Returns whether all sources look like the target language and the other way round.

        That takes knowledge of the languages: it is False unless both are among a few well-known ones.
        """
        languages = {source_language, target_language}
        if len(languages) < 2 or not languages <= _FUNCTION_WORDS.keys():
            return False

        def is_rather(counts: Counter[str], language: str, other: str) -> bool:
            own, others = (
                sum(map(counts.__getitem__, _FUNCTION_WORDS[e].split())) for e in (language, other)
            )
            return own > 2 * others

        return is_rather(self._source, target_language, source_language) and is_rather(
            self._target, source_language, target_language
        )


def measure_length_deviation(source: Floats, target: Floats) -> Floats:
    """Returns by how many standard deviations each target is longer or shorter than expected from its source.

    The variance grows with the length, as in Gale and Church (1993); it is estimated robustly.
    """
    ratio = np.median(target / np.maximum(source, 1))
    rest = (target - ratio * source) / np.sqrt(np.maximum(source, 1))
    spread = 1.4826 * np.median(np.abs(rest - np.median(rest)))
    return np.asarray(rest / max(float(spread), 0.3))


@dataclass(frozen=True)
class Shift:
    """Source lines n that go with target lines n + offset; counted from 0, and `end` is the next line."""

    offset: int
    start: int
    end: int
    safe_start: int
    safe_end: int
    """Between these two are all lines that may be wrong, since lengths do not tell the ends to the line."""


def find_offsets(source: Floats, target: Floats) -> list[Shift] | None:
    """Returns where source line n goes, by its length, with target line n + o for an offset o other than 0.

    Offsets are between -5 and 5, and change only where that explains the lengths much better: the best path
    over blocks of lines (Viterbi). Around each change, the likeliest line is then looked for, and the lines
    that are almost as likely. Returns None if lengths go together at no offset.
    """
    x, y = (np.log(lengths + 5) for lengths in (source, target))
    x, y = ((each - each.mean()) / max(float(each.std()), 1e-9) for each in (x, y))
    x, y = np.clip(x, -3, 3), np.clip(y, -3, 3)
    offsets = list(range(-MAX_OFFSET, MAX_OFFSET + 1))
    moved = [np.roll(y, -offset) for offset in offsets]  # moved[o][n] is y[n + o]
    windows = [slice(start, start + 100) for start in range(0, len(x) - 99, 100)]
    best = [max(correlation(x[window], each[window]) for each in moved) for window in windows]
    rho = min(float(np.median(best)), 0.95)
    if rho < 0.35:
        return None
    blocks = -(-len(x) // BLOCK)
    # How much likelier the length is if it depends on the source's than if it does not.
    line_gains = [
        np.maximum(-0.5 * np.log(1 - rho**2) - 0.5 * ((each - rho * x) ** 2 / (1 - rho**2) - each**2), -4)
        for each in moved
    ]
    gains = np.stack([np.add.reduceat(each, np.arange(0, len(x), BLOCK)) for each in line_gains], 1)
    total = gains[0] - SWITCH_COST
    total[MAX_OFFSET] += SWITCH_COST
    came_from = np.zeros(gains.shape, np.int64)
    stay = np.arange(len(offsets))
    for block in range(1, blocks):
        leader = int(total.argmax())
        switch = total[leader] - SWITCH_COST > total
        came_from[block] = np.where(switch, leader, stay)
        total = np.where(switch, total[leader] - SWITCH_COST, total) + gains[block]
    path = np.zeros(blocks, np.int64)
    path[-1] = int(total.argmax())
    for block in range(blocks - 1, 0, -1):
        path[block - 1] = came_from[block, path[block]]
    changes = [block for block in range(1, blocks) if path[block] != path[block - 1]]
    bounds = [0, *(block * BLOCK for block in changes), len(x)]
    columns = [int(path[block]) for block in (0, *changes)]
    ends = [(0, 0, 0)]  # the likeliest line of each change, and the first and the last that are likely
    for index in range(1, len(columns)):
        before, after = columns[index - 1], columns[index]
        low = max((bounds[index - 1] + bounds[index]) // 2, bounds[index] - END_WINDOW)
        high = min((bounds[index] + bounds[index + 1]) // 2, bounds[index] + END_WINDOW)
        lead = np.cumsum([0.0, *(line_gains[before][low:high] - line_gains[after][low:high])])
        likely = np.flatnonzero(lead >= lead.max() - DOUBT)
        lost = abs(after - before)  # as many lines go with none
        ends.append((low + int(lead.argmax()), low + int(likely[0]) - lost, low + int(likely[-1]) + lost))
    ends.append((len(x),) * 3)
    return [
        Shift(column - MAX_OFFSET, start, end, max(safe_start, 0), min(safe_end, len(x)))
        for column, (start, safe_start, _), (end, _, safe_end) in zip(columns, ends, ends[1:], strict=False)
        if column != MAX_OFFSET
    ]


def measure_fit(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> Floats:
    """Returns how well the words of each target fit those of its source: a mean of log-odds.

    IBM model 1 learns from all pairs which words translate each other. In judging a pair, what the pair
    itself contributed is taken away again.
    """
    source_rows, source_size = _number_words(sources)
    target_rows, target_size = _number_words(targets)
    null = source_size  # one more source word, for target words that translate none
    source_rows = [[*row, null] for row in source_rows]
    source_counts = np.array([len(row) for row in source_rows])
    target_counts = np.array([len(row) for row in target_rows])
    source_ids = np.array([word for row in source_rows for word in row], np.int64)
    target_ids = np.array([word for row in target_rows for word in row], np.int64)
    if not len(target_ids):
        return np.zeros(len(sources))
    # A link is a target word with a source word of the same pair; `token` is the target word it belongs to.
    pair_of = np.repeat(np.arange(len(targets)), target_counts)
    links = source_counts[pair_of]
    token = np.repeat(np.arange(len(target_ids)), links)
    position = np.arange(len(token)) - np.repeat(np.cumsum(links) - links, links)
    position += np.repeat((np.cumsum(source_counts) - source_counts)[pair_of], links)
    source_word = source_ids[position]
    entries, entry = np.unique(source_word * target_size + target_ids[token], return_inverse=True)
    entry_source = entries // target_size
    probability = np.ones(len(entries))
    for _ in range(4):
        weight = probability[entry]
        weight /= np.bincount(token, weight)[token]
        counts = np.bincount(entry, weight)
        of_source = np.bincount(entry_source, counts, minlength=null + 1)
        probability = counts / of_source[entry_source]
    others = of_source[source_word] - np.bincount(position, weight, minlength=len(source_ids))[position]
    known = (others > 0.5) & (source_word != null)
    translation = np.where(known, np.maximum(counts[entry] - weight, 0) / np.maximum(others, 0.5), 0)
    given_source = np.bincount(token, translation) / np.maximum(links - 1, 1)
    alone = (np.bincount(target_ids) / len(target_ids))[target_ids]
    odds = np.log((given_source + 1e-3 * alone + 1e-9) / alone)
    return np.asarray(np.bincount(pair_of, odds, minlength=len(targets)) / np.maximum(target_counts, 1))


def _number_words(sentences: Sequence[Sequence[str]]) -> tuple[list[list[int]], int]:
    """Returns the sentences as numbers of their words, each word once, and how many different ones there are.

    Words that occur only once are left out: no other pair could say what they mean.
    """
    counts = Counter(word for words in sentences for word in words)
    numbers = {word: number for number, word in enumerate(word for word in counts if counts[word] > 1)}
    rows = [[numbers[word] for word in dict.fromkeys(words) if word in numbers] for words in sentences]
    return rows, len(numbers)


def correlation(x: Floats, y: Floats) -> float:
    """Returns Pearson's correlation; 0 if one of them is constant."""
    deviation = float(x.std() * y.std())
    return float(((x - x.mean()) * (y - y.mean())).mean()) / deviation if deviation > 1e-9 else 0.0
