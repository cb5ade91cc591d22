"""`Translator.encode` and `Translator.step` for translating on a CPU: the same numbers, to rounding, sooner.

The words that come are few and come again and again, and what a word brings to the gates of a GRU,
W_i z + b_i, depends on the word alone. So it is computed once for each word, not once for each place; the
recurrence is then written out here, for torch's own GRU would compute it anew. There is no dropout and no
gradient. A test holds these to the translator's own.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from augenmerk.model.attention import Memory
from augenmerk.model.translator import Source, Translator


class FastTranslator:
    """A translator whose weights stay as they are while this is used."""

    def __init__(self, model: Translator, source_words: int) -> None:
        """source_words: how many are going to be read; whether to look up or to compute depends on it."""
        self._model = model
        vocabulary = model.W_b.weight
        self._table = (
            _gates(model.decoder, vocabulary) if source_words >= len(vocabulary) else None
        )  # (V, 3H)

    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Equations 3 to 8, for sources (B, S) padded to the right; backward as `BidirectionalGRU` is."""
        model = self._model
        row, place = torch.arange(src.shape[0]), torch.arange(src.shape[1])
        lengths = src_mask.sum(dim=1)  # (B)
        reverse = (row[:, None], torch.where(src_mask, lengths[:, None] - 1 - place, place))
        last = (row, lengths - 1)
        words, word_of = torch.unique(src, return_inverse=True)
        h, start = model.W_z(words), []
        layers = zip(model.encoder.forwards, model.encoder.backwards, model.W_s, strict=True)
        for number, (forward, backward, W_s) in enumerate(layers):
            gates_f, gates_b = _gates(forward, h), _gates(backward, h)
            if number == 0:
                gates_f, gates_b = F.embedding(word_of, gates_f), F.embedding(word_of[reverse], gates_b)
            else:
                gates_b = gates_b[reverse]
            hf, hb = _run(forward, gates_f), _run(backward, gates_b)  # (B, S, H)
            start.append(torch.relu(W_s(torch.cat([hf[last], hb[last]], dim=-1))))
            h = torch.cat([hf, hb[reverse]], dim=-1)  # (B, S, D)
        return Source(model.attention.memory(h, src_mask), torch.stack(start))

    def step(self, tokens: Tensor, g: Tensor, memory: Memory) -> tuple[Tensor, Tensor, Tensor]:
        """One more word, as `Translator.step`."""
        model = self._model
        B, K = tokens.shape
        states = list(g.flatten(1, 2))  # L x (B * K, H)
        ids = tokens.flatten()
        for layer, state in enumerate(states):
            if layer == 0 and self._table is not None:
                gates = F.embedding(ids, self._table)
            else:
                gates = _gates(model.decoder, states[layer - 1] if layer else model.W_b(ids), layer)
            states[layer] = _cell(model.decoder, gates, state, layer)
        query = states[-1].view(B, K, -1)
        a, weights = model.attention.attend(query, memory)
        assert weights is not None
        log_probabilities = model.output(torch.cat([a, query], dim=-1)).log_softmax(dim=-1)
        return log_probabilities, weights, torch.stack(states).view(-1, B, K, query.shape[2])


def _gates(gru: nn.Module, x: Tensor, layer: int = 0) -> Tensor:
    """W_i x + b_i for the three gates, (..., 3H)."""
    return F.linear(x, getattr(gru, f"weight_ih_l{layer}"), getattr(gru, f"bias_ih_l{layer}"))


def _run(gru: nn.Module, gates: Tensor) -> Tensor:
    """gates (B, S, 3H) -> states (B, S, H)."""
    h = gates.new_zeros(len(gates), gates.shape[2] // 3)
    states = []
    for x in gates.unbind(1):
        h = _cell(gru, x, h)
        states.append(h)
    return torch.stack(states, dim=1)


def _cell(gru: nn.Module, gates: Tensor, h: Tensor, layer: int = 0) -> Tensor:
    """One step of a GRU as torch defines it, for all rows at once.

    r, z = sigmoid(gates + W_h h + b_h),  n = tanh(gates + r * (W_h h + b_h)),  h' = (1 - z) * n + z * h
    """
    own = F.linear(h, getattr(gru, f"weight_hh_l{layer}"), getattr(gru, f"bias_hh_l{layer}"))
    split = 2 * h.shape[1]
    r, z = (gates[:, :split] + own[:, :split]).sigmoid_().chunk(2, dim=1)
    n = torch.addcmul(gates[:, split:], r, own[:, split:]).tanh_()
    return torch.lerp(n, h, z)
