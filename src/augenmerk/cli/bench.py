"""`augenmerk bench`: measures how fast this machine trains and translates."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

from augenmerk.base.console import make_table, out, show_status
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
    from augenmerk.base.config import load_config
    from augenmerk.base.device import choose_device
    from augenmerk.bench.training import bench_training
    from augenmerk.data import open_data

    overrides = [f"train.precision={precision}"] + ([f"data.bitext={data}"] if data else [])
    config = load_config(preset, overrides)
    with show_status("") as change_status:
        result = bench_training(
            config, open_data(config.data), choose_device(device), steps, bucketed, change_status
        )
    if json:
        print_json(result)
        return
    rows = []
    for name in ("ours", "reference"):
        row = result[name]
        numbers = [f"{row['seconds_per_step'] * 1e3:.1f}", f"{row['target_tokens_per_second']:,.0f}"]
        rows.append([name, *numbers, f"{row['times_floor']:.1f}", _format_mib(row["peak_mib"])])
    out().print(make_table(("", "ms/step", "target tokens/s", "x floor", "peak MiB"), rows))
    out().print(
        f"ratio  [bold]{result['ratio']:.1f}[/]   ours in {result['precision']} on {result['device']}, "
        f"the loop in fp32; floor {result['floor']['seconds_per_step'] * 1e3:.1f} ms at "
        f"{result['floor']['gflops_per_second']:,.0f} GFLOP/s; losses differ by "
        f"{result['loss_difference']:.1e}; batches {result['batches']}",
    )


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
    from augenmerk.base.device import choose_device
    from augenmerk.bench.decoding import bench_decoding, random_translator, trained_translator

    chosen_device = choose_device(device)
    with show_status("") as change_status:
        if model is None:
            translator, plain, sources = random_translator(preset, sentences, chosen_device)
        else:
            translator, plain, sources = trained_translator(model, sentences, chosen_device)
        result = bench_decoding(translator, plain, sources, beam or [1, 5, 10, 20, 50], change_status)
    if json:
        print_json(result)
    else:
        print_speeds(result)


def print_speeds(result: dict[str, Any]) -> None:
    rows = []
    for row in result["beams"]:
        engines = {"ours": {**row, "times_ours": 1.0}, **row["others"]}
        for name, each in engines.items():
            numbers = [_format_speed(each["sentences_per_second"]), f"{each['times_ours']:.2f}"]
            peak = _format_mib(row["peak_mib"]) if name == "ours" else ""
            rows.append([str(row["beam"]), name, *numbers, f"{each['latency_ms']:.1f}", peak])
        plain = row["reference_sentences_per_second"]
        numbers = [_format_speed(plain), f"{1 / row['ratio']:.2g}", f"{1e3 / plain:.1f}"]
        rows.append([str(row["beam"]), "plain loop", *numbers, ""])
    headings = ("beam", "", "sentences/s", "times ours", "one alone, ms", "peak MiB")
    out().print(make_table(headings, rows, left=2))
    products = result["numpy_products"]
    tokens = ", ".join(f"{row['tokens']:.1f} (beam {row['beam']})" for row in result["beams"])
    out().print(
        f"average tokens of our translations: {tokens}"
        + (f"; numpy's products are computed by {products}" if products else "")
    )


def _format_speed(speed: float) -> str:
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:,.1f}"


def _format_mib(peak: float | None) -> str:
    return "not measured" if peak is None else f"{peak:,.0f}"
