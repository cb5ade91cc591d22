"""Options that several commands share, and the functions that carry them out."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from rich.markup import escape
from typer import Argument, Option

from augenmerk.cli.terminal import err
from augenmerk.errors import AugenmerkError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from augenmerk.bitext import SentencePair
    from augenmerk.figures import Style
    from augenmerk.translate import Translation, Translator

Json = Annotated[bool, Option("--json", help="Print the result as one JSON document.")]
Device = Annotated[str, Option(help="Device to compute on: auto, cpu or cuda.")]
Beam = Annotated[int | None, Option(help="Beam width; 1 is greedy search. Default: the run's own setting.")]
Data = Annotated[
    str | None,
    Option(help="bilderbuch, multi30k, or a folder or file of your own pairs. Default: the preset's data."),
]
SourceLanguage = Annotated[str | None, Option(help="Language to translate from, e.g. de.")]
TargetLanguage = Annotated[str | None, Option(help="Language to translate into, e.g. en.")]
Mbr = Annotated[bool, Option("--mbr", help="Minimum Bayes risk: choose the candidate most like the others.")]
Run = Annotated[
    Path | None, Argument(help="Run directory. Default: the model that ships.", show_default=False)
]
Models = Annotated[
    list[Path] | None, Option(help="Run directory; repeatable. Default: the model that ships with augenmerk.")
]
Split = Annotated[str | None, Option(help="Split of the run's data. Default: the validation split.")]
Reference = Annotated[
    bool, Option("--reference", help="Feed the reference translations to the model instead of translating.")
]
Mechanisms = Annotated[
    list[str] | None,
    Option(
        "--attention",
        metavar="FILE.py:CLASS",
        help="Attention mechanism in a file of your own, which a run was trained with; repeatable. The file "
        "is code, so it is executed only if you name it here.",
    ),
]

ThemeName = Annotated[str, Option("--theme", help="Colours of pictures: light, or dark.")]
Title = Annotated[str | None, Option(help="Title above the picture, or of the page.")]
Size = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Size of pictures: a shape such as 16:9, inches such as 8x4.5, or 20x10cm. Default: as needed.",
    ),
]
FontSize = Annotated[
    float | None, Option(help="Size of ordinary text in points, e.g. 14 for slides. Default: 10.")
]
Outline = Annotated[
    bool,
    Option("--outline", help="Draw letters in SVG files as paths, which look the same without the font."),
]
MIN_FONT_SIZE, MAX_FONT_SIZE = 4.0, 72.0


def make_style(
    theme: str, title: str | None, size: str | None, font_size: float | None, outline: bool
) -> "Style":
    """Returns how pictures are to look; raises AugenmerkError for what cannot be drawn."""
    from augenmerk.figures import PictureSize, Style, get_theme

    if font_size is not None and not MIN_FONT_SIZE <= font_size <= MAX_FONT_SIZE:
        raise AugenmerkError(
            f"--font-size {font_size:g} is impossible: it is {MIN_FONT_SIZE:g} to {MAX_FONT_SIZE:g} points."
        )
    sides = None if size is None else PictureSize.parse(size)
    return Style(get_theme(theme), title, sides, font_size, outline)


def load_mechanisms(places: list[str] | None) -> None:
    """Loads attention mechanisms from files that the user named."""
    if places:
        from augenmerk.model import load_mechanism

        for place in places:
            load_mechanism(place)


def check_index(split: str, index: int, pairs: "Sequence[SentencePair]") -> None:
    """Raises AugenmerkError if the split has no sentence with this index."""
    if not 0 <= index < len(pairs):
        raise AugenmerkError(f"'{split}' has no sentence {index}: its {len(pairs):,} sentences count from 0.")


class TranslatedSplit(NamedTuple):
    """A split of a run's data, as the run translated or, with --reference, read it."""

    translator: "Translator"
    source_language: str
    pairs: "list[SentencePair]"
    translations: "list[Translation]"
    described: dict[str, str]
    """The run, the split, and whether the translations are those of the model, for JSON."""


def translate_split(
    run: Path, split: str | None, beam: int | None, reference: bool, device: str, indices: Iterable[int] = ()
) -> TranslatedSplit:
    """Translates a split of the run's data or, with `reference`, feeds its references to the model.

    Raises AugenmerkError if the split has no sentence pairs, or not those with the indices.
    """
    from augenmerk.bitext import open_data
    from augenmerk.checkpoint import RunDirectory
    from augenmerk.device import choose_device
    from augenmerk.translate import load

    if reference and beam is not None:
        raise AugenmerkError("References are read, not searched for; give --reference or --beam.")
    chosen_device = choose_device(device)
    data = RunDirectory.open(run).config.data
    bitext = open_data(data)
    name = split or data.validation
    pairs = list(bitext[name])
    if not pairs:
        raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{name}'.")
    for index in indices:
        check_index(name, index, pairs)
    translator = load(run, chosen_device)
    with err().status(f"{escape(name)}: {len(pairs):,} sentences"):
        if reference:
            translations = translator.score_all([(pair.source, pair.target) for pair in pairs])
        else:
            translations = translator.translate([pair.source for pair in pairs], beam=beam)
    described = {"run": str(run), "split": name, "of": "references" if reference else "translations"}
    return TranslatedSplit(translator, bitext.source_language, pairs, translations, described)


def write_pictures(
    folder: Path, names: Sequence[str], figures: "Iterable[Figure]", *, outline: bool
) -> list[str]:
    """Writes figures with numbered names, such as 01-test-7.svg, and returns the names."""
    from augenmerk.figures import save_figure

    digits = len(str(len(names)))
    files = [f"{number:0{digits}}-{name}" for number, name in enumerate(names, 1)]
    for file, figure in zip(files, figures, strict=True):
        save_figure(figure, folder / file, outline=outline)
    return files
