"""What kind of attention a sentence shows, by rules, and in a sentence.

The first rule that holds decides:

    stuck       longest_run >= 5: one source word is looked at again and again
    spread      entropy_normalised >= 0.4: every word looks at much of the source
    inversion   a word moved over two source words or more (`augenmerk.patterns.movement`)
    shifted     offset_gain >= 0.2: the diagonal lies a word over from where it should be, all along
    monotone    none of these: from left to right; neighbours that change places do not count

The limits were set on the gold links of bilderbuch, where a run is at most 3 words long, and on how far
attention there and on Multi30k usually spreads (medians of 0.13 and 0.22). The rule for `shifted` is strict:
of sentences that would be monotone it finds a quarter to a third when their attention is shifted by hand, and
takes fewer than one in a hundred for shifted when it is not. Whether a model as a whole is shifted,
`augenmerk evaluate --alignment` tells better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from augenmerk.patterns.measures import Attended, Measures, longest_run, measure
from augenmerk.patterns.movement import Moved, moved_words

Kind = Literal["monotone", "inversion", "spread", "stuck", "shifted"]
KINDS: tuple[Kind, ...] = get_args(Kind)

SPREAD = 0.4
STUCK = 5
SHIFTED = 0.2
PLACES = 2

_LANGUAGES = {
    **{"cs": "Czech", "da": "Danish", "de": "German", "en": "English", "es": "Spanish", "fr": "French"},
    **{"it": "Italian", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "sv": "Swedish"},
}


@dataclass(frozen=True)
class Pattern:
    """What there is to see in the attention of a sentence."""

    kind: Kind
    verdict: str
    """In a sentence."""
    strength: float
    """How strongly it is of its kind; to be compared within a kind only."""
    measures: Measures
    moved: Sequence[Moved]


def recognise(attended: Attended, language: str) -> Pattern:
    """Of a sentence that has words on both sides, and a model that attends to something."""
    measures = measure(attended)
    moved = moved_words(attended)
    kind = _kind(measures, moved)
    verdict, strength = {
        "spread": _spread,
        "stuck": _stuck,
        "shifted": _shifted,
        "inversion": _inversion,
        "monotone": _monotone,
    }[kind](attended, measures, moved, _LANGUAGES.get(language, "source"))
    return Pattern(kind, verdict, strength, measures, moved)


def _kind(measures: Measures, moved: Sequence[Moved]) -> Kind:
    if measures.longest_run >= STUCK:
        return "stuck"
    if measures.entropy_normalised >= SPREAD:
        return "spread"
    if moved and moved[0].places >= PLACES:
        return "inversion"
    if measures.offset_gain >= SHIFTED:
        return "shifted"
    return "monotone"


def _spread(attended: Attended, measures: Measures, _moved: Sequence[Moved], _: str) -> tuple[str, float]:
    weight = f"{measures.sharpness:.0%}"
    verdict = (
        f"The attention is spread: of {len(attended.source)} source words and their end, the one a word "
        f"looks at most has {weight} of the weight on average."
    )
    return verdict, measures.entropy_normalised


def _stuck(attended: Attended, measures: Measures, _moved: Sequence[Moved], _: str) -> tuple[str, float]:
    run = longest_run(attended)
    looked_at = attended.source[int(attended.words[run[0]].argmax())]
    verdict = f"'{looked_at}' is attended by {len(run)} words in a row, '{_quote(attended.target, run)}'."
    return verdict, measures.longest_run


def _shifted(_attended: Attended, measures: Measures, _moved: Sequence[Moved], _: str) -> tuple[str, float]:
    lags = measures.best_offset < 0
    verdict = (
        f"The attention {'lags' if lags else 'is ahead'} by a word: most words look at what belongs to the "
        f"word {'before' if lags else 'after'} them."
    )
    return verdict, measures.offset_gain


def _inversion(
    attended: Attended, _measures: Measures, moved: Sequence[Moved], language: str
) -> tuple[str, float]:
    far = [one for one in moved if one.places >= PLACES]
    verdict = "; ".join(_told(attended, one, language) for one in far[:2]) + "."
    return verdict, max(one.places * one.weight for one in far)


def _told(attended: Attended, moved: Moved, language: str) -> str:
    where = f" at the end of the {language} clause" if moved.closes_clause else ""
    return (
        f"'{_quote(attended.source, moved.source)}'{where} is attended by "
        f"'{_quote(attended.target, moved.target)}', {moved.places} places "
        f"{'earlier' if moved.earlier else 'later'}"
    )


def _monotone(
    attended: Attended, measures: Measures, _moved: Sequence[Moved], language: str
) -> tuple[str, float]:
    verdict = f"The attention goes through the {language} sentence from left to right"
    if measures.monotonicity == 1:
        verdict += ", and never turns back"
    # The longest clear ones first: three words in order are nothing to look at.
    return verdict + ".", measures.monotonicity * measures.sharpness * len(attended.target)


def _quote(words: Sequence[str], places: Sequence[int]) -> str:
    return " ".join(words[place] for place in places)
