"""`augenmerk diagram`: what models attend to, as pictures, as a page of pictures, or in the terminal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from augenmerk.cli.terminal import err, out, print_json
from augenmerk.device import choose_device
from augenmerk.diagrams import (
    AttentionMap,
    Card,
    Chart,
    draw_heat_map,
    draw_line_diagram,
    render_index_page,
    render_terminal_map,
)
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import open_data
from augenmerk.figures import FORMATS, Theme, get_picture_format, get_theme, save_figure
from augenmerk.storage import atomic_write, make_folder
from augenmerk.translate import TextTranslator, Translation, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIEWS: Mapping[str, Callable[[Sequence[AttentionMap], Theme], "Figure"]] = {
    "heat": draw_heat_map,
    "lines": draw_line_diagram,
}
LONG = 16
"""Source words beyond which a map takes the whole width of the page."""
HOW_TO_READ = {
    "heat": "Rows are the words produced, columns those of the source; the stronger the colour, the more a "
    "word is attended to. Point at a cell to read its weight.",
    "lines": "Above are the words of the source, below those produced; the stronger the line, the more a "
    "word is attended to.",
}


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    text: str | None
    models: Sequence[Path]
    split: str | None
    index: int | None
    count: int | None
    seed: int
    beam: int | None
    out: Path | None
    format: str
    view: str
    theme: str
    subwords: bool
    device: str

    def check(self) -> None:
        """Refuses what cannot be meant, before anything is loaded."""
        if (self.text is None) == (self.split is None):
            raise AugenmerkError("Say what to draw: either a sentence, or --split with --index or --count.")
        if self.split is not None and (self.index is None) == (self.count is None):
            raise AugenmerkError(
                f"Say which sentences of '{self.split}' to draw: --index I for one, or --count N for many."
            )
        if self.split is None and (self.index is not None or self.count is not None):
            raise AugenmerkError("--index and --count choose sentences of a split; say which: --split S.")
        if self.count is not None and self.count < 1:
            raise AugenmerkError(f"--count {self.count} is impossible: it must be 1 or more.")
        if self.view not in VIEWS:
            raise AugenmerkError(f"There is no view '{self.view}'; the views are {' and '.join(VIEWS)}.")
        if self.format not in FORMATS:
            raise AugenmerkError(f"'{self.format}' is no format of pictures; there are {', '.join(FORMATS)}.")
        if self.text is not None and any("\ud800" <= character <= "\udfff" for character in self.text):
            raise AugenmerkError("The sentence is not UTF-8; convert it to UTF-8.")
        if self.text is not None and not self.text.strip():
            raise AugenmerkError("The sentence is empty: there is nothing to draw.")
        self._check_out()

    def _check_out(self) -> None:
        if self.out is None:
            if self.view == "lines":
                raise AugenmerkError("A terminal cannot draw lines; give --out FILE.svg, or --view heat.")
        elif self.count is None:
            get_picture_format(self.out)
        elif self.out.exists() and not self.out.is_dir():
            raise AugenmerkError(f"{self.out} is a file; many diagrams need a folder for --out.")


@dataclass(frozen=True)
class Drawn:
    """A sentence as each model translated it."""

    index: int | None
    reference: str | None
    translations: Sequence[Translation]
    maps: Sequence[AttentionMap]


def run(wish: Wish, json: bool) -> None:
    """Translates, draws, and says where the pictures are."""
    wish.check()
    theme = get_theme(wish.theme)
    device = choose_device(wish.device)
    translators = [load(model, device) for model in wish.models]
    drawn = _translated(wish, translators)
    files: list[Path] = []
    page: Path | None = None
    if wish.out is not None and wish.count is not None:
        files, page = _write_page(wish, drawn, theme)
    elif wish.out is not None:
        files = [wish.out]
        save_figure(VIEWS[wish.view](drawn[0].maps, theme), wish.out)
    elif not json:
        for place, each in enumerate(drawn):
            _print(each, theme, first=place == 0)
    for path in [page] if page else files:
        err().print(f"[dim]Drawn:[/] {escape(str(path))}", soft_wrap=True)
    if json:
        print_json(_document(wish, drawn, files, page))


def _translated(wish: Wish, translators: Sequence[TextTranslator]) -> list[Drawn]:
    """All sentences through each model: together, which is faster."""
    chosen = _sentences(wish, translators[0])
    sources = [source for _, source, _ in chosen]
    by_model = [translator.translate(sources, beam=wish.beam) for translator in translators]
    titles = _titles(wish.models)
    drawn = []
    for place, (index, _, reference) in enumerate(chosen):
        translations = [translations[place] for translations in by_model]
        maps = [
            AttentionMap.from_translation(
                translation, subwords=wish.subwords, title=title, reference=reference
            )
            for translation, title in zip(translations, titles, strict=True)
        ]
        drawn.append(Drawn(index, reference, translations, maps))
    return drawn


def _sentences(wish: Wish, translator: TextTranslator) -> list[tuple[int | None, str, str | None]]:
    """(index, source, reference) of what is to be drawn; the data are those of the first model."""
    if wish.text is not None:
        return [(None, wish.text, None)]
    assert wish.split is not None
    pairs = list(open_data(translator.config.data)[wish.split])
    if wish.index is not None:
        indices = [wish.index]
        if not 0 <= wish.index < len(pairs):
            raise AugenmerkError(
                f"'{wish.split}' has no sentence {wish.index}: its {len(pairs):,} sentences count from 0."
            )
    else:
        assert wish.count is not None
        if wish.count > len(pairs):
            raise AugenmerkError(
                f"'{wish.split}' has {len(pairs):,} sentences; {wish.count:,} cannot be drawn from it."
            )
        indices = sorted(Random(wish.seed).sample(range(len(pairs)), wish.count))
    return [(index, pairs[index].source, pairs[index].target) for index in indices]


def _titles(models: Sequence[Path]) -> list[str | None]:
    """What tells the models apart; one alone needs no title."""
    if len(models) == 1:
        return [None]
    names = [model.resolve().name for model in models]
    return list(names if len(set(names)) == len(names) else map(str, models))


def _write_page(wish: Wish, drawn: Sequence[Drawn], theme: Theme) -> tuple[list[Path], Path]:
    """Numbered pictures, and a page that shows all of them without needing any."""
    assert wish.out is not None
    make_folder(wish.out)
    files, cards = [], []
    digits = len(str(len(drawn)))
    for number, each in enumerate(drawn, 1):
        path = wish.out / f"{number:0{digits}}-{wish.split}-{each.index}.{wish.format}"
        save_figure(VIEWS[wish.view](each.maps, theme), path)
        files.append(path)
        cards.append(_card(wish, number, each, path.name))
    page = wish.out / "index.html"
    names = ", ".join(model.resolve().name for model in wish.models)
    intro = (
        f"{len(drawn)} sentences of {wish.split}, drawn by lot (seed {wish.seed}), as translated by {names}. "
        + HOW_TO_READ[wish.view]
    )
    atomic_write(page, [render_index_page(f"Attention of {names}", intro, cards).encode()])
    return files, page


def _card(wish: Wish, number: int, each: Drawn, file: str) -> Card:
    # The sentences stand above the pictures, so these need not repeat the reference.
    maps = [replace(one, reference=None) for one in each.maps]
    charts = []
    if wish.view == "lines":
        charts = [Chart.draw(lambda theme: draw_line_diagram(maps, theme), "Which words attend to which")]
    names = [one.title or "translation" for one in maps]
    texts = {name: translation.text for name, translation in zip(names, each.translations, strict=True)}
    sentences = {"source": each.translations[0].source, **texts, "reference": each.reference or ""}
    wide = any(len(one.source_words) > LONG for one in maps)
    return Card(
        heading=f"{number} · {wish.split} {each.index}",
        maps=() if charts else maps,
        charts=charts,
        sentences=sentences,
        wide=wide,
        file=file,
    )


def _print(each: Drawn, theme: Theme, *, first: bool) -> None:
    if not first:
        out().print()
    heading = "" if each.index is None else f"[dim]{each.index}[/]  "
    out().print(f"{heading}[bold]{escape(each.translations[0].source)}[/]", soft_wrap=True)
    for translation, one in zip(each.translations, each.maps, strict=True):
        title = f"[dim]{escape(one.title)}:[/] " if one.title else ""
        out().print(f"\n{title}{escape(translation.text)}", soft_wrap=True)
        out().print(render_terminal_map(one, out().width, theme), soft_wrap=True)
        if one.note:
            out().print(f"[dim]{escape(one.note)}[/]", soft_wrap=True)
    if each.reference is not None:
        out().print(f"\n[dim]Reference:[/] {escape(each.reference)}", soft_wrap=True)


def _document(wish: Wish, drawn: Sequence[Drawn], files: Sequence[Path], page: Path | None) -> dict[str, Any]:
    shown: Iterable[Path | None] = files or [None] * len(drawn)
    return {
        "view": wish.view,
        "theme": wish.theme,
        "split": wish.split,
        "page": None if page is None else str(page),
        "diagrams": [
            {
                "index": each.index,
                "source": each.translations[0].source,
                "reference": each.reference,
                "file": None if file is None else str(file),
                "translations": [
                    {"model": str(model), **translation.to_dict(subwords=wish.subwords)}
                    for model, translation in zip(wish.models, each.translations, strict=True)
                ],
            }
            for each, file in zip(drawn, shown, strict=True)
        ],
    }
