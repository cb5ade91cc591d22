"""Whether one translator is better than another, or was only luckier with these sentences.

Both tests are sacrebleu's, on the same sentences translated by both. Approximate randomisation swaps the
two translations of a sentence by chance: how often are the mixed outputs further apart than the real
ones? Paired bootstrap resampling draws sentences with replacement: how far do the scores and their
difference vary with the choice of sentences? Both speak of these two models only. Another seed of training
gives another model; what a mechanism is worth, only several of them can say.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from augenmerk.agreement import Agreement
from augenmerk.bitext import SentencePair
from augenmerk.checkpoint import RunDirectory
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import Evaluator, ProgressCallback, ignore_progress

TRIALS = 10_000
"""Of approximate randomisation; as the `sacrebleu` command has it."""
RESAMPLES = 1_000
"""Of the bootstrap; as the `sacrebleu` command has it."""
DOUBTFUL = 0.05
"""From this p on, a difference is said to be possible by chance."""


def compare_runs(
    run: RunDirectory,
    against: RunDirectory,
    splits: Sequence[str],
    device: torch.device,
    *,
    beams: Sequence[int] = (),
    ensemble: Sequence[RunDirectory] = (),
    mbr: bool = False,
    ter: bool = False,
    alignment: Agreement | None = None,
    on_progress: ProgressCallback = ignore_progress,
) -> list[dict[str, Any]]:
    """The rows of `evaluate_run`, each with the paired tests under "baseline"; both runs keep their rows.

    The run against which this is tested is by itself, and by search: so a run can be tested against
    itself, to see what an ensemble or MBR is worth.
    What must be the same is the sentences and not the settings: runs that were trained on more or less
    of a bitext, or with another vocabulary, may well be tested on the same sentences.
    """
    if run.path.resolve() == against.path.resolve() and not ensemble and not mbr:
        raise AugenmerkError(f"{run.path} cannot be compared with itself; name another run.")
    ours = Evaluator(
        run, device, ensemble=ensemble, mbr=mbr, ter=ter, alignment=alignment, on_progress=on_progress
    )
    theirs = Evaluator(against, device, ter=ter, alignment=alignment, on_progress=on_progress)
    pairs = ours.read(splits)
    for split, their_pairs in theirs.read(list(pairs)).items():
        _refuse_other_sentences(split, pairs[split], their_pairs, run.path, against.path)
    beams = beams or [run.config.search.beam]
    rows = []
    for our, their in zip(ours.evaluate(pairs, beams), theirs.evaluate(pairs, beams), strict=True):
        what = f"paired tests: {our.row['split']}, beam {our.row['beam']}"
        on_progress(what, 0, 1)
        found = {}
        for name, comparison in compare_texts(our.hypotheses, their.hypotheses, our.references).items():
            words = comparison.in_words(ours.name, theirs.name)
            found[name] = {**asdict(comparison), "in_words": words}
        on_progress(what, 1, 1)
        rows.append({**our.row, "baseline": {"run": str(against.path), **found}})
    return rows


def _refuse_other_sentences(
    split: str, ours: Sequence[SentencePair], theirs: Sequence[SentencePair], run: Path, against: Path
) -> None:
    if len(ours) != len(theirs):
        why = f"it has {len(ours):,} sentences in the one and {len(theirs):,} in the other"
    else:
        texts = [[(pair.source, pair.target) for pair in pairs] for pairs in (ours, theirs)]
        if texts[0] == texts[1]:
            return
        number = next(i for i, (our, their) in enumerate(zip(*texts, strict=True), 1) if our != their)
        why = f"sentence {number} is not the same in both"
    raise AugenmerkError(
        f"{run} and {against} cannot be compared on '{split}': {why}; "
        f"paired tests need runs that are tested on the same sentences."
    )


@dataclass(frozen=True)
class Comparison:
    """Two scores of the same sentences, in lower case, and how sure their difference is."""

    metric: str
    score: float
    baseline_score: float
    difference: float
    interval: tuple[float, float]
    """95% of the resampled scores: sacrebleu's mean, less and plus half the width."""
    baseline_interval: tuple[float, float]
    p_randomisation: float
    """Chance of such a difference between two outputs of one model. 1 where the scores are equal; sacrebleu,
    which counts larger differences, finds none between equal outputs and says nearly 0."""
    p_bootstrap: float
    trials: int
    resamples: int
    seed: str
    """Of sacrebleu: always the same, unless $SACREBLEU_SEED says otherwise."""
    signature: str

    def in_words(self, name: str, against: str) -> str:
        if not self.difference:
            return f"{name} and {against} have the same {self.metric}."
        size = f"{abs(self.difference):.1f}" if abs(self.difference) >= 0.05 else "less than 0.1"
        side = "above" if self.difference > 0 else "below"
        doubt = ", which may be chance" if max(self.p_randomisation, self.p_bootstrap) >= DOUBTFUL else ""
        return (
            f"{name} is {size} {self.metric} {side} {against}{doubt} "
            f"(p = {self.p_randomisation:.2g} by approximate randomisation, "
            f"{self.p_bootstrap:.2g} by paired bootstrap)."
        )


def compare_texts(
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[str],
    *,
    trials: int = TRIALS,
    resamples: int = RESAMPLES,
) -> dict[str, Comparison]:
    """BLEU and chrF of two translations of the same sentences; the same texts give the same numbers."""
    metrics: dict[str, tuple[str, Metric]] = {
        "bleu": ("BLEU", BLEU(lowercase=True, references=[list(references)])),
        "chrf": ("chrF", CHRF(lowercase=True, references=[list(references)])),
    }
    compared = {}
    for key, (name, metric) in metrics.items():
        randomised = _paired_test("ar", trials, hypotheses, against, metric)
        resampled = _paired_test("bs", resamples, hypotheses, against, metric)
        score, baseline_score = float(resampled.system.score), float(resampled.baseline.score)
        compared[key] = Comparison(
            metric=name,
            score=score,
            baseline_score=baseline_score,
            difference=score - baseline_score,
            interval=_interval(resampled.system),
            baseline_interval=_interval(resampled.baseline),
            p_randomisation=_p(randomised) if score != baseline_score else 1.0,
            p_bootstrap=_p(resampled) if score != baseline_score else 1.0,
            trials=trials,
            resamples=resamples,
            seed=resampled.seed,
            signature=str(metric.get_signature()),
        )
    return compared


class _Tested(NamedTuple):
    seed: str
    baseline: Result
    system: Result


def _paired_test(
    kind: Literal["ar", "bs"], samples: int, system: Sequence[str], baseline: Sequence[str], metric: Metric
) -> _Tested:
    systems = [("baseline", baseline), ("system", system)]
    signatures, results = PairedTest(systems, {"": metric}, None, kind, samples)()
    [(name, signature)] = signatures.items()  # sacrebleu calls chrF by the name of its variant, chrF2
    first, second = results[name]
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    return _Tested(str(signature.info["seed"]), first, second)


def _p(tested: _Tested) -> float:
    assert tested.system.p_value is not None
    return float(tested.system.p_value)


def _interval(result: Result) -> tuple[float, float]:
    assert result.mean is not None
    assert result.ci is not None
    return float(result.mean - result.ci), float(result.mean + result.ci)
