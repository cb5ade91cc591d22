"""Options that several commands share, and the functions that carry them out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from augenmerk.cli.terminal import err
from augenmerk.errors import AugenmerkError

if TYPE_CHECKING:
    from augenmerk.bitext import Bitext, SentencePair
    from augenmerk.translate import Translation, Translator

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
Device = Annotated[str, typer.Option(help="Device to compute on: auto, cpu or cuda.")]
Beam = Annotated[
    int | None, typer.Option(help="Beam width; 1 is greedy search. Default: the run's own setting.")
]
Data = Annotated[
    str | None,
    typer.Option(
        help="Data set: bilderbuch, multi30k, or a folder or file with your own sentence pairs. "
        "Default: the preset's own setting."
    ),
]
Run = Annotated[
    Path | None,
    typer.Argument(help="Run directory. Default: the model that ships with augenmerk.", show_default=False),
]
Split = Annotated[str | None, typer.Option(help="Split of the run's data. Default: the validation split.")]
Reference = Annotated[
    bool,
    typer.Option("--reference", help="Feed the reference translations to the model instead of translating."),
]


class SplitPairs(NamedTuple):
    """The sentence pairs of one split of a run's data."""

    bitext: "Bitext"
    name: str
    pairs: list["SentencePair"]


def read_split(run: Path, split: str | None) -> SplitPairs:
    """Reads a split of a run's data, by default the validation split.

    Raises AugenmerkError if it has no sentence pairs.
    """
    from augenmerk.bitext import open_data
    from augenmerk.checkpoint import RunDirectory

    config = RunDirectory.open(run).config
    bitext = open_data(config.data)
    name = split or config.data.validation
    pairs = list(bitext[name])
    if not pairs:
        raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{name}'.")
    return SplitPairs(bitext, name, pairs)


def refuse_beam_with_reference(*, beam: int | None, reference: bool) -> None:
    if reference and beam is not None:
        raise AugenmerkError("References are read, not searched for; give --reference or --beam.")


def translate_split(
    translator: "Translator", split: SplitPairs, *, beam: int | None, reference: bool
) -> "list[Translation]":
    """Translates every source sentence of a split or, with `reference`, feeds the references to the model."""
    with err().status(f"{split.name}: {len(split.pairs):,} sentences"):
        if reference:
            return translator.score_all([(pair.source, pair.target) for pair in split.pairs])
        return translator.translate([pair.source for pair in split.pairs], beam=beam)
