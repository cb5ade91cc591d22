"""Writes the pictures that a command draws."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_pictures(
    folder: Path, names: Sequence[str], figures: "Iterable[Figure]", *, outline: bool
) -> list[str]:
    """Writes figures with numbered names, such as 01-test-7.svg, and returns the names."""
    from augenmerk.drawing.figures import save_figure

    digits = len(str(len(names)))
    files = [f"{number:0{digits}}-{name}" for number, name in enumerate(names, 1)]
    for file, figure in zip(files, figures, strict=True):
        save_figure(figure, folder / file, outline=outline)
    return files
