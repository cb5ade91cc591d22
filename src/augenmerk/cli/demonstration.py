"""`augenmerk demo`: three mechanisms trained, compared and used."""

from pathlib import Path

from rich.table import Table

from augenmerk.cli.terminal import err, out, print_json
from augenmerk.cli.training import Display
from augenmerk.demo import SENTENCES, run_demo
from augenmerk.device import choose_device
from augenmerk.translate import load


def run(place: Path, device: str, json: bool) -> None:
    """Trains what is not there yet, prints the comparison, translates, and says what to try next."""
    err().print(
        "A picture book of 20,000 sentence pairs, three small translators that differ in one thing: "
        "what they attend to."
    )
    rows = run_demo(place, choose_device(device), lambda what: err().print(f"[dim]{what}[/]"), Display)
    translations = {
        row["attention"]: [one.text for one in load(row["run"]).translate(list(SENTENCES), beam=5)]
        for row in rows
    }
    if json:
        print_json({"rows": rows, "translations": {"source": list(SENTENCES), **translations}})
        return
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
    for number, sentence in enumerate(SENTENCES):
        out().print(f"\n[bold]{sentence}[/]")
        for attention, texts in translations.items():
            out().print(f"  {attention:>10}  {texts[number]}")
    best = rows[-1]["run"]
    out().print(
        f"\nThe runs are in {place}. Next:\n"
        f'  augenmerk translate --model {best} "Die Katze springt auf den Tisch." --json\n'
        f'  augenmerk diagram --model {best} "Das Mädchen lacht, weil der Hund den Ball gefangen hat."\n'
        f"  augenmerk patterns {best} --split test --kind inversion --top 12 --out patterns\n"
        f"  augenmerk evaluate {best} --split test --baseline {rows[1]['run']}\n"
        f"  augenmerk train quick --data bilderbuch --attention additive",
        soft_wrap=True,
        markup=False,
    )
