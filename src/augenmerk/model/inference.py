"""A GRU translator for translating on a CPU: the same numbers as `GRUTranslator`, to rounding, but faster.

Words repeat, and what a word contributes to the gates of a GRU, W_i z + b_i, depends on the word alone. So it
is computed once for each word instead of once for each position. The recurrence is then written out here,
because torch's own GRU would compute the input part again. There is no dropout and no gradient. A test
compares this class with the translator itself.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from augenmerk.model.attention import Memory
from augenmerk.model.interface import Source, State

if TYPE_CHECKING:
    from augenmerk.model.translator import GRUTranslator

MAX_TABLE_BYTES = 256 << 20
"""With a vocabulary too large for this, the decoder's input gates are computed at each step instead."""


class GRUInference:
    """Encodes sources and computes decoder steps with the weights of a translator, which must not change.

    Neither method changes the object, so several threads may use it at once.
    """

    @torch.inference_mode()
    def __init__(self, model: "GRUTranslator") -> None:
        self._model = model
        vocabulary = model.W_b.weight
        size = len(vocabulary) * 3 * model.config.hidden * vocabulary.element_size()
        self._table = _input_gates(model.decoder, vocabulary) if size <= MAX_TABLE_BYTES else None  # (V, 3H)

    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Computes equations 3 to 8 for sources (B, S) padded to the right, as `BidirectionalGRU` does."""
        model = self._model
        row, place = torch.arange(src.shape[0]), torch.arange(src.shape[1])
        lengths = src_mask.sum(dim=1)  # (B)
        reverse = (row[:, None], torch.where(src_mask, lengths[:, None] - 1 - place, place))
        last = (row, lengths - 1)
        words, word_of = torch.unique(src, return_inverse=True)
        h, g_0 = model.W_z(words), []
        layers = zip(model.encoder.forwards, model.encoder.backwards, model.W_s, strict=True)
        for number, (forward, backward, W_s) in enumerate(layers):
            gates_f, gates_b = _input_gates(forward, h), _input_gates(backward, h)
            if number == 0:
                gates_f, gates_b = F.embedding(word_of, gates_f), F.embedding(word_of[reverse], gates_b)
            else:
                gates_b = gates_b[reverse]
            hf, hb = _run_gru(forward, gates_f), _run_gru(backward, gates_b)  # (B, S, H)
            g_0.append(torch.relu(W_s(torch.cat([hf[last], hb[last]], dim=-1))))
            h = torch.cat([hf, hb[reverse]], dim=-1)  # (B, S, D)
        return Source(model.attention.memory(h, src_mask), (torch.stack(g_0, dim=1)[:, None],))

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, Tensor, State]:
        """Computes equations 9 to 12 for one more word of K hypotheses; the state is g (B, K, L, H)."""
        model = self._model
        B, K = tokens.shape
        g = list(state[0].flatten(0, 1).unbind(1))  # L x (B * K, H)
        ids = tokens.flatten()
        for layer, before in enumerate(g):
            if layer == 0 and self._table is not None:
                gates = F.embedding(ids, self._table)
            else:
                gates = _input_gates(model.decoder, g[layer - 1] if layer else model.W_b(ids), layer)
            g[layer] = _gru_cell(model.decoder, gates, before, layer)
        query = g[-1].view(B, K, -1)
        a, weights = model.attention.attend(query, memory)
        assert weights is not None
        log_probs = model.output(torch.cat([a, query], dim=-1)).log_softmax(dim=-1)
        return log_probs, weights, (torch.stack(g, dim=1).view(B, K, len(g), -1),)


def _input_gates(gru: nn.Module, x: Tensor, layer: int = 0) -> Tensor:
    """Returns W_i x + b_i for the three gates, (..., 3H)."""
    return F.linear(x, getattr(gru, f"weight_ih_l{layer}"), getattr(gru, f"bias_ih_l{layer}"))


def _run_gru(gru: nn.Module, gates: Tensor) -> Tensor:
    """Returns the states (B, S, H) for input gates (B, S, 3H)."""
    h = gates.new_zeros(len(gates), gates.shape[2] // 3)
    states = []
    for x in gates.unbind(1):
        h = _gru_cell(gru, x, h)
        states.append(h)
    return torch.stack(states, dim=1)


def _gru_cell(gru: nn.Module, gates: Tensor, h: Tensor, layer: int = 0) -> Tensor:
    """Computes one step of a GRU as torch defines it, for all rows at once.

    r, z = sigmoid(gates + W_h h + b_h),  n = tanh(gates + r * (W_h h + b_h)),  h' = (1 - z) * n + z * h
    """
    hidden = F.linear(h, getattr(gru, f"weight_hh_l{layer}"), getattr(gru, f"bias_hh_l{layer}"))
    split = 2 * h.shape[1]
    r, z = (gates[:, :split] + hidden[:, :split]).sigmoid_().chunk(2, dim=1)
    n = torch.addcmul(gates[:, split:], r, hidden[:, split:]).tanh_()
    return torch.lerp(n, h, z)
