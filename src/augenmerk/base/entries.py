"""The tables of everything that has a name in the settings: mechanisms, architectures and datasets.

Settings, help, error messages, studies, both engines and exported pages read them. CONTRIBUTING.md has an
example of each new entry. Classes are imported when they are first used. The tables are here, and not beside
the code, because the settings of a run need the names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from augenmerk.base.config import ModelConfig


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Where the code of a mechanism, or of an architecture, is. Classes are named MODULE:CLASS."""

    torch_class: str
    """The class that is trained."""
    numpy_class: str | None = None
    """The same for translating on a CPU without torch. If there is none, torch translates."""
    in_browser: bool = False
    """Whether `web/engine` has it too, so that a run can be exported as a page."""


@dataclass(frozen=True, kw_only=True)
class Mechanism(Entry):
    """What the package needs to know about a mechanism."""

    has_heads: bool = False
    """Whether it has several heads, `model.heads`."""


def _everywhere(name: str, *, has_heads: bool = False) -> Mechanism:
    return Mechanism(
        torch_class=f"augenmerk.model.attention:{name}",
        numpy_class=f"augenmerk.inference.model:{name}",
        in_browser=True,
        has_heads=has_heads,
    )


MECHANISMS: dict[str, Mechanism] = {
    "none": _everywhere("NoAttention"),
    "mean": _everywhere("MeanAttention"),
    "scaled-dot": _everywhere("ScaledDotAttention"),
    "dot": _everywhere("DotAttention"),
    "bilinear": _everywhere("BilinearAttention"),
    "additive": _everywhere("AdditiveAttention"),
    "multi-head": _everywhere("MultiHeadAttention", has_heads=True),
}
"""Every mechanism by its name in the settings; custom ones, in the user's files, are not among them."""


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


def check_heads(config: "ModelConfig") -> None:
    if config.key % config.heads:
        raise ValueError(f"key = {config.key} cannot be shared evenly among heads = {config.heads}")


def _check_transformer(config: "ModelConfig") -> None:
    check_heads(config)
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


Option = Literal["pairs", "seed", "folder"]


@dataclass(frozen=True)
class Dataset:
    """All that is known of a dataset without opening it."""

    languages: tuple[str, str]
    """The codes of the source and the target language."""
    summary: str
    """What it is, in a few words."""
    licence: str
    """A sentence about who may use a model that learnt from it."""
    options: tuple[Option, ...] = ()
    """What `load` takes. If the settings have a group data.NAME, its keys must be among these options."""
    downloaded: bool = False
    """Whether its module has `fetch(folder, url, on_progress) -> Path`, and `SHA256` for all its files."""


DATASETS: Mapping[str, Dataset] = {
    "bilderbuch": Dataset(
        languages=("de", "en"),
        summary="captions as in a picture book, generated by a grammar, with gold word alignments",
        licence="The model was trained on bilderbuch, sentences that Augenmerk generates (MIT licence).",
        options=("pairs", "seed"),
    ),
    "multi30k": Dataset(
        languages=("de", "en"),
        summary="captions of photographs, to be downloaded, for research and teaching",
        licence=(
            "The model was trained on Multi30k, which is for research and teaching, not for commercial use."
        ),
        options=("folder",),
        downloaded=True,
    ),
}


DOWNLOADED = ", ".join(name for name, dataset in DATASETS.items() if dataset.downloaded)
"""The names of the datasets that are downloaded."""


def datasets_with(option: Option) -> str:
    """Returns the names of the datasets that take an option, for help texts."""
    return ", ".join(name for name, dataset in DATASETS.items() if option in dataset.options)
