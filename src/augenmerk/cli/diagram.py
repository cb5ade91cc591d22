"""`augenmerk diagram`: draws attention as pictures, as a page of pictures, or in the terminal."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.inputs import check_index, check_sentences, open_data_or_bilderbuch, warn_of_translations
from augenmerk.cli.options import GROUP, Pictures, grouped
from augenmerk.cli.terminal import err, out, print_json, print_written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from augenmerk.base.config import DataConfig
    from augenmerk.drawing import AttentionMap, Card
    from augenmerk.drawing.figures import Style, Theme
    from augenmerk.translation import Part, Translation, Translator

HOW_TO_READ = {
    "heat": "Rows are {looking}, columns {looked_at}; the stronger the colour, the more a word is attended "
    "to. Point at a cell to read its weight.",
    "lines": "Above are {looked_at}, below {looking}; the stronger the line, the more a word is attended to.",
}
"""The views, each with an explanation for the page of pictures."""
WHO_LOOKS: "dict[Part, dict[str, str]]" = {
    "cross": {"looking": "the words produced", "looked_at": "the words of the source"},
    "encoder": {"looking": "the words of the source", "looked_at": "the source words that they look at"},
    "decoder": {"looking": "the words produced", "looked_at": "the words before them"},
}
WIDE = 16
"""A map with more source words than this takes the whole width of the page."""

app = typer.Typer()


@dataclass(frozen=True)
class Sentence:
    """A source sentence; one from a split has an index and a reference."""

    source: str
    index: int | None = None
    reference: str | None = None


@dataclass(frozen=True)
class Shown:
    """Which attention of a model is drawn."""

    part: "Part"
    layer: int | None
    heads: bool
    """Whether each head is drawn, after the mean over all of them."""
    subwords: bool

    def explain(self, view: str) -> str:
        """Returns how to read a picture of it."""
        return HOW_TO_READ[view].format(**WHO_LOOKS[self.part])


@dataclass(frozen=True)
class Diagram:
    """A sentence with each model's translation and the attention maps to draw."""

    sentence: Sentence
    translations: "Sequence[Translation]"
    maps: "Sequence[Sequence[AttentionMap]]"
    """Those of each translation: one; with --heads, that of all heads followed by that of each."""
    titles: Sequence[str | None]
    """The name of each model, if there is more than one."""

    def draw(self, view: str, style: "Style") -> "Figure":
        from augenmerk.drawing import draw_heat_map, draw_line_diagram

        draw = draw_heat_map if view == "heat" else draw_line_diagram
        maps = [one for maps in self.maps for one in maps]
        return style.draw(lambda theme: draw(maps, theme, style.title))


@app.command(
    epilog="Examples:  augenmerk diagram --model runs/mine 'Der kleine Hund schläft.' --out dog.png    "
    "augenmerk diagram --model runs/multi-head --heads 'Der kleine Hund schläft.' --out heads.png    "
    "augenmerk diagram --model runs/a --model runs/b --split test --count 12 --out pictures"
)
@grouped
def diagram(
    text: Annotated[
        str | None,
        Argument(help="Text to draw, sentence by sentence; or give --split.", show_default=False),
    ] = None,
    model: options.Models = None,
    split: Annotated[str | None, Option(help="Split of the run's data to take sentences from.")] = None,
    index: Annotated[
        int | None,
        Option(help="Index of the sentence in the split, counted from 0.", min=0, max=options.MAX_INDEX),
    ] = None,
    count: Annotated[
        int | None, Option(help="Number of sentences to choose from it at random.", min=1, max=10_000)
    ] = None,
    seed: Annotated[int, Option(help="Random seed for --count.", min=0, max=options.MAX_SEED)] = 1,
    beam: options.Beam = None,
    out: Annotated[Path | None, Option(help="Picture or, with --count, folder. Default: terminal.")] = None,
    format: Annotated[str, Option(help="With --count: png, svg or pdf.")] = "png",  # noqa: A002
    view: Annotated[str, Option(help="heat for a heat map, lines for lines between the words.")] = "heat",
    pictures: Pictures = GROUP,
    subwords: Annotated[bool, Option("--subwords", help="Draw subwords instead of words.")] = False,
    layer: options.Layer = None,
    heads: Annotated[
        bool, Option("--heads", help="Draw each attention head, after the mean over all of them.")
    ] = False,
    self_attention: Annotated[
        str | None,
        Option("--self", help="Draw a Transformer's self-attention: encoder or decoder."),
    ] = None,
    attention: options.Mechanisms = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Draw the attention of models: in the terminal, as a picture, or as a page of pictures."""
    from augenmerk.base.device import choose_translating_device
    from augenmerk.drawing.figures import save_figure
    from augenmerk.run.bundled import BUNDLED_MODEL
    from augenmerk.text.sentences import split_sentences
    from augenmerk.translation import load

    options.load_mechanisms(attention)
    _check_choice(text, split, index, count)
    _check_drawing(view, format, out, many=count is not None)
    shown = Shown(_choose_part(self_attention), layer, heads, subwords)
    # In most terminals light letters stand on a dark ground.
    theme = pictures.theme or ("dark" if out is None else "light")
    style = pictures.make_style(theme)
    models = model or [BUNDLED_MODEL]
    chosen_device = choose_translating_device(device)
    translators = [load(path, chosen_device) for path in models]
    if split is None:
        sentences = [Sentence(one) for one in split_sentences(text or "", translators[0].language)]
    else:
        sentences = _choose_sentences(translators[0].config.data, split, index, count, seed)
    diagrams = _translate(sentences, translators, _make_titles(models), beam, shown)
    files: list[Path] = []
    if out is not None and count is not None:
        runs = ", ".join(path.resolve().name for path in models)
        intro = f"{count} sentences of {split}, chosen at random (seed {seed}), as translated by {runs}."
        style = pictures.make_style(theme, f"Attention of {runs}")
        files = _write_page(out, diagrams, style, view, f"{intro} {shown.explain(view)}", f"{split}", format)
    elif out is not None:
        files = [out] * len(diagrams)
        save_figure(_merge(diagrams).draw(view, style), out, outline=style.outline)
        print_written(out)
    elif not json:
        _print_diagrams(diagrams, style.theme)
    if json:
        described = {
            "view": view,
            "theme": theme,
            "split": split,
            "page": None if out is None or count is None else str(out / "index.html"),
        }
        print_json({**described, "diagrams": _describe(diagrams, models, files, subwords=subwords)})


def _check_choice(text: str | None, split: str | None, index: int | None, count: int | None) -> None:
    """Raises AugenmerkError unless the options choose one sentence, or sentences of a split."""
    if (text is None) == (split is None):
        raise AugenmerkError(
            "There is nothing to draw: give either a sentence, or --split with --index or --count."
        )
    if split is not None and (index is None) == (count is None):
        raise AugenmerkError(f"Which sentences of '{split}'? Give --index I for one, or --count N for many.")
    if split is None and (index is not None or count is not None):
        raise AugenmerkError("--index and --count choose sentences of a split: add --split S.")
    check_sentences([] if text is None else [text])


def _choose_part(self_attention: str | None) -> "Part":
    match self_attention:
        case None:
            return "cross"
        case "encoder" | "decoder":
            return self_attention
    raise AugenmerkError(f"--self {self_attention}: expected encoder or decoder.")


def _check_drawing(view: str, format: str, out: Path | None, *, many: bool) -> None:  # noqa: A002
    """Raises AugenmerkError if the pictures cannot be drawn or written in this way."""
    from augenmerk.drawing.figures import FORMATS, get_picture_format

    if view not in HOW_TO_READ:
        raise AugenmerkError(f"There is no view '{view}'; the views are {' and '.join(HOW_TO_READ)}.")
    if format not in FORMATS:
        raise AugenmerkError(f"'{format}' is not a format of pictures: expected {', '.join(FORMATS)}.")
    if out is None:
        if view == "lines":
            raise AugenmerkError("A terminal cannot draw lines; give --out FILE.svg, or --view heat.")
    elif not many:
        get_picture_format(out)
    elif out.exists() and not out.is_dir():
        raise AugenmerkError(f"{out} is a file; many diagrams need a folder for --out.")


def _choose_sentences(
    data: "DataConfig", split: str, index: int | None, count: int | None, seed: int
) -> list[Sentence]:
    """Returns the sentence with this index, or `count` sentences chosen at random, in the split's order."""
    bitext, split = open_data_or_bilderbuch(data, split)
    pairs = list(bitext[split])
    if index is not None:
        check_index(split, index, pairs)
        indices = [index]
    else:
        assert count is not None
        if count > len(pairs):
            raise AugenmerkError(f"'{split}' has {len(pairs):,} sentences, fewer than --count {count}.")
        indices = sorted(Random(seed).sample(range(len(pairs)), count))
    return [Sentence(pairs[i].source, i, pairs[i].target) for i in indices]


def _make_titles(models: Sequence[Path]) -> list[str | None]:
    """Returns a name for each model that tells it from the others, and none if there is only one."""
    if len(models) == 1:
        return [None]
    names = [model.resolve().name for model in models]
    return list(names if len(set(names)) == len(names) else map(str, models))


def _translate(
    sentences: Sequence[Sentence],
    translators: "Sequence[Translator]",
    titles: Sequence[str | None],
    beam: int | None,
    shown: Shown,
) -> list[Diagram]:
    sources = [sentence.source for sentence in sentences]
    heads = shown.heads or shown.layer is not None or shown.part != "cross"
    by_model = [
        translator.translate(sources, heads=heads, beam=beam, split_sentences=False)
        for translator in translators
    ]
    if sentences[0].index is None:
        warn_of_translations(by_model[0])
    if shown.heads and all(len(one.heads) < 2 for translations in by_model for one in translations):
        err().print(
            "There is one head only; several come with training with [bold]--attention multi-head[/], or a "
            "Transformer.",
            soft_wrap=True,
        )
    diagrams = []
    for sentence, *translations in zip(sentences, *by_model, strict=True):
        maps = [
            _make_maps(one, title, sentence.reference, shown)
            for one, title in zip(translations, titles, strict=True)
        ]
        diagrams.append(Diagram(sentence, translations, maps, titles))
    return diagrams


def _merge(diagrams: Sequence[Diagram]) -> Diagram:
    """Returns one diagram of all sentences of a text, with their maps side by side."""
    return replace(diagrams[0], maps=[maps for drawn in diagrams for maps in drawn.maps])


def _make_maps(
    translation: "Translation", title: str | None, reference: str | None, shown: Shown
) -> "list[AttentionMap]":
    from augenmerk.drawing import AttentionMap
    from augenmerk.translation import average_heads

    make_map = partial(
        AttentionMap.from_translation,
        translation,
        subwords=shown.subwords,
        title=title,
        reference=reference,
    )
    chosen = translation.select_heads(shown.part, shown.layer)
    if not chosen or (shown.part == "cross" and len(translation.heads) == 1):
        return [make_map()]
    if len(chosen) == 1:
        return [make_map(head=chosen[0])]
    return [make_map(head=one) for one in (average_heads(chosen), *(chosen if shown.heads else ()))]


def _write_page(
    folder: Path,
    diagrams: Sequence[Diagram],
    style: "Style",
    view: str,
    intro: str,
    split: str,
    format: str,  # noqa: A002
) -> list[Path]:
    """Writes a numbered picture of each diagram, and a page that shows all; returns the pictures."""
    from augenmerk.base.files import atomic_write, make_folder
    from augenmerk.drawing import render_index_page
    from augenmerk.drawing.figures import write_pictures

    make_folder(folder)
    names = [f"{split}-{drawn.sentence.index}.{format}" for drawn in diagrams]
    figures = (drawn.draw(view, replace(style, title=None)) for drawn in diagrams)
    written = write_pictures(folder, names, figures, outline=style.outline)
    cards = [
        _make_card(drawn, heading=f"{number} · {split} {drawn.sentence.index}", file=name, view=view)
        for number, (drawn, name) in enumerate(zip(diagrams, written, strict=True), 1)
    ]
    # The page shows the diagrams itself: it links to the files, but does not need them.
    atomic_write(folder / "index.html", [render_index_page(style.title or "", intro, cards).encode()])
    print_written(folder / "index.html")
    return [folder / name for name in written]


def _make_card(drawn: Diagram, *, heading: str, file: str, view: str) -> "Card":
    from augenmerk.drawing import Card, Chart
    from augenmerk.drawing.figures import Style

    # The page shows the sentences above the pictures, so the pictures need not repeat the reference.
    drawn = replace(drawn, maps=[[replace(one, reference=None) for one in maps] for maps in drawn.maps])
    all_maps = [one for maps in drawn.maps for one in maps]
    charts = []
    if view == "lines":
        charts = [Chart.draw(lambda theme: drawn.draw(view, Style(theme)), "Which words attend to which")]
    names = [title or "translation" for title in drawn.titles]
    texts = {name: translation.text for name, translation in zip(names, drawn.translations, strict=True)}
    return Card(
        heading=heading,
        maps=() if charts else all_maps,
        charts=charts,
        sentences={"source": drawn.sentence.source, **texts, "reference": drawn.sentence.reference or ""},
        wide=any(len(one.source_words) > WIDE for one in all_maps),
        file=file,
    )


def _print_diagrams(diagrams: Sequence[Diagram], theme: "Theme") -> None:
    from augenmerk.drawing import explain_terminal_maps, render_terminal_map, render_terminal_maps

    for number, drawn in enumerate(diagrams):
        if number:
            out().print()
        sentence = drawn.sentence
        heading = "" if sentence.index is None else f"[dim]{sentence.index}[/]  "
        out().print(f"{heading}[bold]{escape(sentence.source)}[/]")
        for translation, title, maps in zip(drawn.translations, drawn.titles, drawn.maps, strict=True):
            heading = f"[dim]{escape(title)}:[/] " if title else ""
            out().print(f"\n{heading}{escape(translation.text)}")
            if len(maps) > 1:
                out().print(render_terminal_maps(maps, out().width, theme))
            else:
                if maps[0].title != title:  # which layer or head it is
                    out().print(f"[dim]{escape(maps[0].title or '')}[/]")
                out().print(render_terminal_map(maps[0], out().width, theme))
            if maps[0].note:
                out().print(f"[dim]{escape(maps[0].note)}[/]")
        if sentence.reference is not None:
            out().print(f"\n[dim]Reference:[/] {escape(sentence.reference)}")
    groups = [maps for drawn in diagrams for maps in drawn.maps]
    out().print(f"\n[dim]{explain_terminal_maps(groups, out().width)}[/]")


def _describe(
    diagrams: Sequence[Diagram], models: Sequence[Path], files: Sequence[Path], *, subwords: bool
) -> list[dict[str, Any]]:
    """Returns the diagrams as plain data for JSON; `files` is empty if no pictures were written."""
    paths: list[str | None] = [str(file) for file in files] or [None] * len(diagrams)
    return [
        {
            **asdict(drawn.sentence),
            "file": path,
            "translations": [
                {"model": str(model), **translation.to_dict(subwords=subwords)}
                for model, translation in zip(models, drawn.translations, strict=True)
            ],
        }
        for drawn, path in zip(diagrams, paths, strict=True)
    ]
