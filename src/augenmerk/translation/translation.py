"""A translation, with its attention over words as they are written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.search.decoder import Hypothesis
from augenmerk.text.familiarity import REASONS, Reason
from augenmerk.text.tokenizer import EOS, SPECIAL_TOKENS, TokenizerPair
from augenmerk.translation.alignment import Weights, over_words

if TYPE_CHECKING:
    from pydantic import BaseModel


END = SPECIAL_TOKENS[EOS]
"""The word for the end of a sentence, on either side."""


class Words(NamedTuple):
    """The words of a sentence, and for each token the number of its word; None for a token without one."""

    words: tuple[str, ...]
    word_of: tuple[int | None, ...]

    def with_end(self) -> "Words":
        return Words((*self.words, END), (*self.word_of, len(self.words)))


Part = Literal["cross", "encoder", "decoder"]
"""Who looks at whom: the target at the source, source words at one another, target words at those before."""


class HeadAttention(NamedTuple):
    """The attention of one head, or the mean over several."""

    attention: Weights
    """Weights over words: of `Translation.attention` for the part "cross", otherwise as in `attentions`."""
    subword_attention: Weights
    """The same over subwords."""
    head: int | None = None
    """Its number within the layer, counted from 1; None for the mean over all heads."""
    layer: int | None = None
    """The number of its layer, counted from 1; None for the mean over all layers, and in a GRU, which has no
    layers of attention."""
    part: Part = "cross"

    @property
    def name(self) -> str:
        layer = [] if self.layer is None else [f"layer {self.layer}"]
        head = "mean of all heads" if self.head is None else f"head {self.head}"
        return ", ".join([*([] if self.part == "cross" else [self.part]), *layer, head])


def average_heads(heads: Sequence[HeadAttention]) -> HeadAttention:
    """Returns the mean over some heads of one part."""
    layers = {one.layer for one in heads}
    return HeadAttention(
        np.stack([one.attention for one in heads]).mean(axis=0),
        np.stack([one.subword_attention for one in heads]).mean(axis=0),
        layer=layers.pop() if len(layers) == 1 else None,
        part=heads[0].part,
    )


@dataclass(frozen=True, eq=False)
class Translation:
    """A sentence and its translation. Words and their attention are computed when they are first used.

    A model also attends to the end of the source, and produces an end like any word. So on both sides the
    last word is `</s>`, and every row of the attention sums to 1 (to 0 if the model attends to nothing). A
    translation that was cut off at its maximum length has no end; an empty line has no words.

    A text of several sentences has theirs in `sentences`. Its words are those of all of them, one sentence
    after the other, each with its end; its attention is 0 between words of different sentences. Heads are
    in `sentences` only.
    """

    source: str
    text: str
    score: float = 0.0
    """log_probability / length**length_penalty, which a search ranks alternatives by."""
    log_probability: float = 0.0
    expected_chrf: float | None = None
    """What alternatives are ranked by, if minimum Bayes risk chose among them."""
    finished: bool = True
    """Whether the translation ended before its maximum length."""
    truncated: bool = False
    """Whether the source was too long, so that only its beginning was translated."""
    unfamiliar: Reason | None = None
    """Why the source is unlike anything the model learnt from, if it is: see `augenmerk.text.familiarity`."""
    uncovered: str | None = None
    """The part of the source that the translation probably leaves out, if there is one: see
    `augenmerk.translation.decoding`."""
    sentences: tuple["Translation", ...] = field(default=(), repr=False)
    """The translations of the sentences of a text; empty if the source was translated as one sentence."""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """The next best translations, or the other samples, if they were asked for."""
    tokenizers: TokenizerPair | None = field(default=None, repr=False)
    hypothesis: Hypothesis | None = field(default=None, repr=False)
    """The tokens and the attention over tokens; None for an empty line."""
    other_words: Words | None = field(default=None, repr=False)
    """The target words if they are not those of the tokens, because a target was given or unknown words were
    replaced."""
    heads: tuple[HeadAttention, ...] = field(default=(), repr=False)
    """The attention of each head to the source, layer by layer, if it was asked for (`heads=True`); the mean
    over all is `attention`. A mechanism without heads counts as one. Empty for an empty line."""
    self_attention: Mapping[str, Weights] = field(default_factory=dict, repr=False)
    """Of a Transformer, if `heads=True`: weights over tokens, (layers, heads, tokens, tokens), of "encoder"
    and "decoder"; `attentions` has them over words."""

    @property
    def source_words(self) -> tuple[str, ...]:
        """The source words that were read, as they are written in the source."""
        return self._source.words

    @property
    def target_words(self) -> tuple[str, ...]:
        return self._target.words

    @cached_property
    def attention(self) -> Weights:
        """Weights (target words, source words): summed over the subwords of a source word, averaged over
        those of a target word."""
        return self._over_words(self.subword_attention)

    def with_heads(
        self, cross: Weights, self_attention: Mapping[str, Weights] | None = None
    ) -> "Translation":
        """Returns the translation with the weights of all heads.

        `cross` is (layers, heads, target subwords, source subwords).
        """
        heads = [
            HeadAttention(self._over_words(one), one, number, layer if self_attention else None)
            for layer, of_layer in enumerate(cross, 1)
            for number, one in enumerate(of_layer, 1)
        ]
        return replace(self, heads=tuple(heads), self_attention=self_attention or {})

    def select_heads(self, part: Part = "cross", layer: int | None = None) -> list[HeadAttention]:
        """Returns the heads of a part, of all layers or of one, counted from 1; none for an empty line.

        Raises AugenmerkError if there is no such layer, or no such part.
        """
        if not self.heads:
            return []
        layers = self.attentions["cross"].shape[0]
        if layer is not None and not 1 <= layer <= layers:
            have = "its layers are counted from 1 to" if layers > 1 else "the number of its layers is"
            raise AugenmerkError(f"There is no layer {layer} of attention in this model: {have} {layers}.")
        if part == "cross":
            return [one for one in self.heads if layer is None or layer == (one.layer or 1)]
        if part not in self.attentions:
            raise AugenmerkError("This model has no self-attention: it is a GRU, and not a Transformer.")
        return [
            HeadAttention(over_words, over_tokens, head, number, part)
            for number, (words, tokens) in enumerate(
                zip(self.attentions[part], self.self_attention[part], strict=True), 1
            )
            if layer is None or layer == number
            for head, (over_words, over_tokens) in enumerate(zip(words, tokens, strict=True), 1)
        ]

    @cached_property
    def attentions(self) -> dict[str, Weights]:
        """Weights over words of every head in every layer, if `heads=True`; L layers of N heads each.

        "cross" (L, N, target words, source words): what each target word takes from the source.
        "encoder" (L, N, source words, source words): what each source word takes from each.
        "decoder" (L, N, target words, target words): what is known of the target when each of its words is
        predicted; column 0 is the beginning `<s>`, column j is target word j - 1, and the last word, which
        nothing comes after, has none.

        A GRU has "cross" only, with one layer.
        """
        if not self.heads:
            return {}
        layers = self.heads[-1].layer or 1
        heads = len(self.heads) // layers
        cross = np.stack([one.attention for one in self.heads])
        found = {"cross": cross.reshape(layers, heads, *cross.shape[1:])}
        if self.self_attention:
            source = self._source.word_of
            before = [0]  # the word of each token that the decoder has read; the first is <s>
            for word in self._target.word_of[:-1]:
                before.append(before[-1] if word is None else word + 1)
            sides = {"encoder": (source, source), "decoder": (self._target.word_of, before)}
            for name, (rows, columns) in sides.items():
                tokens = self.self_attention[name]  # (L, N, tokens, tokens); N may not be that of "cross"
                maps = [_tokens_to_words(one, rows, columns) for layer in tokens for one in layer]
                found[name] = np.stack(maps).reshape(*tokens.shape[:2], *maps[0].shape)
        return found

    def _over_words(self, weights: Weights) -> Weights:
        return _tokens_to_words(weights, self._target.word_of, self._source.word_of)

    @cached_property
    def word_log_probabilities(self) -> tuple[float, ...]:
        """The log-probability of each target word, given those before it."""
        if self.sentences:
            return tuple(chain.from_iterable(one.word_log_probabilities for one in self.sentences))
        return self.sum_over_words(self.hypothesis.token_log_probabilities if self.hypothesis else ())

    def sum_over_words(self, values: Sequence[float]) -> tuple[float, ...]:
        """Sums values of target subwords over each target word."""
        sums = [0.0] * len(self.target_words)
        for word, value in zip(self._target.word_of, values, strict=True):
            if word is not None:
                sums[word] += value
        return tuple(sums)

    @property
    def source_subwords(self) -> tuple[str, ...]:
        """The source tokens; `▁` is the space before a word."""
        if self.sentences:
            return tuple(chain.from_iterable(one.source_subwords for one in self.sentences))
        if self.tokenizers is None:
            return ()
        ids = self.tokenizers.source.encode(self.source).ids[: len(self._source.word_of) - 1]
        return (*map(self.tokenizers.source.token, ids), END)

    @property
    def target_subwords(self) -> tuple[str, ...]:
        if self.sentences:
            return tuple(chain.from_iterable(one.target_subwords for one in self.sentences))
        if self.tokenizers is None or self.hypothesis is None:
            return ()
        end = (END,) if self.hypothesis.finished else ()
        return (*map(self.tokenizers.target.token, self.hypothesis.ids), *end)

    @property
    def subword_attention(self) -> Weights:
        """Weights (target subwords, source subwords)."""
        if self.sentences:
            return _block_diagonal([one.subword_attention for one in self.sentences])
        return np.zeros((0, 0), np.float32) if self.hypothesis is None else self.hypothesis.weights

    def to_dict(self, *, attention: bool = True, subwords: bool = False) -> dict[str, Any]:
        """Returns plain data for JSON; `heads` is there only if they were asked for.

        Without `attention`, there are no words either, and this takes microseconds. The words and the
        attention of a text are in its `sentences`.
        """
        return describe(self, Detail(attention, subwords))

    def describe_attention(self, *, subwords: bool = False) -> dict[str, Any]:
        """Returns the words, what each of them looks at and, if they were asked for, subwords and heads."""
        return describe(self, Detail(True, subwords), only_attention=True)

    def _repr_html_(self) -> str:
        """Shows the attention in notebooks."""
        from augenmerk.drawing import AttentionMap, render_html_map

        maps = [AttentionMap.from_translation(one, title=one.text) for one in self.sentences or (self,)]
        return "".join(map(render_html_map, maps))

    @cached_property
    def _source(self) -> Words:
        if self.sentences:
            return _chain_words([one._source for one in self.sentences])
        if self.tokenizers is None or self.hypothesis is None:
            return Words((), ())
        encoded = self.tokenizers.source.encode(self.source)
        word_of = encoded.word_of[: self.hypothesis.weights.shape[1] - 1]
        read = word_of[-1] + 1 if word_of else 0
        return Words(encoded.words[:read], word_of).with_end()

    @cached_property
    def _target(self) -> Words:
        if self.sentences:
            return _chain_words([one._target for one in self.sentences])
        if self.tokenizers is None or self.hypothesis is None:
            return Words((), ())
        words = self.other_words or Words(*self.tokenizers.target.words_of_ids(self.hypothesis.ids))
        return words.with_end() if self.hypothesis.finished else words


def _chain_words(parts: Sequence[Words]) -> Words:
    """Returns the words of sentences one after the other."""
    before = accumulate((len(part.words) for part in parts), initial=0)
    word_of = [
        None if word is None else first + word
        for first, part in zip(before, parts, strict=False)
        for word in part.word_of
    ]
    return Words(tuple(chain.from_iterable(part.words for part in parts)), tuple(word_of))


def _block_diagonal(blocks: Sequence[Weights]) -> Weights:
    """Returns an array with the blocks from its upper left to its lower right corner, and 0 elsewhere."""
    rows, columns = np.array([block.shape for block in blocks]).sum(axis=0)
    whole = np.zeros((rows, columns), np.float32)
    row = column = 0
    for block in blocks:
        height, width = block.shape
        whole[row : row + height, column : column + width] = block
        row, column = row + height, column + width
    return whole


def _tokens_to_words(
    weights: Weights, row_words: Sequence[int | None], column_words: Sequence[int | None]
) -> Weights:
    """Returns weights over words; a row whose token belongs to no word is left out."""
    rows = [row for row, word in enumerate(row_words) if word is not None]
    columns = [word for word in column_words if word is not None]
    if not rows:
        return np.zeros((0, max(columns, default=-1) + 1), weights.dtype)
    return over_words(weights[rows], [word for word in row_words if word is not None], columns)


Rows = list[list[float]]
"""Weights, a row for each target word; rounded to six digits."""


class Detail(NamedTuple):
    """What was asked for besides the translation itself."""

    attention: bool = True
    subwords: bool = False


@dataclass(frozen=True)
class Unfamiliar:
    """Why a text is unlike all that the model learnt from."""

    reason: str
    in_words: str


@dataclass(frozen=True)
class Uncovered:
    """The part of a source that its translation probably leaves out."""

    text: str
    in_words: str


@dataclass(frozen=True)
class Field:
    """One field of a translation as data."""

    name: str
    type: Any
    meaning: str
    get: "Callable[[Translation, Detail], Any] | None" = None
    """Returns its value; by default the attribute of this name."""
    asked_by: Literal["", "attention", "subwords"] = ""
    """The detail that it is there for; of a text with several sentences, those have it."""
    optional: bool = False
    """Whether it is left out if it is None."""

    def read(self, one: "Translation", detail: Detail) -> Any:
        if self.get is not None:
            return self.get(one, detail)
        value = getattr(one, self.name)
        if self.type is Rows:
            return _plain(value)
        return list(value) if isinstance(value, tuple) else value


def _plain(attention: "Weights") -> Rows:
    return [[round(weight, 6) for weight in row] for row in attention.tolist()]


def _unfamiliar(one: "Translation", _: Detail) -> dict[str, str] | None:
    if one.unfamiliar is None:
        return None
    return asdict(Unfamiliar(one.unfamiliar, f"The sentence has {REASONS[one.unfamiliar]}."))


def _uncovered(one: "Translation", _: Detail) -> dict[str, str] | None:
    if one.uncovered is None:
        return None
    words = f"Hardly any attention went to “{one.uncovered}”, so its translation is probably missing."
    return asdict(Uncovered(one.uncovered, words))


def _attentions(one: "Translation", _: Detail) -> dict[str, Any] | None:
    if not one.self_attention:
        return None
    return {part: [list(map(_plain, layer)) for layer in layers] for part, layers in one.attentions.items()}


def _heads(one: "Translation", detail: Detail) -> list[dict[str, Any]] | None:
    return [
        {
            **({} if head.layer is None else {"layer": head.layer}),
            "head": head.head,
            "attention": _plain(head.attention),
            **({"subword_attention": _plain(head.subword_attention)} if detail.subwords else {}),
        }
        for head in one.heads
    ] or None


def _alternatives(one: "Translation", detail: Detail) -> list[dict[str, Any]] | None:
    """Returns the alternatives without what they share with the best, or what is in its sentences."""
    left_out = ("unfamiliar", "sentences")
    described = (describe(other, detail) for other in one.alternatives)
    return [{key: value for key, value in each.items() if key not in left_out} for each in described] or None


def _sentences(one: "Translation", detail: Detail) -> list[dict[str, Any]] | None:
    return [describe(sentence, detail) for sentence in one.sentences] or None


FIELDS = (
    Field("source", str, "The text."),
    Field("translation", str, "Its translation.", lambda one, _: one.text),
    Field("score", float, "log_probability / length**length_penalty."),
    Field("log_probability", float, "Of the whole translation, in nats."),
    Field("finished", bool, "Whether it ended before its maximum length."),
    Field("truncated", bool, "Whether the source was too long, and only its beginning was read."),
    Field("unfamiliar", Unfamiliar | None, "Why the source is unlike the training text.", _unfamiliar),
    Field("uncovered", Uncovered | None, "What the translation probably leaves out.", _uncovered),
    Field("expected_chrf", float, "What minimum Bayes risk ranks by.", optional=True),
    Field("source_words", list[str], "The last is </s>, the end.", asked_by="attention"),
    Field("target_words", list[str], "The last is </s>, the end.", asked_by="attention"),
    Field("word_log_probabilities", list[float], "Given the words before.", asked_by="attention"),
    Field("attention", Rows, "Target words x source words.", asked_by="attention"),
    Field("source_subwords", list[str], "What the model reads.", asked_by="subwords"),
    Field("target_subwords", list[str], "What the model writes.", asked_by="subwords"),
    Field("subword_attention", Rows, "Target subwords x source subwords.", asked_by="subwords"),
    Field("attentions", dict[str, list[list[Rows]]], "Part, layer, head.", _attentions, "attention", True),
    Field("heads", list[dict[str, Any]], "The attention of each head.", _heads, "attention", True),
    Field("alternatives", list[dict[str, Any]], "The next best.", _alternatives, optional=True),
    Field("sentences", list[dict[str, Any]], "Only if the text has several.", _sentences, optional=True),
)
"""In the order of `Translation.to_dict`. Alternatives and sentences are translations again."""


def describe(one: "Translation", detail: Detail, *, only_attention: bool = False) -> dict[str, Any]:
    """Returns a translation as plain data for JSON, or only its words and attention."""
    tree = {}
    for entry in FIELDS:
        if entry.asked_by:
            wanted = (
                getattr(detail, entry.asked_by) and detail.attention and (only_attention or not one.sentences)
            )
        else:
            wanted = not only_attention
        if wanted:
            value = entry.read(one, detail)
            if value is not None or not entry.optional:
                tree[entry.name] = value
    return tree


def make_model(name: str) -> "type[BaseModel]":
    """Returns the fields as a model of pydantic, whose JSON schema describes `Translation.to_dict`."""
    from pydantic import Field as ModelField
    from pydantic import create_model

    fields: dict[str, Any] = {}
    for entry in FIELDS:
        absent = entry.asked_by or entry.optional or isinstance(entry.type, UnionType)
        kind = list[name] if entry.name in ("alternatives", "sentences") else entry.type  # type: ignore[valid-type]
        default = None if absent else ...
        fields[entry.name] = (kind | None if absent else kind, ModelField(default, description=entry.meaning))
    return create_model(name, **fields)
