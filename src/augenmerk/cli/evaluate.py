"""`augenmerk evaluate`: scores of a run as a table, and tests whether it is better than another."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import MofNCompleteColumn
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.inputs import DataOptions
from augenmerk.cli.options import GROUP, Group, grouped
from augenmerk.cli.terminal import err, make_table, out, print_json, show_progress
from augenmerk.evaluation.metrics import METRICS, describe_metrics

if TYPE_CHECKING:
    from augenmerk.run.directory import RunDirectory

Row = Mapping[str, Any]

app = typer.Typer()


class EvaluateOptions(Group):
    """What to evaluate, on which sentences, and what to compare it with."""

    run: Annotated[Path | None, Argument(show_default=False)] = None
    """Run directory. Default: the bundled model, copied to runs."""
    split: list[str] | None = None
    """Split of the data; repeatable. Default: validation; all pairs of a file in --data."""
    beam: Annotated[list[int] | None, Option(min=1, max=1000)] = None
    """Beam width; repeatable. Default: the run's own."""
    ensemble: list[Path] | None = None
    """Another run to translate with; repeatable."""
    mbr: options.Mbr = None
    baseline: Path | None = None
    """Run to compare with, with tests of significance."""
    hypotheses: Path | None = None
    """Output of another system, a line for each sentence: scored and tested beside the run."""
    ter: bool = False
    """Also compute the translation edit rate."""
    alignment: bool = False
    """Also measure how well the attention agrees with word links."""
    gold: Path | None = None
    """With --alignment: file of gold links, in lines such as '0-0 1?2'."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"
    precision: options.Precision = None
    threads: options.Threads = None
    json: options.Json = False

    def check(self) -> None:
        """Raises AugenmerkError if the options do not belong together."""
        if self.gold is not None and not self.alignment:
            raise AugenmerkError("--gold belongs to --alignment: add --alignment.")
        if self.gold is not None and len(self.split or []) > 1:
            raise AugenmerkError("--gold has the links of one split; give one --split.")
        if self.hypotheses is not None and self.baseline is not None:
            raise AugenmerkError(
                "A run is compared either with another run or with a file: give --baseline or "
                "--hypotheses, not both."
            )


@app.command(
    help=f"Measure a trained run: BLEU, chrF, loss and perplexity.\n\nThe table has {describe_metrics()}.",
    epilog="Examples:  augenmerk evaluate --data bilderbuch --split test    "
    "augenmerk evaluate runs/mine --split test --beam 1 --beam 5    "
    "augenmerk evaluate runs/a --baseline runs/b    augenmerk evaluate runs/a --alignment    "
    "augenmerk evaluate runs/a --ensemble runs/b --ensemble runs/c --beam 10 --mbr    "
    "augenmerk evaluate runs/mine --data pairs.tsv    "
    "augenmerk evaluate runs/mine --split test --hypotheses system.txt",
)
@grouped
def evaluate(given: EvaluateOptions = GROUP, data: DataOptions = GROUP) -> None:
    """Measures a trained run, and prints rows of scores."""
    from augenmerk.base.device import choose_translating_device
    from augenmerk.data import open_data
    from augenmerk.evaluation.agreement import Agreement
    from augenmerk.evaluation.comparison import compare_runs, compare_with_file
    from augenmerk.evaluation.evaluator import Evaluator, evaluate_run
    from augenmerk.evaluation.opening import open_run
    from augenmerk.run.directory import RunDirectory

    options.load_mechanisms(given.attention)
    given.check()
    splits, beams = given.split or [], given.beam or []
    moved = data.find(divided=bool(splits))
    device = choose_translating_device(given.device)
    run, other_data = open_run(given.run, moved, splits, _remark)
    others = [RunDirectory.open(path) for path in given.ensemble or []]
    baseline = None if given.baseline is None else open_run(given.baseline, moved, splits, _remark)
    agreement = None
    if given.alignment:
        agreement = Agreement(other_data or open_data(run.config.data), given.gold)
    with show_progress(MofNCompleteColumn()) as on_progress:
        evaluator = partial(
            Evaluator,
            device=device,
            metrics=["ter"] if given.ter else [],
            alignment=agreement,
            on_progress=on_progress,
        )
        ours = evaluator(
            run, ensemble=others, mbr=bool(given.mbr), precision=given.precision, data=other_data
        )
        if given.hypotheses is not None:
            rows = compare_with_file(ours, given.hypotheses, splits, beams)
        elif baseline is not None:
            rows = compare_runs(ours, evaluator(baseline[0], data=baseline[1]), splits, beams)
        else:
            rows = evaluate_run(ours, splits, beams)
    if given.json:
        print_json(rows)
    else:
        _print_rows(run, rows)
    if given.run is None:
        _remark(f"Scores and translations are kept in {run.path}, a copy of the bundled model.")
    _print_sacrebleu_commands(run, rows)


def _remark(text: str) -> None:
    err().print(f"[dim]{escape(text)}[/]")


def _print_rows(run: "RunDirectory", rows: Sequence[Row]) -> None:
    from augenmerk.evaluation.evaluator import describe_row

    first = rows[0]
    if "ensemble" in first or "mbr" in first or "data" in first:
        where = f", on {first['data']}" if "data" in first else ""
        out().print(f"{escape(describe_row(run, first) + where)}\n")
    shown = {key: metric for key, metric in METRICS.items() if metric.column and key in first}
    if run.tokenizers.target.lowercase:
        del shown["bleu_cased"]
    lines = []
    for row in rows:
        values = [f"{row[key]:,.{metric.digits}f}" if key in row else "-" for key, metric in shown.items()]
        name = Path(row["hypotheses"]).name if "hypotheses" in row else row["split"]
        lines.append([escape(name), str(row.get("beam", "-")), *values])
    headings = ("split", "beam", *(metric.column for metric in shown.values()))
    out().print(make_table(headings, lines, gap=1))  # one space, to fit into 80 columns
    for key, metric in shown.items():
        if f"{key}_signature" in first and key != "bleu_cased":  # the same but for the case
            out().print(f"[dim]{metric.column:4} {first[f'{key}_signature']}[/]")
    if "alignment" in first:
        _print_alignment(rows)
    for row in rows:
        if "baseline" in row:
            _print_comparison(row, describe_row(run, row))


def _print_alignment(rows: Iterable[Row]) -> None:
    """Prints a line for each split: the references are aligned, so the beam makes no difference."""
    from augenmerk.evaluation.agreement import FEW_PAIRS

    by_split = {row["split"]: row["alignment"] | {"aer": row["aer"]} for row in rows if "alignment" in row}
    lines = []
    for split, scores in by_split.items():
        line = [escape(split), escape(scores["against"]), "-"]
        if scores["aer"] is not None:  # the model attends to something
            offsets = scores["aer_by_offset"]
            numbers = [scores[name] for name in ("aer", "precision", "recall", "f1")]
            line[2:] = [f"{number:.3f}" for number in (*numbers, offsets["-1"], offsets["1"])]
            line.append(f"{scores['best_offset']:+d}" if scores["best_offset"] else "0")
        lines.append(line)
    headings = ("alignment", "against", "AER", "precision", "recall", "F1", "AER at -1", "at +1", "best")
    out().print()
    out().print(make_table(headings, lines, left=2, gap=1))
    out().print(
        "[dim]AER: alignment error rate, 0 is best; at -1 and +1: as if the attention lagged by a word, "
        "or were ahead by one; best: which of the three fits best[/]"
    )
    for split, scores in by_split.items():
        if which := scores.get("attention"):
            chosen_on = scores["chosen_on"]
            how = f"chosen on {chosen_on}" if chosen_on else "no validation links to choose a head by"
            out().print(escape(f"{split}: attention: {which}, {how}"))
    learnt_from = [scores["silver_pairs"] for scores in by_split.values() if "silver_pairs" in scores]
    if learnt_from:
        out().print(
            "[dim]silver: links by a word aligner, for data without gold links; its own errors count, too[/]"
        )
    if learnt_from and min(learnt_from) < FEW_PAIRS:
        err().print(
            f"[yellow]The word aligner learnt from {min(learnt_from):,} pairs only: many of its links are "
            f"wrong.[/] From {FEW_PAIRS:,} on it is better; --gold takes your own links."
        )


def _print_comparison(row: Row, name: str) -> None:
    baseline = row["baseline"]
    tests = {key: test for key, test in baseline.items() if key in METRICS}
    lines = []
    other = baseline["run"] if "run" in baseline else baseline["hypotheses"]
    for system, prefix in ((name, ""), (other, "baseline_")):
        cells = [escape(system)]
        for test in tests.values():
            low, high = test[f"{prefix}interval"]
            cells += [f"{test[f'{prefix}score']:.2f}", f"{low:.2f} to {high:.2f}"]
        lines.append(cells)
    out().print()
    heading = f"{escape(row['split'])}, beam {row['beam']}"
    columns = [heading for test in tests.values() for heading in (test["metric"], "95%")]
    out().print(make_table((heading, *columns), lines))
    for test in tests.values():
        out().print(escape(test["in_words"]))
    how = "{trials:,} trials, {resamples:,} resamples, seed {seed}".format(**test)
    out().print(f"[dim]{how}. These tests are about sentences: trained with other seeds, runs may differ.[/]")


def _print_sacrebleu_commands(run: "RunDirectory", rows: Sequence[Row]) -> None:
    """Prints the command for each split that computes the same scores with sacrebleu."""
    from augenmerk.evaluation.evaluator import path_of_row, reference_path
    from augenmerk.evaluation.metrics import sacrebleu_command

    for split in dict.fromkeys(row["split"] for row in rows):
        files = [path_of_row(run, row) for row in rows if row["split"] == split]
        references = reference_path(run, split, rows[0].get("data"))
        command = sacrebleu_command(references, files, ter="ter" in rows[0])
        _remark(f"The same scores:  {shlex.join(command)}")
