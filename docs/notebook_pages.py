"""Executes the notebooks of docs/notebooks and makes pages of them.

A notebook is executed once for each state of its text and of the package, by `make docs` or by a test. Its
outputs are kept in the virtual environment, never in docs/.
"""

import logging
import os
import re
import sys
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jupytext
import nbformat
from filelock import FileLock
from nbclient import NotebookClient

import augenmerk

FOLDER = Path(__file__).parent / "notebooks"
PAGES = sorted(FOLDER.glob("*.md"))
CACHE = Path(sys.prefix) / "notebooks"
SECONDS = 540
"""What a cell may take on a machine that does other things too."""
AT_ONCE = 2
WITHOUT_WIDGETS = "import sys; sys.modules['anywidget'] = None"
"""A page has no kernel that a widget could talk to, so `augenmerk.show` makes a frame."""
SHOWN = ("text/html", "image/svg+xml", "image/png", "text/plain")
"""The forms of an output, the best first."""
PICTURES = ("image/svg+xml", "image/png")
EMPTY = re.compile(r"(<pre[^>]*></pre>)?")
"""A progress bar that is gone."""


logging.getLogger("traitlets").setLevel(logging.WARNING)  # nbclient announces each notebook


def execute(path: Path) -> Any:
    """Returns a notebook with its outputs; raises CellExecutionError if a cell does."""
    CACHE.mkdir(exist_ok=True)
    with FileLock(CACHE / f"{path.stem}.lock"):  # tests execute them beside a build of the site
        return _execute(path)


def _execute(path: Path) -> Any:
    text = path.read_bytes()
    kept = CACHE / f"{path.stem}-{sha256(text + _digest_package()).hexdigest()[:16]}.ipynb"
    if kept.is_file():
        return nbformat.read(kept, 4)
    notebook = jupytext.reads(text.decode(), fmt="md:myst")
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            extra_arguments=[f"--IPKernelApp.exec_lines={WITHOUT_WIDGETS}", "--log-level=ERROR"],
        )
        # The models are so small that sharing their work among cores takes longer than doing it.
        client.execute(env={**os.environ, "OMP_NUM_THREADS": "1"})
        # The name of the folder means nothing to a reader.
        notebook = nbformat.reads(nbformat.writes(notebook).replace(f"{folder}/", ""), 4)
    for old in CACHE.glob(f"{path.stem}-*"):
        old.unlink(missing_ok=True)
    unfinished = kept.with_suffix(f".{os.getpid()}")
    nbformat.write(notebook, unfinished)
    unfinished.replace(kept)
    return notebook


@cache
def _digest_package() -> bytes:
    package = Path(augenmerk.__file__).parent
    files = sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sha256(b"".join(sha256(path.read_bytes()).digest() for path in files)).digest()


def execute_all() -> None:
    """Executes all notebooks, as many at once as a small machine has cores."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(execute, PAGES))


def render(path: Path) -> str:
    """Returns a notebook as a page in MyST Markdown, with what its cells printed and drew."""
    cells = [_render_cell(cell) for cell in execute(path).cells]
    title, _, rest = "\n\n".join(filter(None, cells)).partition("\n")
    link = f'<a href="{path.stem}.ipynb" download>Download this page as a notebook</a>'
    return f"{title}\n\n{_raw(link)}\n{rest}\n"


def _render_cell(cell: Any) -> str:
    tags = cell.metadata.get("tags", ())
    if cell.cell_type == "markdown" or "remove-cell" in tags:
        return "" if "remove-cell" in tags else str(cell.source)
    code, shown = _fence("python", cell.source), "".join(map(_render_output, cell.outputs))
    if not shown:
        return code
    if "hide-output" in tags:
        shown = f"<details><summary>Output</summary>{shown}</details>"
    return code + "\n\n" + _raw(f'<div class="output">{shown}</div>')


def _render_output(output: Any) -> str:
    if output.output_type == "stream":
        return f"<pre>{escape(output.text)}</pre>"
    form = next(form for form in SHOWN if form in output.data)
    content = output.data[form].strip()
    if form == "text/plain":
        return f"<pre>{escape(content)}</pre>"
    if form in PICTURES:
        encoded = content if form == "image/png" else b64encode(content.encode()).decode()
        text = escape(output.data.get("text/plain", ""))
        return f'<img src="data:{form};base64,{encoded}" alt="{text}">'
    return "" if EMPTY.fullmatch(content) else content


def _raw(html: str) -> str:
    return _fence("{raw} html", html)


def _fence(kind: str, text: str) -> str:
    return f"``````{kind}\n{text}\n``````"


def write_downloads(folder: Path) -> None:
    """Writes the notebooks without outputs beside their pages."""
    for path in PAGES:
        jupytext.write(jupytext.read(path), folder / f"{path.stem}.ipynb")
