"""`augenmerk train`: a live display around `augenmerk.train`."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from augenmerk.bitext import resolve_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.config import RunConfig, load_config
from augenmerk.errors import AugenmerkError
from augenmerk.train import TrainingInterrupted, start, train


def run(
    preset: str | None,
    overrides: Mapping[str, object],
    settings: list[str],
    place: Path | None,
    resume: bool,
    device: str,
    tensorboard: bool,
    json: bool,
) -> None:
    """Starts a run, or goes on with one, and trains it to its end."""
    changed = [f"{key}={value}" for key, value in overrides.items() if value is not None] + settings
    chosen = choose_device(device)
    writer = tensorboard_writer() if tensorboard else None
    directory = _resumed(preset, changed, place) if resume else _started(preset, changed, place)
    config = directory.config
    err().print(
        f"{directory.path}: {config.model.attention} on {config.data.bitext}, {chosen}", soft_wrap=True
    )
    try:
        with Display(config, writer and writer(str(directory.path / "tensorboard"))) as display:
            result = train(directory, chosen, display)
    except TrainingInterrupted:
        again = shlex.join(["augenmerk", "train", "--resume", "--out", str(directory.path)])
        err().print(f"Saved. Go on with:  [bold]{again}[/]", soft_wrap=True)
        sys.exit(130)
    if json:
        print_json(result)
        return
    bleu = f", BLEU {result['validation_bleu']:.1f}" if "validation_bleu" in result else ""
    out().print(
        f"[bold]{result['run']}[/]: best epoch {result['best_epoch']}, validation loss "
        f"{result['validation_loss']:.3f}, perplexity {result['validation_perplexity']:.2f}{bleu}; "
        f"{result['parameters']:,} parameters, {result['seconds']:.0f} s, "
        f"{result['target_tokens_per_second']:,.0f} target tokens/s",
        soft_wrap=True,
    )


def _started(preset: str | None, changed: list[str], place: Path | None) -> RunDirectory:
    if preset is None:
        raise AugenmerkError("Say what to train: a preset (classic, quick, strong) or a TOML file.")
    config = load_config(preset, changed)
    return start(config, place or default_place(preset, config))


def _resumed(preset: str | None, changed: list[str], place: Path | None) -> RunDirectory:
    if place is None:
        raise AugenmerkError("Say which run to go on with: augenmerk train --resume --out RUN.")
    directory = RunDirectory.open(place)
    if directory.finished:
        raise AugenmerkError(f"{place} is finished; there is nothing to resume.")
    if preset is not None and resolve_data(load_config(preset, changed)) != directory.config:
        raise AugenmerkError(
            f"{place} was started with other settings than these; leave them out to go on with it as it is."
        )
    if preset is None and changed:
        raise AugenmerkError(f"A run that is resumed keeps its settings; leave out {', '.join(changed)}.")
    return directory


def default_place(preset: str, config: RunConfig) -> Path:
    data = Path(config.data.bitext).name
    return Path("runs") / f"{Path(preset).stem}-{data}-{config.model.attention}-{config.train.seed}"


def choose_device(name: str) -> torch.device:
    """auto is the GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise AugenmerkError(f"'{name}' is not a device: expected auto, cpu or cuda.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise AugenmerkError("There is no GPU that torch can use here; leave out --device, or say cpu.")
    if device.type not in ("cpu", "cuda"):
        raise AugenmerkError(f"'{name}' is not supported: expected auto, cpu or cuda.")
    return device


def tensorboard_writer() -> Any:
    """The class that writes TensorBoard's files, if that is installed; asked for before a run is begun."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise AugenmerkError(
            "TensorBoard is not installed: pip install 'augenmerk[tensorboard]', or leave out --tensorboard."
        ) from None
    return SummaryWriter


class Display:
    """A bar over all epochs on a terminal; a line for each epoch everywhere."""

    def __init__(self, config: RunConfig, writer: Any = None) -> None:
        self._epochs = config.train.epochs
        self._writer = writer
        columns = (
            TextColumn("epoch {task.fields[epoch]:>3}/" + str(self._epochs)),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:,.0f} tokens/s"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=err(), transient=True)
        self._task = self._bar.add_task("", total=self._epochs, epoch=1, loss=float("nan"), speed=0.0)

    def __enter__(self) -> "Display":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        if self._writer is not None:
            self._writer.close()

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None:
        done = epoch - 1 + batch / batches
        self._bar.update(self._task, completed=done, epoch=epoch, loss=loss, speed=tokens_per_second)

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        bleu = f"  BLEU {metrics['validation_bleu']:5.1f}" if "validation_bleu" in metrics else ""
        err().print(
            f"epoch {metrics['epoch']:>3}  train loss {metrics['train_loss']:.3f}  "
            f"validation loss {metrics['validation_loss']:.3f}  "
            f"perplexity {metrics['validation_perplexity']:7.2f}{bleu}  "
            f"[dim]{metrics['target_tokens_per_second']:,.0f} tokens/s  {metrics['seconds']:.0f} s[/]",
            soft_wrap=True,
        )
        if self._writer is not None:
            for name, value in metrics.items():
                if name != "epoch":
                    self._writer.add_scalar(name, value, metrics["epoch"])
