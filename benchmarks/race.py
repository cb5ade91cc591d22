"""One run against the clock: from sentences in memory to a translator whose validation BLEU is known."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import sacrebleu.tokenizers.tokenizer_13a  # noqa: F401  which sacrebleu imports when it first scores
import torch
from background_tokenizing import BackgroundTokenizer

from augenmerk.base.config import RunConfig
from augenmerk.data import SentencePair
from augenmerk.evaluation.metrics import BleuScorer
from augenmerk.model.interface import TranslationModel, build_model
from augenmerk.search.beam import likeliest
from augenmerk.text.batching import Batch, ParallelTokens, PlannedBatch, TokenTable, encode_pairs
from augenmerk.text.tokenizer import UNK, TokenizerPair
from augenmerk.training.engine import Engine
from augenmerk.training.loop import learning_rate
from augenmerk.translation import Translator

if find_spec("triton") is not None:  # which the first step on a GPU imports
    from triton.runtime.cache import triton_key

    import augenmerk.model.kernels.gpu  # noqa: F401

    triton_key()  # a hash of Triton's own files, 0.3 s, which its first kernel is looked up with

WIDTHS = (12, 16, 20, 24, 28, 32, 40)
"""Batches of subwords, source and target alike, are padded to these: few shapes, few CUDA graphs."""

SAMPLE = 3
"""On a GPU, the vocabulary is learnt from every third pair."""

TINY = 16
"""Words that the model knows which only starts the GPU."""


class Stopwatch:
    """Seconds since it was made, by what they were spent on."""

    def __init__(self) -> None:
        self.began = self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now

    def total(self) -> float:
        return self._last - self.began


def tokenise(
    config: RunConfig, train: list[SentencePair], val: list[SentencePair]
) -> tuple[TokenizerPair, ParallelTokens, ParallelTokens]:
    tokenizers = TokenizerPair.train(train, config.text)
    encoders = tokenizers.source.encode_ids, tokenizers.target.encode_ids
    return tokenizers, encode_pairs(train, *encoders, config.data.max_length), encode_pairs(val, *encoders)


def squared(plan: list[PlannedBatch], size: int) -> list[PlannedBatch]:
    """Full batches as wide on both sides, in one of `WIDTHS`; the one that is not full is left out."""
    found = []
    for batch in plan:
        width = next(w for w in WIDTHS if w >= max(batch.source_width, batch.target_width))
        if len(batch.indices) == size:
            found.append(batch._replace(source_width=width, target_width=width))
    return found


def train(engine: Engine, config: RunConfig, tokens: ParallelTokens) -> None:
    """The whole of training; nothing is written to disk."""
    settings, on_gpu, step = config.train, engine.device.type == "cuda", 0
    for epoch in range(settings.epochs):
        # Lengths are rounded before chance decides who meets whom: coarser ones mix better.
        coarse = 4 if on_gpu else 1
        plan = tokens.plan(settings.batch_size, seed=settings.seed, epoch=epoch, round_to=coarse)
        if on_gpu:
            plan = squared(plan, settings.batch_size)
        engine.model.train()
        for number, batch in enumerate(tokens.batches(plan)):
            done = (epoch + number / len(plan)) / settings.epochs
            engine.step([batch], learning_rate(settings, step, done))
            step += 1


def make_model(config: RunConfig, vocabulary: int) -> TranslationModel:
    torch.manual_seed(config.train.seed)
    return build_model(config.model, vocabulary, vocabulary)


def make_tiny(config: RunConfig) -> TranslationModel:
    """Makes a model that is small, but for its states: kernels are made for their number."""
    sizes = {"embedding": 8, "key": 8, "init": "torch"}
    return make_model(config.model_copy(update={"model": config.model.model_copy(update=sizes)}), TINY)


def warm_up(tiny: TranslationModel, config: RunConfig, device: torch.device) -> None:
    """Starts the GPU and loads its libraries and most kernels by training and running a tiny model."""
    engine = Engine(tiny, config.train, device)
    tiny.train()
    record_graphs(engine, [(config.train.batch_size, 4, 4)], TINY)
    with torch.inference_mode():
        src = torch.tensor([[4, 5], [6, 7]], device=device)
        source = tiny.eval().encode(src, torch.ones_like(src, dtype=torch.bool))
        log_probs, _, _ = tiny.step(src[:, :1], source.start, source.memory)
        likeliest(log_probs, True)


def record_graphs(engine: Engine, shapes: Sequence[tuple[int, int, int]], vocabulary: int) -> None:
    """Records the work on batches of these shapes (B, S, T) ahead of time; does nothing on a CPU.

    Must be called before the first step, because it resets the optimizer.
    """
    if engine.graphs is None:
        return
    for number, (B, S, T) in enumerate([shapes[0], *shapes]):
        src, tgt = (torch.randint(UNK + 1, vocabulary, (B, W), device=engine.device) for W in (S, T))
        mask, lengths = torch.ones_like(src, dtype=torch.bool), torch.full((B,), S, device=engine.device)
        tgt_mask = torch.ones_like(tgt, dtype=torch.bool)
        batch = Batch(src, mask, lengths, tgt, tgt, tgt_mask, lengths, B * T)
        if number:  # the first one was run without recording, which is enough to warm up for all shapes
            engine.graphs.warm.add((False, *src.shape, *tgt.shape))
        engine.step([batch], 0.0)
    for state in engine.optimizer.state.values():
        for value in state.values():
            value.zero_()
    engine.loss_sum.zero_()


def list_ids(table: TokenTable) -> list[list[int]]:
    """Returns the sentences of a table as lists of ids."""
    flat, bounds = table.flat.tolist(), table.bounds.tolist()
    return [flat[start:end] for start, end in pairwise(bounds)]


def measure_bleu(translator: Translator, sources: list[list[int]], pairs: list[SentencePair]) -> float:
    """Translates sources, which are ids, and returns the BLEU against the targets of the pairs."""
    target = translator.tokenizers.target
    found = translator.decode(sources, translator.config.search)
    texts = [target.decode(best[0].ids) for best in found]
    return BleuScorer([pair.target for pair in pairs], lowercase=target.lowercase).score(texts)


class Race:
    """Everything that may be ready before the clock starts; `run` starts it."""

    def __init__(
        self, config: RunConfig, splits: dict[str, list[SentencePair]], device: torch.device
    ) -> None:
        self.config = config
        self.splits = splits
        self.device = device
        self._background = None
        if device.type == "cuda":
            torch.set_num_threads(1)  # only the first weights are made here, and other cores are tokenising
            pairs, val = splits[config.data.train], splits[config.data.validation]
            self._background = BackgroundTokenizer(
                config.text, pairs, val, sample=SAMPLE, longest=WIDTHS[-1] - 1
            )

    def run(self, scored: str) -> dict[str, Any]:
        """One run against the clock, and what it was worth on a split."""
        config, device = self.config, self.device
        aside: dict[str, float] = {}
        pairs, val = self.splits[config.data.train], self.splits[config.data.validation]
        size, watch = config.text.vocabulary_size, Stopwatch()
        if self._background is None:
            tokenizers, tokens, val_tokens = tokenise(config, pairs, val)
            watch.lap("tokenising")
            model = make_model(config, size)
            engine = Engine(model, config.train, device)
            watch.lap("making the model")
        else:
            self._background.begin()
            model, engine = self._start(size, watch)
            model.train()
            record_graphs(engine, [(config.train.batch_size, width, width) for width in WIDTHS], size)
            watch.lap("recording graphs")
            aside, tokenizers, tokens, val_tokens = self._background.result()
            watch.lap("waiting for the tokeniser")
        assert tokenizers.target.size == size, "the vocabulary is smaller than asked for"
        tokens, val_tokens = tokens.to(device), val_tokens.to(device)
        train(engine, config, tokens)
        watch.lap("training")
        engine.copy_averaged_weights(model)
        translator = Translator([model.eval().for_inference()], tokenizers, config)
        measured = measure_bleu(translator, list_ids(val_tokens.source), val)
        watch.lap("validation")
        test = self.splits[scored]
        ids = tokenizers.source.encode_ids([pair.source for pair in test])
        bleu = measure_bleu(translator, ids, test)
        return {
            "seconds": watch.total(),
            "laps": watch.laps,
            "aside": aside,
            "validation_bleu": measured,
            "bleu": bleu,
            "split": scored,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        }

    def _start(self, vocabulary: int, watch: Stopwatch) -> tuple[TranslationModel, Engine]:
        tiny = make_tiny(self.config)
        with ThreadPoolExecutor(1) as other:
            started = other.submit(warm_up, tiny, self.config, self.device)
            model = make_model(self.config, vocabulary)
            started.result()
        watch.lap("starting the GPU")
        torch.cuda.manual_seed(self.config.train.seed)
        return model, Engine(model, self.config.train, self.device)
