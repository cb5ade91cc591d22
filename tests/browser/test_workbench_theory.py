"""The theory view of the workbench on a real server: pages, dragging, and graded answers."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from augenmerk.serve.workbench import theory
from augenmerk.theory.exercises import EXERCISES
from augenmerk.theory.grading import check
from tests.browser.test_web_theory import HOSTILE, TheoryTab
from tests.support.processes import PATIENCE
from tests.support.workbench import ask, serve_workbench

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, Request

RIGHT = {
    "1.1": "q = c (k_j - h_j)",
    "1.2": "q = c (k_a + k_b)",
    "1.3": "q = c (mu_a/lambda_a + mu_b/lambda_b)",
    "1.4": "q_1 = c mu_a; q_2 = c mu_b",
    "1.5": "q_1 = c mu_a; q_2 = c mu_b",
    "1.6": "c_2 = u_a",
    "1.7": "K = I; Q = (u_d u_a^T + u_c u_d^T)/B^2; V = (u_b u_b^T - u_c u_c^T)/B^2",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the model that ships."""
    with serve_workbench([], tmp_path_factory.mktemp("runs")) as address:
        yield address


@pytest.fixture
def context(chromium: "Chromium") -> "Iterator[BrowserContext]":
    context = chromium.new_context(
        locale="en-GB", viewport={"width": 1200, "height": 900}, reduced_motion="reduce"
    )
    yield context
    context.close()


class ServedTab(TheoryTab):
    """A theory page of the workbench, which may ask for anything on its own server."""

    def __init__(self, context: "BrowserContext", server: str, path: str) -> None:
        self.server = server
        super().__init__(context, f"{server}{path}")

    def _note_request(self, request: "Request") -> None:
        if not request.url.startswith(f"{self.server}/"):
            super()._note_request(request)

    def answer(self, text: str) -> str:
        """Gives an answer, and returns what is said about it."""
        self.tab.fill('[data-control="answer"]', text)
        self.tab.click('[data-control="grade"]')
        self.tab.wait_for_selector(".grade[aria-busy=false] .graded")
        return self.tab.inner_text(".grade")


def grade(address: str, **request: Any) -> tuple[int, Any]:
    return ask(f"{address}/workbench/theory/grade", request)


def test_a_server_that_is_away_is_waited_for(context: "BrowserContext", address: str) -> None:
    view = ServedTab(context, address, "/theory/1.2")
    view.tab.route("**/theory/grade", lambda route: route.abort())
    view.tab.fill('[data-control="answer"]', RIGHT["1.2"])
    view.tab.click('[data-control="grade"]')
    view.tab.wait_for_selector("#away:has-text('Retrying')")
    view.tab.unroute("**/theory/grade")
    view.tab.wait_for_selector(".grade .verdict.right")
    assert view.tab.is_hidden("#away")


@pytest.mark.parametrize("task", RIGHT)
def test_right_answers_are_graded_as_on_the_command_line(address: str, task: str) -> None:
    status, found = grade(address, task=task, answer=RIGHT[task])
    expected = check(task, [RIGHT[task]]).to_dict()
    assert status == 200
    assert found["holds"] is True
    assert {name: found[name] for name in ("why", "error", "mistake")} == {
        name: expected[name] for name in ("why", "error", "mistake")
    }


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"task": "1.2", "answer": "k_a +"}, "ends too early"),
        ({"task": "1.2", "answer": "x" * 2001}, "at most 2000 characters"),
        ({"task": "1.2", "answer": ""}, "at least 1 character"),
        ({"task": "9.9", "answer": "c"}, "'task' is not as expected"),
        ({"task": "1.2"}, "'answer' is missing"),
        ({"task": "1.2", "answer": "c k_a", "samples": 10**9}, "'samples' is not known"),
        ({"task": "1.2", "answer": f"q = {HOSTILE}"}, "character"),
    ],
)
def test_what_cannot_be_graded_is_answered_with_a_sentence(
    address: str, request_: dict[str, Any], words: str
) -> None:
    status, answer = grade(address, **request_)
    assert status == 400
    assert list(answer) == ["error"]
    assert words in answer["error"]
    assert answer["error"].endswith(".")


def test_a_slow_grade_keeps_nobody_waiting_for_a_translation(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    translated = threading.Event()

    def grade_late(*_: str) -> dict[str, Any]:
        return {"in time": translated.wait(PATIENCE)}

    monkeypatch.setattr(theory, "_grade", grade_late)
    with ThreadPoolExecutor(1) as students:
        student = students.submit(grade, address, task="1.2", answer="c")
        for _ in range(5):  # more than there are threads that translate
            assert ask(f"{address}/v1/translate", {"text": "Ein Hund schläft."})[0] == 200
        translated.set()
        assert student.result() == (200, {"in time": True})


def test_only_questions_have_pages(address: str) -> None:
    for path in ("/theory/1.8", "/theory/scaling", "/theory/..%2f..%2fetc", "/theory/1.1/2"):
        assert httpx.get(f"{address}{path}").status_code == 404
    assert httpx.get(f"{address}/workbench/theory/grade").status_code == 405
    page = httpx.get(f"{address}/theory/1.4")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert EXERCISES["1.4"].hints[0].split(".")[0] in page.text


def test_an_answer_is_graded_in_the_page(context: "BrowserContext", address: str) -> None:
    view = ServedTab(context, address, "/theory/1.2")
    said = view.answer("q = k_a + k_b")
    assert "Not correct" in said
    assert check("1.2", ["q = k_a + k_b"]).why in said
    said = view.answer(RIGHT["1.2"])
    view.tab.wait_for_selector(".verdict.right")
    assert check("1.2", [RIGHT["1.2"]]).why in view.tab.inner_text(".grade")
    view.tab.click(".grade summary")
    assert view.tab.locator(".grade tbody tr").count() == 4
    assert view.wait_for_fragment("answer") == RIGHT["1.2"]
    view.tab.select_option("#language", "de")
    view.wait_for_text(".verdict", "Richtig.")
    view.answer("q = c k_a")
    view.wait_for_text(".graded", "Die Anfrage zeigt nur auf einen der beiden Schlüssel.")
    assert view.complaints == []


def test_a_server_that_is_away_grades_once_it_is_back(context: "BrowserContext", address: str) -> None:
    view = ServedTab(context, address, "/theory/1.2")
    view.answer("q = k_a + k_b")
    context.set_offline(True)
    view.tab.fill('[data-control="answer"]', RIGHT["1.2"])
    view.control("grade")
    view.wait_for_text("#away", "does not answer")
    assert view.tab.locator("[role=alert]").count() == 1
    assert "Not correct" in view.tab.inner_text(".grade")  # the last result stays
    context.set_offline(False)
    view.tab.wait_for_selector(".grade[aria-busy=false] .verdict.right")
    assert view.tab.locator("#away").is_hidden()
    assert all("DISCONNECTED" in each or "/theory/grade" in each for each in view.complaints)


def test_what_cannot_be_read_is_text(context: "BrowserContext", address: str) -> None:
    view = ServedTab(context, address, "/theory/1.3")
    said = view.answer(f"q = {HOSTILE}")
    assert "Needs manual review" in said
    assert view.tab.locator(".grade img").count() == 0
    assert "pwned" not in view.tab.title()
    # A browser writes into its console that the server refused.
    assert [each for each in view.complaints if "400 (Bad Request)" not in each] == []


def test_the_tasks_are_pages_of_their_own(context: "BrowserContext", address: str) -> None:
    view = ServedTab(context, address, "/theory")
    view.drag("q", -120, 30)
    assert view.wait_for_fragment("q")
    view.tab.click('[data-task="1.4"]')
    view.tab.wait_for_url(f"{address}/theory/1.4")
    view.tab.wait_for_selector(".theory[data-drawn]")
    assert "1.4 Two heads" in view.tab.inner_text(".question h2")
    view.tab.select_option("#language", "de")
    view.tab.select_option("#theme", "dark")
    view.wait_for_text(".work h3", "Hinweise")
    view.tab.reload()
    view.tab.wait_for_selector(".theory[data-drawn]")
    assert view.tab.inner_text(".work h3") == "Hinweise"  # remembered, as in all views
    assert view.tab.get_attribute("html", "data-theme") == "dark"
    assert view.complaints == []


def test_it_fits_on_a_phone(chromium: "Chromium", address: str) -> None:
    context = chromium.new_context(
        locale="en-GB", viewport={"width": 360, "height": 740}, reduced_motion="reduce"
    )
    for task in ("", "/1.4", "/1.7"):
        view = ServedTab(context, address, f"/theory{task}")
        assert view.tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), task
        assert view.complaints == []
        view.tab.close()
    context.close()
