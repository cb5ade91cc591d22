"""Sentences about differences between scores."""

from typing import TYPE_CHECKING

from augenmerk.evaluation.significance import ALPHA

if TYPE_CHECKING:
    from augenmerk.evaluation.comparison import Comparison

FEW_SENTENCES = 200
"""A test set with fewer sentences is called a small sample."""


def difference_in_words(name: str, other: str, difference: float, unit: str, digits: int = 1) -> str:
    """Returns a difference such as "a is 0.3 BLEU above b", or "a and b differ by less than 0.1 BLEU".

    The unit begins with a space, or is empty.
    """
    if rounds_to_zero(difference, digits):
        return f"{name} and {other} differ by less than {10**-digits:.{digits}f}{unit}"
    return f"{name} is {abs(difference):.{digits}f}{unit} {'above' if difference > 0 else 'below'} {other}"


def rounds_to_zero(difference: float, digits: int) -> bool:
    return float(f"{difference:.{digits}f}") == 0


def few_sentences_in_words(sentences: int) -> str:
    """Returns a warning that begins with a space, or nothing if there are enough sentences."""
    if sentences >= FEW_SENTENCES:
        return ""
    return f" Only {sentences} sentence{'' if sentences == 1 else 's'}: a small sample."


def describe_comparison(comparison: "Comparison", name: str, baseline: str) -> str:
    """Returns which of two systems is better, by how much, and whether that may be chance."""
    if not comparison.difference:
        return f"{name} and {baseline} have the same {comparison.metric}."
    small = [p < ALPHA for p in (comparison.p_randomisation, comparison.p_bootstrap)]
    doubt = "" if all(small) else ", which may be chance"
    if any(small) and not all(small):
        doubt += ": the two tests disagree"  # on few sentences, the bootstrap finds too much
    gap = difference_in_words(name, baseline, comparison.difference, f" {comparison.metric}")
    return (
        f"{gap}{doubt} (p = {comparison.p_randomisation:.2g} by approximate randomisation, "
        f"{comparison.p_bootstrap:.2g} by paired bootstrap).{few_sentences_in_words(comparison.sentences)}"
    )
