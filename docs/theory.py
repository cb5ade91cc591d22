"""Renews docs/explanation/theory.md: runs each command on it, puts its output below it, and draws figures.

The commands of the theory lab in docs/guides/teaching.md, which work on the table on that page, are run as
well. Figures are drawn into docs/figures.

    python docs/theory.py            renews the pages and figures
    python docs/theory.py --check    only reports what differs, with exit code 1 if anything does

Numbers in the paragraphs are written by hand; a command of the same section has to print each of them.
"""

import contextlib
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from augenmerk.cli import app

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "explanation" / "theory.md"
TEACHING = DOCS / "guides" / "teaching.md"
BLOCK = re.compile(r"^```console\n\$ augenmerk (theory [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"`augenmerk (theory [^`]* --out [^`]*)`")
TABLE = re.compile(r"^```csv\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|^    .*$|`[^`]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
TASK = re.compile(r"\b1\.[1-7]\b")
NUMBER = re.compile(r"\d+\.\d+%?|\d+%")


def run_command(command: str) -> str:
    result = CliRunner().invoke(app, shlex.split(command))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return "".join(line.rstrip() + "\n" for line in result.stdout.splitlines())


def renew_page(page: str) -> str:
    """Returns the page with the current output of its commands.

    They run in a temporary folder, where the first table of the page is answers.csv.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if table := TABLE.search(page):
            Path("answers.csv").write_text(table[1], encoding="utf-8")
        return BLOCK.sub(
            lambda block: f"```console\n$ augenmerk {block[1]}\n{run_command(block[1])}```", page
        )


def find_unprinted_numbers(page: str) -> Iterator[str]:
    """Yields the numbers in the paragraphs of a section that none of its commands prints."""
    for section in re.split(r"^## ", page, flags=re.MULTILINE):
        printed = set(NUMBER.findall(" ".join(block[2] for block in BLOCK.finditer(section))))
        values = {_value(number) for number in printed}
        prose = TASK.sub("", CODE.sub("", section))
        for number in NUMBER.findall(prose):
            if not any(abs(_value(number) - value) <= _rounding(number) for value in values):
                yield f"{number} in '{section.splitlines()[0]}'"


def _value(number: str) -> float:
    return float(number[:-1]) / 100 if number.endswith("%") else float(number)


def _rounding(number: str) -> float:
    """Returns half a unit of the last digit."""
    digits = len(number.rstrip("%").partition(".")[2]) + (2 if number.endswith("%") else 0)
    return 0.5000001 * 10.0**-digits


def draw_figures(page: str) -> None:
    os.chdir(DOCS)
    for command in FIGURE.findall(page):
        run_command(f"{command} --outline")  # a reader may not have the font


def main() -> None:
    wrong = []
    for path in (PAGE, TEACHING):
        page = path.read_text(encoding="utf-8")
        now = renew_page(page)
        if "--check" not in sys.argv:
            path.write_text(now, encoding="utf-8", newline="\n")
        elif now != page:
            wrong.append(f"the output of a command in {path.name}; renew it with python docs/theory.py")
    page = PAGE.read_text(encoding="utf-8")
    wrong += find_unprinted_numbers(page)
    if "--check" not in sys.argv:
        draw_figures(page)
    for each in wrong:
        sys.stderr.write(f"not as on the page: {each}\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
