"""The GRU translator in numpy: equations 3 to 12, in the letters of `augenmerk.model.gru`.

B sentences, K hypotheses of each, S source positions, T target positions, E embedding, H hidden, D = 2H,
L layers.

What a word contributes to the gates of a GRU, W_i z + b_i, depends on the word alone, and words repeat. So it
is computed once for each word instead of once for each position.
"""

from typing import NamedTuple

import numpy as np

from augenmerk.base.config import ModelConfig, padded
from augenmerk.inference.attention import make_attention
from augenmerk.inference.model import (
    Floats,
    InferenceModel,
    Integers,
    Layer,
    Linear,
    Mask,
    StackedLinear,
    Weights,
)
from augenmerk.search.decoder import AttentionWeights, Memory, Source, State
from augenmerk.text.batching import Batch

MAX_TABLE_BYTES = 256 << 20
"""With a vocabulary too large for this, the decoder's input gates are computed at each step instead."""


class GRUTranslator(InferenceModel):
    """A bidirectional GRU encoder and a GRU decoder with attention."""

    def __init__(
        self, config: ModelConfig, weights: Weights, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config)
        E, H, L = config.embedding, config.hidden, config.layers
        self.W_z = weights.take("W_z.weight", padded(source_vocabulary), E)
        sizes = [E] + [2 * H] * (L - 1)
        encoder = weights.inside("encoder")
        self.encoder = [BidirectionalGRU(encoder, layer, size, H) for layer, size in enumerate(sizes)]
        self.W_s = [weights.linear(f"W_s.{layer}", 2 * H, H) for layer in range(L)]
        self.W_b = weights.take("W_b.weight", padded(target_vocabulary), E)
        decoder = weights.inside("decoder")
        self.decoder = [Gates.take(decoder, E if layer == 0 else H, H, layer) for layer in range(L)]
        inputs = 3 * H if config.tie == "none" else E
        self.W_o = weights.output_layer("W_o", inputs, target_vocabulary)
        self.attention = make_attention(config, weights.inside("attention"))
        self.selective = self.attention.selective
        self.bridge: Layer | None = None
        if config.tie != "none":
            # W [a_i, g_i] = W_1 a_i + W_2 g_i, and W_1 a_i = sum_t alpha_it W_1 v_t. So W_1 is applied once
            # to each source word, instead of at every step of every hypothesis.
            W = weights.take("bridge.weight", E, 3 * H)
            self.attention.project_context(Linear.of(W[:, : 2 * H], None))
            self.bridge = Linear.of(W[:, 2 * H :], None)
        size = len(self.W_b) * 3 * H * self.W_b.itemsize
        self._table = self.decoder[0].W_i(self.W_b) if size <= MAX_TABLE_BYTES else None  # (V, 3H)

    def encode(self, src: Integers, src_mask: Mask) -> Source:
        """Computes equations 3 to 8 for sources (B, S) padded to the right."""
        B, S = src.shape
        row, position = np.arange(B), np.arange(S)[:, None]
        lengths = src_mask.sum(axis=1)  # (B)
        reverse = np.where(position < lengths, lengths - 1 - position, position)  # (S, B)
        # Which word is read at each step, counted through the batch, in both directions: (S, 2, B).
        order = row * S + np.stack([np.broadcast_to(position, (S, B)), reverse], axis=1)
        words, numbers = np.unique(src, return_inverse=True)
        x, numbers, g_0 = self.W_z[words], numbers.reshape(-1)[order], []
        for layer, gru in enumerate(self.encoder):
            h = gru.run(x, numbers, order, lengths).reshape(B, S, -1)  # (B, S, D)
            ends = np.concat([h[row, lengths - 1, : h.shape[2] // 2], h[:, 0, h.shape[2] // 2 :]], axis=-1)
            g_0.append(np.maximum(self.W_s[layer](ends), 0))  # from [hf_S, hb_1]
            x, numbers = h.reshape(B * S, -1), order
        memory = self.attention.memory(h, src_mask)
        return Source(memory, (*(g[:, None] for g in g_0), *self.attention.start(memory)))

    def step(self, tokens: Integers, state: State, memory: Memory) -> tuple[Floats, Floats, State]:
        """Computes equations 9 to 12 for one more word of K hypotheses.

        The state is L x g (B, K, H), followed by that of the attention.
        """
        B, K = tokens.shape
        L = self.config.layers
        g = self._next_states(tokens.reshape(-1), [layer.reshape(B * K, -1) for layer in state[:L]])
        query = g[-1].reshape(B, K, -1)
        a, weights, seen = self.attention.advance(query, memory, state[L:])
        log_probs = self.log_softmax(self.output(a, query))
        return log_probs, weights, (*(layer.reshape(B, K, -1) for layer in g), *seen)

    def _next_states(self, tokens: Integers, g: list[Floats]) -> list[Floats]:
        """Computes equations 9 and 10 for one more word (B): g_i from g_{i-1}, L x (B, H)."""
        for layer, gru in enumerate(self.decoder):
            if layer == 0 and self._table is not None:
                gates = self._table[tokens]
            else:
                gates = gru.W_i(g[layer - 1] if layer else self.W_b[tokens])
            g[layer] = gru_cell(gates, gru.W_h(g[layer]), gru.b_n, g[layer])
        return g

    def states(self, tgt_in: Integers, source: Source) -> Floats:
        """Computes equations 9 and 10 for whole targets: g_i (B, T, H), which do not depend on attention."""
        g = [layer[:, 0] for layer in source.start[: self.config.layers]]  # L x (B, H)
        found = []
        for tokens in tgt_in.T:
            g = self._next_states(tokens, list(g))
            found.append(g[-1])
        return np.stack(found, axis=1)

    def output(self, a: Floats, g: Floats) -> Floats:
        """Computes equation 12 before the softmax, (..., V), from a context as `attention` gives it and g."""
        if self.bridge is None:
            return self.W_o(np.concat([a, g], axis=-1))
        features = self.bridge(g)
        features += a
        return self.W_o(features)

    def target_logits(self, batch: Batch) -> Floats:
        source = self.encode(batch.src, batch.src_mask)
        g = self.states(batch.tgt_in, source)
        a, _ = self.attention.attend(g, source.memory)
        return self.output(a[batch.tgt_mask], g[batch.tgt_mask])

    def attention_weights(self, src: Integers, src_mask: Mask, tgt_in: Integers) -> AttentionWeights:
        """Computes the weights of each head for whole targets; there is one layer."""
        source = self.encode(src, src_mask)
        return AttentionWeights(self.attention.weigh(self.states(tgt_in, source), source.memory)[:, None])


class Gates(NamedTuple):
    """The weights of one layer of a GRU in one direction, as torch defines it, for `gru_cell`.

    sigmoid(x) = (1 + tanh(x / 2)) / 2, and vector instructions compute tanh at once. So what the gates r and
    z are made of is halved here, which changes no digit of it, and so is what r is multiplied with.
    """

    W_i: Linear  # from the input to the three gates, with all biases but one
    W_h: Linear  # from the state before to the three gates
    b_n: Floats  # (H) the bias that r is multiplied with

    @classmethod
    def take(cls, weights: Weights, size: int, hidden: int, layer: int = 0) -> "Gates":
        W_i, W_h = (
            weights.take(f"weight_{kind}_l{layer}", 3 * hidden, inputs)
            for kind, inputs in (("ih", size), ("hh", hidden))
        )
        b_i, b_h = (weights.take(f"bias_{kind}_l{layer}", 3 * hidden) for kind in ("ih", "hh"))
        half: Floats = np.full(3 * hidden, 0.5, W_i.dtype)
        scale = half.copy()
        scale[2 * hidden :] = 1
        b, b_h = scale * b_i, half * b_h
        b[: 2 * hidden] += b_h[: 2 * hidden]
        return cls(
            Linear.of(scale[:, None] * W_i, b), Linear.of(half[:, None] * W_h, None), b_h[2 * hidden :]
        )


class BidirectionalGRU:
    """Two GRUs, one for each direction, computed side by side."""

    def __init__(self, weights: Weights, layer: int, size: int, hidden: int) -> None:
        both = [
            Gates.take(weights.inside(f"{way}.{layer}"), size, hidden) for way in ("forwards", "backwards")
        ]
        self.hidden = hidden
        biases = [each.W_i.bias for each in both if each.W_i.bias is not None]
        W_i = Linear(np.concat([each.W_i.weight for each in both], axis=1), np.concat(biases))
        self.W_i: Layer = W_i  # to (..., 6H)
        self.W_h: Layer = StackedLinear(np.stack([each.W_h.weight for each in both]))  # (2, ..., H or 3H)
        self.b_n = np.stack([each.b_n for each in both])[:, None]  # (2, 1, H)

    def run(self, x: Floats, numbers: Integers, order: Integers, lengths: Integers) -> Floats:
        """Returns the states of both directions after each word, (words, 2H).

        At step t, `numbers` (S, 2, B) says which rows of x are read, and `order` which words they are. The
        gates are gathered step by step: those of a whole batch would not fit into the caches of a CPU.

        If the sentences are sorted by their lengths (B), as they are in batches, the first ones are over
        sooner, and are then left out; the states after their ends are 0.
        """
        S, _, B = order.shape
        H = self.hidden
        gates = self.W_i(x).reshape(-1, 3 * H)  # a row for each direction, as in the states
        states = np.zeros((B * S * 2, H), gates.dtype)
        direction = np.array([[0], [1]])
        numbers, order = 2 * numbers + direction, 2 * order + direction
        h = np.zeros((2, B, H), gates.dtype)
        is_sorted = bool((lengths[1:] >= lengths[:-1]).all())
        positions = np.arange(lengths.max())
        over = np.searchsorted(lengths, positions, "right").tolist() if is_sorted else [0] * len(positions)
        for t, first in enumerate(over):
            h = h[:, first - B :]
            h = gru_cell(gates[numbers[t, :, first:]], self.W_h(h), self.b_n, h)
            states[order[t, :, first:]] = h
        return states.reshape(B * S, 2 * H)


def gru_cell(gates: Floats, hidden: Floats, b_n: Floats, h: Floats) -> Floats:
    """Computes one step of a GRU as torch defines it; gates are W_i x + b, hidden is W_h h, as in `Gates`.

    r, z = sigmoid(gates + hidden),  n = tanh(gates + r * (hidden + b_n)),  h' = (1 - z) * n + z * h

    Gates and hidden are written over: memory that was just used is in the caches.
    """
    H = h.shape[-1]
    r_z = gates[..., : 2 * H]
    r_z += hidden[..., : 2 * H]
    np.tanh(r_z, out=r_z)
    r_z += 1  # 2r and 2z
    n = hidden[..., 2 * H :]
    n += b_n
    n *= r_z[..., :H]
    n += gates[..., 2 * H :]
    np.tanh(n, out=n)
    new: Floats = h - n
    new *= r_z[..., H:]
    new *= 0.5
    new += n
    return new
