"""Reads the run directories of a study and computes its `StudyResult`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from augenmerk.checkpoint import RunDirectory
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import hypothesis_path, model_score_path, reference_path
from augenmerk.scores import Counts, bleu_from_counts, count_bleu
from augenmerk.significance import estimate_mean
from augenmerk.storage import read_text
from augenmerk.study.compare import (
    FEW_SEEDS,
    TranslatedSplit,
    compare_beams,
    compare_variants,
    count_runs,
    summarise_beam,
)
from augenmerk.study.measure import is_complete, read_probes
from augenmerk.study.plan import PlannedRun, Study, Variant
from augenmerk.study.result import (
    MEASURES,
    Curve,
    CurvePoint,
    DataSum,
    Example,
    ExampleMap,
    LengthBin,
    PaddingCheck,
    Provenance,
    RunResult,
    State,
    StudyResult,
    Summary,
    VariantResult,
    check,
)

CURVES = ("train_loss", "validation_loss", "validation_bleu")
LENGTH_BINS = 5
SAME_SCORE = 1e-3
"""Two scores of a sentence that differ by less differ by rounding; padding that leaks changes them more."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that is trained, scored and probed. Each of its files is read once."""

    planned: PlannedRun
    run: RunDirectory
    _translated: dict[tuple[str, int], TranslatedSplit] = field(default_factory=dict, repr=False)

    @cached_property
    def result(self) -> dict[str, Any]:
        result = self.run.result
        assert result is not None
        return result

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        return self.run.read_metrics()

    @cached_property
    def probes(self) -> dict[str, Any]:
        probes = read_probes(self.run)
        assert probes is not None
        return probes

    @cached_property
    def rows(self) -> dict[tuple[str, int], dict[str, Any]]:
        return {(row["split"], row["beam"]): row for row in self.run.read_scores()}

    def losses(self, split: str) -> Counts:
        """Returns (N, 2): for each sentence the sum over its tokens, and their number."""
        losses = self.probes["losses"][split]
        return np.array([losses["sums"], losses["tokens"]], dtype=np.float64).T

    def translated(self, split: str, beam: int) -> TranslatedSplit:
        """Returns the translations with their n-gram counts, which are computed once."""
        if (split, beam) not in self._translated:
            self._translated[split, beam] = self._read_translated(split, beam)
        return self._translated[split, beam]

    def _read_translated(self, split: str, beam: int) -> TranslatedSplit:
        hypotheses = _read_lines(hypothesis_path(self.run, split, beam))
        counts = count_bleu(hypotheses, _read_lines(reference_path(self.run, split)))
        row = self.rows[split, beam]
        if not math.isclose(float(bleu_from_counts(counts.sum(0))), row["bleu"], abs_tol=1e-6):
            raise AugenmerkError(
                f"{self.run.path}: the hypotheses for '{split}', beam {beam} are not those that were scored."
            )
        scores = [float(line) for line in _read_lines(model_score_path(self.run, split, beam))]
        if not len(scores) == len(self.losses(split)) == len(hypotheses):
            raise AugenmerkError(
                f"{self.run.path}: there are {len(hypotheses)} hypotheses for '{split}', beam {beam}, but "
                f"{len(scores)} scores and {len(self.losses(split))} losses."
            )
        return TranslatedSplit(row, counts, hypotheses, scores)


def _read_lines(path: Path) -> list[str]:
    return read_text(path).split("\n")[:-1]


def read_finished(study: Study, out: Path, planned: PlannedRun) -> FinishedRun | None:
    """Returns the run, or None if it is not finished. Raises AugenmerkError if it is damaged."""
    place = out / planned.place
    if not (place / "config.toml").exists():
        return None
    try:
        finished = FinishedRun(planned, RunDirectory.open(place))
        if not is_complete(finished.run, study.splits, study.beams, study.sentences):
            return None
        # All that the result takes from a run is computed here for this run alone: so it is this run that is
        # reported as damaged.
        for split, beam in product(study.splits, study.beams):
            summarise_beam("", split, beam, [finished.translated(split, beam)])
        check(_variant(study, out, planned.variant, [finished], {}))
        check(_provenance([finished], study.splits))
        for example in _examples({"": [finished]}):
            check(example)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = " ".join(str(error).split())
        raise AugenmerkError(f"{place}: damaged, or not written by Augenmerk ({what}).") from None
    return finished


def collect(
    study: Study,
    out: Path,
    problems: Mapping[str, str] | None = None,
    known: Mapping[str, FinishedRun] | None = None,
) -> StudyResult:
    """Returns what the study has found so far.

    `problems` are those of failed runs, and `known` are finished runs that were read before, both by name.
    """
    problems, known = dict(problems or {}), known or {}
    finished: dict[str, list[FinishedRun]] = {variant.name: [] for variant in study.variants}
    for planned in (run for run in study.runs if run.name not in problems):
        try:
            run = known.get(planned.name) or read_finished(study, out, planned)
        except AugenmerkError as error:
            problems[planned.name] = str(error)
        else:
            finished[planned.variant.name] += [run] if run else []
    everything = [run for runs in finished.values() for run in runs]
    remarks = _remarks(study, finished)
    comparisons, beam_rows, beam_repairs = [], [], []
    for split in study.splits:
        counts = {
            name: {run.planned.seed: run.translated(split, study.beams[0]).counts for run in runs}
            for name, runs in finished.items()
        }
        losses = {
            name: {run.planned.seed: run.losses(split) for run in runs} for name, runs in finished.items()
        }
        for compared, said in (
            compare_variants(counts, "bleu", split, study.beams[0]),
            compare_variants(losses, "loss", split, None),
        ):
            comparisons += compared
            remarks += said
    if len(study.beams) > 1:
        for name, split in product((name for name, runs in finished.items() if runs), study.splits):
            by_beam = {beam: [run.translated(split, beam) for run in finished[name]] for beam in study.beams}
            beam_rows += [summarise_beam(name, split, beam, by_beam[beam]) for beam in sorted(by_beam)]
            beam_repairs += compare_beams(name, split, by_beam)
    return StudyResult(
        name=study.name,
        question=study.question,
        factors=study.factors,
        seeds=study.seeds,
        splits=study.splits,
        beams=study.beams,
        variants=tuple(
            _variant(study, out, variant, finished[variant.name], problems) for variant in study.variants
        ),
        comparisons=tuple(comparisons),
        beam_rows=tuple(beam_rows),
        beam_repairs=tuple(beam_repairs),
        examples=_examples(finished),
        provenance=_provenance(everything, study.splits) if everything else None,
        published=study.published,
        published_source=study.published_source,
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _variant(
    study: Study,
    out: Path,
    variant: Variant,
    finished: Sequence[FinishedRun],
    problems: Mapping[str, str],
) -> VariantResult:
    by_seed = {run.planned.seed: run for run in finished}
    translated = [run.translated(study.splits[0], study.beams[0]) for run in finished]
    return VariantResult(
        name=variant.name,
        settings=variant.settings,
        parameters=finished[0].result["parameters"] if finished else None,
        runs=tuple(
            _run(planned, out, by_seed.get(planned.seed), problems.get(planned.name))
            for planned in study.runs_of(variant)
        ),
        summaries=tuple(_summaries(study, by_seed)) if by_seed else (),
        curves=tuple(_curves(finished)),
        by_length=_by_length(finished[0].probes["source_lengths"], translated) if finished else (),
        remarks=(_sample(len(finished)),),
    )


def _sample(count: int) -> str:
    if not count:
        return "no run is finished yet"
    if count == 1:
        return "one run: nothing can be said about other seeds"
    return f"{count} runs: a small sample" if count < FEW_SEEDS else f"{count} runs"


def _run(planned: PlannedRun, out: Path, done: FinishedRun | None, problem: str | None) -> RunResult:
    place = planned.place.as_posix()
    if done is None:
        begun = (out / planned.place / "config.toml").exists()
        state: State = "failed" if problem else "unfinished" if begun else "missing"
        return RunResult(planned.seed, place, state, problem)
    result = done.result
    return RunResult(
        planned.seed,
        place,
        "finished",
        epochs=result["epochs"],
        best_epoch=result["best_epoch"],
        seconds=result["seconds"],
        device=result["device"],
        precision=result["precision"],
    )


def _summaries(study: Study, done: Mapping[int, FinishedRun]) -> list[Summary]:
    """Returns all measures in the order of `MEASURES`, without those that no run has."""
    found: list[Summary] = []

    def add(measure: str, split: str | None, beam: int | None, values: Mapping[int, Any]) -> None:
        known = {seed: float(value) for seed, value in values.items() if value is not None}
        known = {seed: value for seed, value in known.items() if math.isfinite(value)}
        if known:
            mean, variance, interval = estimate_mean(list(known.values()))
            # Times vary more with what else the machine did than with seeds.
            interval = None if measure == "seconds" else interval
            found.append(Summary(measure, split, beam, known, mean, variance, interval))

    for measure in ("validation_loss", "validation_perplexity", "seconds"):
        add(measure, None, None, {seed: each.result.get(measure) for seed, each in done.items()})
    for split in study.splits:
        errors = {seed: each.probes["alignment_error"][split] for seed, each in done.items()}
        add("alignment_error", split, None, errors)
        for measure in ("loss", "perplexity", "word_perplexity"):
            first = study.beams[0]  # the same under every beam
            add(measure, split, None, {seed: each.rows[split, first][measure] for seed, each in done.items()})
        for beam in study.beams:
            for measure in ("bleu", "chrf", "length_ratio"):
                rows = {seed: each.rows[split, beam][measure] for seed, each in done.items()}
                add(measure, split, beam, rows)
    order = list(MEASURES)
    return sorted(found, key=lambda each: order.index(each.measure))


def _curves(finished: Sequence[FinishedRun]) -> list[Curve]:
    histories = [each.metrics for each in finished]
    curves = []
    for measure in CURVES:
        points = []
        for epoch in range(max(map(len, histories), default=0)):
            there = [history[epoch].get(measure) for history in histories if epoch < len(history)]
            values = [value for value in there if value is not None]
            if values:
                mean = math.fsum(values) / len(values)
                points.append(CurvePoint(epoch + 1, len(values), mean, min(values), max(values)))
        if points:
            curves.append(Curve(measure, tuple(points)))
    return curves


def _by_length(lengths: Sequence[int], translated: Sequence[TranslatedSplit]) -> tuple[LengthBin, ...]:
    """Returns BLEU in bins of about equally many sentences; a length is never in two bins."""
    words = np.array(lengths)
    cuts = sorted({int(cut) for cut in np.quantile(words, np.arange(1, LENGTH_BINS + 1) / LENGTH_BINS)})
    bins, shortest = [], int(words.min())
    for longest in cuts:
        those = (words >= shortest) & (words <= longest)
        if those.any():
            bleu = [float(bleu_from_counts(each.counts[those].sum(0))) for each in translated]
            mean = math.fsum(bleu) / len(bleu)
            bins.append(LengthBin(shortest, longest, int(those.sum()), mean, min(bleu), max(bleu)))
        shortest = longest + 1
    return tuple(bins)


def _examples(finished: Mapping[str, Sequence[FinishedRun]]) -> tuple[Example, ...]:
    """Returns the examples with the attention of the first finished run of each variant."""
    first = [some[0] for some in finished.values() if some]
    if not first:
        return ()
    examples = []
    for number, example in enumerate(first[0].probes["examples"]):
        maps = []
        for each in first:
            shown = each.probes["examples"][number]
            weights = tuple(tuple(row) for row in shown["attention"])
            maps.append(
                ExampleMap(
                    each.planned.variant.name,
                    each.planned.seed,
                    shown["translation"],
                    tuple(shown["target_words"]),
                    weights,
                )
            )
        source, words = example["source"], tuple(example["source_words"])
        examples.append(Example(source, words, example["reference"], tuple(maps)))
    return tuple(examples)


def _remarks(study: Study, finished: Mapping[str, Sequence[FinishedRun]]) -> list[str]:
    remarks = []
    missing = len(study.runs) - sum(map(len, finished.values()))
    if missing:
        remarks.append(f"{missing} of {len(study.runs)} runs are not finished: figures may still change.")
    for name, some in finished.items():
        if not some:
            remarks.append(f"No run of {name} is finished yet: it is left out of the comparisons.")
        elif len(some) == 1:
            remarks.append(f"{name} has {count_runs(1)}: there is no variance, and no interval over seeds.")
    if len(study.variants) == 1 and len(study.beams) == 1:
        remarks.append("There is one variant: nothing is compared with it.")
    counts = {len(some) for some in finished.values() if some}
    if counts and max(counts) < FEW_SEEDS:
        remarks.append(
            f"At most {count_runs(max(counts))} of each variant: a small sample. Intervals of means over "
            f"so few seeds are wide, and rightly so."
        )
    return remarks


def _provenance(runs: Sequence[FinishedRun], splits: Sequence[str]) -> Provenance:
    """Returns where the figures come from, and remarks on what is not the same in all runs."""
    first, probes = runs[0], [run.probes for run in runs]
    remarks = []
    if any(probe["data"] != first.probes["data"] for probe in probes):
        remarks.append("Not all runs have read the same sentences: the sums are those of the first run.")
    for name, version in first.probes["software"].items():
        others = {probe["software"][name] for probe in probes} - {version}
        if others:
            remarks.append(
                f"{name} is {version} in the first run, but {', '.join(sorted(others))} in others."
            )
    signatures: dict[str, str] = {}
    for (split, _), row in first.rows.items():
        if split in splits:
            signatures |= {"BLEU": row["bleu_signature"], "chrF": row["chrf_signature"]}
    return Provenance(
        config=first.run.config.to_toml(),
        bitext=first.run.config.data.bitext,
        data=tuple(DataSum(**each) for each in first.probes["data"]),
        software=dict(first.probes["software"]),
        hardware=tuple(dict.fromkeys(probe["hardware"] for probe in probes)),
        seconds=math.fsum(run.result["seconds"] for run in runs),
        signatures=signatures,
        padding=_padding([probe["padding"] for probe in probes]),
        remarks=tuple(remarks),
    )


def _padding(checks: Sequence[Mapping[str, Any]]) -> PaddingCheck:
    different = sum(check["different_texts"] for check in checks)
    largest = max(check["largest_difference"] for check in checks)
    sentences = checks[0]["sentences"]
    total = sum(check["sentences"] for check in checks)
    words = f"{sentences} sentences of each run were translated alone and, padded, in batches: "
    if different or largest > SAME_SCORE:
        words += f"{different} of {total} translations differ, and log-probabilities by up to {largest:.2g}."
    else:
        words += f"all {total} translations are the same, and log-probabilities to within {largest:.2g}."
    return PaddingCheck(len(checks), sentences, different, largest, words)
