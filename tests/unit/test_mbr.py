"""Minimum Bayes risk against sacrebleu and plain loops."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from augenmerk.base.config import TextConfig
from augenmerk.data import open_bitext
from augenmerk.search.decoder import Hypothesis
from augenmerk.text.tokenizer import Tokenizer
from augenmerk.translation.mbr import minimum_bayes_risk, pairwise_chrf

TEXTS = [pair.target for pair in open_bitext("bilderbuch", pairs=120)["train"]]


CHRF_OF_SACREBLEU = CHRF()


def sentence_chrf(hypothesis: str, reference: str) -> float:
    return float(CHRF_OF_SACREBLEU.sentence_score(hypothesis, [reference]).score)


# Few letters, so that n-grams come again and again; and any others, from any plane.
texts = st.lists(
    st.text("aab .\u00a0\u200b", max_size=12) | st.text(max_size=12) | st.sampled_from(TEXTS),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40)
@given(texts)
def test_chrf_of_all_pairs_is_that_of_sacrebleu(texts: list[str]) -> None:
    found = pairwise_chrf(texts)
    assert found.shape == (len(texts), len(texts))
    for row, hypothesis in enumerate(texts):
        for column, reference in enumerate(texts):
            assert found[row, column] == pytest.approx(sentence_chrf(hypothesis, reference), abs=1e-9)


def test_chrf_of_long_texts_and_of_none() -> None:
    long = [" ".join(TEXTS[:40]), " ".join(TEXTS[20:60]), "ab" * 3000, "".join(map(chr, range(1000, 6000)))]
    found = pairwise_chrf([*long, "", "\udce4\udcff"])
    for row, hypothesis in enumerate(long):
        for column, reference in enumerate(long):
            assert found[row, column] == pytest.approx(sentence_chrf(hypothesis, reference), abs=1e-9)
    assert not found[4].any()
    assert found[5, 5] == pytest.approx(100.0)
    assert pairwise_chrf([]).shape == (0, 0)


@pytest.fixture(scope="module")
def subwords() -> Tokenizer:
    return Tokenizer.train(TEXTS, TextConfig(vocabulary_size=400))


def hypothesis_of(ids: Sequence[int], log_probability: float, finished: bool = True) -> Hypothesis:
    weights = np.zeros((len(ids) + finished, 3), np.float32)
    return Hypothesis(tuple(ids), finished, log_probability, log_probability, (), weights)


sentences = st.lists(st.integers(4, 399), max_size=5)
hypotheses = st.builds(hypothesis_of, sentences, st.floats(-300, 0), st.sampled_from([True, True, False]))
several_lists = st.lists(st.lists(hypotheses, min_size=1, max_size=6), min_size=1, max_size=3)


def by_hand(lists: Sequence[Sequence[Hypothesis]], target: Tokenizer, sampled: bool) -> dict[str, float]:
    """The expected chrF of every text, by the definition."""
    drawn: list[tuple[str, float]] = []
    for hypotheses in lists:
        candidates = [each for each in hypotheses if each.finished]
        if not candidates:
            candidates = list(hypotheses)
        mass = [1.0 if sampled else math.exp(each.log_probability) for each in candidates]
        drawn += [
            (target.decode(each.ids), share / sum(mass) / len(lists))
            for each, share in zip(candidates, mass, strict=True)
        ]
    return {
        text: sum(share * sentence_chrf(text, reference) for reference, share in drawn) for text, _ in drawn
    }


@settings(max_examples=60)
@given(lists=several_lists, sampled=st.booleans())
def test_the_choice_by_plain_loops(subwords: Tokenizer, lists: list[list[Hypothesis]], sampled: bool) -> None:
    found = minimum_bayes_risk(lists, subwords, sampled=sampled)
    expected = by_hand(lists, subwords, sampled)
    texts = [subwords.decode(each.ids) for each in found]
    assert set(texts) == expected.keys()
    assert len(texts) == len(expected)
    for text, each in zip(texts, found, strict=True):
        assert each.expected_chrf == pytest.approx(expected[text], abs=1e-7)
    worths = [each.expected_chrf or 0.0 for each in found]
    assert worths == sorted(worths, reverse=True)
    assert worths[0] == pytest.approx(max(expected.values()), abs=1e-7)


@settings(max_examples=40)
@given(lists=several_lists, data=st.data())
def test_order_is_no_matter(subwords: Tokenizer, lists: list[list[Hypothesis]], data: st.DataObject) -> None:
    shuffled = [data.draw(st.permutations(each)) for each in data.draw(st.permutations(lists))]
    one, other = minimum_bayes_risk(lists, subwords), minimum_bayes_risk(shuffled, subwords)
    assert [subwords.decode(each.ids) for each in one] == [subwords.decode(each.ids) for each in other]
    for ours, theirs in zip(one, other, strict=True):
        assert ours.expected_chrf == theirs.expected_chrf
        assert ours.log_probability == theirs.log_probability


def test_the_typical_one_wins_over_the_likeliest(subwords: Tokenizer) -> None:
    def heard(text: str, probability: float) -> Hypothesis:
        return hypothesis_of(subwords.encode(text).ids, math.log(probability))

    many = [heard(f"The {size} dog is sleeping under the table.", 0.2) for size in ("big", "small", "old")]
    alone = heard("Nobody was there at all.", 0.4)
    assert minimum_bayes_risk([[alone, *many]], subwords)[-1].ids == alone.ids
    likely = heard("Nobody was there at all.", 0.95)
    assert minimum_bayes_risk([[likely, *many]], subwords)[0].ids == likely.ids
    assert minimum_bayes_risk([[likely, *many]], subwords, sampled=True)[-1].ids == likely.ids


def test_one_text_in_different_tokens_is_one_candidate(subwords: Tokenizer) -> None:
    ids = subwords.encode("The dog").ids
    spelt = [subwords.bytes.index(bytes([byte])) for byte in b"The dog"]
    assert tuple(spelt) != ids
    [found] = minimum_bayes_risk([[hypothesis_of(ids, -2.0), hypothesis_of(spelt, -1.0)]], subwords)
    assert found.ids == tuple(spelt)
    assert found.expected_chrf == pytest.approx(100.0)


def test_what_was_cut_off_is_no_candidate_unless_there_is_no_other(subwords: Tokenizer) -> None:
    whole = hypothesis_of(subwords.encode("A dog.").ids, -9.0)
    cut = hypothesis_of(subwords.encode("A dog dog dog").ids, -1.0, finished=False)
    assert [each.ids for each in minimum_bayes_risk([[cut, whole]], subwords)] == [whole.ids]
    assert [each.ids for each in minimum_bayes_risk([[cut]], subwords)] == [cut.ids]
