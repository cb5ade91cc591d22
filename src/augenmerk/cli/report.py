"""`augenmerk report`: writes the result of a study as a page, or its table as text."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.terminal import print_json, print_written

if TYPE_CHECKING:
    from augenmerk.drawing.figures import Style
    from augenmerk.study.result import StudyResult

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk report runs/study-small    "
    "augenmerk report runs/study-small --format latex --columns bleu,chrf --out table.tex    "
    "augenmerk report runs/study-small --figures charts --figure-format pdf"
)
@options.grouped
def report(
    study: Annotated[Path, Argument(help="Folder of the study, or its study.json.")],
    format: Annotated[str, Option(help="html for a page; markdown, latex or csv.")] = "html",  # noqa: A002
    out: Annotated[
        Path | None, Option(help="File to write. Default: report.html in the study; stdout for tables.")
    ] = None,
    columns: Annotated[
        str | None, Option(help="Columns of the table, separated by commas, e.g. runs,bleu,seconds.")
    ] = None,
    spread: Annotated[
        str, Option(help="Beside each mean: deviation (standard deviation), variance or none.")
    ] = "deviation",
    published: Annotated[bool, Option(help="Show published numbers beside ours.")] = True,
    bold: Annotated[
        bool,
        Option(help="Print in bold the best mean of each column, and those not significantly worse."),
    ] = True,
    caption: Annotated[str | None, Option(help="With --format latex: text above the table.")] = None,
    label: Annotated[
        str | None, Option(help="With --format latex: label of the table, e.g. tab:bleu.")
    ] = None,
    figures: Annotated[Path | None, Option(help="Folder for the charts as files.")] = None,
    figure_format: Annotated[str, Option(help="With --figures: pdf, svg or png.")] = "pdf",
    pictures: options.Pictures = options.GROUP,
    json: options.Json = False,
) -> None:
    """Write the result of a study: a self-contained page, or a table for a paper."""
    from augenmerk.base.files import atomic_write
    from augenmerk.drawing.figures import FORMATS as PICTURES
    from augenmerk.study.report import FORMATS, TableStyle, render_report
    from augenmerk.study.result import StudyResult

    if format not in ("html", *FORMATS):
        raise AugenmerkError(
            f"'{format}' is not a format of reports: expected {', '.join(('html', *FORMATS))}."
        )
    if format != "latex" and (caption is not None or label is not None):
        raise AugenmerkError("--caption and --label are for LaTeX; add --format latex.")
    if format == "csv" and columns is not None:
        raise AugenmerkError("CSV has every number; leave out --columns, or choose another --format.")
    if figure_format not in PICTURES:
        raise AugenmerkError(
            f"'{figure_format}' is not a format of pictures: expected {', '.join(PICTURES)}."
        )
    style = pictures.make_style()
    table = TableStyle(spread=spread, published=published, bold=bold, caption=caption, label=label)
    if columns is not None:
        table = replace(table, columns=tuple(name.strip() for name in columns.split(",")))
    result = StudyResult.load(study)
    text = render_report(result, table, style) if format == "html" else FORMATS[format](result, table)
    drawn = [] if figures is None else _write_figures(result, figures, figure_format, style)
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


def _write_figures(result: "StudyResult", folder: Path, ending: str, style: "Style") -> list[Path]:
    """Writes each chart of the report as a file, and returns the files."""
    from augenmerk.base.files import make_folder
    from augenmerk.drawing.figures import save_figure
    from augenmerk.study.charts import list_charts

    make_folder(folder)
    files = []
    for name, chart in list_charts(result).items():
        files.append(folder / f"{name}.{ending}")
        save_figure(style.draw(chart.draw), files[-1], outline=style.outline)
        print_written(files[-1])
    return files
