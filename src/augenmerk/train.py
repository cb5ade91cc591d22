"""Training: the whole loop in one place.

A run is a function of its settings. Initial weights, the order of the data and dropout follow from
`train.seed`; the plan of an epoch from (seed, epoch) alone. What is saved holds all the rest (weights,
moments, averages, the state of the random numbers, how far we are), so a run that is killed and resumed
ends with the same weights, bit for bit on a CPU, as one that was not.
"""

import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from augenmerk.batching import ParallelTokens, encode_pairs
from augenmerk.bitext import Bitext, open_data, resolve_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import RunConfig, TrainConfig
from augenmerk.engine import Engine
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import count_words, measure_bleu, measure_loss
from augenmerk.memory import give_large_blocks_back
from augenmerk.model.translator import Translator
from augenmerk.subword_dropout import SubwordSampler
from augenmerk.text import Codec

TYPICAL_LENGTH = 16
"""Tokens of a sentence, to guess what a batch needs."""


class TrainingInterrupted(Exception):  # noqa: N818 (nothing went wrong)
    """Ctrl-C: everything is saved."""


class Reporter(Protocol):
    """Who is told how training goes: a progress bar, a log, nobody."""

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None: ...

    def epoch(self, metrics: Mapping[str, Any]) -> None: ...


@dataclass
class Progress:
    """How far a run is: with the tensors beside it, all there is to know. It is saved as JSON."""

    epoch: int = 0
    """Epochs that are finished."""
    batch: int = 0
    """Batches of the present epoch that are done."""
    step: int = 0
    """Times the weights have moved."""
    loss_sum: float = 0.0
    tokens: int = 0
    """Of the present epoch."""
    seconds: float = 0.0
    """Spent so far, validation included, over all sittings."""
    all_tokens: int = 0
    training_seconds: float = 0.0
    """Without validation and saving: what tokens per second are counted over."""
    best_epoch: int = 0
    best: float = math.inf
    """Lowest so far of what is kept by: the validation loss, or BLEU with a minus."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """The lines of metrics.jsonl."""

    def finish_epoch(self, metrics: dict[str, Any], keep: str) -> None:
        self.epoch += 1
        self.batch, self.loss_sum, self.tokens = 0, 0.0, 0
        self.history.append(metrics)
        value = -metrics["validation_bleu"] if keep == "bleu" else metrics["validation_loss"]
        if value < self.best or not self.best_epoch:
            self.best, self.best_epoch = value, self.epoch


class TrainingData:
    """The training pairs as ids, on the device; with BPE-dropout, other ids in every epoch."""

    def __init__(self, bitext: Bitext, codec: Codec, config: RunConfig, device: torch.device) -> None:
        self._pairs = bitext[config.data.train]
        self._codec = codec
        self._config = config
        self._device = device
        self._samplers: tuple[SubwordSampler, SubwordSampler] | None = None
        if dropout := config.text.bpe_dropout:
            seed = config.train.seed
            self._samplers = (
                SubwordSampler(codec.source, dropout, 2 * seed),
                SubwordSampler(codec.target, dropout, 2 * seed + 1),
            )
        self._fixed: ParallelTokens | None = None

    def epoch(self, epoch: int) -> ParallelTokens:
        longest = self._config.data.max_length
        if self._samplers is not None:
            source, target = self._samplers
            return encode_pairs(
                self._pairs,
                lambda texts: source.encode_ids(texts, epoch),
                lambda texts: target.encode_ids(texts, epoch),
                longest,
            ).to(self._device)
        if self._fixed is None:
            codec = self._codec
            tokens = encode_pairs(self._pairs, codec.source.encode_ids, codec.target.encode_ids, longest)
            self._fixed = tokens.to(self._device)
        return self._fixed


class Validation:
    """What an epoch is judged by: loss, perplexity and, if asked for, BLEU on the validation split."""

    def __init__(self, bitext: Bitext, codec: Codec, config: RunConfig, device: torch.device) -> None:
        pairs = list(bitext[config.data.validation])
        self._codec = codec
        self._config = config
        self._references = [pair.target for pair in pairs]
        self._words = count_words(pairs)
        self._data = encode_pairs(pairs, codec.source.encode_ids, codec.target.encode_ids).to(device)

    def measure(self, model: Translator) -> dict[str, float]:
        loss = measure_loss(model, self._data)
        measured = {
            "validation_loss": loss.mean,
            "validation_perplexity": loss.perplexity,
            "validation_word_perplexity": loss.word_perplexity(self._words),
        }
        if self._config.train.bleu:
            search = self._config.search.model_copy(update={"beam": 1})
            measured["validation_bleu"] = measure_bleu(
                model, self._codec, self._data.source, self._references, search
            )
        return measured


def learning_rate(config: TrainConfig, step: int, done: float) -> float:
    """At a step, counted from 0, when this share of all batches is done."""
    rate = config.lr
    if config.warmup:
        rate *= min(1.0, (step + 1) / config.warmup)
    if config.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * done))
    return rate


def start(config: RunConfig, out: Path) -> RunDirectory:
    """Creates a run directory, with a vocabulary that is learnt from the training split alone.

    A relative data path becomes absolute, so that the run finds its data from any folder.
    """
    RunDirectory.refuse_used(out)  # before minutes are spent on a large bitext
    config = resolve_data(config)
    bitext = open_data(config.data)
    bitext[config.data.validation]  # a split that is absent is better said now
    return RunDirectory.create(out, config, Codec.train(bitext[config.data.train], config.text))


def size_of_scores(run: RunDirectory) -> int:
    """About how many bytes the scores of all words are, for a batch: what training on a CPU holds most of."""
    return 4 * run.config.train.batch_size * TYPICAL_LENGTH * run.codec.target.size


def train(run: RunDirectory, device: torch.device, reporter: Reporter) -> dict[str, Any]:
    """Trains a run to its end, from wherever it is; returns what then stands in its result.json."""
    give_large_blocks_back(size_of_scores(run))
    with run.training(), stop_on_interrupt() as stopped:
        return _train(run, device, reporter, stopped)


def _train(
    run: RunDirectory, device: torch.device, reporter: Reporter, stopped: Callable[[], bool]
) -> dict[str, Any]:
    config, codec, settings = run.config, run.codec, run.config.train
    torch.manual_seed(settings.seed)
    model = Translator(config.model, codec.source.size, codec.target.size).to(device)
    engine = Engine(model, settings, device)
    kept = copy.deepcopy(model) if engine.average else model
    torch.manual_seed(settings.seed)  # anew, so that dropout does not depend on how many weights there are
    progress = Progress()
    if (saved := run.load_state()) is not None:
        progress = resume(run, engine, *saved)
    bitext = open_data(config.data)
    data = TrainingData(bitext, codec, config, device)
    validation = Validation(bitext, codec, config, device)
    clock = Clock(progress, settings.save_seconds)

    while progress.epoch < settings.epochs and not patience_is_over(progress, settings):
        tokens = data.epoch(progress.epoch)
        plan = tokens.plan(
            settings.batch_size,
            seed=settings.seed,
            epoch=progress.epoch,
            round_to=4 if device.type == "cuda" else 1,  # few shapes, few CUDA graphs
        )
        model.train()
        engine.loss_sum.fill_(progress.loss_sum)
        clock.start()
        batches = tokens.batches(plan[progress.batch :])
        while group := list(islice(batches, settings.accumulate)):
            done = (progress.epoch + progress.batch / len(plan)) / settings.epochs
            engine.step(group, learning_rate(settings, progress.step, done))
            progress.step += 1
            progress.batch += len(group)
            clock.count(sum(batch.target_tokens for batch in group))
            if clock.report_is_due():
                loss = float(engine.loss_sum) / progress.tokens
                reporter.batch(progress.epoch + 1, progress.batch, len(plan), loss, clock.speed())
            if stopped() or clock.save_is_due():
                progress.loss_sum = float(engine.loss_sum)
                clock.stop()
                run.save_state(engine.state(), asdict(progress))
                if stopped():
                    raise TrainingInterrupted
                clock.start()

        metrics: dict[str, Any] = {
            "epoch": progress.epoch + 1,
            "train_loss": float(engine.loss_sum) / progress.tokens,
            "target_tokens_per_second": clock.speed(),
        }
        clock.stop()
        refuse_divergence(metrics)
        engine.show(kept)
        metrics |= validation.measure(kept)
        metrics["seconds"] = clock.total()
        progress.finish_epoch(metrics, settings.keep)
        # In this order: what is resumed from the state before then writes the same files once more.
        if progress.best_epoch == progress.epoch:
            run.save_model(kept.state_dict(), metrics)
        run.write_metrics(progress.history)
        run.save_state(engine.state(), asdict(progress))
        reporter.epoch(metrics)

    best = progress.history[progress.best_epoch - 1]
    result = {
        "run": str(run.path),
        "best_epoch": progress.best_epoch,
        "epochs": progress.epoch,
        **{key: value for key, value in best.items() if key.startswith("validation_")},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds": clock.total(),
        "target_tokens_per_second": progress.all_tokens / progress.training_seconds,
        "precision": "bf16" if engine.bf16 else "fp32",
        "device": describe(device),
    }
    run.finish(result)
    return result


def resume(run: RunDirectory, engine: Engine, tensors: dict[str, Tensor], saved: dict[str, Any]) -> Progress:
    """Puts everything back to where it was saved."""
    try:
        engine.load(tensors)
        return Progress(**saved)
    except (KeyError, RuntimeError, TypeError) as error:
        raise AugenmerkError(
            f"{run.path}: the saved state does not belong to this run's settings ({error}); "
            f"train it anew under another --out."
        ) from None


def refuse_divergence(metrics: Mapping[str, Any]) -> None:
    if not math.isfinite(metrics["train_loss"]):
        raise AugenmerkError(
            f"The loss is {metrics['train_loss']} in epoch {metrics['epoch']}: training has diverged; "
            f"try a smaller train.lr, or train.clip=1."
        )


def patience_is_over(progress: Progress, settings: TrainConfig) -> bool:
    return bool(settings.patience) and progress.epoch - progress.best_epoch >= settings.patience


class Clock:
    """Counts the time of all sittings, and says when it is time to report or to save."""

    REPORT_SECONDS = 0.25

    def __init__(self, progress: Progress, save_seconds: float) -> None:
        self._progress = progress
        self._save_seconds = save_seconds
        self._began = time.monotonic() - progress.seconds
        self._reported = self._saved = 0.0
        self._lap_began = 0.0
        self._lap_tokens = 0

    def start(self) -> None:
        """Training goes on, after validating or saving."""
        self._lap_began = self._saved = time.monotonic()
        self._lap_tokens = 0

    def stop(self) -> None:
        """Before validating or saving."""
        self._progress.training_seconds += time.monotonic() - self._lap_began
        self._progress.all_tokens += self._lap_tokens
        self._progress.seconds = self.total()

    def count(self, tokens: int) -> None:
        self._progress.tokens += tokens
        self._lap_tokens += tokens

    def speed(self) -> float:
        """Target tokens per second since the start."""
        return self._lap_tokens / max(time.monotonic() - self._lap_began, 1e-9)

    def total(self) -> float:
        return time.monotonic() - self._began

    def report_is_due(self) -> bool:
        now = time.monotonic()
        due = now - self._reported >= self.REPORT_SECONDS
        if due:
            self._reported = now
        return due

    def save_is_due(self) -> bool:
        return time.monotonic() - self._saved >= self._save_seconds


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C only asks to stop, so that a step is never cut in two; the second is in earnest."""
    asked = False

    def ask(_signal: int, _frame: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # signals reach the main thread only
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def describe(device: torch.device) -> str:
    """For the record: the name of the GPU, or how many CPU threads there were."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {torch.get_num_threads()} threads"
