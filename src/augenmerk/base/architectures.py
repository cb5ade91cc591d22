"""The architectures, and the settings of a model. `ARCHITECTURES` is the only place that lists them.

To add an architecture, write a `TranslationModel` (`augenmerk.model.interface`) in its own file and add an
entry here: CONTRIBUTING.md has an example. If it needs its own settings, they are a group of `ModelConfig`,
as `TransformerConfig` is. Classes are imported when they are first used.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, field_validator, model_validator

from augenmerk.base.mechanisms import MECHANISMS, Entry
from augenmerk.base.settings import Settings

CUSTOM_ATTENTION = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")
"""How a mechanism in the user's own file is named: FILE.py:Class."""

LEARNT_POSITIONS = 512
"""The number of positions that a Transformer learns, if they are learnt; later words share the last one."""


@dataclass(frozen=True, kw_only=True)
class Architecture(Entry):
    """What the package needs to know about an architecture besides its classes."""

    title: str
    """Its name in sentences."""
    query_size: Callable[["ModelConfig"], int]
    """Returns the size of a decoder state that asks, g_i."""
    value_size: Callable[["ModelConfig"], int]
    """Returns the size of a word representation that is attended to, h_t."""
    check: Callable[["ModelConfig"], None] = lambda _config: None
    """Raises ValueError if the settings do not fit together."""
    mechanisms: tuple[str, ...] | None = None
    """The mechanisms that it takes; None if it takes all, custom ones included."""
    self_attention: bool = False
    """Whether encoder and decoder have self-attention, and every layer of the decoder attends to the source.
    Otherwise the decoder attends to the source once, after its last layer."""


def _check_heads(config: "ModelConfig") -> None:
    if config.key % config.heads:
        raise ValueError(f"key = {config.key} cannot be shared evenly among heads = {config.heads}")


def _check_transformer(config: "ModelConfig") -> None:
    _check_heads(config)
    if config.transformer.positions == "rotary" and (size := config.key // config.heads) % 2:
        raise ValueError(
            f"rotary positions turn pairs of numbers: key = {config.key} over heads = {config.heads} gives "
            f"{size} numbers a head, which must be even"
        )


ARCHITECTURES: dict[str, Architecture] = {
    "gru": Architecture(
        title="GRU",
        torch_class="augenmerk.model.gru:GRUTranslator",
        numpy_class="augenmerk.inference.gru:GRUTranslator",
        in_browser=True,
        query_size=lambda config: config.hidden,
        value_size=lambda config: 2 * config.hidden,
    ),
    "transformer": Architecture(
        title="Transformer",
        torch_class="augenmerk.model.transformer:TransformerTranslator",
        numpy_class="augenmerk.inference.transformer:TransformerTranslator",
        in_browser=True,
        query_size=lambda config: config.embedding,
        value_size=lambda config: config.embedding,
        check=_check_transformer,
        self_attention=True,
    ),
}
"""Every architecture by its name in the settings."""

if TYPE_CHECKING:
    ArchitectureName = str
else:
    ArchitectureName = Literal[tuple(ARCHITECTURES)]


class TransformerConfig(Settings):
    """What only a Transformer has."""

    feed_forward: int = Field(default=1024, ge=1, le=32_768)
    """Size of the hidden layer of the feed-forward part."""
    positions: Literal["sinusoidal", "learnt", "rotary"] = "sinusoidal"
    """How a word knows its position: sines are added to its embedding; vectors that are learnt are; or
    queries and keys of self-attention are rotated, by an angle for each position."""
    attention_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Dropout on the weights of multi-head attention."""
    feed_forward_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Dropout on the hidden layer of the feed-forward part."""


class ModelConfig(Settings):
    """The sizes of the translator, equations 3 to 15."""

    architecture: ArchitectureName = "gru"
    """The kind of encoder and decoder. A Transformer has self-attention in both; `attention` is what its
    decoder looks at the source with."""
    attention: str = Field(default="scaled-dot", examples=list(MECHANISMS))
    """The attention mechanism, or FILE.py:Class for one in your own file."""
    embedding: int = Field(default=256, ge=1, le=8192)
    """Size of a word embedding, z_t and b_i; of a Transformer, the size of every layer."""
    hidden: int = Field(default=512, ge=1, le=8192)
    """Size of a GRU state: hf_t, hb_t and g_i. The word representation h_t is twice as large. Unused by a
    Transformer."""
    key: int = Field(default=512, ge=1, le=8192)
    """Size of queries and keys, where the mechanism projects to them."""
    heads: int = Field(default=4, ge=1, le=64)
    """Number of heads of multi-head attention, which divide `key` among them."""
    layers: int = Field(default=1, ge=1, le=8)
    """Layers of the encoder, and as many of the decoder."""
    embedding_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Dropout on the embeddings of both languages."""
    output_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Dropout before the output layer, and between GRU layers; in a Transformer, on what each part of a layer
    adds."""
    tie: Literal["none", "target", "all"] = "none"
    """Which embeddings share one matrix: none; target embedding and output layer; or all, with the source
    embedding too, which needs a joint vocabulary."""
    init: Literal["torch", "orthogonal"] = "torch"
    """Initial weights: torch's defaults; or orthogonal matrices in the GRUs and larger tied embeddings, with
    which a model learns faster (docs/experiments.md). A Transformer starts as its paper says."""
    transformer: TransformerConfig = TransformerConfig()
    """What only a Transformer has."""

    @property
    def entry(self) -> Architecture:
        """What is known about the architecture."""
        return ARCHITECTURES[self.architecture]

    @property
    def query_size(self) -> int:
        """The size of a decoder state that asks, g_i."""
        return self.entry.query_size(self)

    @property
    def value_size(self) -> int:
        """The size of a word representation that is attended to, h_t."""
        return self.entry.value_size(self)

    @property
    def attention_heads(self) -> int:
        """The number of heads that attend to the source; custom mechanisms count as one."""
        mechanism = MECHANISMS.get(self.attention)
        return self.heads if mechanism and mechanism.has_heads else 1

    def runs_in(self, engine: Literal["numpy", "browser"]) -> bool:
        """Returns whether both the architecture and the mechanism are there without torch."""
        parts = self.entry, MECHANISMS.get(self.attention)
        return all(part and (part.numpy_class if engine == "numpy" else part.in_browser) for part in parts)

    @field_validator("attention")
    @classmethod
    def _attention_is_known(cls, name: str) -> str:
        if name not in MECHANISMS and CUSTOM_ATTENTION.fullmatch(name) is None:
            raise ValueError(f"expected {', '.join(MECHANISMS)}, or FILE.py:Class")
        return name

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.attention_heads > 1:
            _check_heads(self)
        self.entry.check(self)
        taken = self.entry.mechanisms
        if taken is not None and self.attention not in taken:
            raise ValueError(
                f"architecture = '{self.architecture}' takes the attention {', '.join(taken)}, "
                f"not '{self.attention}'"
            )
        return self
