"""What every source of sentence pairs yields: `SentencePair`s, in the named splits of a `Bitext`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from augenmerk.errors import AugenmerkError

Links = tuple[tuple[int, int], ...]
"""Word-to-word links (source word, target word), counted from 0 over `augenmerk.words.split_words`."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A source sentence and its translation, as raw text.

    `alignment` holds gold links where they are known (bilderbuch), otherwise None; `tags` name the
    phenomena in the pair.
    """

    source: str
    target: str
    alignment: Links | None = None
    tags: tuple[str, ...] = ()

    def reversed(self) -> "SentencePair":
        """The same pair, translated the other way."""
        links = None if self.alignment is None else tuple(sorted((j, i) for i, j in self.alignment))
        return SentencePair(self.target, self.source, links, self.tags)


@dataclass(frozen=True)
class Bitext:
    """Named splits of sentence pairs in two languages.

    A split is any iterable of pairs that can be iterated again: sources read their files anew each
    time instead of keeping them in memory.
    """

    name: str
    source_language: str
    target_language: str
    splits: Mapping[str, Iterable[SentencePair]]

    def __getitem__(self, split: str) -> Iterable[SentencePair]:
        if split not in self.splits:
            there = ", ".join(self.splits) or "none"
            raise AugenmerkError(f"{self.name} has no split called '{split}'; there are: {there}.")
        return self.splits[split]

    def reversed(self) -> "Bitext":
        """The same pairs, translated the other way."""
        turned = {name: ReadAnew(partial(_reversed, pairs)) for name, pairs in self.splits.items()}
        return Bitext(self.name, self.target_language, self.source_language, turned)


@dataclass(frozen=True)
class ReadAnew:
    """Pairs that are read from where they come from at every iteration."""

    read: Callable[[], Iterator[SentencePair]]

    def __iter__(self) -> Iterator[SentencePair]:
        return self.read()


def _reversed(pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
    return (pair.reversed() for pair in pairs)
