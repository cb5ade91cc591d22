"""Photographs the pages for the guides.

    augenmerk demo --out runs/demo
    augenmerk study small
    augenmerk train transformer-quick --data bilderbuch --epochs 5 --out runs/transformer
    python docs/screenshots.py runs

writes docs/translator.html, the exported page of the demo's translator, and the pictures of pages in
docs/figures. It needs Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, sync_playwright

DOCS = Path(__file__).resolve().parent
AUGENMERK = (sys.executable, "-m", "augenmerk")
PORT = 8799
WIDTH = 1240
SENTENCE = quote("Die alte Frau macht das Fenster auf.")

STEPS = {"workbench-theory": ["Show a hint", "q_1 = c mu_a; q_2 = c mu_b", "Check"]}
"""By the name of the picture: buttons to click, and an answer to type."""

SHOTS = {
    "page": ("{docs}/translator.html#text={sentence}&at=4&open=change", 1480),
    "theory-page": ("{theory}", 1080),
    "workbench-translate": ("{server}/#models=demo/scaled-dot;transformer&text={sentence}&head=all", 1010),
    "workbench-runs": ("{server}/runs#run=demo/scaled-dot&run=demo/mean&run=transformer", 1480),
    "workbench-studies": ("{server}/studies?study=study-small&sentence=1", 1960),
    "workbench-patterns": ("{server}/patterns?run=demo/scaled-dot&split=test&count=500&sentence=1", 1000),
    "workbench-theory": ("{server}/theory/1.4", 1150),
}
"""By the name of the picture: the address of the page, and the height of the window."""


def photograph(browser: Browser, name: str, address: str, height: int) -> None:
    context = browser.new_context(viewport={"width": WIDTH, "height": height}, color_scheme="light")
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_load_state("networkidle")
    for step in STEPS.get(name, ()):
        if "=" in step:
            tab.fill("[data-control='answer']", step)
        else:
            tab.click(f"button:text('{step}')")
    tab.wait_for_timeout(5000)  # for what is computed after it was loaded
    tab.screenshot(path=DOCS / "figures" / f"{name}.png")
    context.close()


def main(runs: Path, names: list[str]) -> None:
    page = DOCS / "translator.html"
    export = (*AUGENMERK, "export", "--overwrite", "--out")
    subprocess.run([*export, page, runs / "demo" / "scaled-dot", "--beam", "5"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        theory = Path(folder) / "theory.html"
        subprocess.run([*export, theory, "--theory"], check=True)
        serve = (*AUGENMERK, "serve", "--port", str(PORT), "--folder", runs)
        server = subprocess.Popen(serve)
        places = {"server": f"http://localhost:{PORT}", "docs": DOCS.as_uri(), "theory": theory.as_uri()}
        places["sentence"] = SENTENCE
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
                for name in names or SHOTS:
                    address, height = SHOTS[name]
                    photograph(browser, name, address.format(**places), height)
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
