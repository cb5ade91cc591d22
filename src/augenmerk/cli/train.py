"""`augenmerk train`: trains a run and shows its progress."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.options import (
    MAX_SEED,
    Data,
    Device,
    Json,
    SkipBad,
    SourceLanguage,
    TargetLanguage,
    Threads,
)
from augenmerk.cli.terminal import FittingProgress, err, out, print_json

if TYPE_CHECKING:
    from augenmerk.base.config import RunConfig
    from augenmerk.run.directory import RunDirectory

app = typer.Typer()

EXACT_PARTS = 4
"""The parts of a batch with --exact: enough for 1, 2 and 4 processes."""

FEW_STEPS = 300
"""Steps with which a model that begins with random weights learns little (docs/own-data.md)."""


@app.command(
    epilog="Examples:  augenmerk train quick --data bilderbuch --epochs 3    "
    "augenmerk train classic --data bilderbuch --attention mean --seed 2    "
    "augenmerk train quick --data bilderbuch --set train.lr=0.002 --out runs/slower    "
    "augenmerk train --resume --out runs/mine --epochs 8    "
    "augenmerk train --from runs/mine --data bilderbuch --set data.bilderbuch.seed=2    "
    "torchrun --nproc-per-node 2 -m augenmerk train quick --data bilderbuch    "
    "Ctrl-C and SIGTERM save the run and exit with 130 and 143; --resume continues it. With more --epochs it "
    "continues a finished run, too: on a CPU, bit for bit as if it had been longer from the start, unless "
    "train.schedule is cosine."
)
def train(
    preset: Annotated[
        str | None,
        Argument(
            help="Preset (classic, quick, strong, transformer-quick, transformer) or a TOML file.",
            show_default=False,
        ),
    ] = None,
    data: Data = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    attention: Annotated[
        str | None, Option(help="Mechanism, or FILE.py:Class of your own; an unknown name lists them all.")
    ] = None,
    seed: Annotated[
        int | None, Option(help="Seed of initial weights, order of data and dropout.", min=0, max=MAX_SEED)
    ] = None,
    epochs: Annotated[
        int | None,
        Option(
            help="Number of passes over the training data; with --resume, their new total.",
            min=1,
            max=100_000,
        ),
    ] = None,
    out: Annotated[Path | None, Option(help="Run directory. Default: a new one under runs.")] = None,
    resume: Annotated[
        bool, Option("--resume", help="Continue the run in --out; a finished one needs more --epochs.")
    ] = False,
    initial_run: Annotated[
        Path | None,
        Option(
            "--from",
            help="Fine-tune: begin with the vocabulary and the weights of this run, and with its settings "
            "unless a preset is given. The model that ships is called multi30k-de-en.",
        ),
    ] = None,
    skip_bad: SkipBad = False,
    exact: Annotated[
        bool,
        Option(
            "--exact",
            help="The same weights, bit for bit, with 1, 2 or 4 processes of torchrun on CPUs; slower "
            f"(train.exact_parts={EXACT_PARTS}, see docs/scale.md).",
        ),
    ] = False,
    device: Device = "auto",
    threads: Threads = None,
    settings: Annotated[
        list[str] | None, Option("--set", help="Any setting of the run, e.g. train.lr=0.002; repeatable.")
    ] = None,
    tensorboard: Annotated[bool, Option("--tensorboard", help="Also write TensorBoard events.")] = False,
    logger: Annotated[
        list[str] | None,
        Option(
            metavar="FILE.py:CLASS",
            help="Logger of your own, for W&B or MLflow for example (docs/logging.md); also module:Class; "
            "repeatable. It is code, and executed.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Train a translator."""
    from augenmerk.base.config import CUSTOM_ATTENTION
    from augenmerk.base.device import describe_device
    from augenmerk.data import BadLineError
    from augenmerk.model import load_mechanism
    from augenmerk.training.distributed import (
        ProcessLostError,
        ignore_signals,
        join,
        torchrun_command,
        was_restarted,
        will_restart,
    )
    from augenmerk.training.loggers import Logger, LoggerStartError, TensorBoardLogger, load_logger
    from augenmerk.training.loop import TrainingInterrupted, choose_threads
    from augenmerk.training.loop import train as train_run

    world, chosen_device = join(device)  # first, so that what is wrong is said by one of several processes
    mechanism, own_file = attention, []
    if attention is not None and CUSTOM_ATTENTION.fullmatch(attention):
        mechanism, own_file = load_mechanism(attention), ["--attention", attention]
        if resume and preset is None:
            mechanism = None  # a file that is named only allows that it is executed
    named = {
        "data.bitext": None if resume and preset is None else data,
        "data.source_language": source_language,
        "data.target_language": target_language,
        "data.skip_bad": "true" if skip_bad else None,
        "model.attention": mechanism,
        "train.seed": seed,
        "train.epochs": None if resume and preset is None else epochs,
        "train.exact_parts": EXACT_PARTS if exact else None,
    }
    overrides = [f"{key}={value}" for key, value in named.items() if value is not None] + (settings or [])
    # Before a run is created, for a logger may be wrong or not installed.
    loggers: list[Logger] = []
    if world.is_first:
        loggers += [load_logger(place) for place in logger or ()]
        loggers += [TensorBoardLogger()] if tensorboard else []
    if resume and initial_run is not None:
        raise AugenmerkError("--from begins a new run and --resume continues one; give one of them.")

    def open_run() -> tuple["RunDirectory", str]:
        if resume:
            opened = _open_to_resume(preset, overrides, epochs, out, data)
        elif initial_run is not None:
            opened = _start_from(initial_run, preset, overrides, out)
        else:
            opened = _start(preset, overrides, out)
        opened[0].tokenizers  # noqa: B018 (read now, so that the folder need not be on every machine)
        return opened

    try:
        run, remark = world.from_first(open_run)
    except BadLineError as error:
        raise AugenmerkError(
            f"{error} All that is wrong is listed by `augenmerk data check`; --skip-bad trains without it."
        ) from None
    except KeyboardInterrupt as interrupt:
        interrupt.args = ("Training had not begun; nothing is lost.",)
        raise
    config = run.config
    architecture = "Transformer, " if config.model.architecture == "transformer" else ""
    computing, about_threads = choose_threads(run, threads, world)
    where = describe_device(chosen_device, computing) if chosen_device.type == "cpu" else str(chosen_device)
    where += f", {world.size} processes" if world.size > 1 else ""
    err().print(
        f"{run.path}: {architecture}{config.model.attention} on {config.data.bitext}, {where}",
        markup=False,
    )
    for line in filter(None, (world.remark, remark, about_threads)):
        err().print(line, markup=False)
    changes = []  # of a run that goes on, which are not written before it does
    if resume:
        changes += [] if data is None else ["--data", data]
        changes += [] if epochs is None else ["--epochs", str(epochs)]
    command = shlex.join(["augenmerk", "train", "--resume", "--out", str(run.path), *changes, *own_file])
    if world.size > 1:
        command = f"{torchrun_command()} -m {command}"
    try:
        with TrainingDisplay(config) as display:
            result = train_run(run, chosen_device, display, loggers, world, computing)
        world.leave()
    except ProcessLostError as lost:
        next_step = "torchrun starts them again." if will_restart() else f"Continue with:  {command}"
        raise AugenmerkError(f"{lost} {next_step}") from None
    except KeyboardInterrupt as interrupt:  # before the first step, or a second Ctrl-C
        interrupt.args = (f"Continue with:  {command}",)
        raise
    except LoggerStartError:
        if not resume and not was_restarted():
            shutil.rmtree(run.path)  # made a moment ago, and in the way of the next try
        raise
    except TrainingInterrupted as interrupted:
        if world.size > 1:
            ignore_signals()
        err().print(f"Saved. Continue with:  [bold]{escape(command)}[/]")
        world.leave()
        sys.exit(128 + interrupted.signum)  # 130 after Ctrl-C, 143 after SIGTERM, as shells report them
    if json:
        print_json(result)
    else:
        _print_result(result)


def _start(preset: str | None, overrides: list[str], out: Path | None) -> tuple["RunDirectory", str]:
    """Starts a run; also returns a remark about its settings, or nothing."""
    from augenmerk.base.config import load_config

    if preset is None:
        raise AugenmerkError("Say what to train: a preset (such as quick) or a TOML file.")
    config = load_config(preset, overrides)
    run = _start_or_go_on(config, out or _default_place(Path(preset).stem, config))
    return run, _describe_warmup(config, run.config)


def _start_or_go_on(config: "RunConfig", out: Path) -> "RunDirectory":
    """Starts a run; or opens it, if `torchrun` has started the command again after a process had failed."""
    from augenmerk.run.directory import RunDirectory
    from augenmerk.training.distributed import was_restarted
    from augenmerk.training.loop import start
    from augenmerk.training.policy import fit_to_data

    if was_restarted():
        with suppress(AugenmerkError):
            run = RunDirectory.open(out)
            if run.config == fit_to_data(config):
                return run
    return start(config, out)


def _describe_warmup(asked: "RunConfig", fitted: "RunConfig") -> str:
    """Returns in words what was changed about the warm-up, or nothing."""
    if (new := fitted.train.warmup) == (old := asked.train.warmup):
        return ""
    steps = f"{new} step{'s' if new != 1 else ''}"
    return f"warm-up: {steps} instead of {old}, a fifth of all steps, because there are few"


def _start_from(
    initial_run: Path, preset: str | None, overrides: list[str], out: Path | None
) -> tuple["RunDirectory", str]:
    """Starts a run with the vocabulary and the weights of another one; also returns a remark, or nothing."""
    from augenmerk.run.directory import RunDirectory
    from augenmerk.training.policy import configure_fine_tuning, describe_direction

    config = configure_fine_tuning(initial_run, preset, overrides)
    direction = describe_direction(RunDirectory.open(Path(config.train.initial_run or "")), config)
    run = _start_or_go_on(config, out or _default_place(initial_run.name, config))
    return run, "\n".join(filter(None, (_describe_warmup(config, run.config), direction)))


def _default_place(name: str, config: "RunConfig") -> Path:
    from augenmerk.base.files import limit_file_name

    data = Path(config.data.bitext).name
    attention = config.model.attention.replace(":", "-")  # a colon is not allowed in every file system
    return Path("runs") / limit_file_name(f"{name}-{data}-{attention}-{config.train.seed}")


def _open_to_resume(
    preset: str | None, overrides: list[str], epochs: int | None, out: Path | None, data: str | None
) -> tuple["RunDirectory", str]:
    """Opens the run in `out`, with more epochs if they are asked for; returns a remark about that, too.

    `data` is the new place of its pairs, if they were moved. Nothing is written yet. Raises AugenmerkError
    if there is nothing left to do, or if it was started with other settings.
    """
    from augenmerk.base.config import DATASETS, load_config
    from augenmerk.data import SAY_PLACE, open_data
    from augenmerk.run.directory import RunDirectory
    from augenmerk.training.distributed import was_restarted
    from augenmerk.training.loop import change_epochs
    from augenmerk.training.policy import fit_text

    if out is None:
        raise AugenmerkError("Say which run to continue: augenmerk train --resume --out RUN.")
    run, remarks = RunDirectory.open(out), []
    if data is not None and (moved := _move_data(run, data, with_preset=preset is not None)):
        remarks.append(moved)
    if preset is not None:
        wanted, kept = fit_text(load_config(preset, overrides)), {}
        if epochs is not None:
            kept["epochs"] = run.config.train.epochs
        if "train.warmup" in wanted.left_open and wanted.data.bitext not in DATASETS:
            kept["warmup"] = run.config.train.warmup  # it was perhaps shortened when the run began
        wanted = wanted.model_copy(update={"train": wanted.train.model_copy(update=kept)})
        if wanted != run.config:
            raise AugenmerkError(
                f"{out} was started with other settings than these; leave them out to continue it as it is."
            )
    elif overrides:
        raise AugenmerkError(f"A run that is resumed keeps its settings; leave out {', '.join(overrides)}.")
    if run.finished and epochs in (None, run.config.train.epochs) and not was_restarted():
        raise AugenmerkError(
            f"{out} is finished; there is nothing to resume unless --epochs asks for more than its "
            f"{run.config.train.epochs}."
        )
    open_data(run.config.data, if_moved=SAY_PLACE)
    if epochs is not None and epochs != run.config.train.epochs:
        run, about = change_epochs(run, epochs)
        remarks.append(about)
    return run, "\n".join(remarks)


def _move_data(run: "RunDirectory", data: str, *, with_preset: bool) -> str:
    """Makes the run read its pairs from another place, if they are no longer where they were.

    Returns what was done, or nothing. Whether they are the same pairs is known when they are read.
    """
    from augenmerk.data import NAMES, place_exists, resolve_data_name

    own, place = run.config.data.bitext, resolve_data_name(data, Path.cwd())
    if place == own:
        return ""
    if own in NAMES or place in NAMES or place_exists(Path(own)):
        if with_preset:
            return ""  # it is among the settings that are compared
        raise AugenmerkError(
            f"{run.path} learns from {own}, and a run that is resumed keeps its pairs; leave out --data, or "
            f"begin a new run with its weights: augenmerk train --from {run.path} --data {data}."
        )
    moved = run.config.data.model_copy(update={"bitext": place})
    run.config = run.config.model_copy(update={"data": moved})
    return f"{own} is not there; the run goes on with the same pairs from {place}."


def _print_result(result: Mapping[str, Any]) -> None:
    bleu = f", BLEU {result['validation_bleu']:.1f}" if "validation_bleu" in result else ""
    out().print(
        f"[bold]{escape(result['run'])}[/]: best epoch {result['best_epoch']} of {result['epochs']} "
        f"({'highest BLEU' if result['select_by'] == 'bleu' else 'lowest loss'}), validation loss "
        f"{result['validation_loss']:.3f}, perplexity {result['validation_perplexity']:.2f}{bleu}; "
        f"{result['parameters']:,} parameters, {result['seconds']:.0f} s, "
        f"{result['target_tokens_per_second']:,.0f} target tokens/s",
    )
    begun = result["data"].get("initial")
    if begun is None:
        return
    if result["select_by"] == "bleu":
        worse = result["validation_bleu"] < begun["validation_bleu"]
    else:
        worse = result["validation_loss"] > begun["validation_loss"]
    if worse:
        err().print("[yellow]The weights that it began with were better.[/] Try a smaller train.lr.")


def describe_training_data(data: Mapping[str, Any]) -> str:
    """Returns what `train.describe_data` counted, in a few lines for people."""
    lost = "none left out"
    if data["too_long"]:
        lost = f"{data['too_long']:,} left out that have more than {data['max_length']} tokens on a side"
    lines = [
        f"{data['training_pairs']:,} training pairs, {lost}; {data['validation_pairs']:,} for validation"
    ]
    if skipped := data["skipped_lines"]:
        reasons = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
        lines.append(f"{sum(skipped.values()):,} bad lines skipped: {reasons}")
    unit = "subwords" if data["unit"] == "bpe" else "words"
    if data["joint"]:
        size = f"{data['source_vocabulary']:,} {unit} for both languages"
    else:
        size = f"{data['source_vocabulary']:,} source and {data['target_vocabulary']:,} target {unit}"
    case = "lowercased" if data["lowercase"] else "case kept"
    unknown = data["unknown_source"], data["unknown_target"]
    shares = f"; unknown: {unknown[0]:.1%} of source words, {unknown[1]:.1%} of target words"
    lines.append(f"vocabulary: {size}, {case}{shares if any(unknown) else ''}")
    if initial := data.get("initial"):
        bleu = f", BLEU {initial['validation_bleu']:.1f}" if "validation_bleu" in initial else ""
        loss = f"validation loss {initial['validation_loss']:.3f}{bleu}"
        lines.append(f"begins with the weights of {initial['run']} ({initial['sha256'][:12]}): {loss}")
    return "\n".join(lines)


class TrainingDisplay:
    """Shows a progress bar over all epochs on a terminal, and prints a line after each epoch everywhere."""

    def __init__(self, config: "RunConfig") -> None:
        self._settings = config.train
        epochs = config.train.epochs
        epoch = TextColumn("epoch {task.fields[epoch]:>3}/" + str(epochs))
        times = TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("left")
        columns = epoch, BarColumn(), TextColumn("{task.fields[figures]}"), *times
        self._bar = FittingProgress(*columns)
        self._task = self._bar.add_task("", total=epochs, epoch=1, figures="")

    def __enter__(self) -> "TrainingDisplay":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, data: Mapping[str, Any]) -> None:
        from augenmerk.training.policy import count_steps

        err().print(describe_training_data(data), markup=False)
        # Advice that was already taken would not help.
        smaller = "" if self._settings.batch_size <= 16 else "--set train.batch_size=16"
        steps, warmup = count_steps(self._settings, data["training_pairs"]), self._settings.warmup
        if steps < 2 * warmup:
            err().print(
                f"[yellow]These are {steps:,} steps in all, and the learning rate rises during the first "
                f"{warmup:,}: the model will learn little.[/] For few pairs, try more --epochs and "
                f"{smaller + ' ' if smaller else ''}--set train.warmup={max(1, steps // 10)}."
            )
        elif steps < FEW_STEPS and "initial" not in data:
            err().print(
                f"[yellow]These are {steps:,} steps in all: the model will learn little.[/] "
                f"Try more --epochs{', and ' + smaller if smaller else ''}."
            )

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None:
        completed = epoch - 1 + batch / batches
        figures = f"loss {loss:.3f}  {tokens_per_second:,.0f} tokens/s"
        self._bar.update(self._task, completed=completed, epoch=epoch, figures=figures)

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        bleu = f"  BLEU {metrics['validation_bleu']:5.1f}" if "validation_bleu" in metrics else ""
        err().print(
            f"epoch {metrics['epoch']:>3}  train loss {metrics['train_loss']:.3f}  "
            f"validation loss {metrics['validation_loss']:.3f}  "
            f"perplexity {metrics['validation_perplexity']:7.2f}{bleu}  "
            f"[dim]{metrics['target_tokens_per_second']:,.0f} tokens/s  {metrics['seconds']:.0f} s[/]",
        )
