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


def describe_pattern(pattern: "Pattern") -> str:
    """Returns a sentence about a pattern, with the words that show it."""
    attention, measures = pattern.attention, pattern.measures
    language = name_language(pattern.language) or "source"
    match pattern.kind:
        case "stuck":
            word = attention.source[int(attention.words[pattern.run[0]].argmax())]
            words = _quote(attention.target, pattern.run)
            return f"'{word}' is attended to by {len(pattern.run)} words in a row, {words}."
        case "spread":
            return (
                f"The attention is spread: of {len(attention.source)} source words and their end, the one a "
                f"word looks at most has {measures.sharpness:.0%} of the weight on average."
            )
        case "inversion":
            moves = []
            for moved in pattern.far[:2]:
                where = f" at the end of the {language} clause" if moved.closes_clause else ""
                moves.append(
                    f"{_quote(attention.source, moved.source)}{where} is attended to by "
                    f"{_quote(attention.target, moved.target)}, {moved.places} places "
                    f"{'earlier' if moved.earlier else 'later'}"
                )
            return f"{'; '.join(moves)}."
        case "shifted":
            where, whose = ("lags", "before") if measures.best_offset < 0 else ("is ahead", "after")
            return (
                f"The attention {where} by a word: most words look at what belongs to the word {whose} them."
            )
    back = ", and never turns back" if measures.monotonicity == 1 else ""
    return f"The attention goes through the {language} sentence from left to right{back}."


def _quote(words: Sequence[str], positions: Sequence[int]) -> str:
    return f"'{' '.join(words[position] for position in positions)}'"


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
