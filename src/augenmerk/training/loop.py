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
from typing import Any, Protocol

import torch

from augenmerk.base.config import TrainConfig
from augenmerk.base.device import count_cores, count_threads, describe_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.process import SavedInterrupt, limit_malloc_caching
from augenmerk.data import open_data
from augenmerk.mechanisms.custom import check_recorded
from augenmerk.model.interface import build_model, load_checked
from augenmerk.run.directory import RunDirectory
from augenmerk.training.data import Validation, check_same_pairs, open_training_data
from augenmerk.training.distributed import ALONE, World, check_processes
from augenmerk.training.engine import Engine
from augenmerk.training.loggers import Logger, LoggerGroup

TYPICAL_LENGTH = 16
"""Tokens of a typical sentence, for estimating memory."""


class TrainingInterrupted(SavedInterrupt):
    """Raised when Ctrl-C or SIGTERM stopped training, after everything was saved."""


class Reporter(Protocol):
    """Receives the progress of training: a progress bar or a log, for example."""

    def begin(self, data: Mapping[str, Any]) -> None:
        """Receives what the run learns from, before the first step: `data` in result.json."""

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
    initial: dict[str, float] = field(default_factory=dict)
    """The metrics of the weights of another run with which this one began."""

    def finish_epoch(self, metrics: dict[str, Any], select_by: str) -> None:
        self.epoch += 1
        self.window, self.batch, self.loss_sum, self.tokens = 0, 0, 0.0, 0
        self.history.append(metrics)
        value = -metrics["validation_bleu"] if select_by == "bleu" else metrics["validation_loss"]
        if value < self.best or not self.best_epoch:
            self.best, self.best_epoch = value, self.epoch

    def has_stopped_improving(self, patience: int) -> bool:
        return bool(patience) and self.epoch - self.best_epoch >= patience


class Clock:
    """Measures training time, also across resumptions, and tells when to report and when to save."""

    REPORT_SECONDS = 0.25

    def __init__(self, progress: TrainingProgress, save_seconds: float) -> None:
        self._progress, self._save_seconds = progress, save_seconds
        self._began = time.monotonic() - progress.seconds
        self._reported = self._lap_began = 0.0
        self._lap_tokens = 0

    def start(self) -> None:
        """Starts measuring, at the start of an epoch or after saving."""
        self._lap_began, self._lap_tokens = time.monotonic(), 0

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
        return time.monotonic() - self._lap_began >= self._save_seconds


def learning_rate(config: TrainConfig, step: int, done: float) -> float:
    """Returns the learning rate of a step (counted from 0) when this fraction of training is done."""
    rate = config.lr
    if config.warmup:
        rate *= min(1.0, (step + 1) / config.warmup)
    if config.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * done))
    return rate


def train(
    run: RunDirectory,
    device: torch.device,
    reporter: Reporter,
    loggers: Sequence[Logger] = (),
    world: World = ALONE,
    threads: int | None = None,
) -> dict[str, Any]:
    """Trains a run to its end, resuming it if it was started before; returns the content of its result.json.

    It computes with so many CPU `threads`, by default as many as `choose_threads` returns.
    """
    check_processes(run.config.train, world.size)
    # The logits of a batch are the largest tensor of training on a CPU.
    limit_malloc_caching(4 * run.config.train.batch_size * TYPICAL_LENGTH * run.tokenizers.target.size)
    run.read_only = not world.is_first
    with (
        run.training(),
        catch_stop_signals() as stop_signal,
        closing(LoggerGroup(loggers if world.is_first else ())) as logger,
        use_threads(threads or choose_threads(run, None, world)[0]),
    ):
        training = Training(run, device, reporter, stop_signal, logger, world)
        progress, settings = training.progress, run.config.train
        while progress.epoch < settings.epochs and not progress.has_stopped_improving(settings.patience):
            training.train_epoch()
            training.finish_epoch()
        return training.finish()


class Training:
    """A run while it is trained: its model, its data, and how far it is."""

    def __init__(
        self,
        run: RunDirectory,
        device: torch.device,
        reporter: Reporter,
        stop_signal: Callable[[], int | None],
        logger: LoggerGroup,
        world: World,
    ) -> None:
        self.run, self.device, self.world, self.settings = run, device, world, run.config.train
        self.reporter, self.logger, self.stop_signal = reporter, logger, stop_signal
        config, tokenizers, seed = run.config, run.tokenizers, run.config.train.seed
        check_recorded(config.model.attention, world.from_first(run.read_code), run.path)
        torch.manual_seed(seed)
        model = build_model(config.model, tokenizers.source.size, tokenizers.target.size).to(device)
        if (initial := world.from_first(run.load_initial)) is not None:
            load_checked(model, initial[0], run.path)
        elif world.size > 1:  # another kind of processor may round random weights differently
            weights = world.from_first(lambda: {k: v.cpu() for k, v in model.state_dict().items()})
            model.load_state_dict(weights)
        self.model = model
        self.engine = Engine(model, config.train, device, world)
        self.eval_model = copy.deepcopy(model) if self.engine.average else model
        torch.manual_seed(seed)  # again, so that dropout does not depend on the number of weights
        self.progress = self._restore_progress()
        logger.start(run.path, config.model_dump(), self.progress.step)
        bitext = open_data(config.data)
        self.data = open_training_data(bitext, tokenizers, config, device)
        self.validation = Validation(bitext, tokenizers, config, device)
        self.clock = Clock(self.progress, config.train.save_seconds)
        self.data.read_window(self.progress.epoch, self.progress.window)
        if initial is not None and not self.progress.initial:
            self.progress.initial = world.from_first(lambda: self.validation.measure(model.eval()))
        self.described = {
            **self.data.describe(),
            "validation_pairs": self.validation.sum.pairs,
            "source_vocabulary": tokenizers.source.size,
            "target_vocabulary": tokenizers.target.size,
            "unit": config.text.unit,
            "joint": tokenizers.joint,
            "lowercase": tokenizers.source.lowercase,
        }
        if initial is not None:
            self.described["initial"] = {**initial[1], **self.progress.initial}
        assert self.data.sum is not None
        if world.from_first(lambda: self.data.sum) != self.data.sum:
            raise AugenmerkError(
                f"{config.data.bitext} has other training pairs for process {world.rank} than for process 0; "
                f"all machines need the same data."
            )
        known = world.from_first(run.read_data)
        found = {config.data.train: self.data.sum, config.data.validation: self.validation.sum}
        check_same_pairs(run, bitext, known, found)
        run.write_data(known | found)
        self.progress.threads = torch.get_num_threads()
        run.write_changes()  # only now, when all that is needed was found
        reporter.begin(self.described)

    def _restore_progress(self) -> TrainingProgress:
        """Restores the saved state, if there is one; raises AugenmerkError if it is of other settings."""
        saved = self.world.from_first(self.run.load_state)
        if saved is None:
            return TrainingProgress()
        try:
            # Copies, because rounding may depend on the alignment of a tensor in memory, which torch chooses
            # differently from numpy.
            self.engine.load({name: torch.from_numpy(array).clone() for name, array in saved[0].items()})
            return TrainingProgress(**saved[1])
        except (KeyError, RuntimeError, TypeError) as error:
            raise AugenmerkError(
                f"{self.run.path}: the saved state does not belong to this run's settings ({error}); "
                f"train it again under another --out."
            ) from None

    def train_epoch(self) -> None:
        """Trains until the end of the epoch; raises TrainingInterrupted if a signal asks to stop."""
        settings, progress, data, clock = self.settings, self.progress, self.data, self.clock
        data.read_window(progress.epoch, progress.window)  # before the clock is started: it may take a while
        self.model.train()
        self.engine.loss_sum.fill_(progress.loss_sum)
        clock.start()
        self._logged = progress.loss_sum, progress.tokens
        while progress.window < data.windows:
            tokens = data.read_window(progress.epoch, progress.window)
            plan = tokens.plan(
                settings.batch_size,
                seed=settings.seed,
                epoch=progress.epoch,
                window=progress.window,
                round_to=4 if self.device.type == "cuda" else 1,  # few shapes, few CUDA graphs
            )
            batches = tokens.batches(plan[progress.batch :])
            while group := list(islice(batches, settings.accumulate)):
                done_of_epoch = (progress.window + progress.batch / len(plan)) / data.windows
                done = (progress.epoch + done_of_epoch) / settings.epochs
                rate = learning_rate(settings, progress.step, done)
                self.engine.step(group, rate, progress.step)
                progress.step += 1
                progress.batch += len(group)
                clock.count(sum(batch.target_tokens for batch in group))
                if clock.report_is_due():
                    self._report(rate, len(plan))
                self._save_if_due()
            progress.window, progress.batch = progress.window + 1, 0

    def _report(self, rate: float, batches: int) -> None:
        """Reports the loss so far; `batches` is how many the present window has."""
        progress = self.progress
        loss_sum, speed = float(self.engine.loss_sum), self.clock.speed()
        batch, all_batches = progress.window * batches + progress.batch, batches * self.data.windows
        self.reporter.batch(progress.epoch + 1, batch, all_batches, loss_sum / progress.tokens, speed)
        logged_loss, logged_tokens = self._logged
        self._logged = loss_sum, progress.tokens
        if batch < all_batches:  # else the epoch's metrics come with the same step and names
            metrics = {
                "batch_loss": (loss_sum - logged_loss) / (progress.tokens - logged_tokens),
                "learning_rate": rate,
                "target_tokens_per_second": speed,
            }
            self.logger.log(progress.step, metrics)

    def _save_if_due(self) -> None:
        signum, save = self.world.agree(self.stop_signal() or 0, self.clock.save_is_due())
        if signum or save:
            self.progress.loss_sum = float(self.engine.loss_sum)
            self.clock.stop()
            self.run.save_state(self.engine.state(), asdict(self.progress))
            if signum:
                raise TrainingInterrupted(128 + signum)
            self.clock.start()

    def finish_epoch(self) -> None:
        """Validates and saves; raises AugenmerkError if training has diverged."""
        settings, progress = self.settings, self.progress
        metrics: dict[str, Any] = {
            "epoch": progress.epoch + 1,
            "step": progress.step,
            "learning_rate": learning_rate(settings, progress.step, (progress.epoch + 1) / settings.epochs),
            "train_loss": float(self.engine.loss_sum) / progress.tokens,
            "target_tokens_per_second": self.clock.speed(),
        }
        self.clock.stop()
        if not math.isfinite(metrics["train_loss"]):
            raise AugenmerkError(
                f"The loss is {metrics['train_loss']} in epoch {metrics['epoch']}: training has diverged; "
                f"try a smaller train.lr, or train.clip=1."
            )
        self.engine.copy_averaged_weights(self.eval_model)
        metrics |= self.world.from_first(lambda: self.validation.measure(self.eval_model.eval()))
        metrics["seconds"] = self.clock.total()
        progress.finish_epoch(metrics, settings.select_by)
        # The state is saved last: a run resumed from the previous state writes the same files again.
        if progress.best_epoch == progress.epoch:
            self.run.save_model(self.eval_model.state_dict(), metrics)
        self.run.write_metrics(progress.history)
        self.run.save_state(self.engine.state(), asdict(progress))
        self.reporter.epoch(metrics)
        self.logger.log(progress.step, {name: value for name, value in metrics.items() if name != "step"})

    def finish(self) -> dict[str, Any]:
        """Writes and returns the summary, which makes the run a finished one."""
        progress = self.progress
        best = progress.history[progress.best_epoch - 1]
        result = {
            "run": str(self.run.path),
            "best_epoch": progress.best_epoch,
            "select_by": self.settings.select_by,
            "epochs": progress.epoch,
            **{key: value for key, value in best.items() if key.startswith("validation_")},
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "seconds": self.clock.total(),
            "target_tokens_per_second": progress.all_tokens / progress.training_seconds,
            "precision": "bf16" if self.engine.bf16 else "fp32",
            "device": describe_device(self.device, progress.threads),
            "threads": progress.threads,
            "processes": self.world.size,
            "data": self.described,
        }
        if learnt := self.data.learn_familiarity():
            self.run.write_familiarity(learnt)
        self.run.finish(result)
        return result


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
    if before == threads or (asked is None and before <= count_cores()):
        return before, ""
    return threads, (
        f"The run was started with {before} CPU threads and continues with {threads}: its weights will "
        f"differ in their last digits from those of a run that was never interrupted."
    )


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Makes torch compute with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
