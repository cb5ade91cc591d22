"""`augenmerk bench`: how fast this machine trains, against the plain way and against what it could."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from augenmerk.cli.options import Device, Json

app = typer.Typer(help="Speed: ours against the plain way, and against the machine.", no_args_is_help=True)


@app.command(epilog="Example:  augenmerk bench train --preset classic --precision fp32")
def train(
    preset: Annotated[str, typer.Option(help="classic, quick, strong, or a TOML file.")] = "classic",
    precision: Annotated[Literal["auto", "fp32", "bf16"], typer.Option(help="Of our side.")] = "auto",
    data: Annotated[
        str | None, typer.Option(help="bilderbuch, multi30k, or your own folder or file.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Batches to time.", min=1)] = 5,
    bucketed: Annotated[
        bool, typer.Option("--bucketed", help="Batches of similar lengths, not as they come.")
    ] = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Time training steps, and the step-by-step loop of tutorials, on the same batches."""
    from augenmerk.bench.training import bench_training
    from augenmerk.bitext import open_data
    from augenmerk.cli.terminal import err, out, print_json
    from augenmerk.cli.training import choose_device
    from augenmerk.config import load_config

    changed = [f"train.precision={precision}"] + ([f"data.bitext={data}"] if data else [])
    config = load_config(preset, changed)
    with err().status("") as status:
        result = bench_training(
            config, open_data(config.data), choose_device(device), steps, bucketed, status.update
        )
    if json:
        print_json(result)
        return
    for name in ("ours", "reference"):
        row = result[name]
        out().print(
            f"{name:>9}  {row['seconds_per_step'] * 1e3:8.1f} ms/step  "
            f"{row['target_tokens_per_second']:9,.0f} target tokens/s  peak {row['peak_mib']:6,.0f} MiB  "
            f"{row['times_floor']:5.1f} x floor",
            soft_wrap=True,
        )
    out().print(
        f"    ratio  [bold]{result['ratio']:.1f}[/]   ours in {result['precision']} on {result['device']}, "
        f"the loop in fp32; floor {result['floor']['seconds_per_step'] * 1e3:.1f} ms at "
        f"{result['floor']['gflops_per_second']:,.0f} GFLOP/s; losses differ by "
        f"{result['loss_difference']:.1e}; batches {result['batches']}",
        soft_wrap=True,
    )


@app.command(epilog="Example:  augenmerk bench decode --model runs/mine --beam 1 --beam 5")
def decode(
    model: Annotated[
        Path | None, typer.Option(help="A trained run; random weights of the size of `quick` without it.")
    ] = None,
    beam: Annotated[
        list[int] | None, typer.Option(help="Repeatable; 1, 5, 10, 20 and 50 if left out.")
    ] = None,
    sentences: Annotated[int, typer.Option(help="How many to translate.", min=1)] = 1000,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Time translating, and a plain loop over single sentences, on the same model."""
    from augenmerk.bench.decoding import bench_decoding, random_model, trained_model
    from augenmerk.cli.terminal import err, out, print_json
    from augenmerk.cli.training import choose_device

    with err().status("") as status:
        chosen = choose_device(device)
        ready = random_model(sentences, chosen) if model is None else trained_model(model, sentences, chosen)
        result = bench_decoding(*ready, beam or [1, 5, 10, 20, 50], status.update)
    if json:
        print_json(result)
        return
    for row in result["beams"]:
        out().print(
            f"beam {row['beam']:>3}  {row['sentences_per_second']:8,.0f} sentences/s  "
            f"one at a time {row['reference_sentences_per_second']:7,.1f}/s  ratio {row['ratio']:6.1f}  "
            f"peak {row['peak_mib']:6,.0f} MiB",
            soft_wrap=True,
        )
    out().print(f"one sentence alone, greedy: {result['latency_ms']:.1f} ms")
