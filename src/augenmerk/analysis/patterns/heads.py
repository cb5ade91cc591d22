"""Compares the attention heads of a model over a split: which goes straight through, which looks around."""

from collections.abc import Sequence
from dataclasses import dataclass

from augenmerk.analysis.patterns.measures import AttentionMeasures, WordAttention, compute_measures
from augenmerk.base.config import ModelConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import SentencePair
from augenmerk.translation import Part, Translation
from augenmerk.translation.alignment import GoldLinks, argmax_links, compare_links


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
        raise AugenmerkError(f"Say of which layer head {head} is: give a layer, 1 to {layers} (--layer).")


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
    for place, head in enumerate(spoken[0][1].heads if spoken else ()):
        assert head.head is not None
        measures = [
            compute_measures(WordAttention.from_translation(one, one.heads[place])) for _, one in spoken
        ]
        links = (
            (argmax_links(one.heads[place].attention[:-1, :-1].tolist()), GoldLinks.of(pair.alignment or ()))
            for pair, one in spoken
        )
        summaries.append(
            HeadSummary(
                layer=head.layer,
                head=head.head,
                monotonicity=_mean(measures, "monotonicity"),
                sharpness=_mean(measures, "sharpness"),
                entropy_normalised=_mean(measures, "entropy_normalised"),
                diagonal=_mean(measures, "diagonal"),
                end_mass=_mean(measures, "end_mass"),
                alignment_error=compare_links(links).error if gold else None,
            )
        )
    return summaries


def describe_heads(heads: Sequence[HeadSummary]) -> str:
    """Returns in words which head is the most monotone, the sharpest, the most spread, the best aligned."""
    if not heads:
        return "There are no words by which heads could be compared."
    if len(heads) == 1:
        return "There is one head."
    monotone = max(heads, key=lambda one: one.monotonicity)
    sharp = max(heads, key=lambda one: one.sharpness)
    spread = max(heads, key=lambda one: one.entropy_normalised)
    words = (
        f"{monotone.name.capitalize()} is the most monotone ({monotone.monotonicity:.2f}), {sharp.name} the "
        f"sharpest ({sharp.sharpness:.2f}), {spread.name} the most spread "
        f"({spread.entropy_normalised:.2f} of the possible entropy)"
    )
    errors = {one.name: one.alignment_error for one in heads if one.alignment_error is not None}
    if errors:
        aligned = min(errors, key=lambda name: errors[name])
        words += f"; {aligned} is closest to the gold links (alignment error {errors[aligned]:.3f})"
    return f"{words}."


def _mean(measures: Sequence[AttentionMeasures], name: str) -> float:
    return float(sum(getattr(one, name) for one in measures) / len(measures))
