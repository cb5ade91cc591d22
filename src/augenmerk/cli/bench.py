"""`augenmerk bench`: measures how fast this machine trains and translates."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from augenmerk.base.console import print_shown
from augenmerk.cli.options import Data, Device, Json
from augenmerk.cli.terminal import print_json

app = typer.Typer(
    help="Speed of training and translating, compared with plain loops and with the machine's limit.",
    no_args_is_help=True,
)


@app.command(epilog="Example:  augenmerk bench train --data bilderbuch --precision fp32")
def train(
    preset: Annotated[
        str, Option(help="Preset (classic, quick, strong, transformer, transformer-quick) or a TOML file.")
    ] = "classic",
    precision: Annotated[
        Literal["auto", "fp32", "bf16"],
        Option(help="Precision of training; the plain loop is always in fp32."),
    ] = "auto",
    data: Data = None,
    steps: Annotated[int, Option(help="Number of batches to time.", min=1, max=100_000)] = 5,
    bucketed: Annotated[bool, Option("--bucketed", help="Batch sentences of similar length.")] = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Time training steps, ours and those of tutorials, on the same batches.

    Tutorials train a GRU in a loop over the target words, and use torch's own Transformer, here with
    sinusoidal positions."""
    from augenmerk.bench.session import train

    found = train(preset, precision=precision, data=data, steps=steps, bucketed=bucketed, device=device)
    print_json(found) if json else print_shown(found)


@app.command(
    epilog="Examples:  augenmerk bench decode    augenmerk bench decode --model runs/mine --beam 1 --beam 5"
)
def decode(
    model: Annotated[Path | None, Option(help="Run directory. Default: random weights.")] = None,
    preset: Annotated[
        Literal["quick", "transformer-quick"],
        Option(help="Preset that gives the size of a model with random weights."),
    ] = "quick",
    beam: Annotated[
        list[int] | None, Option(help="Beam width; repeatable. Default: 1 5 10 20 50.", min=1, max=1000)
    ] = None,
    sentences: Annotated[int, Option(help="Number of sentences to translate.", min=1, max=1_000_000)] = 1000,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Time translating: ours, and a plain loop over single sentences with the same model.

    In the source code, benchmarks/decoding.py adds CTranslate2, and shows where the time goes."""
    from augenmerk.bench.session import decode

    found = decode(model, preset=preset, beam=beam, sentences=sentences, device=device)
    print_json(found) if json else print_shown(found)
