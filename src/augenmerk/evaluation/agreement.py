"""Measures how well the attention of a run agrees with word links: gold, from a file, or silver.

The model is forced to produce the reference, because that is what the links are about. Each word of the
reference is linked to the source word that was attended to most when it was predicted.

A Transformer attends with several heads in several layers. Which of them is compared is chosen on the
validation split (`choose_attention`), and then used for every split.

Silver links, for bitexts without gold links, are those of a statistical aligner: fast_align (Dyer, Chahuneau
and Smith 2013) in both directions, joined by grow-diag-final-and, as the library Thot implements it (the
optional extra `align`), on lowercased words. On bilderbuch, whose true links are known, its own alignment
error is 0.095 (docs/lab/2026-11-15-attention.md): an error measured against silver links is an estimate.
The aligner learns from the training pairs together with those to be aligned, which takes seconds.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import write_lines
from augenmerk.data import Bitext, Links, SentencePair, open_data
from augenmerk.data.lines import read_lines
from augenmerk.text.words import split_words
from augenmerk.translation import HeadAttention, Translation, Translator, average_heads
from augenmerk.translation.alignment import (
    OFFSETS,
    AlignmentScore,
    GoldLinks,
    argmax_links,
    best_offset,
    compare_links,
    parse_pharaoh,
    shift_links,
)

# Silver links

ITERATIONS = 5
HEURISTIC = "GROW_DIAG_FINAL_AND"
FEW_PAIRS = 1_000
"""The aligner's own links are poor if it learns from fewer pairs: on bilderbuch its alignment error is 0.14
with 1,000 pairs, 0.20 with 500 and 0.35 with 60."""
LONGEST = 200
"""The aligner does not learn from sentences with more words, but aligns them."""

Progress = Callable[[str, int, int], None]
"""A callback that receives a description of the work, how much of it is done, and how much there is."""


def silver_links(
    train: Sequence[SentencePair],
    pairs: Sequence[SentencePair],
    progress: Progress = lambda *_: None,
) -> list[Links]:
    """Returns the links of each of `pairs`, learnt from them and from `train`."""
    try:
        from thot import alignment as thot
    except ImportError:
        raise AugenmerkError("No aligner is installed: run pip install '.[align]' in your clone.") from None
    sides = ([pair.source for pair in (*train, *pairs)], [pair.target for pair in (*train, *pairs)])
    sources, targets = ([[word.lower() for word in split_words(text)] for text in side] for side in sides)
    what, steps = "aligning words", 2 * (ITERATIONS + 1)
    models = []
    for done, here, there in ((0, sources, targets), (ITERATIONS + 1, targets, sources)):
        model = thot.FastAlignModel()
        for one, other in zip(here, there, strict=True):
            if 0 < len(one) <= LONGEST and 0 < len(other) <= LONGEST:
                model.add_sentence_pair(one, other)
        progress(what, done, steps)
        model.start_training()
        for iteration in range(1, ITERATIONS + 1):
            model.train()
            progress(what, done + iteration, steps)
        model.end_training()
        models.append(model)
    aligner = thot.SymmetrizedAligner(*models)
    aligner.heuristic = getattr(thot.SymmetrizationHeuristic, HEURISTIC)
    first = len(train)
    # An empty sentence has no links.
    nonempty = [index for index in range(first, len(sources)) if sources[index] and targets[index]]
    texts = ([side[index] for index in nonempty] for side in (sources, targets))
    links: list[Links] = [()] * len(pairs)
    for index, (_, matrix) in zip(nonempty, aligner.get_best_alignments(*texts), strict=True):
        rows, columns = matrix.to_numpy().nonzero()
        links[index - first] = tuple(zip(rows.tolist(), columns.tolist(), strict=True))
    progress(what, steps, steps)
    return links


# Agreement with links

CHOICE_SENTENCES = 300
"""The number of validation pairs by which the attention of a Transformer is chosen."""


class ChosenAttention(NamedTuple):
    """Which attention of a Transformer to the source is compared with links."""

    layer: int | None = None
    """Counted from 1; None for the mean over all layers and heads."""
    head: int | None = None
    """Counted from 1; None for the mean over the heads of the layer."""
    chosen_on: str | None = None
    """The validation split by which it was chosen; None if there was nothing to choose by."""

    @property
    def name(self) -> str:
        if self.layer is None:
            return "mean of all layers and heads"
        return f"layer {self.layer}, {'mean of all heads' if self.head is None else f'head {self.head}'}"

    def link(self, translation: Translation) -> Links:
        """Links the words of a translation, which has its heads unless the mean is asked for."""
        shown: Translation | HeadAttention = translation
        if self.layer is not None:
            heads = [one for one in translation.heads if one.layer == self.layer]
            shown = average_heads(heads) if self.head is None else heads[self.head - 1]
        return argmax_links(shown.attention[:, :-1].tolist())  # no link to the source's end


def choose_attention(translator: Translator, progress: Progress = lambda *_: None) -> ChosenAttention | None:
    """Finds which head of a Transformer, mean over a layer, or mean over all, aligns best on validation.

    The pairs are the first `CHOICE_SENTENCES` of the validation split that the run was trained with; they are
    compared as in `Agreement`, with gold links if they have them, otherwise with silver ones. If there are no
    such pairs or links, the mean over all is taken.

    Returns None where there is no choice: a GRU, a mechanism that does not select words, or an ensemble.
    """
    if len(translator.models) > 1 or not translator.model.selective:
        return None
    config = translator.config
    if not config.model.entry.self_attention:
        return None
    validation = config.data.validation
    try:
        bitext = open_data(config.data)
        pairs = list(bitext[validation])
        _, links = find_links(bitext, validation, pairs, progress)
    except AugenmerkError:  # the data was moved, or no aligner is installed
        return ChosenAttention()
    linked = [(pair, one) for pair, one in zip(pairs, links, strict=True) if one is not None]
    linked = linked[:CHOICE_SENTENCES]
    if not linked:
        return ChosenAttention()
    what = "choosing a head"
    progress(what, 0, 1)
    scored = translator.score_all([(pair.source, pair.target) for pair, _ in linked], heads=True)
    lengths = [len(split_words(pair.target)) for pair, _ in linked]

    def alignment_error(choice: ChosenAttention) -> float:
        found = (choice.link(one) for one in scored)
        links = map(shift_links, found, repeat(0), lengths)  # without the end of the reference
        return compare_links(zip(links, (gold for _, gold in linked), strict=True)).error

    heads = scored[0].heads
    choices = [ChosenAttention(chosen_on=validation)]
    if heads[-1].head != 1:
        layers = dict.fromkeys(one.layer for one in heads)
        choices += [ChosenAttention(layer, None, validation) for layer in layers]
    choices += [ChosenAttention(one.layer, one.head, validation) for one in heads]
    best = min(choices, key=alignment_error)  # of equals the first, which is the simplest
    progress(what, 1, 1)
    return best


def measure_alignment(
    translator: Translator, pairs: Sequence[SentencePair], attention: ChosenAttention | None = None
) -> AlignmentScore:
    """Compares attention with the gold links of the pairs; a model without attention proposes no links."""
    gold = [GoldLinks.of(pair.alignment or ()) for pair in pairs]
    links = link_references(translator, pairs, attention)[0]
    return compare_links(zip(links, gold, strict=True))


def link_references(
    translator: Translator,
    pairs: Sequence[SentencePair],
    attention: ChosenAttention | None = None,
) -> dict[int, list[Links]]:
    """Links the words of references by their largest weight.

    The weights are the mean over all heads and layers, unless `attention` says which. Returns the links at
    each of `OFFSETS`. The end of the reference counts as a word before links are moved, so that at offset -1
    its last word has a link too.
    """
    attention = attention or ChosenAttention()
    scored = translator.score_stream(
        ((pair.source, pair.target) for pair in pairs), heads=attention.layer is not None
    )
    found = list(map(attention.link, scored))
    lengths = [len(split_words(pair.target)) for pair in pairs]
    return {offset: list(map(shift_links, found, repeat(offset), lengths)) for offset in OFFSETS}


@dataclass(frozen=True)
class Agreement:
    """Measures alignment for `augenmerk evaluate --alignment`."""

    bitext: Bitext
    gold: Path | None = None
    """A file of gold links in Pharaoh format; without it, the links of the bitext or silver ones are used."""
    _choices: dict[Translator, ChosenAttention | None] = field(default_factory=dict, init=False, repr=False)

    def measure(
        self,
        translator: Translator,
        split: str,
        pairs: Sequence[SentencePair],
        folder: Path,
        progress: Progress,
    ) -> dict[str, Any]:
        """Returns numbers for a row of scores, and writes both sets of links into the folder."""
        learnt_from: int | None = None
        known: Sequence[GoldLinks | None]
        if self.gold is not None:
            known = read_gold(self.gold, split, pairs)
        else:
            learnt_from, known = find_links(self.bitext, split, pairs, progress)
        against = "gold" if learnt_from is None else "silver"
        pairs = [pair for pair, links in zip(pairs, known, strict=True) if links is not None]
        gold = [links for links in known if links is not None]
        progress("reading references", 0, 1)
        if translator not in self._choices:  # it takes some time
            self._choices[translator] = choose_attention(translator, progress)
        attention = self._choices[translator]
        chosen = {"attention": attention.name, "chosen_on": attention.chosen_on} if attention else {}
        proposed = link_references(translator, pairs, attention)
        progress("reading references", 1, 1)
        scores = {at: compare_links(zip(links, gold, strict=True)) for at, links in proposed.items()}
        write_lines(
            folder / f"{split}.attention.align", [GoldLinks.of(links).pharaoh for links in proposed[0]]
        )
        write_lines(folder / f"{split}.{against}.align", [links.pharaoh for links in gold])
        row: dict[str, Any] = {"against": against, "sentences": len(pairs), **chosen}
        if learnt_from is not None:
            row["silver_pairs"] = learnt_from
        if not scores[0].proposed:
            return {"aer": None, "alignment": row}
        row |= {name: getattr(scores[0], name) for name in ("precision", "recall", "f1")}
        row["best_offset"] = best_offset(scores)
        row["aer_by_offset"] = {str(offset): score.error for offset, score in scores.items()}
        return {"aer": scores[0].error, "alignment": row}


def find_links(
    bitext: Bitext, split: str, pairs: Sequence[SentencePair], progress: Progress
) -> tuple[int | None, list[GoldLinks | None]]:
    """Returns the gold links of the pairs, or the silver ones of an aligner if they have none.

    Gold links come with None; silver ones with the number of pairs that the aligner learnt from.
    """
    known = [pair.alignment for pair in pairs]
    if any(links is not None for links in known):
        return None, [None if links is None else GoldLinks.of(links) for links in known]
    train = [] if split == "train" or "train" not in bitext.splits else list(bitext["train"])
    links = silver_links(train, pairs, progress)
    return len(train) + len(pairs), [*map(GoldLinks.of, links)]


def read_gold(path: Path, split: str, pairs: Sequence[SentencePair]) -> list[GoldLinks]:
    """Reads a line of links for each pair; raises AugenmerkError if the file does not fit the pairs."""
    with closing(read_lines(path)) as read:  # it may be a pipe without end
        lines = list(islice(read, len(pairs) + 1))
    if len(lines) != len(pairs):
        found = f"more than {len(pairs):,}" if len(lines) > len(pairs) else f"{len(lines):,}"
        lines_s, pairs_s = ("" if count == 1 else "s" for count in (min(len(lines), len(pairs)), len(pairs)))
        raise AugenmerkError(
            f"{path} has {found} line{lines_s} of links, and '{split}' has {len(pairs):,} sentence "
            f"pair{pairs_s}; there must be a line for each."
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
