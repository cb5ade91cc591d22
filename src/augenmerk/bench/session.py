"""Measurements of speed as people ask for them: `augenmerk bench` in functions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from augenmerk.base.config import load_config
from augenmerk.base.console import Shown, make_table, show_status
from augenmerk.base.device import Precision, choose_device
from augenmerk.base.errors import check_least
from augenmerk.base.frames import as_list
from augenmerk.base.settings import format_value
from augenmerk.bench.decoding import bench_decoding, random_translator, trained_translator
from augenmerk.bench.training import bench_training
from augenmerk.data import open_data

BEAMS = (1, 5, 10, 20, 50)


class TrainingSpeed(Shown, dict[str, Any]):
    """How fast training steps are: ours, and those of a plain loop."""

    def show(self) -> Iterator[RenderableType]:
        rows = []
        for name in ("ours", "reference"):
            row = self[name]
            numbers = [f"{row['seconds_per_step'] * 1e3:.1f}", f"{row['target_tokens_per_second']:,.0f}"]
            rows.append([name, *numbers, f"{row['times_floor']:.1f}", _format_mib(row["peak_mib"])])
        yield make_table(("", "ms/step", "target tokens/s", "x floor", "peak MiB"), rows)
        yield (
            f"ratio  [bold]{self['ratio']:.1f}[/]   ours in {self['precision']} on {self['device']}, "
            f"the loop in fp32; floor {self['floor']['seconds_per_step'] * 1e3:.1f} ms at "
            f"{self['floor']['gflops_per_second']:,.0f} GFLOP/s; losses differ by "
            f"{self['loss_difference']:.1e}; batches {self['batches']}"
        )


def train(
    preset: str | Path = "classic",
    *,
    precision: Precision = "auto",
    data: str | Path | None = None,
    steps: int = 5,
    bucketed: bool = False,
    device: str = "auto",
) -> TrainingSpeed:
    """Times training steps, ours and those of tutorials, on the same batches.

    Takes what `augenmerk bench train` takes.
    """
    check_least(1, steps=steps)
    overrides = [f"train.precision={precision}"]
    overrides += [] if data is None else [f"data.bitext={format_value(str(data))}"]
    config = load_config(str(preset), overrides)
    with show_status("") as change_status:
        opened, where = open_data(config.data), choose_device(device)
        return TrainingSpeed(bench_training(config, opened, where, steps, bucketed, change_status))


class DecodingSpeed(Shown, dict[str, Any]):
    """How fast sentences are translated: by us, by a plain loop, and perhaps by others."""

    def show(self) -> Iterator[RenderableType]:
        rows = []
        for row in self["beams"]:
            engines = {"ours": {**row, "times_ours": 1.0}, **row["others"]}
            for name, each in engines.items():
                numbers = [_format_speed(each["sentences_per_second"]), f"{each['times_ours']:.2f}"]
                peak = _format_mib(row["peak_mib"]) if name == "ours" else ""
                rows.append([str(row["beam"]), name, *numbers, f"{each['latency_ms']:.1f}", peak])
            plain = row["reference_sentences_per_second"]
            numbers = [_format_speed(plain), f"{1 / row['ratio']:.2g}", f"{1e3 / plain:.1f}"]
            rows.append([str(row["beam"]), "plain loop", *numbers, ""])
        headings = ("beam", "", "sentences/s", "times ours", "one alone, ms", "peak MiB")
        yield make_table(headings, rows, left=2)
        products = self["numpy_products"]
        tokens = ", ".join(f"{row['tokens']:.1f} (beam {row['beam']})" for row in self["beams"])
        yield (
            f"average tokens of our translations: {tokens}"
            + (f"; numpy's products are computed by {products}" if products else "")
        )


def decode(
    model: str | Path | None = None,
    *,
    preset: str = "quick",
    beam: int | Sequence[int] | None = None,
    sentences: int = 1000,
    device: str = "auto",
) -> DecodingSpeed:
    """Times translating: ours, and a plain loop over single sentences with the same model.

    Takes what `augenmerk bench decode` takes.
    """
    where, beams = choose_device(device), as_list(beam, int) or BEAMS
    check_least(1, beam=min(beams), sentences=sentences)
    with show_status("") as change_status:
        if model is None:
            measured = random_translator(preset, sentences, where)
        else:
            measured = trained_translator(Path(model), sentences, where)
        return DecodingSpeed(bench_decoding(*measured, beams, change_status))


def _format_speed(speed: float) -> str:
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:,.1f}"


def _format_mib(peak: float | None) -> str:
    return "not measured" if peak is None else f"{peak:,.0f}"
