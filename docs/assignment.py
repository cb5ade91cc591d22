"""Renews docs/assignment-multi30k.md, the report of an assignment on Multi30k, from docs/assignment.json.

    python docs/assignment.py ASSIGNMENT.json COMMIT    takes over a new result, without its test sentences
    python docs/assignment.py                           renews the page and its figures

The diagrams of test sentences are left out, because sentences of Multi30k may not be passed on. Those of our
own sentences, which all mechanisms translate, stay.
"""

import re
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from augenmerk.assignment.report import PICTURES, format_markdown, list_pictures
from augenmerk.assignment.sections import make_sections
from augenmerk.base.files import make_folder, read_object, write_object
from augenmerk.drawing.figures import Picture

DOCS = Path(__file__).resolve().parent
DOCUMENT, PAGE, FIGURES = DOCS / "assignment.json", DOCS / "assignment-multi30k.md", "figures/assignment"
ELSEWHERE = {f"theory-1.{n}": f"figures/theory/1.{n}.svg" for n in range(2, 8)}
"""Pictures that the documentation has already: the same experiments with the same settings."""
LINK = re.compile(rf"\({PICTURES}/([^)]+)\.svg\)")
INTRO = """# The assignment on Multi30k

This is what `{command}` reported with the original settings ({hardware}, {date}, commit {commit}). The
[tutorial](tutorials/assignment.md) explains the command. Diagrams of test sentences are left out, because the
sentences of Multi30k may not be passed on.
"""


def leave_out_sentences(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "diagrams": []}


def locate(name: str) -> str:
    """Returns where a picture of the report is. A map has so many cells that it is smaller as PNG."""
    return ELSEWHERE.get(name, f"{FIGURES}/{name}.{'png' if name.startswith('example-') else 'svg'}")


def shrink(path: Path) -> None:
    """Halves the sides of a PNG, and gives it a palette of 256 colours."""
    image = Image.open(path).convert("RGB").reduce(2)
    image.quantize(method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def make_page(document: dict[str, Any]) -> str:
    """Returns the page: the report in Markdown with our title, and links to figures of the documentation."""
    hardware = document["study"]["provenance"]["hardware"][0].partition(";")[0]
    intro = INTRO.format(hardware=hardware, **{key: document[key] for key in ("command", "date", "commit")})
    _, _, report = format_markdown(document, make_sections(document)).partition("\n")
    return intro + LINK.sub(lambda link: f"({locate(link[1])})", report)


def main() -> None:
    if sys.argv[1:]:
        path, commit = sys.argv[1:]
        taken = leave_out_sentences(read_object(Path(path))) | {"commit": commit}
        write_object(DOCUMENT, taken, indent=1)
    document = read_object(DOCUMENT)
    PAGE.write_text(make_page(document), encoding="utf-8", newline="\n")
    make_folder(DOCS / FIGURES)
    for name, draw in list_pictures(document).items():
        if name not in ELSEWHERE:
            path = DOCS / locate(name)
            Picture(draw).save(path, outline=True)
            if path.suffix == ".png":
                shrink(path)


if __name__ == "__main__":
    main()
