"""Training: the whole loop in one place.

A run is a function of its settings. Initial weights, the order of the data and dropout follow from
`train.seed`; the plan of an epoch follows from (seed, epoch) alone. The saved state holds the rest: weights,
moments, averages, the state of the random generators, and how far training is. So a run that is killed and
resumed ends with the same weights, bit for bit on a CPU, as one that was not.

Several processes that train one run (`augenmerk.distributed`) all go through this loop. They compute the same
weights, each from a part of every batch; the run directory of all but the first writes nothing.
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

from augenmerk.batching import encode_pairs
from augenmerk.bitext import Bitext, open_data, resolve_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import DATASETS, RunConfig, TrainConfig, format_setting
from augenmerk.device import count_cores, count_threads, describe_device
from augenmerk.distributed import ALONE, World, world_size
from augenmerk.engine import Engine
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import count_words, measure_loss
from augenmerk.familiarity import Familiarity
from augenmerk.loggers import Logger, LoggerGroup
from augenmerk.malloc import limit_malloc_caching
from augenmerk.model import TranslationModel, build_model
from augenmerk.model.attention import MECHANISM_FILES
from augenmerk.model.trial import try_mechanism
from augenmerk.model.weights import load_checked
from augenmerk.scores import BleuScorer
from augenmerk.tensorfile import Arrays
from augenmerk.text import TokenizerPair
from augenmerk.training_data import TrainingData, open_prepared, open_training_data
from augenmerk.translate import Translator

TYPICAL_LENGTH = 16
"""Tokens of a typical sentence, for estimating memory."""

GREEDY = {"beam": 1, "n_best": 1, "sample": False, "mbr": False, "candidates": None, "precision": "fp32"}
"""Search settings of validation during training, which is greedy even if the run translates with a beam."""


SAMPLED_PAIRS = 500
"""Training pairs that are looked at to tell the direction of translation."""

FREE_SETTINGS = {
    "text.bpe_dropout",
    "model.embedding_dropout",
    "model.output_dropout",
    "model.transformer.attention_dropout",
    "model.transformer.feed_forward_dropout",
    "model.init",
}
"""Settings of [text] and [model] that may differ from those of the run whose weights are taken."""


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
    """A checksum of the training pairs, to tell data that was moved from other data."""
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
        pairs = list(bitext[config.data.validation])
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


def count_steps(settings: TrainConfig, pairs: int) -> int:
    """Returns how often all epochs over so many pairs update the weights."""
    return settings.epochs * math.ceil(pairs / (settings.batch_size * settings.accumulate))


def shorten_warmup(config: RunConfig) -> RunConfig:
    """Returns the settings with a warm-up of at most a fifth of all steps, if the data is a person's own.

    A preset's warm-up is meant for tens of thousands of pairs. With some hundreds, the learning rate would
    still be rising when training ends, and the model would learn nothing.
    """
    settings = config.train
    if config.data.bitext in DATASETS or not settings.warmup:
        return config
    if (corpus := open_prepared(config)) is not None:
        pairs = corpus.pairs
    else:
        # With so many pairs there are steps enough: the rest of a large file need not be read.
        enough = settings.batch_size * settings.accumulate * math.ceil(5 * settings.warmup / settings.epochs)
        split = open_data(resolve_data(config).data)[config.data.train]
        pairs = sum(1 for _ in islice(split, enough))
    steps = count_steps(settings, pairs)
    train = settings.model_copy(update={"warmup": min(settings.warmup, steps // 5)})
    return config.model_copy(update={"train": train})


def start(config: RunConfig, out: Path) -> RunDirectory:
    """Creates a run directory, with a vocabulary that is learnt from the training split alone.

    If the settings name an initial run, its vocabulary and its weights are taken instead; a prepared corpus
    has a vocabulary. A relative data path becomes absolute, so that the run finds its data from any folder.
    """
    RunDirectory.check_unused(out)  # before minutes are spent on a large bitext
    refuse_indivisible(config.train, world_size())
    config = resolve_data(config)
    bitext = open_data(config.data)
    # A missing split or an unknown mechanism is reported before the vocabulary is learnt.
    bitext[config.data.validation]
    try_mechanism(config.model)
    own = MECHANISM_FILES.get(config.model.attention)
    code = {} if own is None else {own.name: own.read_bytes()}  # for the record, and to translate elsewhere
    if (corpus := open_prepared(config)) is not None:
        corpus.check_settings(config)
    if config.train.initial_run is not None:
        parent = RunDirectory.open(Path(config.train.initial_run))
        refuse_other_model(parent, config)
        if corpus is not None:
            corpus.check_tokenizers(parent.tokenizers)
        return RunDirectory.create(out, config, parent.tokenizers, code, parent)
    if corpus is not None:
        return RunDirectory.create(out, config, corpus.tokenizers, code)
    tokenizers = TokenizerPair.train(bitext[config.data.train], config.text)
    return RunDirectory.create(out, config, tokenizers, code)


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


def describe_direction(parent: RunDirectory, config: RunConfig) -> str | None:
    """Returns a warning if the pairs look as if they had to be translated the other way than the parent does.

    That is so if most source sentences are unlike those that the parent learnt from, and most target
    sentences are like them.
    """
    learnt = parent.read_familiarity()
    if learnt is None or open_prepared(config) is not None:  # whose ids are those of the parent's vocabulary
        return None
    tokenizer = parent.tokenizers.source
    judge = Familiarity.of_run(tokenizer, learnt, parent.path).judge
    pairs = list(islice(open_data(resolve_data(config).data)[config.data.train], SAMPLED_PAIRS))
    sources, targets = (
        sum(reason is not None for reason in judge(tokenizer.encode_ids(side)))
        for side in ([pair.source for pair in pairs], [pair.target for pair in pairs])
    )
    if not 2 * targets < len(pairs) < 2 * sources:
        return None
    return (
        f"The direction looks wrong: of the first {len(pairs):,} training pairs, {sources:,} have a source "
        f"sentence unlike those that {parent.path} learnt from, but {len(pairs) - targets:,} a target "
        f"sentence like them. Exchange the two sides, or say --source-language and --target-language."
    )


def refuse_other_model(parent: RunDirectory, config: RunConfig) -> None:
    """Raises AugenmerkError if a model with these settings could not have the parent's weights and words."""
    old = parent.config.flatten()
    for key, value in config.flatten().items():
        if key.startswith(("text.", "model.")) and key not in FREE_SETTINGS and value != old[key]:
            raise AugenmerkError(
                f"{parent.path} has {key} = {format_setting(old[key])}, and a run that begins with its "
                f"weights cannot have {format_setting(value)}; leave it out, or train without --from."
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
    if run.data_moved and progress.pairs_sha256 not in ("", data.sha256):
        raise AugenmerkError(
            f"{config.data.bitext} has other training pairs than those that {run.path} has learnt from; "
            f"to go on with other pairs, begin a new run with its weights: augenmerk train --from {run.path}."
        )
    if world.from_first(lambda: data.sha256) != data.sha256:
        raise AugenmerkError(
            f"{config.data.bitext} has other training pairs for process {world.rank} than for process 0; all "
            f"machines need the same data."
        )
    progress.pairs_sha256 = data.sha256
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
