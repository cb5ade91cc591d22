"""The notebooks of the documentation, executed by a kernel as readers execute them."""

import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import jupytext
import pytest

from tests.unit.test_documentation import ROOT, load

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
pages = load("docs/notebook_pages.py")


def outputs(cell: Any) -> list[str]:
    """Returns what a cell has printed and drawn, each as its best form."""
    return [pages._render_output(output) for output in cell.get("outputs", ())]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_the_first_cell_to_the_last(path: Path) -> None:
    """A cell that raises an error fails the execution."""
    notebook = pages.execute(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    for cell in code:
        shown = list(filter(None, outputs(cell)))
        assert not any(one == other for one, other in pairwise(shown)), cell.source
        assert not re.search(r"Warning|Traceback", "".join(shown)), cell.source
        assert "stderr" not in [output.get("name") for output in cell.outputs], cell.source
        assert all("" not in output.get("data", {}).values() for output in cell.outputs), cell.source
    assert "google.colab" in code[0].source
    assert code[0].outputs == []
    assert sum("BIGGER = False" in cell.source for cell in code) == 1


def test_the_site_is_built_without_a_warning(site: Path) -> None:
    assert {path.stem for path in NOTEBOOKS} <= {path.stem for path in site.glob("notebooks/*.html")}


def test_a_frame_in_a_page_is_that_of_the_package() -> None:
    page = pages.render(ROOT / "docs" / "notebooks" / "first-steps.md")
    [frame] = re.findall(r'srcdoc="([^"]*)"', page)
    assert unescape(frame).startswith("<!DOCTYPE html>")
    assert "<h1>Augenmerk</h1>" in unescape(frame)


def test_a_page_has_the_cells_and_their_outputs_but_not_what_is_for_colab(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pages, "CACHE", tmp_path)
    path = tmp_path / "one.md"
    cells = ["print('<b>one</b>')", "1 + 1", "import matplotlib.pyplot as plt\n\nplt.plot([1])"]
    notebook = "\n\n".join(f"```{{code-cell}} python\n{cell}\n```" for cell in cells)
    path.write_text(f"# One\n\n```{{code-cell}} python\n:tags: [remove-cell]\n\n1\n```\n\n{notebook}\n")
    page = pages.render(path)
    assert page.startswith('# One\n\n``````{raw} html\n<a href="one.ipynb" download>')
    assert "<pre>&lt;b&gt;one&lt;/b&gt;\n</pre>" in page
    assert '<div class="output"><pre>2</pre></div>' in page
    assert 'src="data:image/png;base64,iVBOR' in page
    assert "remove-cell" not in page
    [kept] = tmp_path.glob("one-*.ipynb")
    before = kept.stat().st_mtime_ns
    assert pages.render(path) == page
    assert kept.stat().st_mtime_ns == before
    path.write_text(path.read_text().replace("1 + 1", "1 + 2"))
    assert "<pre>3</pre>" in pages.render(path)
    assert len(list(tmp_path.glob("one-*.ipynb"))) == 1


def test_downloads_are_notebooks_without_outputs(site: Path) -> None:
    downloads = list(site.glob("notebooks/*.ipynb"))
    assert sorted(path.stem for path in downloads) == [path.stem for path in NOTEBOOKS]
    for path in downloads:
        notebook = jupytext.read(path)
        assert not any(cell.get("outputs") for cell in notebook.cells)
        assert notebook.metadata.kernelspec.name == "python3"
