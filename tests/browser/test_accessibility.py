"""Every page passes axe-core, light and dark, in both languages, wide and on a phone."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.serve.registry import ModelRegistry
from augenmerk.study.report import render_report
from augenmerk.study.result import StudyResult
from augenmerk.web.export import export_page, export_theory, make_page
from tests.support.browser import TIMEOUT
from tests.support.serving import serving
from tests.support.study import NAME, copy_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SENTENCE = "Der Hund schläft."
VIEWS = {  # each with what is there when the page is complete
    "translate": (f"/#text={SENTENCE}&open=change,beam&at=1", ".editor .candidate"),
    "runs": (
        f"/runs#run={NAME}/runs/mean/seed-1,{NAME}/runs/scaled-dot/seed-1&settings=all",
        "#settings tr >> nth=5",
    ),
    "studies": ("/studies", ".study-link"),
    "study": (f"/studies?study={NAME}", ".tile .map"),
    "theory": ("/theory", "[data-drawn]"),
    "question": ("/theory/1.1", "[data-drawn]"),
    "patterns": ("/patterns", "html[data-ready]"),
    "api": ("/docs", "#theme option >> nth=0"),
    "exported": ("exported.html#open=change,beam&at=1", ".editor .candidate"),
    "exported theory": ("theory.html#task=1.4", "[data-drawn]"),
    "report": ("report.html", "main"),
}
COLOURS = "axe.run({ runOnly: ['color-contrast', 'link-in-text-block'] })"

pytestmark = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make lint installs it")


@pytest.fixture(scope="module")
def folder(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with exported files, and a study among its runs."""
    folder = tmp_path_factory.mktemp("axe")
    study = copy_study(shared_folder, folder / "study")
    export_page(make_page([BUNDLED_MODEL], beam=3, examples=[SENTENCE]), folder / "exported.html")
    export_theory(folder / "theory.html")
    (folder / "report.html").write_text(render_report(StudyResult.load(study)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    registry = ModelRegistry([BUNDLED_MODEL], folder=folder / "study" / "runs")
    with serving(registry, pages=True) as server:
        yield server.address


BROKEN = """() => {
    const found = [];
    for (const node of document.querySelectorAll("h1, h2, h3, h4, th, dt, summary, nav a, label > span")) {
        const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
        while (node.checkVisibility() && texts.nextNode()) {
            for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
                const range = document.createRange();
                range.setStart(texts.currentNode, word.index);
                range.setEnd(texts.currentNode, word.index + word[0].length);
                if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1)
                    found.push(word[0]);
            }
        }
    }
    return found;
}"""


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("de-DE", 360)])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_and_no_word_of_a_heading_is_broken(
    chromium: "Chromium", folder: Path, server: str, view: str, language: str, width: int
) -> None:
    path, ready = VIEWS[view]
    address = f"{server}{path}" if path.startswith("/") else f"{folder.as_uri()}/{path}"
    viewport: Any = {"width": width, "height": 800}
    with chromium.new_context(locale=language, viewport=viewport, reduced_motion="reduce") as context:
        tab = context.new_page()
        tab.set_default_timeout(TIMEOUT * 1000)
        tab.goto(address)
        tab.wait_for_selector(ready, state="attached")
        if view == "runs":
            tab.click("#new")
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = tab.evaluate("axe.run()")["violations"]
        tab.emulate_media(color_scheme="dark")
        found += tab.evaluate(COLOURS)["violations"]
        tab.set_viewport_size({"width": 1280, "height": 800})
        assert tab.evaluate(BROKEN) == []
    problems = [
        f"{one['id']} ({one['impact']}): {node['html'][:150]} {node['failureSummary'][:200]}"
        for one in found
        for node in one["nodes"][:3]
    ]
    assert not problems, "\n".join(problems)
