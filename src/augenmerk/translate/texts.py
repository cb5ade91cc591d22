"""Texts to translations: what `augenmerk.load` gives, and what it can be asked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypedDict, Unpack, overload

import torch

from augenmerk.batching import Batch, TokenTable
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import RunConfig, SearchConfig
from augenmerk.errors import AugenmerkError
from augenmerk.model.translator import Translator
from augenmerk.search import BeamTrace, Hypothesis, length_limits, sample, trace
from augenmerk.text import UNK, Codec
from augenmerk.translate.decoding import (
    TranslatorDecoder,
    decoded,
    forced_hypotheses,
    hypotheses_of,
    load_translator,
    sentences_per_batch,
)
from augenmerk.translate.translation import Translation, Words
from augenmerk.words import detokenise

CHUNK_LINES = 2000
CHUNK_CHARACTERS = 200_000
"""A stream is translated in chunks of so many lines or characters, whichever is reached first: enough to put
sentences of similar length together, and all that is in memory at a time."""


class Options(TypedDict, total=False):
    """How to translate; what is absent is as in `DEFAULTS`."""

    beam: int | None
    """Hypotheses kept at each step; 1 is greedy. None: as the run's settings say, as for the next two."""
    length_penalty: float | None
    max_length: int | None
    """Longest translation, in tokens."""
    n_best: int
    """How many translations of each sentence. If no beam is given, it is at least as wide."""
    allow_unknown: bool
    """Whether <unk> may be produced."""
    replace_unknown: bool
    """Whether the source word attended to most takes the place of each <unk>."""
    sample: bool
    """Whether translations are drawn at random, instead of searched for; `n_best` of each sentence."""
    temperature: float
    """Of samples: less is less random."""
    top_k: int
    """Of samples: only so many likeliest tokens at each step; 0 for all."""
    seed: int
    """Of samples: the same sentences and the same seed give the same."""


DEFAULTS: Options = {
    "beam": None,
    "length_penalty": None,
    "max_length": None,
    "n_best": 1,
    "allow_unknown": True,
    "replace_unknown": False,
    "sample": False,
    "temperature": 1.0,
    "top_k": 0,
    "seed": 1,
}


def load(run: Path | str, device: torch.device | str = "cpu") -> "TextTranslator":
    """The translator that was trained in a run directory."""
    directory = RunDirectory.open(Path(run))
    return TextTranslator(load_translator(directory, device), directory.codec, directory.config)


class TextTranslator:
    """A trained model that is asked in words and answers in words."""

    def __init__(self, model: Translator, codec: Codec, config: RunConfig) -> None:
        self.model = model
        self.codec = codec
        self.config = config

    @property
    def longest_source(self) -> int:
        """In tokens: the model was trained on nothing longer. What is beyond is not read."""
        return self.config.data.max_length

    @overload
    def translate(self, text: str, **options: Unpack[Options]) -> Translation: ...
    @overload
    def translate(
        self, text: list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> list[Translation]: ...
    def translate(
        self, text: str | list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> Translation | list[Translation]:
        """Translates a sentence, or many together, which is faster. A sentence is a text without breaks."""
        if isinstance(text, str):
            return next(self.stream([text], **options))
        return list(self.stream(text, **options))

    def stream(self, lines: Iterable[str], **options: Unpack[Options]) -> Iterator[Translation]:
        """Translates any number of sentences in bounded memory, in their order."""
        if unknown := options.keys() - DEFAULTS.keys():
            raise TypeError(f"no such option: {', '.join(unknown)}; there are {', '.join(DEFAULTS)}")
        chosen: Options = {**DEFAULTS, **options}
        search = self._settings(chosen)
        chance = Random(chosen["seed"])
        for chunk in _chunks(lines, max(1, CHUNK_LINES // chosen["n_best"])):
            yield from self._translate(chunk, chosen, search, chance)

    def score(self, source: str, target: str) -> Translation:
        """What the model thinks of a translation that is given to it, and where it looks as it reads that."""
        return self.score_all([(source, target)])[0]

    def score_all(self, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
        """`score` of many (source, target) together, which is faster."""
        ids = self.codec.source.encode_ids([source for source, _ in pairs])
        targets = [self.codec.target.encode(target) for _, target in pairs]
        found = forced_hypotheses(self.model, self._table(ids), [target.ids for target in targets])
        translations = []
        for (source, text), tokens, hypothesis, target in zip(pairs, ids, found, targets, strict=True):
            norm: float = len(hypothesis.token_log_probabilities) ** self.config.search.length_penalty
            scored = replace(hypothesis, score=hypothesis.log_probability / norm)
            words = Words(target.words, target.word_of)
            translations.append(self._translation(source, len(tokens), scored, text, words))
        return translations

    def trace(self, text: str, *, beam: int | None = None, n_best: int = 1) -> dict[str, Any]:
        """The whole beam as a tree: `BeamTrace.to_json`, with tokens as people read them."""
        chosen: Options = {**DEFAULTS, "beam": beam, "n_best": n_best}
        search = self._settings(chosen)

        def find(decoder: TranslatorDecoder, batch: Batch) -> list[BeamTrace]:
            limits = length_limits(search, batch.src_lengths.tolist())
            penalty = search.length_penalty
            return trace(decoder, beam=search.beam, n_best=n_best, length_penalty=penalty, max_lengths=limits)

        table = self._table(self.codec.source.encode_ids([text]))
        [tree] = (each.to_json() for each in decoded(self.model, table, 1, find))
        target = self.codec.target
        for node in tree["nodes"]:
            node["text"] = target.token(node["token"])
        for hypothesis in tree["hypotheses"]:
            hypothesis["translation"] = target.decode(hypothesis["ids"])
        return {"source": text, **tree}

    def _settings(self, chosen: Options) -> SearchConfig:
        """The run's settings for the search, with what was chosen put over them."""
        tree = self.config.search.model_dump()
        for key in ("beam", "length_penalty", "max_length"):
            if chosen[key] is not None:
                tree[key] = chosen[key]
        if chosen["beam"] is None:
            tree["beam"] = max(tree["beam"], chosen["n_best"])
        if chosen["n_best"] < 1:
            raise AugenmerkError(f"n_best = {chosen['n_best']} is impossible: it must be 1 or more.")
        if chosen["replace_unknown"] and self.config.model.attention in ("none", "mean"):
            raise AugenmerkError(
                f"The attention of this model is '{self.config.model.attention}', which does not tell from "
                f"which source word an unknown word comes: none can be replaced."
            )
        return RunConfig.checked({"search": tree}, "translate").search

    def _translate(
        self, texts: Sequence[str], chosen: Options, search: SearchConfig, chance: Random
    ) -> list[Translation]:
        ids = self.codec.source.encode_ids(texts)
        spoken = [index for index in range(len(texts)) if ids[index]]
        table = self._table([ids[index] for index in spoken])
        if chosen["sample"]:
            found = self._sampled(table, chosen, search, chance)
        else:
            found = hypotheses_of(
                self.model, table, search, n_best=chosen["n_best"], allow_unknown=chosen["allow_unknown"]
            )
        translations = [Translation(source=text, text="") for text in texts]
        for index, hypotheses in zip(spoken, found, strict=True):
            best, *others = (
                self._found(texts[index], len(ids[index]), hypothesis, chosen["replace_unknown"])
                for hypothesis in hypotheses
            )
            translations[index] = replace(best, alternatives=tuple(others)) if others else best
        return translations

    def _sampled(
        self, table: TokenTable, chosen: Options, search: SearchConfig, chance: Random
    ) -> list[list[Hypothesis]]:
        seed = chance.getrandbits(62)

        def find(decoder: TranslatorDecoder, batch: Batch) -> list[list[Hypothesis]]:
            return sample(
                decoder,
                seed=seed + int(batch.indices[0]),  # another for each batch
                n=chosen["n_best"],
                temperature=chosen["temperature"],
                top_k=chosen["top_k"],
                max_lengths=length_limits(search, batch.src_lengths.tolist()),
                allow_unknown=chosen["allow_unknown"],
            )

        return decoded(self.model, table, sentences_per_batch(chosen["n_best"]), find)

    def _table(self, sentences: Sequence[Sequence[int]]) -> TokenTable:
        table = TokenTable.of(ids[: self.longest_source] for ids in sentences)
        return table.to(self.model.W_z.weight.device)

    def _found(self, source: str, tokens: int, hypothesis: Hypothesis, replace_unknown: bool) -> Translation:
        target = self.codec.target
        if not replace_unknown or target.is_bpe or UNK not in hypothesis.ids:
            return self._translation(source, tokens, hypothesis, target.decode(hypothesis.ids), None)
        encoded = self.codec.source.encode(source)
        # The end of the sentence, which stands last, is no word to copy.
        attended = hypothesis.weights[:, : min(tokens, self.longest_source)].argmax(1).tolist()
        words, word_of = target.words_of_ids(hypothesis.ids)
        words = tuple(
            encoded.words[encoded.word_of[place]] if i == UNK else word
            for i, word, place in zip(hypothesis.ids, words, attended, strict=False)
        )
        return self._translation(source, tokens, hypothesis, detokenise(words), Words(words, word_of))

    def _translation(
        self, source: str, tokens: int, hypothesis: Hypothesis, text: str, words: Words | None
    ) -> Translation:
        # A copy of its own: what was found is part of the attention of a whole batch, padding included.
        weights = hypothesis.weights[:, : min(tokens, self.longest_source) + 1].clone()
        return Translation(
            source=source,
            text=text,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            finished=hypothesis.finished,
            truncated=tokens > self.longest_source,
            codec=self.codec,
            hypothesis=replace(hypothesis, weights=weights),
            other_words=words,
        )


def _chunks(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    characters = 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) >= most or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
