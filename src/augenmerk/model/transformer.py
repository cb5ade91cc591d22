"""The Transformer (Vaswani et al. 2017), with its layers normalised before each part ("pre-norm").

B sentences, S source positions, T target positions, L layers, N heads, D the size of every layer.

    x_t = sqrt(D) W_z w_t + p_t                                a word and its position

    encoder layer     x = x + MultiHead(LN(x), LN(x))          every word looks at every word
                      x = x + FF(LN(x))                        FF(x) = W_2 ReLU(W_1 x + b_1) + b_2
                      h = LN(x) after the last layer           word representations

    decoder layer     y = y + MultiHead(LN(y), LN(y))          every word looks at itself and those before it
                      y = y + Attn(LN(y), h)                   and at the source: `model.attention`
                      y = y + FF(LN(y))
                      g = LN(y) after the last layer

    P(m_{i+1}) = softmax(W_o g_i + b_o)                        next word

Self-attention is always multi-head attention. What looks at the source is the mechanism that the settings
name: `multi-head` as in the paper, or any other of `mechanisms`.

With the target known, all its words are computed at once, under a mask that hides the words to come: see
`decode`. `step` computes one more word. It needs the keys and values of the words before it, which do not
change when words are added; they are the state of a hypothesis.
"""

import math
from collections.abc import Callable, Iterator
from itertools import chain

import torch
from torch import Tensor, nn

from augenmerk.base.config import LEARNT_POSITIONS, ModelConfig, padded
from augenmerk.model.attention import Attention, Memory, MultiHeadAttention, make_attention
from augenmerk.model.interface import TranslationModel, count_weights
from augenmerk.model.kernels import Dropout, apply_linear
from augenmerk.search.decoder import AttentionWeights, Source, State

Look = Callable[[int, Attention, Tensor, Memory], Tensor]
"""A function that takes the position of `Attention.attend` where a decoder layer looks at the source. It gets
the number of the layer, counted from 0, its mechanism, the queries LN(y), and its keys and values, and
returns the context for each query, (B, T, D)."""


class TransformerTranslator(TranslationModel):
    """An encoder and a decoder of L layers each."""

    states_in_bf16 = False  # they are normalised in fp32

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        D, L = config.embedding, config.layers
        self.W_z = nn.Embedding(padded(source_vocabulary), D)
        self.W_b = self.W_z if config.tie == "all" else nn.Embedding(padded(target_vocabulary), D)
        if config.transformer.positions == "learnt":
            self.learnt = nn.Embedding(LEARNT_POSITIONS, D)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(L))
        self.encoder_norm = nn.LayerNorm(D)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(L))
        self.decoder_norm = nn.LayerNorm(D)
        self.W_o = nn.Linear(D, padded(target_vocabulary))
        if config.tie != "none":
            self.W_o.weight = self.W_b.weight
        self.dropout = Dropout(config.embedding_dropout)
        self._init_weights()
        # Last, so that under one seed everything else starts with the same weights for every mechanism.
        self.attentions = nn.ModuleList(make_attention(config) for _ in range(L))
        for attention in self.attentions:
            self.init_attention(attention)
            if isinstance(attention, Attention) and attention.has_heads:
                attention.dropout = config.transformer.attention_dropout
        self.selective = all(attention.selective for attention in self._attentions())

    @staticmethod
    def init_attention(attention: nn.Module) -> None:
        for parameter in attention.parameters():
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)

    def _init_weights(self) -> None:
        for name, parameter in self.named_parameters():
            if isinstance(self.get_submodule(name.rpartition(".")[0]), nn.Embedding):
                nn.init.normal_(parameter, std=self.config.embedding**-0.5)
            elif parameter.dim() == 2 and parameter is not self.W_b.weight:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Computes the word representations h of sources (B, S), and each decoder layer's keys and values."""
        h, _ = self._encode(src, src_mask)
        memory, nothing = self._memory(h, src_mask), h.new_zeros(len(h), 1, 0, self.config.key)
        seen = chain.from_iterable(attention.start(own) for _, attention, own in self._decoder_layers(memory))
        return Source(memory, (*[nothing] * (2 * self.config.layers), *seen))

    def _memory(self, h: Tensor, src_mask: Tensor) -> Memory:
        """Returns keys (B, S, L, K) and values (B, S, L, V) of the source for all decoder layers."""
        memories = [attention.memory(h, src_mask) for attention in self._attentions()]
        keys = torch.stack([memory.keys for memory in memories], dim=2)
        return Memory(keys, torch.stack([memory.values for memory in memories], dim=2), src_mask)

    def _encode(
        self, src: Tensor, src_mask: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns h (B, S, D), and each layer's weights (B, N, S, S) if they are needed."""
        x, all_weights = self.embed(self.W_z, src), []
        for layer in self.encoder:
            assert isinstance(layer, EncoderLayer)
            if need_weights:
                all_weights.append(layer.weights(x, src_mask))
            x = layer(x, src_mask)
        return self.encoder_norm(x), all_weights

    def decode(
        self,
        tgt_in: Tensor,
        source: Source,
        tgt_mask: Tensor | None = None,  # noqa: ARG002
        *,
        need_weights: bool = False,
        look: Look | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Computes g for whole targets (B, T), and the mean over layers and heads of the source's weights.

        With `look`, which decides what each layer takes from the source, there are no weights.
        """
        y, all_weights = self.embed(self.W_b, tgt_in), []
        mask = _causal_mask(tgt_in)
        for number, (layer, attention, memory) in enumerate(self._decoder_layers(source.memory)):
            normal = layer.own_norm(y)
            y = layer.look_back(y, normal, layer.own.memory(normal, mask))
            queries = layer.cross_norm(y)
            if look is None:
                a, weights = attention.attend(queries, memory, need_weights=need_weights)
            else:
                a, weights = look(number, attention, queries, memory), None
            y = layer.take_from_source(y, a)
            all_weights.append(weights)
        return self.decoder_norm(y), _mean(all_weights)

    def looks_at_source(self, tgt_in: Tensor, source: Source) -> list[tuple[Attention, Tensor, Memory]]:
        """Returns for each decoder layer its mechanism, the queries LN(y), and its keys and values."""
        looks = []

        def look(_number: int, attention: Attention, queries: Tensor, memory: Memory) -> Tensor:
            looks.append((attention, queries, memory))
            return attention.attend(queries, memory, need_weights=False)[0]

        self.decode(tgt_in, source, look=look)
        return looks

    def attention_weights(self, src: Tensor, src_mask: Tensor, tgt_in: Tensor) -> AttentionWeights:
        """Computes the weights of all heads in all layers."""
        h, encoder = self._encode(src, src_mask, need_weights=True)
        y, mask = self.embed(self.W_b, tgt_in), _causal_mask(tgt_in)
        decoder, cross = [], []
        for layer, attention, memory in self._decoder_layers(self._memory(h, src_mask)):
            normal = layer.own_norm(y)
            own = layer.own.memory(normal, mask)
            decoder.append(layer.own.weigh(normal, own))
            y = layer.look_back(y, normal, own)
            queries = layer.cross_norm(y)
            cross.append(attention.weigh(queries, memory))
            y = layer.take_from_source(y, attention.attend(queries, memory, need_weights=False)[0])
        return AttentionWeights(*(torch.stack(each, dim=1) for each in (cross, encoder, decoder)))

    def padded_output(self, features: Tensor) -> Tensor:
        """Computes the logits of the next words from g: (..., D) to (..., V and padding)."""
        return apply_linear(features, self.W_o)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, Tensor, State]:
        """Computes one more word of K hypotheses.

        The state holds the keys and the values of each layer for the words before, 2L x (B, K, words, K),
        and then the state of each layer's attention.
        """
        B, K = tokens.shape
        L = self.config.layers
        seen, each = state[2 * L :], (len(state) - 2 * L) // L
        position = state[0].shape[2]
        y = self.embed(self.W_b, tokens.view(B * K, 1), position)  # (B * K, 1, D)
        new_state: list[Tensor] = []
        all_weights: list[Tensor | None] = []
        new_seen: list[Tensor] = []
        before = iter(part.flatten(0, 1) for part in state[: 2 * L])  # (B * K, words, K)
        for number, (layer, attention, of_source) in enumerate(self._decoder_layers(memory)):
            normal = layer.own_norm(y)
            new = layer.own.memory(normal)
            own = Memory(
                torch.cat([next(before), new.keys], dim=1), torch.cat([next(before), new.values], dim=1), None
            )
            new_state += (own.keys, own.values)
            y = layer.look_back(y, normal, own)
            queries = layer.cross_norm(y).view(B, K, -1)
            a, weights, now = attention.advance(queries, of_source, seen[number * each : (number + 1) * each])
            y = layer.take_from_source(y, a.reshape(B * K, 1, -1))
            all_weights.append(weights)
            new_seen += now
        log_probs = self.output(self.decoder_norm(y).view(B, K, -1)).log_softmax(dim=-1)
        weights = _mean(all_weights)
        assert weights is not None
        own_state = (part.view(B, K, *part.shape[1:]) for part in new_state)
        return log_probs, weights, (*own_state, *new_seen)

    def multiplications(self) -> tuple[int, int]:
        """Returns the multiply-adds of all matrices for one source token and one target token."""
        keys, queries = zip(*(attention.multiplications() for attention in self._attentions()), strict=True)
        decoder = count_weights(self.decoder, self.W_o)
        return count_weights(self.encoder) + sum(keys), decoder + sum(queries)

    def embed(self, words: nn.Embedding, tokens: Tensor, start: int = 0) -> Tensor:
        """Returns the embeddings of tokens (B, T) at the positions from `start` on, (B, T, D)."""
        x: Tensor = words(tokens) * math.sqrt(self.config.embedding)
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        match self.config.transformer.positions:
            case "sinusoidal":
                x = x + sinusoidal_positions(positions, x.shape[2]).to(x.dtype)
            case "learnt":
                x = x + math.sqrt(self.config.embedding) * self.learnt(
                    positions.clamp(max=LEARNT_POSITIONS - 1)
                )
        dropped: Tensor = self.dropout(x)
        return dropped

    def _attentions(self) -> Iterator[Attention]:
        for attention in self.attentions:
            assert isinstance(attention, Attention)
            yield attention

    def _decoder_layers(self, memory: Memory) -> Iterator[tuple["DecoderLayer", Attention, Memory]]:
        """Yields each layer, what it looks at the source with, and its keys and values of the source."""
        for number, (layer, attention) in enumerate(zip(self.decoder, self._attentions(), strict=True)):
            assert isinstance(layer, DecoderLayer)
            yield (
                layer,
                attention,
                Memory(memory.keys[:, :, number], memory.values[:, :, number], memory.mask),
            )


class EncoderLayer(nn.Module):
    """Self-attention over the whole source, then the feed-forward part."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.own_norm = nn.LayerNorm(config.embedding)
        self.own = make_self_attention(config)
        self.feed_forward = FeedForward(config)
        self.dropout = Dropout(config.output_dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Returns the next x, (B, S, D)."""
        normal = self.own_norm(x)
        x = x + self.dropout(self.own(normal, normal, mask, need_weights=False)[0])
        added: Tensor = self.dropout(self.feed_forward(x))
        return x + added

    def weights(self, x: Tensor, mask: Tensor) -> Tensor:
        """Returns how much each word looks at each word with each head, (B, N, S, S)."""
        normal = self.own_norm(x)
        return self.own.weigh(normal, self.own.memory(normal, mask))


class DecoderLayer(nn.Module):
    """Self-attention over the words so far, attention to the source, then the feed-forward part."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.own_norm = nn.LayerNorm(config.embedding)
        self.own = make_self_attention(config)
        self.cross_norm = nn.LayerNorm(config.embedding)
        self.feed_forward = FeedForward(config)
        self.dropout = Dropout(config.output_dropout)

    def look_back(self, y: Tensor, normal: Tensor, own: Memory) -> Tensor:
        """Adds what self-attention finds in all words so far, `own`; `normal` is LN(y)."""
        found: Tensor = self.dropout(self.own.attend(normal, own, need_weights=False)[0])
        return y + found

    def take_from_source(self, y: Tensor, a: Tensor) -> Tensor:
        """Adds a, what attention finds in the source for LN(y), then the feed-forward part."""
        y = y + self.dropout(a)
        added: Tensor = self.dropout(self.feed_forward(y))
        return y + added


class FeedForward(nn.Module):
    """FF(LN(x)) = W_2 ReLU(W_1 LN(x) + b_1) + b_2, for every word alone."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        D, F = config.embedding, config.transformer.feed_forward
        self.norm = nn.LayerNorm(D)
        self.W_1 = nn.Linear(D, F)
        self.W_2 = nn.Linear(F, D)
        self.dropout = Dropout(config.transformer.feed_forward_dropout)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.W_2(self.dropout(torch.relu(self.W_1(self.norm(x)))))
        return y


class RotaryAttention(MultiHeadAttention):
    """Multi-head self-attention that knows positions: queries and keys are rotated (Su et al. 2021).

    Numbers 2c and 2c + 1 of a query or a key at position t are turned by the angle t / 10000^(2c / K). The
    product of a query and a key then depends on their distance, and on neither position alone.
    """

    def product(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        q, k = super().product(queries, memory)
        positions = torch.arange(k.shape[2], device=k.device)
        # There may be fewer queries than keys: they are the last of the words.
        return rotate(q, positions[k.shape[2] - q.shape[2] :]), rotate(k, positions)


def make_self_attention(config: ModelConfig) -> MultiHeadAttention:
    kind = RotaryAttention if config.transformer.positions == "rotary" else MultiHeadAttention
    D = config.embedding
    attention = kind(D, D, config.key, config.heads)
    attention.dropout = config.transformer.attention_dropout
    return attention


def angles(positions: Tensor, size: int) -> Tensor:
    """Returns t / 10000^(2c / size) for positions t and each pair c of numbers, (positions, size / 2).

    In double precision: a large angle in single precision has no digits left for its sine.
    """
    rates = 10000 ** (torch.arange(0, size, 2, dtype=torch.float64, device=positions.device) / -size)
    return positions[:, None] * rates


def sinusoidal_positions(positions: Tensor, size: int) -> Tensor:
    """Returns sines and cosines in turn, p_t (positions, size): 2c is a sine, 2c + 1 a cosine."""
    angle = angles(positions, size)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :size]


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Turns each pair of numbers of x (..., positions, size) by the angle of its position."""
    angle = angles(positions, x.shape[-1])
    sin, cos = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def _causal_mask(tokens: Tensor) -> Tensor:
    """Returns which words a word may look at, (1, T, T): itself and those before it.

    Padding comes after the words, so no word sees it.
    """
    T = tokens.shape[1]
    return torch.ones(1, T, T, dtype=torch.bool, device=tokens.device).tril()


def _mean(weights: list[Tensor | None]) -> Tensor | None:
    """Returns the mean over the layers, (B, T, S)."""
    known = [each for each in weights if each is not None]
    return torch.stack(known).mean(0) if known else None
