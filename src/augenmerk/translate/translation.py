"""A translation, with its attention over the words that a person sees."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from augenmerk.alignment import over_words
from augenmerk.familiarity import REASONS, Reason
from augenmerk.search import Hypothesis
from augenmerk.text import EOS, SPECIAL_TOKENS, TokenizerPair

END = SPECIAL_TOKENS[EOS]
"""The word that stands for the end of a sentence, on either side."""


class Words(NamedTuple):
    """The words of a sentence, and for each token the number of its word; None for a token without one."""

    words: tuple[str, ...]
    word_of: tuple[int | None, ...]

    def with_end(self) -> "Words":
        return Words((*self.words, END), (*self.word_of, len(self.words)))


class HeadAttention(NamedTuple):
    """The attention of one head."""

    head: int
    """Its number, counted from 1."""
    attention: Tensor
    """Weights (target words, source words), as in `Translation.attention`."""
    subword_attention: Tensor
    """Weights (target subwords, source subwords), as in `Translation.subword_attention`."""

    @property
    def name(self) -> str:
        return f"head {self.head}"


@dataclass(frozen=True, eq=False)
class Translation:
    """A sentence and its translation. Words and their attention are computed when they are first used.

    A model also attends to the end of the source, and produces an end like any word. So on both sides the
    last word is `</s>`, and every row of the attention sums to 1 (to 0 if the model attends to nothing). A
    translation that was cut off at its maximum length has no end; an empty line has no words.
    """

    source: str
    text: str
    score: float = 0.0
    """log_probability / length**length_penalty, which a search ranks alternatives by."""
    log_probability: float = 0.0
    expected_chrf: float | None = None
    """What alternatives are ranked by, if minimum Bayes risk chose among them."""
    finished: bool = True
    """Whether the translation ended by itself, rather than at its maximum length."""
    truncated: bool = False
    """Whether the source was too long, so that only its beginning was translated."""
    unfamiliar: Reason | None = None
    """Why the source is unlike anything the model learnt from, if it is: see `augenmerk.familiarity`."""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """The next best translations, or the other samples, if they were asked for."""
    tokenizers: TokenizerPair | None = field(default=None, repr=False)
    hypothesis: Hypothesis | None = field(default=None, repr=False)
    """The tokens and the attention over tokens; None for an empty line."""
    other_words: Words | None = field(default=None, repr=False)
    """The target words if they are not those of the tokens, because a target was given or unknown words were
    replaced."""
    heads: tuple[HeadAttention, ...] = field(default=(), repr=False)
    """The attention of each head, if it was asked for (`heads=True`); the mean over them is `attention`. A
    mechanism without heads counts as one. Empty for an empty line."""

    @property
    def source_words(self) -> tuple[str, ...]:
        """The source words that were read, as they are written in the source."""
        return self._source.words

    @property
    def target_words(self) -> tuple[str, ...]:
        return self._target.words

    @cached_property
    def attention(self) -> Tensor:
        """Weights (target words, source words): summed over the subwords of a source word, averaged over
        those of a target word."""
        return self._over_words(self.subword_attention)

    def with_heads(self, weights: Tensor) -> "Translation":
        """Returns the translation with the weights (heads, target subwords, source subwords) of its heads."""
        heads = (HeadAttention(number, self._over_words(one), one) for number, one in enumerate(weights, 1))
        return replace(self, heads=tuple(heads))

    def _over_words(self, weights: Tensor) -> Tensor:
        rows = [row for row, word in enumerate(self._target.word_of) if word is not None]
        if not rows:
            return torch.zeros(0, len(self.source_words))
        return over_words(weights[rows], _known(self._target), _known(self._source))

    @cached_property
    def word_log_probabilities(self) -> tuple[float, ...]:
        """The log-probability of each target word, given those before it."""
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
        if self.tokenizers is None:
            return ()
        ids = self.tokenizers.source.encode(self.source).ids[: len(self._source.word_of) - 1]
        return (*map(self.tokenizers.source.token, ids), END)

    @property
    def target_subwords(self) -> tuple[str, ...]:
        if self.tokenizers is None or self.hypothesis is None:
            return ()
        end = (END,) if self.hypothesis.finished else ()
        return (*map(self.tokenizers.target.token, self.hypothesis.ids), *end)

    @property
    def subword_attention(self) -> Tensor:
        """Weights (target subwords, source subwords)."""
        return torch.zeros(0, 0) if self.hypothesis is None else self.hypothesis.weights

    def to_dict(self, *, subwords: bool = False) -> dict[str, Any]:
        """Returns plain data for JSON; `heads` is there only if they were asked for."""
        tree: dict[str, Any] = {
            "source": self.source,
            "translation": self.text,
            "score": self.score,
            "log_probability": self.log_probability,
            "finished": self.finished,
            "truncated": self.truncated,
            "unfamiliar": self.unfamiliar
            and {"reason": self.unfamiliar, "in_words": f"The sentence has {REASONS[self.unfamiliar]}."},
            "source_words": list(self.source_words),
            "target_words": list(self.target_words),
            "word_log_probabilities": list(self.word_log_probabilities),
            "attention": _plain(self.attention),
        }
        if self.expected_chrf is not None:
            tree["expected_chrf"] = self.expected_chrf
        if subwords:
            tree["source_subwords"] = list(self.source_subwords)
            tree["target_subwords"] = list(self.target_subwords)
            tree["subword_attention"] = _plain(self.subword_attention)
        if self.heads:
            tree["heads"] = [
                {
                    "head": one.head,
                    "attention": _plain(one.attention),
                    **({"subword_attention": _plain(one.subword_attention)} if subwords else {}),
                }
                for one in self.heads
            ]
        if self.alternatives:
            tree["alternatives"] = [other.to_dict(subwords=subwords) for other in self.alternatives]
            for other in tree["alternatives"]:
                del other["unfamiliar"]  # it is about the source, which they share
        return tree

    def _repr_html_(self) -> str:
        """Shows the attention in notebooks."""
        from augenmerk.diagrams import AttentionMap, render_html_map

        return render_html_map(AttentionMap.from_translation(self, title=self.text))

    @cached_property
    def _source(self) -> Words:
        if self.tokenizers is None or self.hypothesis is None:
            return Words((), ())
        encoded = self.tokenizers.source.encode(self.source)
        word_of = encoded.word_of[: self.hypothesis.weights.shape[1] - 1]
        read = word_of[-1] + 1 if word_of else 0
        return Words(encoded.words[:read], word_of).with_end()

    @cached_property
    def _target(self) -> Words:
        if self.tokenizers is None or self.hypothesis is None:
            return Words((), ())
        words = self.other_words or Words(*self.tokenizers.target.words_of_ids(self.hypothesis.ids))
        return words.with_end() if self.hypothesis.finished else words


def _known(words: Words) -> Sequence[int]:
    return [word for word in words.word_of if word is not None]


def _plain(attention: Tensor) -> list[list[float]]:
    """Returns the weights as lists, rounded to six digits."""
    return [[round(weight, 6) for weight in row] for row in attention.tolist()]
