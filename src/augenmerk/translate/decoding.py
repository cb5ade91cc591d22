"""From source ids to hypotheses: the translator seen through the eyes of the search."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from augenmerk.batching import Batch, ParallelTokens, PlannedBatch, TokenTable
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import SearchConfig
from augenmerk.model.attention import Memory
from augenmerk.model.inference import FastTranslator
from augenmerk.model.translator import Source, Translator
from augenmerk.search import Decoder, EnsembleDecoder, Hypothesis, State, force, length_limits, search
from augenmerk.tensorfile import load_checked

HYPOTHESES = 640
"""Side by side in a batch: enough that a matrix product is worth its call, few enough for the caches."""


def load_translator(run: RunDirectory, device: torch.device | str = "cpu") -> Translator:
    """The model of a run, with its best weights, ready to be used."""
    tokenizers = run.tokenizers
    model = Translator(run.config.model, tokenizers.source.size, tokenizers.target.size)
    load_checked(model, run.load_model(), run.model_path)
    return model.to(device).eval()


class Stepping(Protocol):
    """A translator, or one made fast."""

    def encode(self, src: Tensor, src_mask: Tensor) -> Source: ...

    def step(self, tokens: Tensor, g: Tensor, memory: Memory) -> tuple[Tensor, Tensor, Tensor]: ...


class TranslatorDecoder:
    """What `augenmerk.search` asks for: states that start, step, and leave with their sentence."""

    def __init__(self, model: Stepping, memory: Memory, start: Tensor) -> None:
        self._model = model
        self._memory = memory
        self._start = start  # (L, N, H)

    @property
    def sentences(self) -> int:
        return len(self._memory.values)

    def start(self) -> State:
        return (self._start.permute(1, 0, 2)[:, None],)  # (N, 1, L, H)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        g = state[0].permute(2, 0, 1, 3).contiguous()  # (L, N, K, H)
        log_probabilities, weights, g = self._model.step(tokens, g, self._memory)
        return log_probabilities, weights, (g.permute(1, 2, 0, 3),)

    def keep(self, sentences: Tensor) -> "TranslatorDecoder":
        memory, start = self._memory.keep(sentences), self._start.index_select(1, sentences)
        return TranslatorDecoder(self._model, memory, start)


Found = TypeVar("Found")

Models = Translator | Sequence[Translator]
"""A model, or several with the same vocabularies, which are an ensemble."""


def members(model: Models) -> Sequence[Translator]:
    """One or more."""
    return (model,) if isinstance(model, Translator) else model


def decoder_of(models: Sequence[Stepping], batch: Batch) -> Decoder:
    """That has read the sources of a batch."""
    decoders = []
    for member in models:
        source = member.encode(batch.src, batch.src_mask)
        decoders.append(TranslatorDecoder(member, source.memory, source.start))
    return decoders[0] if len(decoders) == 1 else EnsembleDecoder(decoders)


@torch.inference_mode()
def decoded(
    model: Models,
    sources: TokenTable,
    batch_size: int,
    find: Callable[[Decoder, Batch], Sequence[Found]],
) -> list[Found]:
    """What `find` finds for each source, in the order of the sources."""
    if not len(sources):
        return []
    device = sources.flat.device
    data = ParallelTokens(sources, TokenTable.of([()] * len(sources)).to(device))
    # Sources of similar length together: they are encoded, and mostly done, at the same time. The longest
    # first, so that at the end no core waits long for another.
    plan = data.plan(batch_size, shuffle=False)[::-1]
    were_training = [member.training for member in members(model)]
    for member in members(model):
        member.eval()
    stepping: Sequence[Stepping] = (
        [FastTranslator(member, len(sources.flat)) for member in members(model)]
        if device.type == "cpu"
        else members(model)
    )

    @torch.inference_mode()  # which is a matter of each thread
    def work(resident: tuple[PlannedBatch, Tensor]) -> list[tuple[int, Found]]:
        batch = data.gather(*resident)
        found = find(decoder_of(stepping, batch), batch)
        return list(zip(batch.indices.tolist(), found, strict=True))

    with _side_by_side(len(plan), device) as spread:
        by_index = dict(chain.from_iterable(spread(work, data.resident(plan))))
    for member, was_training in zip(members(model), were_training, strict=True):
        member.train(was_training)
    return [by_index[index] for index in range(len(sources))]


@contextmanager
def _side_by_side(tasks: int, device: torch.device) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map` that gives each task a CPU core of its own.

    The steps of a search are many small operations. Sharing each of them among the cores, as torch does by
    itself, is mostly waiting for one another; and where something else runs too, hardly anything else.
    """
    cores = torch.get_num_threads()
    if device.type != "cpu" or min(cores, tasks) == 1:
        yield map
        return
    pool = ThreadPoolExecutor(min(tasks, cores), initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # every thread has its own number, but a new one takes the last set


def sentences_per_batch(sources: TokenTable, beam: int) -> int:
    """For `beam` hypotheses of each. Not fewer than 16: the steps of a sentence follow one another."""
    if sources.flat.device.type == "cuda":  # whose steps take the same time for many as for few
        return max(16, min(1024, 8 * HYPOTHESES // beam))
    most = max(16, min(200, HYPOTHESES // beam))
    # Of equal size, and one for each core, so that none waits long for another.
    batches = max(math.ceil(len(sources) / most), torch.get_num_threads())
    return max(16, math.ceil(len(sources) / batches))


def hypotheses_of(
    model: Models,
    sources: TokenTable,
    config: SearchConfig,
    *,
    batch_size: int | None = None,
    n_best: int = 1,
    allow_unknown: bool = True,
) -> list[list[Hypothesis]]:
    """The best hypotheses for each source, in the order of the sources."""

    def find(decoder: Decoder, batch: Batch) -> list[list[Hypothesis]]:
        return search(
            decoder,
            beam=config.beam,
            n_best=n_best,
            length_penalty=config.length_penalty,
            max_lengths=length_limits(config, batch.src_lengths.tolist()),
            allow_unknown=allow_unknown,
        )

    return decoded(model, sources, batch_size or sentences_per_batch(sources, config.beam), find)


def forced_hypotheses(
    model: Models, sources: TokenTable, targets: Sequence[Sequence[int]]
) -> list[Hypothesis]:
    """What the model thinks of given targets, and where it looks as it reads them."""

    def find(decoder: Decoder, batch: Batch) -> list[Hypothesis]:
        return force(decoder, [targets[index] for index in batch.indices.tolist()])

    return decoded(model, sources, sentences_per_batch(sources, 1), find)
