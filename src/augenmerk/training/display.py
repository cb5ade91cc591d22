"""What people see of a training: what it learns from, a progress bar, lines for epochs, and its result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from augenmerk.base.config import ModelConfig, RunConfig
from augenmerk.base.console import BAR_WIDTH, LineClock, err, make_bars
from augenmerk.base.device import describe_device

if TYPE_CHECKING:
    import torch

    from augenmerk.run.directory import RunDirectory
    from augenmerk.training.distributed import World

FEW_STEPS = 300
"""Steps with which a model that begins with random weights learns little (docs/guides/own-data.md)."""


def describe_run(run: "RunDirectory", device: "torch.device", world: "World", threads: int) -> str:
    model = run.config.model
    kind = "" if model.architecture == ModelConfig().architecture else f"{model.entry.title}, "
    where = describe_device(device, threads) if device.type == "cpu" else str(device)
    where += f", {world.size} processes" if world.size > 1 else ""
    return f"{run.path}: {kind}{model.attention} on {run.config.data.bitext}, {where}"


def describe_result(result: Mapping[str, Any]) -> str:
    """Returns the result of a finished run in a line with markup."""
    return (
        f"[bold]{escape(result['run'])}[/]: best epoch {result['best_epoch']} of {result['epochs']} "
        f"({'highest BLEU' if result['select_by'] == 'bleu' else 'lowest loss'}), validation loss "
        f"{result['validation_loss']:.3f}, perplexity {result['validation_perplexity']:.2f}"
        f"{_format_bleu(result)}; {result['parameters']:,} parameters, {result['seconds']:.0f} s, "
        f"{result['target_tokens_per_second']:,.0f} target tokens/s"
    )


def began_better(result: Mapping[str, Any]) -> bool:
    """Returns whether the weights of another run, with which this one began, were better."""
    # Higher is better, of BLEU and of the negative loss.
    key, sign = ("validation_bleu", 1) if result["select_by"] == "bleu" else ("validation_loss", -1)
    initial = result["data"].get("initial")
    return initial is not None and sign * result[key] < sign * initial[key]


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
