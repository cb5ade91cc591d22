"""The gallery in the docs shows what the model that ships really does."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.test_documentation import load

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    return load("docs/gallery.py")


def test_the_page_says_what_the_model_says(gallery: ModuleType) -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    matches = gallery.find_matches()
    assert len(matches) == 12
    for name, match in matches.items():
        assert f"**{match.translation.source}** {match.translation.text}\n" in page
        assert f"> {match.pattern.verdict}\n" in page
        picture = gallery.PICTURES / f"{name}.svg"
        assert f'src="{picture.as_posix()}"' in page
        assert match.translation.target_words[-2] in (DOCS / picture).read_text(encoding="utf-8")


def test_the_page_was_not_changed_by_hand(gallery: ModuleType) -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert page.startswith(gallery.BEGINNING)
    for group in gallery.SENTENCES.values():
        for _name, _sentence, remark in group:
            assert remark in page
