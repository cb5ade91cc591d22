"""Findings in words: what is said follows from the numbers, doubts included."""

from dataclasses import replace

import numpy as np
import pytest

from augenmerk.scores import count_bleu
from augenmerk.study.compare import TranslatedSplit, compare_beams, compare_variants, comparison_in_words
from augenmerk.study.result import ComparisonResult, SeedComparison

FOUND = ComparisonResult(
    variant="scaled-dot",
    against="mean",
    measure="bleu",
    split="test",
    beam=1,
    sentences=1000,
    seeds=tuple(SeedComparison(seed, 11.3, 0.001) for seed in (1, 2, 3)),
    difference=11.31,
    interval=(10.62, 12.0),
    interval_covers="sentences and seeds",
    degrees_of_freedom=9.0,
    seed_deviation=0.4,
    sentence_deviation=0.2,
    p=0.0001,
    p_corrected=0.0003,
    trials=10_000,
    resamples=2_000,
    in_words="",
)
SMALL = "3 pairs of runs: a small sample."
FIVE = tuple(SeedComparison(seed, 1.0, 0.01) for seed in range(5))


@pytest.mark.parametrize(
    ("changed", "family", "words"),
    [
        (
            {},
            3,
            "scaled-dot is 11.3 BLEU above mean on test with greedy search, 95% 10.6 to 12.0 (p < 0.001, "
            f"corrected for 3 comparisons). {SMALL}",
        ),
        (
            {"difference": -11.31, "interval": (-12.0, -10.62), "beam": 5},
            1,
            f"scaled-dot is 11.3 BLEU below mean on test with beam 5, 95% 10.6 to 12.0 (p < 0.001). {SMALL}",
        ),
        (
            {"difference": 0.31, "interval": (-0.52, 1.14), "p_corrected": 0.07},
            1,
            "scaled-dot is 0.3 BLEU above mean on test with greedy search, 95% -0.5 to 1.1 (p = 0.07), which "
            f"may be chance. {SMALL}",
        ),
        (
            {"difference": -0.31, "interval": (-1.14, 0.52), "p_corrected": 0.0213},
            1,
            "scaled-dot is 0.3 BLEU below mean on test with greedy search, 95% -0.5 to 1.1 (p = 0.021); "
            f"these runs do differ, but others may not. {SMALL}",
        ),
        (
            {"seeds": FIVE, "difference": 0.01, "interval": (0.005, 0.015)},
            1,
            "scaled-dot and mean differ by less than 0.1 BLEU on test with greedy search, 95% interval "
            "included (p < 0.001). 5 pairs of runs.",
        ),
        (
            {"seeds": FIVE, "difference": -0.01, "interval": (-0.04, 0.03), "p_corrected": 0.5},
            1,
            "scaled-dot and mean differ by less than 0.1 BLEU on test with greedy search, 95% interval "
            "included (p = 0.5), which may be chance. 5 pairs of runs.",
        ),
        (
            {"difference": -0.01, "interval": (-0.84, 0.82), "p_corrected": 0.9},
            1,
            "scaled-dot and mean differ by less than 0.1 BLEU on test with greedy search, 95% from 0.8 below "
            f"to 0.8 above (p = 0.9), which may be chance. {SMALL}",
        ),
        (
            {"measure": "loss", "beam": None, "difference": -0.0002, "interval": (-0.0004, 0.0)},
            1,
            "The loss of scaled-dot and that of mean differ by less than 0.001 on test, 95% interval "
            f"included (p < 0.001); these runs do differ, but others may not. {SMALL}",
        ),
        (
            {"seeds": FIVE[:1], "seed_deviation": None, "sentences": 50},
            1,
            "scaled-dot is 11.3 BLEU above mean on test with greedy search, 95% 10.6 to 12.0 (p < 0.001). "
            "One run of each: this says nothing about other seeds. Only 50 sentences: a small sample.",
        ),
        (
            {"measure": "loss", "beam": None, "difference": -0.8951, "interval": (-1.03, -0.7604)},
            1,
            "The loss of scaled-dot is 0.895 below that of mean on test, 95% 0.760 to 1.030 (p < 0.001). "
            f"{SMALL}",
        ),
        (
            {"difference": 0.0, "interval": (0.0, 0.0), "sentence_deviation": 0.0, "seed_deviation": 0.0},
            1,
            "scaled-dot and mean have the same BLEU on test with greedy search whatever sentences are drawn: "
            "no difference.",
        ),
    ],
)
def test_findings_in_words(changed: dict[str, object], family: int, words: str) -> None:
    assert comparison_in_words(replace(FOUND, **changed), family) == words  # type: ignore[arg-type]


REFERENCES = ["the red dog is under the table", "a small boy throws the ball", "the cat sleeps"] * 20
GOOD = REFERENCES
BAD = ["the red dog is on a chair", "a small boy has a ball", "the cat runs"] * 20


def test_every_two_variants_are_compared_and_corrected_together() -> None:
    good, bad = count_bleu(GOOD, REFERENCES), count_bleu(BAD, REFERENCES)
    found, remarks = compare_variants({"a": {1: bad}, "b": {1: good}, "c": {1: bad}}, "bleu", "test", 1)
    assert remarks == []
    assert [(each.variant, each.against) for each in found] == [("b", "a"), ("c", "a"), ("c", "b")]
    assert [each.difference > 0 for each in found] == [True, False, False]
    assert found[1].p == found[1].p_corrected == 1
    smallest = min(found, key=lambda each: each.p)
    assert smallest.p_corrected == pytest.approx(3 * smallest.p)
    assert "corrected for 3 comparisons" in found[0].in_words


def translated(hypotheses: list[str], scores: list[float]) -> TranslatedSplit:
    references = REFERENCES * (len(hypotheses) // len(REFERENCES))
    return TranslatedSplit({}, count_bleu(hypotheses, references), hypotheses, scores)


def test_a_wider_beam_that_finds_the_same() -> None:
    narrow, wide = translated(BAD, [-3.0] * 60), translated(BAD, list(-3.0 + np.linspace(-1e-6, 1e-6, 60)))
    [repair] = compare_beams("mean", "test", {1: [narrow], 5: [wide]})
    assert (repair.better, repair.worse, repair.bleu_narrow, repair.bleu_wide) == (0, 0, None, None)
    assert repair.in_words == (
        "mean on test: beam 5 repairs no search error of greedy search. "
        "One run: this says nothing about other seeds. Only 60 sentences: a small sample."
    )


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


def test_the_sentence_about_a_beam_says_on_how_many_runs_it_rests() -> None:
    narrow, wide = translated(BAD * 4, [-3.0] * 240), translated(GOOD * 4, [-2.0] * 240)
    said = {
        count: compare_beams("mean", "test", {1: [narrow] * count, 5: [wide] * count})[0].in_words
        for count in (1, 4, 5)
    }
    assert "240 of 240 sentences (100%)" in said[1]
    assert "960 of 4 x 240 sentences (100%)" in said[4]
    assert said[1].endswith(" One run: this says nothing about other seeds.")
    assert said[4].endswith(" 4 runs: a small sample.")
    assert said[5].endswith(" 5 runs.")
