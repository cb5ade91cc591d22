"""What would make the model say another word: the attention under which a wanted word is likeliest.

S source positions, V entries of the vocabulary.

In a GRU translator the decoder states do not depend on the attention (equation 10), and what comes after the
attention is linear up to the last softmax (equations 11 and 12). So at a target position the logits are

    logits(alpha) = base + sum_t alpha_t contributions_t

for any attention alpha: S numbers from 0 on that sum to 1. Two questions have exact answers, and each is
answered with bounds that prove it, whatever rounding did on the way there:

How likely can the wanted word get? Its log-probability is a concave function f of alpha, so it has one
greatest value. As f lies below each of its tangents, no attention gives more than f(alpha) + gap, where
gap = max_t f'_t - sum_t alpha_t f'_t. `maximise` climbs until this gap is nearly 0.

Can it be the likeliest word? Let M_ty be by how much the logit of the wanted word leads that of another word
y if all attention rests on t. The lead over the best of the others, min_y sum_t alpha_t M_ty, is greatest
somewhere: a linear programme, the value of a game in which one player chooses t and the other y. Any alpha
gives a lower bound of that value, and any mixture q of the other words an upper one, max_t sum_y M_ty q_y.
If the lower bound is above 0, the word wins under this alpha; if the upper one is below 0, under none.

The attention that makes a word win need not be the one that makes it likeliest.

Both use interior-point methods, which keep all weights above 0: a step of Newton's method towards a point
where each weight times its slack is mu, for ever smaller mu. They find the middle of all solutions where
there are several, so equal source positions get equal weights.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.gru import GRUTranslator
from augenmerk.inference.model import Floats
from augenmerk.mechanisms.arrays import softmax
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from augenmerk.text.words import detokenise, split_words
from augenmerk.translation import Translation, Translator
from augenmerk.translation.loading import one_thread_per_product
from augenmerk.translation.translation import END

Numbers = NDArray[np.float64]

GAP_TOLERANCE = 1e-9
"""In nats: by how much another attention could at most raise the log-probability that `maximise` returns."""
LEAD_TOLERANCE = 1e-6
"""In nats: bounds of the greatest lead that are no further apart are not made closer, since logits, which are
computed in single precision, are not more precise. If 0 lies between them, it is undecided who wins."""
MAX_NEWTON_STEPS = 200
"""Greatest number of steps; no problem that was tried needed a quarter of them."""
GAP_SHRINK = 0.1
"""The fraction of the present gap that each step aims at."""
STAY_INSIDE = 0.99
"""The fraction of the way to the nearest edge, where a weight is 0, that a step may go."""
SHORTEST_STEP = 1e-12
RIDGE = 1e-13
"""Added to the diagonal of a curvature, relative to its largest entry, so that it can always be inverted."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """The attention under which a wanted word is likeliest at a target position, and whether it can win."""

    weights: Numbers
    """The weights of the source positions (S)."""
    log_probability: float
    """That of the wanted word under these weights."""
    gap: float
    """No weights give a log-probability above `log_probability` + `gap`."""
    best: int
    """The likeliest of the other words under these weights, of those that a search may choose."""
    best_log_probability: float
    wins: bool | None
    """Whether the wanted word is the likeliest under some weights; None if that is undecided, because its
    greatest lead is 0 to within `LEAD_TOLERANCE`."""
    lead: tuple[float, float]
    """Bounds of the greatest lead over the best of the other words, in nats. They may be far apart if they
    tell who wins."""
    winning_weights: Numbers | None
    """Weights under which it is the likeliest: `weights` if it is the likeliest there, otherwise those under
    which it leads most."""


def maximise(
    base: NDArray[Any], contributions: NDArray[Any], wanted: int, never: Collection[int] = ()
) -> Wanted:
    """Finds the attention that makes the entry `wanted` of the vocabulary likeliest.

    base (V) and contributions (S, V) are as above. Entries in `never` have their probability, but the wanted
    one need not beat them, since no search chooses them: padding, or unknown words.
    """
    logits = contributions.astype(np.float64) + base  # (S, V): those under attention to t alone
    if not np.isfinite(logits).all():
        raise ValueError("logits must be finite numbers")
    M = logits[:, [wanted]] - logits
    rivals = np.delete(np.arange(M.shape[1]), [wanted, *never])
    weights, gap = _climb(M)
    log_probability, _ = _soft_minimum(weights @ M)
    leads = weights @ M[:, rivals]
    _, q = _soft_minimum(leads)
    low, high = float(leads.min()), float((M[:, rivals] @ q).max())
    winning = weights
    if low <= 0 <= high:
        winning, low, high = _find_lead(_drop_dominated(M[:, rivals]))
    wins = True if low > 0 else False if high < 0 else None
    return Wanted(
        weights=weights,
        log_probability=log_probability,
        gap=gap,
        best=int(rivals[leads.argmin()]),
        best_log_probability=log_probability - float(leads.min()),
        wins=wins,
        lead=(low, high),
        winning_weights=winning if wins else None,
    )


def _climb(M: Numbers) -> tuple[Numbers, float]:
    """Returns the weights (S) that maximise f(alpha) = -log sum_y exp(-sum_t alpha_t M_ty), and the gap.

    With the wanted word itself among the y, where M_ty = 0, f is its log-probability. At its maximum
    there are a number lambda and slacks s >= 0 so that f'_t + s_t = lambda and alpha_t s_t = 0. Each step
    goes towards alpha_t s_t = mu instead. On f + mu sum_t log alpha_t, of which that is the maximum, it is a
    step upwards, and it is halved until it arrives higher.
    """
    S = len(M)
    alpha = np.full(S, 1 / S)
    mu, s = np.inf, np.zeros(S)
    for _ in range(MAX_NEWTON_STEPS):
        margins = alpha @ M
        f, shares = _soft_minimum(margins)
        gradient = M @ shares
        gap = max(0.0, float(gradient.max() - alpha @ gradient))
        if gap <= GAP_TOLERANCE:
            break
        mu = min(mu, GAP_SHRINK * gap / S)
        s = np.clip(s, 0.01 * mu / alpha, 100 * mu / alpha)
        uphill = gradient + mu / alpha
        step, _ = _newton(_covariance(M, shares), s / alpha, uphill)
        s_step = mu / alpha - s - s / alpha * step
        size, change = _largest_step((alpha, step)), step @ M
        height = f + mu * np.log(alpha).sum()
        # The last term: near the top, rounding hides what a step gains.
        while size > SHORTEST_STEP and (
            _soft_minimum(margins + size * change)[0] + mu * np.log(alpha + size * step).sum()
            < height + 1e-4 * size * (uphill @ step) - RIDGE * (1 + abs(height))
        ):
            size /= 2
        alpha = alpha + size * step
        alpha /= alpha.sum()
        s = s + _largest_step((s, s_step)) * s_step
    return alpha, gap


def _find_lead(M: Numbers) -> tuple[Numbers, float, float]:
    """Returns weights with the greatest min_y sum_t alpha_t M_ty, and a lower and an upper bound of it.

    It stops as soon as the upper bound is below 0. The programme is to find the greatest v with
    w_y = sum_t alpha_t M_ty - v >= 0, its dual the least lambda with s_t = lambda - sum_y M_ty q_y >= 0; q
    are shares of the words that sum to 1. At the solution, alpha_t s_t = 0 and q_y w_y = 0. Each step goes
    towards alpha_t s_t = q_y w_y = mu instead.
    """
    S, V = M.shape
    alpha, q = np.full(S, 1 / S), np.full(V, 1 / V)
    lambda_ = (M @ q).max() + 1
    w, s = alpha @ M - (alpha @ M).min() + 1, lambda_ - M @ q  # v is never needed alone
    best, low, high = alpha, -np.inf, np.inf
    for _ in range(MAX_NEWTON_STEPS):
        leads, costs = alpha @ M, M @ q
        if leads.min() > low:
            best, low = alpha, float(leads.min())
        high = min(high, float(costs.max()))
        if high < 0 or high - low <= LEAD_TOLERANCE:
            break
        mu = GAP_SHRINK * (alpha @ s + q @ w) / (S + V)
        D = q / w
        centre = M @ D / D.sum()
        uphill = (M - centre[:, None]) @ (mu / w) + (centre - lambda_) + mu / alpha
        alpha_step, lambda_step = _newton(D.sum() * _covariance(M, D / D.sum()), s / alpha, uphill)
        v_step = centre @ alpha_step + (1 - (mu / w).sum()) / D.sum()
        w_step = alpha_step @ M - v_step
        q_step = mu / w - q - D * w_step
        s_step = lambda_step - M @ q_step
        size = _largest_step((alpha, alpha_step), (w, w_step))
        alpha, w = alpha + size * alpha_step, w + size * w_step
        size = _largest_step((q, q_step), (s, s_step))
        q, s, lambda_ = q + size * q_step, s + size * s_step, lambda_ + size * lambda_step
        alpha, q = alpha / alpha.sum(), q / q.sum()
    return best, low, high


def _drop_dominated(M: Numbers) -> Numbers:
    """Returns M without the words that one other word beats under attention to any position.

    The other beats such a word under every attention, so it needs no comparison. Only the likeliest word for
    each position is tried as the other, which leaves a few dozen of thousands of words.
    """
    kept = np.ones(M.shape[1], bool)
    for best in np.unique(M.argmin(axis=1)):
        dominated = np.all(M[:, [best]] <= M, axis=0)
        kept &= ~dominated | (np.arange(len(kept)) == best)
    return M[:, kept]


def _soft_minimum(margins: Numbers) -> tuple[float, Numbers]:
    """Returns -log sum_y exp(-margins_y), and the share of each y in this sum."""
    low = margins.min()
    shares = np.exp(low - margins)
    total = shares.sum()
    return float(low - np.log(total)), shares / total


def _covariance(M: Numbers, shares: Numbers) -> Numbers:
    """Returns the covariance (S, S) of the rows of M under a distribution over its columns."""
    centred = M - (M @ shares)[:, None]
    covariance: Numbers = (centred * shares) @ centred.T
    return covariance


def _newton(curvature: Numbers, barrier: Numbers, uphill: Numbers) -> tuple[Numbers, float]:
    """Returns d and lambda with (curvature + diag(barrier)) d = uphill - lambda and sum_t d_t = 0."""
    S = len(uphill)
    equations = np.ones((S + 1, S + 1))
    equations[:S, :S] = curvature + np.diag(barrier + RIDGE * curvature.diagonal().max())
    equations[S, S] = 0
    middle = uphill.mean()  # solving for what differs loses fewer digits
    *step, lambda_ = np.linalg.solve(equations, [*(uphill - middle), 0.0])
    return np.array(step), float(lambda_ + middle)


def _largest_step(*pairs: tuple[Numbers, Numbers]) -> float:
    """Returns the largest step of at most 1 by which all of these values stay above 0."""
    # Where a value falls, the ratio is above 0 and says by how many times itself.
    falls = max(float((-step / value).max()) for value, step in pairs)
    return min(1.0, STAY_INSIDE / falls) if falls > 0 else 1.0


class WantedPosition(NamedTuple):
    """What would make the model produce the wanted word instead of one word of its translation."""

    position: int
    """Which of the translation's words it is, counted from 1."""
    word: str
    """The word that the translation has here."""
    is_said: bool
    """Whether its first subword is the one that is wanted."""
    subwords: tuple[str, ...]
    """The wanted word as the model would write it here; all numbers are those of its first subword."""
    own_probability: float
    """Under the model's own attention."""
    greatest_probability: float
    """The greatest under any attention, to within `gap` in its logarithm."""
    gap: float
    attention: Numbers
    """The attention of the greatest probability, over the source words of the translation."""
    best_other: str
    """The likeliest other subword under this attention."""
    best_other_probability: float
    wins: bool | None
    """Whether the wanted word is the likeliest under some attention: see `Wanted.wins`."""
    winning_attention: Numbers | None
    """One under which it is, over source words: `attention` if it is there."""

    @property
    def wins_elsewhere(self) -> bool:
        """Whether it wins only under another attention than the one that makes it likeliest."""
        return self.wins is True and self.greatest_probability < self.best_other_probability

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data for JSON; the weights are rounded to six digits."""
        tree = self._asdict()
        for name in ("attention", "winning_attention"):
            tree[name] = None if tree[name] is None else [round(weight, 6) for weight in tree[name].tolist()]
        return {**tree, "subwords": list(self.subwords), "wins_elsewhere": self.wins_elsewhere}


def find_wanted(
    translator: Translator, translation: Translation, wanted: str, at: int | None = None
) -> list[WantedPosition]:
    """Asks at each word of a translation, or at word number `at`, what would make the model say another.

    The words before it stay as they are in the translation. All heads of multi-head attention get the same
    weights; so the model's own, which differ from head to head, may even give a higher probability. `wanted`
    is one word, or `</s>` for the end.

    Raises AugenmerkError if the model is not a GRU translator that attends to something, or `wanted` not a
    word that it knows, or if there is no word number `at`.
    """
    model = _check_model(translator)
    if wanted != END and (count := len(split_words(wanted))) != 1:
        raise AugenmerkError(f"One word can be wanted at a time, but '{wanted}' is {count} words.")
    if translation.hypothesis is None:
        return []
    words, ids = translation.target_words, translation.hypothesis.ids
    if at is not None and not 1 <= at <= len(words):
        raise AugenmerkError(
            f"There is no word {at} in '{translation.text}', which has {len(words)}, the end included."
        )
    source, target = translator.tokenizers.source.encode(translation.source), translator.tokenizers.target
    length = translation.subword_attention.shape[1] - 1  # what was read, without the end
    source_word_of = [*source.word_of[:length], len(translation.source_words) - 1]
    target_word_of = [*target.words_of_ids(ids)[1], len(words) - 1]
    never = (PAD, BOS) if translator.config.search.allow_unknown else (PAD, BOS, UNK)
    positions = []
    with one_thread_per_product():
        base, contributions, own = _split_logits(model, [*source.ids[:length], EOS], [BOS, *ids])
        for number in range(len(words)) if at is None else [at - 1]:
            encoded = _encode_wanted(target, words[:number], wanted)
            j = target_word_of.index(number)  # the first subword of the word
            found = maximise(base[j], contributions, encoded[0], never)
            positions.append(
                WantedPosition(
                    position=number + 1,
                    word=words[number],
                    is_said=encoded[0] == (*ids, EOS)[j],
                    subwords=tuple(map(target.token, encoded)),
                    own_probability=float(own[j, encoded[0]]),
                    greatest_probability=float(np.exp(found.log_probability)),
                    gap=found.gap,
                    attention=_sum_over_words(found.weights, source_word_of),
                    best_other=target.token(found.best),
                    best_other_probability=float(np.exp(found.best_log_probability)),
                    wins=found.wins,
                    winning_attention=None
                    if found.winning_weights is None
                    else _sum_over_words(found.winning_weights, source_word_of),
                )
            )
    return positions


def _sum_over_words(weights: Numbers, word_of: Sequence[int]) -> Numbers:
    return np.bincount(word_of, weights).astype(np.float64)


def _check_model(translator: Translator) -> GRUTranslator:
    model, config = translator.model, translator.model.config
    if config.attention == "none":
        raise AugenmerkError("This model attends to nothing (model.attention = 'none').")
    if not isinstance(model, GRUTranslator):
        if config.architecture != "gru":
            why = f"the architecture 'gru', not architecture '{config.architecture}'"
        elif not config.runs_in("numpy"):
            why = f"a mechanism that numpy can compute, not '{config.attention}'"
        else:
            why = f"a model of numpy on the CPU; this one computes with torch on {translator.device}"
        raise AugenmerkError(f"Wanted words need {why}.")
    return model


def _encode_wanted(target: Tokenizer, before: Sequence[str], wanted: str) -> list[int]:
    """Returns the ids of the wanted word after the words before it, which decide whether a space is there."""
    if wanted == END:
        return [EOS]
    encoded = target.encode(detokenise([*before, wanted]))
    ids = [i for i, word in zip(encoded.ids, encoded.word_of, strict=True) if word == encoded.word_of[-1]]
    if ids == [UNK]:
        raise AugenmerkError(f"'{wanted}' is not in the vocabulary of this run, which cannot produce it.")
    return ids


def _split_logits(
    model: GRUTranslator, source: Sequence[int], target: Sequence[int]
) -> tuple[Floats, Floats, Floats]:
    """Returns base (T, V) and contributions (S, V) of the logits, and the model's probabilities (T, V)."""
    src = np.array([source])
    read = model.encode(src, np.ones_like(src, bool))
    g = model.states(np.array([target]), read)  # (1, T, H)
    S = len(source)
    each_alone = np.broadcast_to(np.eye(S, dtype=g.dtype), (1, model.attention.heads, S, S))
    v = model.attention.combine(each_alone, read.memory)  # (1, S, size of a context)
    a, _ = model.attention.attend(g, read.memory)  # (1, T, size of a context)

    def output(a: Floats, g: Floats) -> Floats:
        logits: Floats = model.output(a, g)[0]
        return logits

    no_g = np.zeros((1, S, g.shape[2]), g.dtype)
    contributions = output(v, no_g) - output(np.zeros_like(v), no_g)
    return output(np.zeros_like(a), g), contributions, softmax(output(a, g))
