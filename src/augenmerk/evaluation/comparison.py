"""Compares a run with another run or with the output of another system: `augenmerk evaluate --baseline`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import SentencePair
from augenmerk.data.lines import read_lines
from augenmerk.evaluation.evaluator import Evaluation, Evaluator, save_row
from augenmerk.evaluation.metrics import list_text_metrics, score_texts
from augenmerk.evaluation.significance import (
    ALPHA,
    RESAMPLES,
    SEED,
    TRIALS,
    bootstrap,
    bootstrap_p_value,
    difference_in_words,
    few_sentences_in_words,
    p_value,
    randomise,
)


@dataclass(frozen=True)
class Comparison:
    """Two scores of the same sentences, and how certain their difference is."""

    metric: str
    score: float
    baseline_score: float
    difference: float
    sentences: int
    interval: tuple[float, float]
    """95% of the resampled scores, as sacrebleu computes it: their mean plus and minus half the width."""
    baseline_interval: tuple[float, float]
    p_randomisation: float
    p_bootstrap: float
    """Two-sided: how often resampled differences are as far from their mean as the real one is from 0."""
    trials: int
    resamples: int
    seed: int


def compare_texts(
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    *,
    trials: int = TRIALS,
    resamples: int = RESAMPLES,
) -> dict[str, Comparison]:
    """Compares two translations of the same sentences, by BLEU, chrF and other metrics with counts."""
    compared = {}
    for key, entry in list_text_metrics().items():
        metric = entry.load()
        if entry.option or not metric.has_counts:
            continue
        ours, theirs = (metric.count(texts, references)[None] for texts in (hypotheses, baseline))
        score, baseline_score = (float(metric.from_counts(counts.sum(1))[0]) for counts in (ours, theirs))
        difference = score - baseline_score
        both = bootstrap(np.stack([ours, theirs]), metric.from_counts, resamples)[..., 0].T
        swapped = randomise(ours, theirs, metric.from_counts, trials)
        compared[key] = Comparison(
            metric=entry.heading,
            score=score,
            baseline_score=baseline_score,
            difference=difference,
            sentences=ours.shape[1],
            interval=_resampled_interval(both[0], entry.lowest, entry.highest),
            baseline_interval=_resampled_interval(both[1], entry.lowest, entry.highest),
            p_randomisation=p_value(np.abs(swapped), abs(difference)),
            p_bootstrap=bootstrap_p_value(both[0] - both[1], difference),
            trials=trials,
            resamples=resamples,
            seed=SEED,
        )
    return compared


def _resampled_interval(scores: NDArray[np.float64], lowest: float, highest: float) -> tuple[float, float]:
    """Returns the 95% interval around the mean of resampled scores, within what is possible."""
    ordered, outside = np.sort(scores), len(scores) // 40  # 2.5% on each side
    half = (ordered[-1 - outside] - ordered[outside]) / 2
    return max(lowest, float(scores.mean() - half)), min(highest, float(scores.mean() + half))


def compare_runs(
    ours: Evaluator, theirs: Evaluator, splits: Sequence[str], beams: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Returns the rows of `ours`, each with the paired tests under "baseline"; both runs keep their rows.

    A run can be compared with itself to see what an ensemble or MBR is worth. Both runs are tested on the
    same sentences; settings and training data may differ.
    """
    run, baseline = ours.run, theirs.run
    if run.path.resolve() == baseline.path.resolve() and ours.row_labels == theirs.row_labels:
        raise AugenmerkError(f"{run.path} cannot be compared with itself; name another run.")
    pairs = ours.read_splits(splits)
    for split, their_pairs in theirs.read_splits(list(pairs)).items():
        if problem := describe_other_sentences(pairs[split], their_pairs):
            raise AugenmerkError(
                f"{run.path} and {baseline.path} cannot be compared on '{split}': {problem}; "
                f"paired tests need runs that are tested on the same sentences."
            )
    beams = beams or [run.config.search.beam]
    with ours.translator, theirs.translator:
        evaluations = list(zip(ours.evaluate(pairs, beams), theirs.evaluate(pairs, beams), strict=True))
    label = {"run": str(baseline.path)}
    return [_add_tests(ours, our, their.hypotheses, theirs.name, label) for our, their in evaluations]


def compare_with_file(
    ours: Evaluator, file: Path, splits: Sequence[str], beams: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Scores the output of another system, a translation on each line, beside that of a run.

    Returns the rows of `ours`, each with the paired tests under "baseline", and then the row of the file. The
    run keeps the row of the file in its other_scores.json, with a copy of the file in `hypotheses`.
    """
    pairs = ours.read_splits(splits)
    if len(pairs) > 1:
        raise AugenmerkError(f"{file} has the translations of one split; give one --split.")
    [(split, sentences)] = pairs.items()
    lines = list(read_lines(file))
    if len(lines) != len(sentences):
        found = f"{len(lines):,} line{'' if len(lines) == 1 else 's'}"
        raise AugenmerkError(
            f"{file} has {found}; '{split}' of {ours.bitext.name} has {len(sentences):,} pairs."
        )
    with ours.translator:
        evaluations = ours.evaluate(pairs, beams)
    label = {"hypotheses": str(file.resolve())}
    data = {"data": ours.row_labels["data"]} if "data" in ours.row_labels else {}
    scores = score_texts(lines, evaluations[0].references, ours.metrics)
    their_row: dict[str, Any] = {"split": split, **label, **data, **scores, "sentences": len(lines)}
    save_row(ours.run, their_row, lines, [])
    return [*(_add_tests(ours, our, lines, str(file), label) for our in evaluations), their_row]


def _add_tests(
    ours: Evaluator, our: Evaluation, baseline: Sequence[str], name: str, label: dict[str, str]
) -> dict[str, Any]:
    """Returns a row with paired tests against other translations of the same sentences."""
    what = f"paired tests: {our.row['split']}, beam {our.row['beam']}"
    ours.on_progress(what, 0, 1)
    tests = {
        key: {
            **asdict(comparison),
            "signature": our.row[f"{key}_signature"],
            "in_words": describe_comparison(comparison, ours.name, name),
        }
        for key, comparison in compare_texts(our.hypotheses, baseline, our.references).items()
    }
    ours.on_progress(what, 1, 1)
    return {**our.row, "baseline": {**label, **tests}}


def describe_other_sentences(ours: Sequence[SentencePair], theirs: Sequence[SentencePair]) -> str | None:
    """Returns where two test sets differ, or None."""
    if len(ours) != len(theirs):
        return f"it has {len(ours):,} sentences in the one and {len(theirs):,} in the other"
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True), 1):
        if (our.source, our.target) != (their.source, their.target):
            return f"sentence {number} is not the same in both"
    return None


def describe_comparison(comparison: Comparison, name: str, baseline: str) -> str:
    """Returns which of two systems is better, by how much, and whether that may be chance."""
    if not comparison.difference:
        return f"{name} and {baseline} have the same {comparison.metric}."
    small = [p < ALPHA for p in (comparison.p_randomisation, comparison.p_bootstrap)]
    doubt = "" if all(small) else ", which may be chance"
    if any(small) and not all(small):
        doubt += ": the two tests disagree"  # on few sentences, the bootstrap finds too much
    # "BLEU" can be read as a unit, "same length" cannot.
    unit = f"{' points of' if comparison.metric.islower() else ''} {comparison.metric}"
    gap = difference_in_words(name, baseline, comparison.difference, unit)
    return (
        f"{gap}{doubt} (p = {comparison.p_randomisation:.2g} by approximate randomisation, "
        f"{comparison.p_bootstrap:.2g} by paired bootstrap).{few_sentences_in_words(comparison.sentences)}"
    )
