"""`augenmerk train`: trains a run and shows its progress."""

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from typer import Argument, Option

from augenmerk.base.config import PRESETS
from augenmerk.base.entries import ARCHITECTURES, MECHANISMS
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.settings import format_value
from augenmerk.cli import options
from augenmerk.cli.terminal import BAR_WIDTH, LineClock, err, make_bars, out, print_json

if TYPE_CHECKING:
    import torch

    from augenmerk.base.config import RunConfig
    from augenmerk.run.directory import RunDirectory
    from augenmerk.training.distributed import World
    from augenmerk.training.loggers import Logger

app = typer.Typer()

EXACT_PARTS = 4
"""The parts of a batch with --exact: enough for 1, 2 and 4 processes."""

FEW_STEPS = 300
"""Steps with which a model that begins with random weights learns little (docs/guides/own-data.md)."""


class TrainOptions(options.Group):
    """What to train, and how."""

    preset: Annotated[
        str | None,
        Argument(help=f"Preset ({', '.join(PRESETS)}) or a TOML file.", show_default=False),
    ] = None
    data: options.Data = None
    source_language: options.SourceLanguage = None
    target_language: options.TargetLanguage = None
    attention: Annotated[
        str | None, Option(help=f"Mechanism ({', '.join(MECHANISMS)}), or FILE.py:Class in your own file.")
    ] = None
    seed: Annotated[int | None, Option(min=0, max=options.MAX_SEED)] = None
    """Seed of initial weights, order of data and dropout."""
    epochs: Annotated[int | None, Option(min=1, max=100_000)] = None
    """Number of passes over the training data; with --resume, their new total."""
    out: Path | None = None
    """Run directory. Default: a new one under runs."""
    resume: bool = False
    """Continue the run in --out; a finished one needs more --epochs."""
    accept_changes: bool = False
    """With --resume: accept the run's config.toml and its code as you have edited them."""
    initial_run: Annotated[Path | None, Option("--from")] = None
    """Fine-tune: begin with the vocabulary and the weights of this run, and with its settings unless a preset
    is given. The bundled model is called multi30k-de-en."""
    skip_bad: options.SkipBad = False
    exact: Annotated[
        bool,
        Option(
            "--exact",
            help="The same weights, bit for bit, with 1, 2 or 4 processes of torchrun on CPUs; slower "
            f"(train.exact_parts={EXACT_PARTS}, see docs/guides/scaling.md).",
        ),
    ] = False
    device: options.Device = "auto"
    threads: options.Threads = None
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            help="Any setting of the run, e.g. train.lr=0.002, or model.architecture "
            f"({', '.join(ARCHITECTURES)}); repeatable.",
        ),
    ] = None
    tensorboard: bool = False
    """Also write TensorBoard events."""
    logger: Annotated[list[str] | None, Option(metavar="FILE.py:CLASS")] = None
    """Your own logger, for W&B or MLflow for example (docs/guides/logging.md); also module:Class; repeatable.
    It is code, and executed."""

    def check(self) -> None:
        """Raises AugenmerkError if the options do not belong together."""
        if self.resume and self.initial_run is not None:
            raise AugenmerkError("--from begins a new run and --resume continues one; give one of them.")
        if self.accept_changes and not self.resume:
            raise AugenmerkError(
                "--accept-changes is about a run that is continued: give --resume and --out too."
            )

    def list_overrides(self, mechanism: str | None) -> list[str]:
        """Returns the settings that the options change, as KEY=VALUE."""
        named = {
            "data.bitext": None if self.resume or self.data is None else format_value(self.data),
            "data.source_language": self.source_language,
            "data.target_language": self.target_language,
            "data.skip_bad": "true" if self.skip_bad else None,
            "model.attention": mechanism,
            "train.seed": self.seed,
            "train.epochs": None if self.resume else self.epochs,
            "train.exact_parts": EXACT_PARTS if self.exact else None,
        }
        given = [f"{key}={value}" for key, value in named.items() if value is not None]
        return given + (self.settings or [])

    def command_to_resume(self, run: Path, file: str | None) -> str:
        """Returns the command that continues the run; `file` is that of its custom mechanism."""
        arguments = ["--resume", "--out", str(run)]
        if self.resume:  # changes that are not written before training continues
            arguments += [] if self.data is None else ["--data", self.data]
            arguments += [] if self.epochs is None else ["--epochs", str(self.epochs)]
        return shlex.join(["augenmerk", "train", *arguments, *(["--attention", file] if file else [])])


@app.command(
    epilog="Examples:  augenmerk train quick --data bilderbuch --epochs 3    "
    "augenmerk train classic --data bilderbuch --attention mean --seed 2    "
    "augenmerk train quick --data bilderbuch --set train.lr=0.002 --out runs/slower    "
    "augenmerk train --resume --out runs/mine --epochs 8    "
    "augenmerk train --from runs/mine --data bilderbuch --set data.bilderbuch.seed=2    "
    "torchrun --nproc-per-node 2 -m augenmerk train quick --data bilderbuch    "
    "Ctrl-C and SIGTERM save the run and exit with 130 and 143; --resume continues it. With more --epochs it "
    "also continues a finished run. On a CPU, the result is bit for bit that of a longer run, unless "
    "train.schedule is cosine."
)
@options.grouped
def train(given: TrainOptions = options.GROUP, json: options.Json = False) -> None:
    """Train a translator."""
    from augenmerk.training import start
    from augenmerk.training.distributed import join
    from augenmerk.training.loggers import load_loggers

    world, device = join(given.device)  # first, so that only one of several processes reports a mistake
    mechanism, file = _load_attention(given.attention)
    if given.resume and given.preset is None and file:
        mechanism = None  # a file that is named only allows that it is executed
    overrides = given.list_overrides(mechanism)
    # Before a run is created, because a logger may be wrong or not installed.
    loggers = load_loggers(given.logger or (), tensorboard=given.tensorboard) if world.is_first else []
    given.check()

    def open_run() -> tuple["RunDirectory", list[str]]:
        if given.resume:
            return start.resume(
                given.out,
                given.preset,
                overrides,
                given.data,
                given.epochs,
                accept_changes=given.accept_changes,
            )
        return start.start_preset(given.preset, overrides, given.out, given.initial_run)

    run, remarks = _open(open_run, world)
    if given.accept_changes and world.from_first(lambda: run.finished and not run.more_epochs):
        err().print("\n".join(remarks), markup=False)
        world.leave()
        return
    command = given.command_to_resume(run.path, file)
    result = _train(run, device, world, given.threads, loggers, remarks, command, new=not given.resume)
    print_json(result) if json else _print_result(result)


def _load_attention(attention: str | None) -> tuple[str | None, str | None]:
    """Returns the name of a mechanism in the settings, and the file of a custom one, which is loaded."""
    from augenmerk.base.config import CUSTOM_ATTENTION
    from augenmerk.model.custom import load_mechanism

    if attention is None or not CUSTOM_ATTENTION.fullmatch(attention):
        return attention, None
    return load_mechanism(attention), attention


def _open(
    open_run: Callable[[], tuple["RunDirectory", list[str]]], world: "World"
) -> tuple["RunDirectory", list[str]]:
    """Opens the run in the first process, and explains what may go wrong."""
    from augenmerk.data import BadLineError

    def open_and_read() -> tuple["RunDirectory", list[str]]:
        opened = open_run()
        opened[0].tokenizers  # noqa: B018 (read now, so that the folder need not be on every machine)
        return opened

    try:
        return world.from_first(open_and_read)
    except BadLineError as error:
        raise AugenmerkError(
            f"{error} All that is wrong is listed by `augenmerk data check`; --skip-bad trains without it."
        ) from None
    except KeyboardInterrupt as interrupt:
        interrupt.args = ("Training had not started; nothing is lost.",)
        raise


def _train(
    run: "RunDirectory",
    device: "torch.device",
    world: "World",
    threads: int | None,
    loggers: "Sequence[Logger]",
    remarks: list[str],
    command: str,
    *,
    new: bool,
) -> dict[str, Any]:
    """Trains a run and returns its summary; `command` continues it after an interruption."""
    from augenmerk.training import distributed
    from augenmerk.training.loggers import LoggerStartError
    from augenmerk.training.loop import TrainingInterrupted, choose_threads, train

    computing, about_threads = choose_threads(run, threads, world)
    err().print(_describe_run(run, device, world, computing), markup=False)
    for line in filter(None, (world.remark, *remarks, about_threads)):
        err().print(line, markup=False)
    if world.size > 1:
        command = f"{distributed.torchrun_command()} -m {command}"
    try:
        with TrainingDisplay(run.config) as display:
            result = train(run, device, display, loggers, world, computing)
        world.leave()
        return result
    except distributed.ProcessLostError as lost:
        restarts = distributed.will_restart()
        next_step = "torchrun starts them again." if restarts else f"Continue with:  {command}"
        raise AugenmerkError(f"{lost} {next_step}") from None
    except KeyboardInterrupt as interrupt:  # before the first step, or a second Ctrl-C
        interrupt.args = (f"Continue with:  {command}",)
        raise
    except LoggerStartError:
        if new and not distributed.was_restarted():
            shutil.rmtree(run.path)  # made a moment ago, and in the way of the next try
        raise
    except TrainingInterrupted as interrupted:
        if world.size > 1:
            distributed.ignore_signals()
        err().print(f"Saved. Continue with:  [bold]{escape(command)}[/]")
        world.leave()
        sys.exit(128 + interrupted.signum)  # 130 after Ctrl-C, 143 after SIGTERM, as shells report them


def _describe_run(run: "RunDirectory", device: "torch.device", world: "World", threads: int) -> str:
    from augenmerk.base.config import ModelConfig
    from augenmerk.base.device import describe_device

    model = run.config.model
    kind = "" if model.architecture == ModelConfig().architecture else f"{model.entry.title}, "
    where = describe_device(device, threads) if device.type == "cpu" else str(device)
    where += f", {world.size} processes" if world.size > 1 else ""
    return f"{run.path}: {kind}{model.attention} on {run.config.data.bitext}, {where}"


def _print_result(result: Mapping[str, Any]) -> None:
    out().print(
        f"[bold]{escape(result['run'])}[/]: best epoch {result['best_epoch']} of {result['epochs']} "
        f"({'highest BLEU' if result['select_by'] == 'bleu' else 'lowest loss'}), validation loss "
        f"{result['validation_loss']:.3f}, perplexity {result['validation_perplexity']:.2f}"
        f"{_format_bleu(result)}; {result['parameters']:,} parameters, {result['seconds']:.0f} s, "
        f"{result['target_tokens_per_second']:,.0f} target tokens/s",
    )
    # Higher is better, of BLEU and of the negative loss.
    key, sign = ("validation_bleu", 1) if result["select_by"] == "bleu" else ("validation_loss", -1)
    initial = result["data"].get("initial")
    if initial is not None and sign * result[key] < sign * initial[key]:
        err().print("[yellow]The weights that it began with were better.[/] Try a smaller train.lr.")


def describe_training_data(data: Mapping[str, Any]) -> str:
    """Returns what a run learns from, as `Reporter.begin` receives it, in a few lines."""
    lost = f"{data['too_long']:,} left out that have more than {data['max_length']} tokens on a side"
    lines = [
        f"{data['training_pairs']:,} training pairs, {lost if data['too_long'] else 'none left out'}; "
        f"{data['validation_pairs']:,} for validation"
    ]
    if skipped := data["skipped_lines"]:
        reasons = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
        lines.append(f"{sum(skipped.values()):,} bad lines skipped: {reasons}")
    unit = "subwords" if data["unit"] == "bpe" else "words"
    sizes = f"{data['source_vocabulary']:,} source and {data['target_vocabulary']:,} target {unit}"
    if data["joint"]:
        sizes = f"{data['source_vocabulary']:,} {unit} for both languages"
    lines.append(f"vocabulary: {sizes}, {'lowercased' if data['lowercase'] else 'case kept'}")
    if data["unknown_source"] or data["unknown_target"]:
        shares = "{unknown_source:.1%} of source words, {unknown_target:.1%} of target words"
        lines[-1] += f"; unknown: {shares.format(**data)}"
    if initial := data.get("initial"):
        loss = f"validation loss {initial['validation_loss']:.3f}{_format_bleu(initial)}"
        lines.append(f"begins with the weights of {initial['run']} ({initial['sha256'][:12]}): {loss}")
    return "\n".join(lines)


def _format_bleu(metrics: Mapping[str, Any]) -> str:
    return f", BLEU {metrics['validation_bleu']:.1f}" if "validation_bleu" in metrics else ""


class TrainingDisplay:
    """Shows a progress bar over all epochs on a terminal, and prints a line after each epoch everywhere."""

    def __init__(self, config: "RunConfig") -> None:
        self._settings = config.train
        self._bar = make_bars(
            TextColumn("{task.description}"), BarColumn(BAR_WIDTH), TimeElapsedColumn(), TimeRemainingColumn()
        )
        self._clock = LineClock()
        self._task = self._bar.add_task("", total=config.train.epochs)

    def __enter__(self) -> "TrainingDisplay":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, data: Mapping[str, Any]) -> None:
        from augenmerk.training.start import count_steps

        err().print(describe_training_data(data), markup=False)
        steps, warmup = count_steps(self._settings, data["training_pairs"]), self._settings.warmup
        is_rising = steps < 2 * warmup
        if not is_rising and (steps >= FEW_STEPS or "initial" in data):
            return
        # Advice that was already taken would not help.
        smaller = [] if self._settings.batch_size <= 16 else ["--set train.batch_size=16"]
        shorter = [f"--set train.warmup={max(1, steps // 10)}"] if is_rising else []
        why = f" (the learning rate rises during the first {warmup:,})" if is_rising else ""
        count = "is 1 step" if steps == 1 else f"are {steps:,} steps"
        err().print(
            f"[yellow]There {count} in all: the model will learn little{why}.[/] "
            f"Try {' and '.join(['more --epochs', *smaller, *shorter])}."
        )

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None:
        completed, epochs = epoch - 1 + batch / batches, self._settings.epochs
        text = f"epoch {epoch:>3}/{epochs}  loss {loss:.3f}  {tokens_per_second:,.0f} tokens/s"
        self._bar.update(self._task, completed=completed, description=text)
        if self._clock.is_due():
            err().print(f"{text}  {completed / epochs:.0%}", markup=False)

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        bleu = f"  BLEU {metrics['validation_bleu']:5.1f}" if "validation_bleu" in metrics else ""
        err().print(
            f"epoch {metrics['epoch']:>3}  train loss {metrics['train_loss']:.3f}  "
            f"validation loss {metrics['validation_loss']:.3f}  "
            f"perplexity {metrics['validation_perplexity']:7.2f}{bleu}  "
            f"[dim]{metrics['target_tokens_per_second']:,.0f} tokens/s  {metrics['seconds']:.0f} s[/]",
        )
