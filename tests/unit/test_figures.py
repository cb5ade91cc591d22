"""Pictures: the format the ending asks for, the same bytes every time, colours that can be read."""

import re
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.figures import (
    CELL_NUMBER,
    THEMES,
    PictureSize,
    Style,
    Theme,
    get_theme,
    new_figure,
    save_figure,
    use_theme,
)


def drawn(theme: Theme) -> Figure:
    with use_theme(theme):
        figure = Figure(figsize=(2, 1))
        axes = figure.subplots()
        axes.plot([1, 3, 2])
        axes.set_title("$5 and $6")
    return figure


def luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_what_its_ending_says(tmp_path: Path, ending: str, magic: bytes) -> None:
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending.upper()}"
    for path in (first, second):
        save_figure(drawn(THEMES["dark"]), path)
    assert first.read_bytes().startswith(magic)
    assert first.read_bytes() == second.read_bytes()
    assert ending != "pdf" or (b"/FontFile2" in first.read_bytes() and b"/Type3" not in first.read_bytes())


def test_another_ending_and_an_unknown_theme_are_refused_by_name(tmp_path: Path) -> None:
    said = r"picture\.gif: the name of a picture ends in \.png, \.svg or \.pdf"
    with pytest.raises(AugenmerkError, match=said):
        save_figure(drawn(THEMES["dark"]), tmp_path / "picture.gif")
    assert not list(tmp_path.iterdir())
    with pytest.raises(AugenmerkError, match="'blue'; the themes are light and dark"):
        get_theme("blue")


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_what_is_written_stands_out_from_the_paper(theme: Theme) -> None:
    """By the contrast ratio that accessibility guidelines ask of text (4.5) and of graphics (3)."""

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    assert contrast(theme.ink, theme.paper) >= 7
    assert contrast(theme.accent, theme.paper) >= 4.5
    assert all(contrast(colour, theme.paper) >= 3 for colour in theme.series)
    assert theme.heat[0] == theme.paper  # no attention is no colour


def test_an_svg_has_text_unless_outlines_are_asked_for(tmp_path: Path) -> None:
    save_figure(drawn(THEMES["light"]), tmp_path / "text.svg")
    save_figure(drawn(THEMES["light"]), tmp_path / "paths.svg", outline=True)
    text, paths = ((tmp_path / name).read_text(encoding="utf-8") for name in ("text.svg", "paths.svg"))
    assert ">$5 and $6</text>" in text
    assert "sans-serif" in text  # where DejaVu Sans is not installed
    assert "<text" not in paths
    points = re.findall(r' d="([^"]*)"', paths)
    assert len(points) > 10
    assert not any("\n" in each or re.search(r"\.\d{3}", each) for each in points)


@pytest.mark.parametrize(
    ("size", "expected"),
    [("16:9", (4, 2.25)), ("1:2", (4, 8)), ("6x3", (6, 3)), ("12.7x5.08cm", (5, 2))],
)
def test_a_size_is_a_shape_or_sides(size: str, expected: tuple[float, float]) -> None:
    assert PictureSize.parse(size).apply(4, 2) == pytest.approx(expected)


@pytest.mark.parametrize("size", ["", "16", "16:9cm", "axb", "0x3", "100:1", "0.5x0.5", "1e3x2", "500x2"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(AugenmerkError, match="size"):
        PictureSize.parse(size)


def test_a_chart_grows_with_its_text_or_shrinks_to_fit() -> None:
    figure = Style(THEMES["light"], title="A $5 title", font_size=20).draw(laid_out)
    width, height = figure.get_size_inches()
    assert width == 8
    assert 6 < height < 7  # with room for the title
    assert figure.get_suptitle() == "A $5 title"
    [axes] = figure.axes
    [usual] = laid_out().axes
    assert axes.title.get_fontsize() == 2 * usual.title.get_fontsize()
    assert axes.lines[0].get_linewidth() == 2 * usual.lines[0].get_linewidth()
    figure.draw_without_rendering()
    assert {label.get_fontsize() for label in axes.get_xticklabels()} == {20}
    figure = Style(THEMES["light"], size=PictureSize.parse("2x2")).draw(laid_out)
    assert tuple(figure.get_size_inches()) == (2, 2)
    [axes] = figure.axes
    assert 2 * axes.title.get_fontsize() == laid_out().axes[0].title.get_fontsize()
    [number] = axes.texts
    assert not number.get_visible()  # 5 points are too small to be read
    [number] = Style(THEMES["light"], size=PictureSize.parse("8x6")).draw(laid_out).axes[0].texts
    assert number.get_visible()


def laid_out(theme: Theme = THEMES["light"]) -> Figure:
    with use_theme(theme):
        figure = new_figure(4, 3)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1])
        axes.text(0.5, 0.5, "1", gid=CELL_NUMBER)
        axes.set_title("a title")
    return figure
