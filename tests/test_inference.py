"""What is quicker on a CPU is the same: against the translator's own `encode` and `step`."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest
import torch

from augenmerk.config import ATTENTIONS, ModelConfig, RunConfig, SearchConfig
from augenmerk.errors import AugenmerkError
from augenmerk.model import State, inference
from augenmerk.model.inference import GRUInference
from augenmerk.model.translator import GRUTranslator
from augenmerk.text import TokenizerPair
from augenmerk.translate import Translator
from tests.decoding import decode, translator_of

VARIANTS: list[dict[str, Any]] = [
    *({"attention": attention} for attention in ATTENTIONS),
    *({"layers": layers, "tie": tie} for layers in (1, 3) for tie in ("none", "target", "all")),
]


@pytest.mark.parametrize("table_bytes", [0, 1 << 20], ids=["computed", "looked up"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_encode_and_step_are_those_of_the_translator(
    variant: dict[str, Any], table_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "MAX_TABLE_BYTES", table_bytes)
    torch.manual_seed(1)
    config = ModelConfig(embedding=12, hidden=10, key=8, output_dropout=0.5, **variant)
    model = GRUTranslator(config, 70, 70).double().eval()
    src = torch.randint(4, 9, (5, 7))  # words come again
    mask = torch.arange(7) < torch.tensor([7, 1, 4, 7, 2])[:, None]
    with torch.inference_mode():
        fast = GRUInference(model)
        expected, found = model.encode(src, mask), fast.encode(src, mask)
        torch.testing.assert_close(found.start[0], expected.start[0])
        torch.testing.assert_close(found.memory.values[mask], expected.memory.values[mask])
        torch.testing.assert_close(found.memory.keys[mask], expected.memory.keys[mask])
        ours: State = (expected.start[0].repeat(1, 3, 1, 1),)
        theirs = ours
        for _ in range(4):
            tokens = torch.randint(4, 9, (5, 3))
            log_probabilities, weights, theirs = model.step(tokens, theirs, expected.memory)
            our_log_probabilities, our_weights, ours = fast.step(tokens, ours, found.memory)
            torch.testing.assert_close(our_log_probabilities, log_probabilities)
            torch.testing.assert_close(our_weights, weights)
            torch.testing.assert_close(ours[0], theirs[0])


def test_batches_side_by_side_give_what_one_after_another_gives() -> None:
    torch.manual_seed(1)
    model = GRUTranslator(ModelConfig(embedding=12, hidden=10, key=8), 70, 70).eval()
    sources = [[5 + (i * j) % 60 for j in range(1 + i % 9)] for i in range(60)]
    settings = SearchConfig(beam=2, max_length=15)
    before = torch.get_num_threads()
    found = []
    for threads in (1, 3):
        with translator_of([model], threads) as translator:
            found.append(translator.decode(sources, settings, batch_size=8))
        assert torch.get_num_threads() == before
    for alone, together in zip(*found, strict=True):
        assert alone[0].ids == together[0].ids
        np.testing.assert_allclose(alone[0].weights, together[0].weights, rtol=1e-6, atol=1e-5)


def test_trouble_in_one_batch_is_told_and_leaves_the_threads_as_they_were() -> None:
    model = GRUTranslator(ModelConfig(embedding=12, hidden=10, key=8), 70, 70).eval()
    before = torch.get_num_threads()
    with torch.no_grad():
        model.W_o.bias.fill_(float("nan"))
    with translator_of([model], 2) as translator:
        with pytest.raises(AugenmerkError, match="training has diverged"):
            translator.decode([[5, 6]] * 40, SearchConfig(max_length=5), batch_size=10)
        assert torch.get_num_threads() == before


def test_several_threads_may_ask_at_once_and_none_changes_how_many_threads_others_have() -> None:
    torch.manual_seed(1)
    model = GRUTranslator(ModelConfig(embedding=12, hidden=10, key=8), 70, 70).eval()
    sources = [[5 + (i * j) % 60 for j in range(1 + i % 9)] for i in range(40)]
    settings = SearchConfig(beam=2, max_length=15)
    expected = decode([model], sources, settings)
    default = torch.get_num_threads()

    def ask(_: int) -> tuple[list[tuple[int, ...]], int]:
        found = translator.decode(sources, settings, batch_size=8)
        return [best[0].ids for best in found], torch.get_num_threads()

    with translator_of([model], 2) as translator, ThreadPoolExecutor(6) as callers:
        computed_with: set[int] = set()
        step = GRUInference.step

        def spy(self: GRUInference, *arguments: Any) -> Any:
            computed_with.add(torch.get_num_threads())
            return step(self, *arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(GRUInference, "step", spy)
            answers = list(callers.map(ask, range(12)))
    assert computed_with == {1}  # each of the pool's threads computes alone
    assert {threads for _, threads in answers} == {default}  # and nobody else's setting has changed
    assert all(ids == [best[0].ids for best in expected] for ids, _ in answers)
    assert not model.training


def test_a_model_in_training_mode_is_refused() -> None:
    model = GRUTranslator(ModelConfig(embedding=12, hidden=10, key=8), 70, 70).train()
    with pytest.raises(ValueError, match="evaluation mode"):
        Translator([model], cast(TokenizerPair, None), RunConfig())
