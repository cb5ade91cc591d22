"""Puts into sentences what the analyses of attention find: patterns, heads, faithfulness, wanted words."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import shorten
from augenmerk.text.words import name_language

if TYPE_CHECKING:
    from augenmerk.analysis.faithfulness import Faithfulness
    from augenmerk.analysis.patterns import HeadSummary, Pattern
    from augenmerk.analysis.wanted import WantedPosition
    from augenmerk.translation import Translation

DROP_THRESHOLD = 0.1
"""In nats: a word that loses less than this, a tenth of its probability, hardly needs the attention."""
HEAD_THRESHOLD = 0.01
"""In nats: a head hardly matters if words lose less than this without it on average, a hundredth of their
probability."""
MIN_SHOWN_WEIGHT = 0.05
"""Source words with less attention are not named in sentences."""


# Patterns


PATTERN_TEXTS = {
    "en": {
        "word": "'{words}'",
        "stuck": "{source} is attended to by {count} words in a row, {target}.",
        "spread": "The attention is spread: of {count} source words and their end, the one a word looks at "
        "most has {share:.0%} of the weight on average.",
        "inversion": "{source}{where} is attended to by {target}, {count} places {direction}",
        "closes_clause": " at the end of the {language} clause",
        "earlier": "earlier",
        "later": "later",
        "lags": "The attention lags by a word: most words look at what belongs to the word before them.",
        "leads": "The attention is ahead by a word: most words look at what belongs to the word after them.",
        "monotone": "The attention goes through the {language} sentence from left to right{never}.",
        "never": ", and never turns back",
    },
    "de": {
        "word": "„{words}“",
        "stuck": "{source} wird von {count} Wörtern hintereinander beachtet, {target}.",
        "spread": "Die Aufmerksamkeit verteilt sich: Von {count} Quellwörtern und ihrem Ende hat das am "
        "meisten beachtete im Mittel {percent} % des Gewichts.",
        "inversion": "{source}{where} wird von {target} beachtet, {count} Stellen {direction}",
        "closes_clause": " am Ende des Teilsatzes",
        "earlier": "früher",
        "later": "später",
        "lags": "Die Aufmerksamkeit hinkt um ein Wort nach: Die meisten Wörter beachten, was zum Wort vor "
        "ihnen gehört.",
        "leads": "Die Aufmerksamkeit ist um ein Wort voraus: Die meisten Wörter beachten, was zum Wort "
        "nach ihnen gehört.",
        "monotone": "Die Aufmerksamkeit geht von links nach rechts durch den Satz{never}.",
        "never": " und kehrt nie um",
    },
}
"""What is said about a pattern, in the languages of the workbench."""


def describe_pattern(pattern: "Pattern", language: str = "en") -> str:
    """Returns a sentence about a pattern, in English or in German, with the words that show it."""
    attention, measures, texts = pattern.attention, pattern.measures, PATTERN_TEXTS[language]
    of_source = name_language(pattern.language) or "source"

    def quote(words: Sequence[str], positions: Sequence[int]) -> str:
        return texts["word"].format(words=" ".join(words[position] for position in positions))

    match pattern.kind:
        case "stuck":
            source = quote(attention.source, [int(attention.words[pattern.run[0]].argmax())])
            target = quote(attention.target, pattern.run)
            return texts["stuck"].format(source=source, count=len(pattern.run), target=target)
        case "spread":
            share = measures.sharpness
            return texts["spread"].format(
                count=len(attention.source), share=share, percent=f"{100 * share:.0f}"
            )
        case "inversion":
            moves = [
                texts["inversion"].format(
                    source=quote(attention.source, moved.source),
                    where=texts["closes_clause"].format(language=of_source) if moved.closes_clause else "",
                    target=quote(attention.target, moved.target),
                    count=moved.places,
                    direction=texts["earlier" if moved.earlier else "later"],
                )
                for moved in pattern.far[:2]
            ]
            return f"{'; '.join(moves)}."
        case "shifted":
            return texts["lags" if measures.best_offset < 0 else "leads"]
    never = texts["never"] if measures.monotonicity == 1 else ""
    return texts["monotone"].format(language=of_source, never=never)


def describe_heads(heads: "Sequence[HeadSummary]") -> str:
    """Returns in words which head is the most monotone, the sharpest, the most spread, the best aligned."""
    if not heads:
        return "There are no words by which heads could be compared."
    if len(heads) == 1:
        return "There is one head."
    monotone = max(heads, key=lambda one: one.monotonicity)
    sharp = max(heads, key=lambda one: one.sharpness)
    spread = max(heads, key=lambda one: one.entropy_normalised)
    words = (
        f"{monotone.name.capitalize()} is the most monotone ({monotone.monotonicity:.2f}), {sharp.name} the "
        f"sharpest ({sharp.sharpness:.2f}), {spread.name} the most spread "
        f"({spread.entropy_normalised:.2f} of the possible entropy)"
    )
    errors = {one.name: one.alignment_error for one in heads if one.alignment_error is not None}
    if errors:
        aligned = min(errors, key=lambda name: errors[name])
        words += f"; {aligned} is closest to the gold links (alignment error {errors[aligned]:.3f})"
    return f"{words}."


# Faithfulness


def describe_dependence(one: "Faithfulness") -> str:
    """Returns a sentence about the word that depends most on its attention; nothing if there are no words."""
    drops, translation = one.drops["uniform"], one.translation
    if not drops:
        return ""
    index = max(range(len(drops)), key=lambda j: drops[j])
    if drops[index] <= DROP_THRESHOLD:
        return "No word of this sentence depends on its attention."
    looks_at = translation.source_words[int(translation.attention[index].argmax())]
    factor = math.exp(min(drops[index], 7))
    times = f"{factor:.{0 if factor >= 10 else 1}f}" if factor < 1000 else "more than a thousand"
    return (
        f"'{translation.target_words[index]}' depends most on its attention: if it does not look at "
        f"'{looks_at}' in particular, it is {times} times less likely."
    )


def describe_findings(summary: Mapping[str, Any]) -> str:
    """Returns in two sentences whether words need the attention, and whether it matters where it looks.

    The summary is that of `augenmerk.analysis.faithfulness.summarise`.
    """
    uniform, permuted = summary["uniform"], summary["permuted"]
    share, further = uniform["share_that_falls"], permuted["mean_drop"] - uniform["mean_drop"]
    how_many = "Most words need" if share >= 0.5 else "Some words need" if share >= 0.2 else "Few words need"
    harm = "does about as much harm."
    if abs(further) > DROP_THRESHOLD:
        harm = f"does less harm, {permuted['perplexity']:.2f}."
        if further > 0:
            harm = f"does more harm, {permuted['perplexity']:.2f}: where it looks matters."
    return (
        f"{how_many} the attention: with the same weight on every source word, {share:.0%} of them lose a "
        f"tenth of their probability or more, and the perplexity goes from {summary['perplexity']:.2f} to "
        f"{uniform['perplexity']:.2f}. Looking at the wrong words (permuted weights) {harm}"
    )


def describe_idle_heads(summary: Mapping[str, Any]) -> str:
    """Returns in two sentences which head of a Transformer matters most, and how many hardly matter.

    The summary is that of `augenmerk.analysis.faithfulness.measure_heads`.
    """
    heads = summary["heads"]
    most = max(heads, key=lambda one: one.mean_drop)
    few = sum(one.mean_drop < HEAD_THRESHOLD for one in heads)
    hardly = f"the log-probability of a word falls by less than {HEAD_THRESHOLD:g} without one"
    if few == len(heads):
        return f"The translations depend on no single head: {hardly}, whichever it is."
    return (
        f"The translations depend most on head {most.head} of layer {most.layer}: if it looks at all source "
        f"words alike, the log-probability of a word falls by {most.mean_drop:.2f} on average. {few} of "
        f"{len(heads)} heads hardly matter, taken one at a time: {hardly}."
    )


# Wanted words


def describe_wanted(wanted: str, translation: "Translation", positions: "Sequence[WantedPosition]") -> str:
    """Returns in a sentence or two where the wanted word could win over the word that is there."""
    if not positions:
        return ""
    others = [one for one in positions if not one.is_said]
    winners = [one for one in others if one.wins]
    best = max(winners or others or positions, key=lambda one: one.greatest_probability)
    name = f"'{shorten(wanted)}'"
    if len(best.subwords) > 1:
        name = f"'{best.subwords[0]}', with which {name} begins,"
    if not others:
        return f"Here the translation has {name.rstrip(',')}."
    found, undecided = [], [str(one.position) for one in others if one.wins is None]
    if decided := len(others) - len(undecided):
        found.append(f"At {len(winners)} of {decided} positions, some attention makes {name} the likeliest.")
    looking_at = f" looking at {describe_attention(translation.source_words, best.attention)}"
    found.append(
        f"It gets most probable at {best.position} ('{best.word}'){looking_at if winners else ''}: "
        f"{best.greatest_probability:.2g} instead of {best.own_probability:.2g}."
    )
    if undecided:
        found.append(f"Undecided at {', '.join(undecided)}: there it is as likely as another, to rounding.")
    return " ".join(found)


def describe_attention(words: Sequence[str], attention: NDArray[np.float64]) -> str:
    """Returns up to three words with at least 5% of the attention, such as `'Frau' 62%, 'rot' 38%`."""
    order = np.argsort(-attention, kind="stable")[:3]
    shown = (index for index in order if attention[index] >= MIN_SHOWN_WEIGHT)
    return ", ".join(f"'{words[index]}' {attention[index]:.0%}" for index in shown)
