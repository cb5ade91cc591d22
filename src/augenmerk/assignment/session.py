"""A whole assignment as people ask for it: `augenmerk assignment` in a function."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.assignment.plan import describe, plan_comparison
from augenmerk.assignment.report import MARKDOWN, PAGE, REPORTS, TITLE, write_reports
from augenmerk.assignment.sections import make_sections
from augenmerk.assignment.work import DOCUMENT, FORMAT, do_assignment
from augenmerk.base.console import Shown
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import check_format, read_object, write_object
from augenmerk.base.process import explain_interrupt


def assignment(
    data: str = "bilderbuch",
    *,
    fast: bool = False,
    output: str | Path = "runs/assignment",
    device: str = "auto",
    jobs: int | None = None,
    continue_with: str = "the same call of augenmerk.assignment",
) -> "AssignmentResult":
    """Does everything that the assignment asks and writes the report; what is there is not done again.

    Takes what `augenmerk assignment` takes. `continue_with` is the command in the text of an interrupt.
    """
    study, folder = plan_comparison(data, fast=fast), Path(output)
    path = folder / DOCUMENT
    if not path.exists():
        with explain_interrupt(continue_with, "What is done is kept."):
            measured = do_assignment(study, describe(data, fast=fast), folder, device, jobs)
        write_object(path, measured, indent=1)
    document = read_object(path)  # so that reports can show nothing else
    check_format(path, document.get("format"), FORMAT)
    if (document["data"], document["fast"]) != (data, fast):
        was = f"{document['data']}{' with --fast' if document['fast'] else ''}"
        raise AugenmerkError(f"{folder} has an assignment on {was}; choose another folder with --output.")
    if not all((folder / name).exists() for name in REPORTS):
        write_reports(document, folder)
    return AssignmentResult(folder, document)


class AssignmentResult(Shown):
    """A finished assignment; its JSON is `to_dict()`."""

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        self.path, self._document = path, document

    def to_dict(self) -> dict[str, Any]:
        return self._document

    @property
    def files(self) -> list[Path]:
        """The report as a page, as Markdown and as a notebook."""
        return [self.path / name for name in REPORTS]

    @property
    def html(self) -> str:
        return (self.path / PAGE).read_text("utf-8")

    @property
    def markdown(self) -> str:
        return (self.path / MARKDOWN).read_text("utf-8")

    def show(self) -> Iterator[RenderableType]:
        yield f"[bold]{TITLE}[/]\n"
        for section in make_sections(self._document):
            yield f"[dim]{section.number:4}[/][bold]{escape(section.title)}[/]"
            yield f"    {escape(section.verdict)}"
