"""`augenmerk report`: writes the result of a study as a page, or its table as text."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.options import GROUP, Group, Json, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

if TYPE_CHECKING:
    from augenmerk.study.report import TableStyle

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

    def make_style(self) -> "TableStyle":
        from augenmerk.study.report import TableStyle

        chosen: dict[str, Any] = dict(vars(self))
        if self.columns is None:
            del chosen["columns"]
        else:
            chosen["columns"] = tuple(name.strip() for name in self.columns.split(","))
        return TableStyle(**chosen)


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
    from augenmerk.base.files import atomic_write, make_folder
    from augenmerk.drawing.figures import save_figure
    from augenmerk.study.charts import list_charts
    from augenmerk.study.report import FORMATS, render_report
    from augenmerk.study.result import StudyResult

    if format == "csv" and table.columns is not None:
        raise AugenmerkError("CSV has every number; leave out --columns, or choose another --format.")
    style, shown = pictures.make_style(), table.make_style()
    result = StudyResult.load(study)
    text = render_report(result, shown, style) if format == "html" else FORMATS[format](result, shown)
    drawn = []
    if figures is not None:
        make_folder(figures)
        for name, chart in list_charts(result).items():
            drawn.append(figures / f"{name}.{figure_format}")
            save_figure(style.draw(chart.draw), drawn[-1], outline=style.outline)
            print_written(drawn[-1])
    file = out
    if format == "html" and file is None:
        file = (study if study.is_dir() else study.parent) / "report.html"
    if file is not None:
        atomic_write(file, [text.encode("utf-8", "backslashreplace")])
        print_written(file)
    if json:
        document = {"study": result.name, "format": format, "complete": result.complete}
        document |= {"file": str(file)} if file is not None else {"text": text}
        print_json(document if figures is None else {**document, "figures": list(map(str, drawn))})
    elif file is None:
        sys.stdout.write(text)
