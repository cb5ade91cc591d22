"""Significance held against scipy, sacrebleu, enumeration and simulation, and what is said in words."""

import itertools
import math
import random
import re
import subprocess
import sys
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

from augenmerk.bitext import open_bitext
from augenmerk.scores import (
    Counts,
    bleu_from_counts,
    chrf_from_counts,
    count_bleu,
    count_chrf,
    ratio_from_counts,
)
from augenmerk.significance import (
    bootstrap,
    bootstrap_p_value,
    compare_paired,
    compare_texts,
    estimate_mean,
    few_sentences_in_words,
    holm,
)

WORDS = "the a dog cat ball boy is red small big throws under on and".split()
finite = st.integers(-(10**9), 10**9).map(lambda number: number / 1000)


@given(st.lists(finite, min_size=2, max_size=12))
@example([3.303] * 3)
def test_mean_variance_and_interval_are_those_of_scipy(values: list[float]) -> None:
    found = estimate_mean(values)
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
    assert estimate_mean([3.5]) == (3.5, None, None)


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


def test_bleu_is_computed_for_many_sums_at_once() -> None:
    counts = count_bleu(["the dog is red", "a cat", ""], ["the dog is big", "a cat and a dog", "the boy"])
    both = np.stack([counts.sum(0), counts[:1].sum(0), counts[2]])
    assert bleu_from_counts(both) == pytest.approx([float(bleu_from_counts(each)) for each in both])
    assert bleu_from_counts(counts[2]) == 0


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


@pytest.mark.parametrize("errors", [0.205, 0.23, 0.25])
def test_p_by_randomisation_is_that_of_sacrebleu_within_sampling_error(
    references: list[str], errors: float
) -> None:
    ours, theirs = noisy(references, 0.20, 1), noisy(references, errors, 3)
    for name, found in compare_texts(ours, theirs, references).items():
        metric = {"bleu": BLEU, "chrf": CHRF}[name](lowercase=True, references=[references])
        expected, samples = sacrebleu_p("ar", ours, theirs, metric)
        variance = max(expected, 1 / found.trials) * (1 - expected) * (1 / found.trials + 1 / samples)
        assert found.p_randomisation == pytest.approx(expected, abs=4 * math.sqrt(variance))


def test_p_by_bootstrap_has_two_sides_and_that_of_sacrebleu_one(references: list[str]) -> None:
    ours, theirs = noisy(references, 0.20, 1), noisy(references, 0.205, 3)
    for name, found in compare_texts(ours, theirs, references).items():
        metric = {"bleu": BLEU, "chrf": CHRF}[name](lowercase=True, references=[references])
        one_sided, _ = sacrebleu_p("bs", ours, theirs, metric)
        assert 0.05 < one_sided < 0.6 * found.p_bootstrap
        assert found.p_bootstrap == pytest.approx(found.p_randomisation, rel=0.15)


def test_one_pair_of_runs_of_a_study_is_tested_as_by_evaluate(references: list[str]) -> None:
    ours, theirs = noisy(references, 0.20, 1), noisy(references, 0.23, 3)
    our_counts, their_counts = (count_bleu(texts, references)[None] for texts in (ours, theirs))
    found = compare_paired(our_counts, their_counts, bleu_from_counts)
    expected = compare_texts(ours, theirs, references)["bleu"]
    assert found.difference == expected.difference
    assert found.p == expected.p_randomisation
    assert found.p_values == (found.p,)
    assert found.seed_deviation is None
    assert found.degrees_of_freedom == pytest.approx(149)


def as_counts(values: Counts) -> Counts:
    """For `ratio_from_counts`: a mean over sentences has closed forms."""
    return np.stack([values, np.ones_like(values)], axis=-1)


def test_p_is_the_share_of_all_swaps() -> None:
    """Of nine sentences all 512 swaps can be tried; three runs are swapped together."""
    rng = np.random.default_rng(3)
    ours, theirs = rng.normal(0.5, 1, (3, 9)), rng.normal(0, 1, (3, 9))
    found = compare_paired(as_counts(ours), as_counts(theirs), ratio_from_counts, trials=40_000)
    gaps = (ours - theirs).mean(0)
    real = abs(gaps.mean())
    signs = itertools.product((-1, 1), repeat=9)
    exact = np.mean([abs(np.mean(np.array(each) * gaps)) >= real - 1e-12 for each in signs])
    assert found.p == pytest.approx(exact, abs=0.01)
    for run in range(3):
        alone = compare_paired(
            as_counts(ours[run : run + 1]), as_counts(theirs[run : run + 1]), ratio_from_counts
        )
        assert found.p_values[run] == pytest.approx(alone.p, abs=0.02)


def test_the_interval_adds_what_seeds_and_sentences_contribute() -> None:
    rng = np.random.default_rng(4)
    ours, theirs = rng.normal(1, 1, (4, 300)), rng.normal(0, 1, (4, 300))
    found = compare_paired(as_counts(ours), as_counts(theirs), ratio_from_counts, resamples=20_000)
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
            as_counts(gaps), as_counts(np.zeros_like(gaps)), ratio_from_counts, trials=1, resamples=200
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
        found = compare_paired(as_counts(ours), as_counts(theirs), ratio_from_counts, trials=199, resamples=2)
        small.append(found.p <= 0.05)
    assert 0.02 <= np.mean(small) <= 0.08


def test_p_by_bootstrap_is_small_by_chance_as_seldom_as_it_says() -> None:
    """With one side only it would be small in one comparison of ten."""
    rng = np.random.default_rng(9)
    small = []
    for _ in range(400):
        ours, theirs = (as_counts(rng.normal(0, 1, (1, 100))) for _ in range(2))
        our_scores, their_scores = bootstrap(ours, theirs, ratio_from_counts, resamples=199)[..., 0]
        difference = float(ours[..., 0].mean() - theirs[..., 0].mean())
        small.append(bootstrap_p_value(our_scores - their_scores, difference) <= 0.05)
    assert 0.03 <= np.mean(small) <= 0.08


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_same_translations_do_not_differ(runs: int, number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(number)]
    counts = np.stack([count_bleu(noisy(texts, 0.3, run), texts) for run in range(runs)])
    found = compare_paired(counts, counts, bleu_from_counts, trials=50, resamples=50)
    assert found.difference == 0
    assert found.p == 1
    assert found.interval == (0, 0)


def test_the_same_counts_give_the_same_numbers(references: list[str]) -> None:
    ours = count_bleu(noisy(references, 0.2, 1), references)[None]
    theirs = count_bleu(noisy(references, 0.3, 2), references)[None]
    first, again = (
        compare_paired(ours, theirs, bleu_from_counts, trials=300, resamples=300) for _ in range(2)
    )
    assert first == again
    turned = compare_paired(theirs, ours, bleu_from_counts, trials=300, resamples=300)
    assert turned.difference == -first.difference
    assert turned.interval == pytest.approx((-first.interval[1], -first.interval[0]))


# One run against another

REFERENCES = [pair.target for pair in open_bitext("bilderbuch", pairs=150)["val"]]


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
    command = [str(Path(sys.executable).with_name("sacrebleu")), names[0], "-i", *names[1:], *flags]
    printed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout
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
    assert better.in_words("runs/a", "runs/b") == (
        f"runs/a is {better.difference:.1f} BLEU above runs/b "
        f"(p = 0.002 by approximate randomisation, 0.005 by paired bootstrap)."
        f"{few_sentences_in_words(len(REFERENCES))}"
    )
    assert compare_texts(good, bad, REFERENCES, trials=500, resamples=200)["bleu"] == better
    worse = compare_texts(bad, good, REFERENCES, trials=500, resamples=200)["bleu"]
    assert worse.difference == -better.difference
    assert " BLEU below runs/a (p" in worse.in_words("runs/b", "runs/a")
    alike = compare_texts(good, shortened(0.05, 3), REFERENCES, trials=500, resamples=200)["chrf"]
    assert " chrF " in alike.in_words("a", "b")
    assert "b, which may be chance (p = 0." in alike.in_words("a", "b")


def test_few_sentences_and_tests_that_disagree_are_said() -> None:
    """Swapped at random, two sentences often differ as much as they do; resampled, they always do."""
    references = ["the small red dog is under the table", "a small boy throws the ball to her"]
    worse = ["the small red dog is under a table", "a small boy throws the ball to him"]
    compared = compare_texts(references, worse, references)["bleu"]
    assert compared.sentences == 2
    assert compared.p_randomisation > 0.4
    assert compared.p_bootstrap < 0.05
    assert compared.in_words("a", "b") == (
        f"a is {compared.difference:.1f} BLEU above b, which may be chance: the two tests disagree "
        f"(p = {compared.p_randomisation:.2g} by approximate randomisation, {compared.p_bootstrap:.2g} by "
        f"paired bootstrap). Only 2 sentences: a small sample."
    )
    tiny = replace(compared, difference=0.01, p_bootstrap=0.9, sentences=1000)
    assert tiny.in_words("a", "b").startswith(
        "a and b differ by less than 0.1 BLEU, which may be chance (p = "
    )
    assert tiny.in_words("a", "b").endswith("paired bootstrap).")


def test_equal_texts_are_not_significantly_different() -> None:
    """sacrebleu, which counts only larger differences, would say p = 0.0001."""
    for texts in (REFERENCES, [""] * len(REFERENCES)):
        for comparison in compare_texts(texts, texts, REFERENCES, trials=50, resamples=50).values():
            assert comparison.difference == 0.0
            assert (comparison.p_randomisation, comparison.p_bootstrap) == (1.0, 1.0)
            assert comparison.in_words("a", "b") == f"a and b have the same {comparison.metric}."


def test_empty_against_perfect() -> None:
    found = compare_texts([""] * len(REFERENCES), REFERENCES, REFERENCES, trials=50, resamples=50)["bleu"]
    assert found.difference == pytest.approx(-100.0)
    assert found.interval == (0.0, 0.0)
    assert found.baseline_interval == pytest.approx((100.0, 100.0))
