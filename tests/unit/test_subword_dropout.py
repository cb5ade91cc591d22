"""BPE-dropout: reproducible, lossless, and distributed as the published algorithm says."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from augenmerk.base.config import TextConfig
from augenmerk.text.tokenizer import Tokenizer, normalise
from augenmerk.training.data import SubwordSampler
from tests.unit.test_text import BPE, SENTENCES, sentences


@given(st.lists(sentences, max_size=5), st.floats(0, 0.99), st.integers(0, 2**31), st.integers(0, 100))
def test_samples_spell_the_same_text(batch: list[str], dropout: float, seed: int, epoch: int) -> None:
    sampled = SubwordSampler(BPE, dropout, seed).encode_ids(batch, epoch)
    assert [BPE.decode(ids) for ids in sampled] == [normalise(text) for text in batch]


@given(st.lists(sentences, max_size=5))
def test_without_dropout_the_sampler_is_plain_bpe(batch: list[str]) -> None:
    assert SubwordSampler(BPE, dropout=0, seed=7).encode_ids(batch, epoch=3) == BPE.encode_ids(batch)


def test_sampling_depends_on_seed_epoch_and_texts_only() -> None:
    used = SubwordSampler(BPE, dropout=0.3, seed=1)
    used.encode_ids(SENTENCES[::-1], epoch=0)
    first, second = used.encode_ids(SENTENCES, epoch=1), used.encode_ids(SENTENCES, epoch=2)
    fresh = SubwordSampler(BPE, dropout=0.3, seed=1)
    assert fresh.encode_ids(SENTENCES, epoch=2) == second != first
    assert SubwordSampler(BPE, dropout=0.3, seed=2).encode_ids(SENTENCES, epoch=2) != second


def test_dropout_needs_subwords_and_takes_long_words() -> None:
    with pytest.raises(ValidationError, match="unit"):
        TextConfig(unit="word", bpe_dropout=0.1)
    text = "schlaf" * 2000
    assert SubwordSampler(BPE, dropout=0, seed=1).encode_ids([text], epoch=0) == BPE.encode_ids([text])


DRAWS = 4000


def draw(tokenizer: Tokenizer, word: str, dropout: float) -> Counter[tuple[int, ...]]:
    """Segmentations of one word; a seed of its own for each, as a sampler knows only a few."""
    samplers = (SubwordSampler(tokenizer, dropout, seed) for seed in range(DRAWS // SubwordSampler.VARIETY))
    texts = [word] * SubwordSampler.VARIETY * 4
    return Counter(tuple(ids) for sampler in samplers for ids in sampler.encode_ids(texts, epoch=0))


def distance(some: Counter[tuple[int, ...]], others: Counter[tuple[int, ...]]) -> float:
    """Total variation: 0 for equal distributions, 1 for those that share nothing."""
    return sum(abs(some[key] / some.total() - others[key] / others.total()) for key in some | others) / 2


@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_segmentations_are_distributed_as_algorithm_1_says(dropout: float) -> None:
    merges = BPE.merges()
    generator = random.Random(1)

    def algorithm_1(symbols: list[int]) -> tuple[int, ...]:
        while True:
            kept = [
                (*merges[pair], place)
                for place, pair in enumerate(pairwise(symbols))
                if pair in merges and generator.random() >= dropout
            ]
            if not kept:
                return tuple(symbols)
            _, merged, place = min(kept, key=lambda merge: (merge[0], merge[2]))
            symbols[place : place + 2] = [merged]

    id_of = {BPE.token(i): i for i in range(BPE.size)}
    expected = Counter(algorithm_1([id_of[letter] for letter in "▁sleeping"]) for _ in range(DRAWS))
    assert len(expected) > 5
    assert distance(draw(BPE, "sleeping", dropout), expected) < 0.08
