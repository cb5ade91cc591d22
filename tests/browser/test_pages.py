"""No text becomes markup on any page, whichever field it is in; and if it did, no browser would run it."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from augenmerk import SentencePair, Translation
from augenmerk.analysis.measures import WordAttention
from augenmerk.analysis.pages import render_patterns_page
from augenmerk.analysis.patterns import PatternMatch, classify_attention, summarise_patterns
from augenmerk.drawing import AttentionMap, Card, Chart, render_html_map, render_index_page
from augenmerk.drawing.html import render_template
from augenmerk.study.report import render_report
from augenmerk.study.result import StudyResult
from augenmerk.theory.classroom import GradedAnswer, MistakeCount, TaskSummary, collect_for_review
from augenmerk.theory.exercises import EXERCISES
from tests.process.test_report import changed, make_result, places
from tests.support.browser import WatchedTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

HOSTILE = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">\"'&"
CHECKED = {"measure", "state", "interval_covers"}
"""Strings of a study that may have certain values only."""


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name in ("src", "srcset"):
                assert (value or "").startswith("data:"), value
        assert tag != "script"


def fill_study(text: str) -> StudyResult:
    """Puts the text into every string of a study, keys included, that is not checked when it is read."""
    tree = make_result().to_dict()
    for path in list(places(tree)):
        value: Any = tree
        for key in path:
            value = value[key]
        if not isinstance(value, str):
            continue
        filled = changed(tree, path, text)
        try:
            StudyResult.from_dict(filled)
        except ValidationError:
            assert path[-1] in CHECKED, path
        else:
            tree = filled
    tree["provenance"] |= {"software": {text: text}, "signatures": {text: text}}
    return StudyResult.from_dict(tree)


def fill_map(text: str) -> AttentionMap:
    return AttentionMap([text], [text], [[1.0]], text, text, text, {text: [0.5]})


def fill_index(text: str) -> str:
    card = Card(
        heading=text,
        maps=[fill_map(text)],
        charts=[Chart("data:,", "data:,", text)],
        sentences={text: text},
        measures={text: text},
        verdict=text,
        wide=True,
        file=text,
    )
    assert all(getattr(card, field.name) for field in fields(Card))
    return render_index_page(text, text, [card])


class OneWord(Translation):
    """A translation of one word, and of one that is as long as a whole sentence."""

    @property
    def source_words(self) -> tuple[str, ...]:
        return (self.source, "</s>")

    @property
    def target_words(self) -> tuple[str, ...]:
        return (self.text, "</s>")


def fill_patterns(text: str) -> str:
    translation = OneWord(source=text, text=text)
    translation.__dict__["attention"] = np.eye(2, dtype=np.float32)
    pattern = classify_attention(WordAttention([text], [text], np.array([[1.0, 0.0]])), text)
    pair = SentencePair(text, text + text, None, (text,))
    matches = [PatternMatch(0, pair, translation, replace(pattern, kind="stuck"))]
    summary = summarise_patterns([pair], matches, of_references=False)
    return render_patterns_page(text, text, matches, matches, summary, [text])


def fill_grades(text: str) -> str:
    graded = [GradedAnswer(2, text, task, text, "needs review", "", text, text) for task in ("1.2", text)]
    mistake = MistakeCount(text, text, 2, ((text, 2),), 1)
    tasks = [TaskSummary("1.2", 2, {"right": 1, "wrong": 1, "needs review": 0, "empty": 0}, (mistake,))]
    context = {"title": text, "graded": graded, "tasks": tasks, "unread": collect_for_review(graded)}
    return render_template("grades.html", {**context, "questions": EXERCISES})


PAGES: dict[str, Callable[[str], str]] = {
    "report": lambda text: render_report(fill_study(text)),
    "patterns": fill_patterns,
    "index": fill_index,
    "grades": fill_grades,
    "map": lambda text: render_html_map(fill_map(text)),
}


@cache
def render(page: str, text: str) -> str:
    return PAGES[page](text)


@pytest.mark.parametrize("page", PAGES)
def test_text_stays_text(page: str) -> None:
    hostile, harmless = (Elements(render(page, text)).found for text in (HOSTILE, "word"))
    assert hostile == harmless


def test_a_study_is_filled_wherever_there_is_text() -> None:
    study = fill_study(HOSTILE)
    assert study.provenance is not None
    assert study.provenance.data[0].sha256 == study.variants[0].runs[0].run == study.question == HOSTILE


@pytest.mark.parametrize("page", ["report", "patterns", "index", "grades"])
def test_every_page_forbids_scripts(page: str) -> None:
    [policy] = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', render(page, "word"))
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")


def test_what_a_page_should_not_do_is_noticed(chromium: "Chromium", tmp_path: Path) -> None:
    """Other tests trust that a watched tab without complaints did nothing of this."""
    page = tmp_path / "page.html"
    (tmp_path / "beside.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    page.write_text(
        "<!DOCTYPE html><img src=beside.svg><img src=missing.svg><img src=http://page.test/far.svg>"
        "<script>console.error('said'); throw new Error('thrown');</script>",
        encoding="utf-8",
    )
    beside, missing = ((tmp_path / name).as_uri() for name in ("beside.svg", "missing.svg"))
    far = "http://page.test/far.svg"
    with chromium.new_context() as context:
        watched = WatchedTab(context, f"{page.as_uri()}#part")
        outside = {f"outside: {address}" for address in (beside, missing, far)}
        failed = {f"failed: {address}" for address in (missing, far)}
        assert outside | failed | {"said", "thrown"} <= set(watched.complaints)
        assert f"failed: {beside}" not in watched.complaints
        assert set(watched.requests) == {page.as_uri(), beside, missing, far}


def test_a_browser_runs_nothing_of_it(chromium: "Chromium", tmp_path: Path) -> None:
    with chromium.new_context() as context:
        for name in PAGES:
            page = tmp_path / f"{name}.html"
            page.write_text(render(name, HOSTILE), encoding="utf-8")
            watched = WatchedTab(context, page.as_uri())
            assert watched.tab.title() != "pwned"
            assert watched.tab.locator("script, [onerror]").count() == 0
            assert watched.requests == [page.as_uri()]
            assert watched.complaints == []


def test_the_policy_stops_scripts_even_if_a_text_became_markup(chromium: "Chromium", tmp_path: Path) -> None:
    page = render("index", "word").replace("</main>", f"{HOSTILE}</main>")
    without_policy = re.sub("<meta http-equiv[^>]*>", "", page)
    with chromium.new_context() as context:
        for text, title in ((page, "word"), (without_policy, "pwned")):
            file = tmp_path / f"{title}.html"
            file.write_text(text, encoding="utf-8")
            tab = WatchedTab(context, file.as_uri()).tab
            assert tab.locator("script, [onerror]").count() == 2
            assert tab.title() == title
