"""Every page passes axe-core, light and dark, in both languages, wide and on a phone."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.serve.registry import ModelRegistry
from augenmerk.study.report import render_report
from augenmerk.study.result import StudyResult
from augenmerk.web.export import export_page, export_theory, make_page
from tests.browser.test_workbench_studies import NAME, make_study
from tests.support.browser import TIMEOUT
from tests.support.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, Page

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SENTENCE = "Der Hund schläft."
VIEWS = {
    "translate": f"/#text={SENTENCE}&open=change,beam&at=1",
    "runs": f"/runs#run={NAME}/runs/mean/seed-1,{NAME}/runs/scaled-dot/seed-1&settings=all",
    "studies": "/studies",
    "study": f"/studies?study={NAME}",
    "theory": "/theory",
    "question": "/theory/1.1",
    "patterns": "/patterns",
    "api": "/docs",
    "exported": "exported.html#open=change,beam&at=1",
    "exported theory": "theory.html#task=1.4",
    "report": "report.html",
}

pytestmark = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make lint installs it")


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The address of each view, of a server and of exported files."""
    folder = tmp_path_factory.mktemp("axe")
    study = make_study(folder)
    files = folder / "files"
    files.mkdir()
    export_page(make_page([BUNDLED_MODEL], beam=3, examples=[SENTENCE]), files / "exported.html")
    export_theory(files / "theory.html")
    result = StudyResult.load(study)
    (files / "report.html").write_text(render_report(result), encoding="utf-8")
    with serving(ModelRegistry([BUNDLED_MODEL], folder=study.parent), pages=True) as server:
        yield {
            name: f"{server.address}{path}" if path.startswith("/") else f"{files.as_uri()}/{path}"
            for name, path in VIEWS.items()
        }


def open_view(context: "BrowserContext", address: str) -> "Page":
    """Opens a view and waits until it has said something and asks for nothing more."""
    tab = context.new_page()
    tab.goto(address)
    until = time.monotonic() + TIMEOUT
    while tab.evaluate("document.body.innerText.trim().length") < 40:
        assert time.monotonic() < until
        time.sleep(0.05)
    tab.wait_for_load_state("networkidle")
    return tab


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


@pytest.mark.parametrize("view", VIEWS)
def test_no_word_of_a_german_heading_is_broken(
    chromium: "Chromium", addresses: dict[str, str], view: str
) -> None:
    with chromium.new_context(locale="de-DE", viewport={"width": 1280, "height": 800}) as context:
        assert open_view(context, addresses[view]).evaluate(BROKEN) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("de-DE", 360)])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(
    chromium: "Chromium", addresses: dict[str, str], view: str, language: str, width: int, scheme: Any
) -> None:
    context = chromium.new_context(
        locale=language,
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
        reduced_motion="reduce",
    )
    tab = open_view(context, addresses[view])
    if view == "runs":
        tab.click("#new")
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.evaluate("axe.run()")
    context.close()
    problems = [
        f"{one['id']} ({one['impact']}): {node['html'][:150]} {node['failureSummary'][:200]}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]
    assert not problems, "\n".join(problems)
