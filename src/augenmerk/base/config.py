"""All settings of a run, presets and TOML files, and changes to single settings."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import tomli_w
from pydantic import Field, PrivateAttr, field_validator, model_validator

from augenmerk.base.entries import ARCHITECTURES, CUSTOM, DATASETS, MECHANISMS, Architecture, check_heads
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import read_text
from augenmerk.base.settings import (
    MAX_SETTINGS_BYTES,
    Settings,
    describe_as_toml,
    flatten_settings,
    list_keys,
    list_settings,
    override,
    parse_toml,
    set_key,
)

CUSTOM_ATTENTION = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")
"""How a mechanism in the user's own file is named: FILE.py:Class."""
LEARNT_POSITIONS = 512
"""The number of positions that a Transformer learns, if they are learnt; later words share the last one."""

VOCABULARY_MULTIPLE = 64
"""Vocabularies are padded to a multiple of this: matrix units are several times faster on even widths."""


if TYPE_CHECKING:
    ArchitectureName = str
else:
    ArchitectureName = Literal[tuple(ARCHITECTURES)]


def padded(vocabulary: int) -> int:
    """Returns the vocabulary size rounded up to a multiple of `VOCABULARY_MULTIPLE`."""
    return -(-vocabulary // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE


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
    """Size of a recurrent state: hf_t, hb_t and g_i; a word representation h_t is twice as large. Unused by a
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
    """Dropout before the output layer, and between recurrent layers; in a Transformer, on what each part of a
    layer adds."""
    tie: Literal["none", "target", "all"] = "none"
    """Which embeddings share one matrix: none; target embedding and output layer; or all, with the source
    embedding too, which needs a joint vocabulary."""
    init: Literal["torch", "orthogonal"] = "torch"
    """Initial weights: torch's defaults; or, in the GRU only, orthogonal matrices and larger tied embeddings,
    with which it learns faster (docs/lab/2026-11-16-recipes.md). A Transformer starts as its paper says."""
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
        """The number of heads that attend to the source; mechanisms in torch alone count as one."""
        mechanism = MECHANISMS.get(self.attention) or CUSTOM.get(self.attention)
        return self.heads if mechanism and mechanism.has_heads else 1

    def runs_in(self, engine: Literal["numpy", "browser"]) -> bool:
        """Returns whether both the architecture and the mechanism are there without torch."""
        has_architecture = self.entry.numpy_class if engine == "numpy" else self.entry.in_browser
        return bool(has_architecture) and (self.attention in MECHANISMS or self.attention in CUSTOM)

    @field_validator("attention")
    @classmethod
    def _attention_is_known(cls, name: str) -> str:
        if name not in MECHANISMS and CUSTOM_ATTENTION.fullmatch(name) is None:
            raise ValueError(f"expected {', '.join(MECHANISMS)}, or FILE.py:Class")
        return name

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.attention_heads > 1:
            check_heads(self)
        self.entry.check(self)
        taken = self.entry.mechanisms
        if taken is not None and self.attention not in taken:
            raise ValueError(
                f"architecture = '{self.architecture}' takes the attention {', '.join(taken)}, "
                f"not '{self.attention}'"
            )
        return self


ATTENTIONS = tuple(MECHANISMS)
"""The names of the attention mechanisms that come with Augenmerk."""
_PRESETS = Path(__file__).parents[1] / "presets"
PRESETS = tuple(sorted(path.stem for path in _PRESETS.glob("*.toml")))
"""The names of the settings that come with Augenmerk: each is a file."""
DEFAULT_SAMPLES = 50
"""Candidates of MBR when they are sampled and no number is given."""


class BilderbuchConfig(Settings):
    """What the built-in dataset generates."""

    pairs: int | None = Field(default=None, ge=1, lt=2**31)
    """The number of training pairs; 20,000 if absent."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """The seed of the sentences. It is not the seed of the run: all runs of a study read the same data."""


class DataConfig(Settings):
    """Where the sentence pairs come from."""

    bitext: str = Field(default="bilderbuch", min_length=1, examples=list(DATASETS))
    """The name of a dataset, or your own folder or file of pairs."""
    bilderbuch: BilderbuchConfig = BilderbuchConfig()
    """What to generate, if the bitext is bilderbuch."""
    source_language: str | None = None
    """Translate from this language, where the bitext leaves it open or the other way is wanted."""
    target_language: str | None = None
    """Translate into this language."""
    train: str = "train"
    """The split that is trained on."""
    validation: str = "val"
    """The split that decides which epoch's weights are kept."""
    skip_bad: bool = False
    """Whether lines that hold no usable pair in your own files are skipped; otherwise they are an error."""
    max_length: int = Field(default=200, ge=1, le=10_000)
    """Training pairs with more tokens than this on a side are left out, and longer sources are cut."""

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The languages that are translated from and into, where the settings tell."""
        source, target = self.source_language, self.target_language
        if self.bitext in DATASETS:
            first, second = DATASETS[self.bitext].languages
            other = {first: second, second: first}
            source = source or other.get(target or second)
            target = target or other.get(source or first)
        return source, target


class TextConfig(Settings):
    """How sentences become ids."""

    unit: Literal["word", "bpe"] = "bpe"
    """Whole words, or subwords by byte-pair encoding."""
    lowercase: bool = False
    """Whether texts are lowercased first. Presets do that for datasets that have a name, but your own pairs
    keep their case."""
    joint: bool = True
    """Whether both languages share one vocabulary. Whole words are best kept separate."""
    vocabulary_size: int = Field(default=8000, ge=300, le=1_000_000)
    """How many entries a vocabulary may have, special ones included."""
    minimum_frequency: int = Field(default=1, ge=1, lt=2**31)
    """Words seen less often in training become unknown; with BPE, pairs seen less often are not merged."""
    bpe_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Probability that a merge is skipped when a training sentence is split into subwords."""

    @model_validator(mode="after")
    def _dropout_needs_subwords(self) -> Self:
        if self.bpe_dropout and self.unit == "word":
            raise ValueError('bpe_dropout needs unit = "bpe"')
        return self


class TrainConfig(Settings):
    """How the weights are trained."""

    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of initial weights, order of the data and dropout."""
    epochs: int = Field(default=10, ge=1, le=100_000)
    """Number of passes over the training pairs."""
    batch_size: int = Field(default=128, ge=1, le=65_536)
    """Sentence pairs in a batch."""
    accumulate: int = Field(default=1, ge=1, le=4096)
    """Batches whose gradients are added up for one update of the weights."""
    optimizer: Literal["adam", "adamw"] = "adam"
    """The optimiser; adamw keeps weight decay apart from the moments of the gradient."""
    lr: float = Field(default=1e-3, gt=0.0, le=10.0)
    """Learning rate, at its highest."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Whether the rate stays constant after the warm-up or falls to 0 along a cosine."""
    warmup: int = Field(default=0, ge=0, lt=2**31)
    """Steps over which the rate rises from 0."""
    beta2: float = Field(default=0.999, gt=0.0, lt=1.0)
    """Decay of the optimiser's average of squared gradients."""
    weight_decay: float = Field(default=0.0, ge=0.0, le=1e6)
    """How strongly weights are pulled towards 0."""
    label_smoothing: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the target's probability that is spread over the whole vocabulary in the training loss."""
    clip: float = Field(default=0.0, ge=0.0, le=1e6)
    """Maximum norm of the gradient; 0 for no clipping."""
    ema: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Decay of the moving average of the weights, which is evaluated and kept; 0 for none."""
    patience: int = Field(default=0, ge=0, lt=2**31)
    """Stop after this many epochs without improvement; 0 for never."""
    select_by: Literal["loss", "bleu"] = "loss"
    """Which epoch's weights are kept: lowest validation loss, or highest validation BLEU."""
    bleu: bool = True
    """Whether validation BLEU is measured after each epoch (greedy, the whole split)."""
    save_seconds: float = Field(default=120.0, gt=0.0, le=1e9)
    """How often the state is saved within an epoch, besides at its end."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Numbers to compute in; auto takes bf16 if the hardware has it."""
    exact_parts: int = Field(default=0, ge=0, le=4096)
    """Parts of a batch, computed one by one and added in their order; the result is the same for any number
    of processes that divides it. 0: a part for each process, added in the fastest order."""
    initial_run: str | None = None
    """The run whose vocabulary and weights this one began with; random weights if absent."""

    @model_validator(mode="after")
    def _what_is_kept_is_measured(self) -> Self:
        if self.select_by == "bleu" and not self.bleu:
            raise ValueError('select_by = "bleu" needs bleu = true')
        return self


class SearchConfig(Settings):
    """How translations are decoded. A run keeps these settings; commands and calls may change single ones.

    The texts below the fields are also the help of the options for them (`augenmerk.cli.options`).
    """

    beam: int = Field(default=1, ge=1, le=1000)
    """Beam width: hypotheses kept at each step; 1 is greedy search."""
    length_penalty: float = Field(default=0.0, ge=0.0, le=5.0)
    """Rank finished hypotheses by log-probability / length**length_penalty."""
    max_length: int = Field(default=50, ge=1, le=10_000)
    """Maximum length of a translation, in tokens."""
    max_ratio: float = Field(default=0.0, ge=0.0, le=1000.0)
    """A translation also has at most this many tokens per source token, plus ten; 0 for no such limit."""
    n_best: int = Field(default=1, ge=1, le=1000)
    """Translations of each sentence to return."""
    allow_unknown: bool = True
    """Allow the unknown word in translations."""
    replace_unknown: bool = False
    """Replace each unknown word by the source word attended to most."""
    sample: bool = False
    """Sample translations from the model at random instead of searching for the best."""
    temperature: float = Field(default=1.0, ge=1e-4, le=1e4)
    """Sampling temperature: lower values give less random translations."""
    top_k: int = Field(default=0, ge=0, lt=2**31)
    """Sample from only this many most likely tokens at each step; 0 for all."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of sampling. A sentence's samples depend on the seed and on the sentence's number alone."""
    mbr: bool = False
    """Minimum Bayes risk: choose the candidate most like the others, by chrF."""
    candidates: int | None = Field(default=None, ge=2, le=1000)
    """Candidates of each model for MBR; if absent, the whole beam, or 50 samples."""
    precision: Literal["fp32", "int8"] = "fp32"
    """Numbers to compute in; int8 is faster on a CPU, needs ONNX Runtime, and changes some translations."""

    @model_validator(mode="after")
    def _can_be_found(self) -> Self:
        if self.candidates is not None and not self.mbr:
            raise ValueError("candidates are what MBR chooses from: set mbr = true too, or use n_best")
        if self.sample:
            return self
        if self.mbr and self.beam == 1:
            raise ValueError("MBR cannot choose from one hypothesis: use a beam of 10, for example")
        if (wanted := max(self.candidates or 1, 1 if self.mbr else self.n_best)) > self.beam:
            raise ValueError(f"a beam of {self.beam} does not find {wanted} translations: use a wider beam")
        return self

    @property
    def hypotheses(self) -> int:
        """How many hypotheses of each sentence one model has to find."""
        if not self.mbr:
            return self.n_best
        return self.candidates or (DEFAULT_SAMPLES if self.sample else self.beam)

    def replaced(self, changes: Mapping[str, Any], source: str) -> Self:
        """Returns these settings with some changed; a change to None changes nothing.

        If the changes do not set the beam, it is made wide enough for what they ask for. Errors name
        `source`.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        if not given:
            return self
        tree = self.model_dump() | given
        wanted = [tree["beam"], tree["n_best"], tree["candidates"] or 1]
        if "beam" not in given and not tree["sample"] and all(isinstance(each, int) for each in wanted):
            tree["beam"] = max(wanted)
        return type(self).checked(tree, source)


class RunConfig(Settings):
    """All settings of a run."""

    data: DataConfig = DataConfig()
    text: TextConfig = TextConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()
    _left_open: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.model.tie == "all" and not self.text.joint:
            raise ValueError('model.tie = "all" needs text.joint = true: one matrix, one vocabulary')
        return self

    def flatten(self) -> dict[str, Any]:
        """Returns all settings by their full names, such as data.bilderbuch.seed, as data for JSON."""
        groups = self.model_dump(mode="json").items()
        return dict(pair for group, settings in groups for pair in flatten_settings(group, settings))

    def describe(self) -> dict[str, Any]:
        """Returns what lists of models and runs show of a run, as data for JSON."""
        source, target = self.data.languages
        return {
            "source_language": source,
            "target_language": target,
            "architecture": self.model.architecture,
            "attention": self.model.attention,
            "beam": self.search.beam,
        }

    def __eq__(self, other: object) -> bool:
        """Compares the settings; whether they were left open makes no difference."""
        return isinstance(other, RunConfig) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    @property
    def left_open(self) -> set[str]:
        """The settings that only a preset decided: `augenmerk.training.start` fits them to the data."""
        settings = self.flatten()
        return {key for key, value in self._left_open.items() if settings[key] == value}

    def leaving_open(self, keys: Iterable[str]) -> Self:
        """Returns the settings with these, and no others, left open."""
        settings = self.flatten()
        copied = self.model_copy()
        copied._left_open = {key: settings[key] for key in keys}
        return copied

    def decide(self, values: Mapping[str, Any], source: str) -> Self:
        """Returns the settings with those of the values that were left open; they stay open.

        Raises AugenmerkError, which names the source of the values, if the other settings do not allow them.
        """
        left_open, tree = self.left_open, self.model_dump()
        for key in left_open & values.keys():
            set_key(tree, key, values[key])
        return self.checked(tree, f"With the settings of {source}").leaving_open(left_open)

    def to_dict(self) -> list[dict[str, Any]]:
        """Returns each setting with its meaning and its value, as `augenmerk config show --json` prints."""
        values = self.flatten()
        return [{**asdict(each), "value": values.get(each.name)} for each in list_settings(self)]

    def __str__(self) -> str:
        return "\n".join(describe_as_toml(self)).strip()

    def to_toml(self) -> str:
        return tomli_w.dumps(self.model_dump(exclude_none=True))

    @classmethod
    def from_toml(cls, text: str, source: str, settings: Iterable[str] = ()) -> Self:
        """Reads TOML, and replaces single settings such as "train.lr=0.002". Errors name `source`."""
        tree = parse_toml(text, source)
        for setting in settings:
            override(tree, setting)
        return cls.checked(tree, source)


def load_config(preset_or_file: str, settings: Iterable[str] = ()) -> RunConfig:
    """Loads a preset or a TOML file, and replaces single settings.

    A preset leaves open what depends on the data, unless a setting says it (`RunConfig.left_open`); your own
    pairs already keep their case here.
    """
    if preset_or_file in PRESETS:
        settings = list(settings)
        text = (_PRESETS / f"{preset_or_file}.toml").read_text(encoding="utf-8")
        config = RunConfig.from_toml(text, preset_or_file, settings)
        return keep_own_case(config.leaving_open(open_keys() - list_keys(settings)))
    path = Path(preset_or_file)
    if path.suffix != ".toml" and not os.path.exists(path):  # noqa: PTH110 (no error for a name that is too long)
        raise AugenmerkError(
            f"There is no preset called '{shorten(preset_or_file)}': the presets are {', '.join(PRESETS)}; "
            f"or give a file that ends in .toml."
        )
    return RunConfig.from_toml(read_text(path, MAX_SETTINGS_BYTES), preset_or_file, settings)


def open_keys() -> set[str]:
    """Returns the names of all settings that a preset leaves to the data."""
    return {"data.max_length", "train.warmup", *(f"text.{key}" for key in TextConfig.model_fields)}


def keep_own_case(config: RunConfig) -> RunConfig:
    """Returns the settings without lowercasing, if that was left open and the pairs are your own."""
    bitext = config.data.bitext
    return config if bitext in DATASETS else config.decide({"text.lowercase": False}, bitext)
