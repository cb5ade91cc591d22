"""Significance held against scipy, sacrebleu, enumeration and simulation, and what is said in words."""

import itertools
import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from augenmerk.data import open_bitext
from augenmerk.evaluation.comparison import compare_texts, describe_comparison
from augenmerk.evaluation.metrics import (
    Counts,
    bleu_from_counts,
    chrf_from_counts,
    count_bleu,
    count_chrf,
    ratio_from_counts,
)
from augenmerk.evaluation.significance import (
    Effect,
    bootstrap,
    bootstrap_p_value,
    estimate_mean,
    few_sentences_in_words,
    holm_factors,
    measure_effects,
    p_value,
    randomise,
)
from tests.support.sacrebleu_command import run_sacrebleu

WORDS = "the a dog cat ball boy is red small big throws under on and".split()
finite = st.integers(-(10**9), 10**9).map(lambda number: number / 1000)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns each p corrected for testing all of them."""
    return [min(1.0, p * factor) for p, factor in zip(p_values, holm_factors(p_values), strict=True)]


@given(st.lists(finite, min_size=2, max_size=12))
@example([3.303] * 3)
def test_mean_variance_and_interval_are_those_of_scipy(values: list[float]) -> None:
    found = estimate_mean(values)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert found.variance == pytest.approx(np.var(values, ddof=1), rel=1e-9, abs=1e-6)
    assert found.interval is not None
    assert estimate_mean(values[:1]) == (values[0], None, None)
    if len(set(values)) > 1:
        mean, error = np.mean(values), scipy.stats.sem(values)
        expected = scipy.stats.t.interval(0.95, len(values) - 1, loc=mean, scale=error)
        assert found.interval == pytest.approx(expected, rel=1e-6, abs=1e-6)
    else:
        assert found.interval == (found.mean, found.mean)


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
    assert all(1 <= factor <= len(p_values) + 1e-9 for factor in holm_factors(p_values))


sentences = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8))
def test_scores_from_counts_are_those_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [list(side) for side in zip(*pairs, strict=True)]
    for metric, count, score in (
        (BLEU(lowercase=True), count_bleu, bleu_from_counts),
        (CHRF(lowercase=True), count_chrf, chrf_from_counts),
    ):
        expected = metric.corpus_score(hypotheses, [references]).score
        assert float(score(count(hypotheses, references).sum(0))) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match="hypotheses for"):
        count_bleu([*hypotheses, "the dog"], references)


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


def sacrebleu_p(kind: str, ours: list[str], theirs: list[str], metric: Metric) -> tuple[float, int]:
    """sacrebleu's own p, and the number of samples it is estimated from."""
    test = PairedTest([("baseline", theirs), ("system", ours)], {"": metric}, None, kind)
    [result] = [results[1] for name, results in test()[1].items() if name != "System"]
    assert isinstance(result, Result)
    assert result.p_value is not None
    return result.p_value, test.n_samples


def test_p_is_that_of_sacrebleu_and_by_bootstrap_has_two_sides(references: list[str]) -> None:
    ours, theirs = noisy(references, 0.20, 1), noisy(references, 0.205, 3)
    for name, found in compare_texts(ours, theirs, references).items():
        metric = {"bleu": BLEU, "chrf": CHRF}[name](lowercase=True, references=[references])
        expected, samples = sacrebleu_p("ar", ours, theirs, metric)
        variance = expected * (1 - expected) * (1 / found.trials + 1 / samples)
        assert found.p_randomisation == pytest.approx(expected, abs=4 * math.sqrt(variance))
        one_sided, _ = sacrebleu_p("bs", ours, theirs, metric)
        assert 0.05 < one_sided < 0.6 * found.p_bootstrap
        assert found.p_bootstrap == pytest.approx(found.p_randomisation, rel=0.15)


def as_counts(values: Counts) -> Counts:
    """For `ratio_from_counts`: a mean over sentences has closed forms."""
    return np.stack([values, np.ones_like(values)], axis=-1)


def measure(gaps: Counts, resamples: int = 300) -> Effect:
    """The effect of one system whose differences to another are these (S, N)."""
    [found] = measure_effects(as_counts(gaps)[None], np.ones((1, 1)), ratio_from_counts, resamples)
    return found


def test_p_is_the_share_of_all_swaps() -> None:
    """Of nine sentences all 512 swaps can be tried; three runs are swapped together."""
    rng = np.random.default_rng(3)
    ours, theirs = rng.normal(0.5, 1, (3, 9)), rng.normal(0, 1, (3, 9))
    swapped = randomise(as_counts(ours), as_counts(theirs), ratio_from_counts, trials=40_000)
    gaps = (ours - theirs).mean(0)
    real = abs(gaps.mean())
    signs = itertools.product((-1, 1), repeat=9)
    exact = np.mean([abs(np.mean(np.array(each) * gaps)) >= real - 1e-12 for each in signs])
    assert p_value(np.abs(swapped.mean(1)), real) == pytest.approx(exact, abs=0.01)


def test_the_interaction_of_seeds_and_sentences_is_counted_once() -> None:
    """A balanced table of normal numbers: the two parts are what the analysis of variance says."""
    rng = np.random.default_rng(4)
    gaps = rng.normal(0, 0.1, (4, 1)) + rng.normal(0, 1, (1, 300)) + rng.normal(1, 2, (4, 300))
    found = measure(gaps, 10_000)
    residual = gaps - gaps.mean(0) - gaps.mean(1, keepdims=True) + gaps.mean()
    interaction = (residual**2).sum() / (3 * 299)
    between = 4 * gaps.mean(0).var(ddof=1)
    assert found.v_seeds == pytest.approx(gaps.mean(1).var(ddof=1) / 4)
    assert found.v_sentences == pytest.approx((between - interaction) / 4 / 300, rel=0.1)
    assert found.mean == pytest.approx(gaps.mean())


def test_an_effect_of_one_system_of_several() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(0, 1, (3, 2, 50))
    weights = np.array([[1, -0.5, -0.5], [0, 1, -1]])
    both = measure_effects(as_counts(values), weights, ratio_from_counts, 200)
    for found, row in zip(both, weights, strict=True):
        alone = measure(np.tensordot(row, values, 1), 200)
        assert found.values == pytest.approx(alone.values)
        assert (found.v_seeds, found.v_sentences) == pytest.approx((alone.v_seeds, alone.v_sentences))


def test_where_one_part_dominates_student_is_right() -> None:
    values = (1.0, 1.4, 0.9)
    of_seeds = Effect(values, 1000, float(np.var(values, ddof=1)) / 3, 0.0)
    assert of_seeds.p == pytest.approx(scipy.stats.ttest_1samp(values, 0).pvalue)
    expected = scipy.stats.t.interval(0.99, 2, np.mean(values), scipy.stats.sem(values))
    assert of_seeds.interval(0.01) == pytest.approx(expected)
    of_sentences = Effect((1.0,), 40, 0.0, 0.3)
    assert of_sentences.p == pytest.approx(2 * scipy.stats.t.sf(1 / math.sqrt(0.3), 39))


@given(
    st.lists(st.integers(-300, 300), min_size=1, max_size=6),
    st.integers(2, 2000),
    st.floats(0, 5),
    st.floats(0, 5),
    st.floats(0.001, 0.2),
)
def test_p_fits_interval(values: list[int], sentences: int, seeds: float, drawn: float, alpha: float) -> None:
    found = Effect(tuple(value / 100 for value in values), sentences, seeds if values[1:] else 0.0, drawn)
    low, high = found.interval(alpha)
    if abs(found.p - alpha) > 1e-6:
        assert (found.p < alpha) == (not low <= 0 <= high)


def test_p_by_bootstrap_is_small_by_chance_as_seldom_as_it_says() -> None:
    """With one side only it would be small in one comparison of ten."""
    rng = np.random.default_rng(9)
    small = []
    for _ in range(400):
        ours, theirs = (as_counts(rng.normal(0, 1, (1, 100))) for _ in range(2))
        our_scores, their_scores = bootstrap(np.stack([ours, theirs]), ratio_from_counts, 199)[..., 0].T
        difference = float(ours[..., 0].mean() - theirs[..., 0].mean())
        small.append(bootstrap_p_value(our_scores - their_scores, difference) <= 0.05)
    assert 0.03 <= np.mean(small) <= 0.08


AGAINST = np.array([[1.0, -1.0]])


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_same_translations_do_not_differ(runs: int, number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(number)]
    counts = np.stack([count_bleu(noisy(texts, 0.3, run), texts) for run in range(runs)])
    [found] = measure_effects(np.stack([counts, counts]), AGAINST, bleu_from_counts, 50)
    assert found.mean == 0
    assert found.p == 1
    assert found.interval() == (0, 0)


def test_the_same_counts_give_the_same_numbers(references: list[str]) -> None:
    ours = count_bleu(noisy(references, 0.2, 1), references)[None]
    theirs = count_bleu(noisy(references, 0.3, 2), references)[None]
    first, again = (
        measure_effects(np.stack([ours, theirs]), AGAINST, bleu_from_counts, 300) for _ in range(2)
    )
    assert first == again
    with pytest.raises(ValueError, match="takes two"):
        measure_effects(ours[None, :, :1], np.ones((1, 1)), bleu_from_counts)
    [turned] = measure_effects(np.stack([theirs, ours]), AGAINST, bleu_from_counts, 300)
    assert turned.mean == -first[0].mean
    assert turned.p == pytest.approx(first[0].p)


# One run against another

REFERENCES = [pair.target for pair in open_bitext("bilderbuch", pairs=150)["train"]]


def shortened(share: float, seed: int) -> list[str]:
    """The references without this share of their words."""
    rng = random.Random(seed)
    return [" ".join(word for word in text.split() if rng.random() > share) for text in REFERENCES]


def command_prints(test: str, folder: Path, *systems: Sequence[str]) -> list[list[list[float]]]:
    """The numbers that the command prints for each system, for BLEU and for chrF."""
    files = [folder / f"{number}.txt" for number in range(len(systems) + 1)]
    for file, lines in zip(files, (REFERENCES, *systems), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # Not as JSON: sacrebleu 2.6 cannot print that for --paired-bs.
    flags = ["-m", "bleu", "chrf", "-lc", "--chrf-lowercase", test, "-f", "latex", "-w", "9", "-q", "-nc"]
    names = [str(file) for file in files]
    printed = run_sacrebleu(names[0], "-i", *names[1:], *flags)
    cells = [line.split("&")[1:] for line in printed.splitlines() if ".txt &" in line]
    return [[[float(x) for x in re.findall(r"\d+\.\d+", cell)] for cell in row] for row in cells]


def test_scores_and_intervals_are_those_of_the_sacrebleu_command(tmp_path: Path) -> None:
    ours, theirs = shortened(0.10, 1), shortened(0.13, 2)
    compared = compare_texts(ours, theirs, REFERENCES)
    baseline, system = command_prints("--paired-bs", tmp_path, theirs, ours)
    for number, found in enumerate((compared["bleu"], compared["chrf"])):
        assert found.score == pytest.approx(system[number][0], abs=1e-8)
        assert found.baseline_score == pytest.approx(baseline[number][0], abs=1e-8)
        assert found.difference == found.score - found.baseline_score
        assert 0.002 < found.p_bootstrap < 0.9  # not what it is whenever something goes wrong
        for interval, printed in ((found.interval, system), (found.baseline_interval, baseline)):
            _, mean, half, *_ = printed[number]
            assert interval == pytest.approx((mean - half, mean + half), abs=0.2 * half)
    for found in compared.values():
        assert (found.trials, found.resamples, found.seed) == (10_000, 2_000, 12345)


def test_a_difference_in_words() -> None:
    good, bad = shortened(0.05, 1), shortened(0.3, 2)
    better = compare_texts(good, bad, REFERENCES, trials=500, resamples=200)["bleu"]
    assert describe_comparison(better, "runs/a", "runs/b") == (
        f"runs/a is {better.difference:.1f} BLEU above runs/b "
        f"(p = 0.002 by approximate randomisation, 0.005 by paired bootstrap)."
        f"{few_sentences_in_words(len(REFERENCES))}"
    )
    assert compare_texts(good, bad, REFERENCES, trials=500, resamples=200)["bleu"] == better
    worse = compare_texts(bad, good, REFERENCES, trials=500, resamples=200)["bleu"]
    assert worse.difference == -better.difference
    assert " BLEU below runs/a (p" in describe_comparison(worse, "runs/b", "runs/a")
    alike = compare_texts(good, shortened(0.05, 3), REFERENCES, trials=500, resamples=200)["chrf"]
    assert " chrF " in describe_comparison(alike, "a", "b")
    assert "b, which may be chance (p = 0." in describe_comparison(alike, "a", "b")


def test_few_sentences_and_tests_that_disagree_are_said() -> None:
    """Swapped at random, two sentences often differ as much as they do; resampled, they always do."""
    references = ["the small red dog is under the table", "a small boy throws the ball to her"]
    worse = ["the small red dog is under a table", "a small boy throws the ball to him"]
    compared = compare_texts(references, worse, references)["bleu"]
    assert compared.sentences == 2
    assert compared.p_randomisation > 0.4
    assert compared.p_bootstrap < 0.05
    assert describe_comparison(compared, "a", "b") == (
        f"a is {compared.difference:.1f} BLEU above b, which may be chance: the two tests disagree "
        f"(p = {compared.p_randomisation:.2g} by approximate randomisation, {compared.p_bootstrap:.2g} by "
        f"paired bootstrap). Only 2 sentences: a small sample."
    )
    tiny = replace(compared, difference=0.01, p_bootstrap=0.9, sentences=1000)
    assert describe_comparison(tiny, "a", "b").startswith(
        "a and b differ by less than 0.1 BLEU, which may be chance (p = "
    )
    assert describe_comparison(tiny, "a", "b").endswith("paired bootstrap).")


def test_equal_texts_and_empty_against_perfect() -> None:
    """sacrebleu, which counts only larger differences, would say p = 0.0001."""
    for texts in (REFERENCES, [""] * len(REFERENCES)):
        for comparison in compare_texts(texts, texts, REFERENCES, trials=50, resamples=50).values():
            assert comparison.difference == 0.0
            assert (comparison.p_randomisation, comparison.p_bootstrap) == (1.0, 1.0)
            assert describe_comparison(comparison, "a", "b") == f"a and b have the same {comparison.metric}."
    found = compare_texts([""] * 150, REFERENCES, REFERENCES, trials=50, resamples=50)["bleu"]
    assert found.difference == pytest.approx(-100.0)
    assert found.interval == (0.0, 0.0)
    assert found.baseline_interval == pytest.approx((100.0, 100.0))
