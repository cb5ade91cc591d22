"""The translator, equations 3 to 12, in the order and the letters of the specification.

B sentences, S source positions, T target positions, E embedding, H hidden, D = 2H word representation.

    z_t    = W_z w_t                                      word embedding            (3)
    hf_t   = GRU(z_t, hf_{t-1}),  hb_t = GRU(z_t, hb_{t+1})   forward, backward     (4, 5)
    h_t    = [hf_t, hb_t]                                 word representations      (6)
    h_sent = ReLU(W_s [hf_S, hb_1] + b_s)                 sentence representation   (7)
    g_0    = h_sent                                       decoder starts here       (8)
    b_i    = W_b m_i                                      target word embedding     (9)
    g_i    = GRU(b_i, g_{i-1})                            decoder state             (10)
    a_i    = Attn(g_i, h_1 .. h_S)                        attention                 (11)
    P(m_{i+1}) = softmax(W_o [a_i, g_i] + b_o)            next word                 (12)

Equation 10 does not look at the attention. So with the target known, the decoder runs over all of it in
one call, attention is one batched product, and the output layer is one matrix product: `forward`. `step`
does the same for one more word.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from augenmerk.config import ModelConfig
from augenmerk.model.attention import Memory, make_attention

WIDTH = 64
"""Vocabularies are padded to a multiple of this: matrix units are several times faster on even widths."""

OVERLAP = True
"""Whether the two directions of the encoder run at the same time on a GPU."""


class Source(NamedTuple):
    """All that the decoder needs to know of the source sentences."""

    memory: Memory
    start: Tensor  # (L, B, H): g_0 of each layer


class Translator(nn.Module):
    """Sizes come from the settings, vocabulary sizes from the tokenizers."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        E, H, L = config.embedding, config.hidden, config.layers
        self.target_vocabulary = target_vocabulary
        self.W_z = nn.Embedding(padded(source_vocabulary), E)
        self.encoder = BidirectionalGRU(E, H, L, config.output_dropout)
        self.W_s = nn.ModuleList(nn.Linear(2 * H, H) for _ in range(L))
        self.W_b = self.W_z if config.tie == "all" else nn.Embedding(padded(target_vocabulary), E)
        self.decoder = (
            nn.GRU(E, H, L, batch_first=True, dropout=config.output_dropout if L > 1 else 0.0)
            if config.attend == "top"
            else nn.ModuleList(nn.GRU(E if n == 0 else 3 * H, H, batch_first=True) for n in range(L))
        )
        if config.tie == "none":
            self.W_o = nn.Linear(3 * H, padded(target_vocabulary))
        else:
            # The output layer is the target embedding; one more matrix brings [a_i, g_i] to its size.
            self.bridge = nn.Linear(3 * H, E, bias=False)
            self.W_o = nn.Linear(E, padded(target_vocabulary))
            self.W_o.weight = self.W_b.weight
            nn.init.normal_(self.W_b.weight, std=E**-0.5)
            nn.init.zeros_(self.W_o.bias)
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)
        self.output_dropout = nn.Dropout(config.output_dropout)
        # Last, so that under one seed everything else begins alike whatever the mechanism.
        self.attention = make_attention(config)

    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Equations 3 to 8, for sources (B, S) padded to the right."""
        z = self.embed(self.W_z, src)  # (B, S, E)
        h, ends = self.encoder(z, src_mask)  # (B, S, D), L x (B, D)
        start = torch.stack([torch.relu(W_s(end)) for W_s, end in zip(self.W_s, ends, strict=True)])
        return Source(self.attention.memory(h, src_mask), start)

    def decode(
        self, tgt_in: Tensor, source: Source, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Equations 9 to 11 for whole targets (B, T) at once: [a_i, g_i] (B, T, D + H), and the weights."""
        b = self.embed(self.W_b, tgt_in)  # (B, T, E)
        features, weights, _ = self.recur(b, source.start, source.memory, need_weights=need_weights)
        return features, weights

    def recur(
        self, b: Tensor, g: Tensor, memory: Memory, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Equations 10 and 11 for b (N, T, E) from states g (L, N, H): [a_i, g_i], the weights, new g.

        N sequences may be several for each of the B sentences of the memory: all are then its queries.
        """
        B = len(memory.values)
        if isinstance(self.decoder, nn.GRU):
            x, g = self.decoder(b, g)
            query = x.reshape(B, -1, x.shape[2])
            a, weights = self.attention.attend(query, memory, need_weights=need_weights)
            return torch.cat([a, query], dim=-1), weights, g
        x, features, weights, states = b, b, None, []
        for number, layer in enumerate(self.decoder):
            if number:
                x = self.output_dropout(features).reshape(*b.shape[:2], -1)
            x, state = layer(x, g[number, None])
            states.append(state)
            query = x.reshape(B, -1, x.shape[2])
            if number == 0 or self.config.attend == "every":
                a, weights = self.attention.attend(query, memory, need_weights=need_weights)
            features = torch.cat([a, query], dim=-1)
        return features, weights, torch.cat(states)

    def embed(self, W: nn.Embedding, tokens: Tensor) -> Tensor:
        """Equation 3 or 9, with dropout of numbers and of whole tokens."""
        x: Tensor = self.embedding_dropout(W(tokens))
        if self.training and self.config.word_dropout:
            x = x * (torch.rand_like(x[..., :1]) >= self.config.word_dropout)
        return x

    def output(self, features: Tensor) -> Tensor:
        """Equation 12 before the softmax: (..., D + H) to (..., vocabulary), in fp32 or better.

        The entries that only fill up the vocabulary are cut off, so they can never be produced.
        """
        features = self.output_dropout(features)
        if self.config.tie != "none":
            features = self.output_dropout(self.bridge(features))
        logits: Tensor = self.W_o(features)
        at_least_fp32 = torch.promote_types(logits.dtype, torch.float32)
        return logits[..., : self.target_vocabulary].to(at_least_fp32)

    def forward(
        self, src: Tensor, src_mask: Tensor, tgt_in: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Log-probabilities (B, T, vocabulary) of each next word, given the words before it."""
        features, weights = self.decode(tgt_in, self.encode(src, src_mask), need_weights=need_weights)
        return self.output(features).log_softmax(dim=-1), weights

    def step(self, tokens: Tensor, g: Tensor, memory: Memory) -> tuple[Tensor, Tensor, Tensor]:
        """One more word for K hypotheses of each of B sentences.

        tokens (B, K), g (L, B, K, H) -> log-probabilities (B, K, vocabulary), weights (B, K, S), new g

        The hypotheses of a sentence are so many queries to one memory, which is never copied for them.
        """
        B, K = tokens.shape
        b = self.W_b(tokens).reshape(B * K, 1, -1)
        features, weights, g = self.recur(b, g.flatten(1, 2), memory)
        assert weights is not None
        log_probabilities = self.output(features).log_softmax(dim=-1)
        return log_probabilities, weights, g.view(-1, B, K, g.shape[2])


class BidirectionalGRU(nn.Module):
    """Two GRUs, one for each direction, of which neither ever reads padding before a word.

    The backward one reads each sentence reversed by its own length, so that padding comes last in both.
    That is exact, and faster than packing.
    """

    def __init__(self, size: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [size] + [2 * hidden] * (layers - 1)
        self.forwards = nn.ModuleList(nn.GRU(size, hidden, batch_first=True) for size in sizes)
        self.backwards = nn.ModuleList(nn.GRU(size, hidden, batch_first=True) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """x (B, S, E) -> h (B, S, 2H), and for each layer [hf_S, hb_1] (B, 2H)."""
        lengths = mask.sum(dim=1, keepdim=True)  # (B, 1)
        places = torch.arange(x.shape[1], device=x.device)  # (S)
        reverse = torch.where(mask, lengths - 1 - places, places)  # (B, S); its own inverse
        last = lengths[:, :, None] - 1  # (B, 1, 1)
        ends = []
        for number, (forward, backward) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if number:
                x = self.dropout(x)
            with beside(x):
                hb, _ = backward(reordered(x, reverse))
            hf, _ = forward(x)
            join(x)
            end = torch.cat([hf, hb], dim=-1)
            ends.append(end.gather(1, last.expand(-1, 1, end.shape[2])).squeeze(1))
            x = torch.cat([hf, reordered(hb, reverse)], dim=-1)
        return x, ends


@contextmanager
def beside(x: Tensor) -> Iterator[None]:
    """On a GPU, work inside runs at the same time as what follows, until `join`.

    A GRU is a chain of small steps that leaves most of a GPU idle: two chains take hardly longer than one.
    """
    if not (OVERLAP and x.is_cuda):
        yield
        return
    stream = side_stream(x.device)
    stream.wait_stream(torch.cuda.current_stream(x.device))
    with torch.cuda.stream(stream):
        yield


def join(x: Tensor) -> None:
    """Waits, on the GPU, for what was begun `beside`."""
    if OVERLAP and x.is_cuda:
        torch.cuda.current_stream(x.device).wait_stream(side_stream(x.device))


@lru_cache
def side_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def reordered(x: Tensor, places: Tensor) -> Tensor:
    """x (B, S, ...) with position t of each sentence taken from places[:, t]."""
    return x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2]))


def padded(vocabulary: int) -> int:
    return -(-vocabulary // WIDTH) * WIDTH
