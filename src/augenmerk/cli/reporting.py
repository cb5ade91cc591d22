"""`augenmerk report`: a study's result as a page, or its table as text."""

import sys
from pathlib import Path

from rich.markup import escape

from augenmerk.cli.terminal import err, print_json
from augenmerk.errors import AugenmerkError
from augenmerk.report import format_csv, format_latex, format_markdown, render_report
from augenmerk.storage import atomic_write
from augenmerk.study.result import StudyResult

WRITERS = {"html": render_report, "markdown": format_markdown, "latex": format_latex, "csv": format_csv}


def run(place: Path, format: str, file: Path | None, json: bool) -> None:  # noqa: A002
    """Writes the page beside the study, tables to stdout, either to a file if one is named."""
    if format not in WRITERS:
        raise AugenmerkError(f"'{format}' is not a format of reports: expected {', '.join(WRITERS)}.")
    result = StudyResult.load(place)
    text = WRITERS[format](result)
    if format == "html" and file is None:
        file = (place if place.is_dir() else place.parent) / "report.html"
    if file is not None:
        atomic_write(file, [text.encode("utf-8", "backslashreplace")])
        err().print(f"[dim]written:[/] {escape(str(file))}", soft_wrap=True)
    if json:
        written = {"file": str(file)} if file is not None else {"text": text}
        print_json({"study": result.name, "format": format, "complete": result.complete, **written})
    elif file is None:
        sys.stdout.write(text)
