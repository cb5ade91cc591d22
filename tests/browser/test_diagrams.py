"""Attention drawn: what is on the paper, what a browser makes of the HTML, what a terminal shows."""

import logging
import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console

from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing import (
    END,
    AttentionMap,
    Card,
    Chart,
    draw_heat_map,
    draw_line_diagram,
    explain_terminal_maps,
    render_html_map,
    render_index_page,
    render_terminal_map,
)
from augenmerk.drawing.attention_map import END_SIGN, format_word
from augenmerk.drawing.figures import (
    CELL_NUMBER,
    DARK,
    LIGHT,
    THEMES,
    PictureSize,
    Style,
    Theme,
    get_heat_colours,
    save_figure,
)
from augenmerk.translation import translation
from tests.support.browser import WatchedTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

Draw = Callable[[Sequence[AttentionMap], Theme], Figure]

SOURCE = ("Den", "roten", "Ball", "wirft", "der", "Junge", END)
TARGET = ("The", "boy", "throws", "the", "red", "ball", END)
HOSTILE = (
    *("<script>alert(1)</script>", "</table><img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "'>"),
    *(
        "</style>",
        "<!--",
        "]]>",
        "&amp;",
        "&lt;b&gt;",
        "$x_1$",
        r"\frac{1}{2}",
        "{{7*7}}",
        "javascript:alert(1)",
    ),
    *(
        "\u202eevil",
        "\ud800",
        "\x00\x1b[31m",
        "a\nb\tc",
        "",
        " ",
        "e\u0301" * 40,
        "W" * 300,
        "[bold]x[/]",
        "\u2028",
    ),
    *("السلام", "שלום", "नमस्ते", "小狗", "👨‍👩‍👧‍👦", "❤️", "\U000e0041", "\ufffe"),
)


def example(title: str | None = None, reference: str | None = None) -> AttentionMap:
    return AttentionMap(SOURCE, TARGET, sharp(len(TARGET), len(SOURCE)), title, reference)


def sharp(rows: int, columns: int) -> NDArray[np.float64]:
    """Some attention: rows that sum to 1, each with a clear favourite."""
    scores = np.random.default_rng(rows * 1000 + columns).normal(0, 2.5, (rows, columns))
    weights: NDArray[np.float64] = np.exp(scores)
    return weights / weights.sum(1, keepdims=True) if columns else weights


def of_length(source: int, target: int) -> AttentionMap:
    words = ("Straßenbahnhaltestelle", "a", "dem", "Hund", "schläft")
    return AttentionMap(
        [words[place % 5] for place in range(source)],
        [words[place % 3] for place in range(target)],
        sharp(target, source),
        title="a model with a name that is rather long " * 3,
        reference="A person said it in so many words. " * 8,
        note="And this is to be said as well.",
    )


def parts(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def find_texts(figure: Figure) -> list[Text]:
    """All texts that can be seen: labels, titles, notes, numbers and legends."""
    found: list[Any] = figure.findobj(Text)
    shown = {id(text): text for text in found if text.get_visible() and text.get_text().strip()}
    return list(shown.values())


def written(figure: Figure) -> dict[str, tuple[float, ...]]:
    """Each text with its box in pixels: left, bottom, right, top."""
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    figure.draw_without_rendering()
    texts = find_texts(figure)
    return {
        f"{place} {text.get_text()}": tuple(text.get_window_extent(renderer).extents)
        for place, text in enumerate(texts)
    }


class TestMap:
    def test_plain_data_arrays_and_tensors_are_the_same_to_it(self) -> None:
        rows = [[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]
        for weights in (rows, tuple(map(tuple, rows)), np.array(rows), torch.tensor(rows)):
            shown = AttentionMap(["a", "b"], ["x", "y", "z"], weights)
            assert shown.matrix.tolist() == rows

    @pytest.mark.parametrize(("source", "target"), [(0, 0), (3, 0), (0, 3)])
    def test_there_may_be_no_words(self, source: int, target: int) -> None:
        assert AttentionMap(["a"] * source, ["b"] * target, []).matrix.shape == (target, source)

    @pytest.mark.parametrize(
        ("weights", "sentence"),
        [
            ([[1.0, 0.0]], "2 target words and 2 source words need 2 rows of 2 weights, not 1 x 2"),
            ([1.0, 0.0], "not 2"),
            ([[1.0], [0.5, 0.5]], "not rows of equally many numbers"),
            ([["a", "b"], ["c", "d"]], "not rows of equally many numbers"),
            (
                [[1.0, 0.0], [float("nan"), 1.0]],
                "target word 2 on source word 1 is nan; attention lies between",
            ),
            ([[1.0, float("inf")], [0.0, 1.0]], "target word 1 on source word 2 is inf"),
            ([[1.0, 0.0], [0.0, -0.5]], "target word 2 on source word 2 is -0.5"),
            ([[1.0, 0.0], [0.0, 1.5]], "is 1.5; attention lies between 0 and 1"),
        ],
    )
    def test_what_is_no_attention_is_refused_with_a_sentence(self, weights: object, sentence: str) -> None:
        with pytest.raises(AugenmerkError, match=rf"^The attention map 'mine': .*{re.escape(sentence)}"):
            AttentionMap(["a", "b"], ["x", "y"], weights, title="mine")  # type: ignore[arg-type]

    def test_figures_beside_it_are_as_many_as_the_rows(self) -> None:
        with pytest.raises(AugenmerkError, match="'drop' has 1 values for 2 target words"):
            AttentionMap(["a"], ["x", "y"], [[1.0], [1.0]], extra_columns={"drop": [0.5]})

    def test_the_end_is_what_translations_call_it(self) -> None:
        assert END == translation.END


class TestPictures:
    @pytest.mark.parametrize("draw", [draw_heat_map, draw_line_diagram])
    @pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
    def test_the_same_picture_is_the_same_file(self, tmp_path: Path, draw: Draw, ending: str) -> None:
        first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
        save_figure(draw([example(reference="$5 & more")], LIGHT), first)
        save_figure(draw([example(reference="$5 & more")], LIGHT), second)
        assert first.read_bytes() == second.read_bytes()

    @pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
    def test_every_cell_has_the_colour_of_its_weight(self, theme: Theme) -> None:
        """Looked up in the pixels, not in what matplotlib was told."""
        shown = AttentionMap(["a", "b", "c"], ["x", "y"], [[0.0, 0.5, 0.01], [1.0, 0.25, 0.75]])
        figure = draw_heat_map([shown], theme)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())
        [mesh] = [each for each in figure.axes[0].collections if isinstance(each, QuadMesh)]
        coordinates = np.asarray(mesh.get_coordinates()).reshape(-1, 2)
        corners = figure.axes[0].transData.transform(coordinates).reshape(3, 4, 2)
        colours = get_heat_colours(theme, 101)
        for row in range(2):
            for column in range(3):
                # Near a corner of the cell, beside the number in its middle.
                x, y = corners[row, column] * 0.85 + corners[row + 1, column + 1] * 0.15
                drawn = pixels[round(pixels.shape[0] - y), round(x)] / 255
                weight = shown.matrix[row, column]
                assert drawn == pytest.approx(to_rgba(colours[round(weight * 100)]), abs=0.02)

    @pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
    def test_more_attention_is_brighter_on_the_dark_and_darker_on_the_light(self, theme: Theme) -> None:
        def lightness(colour: str) -> float:
            return float(np.dot(to_rgba(colour)[:3], (0.2126, 0.7152, 0.0722)))

        colours = get_heat_colours(theme, 33)
        ordered = sorted(colours, key=lightness, reverse=theme is LIGHT)
        assert list(colours) == ordered

    def test_source_words_are_columns_on_top_and_produced_words_are_rows(self) -> None:
        boxes = {
            text.partition(" ")[2]: box for text, box in written(draw_heat_map([example()], DARK)).items()
        }
        columns = [boxes[word] for word in SOURCE[:-1]]
        rows = [boxes[word] for word in TARGET[:-1]]
        assert all(left[0] < right[0] for left, right in pairwise(columns))
        assert all(upper[1] > lower[1] for upper, lower in pairwise(rows))
        assert min(box[1] for box in columns) > max(box[3] for box in rows)
        assert max(box[2] for box in rows) < min(box[0] for box in columns)
        assert "</s>" not in boxes
        assert END_SIGN in boxes
        assert f"{END_SIGN} end of sentence" in boxes

    def test_a_number_stands_only_where_there_is_room_for_it(self) -> None:
        def numbers(shown: AttentionMap) -> int:
            texts = draw_heat_map([shown], DARK).axes[0].texts
            return sum(bool(re.fullmatch(r"\.\d\d|1", text.get_text())) for text in texts)

        few, many = of_length(6, 5), of_length(50, 46)
        assert numbers(few) == (few.matrix >= 0.02).sum()
        assert numbers(many) == 0

    def test_maps_side_by_side_share_one_scale_and_one_reference(self) -> None:
        spread = replace(example(title="mean"), weights=np.full((7, 7), 1 / 7))
        maps = [replace(one, reference="So be it.") for one in (example(title="sharp"), spread)]
        figure = draw_heat_map(maps, DARK)
        meshes: list[Any] = figure.findobj(QuadMesh)
        assert [mesh.get_clim() for mesh in meshes] == [(0, 1), (0, 1)]
        texts = [text.get_text() for text in find_texts(figure)]
        assert sum("Reference: So be it." in text for text in texts) == 1
        assert {"sharp", "mean"} <= set(texts)

    @pytest.mark.parametrize("draw", [draw_heat_map, draw_line_diagram])
    @pytest.mark.parametrize(
        ("source", "target"), [(0, 0), (1, 1), (5, 1), (1, 30), (8, 9), (50, 46), (200, 190)]
    )
    def test_nothing_is_written_beyond_the_paper(self, draw: Draw, source: int, target: int) -> None:
        figure = draw([of_length(source, target)], DARK)
        width, height = figure.get_size_inches() * figure.dpi
        for text, (left, bottom, right, top) in written(figure).items():
            assert min(left, bottom, width - right, height - top) >= 0, text

    @pytest.mark.parametrize("draw", [draw_heat_map, draw_line_diagram])
    @pytest.mark.parametrize("count", [2, 3, 8])
    def test_nothing_of_several_maps_is_written_beyond_the_paper(self, draw: Draw, count: int) -> None:
        figure = draw([example(f"head {number}") for number in range(count)], DARK)
        width, height = figure.get_size_inches() * figure.dpi
        for text, (left, bottom, right, top) in written(figure).items():
            assert min(left, bottom, width - right, height - top) >= 0, text

    def test_words_of_fifty_do_not_run_into_each_other(self) -> None:
        figure = draw_heat_map([AttentionMap(["Hg"] * 50, ["Hg"] * 50, sharp(50, 50))], DARK)
        boxes = [box for text, box in written(figure).items() if text.endswith(" Hg")]
        rows = sorted((box for box in boxes if box[2] < min(b[2] for b in boxes) + 5), key=lambda box: box[1])
        assert len(rows) == 50
        assert all(lower[3] <= upper[1] + 1 for lower, upper in pairwise(rows))

    def test_numbers_vanish_from_a_picture_that_is_too_small_for_them(self) -> None:
        def count(size: str) -> int:
            style = Style(LIGHT, "A title", size=PictureSize.parse(size))
            figure = style.draw(lambda theme: draw_heat_map([of_length(6, 5)], theme))
            assert tuple(figure.get_size_inches()) == tuple(map(float, size.split("x")))
            width, height = figure.get_size_inches() * figure.dpi
            for text, (left, bottom, right, top) in written(figure).items():
                assert min(left, bottom, width - right, height - top) >= 0, text
            return sum(text.get_gid() == CELL_NUMBER and text.get_visible() for text in figure.axes[0].texts)

        assert count("2x2") == 0
        assert count("8x6") == (of_length(6, 5).matrix >= 0.02).sum()

    def test_a_size_of_text_is_kept_beside_the_sides_or_it_is_said(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        width, height = draw_heat_map([of_length(6, 5)], LIGHT).get_size_inches()

        def draw_in(share: float) -> set[float]:
            """Draws with the text twice as large, in a share of the room that would be twice as large."""
            caplog.clear()
            size = PictureSize(2 * width * share, 2 * height * share, is_shape=False)
            figure = Style(LIGHT, size=size, font_size=20).draw(
                lambda theme: draw_heat_map([of_length(6, 5)], theme)
            )
            assert tuple(figure.get_size_inches()) == pytest.approx((size.width, size.height))
            right, top = figure.get_size_inches() * figure.dpi
            for text, box in written(figure).items():
                assert min(box[0], box[1], right - box[2], top - box[3]) >= 0, text
            return {float(text.get_fontsize()) for text in find_texts(figure)}

        usual = {float(t.get_fontsize()) for t in find_texts(draw_heat_map([of_length(6, 5)], LIGHT))}
        for share in (1.2, 1.0):
            assert draw_in(share) == {2 * size for size in usual}
            assert not caplog.messages
        assert max(draw_in(0.5)) < 2 * max(usual)
        [said] = caplog.messages
        assert re.fullmatch(
            r"In .* by .* inches there is room for text of 1[01]\S* points, not of 20\.", said
        )

    @pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
    def test_no_attention_has_the_colour_of_the_paper(self, theme: Theme) -> None:
        assert get_heat_colours(theme, 48)[0] == theme.paper

    def test_a_line_diagram_says_what_its_lines_mean(self) -> None:
        texts = find_texts(draw_line_diagram([AttentionMap(["a"], ["x"], [[1.0]])], LIGHT))
        assert {"attention", ".10", ".50", "1"} <= {text.get_text() for text in texts}

    def test_a_very_large_map_is_one_image(self) -> None:
        for size, is_image in ((20, False), (200, True)):
            meshes: list[Any] = draw_heat_map([of_length(size, size)], LIGHT).findobj(QuadMesh)
            assert [mesh.get_rasterized() for mesh in meshes] == [is_image]

    @pytest.mark.parametrize(("draw", "theme"), [(draw_heat_map, DARK), (draw_line_diagram, LIGHT)])
    def test_any_text_is_drawn_without_a_warning(
        self, tmp_path: Path, draw: Draw, theme: Theme, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Warnings are errors here; what matplotlib only logs about missing fonts is looked for as well."""
        shown = AttentionMap(
            HOSTILE, HOSTILE, sharp(len(HOSTILE), len(HOSTILE)), " ".join(HOSTILE), HOSTILE[0], HOSTILE[1]
        )
        with caplog.at_level(logging.WARNING):
            figure = draw([shown], theme)
            for ending in ("png", "svg", "pdf"):
                save_figure(figure, tmp_path / f"a.{ending}")
        assert not caplog.records
        assert "$x_1$" in {text.get_text() for text in find_texts(figure)}
        assert "<script>" not in (tmp_path / "a.svg").read_text(encoding="utf-8")

    @pytest.mark.parametrize(("source", "target", "side"), [(401, 1, "source"), (1, 401, "target")])
    def test_what_nobody_could_read_is_refused(self, source: int, target: int, side: str) -> None:
        shown = AttentionMap(["a"] * source, ["b"] * target, np.ones((target, source)))
        for draw in (
            lambda: draw_heat_map([shown], DARK),
            lambda: draw_line_diagram([shown], DARK),
            lambda: render_html_map(shown),
        ):
            with pytest.raises(AugenmerkError, match=f"has 401 {side} words; up to 400 can be drawn"):
                draw()

    @pytest.mark.parametrize("draw", [draw_heat_map, draw_line_diagram])
    def test_nothing_to_draw_is_said(self, draw: Draw) -> None:
        with pytest.raises(AugenmerkError, match="no attention map"):
            draw([], DARK)
        texts = {text.get_text() for text in draw([AttentionMap([], [], [])], DARK).axes[0].texts}
        assert "nothing to show: no words" in texts

    def test_lines_lead_from_word_to_word_as_strong_as_the_attention(self) -> None:
        shown = AttentionMap(["eins", "zwei"], ["two", "one"], [[0.1, 0.9], [0.995, 0.005]])
        axes = draw_line_diagram([shown], DARK).axes[0]
        at: dict[str, float] = {}
        for each in (axes, *axes.child_axes):
            labels = [label.get_text() for label in each.get_xticklabels()]
            at |= zip(labels, each.get_xticks(), strict=True)
        [links] = [each for each in axes.collections if isinstance(each, PathCollection)]
        ends = [(path.vertices[0][0], path.vertices[-1][0]) for path in links.get_paths()]  # type: ignore[index]
        # Weak ones first, so that strong ones lie on top; what is next to nothing is left out.
        expected = [(at["eins"], at["two"]), (at["zwei"], at["two"]), (at["eins"], at["one"])]
        assert ends == [pytest.approx(pair) for pair in expected]
        widths = list(links.get_linewidth())  # type: ignore[arg-type]
        assert widths == sorted(widths)
        assert widths[1] > 4 * widths[0]


class Structure(HTMLParser):
    """The elements of HTML, as a parser that knows nothing of us finds them."""

    VOID = frozenset({"meta", "link", "img", "source"})

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, [])
        if tag not in self.VOID:
            self.open.append(tag)
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements and which attributes they have, not what these say."""
        return [(tag, tuple(attributes)) for tag, attributes in self.elements]


any_text = st.one_of(st.text(max_size=12), st.sampled_from(HOSTILE))


class TestHtml:
    def test_a_map_of_nothing_says_so(self) -> None:
        assert "attends to nothing" in render_html_map(AttentionMap(["a", "b"], ["c"], [[0, 0]]))
        assert "attends to nothing" not in render_html_map(AttentionMap(["a", "b"], ["c"], [[0, 1]]))

    def test_every_cell_tells_its_words_and_its_weight(self) -> None:
        shown = AttentionMap(["Hund", END], ["dog", END], [[0.8314, 0.1686], [0.004, 0.996]])
        parsed = Structure(render_html_map(shown))
        told = [attributes["data-w"] for _, attributes in parsed.elements if "data-w" in attributes]
        assert told == [
            "\u2068Hund\u2069 → \u2068dog\u2069: 0.831",
            "end of sentence → \u2068dog\u2069: 0.169",
            "\u2068Hund\u2069 → end of sentence: 0.004",
            "end of sentence → end of sentence: 0.996",
        ]
        assert parsed.texts["th"] == ["Hund", END_SIGN, "dog", END_SIGN]
        assert parsed.texts["td"] == ["", ".83", ".17", "", "1"]

    @given(words=st.lists(any_text, min_size=1, max_size=4), said=any_text)
    @settings(max_examples=60)
    def test_no_text_becomes_markup(self, words: list[str], said: str) -> None:
        def drawn(words: Sequence[str], said: str) -> Structure:
            weights = [[1.0] * len(words)] * len(words)
            beside = {said: [0.5] * len(words)}
            shown = AttentionMap(words, words, weights, f"x{said}", f"x{said}", f"x{said}", beside)
            card = Card(
                heading=said,
                maps=[shown],
                charts=[Chart("data:,", "data:,", said)],
                sentences={said: said},
                measures={said: said},
                verdict=f"x{said}",
                file=f"x{said}",
            )
            return Structure(render_index_page(said, f"x{said}".replace("\n\n", ""), [card]))

        odd, harmless = (
            drawn(words, said),
            drawn(["word" if word != END else END for word in words], "harmless"),
        )
        assert odd.shape() == harmless.shape()
        assert odd.texts["th"][: len(words)] == [format_word(word) for word in words]

    @given(words=st.lists(any_text, max_size=3))
    def test_what_is_drawn_can_be_written_as_utf_8(self, words: list[str]) -> None:
        render_html_map(AttentionMap(words, words, np.ones((len(words), len(words))))).encode()

    def test_a_page_needs_nothing_but_itself(self) -> None:
        picture = Chart.draw(lambda theme: draw_line_diagram([example()], theme), 'a "picture"')
        page = render_index_page("t", "i", [Card("h", maps=[example()], charts=[picture])])
        for tag, attributes in Structure(page).elements:
            assert tag != "script"
            for name in ("src", "srcset", "href"):
                assert (attributes.get(name) or "data:").startswith("data:")
        assert not re.search(r"https?:|@import|url\(", page)

    def test_a_chart_is_there_in_both_themes(self) -> None:
        chart = Chart.draw(lambda theme: draw_heat_map([example()], theme), "one & other")
        elements = Structure(render_index_page("t", "i", [Card("h", charts=[chart])])).elements
        [source] = [attributes for tag, attributes in elements if tag == "source"]
        [image] = [attributes for tag, attributes in elements if tag == "img"]
        pictures = (source["srcset"] or "", image["src"] or "")
        dark, light = (b64decode(picture.split(",")[1]).decode() for picture in pictures)
        assert DARK.paper in dark
        assert LIGHT.paper in light
        assert image["alt"] == "one & other"

    def test_a_link_leads_to_a_file_beside_the_page_whatever_its_name(self) -> None:
        names = ["1-a b.svg", "50%#1.svg", "javascript:alert(1)", "//host/x.svg", "größer.svg"]
        page = Structure(render_index_page("t", "i", [Card("h", file=name) for name in names]))
        links = [attributes["href"] or "" for tag, attributes in page.elements if tag == "a"]
        assert [unquote(link) for link in links] == names
        assert not any(set(link) & set(":/#? ") for link in links)

    def test_blank_lines_separate_the_paragraphs_of_the_intro(self) -> None:
        assert Structure(render_index_page("t", "one\n\ntwo", [])).texts["p"] == ["one", "two"]


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (400, True)], ids=["wide, light", "phone, dark"])
def test_a_real_browser_opens_the_page_without_network_or_complaint(
    chromium: "Chromium", tmp_path: Path, width: int, dark: bool
) -> None:
    odd = AttentionMap(
        HOSTILE, HOSTILE, sharp(len(HOSTILE), len(HOSTILE)), HOSTILE[0], HOSTILE[1], HOSTILE[2]
    )
    lines = Chart.draw(lambda theme: draw_line_diagram([example()], theme), "lines")
    cards = [
        Card("odd", maps=[odd], sentences={HOSTILE[0]: HOSTILE[1]}, verdict=HOSTILE[0]),
        Card("two", maps=[example(), example()], charts=[lines]),
    ]
    page = tmp_path / "index.html"
    page.write_text(render_index_page("Pictures", "Look.", cards), encoding="utf-8")
    context = chromium.new_context(
        viewport={"width": width, "height": 900},
        is_mobile=width < 600,
        color_scheme="dark" if dark else "light",
    )
    with context:
        watched = WatchedTab(context, page.as_uri())
        tab = watched.tab
        assert tab.locator(".card").count() == 2
        assert tab.locator("script, [onerror]").count() == 0
        assert tab.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
        chosen = tab.evaluate("document.images[0].currentSrc.split(',')[1]")
        assert (DARK if dark else LIGHT).paper in b64decode(chosen).decode()
        paper = tab.evaluate("getComputedStyle(document.querySelector('#card-2 .am')).backgroundColor")
        assert paper == f"rgb{parts((DARK if dark else LIGHT).paper)}"
        # Wide maps scroll by themselves.
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.hover("#card-2 td[data-w]")
        told = tab.evaluate(
            "getComputedStyle(document.querySelector('#card-2 td[data-w]:hover'), '::after').content"
        )
        assert told == f'"\u2068Den\u2069 → \u2068The\u2069: {example().matrix[0, 0]:.3f}"'
        assert watched.requests == [page.as_uri()]
        assert watched.complaints == []


class TestTerminal:
    def lines(self, shown: AttentionMap, width: int) -> list[str]:
        return render_terminal_map(shown, width).plain.split("\n")

    def test_words_stand_across_where_there_is_room(self) -> None:
        head, *rows = self.lines(example(), 80)
        assert head.split() == [*SOURCE[:-1], END_SIGN]
        assert [row.split()[0] for row in rows] == [*TARGET[:-1], END_SIGN]
        strongest = example().matrix.max()
        assert f"{strongest:.2f}".removeprefix("0") in "".join(rows)

    def test_only_what_is_shown_is_explained(self) -> None:
        assert explain_terminal_maps([[example()]], 80) == "∎: end of sentence."
        assert explain_terminal_maps([[example()]], 30) == "A digit: tenths; ∎: end of sentence."
        plain = AttentionMap(["a", "b"], ["x"], [[1.0, 0.0]])
        assert explain_terminal_maps([[plain]], 80) == ""
        side_by_side = explain_terminal_maps([[example(), example()]], 80)
        assert side_by_side == "A digit: tenths; ∎: end of sentence."
        empty = AttentionMap([], [], np.zeros((0, 0)))
        assert explain_terminal_maps([[empty]], 80) == ""

    def test_otherwise_their_letters_go_down(self) -> None:
        lines = self.lines(example(), 30)
        assert len(lines) == len("roten") + len(TARGET)
        column = lines[0].index("r"), lines[0].index("w")  # of the two longest, but for Junge
        assert "".join(line[column[0]] for line in lines[:5]) == "roten"
        assert "".join(line[column[1]] for line in lines[:5]) == "wirft"

    def test_otherwise_a_list_says_it(self) -> None:
        [line] = self.lines(AttentionMap(["eins", "zwei"] * 30, ["one"], [[0.0, 1.0] + [0.0] * 58]), 40)
        assert line.split() == ["one", "zwei", "1"]

    @given(st.integers(1, 12), st.integers(1, 12), st.integers(20, 120), st.data())
    def test_a_map_is_never_wider_than_the_terminal(
        self, rows: int, columns: int, width: int, data: st.DataObject
    ) -> None:
        words = st.sampled_from(["a", "schläft", "小狗", "e\u0301a", *HOSTILE])
        source = data.draw(st.lists(words, min_size=columns, max_size=columns))
        target = data.draw(st.lists(words, min_size=rows, max_size=rows))
        lines = self.lines(AttentionMap(source, target, sharp(rows, columns)), width)
        if len(lines) > rows:  # a map, not a list
            assert max(map(cell_len, lines)) <= width

    def test_bright_cells_are_those_attended_to(self) -> None:
        console = Console(width=40, force_terminal=True, color_system="truecolor", no_color=False)
        with console.capture() as capture:
            console.print(render_terminal_map(AttentionMap(["a", "b"], ["x"], [[1.0, 0.0]]), 40, LIGHT))
        colours = re.findall(r"48;2;(\d+);(\d+);(\d+)m", capture.get())
        first, last = get_heat_colours(LIGHT, 64)[0], get_heat_colours(LIGHT, 64)[-1]
        assert ["#" + "".join(f"{int(part):02x}" for part in colour) for colour in colours] == [last, first]

    def test_without_words_it_says_so(self) -> None:
        assert self.lines(AttentionMap([], [], []), 40) == ["nothing to show: no words"]
