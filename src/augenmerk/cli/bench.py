"""`augenmerk bench`: measures how fast this machine trains and translates."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from augenmerk.cli.options import Data, Device, Json
from augenmerk.cli.terminal import err, make_table, out, print_json

app = typer.Typer(
    help="Speed of training and translating, compared with plain loops and with the machine's limit.",
    no_args_is_help=True,
)


@app.command(epilog="Example:  augenmerk bench train --data bilderbuch --precision fp32")
def train(
    preset: Annotated[
        str, Option(help="Preset (classic, quick, strong, transformer-quick, transformer) or a TOML file.")
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
    """Time training steps, and those of tutorials, on the same batches.

    Tutorials train a GRU in a loop over the target words, and take torch's own Transformer, here with
    sinusoidal positions."""
    from augenmerk.bench.training import bench_training
    from augenmerk.bitext import open_data
    from augenmerk.config import load_config
    from augenmerk.device import choose_device

    overrides = [f"train.precision={precision}"] + ([f"data.bitext={data}"] if data else [])
    config = load_config(preset, overrides)
    with err().status("") as status:
        result = bench_training(
            config, open_data(config.data), choose_device(device), steps, bucketed, status.update
        )
    if json:
        print_json(result)
        return
    rows = []
    for name in ("ours", "reference"):
        row = result[name]
        figures = [f"{row['seconds_per_step'] * 1e3:.1f}", f"{row['target_tokens_per_second']:,.0f}"]
        rows.append([name, *figures, f"{row['times_floor']:.1f}", _format_mib(row["peak_mib"])])
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
        str, Option(help="Whose size the model with random weights has: quick or transformer-quick.")
    ] = "quick",
    beam: Annotated[
        list[int] | None, Option(help="Beam width; repeatable. Default: 1 5 10 20 50.", min=1, max=1000)
    ] = None,
    sentences: Annotated[int, Option(help="Number of sentences to translate.", min=1, max=1_000_000)] = 1000,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Time translating, and a plain loop over single sentences, on the same model."""
    from augenmerk.bench.decoding import bench_decoding, random_translator, trained_translator
    from augenmerk.device import choose_device

    chosen_device = choose_device(device)
    with err().status("") as status:
        if model is None:
            translator, plain, sources = random_translator(preset, sentences, chosen_device)
        else:
            translator, plain, sources = trained_translator(model, sentences, chosen_device)
        result = bench_decoding(translator, plain, sources, beam or [1, 5, 10, 20, 50], status.update)
    if json:
        print_json(result)
        return
    rows = []
    for row in result["beams"]:
        speeds = [f"{row['sentences_per_second']:,.0f}", f"{row['reference_sentences_per_second']:,.1f}"]
        rows.append([str(row["beam"]), *speeds, f"{row['ratio']:.1f}", _format_mib(row["peak_mib"])])
    out().print(make_table(("beam", "sentences/s", "one at a time", "ratio", "peak MiB"), rows))
    out().print(f"one sentence alone, greedy: {result['latency_ms']:.1f} ms")


def _format_mib(peak: float | None) -> str:
    return "not measured" if peak is None else f"{peak:,.0f}"
