"""Compares the attention heads of a model over a split: which goes straight through, which looks around."""

from collections.abc import Sequence
from dataclasses import dataclass

from augenmerk.analysis.patterns.measures import AttentionMeasures, WordAttention, compute_measures
from augenmerk.base.config import ModelConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import SentencePair
from augenmerk.translation import Part, Translation
from augenmerk.translation.alignment import GoldLinks, argmax_links, compare_links

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
    for name, number, count in (("layer", layer, layers), ("head", head, heads)):
        if number is not None and not 1 <= number <= count:
            raise AugenmerkError(
                f"This model has no {name} {number}: its {name}s are counted from 1 to {count}."
            )
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
        means = {name: _mean(measures, name) for name in COMPARED}
        error = compare_links(links).error if gold else None
        summaries.append(HeadSummary(layer=head.layer, head=head.head, **means, alignment_error=error))
    return summaries


def _mean(measures: Sequence[AttentionMeasures], name: str) -> float:
    return float(sum(getattr(one, name) for one in measures) / len(measures))
