"""Batches against plain Python lists: what goes in comes out, once, framed and masked."""

from itertools import chain, pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.text.batching import Batch, ParallelTokens, PlannedBatch, TokenTable
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK

Sentence = list[int]
Pair = tuple[Sentence, Sentence]

sentences = st.lists(st.integers(UNK, 2**31 - 1), max_size=12)
pairs_of_ids = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=40)
plan_options = st.fixed_dictionaries(
    {"batch_size": st.integers(1, 12), "shuffle": st.booleans(), "round_to": st.integers(1, 9)}
    | {"seed": st.integers(0, 2**70), "epoch": st.integers(0, 2**40)}
)


def corpus(count: int, seed: int = 0) -> ParallelTokens:
    """Pairs whose lengths go together as those of translations do."""
    generator = np.random.default_rng(seed)
    source_lengths = generator.poisson(12, count)
    target_lengths = np.maximum(0, source_lengths + generator.integers(-3, 4, count))
    return ParallelTokens.of(
        ([UNK + 1] * s, [UNK + 2] * t) for s, t in zip(source_lengths, target_lengths, strict=True)
    )


def members(plan: list[PlannedBatch]) -> list[list[int]]:
    return [batch.indices.tolist() for batch in plan]


def padding_share(data: ParallelTokens, plan: list[PlannedBatch]) -> float:
    positions = sum(len(batch.indices) * (batch.source_width + batch.target_width) for batch in plan)
    return 1 - (int(data.source.lengths.sum() + data.target.lengths.sum()) + 2 * len(data)) / positions


# --- tables


@given(st.lists(sentences, min_size=1, max_size=20), st.data())
def test_rows_are_the_sentences_padded_to_the_right(rows: list[Sentence], data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    width = data.draw(st.integers(0, 14))
    table = TokenTable.of(iter(rows))
    assert table.flat.dtype == np.int32
    ids, mask, lengths = table.rows(np.array(indices, np.int64), width)
    assert ids.dtype == np.int64
    assert ids.shape == (len(indices), width)
    assert ids.tolist() == [([*rows[i], EOS] + [PAD] * width)[:width] for i in indices]
    assert mask.tolist() == [[column <= len(rows[i]) for column in range(width)] for i in indices]
    assert lengths.tolist() == [len(rows[i]) + 1 for i in indices]


# --- batches


@given(pairs_of_ids, plan_options)
def test_batches_give_back_every_pair_framed_and_masked(pairs: list[Pair], options: dict[str, Any]) -> None:
    data = ParallelTokens.of(pairs)
    seen = []
    for batch in data.batches(data.plan(**options)):
        tokens = 0
        for row, index in enumerate(batch.indices.tolist()):
            source, target = pairs[index]
            expected = {"src": [*source, EOS], "tgt_in": [BOS, *target], "tgt_out": [*target, EOS]}
            for name, ids in expected.items():
                array = getattr(batch, name)
                assert array.dtype == np.int64
                assert array[row].tolist() == ids + [PAD] * (array.shape[1] - len(ids))
            for mask, length in ((batch.src_mask, len(source) + 1), (batch.tgt_mask, len(target) + 1)):
                assert mask.dtype == np.bool_
                assert mask[row].tolist() == [column < length for column in range(mask.shape[1])]
            assert batch.src_lengths[row] == len(source) + 1
            tokens += len(target) + 1
            seen.append(index)
        assert batch.target_tokens == tokens == int(batch.tgt_mask.sum())
    assert sorted(seen) == list(range(len(pairs)))


no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


@pytest.mark.parametrize("device", ["cpu", "meta", pytest.param("cuda", marks=no_gpu)])
def test_batches_are_made_where_the_data_is(device: str) -> None:
    data = corpus(50)
    plan = data.plan(16)
    here, there = list(data.batches(plan)), list(data.to(device).batches(plan))
    for batch, batch_there in zip(here, there, strict=True):
        for name, array in arrays_of(batch).items():
            tensor = getattr(batch_there, name)
            assert tensor.device.type == getattr(batch.to(device), name).device.type == device
            assert tensor.shape == array.shape
            if device != "meta":  # whose tensors have shapes only
                assert tensor.tolist() == array.tolist()


def arrays_of(batch: Batch) -> dict[str, NDArray[Any]]:
    return {name: value for name, value in vars(batch).items() if isinstance(value, np.ndarray)}


# --- plans


@given(pairs_of_ids, plan_options, st.one_of(st.integers(1, 200), st.just(65_536)))
def test_a_plan_has_every_pair_once(pairs: list[Pair], options: dict[str, Any], max_positions: int) -> None:
    with patch("augenmerk.text.batching.MAX_POSITIONS", max_positions):
        plan = ParallelTokens.of(pairs).plan(**options)
    assert sorted(chain.from_iterable(members(plan))) == list(range(len(pairs)))
    for indices, source_width, target_width, _ in plan:
        assert 1 <= len(indices) <= options["batch_size"]
        assert len(indices) == 1 or len(indices) * (source_width + target_width) <= max_positions
        for side, width in enumerate((source_width, target_width)):
            longest = max(len(pairs[i][side]) + 1 for i in indices)
            assert width == longest + -longest % options["round_to"]


@given(pairs_of_ids, plan_options)
def test_a_plan_is_a_function_of_its_arguments(pairs: list[Pair], options: dict[str, Any]) -> None:
    first, again = ParallelTokens.of(pairs), ParallelTokens.of(pairs)
    again.plan(**{**options, "epoch": options["epoch"] + 1})  # having planned another epoch changes nothing
    assert members(first.plan(**options)) == members(again.plan(**options))


def test_only_one_batch_is_not_full_and_chance_places_it() -> None:
    data = corpus(330)
    longest_is_small = []
    for epoch in range(20):
        plan = data.plan(32, epoch=epoch)
        assert sorted(len(batch.indices) for batch in plan) == [10] + [32] * 10
        small = min(plan, key=lambda batch: len(batch.indices))
        longest_is_small.append(small.source_width == max(batch.source_width for batch in plan))
    assert not all(longest_is_small)


def test_epochs_and_seeds_differ_in_batches_and_in_their_order() -> None:
    data = corpus(2000)
    plans = [members(data.plan(32, seed=s, epoch=e)) for s, e in ((0, 0), (0, 1), (1, 0), (1, 1))]
    for number, plan in enumerate(plans):
        together = {frozenset(batch) for batch in plan}
        for other in plans[:number]:
            assert len(together & {frozenset(batch) for batch in other}) < len(plan) / 10
    widths = [batch.source_width for batch in data.plan(32)]
    assert widths != sorted(widths)


def test_without_shuffling_sources_come_in_order_of_length_whatever_the_seed() -> None:
    data = corpus(500)
    plan = data.plan(16, shuffle=False, seed=3, epoch=4)
    assert members(plan) == members(data.plan(16, shuffle=False))
    lengths = data.source.lengths[np.concatenate([batch.indices for batch in plan])]
    assert all(a <= b for a, b in pairwise(lengths.tolist()))


def test_padding_is_a_small_share() -> None:
    data = corpus(10_000)
    chance = np.random.default_rng(0).permutation(len(data))
    source, target = data.source.lengths, data.target.lengths
    random = [
        PlannedBatch(part, int(source[part].max()) + 1, int(target[part].max()) + 1, 0)
        for part in np.split(chance, range(64, len(data), 64))
    ]
    assert padding_share(data, random) > 0.3
    assert padding_share(data, data.plan(64)) < 0.08
    assert padding_share(data, data.plan(64, shuffle=False)) < 0.04


# --- mistakes


def test_unequal_tables_and_no_pairs_are_refused() -> None:
    with pytest.raises(AugenmerkError, match="2 source sentences but 1 target sentences"):
        ParallelTokens(TokenTable.of([[5], [6]]), TokenTable.of([[5]]))
    with pytest.raises(AugenmerkError, match="no sentence pairs"):
        ParallelTokens.of([])


@pytest.mark.parametrize("wrong", [-1, PAD, BOS, EOS])
def test_ids_that_are_not_words_are_refused(wrong: int) -> None:
    with pytest.raises(AugenmerkError, match=rf"Sentence 3 \(counted from 0\) holds the id {wrong},"):
        TokenTable.of([[5, 6], [], [7], [8, wrong], [9]])
    with pytest.raises(AugenmerkError, match=rf"Target sentence 1 \(counted from 0\) holds the id {wrong},"):
        ParallelTokens.of([([5], [6]), ([7], [wrong])])
