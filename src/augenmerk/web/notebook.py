"""The exported page in a notebook: a widget where anywidget is installed, and otherwise a frame."""

import warnings
from functools import cache
from html import escape
from typing import Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.frames import as_paths
from augenmerk.web.export import make_page, render_file, render_theory
from augenmerk.web.templates import WEB

HEIGHT = 800
"""The height of a frame in pixels; a widget is as high as its page."""
SANDBOX = "allow-scripts allow-downloads"
"""What a page in a notebook may do: it has an origin of its own, so it cannot read the notebook."""


class PageFrame:
    """A page in a frame. All of it is in `html`, and in the notebook's file once that is saved."""

    def __init__(self, html: str, height: int = HEIGHT) -> None:
        self.html, self.height = html, height

    def __repr__(self) -> str:
        return f"<page of {len(self.html.encode()) / 1e6:.1f} MB; a notebook shows it>"

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self.height}px; border: 0"
        return (
            f'<iframe title="Augenmerk" sandbox="{SANDBOX}" allow="clipboard-write" style="{style}" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


def show(
    runs: Any = (),
    sentence: str | None = None,
    *,
    beam: int | None = None,
    theory: bool = False,
    height: int | None = None,
    widget: bool | None = None,
) -> Any:
    """Shows a run, or two that are compared, in a notebook, as the page of `augenmerk export`.

    `runs` are runs or their paths; by default the bundled model. With anywidget, which `pip install
    '.[notebook]'` in a clone installs, the page is a widget. Set its `sentence`; read `sentence` and
    `translations` after you have used it. Without anywidget, or with `widget=False`, the page is a frame,
    and part of the notebook's file. `height` is in pixels. `theory=True` shows the theory lab instead.
    """
    paths = as_paths(runs)
    if theory:
        if paths or sentence is not None or beam is not None:
            raise AugenmerkError(
                "theory=True shows a page without a model: leave out runs, sentence and beam."
            )
        return PageFrame(render_theory(), height or HEIGHT)
    page = make_page(paths, beam=beam, examples=[] if sentence is None else [sentence])
    if page.note:
        warnings.warn(page.note, stacklevel=2)
    html = render_file(page)
    if widget is not False and _has_anywidget():
        first = page.examples[0]["source"] if page.examples else ""
        return _widget_class()(html=html, height=height or 0, sentence=first)
    if widget:
        raise AugenmerkError(
            "A widget needs anywidget, which is not installed: run pip install '.[notebook]' in your clone."
        )
    return PageFrame(html, height or HEIGHT)


def _has_anywidget() -> bool:
    try:
        import anywidget  # noqa: F401
    except ImportError:
        return False
    return True


@cache
def _widget_class() -> Any:
    """Returns the class of widgets, made here because anywidget is an extra."""
    from anywidget import AnyWidget
    from traitlets import Int, List, Unicode

    class PageWidget(AnyWidget):
        """A page whose sentence and translations Python shares."""

        _esm = (WEB / "page" / "widget.js").read_text(encoding="utf-8")
        sandbox = Unicode(SANDBOX).tag(sync=True)
        html = Unicode().tag(sync=True)
        height = Int().tag(sync=True)
        sentence = Unicode().tag(sync=True)
        translations: Any = List().tag(sync=True)

    return PageWidget
