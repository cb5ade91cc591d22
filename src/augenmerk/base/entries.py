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
class Mechanism:
    """What the package needs to know about a mechanism. It runs in torch, in numpy and in exported pages."""

    code: str
    """Its class, MODULE:CLASS."""
    has_heads: bool = False
    """Whether it has several heads, `model.heads`."""
    paper: str = ""
    """Who proposed it."""
    use: str = ""
    """When to use it, in a sentence."""


def _mechanism(code: str, paper: str, use: str, *, has_heads: bool = False) -> Mechanism:
    return Mechanism(code=f"augenmerk.mechanisms.{code}", paper=paper, use=use, has_heads=has_heads)


MECHANISMS: dict[str, Mechanism] = {
    "none": _mechanism(
        "classic:Nothing", "the encoder-decoder of Cho et al. 2014", "To see what attention adds."
    ),
    "mean": _mechanism("classic:Mean", "a baseline", "To see what selecting words adds."),
    "scaled-dot": _mechanism("classic:ScaledDot", "Vaswani et al. 2017, one head", "The default."),
    "dot": _mechanism(
        "classic:Dot", 'Luong, Pham and Manning 2015, "dot"', "To do without parameters in the attention."
    ),
    "bilinear": _mechanism(
        "classic:Bilinear", 'Luong, Pham and Manning 2015, "general"', "To see what scaling adds."
    ),
    "additive": _mechanism(
        "classic:Additive", "Bahdanau, Cho and Bengio 2015", "For small models, where its cost is small."
    ),
    "multi-head": _mechanism(
        "classic:MultiHead",
        "Vaswani et al. 2017",
        "In a Transformer, and where one word needs several others.",
        has_heads=True,
    ),
    "sparsemax": _mechanism(
        "sparse:Sparsemax", "Martins and Astudillo 2016", "For maps with few cells, where most weights are 0."
    ),
    "entmax": _mechanism(
        "sparse:Entmax", "Peters, Niculae and Martins 2019", "Sparse, but with smoother gradients."
    ),
    "top-k": _mechanism(
        "sparse:TopK", "Gupta et al. 2021", "To see how many words a decoder needs: here four."
    ),
    "sigmoid": _mechanism(
        "sparse:Sigmoid",
        "Ramapuram et al. 2025, here divided by the sum",
        "Where many words matter alike: no word can push another away by an exponential.",
    ),
    "cosine": _mechanism(
        "similarity:Cosine", "Graves, Wayne and Danihelka 2014", "Where long vectors attract too much."
    ),
    "linear": _mechanism(
        "similarity:Linear", "Katharopoulos et al. 2020", "To see what the exponential of the softmax adds."
    ),
    "gated": _mechanism(
        "similarity:Gated", "a gate on each value", "To let the decoder take little from any word."
    ),
    "gaussian": _mechanism(
        "places:Gaussian", "after Graves 2013", "To see how far places alone lead, without words."
    ),
    "local": _mechanism(
        "places:Local", 'Luong, Pham and Manning 2015, "local-p"', "For long sentences in similar order."
    ),
    "coverage": _mechanism(
        "remembering:Coverage",
        "Tu et al. 2016; See, Liu and Manning 2017",
        "Against words left out or repeated.",
    ),
    "location": _mechanism(
        "remembering:Location", "Chorowski et al. 2015", "Where source and target have a similar order."
    ),
    "monotonic": _mechanism(
        "remembering:Monotonic", "Raffel et al. 2017, expected", "Where the order is the same on both sides."
    ),
}
"""Every mechanism by its name in the settings."""
CUSTOM: dict[str, Mechanism] = {}
"""Those in the user's files that were loaded, but for those written in torch alone."""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """What the package needs to know about an architecture. Classes are named MODULE:CLASS."""

    torch_class: str
    """The class that is trained."""
    numpy_class: str | None = None
    """The same for translating on a CPU without torch. If there is none, torch translates."""
    in_browser: bool = False
    """Whether `web/engine` has it too, so that a run can be exported as a page."""

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
