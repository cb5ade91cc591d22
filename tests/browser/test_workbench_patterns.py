"""The view of the patterns: a real server, trained runs, a real browser."""

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

import httpx
import numpy as np
import pytest

from augenmerk.analysis.patterns import KIND_COLOURS, KINDS, find_patterns, summarise_patterns
from augenmerk.data import open_bitext, open_data
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.workbench import patterns
from augenmerk.translation import load
from tests.support.browser import TIMEOUT, WatchedTab
from tests.support.processes import wait_for
from tests.support.runs import SharedRuns, tiny
from tests.support.serving import Serving, serving
from tests.support.workbench import WorkbenchTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"> der Hund</script>&"
COUNT = 200


class Served:
    """Runs, and the server that shows them."""

    server: Serving

    def __init__(self, folder: Path, shared_runs: SharedRuns) -> None:
        self.run = shared_runs.copy(tiny(), folder / "runs" / "one")
        shared_runs.copy(tiny(model__attention="none"), folder / "runs" / "none")
        other = {"model__architecture": "transformer", "model__attention": "multi-head", "model__layers": 2}
        shared_runs.copy(tiny(**other), folder / "runs" / "transformer")
        book = open_bitext("bilderbuch", pairs=300, seed=1)
        pairs = [pair for pair, _ in zip(book["train"], range(120), strict=False)]
        (folder / "pairs").mkdir()
        for split, some in (("train", pairs[:80]), ("val", pairs[80:100]), ("test", pairs[100:])):
            lines = [f"{pair.source}\t{pair.target}\n" for pair in some]
            if split == "test":
                lines.append(f"{HOSTILE}\t{HOSTILE}\n")
            (folder / "pairs" / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
        own = tiny(data__bitext=str(folder / "pairs"), data__source_language="de", data__target_language="en")
        shared_runs.copy(own, folder / "runs" / "own")
        self.registry = ModelRegistry([self.run.path], folder=folder / "runs")


@pytest.fixture(scope="module")
def served(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("patterns"), shared_runs)
    with serving(served.registry, pages=True) as served.server:
        yield served


@pytest.fixture
def client(served: Served) -> httpx.Client:
    return served.server.client


def make_question(run: str = "one", split: str = "test", of: str = "translations", count: int = COUNT) -> Any:
    return {"run": run, "split": split, "of": of, "count": count}


def measure(client: httpx.Client, question: Any) -> list[dict[str, Any]]:
    answer = client.post("/workbench/patterns/measure", json=question)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def get_points(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [point for line in lines for point in line.get("sentences", ())]


class PatternsView(WorkbenchTab):
    """The page in a tab, with what people do in it."""

    def __init__(self, chromium: "Chromium", server: Serving, question: Any = None, **options: Any) -> None:
        query = f"?{urlencode(question)}" if question else ""
        context = chromium.new_context(
            **{"locale": "en", "viewport": {"width": 1200, "height": 900}, **options}
        )
        super().__init__(context, f"{server.address}/patterns{query}")
        self.tab.wait_for_selector("html[data-ready]")
        if question:
            self.settle()

    def settle(self) -> None:
        self.tab.wait_for_selector("html[data-measured]")

    def count_listed(self) -> int:
        return int(self.tab.inner_text("#chosen").split()[0].replace(",", ""))

    def wait_for_sentence(self, index: int) -> None:
        self.wait(
            "index => document.querySelector('#detail h3')?.textContent.includes(`Sentence ${index}`)",
            index,
        )


# -- what the server answers ---------------------------------------------------------------------------------


def test_points_are_the_patterns_of_the_split(served: Served, client: httpx.Client) -> None:
    lines = measure(client, make_question())
    pairs = list(open_data(served.run.config.data)["test"])[:COUNT]
    translations = load(served.run.path).translate([pair.source for pair in pairs])
    matches = find_patterns(pairs, translations, "de")
    points = get_points(lines)
    assert [point["index"] for point in points] == [match.index for match in matches]
    for point, match in zip(points, matches, strict=True):
        assert (point["kind"], point["translation"]) == (match.pattern.kind, match.translation.text)
        values = [getattr(match.pattern.measures, name) for name in lines[0]["measures"]]
        assert point["measures"] == pytest.approx(values, abs=1e-4)
    expected = summarise_patterns(pairs, matches, of_references=False)
    assert lines[-1]["summary"]["kinds"] == expected["kinds"]
    assert [line["done"] for line in lines if "done" in line][-1] == COUNT
    chosen = matches[7]
    told = client.post("/workbench/patterns/sentence", json={**make_question(), "index": chosen.index}).json()
    assert told["verdict"] == told["verdicts"]["en"] == chosen.pattern.verdict
    assert np.allclose(told["attention"], chosen.translation.attention, atol=1e-3)


def test_a_split_is_measured_once(
    served: Served, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = measure(client, make_question())

    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(served.server.service.batcher, "translate", refuse)
    again = measure(client, make_question())
    assert get_points(again) == get_points(first)
    assert again[-1] == first[-1]


def test_a_run_that_was_trained_further_is_measured_anew(
    shared_runs: SharedRuns, tmp_path: Path, served: Served, client: httpx.Client
) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "runs" / "one")
    registry = ModelRegistry([served.run.path], folder=tmp_path)  # there, a run of that name has another path
    with serving(registry, pages=True) as server:
        question = make_question("runs/one")
        before = measure(server.client, question)
        assert get_points(before) == get_points(measure(client, make_question()))
        weights = {name: 0.5 * array for name, array in run.load_model().items()}
        run.save_model(weights, run.about_model)
        after = measure(server.client, question)
        assert get_points(after) != get_points(before)
        # A run that was given stays as it was until it is read anew.
        assert get_points(measure(server.client, make_question())) == get_points(before)


def test_of_references_it_is_compared_with_gold_links(served: Served, client: httpx.Client) -> None:
    lines = measure(client, make_question(of="references"))
    pairs = list(open_data(served.run.config.data)["test"])[:COUNT]
    scored = load(served.run.path).score_all([(pair.source, pair.target) for pair in pairs])
    expected = summarise_patterns(pairs, find_patterns(pairs, scored, "de"), of_references=True)
    assert lines[-1]["summary"]["agreement"] == expected["agreement"]


def test_one_head_of_a_transformer_is_measured(served: Served, client: httpx.Client) -> None:
    question = {**make_question("transformer"), "layer": 2, "head": 1}
    points = get_points(measure(client, question))
    run = served.registry.found()["transformer"]
    pairs = list(open_data(served.run.config.data)["test"])[:COUNT]
    translations = load(run).translate([pair.source for pair in pairs], heads=True)
    matches = find_patterns(pairs, translations, "de", 2, 1)
    assert [point["kind"] for point in points] == [match.pattern.kind for match in matches]
    told = client.post("/workbench/patterns/sentence", json={**question, "index": matches[0].index}).json()
    assert matches[0].head is not None
    assert np.allclose(told["attention"], matches[0].head.attention, atol=1e-3)
    for layer, head in ((3, None), (1, 9), (None, 1), (0, 0)):
        answer = client.post("/workbench/patterns/measure", json={**question, "layer": layer, "head": head})
        assert answer.status_code == 400


def test_a_sentence_of_a_split_that_was_dropped_is_measured_alone(
    served: Served, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few splits are kept, and none after a restart."""
    monkeypatch.setattr(patterns, "MAX_SETS", 2)
    questions = [make_question("own", split) for split in ("val", "test", "train")]
    points = [get_points(measure(client, question))[1] for question in questions]
    translated, translate = [], served.server.service.batcher.translate

    async def watch(run: str, texts: list[str], **settings: Any) -> Any:
        translated.append(len(texts))
        return await translate(run, texts, **settings)

    monkeypatch.setattr(served.server.service.batcher, "translate", watch)
    for question, point in reversed(list(zip(questions, points, strict=True))):
        answer = client.post("/workbench/patterns/sentence", json={**question, "index": point["index"]})
        assert answer.status_code == 200
        told = answer.json()
        assert (told["kind"], told["translation"]) == (point["kind"], point["translation"])
        assert told["measures"] == pytest.approx(point["measures"], abs=1e-3)
    assert translated == [1]  # the first of three
    for index in (-1, 10**6):
        answer = client.post("/workbench/patterns/sentence", json={**questions[0], "index": index})
        assert answer.status_code == 404
        assert f"no sentence {index}" in answer.json()["error"]


def test_what_cannot_be_measured_is_said_in_a_sentence(client: httpx.Client) -> None:
    [line] = [line for line in measure(client, make_question("none")) if "error" in line]
    assert "attends to nothing" in line["error"]
    [line] = [line for line in measure(client, make_question(split="nowhere")) if "error" in line]
    assert "nowhere" in line["error"]
    for run in ("", "../runs/one", "missing", "/etc"):
        answer = client.post("/workbench/patterns/measure", json=make_question(run))
        assert answer.status_code == 404
        assert answer.json()["error"].startswith("There is no run ")
        assert client.get("/workbench/patterns/splits", params={"run": run}).status_code == 404
    for bad in ({"count": 7}, {"count": 10**9}, {"of": "something"}, {"count": "many"}, {"more": 1}):
        answer = client.post("/workbench/patterns/measure", json={**make_question(), **bad})
        assert answer.status_code == 400, bad
        assert answer.json()["error"].endswith(".")


def test_splits_are_those_of_the_data(client: httpx.Client) -> None:
    told = client.get("/workbench/patterns/splits", params={"run": "own"}).json()
    assert (told["splits"], told["split"], told["instead_of"]) == (["train", "val", "test"], "val", "")


def test_others_are_answered_while_a_split_is_measured(client: httpx.Client) -> None:
    question = make_question("own", "train", "references")
    with client.stream("POST", "/workbench/patterns/measure", json=question) as answer:
        asked = client.post("/v1/translate", json={"text": "Der Hund schläft.", "model": "one"})
        assert asked.status_code == 200
        lines = [json.loads(line) for line in answer.iter_lines()]
    assert "summary" in lines[-1]


def test_measuring_ends_when_nobody_waits_and_continues_where_it_ended(
    served: Served, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "CHUNK", 10)
    batcher, hung_up, chunks = served.server.service.batcher, threading.Event(), []
    score = batcher.score

    async def score_later(*arguments: Any, **settings: Any) -> Any:
        chunks.append(arguments)
        if len(chunks) == 2:
            await asyncio.to_thread(hung_up.wait)
        return await score(*arguments, **settings)

    monkeypatch.setattr(batcher, "score", score_later)
    question = make_question("own", "train", "references", count=500)
    requests = served.server.service.metrics.requests
    before = requests["other", 200]
    with client.stream("POST", "/workbench/patterns/measure", json=question) as answer:
        next(answer.iter_lines())
        wait_for("the second chunk", lambda: len(chunks) == 2)
    wait_for("the client to be gone", lambda: requests["other", 200] > before)
    hung_up.set()
    for _ in range(5):  # whatever is still computed would be done by then
        assert client.post("/v1/translate", json={"text": "Ein Hund."}).status_code == 200
    assert len(chunks) <= 2  # of eight
    asked = {**question, "index": 0}
    assert client.post("/workbench/patterns/sentence", json=asked).status_code == 200
    lines = measure(client, question)
    assert "summary" in lines[-1]
    assert len(get_points(lines)) == len({point["index"] for point in get_points(lines)})
    assert len(chunks) <= 9  # the one that was interrupted is measured again, and none of the others


# -- what a person sees --------------------------------------------------------------------------------------


def test_a_split_is_measured_and_its_kinds_are_counted(
    chromium: "Chromium", served: Served, client: httpx.Client
) -> None:
    view = PatternsView(chromium, served.server)
    assert view.tab.is_hidden("#found")  # nothing is computed unasked
    view.tab.select_option("#split", "test")
    view.tab.select_option("#count", str(COUNT))
    view.tab.click("#measure")
    view.settle()
    points = get_points(measure(client, make_question()))
    kinds = Counter(point["kind"] for point in points)
    shown = {
        button.get_attribute("data-kind"): int(button.locator("b").inner_text())
        for button in view.tab.locator("#kinds button").all()
    }
    assert shown == {kind: kinds[kind] for kind in shown}
    assert view.count_listed() == len(points)
    most = max(kinds, key=lambda kind: kinds[kind])
    view.tab.click(f"#kinds [data-kind='{most}']")
    assert view.count_listed() == len(points) - kinds[most]
    assert view.complaints == []


def test_a_sentence_is_opened_from_the_list(
    chromium: "Chromium", served: Served, client: httpx.Client
) -> None:
    view = PatternsView(chromium, served.server, make_question())
    button = view.tab.locator("#table tbody button").first
    index = int(button.get_attribute("data-index") or -1)
    button.click()
    view.wait_for_sentence(index)
    told = client.post("/workbench/patterns/sentence", json={**make_question(), "index": index}).json()
    assert view.tab.locator("#detail .map tbody tr").count() == len(told["target_words"])
    assert view.tab.inner_text("#detail .verdict") == told["verdict"]
    link = view.tab.locator("#detail a").get_attribute("href") or ""
    assert parse_qs(link.removeprefix("/#")) == {"text": [told["source"]], "models": ["one"]}
    again = PatternsView(chromium, served.server, {**make_question(), "sentence": index})
    again.wait_for_sentence(index)
    assert view.complaints == again.complaints == []


def test_an_older_answer_that_arrives_late_does_not_win(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server, make_question())
    held: list[Any] = []
    pattern = "**/workbench/patterns/sentence"

    def hold_the_first(route: Any) -> None:
        held.append(route)
        if len(held) > 1:
            route.continue_()

    view.tab.route(pattern, hold_the_first)
    rows = view.tab.locator("#table tbody tr[data-index]")
    first, second = (int(rows.nth(number).get_attribute("data-index") or -1) for number in (0, 1))
    rows.nth(0).locator("button").click()
    rows.nth(1).locator("button").click()
    view.wait_for_sentence(second)
    held[0].continue_()
    view.tab.evaluate(
        "fetch('/health/live').then((answer) => answer.text())"
    )  # an answer that is later still
    assert f"Sentence {first}" not in view.tab.inner_text("#detail h3")
    assert view.tab.locator("#table tr.chosen").get_attribute("data-index") == str(second)


def test_a_server_that_goes_away_is_waited_for(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server)
    view.tab.select_option("#split", "test")
    view.tab.select_option("#count", str(COUNT))
    view.tab.route("**/workbench/patterns/measure", lambda route: route.abort())
    view.tab.click("#measure")
    view.tab.wait_for_selector("#away:has-text('Retrying')")
    view.tab.unroute("**/workbench/patterns/measure")
    view.settle()
    assert view.tab.is_hidden("#away")
    view.tab.route("**/workbench/patterns/sentence", lambda route: route.abort())
    view.tab.locator("#table tbody button").first.click()
    view.tab.wait_for_selector("#away:has-text('Retrying')")
    view.tab.unroute("**/workbench/patterns/sentence")
    view.tab.wait_for_selector("#detail .map")
    assert view.count_listed() == view.tab.evaluate(
        "[...document.querySelectorAll('#kinds b')]"
        ".reduce((sum, each) => sum + Number(each.textContent.replace(',', '')), 0)"
    )


def test_hidden_kinds_and_what_is_listed_are_in_the_address(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server, make_question())
    every = view.count_listed()
    assert view.tab.inner_text("#chosen").endswith("sentences, clearest of their kind first")
    view.tab.locator("#kinds button").first.click()
    left = view.count_listed()
    assert left < every
    again = PatternsView(chromium, served.server)
    again.tab.goto(view.tab.url)
    again.settle()
    assert again.count_listed() == left


def test_a_box_selects_sentences(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server, make_question())
    box = view.tab.locator("svg.over").bounding_box()
    assert box is not None
    every = view.count_listed()
    view.tab.mouse.move(box["x"] + 55, box["y"] + 15)
    view.tab.mouse.down()
    view.tab.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5, steps=4)
    view.tab.mouse.up()
    assert view.tab.is_visible("#clear")
    assert "selected" in view.tab.inner_text("#chosen")
    assert 0 < view.count_listed() < every
    view.tab.click("#clear")
    assert view.count_listed() == every
    assert view.complaints == []


def test_the_plot_is_used_by_keys(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server, make_question())
    every = view.count_listed()
    view.tab.focus("svg.over")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        view.tab.keyboard.press(key)
    told = view.tab.inner_text(".tip")
    assert " · " in told
    view.tab.keyboard.press("Enter")
    view.wait(
        "text => text.endsWith(document.querySelector('.detail-source')?.textContent ?? 'nothing')", told
    )
    for key in ("Shift+ArrowRight", "Shift+ArrowDown"):
        view.tab.keyboard.press(key)
    assert 0 < view.count_listed() < every
    view.tab.keyboard.press("Escape")
    assert view.count_listed() == every
    assert view.complaints == []


def test_other_axes_are_chosen(chromium: "Chromium", served: Served, client: httpx.Client) -> None:
    view = PatternsView(chromium, served.server, make_question())
    view.tab.select_option("#x", "words")
    view.tab.select_option("#y", "longest_run")
    assert "x=words" in view.tab.url
    button = view.tab.locator("#table tbody button").first
    point = next(
        each
        for each in get_points(measure(client, make_question()))
        if str(each["index"]) == button.get_attribute("data-index")
    )
    numbers = view.tab.locator("#table tbody tr").first.locator("td.number").all_inner_texts()
    assert numbers[1] == str(point["words"])
    assert view.complaints == []


def test_a_head_is_chosen(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server)
    assert view.tab.is_hidden("#layer")
    view.tab.select_option("#run", "transformer")
    view.tab.wait_for_selector("#head")
    view.tab.select_option("#head", "2")
    assert view.tab.input_value("#layer") == "1"
    view.tab.select_option("#layer", "")
    assert view.tab.input_value("#head") == ""
    view.tab.select_option("#layer", "2")
    view.tab.select_option("#split", "test")
    view.tab.select_option("#count", str(COUNT))
    view.tab.click("#measure")
    view.settle()
    assert "layer=2" in view.tab.url
    assert view.count_listed() == COUNT
    assert view.complaints == []


def test_hostile_sentences_are_text(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server, {**make_question("own"), "sentence": 20})
    view.wait_for_sentence(20)
    assert view.tab.inner_text(".detail-source") == HOSTILE
    assert view.tab.locator("main img").count() == 0
    assert "pwned" not in view.tab.title()
    assert view.complaints == []


def test_kinds_have_the_colours_of_written_pages(chromium: "Chromium", served: Served) -> None:
    view = PatternsView(chromium, served.server, make_question())
    fills = view.tab.eval_on_selector_all("#kinds svg", "signs => signs.map(sign => sign.style.fill)")
    assert fills == [f"var(--c{KIND_COLOURS[kind]})" for kind in KINDS]


def test_german_and_a_narrow_screen(chromium: "Chromium", served: Served) -> None:
    options = {"viewport": {"width": 360, "height": 740}, "locale": "de-DE"}
    view = PatternsView(chromium, served.server, {**make_question(), "sentence": 3}, **options)
    view.tab.wait_for_selector("#detail .map")
    assert view.tab.inner_text("h1") == "Muster der Aufmerksamkeit"
    assert re.search("Aufmerksamkeit|beachtet", view.tab.inner_text(".verdict"))
    assert view.sticks_out() == 0
    assert view.complaints == []


def test_thousands_of_points_stay_few_elements(chromium: "Chromium", served: Served) -> None:
    """How smooth it is in seconds says more about the machine: no point is an element of the page."""
    random = np.random.default_rng(1)
    names = patterns.MEASURES
    points = [
        {
            "index": index,
            "kind": KINDS[index % len(KINDS)],
            "strength": float(random.random()),
            "source": f"Satz {index}",
            "translation": "",
            "words": 9,
            "measures": [round(float(value), 4) for value in random.random(len(names))],
        }
        for index in range(5000)
    ]
    lines = [
        {"total": 5000, "data": "x", "measures": names},
        {"sentences": points, "done": 5000},
        {"summary": {}},
    ]
    body = "".join(f"{json.dumps(line)}\n" for line in lines)
    context = chromium.new_context(locale="en")
    context.route("**/workbench/patterns/measure", lambda route: route.fulfill(body=body))
    tab = WatchedTab(context, f"{served.server.address}/patterns?run=one")
    tab.tab.wait_for_selector("html[data-measured]")
    assert tab.tab.inner_text("#chosen").startswith("5,000")
    assert tab.tab.locator("#found *").count() < 1000
    drawn = """() => {
        const canvas = document.querySelector("canvas.points");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        let painted = 0;
        for (let place = 3; place < data.length; place += 4) painted += data[place] > 0;
        return painted / (data.length / 4);
    }"""
    until = time.monotonic() + TIMEOUT
    while tab.tab.evaluate(drawn) < 0.2:
        assert time.monotonic() < until
    # This test reads the canvas several times on a slow machine; Chromium's advice is about that.
    assert [one for one in tab.complaints if not one.startswith("Canvas2D: Multiple readback")] == []
