"""Photographs the pages for the guides.

    augenmerk demo --out runs/demo
    augenmerk study small
    augenmerk train transformer-quick --data bilderbuch --out runs/transformer
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
WIDTH = 1180
SENTENCES = {
    "girl": quote("Das Mädchen lacht, weil der Hund den roten Ball gefangen hat."),
    "woman": quote("Die alte Frau macht das Fenster auf."),
}

SHOTS = {
    "page": ("{docs}/translator.html#text={girl}&at=8&open=change", 1640),
    "theory-page": ("{theory}", 900),
    "workbench-translate": ("{server}/#models=demo/scaled-dot;transformer&text={woman}&head=all", 1010),
    "workbench-runs": ("{server}/runs#run=demo/scaled-dot&run=demo/mean&run=transformer", 1000),
    "workbench-studies": ("{server}/studies?study=study-small&sentence=1", 1850),
    "workbench-patterns": ("{server}/patterns?run=demo/scaled-dot&split=test&count=500&sentence=1", 960),
    "workbench-theory": ("{server}/theory/1.4", 1150),
}
"""By the name of the picture: the address of the page, and the height of the window."""


def photograph(browser: Browser, name: str, address: str, height: int) -> None:
    context = browser.new_context(viewport={"width": WIDTH, "height": height}, color_scheme="light")
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_load_state("networkidle")
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
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
                for name in names or SHOTS:
                    address, height = SHOTS[name]
                    photograph(browser, name, address.format(**places, **SENTENCES), height)
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
