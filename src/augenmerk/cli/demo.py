"""`augenmerk demo`: trains, compares and uses three mechanisms."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from augenmerk.cli.options import Device, Json
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.cli.train import TrainingDisplay

app = typer.Typer()


@app.command(epilog="Example:  augenmerk demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs/demo"),
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train three attention mechanisms on built-in data, compare them, and translate."""
    from augenmerk.demo import SENTENCES, run_demo
    from augenmerk.device import choose_device
    from augenmerk.translate import load

    err().print(
        "A picture book of 20,000 sentence pairs, three small translators that differ in one thing: "
        "what they attend to."
    )
    rows = run_demo(out, choose_device(device), lambda step: err().print(f"[dim]{step}[/]"), TrainingDisplay)
    sources = list(SENTENCES)
    translations = {
        row["attention"]: [translation.text for translation in load(row["run"]).translate(sources, beam=5)]
        for row in rows
    }
    if json:
        print_json({"rows": rows, "translations": {"source": sources, **translations}})
        return
    _print_rows(rows)
    _print_translations(sources, translations)
    _print_next_steps(out, rows)


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("attention", "loss", "perplexity", "BLEU greedy", "BLEU beam 5", "alignment error"):
        table.add_column(heading, justify="left" if heading == "attention" else "right")
    for row in rows:
        error = row["alignment_error"]
        table.add_row(
            row["attention"],
            f"{row['loss']:.3f}",
            f"{row['perplexity']:.2f}",
            f"{row['bleu_greedy']:.1f}",
            f"{row['bleu_beam_5']:.1f}",
            "-" if error is None else f"{error:.3f}",
        )
    out().print()
    out().print(table)
    out().print(f"[dim]on 1,000 test sentences; {rows[0]['bleu_signature']}[/]", soft_wrap=True)


def _print_translations(sources: Sequence[str], translations: Mapping[str, Sequence[str]]) -> None:
    for number, source in enumerate(sources):
        out().print(f"\n[bold]{source}[/]")
        for attention, texts in translations.items():
            out().print(f"  {attention:>10}  {texts[number]}")


def _print_next_steps(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    best = rows[-1]["run"]
    out().print(
        f"\nThe runs are in {folder}. Next:\n"
        f'  augenmerk translate --model {best} "Die Katze springt auf den Tisch." --json\n'
        f'  augenmerk diagram --model {best} "Das Mädchen lacht, weil der Hund den Ball gefangen hat."\n'
        f"  augenmerk patterns {best} --split test --kind inversion --top 12 --out patterns\n"
        f"  augenmerk evaluate {best} --split test --baseline {rows[1]['run']}\n"
        f"  augenmerk train quick --data bilderbuch --attention additive",
        soft_wrap=True,
        markup=False,
    )
