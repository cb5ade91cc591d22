"""Builds the site: `make docs` writes it to docs/_build.

The site opens from disk without a network, so formulas are MathML, which browsers draw themselves. Reference
pages are generated from the declared code: `generated.py` fills in blocks such as ```{generated} settings```.
"""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import generated  # noqa: E402
import notebook_pages  # noqa: E402

import augenmerk  # noqa: E402

PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "SECURITY.md": "security.md",
    "MODEL_CARD.md": "reference/bundled-model.md",
}
OUTSIDE = re.compile(rf"\]\([^):#]*\b({'|'.join(PAGES)})")

project = "Augenmerk"
copyright = "the authors of Augenmerk, MIT licence"  # noqa: A001
version = release = augenmerk.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!augenmerk\.\w+$).*")]
"""Only the public names have an entry to link to: types of other packages and inner classes have none."""

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "html_image"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

default_role = "code"
"""Docstrings put names of code in single backticks."""
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries = False

html_theme = "furo"
html_title = "Augenmerk"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["translator.html"]
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which a browser refuses to do on a disk
html_show_sphinx = False
html_math_renderer = "mathml"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#7a4b00", "color-brand-content": "#1f5c99"},
    "dark_css_variables": {"color-brand-primary": "#f0b354", "color-brand-content": "#8ec1f5"},
}


def _write_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def _write_block(translator: Any, node: nodes.math_block) -> None:
    number = f"<span class='eqno'>({node['number']})</span>" if node["number"] else ""
    anchor = f" id='equation-{node['label']}'" if node.get("label") else ""
    formula = convert(node.astext(), display="block")
    translator.body.append(f"<div class='math'{anchor}>{formula}{number}</div>")
    raise nodes.SkipNode


def _fill_in(_app: Sphinx, page: str, source: list[str]) -> None:
    """Fills in generated blocks, and what the cells of a notebook print and draw."""
    if page.startswith("notebooks/"):
        source[0] = notebook_pages.render(DOCS / f"{page}.md")
    source[0] = _lead_to_pages(generated.fill_in(source[0]))


def _fill_in_included(_app: Sphinx, _path: Path, _page: str, source: list[str]) -> None:
    source[0] = _lead_to_pages(source[0])


def _lead_to_pages(text: str) -> str:
    """Returns a page whose links to files outside docs/ lead to the pages that include them."""
    return OUTSIDE.sub(lambda file: f"](/{PAGES[file[1]]}", text)


def _find_generated(
    _app: Sphinx, _env: Any, added: set[str], _changed: set[str], _removed: set[str]
) -> set[str]:
    """Returns the pages with generated parts, which are read in every build: their source is the code."""
    return {page for page in generated.find_pages(DOCS) if page not in added}


def _shorten_signature(
    _app: Sphinx,
    _kind: str,
    _name: str,
    _value: Any,
    _options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Returns a signature whose types have short names, that of a dataclass too."""
    return signature and re.sub(r"<[^<>]*>", "...", re.sub(r"~(?:\w+\.)+", "", signature)), returns


def _escape_docstring(
    _app: Sphinx, _kind: str, _name: str, _value: Any, _options: Any, lines: list[str]
) -> None:
    """Shows the text of docstrings as it is: only single backticks mean something."""
    lines[:] = [
        re.sub(r"(`[^`]*`)|([*|]|_(?=\W|$))", lambda part: part[1] or f"\\{part[2]}", line) for line in lines
    ]


def _name_levels(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Gives the headings in the menu the level that screen readers need."""
    menu = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = menu.replace('role="heading"', 'role="heading" aria-level="2"')


def _write_further_files(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        generated.write_theory_page(Path(app.outdir) / "theory.html")
        notebook_pages.write_downloads(Path(app.outdir) / "notebooks")


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_write_inline, None), block_renderers=(_write_block, None)
    )
    app.add_lexer("csv", TextLexer)
    app.connect("builder-inited", lambda _app: notebook_pages.execute_all())
    app.connect("source-read", _fill_in)
    app.connect("include-read", _fill_in_included)
    app.connect("env-get-outdated", _find_generated)
    app.connect("autodoc-process-signature", _shorten_signature)
    app.connect("autodoc-process-docstring", _escape_docstring)
    app.connect("html-page-context", _name_levels, priority=900)  # after the theme has made the menu
    app.connect("build-finished", _write_further_files)
