"""What several test files need: the real data, where it is to be had, and trained runs."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

    from tests.support.processes import Forker
    from tests.support.runs import SharedRuns

# The models of the tests are tiny: sharing their work among cores takes longer than doing it, and where
# something else runs too, far longer. Set before torch is there, and for all processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says more about what else the machine does. In CI the examples are always the
# same, so that a change is judged and not chance; elsewhere every run tries new ones.
settings.register_profile("augenmerk", deadline=None, derandomize="CI" in os.environ)
settings.register_profile(
    "thorough", deadline=None, max_examples=1000, suppress_health_check=list(HealthCheck)
)
settings.load_profile("augenmerk")  # unless pytest is given --hypothesis-profile


# A shell starts a background process with Ctrl-C ignored, and processes inherit that. Tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


FOLDER = Path(__file__).parent


def pytest_configure() -> None:
    """Before test modules are imported, some of which read the book."""
    from tests.support.book import use_short_book

    use_short_book()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test with the name of its folder: `pytest -m unit` runs those in tests/unit.

    The longest tests come first, so that none of them is left for the end, when it would run alone.
    """
    for item in items:
        item.add_marker(item.path.relative_to(FOLDER).parts[0])
    items.sort(key=lambda item: "process" not in item.keywords)


@pytest.fixture(scope="session")
def multi30k_folder() -> Path:
    """The raw Multi30k files, from $AUGENMERK_DATA or from `shared` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    for place in (os.environ.get("AUGENMERK_DATA"), beside):
        if place and (Path(place) / "multi30k" / "train.de.gz").is_file():
            return Path(place) / "multi30k"
    pytest.skip("Multi30k is not on this machine: set AUGENMERK_DATA to the folder that holds multi30k/")


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes have in common that share the tests of this session."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    (folder / "shared").mkdir(exist_ok=True)
    return folder / "shared"


@pytest.fixture(scope="session")
def site(shared_folder: Path) -> Path:
    """The documentation as a site, built once for all processes: a warning is an error."""
    place = shared_folder / "site"
    with FileLock(shared_folder / "site.lock"):
        if not (place / "index.html").exists():
            sphinx = (sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-d", shared_folder / "doctrees")
            subprocess.run([*sphinx, FOLDER.parent / "docs", place], check=True)
    return place


@pytest.fixture(scope="session")
def shared_runs(shared_folder: Path) -> "SharedRuns":
    """Runs that are trained once in a session."""
    from tests.support.runs import SharedRuns

    return SharedRuns(shared_folder)


@pytest.fixture
def jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trains the runs of studies in this process: processes for them take seconds."""
    from augenmerk.study import runner
    from tests.support.runs import JobsHere

    monkeypatch.setattr(runner, "LocalExecutor", JobsHere)


@pytest.fixture(scope="session")
def forker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Forker]":
    """Starts processes that have imported everything already."""
    from tests.support.processes import Forker

    forker = Forker(tmp_path_factory.mktemp("forker"))
    yield forker
    forker.close()


@pytest.fixture(autouse=True)
def _own_consoles() -> None:
    """A console knows the width of the terminal it was made in; each test has a terminal of its own."""
    from augenmerk.base.console import err, out

    out.cache_clear()
    err.cache_clear()


@pytest.fixture(scope="session")
def browser() -> "Iterator[tuple[Chromium, asyncio.AbstractEventLoop]]":
    """A browser without a window, driven by Playwright. It is the machine's own, so none is downloaded."""
    from playwright.sync_api import sync_playwright

    from tests.support.browser import CHROMIUM

    if CHROMIUM is None:
        missing = "no Chromium on this machine: pages are not tried in a browser"
        pytest.fail(missing) if "AUGENMERK_NEEDS_BROWSER" in os.environ else pytest.skip(missing)
    with sync_playwright() as playwright:
        loop = asyncio.get_running_loop()
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture(scope="module")
def chromium(browser: "tuple[Chromium, asyncio.AbstractEventLoop]") -> "Iterator[Chromium]":
    """The browser, with nothing open that another module has left.

    Between two calls Playwright's event loop counts as running in this thread, and `asyncio.run` is refused.
    So it is put aside for modules without a browser.
    """
    chromium, loop = browser
    asyncio._set_running_loop(loop)
    yield chromium
    for context in chromium.contexts:
        context.close()
    asyncio._set_running_loop(None)
