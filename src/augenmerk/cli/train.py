"""`augenmerk train`: trains a run and shows its progress."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from typer import Argument, Option

from augenmerk.cli.options import Data, Device, Json, SourceLanguage, TargetLanguage
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.errors import AugenmerkError, shorten

if TYPE_CHECKING:
    from augenmerk.checkpoint import RunDirectory
    from augenmerk.config import RunConfig

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk train quick --data bilderbuch --epochs 3    "
    "augenmerk train classic --attention mean --seed 2 --set train.lr=0.002    "
    "Ctrl-C and SIGTERM save the run and exit with 130 and 143; --resume continues it."
)
def train(
    preset: Annotated[
        str | None, Argument(help="Preset (classic, quick or strong) or a TOML file.", show_default=False)
    ] = None,
    data: Data = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    attention: Annotated[
        str | None, Option(help="Mechanism, or FILE.py:Class of your own; an unknown name lists them all.")
    ] = None,
    seed: Annotated[int | None, Option(help="Seed of initial weights, order of data and dropout.")] = None,
    epochs: Annotated[int | None, Option(help="Number of passes over the training data.")] = None,
    out: Annotated[Path | None, Option(help="Run directory. Default: a new one under runs.")] = None,
    resume: Annotated[bool, Option("--resume", help="Continue the unfinished run in --out.")] = False,
    device: Device = "auto",
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
    from augenmerk.config import CUSTOM_ATTENTION
    from augenmerk.device import choose_device
    from augenmerk.loggers import Logger, TensorBoardLogger, load_logger
    from augenmerk.model import load_mechanism
    from augenmerk.train import TrainingInterrupted
    from augenmerk.train import train as train_run

    mechanism, own_file = attention, []
    if attention is not None and CUSTOM_ATTENTION.fullmatch(attention):
        mechanism, own_file = load_mechanism(attention), ["--attention", attention]
        if resume and preset is None:
            mechanism = None  # a file that is named only allows that it is executed
    named = {
        "data.bitext": data,
        "data.source_language": source_language,
        "data.target_language": target_language,
        "model.attention": mechanism,
        "train.seed": seed,
        "train.epochs": epochs,
    }
    overrides = [f"{key}={value}" for key, value in named.items() if value is not None] + (settings or [])
    chosen_device = choose_device(device)
    # Before a run is created, for a logger may be wrong or not installed.
    loggers: list[Logger] = [load_logger(place) for place in logger or ()]
    loggers += [TensorBoardLogger()] if tensorboard else []
    run = _open_unfinished(preset, overrides, out) if resume else _start(preset, overrides, out)
    config = run.config
    err().print(
        f"{run.path}: {config.model.attention} on {config.data.bitext}, {chosen_device}", markup=False
    )
    try:
        with TrainingDisplay(config) as display:
            result = train_run(run, chosen_device, display, loggers)
    except TrainingInterrupted as interrupted:
        command = shlex.join(["augenmerk", "train", "--resume", "--out", str(run.path), *own_file])
        err().print(f"Saved. Continue with:  [bold]{escape(command)}[/]")
        sys.exit(128 + interrupted.signum)  # 130 after Ctrl-C, 143 after SIGTERM, as shells report them
    if json:
        print_json(result)
    else:
        _print_result(result)


def _start(preset: str | None, overrides: list[str], out: Path | None) -> "RunDirectory":
    from augenmerk.config import load_config
    from augenmerk.train import start

    if preset is None:
        raise AugenmerkError("Say what to train: a preset (classic, quick, strong) or a TOML file.")
    config = load_config(preset, overrides)
    data = Path(config.data.bitext).name
    attention = config.model.attention.replace(":", "-")  # a colon is not allowed in every file system
    name = f"{Path(preset).stem}-{data}-{attention}-{config.train.seed}"
    return start(config, out or Path("runs") / shorten(name, 200))


def _open_unfinished(preset: str | None, overrides: list[str], out: Path | None) -> "RunDirectory":
    """Opens the run in `out`; raises AugenmerkError if it is finished or was started with other settings."""
    from augenmerk.bitext import resolve_data
    from augenmerk.checkpoint import RunDirectory
    from augenmerk.config import load_config

    if out is None:
        raise AugenmerkError("Say which run to continue: augenmerk train --resume --out RUN.")
    run = RunDirectory.open(out)
    if run.finished:
        raise AugenmerkError(f"{out} is finished; there is nothing to resume.")
    if preset is not None and resolve_data(load_config(preset, overrides)) != run.config:
        raise AugenmerkError(
            f"{out} was started with other settings than these; leave them out to continue it as it is."
        )
    if preset is None and overrides:
        raise AugenmerkError(f"A run that is resumed keeps its settings; leave out {', '.join(overrides)}.")
    return run


def _print_result(result: Mapping[str, Any]) -> None:
    bleu = f", BLEU {result['validation_bleu']:.1f}" if "validation_bleu" in result else ""
    out().print(
        f"[bold]{escape(result['run'])}[/]: best epoch {result['best_epoch']}, validation loss "
        f"{result['validation_loss']:.3f}, perplexity {result['validation_perplexity']:.2f}{bleu}; "
        f"{result['parameters']:,} parameters, {result['seconds']:.0f} s, "
        f"{result['target_tokens_per_second']:,.0f} target tokens/s",
    )


class TrainingDisplay:
    """Shows a progress bar over all epochs on a terminal, and prints a line after each epoch everywhere."""

    def __init__(self, config: "RunConfig") -> None:
        epochs = config.train.epochs
        epoch = TextColumn("epoch {task.fields[epoch]:>3}/" + str(epochs))
        speed = TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:,.0f} tokens/s")
        times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
        columns = epoch, BarColumn(), speed, *times
        self._bar = Progress(*columns, console=err(), transient=True, disable=not err().is_terminal)
        self._task = self._bar.add_task("", total=epochs, epoch=1, loss=float("nan"), speed=0.0)

    def __enter__(self) -> "TrainingDisplay":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None:
        completed = epoch - 1 + batch / batches
        self._bar.update(self._task, completed=completed, epoch=epoch, loss=loss, speed=tokens_per_second)

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        bleu = f"  BLEU {metrics['validation_bleu']:5.1f}" if "validation_bleu" in metrics else ""
        err().print(
            f"epoch {metrics['epoch']:>3}  train loss {metrics['train_loss']:.3f}  "
            f"validation loss {metrics['validation_loss']:.3f}  "
            f"perplexity {metrics['validation_perplexity']:7.2f}{bleu}  "
            f"[dim]{metrics['target_tokens_per_second']:,.0f} tokens/s  {metrics['seconds']:.0f} s[/]",
        )
