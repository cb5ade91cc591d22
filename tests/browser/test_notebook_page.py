"""The page in a notebook: the widget in a small host with the interface of anywidget, and the frame."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import augenmerk
from augenmerk.base.errors import AugenmerkError
from augenmerk.web.export import make_page
from tests.support.browser import TIMEOUT
from tests.support.runs import SharedRuns, tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page, Route

EXAMPLE = "Der Hund schläft."
OTHER = "Die Frau lacht."
HOSTILE = (
    "</script></iframe>\"'><img src=x onerror=\"parent.document.title='pwned'\"><script>alert(1)</script>"
)
POLICY = (  # that of notebooks in VS Code, where it is switched on
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' https: http: data:; connect-src https:; child-src https: data:"
)
HOST = """<!DOCTYPE html><title>notebook</title><div id="cell"></div><script type="module">
import widget from "./widget.js";
const listeners = new Set();
window.saved = [];
window.model = {
  state: STATE,
  changed: {},
  get(name) { return this.state[name]; },
  set(name, value) {
    if (JSON.stringify(this.state[name]) === JSON.stringify(value)) return;
    this.state[name] = value;
    this.changed[name] = value;
    for (const [event, heard] of listeners) if (event === `change:${name}`) heard();
  },
  save_changes() { saved.push(this.changed); this.changed = {}; },
  on(event, heard) { listeners.add([event, heard]); },
  off(event, heard) { for (const each of listeners) if (each[1] === heard) listeners.delete(each); },
};
window.leave = await widget.render({ model, el: document.getElementById("cell") });
window.listening = () => listeners.size;
</script>"""


class Host:
    """A page around a cell's output, which notes what it complains about and asks for."""

    def __init__(
        self, chromium: "Browser", body: str, script: str = "", ready: str = "html[data-ready]"
    ) -> None:
        def serve(route: "Route") -> None:
            if route.request.url == "http://notebook.test/":
                headers = {"Content-Security-Policy": POLICY}
                route.fulfill(body=body, content_type="text/html; charset=utf-8", headers=headers)
            elif route.request.url == "http://notebook.test/widget.js":
                route.fulfill(body=script, content_type="text/javascript")
            else:
                self.complaints.append(route.request.url)
                route.abort()

        self.complaints: list[str] = []
        self.tab: Page = chromium.new_page()
        self.tab.set_default_timeout(TIMEOUT * 1000)
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.route("**/*", serve)
        self.tab.goto("http://notebook.test/")
        self.page: FrameLocator = self.tab.frame_locator("iframe")
        self.page.locator(ready).wait_for()

    def type(self, sentence: str) -> None:
        self.page.locator("#text").fill(sentence)

    def height(self) -> float:
        box = self.tab.locator("iframe").bounding_box()
        assert box
        return box["height"]

    def settle(self, said: str) -> None:
        self.page.locator("#answer-0:not(.waiting) .said").filter(has_text=said).wait_for()


class WidgetHost(Host):
    """A notebook with a widget, and a kernel that is told what the widget saves."""

    def __init__(self, chromium: "Browser", widget: Any) -> None:
        self.widget = widget
        state = {name: getattr(widget, name) for name in widget.keys if not name.startswith("_")}
        given = {name: value for name, value in state.items() if isinstance(value, str | int | list)}
        body = HOST.replace("STATE", json.dumps(given).replace("<", "\\u003c"))
        super().__init__(chromium, body, widget._esm)

    def sync(self, sentence: str) -> None:
        """Waits until the kernel has the translation of a sentence."""
        until = time.monotonic() + TIMEOUT
        while True:
            for changes in self.tab.evaluate("saved.splice(0)"):
                self.widget.set_state(changes)
            told = self.widget.translations
            if self.widget.sentence == sentence and told and told[0]["source"] == sentence:
                return
            assert time.monotonic() < until, (self.widget.sentence, sentence)
            time.sleep(0.02)


@pytest.fixture(scope="module")
def runs(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        shared_runs.copy(tiny(), folder / "one").path,
        shared_runs.copy(tiny(model__attention="mean"), folder / "mean").path,
    ]


@pytest.fixture(scope="module")
def host(chromium: "Browser", runs: list[Path]) -> Iterator[WidgetHost]:
    host = WidgetHost(chromium, augenmerk.show(runs, EXAMPLE, beam=2))
    yield host
    assert host.complaints == []


def test_what_is_typed_reaches_the_kernel(host: WidgetHost, runs: list[Path]) -> None:
    host.sync(EXAMPLE)
    host.type(OTHER)
    host.sync(OTHER)
    own = augenmerk.load(runs[0]).translate(OTHER, beam=2)
    host.settle(own.text)
    assert [told["source_words"] for told in host.widget.translations] == [list(own.source_words)] * 2
    assert host.widget.translations[0]["translation"] == own.text
    assert host.page.locator("#answer-0 .map td[data-row]").count() == own.attention.size


def test_the_kernel_sets_the_sentence(host: WidgetHost) -> None:
    host.tab.evaluate("text => model.set('sentence', text)", HOSTILE)
    host.sync(HOSTILE)
    assert host.page.locator("#text").input_value() == HOSTILE
    host.tab.evaluate("text => model.set('sentence', text)", EXAMPLE)
    host.sync(EXAMPLE)
    assert host.page.locator("#text").input_value() == EXAMPLE
    assert host.tab.title() == "notebook"


def test_attention_is_changed_in_the_widget(host: WidgetHost) -> None:
    host.type(OTHER)
    host.sync(OTHER)
    height = host.height()
    host.page.locator("#panel-change summary").click()
    candidates = host.page.locator("#change-content .prediction")
    before = candidates.inner_text()
    slider = host.page.locator("#change-content .weights input[type=range]").first
    slider.fill("1" if float(slider.input_value()) < 0.5 else "0")
    until = time.monotonic() + TIMEOUT
    while candidates.inner_text() == before or host.height() == height:  # the frame grows with its page
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_view_that_is_gone_hears_nothing(chromium: "Browser", runs: list[Path]) -> None:
    host = WidgetHost(chromium, augenmerk.show(runs[0]))
    assert host.tab.evaluate("listening()") == 1
    host.tab.evaluate("leave()")
    assert host.tab.evaluate("listening()") == 0


def test_a_sentence_set_before_the_page_is_there_is_shown(chromium: "Browser", runs: list[Path]) -> None:
    widget = augenmerk.show(runs[0], EXAMPLE)
    widget.sentence = OTHER
    host = WidgetHost(chromium, widget)
    host.sync(OTHER)
    assert host.page.locator("#text").input_value() == OTHER


def test_the_frame_shows_the_page_without_anywidget(
    chromium: "Browser", runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    frame = augenmerk.show(runs[0], HOSTILE, height=500)
    assert repr(frame).startswith("<page of 0.")
    host = Host(chromium, f"<!DOCTYPE html><title>notebook</title>{frame._repr_html_()}")
    assert host.page.locator("#text").input_value() == HOSTILE
    host.type(OTHER)
    host.settle(augenmerk.load(runs[0]).translate(OTHER).text)
    assert host.height() == 500
    copied = host.page.locator("#copy [data-form]").all_inner_texts()
    assert copied == ["SVG", "PNG", "JSON"]  # a link to the frame leads nowhere
    assert host.tab.title() == "notebook"
    assert host.complaints == []
    with pytest.raises(AugenmerkError, match=r"pip install '.\[notebook\]'"):
        augenmerk.show(runs[0], widget=True)


def test_the_theory_lab_is_a_frame(chromium: "Browser") -> None:
    frame = augenmerk.show(theory=True)
    host = Host(
        chromium, f"<!DOCTYPE html><title>notebook</title>{frame._repr_html_()}", ready="svg >> nth=0"
    )
    assert host.page.locator("h1").inner_text().startswith("Augenmerk")
    assert host.height() == 800
    assert host.complaints == []
    with pytest.raises(AugenmerkError, match="without a model"):
        augenmerk.show("runs/mine", theory=True)


def test_what_cannot_be_exported_is_refused_with_the_same_sentence(runs: list[Path]) -> None:
    for wrong in (runs * 2, [runs[0] / "missing"]):
        with pytest.raises(AugenmerkError) as exported:
            make_page(wrong)
        with pytest.raises(AugenmerkError) as shown:
            augenmerk.show(wrong)
        assert str(shown.value) == str(exported.value)
