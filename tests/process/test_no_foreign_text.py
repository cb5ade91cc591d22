"""Multi30k's sentences may not be passed on: none stands in a file of ours."""

import gzip
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHORT = 22
"""Below this many characters anybody may have written it."""


def test_no_sentence_of_multi30k_is_in_the_repository(multi30k_folder: Path) -> None:
    sentences: set[str] = set()
    for path in multi30k_folder.glob("*.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            sentences.update(line.strip().lower() for line in file if len(line.strip()) > SHORT)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode or not listed.stdout:
        pytest.skip("not a checkout: there is no list of what is ours")
    found = []
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="ignore").lower()
        # What a sentence would stand between: quotes, lines, tags, table cells.
        found += [(name, piece) for piece in set(re.split(r'["\n|<>`]', text)) if piece.strip() in sentences]
    assert len(sentences) > 50_000
    assert not found
