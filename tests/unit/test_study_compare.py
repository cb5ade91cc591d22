"""Findings in words: what is said follows from the numbers, doubts included."""

from dataclasses import replace

import numpy as np
import pytest

from augenmerk.evaluation.metrics import count_bleu
from augenmerk.study.compare import (
    answer_questions,
    compare_beams,
    compare_variants,
    comparison_in_words,
    mark_best,
)
from augenmerk.study.measure import TranslatedSplit
from augenmerk.study.plan import Contrast
from augenmerk.study.result import ComparisonResult, SeedComparison, Summary, VariantResult, Verdict

FOUND = ComparisonResult(
    question="Does it matter?",
    variant="scaled-dot",
    against="mean",
    weights={"scaled-dot": 1.0, "mean": -1.0},
    measure="bleu",
    split="test",
    beam=1,
    sentences=1000,
    seeds=tuple(SeedComparison(seed, 11.3) for seed in (1, 2, 3)),
    difference=11.31,
    interval=(10.62, 12.0),
    confidence=0.95,
    interval_covers="sentences and seeds",
    seed_deviation=0.4,
    sentence_deviation=0.2,
    p=0.0001,
    p_corrected=0.0003,
    p_these_runs=0.0001,
    trials=10_000,
    resamples=2_000,
    in_words="",
)
SMALL = "3 seeds: a small sample."
FIVE = tuple(SeedComparison(seed, 1.0) for seed in range(5))
RUNS = "for these runs only, p < 0.001"


@pytest.mark.parametrize(
    ("changed", "family", "words"),
    [
        (
            {},
            3,
            "scaled-dot is 11.3 BLEU above mean on test with greedy search, 95% 10.6 to 12.0 (p < 0.001; "
            f"both corrected for 3 comparisons; {RUNS}). {SMALL}",
        ),
        (
            {"difference": -11.31, "interval": (-12.0, -10.62), "beam": 5},
            1,
            "scaled-dot is 11.3 BLEU below mean on test with beam 5, 95% 10.6 to 12.0 (p < 0.001; "
            f"{RUNS}). {SMALL}",
        ),
        (
            {"difference": 0.31, "interval": (-0.52, 1.14), "p_corrected": 0.07, "p_these_runs": 0.0213},
            1,
            "scaled-dot is 0.3 BLEU above mean on test with greedy search, 95% -0.5 to 1.1 (p = 0.07; for "
            f"these runs only, p = 0.021), which may be chance. {SMALL}",
        ),
        (
            {"p_these_runs": None, "variant": "the mean of a and b"},
            1,
            "the mean of a and b is 11.3 BLEU above mean on test with greedy search, 95% 10.6 to 12.0 "
            f"(p < 0.001). {SMALL}",
        ),
        (
            {"seeds": FIVE, "difference": 0.01, "interval": (0.005, 0.015)},
            1,
            "scaled-dot and mean differ by less than 0.1 BLEU on test with greedy search, at both ends "
            f"of the 95% interval too (p < 0.001; {RUNS}). 5 seeds.",
        ),
        (
            {"difference": -0.01, "interval": (-0.84, 0.82), "p_corrected": 0.9},
            1,
            "scaled-dot and mean differ by less than 0.1 BLEU on test with greedy search, 95% from 0.8 below "
            f"to 0.8 above (p = 0.9; {RUNS}), which may be chance. {SMALL}",
        ),
        (
            {"seeds": FIVE[:1], "seed_deviation": None, "sentences": 50},
            1,
            "scaled-dot is 11.3 BLEU above mean on test with greedy search, 95% 10.6 to 12.0 (p < 0.001; "
            f"{RUNS}). One run of each: this says nothing about other seeds. Only 50 sentences: a small "
            "sample.",
        ),
        (
            {"measure": "word_loss", "beam": None, "difference": -0.8951, "interval": (-1.03, -0.7604)},
            1,
            "The loss per word of scaled-dot is 0.895 below that of mean on test, 95% 0.760 to 1.030 "
            f"(p < 0.001; {RUNS}). {SMALL}",
        ),
        (
            {"difference": 0.0, "interval": (0.0, 0.0), "p_corrected": 1.0},
            1,
            "scaled-dot and mean have the same BLEU on test with greedy search whatever sentences are drawn: "
            "no difference.",
        ),
    ],
)
def test_findings_in_words(changed: dict[str, object], family: int, words: str) -> None:
    assert comparison_in_words(replace(FOUND, **changed), family) == words  # type: ignore[arg-type]


def test_a_question_has_one_verdict() -> None:
    contrasts = [Contrast(question, "a", "b", {}) for question in ("one", "two", "two", "three")]
    clear = replace(FOUND, question="one", in_words="Clear.")
    chance = replace(FOUND, question="two", interval=(-1.0, 2.0), p_corrected=0.6, in_words="Chance.")
    also = replace(chance, interval=(1.0, 2.0), p_corrected=0.01, in_words="Also clear.")
    verdicts = answer_questions(contrasts, [clear, chance, also])
    assert verdicts == (
        Verdict("one", "scaled-dot is 11.3 BLEU above mean.", ("Clear.",)),
        Verdict("two", "A difference was found in 1 of 2 comparisons.", ("Chance.", "Also clear.")),
        Verdict("three", "Too few runs are finished to tell.", ()),
    )
    one_seed = replace(chance, question="one", seeds=FIVE[:1])
    assert answer_questions(contrasts[:1], [one_seed])[0].answer == (
        "No difference was found between scaled-dot and mean. This is about one seed only."
    )
    none = answer_questions(contrasts[1:2], [chance, chance])[0].answer
    assert none == "No difference was found in 2 comparisons."


def summarised(name: str, measure: str, values: dict[int, float]) -> VariantResult:
    summary = Summary(measure, "test", None, values, float(np.mean(list(values.values()))), None, None)
    return VariantResult(name, {}, None, (), (summary,), (), ())


def test_best_are_the_means_that_a_paired_test_does_not_tell_from_the_best() -> None:
    def best(measure: str, *values: dict[int, float], without: tuple[str, ...] = ()) -> list[bool]:
        variants = [summarised(str(number), measure, each) for number, each in enumerate(values)]
        return [variant.summaries[0].best for variant in mark_best(variants, without)]

    low, high, near = {1: 20.0, 2: 21.0, 3: 22.0}, {1: 30.0, 2: 31.0, 3: 32.1}, {1: 30.5, 2: 30.0, 3: 32.3}
    assert best("bleu", low, high, near) == [False, True, True]
    assert best("word_loss", low, high, near) == [True, False, False]
    assert best("loss", low, high, without=("loss",)) == [False, False]  # the units differ
    assert best("seconds", low, high) == [False, False]
    assert best("bleu", {1: 20.0}, {1: 30.0}) == [False, False]  # one seed tells nothing
    assert best("bleu", low, {1: 20.0, 4: 90.0}) == [False, False]  # one seed that both have


REFERENCES = ["the red dog is under the table", "a small boy throws the ball", "the cat sleeps"] * 20
GOOD = REFERENCES
BAD = ["the red dog is on a chair", "a small boy has a ball", "the cat runs"] * 20


AGAINST_A = [Contrast("?", name, "a", {name: 1.0, "a": -1.0}) for name in ("b", "c")]


def test_contrasts_are_measured_and_corrected_together() -> None:
    good, bad = count_bleu(GOOD, REFERENCES), count_bleu(BAD, REFERENCES)
    counts = {"a": {1: bad}, "b": {1: good}, "c": {1: bad}}
    mean = Contrast("?", "b", "the mean of a and c", {"a": -0.5, "b": 1.0, "c": -0.5})
    found, remarks = compare_variants([*AGAINST_A, mean], counts, "bleu", "test", 1)
    assert remarks == []
    assert [each.variant + each.against for each in found] == ["ba", "ca", "bthe mean of a and c"]
    assert [each.difference > 0 for each in found] == [True, False, True]
    assert found[1].p == found[1].p_corrected == 1
    assert found[2].difference == pytest.approx(found[0].difference)
    assert found[2].p_these_runs is None
    smallest = min(found, key=lambda each: each.p)
    assert smallest.p_corrected == pytest.approx(3 * smallest.p)
    assert smallest.confidence == pytest.approx(1 - 0.05 / 3)
    assert "both corrected for 3 comparisons" in found[0].in_words


def test_variants_are_compared_on_the_seeds_that_all_of_them_have() -> None:
    good, bad = count_bleu(GOOD, REFERENCES), count_bleu(BAD, REFERENCES)
    counts = {"a": {1: bad, 2: bad}, "b": {2: good, 3: good}, "c": {4: bad}}
    [found], remarks = compare_variants(AGAINST_A, counts, "bleu", "test", 1)
    assert [each.seed for each in found.seeds] == [2]
    assert remarks == [
        "b has 2 finished runs and a has 2 finished runs: they are compared on seed 2, which all of them "
        "have.",
        "c and a cannot be compared: no seed has a finished run of each.",
    ]
    one = count_bleu(GOOD[:1], REFERENCES[:1])
    nothing = compare_variants(AGAINST_A, {"a": {1: one}, "b": {1: one}, "c": {}}, "bleu", "test", 1)
    assert nothing == ([], ["'test' has one sentence only: nothing can be compared on it."])


def translated(hypotheses: list[str], scores: list[float]) -> TranslatedSplit:
    references = REFERENCES * (len(hypotheses) // len(REFERENCES))
    return TranslatedSplit({}, count_bleu(hypotheses, references), hypotheses, scores)


def test_a_wider_beam_that_repairs_errors() -> None:
    """It repairs the first sentence of each three, and does worse by the model on the second."""
    wide_texts = [good if i % 3 < 2 else bad for i, (good, bad) in enumerate(zip(GOOD, BAD, strict=True))]
    scores = [-3.0 + (0.5, -0.5, 0.0)[i % 3] for i in range(60)]
    narrow, wide = translated(BAD, [-3.0] * 60), translated(wide_texts, scores)
    [repair] = compare_beams("mean", "test", {5: [wide, wide], 1: [narrow, narrow]})
    assert (repair.narrow, repair.wide, repair.runs, repair.sentences) == (1, 5, 2, 120)
    assert (repair.better, repair.worse) == (40, 40)
    assert repair.bleu_wide == pytest.approx(100)
    assert repair.bleu_narrow is not None
    assert repair.bleu_narrow < 60
    assert repair.in_words.startswith(
        "mean on test: beam 5 finds a translation that the model likes better for 40 of 2 x 60 sentences "
        f"(33%), whose BLEU goes from {repair.bleu_narrow:.1f} to 100.0. For 40 it finds one the model likes "
        "less. "
    )
    assert repair.in_words.endswith(". 2 runs: a small sample. Only 60 sentences: a small sample.")


def test_the_sentence_about_a_beam() -> None:
    narrow, wide = translated(BAD * 4, [-3.0] * 240), translated(GOOD * 4, [-2.0] * 240)
    for count, share, end in (
        (1, "240 of 240 sentences (100%)", " One run: this says nothing about other seeds."),
        (4, "960 of 4 x 240 sentences (100%)", " 4 runs: a small sample."),
        (5, "1,200 of 5 x 240 sentences (100%)", " 5 runs."),
    ):
        said = compare_beams("mean", "test", {1: [narrow] * count, 5: [wide] * count})[0].in_words
        assert share in said
        assert said.endswith(end)
    narrow, wide = translated(BAD, [-3.0] * 60), translated(BAD, list(-3.0 + np.linspace(-1e-6, 1e-6, 60)))
    [repair] = compare_beams("mean", "test", {1: [narrow], 5: [wide]})
    assert (repair.better, repair.worse, repair.bleu_narrow, repair.bleu_wide) == (0, 0, None, None)
    assert repair.in_words == (
        "mean on test: beam 5 repairs no search error of greedy search. "
        "One run: this says nothing about other seeds. Only 60 sentences: a small sample."
    )
