"""`augenmerk faithfulness --wanted`: which attention would make the model say a word, if any."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.inputs import RunOptions
from augenmerk.cli.terminal import make_table, out, print_json, show_status

if TYPE_CHECKING:
    from augenmerk.analysis.wanted import WantedPosition
    from augenmerk.translation import Translation


def show_wanted(
    run: RunOptions, wanted: str, at: int | None, unused: Mapping[str, object], *, json: bool
) -> None:
    """Prints for each sentence what would make the model say the wanted word in its translation.

    Raises AugenmerkError if one of the `unused` options was given: if its value is not None.
    """
    from augenmerk.analysis.wanted import find_wanted
    from augenmerk.analysis.wording import describe_wanted

    for option, value in unused.items():
        if value is not None:
            raise AugenmerkError(
                f"--wanted is about a word in the translation of your sentence: leave out {option}."
            )
    if not run.sentences:
        raise AugenmerkError(
            "--wanted needs a sentence in whose translation the word is wanted: give one, in quotation marks."
        )
    read = run.translate(device="cpu" if run.device == "auto" else None)
    with show_status("searching"):
        found = [find_wanted(read.translator, one, wanted, at) for one in read.translations]
    if not json:
        for number, (one, positions) in enumerate(zip(read.translations, found, strict=True)):
            if number:
                out().print()
            _print_positions(wanted, one, positions)
        if read.translator.config.model.attention_heads > 1:
            out().print("\nAll heads get the same attention here; the model's own differs from head to head.")
        return
    described = [
        {
            "source": one.source,
            "translation": one.text,
            "source_words": list(one.source_words),
            "target_words": list(one.target_words),
            "places": [each.to_dict() for each in positions],
            "in_words": describe_wanted(wanted, one, positions),
        }
        for one, positions in zip(read.translations, found, strict=True)
    ]
    print_json({"run": read.described["run"], "wanted": wanted, "sentences": described})


def _print_positions(wanted: str, translation: "Translation", positions: "Sequence[WantedPosition]") -> None:
    """Prints a line for each word that the wanted one could replace."""
    from augenmerk.analysis.wording import describe_attention, describe_wanted

    rows = []
    for one in positions:
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
    for one in positions:
        if one.wins_elsewhere and one.winning_attention is not None:
            looks_at = describe_attention(translation.source_words, one.winning_attention)
            out().print(f"At {one.position} it wins elsewhere: looking at {escape(looks_at)}.")
    longest = max((one.subwords for one in positions), key=len, default=())
    if len(longest) > 1:
        out().print(
            f"'{escape(wanted)}' is several subwords, {escape(' '.join(longest))}: all numbers are those "
            f"of the first one, which may also begin other words."
        )
    out().print(escape(describe_wanted(wanted, translation, positions)))


def _format(probability: float) -> str:
    return f"{probability:.4f}" if probability >= 0.00005 else "<0.0001"
