"""The table of a study: what stands in it, and how Markdown, LaTeX and CSV write it."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from augenmerk.study.result import MEASURES, StudyResult, Summary, VariantResult

COLUMNS = ("bleu", "chrf", "validation_loss", "loss", "perplexity", "alignment_error", "seconds")
"""What a table shows of the study's first split and first beam, where it was measured."""
ABSENT = "–"


@dataclass(frozen=True)
class Cell:
    """A figure as text; parts that there are not are empty."""

    mean: str
    variance: str = ""
    low: str = ""
    high: str = ""

    @classmethod
    def of(cls, summary: Summary | None) -> "Cell":
        if summary is None:
            return cls(ABSENT)
        digits = MEASURES[summary.measure].digits
        if summary.variance is None or summary.interval is None:
            return cls(f"{summary.mean:z.{digits}f}")
        low, high = summary.interval
        return cls(
            f"{summary.mean:z.{digits}f}",
            f"{summary.variance:.2g}" if summary.variance < 10 else f"{summary.variance:.0f}",
            f"{low:z.{digits}f}",
            f"{high:z.{digits}f}",
        )

    @property
    def mean_and_variance(self) -> str:
        return f"{self.mean} ({self.variance})" if self.variance else self.mean


@dataclass(frozen=True)
class Column:
    """A measure, ours or published by others, of each variant."""

    measure: str
    heading: str
    published: bool
    cells: tuple[Cell, ...]


def columns(result: StudyResult) -> list[Column]:
    """Those that there is anything in."""
    found = []
    for measure in COLUMNS:
        summaries = [_first(result, variant, measure) for variant in result.variants]
        heading = MEASURES[measure].heading
        if measure in ("loss", "perplexity"):
            heading += f" on {result.splits[0]}"  # there is that of the validation split, too
        if any(summaries):
            found.append(Column(measure, heading, False, tuple(map(Cell.of, summaries))))
        published = {each.variant: each for each in result.published if each.measure == measure}
        if published:
            digits = MEASURES[measure].digits
            cells = []
            for variant in result.variants:
                figure = published.get(variant.name)
                if figure is None:
                    cells.append(Cell(ABSENT))
                else:
                    variance = "" if figure.variance is None else f"{figure.variance:g}"
                    cells.append(Cell(f"{figure.mean:.{digits}f}", variance))
            found.append(Column(measure, f"{heading}, published", True, tuple(cells)))
    return found


def _first(result: StudyResult, variant: VariantResult, measure: str) -> Summary | None:
    each = (each for each in variant.summaries if each.measure == measure and result.asked_first(each))
    return next(each, None)


def finished(variant: VariantResult) -> str:
    return f"{sum(run.state == 'finished' for run in variant.runs)}/{len(variant.runs)}"


def parameters(variant: VariantResult) -> str:
    return ABSENT if variant.parameters is None else f"{variant.parameters:,}"


def what_the_table_says(result: StudyResult) -> str:
    search = "greedy search" if result.beams[0] == 1 else f"beam {result.beams[0]}"
    return (
        f"Mean (variance, n − 1) over the finished runs; BLEU, chrF, loss and perplexity on "
        f"{result.splits[0]} with {search}."
    )


def _texts(result: StudyResult) -> tuple[list[str], list[list[str]]]:
    shown = columns(result)
    head = ["variant", "runs", "parameters", *(column.heading for column in shown)]
    rows = [
        [
            variant.name,
            finished(variant),
            parameters(variant),
            *(column.cells[row].mean_and_variance for column in shown),
        ]
        for row, variant in enumerate(result.variants)
    ]
    return head, rows


def markdown_table(result: StudyResult) -> str:
    """With the question before it, and below it what follows from it."""
    head, rows = _texts(result)
    lines = [f"**{_markdown(result.question)}**", "", _markdown_row(head)]
    lines.append("|" + "|".join("---" if place == 0 else "---:" for place in range(len(head))) + "|")
    lines += [_markdown_row(row) for row in rows]
    lines += ["", what_the_table_says(result), ""]
    lines += [f"- {_markdown(sentence)}" for sentence in sentences(result)]
    return "\n".join(lines) + "\n"


def sentences(result: StudyResult) -> list[str]:
    """All that is said in words, the findings first."""
    said = [each.in_words for each in result.comparisons] + [each.in_words for each in result.beam_repairs]
    if result.published:
        said.append(f"Columns called “published” were not measured here: {result.published_source}.")
    return [*said, *result.remarks]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_markdown(cell) for cell in cells) + " |"


def _markdown(text: str) -> str:
    for special in "\\`*_|<>[]":
        text = text.replace(special, f"\\{special}")
    return text.replace("\n", " ")


def latex_table(result: StudyResult) -> str:
    """A tabular in the manner of booktabs, ready to be put into a table."""
    head, rows = _texts(result)
    lines = [
        f"% {' '.join(result.question.split())}",
        f"% {what_the_table_says(result)}",
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        "\\toprule",
        " & ".join(_latex(cell) for cell in head) + r" \\",
        "\\midrule",
        *(" & ".join(_latex(cell) for cell in row) + r" \\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{special: f"\\{special}" for special in "&%$#_{}"},
    ABSENT: "--",
    "−": "$-$",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def csv_table(result: StudyResult) -> str:
    """A line for each figure of each variant, on all splits and beams, in full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = "variant measure split beam runs mean variance low_95 high_95 published_mean published_variance"
    writer.writerow([*head.split(), *(f"seed_{seed}" for seed in result.seeds)])
    published = {(each.variant, each.measure): each for each in result.published}
    for variant in result.variants:
        for summary in variant.summaries:
            low, high = summary.interval or ("", "")
            other = published.get((variant.name, summary.measure))
            known = other is not None and result.asked_first(summary)
            writer.writerow(
                [
                    variant.name,
                    summary.measure,
                    summary.split or "",
                    "" if summary.beam is None else summary.beam,
                    len(summary.values),
                    summary.mean,
                    "" if summary.variance is None else summary.variance,
                    low,
                    high,
                    other.mean if other and known else "",
                    other.variance if other and known and other.variance is not None else "",
                    *(summary.values.get(seed, "") for seed in result.seeds),
                ]
            )
    return text.getvalue()
