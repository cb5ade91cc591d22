"""What the exported page costs in Chromium: seconds until it is there, milliseconds a sentence, and memory.

    python benchmarks/browser.py [PAGE.html]

PAGE.html is what `augenmerk export RUN --out PAGE.html` wrote; without it, the model that ships is exported.
The sentences are those of bilderbuch that have 15 tokens. Each is translated alone, in a worker as in the
page; the figures are medians, after a few sentences that the browser needs to compile the engine. On a
machine that has other things to do, the quickest says more.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from augenmerk.data import open_bitext
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory

if TYPE_CHECKING:
    from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.support.browser import CHROMIUM

TOKENS = 15
SENTENCES = 20
OPENINGS = 5
MARKS = {
    "stored examples shown, s": 0.5,
    "model ready, s": 2.0,
    "15 tokens greedily, ms": 100.0,
    "15 tokens, beam 5, ms": 400.0,
    "file, MB": 8.0,
    "memory of the page, MB": 200.0,
}

# Notes when the page first shows a translation, and when its model is ready.
WATCH = """
window.noted = {};
new MutationObserver(() => {
  if (document.querySelector("#answers")?.textContent.trim()) noted.shown ??= performance.now();
  if (document.documentElement.dataset.ready !== undefined) noted.ready ??= performance.now();
}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
"""

TIME = """async ([engine, settings, weights, texts]) => {
  const worker = new Worker(URL.createObjectURL(new Blob([engine], { type: "text/javascript" })));
  const ask = (message) => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error.code)) : resolve(data.result));
    worker.postMessage({ id: 0, ...message });
  });
  const bytes = Uint8Array.from(atob(weights), (byte) => byte.charCodeAt(0)).buffer;
  await ask({ call: "load", settings: JSON.parse(settings), weights: bytes });
  const times = {};
  for (const beam of [1, 5]) {
    times[beam] = [];
    for (const text of texts) {
      const began = performance.now();
      await ask({ call: "translate", text, beam });
      times[beam].push(performance.now() - began);
    }
  }
  return times;
}"""


@contextmanager
def start_browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        sys.exit("There is no Chromium on this machine.")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


def measure(path: Path) -> dict[str, float]:
    figures: dict[str, float] = {"file, MB": path.stat().st_size / 1e6}
    with start_browser() as browser:
        opened = [open_page(browser, path) for _ in range(OPENINGS)]
        figures["stored examples shown, s"] = median(each["shown"] for each in opened) / 1e3
        figures["model ready, s"] = median(each["ready"] for each in opened) / 1e3
        figures["memory of the page, MB"] = median(each["memory"] for each in opened)
        figures["memory of an empty page, MB"] = opened[0]["empty"]
    html = path.read_text(encoding="utf-8")
    with start_browser() as browser:
        page = browser.new_page()
        blocks = [block(html, name) for name in ("engine", "model-0", "weights-0")]
        times = page.evaluate(TIME, [*blocks, find_sentences()])
    for beam, name in (("1", "15 tokens greedily"), ("5", "15 tokens, beam 5")):
        figures[f"{name}, ms"] = median(times[beam][5:])
        figures[f"{name}, the quickest, ms"] = min(times[beam][5:])
        figures[f"{name}, the first, ms"] = times[beam][0]
    return figures


def open_page(browser: "Browser", path: Path) -> dict[str, float]:
    """Opens the page from the disk, waits for its model, and lets it translate a sentence of its own."""
    context = browser.new_context()
    page = context.new_page()
    empty = memory_of(browser)
    page.add_init_script(WATCH)
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    noted: dict[str, float] = page.evaluate("noted")
    before = page.inner_text("#answers")
    page.fill("#text", "Drei Kinder und zwei Hunde spielen vor einem alten Haus.")
    page.wait_for_function("(before) => document.querySelector('#answers').innerText !== before", arg=before)
    page.wait_for_timeout(500)
    figures = {**noted, "memory": memory_of(browser), "empty": empty}
    context.close()
    return figures


def memory_of(browser: "Browser") -> float:
    """Returns the megabytes of the largest process that shows a page; workers are in the same process."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    sizes = [private_megabytes(each["id"]) for each in processes if each["type"] == "renderer"]
    return max(sizes, default=0.0)


def private_megabytes(process: int) -> float:
    """Returns what a process has for itself: not the browser's code, which all share."""
    text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    found = re.search(r"RssAnon:\s+(\d+) kB", text)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def block(html: str, name: str) -> str:
    """Returns what a data block of the page holds."""
    found = re.search(rf'<script [^>]*id="{name}">(.*?)</script>', html, re.S)
    if found is None:
        sys.exit(f"There is no '{name}' in the page: give one file that `augenmerk export` wrote.")
    return found[1].strip()


def find_sentences() -> list[str]:
    """Returns sentences that are 15 tokens long for the model that ships, the end included."""
    tokenizer = RunDirectory.open(BUNDLED_MODEL).tokenizers.source
    texts = [pair.source for pair in open_bitext("bilderbuch", pairs=2000)["train"]]
    lengths = [len(ids) + 1 for ids in tokenizer.encode_ids(texts)]
    return [text for text, length in zip(texts, lengths, strict=True) if length == TOKENS][:SENTENCES]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.page
        if path is None:
            path = Path(folder) / "page.html"
            command = [sys.executable, "-m", "augenmerk", "export", "--out", str(path)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        figures: dict[str, Any] = measure(path)
    if arguments.json:
        print(json.dumps(figures, indent=2))
        return
    width = max(map(len, figures))
    print(f"{'':{width}}  {'measured':>9}  {'mark':>6}")
    for name, value in figures.items():
        mark = f"{MARKS[name]:6g}" if name in MARKS else ""
        print(f"{name:{width}}  {value:9.2f}  {mark:>6}".rstrip())


if __name__ == "__main__":
    main()
