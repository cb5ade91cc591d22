"""Evaluates a run as people ask for it: `augenmerk evaluate` in a function, and what it shows."""

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.progress import MofNCompleteColumn

from augenmerk.base.console import err, make_table, show_progress
from augenmerk.base.device import choose_translating_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.frames import Rows, as_list, as_paths
from augenmerk.data import open_data
from augenmerk.evaluation.agreement import FEW_PAIRS, Agreement
from augenmerk.evaluation.comparison import compare_runs, compare_with_file
from augenmerk.evaluation.evaluator import Evaluator, describe_row, evaluate_run, path_of_row, reference_path
from augenmerk.evaluation.metrics import METRICS, sacrebleu_command
from augenmerk.evaluation.opening import find_other_data, open_run
from augenmerk.run.directory import RunDirectory


def evaluate(
    run: str | PathLike[str] | None = None,
    split: str | Sequence[str] = (),
    *,
    beam: int | Sequence[int] = (),
    ensemble: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    mbr: bool = False,
    baseline: str | PathLike[str] | None = None,
    hypotheses: str | Path | None = None,
    ter: bool = False,
    alignment: bool = False,
    gold: str | Path | None = None,
    data: str | Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    device: str = "auto",
    precision: str | None = None,
) -> "Scores":
    """Measures a trained run, by default the bundled model; arguments are as for `augenmerk evaluate`."""
    splits, beams = as_list(split, str), as_list(beam, int)
    if gold is not None and not alignment:
        raise AugenmerkError("--gold belongs to --alignment: add --alignment.")
    if gold is not None and len(splits) > 1:
        raise AugenmerkError("--gold has the links of one split; give one --split.")
    if hypotheses is not None and baseline is not None:
        raise AugenmerkError(
            "A run is compared either with another run or with a file: give --baseline or "
            "--hypotheses, not both."
        )
    moved = find_other_data(data, source_language, target_language, divided=bool(splits))
    chosen = choose_translating_device(device)
    opened, other_data = open_run(None if run is None else Path(run), moved, splits, remark)
    others = [RunDirectory.open(path) for path in as_paths(ensemble)]
    compared = None if baseline is None else open_run(Path(baseline), moved, splits, remark)
    agreement = None
    if alignment:
        bitext = other_data or open_data(opened.config.data)
        agreement = Agreement(bitext, None if gold is None else Path(gold))
    with show_progress(MofNCompleteColumn()) as on_progress:
        evaluator = partial(
            Evaluator,
            device=chosen,
            metrics=["ter"] if ter else [],
            alignment=agreement,
            on_progress=on_progress,
        )
        ours = evaluator(opened, ensemble=others, mbr=mbr, precision=precision, data=other_data)
        if hypotheses is not None:
            rows = compare_with_file(ours, Path(hypotheses), splits, beams)
        elif compared is not None:
            rows = compare_runs(ours, evaluator(compared[0], data=compared[1]), splits, beams)
        else:
            rows = evaluate_run(ours, splits, beams)
    return Scores(opened, rows)


def remark(text: str) -> None:
    """Prints a remark on stderr."""
    err().print(f"[dim]{escape(text)}[/]")


class Scores(Rows):
    """Rows of scores of a run, one for each split and beam, as `augenmerk evaluate --json` prints them."""

    def __init__(self, run: RunDirectory, rows: Sequence[dict[str, Any]]) -> None:
        super().__init__(rows)
        self.run = run

    def show(self) -> Iterator[RenderableType]:
        run, first = self.run, self[0]
        if "ensemble" in first or "mbr" in first or "data" in first:
            where = f", on {first['data']}" if "data" in first else ""
            yield f"{escape(describe_row(run, first) + where)}\n"
        shown = {key: metric for key, metric in METRICS.items() if metric.column and key in first}
        if run.tokenizers.target.lowercase:
            del shown["bleu_cased"]
        lines = []
        for row in self:
            values = [
                f"{row[key]:,.{metric.digits}f}" if key in row else "-" for key, metric in shown.items()
            ]
            name = Path(row["hypotheses"]).name if "hypotheses" in row else row["split"]
            lines.append([escape(name), str(row.get("beam", "-")), *values])
        headings = ("split", "beam", *(metric.column for metric in shown.values()))
        yield make_table(headings, lines, gap=1)  # one space, to fit into 80 columns
        for key, metric in shown.items():
            if f"{key}_signature" in first and key != "bleu_cased":  # the same but for the case
                yield f"[dim]{metric.column:4} {first[f'{key}_signature']}[/]"
        if "alignment" in first:
            yield from self._show_alignment()
        for row in self:
            if "baseline" in row:
                yield from self._show_comparison(row, describe_row(run, row))

    def _show_alignment(self) -> Iterator[RenderableType]:
        """Yields a line for each split: the references are aligned, so the beam makes no difference."""
        by_split = {
            row["split"]: row["alignment"] | {"aer": row["aer"]} for row in self if "alignment" in row
        }
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
        yield ""
        yield make_table(headings, lines, left=2, gap=1)
        yield (
            "[dim]AER: alignment error rate, 0 is best; at -1 and +1: as if the attention lagged by a word, "
            "or were ahead by one; best: which of the three fits best[/]"
        )
        for split, scores in by_split.items():
            if which := scores.get("attention"):
                chosen_on = scores["chosen_on"]
                how = f"chosen on {chosen_on}" if chosen_on else "no validation links to choose a head by"
                yield escape(f"{split}: attention: {which}, {how}")
        if any("silver_pairs" in scores for scores in by_split.values()):
            about = "silver: links by a word aligner, for data without gold links; its own errors count, too"
            yield f"[dim]{about}[/]"

    def _show_comparison(self, row: dict[str, Any], name: str) -> Iterator[RenderableType]:
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
        heading = f"{escape(row['split'])}, beam {row['beam']}"
        columns = [heading for test in tests.values() for heading in (test["metric"], "95%")]
        yield ""
        yield make_table((heading, *columns), lines)
        for test in tests.values():
            yield escape(test["in_words"])
        how = "{trials:,} trials, {resamples:,} resamples, seed {seed}".format(**test)
        yield f"[dim]{how}. These tests are about sentences: trained with other seeds, runs may differ.[/]"

    @property
    def warnings(self) -> list[str]:
        """What makes some of the scores doubtful, as lines with markup."""
        learnt = [
            row["alignment"]["silver_pairs"] for row in self if "silver_pairs" in row.get("alignment", {})
        ]
        if not learnt or min(learnt) >= FEW_PAIRS:
            return []
        return [
            f"[yellow]The word aligner learnt from {min(learnt):,} pairs only: many of its links are "
            f"wrong.[/] From {FEW_PAIRS:,} on it is better; --gold takes your own links."
        ]

    @property
    def sacrebleu_commands(self) -> list[str]:
        """The command for each split that computes the same scores with sacrebleu."""
        found = []
        for split in dict.fromkeys(row["split"] for row in self):
            files = [path_of_row(self.run, row) for row in self if row["split"] == split]
            references = reference_path(self.run, split, self[0].get("data"))
            found.append(shlex.join(sacrebleu_command(references, files, ter="ter" in self[0])))
        return found
