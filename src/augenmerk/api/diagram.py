"""Attention as pictures, as a page of pictures, or as text: `augenmerk diagram` in a function."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any, Literal

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.analysis.pages import Diagram, Sentence, View, explain_view, make_diagrams, write_diagrams
from augenmerk.analysis.reading import check_index, open_data_or_bilderbuch
from augenmerk.base.console import Shown, err, out
from augenmerk.base.device import choose_translating_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.frames import as_paths
from augenmerk.drawing import explain_terminal_maps, render_html_map, render_terminal_maps
from augenmerk.drawing.figures import Picture, get_picture_format, get_theme, make_style
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.text.words import check_sentences, split_sentences
from augenmerk.translation import Translator, load
from augenmerk.translation.output import warn_of_translations


@dataclass(frozen=True, repr=False)
class Diagrams(Shown):
    """The attention of one or more models in sentences."""

    diagrams: Sequence[Diagram]
    files: Sequence[Path]
    about: Mapping[str, Any]
    """The view, the theme, the split and the page."""
    models: Sequence[Path]
    subwords: bool

    def to_dict(self) -> dict[str, Any]:
        both = zip_longest(self.diagrams, self.files)
        described = [drawn.to_dict(self.models, file, subwords=self.subwords) for drawn, file in both]
        return {**self.about, "diagrams": described}

    def plot(self, view: View | None = None) -> Picture:
        """Returns all maps side by side in one picture."""
        maps = [maps for drawn in self.diagrams for maps in drawn.maps]
        return Picture(partial(replace(self.diagrams[0], maps=maps).draw, view or self.about["view"]))

    def show(self) -> Iterator[RenderableType]:
        theme, names = get_theme(self.about["theme"]), _name_models(self.models)
        for number, drawn in enumerate(self.diagrams):
            index = "" if drawn.index is None else f"[dim]{drawn.index}[/]  "
            yield f"{chr(10) if number else ''}{index}[bold]{escape(drawn.source)}[/]"
            for translation, name, maps in zip(drawn.translations, names, drawn.maps, strict=True):
                heading = f"[dim]{escape(name)}:[/] " if len(names) > 1 else ""
                yield f"\n{heading}{escape(translation.text)}"
                if len(maps) == 1 and maps[0].title not in (None, name):  # which layer or head it is
                    yield f"[dim]{escape(maps[0].title or '')}[/]"
                yield render_terminal_maps(maps, out().width, theme)
                if maps[0].note:
                    yield f"[dim]{escape(maps[0].note)}[/]"
            if drawn.reference is not None:
                yield f"\n[dim]Reference:[/] {escape(drawn.reference)}"
        groups = [maps for drawn in self.diagrams for maps in drawn.maps]
        yield f"\n[dim]{explain_terminal_maps(groups, out().width)}[/]"

    def _repr_html_(self) -> str:
        return "".join(
            render_html_map(replace(one, title=one.title or translation.text))
            for drawn in self.diagrams
            for translation, maps in zip(drawn.translations, drawn.maps, strict=True)
            for one in maps
        )


def diagram(
    text: str | None = None,
    run: str | PathLike[str] | Sequence[str | PathLike[str]] = BUNDLED_MODEL,
    *,
    split: str | None = None,
    index: int | None = None,
    count: int | None = None,
    seed: int = 1,
    beam: int | None = None,
    out: str | Path | None = None,
    format: Literal["png", "svg", "pdf"] = "png",  # noqa: A002
    view: View = "heat",
    subwords: bool = False,
    layer: int | None = None,
    heads: bool = False,
    self_attention: Literal["encoder", "decoder"] | None = None,
    device: str = "auto",
    **style: Any,
) -> Diagrams:
    """Draws the attention of a run, or of several, in a text or in sentences of a split of its data.

    Takes what `augenmerk diagram` takes; `style` has keywords of pictures, such as theme.
    """
    place, part = None if out is None else Path(out), self_attention or "cross"
    if (text is None) == (split is None):
        choice = "either a sentence, or --split with --index or --count"
        raise AugenmerkError(f"There is nothing to draw: give {choice}.")
    if split is not None and (index is None) == (count is None):
        raise AugenmerkError(f"Which sentences of '{split}'? Give --index I for one, or --count N for many.")
    if count is not None and count < 1:
        raise AugenmerkError(f"count is how many sentences to draw, 1 or more: not {count}.")
    if split is None and (index is not None or count is not None):
        raise AugenmerkError("--index and --count choose sentences of a split: add --split S.")
    check_sentences([] if text is None else [text])
    if place is not None and count is None:
        get_picture_format(place)
    elif place is not None and place.exists() and not place.is_dir():
        raise AugenmerkError(f"{place} is a file; many diagrams need a folder for --out.")
    # In most terminals light letters stand on a dark ground.
    style = {"theme": "dark" if place is None else "light", **style}
    make_style(**style)  # before anything is translated
    models = as_paths(run)
    translators = [load(path, choose_translating_device(device)) for path in models]
    names = _name_models(models)
    diagrams = make_diagrams(
        translators,
        [None] if len(models) == 1 else names,
        _choose_sentences(translators[0], text, split, index, count, seed),
        beam=beam,
        part=part,
        layer=layer,
        heads=heads,
        subwords=subwords,
    )
    if split is None:
        warn_of_translations([drawn.translations[0] for drawn in diagrams])
    if heads and all(len(one.heads) < 2 for drawn in diagrams for one in drawn.translations):
        err().print("There is one head only; runs with multi-head attention, and Transformers, have several.")
    page = None if place is None or count is None else str(place / "index.html")
    about = {"view": view, "theme": style["theme"], "split": split, "page": page}
    drawn = Diagrams(diagrams, [] if place is None else [place] * len(diagrams), about, models, subwords)
    if place is not None and page is None:
        drawn.plot().save(place, **style)
    elif place is not None:
        intro = (
            f"{count} sentences of {split}, chosen at random (seed {seed}), as translated by "
            f"{', '.join(names)}. {explain_view(view, part)}"
        )
        titled = make_style(**{"title": f"Attention of {', '.join(names)}", **style})
        files = write_diagrams(place, titled, intro, diagrams, names, str(split), view=view, format=format)
        return replace(drawn, files=files)
    return drawn


def _name_models(models: Sequence[Path]) -> list[str]:
    """Returns the names of the folders, or their paths if names are the same."""
    names = [path.resolve().name for path in models]
    return names if len(set(names)) == len(names) else list(map(str, models))


def _choose_sentences(
    first: Translator, text: str | None, split: str | None, index: int | None, count: int | None, seed: int
) -> list[Sentence]:
    """Returns the index, the source and the reference of the sentences of a text, or of a split."""
    if split is None:
        return [(None, sentence, None) for sentence in split_sentences(text or "", first.language)]
    bitext, split = open_data_or_bilderbuch(first.config.data, split)
    pairs = list(bitext[split])
    if index is not None:
        check_index(split, index, pairs)
        indices = [index]
    else:
        count = count or 1
        if count > len(pairs):
            raise AugenmerkError(f"'{split}' has {len(pairs):,} sentences, fewer than --count {count}.")
        indices = sorted(Random(seed).sample(range(len(pairs)), count))
    return [(i, pairs[i].source, pairs[i].target) for i in indices]
