"""The translator: whole targets against single steps, one sentence against many, ours against the loop."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from augenmerk.base.config import ATTENTIONS, ModelConfig
from augenmerk.bench.training import StepByStep
from augenmerk.model.gru import GRUTranslator
from augenmerk.text.batching import ParallelTokens

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


SHAPES = [{}, {"layers": 2}, {"tie": "target"}, {"layers": 3, "tie": "target"}]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_forward_is_step_by_step(attention: str, shape: dict[str, object]) -> None:
    model = translator(attention, **shape)
    tokens = data([(5, 4), (3, 6), (1, 1), (7, 0)])
    [batch] = tokens.batches(tokens.plan(4, shuffle=False))
    batch = batch.to("cpu")
    together, weights = model(batch.src, batch.src_mask, batch.tgt_in, need_weights=True)
    source = model.encode(batch.src, batch.src_mask)
    g = source.start
    for i in range(batch.tgt_in.shape[1]):
        single, alpha, g = model.step(batch.tgt_in[:, i : i + 1], g, source.memory)
        torch.testing.assert_close(together[:, i], single[:, 0])
        torch.testing.assert_close(weights[:, i], alpha[:, 0])


@pytest.mark.parametrize("attention", ATTENTIONS)
@settings(max_examples=15)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6),
    seed=st.integers(0, 2**31),
)
def test_a_sentence_is_the_same_alone_and_in_any_batch(
    attention: str, lengths: list[tuple[int, int]], seed: int
) -> None:
    """No padding leaks: not through the backward GRU, not through the mean, not through g_0."""
    model = translator(attention, layers=2)
    tokens = data(lengths, seed)
    [batch] = tokens.batches(tokens.plan(len(lengths), shuffle=False))
    batch = batch.to("cpu")
    together, weights = model(batch.src, batch.src_mask, batch.tgt_in, need_weights=True)
    start = model.encode(batch.src, batch.src_mask).start
    for row, index in enumerate(batch.indices.tolist()):
        s, t = (length + 1 for length in lengths[index])
        alone, alone_weights = model(
            batch.src[row : row + 1, :s],
            batch.src_mask[row : row + 1, :s],
            batch.tgt_in[row : row + 1, :t],
            need_weights=True,
        )
        torch.testing.assert_close(together[row, :t], alone[0])
        torch.testing.assert_close(weights[row, :t, :s], alone_weights[0])
        assert not weights[row, :, s:].any()
        one = model.encode(batch.src[row : row + 1, :s], batch.src_mask[row : row + 1, :s])
        torch.testing.assert_close(start[0][row : row + 1], one.start[0])


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
    tokens = data([(6, 1), (4, 1), (2, 1)])
    [batch] = tokens.batches(tokens.plan(3, shuffle=False))
    batch = batch.to("cpu")
    z = model.W_z(batch.src)
    packed = pack_padded_sequence(z, batch.src_lengths, batch_first=True, enforce_sorted=False)
    output, last = theirs(packed)
    expected, _ = pad_packed_sequence(output, batch_first=True)
    h, [end] = model.encoder(z, batch.src_mask)
    torch.testing.assert_close(h[batch.src_mask], expected[batch.src_mask])
    torch.testing.assert_close(end, torch.cat([last[0], last[1]], dim=-1))


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_loop_gives_the_same_loss_and_gradients(attention: str) -> None:
    model = translator(attention)
    tokens = data([(5, 4), (3, 6), (1, 1), (7, 3)])
    [batch] = tokens.batches(tokens.plan(4, shuffle=False))
    batch = batch.to("cpu")

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


def test_probabilities_are_over_the_vocabulary_and_not_over_what_fills_it_up() -> None:
    model = translator()
    assert model.W_o.weight.shape[0] == 64
    tokens = data([(3, 2)])
    [batch] = tokens.batches(tokens.plan(1))
    batch = batch.to("cpu")
    log_probabilities, _ = model(batch.src, batch.src_mask, batch.tgt_in)
    assert log_probabilities.shape[-1] == V_TARGET
    torch.testing.assert_close(log_probabilities.exp().sum(-1), torch.ones(1, 3).double())


def test_tied_weights_are_one() -> None:
    config = ModelConfig(embedding=10, hidden=8, key=8, tie="all")
    model = GRUTranslator(config, V_TARGET, V_TARGET)
    assert model.W_z.weight is model.W_b.weight is model.W_o.weight
    assert (
        sum(name.endswith(("W_z.weight", "W_b.weight", "W_o.weight")) for name, _ in model.named_parameters())
        == 1
    )


def test_mechanisms_begin_with_the_same_weights_elsewhere() -> None:
    """Under one seed, so that studies compare pairs of runs."""
    first = dict(translator("none").named_parameters())
    for attention in ATTENTIONS:
        elsewhere = {
            name: parameter
            for name, parameter in translator(attention).named_parameters()
            if not name.startswith("attention.")
        }
        assert elsewhere.keys() == first.keys()
        for name, parameter in elsewhere.items():
            assert torch.equal(parameter, first[name]), name


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


def test_beginnings_are_the_same_whatever_the_mechanism() -> None:
    one, other = (translator(name, init="orthogonal").state_dict() for name in ("additive", "mean"))
    for name in other:
        torch.testing.assert_close(one[name], other[name], rtol=0, atol=0)
