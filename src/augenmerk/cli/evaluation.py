"""`augenmerk evaluate`: scores of a run as a table, and whether it is better than another."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from augenmerk.agreement import Agreement
from augenmerk.checkpoint import SHIPPED, RunDirectory, copy_of_shipped
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.device import choose_device
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import evaluate_run, name_of, open_data, path_of_row, reference_path
from augenmerk.scores import sacrebleu_command
from augenmerk.significance import compare_runs
from augenmerk.translate import load

Row = Mapping[str, Any]


class Aligning(NamedTuple):
    """What `--alignment` is to compare with, where it is not what the bitext has."""

    gold: Path | None
    back: Path | None
    threshold: float | None = None


def run(
    place: Path | None,
    splits: Sequence[str],
    beams: Sequence[int],
    others: Sequence[Path],
    mbr: bool,
    against: Path | None,
    ter: bool,
    alignment: Aligning | None,
    device: str,
    json: bool,
) -> None:
    """Measures, keeps what was measured in the run (or in a copy of the shipped one), and prints it."""
    chosen = choose_device(device)
    directory = _shipped(splits) if place is None else RunDirectory.open(place)
    together = [RunDirectory.open(other) for other in others]
    rival = RunDirectory.open(against) if against is not None else None
    agreement = None if alignment is None else _agreement(directory, splits, alignment, chosen)
    measure = evaluate_run if rival is None else partial(compare_runs, baseline=rival)
    with _Display() as display:
        rows = measure(
            run=directory,
            splits=splits,
            device=chosen,
            beams=beams,
            others=together,
            mbr=mbr,
            ter=ter,
            alignment=agreement,
            progress=display.update,
        )
    if json:
        print_json(rows)
    else:
        if others or mbr:
            out().print(f"{escape(name_of(directory, rows[0]))}\n", soft_wrap=True)
        out().print(_table(rows, cased=not directory.tokenizers.target.lowercase, ter=ter))
        for name, heading in (("bleu", "BLEU"), ("chrf", "chrF"), ("ter", "TER")):
            if name in rows[0]:
                out().print(f"[dim]{heading:5}{rows[0][f'{name}_signature']}[/]", soft_wrap=True)
        if alignment is not None:
            _print_alignment(rows)
        for row in rows:
            if "baseline" in row:
                _print_comparison(row, name_of(directory, row))
    for split in dict.fromkeys(row["split"] for row in rows):
        files = [path_of_row(directory, row) for row in rows if row["split"] == split]
        command = shlex.join(sacrebleu_command(reference_path(directory, split), files, ter=ter))
        err().print(f"[dim]The same scores:  {escape(command)}[/]", soft_wrap=True)


def _table(rows: Iterable[Row], cased: bool, ter: bool) -> Table:
    """BLEU in lower case first: it can be compared whatever the models' text is."""
    columns = {
        "BLEU": ("bleu", ".2f"),
        **({"cased": ("bleu_cased", ".2f")} if cased else {}),
        "chrF": ("chrf", ".2f"),
        **({"TER": ("ter", ".2f")} if ter else {}),
        "length": ("length_ratio", ".3f"),
        "loss": ("loss", ".3f"),
        "ppl": ("perplexity", ".2f"),
        "ppl/word": ("word_perplexity", ".2f"),
        "sent/s": ("sentences_per_second", ",.0f"),
    }
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # one space: all fits into 80 columns
    table.add_column("split")
    for heading in ("beam", *columns):
        table.add_column(heading, justify="right")
    for row in rows:
        values = [format(row[key], spec) for key, spec in columns.values()]
        table.add_row(escape(row["split"]), str(row["beam"]), *values)
    return table


def _shipped(splits: Sequence[str]) -> RunDirectory:
    """A copy of it, unless it could not be measured anyway."""
    bitext = open_data(RunDirectory.open(SHIPPED).config.data)
    for split in splits:
        bitext[split]
    return copy_of_shipped(Path("runs"))


def _agreement(
    run: RunDirectory, splits: Sequence[str], alignment: Aligning, device: torch.device
) -> Agreement:
    bitext = open_data(run.config.data)
    if alignment.gold is not None and len(splits) > 1:
        raise AugenmerkError("--gold has the links of one split; give one --split.")
    if alignment.back is None:
        return Agreement(bitext, alignment.gold, threshold=alignment.threshold)
    other = open_data(RunDirectory.open(alignment.back).config.data)
    if (other.source_language, other.target_language) != (bitext.target_language, bitext.source_language):
        raise AugenmerkError(
            f"{alignment.back} translates from {other.source_language} to {other.target_language}; "
            f"--reverse-run takes a run from {bitext.target_language} to {bitext.source_language}."
        )
    return Agreement(bitext, alignment.gold, load(alignment.back, device), alignment.threshold)


def _print_alignment(rows: Iterable[Row]) -> None:
    """A line for each split, whatever the beam: the reference is read, not searched for."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # as above: all fits into 80
    table.add_column("alignment")
    for heading in ("against", "AER", "precision", "recall", "F1", "AER at -1", "at +1", "best"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    for row in {row["split"]: row for row in rows}.values():
        found = row["alignment"]
        if row["aer"] is None:
            table.add_row(escape(row["split"]), found["against"], "-")  # the model attends to nothing
            continue
        before, after = found["aer_by_offset"]["-1"], found["aer_by_offset"]["1"]
        figures = (row["aer"], found["precision"], found["recall"], found["f1"], before, after)
        offset = f"{found['best_offset']:+d}" if found["best_offset"] else "0"
        table.add_row(
            escape(row["split"]), found["against"], *(f"{figure:.3f}" for figure in figures), offset
        )
    out().print()
    out().print(table)


def _print_comparison(row: Row, name: str) -> None:
    against = row["baseline"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(f"{escape(row['split'])}, beam {row['beam']}")
    for heading in ("BLEU", "95%", "chrF", "95%"):
        table.add_column(heading, justify="right")
    for whose, score, interval in (
        (name, "score", "interval"),
        (against["run"], "baseline_score", "baseline_interval"),
    ):
        cells = []
        for metric in (against["bleu"], against["chrf"]):
            low, high = metric[interval]
            cells += [f"{metric[score]:.2f}", f"{low:.2f} to {high:.2f}"]
        table.add_row(escape(whose), *cells)
    out().print()
    out().print(table)
    for metric in ("bleu", "chrf"):
        out().print(escape(against[metric]["in_words"]), soft_wrap=True)
    tested = against["bleu"]
    out().print(
        f"[dim]{tested['trials']:,} trials, {tested['resamples']:,} resamples, seed {tested['seed']}[/]"
    )


class _Display:
    """A bar for each translation of a split, on a terminal only."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=err(), transient=True, disable=not err().is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "_Display":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, what: str, done: int, total: int) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(escape(what), total=total)
        self._bar.update(self._tasks[what], completed=done)
