"""`augenmerk bench`: measures how fast this machine trains and translates."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

from augenmerk.cli.options import Data, Device, Json
from augenmerk.cli.terminal import make_table, out, print_json, show_status

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
    peers: Annotated[
        bool | None,
        Option(
            "--peers/--no-peers",
            help="Compare with CTranslate2 on a CPU. Default: if it is installed.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        bool, Option("--profile", help="Also show where the time goes, part by part, on a CPU.")
    ] = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    r"""Time translating: ours, a plain loop over single sentences, and CTranslate2.

    The plain loop has the same model. CTranslate2 (pip install 'augenmerk\[peers]') has a Transformer of the
    same width with random weights, in fp32 and int8. It reads the same sentences, and writes as many tokens
    for each as ours does on average."""
    from augenmerk.base.device import choose_device
    from augenmerk.base.errors import AugenmerkError
    from augenmerk.bench.decoding import bench_decoding, random_translator, trained_translator
    from augenmerk.bench.peers import is_installed

    chosen_device = choose_device(device)
    on_cpu = chosen_device.type == "cpu"
    if peers and not is_installed():
        raise AugenmerkError(
            "CTranslate2 is not installed: pip install 'augenmerk[peers]', or leave out --peers."
        )
    if peers and not on_cpu:
        raise AugenmerkError("CTranslate2 is compared on a CPU only: use --device cpu, or leave out --peers.")
    with_peers = on_cpu and is_installed() if peers is None else peers
    with show_status("") as change_status:
        if model is None:
            translator, plain, sources = random_translator(preset, sentences, chosen_device)
        else:
            translator, plain, sources = trained_translator(model, sentences, chosen_device)
        beams = beam or [1, 5, 10, 20, 50]
        result = bench_decoding(translator, plain, sources, beams, with_peers, profile, change_status)
    if json:
        print_json(result)
        return
    _print_speeds(result)
    if peers is None and not is_installed():
        out().print("[dim]pip install 'augenmerk\\[peers]' adds a comparison with CTranslate2[/]")
    if profile:
        _print_profile(result["profile"])


def _print_speeds(result: dict[str, Any]) -> None:
    rows = []
    for row in result["beams"]:
        engines = {"ours": {**row, "times_ours": 1.0}, **row["others"]}
        for name, each in engines.items():
            figures = [_format_speed(each["sentences_per_second"]), f"{each['times_ours']:.2f}"]
            peak = _format_mib(row["peak_mib"]) if name == "ours" else ""
            rows.append([str(row["beam"]), name, *figures, f"{each['latency_ms']:.1f}", peak])
        plain = row["reference_sentences_per_second"]
        figures = [_format_speed(plain), f"{1 / row['ratio']:.2g}", f"{1e3 / plain:.1f}"]
        rows.append([str(row["beam"]), "plain loop", *figures, ""])
    headings = ("beam", "", "sentences/s", "times ours", "one alone, ms", "peak MiB")
    out().print(make_table(headings, rows, left=2))
    tokens = ", ".join(f"{row['tokens']:.1f} (beam {row['beam']})" for row in result["beams"])
    text = f"tokens in a translation of ours, on average: {tokens}"
    if (peer := result["peer"]) is not None:
        text += (
            f"; CTranslate2 writes as many, rounded, with a Transformer of random weights: {peer['layers']}"
            f" + {peer['layers']} layers, {peer['width']} wide"
        )
    out().print(f"{text}; numpy's products are computed by {result['numpy_products']}")


def _print_profile(profile: dict[str, Any]) -> None:
    beams = profile["beams"]
    rows = []
    for name in beams[0]["parts"]:
        parts = [row["parts"][name] for row in beams]
        rows.append(
            [name, *(f"{100 * each['share']:.0f} ({100 * each['floor_share']:.0f})" for each in parts)]
        )
    totals = (f"{row['cpu_ms_per_sentence']:.2f} ({row['floor_ms_per_sentence']:.2f})" for row in beams)
    rows.append(["all, ms a sentence", *totals])
    headings = ("% of CPU time (floor)", *(f"beam {row['beam']}" for row in beams))
    out().print(make_table(headings, rows))
    out().print(
        f"one thread of numpy; floor: products with weights, at {profile['gflops_per_second']:.0f} GFLOP/s "
        f"as in a large product"
    )


def _format_speed(speed: float) -> str:
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:,.1f}"


def _format_mib(peak: float | None) -> str:
    return "not measured" if peak is None else f"{peak:,.0f}"
