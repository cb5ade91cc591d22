"""The exported theory page in a browser: it is dragged and clicked into, and shows what Python computes."""

import json
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from augenmerk.theory.attention import Array, attend
from augenmerk.theory.copying import reach, tied_weight
from augenmerk.theory.exercises import EXERCISES, GRADED
from augenmerk.theory.results import plane_values
from augenmerk.web.export import describe_theory, export_theory
from tests.support.browser import WatchedTab
from tests.support.command import fails_with_a_sentence, run_json
from tests.support.theory import output_moments

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext

TASKS = ("play", *(task for task in GRADED if not EXERCISES[task].is_variant))
HOSTILE = "<img src=x onerror=\"document.title='pwned'\">"


class TheoryTab(WatchedTab):
    """A theory page in a tab, with what people do in it and see."""

    def __init__(self, context: "BrowserContext", address: str) -> None:
        super().__init__(context, address)
        self.tab.wait_for_selector(".theory[data-drawn]")

    def go(self, fragment: str = "") -> None:
        """Leads the page to another state, and waits until it is drawn."""
        super().go(fragment)
        self.tab.wait_for_selector(".theory[data-drawn]")

    def wait_for_text(self, selector: str, text: str) -> None:
        found = "([selector, text]) => document.querySelector(selector)?.textContent.includes(text)"
        self.wait(found, [selector, text])

    def wait_for_count(self, selector: str, count: int) -> None:
        found = "([selector, count]) => document.querySelectorAll(selector).length === count"
        self.wait(found, [selector, count])

    def control(self, name: str) -> None:
        self.tab.click(f'[data-control="{name}"]')

    def wait_for_fragment(self, name: str) -> str:
        """Returns what the address says once it rests: a slow drag writes it several times.

        The page writes 150 ms after the last change, so a later timer that waits for longer ends after it.
        """
        self.tab.evaluate(
            "new Promise(rested => requestAnimationFrame(() =>"
            " requestAnimationFrame(() => setTimeout(rested, 200))))"
        )
        self.wait("name => new URLSearchParams(location.hash.slice(1)).has(name)", name)
        return self.fragment()[name]

    def points(self, name: str) -> Array:
        """The points that the address has under a name."""
        pairs = self.wait_for_fragment(name).split(";")
        return np.array([[float(each) for each in pair.split(",")] for pair in pairs])

    def weights(self) -> list[float]:
        """The weights that the bars show."""
        found: list[float] = self.tab.eval_on_selector_all(
            ".weights-now .bar", "bars => bars.map(bar => Number(bar.style.getPropertyValue('--share')))"
        )
        return found

    def place(self, handle: str) -> tuple[float, float]:
        """Where a point is on the screen."""
        box = self.tab.locator(f'[data-handle="{handle}"] .knob').bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, handle: str, dx: float, dy: float) -> None:
        x, y = self.place(handle)
        self.tab.mouse.move(x, y)
        self.tab.mouse.down()
        for step in (1, 2, 3):
            self.tab.mouse.move(x + dx * step / 3, y + dy * step / 3)
        self.tab.mouse.up()

    def table(self) -> list[list[float]]:
        """The numbers below a cloud: rows of the mean and the deviation, two numbers in each cell."""
        rows = self.tab.eval_on_selector_all(
            ".numbers tbody tr",
            "rows => rows.map(row => [...row.querySelectorAll('td')].map(c => c.textContent))",
        )
        return [[float(number) for cell in row for number in cell.split("; ")] for row in rows[:2]]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page as a file."""
    return export_theory(tmp_path_factory.mktemp("theory") / "theory.html").as_uri()


OPTIONS: Any = {
    "locale": "en-GB",
    "viewport": {"width": 1200, "height": 900},
    "reduced_motion": "reduce",
}


@pytest.fixture
def context(chromium: "Chromium") -> "Iterator[BrowserContext]":
    with chromium.new_context(**OPTIONS) as context:
        yield context


@pytest.fixture(scope="module")
def first(chromium: "Chromium", page: str) -> Iterator[TheoryTab]:
    """The page in a tab that most tests use."""
    with chromium.new_context(**OPTIONS) as context:
        yield TheoryTab(context, page)


@pytest.fixture
def open_page(context: "BrowserContext", page: str, first: TheoryTab) -> Iterator[Callable[..., TheoryTab]]:
    """Opens the page with a fragment, and looks at the end that nothing was complained about.

    What a test opens first is in the tab of all tests, which are led from state to state by addresses."""
    views: list[TheoryTab] = []

    def open_page(fragment: str = "", own_context: "BrowserContext | None" = None) -> TheoryTab:
        if own_context is None and not views:
            first.go(fragment)
            views.append(first)
        else:
            views.append(TheoryTab(own_context or context, f"{page}#{fragment}"))
        return views[-1]

    yield open_page
    complaints = [each for view in views for each in view.complaints]
    first.complaints.clear()
    assert complaints == []


Open = Callable[..., TheoryTab]


def test_a_dragged_query_changes_weights_and_output_as_python_says(open_page: Open) -> None:
    view = open_page()
    before = view.weights()
    view.drag("q", -150, 40)
    [query] = view.points("q")
    view.drag("k_3", 60, -20)
    keys = view.points("keys")
    view.drag("v_2", -80, 60)
    values = view.points("values")
    weights, output = attend(3 * query, keys, values)
    assert view.weights() == pytest.approx(weights, abs=2e-3)  # an address has four decimals
    assert max(abs(a - b) for a, b in zip(before, weights, strict=True)) > 0.2
    view.wait_for_text(".said-now", f"{output[0]:.2f}")
    place = view.tab.get_attribute(".plane path.output", "transform")
    box = view.tab.locator(".plane").nth(1).bounding_box()
    assert box is not None
    assert place is not None
    unit = (box["width"] - 2) / 3.4
    expected = [(output[0] + 1.7) * unit, (1.7 - output[1]) * unit]
    assert [float(each) for each in re.findall(r"-?[\d.]+", place)] == pytest.approx(expected, abs=0.5)
    # The same address shows the same again.
    again = open_page(view.tab.evaluate("location.hash.slice(1)"))
    assert again.weights() == pytest.approx(weights, abs=1e-4)


def test_arrow_keys_move_a_point_and_a_slider_scales(open_page: Open) -> None:
    view = open_page()
    share = "Number(document.querySelector('.weights-now .bar').style.getPropertyValue('--share'))"
    view.tab.focus('[data-handle="q"]')
    view.tab.keyboard.press("ArrowRight")
    view.tab.keyboard.press("Shift+ArrowDown")
    assert view.wait_for_fragment("q") == "1,0.7"
    assert view.tab.get_attribute('[data-handle="q"]', "aria-valuetext") == "x 1.00, y 0.70"
    view.tab.focus('[data-control="c"]')
    view.tab.keyboard.press("End")
    assert view.wait_for_fragment("c") == "300"
    view.wait(f"{share} > 0.99")
    view.tab.keyboard.press("Home")
    view.wait(f"{share} < 0.25")
    view.control("more")
    view.wait_for_count(".weights-now li", 6)
    assert len(view.points("keys")) == 6
    view.control("fewer")
    view.wait_for_count(".weights-now li", 5)
    view.control("root")
    assert view.wait_for_fragment("root") == "without"
    view.control("again")
    view.wait("location.hash === ''")
    view.wait(f"{share} > 0.3")


def test_a_link_is_followed_whatever_has_just_been_changed(
    context: "BrowserContext", open_page: Open
) -> None:
    # The page writes its state after a pause: here between the change of the address and the event about it.
    context.add_init_script("window.setTimeout = (call) => void (window.later = call);")
    view = open_page(own_context=context)
    view.wait("window.later !== undefined")
    view.tab.evaluate(
        """() => {
          document.querySelector("[data-handle=q]")
            .dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
          location.hash = "#task=1.6";
          window.later();
        }"""
    )
    view.wait("document.querySelector('.tasks [aria-current]').dataset.task === '1.6'")
    assert view.tab.evaluate("document.activeElement.localName") == "h2"


def test_a_click_in_the_plane_fetches_the_query(open_page: Open) -> None:
    view = open_page()
    box = view.tab.locator(".plane").first.bounding_box()
    assert box is not None
    view.tab.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.7 * box["height"])
    np.testing.assert_allclose(view.points("q"), [[0.85, -0.68]], atol=0.02)


def test_a_finger_drags_a_point(chromium: "Chromium", open_page: Open) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    view = open_page(own_context=context)
    before = view.weights()
    x, y = view.place("q")
    session = context.new_cdp_session(view.tab)
    for kind, dx in (("touchStart", 0), ("touchMove", -60), ("touchMove", -120), ("touchEnd", None)):
        fingers = [] if dx is None else [{"x": x + dx, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    [query] = view.points("q")
    assert query[0] < 0.2
    assert query[1] == pytest.approx(0.95, abs=0.02)
    assert view.weights() != before
    context.close()


def test_the_answer_to_1_1_is_shown_when_asked_for(open_page: Open) -> None:
    view = open_page("task=1.1")
    keys = np.array(describe_theory()["copying"]["keys"])
    assert view.tab.locator(".plane .margin").count() == 0
    view.control("reveal")
    view.wait_for_text(".said-now", f"{reach(keys, [0]).margin:.3f}")
    assert view.weights()[0] >= 0.99
    hidden = [j for j in range(8) if not reach(keys, [j]).possible]
    assert view.tab.locator(".plane .hidden-key").count() == len(hidden) > 0
    view.tab.click(f'[data-choice="{hidden[0] + 1}"]')
    view.wait_for_text(".said-now", "inside the hull")
    assert view.fragment()["reveal"] == "yes"


def test_two_keys_are_averaged_on_the_diagonal(open_page: Open) -> None:
    view = open_page("task=1.2&q=1,1&s=5&m=12")
    assert view.weights()[:2] == pytest.approx([tied_weight(12, 2, 5)] * 2, abs=1e-5)
    view.tab.focus('[data-handle="q"]')
    view.tab.keyboard.press("ArrowLeft")
    view.wait_for_fragment("q")
    keys = np.eye(12)
    query = 5 * (0.95 * keys[0] + keys[1])
    assert view.weights()[:2] == pytest.approx(attend(query, keys, keys, 1.0).weights[:2], abs=1e-5)


def test_a_dark_page_prints_in_light_colours(open_page: Open) -> None:
    colour = "document.querySelector('.theory').style.getPropertyValue('--s0')"
    light, view = open_page("theme=light"), open_page("theme=dark")
    assert view.tab.evaluate(colour) != light.tab.evaluate(colour)
    view.tab.emulate_media(media="print")
    view.tab.wait_for_function(f"expected => {colour} === expected", arg=light.tab.evaluate(colour))


def test_1_3_does_not_open_with_its_answer(open_page: Open) -> None:
    """What one sample looks like, and what many, is asked for, and so is the query."""
    view = open_page("task=1.3")
    view.wait_for_text(".said-now", "q = c (0.25 μa + 1.30 μb)")
    assert view.tab.inner_text(".count") == "1 sample"
    assert "leans" not in view.tab.inner_text(".scene")
    view.control("reveal")
    view.wait_for_text(".said-now", "q = c (1.00 μa + 1.00 μb). Nearly every sample leans to one side")
    view.wait_for_text(".count", "2,000 samples")
    again = open_page("task=1.3&reveal=yes")
    again.wait_for_text(".count", "2,000 samples")


@pytest.mark.parametrize("task", ["1.4", "1.5"])
def test_one_head_against_two(open_page: Open, task: str) -> None:
    view = open_page(f"task={task}")
    view.wait_for_text(".said-now", "q1 =")
    assert view.tab.inner_text(".count") == "1 sample"
    view.control("reveal")
    view.wait_for_text(".said-now", "copies one value")
    view.wait_for_text(".count", "2,000 samples")
    values, betas = plane_values(8), (0.1, 0.1) if task == "1.4" else (0.5, 0.0)
    mean, deviation = view.table()
    for place, heads in ((2, [[20.0, 20.0]]), (6, [[20.0, 0.0], [0.0, 20.0]])):
        expected, covariance = output_moments(values, np.array(heads), betas)
        deviations = np.sqrt(np.diag(covariance))
        assert mean[place : place + 2] == pytest.approx(expected, abs=6e-4)
        assert deviation[place : place + 2] == pytest.approx(deviations, abs=6e-4)
        errors = 5 * deviations / math.sqrt(2000) + 2e-3
        assert (np.abs(np.array(mean[place - 2 : place]) - expected) < errors).all()
        assert deviation[place - 2] == pytest.approx(deviations[0], rel=0.25)
    assert deviation[0] > 3 * deviation[4]  # one head swings, two do not


def test_a_cloud_grows_and_is_drawn_anew(chromium: "Chromium", open_page: Open) -> None:
    context = chromium.new_context(locale="en-GB", viewport={"width": 1200, "height": 900})
    view = open_page("task=1.3", own_context=context)
    counted = "Number(document.querySelector('.count').textContent.replace(/\\D/g, ''))"
    view.control("many")
    view.wait(f"{counted} > 2")
    view.control("resample")
    assert view.wait_for_fragment("seed") == "2"
    assert view.tab.inner_text(".count") == "1 sample"
    view.control("one-more")
    view.wait(f"{counted} === 2")
    view.tab.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    assert view.tab.evaluate(counted) == 2
    view.control("reveal")  # glides, and queries that see the lengths do not scatter
    view.wait_for_text(".said-now", "second cloud is a point")
    view.wait(f"{counted} > 100")
    _, deviation = view.table()
    assert deviation[4:] == pytest.approx([0, 0, 0, 0], abs=2e-3)
    context.close()


def test_the_inputs_of_1_6_cannot_reach_u_b(open_page: Open) -> None:
    view = open_page("task=1.6")
    view.wait_for_text(".said-now", "0.576")
    view.control("reveal")
    view.wait_for_text(".said-now", "0.63 B above")
    for slider in "Bd":
        view.tab.focus(f'[data-control="{slider}"]')
        view.tab.keyboard.press("End")
    view.wait_for_text(".said-now", "c2 = ua + ud.")


def test_the_matrices_of_1_7_are_found_by_clicking(open_page: Open) -> None:
    view = open_page("task=1.7")
    for name in "QV":
        view.control(f"{name}-zero")
    view.wait_for_count(".entry.positive", 4)
    for entry in ("Q30", "Q23", "V11", "V22", "V22"):
        before = view.tab.get_attribute(f'[data-entry="{entry}"]', "aria-label")
        view.tab.click(f'[data-entry="{entry}"]')
        view.wait(
            "([entry, before]) => document.querySelector(`[data-entry=${entry}]`).ariaLabel !== before",
            [entry, before],
        )
    view.wait_for_text(".said-now", "2 of 2")
    view.wait_for_count(".near", 2)
    assert view.fragment()["V"] == "00000p0000n00000"


@pytest.mark.parametrize("task", GRADED)
def test_a_question_comes_with_its_hints_and_the_command_that_grades(open_page: Open, task: str) -> None:
    view = open_page(f"task={task}")
    question = EXERCISES[task]
    assert question.title in view.tab.inner_text(".question h2")
    assert view.tab.locator(".hints li").count() == 0
    for number in range(1, len(question.hints) + 1):
        view.control("hint")
        view.wait_for_count(".hints li", number)
        assert view.tab.evaluate("document.activeElement.parentElement.className") == "hints"
    assert view.tab.locator('[data-control="hint"]').is_hidden()
    view.control("again")  # resets the picture alone
    assert view.wait_for_fragment("hints") == str(len(question.hints))
    assert view.tab.locator(".hints li").count() == len(question.hints)
    command = f"augenmerk theory check {task} --query '{question.key.prompt}'"
    assert view.tab.locator(".command").all_inner_texts() == [command, "augenmerk serve --open"]
    assert view.tab.locator("form").count() == 0


@pytest.mark.parametrize(
    ("size", "look"),
    [((360, 740), "light"), ((360, 740), "projector"), ((1280, 900), "dark"), ((1920, 1080), "projector")],
)
def test_all_pages_fit_in_all_looks(
    chromium: "Chromium", open_page: Open, size: tuple[int, int], look: str
) -> None:
    context = chromium.new_context(
        locale="de-DE" if look == "dark" else "en-GB",
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if look == "dark" else "light",
        reduced_motion="reduce",
    )
    theme = "&theme=projector" if look == "projector" else ""
    view = open_page(f"task=play{theme}", context)
    for task in TASKS:
        view.tab.click(f'[data-task="{task}"]')
        view.wait("task => document.querySelector('.tasks [aria-current]').dataset.task === task", task)
        view.wait("document.querySelector('.theory').dataset.drawn === ''")
        assert view.tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), task
        assert view.tab.evaluate(WORDS_THAT_BREAK) == [], task
        paper = view.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (look == "dark")
        if look == "projector":
            assert view.fragment()["theme"] == "projector"
    assert view.tab.get_attribute("html", "lang") == ("de" if look == "dark" else "en")
    context.close()


WORDS_THAT_BREAK = """() => [...document.querySelectorAll("h1, h2, h3, th, button, summary")]
  .flatMap((heading) => {
    const walker = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT);
    const broken = [];
    while (walker.nextNode()) {
      for (const { 0: word, index } of walker.currentNode.data.matchAll(/\\p{L}+/gu)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, index);
        range.setEnd(walker.currentNode, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) broken.push(word);
      }
    }
    return broken;
  })"""
"""Returns the words of headings and buttons that are on two lines."""


def test_the_switches_are_in_the_address(open_page: Open) -> None:
    view = open_page("task=1.2")
    view.tab.select_option("#language", "de")
    view.tab.select_option("#theme", "dark")
    view.wait_for_text(".work", "Hinweise")
    assert view.fragment() == {"task": "1.2", "language": "de", "theme": "dark"}
    assert "Zwei Werte mitteln" in view.tab.inner_text(".question")
    assert view.tab.title() == "Augenmerk: Was Aufmerksamkeit berechnen kann und was nicht"
    view.wait_for_text(".said-now", "Gewichte")
    view.tab.click('[data-task="1.3"]')
    view.wait("document.querySelector('.tasks [aria-current]').dataset.task === '1.3'")
    assert view.fragment() == {"task": "1.3", "language": "de", "theme": "dark"}


@pytest.mark.parametrize(
    "fragment",
    [
        f"task={HOSTILE}",
        "task=1.1&keys=1,2;x,3;4,5&q=1e9,0&c=NaN&target=99&values=;;;",
        "task=1.4&q=1&q1=,&s=-4&beta=0&m=1e9&seed=0",
        f"task=1.7&K={HOSTILE}&Q=zzzz&B=1000",
        "task=1.1&keys=0,0;0,0;0,0&q=0,0&reveal=yes",
        "task=play&keys=" + ";".join(["1,1"] * 500),
        "task=1.1&values=0,0;1,1;0,1",
    ],
)
def test_an_address_that_makes_no_sense_does_no_harm(open_page: Open, fragment: str) -> None:
    view = open_page(fragment)
    view.wait("document.querySelector('.said-now').textContent !== ''")
    assert "NaN" not in view.tab.inner_text("main")
    assert "pwned" not in view.tab.title()


def test_a_folder_works_on_a_web_server(context: "BrowserContext", tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert run_json("export", "--theory", "--out", site) == {"file": str(site / "index.html")}
    context.route(
        "http://page.test/**",
        lambda route: route.fulfill(
            path=site / (route.request.url.split("/")[3].partition("?")[0] or "index.html")
        ),
    )
    view = TheoryTab(context, "http://page.test/")
    assert len(view.weights()) == 5
    assert view.complaints == []


def test_the_page_is_one_file_that_runs_only_its_own_script(tmp_path: Path) -> None:
    text = export_theory(tmp_path / "theory.html").read_text(encoding="utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    data, script = re.findall(r"<script.*?>(.*?)</script>", text, re.S)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.S)
    for tag, content in (("style", style), ("script", script)):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy
    assert policy.startswith("default-src &#39;none&#39;")
    questions = json.loads(data)["questions"]
    assert [each["task"] for each in questions] == list(GRADED)
    assert questions[2]["question"] == EXERCISES["1.2"].text
    assert questions[2]["hints"] == list(EXERCISES["1.2"].hints)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "theory.html"
    out.write_text("mine", encoding="utf-8")
    assert "already there" in fails_with_a_sentence("export", "--theory", "--out", out)
    assert out.read_text(encoding="utf-8") == "mine"
    place = tmp_path / "other.html"
    for extra in (("runs/mine",), ("--beam", 3), ("--example", "Ein Hund.")):
        assert "leave out" in fails_with_a_sentence("export", *extra, "--theory", "--out", place)
    assert not place.exists()
