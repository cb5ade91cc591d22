"""Puts the numbers of docs/results.json where README.md and the pages name them.

    python tools/results.py

A page names a number in a comment behind it: 44.0<!--strong.beam5-->. This script replaces the number by
that of results.json, which also has its unit, what it measures, hardware, date, commit and command.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"(\d[\d.,]*)<!--([\w.-]+)-->")


@cache
def read_numbers() -> dict[str, dict[str, Any]]:
    numbers: dict[str, dict[str, Any]]
    numbers = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))["numbers"]
    return numbers


def list_pages() -> list[Path]:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(page for page in pages if "_build" not in page.parts)]


def renew_page(page: str) -> str:
    """Returns the page with the numbers of results.json; raises KeyError for a number that is not there."""
    return NAMED.sub(lambda named: f"{read_numbers()[named[2]]['value']:,}<!--{named[2]}-->", page)


if __name__ == "__main__":
    for path in list_pages():
        path.write_text(renew_page(path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
