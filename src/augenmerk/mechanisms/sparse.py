"""Other ways than a softmax from the scores of `scaled-dot` to weights; most of them can be exactly 0."""

from augenmerk.base.arrays import Array
from augenmerk.mechanisms.arrays import (
    cumsum,
    hide_padding,
    largest,
    log_sigmoid,
    masked_softmax,
    maximum,
    positions,
    precise,
    sort_descending,
    sqrt,
    total,
    where,
)
from augenmerk.mechanisms.classic import ScaledDot
from augenmerk.mechanisms.mechanism import Memory

FAR_BELOW = -1e6
"""The score of padding where an infinite one would spoil a sum."""


def _count(x: Array) -> Array:
    """Returns 1, 2, 3 ... for the last axis."""
    return positions(x) + 1


class Sparsemax(ScaledDot):
    """The point of the simplex that is nearest to the scores.

    alpha_it = max(s_it - tau_i, 0), with tau_i so that they sum to 1
    """

    def weights(self, queries: Array, memory: Memory) -> Array:
        scores = hide_padding(precise(self.scores(queries, memory)), memory.mask, FAR_BELOW)
        scores = scores - largest(scores)
        descending = sort_descending(scores)
        is_in = _count(descending) * descending > cumsum(descending) - 1  # a prefix: the support
        inside = where(is_in, descending, 0.0)
        size = total(where(is_in, descending * 0 + 1, 0.0))
        return maximum(scores - (total(inside) - 1) / size, 0.0)


class Entmax(ScaledDot):
    """Between softmax and sparsemax: Tsallis entropy with exponent 1.5.

    alpha_it = max(s_it / 2 - tau_i, 0)^2, with tau_i so that they sum to 1
    """

    def weights(self, queries: Array, memory: Memory) -> Array:
        scores = hide_padding(precise(self.scores(queries, memory)), memory.mask, FAR_BELOW) / 2
        scores = scores - largest(scores)
        descending = sort_descending(scores)
        count = _count(descending)
        mean = cumsum(descending) / count
        variance = cumsum(descending * descending) / count - mean * mean
        is_in = mean - sqrt(maximum(1 / count - variance, 0.0)) <= descending  # a prefix: the support
        # The same for the support alone, through which the gradient goes.
        size = total(where(is_in, descending * 0 + 1, 0.0))
        mean = total(where(is_in, descending, 0.0)) / size
        squares = total(where(is_in, (descending - mean) * (descending - mean), 0.0))
        root = maximum(scores - mean + sqrt((1 - squares) / size), 0.0)
        return root * root


class TopK(ScaledDot):
    """A softmax over the four largest scores; equally large ones count as one.

    alpha_it = softmax_t(s_it) over the words whose score is among the four largest, otherwise 0
    """

    size = 4

    def weights(self, queries: Array, memory: Memory) -> Array:
        scores = hide_padding(self.scores(queries, memory), memory.mask, FAR_BELOW)
        descending = sort_descending(scores)
        least = -largest(where(positions(descending) < self.size, -descending, FAR_BELOW))
        return masked_softmax(where(scores >= least, scores, FAR_BELOW), memory.mask)


class Sigmoid(ScaledDot):
    """Every word is judged alone, then all are divided by their sum.

    alpha_it = sigmoid(s_it) / sum_u sigmoid(s_iu)
    """

    def weights(self, queries: Array, memory: Memory) -> Array:
        return masked_softmax(log_sigmoid(self.scores(queries, memory)), memory.mask)
