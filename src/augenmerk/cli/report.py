"""`augenmerk report`: writes the result of a study as a page, or its table as text."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from augenmerk.cli.options import GROUP, Group, Json, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

BOLD_HELP = "Print in bold the best mean of each column, and those not significantly worse."

app = typer.Typer()


class Table(Group):
    """What the table of a study shows, and how."""

    columns: Annotated[
        str | None, Option(help="Columns of the table, separated by commas, e.g. runs,bleu,seconds.")
    ] = None
    spread: Annotated[
        Literal["deviation", "variance", "none"],
        Option(help="Beside each mean (deviation: standard deviation)."),
    ] = "deviation"
    published: Annotated[bool, Option(help="Show published numbers beside ours.")] = True
    bold: Annotated[bool, Option(help=BOLD_HELP)] = True


@app.command(
    epilog="Examples:  augenmerk report runs/study-small    "
    "augenmerk report runs/study-small --format latex --columns bleu,chrf --out table.tex    "
    "augenmerk report runs/study-small --figures charts --figure-format pdf"
)
@grouped
def report(
    study: Annotated[Path, Argument(help="Folder of the study, or its study.json.")],
    format: Annotated[  # noqa: A002
        Literal["html", "markdown", "latex", "csv"], Option(help="A page (html), or the table.")
    ] = "html",
    out: Annotated[
        Path | None, Option(help="File to write. Default: report.html in the study; stdout for tables.")
    ] = None,
    table: Table = GROUP,
    figures: Annotated[Path | None, Option(help="Folder for the charts as files.")] = None,
    figure_format: Annotated[Literal["pdf", "svg", "png"], Option(help="With --figures.")] = "pdf",
    pictures: Pictures = GROUP,
    json: Json = False,
) -> None:
    """Write the result of a study: a self-contained page, or a table for a paper."""
    from augenmerk.study.session import StudyResults

    pictures.make_style()
    written = StudyResults(study).report(
        out, format, **vars(table), figures=figures, figure_format=figure_format, **pictures.chosen
    )
    for path in (*written.get("figures", ()), *([written["file"]] if "file" in written else ())):
        print_written(Path(path))
    if json:
        print_json(written)
    elif "text" in written:
        sys.stdout.write(written["text"])
