"""A decoder whose translations have to begin in a given way."""

import math
from collections.abc import Sequence

from augenmerk.base.arrays import Array, namespace
from augenmerk.search.decoder import Decoder, State


class PrefixDecoder:
    """Gives probability to no other word than the given ones, as long as there are any; they keep their own.

    A search steps through it once, from the start, as searches do.
    """

    def __init__(self, decoder: Decoder, ids: Sequence[int], position: int = 0) -> None:
        self._decoder = decoder
        self._ids = ids
        self._position = position  # how many words were predicted

    @property
    def sentences(self) -> int:
        return self._decoder.sentences

    def start(self) -> State:
        return self._decoder.start()

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        log_probs, weights, state = self._decoder.step(tokens, state)
        if self._position < len(self._ids):
            only = self._ids[self._position]
            own = log_probs[..., only]
            log_probs = namespace(log_probs).full_like(log_probs, -math.inf)
            log_probs[..., only] = own
        self._position += 1
        return log_probs, weights, state

    def keep(self, sentences: Array) -> "PrefixDecoder":
        return PrefixDecoder(self._decoder.keep(sentences), self._ids, self._position)
