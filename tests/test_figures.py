"""Pictures: the format the ending asks for, the same bytes every time, colours that can be read."""

from pathlib import Path

import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from augenmerk.errors import AugenmerkError
from augenmerk.figures import THEMES, Theme, get_theme, save_figure, use_theme


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


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_what_its_ending_says_and_the_same_every_time(
    tmp_path: Path, theme: Theme, ending: str, magic: bytes
) -> None:
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending.upper()}"
    save_figure(drawn(theme), first)
    save_figure(drawn(theme), second)
    assert first.read_bytes().startswith(magic)
    assert first.read_bytes() == second.read_bytes()


def test_another_ending_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        AugenmerkError, match=r"picture\.gif: the name of a picture ends in \.png, \.svg or \.pdf"
    ):
        save_figure(drawn(THEMES["dark"]), tmp_path / "picture.gif")
    assert not list(tmp_path.iterdir())


def test_an_unknown_theme_is_refused_by_name() -> None:
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
