"""The view Runs: a real server, a real training, a real browser."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from augenmerk.base.config import PRESETS, load_config
from augenmerk.run.directory import RunDirectory
from augenmerk.serve import registry as folders
from augenmerk.serve.limits import ServiceError
from augenmerk.serve.registry import FolderSearch, ModelRegistry, is_run
from augenmerk.serve.workbench.runs import RunList, nearest_preset
from augenmerk.serve.workbench.trainings import StartRequest, Trainings, check_start
from augenmerk.web.templates import WEB
from tests.support.browser import TIMEOUT, open_engine
from tests.support.processes import PATIENCE, wait_for
from tests.support.runs import SharedRuns, tiny
from tests.support.workbench import WorkbenchTab, ask, serve_workbench

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, Route

HOSTILE = "<img src=x onerror=\"document.title='pwned'\">&"
TINY = (
    *(
        "data.bilderbuch.pairs=300",
        "text.unit=word",
        "text.joint=false",
        "model.tie=none",
        "model.embedding=24",
    ),
    *("model.hidden=24", "model.key=24", "train.batch_size=16", "train.bleu=false", "train.select_by=loss"),
    "train.precision=fp32",
)


class Place:
    """A server, and the folder of its runs."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder

    def open(self, name: str) -> RunDirectory:
        return RunDirectory.open(self.folder / name)

    def ask(self, what: str, question: Any, **headers: str) -> tuple[int, Any]:
        return ask(f"{self.address}/workbench/runs/{what}", question, **headers)

    def look(self, **epochs: int) -> dict[str, Any]:
        status, answer = self.ask("watch", {"epochs": epochs})
        assert status == 200
        return dict(answer)


@pytest.fixture
def place(shared_runs: SharedRuns, tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "runs"
    wanted: dict[str, dict[str, Any]] = {
        "one": {},
        "deep/two": {"train__seed": 2, "model__attention": "mean"},
        HOSTILE: {"train__seed": 3},
    }
    for age, (name, settings) in enumerate(wanted.items()):
        run = shared_runs.copy(tiny(**settings), folder / name)
        for file in run.path.iterdir():
            os.utime(file, (10_000_000 - age, 10_000_000 - age))
    with serve_workbench([folder / "one"], folder) as address:
        yield Place(address, folder)


@pytest.fixture
def context(chromium: "Chromium") -> "Iterator[BrowserContext]":
    context = chromium.new_context(locale="en-GB", viewport={"width": 1200, "height": 900})
    yield context
    context.close()


class RunsTab(WorkbenchTab):
    """The view Runs, with what people do in it and see."""

    def __init__(self, context: "BrowserContext", place: Place, fragment: str = "") -> None:
        super().__init__(context, f"{place.address}/runs{fragment}")
        self.wait("document.getElementById('list').children.length > 0")

    def rows(self) -> dict[str, list[str]]:
        """What the list says of each run."""
        found = self.tab.eval_on_selector_all(
            "#list tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
        )
        return {name: rest for name, *rest in found}

    def pick(self, name: str) -> None:
        self.tab.get_by_role("checkbox", name=name, exact=True).click()

    def look_again(self) -> None:
        """Lets the page look once more, which it does only after its last answer, however late that is."""
        before = self.count_looks()
        until = time.monotonic() + TIMEOUT
        while self.count_looks() == before:
            assert time.monotonic() < until
            self.tab.clock.run_for(1000)

    def count_looks(self) -> int:
        return sum(request.endswith("/watch") for request in self.requests)

    def count_points(self, panel: int = 0) -> list[int]:
        """How many points each line of a panel has."""
        found: list[int] = self.tab.evaluate(
            "panel => [...document.querySelectorAll('#charts figure')[panel].querySelectorAll('path.mean')]"
            ".map(path => path.getAttribute('d').match(/[ML]/g).length)",
            panel,
        )
        return found


# -- what the server tells ----------------------------------------------------------------------------------


def test_runs_are_listed_newest_first_with_their_states(place: Place) -> None:
    assert [run["name"] for run in place.look()["runs"]] == ["one", "deep/two", HOSTILE]
    one, two = place.open("one"), place.open("deep/two")
    (two.path / "result.json").unlink()
    (place.folder / HOSTILE / "config.toml").write_text("nonsense", encoding="utf-8")
    with one.training():
        runs = {run["name"]: run for run in place.look()["runs"]}
    assert {name: run["state"] for name, run in runs.items()} == {
        "one": "training",
        "deep/two": "stopped",
        HOSTILE: "broken",
    }
    assert "not valid TOML" in runs[HOSTILE]["error"]
    metrics = one.read_metrics()
    assert runs["one"]["done"] == runs["one"]["epochs"] == len(metrics) == 2
    assert runs["one"]["best"]["validation_loss"] == min(each["validation_loss"] for each in metrics)
    assert {run["name"]: run["state"] for run in place.look()["runs"]}["one"] == "finished"


def test_a_run_that_the_command_line_names_is_listed_once(place: Place) -> None:
    names = ["deep/two", "one"]
    shutil.rmtree(place.folder / HOSTILE)
    registry = ModelRegistry([place.folder / name for name in names], folder=place.folder)
    assert sorted(run["name"] for run in RunList(registry.search).watch({})["runs"]) == names


def test_only_epochs_that_a_page_does_not_have_are_sent(place: Place) -> None:
    run = place.open("one")
    metrics = run.read_metrics()
    found = place.look(one=1)["epochs"]["one"]
    assert found["from"] == 1
    assert [each["validation_loss"] for each in found["epochs"]] == [metrics[1]["validation_loss"]]
    assert place.look(one=2)["epochs"]["one"] == {"from": 2, "epochs": []}
    assert len(place.look(one=9)["epochs"]["one"]["epochs"]) == 2  # it was begun anew
    assert place.look(nothing=0)["epochs"] == {}


@pytest.mark.parametrize("preset", PRESETS)
def test_the_preset_of_a_run_is_recognised(preset: str) -> None:
    assert nearest_preset(load_config(preset, ["data.bitext=bilderbuch", "train.seed=5"])) == (preset, 0)
    assert nearest_preset(load_config(preset, ["train.lr=0.123"])) == (preset, 1)


def test_nothing_outside_of_the_folder_is_a_run(place: Place, tmp_path: Path) -> None:
    (place.folder / "link").symlink_to(place.folder / "one")
    assert list(FolderSearch(place.folder, is_run).search()) == sorted(["one", "deep/two", HOSTILE])
    for name in ("../runs/one", str(tmp_path / "runs" / "one"), "link", "deep"):
        status, answer = place.ask("details", {"runs": [name]})
        assert (status, "There is no run" in answer["error"]) == (404, True)
        assert place.ask("resume", {"run": name, "epochs": 9})[0] == 404


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"preset": "presets/quick.toml"}, "There is no preset"),
    ({"preset": "nonsense"}, "There is no preset"),
    ({"settings": ["train.lrr=1"]}, "unknown key 'train.lrr'"),
    ({"settings": ["train.lr=fast"]}, "train.lr"),
    ({"settings": ["data.bitext=/etc/passwd"]}, "learns from bilderbuch or multi30k"),
    ({"settings": ["model.attention=own.py:Own"]}, "is code"),
    ({"settings": ["train.initial_run=/tmp"]}, "--from"),
    ({"run": "../mine"}, "cannot be the name"),
    ({"run": "/mine"}, "cannot be the name"),
    ({"run": ".mine"}, "cannot be the name"),
    ({"run": "one"}, "is a finished run"),
]


def test_a_training_that_train_would_refuse_is_not_started(place: Place) -> None:
    for changes, sentence in REFUSED:
        start = {"run": "new", "preset": "quick", "settings": [], **changes}
        assert sentence in place.ask("check", start)[1]["problem"]
        status, answer = place.ask("start", start)
        assert (status, sentence in answer["error"]) == (400, True), answer
    assert place.look()["trainings"] == []


def test_nobody_else_starts_trainings(place: Place) -> None:
    start = {"run": "new", "preset": "quick"}
    for what, question in (
        ("start", start),
        ("stop", {"run": "one"}),
        ("resume", {"run": "one", "epochs": 9}),
    ):
        forwarded = {"X-Forwarded-For": "10.0.0.1"}
        assert place.ask(what, question, **forwarded)[0] == 403
        assert place.ask(what, question, Origin="http://example.org")[0] == 403
        assert ask(f"{place.address}/workbench/runs/{what}")[0] == 405  # a link does nothing
        # A form of another page can be sent without asking first; what it sends is never said to be JSON.
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            status, answer = place.ask(what, question, **{"Content-Type": kind})
            assert status == 415
            assert "application/json" in answer["error"]
    assert place.ask("watch", {}, **{"Content-Type": "Application/JSON; charset=utf-8"})[0] == 200
    assert place.ask("stop", {"run": "one"})[0] == 400  # nothing is being trained
    assert place.ask("resume", {"run": "one"})[0] == 400  # it is finished
    assert place.look()["trainings"] == []


def test_a_run_that_was_removed_is_not_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "SEARCH_SECONDS", 3600.0)  # what was found is believed
    server = f"{place.address}/workbench"
    assert "deep/two" in [run["name"] for run in place.look()["runs"]]
    assert len(ask(f"{server}/translate/models")[1]["models"]) == 3
    shutil.rmtree(place.folder / "deep")
    assert [run["name"] for run in place.look(**{"deep/two": 0})["runs"]] == ["one", HOSTILE]
    sentence = {"models": ["deep/two"], "text": "Hallo.", "beam": 1}
    patterns = {"run": "deep/two", "split": "test", "count": 200}
    for address, question in (
        ("runs/details", {"runs": ["deep/two"]}),
        ("runs/resume", {"run": "deep/two"}),
        ("translate/ask", sentence),
        ("translate/model/deep/two.json", None),
        ("patterns/splits?run=deep/two", None),
        ("patterns/measure", patterns),
    ):
        assert ask(f"{server}/{address}", question)[0] == 404, address
    # It may also be removed while it is read.
    registry = ModelRegistry([place.folder / "one"], folder=place.folder)
    read = RunDirectory.open

    def remove_and_read(path: Path) -> RunDirectory:
        shutil.rmtree(path)
        return read(path)

    monkeypatch.setattr(RunDirectory, "open", remove_and_read)
    with pytest.raises(ServiceError, match="no model"):
        registry.get(HOSTILE)


def test_what_is_checked_is_what_is_trained(tmp_path: Path) -> None:
    start = StartRequest(run="new", preset="quick", settings=["data.bitext=bilderbuch", "train.lr=0.25"])
    assert check_start(tmp_path, start).train.lr == 0.25
    with pytest.raises(ValidationError, match="characters"):
        StartRequest(run="new", preset="quick", settings=[f"train.lr={'1' * 2000}"])


# -- the page -----------------------------------------------------------------------------------------------


def test_picked_runs_are_compared(context: "BrowserContext", place: Place) -> None:
    place.open("one").write_scores([{"split": "val", "beam": 5, "bleu": 34.26, "chrf": 50.0}])
    view = RunsTab(context, place)
    rows = view.rows()
    assert list(rows) == ["one", "deep/two", HOSTILE]
    assert rows["one"][0] == "finished"
    assert rows["one"][3].startswith("2/2")
    view.pick("one")
    view.tab.wait_for_selector("#charts path.mean")
    view.tab.focus("#list tbody tr:nth-child(2) input")
    view.tab.keyboard.press("Space")
    view.wait("document.querySelectorAll('#charts path.mean').length === 4")
    assert view.count_points() == [2, 2, 2, 2]
    view.wait("document.querySelectorAll('#settings tbody tr').length === 2")
    settings = view.tab.eval_on_selector_all(
        "#settings tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    assert settings == [["model.attention", "scaled-dot", "mean"], ["train.seed", "1", "2"]]
    view.tab.click("#all-settings")
    assert view.tab.locator("#settings tbody tr").count() > 40
    first = view.tab.eval_on_selector_all("#settings tbody tr", "rows => rows.map(row => row.className)")
    assert first[:3] == ["differs", "differs", ""]
    assert "34.26" in view.tab.inner_text("#scores")
    view.tab.select_option("#by", "seconds")
    again = RunsTab(context, place, view.tab.evaluate("location.hash"))
    again.wait("document.querySelectorAll('#charts path.mean').length === 4")
    assert again.tab.input_value("#by") == "seconds"
    assert again.tab.is_checked("#all-settings")
    view.tab.click("#legend button >> nth=0")
    view.wait("document.querySelectorAll('#charts path.mean').length === 2")
    assert view.complaints == again.complaints == []


def test_a_server_that_is_away_is_waited_for(context: "BrowserContext", place: Place) -> None:
    view = RunsTab(context, place, "#run=one")
    view.wait("document.querySelectorAll('#charts path.mean').length === 2")
    context.route("**/runs/watch", lambda route: route.abort())
    view.tab.wait_for_selector("#away:has-text('Retrying')")
    assert list(view.rows()) == ["one", "deep/two", HOSTILE]  # what was known stays
    context.unroute("**/runs/watch")
    view.wait("document.querySelector('#away').hidden")
    # What a page cannot draw is no lost connection: it is reported as the error that it is.
    assert view.tab.locator("#trouble").count() == 0
    with view.tab.expect_event("pageerror"):
        context.route("**/runs/watch", lambda route: route.fulfill(json={"runs": None, "epochs": {}}))
    assert view.tab.is_hidden("#away")


def test_names_stay_text(context: "BrowserContext", place: Place) -> None:
    view = RunsTab(context, place)
    view.pick(HOSTILE)
    view.tab.wait_for_selector("#charts path.mean")
    view.wait("document.querySelectorAll('#settings tbody tr').length > 0")
    assert HOSTILE in view.tab.inner_text("#legend")
    assert view.tab.locator("img").count() == 0
    assert "pwned" not in view.tab.title()
    assert view.complaints == []


def test_curves_grow_while_a_run_is_trained_and_a_hidden_page_asks_for_nothing(
    context: "BrowserContext", place: Place
) -> None:
    run = place.open("one")
    (run.path / "result.json").unlink()
    metrics = run.read_metrics()
    context.clock.install()
    with run.training():
        view = RunsTab(context, place, "#run=one")
        view.wait("document.querySelectorAll('#charts path.mean').length === 2")
        assert view.rows()["one"][0] == "training"
        view.tab.focus("#charts svg >> nth=0")
        for key in ("Home", "ArrowRight"):
            view.tab.keyboard.press(key)
        run.write_metrics([*metrics, {**metrics[-1], "epoch": 3, "validation_loss": 1.5}])
        view.wait("document.querySelector('#charts path.mean').getAttribute('d').match(/[ML]/g).length === 3")
        assert view.count_points() == [3, 3]
        # Who reads a curve by keys goes on reading it while it grows.
        said = view.tab.inner_text("#charts .readout >> nth=0").split("\n")
        assert said == [
            "epochs 2",
            f"one, training {metrics[1]['train_loss']:.3f}",
            f"one {metrics[1]['validation_loss']:.3f}",
        ]
        view.tab.keyboard.press("ArrowRight")
        assert "one 1.500" in view.tab.inner_text("#charts .readout >> nth=0")
        view.tab.click("#charts summary >> nth=0")
        view.tab.wait_for_selector("#charts figure:first-child tbody tr")  # filled a moment after the click
        assert view.tab.locator("#charts figure:first-child tbody tr").count() == 3
        hide = (
            "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
            " document.dispatchEvent(new Event('visibilitychange')); }"
        )
        view.tab.evaluate(hide, True)
        asked = len(view.requests)
        run.write_metrics([*metrics, *({**metrics[-1], "epoch": 3 + more} for more in range(3))])
        view.tab.clock.run_for(60_000)
        assert len(view.requests) == asked
        view.tab.evaluate(hide, False)
        view.wait("document.querySelector('#charts path.mean').getAttribute('d').match(/[ML]/g).length === 5")
    assert view.complaints == []


def test_charts_have_round_ticks_and_room_for_long_trainings(chromium: "Chromium") -> None:
    page = open_engine(chromium, "axes.js", folder=WEB / "workbench")
    ticks = [(0, 1, 5), (0.13, 0.19, 4), (-3, 41, 6)]
    found = page.evaluate("ticks => ticks.map(([low, high, count]) => chooseTicks(low, high, count))", ticks)
    assert found == [[0, 0.2, 0.4, 0.6, 0.8, 1], [0.14, 0.16, 0.18], [0, 10, 20, 30, 40]]
    long = "Array.from({ length: 300_000 }, (_, place) => place - 5)"
    assert page.evaluate(f"findRange({long})") == [-5, 299_994]
    assert page.evaluate(f"thinOut({long}).length") == 400
    page.context.close()


def test_a_page_that_looks_for_long_leaks_nothing(context: "BrowserContext", place: Place) -> None:
    run = place.open("one")
    (run.path / "result.json").unlink()
    metrics = run.read_metrics()
    with run.training():
        context.clock.install()
        view = RunsTab(context, place, "#run=one&run=deep/two")
        view.wait("document.querySelectorAll('#charts path.mean').length === 4")
        session = context.new_cdp_session(view.tab)
        session.send("Performance.enable")

        def count() -> dict[str, float]:
            session.send("HeapProfiler.collectGarbage")
            found = session.send("Performance.getMetrics")["metrics"]
            return {each["name"]: each["value"] for each in found}

        def look_often(times: int) -> None:
            for number in range(times):
                # One of the epochs changes, so that everything is drawn anew.
                run.write_metrics([metrics[0], {**metrics[1], "epoch": 2 + number % 2}] * (1 + number % 2))
                view.look_again()

        counts = []
        for _ in range(3):
            look_often(8)
            counts.append(count())
    # Each look that leaked would leak more than a node; what the browser frees late is not the page's.
    for name, most in (("Nodes", 8), ("JSEventListeners", 8), ("JSHeapUsedSize", 100_000)):
        assert min(after[name] - before[name] for before, after in pairwise(counts)) <= most, counts
    assert view.complaints == []


def test_a_server_slower_than_the_looks_is_asked_once(context: "BrowserContext", place: Place) -> None:
    run = place.open("one")
    with run.training():
        context.clock.install()
        held: list[Route] = []
        context.route("**/runs/details", lambda route: held.append(route))
        view = RunsTab(context, place, "#run=one")
        view.wait("document.querySelector('#charts path.mean')")
        for _ in range(4):  # the page has the answer to the third look when it looks for the fourth time
            view.look_again()
        assert len(held) == 1
        assert view.tab.locator("table.settings").count() == 0
        held[0].continue_()
        view.tab.wait_for_selector("table.settings")
    assert view.complaints == []


def test_nothing_sticks_out_on_a_phone_or_a_tablet(chromium: "Chromium", place: Place) -> None:
    context = chromium.new_context(locale="de-DE", viewport={"width": 360, "height": 740})
    view = RunsTab(context, place, "#run=one&run=deep/two&settings=all")
    view.wait("document.querySelectorAll('#charts path.mean').length === 4")
    view.tab.click("#new")
    assert view.tab.inner_text(".start .main") == "Starten"
    assert view.sticks_out() == 0
    view.tab.set_viewport_size({"width": 820, "height": 900})
    for each in view.tab.locator("#list .acts button").all():
        box = each.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 820
    assert view.sticks_out() == 0
    assert view.complaints == []
    context.close()


# -- trainings ----------------------------------------------------------------------------------------------


@pytest.fixture
def server(shared_runs: SharedRuns, tmp_path: Path) -> Iterator[tuple[Place, subprocess.Popen[str]]]:
    """A server that is a process of its own, so that it can be killed."""
    folder = tmp_path / "runs"
    shared_runs.copy(tiny(), folder / "one")
    command = ["serve", str(folder / "one"), "--folder", str(folder), "--port", "0", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "augenmerk", *command], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    said = ""
    while not said.rstrip().endswith("}"):
        said += process.stdout.readline()
    yield Place(json.loads(said)["address"].rstrip("/"), folder), process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_training_is_started_stopped_and_resumed_and_ends_with_the_server(
    context: "BrowserContext", server: tuple[Place, subprocess.Popen[str]]
) -> None:
    place, process = server
    view = RunsTab(context, place)
    view.tab.click("#new")
    view.tab.fill("#start-name", "mine")
    view.tab.fill("#start-settings", "train.lrr=1")
    view.tab.wait_for_selector(".checked.error")
    assert "unknown key 'train.lrr'" in view.tab.inner_text(".checked")
    view.tab.fill("#start-epochs", "100000")
    view.tab.fill("#start-settings", "\n".join(TINY))
    view.tab.wait_for_selector(".checked.hint")
    assert "model.hidden = 24" in view.tab.inner_text(".checked")
    view.tab.click(".start .main")
    view.wait("document.querySelector('.start') === null")
    assert view.complaints == []

    def done() -> int:
        runs = {run["name"]: run["done"] for run in place.look()["runs"]}
        return int(runs.get("mine", 0))

    wait_for("the first step", lambda: done() > 0)
    assert place.open("mine").config.model.hidden == 24
    status, answer = place.ask("start", {"run": "other", "preset": "quick"})
    assert (status, "'mine' is being trained" in answer["error"]) == (400, True)
    view.wait("document.querySelectorAll('#charts path.mean').length > 0")
    view.tab.click("#list button:has-text('Stop')")
    view.tab.wait_for_selector("#list button:has-text('Resume')", timeout=PATIENCE * 1000)
    assert view.rows()["mine"][0] == "stopped"
    assert "stopped and saved" in view.tab.inner_text("#trainings")
    assert place.look()["trainings"][0]["code"] == 128 + signal.SIGTERM
    before = done()
    view.tab.click("#list button:has-text('Resume')")
    wait_for("another step", lambda: done() > before)
    view.tab.close()
    process.kill()  # the worst end of a server
    wait_for("the end of training", lambda: not RunDirectory.is_in_training(place.folder / "mine"))
    run = place.open("mine")
    state = run.load_state()
    assert state is not None
    assert state[1]["epoch"] >= len(run.read_metrics()) > before
    assert not run.finished


def test_a_training_goes_on_without_the_server_if_that_was_chosen(tmp_path: Path) -> None:
    trainings = Trainings(tmp_path, 2)
    settings = ["train.epochs=100000", "data.bitext=bilderbuch", *TINY]
    trainings.start(StartRequest(run="kept", preset="quick", settings=settings, keep=True))
    trainings.start(StartRequest(run="ended", preset="quick", settings=settings))
    kept, ended = (trainings._trainings[name].process for name in ("kept", "ended"))
    try:
        running = functools.partial(RunDirectory.is_in_training, tmp_path / "ended")
        wait_for("training to begin", running)  # before that, nothing is caught
        trainings.close()
        assert ended.poll() == 128 + signal.SIGTERM
        assert kept.poll() is None
    finally:
        kept.kill()
        kept.wait()
