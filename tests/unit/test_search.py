"""Search against brute force and against plain loops, on random models that are nothing but tables.

Everything is tested twice: on numpy arrays and on tensors of torch.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from augenmerk.base.arrays import Array, namespace, to_numpy
from augenmerk.base.config import SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.search import beam as c
from augenmerk.search.beam import force, length_limits
from augenmerk.search.decoder import Hypothesis, State
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK
from tests.support.decoding import sample, search, trace

MEMORIES = 97  # how many histories a table tells apart


@dataclass(frozen=True)
class TableDecoder:
    """Log-probabilities looked up by sentence and by all tokens read so far.

    Its attention weights are no distribution: each row is the number of the sentence and the tokens read so
    far, so that weights that strayed to another hypothesis would be seen.
    """

    numbers: Array  # (N) which sentences these are
    table: Array  # (N, MEMORIES, V) log-probabilities
    room: int  # tokens of history
    library: ClassVar[str] = "numpy"

    @classmethod
    def random(
        cls, seed: int, sentences: int, vocabulary: int, levels: int = 0, room: int = 12
    ) -> "TableDecoder":
        """With `levels`, logits are so few different whole numbers that there are many ties."""
        generator = torch.Generator().manual_seed(seed)
        shape = (sentences, MEMORIES, vocabulary)
        few = torch.randint(0, max(levels, 1), shape, generator=generator).float()
        logits = few if levels else 2 * torch.randn(shape, generator=generator)
        numbers, table = torch.arange(sentences), logits.log_softmax(2)
        as_array: Callable[[Array], Array] = to_numpy if cls.library == "numpy" else torch.asarray
        return cls(as_array(numbers), as_array(table), room)

    @property
    def sentences(self) -> int:
        return len(self.numbers)

    def start(self) -> State:
        xp, device = namespace(self.table), self.table.device
        memory = xp.zeros((self.sentences, 1), dtype=xp.int64, device=device)
        return memory, xp.zeros((self.sentences, 1, self.room), dtype=xp.float32, device=device)

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        memory, read = state
        assert tokens.shape == memory.shape == read.shape[:2]
        assert tokens.min() >= 0
        assert tokens.max() < self.table.shape[2]
        xp = namespace(self.table)
        memory = (memory * 31 + tokens + 1) % MEMORIES
        read = xp.concat((xp.asarray(tokens[..., None], dtype=xp.float32), read[..., :-1]), 2)
        numbers = xp.asarray(self.numbers[:, None, None], dtype=xp.float32)
        weights = xp.concat((xp.broadcast_to(numbers, (*tokens.shape, 1)), read), 2)
        row = xp.arange(self.sentences, device=tokens.device)[:, None]
        return self.table[row, memory], weights, (memory, read)

    def keep(self, sentences: Array) -> "TableDecoder":
        return TableDecoder(self.numbers[sentences], self.table[sentences], self.room)

    @cached_property
    def rows(self) -> list[list[list[float]]]:
        rows: list[list[list[float]]] = self.table.tolist()
        return rows

    def next_log_probs(self, sentence: int, ids: tuple[int, ...]) -> list[float]:
        """What `step` says after these ids, by plain arithmetic."""
        memory = 0
        for token in (BOS, *ids):
            memory = (memory * 31 + token + 1) % MEMORIES
        return self.rows[sentence][memory]

    def expected_weights(self, sentence: int, tokens: int, ids: tuple[int, ...]) -> list[list[float]]:
        read = [[*reversed((BOS, *ids[:place]))] for place in range(tokens)]
        number = int(self.numbers[sentence])
        return [[number, *row, *[0] * (self.room - len(row))] for row in read]


@pytest.fixture(params=["numpy", "torch"], autouse=True, scope="module")
def library(request: pytest.FixtureRequest) -> Iterator[None]:
    """Makes all tables arrays of the one library, then of the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableDecoder, "library", request.param)
        yield


@dataclass(frozen=True)
class Found:
    """A hypothesis of the plain implementations below."""

    ids: tuple[int, ...]
    finished: bool
    log_probability: float
    score: float


def allowed(vocabulary: int, allow_unknown: bool) -> list[int]:
    return [
        token for token in range(vocabulary) if token not in (PAD, BOS) and (allow_unknown or token != UNK)
    ]


def plain_beam(
    decoder: TableDecoder,
    sentence: int,
    limit: int,
    beam: int = 1,
    n_best: int = 1,
    penalty: float = 0.0,
    allow_unknown: bool = True,
) -> list[Found]:
    """Beam search of one sentence by lists, to the bitter end; in single precision, for the same ties."""
    live: list[tuple[np.float32, tuple[int, ...]]] = [(np.float32(0), ())]
    done: list[tuple[np.float32, tuple[int, ...]]] = []
    for length in range(1, limit + 1):
        candidates = []
        for rank, (total, ids) in enumerate(live):
            log_probs = decoder.next_log_probs(sentence, ids)
            for token in allowed(len(log_probs), allow_unknown):
                candidates.append((-(total + np.float32(log_probs[token])), rank, token))
        chosen = [(-total, (*live[rank][1], token)) for total, rank, token in sorted(candidates)[:beam]]
        norm = np.float32(length**penalty)
        done += [(total / norm, ids) for total, ids in chosen if ids[-1] == EOS]
        live = [(total, ids) for total, ids in chosen if ids[-1] != EOS]
    done.sort(key=lambda each: -each[0])
    found = []
    for _, ids in (done + live)[:n_best]:
        total_ = sum(decoder.next_log_probs(sentence, ids[:place])[token] for place, token in enumerate(ids))
        finished = ids[-1] == EOS
        found.append(Found(ids[:-1] if finished else ids, finished, total_, total_ / len(ids) ** penalty))
    return sorted(found, key=lambda each: (not each.finished, -each.score))


def plain(hypothesis: Hypothesis) -> Found:
    return Found(hypothesis.ids, hypothesis.finished, hypothesis.log_probability, hypothesis.score)


def same(one: Hypothesis, other: Hypothesis) -> bool:
    return (
        plain(one) == plain(other)
        and one.token_log_probabilities == other.token_log_probabilities
        and np.array_equal(one.weights, other.weights)
    )


def check(decoder: TableDecoder, found: list[list[Hypothesis]], penalty: float = 0.0) -> None:
    """What holds of every hypothesis of every kind of search."""
    assert len(found) == decoder.sentences
    for sentence, hypotheses in enumerate(found):
        for each in hypotheses:
            produced = (*each.ids, EOS) if each.finished else each.ids
            assert {PAD, BOS, EOS}.isdisjoint(each.ids)
            assert each.token_log_probabilities == tuple(
                decoder.next_log_probs(sentence, produced[:place])[token]
                for place, token in enumerate(produced)
            )
            assert each.log_probability == sum(each.token_log_probabilities)
            assert each.score == pytest.approx(each.log_probability / len(produced) ** penalty)
            assert each.weights.tolist() == decoder.expected_weights(sentence, len(produced), each.ids)


penalties = st.sampled_from([0.0, 0.6, 1.0, 2.5])
decoders = st.builds(
    TableDecoder.random,
    seed=st.integers(0, 10**6),
    sentences=st.integers(1, 9),
    vocabulary=st.integers(5, 7),
    levels=st.sampled_from([0, 0, 1, 2, 4]),
)
limits = st.integers(1, 8)
quick = settings(max_examples=30)


@quick
@given(decoder=decoders, beam=st.integers(1, 9) | st.just(7**3), allow_unknown=st.booleans(), data=st.data())
def test_a_beam_equals_a_loop(
    decoder: TableDecoder, beam: int, allow_unknown: bool, data: st.DataObject
) -> None:
    """That never stops early; also with a beam as wide as everything, which finds the n best there are."""
    wide, penalty = beam > 9, data.draw(penalties)
    decoder = decoder.keep(decoder.numbers[: 2 if wide else None])
    n_best = data.draw(st.integers(1, beam))
    lengths = st.lists(
        st.integers(1, 3 if wide else 8), min_size=decoder.sentences, max_size=decoder.sentences
    )
    max_lengths = data.draw(lengths)
    settings: Any = {
        "beam": beam,
        "n_best": n_best,
        "length_penalty": penalty,
        "allow_unknown": allow_unknown,
    }
    found = search(decoder, max_lengths=max_lengths, **settings)
    check(decoder, found, penalty)
    for sentence, (hypotheses, limit) in enumerate(zip(found, max_lengths, strict=True)):
        expected = plain_beam(decoder, sentence, limit, beam, n_best, penalty, allow_unknown)
        assert [each.finished for each in hypotheses] == [each.finished for each in expected]
        if wide:  # so many have nearly equal scores, and come in any order
            scores = [each.score for each in expected]
            assert [each.score for each in hypotheses] == pytest.approx(scores, abs=1e-5)
            assert len({each.ids for each in hypotheses}) == len(hypotheses)
        else:
            assert [(each.ids, each.log_probability) for each in hypotheses] == [
                (each.ids, each.log_probability) for each in expected
            ]


@quick
@given(decoder=decoders, limit=limits, penalty=penalties, allow_unknown=st.booleans())
def test_beam_1_is_greedy(decoder: TableDecoder, limit: int, penalty: float, allow_unknown: bool) -> None:
    found = search(decoder, length_penalty=penalty, max_lengths=limit, allow_unknown=allow_unknown)
    check(decoder, found, penalty)
    as_beam = trace(decoder, length_penalty=penalty, max_lengths=limit, allow_unknown=allow_unknown)
    for sentence, [hypothesis] in enumerate(found):
        [expected] = plain_beam(decoder, sentence, limit, allow_unknown=allow_unknown)
        assert (hypothesis.ids, hypothesis.finished) == (expected.ids, expected.finished)
        assert hypothesis.log_probability == expected.log_probability
        assert same(hypothesis, as_beam[sentence].hypotheses[0])


@quick
@given(decoder=decoders, beam=st.integers(1, 6), penalty=penalties, data=st.data())
def test_batches_do_not_matter(decoder: TableDecoder, beam: int, penalty: float, data: st.DataObject) -> None:
    max_lengths = data.draw(st.lists(limits, min_size=decoder.sentences, max_size=decoder.sentences))
    order = data.draw(st.lists(st.integers(0, decoder.sentences - 1), min_size=1, max_size=12))

    def find(numbers: list[int]) -> list[list[Hypothesis]]:
        return search(
            decoder.keep(namespace(decoder.table).asarray(numbers)),
            beam=beam,
            n_best=beam,
            length_penalty=penalty,
            max_lengths=[max_lengths[number] for number in numbers],
        )

    for number, together in zip(order, find(order), strict=True):
        [alone] = find([number])
        assert len(alone) == len(together)
        assert all(map(same, alone, together))


@quick
@given(decoder=decoders, beam=st.integers(1, 5), limit=limits)
def test_forcing_what_was_found_gives_the_same(decoder: TableDecoder, beam: int, limit: int) -> None:
    found = [hypotheses[0] for hypotheses in search(decoder, beam=beam, max_lengths=limit)]
    forced = force(decoder, [hypothesis.ids for hypothesis in found])
    check(decoder, [[each] for each in forced])
    for hypothesis, again in zip(found, forced, strict=True):
        assert again.finished
        assert again.ids == hypothesis.ids
        length = len(hypothesis.token_log_probabilities)  # one less than `again` has if unfinished
        assert again.token_log_probabilities[:length] == hypothesis.token_log_probabilities
        assert np.array_equal(again.weights[:length], hypothesis.weights)
        assert not hypothesis.finished or same(hypothesis, again)


def test_forcing_targets_of_different_lengths_unknown_words_and_none() -> None:
    decoder = TableDecoder.random(seed=1, sentences=5, vocabulary=7)
    forced = force(decoder, [(), (UNK, 4, 5), (6,), (5, 5, 5, 5, 5, 5), (4,)])
    check(decoder, [[each] for each in forced])
    assert [len(each.ids) for each in forced] == [0, 3, 1, 6, 1]
    with pytest.raises(AugenmerkError, match=r"Target 1 .* holds PAD, BOS or EOS"):
        force(TableDecoder.random(seed=1, sentences=2, vocabulary=6), [(4,), (4, EOS)])


@quick
@given(decoder=decoders, beam=st.integers(1, 6), penalty=penalties, data=st.data())
def test_traces_are_complete(decoder: TableDecoder, beam: int, penalty: float, data: st.DataObject) -> None:
    max_lengths = data.draw(st.lists(limits, min_size=decoder.sentences, max_size=decoder.sentences))
    n_best = data.draw(st.integers(1, beam))
    traces = trace(decoder, beam=beam, n_best=n_best, length_penalty=penalty, max_lengths=max_lengths)
    if beam > 1:
        found = search(decoder, beam=beam, n_best=n_best, length_penalty=penalty, max_lengths=max_lengths)
        assert all(all(map(same, one.hypotheses, other)) for one, other in zip(traces, found, strict=True))
    for sentence, tree in enumerate(traces):
        document = json.loads(json.dumps(tree.to_json(), allow_nan=False))
        nodes = document["nodes"]
        assert [node["id"] for node in nodes] == list(range(len(nodes)))
        assert nodes[0]["parent"] is None
        assert nodes[0]["token"] == BOS
        ids: list[tuple[int, ...]] = [()]
        for node in nodes[1:]:
            parent = nodes[node["parent"]]
            assert parent["status"] == "kept"
            assert node["step"] == parent["step"] + 1 <= max_lengths[sentence]
            expected = decoder.next_log_probs(sentence, ids[node["parent"]])[node["token"]]
            assert node["token_log_probability"] == pytest.approx(expected, abs=1e-5)
            assert node["log_probability"] == pytest.approx(parent["log_probability"] + expected, abs=1e-5)
            assert node["score"] == pytest.approx(node["log_probability"] / node["step"] ** penalty)
            assert node["status"] == "pruned" or (node["status"] == "finished") == (node["token"] == EOS)
            ids.append((*ids[node["parent"]], node["token"]))
        assert len(set(ids)) == len(ids)
        for step in range(1, nodes[-1]["step"] + 1):
            here = [node for node in nodes if node["step"] == step]
            chosen = [node["log_probability"] for node in here if node["status"] != "pruned"]
            pruned = [node["log_probability"] for node in here if node["status"] == "pruned"]
            assert 1 <= len(chosen) <= beam
            assert len(chosen) == beam or not pruned
            assert min(chosen) >= max(pruned, default=-math.inf)
        for hypothesis, described in zip(tree.hypotheses, document["hypotheses"], strict=True):
            leaf = nodes[described["node"]]
            assert ids[leaf["id"]] == (hypothesis.ids + (EOS,) * hypothesis.finished)
            assert leaf["status"] == ("finished" if hypothesis.finished else "kept")
            assert described["ids"] == list(hypothesis.ids)
        finished = [node["score"] for node in nodes if node["status"] == "finished"]
        if finished:
            assert tree.hypotheses[0].score == pytest.approx(max(finished), abs=1e-5)


@quick
@given(
    decoder=decoders, seed=st.integers(0, 2**40), n=st.integers(1, 4), top_k=st.integers(0, 8), data=st.data()
)
def test_samples_are_whole_and_do_not_depend_on_who_has_left_the_batch(
    decoder: TableDecoder, seed: int, n: int, top_k: int, data: st.DataObject
) -> None:
    max_lengths = data.draw(st.lists(limits, min_size=decoder.sentences, max_size=decoder.sentences))
    temperature = data.draw(st.sampled_from([0.3, 2.0]))
    settings: Any = {"seed": seed, "n": n, "top_k": top_k, "temperature": temperature}
    drawn = sample(decoder, max_lengths=max_lengths, **settings)
    longer = sample(decoder, max_lengths=8, **settings)
    check(decoder, drawn)
    for limit, samples, whole in zip(max_lengths, drawn, longer, strict=True):
        assert len(samples) == n
        assert [each.ids for each in samples] == [each.ids[:limit] for each in whole]


@quick
@given(decoder=decoders, seed=st.integers(0, 2**40), limit=limits, allow_unknown=st.booleans())
def test_top_1_is_greedy(decoder: TableDecoder, seed: int, limit: int, allow_unknown: bool) -> None:
    greedy = search(decoder, max_lengths=limit, allow_unknown=allow_unknown)
    drawn = sample(decoder, seed=seed, top_k=1, n=2, max_lengths=limit, allow_unknown=allow_unknown)
    for [expected], samples in zip(greedy, drawn, strict=True):
        assert all(same(expected, each) for each in samples)


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, 0), (1.0, 3), (0.5, 0), (2.0, 2)])
def test_samples_are_as_frequent_as_they_are_probable(temperature: float, top_k: int) -> None:
    decoder = TableDecoder.random(seed=3, sentences=2, vocabulary=7)
    n = 5_000
    settings: Any = {"temperature": temperature, "top_k": top_k, "allow_unknown": False}
    drawn = sample(decoder, seed=5, n=n, max_lengths=2, **settings)

    def distribution(sentence: int, ids: tuple[int, ...]) -> dict[int, float]:
        log_probs = decoder.next_log_probs(sentence, ids)
        tokens = sorted(allowed(7, False), key=lambda token: -log_probs[token])[: top_k or 7]
        heights = {token: math.exp(log_probs[token] / temperature) for token in tokens}
        return {token: height / sum(heights.values()) for token, height in heights.items()}

    for sentence, samples in enumerate(drawn):
        frequency = Counter((*each.ids, EOS)[:2] if each.finished else each.ids for each in samples)
        expected: dict[tuple[int, ...], float] = {}
        for first, probability in distribution(sentence, ()).items():
            if first == EOS:
                expected[(EOS,)] = probability
            else:
                for second, then in distribution(sentence, (first,)).items():
                    expected[first, second] = probability * then
        assert set(frequency) <= set(expected)
        for tokens, probability in expected.items():
            # Five standard deviations of a binomial variable, and room for a rare token that comes once.
            error = 5 * math.sqrt(probability * (1 - probability) / n) + 3 / n
            assert frequency[tokens] / n == pytest.approx(probability, abs=error)


@quick
@given(
    seed=st.integers(0, 10**6),
    sentences=st.sampled_from([1, 3]),
    vocabulary=st.sampled_from([5, 63, 64, 65, 128, 200, 321]),
    hypotheses=st.integers(1, 4),
    count=st.integers(1, 70),
    levels=st.sampled_from([1, 3, 10**6]),
)
def test_the_best_continuations_are_those_of_a_full_stable_sort(
    seed: int, sentences: int, vocabulary: int, hypotheses: int, count: int, levels: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    tensor = -torch.randint(0, levels, (sentences, hypotheses, vocabulary), generator=generator).float()
    tensor_totals = -torch.randint(0, 3, (sentences, hypotheses), generator=generator).float()
    tensor_totals[0, -1] = -math.inf
    legal = tensor.clone()
    legal[..., [PAD, BOS, UNK]] = -math.inf
    values, order = (legal + tensor_totals[..., None]).flatten(1).sort(dim=1, descending=True, stable=True)
    count = min(count, values.shape[1])
    as_array: Callable[[Array], Array] = to_numpy if TableDecoder.library == "numpy" else torch.asarray
    log_probs, totals = as_array(tensor), as_array(tensor_totals)
    mask = c.token_mask(log_probs, False)
    best, parents, tokens = map(to_numpy, c.best_continuations(totals, log_probs, mask, count))
    assert np.array_equal(best, values[:, :count])
    real = best > -math.inf
    assert np.array_equal((parents * vocabulary + tokens)[real], order[:, :count].numpy()[real])
    assert (tokens[~real] == EOS).all()
    assert np.array_equal(to_numpy(c.likeliest(log_probs, False)), legal.argmax(2))
    legal[..., UNK] = tensor[..., UNK]
    assert np.array_equal(to_numpy(c.likeliest(log_probs, True)), legal.argmax(2))


def test_no_sentences_give_no_hypotheses() -> None:
    nobody = TableDecoder.random(seed=1, sentences=0, vocabulary=5)
    assert not search(nobody, max_lengths=5)
    assert not search(nobody, beam=3, max_lengths=[])
    assert not sample(nobody, seed=1, max_lengths=5)
    assert not force(nobody, [])
    assert not trace(nobody, max_lengths=5)


def test_attention_may_become_narrower_as_long_sentences_leave() -> None:
    class Narrowing(TableDecoder):
        """Gives up the last source position, where nothing is ever looked at, once a sentence has left."""

        def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
            log_probs, weights, state = super().step(tokens, state)
            return log_probs, weights[..., : -1 if self.sentences < 6 else None], state

        def keep(self, sentences: Array) -> TableDecoder:
            return Narrowing(self.numbers[sentences], self.table[sentences], self.room)

    plain_decoder = TableDecoder.random(seed=4, sentences=6, vocabulary=6)
    narrowing = Narrowing(plain_decoder.numbers, plain_decoder.table, plain_decoder.room)
    for beam in (1, 3):
        wide = search(plain_decoder, beam=beam, max_lengths=[1, 2, 3, 5, 7, 8])
        narrow = search(narrowing, beam=beam, max_lengths=[1, 2, 3, 5, 7, 8])
        assert all(same(one, other) for [one], [other] in zip(wide, narrow, strict=True))


def test_numbers_that_are_none_are_reported() -> None:
    decoder = TableDecoder.random(seed=1, sentences=2, vocabulary=6)
    broken = TableDecoder(decoder.numbers, decoder.table * math.nan, decoder.room)
    for beam in (1, 3):
        with pytest.raises(AugenmerkError, match="training has diverged"):
            search(broken, beam=beam, max_lengths=4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions_are_searched_too(dtype: torch.dtype) -> None:
    single = TableDecoder.random(seed=7, sentences=4, vocabulary=90)
    table: Array = torch.asarray(single.table).to(dtype)
    if TableDecoder.library == "numpy":
        if dtype == torch.bfloat16:
            pytest.skip("numpy has no bfloat16")
        table = to_numpy(table)
    decoder = TableDecoder(single.numbers, table, single.room)
    for beam in (1, 4):
        check(decoder, search(decoder, beam=beam, n_best=beam, max_lengths=6))
    check(decoder, sample(decoder, seed=1, n=2, top_k=5, max_lengths=6))


def test_maximum_lengths_come_from_the_source() -> None:
    assert length_limits(SearchConfig(max_length=50), [1, 70]) == [50, 50]
    assert length_limits(SearchConfig(max_length=50, max_ratio=1.5), [0, 5, 70]) == [10, 17, 50]
