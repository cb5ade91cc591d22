"""The kind of attention in a sentence, by rules, and the kinds in a whole split: found, ranked and counted.

The first rule that holds decides:

    stuck       longest_run >= 5: consecutive words attend to one source word
    spread      entropy_normalised >= 0.4, and sharpness < 0.6: the words attend to much of the source
    inversion   a word moved over two source words or more
    shifted     offset_gain >= 0.2: the whole diagonal is a word away from where it should be
    monotone    none of these: from left to right, except for neighbours that change places

The thresholds were set on the gold links of bilderbuch, where a run is at most 3 words long, and on how far
attention there and on Multi30k usually spreads (medians of 0.13 and 0.22). The rule for `shifted` is strict:
it finds a quarter to a third of otherwise monotone sentences whose attention was shifted by hand, and is
wrong for fewer than one in a hundred that was not. `augenmerk evaluate --alignment` is the better test of
whether a model as a whole is shifted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, Literal, get_args

import numpy as np

from augenmerk.analysis.measures import (
    AttentionMeasures,
    MovedWords,
    WordAttention,
    compute_measures,
    find_longest_run,
    find_moved_words,
)
from augenmerk.analysis.wording import describe_pattern
from augenmerk.base.config import ModelConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Links, SentencePair
from augenmerk.translation import HeadAttention, Part, Translation, average_heads
from augenmerk.translation.alignment import GoldLinks, argmax_links, compare_links
from augenmerk.translation.translation import check_number

Kind = Literal["monotone", "inversion", "spread", "stuck", "shifted"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KIND_COLOURS: Mapping[Kind, int] = {"monotone": 6, "inversion": 0, "spread": 1, "stuck": 3, "shifted": 2}
"""The place of each kind among the colours of series, wherever kinds are drawn."""

MIN_RUN = 5
MIN_ENTROPY = 0.4
MAX_SHARPNESS = 0.6
"""In a sentence of few words even sharp attention has much of the possible entropy."""
MIN_MOVE = 2
"""In source words."""
MIN_GAIN = 0.2

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Pattern:
    """The kind of attention in a sentence."""

    kind: Kind
    strength: float
    """How pronounced it is, to be compared only within a kind."""
    measures: AttentionMeasures
    moved: Sequence[MovedWords]
    attention: WordAttention
    language: str
    """The code of the source language, which the verdict names."""

    @property
    def run(self) -> list[int]:
        """The target words of the longest run that attends to one source word."""
        return find_longest_run(self.attention)

    @property
    def far(self) -> list[MovedWords]:
        """The words that moved far enough for an inversion."""
        return [one for one in self.moved if one.places >= MIN_MOVE]

    @property
    def verdict(self) -> str:
        """A sentence about it."""
        return describe_pattern(self)


@dataclass(frozen=True)
class PatternMatch:
    """A sentence of a split and the pattern in it."""

    index: int
    pair: SentencePair
    translation: Translation
    pattern: Pattern
    head: HeadAttention | None = None
    """The head whose attention it is; None if it is that of all heads together."""

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data for JSON."""
        pattern, attention = self.pattern, self.pattern.attention
        return {
            "index": self.index,
            **({} if self.head is None else {"layer": self.head.layer, "head": self.head.head}),
            "kind": pattern.kind,
            "verdict": pattern.verdict,
            "strength": pattern.strength,
            "measures": asdict(pattern.measures),
            "moved": [
                {
                    "source": [attention.source[t] for t in moved.source],
                    "target": [attention.target[j] for j in moved.target],
                    "places": moved.places,
                    "direction": "earlier" if moved.earlier else "later",
                    "weight": moved.weight,
                    "links": [list(link) for link in moved.links],
                }
                for moved in pattern.moved
            ],
            "source": self.translation.source,
            "translation": self.translation.text,
            "reference": self.pair.target or None,
            "tags": list(self.pair.tags),
        }


def classify_attention(attention: WordAttention, language: str) -> Pattern:
    """Returns the pattern in a sentence with words on both sides and attention that is not all zero."""
    measures = compute_measures(attention)
    moved = find_moved_words(attention)
    kind: Kind
    strength: float
    if measures.longest_run >= MIN_RUN:
        kind, strength = "stuck", measures.longest_run
    elif measures.entropy_normalised >= MIN_ENTROPY and measures.sharpness < MAX_SHARPNESS:
        kind, strength = "spread", measures.entropy_normalised
    elif moved and moved[0].places >= MIN_MOVE:
        kind = "inversion"
        strength = max(one.places * one.weight for one in moved if one.places >= MIN_MOVE)
    elif measures.offset_gain >= MIN_GAIN:
        kind, strength = "shifted", measures.offset_gain
    else:
        # Long sentences rank higher: three words in order are nothing to look at.
        kind, strength = "monotone", measures.monotonicity * measures.sharpness * len(attention.target)
    return Pattern(kind, strength, measures, moved, attention, language)


def find_patterns(
    pairs: Sequence[SentencePair],
    translations: Iterable[Translation],
    language: str,
    layer: int | None = None,
    head: int | None = None,
) -> list[PatternMatch]:
    """Returns the pattern of every sentence whose translation has words, in the order of the split.

    With `layer` or `head`, counted from 1, it is the pattern of the mean over that layer's heads, or of that
    head, in translations made with `heads=True`.
    """
    matches = []
    for index, (pair, translation) in enumerate(zip(pairs, translations, strict=True)):
        chosen = None
        if (layer is not None or head is not None) and translation.heads:
            heads = translation.select_heads(layer=layer)
            chosen = average_heads(heads) if head is None else heads[head - 1]
        attention = WordAttention.from_translation(translation, chosen)
        if not attention.target or not attention.source:
            continue
        if not attention.weights.any():
            raise AugenmerkError("This model attends to nothing (model.attention = 'none'): no patterns.")
        pattern = classify_attention(attention, language)
        matches.append(PatternMatch(index, pair, translation, pattern, chosen))
    return matches


def select_strongest(matches: Sequence[PatternMatch], kind: Kind | None, top: int) -> list[PatternMatch]:
    """Returns the `top` strongest matches of a kind, or of all kinds in turn, sorted by kind."""
    by_kind: dict[Kind, list[PatternMatch]] = {one: [] for one in KINDS if kind in (None, one)}
    for match in sorted(matches, key=lambda match: -match.pattern.strength):
        if match.pattern.kind in by_kind:
            by_kind[match.pattern.kind].append(match)
    in_turn = [match for rank in zip_longest(*by_kind.values()) for match in rank if match]
    return sorted(in_turn[:top], key=lambda match: KINDS.index(match.pattern.kind))


def summarise_patterns(
    pairs: Sequence[SentencePair], matches: Sequence[PatternMatch], *, of_references: bool
) -> dict[str, Any]:
    """Returns counts and distributions over the split, as plain data for JSON.

    If the attention is that over the references and these have gold links, the summary also says how well the
    kinds agree with them.
    """
    counts = Counter(match.pattern.kind for match in matches)
    summary: dict[str, Any] = {
        "sentences": len(pairs),
        "without_words": len(pairs) - len(matches),
        "kinds": {kind: counts[kind] for kind in KINDS},
        "measures": {
            name: {
                "mean": float(np.mean(values)),
                "deviation": float(np.std(values)),
                "quartiles": [float(value) for value in np.quantile(values, QUANTILES)],
            }
            for name, values in collect_measures(matches).items()
        },
    }
    tags = dict.fromkeys(tag for match in matches for tag in match.pair.tags)
    if tags:
        summary["tags"] = {tag: _count_inversions([m for m in matches if tag in m.pair.tags]) for tag in tags}
        summary["tags"]["(none)"] = _count_inversions([match for match in matches if not match.pair.tags])
    if of_references and all(match.pair.alignment is not None for match in matches):
        summary["agreement"] = _compare_with_gold(matches)
    return summary


def collect_measures(matches: Sequence[PatternMatch]) -> Mapping[str, list[float]]:
    """Returns the values of every measure over the split."""
    measures = [asdict(match.pattern.measures) for match in matches]
    return {name: [one[name] for one in measures] for name in (measures[0] if measures else ())}


def _count_inversions(matches: Sequence[PatternMatch]) -> dict[str, Any]:
    gold = [match.pair.alignment for match in matches if match.pair.alignment is not None]
    return {
        "sentences": len(matches),
        "inversion": _compute_share([match.pattern.kind == "inversion" for match in matches]),
        "gold_inversion": _compute_share([has_inversion(links) for links in gold]),
    }


def _compute_share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def has_inversion(links: Links) -> bool:
    """Returns whether two links cross whose source words are as far apart as in an inversion."""
    return any(t + MIN_MOVE <= other_t and other_j < j for t, j in links for other_t, other_j in links)


def _compare_with_gold(matches: Sequence[PatternMatch]) -> dict[str, Any]:
    """Compares inversions with crossing gold links, and the links of moved words with gold links."""
    gold = [match.pair.alignment or () for match in matches]
    inversions = [match.pattern.kind == "inversion" for match in matches]
    both = list(zip(inversions, map(has_inversion, gold), strict=True))
    moved_links = [
        link in links
        for match, links, found in zip(matches, map(set, gold), inversions, strict=True)
        for moved in match.pattern.moved
        if found and moved.places >= MIN_MOVE
        for link in moved.links
    ]
    return {
        "sentences": len(matches),
        "gold_inversions": sum(true for _, true in both),
        "found": sum(inversions),
        "precision": _compute_share([true for found, true in both if found]),
        "recall": _compute_share([found for found, true in both if true]),
        "accuracy": _compute_share([found == true for found, true in both]),
        "moved_links_in_gold": _compute_share(moved_links),
    }


# Heads

COMPARED = ("monotonicity", "sharpness", "entropy_normalised", "diagonal", "end_mass")
"""The measures by which heads are compared."""


@dataclass(frozen=True)
class HeadSummary:
    """Means over the sentences of a split for one head; see `AttentionMeasures`."""

    layer: int | None
    """The layer, counted from 1; None in a GRU."""
    head: int
    monotonicity: float
    sharpness: float
    entropy_normalised: float
    diagonal: float
    end_mass: float
    alignment_error: float | None
    """The alignment error of its largest weights against gold links; None where there are none."""

    @property
    def name(self) -> str:
        return f"head {self.head}" if self.layer is None else f"head {self.head} of layer {self.layer}"


def count_heads(model: ModelConfig, part: Part = "cross") -> tuple[int, int]:
    """Returns the number of layers of attention in a part of the model, and of heads in each.

    Attention to the source has several heads only if it is multi-head attention; the self-attention of a
    Transformer always is. A GRU has none, so 0 layers of it.
    """
    in_layers = model.entry.self_attention
    if part != "cross":
        return (model.layers, model.heads) if in_layers else (0, 0)
    return model.layers if in_layers else 1, model.attention_heads


def check_head(model: ModelConfig, layer: int | None, head: int | None) -> None:
    """Raises AugenmerkError if the attention of a model to the source has no such layer or head."""
    layers, heads = count_heads(model)
    check_number("layer", layer, layers)
    check_number("head", head, heads)
    if head is not None and layer is None and layers > 1:
        raise AugenmerkError(f"Head {head} of which layer? Give a layer, 1 to {layers} (--layer).")


def summarise_heads(
    pairs: Sequence[SentencePair], translations: Sequence[Translation], *, of_references: bool
) -> list[HeadSummary]:
    """Returns a summary for each head of translations that were made with `heads=True`.

    If the translations are the references, and these have gold links, each head is also compared with them.
    """
    spoken = [
        (pair, one)
        for pair, one in zip(pairs, translations, strict=True)
        if len(one.source_words) > 1 and len(WordAttention.from_translation(one).target)
    ]
    gold = of_references and all(pair.alignment is not None for pair, _ in spoken)
    summaries = []
    for index, head in enumerate(spoken[0][1].heads if spoken else ()):
        assert head.head is not None
        measures = [
            compute_measures(WordAttention.from_translation(one, one.heads[index])) for _, one in spoken
        ]
        links = (
            (argmax_links(one.heads[index].attention[:-1, :-1].tolist()), GoldLinks.of(pair.alignment or ()))
            for pair, one in spoken
        )
        means = {
            name: float(sum(getattr(one, name) for one in measures) / len(measures)) for name in COMPARED
        }
        error = compare_links(links).error if gold else None
        summaries.append(HeadSummary(layer=head.layer, head=head.head, **means, alignment_error=error))
    return summaries
