"""`augenmerk faithfulness --wanted`: which attention would make the model say a word, if any."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.terminal import make_table, out, print_json, show_status

if TYPE_CHECKING:
    from augenmerk.analysis.wanted import WantedPlace
    from augenmerk.translation import Translation


def show_wanted(
    run: Path,
    sentences: Sequence[str],
    wanted: str,
    at: int | None,
    beam: int | None,
    device: str,
    without_meaning: Mapping[str, object],
    *,
    json: bool,
) -> None:
    """Prints for each sentence what would make the model say the wanted word in its translation.

    Raises AugenmerkError if an option without meaning here was given: if one of their values is not None.
    """
    from augenmerk.analysis.wanted import describe_wanted, find_wanted

    for option, value in without_meaning.items():
        if value is not None:
            raise AugenmerkError(
                f"--wanted is about a word in the translation of a sentence of your own: leave out {option}."
            )
    if not sentences:
        raise AugenmerkError(
            "--wanted needs a sentence in whose translation the word is wanted: give one, in quotation marks."
        )
    device = "cpu" if device == "auto" else device
    read = options.translate_split(run, None, beam, False, device, sentences=sentences)
    with show_status("searching"):
        found = [find_wanted(read.translator, one, wanted, at) for one in read.translations]
    if not json:
        for number, (one, places) in enumerate(zip(read.translations, found, strict=True)):
            if number:
                out().print()
            _print_places(wanted, one, places)
        if read.translator.config.model.attention_heads > 1:
            out().print("\nAll heads get the same attention here; the model's own differs from head to head.")
        return
    described = [
        {
            "source": one.source,
            "translation": one.text,
            "source_words": list(one.source_words),
            "target_words": list(one.target_words),
            "places": [place.to_dict() for place in places],
            "in_words": describe_wanted(wanted, one, places),
        }
        for one, places in zip(read.translations, found, strict=True)
    ]
    print_json({"run": read.described["run"], "wanted": wanted, "sentences": described})


def _print_places(wanted: str, translation: "Translation", places: "Sequence[WantedPlace]") -> None:
    """Prints a line for each word in whose place the wanted one could stand."""
    from augenmerk.analysis.wanted import describe_attention, describe_wanted

    rows = []
    for one in places:
        wins = "undecided" if one.wins is None else "yes" if one.wins else "no"
        rows.append(
            [
                str(one.position),
                escape(one.word),
                escape(describe_attention(translation.source_words, one.attention)),
                "yes, elsewhere" if one.wins_elsewhere else wins,
                *(_format(p) for p in (one.greatest_probability, one.own_probability)),
                escape(f"{one.best_other} {_format(one.best_other_probability)}"),
            ]
        )
    headings = ("at", "instead of", "looking at", "wins", "greatest p", "own p", "best other")
    out().print(f"[bold]{escape(translation.source)}[/]\n{escape(translation.text)}")
    out().print(make_table(headings, rows, left=3))
    for one in places:
        if one.wins_elsewhere and one.winning_attention is not None:
            looks_at = describe_attention(translation.source_words, one.winning_attention)
            out().print(f"At {one.position} it wins elsewhere: looking at {escape(looks_at)}.")
    longest = max((one.subwords for one in places), key=len, default=())
    if len(longest) > 1:
        out().print(
            f"'{escape(wanted)}' is several subwords, {escape(' '.join(longest))}: all figures are of the "
            f"first one, with which other words may begin, too."
        )
    out().print(escape(describe_wanted(wanted, translation, places)))


def _format(probability: float) -> str:
    return f"{probability:.4f}" if probability >= 0.00005 else "<0.0001"
