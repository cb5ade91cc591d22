"""Does the model use what it shows?

At each target word the attention is replaced by other weights, and what becomes of the probability of that
word is measured:

    uniform    every source position gets the same weight
    permuted   the same weights, dealt out to other positions at random; the mean over several deals

A word whose probability does not suffer would have been predicted without looking where the map is bright,
whatever the map looks like. Equation 10 does not look at the attention, so all else that the model knows
stays as it was: the words before, which it has read, and the summary of the source that the decoder started
from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import torch
from torch import Tensor, nn

from augenmerk.batching import Batch, ParallelTokens
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import exp
from augenmerk.model.translator import Translator
from augenmerk.translate import TextTranslator, Translation

BATCH_SIZE = 32
DEALS = 5
"""How often weights are dealt out anew; a single deal may leave the largest where it was."""
REPLACEMENTS = ("uniform", "permuted")
FALLS = 0.1
"""Nats. A word that loses less than this, a tenth of its probability, hardly needs where the model looks."""


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """Of one translation: the log-probability of each of its tokens, as it is and under each replacement."""

    translation: Translation
    as_is: Sequence[float]
    replaced: Mapping[str, Sequence[float]]

    @cached_property
    def word_log_probabilities(self) -> tuple[float, ...]:
        return self.translation.sum_over_words(self.as_is)

    @cached_property
    def drops(self) -> Mapping[str, tuple[float, ...]]:
        """Of each word, by how many nats its log-probability falls; negative where it rises."""
        return {
            name: self.translation.sum_over_words(
                [own - other for own, other in zip(self.as_is, replaced, strict=True)]
            )
            for name, replaced in self.replaced.items()
        }

    @property
    def mean_drop(self) -> float:
        """Per word, under uniform weights: what sentences are ranked by."""
        drops = self.drops["uniform"]
        return fsum(drops) / len(drops) if drops else 0.0


def measure_faithfulness(
    translator: TextTranslator, translations: Sequence[Translation], *, seed: int = 1
) -> list[Faithfulness]:
    """Of each translation, which the translator made or read (`score_all`); an empty one has no words."""
    model = translator.model
    if translator.config.model.attention == "none":
        raise AugenmerkError(
            "This model attends to nothing (model.attention = 'none'): there is no attention to replace."
        )
    spoken = [place for place, one in enumerate(translations) if one.hypothesis is not None]
    sources = translator.tokenizers.source.encode_ids([translations[place].source for place in spoken])
    targets = [one.hypothesis.ids for one in translations if one.hypothesis is not None]
    data = ParallelTokens.of(
        (source[: translator.longest_source], target) for source, target in zip(sources, targets, strict=True)
    ).to(next(model.parameters()).device)
    measured = [Faithfulness(one, (), dict.fromkeys(REPLACEMENTS, ())) for one in translations]
    for batch in data.batches(data.plan(BATCH_SIZE, shuffle=False)) if spoken else ():
        figures = _log_probabilities(model, batch, seed)
        for row, index in enumerate(batch.indices.tolist()):
            one = translations[spoken[index]]
            assert one.hypothesis is not None
            # A translation that was cut off has no end, whose probability would be that of stopping there.
            tokens = len(one.hypothesis.token_log_probabilities)
            own, *replaced = (figure[row, :tokens].tolist() for figure in figures)
            measured[spoken[index]] = Faithfulness(one, own, dict(zip(REPLACEMENTS, replaced, strict=True)))
    return measured


@torch.inference_mode()
def _log_probabilities(model: Translator, batch: Batch, seed: int) -> list[Tensor]:
    """(B, T) of the target, as it is and under each of `REPLACEMENTS`; the decoder runs once for all."""
    source = model.encode(batch.src, batch.src_mask)
    g = model.states(batch.tgt_in, source)
    weights = model.attention.weights(g, source.memory)  # (B, [N,] T, S)

    def of(weights: Tensor) -> Tensor:
        features = torch.cat([model.attention.mix(weights, source.memory), g], dim=-1)[batch.tgt_mask]
        logits = model.output(features)  # (real tokens, vocabulary)
        chosen = -nn.functional.cross_entropy(logits, batch.tgt_out[batch.tgt_mask], reduction="none")
        return chosen.new_zeros(batch.tgt_mask.shape).masked_scatter(batch.tgt_mask, chosen)

    uniform = (batch.src_mask / batch.src_mask.sum(dim=1, keepdim=True)).to(weights.dtype)  # (B, S)
    uniform = uniform.view(len(uniform), *[1] * (weights.dim() - 2), -1).expand_as(weights)
    deals = [of(dealt(weights, batch.src_lengths.tolist(), seed + deal)) for deal in range(DEALS)]
    return [of(weights), of(uniform), torch.stack(deals).mean(dim=0)]


def dealt(weights: Tensor, lengths: Sequence[int], seed: int) -> Tensor:
    """The weights (B, [N,] T, S) of each target position dealt out to the real source positions, those of all
    heads alike. What a sentence gets does not depend on the others."""
    *_, T, S = weights.shape
    keys = torch.full((len(weights), T, S), 2.0)
    for sentence, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(seed)
        keys[sentence, :, :length] = torch.rand((T, length), generator=generator)
    order = keys.argsort(dim=-1, stable=True).to(weights.device)  # padding stays last
    if weights.dim() == 4:
        order = order[:, None].expand_as(weights)
    return weights.gather(-1, order)


def summarise(measured: Sequence[Faithfulness]) -> dict[str, Any]:
    """Means over a split: per word the drops, and over tokens the perplexities."""
    own = [value for one in measured for value in one.as_is]
    words = sum(len(one.word_log_probabilities) for one in measured)
    if not own:
        raise AugenmerkError("All translations are empty: there are no words whose probability could fall.")
    summary: dict[str, Any] = {
        "sentences": len(measured),
        "words": words,
        "tokens": len(own),
        "loss": -fsum(own) / len(own),
        "perplexity": exp(-fsum(own) / len(own)),
    }
    for name in REPLACEMENTS:
        replaced = [value for one in measured for value in one.replaced[name]]
        drops = [drop for one in measured for drop in one.drops[name]]
        summary[name] = {
            "mean_drop": fsum(drops) / words,
            "share_that_falls": sum(drop > FALLS for drop in drops) / words,
            "loss": -fsum(replaced) / len(own),
            "perplexity": exp(-fsum(replaced) / len(own)),
        }
    return summary
