"""The Transformer in numpy, in the letters of `augenmerk.model.transformer`, which has the equations.

B sentences, K hypotheses of each, S source positions, T target positions, L layers, N heads, D the size of
every layer.
"""

import math

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.config import LEARNT_POSITIONS, ModelConfig, padded
from augenmerk.inference.attention import Attention, make_attention
from augenmerk.inference.model import (
    Floats,
    InferenceModel,
    Integers,
    Mask,
    Weights,
)
from augenmerk.mechanisms.classic import MultiHead
from augenmerk.search.decoder import AttentionWeights, Memory, Source, State
from augenmerk.text.batching import Batch


class TransformerTranslator(InferenceModel):
    """An encoder and a decoder of L layers each."""

    def __init__(
        self, config: ModelConfig, weights: Weights, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config)
        D, L = config.embedding, config.layers
        self.W_z = weights.take("W_z.weight", padded(source_vocabulary), D)
        self.W_b = weights.take("W_b.weight", padded(target_vocabulary), D)
        if config.transformer.positions == "learnt":
            self.learnt = weights.take("learnt.weight", LEARNT_POSITIONS, D)
        self.encoder = [EncoderLayer(config, weights.inside(f"encoder.{layer}")) for layer in range(L)]
        self.encoder_norm = weights.layer_norm("encoder_norm", D)
        self.decoder = [DecoderLayer(config, weights.inside(f"decoder.{layer}")) for layer in range(L)]
        self.decoder_norm = weights.layer_norm("decoder_norm", D)
        self.W_o = weights.output_layer("W_o", D, target_vocabulary)
        self.attentions = [
            make_attention(config, weights.inside(f"attentions.{layer}")) for layer in range(L)
        ]
        self.selective = all(attention.selective for attention in self.attentions)

    def encode(self, src: Integers, src_mask: Mask) -> Source:
        """Computes the word representations h of sources (B, S), and each decoder layer's keys and values."""
        h, _ = self._encode(src, src_mask)
        memory, nothing = self._memory(h, src_mask), np.zeros((len(h), 1, 0, self.config.key), h.dtype)
        seen = [
            part
            for number, attention in enumerate(self.attentions)
            for part in attention.start(_of_layer(memory, number))
        ]
        return Source(memory, (*[nothing] * (2 * self.config.layers), *seen))

    def _encode(self, src: Integers, src_mask: Mask) -> tuple[Floats, list[Floats]]:
        """Returns h (B, S, D), and each layer's weights (B, N, S, S)."""
        x, all_weights = self.embed(self.W_z, src), []
        for layer in self.encoder:
            x, weights = layer(x, src_mask)
            all_weights.append(weights)
        return self.encoder_norm(x), all_weights

    def _memory(self, h: Floats, src_mask: Mask) -> Memory:
        """Returns keys (B, S, L, K) and values (B, S, L, V) of the source for all decoder layers."""
        memories = [attention.memory(h, src_mask) for attention in self.attentions]
        keys = np.stack([memory.keys for memory in memories], axis=2)
        return Memory(keys, np.stack([memory.values for memory in memories], axis=2), src_mask)

    def step(self, tokens: Integers, state: State, memory: Memory) -> tuple[Floats, Floats, State]:
        """Computes one more word of K hypotheses.

        The state holds the keys and the values of each layer for the words before, 2L x (B, K, words, size),
        and then the state of each layer's attention.
        """
        B, K = tokens.shape
        L = self.config.layers
        seen, each = state[2 * L :], (len(state) - 2 * L) // L
        y = self.embed(self.W_b, tokens.reshape(B * K, 1), start=state[0].shape[2])  # (B * K, 1, D)
        before = [part.reshape(B * K, *part.shape[2:]) for part in state[: 2 * L]]  # (B * K, words, K)
        new_state: list[Floats] = []
        new_seen: list[Floats] = []
        all_weights = []
        for number, (layer, attention) in enumerate(zip(self.decoder, self.attentions, strict=True)):
            normal = layer.own_norm(y)
            new = layer.own.memory_from(normal, start=before[0].shape[1])
            keys, values = (np.concat([before[2 * number + part], new[part]], axis=1) for part in range(2))
            new_state += (keys, values)
            y, _ = layer.look_back(y, normal, Memory(keys, values, None))
            queries, of_source = layer.cross_norm(y).reshape(B, K, -1), _of_layer(memory, number)
            a, weights, now = attention.advance(queries, of_source, seen[number * each : (number + 1) * each])
            y = layer.take_from_source(y, a.reshape(B * K, 1, -1))
            all_weights.append(weights)
            new_seen += now
        log_probs = self.log_softmax(self.W_o(self.decoder_norm(y).reshape(B, K, -1)))
        mean: Floats = np.mean(all_weights, axis=0)
        own_state = (part.reshape(B, K, *part.shape[1:]) for part in new_state)
        return log_probs, mean, (*own_state, *new_seen)

    def _decode(self, tgt_in: Integers, memory: Memory) -> tuple[Floats, list[Floats], list[Floats]]:
        """Computes g for whole targets (B, T), and each layer's weights at the source and back."""
        y, cross, back = self.embed(self.W_b, tgt_in), [], []
        T = tgt_in.shape[1]
        mask = np.tri(T, dtype=np.bool_)[None]  # (1, T, T): a word may look at itself and those before it
        for number, (layer, attention) in enumerate(zip(self.decoder, self.attentions, strict=True)):
            normal = layer.own_norm(y)
            y, weights = layer.look_back(y, normal, layer.own.memory_from(normal)._replace(mask=mask))
            back.append(weights)
            of_source = _of_layer(memory, number)
            weights = attention.weigh(layer.cross_norm(y), of_source)
            y = layer.take_from_source(y, attention.combine(weights, of_source))
            cross.append(weights)
        return self.decoder_norm(y), cross, back

    def target_logits(self, batch: Batch) -> Floats:
        g, _, _ = self._decode(batch.tgt_in, self.encode(batch.src, batch.src_mask).memory)
        return self.W_o(g[batch.tgt_mask])

    def attention_weights(self, src: Integers, src_mask: Mask, tgt_in: Integers) -> AttentionWeights:
        """Computes the weights of all heads in all layers."""
        h, encoder = self._encode(src, src_mask)
        _, cross, decoder = self._decode(tgt_in, self._memory(h, src_mask))
        return AttentionWeights(*(np.stack(each, axis=1) for each in (cross, encoder, decoder)))

    def embed(self, words: Floats, tokens: Integers, start: int = 0) -> Floats:
        """Returns the embeddings of tokens (B, T) at the positions from `start` on, (B, T, D)."""
        scale = math.sqrt(self.config.embedding)
        x: Floats = words[tokens] * scale
        positions = np.arange(start, start + tokens.shape[1])
        match self.config.transformer.positions:
            case "sinusoidal":
                x += sinusoidal_positions(positions, x.shape[2])
            case "learnt":
                x += scale * self.learnt[positions.clip(max=LEARNT_POSITIONS - 1)]
        return x


class EncoderLayer:
    """Self-attention over the whole source, then the feed-forward part."""

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        self.own_norm = weights.layer_norm("own_norm", config.embedding)
        self.own = SelfAttention(config, weights.inside("own"))
        self.feed_forward = FeedForward(config, weights.inside("feed_forward"))

    def __call__(self, x: Floats, mask: Mask) -> tuple[Floats, Floats]:
        """Returns the next x (B, S, D), and how much each word looks at each word, (B, N, S, S)."""
        normal = self.own_norm(x)
        memory = self.own.memory_from(normal)._replace(mask=mask)
        weights = self.own.weights(normal, memory)
        x = x + self.own.mix(weights, memory)
        return x + self.feed_forward(x), weights


class DecoderLayer:
    """Self-attention over the words so far, attention to the source, then the feed-forward part."""

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        self.own_norm = weights.layer_norm("own_norm", config.embedding)
        self.own = SelfAttention(config, weights.inside("own"))
        self.cross_norm = weights.layer_norm("cross_norm", config.embedding)
        self.feed_forward = FeedForward(config, weights.inside("feed_forward"))

    def look_back(self, y: Floats, normal: Floats, own: Memory) -> tuple[Floats, Floats]:
        """Adds what self-attention finds in all words so far, `own`; `normal` is LN(y)."""
        weights = self.own.weights(normal, own)
        return y + self.own.mix(weights, own), weights

    def take_from_source(self, y: Floats, a: Floats) -> Floats:
        """Adds a, what attention finds in the source for LN(y), then the feed-forward part."""
        y = y + a
        return y + self.feed_forward(y)


class FeedForward:
    """FF(LN(x)) = W_2 ReLU(W_1 LN(x) + b_1) + b_2, for every word alone."""

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        D, F = config.embedding, config.transformer.feed_forward
        self.norm = weights.layer_norm("norm", D)
        self.W_1 = weights.linear("W_1", D, F)
        self.W_2 = weights.linear("W_2", F, D)

    def __call__(self, x: Floats) -> Floats:
        inner = self.W_1(self.norm(x))
        return self.W_2(np.maximum(inner, 0, out=inner))


class SelfAttention(Attention, MultiHead):
    """Multi-head self-attention; with rotary positions, queries and keys are turned by their positions.

    Keys are turned when they are computed, because their positions never change.
    """

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        MultiHead.__init__(self, config, weights)
        self._rotary = config.transformer.positions == "rotary"

    def memory_from(self, states: Floats, start: int = 0) -> Memory:
        """Returns keys and values of words (B, T, D) at the positions from `start` on."""
        memory = self.memory(states)
        if not self._rotary:
            return memory
        B, T, _ = states.shape
        keys = rotate(memory.keys.reshape(B, T, self.heads, -1), np.arange(start, start + T))
        return memory._replace(keys=keys.reshape(B, T, -1))

    def product(self, queries: Floats, memory: Memory) -> tuple[Floats, Floats]:
        q, k = super().product(queries, memory)
        if self._rotary:
            # There may be fewer queries than keys: they are the last of the words.
            positions = np.arange(k.shape[2] - q.shape[2], k.shape[2])
            q = rotate(q.swapaxes(1, 2), positions).swapaxes(1, 2)
        return q, k


def angles(positions: Integers, size: int) -> NDArray[np.float64]:
    """Returns t / 10000^(2c / size) for positions t and each pair c of numbers, (positions, size / 2).

    In double precision: a large angle in single precision has no digits left for its sine.
    """
    rates = 10000.0 ** (np.arange(0, size, 2) / -size)
    return positions[:, None] * rates


def sinusoidal_positions(positions: Integers, size: int) -> NDArray[np.float64]:
    """Returns sines and cosines in turn, p_t (positions, size): 2c is a sine, 2c + 1 a cosine."""
    angle = angles(positions, size)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(positions), -1)[:, :size]


def rotate(x: Floats, positions: Integers) -> Floats:
    """Turns each pair of numbers of x (B, positions, N, size) by the angle of its position."""
    angle = angles(positions, x.shape[-1])[:, None]  # (positions, 1, size / 2)
    sin, cos = np.sin(angle).astype(x.dtype), np.cos(angle).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = even * cos - odd * sin
    turned[..., 1::2] = even * sin + odd * cos
    return turned


def _of_layer(memory: Memory, number: int) -> Memory:
    """Returns the keys and values of the source for one decoder layer."""
    return Memory(memory.keys[:, :, number], memory.values[:, :, number], memory.mask)
