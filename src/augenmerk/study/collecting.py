"""From run directories to `StudyResult`: reads what the runs measured, and lets it be compared."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from augenmerk.checkpoint import RunDirectory
from augenmerk.errors import AugenmerkError
from augenmerk.study.beams import Translated, beam_repairs, beam_row
from augenmerk.study.comparing import FEW_SEEDS, compare_variants, runs
from augenmerk.study.finished import Finished
from augenmerk.study.measuring import is_done
from augenmerk.study.plan import PlannedRun, Study, Variant
from augenmerk.study.provenance import provenance_of
from augenmerk.study.resampling import bleu_score
from augenmerk.study.result import (
    MEASURES,
    Curve,
    CurvePoint,
    Example,
    ExampleMap,
    LengthBin,
    RunResult,
    State,
    StudyResult,
    Summary,
    VariantResult,
    check,
)
from augenmerk.study.statistics import summarise

CURVES = ("train_loss", "validation_loss", "validation_bleu")
LENGTH_BINS = 5


def read_finished(study: Study, out: Path, planned: PlannedRun) -> Finished | None:
    """The run, or None if there is more to do for it. Complains about one that is damaged."""
    place = out / planned.place
    try:
        if not is_done(study, out, planned):
            return None
        done = Finished(planned, RunDirectory.open(place))
        # All that is taken from a run is taken once from this one alone: so it is this one that complains.
        for split, beam in product(study.splits, study.beams):
            beam_row("", split, beam, [done.translated(split, beam)])
        check(_variant(study, out, planned.variant, [done], {}))
        check(provenance_of([(done.run, done.probes, done.result)], study.splits))
        for example in _examples({"": [done]}):
            check(example)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = " ".join(str(error).split())
        raise AugenmerkError(f"{place}: damaged, or not written by Augenmerk ({what}).") from None
    return done


def collect(study: Study, out: Path, problems: Mapping[str, str] | None = None) -> StudyResult:
    """What the study has found so far; `problems` of failed runs by their names."""
    problems = dict(problems or {})
    finished: dict[str, list[Finished]] = {variant.name: [] for variant in study.variants}
    for planned in (run for run in study.runs if run.name not in problems):
        try:
            done = read_finished(study, out, planned)
        except AugenmerkError as error:
            problems[planned.name] = str(error)
        else:
            finished[planned.variant.name] += [done] if done else []
    everything = [each for some in finished.values() for each in some]
    remarks = _remarks(study, finished)
    compared = []
    for split in study.splits:
        first = {
            name: {each.planned.seed: each.translated(split, study.beams[0]).counts for each in some}
            for name, some in finished.items()
        }
        losses = {
            name: {each.planned.seed: each.losses(split) for each in some} for name, some in finished.items()
        }
        for found, said in (
            compare_variants(first, "bleu", split, study.beams[0]),
            compare_variants(losses, "loss", split, None),
        ):
            compared += found
            remarks += said
    rows, repairs = [], []
    if len(study.beams) > 1:
        for name, some in ((name, some) for name, some in finished.items() if some):
            for split in study.splits:
                by_beam = {beam: [each.translated(split, beam) for each in some] for beam in study.beams}
                rows += [beam_row(name, split, beam, by_beam[beam]) for beam in sorted(by_beam)]
                repairs += beam_repairs(name, split, by_beam)
    return StudyResult(
        name=study.name,
        question=study.question,
        factors=study.factors,
        seeds=study.seeds,
        splits=study.splits,
        beams=study.beams,
        variants=tuple(
            _variant(
                study,
                out,
                variant,
                finished[variant.name],
                problems,
            )
            for variant in study.variants
        ),
        comparisons=tuple(compared),
        beam_rows=tuple(rows),
        beam_repairs=tuple(repairs),
        examples=_examples(finished),
        provenance=provenance_of([(each.run, each.probes, each.result) for each in everything], study.splits)
        if everything
        else None,
        published=study.published,
        published_source=study.published_source,
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _variant(
    study: Study,
    out: Path,
    variant: Variant,
    finished: Sequence[Finished],
    problems: Mapping[str, str],
) -> VariantResult:
    done = {each.planned.seed: each for each in finished}
    translated = [each.translated(study.splits[0], study.beams[0]) for each in finished]
    return VariantResult(
        name=variant.name,
        settings=variant.settings,
        parameters=finished[0].result["parameters"] if finished else None,
        runs=tuple(
            _run(planned, out, done.get(planned.seed), problems.get(planned.name))
            for planned in study.runs_of(variant)
        ),
        summaries=tuple(_summaries(study, done)) if done else (),
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


def _run(planned: PlannedRun, out: Path, done: Finished | None, problem: str | None) -> RunResult:
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


def _summaries(study: Study, done: Mapping[int, Finished]) -> list[Summary]:
    """All that is measured, in the order of `MEASURES`; what no run has is left out."""
    found: list[Summary] = []

    def add(measure: str, split: str | None, beam: int | None, values: Mapping[int, Any]) -> None:
        known = {seed: float(value) for seed, value in values.items() if value is not None}
        known = {seed: value for seed, value in known.items() if math.isfinite(value)}
        if known:
            mean, variance, interval = summarise(list(known.values()))
            # How time varies says more about what else the machine did than about seeds.
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


def _curves(finished: Sequence[Finished]) -> list[Curve]:
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


def _by_length(lengths: Sequence[int], translated: Sequence[Translated]) -> tuple[LengthBin, ...]:
    """Bins of about as many sentences each, cut where the length changes."""
    words = np.array(lengths)
    cuts = sorted({int(cut) for cut in np.quantile(words, np.arange(1, LENGTH_BINS + 1) / LENGTH_BINS)})
    bins, shortest = [], int(words.min())
    for longest in cuts:
        those = (words >= shortest) & (words <= longest)
        if those.any():
            bleu = [float(bleu_score(each.counts[those].sum(0))) for each in translated]
            mean = math.fsum(bleu) / len(bleu)
            bins.append(LengthBin(shortest, longest, int(those.sum()), mean, min(bleu), max(bleu)))
        shortest = longest + 1
    return tuple(bins)


def _examples(finished: Mapping[str, Sequence[Finished]]) -> tuple[Example, ...]:
    """Of the first finished run of each variant."""
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


def _remarks(study: Study, finished: Mapping[str, Sequence[Finished]]) -> list[str]:
    remarks = []
    missing = len(study.runs) - sum(map(len, finished.values()))
    if missing:
        remarks.append(f"{missing} of {len(study.runs)} runs are not finished: figures may still change.")
    for name, some in finished.items():
        if not some:
            remarks.append(f"No run of {name} is finished yet: it is left out of the comparisons.")
        elif len(some) == 1:
            remarks.append(f"{name} has {runs(1)}: there is no variance, and no interval over seeds.")
    if len(study.variants) == 1 and len(study.beams) == 1:
        remarks.append("There is one variant: nothing is compared with it.")
    counts = {len(some) for some in finished.values() if some}
    if counts and max(counts) < FEW_SEEDS:
        remarks.append(
            f"At most {runs(max(counts))} of each variant: a small sample. Intervals of means over so few "
            f"seeds are wide, and rightly so."
        )
    return remarks
