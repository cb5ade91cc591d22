"""What numpy computes is what torch computes, also on several threads at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from augenmerk.base.arrays import Array, to_numpy
from augenmerk.base.config import ATTENTIONS, ModelConfig, RunConfig, SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.model import InferenceModel, build_inference_model
from augenmerk.model.interface import TranslationModel, build_model
from augenmerk.search.decoder import Hypothesis, Memory, State
from augenmerk.text.batching import ParallelTokens
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.translation import Translator
from augenmerk.translation.loading import one_thread_per_product
from tests.support.decoding import decode, translator_of
from tests.support.mechanisms import TRIED

SIZES: dict[str, Any] = {"embedding": 16, "key": 8, "heads": 2, "output_dropout": 0.5}
GRU = {"architecture": "gru", "hidden": 10, "attention": "scaled-dot"}
TRANSFORMER = {"architecture": "transformer", "attention": "multi-head", "layers": 2}
VARIANTS: list[dict[str, Any]] = [
    *({**GRU, "attention": attention} for attention in ATTENTIONS),
    *({**GRU, "layers": layers, "tie": tie} for layers in (1, 3) for tie in ("none", "target", "all")),
    *({**GRU, "attention": attention, "tie": "target"} for attention in ("none", "additive", "multi-head")),
    *({**kind, "attention": "scaled-dot", "key": 16} for kind in (GRU, TRANSFORMER)),  # one matrix for two
    *({**TRANSFORMER, "attention": attention} for attention in ATTENTIONS),
    *({**TRANSFORMER, "tie": tie} for tie in ("none", "target", "all")),
    *({**TRANSFORMER, "transformer": {"positions": kind}} for kind in ("sinusoidal", "learnt", "rotary")),
]


def assert_close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-9, atol=1e-9)


def make(variant: dict[str, Any], dtype: torch.dtype = torch.float64) -> TranslationModel:
    """Makes a model; in double precision by default, so that rounding hides no difference."""
    torch.manual_seed(1)
    model = build_model(ModelConfig.model_validate({**SIZES, **variant}), 70, 80).eval()
    # Larger weights, so that attention is not nearly uniform, and biases that are not 0.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter * 2 + 0.1 * torch.randn_like(parameter))
    return model.to(dtype)


def in_numpy(model: TranslationModel) -> InferenceModel:
    model_in_numpy = model.for_inference()
    assert isinstance(model_in_numpy, InferenceModel)
    return model_in_numpy


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_encoding_and_steps_are_those_of_torch(variant: dict[str, Any]) -> None:
    model = make(variant)
    ours = in_numpy(model)
    rng = np.random.default_rng(1)
    src = rng.integers(4, 9, (5, 7))  # words come again
    mask = np.arange(7) < np.array([7, 1, 4, 7, 2])[:, None]
    with torch.inference_mode():
        expected = model.encode(torch.from_numpy(src), torch.from_numpy(mask))
        found = ours.encode(src, mask)
        theirs: State = tuple(part[:, [0] * 3] for part in expected.start)
        state: State = tuple(part[:, [0] * 3] for part in found.start)
        for _ in range(4):
            tokens = rng.integers(4, 9, (5, 3))
            log_probs, weights, theirs = model.step(torch.from_numpy(tokens), theirs, expected.memory)
            our_log_probs, our_weights, state = ours.step(tokens, state, found.memory)
            assert_close(our_log_probs, log_probs)
            assert_close(our_weights, weights)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_whole_targets_are_scored_and_looked_at_as_torch_does(variant: dict[str, Any]) -> None:
    model = make(variant)
    ours = in_numpy(model)
    pairs = [([5, 6, 7, 5], [9, 8]), ([4], [4, 5, 6, 7, 8]), ([8, 8, 8, 8, 8, 8], [])]
    data = ParallelTokens.of(pairs)
    [batch] = data.batches(data.plan(3, shuffle=False))
    theirs = batch.to("cpu")
    assert_close(ours.target_log_probs(batch), model.target_log_probs(theirs))
    found = ours.attention_weights(batch.src, batch.src_mask, batch.tgt_in)
    with torch.inference_mode():
        expected = model.attention_weights(theirs.src, theirs.src_mask, theirs.tgt_in)
    T, S = batch.tgt_mask[:, None, None, :, None], batch.src_mask[:, None, None, :, None]
    for ours_of, theirs_of, real in zip(found, expected, (T, S, T), strict=True):
        assert (ours_of is None) == (theirs_of is None)
        if ours_of is not None:
            assert ours_of.shape == tuple(theirs_of.shape)
            assert_close(np.where(real, ours_of, 0), np.where(real, theirs_of, 0))


SEARCHES = {
    "greedy": SearchConfig(max_length=12),
    "beam 4": SearchConfig(beam=4, n_best=4, length_penalty=1.0, max_length=12),
    "samples": SearchConfig(sample=True, n_best=3, max_length=12, top_k=5),
}
SOURCES = [[5 + (i * j) % 60 for j in range(1 + i % 9)] for i in range(23)]


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.finished == other.finished
            assert one.score == pytest.approx(other.score, rel=1e-4)
            assert_close(one.token_log_probabilities, other.token_log_probabilities)
            width = min(one.weights.shape[1], other.weights.shape[1])
            assert_close(one.weights[:, :width], other.weights[:, :width])


@pytest.mark.parametrize("how", SEARCHES)
@pytest.mark.parametrize(
    "variant",
    [
        *({**GRU, "attention": attention} for attention in TRIED),
        TRANSFORMER,
        {**TRANSFORMER, "attention": "coverage"},
    ],
    ids=str,
)
def test_either_library_finds_the_same_translations(variant: dict[str, Any], how: str) -> None:
    model, settings = make(variant), SEARCHES[how]
    with translator_of([model], torch=True) as with_torch, translator_of([model]) as with_numpy:
        expected = with_torch.decode(SOURCES, settings)
        for batch_size in (1, 7):
            assert_same(with_numpy.decode(SOURCES, settings, batch_size=batch_size), expected)
        targets = [list(hypotheses[0].ids) for hypotheses in expected]
        assert_same(
            with_numpy.decode(SOURCES, settings, targets=targets),
            with_torch.decode(SOURCES, settings, targets=targets),
        )


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_single_precision_stays_single(variant: dict[str, Any]) -> None:
    model = make(variant, torch.float32)
    ours, src = in_numpy(model), np.array([[5, 6, 7, 2], [8, 2, 0, 0]])
    source = ours.encode(src, src > 0)
    log_probs, weights, state = ours.step(np.array([[1], [1]]), source.start, source.memory)
    for array in (log_probs, weights, *state, source.memory.keys, source.memory.values):
        assert array.dtype == np.float32
    with torch.inference_mode():
        theirs = model.encode(torch.from_numpy(src), torch.from_numpy(src > 0))
        expected, _, _ = model.step(torch.tensor([[1], [1]]), theirs.start, theirs.memory)
    np.testing.assert_allclose(log_probs, expected.numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("how", SEARCHES)
def test_either_library_finds_the_same_with_an_ensemble(how: str) -> None:
    models = [make(variant) for variant in (GRU, {**GRU, "attention": "additive"}, TRANSFORMER)]
    with translator_of(models, torch=True) as with_torch, translator_of(models) as with_numpy:
        assert_same(with_numpy.decode(SOURCES, SEARCHES[how]), with_torch.decode(SOURCES, SEARCHES[how]))


def test_a_table_of_words_is_a_matter_of_memory_only(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make({**GRU, "layers": 2})
    looked_up = decode([model], SOURCES, SEARCHES["greedy"])
    monkeypatch.setattr("augenmerk.inference.gru.MAX_TABLE_BYTES", 0)
    assert_same(decode([model], SOURCES, SEARCHES["greedy"]), looked_up)


@pytest.mark.parametrize("variant", [GRU, TRANSFORMER], ids=str)
def test_few_vectors_are_multiplied_singly(variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model, settings = make(variant), SEARCHES["beam 4"]
    expected = decode([model], SOURCES, settings, batch_size=1)
    monkeypatch.setattr("augenmerk.inference.model.MANY_COLUMNS", 1)
    assert_same(decode([model], SOURCES, settings, batch_size=1), expected)


@pytest.mark.parametrize("variant", [GRU, TRANSFORMER], ids=str)
def test_weights_of_another_model_are_refused(variant: dict[str, Any]) -> None:
    model = make(variant, torch.float32)
    arrays = {name: to_numpy(tensor) for name, tensor in model.state_dict().items()}
    name = next(iter(arrays))
    for wrong, complaint in (
        ({key: array for key, array in arrays.items() if key != name}, f"here is not .*: {name} is absent"),
        ({**arrays, "more": arrays[name]}, "more is .* and should be absent"),
        ({**arrays, name: arrays[name][:3]}, rf"{name} is 3 x .* \(float32\) and should be .* x"),
        ({**arrays, name: arrays[name].astype(np.int64)}, f"{name} is .* \\(int64\\) and should be"),
    ):
        with pytest.raises(AugenmerkError, match=complaint):
            build_inference_model(model.config, wrong, 70, 80, "here")


@pytest.mark.parametrize("torch_too", [False, True], ids=["numpy", "torch"])
def test_trouble_in_one_batch_is_told_and_leaves_the_threads_as_they_were(torch_too: bool) -> None:
    model = make(GRU)
    before = torch.get_num_threads()
    with torch.no_grad():
        model.state_dict()["W_o.bias"].fill_(float("nan"))
    with translator_of([model], 2, torch=torch_too) as translator:
        with pytest.raises(AugenmerkError, match="training has diverged"):
            translator.decode([[5, 6]] * 40, SearchConfig(max_length=5), batch_size=10)
        assert torch.get_num_threads() == before


def test_several_threads_may_ask_at_once_and_none_changes_how_many_threads_others_have() -> None:
    model, settings = make(GRU), SearchConfig(beam=2, max_length=15)
    sources = [[5 + (i * j) % 60 for j in range(1 + i % 9)] for i in range(40)]
    expected = [best[0].ids for best in decode([model], sources, settings)]
    default = torch.get_num_threads()

    def ask(_: int) -> tuple[list[tuple[int, ...]], int]:
        found = translator.decode(sources, settings, batch_size=8)
        return [best[0].ids for best in found], torch.get_num_threads()

    with translator_of([model], 2) as translator, ThreadPoolExecutor(6) as callers:
        assert all(answer == (expected, default) for answer in callers.map(ask, range(6)))

    with translator_of([model], 2, torch=True) as translator, ThreadPoolExecutor(6) as callers:
        computed_with: set[int] = set()
        step = type(model).step

        def spy(self: Any, tokens: Any, state: State, memory: Memory) -> Any:
            computed_with.add(torch.get_num_threads())
            return step(self, tokens, state, memory)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(model), "step", spy)
            answers = list(callers.map(ask, range(6)))
    assert computed_with == {1}  # each of the pool's threads computes alone
    assert all(answer == (expected, default) for answer in answers)  # and nobody else's setting has changed


def test_callers_leave_the_threads_of_products_as_they_were() -> None:
    before = threadpool_info()
    decode([make(GRU)], SOURCES, SEARCHES["greedy"], batch_size=4)
    assert threadpool_info() == before

    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    before = threads()
    first, second = one_thread_per_product(), one_thread_per_product()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}  # the second is still inside
    second.__exit__(None, None, None)
    assert threads() == before


def test_a_model_in_training_mode_is_refused() -> None:
    model = make(GRU).train()
    with pytest.raises(ValueError, match="evaluation mode"):
        Translator([model], cast(TokenizerPair, None), RunConfig())
