"""`augenmerk diagram`: draws attention as pictures, as a page of pictures, or in the terminal."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from typer import Argument, Option

from augenmerk.base.console import err, out
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.inputs import check_index, check_sentences, open_data_or_bilderbuch
from augenmerk.cli.options import GROUP, Group, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

if TYPE_CHECKING:
    from augenmerk.analysis.pages import Diagram
    from augenmerk.drawing.figures import Theme
    from augenmerk.translation import Part, Translator

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


@app.command(
    epilog="Examples:  augenmerk diagram --model runs/mine 'Der kleine Hund schläft.' --out dog.png    "
    "augenmerk diagram --model runs/multi-head --heads 'Der kleine Hund schläft.' --out heads.png    "
    "augenmerk diagram --model runs/a --model runs/b --split test --count 12 --out pictures"
)
@grouped
def diagram(given: DiagramOptions = GROUP, pictures: Pictures = GROUP) -> None:
    """Draw the attention of models: in the terminal, as a picture, or as a page of pictures."""
    from augenmerk.analysis.pages import explain_view, write_diagrams
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
        intro = (
            f"{given.count} sentences of {given.split}, chosen at random (seed {given.seed}), as translated "
            f"by {', '.join(names)}. {explain_view(given.view, given.part)}"
        )
        files = write_diagrams(
            given.out, style, intro, diagrams, names, str(given.split), view=given.view, format=given.format
        )
        print_written(given.out / "index.html")
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
            drawn.to_dict(models, file, subwords=given.subwords)
            for drawn, file in zip_longest(diagrams, files)
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
) -> "list[Diagram]":
    from augenmerk.analysis.pages import make_diagrams
    from augenmerk.translation.output import warn_of_translations

    diagrams = make_diagrams(
        translators,
        titles,
        _choose_sentences(given, translators[0]),
        beam=given.beam,
        part=given.part,
        layer=given.layer,
        heads=given.heads,
        subwords=given.subwords,
    )
    if given.split is None:
        warn_of_translations([drawn.translations[0] for drawn in diagrams])
    if given.heads and all(len(one.heads) < 2 for drawn in diagrams for one in drawn.translations):
        err().print(
            "There is one head only; models trained with [bold]--attention multi-head[/], and Transformers, "
            "have several."
        )
    return diagrams


def _print_diagrams(diagrams: "Sequence[Diagram]", names: Sequence[str], theme: "Theme") -> None:
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
