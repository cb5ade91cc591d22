"""The exported page in a real browser: opened from a disk and over HTTP, typed into, pointed at, dragged."""

import json
import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pytest

from augenmerk.text.tokenizer import BOS, EOS
from augenmerk.translation import Part, load
from augenmerk.web.export import export_page, make_page
from augenmerk.web.templates import WEB
from tests.support.browser import TIMEOUT, WatchedTab, open_engine
from tests.support.processes import ROOT
from tests.support.runs import SharedRuns, tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, Route

EXAMPLE = "Der Hund schläft."
OTHER = "Die Frau lacht."
HOSTILE = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">\"'&"
BPE = {"text__unit": "bpe", "text__vocabulary_size": 400, "train__epochs": 5}


class Files:
    """Exported pages, by name, and the runs that are in them."""

    def __init__(self, folder: Path, shared_runs: SharedRuns) -> None:
        self.run = shared_runs.copy(tiny(**BPE), folder / "runs" / "one").path
        self.mean = shared_runs.copy(tiny(model__attention="mean"), folder / "runs" / "mean").path
        hostile = folder / "runs" / HOSTILE.replace("/", "∕")
        self.words = shared_runs.copy(tiny(), hostile).path
        other = {"model__architecture": "transformer", "model__attention": "multi-head", "model__layers": 2}
        self.transformer = shared_runs.copy(tiny(**other), folder / "runs" / "transformer").path
        self.none = shared_runs.copy(tiny(model__attention="none"), folder / "runs" / "none").path
        self.one = folder / "one.html"
        self.two = folder / "two.html"
        self.others = folder / "others.html"
        self.site = folder / "site"
        one = make_page([self.run], beam=3, examples=[EXAMPLE, HOSTILE])
        export_page(one, self.one)
        export_page(one, self.site)
        export_page(make_page([self.words, self.mean], beam=2, examples=[EXAMPLE]), self.two)
        export_page(make_page([self.transformer, self.none], beam=2), self.others)
        self.vocabulary = folder / "vocabulary.html"
        page = make_page([self.words], beam=2)
        tokens = page.bundles[0].settings["tokenizers"]["target"]["tokens"]
        tokens[4:] = [f"{HOSTILE}{number}" for number in range(4, len(tokens))]
        export_page(replace(page, examples=[]), self.vocabulary)


@pytest.fixture(scope="module")
def files(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("pages"), shared_runs)


class View(WatchedTab):
    """An exported page in a tab, with what people do in it and see."""

    def __init__(self, context: "BrowserContext", address: str, wait: bool = True) -> None:
        super().__init__(context, address)
        if wait:
            self.tab.wait_for_selector("html[data-ready]")

    def go(self, fragment: str = "") -> None:
        """Leads the page to another state, and waits until its translation is there."""
        super().go(fragment)
        self.tab.evaluate("document.getElementById('copy-status').textContent = ''")
        self.settle()

    def settle(self) -> None:
        """Waits until the translation is there."""
        self.wait("!document.querySelector('.answer.waiting')")

    def said(self, number: int = 0) -> str:
        """The translation that is shown, without the sign for the end."""
        return self.tab.inner_text(f"#answer-{number} .said").replace("∎", "").strip()

    def type(self, text: str) -> None:
        """Types a sentence, and waits until its translation is there."""
        self.tab.fill("#text", text)
        self.wait(
            "text => new URLSearchParams(location.hash.slice(1)).get('text') === text.toWellFormed()"
            " && !document.querySelector('.answer.waiting')",
            text,
        )

    def bars(self, inside: str) -> list[tuple[str, float]]:
        """The words of a list with bars, and their shares."""
        found = self.tab.eval_on_selector_all(
            f"{inside} .candidate",
            "rows => rows.map(row => [row.querySelector('.token').textContent,"
            " Number(row.querySelector('.bar').style.getPropertyValue('--share'))])",
        )
        return [(word, share) for word, share in found]


OPTIONS: Any = {
    "locale": "en-GB",
    "viewport": {"width": 1200, "height": 900},
    "permissions": ["clipboard-read", "clipboard-write"],
}


@pytest.fixture
def context(chromium: "Chromium") -> "Iterator[BrowserContext]":
    with chromium.new_context(**OPTIONS) as context:
        yield context


class Pages:
    """Exported pages that are opened from the disk once, and then led from state to state by addresses."""

    def __init__(self, context: "BrowserContext", files: Files) -> None:
        self.context = context
        self.files = files
        self.opened: dict[str, View] = {}

    def open(self, name: str, fragment: str = "") -> View:
        address = getattr(self.files, name).as_uri()
        if name not in self.opened:
            self.opened[name] = View(self.context, address)
        view = self.opened[name]
        view.go(fragment)
        return view

    def check(self) -> None:
        """Asserts that no page complained or asked for anything but itself; one that did is closed."""
        for name, view in list(self.opened.items()):
            asked = {one.partition("#")[0] for one in view.requests if not one.startswith(("blob:", "data:"))}
            if view.complaints or asked != {getattr(self.files, name).as_uri()}:
                self.opened.pop(name).tab.close()
                raise AssertionError((name, view.complaints, asked))


@pytest.fixture(scope="module")
def all_pages(chromium: "Chromium", files: Files) -> Iterator[Pages]:
    with chromium.new_context(**OPTIONS) as context:
        yield Pages(context, files)


@pytest.fixture
def pages(all_pages: Pages) -> Iterator[Pages]:
    yield all_pages
    all_pages.check()


@pytest.fixture
def fresh(context: "BrowserContext", files: Files) -> Iterator[Pages]:
    """Pages that nobody has used: editor and beam show what they had before until they have more."""
    pages = Pages(context, files)
    yield pages
    pages.check()


@pytest.fixture
def view(fresh: Pages) -> View:
    return fresh.open("one")


def test_a_stored_example_is_there_before_the_model(context: "BrowserContext", files: Files) -> None:
    # Without workers the model never becomes ready.
    context.add_init_script("window.Worker = class { postMessage() {} };")
    view = View(context, files.one.as_uri(), wait=False)
    view.tab.wait_for_selector(".map td")
    assert view.said() == load(files.run).translate(EXAMPLE, beam=3).text
    assert view.bars("#place")
    view.tab.fill("#text", OTHER)
    view.tab.wait_for_selector("text=the translation follows")


def test_what_is_typed_is_translated_as_python_does(pages: Pages, files: Files) -> None:
    view = pages.open("one")
    view.type(OTHER)
    translation = load(files.run).translate(OTHER, beam=3)
    assert view.said() == translation.text
    rows = view.tab.eval_on_selector_all(
        "#answer-0 tbody th[scope=row] .word", "words => words.map(w => w.textContent)"
    )
    assert len(rows) == len(translation.target_words)
    columns = view.tab.eval_on_selector_all(
        "#answer-0 thead th[scope=col]", "words => words.map(w => w.textContent)"
    )
    assert columns == [*translation.source_words[:-1], "∎"]
    assert view.tab.inner_text(".spoken") == translation.text
    view.tab.select_option("#beam", "1")
    view.settle()
    assert view.said() == load(files.run).translate(OTHER, beam=1).text


def test_a_word_that_is_pointed_at_lights_up_its_row_its_column_and_its_numbers(pages: Pages) -> None:
    view = pages.open("one")
    cell = view.tab.locator("td[data-row='0'][data-column='1']")
    cell.hover()
    lit = "cells => cells.map(cell => `${cell.dataset.row},${cell.dataset.column}`)"
    places = set(view.tab.eval_on_selector_all("td.lit", lit))
    columns, rows = (view.tab.locator(f"#answer-0 {part}").count() for part in ("thead th", "tbody tr"))
    assert places == {f"0,{column}" for column in range(columns)} | {f"{row},1" for row in range(rows)}
    assert re.search(r"attends to .*: 0\.\d\d$", view.tab.inner_text(".readout"))
    view.tab.locator("#answer-0 thead th").nth(0).hover()
    assert "attended to by" in view.tab.inner_text(".readout")
    view.tab.mouse.move(0, 0)
    assert view.tab.locator("td.lit").count() == 0


def test_the_keyboard_reaches_every_word(pages: Pages) -> None:
    view = pages.open("one")
    view.tab.locator("tbody th .word[tabindex='0']").focus()
    view.tab.keyboard.press("ArrowUp")
    view.tab.keyboard.press("ArrowDown")
    rows = view.tab.locator("#answer-0 tbody tr").count()
    for _ in range(rows):
        view.tab.keyboard.press("ArrowDown")
    assert view.tab.locator(f"td.lit[data-row='{rows - 1}']").count() > 0
    view.tab.keyboard.press("ArrowRight")
    view.tab.keyboard.press("ArrowRight")
    assert view.tab.locator("thead th.lit").count() == 1
    assert "attended to by" in view.tab.inner_text(".readout")
    view.tab.keyboard.press("ArrowUp")
    view.tab.keyboard.press("Enter")
    assert "at" in view.fragment()
    assert view.tab.evaluate("document.activeElement.closest('tbody th') !== null")


def test_next_words_are_offered_and_the_translation_goes_on_with_one(pages: Pages, files: Files) -> None:
    view = pages.open("one")
    view.tab.locator("#answer-0 .said .word").first.click()
    offered = view.bars("#place ol:first-of-type")
    shares = [share for _, share in offered[:5]]
    assert shares == sorted(shares, reverse=True)
    view.tab.locator("#place .candidate").nth(1).click()
    view.settle()
    chosen = int(view.fragment()["begin"])
    assert view.said().startswith(load(files.run).tokenizers.target.decode([chosen]))
    assert "Starts as you chose" in view.tab.inner_text(".forced")
    view.tab.click(".forced button")
    view.settle()
    assert view.said() == load(files.run).translate(EXAMPLE, beam=3).text


def open_editor(view: View) -> None:
    view.tab.locator("#answer-0 .said .word").first.click()
    view.tab.click("#panel-change summary")
    view.tab.wait_for_selector(".prediction .candidate")


def weights(view: View) -> list[float]:
    found: list[float] = view.tab.eval_on_selector_all(
        ".weights input[type=range]", "sliders => sliders.map(slider => slider.valueAsNumber)"
    )
    return found


def test_changed_attention_changes_the_next_word_exactly(view: View) -> None:
    open_editor(view)
    own, before = weights(view), view.bars(".prediction")
    assert sum(own) == pytest.approx(1, abs=0.05)
    sliders = view.tab.locator(".weights input[type=range]")
    sliders.nth(1).scroll_into_view_if_needed()
    box = sliders.nth(1).bounding_box()
    assert box is not None
    view.tab.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    view.tab.mouse.down()
    view.tab.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=4)
    view.tab.mouse.up()
    assert weights(view)[1] == pytest.approx(0.6, abs=0.1)
    view.wait(
        "before => document.querySelector('.prediction .bar').style.getPropertyValue('--share') !== before",
        str(before[0][1]),
    )
    view.tab.get_by_role("button", name="Uniform").click()
    assert weights(view) == pytest.approx([1 / len(own)] * len(own), abs=0.01)
    view.tab.locator(".weights th .word").nth(2).click()
    assert weights(view) == [float(place == 2) for place in range(len(own))]
    view.tab.locator(".weights select").nth(0).select_option("2")
    view.tab.locator(".weights select").nth(1).select_option("0")
    view.tab.get_by_role("button", name="Swap", exact=True).click()
    assert weights(view) == [float(place == 0) for place in range(len(own))]
    number = view.tab.locator(".weights input[type=number]").nth(1)
    number.fill("25")
    number.press("Enter")
    assert weights(view)[:2] == pytest.approx([0.75, 0.25])
    view.tab.get_by_role("button", name="Reset").click()
    view.wait(
        "before => document.querySelector('.prediction .bar').style.getPropertyValue('--share') === before",
        str(before[0][1]),
    )
    assert view.bars(".prediction") == before


def test_a_sentence_goes_on_under_changed_attention_and_a_link_shows_it_again(
    view: View, context: "BrowserContext"
) -> None:
    open_editor(view)
    view.tab.locator(".weights th .word").nth(0).click()
    view.tab.get_by_role("button", name="Continue from here").click()
    view.settle()
    assert view.fragment()["changed"].startswith("0:1,0,0")
    first = view.tab.eval_on_selector_all("td[data-row='0']", "cells => cells.map(cell => cell.textContent)")
    assert first[0] == "1"
    assert view.tab.locator("tbody .mark").count() == 1
    again = View(context, view.tab.url)
    again.settle()
    again.tab.wait_for_selector(".prediction .candidate")
    for part in (".said", ".forced", ".map", "#place", ".prediction"):
        assert again.tab.inner_text(part) == view.tab.inner_text(part), part
    assert weights(again) == weights(view)
    assert again.complaints == []


def test_what_would_make_it_say_a_word(view: View) -> None:
    open_editor(view)
    word, _ = view.bars(".prediction")[1]
    view.tab.fill("#wish", word.removeprefix("·"))
    view.tab.get_by_role("button", name="Find").click()
    view.wait("document.querySelector('.wanted .answer').textContent !== ''")
    answer = view.tab.inner_text(".wanted .answer")
    assert re.search("likeliest|comes first|come first|as likely as it gets", answer), answer
    assert sum(weights(view)) == pytest.approx(1, abs=0.1)
    view.tab.fill("#wish", "Donaudampfschiff")
    view.tab.get_by_role("button", name="Find").click()
    view.wait("document.querySelector('.wanted .answer').textContent.includes('vocabulary')")


def test_the_beam_is_a_tree_that_can_be_stepped_through(view: View, files: Files) -> None:
    view.tab.click("#panel-beam summary")
    view.tab.wait_for_selector(".tree")
    tree = load(files.run).trace(EXAMPLE, beam=3, n_best=3)
    last = max(node["step"] for node in tree["nodes"])
    assert f"step {last} of {last}" in view.tab.inner_text("#beam-content")
    view.tab.get_by_role("button", name="First step").click()
    rows = view.tab.locator(".steps tbody tr")
    assert rows.count() == sum(node["step"] == 1 for node in tree["nodes"])
    view.wait("new URLSearchParams(location.hash.slice(1)).get('step') === '1'")
    view.tab.get_by_role("button", name="Next step").click()
    nodes = [node for node in tree["nodes"] if node["step"] == 2]
    assert rows.count() == len(nodes)
    dropped = view.tab.locator(".steps tr.pruned").count()
    assert dropped == sum(node["status"] == "pruned" for node in nodes) > 0
    score, lowest = re.findall(
        r"[−-]\d+\.\d\d", view.tab.inner_text(".steps tr.pruned >> nth=0 >> td >> nth=-1")
    )
    assert float(score.replace("−", "-")) <= float(lowest.replace("−", "-"))
    view.tab.locator(".steps tr.pruned th .word").first.click()
    view.settle()
    assert len(view.fragment()["begin"].split(".")) == 2
    assert view.tab.locator(".found li").count() >= 1


def test_lines_show_the_same_weights(pages: Pages) -> None:
    view = pages.open("one")
    view.tab.select_option("#view", "lines")
    view.tab.wait_for_selector("svg.lines path")
    word = view.tab.locator("svg.lines text[data-row='0']")
    word.hover()
    lit = view.tab.eval_on_selector_all("svg.lines path.lit", "lines => lines.map(line => line.dataset.row)")
    assert set(lit) == {"0"}
    word.click()
    assert view.fragment()["view"] == "lines"
    assert view.tab.locator("table.unseen td").count() > 0  # for screen readers
    view.tab.select_option("#unit", "subwords")
    assert view.fragment()["unit"] == "subwords"


def test_a_link_and_the_data_are_copied(pages: Pages, files: Files) -> None:
    view = pages.open("one")
    view.type(OTHER)
    read = "navigator.clipboard.readText()"
    view.tab.get_by_role("button", name="Link", exact=True).click()
    view.tab.wait_for_selector("text=Copied.")
    assert view.tab.evaluate(read) == view.tab.url
    view.tab.get_by_role("button", name="JSON").click()
    view.wait(f"{read}.then(text => text.startsWith('{{'))")
    copied = json.loads(view.tab.evaluate(read))
    expected = load(files.run).translate(OTHER, beam=3).to_dict(subwords=True)
    assert copied["translation"] == expected["translation"]
    assert copied["target_subwords"] == expected["target_subwords"]
    assert copied.keys() >= expected.keys()
    for form in ("map", "lines"):
        view.tab.select_option("#view", form)
        view.tab.get_by_role("button", name="SVG").click()
        view.wait(f"{read}.then(text => text.startsWith('<svg'))")
        assert "Frau" in view.tab.evaluate(read)
        view.tab.get_by_role("button", name="PNG").click()
        view.wait("navigator.clipboard.read().then(items => items[0].types.includes('image/png'))")


def test_the_page_speaks_german_where_the_browser_does(chromium: "Chromium", files: Files) -> None:
    context = chromium.new_context(locale="de-DE")
    view = View(context, files.one.as_uri())
    assert "Übersetzung (Englisch)" in view.tab.inner_text("body")
    view.tab.select_option("#language", "en")
    assert "Translation (English)" in view.tab.inner_text("body")
    assert view.fragment()["language"] == "en"
    context.close()


@pytest.mark.parametrize(
    ("scheme", "fragment"),
    [("light", ""), ("dark", ""), ("light", "theme=dark"), ("dark", "theme=projector")],
)
def test_themes(scheme: Any, fragment: str, chromium: "Chromium", files: Files) -> None:
    context = chromium.new_context(color_scheme=scheme)
    view = View(context, f"{files.one.as_uri()}#{fragment}")
    colours = "getComputedStyle(document.body)"
    paper, ink = (
        sum(map(int, re.findall(r"\d+", view.tab.evaluate(f"{colours}.{name}"))[:3]))
        for name in ("backgroundColor", "color")
    )
    dark = "dark" in fragment or (scheme == "dark" and not fragment)
    assert (paper < ink) == dark
    assert abs(paper - ink) > 500
    view.tab.select_option("#theme", "light")
    assert sum(map(int, re.findall(r"\d+", view.tab.evaluate(f"{colours}.backgroundColor"))[:3])) > 700
    context.close()


@pytest.mark.parametrize("page", ["one", "two"])
def test_nothing_sticks_out_on_a_phone(page: str, chromium: "Chromium", files: Files) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, locale="de-DE", has_touch=True)
    long = quote(
        "Ein Hund und eine Katze und ein Pferd schlafen unter dem Donaudampfschifffahrtsgesellschaftsbaum. "
        * 3
    )
    for fragment in (
        "open=change,beam",
        f"open=change,beam&text={long}",
        f"view=lines&unit=subwords&text={long}",
    ):
        view = View(context, f"{getattr(files, page).as_uri()}#{fragment}")
        view.settle()
        assert view.tab.evaluate("document.documentElement.scrollWidth") <= 360, fragment
        assert view.complaints == []
        view.tab.close()
    context.close()


def test_two_models_stand_side_by_side_on_one_scale(pages: Pages, files: Files) -> None:
    view = pages.open("two")
    view.type(OTHER)
    for number, run in enumerate((files.words, files.mean)):
        assert view.said(number) == load(run).translate(OTHER, beam=2).text
    assert view.tab.locator(".comparison tbody tr").count() == 2
    assert "pwned" not in view.tab.title().partition(":")[0]
    # The mean looks at all words alike: as many as there are, the end included.
    spread = float(view.tab.inner_text(".comparison tbody tr >> nth=1 >> td >> nth=-1"))
    assert spread == pytest.approx(len(load(files.mean).translate(OTHER).source_words), abs=0.1)
    same = "td => [td.className.replace(/ .*/, ''), getComputedStyle(td).backgroundColor]"
    colours: dict[str, set[str]] = {}
    for level, colour in view.tab.eval_on_selector_all(".map td[data-row]", f"cells => cells.map({same})"):
        colours.setdefault(level, set()).add(colour)
    assert all(len(each) == 1 for each in colours.values())
    view.tab.locator("#answer-1 .said .word").first.click()
    assert view.fragment()["selectedModel"] == "1"


def test_going_on_with_another_word_leaves_the_other_model_alone(pages: Pages) -> None:
    view = pages.open("two")
    before = view.said(0)
    view.tab.locator("#answer-1 .said .word").first.click()
    view.tab.locator("#place .candidate").nth(1).click()
    view.settle()
    assert (view.fragment()["changedModel"], view.said(0)) == ("1", before)
    assert view.tab.inner_text("#answer-0 .forced") == ""
    assert "Starts as you chose" in view.tab.inner_text("#answer-1 .forced")


def test_models_whose_attention_cannot_be_changed_say_so(fresh: Pages, files: Files) -> None:
    view = fresh.open("others", "open=change,beam")
    view.type(OTHER)
    for number, run in enumerate((files.transformer, files.none)):
        assert view.said(number) == load(run).translate(OTHER, beam=2).text
        view.tab.locator(f"#answer-{number} .said .word").first.click()
        hint = view.tab.inner_text("#change-content")
        assert ("Transformer", "attends to nothing")[number] in hint
        assert view.tab.locator(".tree text").count() > 2
    assert "all weights are 0" in view.tab.inner_text("#answer-1 .status")


@pytest.mark.parametrize("page", ["one", "two"])
def test_markup_stays_text_wherever_it_comes_from(page: str, pages: Pages) -> None:
    view = pages.open(page, f"text={quote(HOSTILE)}&open=change,beam")
    view.settle()
    elements = view.tab.evaluate("document.querySelectorAll('img, [onerror], script:not([type])').length")
    assert elements == 1  # the page's own script
    assert not view.tab.title().startswith("pwned")
    assert view.tab.input_value("#text") == HOSTILE
    assert {"<", "script", "onerror"} <= set(view.tab.inner_text("#answer-0 thead").split())
    view.tab.select_option("#view", "lines")
    view.tab.get_by_role("button", name="SVG").click()
    view.tab.wait_for_selector("text=Copied.")
    assert "<script" not in view.tab.evaluate("navigator.clipboard.readText()")
    assert not view.tab.title().startswith("pwned")


def test_markup_in_a_vocabulary_stays_text(fresh: Pages) -> None:
    view = fresh.open("vocabulary", f"text={quote(OTHER)}&open=change,beam&at=0&step=1")
    view.settle()
    view.tab.wait_for_selector(".prediction .candidate")
    view.tab.wait_for_selector(".tree")
    view.tab.fill("#wish", f"{HOSTILE}9")
    view.tab.get_by_role("button", name="Find").click()
    view.wait("document.querySelector('.wanted .answer').textContent !== ''")
    for part in (".said", ".map", "#place", ".prediction", ".wanted .answer", ".steps", ".found"):
        assert "<script>" in view.tab.inner_text(part), part
    assert view.tab.evaluate("document.querySelectorAll('img, [onerror], script:not([type])').length") == 1
    view.tab.select_option("#view", "lines")
    view.tab.get_by_role("button", name="SVG").click()
    view.tab.wait_for_selector("text=Copied.")
    copied = view.tab.evaluate("navigator.clipboard.readText()")
    assert "pwned" in copied
    assert "<script" not in copied
    assert not view.tab.title().startswith("pwned")


@pytest.mark.parametrize(
    "fragment",
    [
        "text=%ff%00&beam=9999&view=x&unit=&selectedModel=7&at=-5&tried=,&changed=;;1:;0:1&open=a,b&step=0&theme=url()&language=xx",
        "begin=1.2.x&changed=0:a,b&at=99999&text=Hund",
        "begin=0.1.2&text=Der%20Hund%20schl%C3%A4ft.",
        "begin=999999&text=Der%20Hund%20schl%C3%A4ft.",
        "changed=0:1&open=change&text=Der%20Hund%20schl%C3%A4ft.",
        "changed=0:1,1e9;0:nan;2:0,0;x&tried=0.5,-1&at=0&open=change&text=Der%20Hund%20schl%C3%A4ft.",
        "text=" + "ein " * 3000,
        "%%%=&&&",
    ],
)
def test_an_address_that_makes_no_sense_does_no_harm(fragment: str, pages: Pages, files: Files) -> None:
    view = pages.open("one", fragment)
    view.settle()
    view.type(OTHER)
    assert view.said() == load(files.run).translate(OTHER, beam=3).text


def test_an_empty_sentence_and_text_from_right_to_left(pages: Pages) -> None:
    view = pages.open("one")
    for text in ("", "   ", "كلب صغير ينام تحت الشجرة", "🐶 " * 5, "\u202everkehrt\u202c", "\ud83d"):
        view.type(text)
        assert not view.tab.locator(".answer .error").count()
        assert bool(view.said()) == bool(text.strip())
    assert view.tab.get_attribute("#text", "dir") == "auto"


@pytest.fixture
def site(files: Files) -> Iterator[str]:
    """The address of the exported folder on a web server."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(files.site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_folder_works_over_http(files: Files, context: "BrowserContext", site: str) -> None:
    view = View(context, f"{site}/index.html")
    view.type(OTHER)
    assert view.said() == load(files.run).translate(OTHER, beam=3).text
    assert view.complaints == []
    assert all(url.startswith((site, "data:")) for url in view.requests)
    assert view.tab.locator(".from-disk").count() == 0
    view.tab.close()


def test_a_folder_that_is_opened_from_a_disk_says_what_it_needs(
    files: Files, context: "BrowserContext"
) -> None:
    view = View(context, (files.site / "index.html").as_uri(), wait=False)
    assert view.tab.locator(".from-disk").is_visible()


def test_the_policy_stops_what_is_not_the_pages_own(context: "BrowserContext", files: Files) -> None:
    changed = files.one.with_name("changed.html")
    page = files.one.read_text(encoding="utf-8")
    changed.write_text(page.replace("</main>", f"{HOSTILE}</main>"), encoding="utf-8")
    view = View(context, changed.as_uri())
    assert not view.tab.title().startswith("pwned")
    assert view.complaints  # it says what it did not run


def test_the_page_in_docs_translates(context: "BrowserContext") -> None:
    """It was exported once (docs/guides/exporting.md says how), so it must depend on nothing here."""
    page = ROOT / "docs" / "translator.html"
    view = View(context, page.as_uri())
    view.type("Die Katze schläft.")
    assert view.said() == "The cat is sleeping."
    assert [one for one in view.requests if not one.startswith("blob:")] == [page.as_uri()]
    assert view.complaints == []


def test_nothing_goes_on_after_the_end(pages: Pages) -> None:
    view = pages.open("one")
    last = view.tab.locator("#answer-0 .said .word").count() - 1
    view.tab.locator("#answer-0 .said .word").nth(last).click()
    view.wait("document.querySelector('#place .candidate.said, #place .candidate') !== null")
    ends = view.tab.locator("#place .candidate", has_text="∎")
    assert ends.count() > 0
    assert ends.evaluate_all("all => all.every(each => each.tagName === 'SPAN')")


@pytest.mark.parametrize("text", ["Ein Hund\fschläft.", "x" * 79 + "🐕 schläft."])
def test_a_picture_of_any_sentence_is_copied(pages: Pages, text: str) -> None:
    view = pages.open("one")
    view.type(text)
    view.tab.click("[data-form='png']")
    view.wait("document.getElementById('copy-status').textContent === 'Copied.'")
    view.tab.click("[data-form='svg']")
    svg = (
        "navigator.clipboard.readText().then(text => new DOMParser().parseFromString(text, 'image/svg+xml'))"
    )
    view.wait(f"{svg}.then(tree => tree.querySelector('parsererror') === null)")


def test_an_example_is_shown_again_while_the_model_is_read(context: "BrowserContext", site: str) -> None:
    weights: list[Route] = []
    context.route(re.compile(r"\.bin"), lambda route: weights.append(route))
    view = View(context, f"{site}/index.html", wait=False)
    shown = view.said()
    view.tab.fill("#text", OTHER)
    view.tab.wait_for_selector(".answer.waiting")
    view.tab.get_by_role("button", name=EXAMPLE, exact=True).click()
    view.settle()
    assert view.said() == shown
    while not weights:
        view.tab.wait_for_timeout(20)
    weights[0].continue_()
    view.tab.wait_for_selector("html[data-ready]", timeout=60_000)
    view.settle()
    assert view.said() == shown


def test_a_subword_that_is_offered_is_the_one_that_is_wanted(fresh: Pages, files: Files) -> None:
    """`·er`, which continues a word, is another entry of the vocabulary than `er`, which begins one."""
    view = fresh.open("one", "open=change&at=1")
    view.wait("document.querySelectorAll('#wishes option').length > 20")
    offered = view.tab.eval_on_selector_all("#wishes option", "all => all.map(each => each.value)")
    text = next(text for text in offered if text.startswith("·"))
    view.tab.fill("#wish", text)
    view.tab.press("#wish", "Enter")
    view.wait("document.querySelector('.wanted .answer').textContent !== ''")
    translator = load(files.run)
    target = translator.tokenizers.target
    translation = translator.translate(EXAMPLE, beam=3)
    assert translation.hypothesis is not None
    src = np.array([[*translator.tokenizers.source.encode(EXAMPLE).ids, EOS]])
    model: Any = translator.models[0]  # the one in numpy
    source = model.encode(src, np.ones_like(src, bool))
    state = source.start
    for token in (BOS, translation.hypothesis.ids[0]):
        log_probs, _, state = model.step(np.array([[token]]), state, source.memory)
    [continues] = [i for i in range(4, target.size) if target.token(i) == text[1:]]
    percent = 100 * math.exp(log_probs[0, 0, continues])
    shown = "<0.1" if percent < 0.1 else f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"
    assert f"the model's own attention {shown} %" in view.tab.inner_text(".wanted .answer")


def test_the_beam_shows_the_step_of_the_address(fresh: Pages) -> None:
    view = fresh.open("one", "open=beam&step=2")
    view.tab.wait_for_selector("#beam-content input[type=range]")
    step = "Number(document.querySelector('#beam-content input[type=range]').value)"
    assert view.tab.evaluate(step) == 2
    view.tab.evaluate("location.hash = '#open=beam&step=1'")
    view.wait(f"{step} === 1")
    view.tab.get_by_role("button", name=EXAMPLE, exact=True).click()
    view.wait(f"{step} > 1")
    assert "step" not in view.fragment()


def test_a_model_that_cannot_be_read_leaves_nothing_of_another_sentence(
    context: "BrowserContext", site: str
) -> None:
    context.route(re.compile(r"\.bin"), lambda route: route.abort())
    view = View(context, f"{site}/index.html")
    assert view.said()
    view.tab.fill("#text", OTHER)
    view.tab.wait_for_selector(".answer .error")
    assert not view.said()
    view.tab.click("#panel-change summary")
    view.tab.wait_for_selector("#change-content >> text=could not be loaded")


def test_a_text_without_words_has_no_beam(fresh: Pages) -> None:
    view = fresh.open("one", "open=beam")
    view.tab.fill("#text", "\u200b")
    view.wait(
        "document.querySelector('#beam-content').textContent === 'Nothing to show: there are no words.'"
    )


def test_the_own_attention_of_several_heads_is_not_replaced_by_its_mean(
    context: "BrowserContext", shared_runs: SharedRuns, tmp_path: Path
) -> None:
    run = shared_runs.copy(tiny(model__attention="multi-head"), tmp_path / "heads").path
    page = tmp_path / "page.html"
    export_page(make_page([run], beam=1, examples=[EXAMPLE]), page)
    view = View(context, f"{page.as_uri()}#open=change&at=1")
    view.tab.wait_for_selector(".editor")
    assert "All heads get the same weights" in view.tab.inner_text(".editor")
    own = view.bars(".prediction")
    view.tab.get_by_role("button", name="Uniform").click()
    first = "document.querySelector('.prediction .bar').style.getPropertyValue('--share')"
    view.wait(f"own => {first} !== own", str(own[0][1]))
    view.tab.get_by_role("button", name="Reset").click()
    view.wait(f"own => {first} === own", str(own[0][1]))
    assert view.bars(".prediction") == own


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_layers_and_heads_are_chosen_without_a_server(
    context: "BrowserContext", shared_runs: SharedRuns, tmp_path: Path, architecture: str
) -> None:
    settings = {"model__architecture": architecture, "model__attention": "multi-head", "model__heads": 2}
    run = shared_runs.copy(tiny(**settings, model__layers=2), tmp_path / "heads").path
    page = tmp_path / "page.html"
    export_page(make_page([run], beam=1, examples=[EXAMPLE]), page)
    expected = load(run).translate(EXAMPLE, beam=1, heads=True)
    view = View(context, f"{page.as_uri()}#head=2")
    view.settle()
    part: Part = "cross"
    if architecture == "transformer":
        view.tab.select_option("#layer", "1")
        part = "encoder"
        view.tab.select_option("#part", part)
        view.wait("document.querySelector('.head-name')?.textContent.includes('encoder')")
    heads = expected.select_heads(part, 1)
    assert "head 2" in view.tab.inner_text(".head-name")
    cells = view.tab.eval_on_selector_all("td[data-row]", "all => all.map(cell => cell.className)")
    levels = [f"h{round(weight * 47)}" for weight in heads[1].attention.ravel().tolist()]
    assert sum(one != other for one, other in zip(cells, levels, strict=True)) <= 1  # but for rounding
    view.tab.select_option("#head", "all")
    view.tab.wait_for_selector(".small-map")
    assert view.tab.locator(".small-map").count() == len(expected.select_heads(part))
    assert view.complaints == []


def test_the_selected_word_is_counted_in_words(pages: Pages) -> None:
    view = pages.open("one")
    rows = view.tab.locator("#answer-0 tbody tr").count()
    view.tab.locator("#answer-0 .said .word").last.click()
    assert view.tab.inner_text("#place h3").endswith(f"word {rows} of {rows}")
    view.tab.select_option("#unit", "subwords")
    tokens = view.tab.locator("#answer-0 tbody tr").count()
    assert tokens > rows
    assert view.tab.inner_text("#place h3").endswith(f"word {tokens} of {tokens}")


def test_a_dark_page_prints_light(context: "BrowserContext", files: Files) -> None:
    view = View(context, f"{files.one.as_uri()}#theme=dark")
    colours = "[...'body p'.split(' ')].map(one => getComputedStyle(document.querySelector(one)))"
    seen = f"{colours}.map(style => [style.backgroundColor, style.color])[0]"
    dark = view.tab.evaluate(seen)
    view.tab.emulate_media(media="print")
    paper, ink = view.tab.evaluate(seen)
    assert [paper, ink] != dark
    bright = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (paper, ink)]
    assert bright[0] > 600 > 300 > bright[1]


def focused(view: View) -> str:
    """Where the focus is: the first class or the tag of the element, and the part of the page it is in."""
    found: str = view.tab.evaluate(
        "(() => { const node = document.activeElement; const part = node.closest('[id]');"
        " return `${part?.id ?? 'body'} ${node.className.split(' ')[0] || node.tagName.toLowerCase()}`; })()"
    )
    return found


def test_the_focus_stays_near_a_button_that_goes_away(pages: Pages) -> None:
    view = pages.open("one")
    view.tab.locator("#answer-0 .said .word").first.click()
    view.tab.locator("#place button.candidate").nth(1).click()
    view.settle()
    assert focused(view) == "place candidate"
    view.tab.locator(".forced button").focus()
    view.tab.keyboard.press("Enter")  # undo
    view.settle()
    assert focused(view) == "answer-0 word"

    # The arrows at the ends of a sentence.
    for key, other in (("after", "before"), ("before", "after")):
        view.tab.locator(f"#place [data-key={key}]").focus()
        while view.tab.locator(f"#place [data-key={key}]").is_enabled():
            assert view.tab.evaluate("document.activeElement.dataset.key") == key
            view.tab.keyboard.press("Enter")
        assert view.tab.evaluate("document.activeElement.dataset.key") == other


def test_the_focus_stays_in_the_editor_and_in_the_beam(view: View) -> None:
    open_editor(view)
    view.tab.locator(".weights th .word").nth(0).click()
    view.tab.get_by_role("button", name="Continue from here").focus()
    view.tab.evaluate("document.querySelector('.editor').dataset.old = ''")
    view.tab.keyboard.press("Enter")
    view.wait("document.querySelector('.editor:not([data-old])') !== null")
    assert focused(view) == "change-content main"
    view.tab.click("#panel-change summary")
    view.tab.click("#panel-beam summary")
    view.tab.wait_for_selector(".steps .word")
    view.tab.evaluate("document.querySelector('.beam').dataset.old = ''")
    view.tab.locator(".steps .word").nth(1).focus()
    view.tab.keyboard.press("Enter")
    view.wait("document.querySelector('.beam:not([data-old])') !== null")
    assert focused(view) == "beam-content word"


@pytest.mark.parametrize("fragment", ["theme=light", "theme=projector"])
def test_labels_of_the_tree_do_not_overlap(fragment: str, context: "BrowserContext", files: Files) -> None:
    view = View(context, f"{files.two.as_uri()}#open=beam&beam=4&text=Der%20Bauer%20lacht.&{fragment}")
    view.tab.wait_for_selector(".tree")
    view.tab.select_option("#theme", fragment.partition("=")[2])
    boxes = view.tab.eval_on_selector_all(
        ".tree text",
        "all => all.map(each => each.getBoundingClientRect()).map(b => [b.left, b.right, b.top, b.bottom])",
    )
    assert len(boxes) > 8
    for number, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = right < other[0] or other[1] < left or bottom < other[2] or other[3] < top
            assert apart, (boxes[number], other)
    # A line begins after the word that it comes from, and ends before the next.
    labels = view.tab.evaluate(
        """[...document.querySelectorAll('.tree path')].every(path => {
          const end = path.getPointAtLength(path.getTotalLength()), start = path.getPointAtLength(0);
          return ![...document.querySelectorAll('.tree text')].some(text => {
            const box = text.getBBox();
            const inside = ({x, y}) =>
              x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
            return inside(start) || inside(end);
          });
        })"""
    )
    assert labels


def test_lines_are_as_large_as_the_letters_of_the_page(view: View) -> None:
    view.tab.select_option("#view", "lines")
    height = "document.querySelector('svg.lines text').getBoundingClientRect().height"
    usual = view.tab.evaluate(height)
    view.tab.select_option("#theme", "projector")
    assert view.tab.evaluate(height) == pytest.approx(1.375 * usual, rel=0.1)


def test_the_table_of_a_step_fits_on_a_phone(chromium: "Chromium", files: Files) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, locale="de-DE")
    view = View(context, f"{files.one.as_uri()}#open=beam&step=3")
    view.tab.wait_for_selector(".steps tr.pruned")
    widths = "table => [table.parentElement.clientWidth, table.parentElement.scrollWidth]"
    room, needed = view.tab.eval_on_selector(".steps", widths)
    assert needed <= room
    row = view.tab.locator(".steps tr.pruned").first
    assert "verworfen" in row.inner_text()
    assert row.locator("td").first.is_visible()  # what came before, by which equal words are told apart
    context.close()


def test_a_step_of_the_beam_looks_only_at_its_own_nodes(chromium: "Chromium") -> None:
    """All nodes are looked at once; a wide beam over a long sentence has thousands."""
    tab = open_engine(chromium, "tree.js", "texts.js", "view.js", folder=WEB / "page")
    reads = tab.evaluate(
        """() => {
          let reads = 0;
          const beam = 4, width = 40, nodes = [];
          const add = (node) => nodes.push(new Proxy({ id: nodes.length, token: 9, text: "x", ...node }, {
            get: (all, name) => { reads += 1; return all[name]; },
          }));
          add({ parent: null, step: 0, status: "kept", score: 0, log_probability: 0 });
          for (let step = 1; step <= 50; step++) {
            const parent = nodes.length - (step === 1 ? 1 : width);
            for (let i = 0; i < width; i++) {
              const numbers = { score: -i, log_probability: -i, token_log_probability: -1 };
              add({ parent, step, status: i < beam ? "kept" : "pruned", ...numbers });
            }
          }
          const tree = { beam, length_penalty: 1, nodes, hypotheses: [] };
          const steps = groupBySteps(tree);
          reads = 0;
          render(document.body, describeTree(tree, steps, 3, false, makeTexts("en"), {}));
          return [reads, nodes.length];
        }"""
    )
    tab.context.close()
    assert reads[0] < reads[1], reads


def test_a_german_page_says_in_german_what_the_model_cannot_do(chromium: "Chromium", files: Files) -> None:
    context = chromium.new_context(locale="de-DE")
    view = View(context, f"{files.one.as_uri()}#begin=999999&text=Die%20Frau%20lacht.")
    view.settle()
    status = view.tab.locator("#answer-0 .status")
    assert "Die Nummer 999999 gehört zu keinem Wort" in status.inner_text()
    notices = view.tab.inner_text("#notices")
    assert "Lizenz von one (englisch):" in notices
    assert view.tab.inner_text("#notices [lang=en]") in notices
    view.tab.select_option("#language", "en")
    assert "999999 is not the id of a word" in status.inner_text()
    assert view.complaints == []
    context.close()


def test_a_vocabulary_of_words_may_have_the_sign_of_subwords(
    context: "BrowserContext", files: Files, tmp_path: Path
) -> None:
    page = make_page([files.words], beam=2)
    tokens = page.bundles[0].settings["tokenizers"]["target"]["tokens"]
    tokens[4:] = [f"▁{number}" for number in range(4, len(tokens))]
    export_page(replace(page, examples=[]), tmp_path / "page.html")
    view = View(
        context, f"{(tmp_path / 'page.html').as_uri()}#text={quote(OTHER)}&unit=subwords&at=0&open=beam"
    )
    view.settle()
    assert view.said().startswith("▁")
    assert any(word.startswith("▁") for word, _ in view.bars("#place"))
    assert "▁" in view.tab.inner_text(".steps")


def test_a_sentence_that_is_unlike_the_training_data_is_named_so(view: View, files: Files) -> None:
    status = view.tab.locator("#answer-0 .status")
    for text in ("Der Hund schläft.", "Собака спит.", "qwrtz xyvbn", "Ein Hund."):
        if view.tab.input_value("#text") != text:
            view.type(text)
        reason = load(files.run).translate(text, beam=3).unfamiliar
        assert ("unlike the text that the model was trained on" in status.inner_text()) == (
            reason is not None
        )
        if reason == "characters":
            assert "characters that the model never saw" in status.inner_text()
    view.type("Собака спит.")
    view.tab.select_option("#language", "de")
    assert "Zeichen, die das Modell nie gelernt hat" in status.inner_text()


@contextmanager
def new_editor(view: View) -> Iterator[None]:
    """Does something after which the editor is made anew, and waits until it is there."""
    view.tab.evaluate("document.querySelector('.editor').dataset.old = ''")
    yield
    view.wait("document.querySelector('.editor:not([data-old]) .candidate') !== null")


def assert_link_shows_the_same(context: "BrowserContext", view: View) -> None:
    """Opens the address of a page in another tab and waits until both show the same."""
    other = View(context, view.tab.url)
    parts = (".said", "#answer-0 .forced", "#answer-0 .map", "#place", ".editor")

    def seen(one: View) -> Any:
        one.settle()
        one.tab.wait_for_selector(".prediction .candidate")
        texts = [one.tab.inner_text(part) for part in parts]
        return texts, weights(one), one.bars(".prediction"), one.tab.url

    until = time.monotonic() + TIMEOUT
    while seen(view) != seen(other) and time.monotonic() < until:
        time.sleep(0.05)
    assert seen(view) == seen(other)
    assert other.complaints == []


def test_a_link_shows_several_places_with_changed_attention(fresh: Pages, context: "BrowserContext") -> None:
    view = fresh.open("one", "open=change&at=1&unit=subwords&beam=1")
    view.tab.wait_for_selector(".prediction .candidate")
    for place, word in ((0, 1), (2, 0)):
        with new_editor(view):
            view.tab.locator("#answer-0 .said .word").nth(place).click()
        with new_editor(view):
            view.tab.locator(".weights th .word").nth(word).click()
            view.tab.get_by_role("button", name="Continue from here").click()
    rows = dict(row.split(":") for row in view.fragment()["changed"].split(";"))
    assert set(rows) == {"0", "2"}
    assert rows["0"].startswith("0,1,0")
    assert rows["2"].startswith("1,0,0")
    assert view.tab.locator("tbody .mark").count() == 2
    assert "words 1 and 3" in view.tab.inner_text("#answer-0 .forced")
    cells = "cells => cells.map(cell => cell.textContent)"
    assert view.tab.eval_on_selector_all("td[data-row='0']", cells)[:3] == ["", "1", ""]
    assert view.tab.eval_on_selector_all("td[data-row='2']", cells)[:3] == ["1", "", ""]
    assert_link_shows_the_same(context, view)
    # Another attention at an earlier place leaves what comes before it, and nothing after it.
    with new_editor(view):
        view.tab.locator("#answer-0 .said .word").nth(1).click()
    with new_editor(view):
        view.tab.get_by_role("button", name="Uniform").click()
        view.tab.get_by_role("button", name="Continue from here").click()
    assert [row.partition(":")[0] for row in view.fragment()["changed"].split(";")] == ["0", "1"]
    shares = [float(weight) for weight in view.fragment()["changed"].split(":")[-1].split(",")]
    assert sum(shares) == pytest.approx(1, abs=1e-9)
    assert max(shares) - min(shares) < 0.0015
    # A word that is chosen before them leaves none.
    with new_editor(view):
        view.tab.locator("#answer-0 .said .word").nth(0).click()
    with new_editor(view):
        view.tab.locator("#place button.candidate").nth(1).click()
    assert "changed" not in view.fragment()


def test_a_link_shows_weights_that_were_only_tried(fresh: Pages, context: "BrowserContext") -> None:
    view = fresh.open("one", "open=change&at=1")
    view.tab.wait_for_selector(".prediction .candidate")
    own = view.bars(".prediction")
    number = view.tab.locator(".weights input[type=number]").nth(2)
    number.fill("70")
    number.press("Enter")
    view.wait("new URLSearchParams(location.hash.slice(1)).has('tried')")
    assert float(view.fragment()["tried"].split(",")[2]) == 0.7
    assert "changed" not in view.fragment()
    assert_link_shows_the_same(context, view)
    # At another place nothing was tried yet.
    for key in ("after", "before"):
        with new_editor(view):
            view.tab.locator(f"#place [data-key={key}]").click()
        assert "tried" not in view.fragment()
    assert view.bars(".prediction") == own
    # The model's own attention, tried where it was changed.
    with new_editor(view):
        view.tab.locator(".weights th .word").nth(0).click()
        view.tab.get_by_role("button", name="Continue from here").click()
    view.tab.get_by_role("button", name="Reset").click()
    view.wait("new URLSearchParams(location.hash.slice(1)).get('tried') === 'own'")
    assert_link_shows_the_same(context, view)
    # A copied link has what was moved just before; an address that is typed in shows its weights.
    view.tab.get_by_role("button", name="Uniform").click()
    view.tab.get_by_role("button", name="Link", exact=True).click()
    view.tab.wait_for_selector("text=Copied.")
    copied = view.tab.evaluate("navigator.clipboard.readText()")
    tried = re.findall(r"[&#]tried=([^&]*)", copied)[0].split(",")
    assert tried == [str(1 / len(tried))] * 8
    with new_editor(view):
        view.tab.evaluate("location.hash = '#open=change&at=1'")
    assert view.bars(".prediction") == own


def test_words_that_a_model_does_not_know_are_shown_as_they_were_typed(fresh: Pages) -> None:
    view = fresh.open("two", "open=change&at=0&text=Der%20Quastenflosser%20bellt")
    view.tab.wait_for_selector(".prediction .candidate")
    words = view.tab.locator(".weights th .word").all_inner_texts()
    assert words == ["Der", "Quastenflosser", "bellt", "∎"]
    assert {word for word, _ in view.bars("#place > div:last-child")} == set(words)


def test_a_text_of_several_sentences_is_there_whole_and_each_can_be_looked_at(
    context: "BrowserContext", pages: Pages, files: Files
) -> None:
    view = pages.open("one")
    text = f"{OTHER}\n\n{EXAMPLE} {OTHER}"
    view.type(text)
    translation = load(files.run).translate(text, beam=3)
    assert len(translation.sentences) == 3

    def shown() -> str:
        found = view.tab.text_content("#answer-0 .said")
        assert found is not None
        return found.replace(" ∎", "")

    def columns() -> list[str]:
        found: list[str] = view.tab.eval_on_selector_all(
            "#answer-0 thead th[scope=col]", "words => words.map(word => word.textContent)"
        )
        return found

    assert shown() == translation.text
    assert view.tab.text_content(".spoken") == translation.text
    assert columns() == [*translation.sentences[0].source_words[:-1], "∎"]
    view.tab.click(".sentence >> nth=0")
    view.settle()
    assert view.fragment()["sentence"] == "1"
    assert columns() == [*translation.sentences[1].source_words[:-1], "∎"]
    assert shown() == translation.text
    # The keyboard reaches it, a link shows it again, and its attention can be changed.
    view.tab.focus(".sentence >> nth=1")
    view.tab.keyboard.press("Enter")
    view.settle()
    assert view.fragment()["sentence"] == "2"
    view.tab.click("#panel-change summary")
    view.tab.wait_for_selector("#change-content .candidate")
    view = View(context, view.tab.url)
    view.settle()
    assert columns() == [*translation.sentences[2].source_words[:-1], "∎"]
    # A text with fewer sentences shows its last one.
    view.type(f"{EXAMPLE} {OTHER}")
    assert columns() == [*load(files.run).translate(OTHER).source_words[:-1], "∎"]
