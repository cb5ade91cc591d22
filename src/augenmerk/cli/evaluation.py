"""`augenmerk evaluate`: loss and perplexity of a run on a split."""

from pathlib import Path
from typing import Any

from rich.table import Table

from augenmerk.checkpoint import RunDirectory
from augenmerk.cli.terminal import out, print_json
from augenmerk.cli.training import choose_device
from augenmerk.evaluate import evaluate_run


def run(place: Path, splits: list[str], device: str, json: bool) -> None:
    """Measures, keeps what was measured in the run's scores.json, and prints it."""
    directory = RunDirectory.open(place)
    rows: list[dict[str, Any]] = evaluate_run(directory, splits, choose_device(device))
    if json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("split", "loss", "perplexity", "per word", "tokens"):
        table.add_column(heading, justify="left" if heading == "split" else "right")
    for row in rows:
        table.add_row(
            row["split"],
            f"{row['loss']:.4f}",
            f"{row['perplexity']:.2f}",
            f"{row['word_perplexity']:.2f}",
            f"{row['tokens']:,}",
        )
    out().print(table)
