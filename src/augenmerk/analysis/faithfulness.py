"""Does the model use the attention that it shows?

At each target word the attention weights are replaced by others, and the change of that word's probability is
measured:

    uniform    every source position gets the same weight
    permuted   the same weights at other positions, at random; the mean over several permutations

A word whose probability does not fall would have been predicted without the attention, even if its diagram
looks convincing. Equation 10 does not depend on the attention, so everything else that the model knows stays
the same: the words before, and the sentence representation that the decoder started from.

In a Transformer, what a decoder layer takes from the source changes every layer above it and every later
word, so words cannot be measured one by one. But whole heads can:
`measure_heads` gives one head uniform weights at all target words at once, each head in turn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import fsum
from typing import Any

import torch
from torch import Tensor, nn

from augenmerk.analysis.wording import DROP_THRESHOLD
from augenmerk.base.errors import AugenmerkError
from augenmerk.evaluation.evaluator import exp
from augenmerk.model.attention import Attention, Memory
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import TranslationModel
from augenmerk.model.transformer import Look, TransformerTranslator
from augenmerk.text.batching import Batch
from augenmerk.translation import Translation, Translator

BATCH_SIZE = 32
PERMUTATIONS = 5
"""The number of random permutations; a single one may leave the largest weight where it was."""
REPLACEMENTS = ("uniform", "permuted")


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """The log-probability of each token of a translation, with its own attention and with replaced ones."""

    translation: Translation
    original: Sequence[float]
    replaced: Mapping[Any, Sequence[float]]
    """By the name of the replacement or, in a Transformer, by the layer and head, counted from 1."""

    @cached_property
    def word_log_probabilities(self) -> tuple[float, ...]:
        return self.translation.sum_over_words(self.original)

    @cached_property
    def drops(self) -> Mapping[Any, tuple[float, ...]]:
        """By how many nats the log-probability of each word falls; negative if it rises."""
        return {
            name: self.translation.sum_over_words(
                [own - other for own, other in zip(self.original, replaced, strict=True)]
            )
            for name, replaced in self.replaced.items()
        }

    @property
    def mean_drop(self) -> float:
        """The mean drop per word under uniform weights, which sentences are ranked by."""
        drops = self.drops["uniform"]
        return fsum(drops) / len(drops) if drops else 0.0


def measure_faithfulness(
    translator: Translator, translations: Sequence[Translation], *, seed: int = 1
) -> list[Faithfulness]:
    """Measures translations that the translator made (`translate`) or read (`score_all`)."""
    model = translator.torch_model
    if not isinstance(model, GRUTranslator):
        raise AugenmerkError(
            f"Replacing attention at single words works for the architecture 'gru' only, whose decoder "
            f"states do not depend on attention (equation 10); this model has '{model.config.architecture}'."
        )
    return _measure(
        translator, translations, REPLACEMENTS, lambda batch: _score_with_replacements(model, batch, seed)
    )


def _measure(
    translator: Translator,
    translations: Sequence[Translation],
    names: Sequence[Any],
    score: Callable[[Batch], list[Tensor]],
) -> list[Faithfulness]:
    """Measures translations with attention replaced as `names` say.

    `score` returns the log-probabilities of a batch (B, T), first with the model's own attention, then with
    each replacement.
    """
    if translator.config.model.attention == "none":
        raise AugenmerkError("This model attends to nothing (model.attention = 'none').")
    measured = [Faithfulness(one, (), dict.fromkeys(names, ())) for one in translations]
    device = translator.torch_model.device
    for indices, batch in translator.batch_translations(translations, BATCH_SIZE, device):
        scores = score(batch)
        for row, index in enumerate(indices):
            hypothesis = translations[index].hypothesis
            assert hypothesis is not None
            # A translation that was cut off has no end, so the probability of EOS is left out.
            tokens = len(hypothesis.token_log_probabilities)
            own, *replaced = (each[row, :tokens].tolist() for each in scores)
            by_name = dict(zip(names, replaced, strict=True))
            measured[index] = Faithfulness(translations[index], own, by_name)
    return measured


@torch.inference_mode()
def _score_with_replacements(model: GRUTranslator, batch: Batch, seed: int) -> list[Tensor]:
    """Returns log-probabilities of the target (B, T), original and for each replacement.

    The decoder runs once for all of them.
    """
    source = model.encode(batch.src, batch.src_mask)
    g = model.states(batch.tgt_in, source)
    weights = model.attention.weigh(g, source.memory)  # (B, N, T, S)

    def log_probabilities(weights: Tensor) -> Tensor:
        features = torch.cat([model.attention.combine(weights, source.memory), g], dim=-1)
        return _score_targets(model, features, batch)

    uniform = _uniform_weights(weights, batch.src_mask)
    lengths = batch.src_lengths.tolist()
    permuted = [
        log_probabilities(permute_weights(weights, lengths, seed + number)) for number in range(PERMUTATIONS)
    ]
    return [log_probabilities(weights), log_probabilities(uniform), torch.stack(permuted).mean(dim=0)]


def _score_targets(model: TranslationModel, features: Tensor, batch: Batch) -> Tensor:
    """Returns the log-probabilities of the target (B, T), given what the output layer reads."""
    logits = model.output(features[batch.tgt_mask])  # (real tokens, vocabulary)
    chosen = -nn.functional.cross_entropy(logits, batch.tgt_out[batch.tgt_mask], reduction="none")
    return chosen.new_zeros(batch.tgt_mask.shape).masked_scatter(batch.tgt_mask, chosen)


def _uniform_weights(weights: Tensor, src_mask: Tensor) -> Tensor:
    """Returns uniform weights over real source positions, in the shape of `weights` (B, N, T, S)."""
    uniform = (src_mask / src_mask.sum(dim=1, keepdim=True)).to(weights.dtype)  # (B, S)
    return uniform[:, None, None].expand_as(weights)


def permute_weights(weights: Tensor, lengths: Sequence[int], seed: int) -> Tensor:
    """Permutes the weights (B, N, T, S) of each target position over the real source positions.

    All heads get the same permutation, and a sentence's does not depend on the other sentences.
    """
    *_, T, S = weights.shape
    keys = torch.full((len(weights), T, S), 2.0)
    for sentence, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(seed)
        keys[sentence, :, :length] = torch.rand((T, length), generator=generator)
    order = keys.argsort(dim=-1, stable=True).to(weights.device)  # padding stays last
    return weights.gather(-1, order[:, None].expand_as(weights))


def summarise(measured: Sequence[Faithfulness]) -> dict[str, Any]:
    """Returns means over a split: drops per word, and perplexities over tokens."""
    summary = _summarise(measured)
    for name in REPLACEMENTS:
        drops = [drop for one in measured for drop in one.drops[name]]
        loss = _compute_loss([one.replaced[name] for one in measured])
        summary[name] = {
            "mean_drop": fsum(drops) / len(drops),
            "share_that_falls": sum(drop > DROP_THRESHOLD for drop in drops) / len(drops),
            "loss": loss,
            "perplexity": exp(loss),
        }
    return summary


def _summarise(measured: Sequence[Faithfulness]) -> dict[str, Any]:
    """Returns the sums and means with the model's own attention."""
    originals = [one.original for one in measured]
    if not any(originals):
        raise AugenmerkError("All translations are empty: there are no words whose probability could fall.")
    loss = _compute_loss(originals)
    return {
        "sentences": len(measured),
        "words": sum(len(one.word_log_probabilities) for one in measured),
        "tokens": sum(map(len, originals)),
        "loss": loss,
        "perplexity": exp(loss),
    }


def _compute_loss(log_probabilities: Sequence[Sequence[float]]) -> float:
    """Returns the mean loss of the tokens of sentences."""
    return -fsum(chain.from_iterable(log_probabilities)) / sum(map(len, log_probabilities))


@dataclass(frozen=True)
class HeadFaithfulness:
    """What translations lose when one head of a Transformer attends to all source words equally."""

    layer: int
    head: int
    """Both counted from 1."""
    mean_drop: float
    """By how many nats the log-probability of a word falls on average; negative if it rises."""
    perplexity: float
    """The perplexity of the tokens with this head replaced."""


def measure_heads(translator: Translator, translations: Sequence[Translation]) -> dict[str, Any]:
    """Replaces the attention to the source of each head of a Transformer in turn by uniform weights.

    The weights are replaced at all target words at once. Returns a summary of translations that the
    translator made (`translate`) or read (`score_all`), with "heads" as a list of `HeadFaithfulness`.
    """
    model = translator.torch_model
    if not isinstance(model, TransformerTranslator):
        raise AugenmerkError("Heads are replaced one by one in a Transformer only.")
    layers, count = model.config.layers, model.config.attention_heads
    heads = [(layer, head) for layer in range(1, layers + 1) for head in range(1, count + 1)]
    measured = _measure(
        translator, translations, heads, lambda batch: _score_without_heads(model, batch, heads)
    )
    summary = _summarise(measured)
    summary["heads"] = [
        HeadFaithfulness(
            *head,
            fsum(drop for one in measured for drop in one.drops[head]) / summary["words"],
            exp(_compute_loss([one.replaced[head] for one in measured])),
        )
        for head in heads
    ]
    return summary


@torch.inference_mode()
def _score_without_heads(
    model: TransformerTranslator, batch: Batch, heads: Sequence[tuple[int, int]]
) -> list[Tensor]:
    """Returns log-probabilities of the target (B, T), original and with each (layer, head) made uniform."""
    source = model.encode(batch.src, batch.src_mask)
    looks: list[Look | None] = [None, *(_look_alike_with(*each) for each in heads)]
    return [_score_targets(model, model.decode(batch.tgt_in, source, look=look)[0], batch) for look in looks]


def _look_alike_with(layer: int, head: int) -> Look:
    """Returns a function for `TransformerTranslator.decode` by which one head has uniform weights."""

    def look(number: int, attention: Attention, queries: Tensor, memory: Memory) -> Tensor:
        if number + 1 != layer:
            return attention.attend(queries, memory, need_weights=False)[0]
        assert memory.mask is not None
        weights = attention.weigh(queries, memory).clone()
        weights[:, head - 1] = _uniform_weights(weights, memory.mask)[:, head - 1]
        return attention.combine(weights, memory)

    return look
