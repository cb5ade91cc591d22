"""Custom attention mechanisms, each with one mistake: `test_mechanism_trial` says which rule finds it."""

import torch
from torch import nn
from torch.nn import functional as F

from augenmerk.base.config import ModelConfig
from augenmerk.mechanisms.classic import ScaledDot
from augenmerk.mechanisms.remembering import Coverage as BundledCoverage
from augenmerk.model.attention import Attention, Memory, ScaledDotAttention, masked_softmax

# mypy: ignore-errors
# ruff: noqa: ARG002, ARG003


class Right(ScaledDotAttention):
    pass


class OwnForward(Right):
    def forward(self, queries, states, mask=None, *, need_weights=True):
        context, weights = super().forward(queries, states, mask, need_weights=need_weights)
        return 2 * context, weights


class Squeezed(Right):
    def scores(self, queries, memory):
        return super().scores(queries, memory).squeeze(-1)  # nothing, unless there is one word


class Noisy(Right):
    def scores(self, queries, memory):
        return super().scores(queries, memory) * (1 + torch.rand(()))

    def fused_query(self, queries):
        return None


class Remembering(Right):
    """Scales every sentence by the deviation of the first sentences that it was asked about."""

    deviation = None

    def keys(self, states):
        if self.deviation is None:
            self.deviation = states[:, :1].std().detach()
        return super().keys(states / self.deviation)


class OwnMask(Right):
    """Hides padding by an additional number of each key, so that it needs no mask."""

    def memory(self, states, mask=None):
        hidden = torch.zeros_like(states[..., :1])
        if mask is not None:
            hidden = hidden.masked_fill(~mask[..., None], -1e4)
        return Memory(torch.cat([self.keys(states), hidden], dim=-1), states, None)

    def scores(self, queries, memory):
        keys, hidden = memory.keys[..., :-1], memory.keys[..., -1]
        return self.W_q(queries) @ keys.mT * self.scale + hidden[:, None]

    def fused_query(self, queries):
        return None


class Sigmoid(Attention):
    def attend(self, queries, memory, *, need_weights=True):
        weights = (queries @ memory.keys.chunk(2, dim=-1)[0].mT).sigmoid()
        if memory.mask is not None:
            weights = weights * memory.mask[:, None]
        return self.mix(weights, memory), weights


class LookingAtPadding(Right):
    """Returns weights on padding, which it ignores itself."""

    def attend(self, queries, memory, *, need_weights=True):
        weights = masked_softmax(super().scores(queries, memory), memory.mask)
        if memory.mask is not None:
            weights = weights + 0.1 * ~memory.mask[:, None]
        return self.mix(weights, memory), weights

    def mix(self, weights, memory):
        real = weights if memory.mask is None else weights * memory.mask[:, None]
        return super().mix(real, memory)


class MeanOfEverything(Right):
    def mix(self, weights, memory):
        return super().mix(weights, memory) + memory.values.mean(dim=1, keepdim=True)

    def fused_query(self, queries):
        return None


class SmoothedOverBatch(Right):
    def keys(self, states):
        keys = super().keys(states)
        return keys + keys.mean(dim=0, keepdim=True)


class Coverage(Right):
    """Words that earlier positions of the same call looked at get lower scores."""

    def attend(self, queries, memory, *, need_weights=True):
        scores = super().scores(queries, memory)
        first = masked_softmax(scores, memory.mask)
        weights = masked_softmax(scores - (first.cumsum(dim=1) - first), memory.mask)
        return self.mix(weights, memory), weights


class OtherFusedScale(Right):
    def fused_query(self, queries):
        return self.W_q(queries), 1.0


class GatedOutside(Right):
    def attend(self, queries, memory, *, need_weights=True):
        context, weights = super().attend(queries, memory, need_weights=need_weights)
        return context.tanh(), weights


class Unused(Right):
    def __init__(self, query, value, key):
        super().__init__(query, value, key)
        self.temperature = nn.Parameter(torch.ones(()))


class SteepAtZero(Right):
    def attend(self, queries, memory, *, need_weights=True):
        roots = masked_softmax(super().scores(queries, memory), memory.mask).sqrt()
        weights = roots / roots.sum(dim=-1, keepdim=True)
        return self.mix(weights, memory), weights


class OnlyFloat32(Right):
    def scores(self, queries, memory):
        scores = super().scores(queries, memory)
        return torch.zeros(scores.shape).index_add(2, torch.arange(scores.shape[2]), scores)

    def fused_query(self, queries):
        return None


class SharedState(BundledCoverage):
    """All hypotheses of a sentence know what any of them has looked at."""

    def step(self, queries, memory, state):
        weights, (seen,) = super().step(queries, memory, (state[0].mean(axis=1, keepdims=True),))
        return weights, (seen,)


class OnlyTorch(ScaledDot):
    def scores(self, queries, memory):
        return torch.tanh(super().scores(queries, memory))


# Further mistakes, which several rules find: the first of them explains it.


class OverTargets(Right):
    def attend(self, queries, memory, *, need_weights=True):
        weights = super().scores(queries, memory).softmax(dim=1)
        return self.mix(weights, memory), weights


class OverSentences(Right):
    def attend(self, queries, memory, *, need_weights=True):
        weights = super().scores(queries, memory).softmax(dim=0)
        return self.mix(weights, memory), weights


class OverEverything(Right):
    def attend(self, queries, memory, *, need_weights=True):
        scores = super().scores(queries, memory)
        weights = scores.flatten(1).softmax(dim=-1).view_as(scores)
        return self.mix(weights, memory), weights


class Dropping(Right):
    def attend(self, queries, memory, *, need_weights=True):
        weights = F.dropout(masked_softmax(super().scores(queries, memory), memory.mask), 0.5)
        return self.mix(weights, memory), weights


class StatefulCoverage(Right):
    """Keeps in the object what it has looked at so far."""

    seen = 0.0

    def attend(self, queries, memory, *, need_weights=True):
        weights = masked_softmax(super().scores(queries, memory) - self.seen, memory.mask)
        self.seen = self.seen + weights.sum(dim=1, keepdim=True)
        return self.mix(weights, memory), weights


class Stashing(Right):
    """Keeps the states of the latest sentences in the object."""

    def memory(self, states, mask=None):
        self.gate = states.mean(dim=-1)
        return super().memory(states, mask)

    def scores(self, queries, memory):
        return super().scores(queries, memory) + self.gate[:, None]

    def fused_query(self, queries):
        return None


class Empty(Attention):
    pass


class OtherSizes(Right):
    @classmethod
    def from_config(cls, config):
        return cls(256, 512, 256)


class Unbuildable(Right):
    @classmethod
    def from_config(cls, config):
        return cls(config.width, config.width, config.width)


# Right by every rule, but scaled wrongly.


class ForgottenScaledDot(Right):
    def __init__(self, query, value, key):
        super().__init__(query, value, key)
        self.scale = 1.0


class UnscaledDot(ForgottenScaledDot):
    pass


class MyScaledDotProduct(Attention):
    """Divides by d rather than by its square root."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.queries = nn.Linear(config.query_size, config.key)
        self.my_keys = nn.Linear(config.value_size, config.key)

    @classmethod
    def from_config(cls, config):
        return cls(config)

    def keys(self, states):
        return self.my_keys(states)

    def scores(self, queries, memory):
        return self.queries(queries) @ memory.keys.mT / memory.keys.shape[-1]


class ScaledDotByQuery(Right):
    """Divides by the square root of another size."""

    def __init__(self, query, value, key):
        super().__init__(query, value, key)
        self.scale = query**-0.5


class Product(Attention):
    """A product of vectors that is not scaled, and does not say that it is."""

    def keys(self, states):
        return states[..., : states.shape[-1]]

    def scores(self, queries, memory):
        return queries @ memory.keys[..., : queries.shape[-1]].mT


class SleepingCoverage(Right):
    """Coverage whose strength starts at 0, so that at first it is a scaled dot product."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.strength = nn.Parameter(torch.zeros(()))

    def scores(self, queries, memory):
        scores = super().scores(queries, memory)
        shares = masked_softmax(scores, memory.mask)
        return scores - self.strength * (shares.cumsum(dim=1) - shares)

    def fused_query(self, queries):
        return None


class ScaledDotFromZero(Right):
    """All scores are 0 before training."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        nn.init.zeros_(self.W_q.weight)
