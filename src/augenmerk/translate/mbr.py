"""Minimum Bayes risk: of many candidates, the one that is most like what the model thinks is right.

The likeliest translation need not be a typical one. So a candidate's worth is its expected chrF, as though
the right translation were drawn from the candidates themselves, each with its probability: where many good
ones resemble each other, one of these is chosen, rather than one that stands alone.

- Of a beam's list, the probabilities are the model's own, normalised over the list: the list leaves out what
  is unlikely, but what stands in it must not count alike, or a beam's last would weigh as much as its first.
- Samples count alike: what is likely was drawn more often already.
- The lists of several models weigh alike, whatever their lengths.
- Texts that are equal are one candidate, however it was split into tokens, and their probabilities are added.
- What was cut off at the maximum length is no candidate, unless nothing else is there.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from augenmerk.search import Hypothesis
from augenmerk.text import Tokenizer
from augenmerk.translate.chrf import pairwise_chrf


class Candidate(NamedTuple):
    """A hypothesis, and what it is worth."""

    hypothesis: Hypothesis
    """Of those with this text, the likeliest; with the score and the attention of the model that found it."""
    text: str
    expected_chrf: float


def least_risk(
    lists: Sequence[Sequence[Hypothesis]], target: Tokenizer, *, sampled: bool = False
) -> list[Candidate]:
    """The candidates of one sentence, a list of each model, the best first. No order of models matters."""
    shares: dict[str, list[float]] = defaultdict(list)
    likeliest: dict[str, Hypothesis] = {}
    for hypotheses in lists:
        candidates = [each for each in hypotheses if each.finished] or hypotheses
        probabilities = probabilities_of(candidates, sampled=sampled)
        texts = target.decode_batch(each.ids for each in candidates)
        for text, hypothesis, share in zip(texts, candidates, probabilities, strict=True):
            shares[text].append(share / len(lists))
            rival = likeliest.setdefault(text, hypothesis)
            if hypothesis.log_probability > rival.log_probability:
                likeliest[text] = hypothesis
    texts = sorted(shares)
    probability = np.array([math.fsum(shares[text]) for text in texts])
    expected = (pairwise_chrf(texts) @ probability).tolist()
    # Of equals (two candidates of one letter each, say) the likelier.
    order = sorted(range(len(texts)), key=lambda i: (-expected[i], -probability[i]))
    return [Candidate(likeliest[texts[i]], texts[i], expected[i]) for i in order]


def probabilities_of(candidates: Sequence[Hypothesis], *, sampled: bool) -> list[float]:
    """Of the candidates of one model; they sum to 1."""
    if sampled:
        return [1 / len(candidates)] * len(candidates)
    highest = max(each.log_probability for each in candidates)
    likelihoods = [math.exp(each.log_probability - highest) for each in candidates]
    total = math.fsum(likelihoods)
    return [likelihood / total for likelihood in likelihoods]
