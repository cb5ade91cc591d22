"""CTranslate2 as a peer in the benchmark of decoding: a Transformer with random weights on a CPU.

It reads the same ids as our model, from vocabularies of the same sizes. What its random weights make of them
has a length that is given, so that both do the same number of steps.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.config import ModelConfig
from augenmerk.text.tokenizer import EOS

LAYERS, HEADS = 3, 4
"""Of the peer of a GRU, which has none of its own: a common size for a small Transformer."""

SPECIAL = ("<blank>", "<s>", "</s>", "<unk>")
"""PAD, BOS, EOS and UNK as CTranslate2 calls them."""

PRECISIONS = {"CTranslate2 fp32": "float32", "CTranslate2 int8": "int8"}


def is_installed() -> bool:
    return find_spec("ctranslate2") is not None


@dataclass(frozen=True)
class PeerSize:
    """The sizes of a peer."""

    layers: int  # of the encoder, and as many of the decoder
    width: int
    heads: int
    feed_forward: int

    @classmethod
    def like(cls, config: ModelConfig) -> "PeerSize":
        """Returns those of a Transformer of ours, or those of a Transformer as wide as a GRU of ours."""
        if config.entry.self_attention:
            # CTranslate2 shares the width among the heads, ours the size of the keys.
            heads = config.heads if config.embedding % config.heads == 0 else 1
            return cls(config.layers, config.embedding, heads, config.transformer.feed_forward)
        width = -(-config.query_size // (2 * HEADS)) * 2 * HEADS  # sinusoidal positions need an even width
        return cls(LAYERS, width, HEADS, 2 * width)


class Peer:
    """A translator of CTranslate2 in one precision."""

    def __init__(self, translator: Any) -> None:
        self._translator = translator

    def translate(self, sentences: list[list[str]], beam: int, length: int) -> list[list[str]]:
        """Returns the best translation of each sentence, in exactly `length` tokens."""
        # Tried twice each on a busy machine: 16 to 256 sentences in a batch with beams of 1 and 5, 8 to 64
        # with 20. These were among the best, but greedily in fp32 64 were quicker than 128 in one round (656
        # and 575 sentences/s), and with beam 20 in int8 8 quicker than 16. Wider beams were not tried.
        batch_size = 128 if beam == 1 else max(8, 320 // beam)
        found = self._translator.translate_batch(
            sentences,
            beam_size=beam,
            max_batch_size=batch_size,
            min_decoding_length=length,
            max_decoding_length=length,
        )
        return [result.hypotheses[0] for result in found]


def make_peers(size: PeerSize, vocabularies: tuple[int, int], threads: int) -> dict[str, Peer]:
    """Returns a peer for each precision, with the same weights; needs ctranslate2."""
    import ctranslate2

    with tempfile.TemporaryDirectory() as folder:
        spec = ctranslate2.specs.TransformerSpec.from_config(size.layers, size.heads, pre_norm=True)
        _fill(spec, size, *vocabularies)
        spec.register_source_vocabulary(list(map(_name, range(vocabularies[0]))))
        spec.register_target_vocabulary(list(map(_name, range(vocabularies[1]))))
        spec.validate()
        spec.optimize()
        spec.save(folder)
        make = partial(ctranslate2.Translator, folder, inter_threads=threads, intra_threads=1)
        return {name: Peer(make(compute_type=precision)) for name, precision in PRECISIONS.items()}


def to_tokens(sources: Sequence[Sequence[int]]) -> list[list[str]]:
    """Returns sources as CTranslate2 reads them, each with EOS at its end, as ours has it."""
    return [[_name(token) for token in (*ids, EOS)] for ids in sources]


def _name(token: int) -> str:
    return SPECIAL[token] if token < len(SPECIAL) else f"t{token}"


def _fill(spec: Any, size: PeerSize, source_vocabulary: int, target_vocabulary: int) -> None:
    """Gives a specification of CTranslate2 random weights; its positions are sinusoidal."""
    rng = np.random.default_rng(1)
    width = size.width

    def weights(*shape: int) -> NDArray[np.float32]:
        return rng.standard_normal(shape, np.float32) * np.float32(shape[-1] ** -0.5)

    def fill_linear(layer: Any, inputs: int, outputs: int) -> None:
        layer.weight, layer.bias = weights(outputs, inputs), np.zeros(outputs, np.float32)

    def fill_norm(layer: Any) -> None:
        layer.gamma, layer.beta = np.ones(width, np.float32), np.zeros(width, np.float32)

    def fill_attention(layer: Any, *sizes: int) -> None:
        fill_norm(layer.layer_norm)
        for part, outputs in zip(layer.linear, sizes, strict=True):
            fill_linear(part, width, outputs)

    for side in (spec.encoder, spec.decoder):
        fill_norm(side.layer_norm)
        for layer in side.layer:
            fill_attention(layer.self_attention, 3 * width, width)
            if side is spec.decoder:
                fill_attention(layer.attention, width, 2 * width, width)
            fill_norm(layer.ffn.layer_norm)
            fill_linear(layer.ffn.linear_0, width, size.feed_forward)
            fill_linear(layer.ffn.linear_1, size.feed_forward, width)
    spec.encoder.embeddings[0].weight = weights(source_vocabulary, width)
    spec.decoder.embeddings.weight = weights(target_vocabulary, width)
    fill_linear(spec.decoder.projection, width, target_vocabulary)
