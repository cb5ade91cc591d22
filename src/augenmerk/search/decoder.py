"""The interface between a search and a model, the record of each step, and the hypotheses that result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Array, namespace, to_numpy
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.step_model import State as State
from augenmerk.text.tokenizer import EOS

SHRINK_AT = 4
"""A batch shrinks when one in four of its sentences is done; earlier, copying costs more than it saves."""


class Decoder(Protocol):
    """Predicts one more word for each hypothesis of a batch of sentences whose sources it has already read.

    It keeps what it knows of a source once for each sentence, not for each hypothesis, which makes wide beams
    cheap. A search only reads its arrays and never writes to them.
    """

    @property
    def sentences(self) -> int:
        """The number of sentences, N."""

    def start(self) -> State:
        """Returns the state before BOS is read, with K = 1."""

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        """Reads tokens (N, K).

        Returns log-probabilities (N, K, V) of the next ones, attention weights (N, K, S), and the new state.
        """

    def keep(self, sentences: Array) -> "Decoder":
        """Returns a decoder for the selected sentences, in this order. S may shrink to what they need."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A translation in ids, with its probability and attention."""

    ids: tuple[int, ...]
    """The tokens produced, without BOS and EOS."""
    finished: bool
    """Whether it ended in EOS, rather than at the maximum length."""
    log_probability: float
    """The sum of `token_log_probabilities`."""
    score: float
    """log_probability / length**length_penalty, where EOS counts towards the length."""
    token_log_probabilities: tuple[float, ...]
    """The model's own, one for each id and, if finished, one for EOS."""
    weights: NDArray[np.float32]
    """Attention weights, (len(token_log_probabilities), S): a row for each token produced."""
    expected_chrf: float | None = None
    """What candidates are ranked by if minimum Bayes risk chose among them."""


class Step(NamedTuple):
    """The record of one step. Without back-pointers, every hypothesis continues itself."""

    rows: Array  # (N) which sentences were still there
    tokens: Array  # (N, B)
    parents: Array | None  # (N, B) which of the K hypotheses these continue
    log_probs: Array  # (N, B) of these tokens
    weights: Array  # (N, K, S)


def check_limits(max_lengths: int | Sequence[int], sentences: int) -> list[int]:
    """Returns the maximum length of each translation, EOS included; raises if one is impossible."""
    limits = [max_lengths] * sentences if isinstance(max_lengths, int) else list(max_lengths)
    if len(limits) != sentences:
        raise AugenmerkError(f"There are {len(limits)} maximum lengths for {sentences} sentences.")
    if (shortest := min(limits, default=1)) < 1:
        raise AugenmerkError(f"A maximum length of {shortest} is impossible: it must be 1 or more.")
    return limits


def take_rows(arrays: Sequence[Array], rows: Array) -> State:
    return tuple(array[rows] for array in arrays)


def read_back(
    history: Sequence[Step], lengths: Array, slots: Array, length_penalty: float
) -> list[list[Hypothesis]]:
    """Follows the back-pointers and returns the hypotheses that end in the given slots.

    lengths and slots are both (N, n); a length of 0 means that there is no hypothesis.
    """
    xp, device = namespace(lengths), lengths.device
    N, n = lengths.shape
    T, S = len(history), history[0].weights.shape[2]
    ids = xp.zeros((N, n, T), dtype=xp.int64, device=device)
    log_probs = xp.zeros((N, n, T), dtype=history[0].log_probs.dtype, device=device)
    weights = xp.zeros((N, n, T, S), dtype=history[0].weights.dtype, device=device)
    slots = xp.asarray(slots, copy=True)
    for t in reversed(range(T)):
        rows, tokens, parents, token_log_probs, step_weights = history[t]
        row = xp.arange(len(rows), device=device)[:, None]
        slot = slots[rows]  # a hypothesis that ended before t waits in its slot
        ids[rows, :, t] = tokens[row, slot]
        log_probs[rows, :, t] = token_log_probs[row, slot]
        if parents is not None:
            slot = xp.where(lengths[rows] > t, parents[row, slot], slot)
            slots[rows] = slot
            slot = slot.clip(max=step_weights.shape[1] - 1)  # for those waiting: there may be fewer parents
        weights[rows, :, t, : step_weights.shape[2]] = step_weights[row, slot]
    if bool((lengths[:, 0] == 0).any() | xp.isnan(log_probs).any()):
        raise AugenmerkError(
            "The model gives no word a probability (not a number): its weights are broken, as they are "
            "when training has diverged; train again with a lower train.lr."
        )
    columns = (ids.tolist(), log_probs.tolist(), to_numpy(weights), lengths.tolist())
    return [
        [
            _hypothesis(i[:length], p[:length], w[:length], length_penalty)
            for i, p, w, length in zip(*sentence, strict=True)
            if length
        ]
        for sentence in zip(*columns, strict=True)
    ]


def _hypothesis(
    ids: list[int], log_probs: list[float], weights: NDArray[np.float32], length_penalty: float
) -> Hypothesis:
    finished = ids[-1] == EOS
    total = sum(log_probs)
    return Hypothesis(
        ids=tuple(ids[:-1] if finished else ids),
        finished=finished,
        log_probability=total,
        score=float(total / len(ids) ** length_penalty),
        token_log_probabilities=tuple(log_probs),
        weights=weights,
    )
