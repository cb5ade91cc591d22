"""What is quicker on a CPU is the same: against the translator's own `encode` and `step`."""

from typing import Any

import pytest
import torch

from augenmerk.batching import TokenTable
from augenmerk.config import ATTENTIONS, ModelConfig, SearchConfig
from augenmerk.errors import AugenmerkError
from augenmerk.model.inference import FastTranslator
from augenmerk.model.translator import Translator
from augenmerk.translate import hypotheses_of

VARIANTS: list[dict[str, Any]] = [
    *({"attention": attention} for attention in ATTENTIONS),
    *({"layers": layers, "tie": tie} for layers in (1, 3) for tie in ("none", "target", "all")),
]


@pytest.mark.parametrize("words", [1, 10_000], ids=["computed", "looked up"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_encode_and_step_are_those_of_the_translator(variant: dict[str, Any], words: int) -> None:
    torch.manual_seed(1)
    config = ModelConfig(embedding=12, hidden=10, key=8, output_dropout=0.5, **variant)
    model = Translator(config, 70, 70).double().eval()
    src = torch.randint(4, 9, (5, 7))  # words come again
    mask = torch.arange(7) < torch.tensor([7, 1, 4, 7, 2])[:, None]
    with torch.inference_mode():
        fast = FastTranslator(model, words)
        expected, found = model.encode(src, mask), fast.encode(src, mask)
        torch.testing.assert_close(found.start, expected.start)
        torch.testing.assert_close(found.memory.values[mask], expected.memory.values[mask])
        torch.testing.assert_close(found.memory.keys[mask], expected.memory.keys[mask])
        ours = theirs = expected.start[:, :, None].repeat(1, 1, 3, 1)
        for _ in range(4):
            tokens = torch.randint(4, 9, (5, 3))
            log_probabilities, weights, theirs = model.step(tokens, theirs, expected.memory)
            our_log_probabilities, our_weights, ours = fast.step(tokens, ours, found.memory)
            torch.testing.assert_close(our_log_probabilities, log_probabilities)
            torch.testing.assert_close(our_weights, weights)
            torch.testing.assert_close(ours, theirs)


def test_batches_side_by_side_give_what_one_after_another_gives() -> None:
    torch.manual_seed(1)
    model = Translator(ModelConfig(embedding=12, hidden=10, key=8), 70, 70).eval()
    sources = TokenTable.of([[5 + (i * j) % 60 for j in range(1 + i % 9)] for i in range(60)])
    config = SearchConfig(beam=2, max_length=15)
    before = torch.get_num_threads()
    found = []
    try:
        for cores in (1, 3):
            torch.set_num_threads(cores)
            found.append(hypotheses_of(model, sources, config, batch_size=8))
            assert torch.get_num_threads() == cores
    finally:
        torch.set_num_threads(before)
    for alone, together in zip(*found, strict=True):
        assert alone[0].ids == together[0].ids
        torch.testing.assert_close(alone[0].weights, together[0].weights)


def test_trouble_in_one_batch_is_told_and_leaves_the_threads_as_they_were() -> None:
    model = Translator(ModelConfig(embedding=12, hidden=10, key=8), 70, 70).eval()
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with torch.no_grad():
            model.W_o.bias.fill_(float("nan"))
        with pytest.raises(AugenmerkError, match="training has diverged"):
            hypotheses_of(model, TokenTable.of([[5, 6]] * 40), SearchConfig(max_length=5), batch_size=10)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
