"""`augenmerk evaluate`: scores of a run as a table, and tests whether it is better than another."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from augenmerk.cli.options import Device, Json, Mechanisms, load_mechanisms
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.errors import AugenmerkError

if TYPE_CHECKING:
    import torch

    from augenmerk.agreement import Agreement
    from augenmerk.checkpoint import RunDirectory

Row = Mapping[str, Any]

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk evaluate --split test_2016_flickr    "
    "augenmerk evaluate runs/quick-multi30k-scaled-dot-1 --split test_2016_flickr --beam 1 "
    "--beam 5    augenmerk evaluate runs/a --baseline runs/b    augenmerk evaluate runs/a --alignment    "
    "augenmerk evaluate runs/a --ensemble runs/b --ensemble runs/c --beam 10 --mbr"
)
def evaluate(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="Run directory. Default: the model that ships with augenmerk, copied to the folder runs.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(help="Split of the run's data; repeatable. Default: the validation split."),
    ] = None,
    beam: Annotated[
        list[int] | None,
        typer.Option(help="Beam width; 1 is greedy search; repeatable. Default: the run's own setting."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Where the data of all runs given here is now, if it was moved after training: the name of "
            "a data set, a folder or a file. Default: where each run's settings say."
        ),
    ] = None,
    ensemble: Annotated[
        list[Path] | None,
        typer.Option(help="Another run to translate with in an ensemble; repeatable."),
    ] = None,
    mbr: Annotated[
        bool,
        typer.Option(
            "--mbr",
            help="Minimum Bayes risk: of all hypotheses in the beam, choose the one most similar to the "
            "others by chrF.",
        ),
    ] = False,
    baseline: Annotated[
        Path | None, typer.Option(help="Run to compare with; tests whether the difference is significant.")
    ] = None,
    ter: Annotated[bool, typer.Option("--ter", help="Also compute the translation edit rate.")] = False,
    alignment: Annotated[
        bool,
        typer.Option("--alignment", help="Also measure how well the attention agrees with word links."),
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option(
            help="File with the gold links of the split, in lines such as '0-0 1?2'. With --alignment."
        ),
    ] = None,
    reverse_run: Annotated[
        Path | None,
        typer.Option(
            help="Run that translates in the other direction; only links that both runs find count. "
            "With --alignment."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Link all words with at least this attention weight, not only the word with the largest. "
            "With --alignment."
        ),
    ] = None,
    attention: Mechanisms = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Measure a trained run: BLEU, chrF, loss and perplexity."""
    from augenmerk.checkpoint import RunDirectory
    from augenmerk.device import choose_device
    from augenmerk.evaluate import Evaluator, evaluate_run
    from augenmerk.significance import compare_runs

    load_mechanisms(attention)
    splits = split or []
    if not alignment and (gold or reverse_run or threshold is not None):
        raise AugenmerkError(
            "--gold, --reverse-run and --threshold say how --alignment compares: add --alignment."
        )
    if threshold is not None and not 0 < threshold <= 1:
        raise AugenmerkError(f"--threshold {threshold} is impossible: a weight is between 0 and 1.")
    if gold is not None and len(splits) > 1:
        raise AugenmerkError("--gold has the links of one split; give one --split.")
    chosen_device = choose_device(device)
    directory = _copy_shipped(splits, data) if run is None else _open_run(run, data)
    others = [RunDirectory.open(path) for path in ensemble or []]
    other = None if baseline is None else _open_run(baseline, data)
    agreement = None
    if alignment:
        reverse = None if reverse_run is None else _open_run(reverse_run, data)
        agreement = _make_agreement(
            directory, gold=gold, reverse=reverse, threshold=threshold, device=chosen_device
        )
    with EvaluationDisplay() as display:
        evaluator = partial(
            Evaluator, device=chosen_device, ter=ter, alignment=agreement, on_progress=display.update
        )
        ours = evaluator(directory, ensemble=others, mbr=mbr)
        if other is None:
            rows = evaluate_run(ours, splits, beam or [])
        else:
            rows = compare_runs(ours, evaluator(other), splits, beam or [])
    if json:
        print_json(rows)
    else:
        _print_rows(directory, rows)
    _print_sacrebleu_commands(directory, rows)


def _open_run(path: Path, data: str | None) -> "RunDirectory":
    """Opens a run, with its data at another place if `data` is given.

    Raises AugenmerkError if the data cannot be found.
    """
    from augenmerk.bitext import open_data
    from augenmerk.checkpoint import RunDirectory

    run = RunDirectory.open(path)
    if data is not None:
        moved = run.config.data.model_copy(update={"bitext": data})
        run.config = run.config.model_copy(update={"data": moved})
    try:
        open_data(run.config.data)
    except AugenmerkError as error:
        if data is not None:
            raise
        raise AugenmerkError(
            f"{error} If the data of {path} was moved, say where it is now: --data PLACE."
        ) from None
    return run


def _copy_shipped(splits: Sequence[str], data: str | None) -> "RunDirectory":
    """Copies the model that ships to the folder runs, where its scores can be kept.

    Nothing is copied if its data or one of the splits is absent.
    """
    from augenmerk.bitext import open_data
    from augenmerk.checkpoint import SHIPPED, copy_shipped

    bitext = open_data(_open_run(SHIPPED, data).config.data)
    for split in splits:
        bitext[split]
    return _open_run(copy_shipped(Path("runs")).path, data)


def _make_agreement(
    run: "RunDirectory",
    *,
    gold: Path | None,
    reverse: "RunDirectory | None",
    threshold: float | None,
    device: "torch.device",
) -> "Agreement":
    """Returns what measures the alignment of `run`.

    Raises AugenmerkError if `reverse` does not translate in the other direction.
    """
    from augenmerk.agreement import Agreement
    from augenmerk.bitext import open_data
    from augenmerk.translate import load

    bitext = open_data(run.config.data)
    if reverse is None:
        return Agreement(bitext, gold, threshold=threshold)
    other = open_data(reverse.config.data)
    if (other.source_language, other.target_language) != (bitext.target_language, bitext.source_language):
        raise AugenmerkError(
            f"{reverse.path} translates from {other.source_language} to {other.target_language}; "
            f"--reverse-run takes a run from {bitext.target_language} to {bitext.source_language}."
        )
    return Agreement(bitext, gold, load(reverse.path, device), threshold)


def _print_rows(run: "RunDirectory", rows: Sequence[Row]) -> None:
    from augenmerk.evaluate import describe_row

    first = rows[0]
    if "ensemble" in first or "mbr" in first:
        out().print(f"{escape(describe_row(run, first))}\n", soft_wrap=True)
    out().print(_make_score_table(rows, cased=not run.tokenizers.target.lowercase))
    for name, heading in (("bleu", "BLEU"), ("chrf", "chrF"), ("ter", "TER")):
        if name in first:
            out().print(f"[dim]{heading:5}{first[f'{name}_signature']}[/]", soft_wrap=True)
    if "alignment" in first:
        _print_alignment(rows)
    for row in rows:
        if "baseline" in row:
            _print_comparison(row, describe_row(run, row))


def _make_score_table(rows: Sequence[Row], *, cased: bool) -> Table:
    """Returns a table of scores; lower-cased BLEU comes first because all models can be compared by it."""
    columns = {
        "BLEU": ("bleu", ".2f"),
        **({"cased": ("bleu_cased", ".2f")} if cased else {}),
        "chrF": ("chrf", ".2f"),
        **({"TER": ("ter", ".2f")} if "ter" in rows[0] else {}),
        "length": ("length_ratio", ".3f"),
        "loss": ("loss", ".3f"),
        "ppl": ("perplexity", ".2f"),
        "ppl/word": ("word_perplexity", ".2f"),
        "sent/s": ("sentences_per_second", ",.0f"),
    }
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # one space, to fit into 80 columns
    table.add_column("split")
    for heading in ("beam", *columns):
        table.add_column(heading, justify="right")
    for row in rows:
        values = [format(row[key], spec) for key, spec in columns.values()]
        table.add_row(escape(row["split"]), str(row["beam"]), *values)
    return table


def _print_alignment(rows: Iterable[Row]) -> None:
    """Prints a line for each split: the references are aligned, so the beam makes no difference."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # one space, to fit into 80 columns
    table.add_column("alignment")
    for heading in ("against", "AER", "precision", "recall", "F1", "AER at -1", "at +1", "best"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    for row in {row["split"]: row for row in rows}.values():
        scores = row["alignment"]
        if row["aer"] is None:
            table.add_row(escape(row["split"]), scores["against"], "-")  # the model attends to nothing
            continue
        before, after = scores["aer_by_offset"]["-1"], scores["aer_by_offset"]["1"]
        figures = (row["aer"], scores["precision"], scores["recall"], scores["f1"], before, after)
        offset = f"{scores['best_offset']:+d}" if scores["best_offset"] else "0"
        table.add_row(
            escape(row["split"]), scores["against"], *(f"{figure:.3f}" for figure in figures), offset
        )
    out().print()
    out().print(table)


def _print_comparison(row: Row, name: str) -> None:
    baseline = row["baseline"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(f"{escape(row['split'])}, beam {row['beam']}")
    for heading in ("BLEU", "95%", "chrF", "95%"):
        table.add_column(heading, justify="right")
    for system, score, interval in (
        (name, "score", "interval"),
        (baseline["run"], "baseline_score", "baseline_interval"),
    ):
        cells = []
        for metric in (baseline["bleu"], baseline["chrf"]):
            low, high = metric[interval]
            cells += [f"{metric[score]:.2f}", f"{low:.2f} to {high:.2f}"]
        table.add_row(escape(system), *cells)
    out().print()
    out().print(table)
    for metric in ("bleu", "chrf"):
        out().print(escape(baseline[metric]["in_words"]), soft_wrap=True)
    test = baseline["bleu"]
    out().print(f"[dim]{test['trials']:,} trials, {test['resamples']:,} resamples, seed {test['seed']}[/]")


def _print_sacrebleu_commands(run: "RunDirectory", rows: Sequence[Row]) -> None:
    """Prints, for each split, the command that computes the same scores with sacrebleu."""
    from augenmerk.evaluate import path_of_row, reference_path
    from augenmerk.scores import sacrebleu_command

    for split in dict.fromkeys(row["split"] for row in rows):
        files = [path_of_row(run, row) for row in rows if row["split"] == split]
        command = sacrebleu_command(reference_path(run, split), files, ter="ter" in rows[0])
        err().print(f"[dim]The same scores:  {escape(shlex.join(command))}[/]", soft_wrap=True)


class EvaluationDisplay:
    """Shows a progress bar for each translation of a split, on a terminal only."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=err(), transient=True, disable=not err().is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "EvaluationDisplay":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, description: str, completed: int, total: int) -> None:
        if description not in self._tasks:
            self._tasks[description] = self._bar.add_task(escape(description), total=total)
        self._bar.update(self._tasks[description], completed=completed)
