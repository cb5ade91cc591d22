"""Decodes sources into hypotheses, builds translations of them, and looks into a search.

Sources are batched, and the models stepped by a search, by sampling, or along given targets.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from augenmerk.base.arrays import Array, to_numpy
from augenmerk.base.config import SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.beam import force, length_limits, sample, search
from augenmerk.search.decoder import (
    Decoder,
    EnsembleDecoder,
    Hypothesis,
    PrefixDecoder,
    Source,
    State,
    StepModel,
)
from augenmerk.search.tree import trace as trace_beam
from augenmerk.text.batching import Batch, ParallelTokens, TokenTable
from augenmerk.text.tokenizer import BOS, PAD, UNK, Tokenizer
from augenmerk.text.words import detokenise
from augenmerk.translation.alignment import Weights
from augenmerk.translation.loading import LoadedModels
from augenmerk.translation.mbr import minimum_bayes_risk
from augenmerk.translation.output import BeamTree
from augenmerk.translation.translation import Translation, Words

if TYPE_CHECKING:
    import torch


HYPOTHESES_PER_BATCH = 640
"""Large enough that a matrix product is worth its call, small enough for the caches of a CPU."""

HEADS_BATCH_SIZE = 64

LEAST_WEIGHT = 0.3
MOST_MISSING = 2.0
FEWEST_TOKENS = 3
"""Fewest tokens of a part that is reported, including the mark at its end."""
_PARTS = re.compile(r"[^.!?…]+[.!?…]*")

OnProgress = Callable[[int], None]
"""A callback that receives the number of sentences done so far."""


class ModelDecoder:
    """Lets a search step a model over a batch of sentences: a `Decoder` as `augenmerk.search` needs it."""

    def __init__(self, model: StepModel, source: Source) -> None:
        self._model = model
        self._source = source

    @property
    def sentences(self) -> int:
        return len(self._source.memory.values)

    def start(self) -> State:
        return self._source.start

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        return self._model.step(tokens, state, self._source.memory)

    def keep(self, sentences: Array) -> "ModelDecoder":
        return ModelDecoder(self._model, self._source.keep(sentences))


def make_decoders(
    loaded: LoadedModels, batch: Batch, settings: SearchConfig, *, together: bool = True
) -> list[Decoder]:
    """Encodes a batch with each model, and returns the decoders that continue from there.

    `together`, there is one decoder, whose probabilities are the mean of those of all models.
    """
    models = loaded.models_in(settings.precision)
    decoders: list[Decoder] = [
        ModelDecoder(model, model.encode(batch.src, batch.src_mask)) for model in models
    ]
    return [EnsembleDecoder(decoders)] if together and len(decoders) > 1 else decoders


def choose_batch_size(sentences: int, hypotheses: int, threads: int, *, gpu: bool) -> int:
    """Returns how many sentences to decode together, given the hypotheses of each.

    At least 16, because the steps of a batch follow one another however few sentences it has.
    """
    if gpu:  # a step takes the same time for many sentences as for few
        return max(16, min(1024, 8 * HYPOTHESES_PER_BATCH // hypotheses))
    most = max(16, min(200, HYPOTHESES_PER_BATCH // hypotheses))
    # Batches of equal size, and as many for each thread, so that no thread waits long for another.
    rounds = math.ceil(sentences / (most * threads))
    return max(16, math.ceil(sentences / (rounds * threads)))


def decode(
    loaded: LoadedModels,
    sources: Sequence[Sequence[int]],
    settings: SearchConfig,
    *,
    targets: Sequence[Sequence[int]] | None = None,
    prefix: Sequence[int] = (),
    numbers: Sequence[int] | None = None,
    batch_size: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[list[Hypothesis]]:
    """Finds the best hypotheses for each source, best first.

    Sources are ids without EOS; only the first `max_source_length` of each are read. If `targets` are given,
    they are scored, and nothing is searched for. Otherwise all hypotheses begin with the ids of `prefix`.
    Samples depend on the `numbers` of the sentences, which are counted from 0 by default.
    """
    if not len(sources):
        return []
    table = TokenTable.of(ids[: loaded.max_source_length] for ids in sources)
    data = loaded.prepare(ParallelTokens(table, TokenTable.of([()] * len(sources))))
    width = 1 if targets else settings.hypotheses if settings.sample else settings.beam

    def decode_batch(batch: Batch) -> list[list[Hypothesis]]:
        with loaded.computing():
            if targets is None:
                return _find(loaded, settings, prefix, numbers, batch)
            chosen = [targets[index] for index in batch.indices.tolist()]
            [decoder] = make_decoders(loaded, batch, settings)
            return [[each] for each in force(decoder, chosen)]

    found: list[list[Hypothesis]] = [[] for _ in sources]
    done = 0
    if batch_size is None:
        threads = loaded.batch_threads or loaded.pool.threads
        batch_size = choose_batch_size(len(sources), width, threads, gpu=loaded.on_gpu)
    # Sources of similar length share a batch, because they are done at about the same time. The longest
    # come first, so that no core waits long for another at the end.
    batches = list(data.batches(data.plan(batch_size, shuffle=False)[::-1]))
    results = map(decode_batch, batches) if loaded.on_gpu else loaded.pool.map(decode_batch, batches)
    for batch, hypotheses in zip(batches, results, strict=True):
        for index, each in zip(batch.indices.tolist(), hypotheses, strict=True):
            found[index] = each
        done += len(hypotheses)
        if on_progress is not None:
            on_progress(done)
    return found


def _find(
    loaded: LoadedModels,
    settings: SearchConfig,
    prefix: Sequence[int],
    numbers: Sequence[int] | None,
    batch: Batch,
) -> list[list[Hypothesis]]:
    """Searches or samples; with minimum Bayes risk, each model of an ensemble finds its own candidates."""
    decoders = make_decoders(loaded, batch, settings, together=not settings.mbr)
    if prefix:
        decoders = [PrefixDecoder(decoder, prefix) for decoder in decoders]
    limits = length_limits(settings, batch.src_lengths.tolist())
    indices = batch.indices.tolist()
    sampled_numbers = [numbers[index] for index in indices] if numbers else indices
    lists = [
        sample(decoder, settings, limits, sampled_numbers)
        if settings.sample
        else search(decoder, settings, limits)
        for decoder in decoders
    ]
    if not settings.mbr:
        return lists[0]
    target = loaded.tokenizers.target
    return [
        minimum_bayes_risk(each, target, sampled=settings.sample)[: settings.n_best]
        for each in zip(*lists, strict=True)
    ]


# From hypotheses to translations


def build_translation(
    loaded: LoadedModels,
    source: str,
    tokens: int,
    hypothesis: Hypothesis,
    settings: SearchConfig,
    given: tuple[str, Words] | None = None,
) -> Translation:
    """Builds the translation of a source of so many tokens, whose text and words may be `given`.

    Replaces unknown words if the settings ask for it.
    """
    target, read = loaded.tokenizers.target, min(tokens, loaded.max_source_length)
    text, words = given or (target.decode(hypothesis.ids), None)
    if given is None and settings.replace_unknown and not target.is_bpe and UNK in hypothesis.ids:
        encoded = loaded.tokenizers.source.encode(source)
        # EOS comes last in the source and must not be copied, so its weight is left out.
        attended = hypothesis.weights[:, :read].argmax(1).tolist()
        written, word_of = target.words_of_ids(hypothesis.ids)
        replaced = tuple(
            encoded.words[encoded.word_of[index]] if i == UNK else word
            for i, word, index in zip(hypothesis.ids, written, attended, strict=False)
        )
        text, words = detokenise(replaced), Words(replaced, word_of)
    # A copy, because the weights are a view of those of a whole batch, padding included.
    weights = hypothesis.weights[:, : read + 1].copy()
    return Translation(
        source=source,
        text=text,
        score=hypothesis.score,
        log_probability=hypothesis.log_probability,
        expected_chrf=hypothesis.expected_chrf,
        finished=hypothesis.finished,
        truncated=tokens > read,
        uncovered=find_uncovered(weights, source, loaded.tokenizers.source) if loaded.selective else None,
        tokenizers=loaded.tokenizers,
        hypothesis=replace(hypothesis, weights=weights),
        other_words=words,
    )


def score_pairs(loaded: LoadedModels, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
    """Scores (source, target) pairs together, and keeps the attention while the models read the target."""
    settings = loaded.config.search
    ids = loaded.tokenizers.source.encode_ids([source for source, _ in pairs])
    targets = [loaded.tokenizers.target.encode(target) for _, target in pairs]
    found = decode(loaded, ids, settings, targets=[target.ids for target in targets])
    translations = []
    for (source, text), tokens, [hypothesis], target in zip(pairs, ids, found, targets, strict=True):
        length = len(hypothesis.token_log_probabilities)
        score = float(hypothesis.log_probability / length**settings.length_penalty)
        given = text, Words(target.words, target.word_of)
        scored = replace(hypothesis, score=score)
        translations.append(build_translation(loaded, source, len(tokens), scored, settings, given))
    return translations


def batch_translations(
    loaded: LoadedModels,
    translations: Sequence[Translation],
    batch_size: int,
    device: "torch.device | None" = None,
) -> Iterator[tuple[list[int], Batch]]:
    """Yields batches of the translations that have tokens, each with the indices of its translations.

    They are as the loaded models read them or, with a `device`, as torch reads them there.
    """
    indices = [index for index, one in enumerate(translations) if one.hypothesis is not None]
    if not indices:
        return
    sources = loaded.tokenizers.source.encode_ids([translations[index].source for index in indices])
    targets = [one.hypothesis.ids for one in translations if one.hypothesis is not None]
    data = ParallelTokens.of(
        (source[: loaded.max_source_length], target) for source, target in zip(sources, targets, strict=True)
    )
    data = loaded.prepare(data) if device is None else data.to(device)
    for batch in data.batches(data.plan(batch_size, shuffle=False)):
        yield [indices[index] for index in batch.indices.tolist()], batch


def add_heads(loaded: LoadedModels, translations: Sequence[Translation]) -> list[Translation]:
    """Returns the translations with the attention of each head, in `Translation.heads`.

    The model reads each translation once more. Raises AugenmerkError if this is an ensemble.
    """
    model, added = loaded.model, list(translations)
    for indices, batch in batch_translations(loaded, translations, HEADS_BATCH_SIZE):
        with loaded.computing():
            weights = model.attention_weights(batch.src, batch.src_mask, batch.tgt_in)
        for row, index in enumerate(indices):
            T, S = translations[index].subword_attention.shape
            sides = (("encoder", weights.encoder, S), ("decoder", weights.decoder, T))
            added[index] = translations[index].with_heads(
                to_numpy(weights.cross[row, :, :, :T, :S]).copy(),
                {
                    name: to_numpy(part[row, :, :, :length, :length]).copy()
                    for name, part, length in sides
                    if part is not None
                },
            )
    return added


# What a translation leaves out


def find_uncovered(weights: Weights, source: str, tokenizer: Tokenizer) -> str | None:
    """Returns the part of a source sentence that its translation probably leaves out; None if there is none.

    `weights` are those over tokens, (target, source), with the end of the source in the last column. The sum
    of a source token's weights is about 1 where a word becomes a word. A part is not covered if

    - the weights of consecutive tokens lack more than `MOST_MISSING` in all of `LEAST_WEIGHT` each (seven
      tokens that are hardly looked at); or
    - marks such as full stops divide the source, and the mean weight of one part is below `LEAST_WEIGHT`.
      Parts of a few tokens, such as abbreviations, do not count.

    Both numbers were chosen on the validation split of Multi30k with the bundled model;
    docs/lab/2026-11-15-attention.md has how often they are right. Attention that does not depend on the words
    (`none`, `mean`) tells nothing.
    """
    looked_at = weights[:, :-1].sum(axis=0)
    spans = [part.span() for part in _PARTS.finditer(source)]
    gap = find_gap(looked_at)
    if gap is None and len(spans) < 2:
        return None
    encoded = tokenizer.encode(source)
    words = [encoded.spans[word] for word in encoded.word_of[: len(looked_at)]]
    starts = np.array([start for start, _ in words])
    for start, end in spans if len(spans) > 1 else ():
        inside = (start <= starts) & (starts < end)
        if inside.sum() >= FEWEST_TOKENS and looked_at[inside].mean() < LEAST_WEIGHT:
            return source[start:end].strip()
    return None if gap is None else source[words[gap[0]][0] : words[gap[1]][1]]


def find_gap(looked_at: Weights) -> tuple[int, int] | None:
    """Returns the first and last of the consecutive tokens that lack the most, if that is too much."""
    # The largest sum of consecutive numbers is the largest difference of a cumulative sum and one before it.
    missing = np.cumsum(np.concatenate([[0.0], LEAST_WEIGHT - looked_at]))
    gains = missing - np.minimum.accumulate(missing)
    end = int(gains.argmax())
    if gains[end] <= MOST_MISSING:
        return None
    return int(missing[:end].argmin()), end - 1


# Looking into a search


def complete(loaded: LoadedModels, text: str, prefix: Sequence[int], **changes: Any) -> Translation:
    """Translates a sentence with the best translation that begins with the given ids of the target side.

    Raises AugenmerkError if one of them is no word, or if there are more than a translation may have.
    """
    settings = loaded.search_settings(**changes)
    ids = loaded.tokenizers.source.encode_ids([text])[0]
    if not ids:
        return Translation(source=text, text="")
    last = loaded.tokenizers.target.size - 1
    for each in prefix:
        if not UNK <= each <= last:
            raise AugenmerkError(f"The id {each} is none of a word: expected {UNK} to {last}.")
    [limit] = length_limits(settings, [min(len(ids), loaded.max_source_length) + 1])
    if len(prefix) >= limit:
        raise AugenmerkError(
            f"The beginning has {len(prefix)} tokens, but a translation of this sentence has at most "
            f"{limit - 1}: shorten it."
        )
    [[best, *_]] = decode(loaded, [ids], settings, prefix=prefix)
    [reason] = loaded.familiarity.judge([ids])
    return replace(build_translation(loaded, text, len(ids), best, settings), unfamiliar=reason)


def next_tokens(loaded: LoadedModels, translation: Translation, count: int) -> list[list[tuple[int, float]]]:
    """Returns the likeliest tokens at the position of each target token, best first, with probabilities."""
    if translation.hypothesis is None:
        return []
    never = [PAD, BOS] if loaded.config.search.allow_unknown else [PAD, BOS, UNK]
    [(_, batch)] = batch_translations(loaded, [translation], 1)
    found = []
    with loaded.computing():
        [decoder] = make_decoders(loaded, batch, loaded.config.search)
        state = decoder.start()
        for position in range(len(translation.hypothesis.token_log_probabilities)):
            log_probs, _, state = decoder.step(batch.tgt_in[:, position : position + 1], state)
            probabilities = np.exp(to_numpy(log_probs[0, 0]))
            probabilities[never] = -1.0
            best = np.argsort(-probabilities, kind="stable")[:count]
            found.append([(int(token), float(probabilities[token])) for token in best])
    return found


def trace(loaded: LoadedModels, text: str, *, prefix: Sequence[int] = (), **changes: Any) -> BeamTree:
    """Returns the whole beam search of a sentence as a tree: `BeamTrace.to_json` with readable tokens.

    All hypotheses begin with the ids of `prefix`.
    """
    settings = loaded.search_settings(**changes).model_copy(update={"mbr": False})
    ids = loaded.tokenizers.source.encode_ids([text])[0][: loaded.max_source_length]
    data = loaded.prepare(ParallelTokens.of([(ids, ())]))
    [batch] = data.batches(data.plan(1, shuffle=False))
    with loaded.computing():
        [decoder] = make_decoders(loaded, batch, settings)
        limits = length_limits(settings, batch.src_lengths.tolist())
        [beam] = trace_beam(PrefixDecoder(decoder, prefix), settings, limits)
    tree = beam.to_json()
    for node in tree["nodes"]:
        node["text"] = loaded.tokenizers.target.token(node["token"])
    for hypothesis in tree["hypotheses"]:
        hypothesis["translation"] = loaded.tokenizers.target.decode(hypothesis["ids"])
    return BeamTree({"source": text, **tree})
