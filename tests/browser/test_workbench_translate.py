"""The frame of the workbench and its view Translate: a real server, real models, a real browser."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np
import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.serve import registry
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.workbench import POLICY, VIEWS, page_address
from augenmerk.text.tokenizer import PAD
from augenmerk.translation import Translator, load
from augenmerk.web.bundle import make_bundle
from augenmerk.web.examples import choose_examples, make_example
from tests.support.browser import TIMEOUT
from tests.support.runs import SharedRuns, tiny
from tests.support.serving import serving
from tests.support.workbench import WorkbenchTab, ask, serve_workbench

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, Route

SENTENCE = "Der Hund schläft im Garten."
OTHER = "Die alte Frau lacht."
HOSTILE = "<img src=x onerror=\"document.title='pwned'\">&"
TRANSFORMER = {"model__architecture": "transformer", "model__attention": "multi-head", "model__layers": 2}


class Place:
    """A server, and the runs that it has."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder

    def load(self, *names: str) -> Translator:
        return load([self.folder / name for name in names])


@pytest.fixture(scope="module")
def place(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("runs")
    one = shared_runs.copy(tiny(), folder / "one").path
    shared_runs.copy(tiny(train__seed=2), folder / "two")
    shared_runs.copy(tiny(**TRANSFORMER), folder / "deep" / "transformer")
    shared_runs.copy(tiny(model__attention="mean"), folder / HOSTILE)
    shared_runs.copy(tiny(model__attention="multi-head", model__heads=2), folder / "heads")
    with serve_workbench([one], folder) as address:
        yield Place(address, folder)


@pytest.fixture
def context(chromium: "Chromium") -> "Iterator[BrowserContext]":
    context = chromium.new_context(locale="en-GB", viewport={"width": 1200, "height": 900})
    yield context
    context.close()


class TranslateTab(WorkbenchTab):
    """The view Translate, with what people do in it and see."""

    def __init__(self, context: "BrowserContext", place: Place, **fragment: str) -> None:
        given = "&".join(f"{key}={quote(value)}" for key, value in fragment.items())
        super().__init__(context, f"{place.address}/{'#' + given if given else ''}")
        self.settle()

    def settle(self) -> None:
        self.wait("document.querySelector('.answer') && !document.querySelector('.answer.waiting')")

    def said(self, number: int = 0) -> str:
        return self.tab.inner_text(f"#answer-{number} .said").replace("∎", "").strip()

    def type(self, text: str) -> None:
        self.tab.fill("#text", text)
        self.wait(
            "text => new URLSearchParams(location.hash.slice(1)).get('text') === text"
            " && !document.querySelector('.answer.waiting')",
            text,
        )

    def cells(self, number: int = 0) -> list[list[str]]:
        """The numbers in the map of an answer."""
        found: list[list[str]] = self.tab.evaluate(
            "number => [...document.querySelectorAll(`#answer-${number} .map tbody tr`)]"
            ".map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))",
            number,
        )
        return found


def show(weights: "np.ndarray[Any, Any]") -> list[list[str]]:
    """Returns weights as a map shows them."""
    return [
        ["" if w < 0.02 else "1" if w >= 0.995 else f"{w:.2f}"[1:] for w in row] for row in weights.tolist()
    ]


# -- translations that begin in a given way -----------------------------------------------------------------


@pytest.mark.parametrize("names", [["one"], ["one", "two"], ["deep/transformer"]])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_goes_on_from_its_own_beginning_as_before(
    place: Place, names: list[str], beam: int
) -> None:
    translator = place.load(*names)
    whole = translator.translate(SENTENCE, beam=beam)
    assert whole.hypothesis is not None
    again = translator.complete(SENTENCE, whole.hypothesis.ids[:2], beam=beam)
    assert again.text == whole.text or again.score >= whole.score
    np.testing.assert_allclose(again.subword_attention[:2], whole.subword_attention[:2], atol=1e-5)


def test_a_translation_begins_with_any_words_that_are_asked_for(place: Place) -> None:
    translator = place.load("one")
    ids = translator.tokenizers.target.encode("the woman").ids
    found = translator.complete(SENTENCE, ids, beam=3)
    assert found.hypothesis is not None
    assert found.hypothesis.ids[: len(ids)] == tuple(ids)
    scored = translator.decode(
        translator.tokenizers.source.encode_ids([SENTENCE]),
        translator.config.search,
        targets=[found.hypothesis.ids],
    )[0][0]
    assert scored.log_probability == pytest.approx(found.log_probability, abs=1e-4)
    tree = translator.trace(SENTENCE, prefix=ids, beam=3, n_best=3)
    assert all(each["ids"][: len(ids)] == list(ids) for each in tree["hypotheses"])


def test_beginnings_that_cannot_be_are_refused(place: Place) -> None:
    translator = place.load("one")
    with pytest.raises(AugenmerkError, match="none of a word"):
        translator.complete(SENTENCE, [PAD])
    with pytest.raises(AugenmerkError, match="at most"):
        translator.complete(SENTENCE, [5] * 500)
    assert translator.complete("", [5]).text == ""


@pytest.mark.parametrize("names", [["one"], ["one", "two"]])
def test_the_likeliest_tokens_are_those_of_greedy_search(place: Place, names: list[str]) -> None:
    translator = place.load(*names)
    greedy = translator.translate(SENTENCE, beam=1)
    assert greedy.hypothesis is not None
    found = translator.next_tokens(greedy, 3)
    assert [best[0][0] for best in found][: len(greedy.hypothesis.ids)] == list(greedy.hypothesis.ids)
    probabilities = np.exp(greedy.hypothesis.token_log_probabilities)
    np.testing.assert_allclose([best[0][1] for best in found], probabilities, atol=1e-5)


# -- the server ---------------------------------------------------------------------------------------------


def test_every_view_has_a_page_with_the_policy_and_is_kept_by_the_browser(place: Place) -> None:
    for view in VIEWS:
        with urlopen(place.address + page_address(view)) as answer:
            assert answer.headers["content-security-policy"] == POLICY
            tag = answer.headers["etag"]
        request = Request(place.address + page_address(view), headers={"If-None-Match": tag})
        with pytest.raises(Exception, match="304"):
            urlopen(request)


@pytest.mark.parametrize(
    "name",
    ["page/page.html", "bundle.py", "../config.py", "..%2fconfig.py", "page", "workbench/frame.html", ""],
)
def test_only_scripts_and_style_sheets_are_served(place: Place, name: str) -> None:
    with pytest.raises(Exception, match="404"):
        urlopen(f"{place.address}/web/{name}")


@pytest.mark.parametrize(("language", "current"), [("en-GB", "Views"), ("de-DE", "Ansichten")])
def test_the_menu_leads_to_the_api_of_this_server(
    chromium: "Chromium", place: Place, language: str, current: str
) -> None:
    context = chromium.new_context(locale=language, viewport={"width": 360, "height": 700})
    page = WorkbenchTab(context, f"{place.address}/theory")
    page.tab.click("#views >> text=API")
    page.wait("() => document.querySelector('.api') && document.querySelector('#theme option')")
    assert page.tab.url == f"{place.address}/docs"
    assert page.tab.get_attribute("#views", "aria-label") == current
    assert page.tab.get_attribute("#views [aria-current]", "href") == "/docs"
    commands = page.tab.locator(".api pre").all_text_contents()
    assert all(command.startswith(f"curl {place.address.partition('//')[2]}/") for command in commands)
    assert len(commands) > 3
    assert page.sticks_out() <= 0
    page.tab.click("#views a >> nth=0")
    page.wait("() => location.pathname === '/'")
    assert page.complaints == []
    context.close()


def test_scripts_are_served_as_scripts(place: Place) -> None:
    for name in ("page/main.js", "engine/worker.js", "workbench/frame.js", "page/page.css"):
        with urlopen(f"{place.address}/web/{name}") as answer:
            kind = "text/javascript" if name.endswith(".js") else "text/css"
            assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert b"{%" not in answer.read()


def test_the_server_answers_in_the_shape_of_the_exported_page(place: Place) -> None:
    question = {"models": ["one"], "text": SENTENCE, "beam": 3, "tree": True}
    status, answer = ask(f"{place.address}/workbench/translate/ask", question)
    assert status == 200
    assert answer == json.loads(json.dumps(make_example(place.load("one"), SENTENCE, 3)))


def test_a_text_is_answered_in_the_shape_of_the_exported_page(place: Place) -> None:
    text = f"{SENTENCE}\n\n{SENTENCE} {SENTENCE}"
    whole = place.load("one").translate(text, beam=3)
    for sentence in (0, 2, 9):
        question = {"models": ["one"], "text": text, "sentence": sentence, "beam": 3, "tree": True}
        status, answer = ask(f"{place.address}/workbench/translate/ask", question)
        assert status == 200
        assert answer == json.loads(json.dumps(make_example(place.load("one"), text, 3, sentence=sentence)))
        assert answer["whole"] == whole.text
        assert answer["sentence"] == min(sentence, 2)
        assert [one["source"] for one in answer["sentences"]] == [SENTENCE] * 3


@pytest.mark.parametrize(
    ("changes", "status", "sentence"),
    [
        ({"models": ["../one"]}, 404, "There is no model"),
        ({"models": ["/etc"]}, 404, "There is no model"),
        ({"models": []}, 400, "models"),
        ({"beam": 1000}, 400, "the limit here"),
        ({"prefix": [10**6]}, 400, "none of a word"),
        ({"heads": "all"}, 400, "heads"),
        ({"text": "a" * 10_000}, 413, "characters"),
        ({"models": ["one", "deep/transformer"], "heads": "cross"}, 400, "one model"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(
    place: Place, changes: dict[str, Any], status: int, sentence: str
) -> None:
    question = {"models": ["one"], "text": SENTENCE, "beam": 2, **changes}
    found, answer = ask(f"{place.address}/workbench/translate/ask", question)
    assert found == status
    assert sentence in answer["error"]


def test_a_run_that_was_trained_further_is_read_anew(shared_runs: SharedRuns, tmp_path: Path) -> None:
    one = shared_runs.copy(tiny(), tmp_path / "runs" / "one")
    other = shared_runs.copy(tiny(train__seed=2), tmp_path / "other")
    question = {"models": ["one"], "text": SENTENCE, "beam": 2}
    with serve_workbench([other.path], tmp_path / "runs") as address:
        before = ask(f"{address}/workbench/translate/ask", question)[1]
        weights = {name: 0.9 * array for name, array in one.load_model().items()}
        one.save_model(weights, one.about_model)
        after = ask(f"{address}/workbench/translate/ask", question)[1]
    assert before["log_probability"] != after["log_probability"]
    assert after["log_probability"] == make_example(load(one.path), SENTENCE, 2)["log_probability"]


def test_a_browser_gets_the_weights_that_the_server_has(shared_runs: SharedRuns, tmp_path: Path) -> None:
    """A run that was given stays as it was read until it is read anew, whatever is written meanwhile."""
    one = shared_runs.copy(tiny(), tmp_path / "one")
    weights = {name: 0.9 * array for name, array in one.load_model().items()}
    with serving(ModelRegistry([one.path]), pages=True) as server:
        address = "/workbench/translate/model/one.bin"
        before = server.client.get(address).content
        one.save_model(weights, one.about_model)
        assert server.client.get(address).content == before
        assert server.client.post("/v1/reload").status_code == 200
        after = server.client.get(address).content
    assert after != before
    assert after == make_bundle(load(one.path), "one").weights


def test_heads_are_those_of_each_part(
    context: "BrowserContext", shared_runs: SharedRuns, tmp_path: Path
) -> None:
    """What looks at the source need not have several heads in a Transformer; self-attention always has."""
    changes = {**TRANSFORMER, "model__attention": "additive", "model__heads": 2}
    run = shared_runs.copy(tiny(**changes), tmp_path / "one")
    with serve_workbench([run.path], tmp_path) as address:
        [about] = ask(f"{address}/workbench/translate/models")[1]["models"]
        assert (about["layers"], about["heads"]) == (2, {"cross": 1, "encoder": 2, "decoder": 2})
        view = TranslateTab(context, Place(address, tmp_path), text=SENTENCE, beam="1", layer="1", head="2")
        expected = load(run.path).translate(SENTENCE, beam=1, heads=True)
        assert view.cells() == show(expected.select_heads("cross", 1)[0].attention)
        assert view.tab.inner_text(".head-name").endswith("layer 1")
        assert view.tab.locator("#head option").all_inner_texts() == ["mean", "all, small"]
        view.tab.select_option("#part", "encoder")
        view.wait("document.querySelectorAll('#head option').length === 4")
        view.settle()
        view.wait("document.querySelector('.head-name')?.textContent.includes('head 2')")
        assert view.cells() == show(expected.select_heads("encoder", 1)[1].attention)
        assert view.complaints == []


# -- the page -----------------------------------------------------------------------------------------------


def test_what_is_typed_is_translated_by_the_server_and_nothing_is_loaded(
    context: "BrowserContext", place: Place
) -> None:
    view = TranslateTab(context, place)
    view.type(SENTENCE)
    expected = place.load("one").translate(SENTENCE)
    assert view.said() == expected.text
    assert view.cells() == show(expected.attention)
    view.tab.select_option("#beam", "50")
    view.settle()
    assert view.said() == place.load("one").translate(SENTENCE, beam=50).text
    assert not any("/model/" in each for each in view.requests)
    assert view.complaints == []


def test_a_server_that_is_away_is_waited_for(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE)
    said = view.said()
    context.route("**/workbench/translate/ask", lambda route: route.abort())
    view.tab.fill("#text", "Zwei Männer spielen.")
    view.tab.wait_for_selector("#away:has-text('Retrying')")
    assert view.said() == said  # the last result stays
    context.unroute("**/workbench/translate/ask")
    view.wait("document.querySelector('#away').hidden")
    view.wait("said => document.querySelector('#answer-0 .said').textContent !== said", said)
    assert view.said() == place.load("one").translate("Zwei Männer spielen.").text


def test_back_leads_to_what_was_shown_before(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE, beam="3")
    said = [view.said()]
    changes: list[Callable[[], None]] = [
        lambda: view.type(OTHER),
        lambda: view.tab.locator("#examples button").nth(1).click(),
        lambda: view.tab.locator("#place .candidate").nth(2).click(),
    ]
    for change in changes:
        address = view.tab.url
        change()
        view.wait("address => location.href !== address", address)
        view.settle()
        said.append(view.said())
    view.tab.select_option("#theme", "dark")
    view.tab.click("#views a[data-frame=theory]")
    view.tab.wait_for_selector("#theory canvas")
    view.tab.go_back()
    for number in (3, 2, 1, 0):
        view.wait(
            "text => document.querySelector('#answer-0 .said')?.textContent.startsWith(text)", said[number]
        )
        view.settle()
        assert view.tab.evaluate("document.documentElement.dataset.theme") == "dark"
        if number:
            view.tab.go_back()
    assert (view.tab.input_value("#text"), view.tab.input_value("#beam")) == (SENTENCE, "3")
    view.tab.go_forward()
    view.wait("text => document.querySelector('#text').value === text", OTHER)
    view.tab.click("#views a[data-frame=theory]")  # a link in place of "Back"
    view.tab.wait_for_selector("#theory canvas")
    view.tab.click("#views a[data-frame=translate]")
    view.wait("text => document.querySelector('#answer-0 .said')?.textContent.startsWith(text)", said[1])
    assert view.tab.input_value("#beam") == "3"


def test_what_is_typed_in_one_go_is_one_step_back(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE)
    steps = view.tab.evaluate("history.length")
    # Typed in the page itself, it is one go however slow the machine is.
    view.tab.evaluate(
        """async texts => {
          const field = document.getElementById("text");
          for (const text of texts) {
            field.value = text;
            field.dispatchEvent(new Event("input"));
            while (new URLSearchParams(location.hash.slice(1)).get("text") !== text)
              await new Promise(resolve => setTimeout(resolve, 10));
          }
        }""",
        ["D", "Die", "Die alte"],
    )
    view.settle()
    view.tab.locator(".said .word").first.click()
    view.type(OTHER)
    assert view.tab.evaluate("history.length") == steps + 2
    view.tab.go_back()
    view.wait("document.querySelector('#text').value === 'Die alte'")
    view.tab.go_back()
    view.wait("text => document.querySelector('#text').value === text", SENTENCE)


def test_examples_are_those_that_the_chosen_run_translates_well(
    context: "BrowserContext", place: Place
) -> None:
    view = TranslateTab(context, place)
    own, bundled = choose_examples([place.load("one")]), choose_examples([load(BUNDLED_MODEL)])
    assert view.tab.locator("#examples button").all_inner_texts() == own
    assert view.tab.input_value("#text") == own[0]
    listed = "text => document.querySelector('#examples').textContent === text"
    with serving(ModelRegistry([BUNDLED_MODEL], folder=place.folder), pages=True) as server:
        view = TranslateTab(context, Place(server.address, place.folder), models="one")
        view.wait(listed, "".join(own))
        assert view.tab.input_value("#text") == bundled[0]  # that of the address, which has none
        view.tab.click("#models summary")
        for name in ("multi30k-de-en", "one"):  # which is taken away
            view.tab.click(f"#models-list [aria-label='{name}: Left']")
        view.wait(listed, "".join(bundled))
        view.tab.close()


def test_the_beam_is_a_tree_and_a_word_in_it_is_gone_on_from(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE, beam="3", open="beam")
    view.tab.wait_for_selector("#beam-content svg.tree")
    second = view.tab.locator("#place .candidate").nth(1)
    word = second.locator(".token").inner_text()
    second.click()
    view.wait("location.hash.includes('begin')")
    view.settle()
    begin = [int(token) for token in view.fragment()["begin"].split(".")]
    expected = place.load("one").complete(SENTENCE, begin, beam=3)
    assert view.said() == expected.text
    assert word in view.said()
    view.tab.wait_for_selector("#beam-content svg.tree")
    assert view.complaints == []


def test_runs_of_one_column_translate_together_and_those_of_two_side_by_side(
    context: "BrowserContext", place: Place
) -> None:
    view = TranslateTab(context, place, text=SENTENCE, beam="2")
    view.tab.click("#models summary")
    view.tab.wait_for_selector("#models-list tbody tr")  # the list is asked for when it is opened
    rows = view.tab.locator("#models-list tbody tr")
    names = rows.locator("th").all_inner_texts()
    assert sorted(names) == sorted(["one", "two", "deep/transformer", "heads", HOSTILE])
    rows.nth(names.index("two")).locator("input").nth(0).focus()
    view.tab.keyboard.press("Space")
    view.wait("location.hash.includes('models=one,two')")
    view.settle()
    together = place.load("one", "two").translate(SENTENCE, beam=2)
    assert view.said() == together.text
    assert view.cells() == show(together.attention)
    view.tab.click("#panel-change summary")
    view.wait("document.getElementById('change-content').textContent.includes('2 translate together')")
    rows.nth(names.index("deep/transformer")).locator("input").nth(1).click()
    view.wait("document.querySelectorAll('.answer').length === 2")
    view.settle()
    assert view.said(0) == together.text
    assert view.said(1) == place.load("deep/transformer").translate(SENTENCE, beam=2).text
    assert "one + two" in view.tab.inner_text("#comparison")
    again = TranslateTab(context, place, **view.fragment())
    assert [again.said(0), again.said(1)] == [view.said(0), view.said(1)]
    assert view.complaints == again.complaints == []


def test_models_that_cannot_translate_together_say_why(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE, models="one,nothing-of-that-name")
    assert "nothing" not in view.tab.inner_text("#models-chosen")
    assert view.said() == place.load("one").translate(SENTENCE).text


def test_changed_attention_is_computed_in_the_browser(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE, beam="1")
    view.tab.click("#panel-change summary")
    view.tab.wait_for_selector(".weights")
    assert any("/model/one.bin" in each for each in view.requests)
    view.tab.click(".weights tbody tr:nth-child(2) th button")
    view.wait("location.hash.includes('tried')")
    view.tab.click(".effect .main")
    view.wait("location.hash.includes('changed')")
    view.settle()
    chosen = int(view.fragment()["changed"].partition(":")[0])
    assert view.cells()[chosen][1] == "1"
    assert view.complaints == []


def test_a_model_in_the_browser_is_read_once_and_ends_with_its_run(
    context: "BrowserContext", place: Place
) -> None:
    view = TranslateTab(context, place, text=SENTENCE, models="one;one", beam="1", open="change", at="0")
    view.tab.wait_for_selector(".weights")
    view.tab.locator("#answer-1 .said .word").first.click()
    view.tab.wait_for_selector("#place h3:has-text('one')")
    view.tab.wait_for_selector(".weights")
    assert len([each for each in view.requests if each.endswith("one.bin")]) == 1
    assert len(view.tab.workers) == 1
    view.tab.evaluate("location.hash = location.hash.replace('one;one', 'two')")
    view.wait("document.querySelectorAll('.answer').length === 1")
    until = time.monotonic() + TIMEOUT
    while not (any("two.bin" in each for each in view.requests) and len(view.tab.workers) == 1):
        assert time.monotonic() < until, view.tab.workers
        view.tab.wait_for_timeout(20)
    assert view.complaints == []


def test_the_chosen_head_is_shown_everywhere_also_of_changed_attention(
    context: "BrowserContext", place: Place
) -> None:
    view = TranslateTab(context, place, text=SENTENCE, models="heads", beam="1", head="2", at="2")
    expected = place.load("heads").translate(SENTENCE, beam=1, heads=True)
    second = expected.heads[1].subword_attention
    assert view.cells() == show(expected.heads[1].attention)
    attended = "[...document.querySelectorAll('#place > div:last-child .token')].map(one => one.textContent)"
    order = np.argsort(-second[2], kind="stable")[:3]
    words = [*SENTENCE.removesuffix(".").split(), ".", "∎"]
    assert view.tab.evaluate(attended)[:3] == [words[place] for place in order]
    view.tab.click("#panel-change summary")
    view.tab.wait_for_selector(".weights")
    view.tab.click(".weights tbody tr:nth-child(2) th button")
    view.wait("location.hash.includes('tried')")
    view.tab.click(".effect .main")
    view.wait("location.hash.includes('changed')")
    view.settle()
    assert "head 2" in view.tab.inner_text(".head-name")
    cells = view.cells()
    assert cells[2] == ["", "1", "", "", "", "", ""]  # of all heads
    assert cells[:2] == show(expected.heads[1].attention)[:2]
    assert cells[:2] != show(expected.attention)[:2]
    assert view.complaints == []


def test_layers_and_heads_of_a_transformer(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE, beam="2", models="deep/transformer")
    expected = place.load("deep/transformer").translate(SENTENCE, beam=2, heads=True)
    assert view.cells() == show(expected.attention)
    view.tab.select_option("#head", "all")
    view.tab.wait_for_selector(".small-map")
    assert view.tab.locator(".small-map canvas").count() == 2 * 4
    view.tab.locator(".small-map").nth(5).click()  # layer 2, head 2
    view.tab.wait_for_selector(".map")
    assert view.fragment() | {"layer": "2", "head": "2"} == view.fragment()
    assert view.cells() == show(expected.attentions["cross"][1, 1])
    for part in ("encoder", "decoder"):
        view.tab.select_option("#part", part)
        view.wait("part => location.hash.includes(part)", part)
        view.settle()
        assert view.cells() == show(expected.attentions[part][1, 1])
    view.tab.select_option("#layer", "mean")
    assert view.cells() == show(expected.attentions["decoder"][:, 1].mean(0))
    again = TranslateTab(context, place, **view.fragment())
    assert again.cells() == view.cells()
    view.tab.click("#panel-change summary")
    view.wait("document.getElementById('change-content').textContent.includes('Only a GRU')")
    assert view.complaints == again.complaints == []


def test_names_stay_text(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place, text=SENTENCE, models=HOSTILE)
    assert view.said() == place.load(HOSTILE).translate(SENTENCE).text
    assert view.tab.inner_text("#models-chosen") == HOSTILE
    view.tab.click("#models summary")
    assert view.tab.locator("img").count() == 0
    assert "pwned" not in view.tab.title()
    assert view.complaints == []


def test_colours_and_language_are_remembered_in_all_views(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place)
    light = view.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    view.tab.select_option("#theme", "dark")
    view.tab.select_option("#language", "de")
    assert view.tab.inner_text("#views a[aria-current]") == "Übersetzen"
    view.tab.goto(f"{place.address}/runs")
    view.tab.wait_for_selector("html[lang=de]")
    view.wait("document.title === 'Läufe · Augenmerk'")
    assert view.tab.evaluate("getComputedStyle(document.body).backgroundColor") != light
    view.tab.select_option("#theme", "light")
    view.tab.goto(f"{place.address}/")
    view.tab.wait_for_selector("html[lang=de]")
    assert view.tab.evaluate("getComputedStyle(document.body).backgroundColor") == light
    assert view.complaints == []


@pytest.mark.parametrize("models", ["one;deep/transformer", "deep/transformer"])
def test_nothing_sticks_out_on_a_phone(chromium: "Chromium", place: Place, models: str) -> None:
    context = chromium.new_context(locale="de-DE", viewport={"width": 360, "height": 740})
    view = TranslateTab(context, place, text=SENTENCE, models=models, head="all", open="beam,change")
    view.tab.click("#models summary")
    view.tab.wait_for_selector(".small-map")
    assert view.sticks_out() == 0
    assert view.tab.inner_text("#views a[aria-current]") == "Übersetzen"
    assert view.complaints == []
    context.close()


def test_the_last_sentence_wins(context: "BrowserContext", place: Place) -> None:
    view = TranslateTab(context, place)
    held: list[Route] = []

    def hold_the_first(route: "Route") -> None:
        held.append(route)
        if len(held) > 1:
            route.continue_()

    context.route("**/workbench/translate/ask", hold_the_first)
    view.tab.fill("#text", SENTENCE)
    while not held:
        view.tab.wait_for_timeout(10)
    view.type(OTHER)
    held[0].continue_()
    view.type(f"{OTHER} {OTHER}")  # an answer that comes after the one that was held
    view.type(OTHER)
    assert view.said() == place.load("one").translate(OTHER).text
    assert view.complaints == []


def test_a_run_that_cannot_be_read_is_listed_as_such(
    context: "BrowserContext", shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SEARCH_SECONDS", 0.0)
    run = shared_runs.copy(tiny(), tmp_path / "runs" / "one").path
    broken = shared_runs.copy(tiny(), tmp_path / "runs" / "broken").path
    text = (broken / "config.toml").read_text(encoding="utf-8")
    (broken / "config.toml").write_text(text.replace("batch_size", "batchsize"), encoding="utf-8")
    with pytest.raises(AugenmerkError):
        RunDirectory.open(broken)
    with serve_workbench([run], tmp_path / "runs") as address:
        view = TranslateTab(context, Place(address, tmp_path / "runs"), text=SENTENCE)
        shared_runs.copy(tiny(), tmp_path / "runs" / "trained-meanwhile")
        view.tab.click("#models summary")
        view.tab.wait_for_selector("#models-list >> text=trained-meanwhile")
        assert "cannot be read" in view.tab.inner_text("#models-list")
        assert view.said() == load(run).translate(SENTENCE).text
        assert view.complaints == []
        view.tab.close()
