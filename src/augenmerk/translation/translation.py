"""A translation, with its attention over words as they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from rich.markup import escape

from augenmerk.base.console import make_table, render_html
from augenmerk.base.entries import ARCHITECTURES
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.decoder import Hypothesis
from augenmerk.text.batching import REASONS, Reason
from augenmerk.text.tokenizer import EOS, SPECIAL_TOKENS, TokenizerPair
from augenmerk.translation.alignment import Weights, over_words
from augenmerk.translation.data import AttentionData, HeadData, TranslationData

if TYPE_CHECKING:
    from augenmerk.drawing.figures import Picture

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

    def to_data(self, *, subwords: bool) -> HeadData:
        found: HeadData = {"head": self.head, "attention": _round(self.attention)}
        if self.layer is not None:
            found = {"layer": self.layer, **found}
        if subwords:
            found["subword_attention"] = _round(self.subword_attention)
        return found


def check_number(name: str, number: int | None, count: int) -> None:
    """Raises AugenmerkError if there is no layer or head of this number, counted from 1."""
    if number is not None and not 1 <= number <= count:
        raise AugenmerkError(f"There is no {name} {number}: this model has {count}.")


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
    """Why the source is unlike anything the model learnt from, if it is: see `augenmerk.text.batching`."""
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
        check_number("layer", layer, self.heads[-1].layer or 1)
        if part not in self._parts:
            titles = (f"{entry.title}s" for entry in ARCHITECTURES.values() if entry.self_attention)
            raise AugenmerkError(f"This model has no self-attention, which {' and '.join(titles)} have.")
        return [one for one in self._parts[part] if layer in (None, one.layer or 1)]

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
        found = {}
        for part, heads in self._parts.items():
            layers, weights = heads[-1].layer or 1, np.stack([one.attention for one in heads])
            found[part] = weights.reshape(layers, len(heads) // layers, *weights.shape[1:])
        return found

    @cached_property
    def _parts(self) -> dict[str, Sequence[HeadAttention]]:
        """All heads by part; those of one part may be more than those of another."""
        if not self.self_attention:
            return {"cross": self.heads} if self.heads else {}
        before = [0]  # the word of each token that the decoder has read; the first is <s>
        for word in self._target.word_of[:-1]:
            before.append(before[-1] if word is None else word + 1)
        source = self._source.word_of
        sides: dict[Part, Any] = {"encoder": (source, source), "decoder": (self._target.word_of, before)}
        return {"cross": self.heads} | {
            part: [
                HeadAttention(over_words(one, *words), one, head, layer, part)
                for layer, of_layer in enumerate(self.self_attention[part], 1)
                for head, one in enumerate(of_layer, 1)
            ]
            for part, words in sides.items()
        }

    def _over_words(self, weights: Weights) -> Weights:
        return over_words(weights, self._target.word_of, self._source.word_of)

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
        """Returns plain data for JSON, a `TranslationData`; `heads` is there only if they were asked for.

        Without `attention`, there are no words either, and this takes microseconds. The words and the
        attention of a text are in its `sentences`.
        """
        return {**self._to_data(attention=attention, subwords=subwords)}

    def _to_data(self, *, attention: bool, subwords: bool) -> TranslationData:
        found: TranslationData = {
            "source": self.source,
            "translation": self.text,
            "score": self.score,
            "log_probability": self.log_probability,
            "finished": self.finished,
            "truncated": self.truncated,
            "unfamiliar": None,
            "uncovered": None,
        }
        if self.unfamiliar:
            in_words = f"The sentence has {REASONS[self.unfamiliar]}."
            found["unfamiliar"] = {"reason": self.unfamiliar, "in_words": in_words}
        if self.uncovered:
            in_words = (
                f"Hardly any attention went to “{self.uncovered}”, so its translation is probably missing."
            )
            found["uncovered"] = {"text": self.uncovered, "in_words": in_words}
        if self.expected_chrf is not None:
            found["expected_chrf"] = self.expected_chrf
        if attention and not self.sentences:
            found = {**found, **self.describe_attention(subwords=subwords)}
        if self.alternatives:
            found["alternatives"] = [
                one._to_data(attention=attention, subwords=subwords) for one in self.alternatives
            ]
            for each in found["alternatives"]:
                del each["unfamiliar"]  # shared with the best
                each.pop("sentences", None)  # these have their own alternatives
        if self.sentences:
            found["sentences"] = [
                one._to_data(attention=attention, subwords=subwords) for one in self.sentences
            ]
        return found

    def describe_attention(self, *, subwords: bool = False) -> AttentionData:
        """Returns the words, what each of them looks at and, if they were asked for, subwords and heads."""
        found: AttentionData = {
            "source_words": list(self.source_words),
            "target_words": list(self.target_words),
            "word_log_probabilities": list(self.word_log_probabilities),
            "attention": _round(self.attention),
        }
        if subwords:
            found["source_subwords"] = list(self.source_subwords)
            found["target_subwords"] = list(self.target_subwords)
            found["subword_attention"] = _round(self.subword_attention)
        if self.self_attention:
            found["attentions"] = {
                part: [list(map(_round, layer)) for layer in layers]
                for part, layers in self.attentions.items()
            }
        if self.heads:
            found["heads"] = [head.to_data(subwords=subwords) for head in self.heads]
        return found

    def __str__(self) -> str:
        return self.text

    def plot(self, view: str = "heat", *, subwords: bool = False) -> "Picture":
        """Returns a picture of the attention over words: "heat", or "lines" between them."""
        from augenmerk.drawing import AttentionMap, draw_heat_map, draw_line_diagram
        from augenmerk.drawing.figures import Picture

        if view not in ("heat", "lines"):
            raise AugenmerkError(f"There is no view '{view}'; the views are heat and lines.")
        parts = self.sentences or (self,)
        maps = [AttentionMap.from_translation(one, subwords=subwords) for one in parts]
        return Picture(partial(draw_heat_map if view == "heat" else draw_line_diagram, maps), self.text)

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


class Translations(list[Translation]):
    """A list of translations, which shows itself in notebooks."""

    def __str__(self) -> str:
        return "\n".join(one.text for one in self)

    def _repr_html_(self) -> str:
        rows = [[escape(one.source), escape(one.text)] for one in self]
        return render_html([make_table(("source", "translation"), rows, left=2)])


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


def _round(weights: Weights) -> list[list[float]]:
    """Returns weights rounded to six digits, as plain data."""
    return [[round(weight, 6) for weight in row] for row in weights.tolist()]
