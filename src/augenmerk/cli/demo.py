"""`augenmerk demo`: trains, compares and uses three mechanisms."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer import Option

from augenmerk.base.console import err, make_table, out
from augenmerk.cli.options import Device, Json
from augenmerk.cli.terminal import print_json

app = typer.Typer()


@app.command(epilog="Example:  augenmerk demo")
def demo(
    out: Annotated[Path, Option(help="Folder for the runs.")] = Path("runs/demo"),
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train three attention mechanisms on built-in data, compare them, and translate."""
    from augenmerk.base.device import choose_device
    from augenmerk.study.demo import SENTENCES, run_demo
    from augenmerk.training.display import TrainingDisplay
    from augenmerk.training.loop import TrainingInterrupted
    from augenmerk.translation import load

    err().print(
        "A picture book of 20,000 sentence pairs, three small translators that differ in one thing:\n"
        "what they attend to."
    )
    command = shlex.join(["augenmerk", "demo", "--out", str(out)])
    try:
        rows = run_demo(
            out, choose_device(device), lambda step: err().print(f"[dim]{step}[/]"), TrainingDisplay
        )
    except TrainingInterrupted as interrupted:
        err().print(f"Saved. Continue with:  [bold]{escape(command)}[/]")
        raise SystemExit(128 + interrupted.signum) from None
    except KeyboardInterrupt as interrupt:  # between two trainings
        interrupt.args = (f"Trained runs are kept. Continue with:  {command}",)
        raise
    sources = list(SENTENCES)
    translations = {
        row["attention"]: [translation.text for translation in load(row["run"]).translate(sources, beam=5)]
        for row in rows
    }
    if json:
        print_json({"rows": rows, "translations": {"source": sources, **translations}})
    else:
        _print_result(out, rows, sources, translations)


def _print_result(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    sources: Sequence[str],
    translations: Mapping[str, Sequence[str]],
) -> None:
    formats = {"loss": ".3f", "perplexity": ".2f", "bleu_greedy": ".1f", "bleu_beam_5": ".1f"}
    formats["alignment_error"] = ".3f"
    headings = (name.replace("_", " ").replace("bleu", "BLEU") for name in formats)
    lines = []
    for row in rows:
        values = ("-" if row[name] is None else format(row[name], spec) for name, spec in formats.items())
        lines.append([row["attention"], *values])
    out().print()
    out().print(make_table(("attention", *headings), lines))
    out().print(f"[dim]on 1,000 test sentences; {rows[0]['bleu_signature']}[/]")
    for source, *texts in zip(sources, *translations.values(), strict=True):
        out().print(f"\n[bold]{source}[/]")
        for attention, text in zip(translations, texts, strict=True):
            out().print(f"  {attention:>10}  {text}", markup=False)
    best = rows[-1]["run"]
    out().print(
        f"\nThe runs are in {folder}. Next:\n"
        f'  augenmerk translate --model {best} "Die Katze springt auf den Tisch." --json\n'
        f'  augenmerk diagram --model {best} "Das Mädchen lacht, weil der Hund den Ball gefangen hat."\n'
        f"  augenmerk patterns {best} --split test --kind inversion --top 12 --out patterns\n"
        f"  augenmerk evaluate {best} --split test --baseline {rows[1]['run']}\n"
        f"  augenmerk train quick --data bilderbuch --attention additive",
        markup=False,
    )
