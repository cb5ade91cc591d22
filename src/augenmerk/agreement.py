"""Measures how well the attention of a run agrees with word links: gold, a person's own, or silver.

The model is forced to produce the reference, because that is what the links are about. Each word of the
reference is linked to the source word that was attended to most when it was predicted.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from typing import Any

from augenmerk.alignment import (
    OFFSETS,
    AlignmentScore,
    GoldLinks,
    argmax_links,
    best_offset,
    compare_links,
    format_pharaoh,
    intersect_links,
    parse_pharaoh,
    shift_links,
    threshold_links,
)
from augenmerk.bitext import Bitext, Links, SentencePair
from augenmerk.bitext.files import read_lines
from augenmerk.errors import AugenmerkError
from augenmerk.storage import write_lines
from augenmerk.translate import Translator
from augenmerk.words import split_words

Progress = Callable[[str, int, int], None]


def measure_alignment(translator: Translator, pairs: Sequence[SentencePair]) -> AlignmentScore:
    """Compares attention with the gold links of the pairs; a model without attention proposes no links."""
    gold = [GoldLinks.of(pair.alignment or ()) for pair in pairs]
    return compare_links(zip(link_references(translator, pairs)[0], gold, strict=True))


def link_references(
    translator: Translator, pairs: Sequence[SentencePair], threshold: float | None = None
) -> dict[int, list[Links]]:
    """Links the words of references by their largest weight, or by all weights that reach a threshold.

    Returns the links at each of `OFFSETS`. The end of the reference counts as a word before links are moved,
    so that at offset -1 its last word has a link too.
    """
    scored = translator.score_all([(pair.source, pair.target) for pair in pairs])
    maps = [translation.attention[:, :-1].tolist() for translation in scored]  # no link to the source's end
    found = [argmax_links(one) if threshold is None else threshold_links(one, threshold) for one in maps]
    lengths = [len(split_words(pair.target)) for pair in pairs]
    return {offset: list(map(shift_links, found, repeat(offset), lengths)) for offset in OFFSETS}


@dataclass(frozen=True)
class Agreement:
    """Measures alignment for `augenmerk evaluate --alignment`."""

    bitext: Bitext
    gold: Path | None = None
    """A file of gold links in Pharaoh format; without it, the links of the bitext or silver ones are used."""
    reverse: Translator | None = None
    """A translator of the reverse direction: then only links that both find count."""
    threshold: float | None = None
    """The weight from which on a source word is linked; None links the one with the largest weight."""

    def measure(
        self,
        translator: Translator,
        split: str,
        pairs: Sequence[SentencePair],
        folder: Path,
        progress: Progress,
    ) -> dict[str, Any]:
        """Returns figures for a row of scores, and writes both sets of links into the folder."""
        learnt_from: int | None = None
        known = self._gold_links(split, pairs)
        if known is None:
            learnt_from, known = self._silver_links(split, pairs, progress)
        against = "gold" if learnt_from is None else "silver"
        pairs = [pair for pair, links in zip(pairs, known, strict=True) if links is not None]
        gold = [links for links in known if links is not None]
        progress("reading references", 0, 1)
        proposed = link_references(translator, pairs, self.threshold)
        if self.reverse is not None:  # each of the two has the offset over its own target
            theirs = link_references(self.reverse, [pair.reversed() for pair in pairs], self.threshold)
            proposed = {at: list(map(intersect_links, ours, theirs[at])) for at, ours in proposed.items()}
        progress("reading references", 1, 1)
        scores = {at: compare_links(zip(links, gold, strict=True)) for at, links in proposed.items()}
        write_lines(folder / f"{split}.attention.align", map(format_pharaoh, proposed[0]))
        write_lines(folder / f"{split}.{against}.align", [links.pharaoh for links in gold])
        row: dict[str, Any] = {"against": against, "sentences": len(pairs)}
        if learnt_from is not None:
            row["silver_pairs"] = learnt_from
        if not scores[0].proposed:
            return {"aer": None, "alignment": row}
        row |= {name: getattr(scores[0], name) for name in ("precision", "recall", "f1")}
        row["best_offset"] = best_offset(scores)
        row["aer_by_offset"] = {str(offset): score.error for offset, score in scores.items()}
        return {"aer": scores[0].error, "alignment": row}

    def _gold_links(self, split: str, pairs: Sequence[SentencePair]) -> Sequence[GoldLinks | None] | None:
        """Returns the gold links, None for a pair that has none; or None if no pair has any."""
        if self.gold is not None:
            return read_gold(self.gold, split, pairs)
        known = [pair.alignment for pair in pairs]
        if all(links is None for links in known):
            return None
        return [None if links is None else GoldLinks.of(links) for links in known]

    def _silver_links(
        self, split: str, pairs: Sequence[SentencePair], progress: Progress
    ) -> tuple[int, Sequence[GoldLinks]]:
        """Returns the number of pairs that the aligner learnt from, and its links."""
        from augenmerk.silver import silver_links

        train = [] if split == "train" or "train" not in self.bitext.splits else list(self.bitext["train"])
        links = silver_links(train, pairs, progress=progress)
        return len(train) + len(pairs), [*map(GoldLinks.of, links)]


def read_gold(path: Path, split: str, pairs: Sequence[SentencePair]) -> list[GoldLinks]:
    """Reads a line of links for each pair; raises AugenmerkError if the file does not fit the pairs."""
    with closing(read_lines(path)) as read:
        lines = list(islice(read, len(pairs) + 1))  # not all of them: it may be a pipe without end
    if len(lines) != len(pairs):
        found = f"more than {len(pairs):,}" if len(lines) > len(pairs) else f"{len(lines):,}"
        raise AugenmerkError(
            f"{path} has {found} lines of links, and '{split}' has {len(pairs):,} sentence pairs; "
            f"there must be a line for each."
        )
    gold = []
    for number, (line, pair) in enumerate(zip(lines, pairs, strict=True), 1):
        try:
            links = parse_pharaoh(line)
        except ValueError as error:
            raise AugenmerkError(f"{path}, line {number}: {error}.") from None
        everything = SentencePair(pair.source, pair.target, tuple(sorted(links.possible)))
        if bad_link := everything.describe_bad_link():
            raise AugenmerkError(f"{path}, line {number}: {bad_link}.")
        gold.append(links)
    return gold
