"""Compares variants with each other, and wide beams with narrow ones, in numbers and in sentences.

`augenmerk.evaluation.significance` says how the numbers are computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from augenmerk.evaluation.metrics import Counts, Score, bleu_from_counts, ratio_from_counts
from augenmerk.evaluation.significance import (
    ALPHA,
    RESAMPLES,
    TRIALS,
    Effect,
    difference_in_words,
    estimate_mean,
    few_sentences_in_words,
    holm_factors,
    measure_effects,
    p_value,
    randomise,
    rounds_to_zero,
)
from augenmerk.study.measure import TranslatedSplit
from augenmerk.study.plan import Contrast
from augenmerk.study.result import (
    MEASURES,
    BeamRepair,
    BeamRow,
    ComparisonResult,
    SeedComparison,
    VariantResult,
    Verdict,
    describe_doubt,
)

FEW_SEEDS = 5
"""A study with fewer seeds is called a small sample."""
ROUNDING = 1e-4
"""Model scores closer than this are equal: they were computed in other batches."""

CountsBySeed = Mapping[int, Counts]  # the counts (N, C) of each finished run of a variant


def _randomise(ours: Counts, theirs: Counts, score: Score) -> float:
    """Returns p for these runs only."""
    real = float((score(ours.sum(1)) - score(theirs.sum(1))).mean())
    return p_value(np.abs(randomise(ours, theirs, score, TRIALS).mean(1)), abs(real))


def _test(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    """Returns the fields of findings about a test, corrected for the number of effects."""
    return [
        {
            "difference": effect.mean,
            "interval": effect.interval(ALPHA / factor),
            "confidence": 1 - ALPHA / factor,
            "p": effect.p,
            "p_corrected": min(1.0, factor * effect.p),
            "in_words": "",
        }
        for effect, factor in zip(effects, holm_factors([effect.p for effect in effects]), strict=True)
    ]


# Variants


def compare_variants(
    contrasts: Sequence[Contrast],
    counts: Mapping[str, CountsBySeed],
    measure: Literal["bleu", "word_loss"],
    split: str,
    beam: int | None,
) -> tuple[list[ComparisonResult], list[str]]:
    """Measures each contrast on the seeds that all its variants have.

    Returns the comparisons, and remarks about variants that share only some seeds, or none.
    """
    measured, remarks = list[tuple[Contrast, list[int], Effect, float | None]](), list[str]()
    score = bleu_from_counts if measure == "bleu" else ratio_from_counts
    for contrast in contrasts:
        involved = {name: weight for name, weight in contrast.weights.items() if weight}
        has = {name: counts[name].keys() for name in involved}
        if not all(has.values()):
            continue
        seeds = sorted(set.intersection(*map(set, has.values())))
        if not seeds:
            names = " and ".join(involved)
            remarks.append(f"{names} cannot be compared: no seed has a finished run of each.")
            continue
        if any(its != set(seeds) for its in has.values()):
            runs = " and ".join(f"{name} has {count_runs(len(its))}" for name, its in has.items())
            shared = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
            remarks.append(f"{runs}: they are compared on {shared}, which all of them have.")
        stacked = np.stack([[counts[name][seed] for seed in seeds] for name in involved])
        if stacked.shape[2] < 2:
            remarks.append(f"'{split}' has one sentence only: nothing can be compared on it.")
            continue
        [effect] = measure_effects(stacked, np.array([list(involved.values())]), score)
        is_pair = sorted(involved.values()) == [-1, 1]  # others cannot be swapped
        p = _randomise(stacked[0], stacked[1], score) if is_pair else None
        measured.append((contrast, seeds, effect, p))
    compared = []
    tests = _test([effect for _, _, effect, _ in measured])
    for (contrast, seeds, effect, p), test in zip(measured, tests, strict=True):
        found = ComparisonResult(
            **vars(contrast),
            **test,
            measure=measure,
            split=split,
            beam=beam,
            sentences=effect.sentences,
            seeds=tuple(map(SeedComparison, seeds, effect.values)),
            interval_covers="sentences and seeds" if len(seeds) > 1 else "sentences",
            seed_deviation=effect.v_seeds**0.5 if len(seeds) > 1 else None,
            sentence_deviation=effect.v_sentences**0.5,
            p_these_runs=p,
            trials=TRIALS,
            resamples=RESAMPLES,
        )
        compared.append(replace(found, in_words=comparison_in_words(found, len(measured))))
    return compared, remarks


def _find_best(values: Mapping[str, Mapping[int, float]], better: Literal["higher", "lower"]) -> set[str]:
    """Returns the variant with the best mean, and those that a paired t test does not tell from it.

    The choice of sentences is left out. Returns nothing if no variant can be told from the best.
    """
    sign = 1 if better == "higher" else -1
    means = {name: sign * float(np.mean(list(by_seed.values()))) for name, by_seed in values.items()}
    first = max(means, key=lambda name: means[name])
    best = {first}
    for name, by_seed in values.items():
        seeds = sorted(by_seed.keys() & values[first].keys())
        gaps = [values[first][seed] - by_seed[seed] for seed in seeds]
        interval = estimate_mean(gaps).interval if len(gaps) > 1 else None
        if interval is None or interval[0] <= 0 <= interval[1]:
            best.add(name)
    return best if len(best) < len(values) else set()


def mark_best(variants: Sequence[VariantResult], incomparable: Sequence[str]) -> tuple[VariantResult, ...]:
    """Marks the best means of the measures that can be compared."""
    values: dict[tuple[str, str | None, int | None], dict[str, dict[int, float]]] = {}
    for variant in variants:
        for each in variant.summaries:
            values.setdefault((each.measure, each.split, each.beam), {})[variant.name] = each.values
    best = {
        key: _find_best(by_variant, better)
        for key, by_variant in values.items()
        if (better := MEASURES[key[0]].better) != "neither" and key[0] not in incomparable
    }
    marked = []
    for variant in variants:
        names = [best.get((each.measure, each.split, each.beam), set()) for each in variant.summaries]
        pairs = zip(variant.summaries, names, strict=True)
        summaries = tuple(replace(each, best=variant.name in its) for each, its in pairs)
        marked.append(replace(variant, summaries=summaries))
    return tuple(marked)


def answer_questions(
    contrasts: Sequence[Contrast], compared: Sequence[ComparisonResult]
) -> tuple[Verdict, ...]:
    """Returns a verdict for each question, from its comparisons by BLEU on the study's first split."""
    verdicts = []
    for question in dict.fromkeys(contrast.question for contrast in contrasts):
        found = [each for each in compared if each.question == question]
        verdicts.append(Verdict(question, _answer(found), tuple(each.in_words for each in found)))
    return tuple(verdicts)


def _answer(found: Sequence[ComparisonResult]) -> str:
    if not found:
        return "Too few runs are finished to tell."
    clear = [each for each in found if each.difference and not describe_doubt(each)]
    limit = "" if len(found[0].seeds) > 1 else " This is about one seed only."
    if len(found) == 1:
        [only] = found
        gap = difference_in_words(only.variant, only.against, only.difference, " BLEU")
        none = f"No difference was found between {only.variant} and {only.against}"
        return f"{gap if clear else none}.{limit}"
    everywhere = "both" if len(found) == 2 else f"all {len(found)}"
    among = everywhere if len(clear) == len(found) else f"{len(clear)} of {len(found)}"
    answer = f"A difference was found in {among}" if clear else f"No difference was found in {len(found)}"
    return f"{answer} comparisons.{limit}"


# Beams: a search error is a sentence for which the search missed a translation that the model scores higher.
# How many there are in all is not known, but those that a wider beam repairs can be counted.


def summarise_beam(variant: str, rows: Sequence[Mapping[str, Any]]) -> BeamRow:
    """Summarises the scores of runs on a split with the same beam."""
    bleu = [row["bleu"] for row in rows]
    means = {k: float(np.mean([row[k] for row in rows])) for k in ("bleu", "length_ratio", "model_score")}
    # Runs that are measured at the same time slow each other down: the fastest was disturbed least.
    seconds = 1 / max(row["sentences_per_second"] for row in rows)
    lowest_and_highest = {"bleu_low": min(bleu), "bleu_high": max(bleu)}
    split, beam = rows[0]["split"], rows[0]["beam"]
    return BeamRow(
        variant, split, beam, len(rows), seconds_per_sentence=seconds, **means, **lowest_and_highest
    )


def compare_beams(
    variant: str, split: str, beams: Mapping[int, Sequence[TranslatedSplit]]
) -> list[BeamRepair]:
    """Compares each wider beam with the narrowest; the runs are in the same order under every beam."""
    narrow, *wider = sorted(beams)
    if len(beams[narrow][0].hypotheses) < 2:
        return []
    counts = {beam: np.stack([run.counts for run in runs]) for beam, runs in beams.items()}
    signs = np.array([[1.0, -1.0]])
    effects = [
        measure_effects(np.stack([counts[wide], counts[narrow]]), signs, bleu_from_counts)[0]
        for wide in wider
    ]
    found = []
    for wide, test in zip(wider, _test(effects), strict=True):
        better, worse = [], 0
        for before, after in zip(beams[narrow], beams[wide], strict=True):
            gain = np.array(after.scores) - np.array(before.scores)
            changed = np.array([a != b for a, b in zip(after.hypotheses, before.hypotheses, strict=True)])
            better.append(changed & (gain > ROUNDING))
            worse += int((changed & (gain < -ROUNDING)).sum())
        chosen = np.array(better)  # (runs, sentences)
        repaired = {beam: bleu_from_counts(counts[beam][chosen].sum(0)) for beam in (narrow, wide)}
        repair = BeamRepair(
            variant=variant,
            split=split,
            narrow=narrow,
            wide=wide,
            runs=len(chosen),
            sentences=chosen.size,
            better=int(chosen.sum()),
            worse=worse,
            bleu_narrow=float(repaired[narrow]) if chosen.any() else None,
            bleu_wide=float(repaired[wide]) if chosen.any() else None,
            **test,
            p_these_runs=_randomise(counts[wide], counts[narrow], bleu_from_counts),
        )
        found.append(replace(repair, in_words=_repair_in_words(repair, len(wider))))
    return found


# Sentences


def comparison_in_words(compared: ComparisonResult, family: int) -> str:
    """Returns the finding, what it may owe to chance, and on how many runs and sentences it rests.

    `family` is the number of comparisons for which p was corrected.
    """
    name, against, difference = compared.variant, compared.against, compared.difference
    if compared.measure == "word_loss":
        metric, digits, where = "loss per word", 3, f"on {compared.split}"
        sides, unit = (f"The loss per word of {name}", f"that of {against}"), ""
    else:
        metric, digits, where = "BLEU", 1, f"on {compared.split} with {_beam_in_words(compared.beam or 1)}"
        sides, unit = (name, against), " BLEU"
    if not any((difference, *compared.interval)):
        same = f"{name} and {against} have the same {metric} {where}"
        return f"{same} whatever sentences are drawn: no difference."
    gap = difference_in_words(*sides, difference, unit, digits)
    sample = _sample_in_words(len(compared.seeds), "One run of each", "seeds", compared.sentences)
    return f"{gap} {where}, {_certainty_in_words(compared, family, 'comparisons', digits)}. {sample}"


def _repair_in_words(repair: BeamRepair, family: int) -> str:
    narrow, wide = _beam_in_words(repair.narrow), _beam_in_words(repair.wide)
    share, each = repair.better / repair.sentences, repair.sentences // repair.runs
    sample = _sample_in_words(repair.runs, "One run", "runs", each)
    if repair.bleu_narrow is None or repair.bleu_wide is None:
        return f"{repair.variant} on {repair.split}: {wide} repairs no search error of {narrow}. {sample}"
    # Three runs translate the same sentences, which must not look like three times as many.
    total = f"{each:,}" if repair.runs == 1 else f"{repair.runs} x {each:,}"
    cost = f" For {repair.worse:,} it finds one the model likes less." if repair.worse else ""
    overall = difference_in_words(wide, narrow, repair.difference, " BLEU")
    return (
        f"{repair.variant} on {repair.split}: {wide} finds a translation that the model likes better for "
        f"{repair.better:,} of {total} sentences ({share:.0%}), whose BLEU goes from "
        f"{repair.bleu_narrow:.1f} to {repair.bleu_wide:.1f}.{cost} On all sentences {overall}, "
        f"{_certainty_in_words(repair, family, 'widths', 1)}. {sample}"
    )


def _certainty_in_words(found: ComparisonResult | BeamRepair, family: int, what: str, digits: int) -> str:
    """Returns the interval and p of a difference, and whether it may be due to sentences or seeds."""
    low, high = found.interval
    doubt = ", which may be chance" if describe_doubt(found) else ""
    if rounds_to_zero(low, digits) and rounds_to_zero(high, digits):
        interval = "at both ends of the 95% interval too"
    elif rounds_to_zero(found.difference, digits):
        ends = (f"{abs(end):.{digits}f} {'above' if end > 0 else 'below'}" for end in (low, high))
        interval = f"95% from {' to '.join(ends)}"
    else:
        if found.difference < 0:  # then the interval is how far below
            low, high = -high, -low
        interval = f"95% {low:z.{digits}f} to {high:z.{digits}f}"  # z: no sign before a zero
    corrected = f"; both corrected for {family} {what}" if family > 1 else ""
    runs = found.p_these_runs
    these = "" if runs is None else f"; for these runs only, {_p_in_words(runs)}"
    return f"{interval} ({_p_in_words(found.p_corrected)}{corrected}{these}){doubt}"


def _p_in_words(p: float) -> str:
    return f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"


def _sample_in_words(seeds: int, one: str, several: str, sentences: int) -> str:
    few = few_sentences_in_words(sentences)
    if seeds == 1:
        return f"{one}: this says nothing about other seeds.{few}"
    small = ": a small sample" if seeds < FEW_SEEDS else ""
    return f"{seeds} {several}{small}.{few}"


def _beam_in_words(beam: int) -> str:
    return "greedy search" if beam == 1 else f"beam {beam}"


def count_runs(count: int) -> str:
    return "1 finished run" if count == 1 else f"{count} finished runs"
