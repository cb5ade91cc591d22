"""Every mechanism against its formula, against torch, and against the original contract."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from augenmerk import Dummy, MeanPool, SingleQueryScaledDotProductAttention
from augenmerk.base.config import ATTENTIONS, ModelConfig
from augenmerk.mechanisms.classic import Additive, Bilinear, Dot, MultiHead, ScaledDot
from augenmerk.model.attention import (
    Attention,
    ScaledDotAttention,
    make_attention,
)

H = 6
CONFIG = ModelConfig(hidden=H, key=8, heads=2)


def mechanism(name: str) -> Attention:
    torch.manual_seed(0)
    return make_attention(CONFIG.model_copy(update={"attention": name})).double()


def inputs(B: int = 3, T: int = 4, S: int = 5, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, states, and a mask that leaves sentence n with n words fewer."""
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(B, T, H, generator=generator, dtype=torch.float64)
    states = torch.randn(B, S, 2 * H, generator=generator, dtype=torch.float64)
    mask = torch.arange(S) < (S - torch.arange(B) % S)[:, None]
    return queries, states, mask


# What holds of users' mechanisms too, such as that padding changes nothing: test_mechanism_trial.py
@pytest.mark.parametrize("name", ATTENTIONS)
@settings(max_examples=10)
@given(B=st.integers(1, 4), T=st.integers(1, 5), S=st.integers(1, 7), seed=st.integers(0, 2**31))
def test_weights_are_a_distribution_over_real_words(name: str, B: int, T: int, S: int, seed: int) -> None:
    queries, states, mask = inputs(B, T, S, seed)
    context, weights = mechanism(name)(queries, states, mask)
    assert context.shape == (B, T, 2 * H)
    assert weights.shape == (B, T, S)
    assert (weights >= 0).all()
    assert (weights.masked_select(~mask[:, None].expand_as(weights)) == 0).all()
    total = torch.zeros(B, T) if name == "none" else torch.ones(B, T)
    torch.testing.assert_close(weights.sum(-1), total.double())


@pytest.mark.parametrize("name", ATTENTIONS)
def test_gradients_by_finite_differences(name: str) -> None:
    queries, states, mask = inputs(2, 2, 3)
    attention = mechanism(name)

    def context(q: Tensor, h: Tensor) -> Tensor:
        return attention(q, h, mask)[0]  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(context, (queries.requires_grad_(), states.requires_grad_()))


def expected_weights(attention: Attention, g: Tensor, h: Tensor) -> Tensor:
    """One query, one sentence without padding: the formula of each docstring, word by word."""
    scores = []
    for h_t in h:
        match attention:
            case ScaledDot():
                q, k = attention.W_q.weight @ g, attention.W_k.weight @ h_t
                scores.append(q @ k / math.sqrt(len(k)))
            case Dot():
                scores.append(g @ (h_t[:H] + h_t[H:]))
            case Bilinear():
                scores.append(g @ attention.W.weight @ h_t)
            case Additive():
                inside = attention.W_q.weight @ g + attention.W_k.weight @ h_t + attention.W_k.bias
                scores.append(attention.w.weight[0] @ torch.tanh(inside))
            case _:
                raise AssertionError(attention)
    exponentials = [math.exp(score.item()) for score in scores]
    return torch.tensor([e / sum(exponentials) for e in exponentials], dtype=torch.float64)


@pytest.mark.parametrize("name", ["scaled-dot", "dot", "bilinear", "additive"])
def test_formulas(name: str) -> None:
    queries, states, _ = inputs(1, 2, 4)
    attention = mechanism(name)
    context, weights = attention(queries, states)
    for i, g in enumerate(queries[0]):
        alpha = expected_weights(attention, g, states[0])
        torch.testing.assert_close(weights[0, i], alpha)
        torch.testing.assert_close(context[0, i], sum(a * h for a, h in zip(alpha, states[0], strict=True)))


def test_mean_and_none() -> None:
    queries, states, mask = inputs()
    context, weights = mechanism("mean")(queries, states, mask)
    for n in range(len(states)):
        torch.testing.assert_close(context[n, 0], states[n][mask[n]].mean(dim=0))
        torch.testing.assert_close(weights[n, 0], mask[n].double() / mask[n].sum())
    context, weights = mechanism("none")(queries, states, mask)
    assert not context.any()
    assert not weights.any()


def test_multi_head_is_torchs_own() -> None:
    """Against nn.MultiheadAttention, an independent implementation, on the same weights."""
    attention = mechanism("multi-head")
    assert isinstance(attention, MultiHead)
    queries, states, mask = inputs()
    theirs = torch.nn.MultiheadAttention(
        8, 2, bias=False, kdim=2 * H, vdim=2 * H, batch_first=True, dtype=torch.float64
    )
    identity = torch.eye(8, dtype=torch.float64)
    assert theirs.q_proj_weight is not None
    with torch.no_grad():
        theirs.q_proj_weight.copy_(identity)
        theirs.k_proj_weight.copy_(attention.W_k.weight)
        theirs.v_proj_weight.copy_(attention.W_v.weight)
        theirs.out_proj.weight.copy_(identity)
    context, weights = theirs(attention.W_q(queries), states, states, key_padding_mask=~mask)
    ours, our_weights = attention(queries, states, mask)
    torch.testing.assert_close(ours, attention.W_a(context))
    torch.testing.assert_close(our_weights, weights)


# The three classes of the original course code


def test_the_original_classes_compute_what_ours_do() -> None:
    torch.manual_seed(0)
    attn = SingleQueryScaledDotProductAttention(H, H, kq_dim=8).double()
    ours = ScaledDotAttention(H, 2 * H, 8).double()
    ours.load_state_dict(attn.state_dict())
    queries, states, _ = inputs()
    attended_val, alpha = attn(queries[:, 0], states.transpose(0, 1))
    context, weights = ours(queries[:, :1], states)
    torch.testing.assert_close(attended_val, context[:, 0])
    torch.testing.assert_close(alpha, weights[:, 0])
    attended_val, alpha = MeanPool()(queries[:, 0], states.transpose(0, 1))
    torch.testing.assert_close(attended_val, states.mean(dim=1))
    assert (alpha == 1 / states.shape[1]).all()
    attended_val, alpha = Dummy(dev="cpu")(queries[:, 0], states.transpose(0, 1))
    assert not attended_val.any()
    assert not alpha.any()


def test_the_original_code_runs_unchanged() -> None:
    """A decoder step as the course writes it: embedding, GRU, attention, output layer."""
    attn = SingleQueryScaledDotProductAttention(enc_hid_dim=4, dec_hid_dim=7, kq_dim=6)
    embedding, gru, out = torch.nn.Embedding(10, 3), torch.nn.GRU(3, 7), torch.nn.Linear(7 + 8, 10)
    hidden, encoder_outputs = torch.zeros(2, 7), torch.randn(5, 2, 8)
    embedded = embedding(torch.tensor([[1, 2]]))
    _output, hidden = gru(embedded, hidden.unsqueeze(0))
    attended, alpha = attn(hidden.squeeze(0), encoder_outputs)
    prediction = out(torch.cat((attended, hidden.squeeze(0)), dim=1))
    prediction.sum().backward()
    assert prediction.shape == (2, 10)
    assert attn.W_q.weight.grad is not None
    torch.testing.assert_close(alpha.sum(dim=1), torch.ones(2))
