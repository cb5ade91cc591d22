"""Replaced attention, against a decoder that takes one step at a time and is told where to look."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from augenmerk import AugenmerkError, Translation
from augenmerk.analysis.faithfulness import (
    PERMUTATIONS,
    REPLACEMENTS,
    measure_faithfulness,
    permute_weights,
    summarise,
)
from augenmerk.base.config import RunConfig
from augenmerk.data import open_bitext
from augenmerk.model.gru import GRUTranslator
from augenmerk.text.tokenizer import BOS, EOS, TokenizerPair
from augenmerk.translation import Translator

PAIRS = list(open_bitext("bilderbuch", pairs=40)["train"])


def untrained(attention: str) -> Translator:
    """What is measured holds for any weights; these are far from flat, so that it matters where one looks."""
    config = RunConfig.model_validate(
        {
            "text": {"unit": "bpe", "vocabulary_size": 400},
            "model": {"attention": attention, "embedding": 12, "hidden": 16, "key": 16, "heads": 4},
            "search": {"max_length": 12},
        }
    )
    tokenizers = TokenizerPair.train(PAIRS, config.text)
    torch.manual_seed(3)
    model = GRUTranslator(config.model, tokenizers.source.size, tokenizers.target.size).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    return Translator([model], tokenizers, config)


def read(translator: Translator, count: int) -> list[Translation]:
    return translator.score_all([(pair.source, pair.target) for pair in PAIRS[:count]])


@torch.no_grad()
def step_by_step(translator: Translator, translation: Translation, replacement: str) -> list[float]:
    """The log-probability of each token when every step is given other weights, from the equations."""
    model = translator.torch_model
    assert isinstance(model, GRUTranslator)
    [ids] = translator.tokenizers.source.encode_ids([translation.source])
    source = model.encode(torch.tensor([[*ids, EOS]]), torch.ones(1, len(ids) + 1, dtype=torch.bool))
    assert translation.hypothesis is not None
    target = [*translation.hypothesis.ids, EOS]
    g, before, found = source.start[0][:, 0].transpose(0, 1).contiguous(), BOS, []
    S = len(ids) + 1
    for place, token in enumerate(target):
        output, g = model.decoder(model.W_b(torch.tensor([[before]])), g)
        own = model.attention.weigh(output, source.memory)
        if replacement == "uniform":
            variants = [torch.full_like(own, 1 / S)]
        elif replacement == "permuted":
            # The permutation of every position of the sentence, of which this one is the last.
            whole = own.expand(*own.shape[:-2], len(target), S)
            variants = [
                permute_weights(whole, [S], 1 + deal)[..., place : place + 1, :]
                for deal in range(PERMUTATIONS)
            ]
        else:
            variants = [own]
        values = []
        for weights in variants:
            context = model.attention.combine(weights, source.memory)
            logits = model.output(torch.cat([context, output], dim=-1))
            values.append(float(logits.log_softmax(-1)[0, 0, token]))
        found.append(sum(values) / len(values))
        before = token
    return found


@pytest.mark.parametrize("attention", ["scaled-dot", "additive", "multi-head"])
def test_all_positions_at_once_are_what_single_steps_give(attention: str) -> None:
    translator = untrained(attention)
    for one in measure_faithfulness(translator, read(translator, 6)):
        assert one.translation.hypothesis is not None
        assert one.original == pytest.approx(one.translation.hypothesis.token_log_probabilities, abs=1e-4)
        assert one.original == pytest.approx(step_by_step(translator, one.translation, "none"), abs=1e-4)
        for name in REPLACEMENTS:
            replaced = step_by_step(translator, one.translation, name)
            assert one.replaced[name] == pytest.approx(replaced, abs=1e-4)


def test_uniform_attention_loses_nothing_and_none_is_refused() -> None:
    translator = untrained("mean")
    summary = summarise(measure_faithfulness(translator, read(translator, 20)))
    for name in REPLACEMENTS:
        assert summary[name]["mean_drop"] == pytest.approx(0, abs=1e-5)
        assert summary[name]["share_that_falls"] == 0
        assert summary[name]["perplexity"] == pytest.approx(summary["perplexity"], rel=1e-4)
    translator = untrained("none")
    with pytest.raises(AugenmerkError, match="attends to nothing"):
        measure_faithfulness(translator, read(translator, 1))


def test_what_was_cut_off_has_no_end_and_what_is_empty_no_words() -> None:
    translator = untrained("scaled-dot")
    [long] = translator.translate([PAIRS[0].source], max_length=3, beam=1)
    empty = Translation(source="", text="")
    cut_off, nothing = measure_faithfulness(translator, [replace(long), empty])
    assert len(cut_off.original) == 3
    assert len(cut_off.drops["uniform"]) == len(long.target_words)
    assert nothing.original == ()
    assert nothing.drops["uniform"] == ()
    assert nothing.mean_drop == 0
    assert summarise([cut_off, nothing])["tokens"] == 3
    with pytest.raises(AugenmerkError, match="All translations are empty"):
        summarise([nothing])


def test_drops_of_words_sum_up_to_those_of_their_subwords() -> None:
    translator = untrained("scaled-dot")
    measured = measure_faithfulness(translator, read(translator, 10))
    summary = summarise(measured)
    for one in measured:
        assert sum(one.word_log_probabilities) == pytest.approx(sum(one.original))
        assert len(one.drops["uniform"]) == len(one.translation.target_words)
    drop = summary["uniform"]["mean_drop"] * summary["words"] / summary["tokens"]
    assert summary["uniform"]["loss"] - summary["loss"] == pytest.approx(drop)
    assert summary["perplexity"] == pytest.approx(math.exp(summary["loss"]))


def test_a_deal_moves_the_weights_of_real_words_only() -> None:
    lengths = [6, 4, 1]
    weights = torch.rand(3, 2, 4, 6)
    for sentence, length in enumerate(lengths):
        weights[sentence, ..., length:] = 0
    moved = permute_weights(weights, lengths, seed=7)
    for sentence, length in enumerate(lengths):
        assert (moved[sentence, ..., length:] == 0).all()
        torch.testing.assert_close(moved[sentence].sort(-1).values, weights[sentence].sort(-1).values)
    assert not torch.equal(moved, weights)
    # All heads are permuted alike: what one position gives away, all heads give to the same place.
    both = permute_weights(_numbered(weights), lengths, seed=7)
    assert torch.equal(both[:, 0], both[:, 1])


def _numbered(like: Tensor) -> Tensor:
    return torch.arange(like.shape[-1]).expand_as(like)
