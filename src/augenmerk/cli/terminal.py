"""What commands print with: results on stdout, everything else on stderr."""

import json
import sys
from functools import cache
from typing import Any

from rich.console import Console


@cache
def out() -> Console:
    """For results. Not highlighted: numbers and quotes in sentences are nothing special."""
    return Console(highlight=False)


@cache
def err() -> Console:
    """For progress and remarks, so that stdout can be piped."""
    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """One JSON document, readable for people too; a pipe gets what a terminal gets."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
