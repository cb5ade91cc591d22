"""`augenmerk diagram`: draws attention as pictures, as a page of pictures, or in the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.inputs import check_index, check_sentences, open_data_or_bilderbuch, warn_of_translations
from augenmerk.cli.options import GROUP, Group, Pictures, grouped
from augenmerk.cli.terminal import err, out, print_json, print_written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from augenmerk.drawing import AttentionMap
    from augenmerk.drawing.figures import Style, Theme
    from augenmerk.translation import Part, Translation, Translator

HOW_TO_READ = {
    "heat": "Rows are {looking}, columns {looked_at}; the stronger the colour, the more a word is attended "
    "to. Point at a cell to read its weight.",
    "lines": "Above are {looked_at}, below {looking}; the stronger the line, the more a word is attended to.",
}
"""An explanation of each view for the page of pictures."""
WHO_LOOKS: "dict[Part, dict[str, str]]" = {
    "cross": {"looking": "the words produced", "looked_at": "the words of the source"},
    "encoder": {"looking": "the words of the source", "looked_at": "the source words that they look at"},
    "decoder": {"looking": "the words produced", "looked_at": "the words before them"},
}
WIDE = 16
"""Source words above which a map takes the whole width of the page."""

app = typer.Typer()


class DiagramOptions(Group):
    """Which sentences and models to draw, and how."""

    text: Annotated[str | None, Argument(show_default=False)] = None
    """Text to draw, sentence by sentence; or give --split."""
    model: options.Models = None
    split: str | None = None
    """Split of the run's data to take sentences from."""
    index: Annotated[int | None, Option(min=0, max=options.MAX_INDEX)] = None
    """Index of the sentence in the split, counted from 0."""
    count: Annotated[int | None, Option(min=1, max=10_000)] = None
    """Number of sentences to choose from it at random."""
    seed: Annotated[int, Option(min=0, max=options.MAX_SEED)] = 1
    """Random seed for --count."""
    beam: options.Beam = None
    out: Path | None = None
    """Picture or, with --count, folder. Default: terminal."""
    format: Literal["png", "svg", "pdf"] = "png"
    """Format of pictures, with --count."""
    view: Literal["heat", "lines"] = "heat"
    """Heat map, or lines between the words."""
    subwords: bool = False
    """Draw subwords instead of words."""
    layer: options.Layer = None
    heads: bool = False
    """Draw each attention head, after the mean over all of them."""
    self_attention: Annotated[Literal["encoder", "decoder"] | None, Option("--self")] = None
    """Draw a Transformer's self-attention."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"
    json: options.Json = False

    @property
    def part(self) -> "Part":
        """Which attention is drawn."""
        return self.self_attention or "cross"

    def check(self) -> None:
        """Raises AugenmerkError if the options do not belong together."""
        from augenmerk.drawing.figures import get_picture_format

        if (self.text is None) == (self.split is None):
            raise AugenmerkError(
                "There is nothing to draw: give either a sentence, or --split with --index or --count."
            )
        if self.split is not None and (self.index is None) == (self.count is None):
            raise AugenmerkError(
                f"Which sentences of '{self.split}'? Give --index I for one, or --count N for many."
            )
        if self.split is None and (self.index is not None or self.count is not None):
            raise AugenmerkError("--index and --count choose sentences of a split: add --split S.")
        check_sentences([] if self.text is None else [self.text])
        if self.out is None and self.view == "lines":
            raise AugenmerkError("A terminal cannot draw lines; give --out FILE.svg, or --view heat.")
        if self.out is not None and self.count is None:
            get_picture_format(self.out)
        elif self.out is not None and self.out.exists() and not self.out.is_dir():
            raise AugenmerkError(f"{self.out} is a file; many diagrams need a folder for --out.")


@dataclass(frozen=True)
class Diagram:
    """A sentence with each model's translation and the attention maps to draw."""

    source: str
    index: int | None
    """Its index in a split, and its reference there."""
    reference: str | None
    translations: "Sequence[Translation]"
    maps: "Sequence[Sequence[AttentionMap]]"
    """Those of each translation: one; with --heads, that of all heads followed by that of each."""

    def draw(self, view: str, theme: "Theme") -> "Figure":
        from augenmerk.drawing import draw_heat_map, draw_line_diagram

        draw = draw_heat_map if view == "heat" else draw_line_diagram
        return draw([one for maps in self.maps for one in maps], theme)


@app.command(
    epilog="Examples:  augenmerk diagram --model runs/mine 'Der kleine Hund schläft.' --out dog.png    "
    "augenmerk diagram --model runs/multi-head --heads 'Der kleine Hund schläft.' --out heads.png    "
    "augenmerk diagram --model runs/a --model runs/b --split test --count 12 --out pictures"
)
@grouped
def diagram(given: DiagramOptions = GROUP, pictures: Pictures = GROUP) -> None:
    """Draw the attention of models: in the terminal, as a picture, or as a page of pictures."""
    from augenmerk.base.device import choose_translating_device
    from augenmerk.drawing.figures import save_figure
    from augenmerk.run.bundled import BUNDLED_MODEL
    from augenmerk.translation import load

    options.load_mechanisms(given.attention)
    given.check()
    # In most terminals light letters stand on a dark ground.
    theme = pictures.theme or ("dark" if given.out is None else "light")
    style = pictures.make_style(theme)
    models = given.model or [BUNDLED_MODEL]
    device = choose_translating_device(given.device)
    translators = [load(path, device) for path in models]
    names = [path.resolve().name for path in models]
    names = names if len(set(names)) == len(names) else list(map(str, models))
    diagrams = _translate(given, translators, [None] if len(models) == 1 else list(names))
    files: list[Path] = []
    if given.out is not None and given.count is not None:
        style = pictures.make_style(theme, f"Attention of {', '.join(names)}")
        files = _write_page(given, diagrams, names, style)
    elif given.out is not None:
        files = [given.out] * len(diagrams)
        # The maps of all sentences of a text are side by side in one picture.
        whole = replace(diagrams[0], maps=[maps for drawn in diagrams for maps in drawn.maps])
        save_figure(style.draw(partial(whole.draw, given.view)), given.out, outline=style.outline)
        print_written(given.out)
    elif not given.json:
        _print_diagrams(diagrams, names, style.theme)
    if given.json:
        described = [
            {
                "source": drawn.source,
                "index": drawn.index,
                "reference": drawn.reference,
                "file": str(files[number]) if files else None,
                "translations": [
                    {"model": str(model), **translation.to_dict(subwords=given.subwords)}
                    for model, translation in zip(models, drawn.translations, strict=True)
                ],
            }
            for number, drawn in enumerate(diagrams)
        ]
        page = None if given.out is None or given.count is None else str(given.out / "index.html")
        about = {"view": given.view, "theme": theme, "split": given.split, "page": page}
        print_json({**about, "diagrams": described})


def _choose_sentences(given: DiagramOptions, first: "Translator") -> list[tuple[int | None, str, str | None]]:
    """Returns the index, the source and the reference of the sentences of a text, or of a split."""
    from augenmerk.text.words import split_sentences

    if given.split is None:
        return [(None, sentence, None) for sentence in split_sentences(given.text or "", first.language)]
    bitext, split = open_data_or_bilderbuch(first.config.data, given.split)
    pairs = list(bitext[split])
    if given.index is not None:
        check_index(split, given.index, pairs)
        indices = [given.index]
    else:
        count = given.count or 1
        if count > len(pairs):
            raise AugenmerkError(f"'{split}' has {len(pairs):,} sentences, fewer than --count {count}.")
        indices = sorted(Random(given.seed).sample(range(len(pairs)), count))
    return [(i, pairs[i].source, pairs[i].target) for i in indices]


def _translate(
    given: DiagramOptions, translators: "Sequence[Translator]", titles: Sequence[str | None]
) -> list[Diagram]:
    sentences = _choose_sentences(given, translators[0])
    sources = [source for _, source, _ in sentences]
    heads = given.heads or given.layer is not None or given.part != "cross"
    by_model = [
        translator.translate(sources, heads=heads, beam=given.beam, split_sentences=False)
        for translator in translators
    ]
    if given.split is None:
        warn_of_translations(by_model[0])
    if given.heads and all(len(one.heads) < 2 for translations in by_model for one in translations):
        err().print(
            "There is one head only; models trained with [bold]--attention multi-head[/], and Transformers, "
            "have several."
        )
    diagrams = []
    for (index, source, reference), *translations in zip(sentences, *by_model, strict=True):
        maps = [
            _make_maps(one, title, reference, given) for one, title in zip(translations, titles, strict=True)
        ]
        diagrams.append(Diagram(source, index, reference, translations, maps))
    return diagrams


def _make_maps(
    translation: "Translation", title: str | None, reference: str | None, given: DiagramOptions
) -> "list[AttentionMap]":
    """Returns the map of the chosen attention; with --heads, those of its heads after it."""
    from augenmerk.drawing import AttentionMap
    from augenmerk.translation import average_heads

    make_map = partial(
        AttentionMap.from_translation,
        translation,
        subwords=given.subwords,
        title=title,
        reference=reference,
    )
    chosen = translation.select_heads(given.part, given.layer)
    if not chosen or (given.part == "cross" and len(translation.heads) == 1):
        return [make_map()]
    if len(chosen) == 1:
        return [make_map(head=chosen[0])]
    return [make_map(head=one) for one in (average_heads(chosen), *(chosen if given.heads else ()))]


def _write_page(
    given: DiagramOptions, diagrams: Sequence[Diagram], names: Sequence[str], style: "Style"
) -> list[Path]:
    """Writes a numbered picture of each diagram, and a page that shows all; returns the pictures."""
    from augenmerk.drawing import Card, Chart, write_page

    assert given.out is not None
    figures = [
        (f"{given.split}-{drawn.index}.{given.format}", partial(drawn.draw, given.view)) for drawn in diagrams
    ]
    cards = []
    for number, drawn in enumerate(diagrams, 1):
        # The page shows the sentences above the pictures, so the pictures need not repeat the reference.
        drawn = replace(drawn, maps=[[replace(one, reference=None) for one in maps] for maps in drawn.maps])
        maps = [one for maps in drawn.maps for one in maps]
        lines = partial(drawn.draw, "lines")
        charts = [Chart.draw(lines, "Which words attend to which")] if given.view == "lines" else []
        labels = names if len(names) > 1 else ["translation"]
        texts = {name: one.text for name, one in zip(labels, drawn.translations, strict=True)}
        card = Card(
            heading=f"{number} · {given.split} {drawn.index}",
            maps=() if charts else maps,
            charts=charts,
            sentences={"source": drawn.source, **texts, "reference": drawn.reference or ""},
            wide=any(len(one.source_words) > WIDE for one in maps),
        )
        cards.append(card)
    intro = (
        f"{given.count} sentences of {given.split}, chosen at random (seed {given.seed}), as translated by "
        f"{', '.join(names)}. {HOW_TO_READ[given.view].format(**WHO_LOOKS[given.part])}"
    )
    files = write_page(given.out, style, intro, cards, figures)
    print_written(given.out / "index.html")
    return files


def _print_diagrams(diagrams: Sequence[Diagram], names: Sequence[str], theme: "Theme") -> None:
    from augenmerk.drawing import explain_terminal_maps, render_terminal_maps

    for number, drawn in enumerate(diagrams):
        index = "" if drawn.index is None else f"[dim]{drawn.index}[/]  "
        out().print(f"{chr(10) if number else ''}{index}[bold]{escape(drawn.source)}[/]")
        for translation, name, maps in zip(drawn.translations, names, drawn.maps, strict=True):
            heading = f"[dim]{escape(name)}:[/] " if len(names) > 1 else ""
            out().print(f"\n{heading}{escape(translation.text)}")
            if len(maps) == 1 and maps[0].title not in (None, name):  # which layer or head it is
                out().print(f"[dim]{escape(maps[0].title or '')}[/]")
            out().print(render_terminal_maps(maps, out().width, theme))
            if maps[0].note:
                out().print(f"[dim]{escape(maps[0].note)}[/]")
        if drawn.reference is not None:
            out().print(f"\n[dim]Reference:[/] {escape(drawn.reference)}")
    groups = [maps for drawn in diagrams for maps in drawn.maps]
    out().print(f"\n[dim]{explain_terminal_maps(groups, out().width)}[/]")
