"""`augenmerk train`: trains a run and shows its progress."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.base.config import CUSTOM_ATTENTION, PRESETS
from augenmerk.base.console import out
from augenmerk.base.entries import ARCHITECTURES, MECHANISMS
from augenmerk.cli import options
from augenmerk.cli.terminal import print_json
from augenmerk.training.distributed import EXACT_PARTS

app = typer.Typer()


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
    loggers: Annotated[list[str] | None, Option("--logger", metavar="FILE.py:CLASS")] = None
    """Your own logger, for W&B or MLflow for example (docs/guides/logging.md); also module:Class; repeatable.
    It is code, and executed."""

    def command_to_resume(self, run: Path) -> str:
        """Returns the command that continues the run."""
        from augenmerk.training.distributed import torchrun_command, world_size

        custom = self.attention is not None and CUSTOM_ATTENTION.fullmatch(self.attention)
        arguments = ["--resume", "--out", str(run)]
        if self.resume:  # changes that are not written before training continues
            arguments += [] if self.data is None else ["--data", self.data]
            arguments += [] if self.epochs is None else ["--epochs", str(self.epochs)]
        arguments += ["--attention", str(self.attention)] if custom else []
        command = shlex.join(["augenmerk", "train", *arguments])
        return f"{torchrun_command()} -m {command}" if world_size() > 1 else command


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
    from augenmerk.api.train import train
    from augenmerk.training.display import describe_result

    result = train(**vars(given), continue_with=given.command_to_resume).result
    if result is not None:
        print_json(result) if json else out().print(describe_result(result))
