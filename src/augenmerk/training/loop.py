"""Training: the whole loop in one place.

A run is a function of its settings. Initial weights, the order of the data and dropout follow from
`train.seed`; the plan of an epoch follows from (seed, epoch) alone. The saved state holds the rest: weights,
moments, averages, the state of the random generators, and how far training is. So a run that is killed and
resumed ends with the same weights, bit for bit on a CPU, as one that was not.

Several processes that train one run (`augenmerk.training.distributed`) all go through this loop. They compute
the same weights, each from a part of every batch; the run directory of all but the first writes nothing.
"""

import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import torch

from augenmerk.base.config import RunConfig, TrainConfig
from augenmerk.base.device import count_cores, count_threads, describe_device, uses_bf16
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.malloc import limit_malloc_caching
from augenmerk.base.tensors import Arrays
from augenmerk.data import Bitext, open_data
from augenmerk.evaluation.evaluator import count_words, measure_loss
from augenmerk.evaluation.scores import BleuScorer
from augenmerk.model import TranslationModel, build_model
from augenmerk.model.custom import check_recorded, find_code
from augenmerk.model.trial import try_mechanism
from augenmerk.model.weights import load_checked
from augenmerk.run.directory import RunDirectory
from augenmerk.text.batching import encode_pairs
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.training.data import TrainingData, check_same_pairs, open_prepared, open_training_data
from augenmerk.training.distributed import ALONE, World, world_size
from augenmerk.training.engine import Engine
from augenmerk.training.loggers import Logger, LoggerGroup
from augenmerk.training.policy import fit_to_data, refuse_other_model
from augenmerk.translation import Translator

TYPICAL_LENGTH = 16
"""Tokens of a typical sentence, for estimating memory."""

GREEDY = {"beam": 1, "n_best": 1, "sample": False, "mbr": False, "candidates": None, "precision": "fp32"}
"""Search settings of validation during training, which is greedy even if the run translates with a beam."""


class TrainingInterrupted(Exception):  # noqa: N818 (nothing went wrong)
    """Raised when Ctrl-C or SIGTERM stopped training, after everything was saved."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class Reporter(Protocol):
    """Receives the progress of training: a progress bar or a log, for example."""

    def begin(self, data: Mapping[str, Any]) -> None:
        """Receives what the run learns from, before the first step: see `describe_data`."""

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None: ...

    def epoch(self, metrics: Mapping[str, Any]) -> None: ...


@dataclass
class TrainingProgress:
    """How far a run is. With the tensors of `Engine.state`, this is the whole state; it is saved as JSON."""

    epoch: int = 0
    """The number of finished epochs."""
    window: int = 0
    """The number of finished windows of the current epoch; data in memory is one window."""
    batch: int = 0
    """The number of finished batches of the current window."""
    step: int = 0
    """The number of updates of the weights."""
    loss_sum: float = 0.0
    tokens: int = 0
    """Target tokens of the current epoch so far."""
    seconds: float = 0.0
    """Time spent so far, validation included; a resumed run adds to it."""
    all_tokens: int = 0
    training_seconds: float = 0.0
    """Time without validation and saving, for tokens per second."""
    best_epoch: int = 0
    best: float = math.inf
    """The lowest validation loss so far; with `select_by = "bleu"`, the lowest negative BLEU."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """The metrics of each epoch: the lines of metrics.jsonl."""
    threads: int = 0
    """CPU threads that compute; sums, and so the last digits of weights, depend on them."""
    pairs_sha256: str = ""
    """A checksum of the training pairs, in runs of an earlier version, which have no data.json."""
    initial: dict[str, float] = field(default_factory=dict)
    """The metrics of the weights of another run with which this one began."""

    def finish_epoch(self, metrics: dict[str, Any], select_by: str) -> None:
        self.epoch += 1
        self.window, self.batch, self.loss_sum, self.tokens = 0, 0, 0.0, 0
        self.history.append(metrics)
        value = -metrics["validation_bleu"] if select_by == "bleu" else metrics["validation_loss"]
        if value < self.best or not self.best_epoch:
            self.best, self.best_epoch = value, self.epoch


class Validation:
    """Measures loss, perplexity and, if the settings ask for it, greedy BLEU on the validation split."""

    def __init__(
        self, bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
    ) -> None:
        watched = bitext.watch(config.data.validation)
        pairs = list(watched)
        assert watched.sum is not None
        self.sum = watched.sum
        if not pairs:
            raise AugenmerkError(f"{bitext.name} has no pair in '{config.data.validation}' to validate on.")
        self._tokenizers = tokenizers
        self._config = config
        self.pairs = len(pairs)
        self._bleu = None
        if config.train.bleu:
            references = [pair.target for pair in pairs]
            self._bleu = BleuScorer(references, lowercase=tokenizers.target.lowercase)
        self._words = count_words(pairs)
        self._sources = tokenizers.source.encode_ids([pair.source for pair in pairs])
        self._data = encode_pairs(pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids).to(
            device
        )

    def measure(self, model: TranslationModel) -> dict[str, float]:
        """Returns the metrics of a model in evaluation mode."""
        loss = measure_loss([model], self._data)
        measured = {
            "validation_loss": loss.mean,
            "validation_perplexity": loss.perplexity,
            "validation_word_perplexity": loss.word_perplexity(self._words),
        }
        if self._bleu is not None:
            with Translator([model.for_inference()], self._tokenizers, self._config) as translator:
                found = translator.decode(self._sources, self._config.search.model_copy(update=GREEDY))
            texts = self._tokenizers.target.decode_batch(best[0].ids for best in found)
            measured["validation_bleu"] = self._bleu.score(texts)
        return measured


def describe_data(run: RunDirectory, data: TrainingData, validation_pairs: int) -> dict[str, Any]:
    """Returns how many pairs there are, how many were left out and why, and how they become ids."""
    tokenizers = run.tokenizers
    return {
        **data.describe(),
        "validation_pairs": validation_pairs,
        "source_vocabulary": tokenizers.source.size,
        "target_vocabulary": tokenizers.target.size,
        "unit": run.config.text.unit,
        "joint": tokenizers.joint,
        "lowercase": tokenizers.source.lowercase,
    }


def learning_rate(config: TrainConfig, step: int, done: float) -> float:
    """Returns the learning rate of a step (counted from 0) when this fraction of training is done."""
    rate = config.lr
    if config.warmup:
        rate *= min(1.0, (step + 1) / config.warmup)
    if config.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * done))
    return rate


def start(config: RunConfig, out: Path) -> RunDirectory:
    """Creates a run directory, with a vocabulary that is learnt from the training split alone.

    If the settings name an initial run, its vocabulary and its weights are taken instead; a prepared corpus
    has a vocabulary. What a preset left open is fitted to the data, and relative paths become absolute, so
    that the run finds its data from any folder: see `augenmerk.training.policy`.
    """
    RunDirectory.check_unused(out)  # before minutes are spent on a large bitext
    refuse_indivisible(config.train, world_size())
    config = fit_to_data(config)
    bitext = open_data(config.data)
    # A missing split or an unknown mechanism is reported before the vocabulary is learnt.
    bitext[config.data.validation]
    try_mechanism(config.model, bf16=uses_bf16(config.train.precision, torch.device("cpu")))
    code = find_code(config.model.attention)
    if (corpus := open_prepared(config)) is not None:
        corpus.check_settings(config)
    if config.train.initial_run is not None:
        parent = RunDirectory.open(Path(config.train.initial_run))
        refuse_other_model(parent, config)
        check_recorded(config.model.attention, parent.read_code(), parent.path)
        if corpus is not None:
            corpus.check_tokenizers(parent.tokenizers)
        return RunDirectory.create(out, config, parent.tokenizers, code, parent)
    if corpus is not None:
        return RunDirectory.create(out, config, corpus.tokenizers, code, data={config.data.train: corpus.sum})
    watched = bitext.watch(config.data.train)
    tokenizers = TokenizerPair.train(watched, config.text)
    assert watched.sum is not None
    return RunDirectory.create(out, config, tokenizers, code, data={config.data.train: watched.sum})


def refuse_indivisible(settings: TrainConfig, processes: int) -> None:
    """Raises AugenmerkError if so many processes cannot share a batch."""
    if (settings.exact_parts or processes) % processes:
        raise AugenmerkError(
            f"{settings.exact_parts} parts of a batch (train.exact_parts) cannot be shared equally by "
            f"{processes} processes; start as many as divide {settings.exact_parts}."
        )
    if max(settings.exact_parts, processes) > settings.batch_size:
        parts = f"{settings.exact_parts} parts (train.exact_parts)" if settings.exact_parts else ""
        raise AugenmerkError(
            f"Batches of {settings.batch_size} pairs (train.batch_size) cannot be divided into "
            f"{parts or f'parts for {processes} processes'}; choose larger batches or fewer of these."
        )


def change_epochs(run: RunDirectory, epochs: int) -> tuple[RunDirectory, str]:
    """Returns the run with another number of epochs to train in all, and in sentences what that means.

    Nothing is written: `train` does that when it is certain that the run can go on. Raises AugenmerkError
    if the run cannot go on that long.
    """
    saved, settings = run.load_state(), run.config.train
    progress = TrainingProgress(**saved[1]) if saved else TrainingProgress()
    if epochs <= progress.epoch:
        raise AugenmerkError(
            f"{run.path} has been trained for {progress.epoch} epochs already; --epochs is their total, so "
            f"give more than that."
        )
    anew = f"to begin a new run with its weights: augenmerk train --from {run.path}"
    if run.finished and saved is None:
        raise AugenmerkError(f"{run.path} has no state.safetensors to continue from; {anew}.")
    if saved and patience_is_over(progress, settings):
        raise AugenmerkError(
            f"{run.path} ended because {settings.patience} epochs brought no improvement (train.patience); "
            f"{anew}."
        )
    about = [f"The run goes on from epoch {progress.epoch} to epoch {epochs}, instead of {settings.epochs}."]
    if run.read_scores():
        about.append("Its scores will be removed, because they were measured after fewer epochs.")
    changed = RunDirectory(run.path)
    tree = run.config.model_dump(exclude_none=True)
    tree["train"]["epochs"] = epochs
    changed.config = RunConfig.checked(tree, str(run.path))
    if settings.schedule == "constant" or not saved:
        about.append(f"The result will be that of a run that began with {epochs} epochs.")
    else:
        rate = learning_rate(settings, progress.step, progress.epoch / epochs)
        about.append(
            f"The learning rate falls along a cosine over all epochs and is now {rate:.2g}, so the result "
            f"will not be that of a run that began with {epochs} epochs."
        )
    return changed, "\n".join(about)


def estimate_logits_bytes(run: RunDirectory) -> int:
    """Estimates the bytes of the logits of a batch, the largest tensor of training on a CPU."""
    return 4 * run.config.train.batch_size * TYPICAL_LENGTH * run.tokenizers.target.size


def choose_threads(run: RunDirectory, asked: int | None = None, world: World = ALONE) -> tuple[int, str]:
    """Returns how many CPU threads to train a run with, and a remark about them, or nothing.

    A run that is resumed keeps its number of threads, so that its weights become those of a run that was
    never interrupted, bit for bit: unless another one is asked for, or there are fewer cores here.
    """
    if run.config.train.exact_parts:
        if asked not in (None, 1):
            raise AugenmerkError(
                "An exact run (train.exact_parts) computes with one thread: leave out --threads."
            )
        return 1, ""
    threads = asked or min(torch.get_num_threads(), count_threads())
    before = run.read_progress().get("threads", threads) if world.size == 1 else threads
    if asked is None and before <= count_cores():
        threads = before
    if threads == before:
        return threads, ""
    return threads, (
        f"The run was begun with {before} CPU threads and continues with {threads}: its weights will differ "
        f"in their last digits from those of a run that was never interrupted."
    )


def train(
    run: RunDirectory,
    device: torch.device,
    reporter: Reporter,
    loggers: Sequence[Logger] = (),
    world: World = ALONE,
    threads: int | None = None,
) -> dict[str, Any]:
    """Trains a run to its end, resuming it if it was begun; returns the content of its result.json.

    It computes with so many CPU `threads`, by default as many as `choose_threads` returns.
    """
    refuse_indivisible(run.config.train, world.size)
    limit_malloc_caching(estimate_logits_bytes(run))
    run.read_only = not world.is_first
    with (
        run.training(),
        catch_stop_signals() as stop_signal,
        closing(LoggerGroup(loggers if world.is_first else ())) as logger,
        use_threads(threads or choose_threads(run, None, world)[0]),
    ):
        return _train(run, device, reporter, stop_signal, logger, world)


def _train(
    run: RunDirectory,
    device: torch.device,
    reporter: Reporter,
    stop_signal: Callable[[], int | None],
    logger: LoggerGroup,
    world: World,
) -> dict[str, Any]:
    config, tokenizers, settings = run.config, run.tokenizers, run.config.train
    check_recorded(config.model.attention, world.from_first(run.read_code), run.path)
    torch.manual_seed(settings.seed)
    model = build_model(config.model, tokenizers.source.size, tokenizers.target.size).to(device)
    if (initial := world.from_first(run.load_initial)) is not None:
        load_checked(model, initial[0], run.path)
    elif world.size > 1:  # another kind of processor may round random weights differently
        model.load_state_dict(world.from_first(lambda: {k: v.cpu() for k, v in model.state_dict().items()}))
    engine = Engine(model, settings, device, world)
    eval_model = copy.deepcopy(model) if engine.average else model
    torch.manual_seed(settings.seed)  # again, so that dropout does not depend on the number of weights
    progress = TrainingProgress()
    if (saved := world.from_first(run.load_state)) is not None:
        progress = resume(run, engine, *saved)
    logger.start(run.path, config.model_dump(), progress.step)
    bitext = open_data(config.data)
    data = open_training_data(bitext, tokenizers, config, device)
    validation = Validation(bitext, tokenizers, config, device)
    clock = Clock(progress, settings.save_seconds)
    data.read_window(progress.epoch, progress.window)
    described = describe_data(run, data, validation.pairs)
    if initial is not None:
        if saved is None:
            progress.initial = world.from_first(lambda: validation.measure(model.eval()))
        described["initial"] = {**initial[1], **progress.initial}
    assert data.sum is not None
    if world.from_first(lambda: data.sum) != data.sum:
        raise AugenmerkError(
            f"{config.data.bitext} has other training pairs for process {world.rank} than for process 0; all "
            f"machines need the same data."
        )
    known = world.from_first(run.read_data)
    found = {config.data.train: data.sum, config.data.validation: validation.sum}
    check_same_pairs(run, bitext, known, found)
    run.write_data(known | found)
    progress.threads = torch.get_num_threads()
    run.write_changes()  # only now, when all that is needed was found
    reporter.begin(described)

    while progress.epoch < settings.epochs and not patience_is_over(progress, settings):
        data.read_window(progress.epoch, progress.window)  # before the clock is started: it may take a while
        model.train()
        engine.loss_sum.fill_(progress.loss_sum)
        clock.start()
        logged_loss, logged_tokens = progress.loss_sum, progress.tokens
        while progress.window < data.windows:
            tokens = data.read_window(progress.epoch, progress.window)
            plan = tokens.plan(
                settings.batch_size,
                seed=settings.seed,
                epoch=progress.epoch,
                window=progress.window,
                round_to=4 if device.type == "cuda" else 1,  # few shapes, few CUDA graphs
            )
            all_batches = len(plan) * data.windows  # about so many, for windows are about equal
            batches = tokens.batches(plan[progress.batch :])
            while group := list(islice(batches, settings.accumulate)):
                done_of_epoch = (progress.window + progress.batch / len(plan)) / data.windows
                rate = learning_rate(
                    settings, progress.step, (progress.epoch + done_of_epoch) / settings.epochs
                )
                engine.step(group, rate, progress.step)
                progress.step += 1
                progress.batch += len(group)
                clock.count(sum(batch.target_tokens for batch in group))
                if clock.report_is_due():
                    loss_sum, speed = float(engine.loss_sum), clock.speed()
                    loss = loss_sum / progress.tokens
                    batch = progress.window * len(plan) + progress.batch
                    reporter.batch(progress.epoch + 1, batch, all_batches, loss, speed)
                    figures = {
                        "batch_loss": (loss_sum - logged_loss) / (progress.tokens - logged_tokens),
                        "learning_rate": rate,
                        "target_tokens_per_second": speed,
                    }
                    if batch < all_batches:  # else the epoch's figures come with the same step and names
                        logger.log(progress.step, figures)
                    logged_loss, logged_tokens = loss_sum, progress.tokens
                signum, save = world.agree(stop_signal() or 0, clock.save_is_due())
                if signum or save:
                    progress.loss_sum = float(engine.loss_sum)
                    clock.stop()
                    run.save_state(engine.state(), asdict(progress))
                    if signum:
                        raise TrainingInterrupted(signum)
                    clock.start()
            progress.window, progress.batch = progress.window + 1, 0

        metrics: dict[str, Any] = {
            "epoch": progress.epoch + 1,
            "step": progress.step,
            "learning_rate": learning_rate(settings, progress.step, (progress.epoch + 1) / settings.epochs),
            "train_loss": float(engine.loss_sum) / progress.tokens,
            "target_tokens_per_second": clock.speed(),
        }
        clock.stop()
        refuse_divergence(metrics)
        engine.copy_averaged_weights(eval_model)
        metrics |= world.from_first(lambda: validation.measure(eval_model.eval()))
        metrics["seconds"] = clock.total()
        progress.finish_epoch(metrics, settings.select_by)
        # The state is saved last: a run resumed from the previous state writes the same files again.
        if progress.best_epoch == progress.epoch:
            run.save_model(eval_model.state_dict(), metrics)
        run.write_metrics(progress.history)
        run.save_state(engine.state(), asdict(progress))
        reporter.epoch(metrics)
        logger.log(progress.step, {name: value for name, value in metrics.items() if name != "step"})

    best = progress.history[progress.best_epoch - 1]
    result = {
        "run": str(run.path),
        "best_epoch": progress.best_epoch,
        "select_by": settings.select_by,
        "epochs": progress.epoch,
        **{key: value for key, value in best.items() if key.startswith("validation_")},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds": clock.total(),
        "target_tokens_per_second": progress.all_tokens / progress.training_seconds,
        "precision": "bf16" if engine.bf16 else "fp32",
        "device": describe_device(device, progress.threads),
        "threads": progress.threads,
        "processes": world.size,
        "data": described,
    }
    if learnt := data.learn_familiarity():
        run.write_familiarity(learnt)
    run.finish(result)
    return result


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Makes torch compute with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def resume(run: RunDirectory, engine: Engine, arrays: Arrays, saved: dict[str, Any]) -> TrainingProgress:
    """Restores a saved state; raises AugenmerkError if it does not belong to the run's settings."""
    try:
        # Copies, because rounding may depend on the alignment of a tensor in memory, which torch chooses
        # differently from numpy.
        engine.load({name: torch.from_numpy(array).clone() for name, array in arrays.items()})
        return TrainingProgress(**saved)
    except (KeyError, RuntimeError, TypeError) as error:
        raise AugenmerkError(
            f"{run.path}: the saved state does not belong to this run's settings ({error}); "
            f"train it again under another --out."
        ) from None


def refuse_divergence(metrics: Mapping[str, Any]) -> None:
    if not math.isfinite(metrics["train_loss"]):
        raise AugenmerkError(
            f"The loss is {metrics['train_loss']} in epoch {metrics['epoch']}: training has diverged; "
            f"try a smaller train.lr, or train.clip=1."
        )


def patience_is_over(progress: TrainingProgress, settings: TrainConfig) -> bool:
    return bool(settings.patience) and progress.epoch - progress.best_epoch >= settings.patience


class Clock:
    """Measures training time, also across resumptions, and says when to report and when to save."""

    REPORT_SECONDS = 0.25

    def __init__(self, progress: TrainingProgress, save_seconds: float) -> None:
        self._progress = progress
        self._save_seconds = save_seconds
        self._began = time.monotonic() - progress.seconds
        self._reported = self._saved = 0.0
        self._lap_began = 0.0
        self._lap_tokens = 0

    def start(self) -> None:
        """Starts measuring, at the start of an epoch or after saving."""
        self._lap_began = self._saved = time.monotonic()
        self._lap_tokens = 0

    def stop(self) -> None:
        """Stops measuring, before validation or saving."""
        self._progress.training_seconds += time.monotonic() - self._lap_began
        self._progress.all_tokens += self._lap_tokens
        self._progress.seconds = self.total()

    def count(self, tokens: int) -> None:
        self._progress.tokens += tokens
        self._lap_tokens += tokens

    def speed(self) -> float:
        """Returns target tokens per second since the last start."""
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
def catch_stop_signals() -> Iterator[Callable[[], int | None]]:
    """Yields a function that returns the signal that asked training to stop, SIGINT (Ctrl-C) or SIGTERM.

    So a step is never interrupted halfway. A second Ctrl-C raises KeyboardInterrupt. A second SIGTERM changes
    nothing, because supervisors and `timeout` may send it twice.
    """
    received: int | None = None

    def receive(signum: int, _frame: object) -> None:
        nonlocal received
        received = received or signum
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # signals reach the main thread only
        return
    before = {signum: signal.signal(signum, receive) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: received
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
