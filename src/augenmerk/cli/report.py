"""`augenmerk report`: writes the result of a study as a page, or its table as text."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.cli.options import Json
from augenmerk.cli.terminal import print_json, print_written
from augenmerk.errors import AugenmerkError

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk report runs/study-small    "
    "augenmerk report runs/study-small --format latex --out table.tex"
)
def report(
    study: Annotated[Path, Argument(help="Folder of the study, or its study.json.")],
    format: Annotated[str, Option(help="html for a page; markdown, latex or csv.")] = "html",  # noqa: A002
    out: Annotated[
        Path | None, Option(help="File to write. Default: report.html in the study; stdout for tables.")
    ] = None,
    json: Json = False,
) -> None:
    """Write the result of a study: a self-contained page, or a table for a paper."""
    from augenmerk.report import format_csv, format_latex, format_markdown, render_report
    from augenmerk.storage import atomic_write
    from augenmerk.study.result import StudyResult

    writers = {"html": render_report, "markdown": format_markdown, "latex": format_latex, "csv": format_csv}
    if format not in writers:
        raise AugenmerkError(f"'{format}' is not a format of reports: expected {', '.join(writers)}.")
    result = StudyResult.load(study)
    text = writers[format](result)
    file = out
    if format == "html" and file is None:
        file = (study if study.is_dir() else study.parent) / "report.html"
    if file is not None:
        atomic_write(file, [text.encode("utf-8", "backslashreplace")])
        print_written(file)
    if json:
        written = {"file": str(file)} if file is not None else {"text": text}
        print_json({"study": result.name, "format": format, "complete": result.complete, **written})
    elif file is None:
        sys.stdout.write(text)
