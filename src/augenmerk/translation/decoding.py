"""Decodes sources into hypotheses: batches them, steps the models, and searches, samples or scores."""

import math
from collections.abc import Callable, Sequence

from augenmerk.base.arrays import Array
from augenmerk.base.config import SearchConfig
from augenmerk.search.beam import length_limits, search
from augenmerk.search.decoder import (
    Decoder,
    EnsembleDecoder,
    Hypothesis,
    PrefixDecoder,
    Source,
    State,
    StepModel,
)
from augenmerk.search.greedy import force, sample
from augenmerk.text.batching import Batch, ParallelTokens, TokenTable
from augenmerk.translation.loading import LoadedModels
from augenmerk.translation.mbr import minimum_bayes_risk

HYPOTHESES_PER_BATCH = 640
"""Large enough that a matrix product is worth its call, small enough for the caches of a CPU."""

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


def make_decoders(loaded: LoadedModels, batch: Batch, settings: SearchConfig) -> list[Decoder]:
    """Encodes a batch with each model; returns the decoders that go on from there."""
    models = loaded.models_in(settings.precision)
    return [ModelDecoder(model, model.encode(batch.src, batch.src_mask)) for model in models]


def make_decoder(loaded: LoadedModels, batch: Batch, settings: SearchConfig) -> Decoder:
    """Returns one decoder for a batch, whose probabilities are the mean of those of all models."""
    decoders = make_decoders(loaded, batch, settings)
    return decoders[0] if len(decoders) == 1 else EnsembleDecoder(decoders)


def choose_batch_size(sentences: int, hypotheses: int, threads: int, *, gpu: bool) -> int:
    """Returns how many sentences to decode together, with so many hypotheses of each.

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
            return [[each] for each in force(make_decoder(loaded, batch, settings), chosen)]

    found: list[list[Hypothesis]] = [[] for _ in sources]
    done = 0
    with loaded.pool.share() as threads:
        if batch_size is None:
            threads = loaded.batch_threads or threads
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
    decoders = (
        make_decoders(loaded, batch, settings) if settings.mbr else [make_decoder(loaded, batch, settings)]
    )
    if prefix:
        decoders = [PrefixDecoder(decoder, prefix) for decoder in decoders]
    limits = length_limits(settings, batch.src_lengths.tolist())
    indices = batch.indices.tolist()
    sampled_numbers = [numbers[index] for index in indices] if numbers else indices
    lists = [
        sample(
            decoder,
            seed=settings.seed,
            numbers=sampled_numbers,
            n=settings.hypotheses,
            temperature=settings.temperature,
            top_k=settings.top_k,
            max_lengths=limits,
            allow_unknown=settings.allow_unknown,
        )
        if settings.sample
        else search(
            decoder,
            beam=settings.beam,
            n_best=settings.hypotheses,
            length_penalty=settings.length_penalty,
            max_lengths=limits,
            allow_unknown=settings.allow_unknown,
        )
        for decoder in decoders
    ]
    if not settings.mbr:
        return lists[0]
    target = loaded.tokenizers.target
    return [
        minimum_bayes_risk(each, target, sampled=settings.sample)[: settings.n_best]
        for each in zip(*lists, strict=True)
    ]
