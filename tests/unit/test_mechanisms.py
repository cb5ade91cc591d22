"""The newer mechanisms against other implementations, and against their formulas, word by word."""

import math
from collections.abc import Callable
from typing import Any

import entmax
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from augenmerk import AugenmerkError, Mechanism
from augenmerk.base.config import ModelConfig
from augenmerk.base.entries import MECHANISMS
from augenmerk.mechanisms import Memory, arrays
from augenmerk.mechanisms.record import record
from augenmerk.model.attention import Attention, in_torch, make_attention

H, S = 6, 5
CONFIG = ModelConfig(hidden=H, key=8, heads=2)


def mechanism(name: str) -> Attention:
    """A mechanism whose parameters are far from those at the start, in double precision."""
    torch.manual_seed(3)
    attention = make_attention(CONFIG.model_copy(update={"attention": name})).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.add_(0.7 * torch.randn_like(parameter))
    return attention


def inputs(T: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(1, T, H, generator=generator, dtype=torch.float64)
    return queries, torch.randn(1, S, 2 * H, generator=generator, dtype=torch.float64)


def scaled_dots(attention: Any, g: Tensor, h: Tensor) -> Tensor:
    scores: Tensor = (attention.W_k.weight @ h.T).T @ (attention.W_q.weight @ g) / math.sqrt(8)
    return scores


@settings(max_examples=60)
@given(st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=9), st.integers(1, 3))
def test_sparse_weights_are_those_of_another_library(scores: list[float], padding: int) -> None:
    memory = Memory(None, None, torch.tensor([[True] * len(scores) + [False] * padding]))
    given = torch.tensor([[[*scores, *[99.0] * padding]]], dtype=torch.float64)
    for name, theirs in (("sparsemax", entmax.sparsemax), ("entmax", entmax.entmax15)):
        attention = mechanism(name)
        attention.scores = lambda *_: given  # type: ignore[method-assign]
        found = attention.weights(given, memory)[0, 0]
        expected = theirs(torch.tensor(scores, dtype=torch.float64))
        torch.testing.assert_close(found[: len(scores)], expected, rtol=1e-6, atol=1e-6)
        assert not found[len(scores) :].any()


def top_k(attention: Any, g: Tensor, h: Tensor) -> Tensor:
    scores = scaled_dots(attention, g, h)
    weights = torch.zeros(S, dtype=torch.float64)
    chosen = sorted(range(S), key=lambda t: -scores[t].item())[:4]
    weights[chosen] = scores[chosen].softmax(0)
    return weights


def cosine(attention: Any, g: Tensor, h: Tensor) -> Tensor:
    q = attention.W_q.weight @ g
    angles = [torch.cosine_similarity(q, attention.W_k.weight @ h_t, dim=0) for h_t in h]
    scores: Tensor = attention.c * torch.stack(angles)
    return scores.softmax(0)


def linear(attention: Any, g: Tensor, h: Tensor) -> Tensor:
    def phi(x: Tensor) -> Tensor:
        return torch.nn.functional.elu(x) + 1

    products = torch.stack([phi(attention.W_q.weight @ g) @ phi(attention.W_k.weight @ h_t) for h_t in h])
    return products / products.sum()


def away(attention: Any, g: Tensor) -> Tensor:
    p = (S - 1) * torch.sigmoid(attention.w.weight[0] @ torch.tanh(attention.W_p.weight @ g))
    return torch.tensor([(t - p) ** 2 for t in range(S)], dtype=torch.float64)


FORMULAS: dict[str, Callable[[Any, Tensor, Tensor], Tensor]] = {
    "top-k": top_k,
    "sigmoid": lambda a, g, h: (s := torch.sigmoid(scaled_dots(a, g, h))) / s.sum(),
    "cosine": cosine,
    "linear": linear,
    "gated": lambda a, g, h: scaled_dots(a, g, h).softmax(0),
    "gaussian": lambda a, g, h: (-away(a, g) / (2 * a.log_sigma.exp() ** 2)).softmax(0),  # noqa: ARG005
    "local": lambda a, g, h: (scaled_dots(a, g, h) - away(a, g) / (2 * 2.5**2)).softmax(0),
}


@pytest.mark.parametrize("name", FORMULAS)
@torch.no_grad()
def test_formulas(name: str) -> None:
    attention: Any = mechanism(name)
    queries, states = inputs()
    context, weights = attention(queries, states)
    values = states[0]
    if name == "gated":
        gates = torch.sigmoid(values @ attention.W_v.weight[0] + attention.W_v.bias)
        values = gates[:, None] * values
    for i, g in enumerate(queries[0]):
        alpha = FORMULAS[name](attention, g, states[0])
        torch.testing.assert_close(weights[0, i], alpha, rtol=1e-5, atol=1e-6)  # of vectors that are not 0
        torch.testing.assert_close(context[0, i], weights[0, i] @ values)


def after_coverage(attention: Any, g: Tensor, h: Tensor, before: list[Tensor]) -> Tensor:
    seen = torch.stack([torch.zeros(S, dtype=torch.float64), *before]).sum(0)
    return _additive(attention, g, h, seen[:, None])


def after_location(attention: Any, g: Tensor, h: Tensor, before: list[Tensor]) -> Tensor:
    last = before[-1] if before else torch.zeros(S, dtype=torch.float64)
    around = [[last[t - d] if 0 <= t - d < S else 0.0 for d in range(-2, 3)] for t in range(S)]
    return _additive(attention, g, h, torch.tensor(around, dtype=torch.float64))


def _additive(attention: Any, g: Tensor, h: Tensor, seen: Tensor) -> Tensor:
    keys = h @ attention.W_k.weight.T + attention.W_k.bias
    inside = torch.tanh(attention.W_q.weight @ g + keys + seen @ attention.U.weight.T)
    scores: Tensor = inside @ attention.w.weight[0]
    return scores.softmax(0)


def after_monotonic(attention: Any, g: Tensor, h: Tensor, before: list[Tensor]) -> Tensor:
    """Walks from every word that it may have stopped at to every word after that."""
    stop = torch.sigmoid(scaled_dots(attention, g, h) + attention.r)
    last = before[-1] if before else torch.eye(S, dtype=torch.float64)[0]
    alpha = torch.zeros(S, dtype=torch.float64)
    for start in range(S):
        left = last[start]
        for t in range(start, S):
            alpha[t] += left * stop[t]
            left = left * (1 - stop[t])
        alpha[-1] += left
    return alpha


STEPS = {"coverage": after_coverage, "location": after_location, "monotonic": after_monotonic}


@pytest.mark.parametrize("name", STEPS)
@torch.no_grad()
def test_what_is_remembered(name: str) -> None:
    attention = mechanism(name)
    queries, states = inputs(4)
    _, weights = attention(queries, states)
    before: list[Tensor] = []
    for g in queries[0]:
        before.append(STEPS[name](attention, g, states[0], before))
    torch.testing.assert_close(weights[0], torch.stack(before))


def test_every_mechanism_is_described() -> None:
    tried = {"sparsemax", "entmax", *FORMULAS, *STEPS}
    assert tried == set(list(MECHANISMS)[7:])
    for name, entry in MECHANISMS.items():
        assert entry.paper, name
        assert entry.use.endswith("."), name
        assert entry.has_heads == mechanism(name).has_heads


class Shapely(Mechanism):
    def weights(self, queries: Any, memory: Memory) -> Any:
        return arrays.softmax(queries @ memory.keys.mT) * memory.keys.shape[1]


class Deciding(Mechanism):
    def weights(self, queries: Any, memory: Memory) -> Any:
        return queries if memory.keys > 0 else memory.keys


class Looping(Mechanism):
    def weights(self, queries: Any, memory: Memory) -> Any:
        return arrays.concat([queries, *memory.keys])


class Forgetful(Mechanism):
    def __init__(self, config: Any, layers: Any) -> None:
        self.W = layers.linear("W_q", config.query_size, config.key)


def test_what_cannot_be_recorded_or_kept_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, why in (
        (Shapely, r"uses \.shape of an array"),
        (Deciding, "decides by an array"),
        (Looping, "goes through an array"),
    ):
        monkeypatch.setattr("augenmerk.mechanisms.record.find_mechanism", lambda _, kind=kind: kind)
        with pytest.raises(AugenmerkError, match=f"'scaled-dot' cannot be written .* {why}"):
            record(CONFIG)
    with pytest.raises(TypeError, match=r"declares 'W_q' and does not keep it as self\.W_q"):
        in_torch(Forgetful)(CONFIG)


@given(st.integers(-4, 4), st.integers(1, 4))
def test_shifts_are_those_of_a_list(places: int, length: int) -> None:
    x = np.arange(1.0, length + 1)
    expected = [x[t - places] if 0 <= t - places < length else 0 for t in range(length)]
    assert arrays.shift(x, places).tolist() == expected
    assert arrays.shift(torch.tensor(x), places).tolist() == expected
