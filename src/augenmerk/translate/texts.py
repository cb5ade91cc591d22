"""Texts to translations: what `augenmerk.load` gives, and what it can be asked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Unpack, overload

import torch

from augenmerk.batching import Batch, TokenTable
from augenmerk.checkpoint import SHIPPED, RunDirectory
from augenmerk.config import RunConfig, SearchConfig
from augenmerk.errors import AugenmerkError
from augenmerk.model.translator import Translator
from augenmerk.search import BeamTrace, Decoder, Hypothesis, length_limits, sample, trace
from augenmerk.text import UNK, TokenizerPair
from augenmerk.translate.decoding import (
    Models,
    decoded,
    forced_hypotheses,
    hypotheses_of,
    members,
    sentences_per_batch,
)
from augenmerk.translate.ensemble import load_members
from augenmerk.translate.mbr import least_risk
from augenmerk.translate.options import DEFAULTS, SAMPLES, Options
from augenmerk.translate.translation import Translation, Words
from augenmerk.words import detokenise

CHUNK_LINES = 2000
CHUNK_CHARACTERS = 200_000
"""A stream is translated in chunks of so many lines or characters, whichever is reached first: enough to put
sentences of similar length together, and all that is in memory at a time."""


Ranked = list[list[tuple[Hypothesis, float | None]]]
"""Of each sentence, the best first; with the expected chrF, if that is what they are ranked by."""


def load(
    run: Path | str | Sequence[Path | str] = SHIPPED, device: torch.device | str = "cpu"
) -> "TextTranslator":
    """The translator that was trained in a run directory; of several, their ensemble; of none, ours.

    The settings for the search are those of the first.
    """
    places = [run] if isinstance(run, Path | str) else run
    if not places:
        raise AugenmerkError("There is no run to load: name one, or several for an ensemble.")
    directories = [RunDirectory.open(Path(place)) for place in places]
    models, config = load_members(directories, device), directories[0].config
    longest = min(directory.config.data.max_length for directory in directories)
    data = config.data.model_copy(update={"max_length": longest})
    return TextTranslator(models, directories[0].tokenizers, config.model_copy(update={"data": data}))


class TextTranslator:
    """A trained model, or an ensemble of several, that is asked in words and answers in words."""

    def __init__(self, model: Models, tokenizers: TokenizerPair, config: RunConfig) -> None:
        self.models = tuple(members(model))
        self.tokenizers = tokenizers
        self.config = config

    @property
    def model(self) -> Translator:
        """For what can be asked of one model only."""
        if len(self.models) > 1:
            raise AugenmerkError(
                f"This needs one model, and here are {len(self.models)} together: load a single run."
            )
        return self.models[0]

    @property
    def longest_source(self) -> int:
        """In tokens: no model was trained on anything longer. What is beyond is not read."""
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
        found = self._candidates(chosen, search) * len(self.models)
        for chunk in _chunks(lines, max(1, CHUNK_LINES // found)):
            yield from self._translate(chunk, chosen, search, chance)

    def score(self, source: str, target: str) -> Translation:
        """What the model thinks of a translation that is given to it, and where it looks as it reads that."""
        return self.score_all([(source, target)])[0]

    def score_all(self, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
        """`score` of many (source, target) together, which is faster."""
        ids = self.tokenizers.source.encode_ids([source for source, _ in pairs])
        targets = [self.tokenizers.target.encode(target) for _, target in pairs]
        found = forced_hypotheses(self.models, self._table(ids), [target.ids for target in targets])
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

        def find(decoder: Decoder, batch: Batch) -> list[BeamTrace]:
            limits = length_limits(search, batch.src_lengths.tolist())
            penalty = search.length_penalty
            return trace(decoder, beam=search.beam, n_best=n_best, length_penalty=penalty, max_lengths=limits)

        table = self._table(self.tokenizers.source.encode_ids([text]))
        [tree] = (each.to_json() for each in decoded(self.models, table, 1, find))
        target = self.tokenizers.target
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
            tree["beam"] = max(tree["beam"], chosen["n_best"], chosen["candidates"] or 1)
        if chosen["n_best"] < 1:
            raise AugenmerkError(f"n_best = {chosen['n_best']} is impossible: it must be 1 or more.")
        for model in self.models:
            if chosen["replace_unknown"] and model.config.attention in ("none", "mean"):
                raise AugenmerkError(
                    f"The attention of this model is '{model.config.attention}', which does not tell from "
                    f"which source word an unknown word comes: none can be replaced."
                )
        return RunConfig.checked({"search": tree}, "translate").search

    def _candidates(self, chosen: Options, search: SearchConfig) -> int:
        """How many hypotheses of each model are looked for."""
        if not chosen["mbr"]:
            if chosen["candidates"] is not None:
                raise AugenmerkError("Candidates are what MBR chooses from: ask for mbr too, or for n_best.")
            return chosen["n_best"]
        count = chosen["candidates"]
        if count is None:
            count = SAMPLES if chosen["sample"] else search.beam
        if count < 2:
            raise AugenmerkError(
                f"MBR cannot choose from {count} candidate of each model: it must be 2 or more, as with a "
                f"beam of 10."
            )
        if not chosen["sample"] and count > search.beam:
            raise AugenmerkError(
                f"A beam of {search.beam} does not find {count} candidates: make it as wide as that."
            )
        return count

    def _translate(
        self, texts: Sequence[str], chosen: Options, search: SearchConfig, chance: Random
    ) -> list[Translation]:
        ids = self.tokenizers.source.encode_ids(texts)
        spoken = [index for index in range(len(texts)) if ids[index]]
        table = self._table([ids[index] for index in spoken])
        find = self._least_risk if chosen["mbr"] else self._likeliest
        found = find(table, chosen, search, chance.getrandbits(62))
        translations = [Translation(source=text, text="") for text in texts]
        for index, candidates in zip(spoken, found, strict=True):
            best, *others = (
                replace(
                    self._found(texts[index], len(ids[index]), hypothesis, chosen["replace_unknown"]),
                    expected_chrf=expected_chrf,
                )
                for hypothesis, expected_chrf in candidates
            )
            translations[index] = replace(best, alternatives=tuple(others)) if others else best
        return translations

    def _likeliest(self, table: TokenTable, chosen: Options, search: SearchConfig, seed: int) -> Ranked:
        found = self._hypotheses(self.models, table, chosen, search, seed)
        return [[(hypothesis, None) for hypothesis in hypotheses] for hypotheses in found]

    def _least_risk(self, table: TokenTable, chosen: Options, search: SearchConfig, seed: int) -> Ranked:
        # All with one seed: another order of the models changes nothing.
        found = [self._hypotheses(model, table, chosen, search, seed) for model in self.models]
        ranked = (
            least_risk(lists, self.tokenizers.target, sampled=chosen["sample"])
            for lists in zip(*found, strict=True)
        )
        return [
            [(each.hypothesis, each.expected_chrf) for each in candidates[: chosen["n_best"]]]
            for candidates in ranked
        ]

    def _hypotheses(
        self, model: Models, table: TokenTable, chosen: Options, search: SearchConfig, seed: int
    ) -> list[list[Hypothesis]]:
        count, allow_unknown = self._candidates(chosen, search), chosen["allow_unknown"]
        if not chosen["sample"]:
            return hypotheses_of(model, table, search, n_best=count, allow_unknown=allow_unknown)

        def find(decoder: Decoder, batch: Batch) -> list[list[Hypothesis]]:
            return sample(
                decoder,
                seed=seed + int(batch.indices[0]),  # another for each batch
                n=count,
                temperature=chosen["temperature"],
                top_k=chosen["top_k"],
                max_lengths=length_limits(search, batch.src_lengths.tolist()),
                allow_unknown=allow_unknown,
            )

        return decoded(model, table, sentences_per_batch(table, count), find)

    def _table(self, sentences: Sequence[Sequence[int]]) -> TokenTable:
        table = TokenTable.of(ids[: self.longest_source] for ids in sentences)
        return table.to(self.models[0].W_z.weight.device)

    def _found(self, source: str, tokens: int, hypothesis: Hypothesis, replace_unknown: bool) -> Translation:
        target = self.tokenizers.target
        if not replace_unknown or target.is_bpe or UNK not in hypothesis.ids:
            return self._translation(source, tokens, hypothesis, target.decode(hypothesis.ids), None)
        encoded = self.tokenizers.source.encode(source)
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
            tokenizers=self.tokenizers,
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
