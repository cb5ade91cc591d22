"""Both architectures: whole targets against steps, a sentence alone and among others; and a GRU in a loop."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from augenmerk.base.config import ModelConfig
from augenmerk.bench.training import StepByStep
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import TranslationModel, build_model
from augenmerk.text.batching import Batch, ParallelTokens
from tests.support.mechanisms import TRIED
from tests.unit.test_transformer import POSITIONS, transformer

V_SOURCE, V_TARGET = 30, 25


def translator(attention: str = "scaled-dot", **settings: object) -> GRUTranslator:
    torch.manual_seed(3)
    config = ModelConfig.model_validate(
        {"attention": attention, "embedding": 10, "hidden": 8, "key": 8, "heads": 2, **settings}
    )
    return GRUTranslator(config, V_SOURCE, V_TARGET).double().eval()


def data(lengths: list[tuple[int, int]], seed: int = 1) -> ParallelTokens:
    generator = torch.Generator().manual_seed(seed)
    return ParallelTokens.of(
        (
            torch.randint(4, V_SOURCE, (s,), generator=generator).tolist(),
            torch.randint(4, V_TARGET, (t,), generator=generator).tolist(),
        )
        for s, t in lengths
    )


def batch_of(lengths: list[tuple[int, int]], seed: int = 1) -> Batch:
    tokens = data(lengths, seed)
    [batch] = tokens.batches(tokens.plan(len(lengths), shuffle=False))
    return batch.to("cpu")


SHAPES: list[dict[str, Any]] = [{}, {"layers": 2}, {"layers": 3, "tie": "target"}]
MODELS: list[tuple[Callable[..., TranslationModel], dict[str, Any]]] = [
    *((translator, shape) for shape in SHAPES),
    *((transformer, {"positions": positions, "vocabulary": V_SOURCE}) for positions in POSITIONS),
]


@pytest.mark.parametrize(("make", "shape"), MODELS)
@pytest.mark.parametrize("attention", TRIED)
@torch.no_grad()
def test_forward_is_step_by_step(
    make: Callable[..., TranslationModel], attention: str, shape: dict[str, Any]
) -> None:
    model, batch = make(attention, **shape), batch_of([(5, 4), (3, 6), (1, 1), (7, 0)])
    together, weights = model(batch.src, batch.src_mask, batch.tgt_in, need_weights=True)
    fused, nothing = model(batch.src, batch.src_mask, batch.tgt_in)
    assert nothing is None
    torch.testing.assert_close(fused, together)
    source = model.encode(batch.src, batch.src_mask)
    state = source.start
    for i in range(batch.tgt_in.shape[1]):
        single, alpha, state = model.step(batch.tgt_in[:, i : i + 1], state, source.memory)
        torch.testing.assert_close(together[:, i], single[:, 0])
        torch.testing.assert_close(weights[:, i], alpha[:, 0])


@pytest.mark.parametrize("attention", TRIED)
@settings(max_examples=8)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5),
    make=st.sampled_from([*[MODELS[1]] * 3, *MODELS[3:]]),
    seed=st.integers(0, 2**31),
)
@torch.no_grad()
def test_a_sentence_is_the_same_alone_and_in_any_batch(
    attention: str,
    lengths: list[tuple[int, int]],
    make: tuple[Callable[..., TranslationModel], dict[str, Any]],
    seed: int,
) -> None:
    """No padding leaks: not through the backward GRU, the mean or g_0, and not into any head."""
    model, batch = make[0](attention, **make[1]), batch_of(lengths, seed)
    together, weights = model(batch.src, batch.src_mask, batch.tgt_in, need_weights=True)
    all_heads = model.attention_weights(batch.src, batch.src_mask, batch.tgt_in)
    for row, index in enumerate(batch.indices.tolist()):
        s, t = (length + 1 for length in lengths[index])
        one = slice(row, row + 1)
        inputs = (batch.src[one, :s], batch.src_mask[one, :s], batch.tgt_in[one, :t])
        alone, alone_weights = model(*inputs, need_weights=True)
        torch.testing.assert_close(together[row, :t], alone[0])
        torch.testing.assert_close(weights[row, :t, :s], alone_weights[0])
        assert not weights[row, :, s:].any()
        for part, part_alone in zip(all_heads, model.attention_weights(*inputs), strict=True):
            if part is not None and part_alone is not None:
                rows, columns = part_alone.shape[-2:]
                torch.testing.assert_close(part[row, :, :, :rows, :columns], part_alone[0])


def test_the_encoder_is_torchs_own() -> None:
    """Against a bidirectional nn.GRU on packed sequences, which never read padding either."""
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    model = translator()
    theirs = torch.nn.GRU(10, 8, batch_first=True, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for name, parameter in model.encoder.forwards[0].named_parameters():
            getattr(theirs, name).copy_(parameter)
        for name, parameter in model.encoder.backwards[0].named_parameters():
            getattr(theirs, f"{name}_reverse").copy_(parameter)
    batch = batch_of([(6, 1), (4, 1), (2, 1)])
    z = model.W_z(batch.src)
    packed = pack_padded_sequence(z, batch.src_lengths, batch_first=True, enforce_sorted=False)
    output, last = theirs(packed)
    expected, _ = pad_packed_sequence(output, batch_first=True)
    h, [end] = model.encoder(z, batch.src_mask)
    torch.testing.assert_close(h[batch.src_mask], expected[batch.src_mask])
    torch.testing.assert_close(end, torch.cat([last[0], last[1]], dim=-1))


@pytest.mark.parametrize("attention", TRIED)
def test_the_loop_gives_the_same_loss_and_gradients(attention: str) -> None:
    model, batch = translator(attention), batch_of([(5, 4), (3, 6), (1, 1), (7, 3)])

    def gradients(loss: torch.Tensor) -> dict[str, torch.Tensor]:
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}

    log_probabilities, _ = model(batch.src, batch.src_mask, batch.tgt_in)
    chosen = log_probabilities.gather(2, batch.tgt_out[:, :, None])[:, :, 0]
    ours = -chosen[batch.tgt_mask].sum()
    reference = StepByStep(model).loss(batch)
    torch.testing.assert_close(ours, reference, rtol=1e-6, atol=1e-6)
    our_gradients, their_gradients = gradients(ours), gradients(reference)
    assert our_gradients.keys() == their_gradients.keys()
    for name, gradient in our_gradients.items():
        torch.testing.assert_close(gradient, their_gradients[name], rtol=1e-5, atol=1e-5)


def test_weights_of_words_are_tied_and_what_fills_up_is_no_word() -> None:
    model, batch = translator(), batch_of([(3, 2)])
    assert model.W_o.weight.shape[0] == 64
    log_probabilities, _ = model(batch.src, batch.src_mask, batch.tgt_in)
    assert log_probabilities.shape[-1] == V_TARGET
    torch.testing.assert_close(log_probabilities.exp().sum(-1), torch.ones(1, 3).double())
    config = ModelConfig(embedding=10, hidden=8, key=8, tie="all")
    model = GRUTranslator(config, V_TARGET, V_TARGET)
    assert model.W_z.weight is model.W_b.weight is model.W_o.weight
    words = ("W_z.weight", "W_b.weight", "W_o.weight")
    assert sum(name.endswith(words) for name, _ in model.named_parameters()) == 1


@pytest.mark.parametrize(
    "settings", [{}, {"init": "orthogonal"}, {"architecture": "transformer", "layers": 2}]
)
def test_mechanisms_begin_with_the_same_weights_elsewhere(settings: dict[str, object]) -> None:
    """Under one seed, so that studies compare pairs of runs."""

    def beginning(attention: str) -> dict[str, torch.Tensor]:
        torch.manual_seed(1)
        config = ModelConfig.model_validate(
            {"attention": attention, "embedding": 12, "key": 8, "hidden": 8, **settings}
        )
        return build_model(config, V_SOURCE, V_TARGET).state_dict()

    first = beginning("none")
    for attention in TRIED:
        found = beginning(attention)
        elsewhere = {name for name in found if not name.startswith(("attention.", "attentions."))}
        assert elsewhere == first.keys()
        assert all(torch.equal(found[name], first[name]) for name in elsewhere)


def test_orthogonal_beginnings() -> None:
    model = translator(tie="target", init="orthogonal", hidden=32)
    for gru in [*model.encoder.forwards, *model.encoder.backwards, model.decoder]:
        assert isinstance(gru, nn.GRU)
        for name, parameter in gru.named_parameters():
            if name.startswith("bias"):
                assert not parameter.any()
            if name.startswith("weight_hh"):
                for gate in parameter.chunk(3):
                    one = torch.eye(32, dtype=gate.dtype)
                    torch.testing.assert_close(gate @ gate.T, one, atol=1e-6, rtol=0)
    assert 0.2 < model.W_b.weight.std().item() < 0.3
    assert model.W_o.weight is model.W_b.weight
