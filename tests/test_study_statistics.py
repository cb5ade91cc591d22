"""The statistics of studies against scipy, sacrebleu, enumeration and simulation."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from augenmerk.significance import compare_texts
from augenmerk.study.resampling import Counts, bleu_counts, bleu_score, compare_paired, mean_score
from augenmerk.study.statistics import holm, summarise

WORDS = "the a dog cat ball boy is red small big throws under on and".split()
finite = st.integers(-(10**9), 10**9).map(lambda number: number / 1000)


@given(st.lists(finite, min_size=2, max_size=12))
@example([3.303] * 3)
def test_mean_variance_and_interval_are_those_of_scipy(values: list[float]) -> None:
    found = summarise(values)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert found.variance == pytest.approx(np.var(values, ddof=1), rel=1e-9, abs=1e-6)
    assert found.interval is not None
    if len(set(values)) > 1:
        mean, error = np.mean(values), scipy.stats.sem(values)
        expected = scipy.stats.t.interval(0.95, len(values) - 1, loc=mean, scale=error)
        assert found.interval == pytest.approx(expected, rel=1e-6, abs=1e-6)
    else:
        assert found.interval == (found.mean, found.mean)


def test_one_value_has_no_variance() -> None:
    assert summarise([3.5]) == (3.5, None, None)


def test_holm_on_a_known_example() -> None:
    """0.01 * 4, 0.02 * 3 raised to ..., as in Holm's procedure worked by hand."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.7]) == [0.7]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10), st.floats(0.001, 0.5))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values: list[float], level: float) -> None:
    """The procedure as it was published: go up from the smallest p, stop at the first that is too large."""
    rejected = set()
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] * (len(p_values) - rank) > level:
            break
        rejected.add(index)
    corrected = holm(p_values)
    assert {index for index, p in enumerate(corrected) if p <= level} == rejected
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))


sentences = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8))
def test_bleu_from_counts_is_that_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [list(side) for side in zip(*pairs, strict=True)]
    expected = BLEU(lowercase=True).corpus_score(hypotheses, [references]).score
    counts = bleu_counts(hypotheses, references)
    assert float(bleu_score(counts.sum(0))) == pytest.approx(expected, abs=1e-9)


def test_bleu_is_computed_for_many_sums_at_once() -> None:
    counts = bleu_counts(["the dog is red", "a cat", ""], ["the dog is big", "a cat and a dog", "the boy"])
    both = np.stack([counts.sum(0), counts[:1].sum(0), counts[2]])
    assert bleu_score(both) == pytest.approx([float(bleu_score(each)) for each in both])
    assert bleu_score(counts[2]) == 0


def noisy(references: list[str], errors: float, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        " ".join(str(rng.choice(WORDS)) if rng.random() < errors else word for word in reference.split())
        for reference in references
    ]


@pytest.fixture(scope="module")
def references() -> list[str]:
    rng = np.random.default_rng(5)
    return [" ".join(rng.choice(WORDS, rng.integers(4, 12))) for _ in range(150)]


def test_tests_of_one_pair_of_runs_are_those_of_sacrebleu(references: list[str]) -> None:
    ours, theirs = noisy(references, 0.20, 1), noisy(references, 0.21, 3)
    found = compare_paired(bleu_counts(ours, references)[None], bleu_counts(theirs, references)[None])
    expected = compare_texts(ours, theirs, references)["bleu"]
    assert found.difference == pytest.approx(expected.difference, abs=1e-9)
    assert 0.02 < expected.p_randomisation < 0.8  # where 10,000 trials can tell right from wrong
    assert found.p == pytest.approx(expected.p_randomisation, abs=0.025)
    assert found.p_values == (found.p,)
    assert found.seed_deviation is None
    assert found.degrees_of_freedom == pytest.approx(149)


def as_counts(values: Counts) -> Counts:
    """For `mean_score`: a mean over sentences has closed forms."""
    return np.stack([values, np.ones_like(values)], axis=-1)


def test_p_is_the_share_of_all_swaps() -> None:
    """Of nine sentences all 512 swaps can be tried; three runs are swapped together."""
    rng = np.random.default_rng(3)
    ours, theirs = rng.normal(0.5, 1, (3, 9)), rng.normal(0, 1, (3, 9))
    found = compare_paired(as_counts(ours), as_counts(theirs), mean_score, trials=40_000)
    gaps = (ours - theirs).mean(0)
    real = abs(gaps.mean())
    signs = itertools.product((-1, 1), repeat=9)
    exact = np.mean([abs(np.mean(np.array(each) * gaps)) >= real - 1e-12 for each in signs])
    assert found.p == pytest.approx(exact, abs=0.01)
    for run in range(3):
        alone = compare_paired(as_counts(ours[run : run + 1]), as_counts(theirs[run : run + 1]), mean_score)
        assert found.p_values[run] == pytest.approx(alone.p, abs=0.02)


def test_the_interval_adds_what_seeds_and_sentences_contribute() -> None:
    rng = np.random.default_rng(4)
    ours, theirs = rng.normal(1, 1, (4, 300)), rng.normal(0, 1, (4, 300))
    found = compare_paired(as_counts(ours), as_counts(theirs), mean_score, resamples=20_000)
    gaps = ours - theirs
    sentence = gaps.mean(0).std() / math.sqrt(300)
    seed = gaps.mean(1).std(ddof=1)
    assert found.sentence_deviation == pytest.approx(sentence, rel=0.02)
    assert found.seed_deviation == pytest.approx(seed)
    v1, v2 = seed**2 / 4, found.sentence_deviation**2
    degrees = (v1 + v2) ** 2 / (v1**2 / 3 + v2**2 / 299)
    assert found.degrees_of_freedom == pytest.approx(degrees)
    half = scipy.stats.t.ppf(0.975, degrees) * math.sqrt(v1 + v2)
    assert found.interval == pytest.approx((gaps.mean() - half, gaps.mean() + half))


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Seeds, sentences and both together move the scores; the true difference is 0.3. Nor too often."""
    rng = np.random.default_rng(7)
    held = []
    for _ in range(400):
        gaps = (
            0.3
            + rng.normal(0, 0.15, (3, 1))  # this pair of seeds
            + rng.normal(0, 1.0, (1, 60))  # this sentence
            + rng.normal(0, 0.5, (3, 60))  # this seed with this sentence
        )
        found = compare_paired(
            as_counts(gaps), as_counts(np.zeros_like(gaps)), mean_score, trials=1, resamples=200
        )
        held.append(found.interval[0] <= 0.3 <= found.interval[1])
    assert 0.93 <= np.mean(held) <= 0.99


def test_p_is_small_by_chance_as_seldom_as_it_says() -> None:
    """Two ways that are one, three runs of each: p below 0.05 in about one study of twenty."""
    rng = np.random.default_rng(8)
    small = []
    for _ in range(400):
        sentence = rng.normal(0, 1, (1, 40))
        ours, theirs = (sentence + rng.normal(0, 1, (3, 40)) for _ in range(2))
        found = compare_paired(as_counts(ours), as_counts(theirs), mean_score, trials=199, resamples=2)
        small.append(found.p <= 0.05)
    assert 0.02 <= np.mean(small) <= 0.08


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_same_translations_do_not_differ(runs: int, number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(number)]
    counts = np.stack([bleu_counts(noisy(texts, 0.3, run), texts) for run in range(runs)])
    found = compare_paired(counts, counts, trials=50, resamples=50)
    assert found.difference == 0
    assert found.p == 1
    assert found.interval == (0, 0)


def test_the_same_counts_give_the_same_numbers(references: list[str]) -> None:
    ours = bleu_counts(noisy(references, 0.2, 1), references)[None]
    theirs = bleu_counts(noisy(references, 0.3, 2), references)[None]
    first, again = (compare_paired(ours, theirs, trials=300, resamples=300) for _ in range(2))
    assert first == again
    turned = compare_paired(theirs, ours, trials=300, resamples=300)
    assert turned.difference == -first.difference
    assert turned.interval == pytest.approx((-first.interval[1], -first.interval[0]))
