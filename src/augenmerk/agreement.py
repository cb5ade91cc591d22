"""How well the attention of a run agrees with word links: gold, a person's own, or silver.

The model reads the source and, word by word, the reference, because that is what the links are about. Each
word of the reference is linked to the source word attended to most as it was predicted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augenmerk.alignment import (
    OFFSETS,
    AlignmentScore,
    GoldLinks,
    attended_links,
    best_offset,
    compare_links,
    in_both,
    pharaoh,
    read_pharaoh,
    shifted,
    strong_links,
)
from augenmerk.bitext import Bitext, Links, SentencePair
from augenmerk.bitext.files import read_lines
from augenmerk.errors import AugenmerkError
from augenmerk.storage import write_lines
from augenmerk.translate import Translator
from augenmerk.words import split_words

Progress = Callable[[str, int, int], None]


def measure_alignment(translator: Translator, pairs: Sequence[SentencePair]) -> AlignmentScore:
    """Against the gold links of these pairs; without links proposed if the model attends to nothing."""
    gold = [GoldLinks.of(pair.alignment or ()) for pair in pairs]
    return compare_links(zip(_at(0, reference_links(translator, pairs), pairs), gold, strict=True))


def reference_links(
    translator: Translator, pairs: Sequence[SentencePair], threshold: float | None = None
) -> list[Links]:
    """By the largest weight of each word, or by all that reach a threshold.

    The end of the reference counts as a word of it, so that at offset -1 its last word has a link too.
    """
    scored = translator.score_all([(pair.source, pair.target) for pair in pairs])
    maps = [translation.attention[:, :-1].tolist() for translation in scored]  # no link to the source's end
    return [attended_links(one) if threshold is None else strong_links(one, threshold) for one in maps]


def _at(offset: int, links: Sequence[Links], pairs: Sequence[SentencePair]) -> list[Links]:
    return [
        shifted(ours, offset, len(split_words(pair.target))) for ours, pair in zip(links, pairs, strict=True)
    ]


@dataclass(frozen=True)
class Agreement:
    """Measures alignment for `augenmerk evaluate --alignment`."""

    bitext: Bitext
    gold: Path | None = None
    """A person's own gold links for the split, in Pharaoh format; otherwise those of the bitext or silver."""
    back: Translator | None = None
    """A translator of the other direction: then only links that both find count."""
    threshold: float | None = None
    """The weight from which on a source word is linked; None links the one that is attended to most."""

    def measure(
        self,
        translator: Translator,
        split: str,
        pairs: Sequence[SentencePair],
        folder: Path,
        progress: Progress,
    ) -> dict[str, Any]:
        """Figures for a row of scores. Leaves both sets of links in the folder, in Pharaoh format."""
        against, gold = self._wanted(split, pairs, progress)
        known = [place for place, links in enumerate(gold) if links is not None]
        pairs = [pairs[place] for place in known]
        there = [links for links in gold if links is not None]
        progress("reading references", 0, 1)
        proposed = self._proposed(translator, pairs)
        progress("reading references", 1, 1)
        by_offset = {
            offset: compare_links(zip(links, there, strict=True)) for offset, links in proposed.items()
        }
        write_lines(folder / f"{split}.attention.align", [pharaoh(links) for links in proposed[0]])
        write_lines(folder / f"{split}.{against}.align", [links.pharaoh for links in there])
        return _row(by_offset, against, len(known))

    def _proposed(self, translator: Translator, pairs: Sequence[SentencePair]) -> dict[int, list[Links]]:
        """The links at each offset; of two translators, each at this offset over its own target."""
        ours = reference_links(translator, pairs, self.threshold)
        proposed = {offset: _at(offset, ours, pairs) for offset in OFFSETS}
        if self.back is not None:
            turned = [pair.reversed() for pair in pairs]
            theirs = reference_links(self.back, turned, self.threshold)
            for offset, links in proposed.items():
                back = _at(offset, theirs, turned)
                proposed[offset] = [in_both(here, there) for here, there in zip(links, back, strict=True)]
        return proposed

    def _wanted(
        self, split: str, pairs: Sequence[SentencePair], progress: Progress
    ) -> tuple[str, list[GoldLinks | None]]:
        """What the links to compare with are, and these links; None for a pair that has none."""
        if self.gold is not None:
            return "gold", [*read_gold(self.gold, split, pairs)]
        if any(pair.alignment is not None for pair in pairs):
            return "gold", [
                None if pair.alignment is None else GoldLinks.of(pair.alignment) for pair in pairs
            ]
        from augenmerk.silver import silver_links

        train = [] if split == "train" or "train" not in self.bitext.splits else list(self.bitext["train"])
        found = silver_links(train, pairs, progress=progress)
        return "silver", [GoldLinks.of(links) for links in found]


def _row(by_offset: dict[int, AlignmentScore], against: str, sentences: int) -> dict[str, Any]:
    score = by_offset[0]
    if not score.proposed:
        return {"aer": None, "alignment": {"against": against, "sentences": sentences}}
    return {
        "aer": score.error,
        "alignment": {
            "against": against,
            "sentences": sentences,
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
            "best_offset": best_offset(by_offset),
            "aer_by_offset": {str(offset): at.error for offset, at in by_offset.items()},
        },
    }


def read_gold(path: Path, split: str, pairs: Sequence[SentencePair]) -> list[GoldLinks]:
    """A line of links for each pair; complains of a file that cannot be about these."""
    lines = list(read_lines(path))
    if len(lines) != len(pairs):
        raise AugenmerkError(
            f"{path} has {len(lines):,} lines of links, and '{split}' has {len(pairs):,} sentence pairs; "
            f"there must be a line for each."
        )
    gold = []
    for number, (line, pair) in enumerate(zip(lines, pairs, strict=True), 1):
        try:
            links = read_pharaoh(line)
        except ValueError as error:
            raise AugenmerkError(f"{path}, line {number}: {error}.") from None
        everything = SentencePair(pair.source, pair.target, tuple(sorted(links.possible)))
        if bad_link := everything.describe_bad_link():
            raise AugenmerkError(f"{path}, line {number}: {bad_link}.")
        gold.append(links)
    return gold
