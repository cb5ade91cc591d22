"""Reads the run directories of a study and computes its `StudyResult`.

`collect` does it for a study whose declaration is known, `collect_so_far` for one that is still running.
"""

import math
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import fields
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.evaluation.metrics import Counts, bleu_from_counts
from augenmerk.evaluation.significance import estimate_mean
from augenmerk.run.directory import RunDirectory
from augenmerk.study.compare import (
    FEW_SEEDS,
    CountsBySeed,
    answer_questions,
    compare_beams,
    compare_variants,
    count_runs,
    mark_best,
    summarise_beam,
)
from augenmerk.study.measure import MeasuredRun, is_complete, read_measured
from augenmerk.study.plan import Contrast, PlannedRun, Study, Variant, read_plan
from augenmerk.study.result import (
    MEASURES,
    PLAN,
    BeamRepair,
    ComparisonResult,
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
    StudyHeader,
    StudyResult,
    Summary,
    VariantResult,
    Verdict,
    check,
    describe_other_data,
)

CURVES = ("train_loss", "validation_loss", "validation_bleu")
LENGTH_BINS = 5
SAME_SCORE = 1e-3
"""Largest difference of two scores of a sentence due to rounding; padding that leaks changes them more."""


def read_run(study: Study, out: Path, planned: PlannedRun) -> MeasuredRun | None:
    """Returns the run, or None if it is not finished. Raises AugenmerkError if it is damaged."""
    path = out / planned.path
    if not (path / "config.toml").exists():
        return None
    try:
        run = RunDirectory.open(path)
        if not is_complete(run, study):
            return None
        measured = read_measured(study, planned, run)
        # Everything that the result takes from a run is computed here for this run alone, so that it is this
        # run that is reported as damaged.
        for translated in measured.translated.values():
            summarise_beam("", [translated.row])
        check(_variant(study, out, planned.variant, [measured], {}))
        check(_provenance(study, [measured]))
        for example in _examples({"": [measured]}):
            check(example)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = " ".join(str(error).split())
        raise AugenmerkError(f"{path}: damaged, or not written by Augenmerk ({what}).") from None
    return measured


def collect_so_far(out: Path, known: MutableMapping[str, MeasuredRun] | None = None) -> StudyResult:
    """Returns what the study in `out` has found so far, by its plan, without comparisons.

    Runs in `known`, by name, are not read again; those that have finished since are added.
    """
    study = read_plan(out)
    if study is None:
        raise AugenmerkError(f"{out} has no {PLAN}: start the study again with the same command.")
    return collect(study, out, known=known, compare=False)


def collect(
    study: Study,
    out: Path,
    problems: Mapping[str, str] | None = None,
    known: MutableMapping[str, MeasuredRun] | None = None,
    *,
    compare: bool = True,
) -> StudyResult:
    """Returns what the study has found so far.

    `problems` are those of failed runs, and `known` are finished runs that were read before, both by name;
    runs read now are added to `known`. Variants and beams are compared unless `compare` is False: that takes
    seconds.
    """
    problems, known = dict(problems or {}), {} if known is None else known
    finished: dict[str, list[MeasuredRun]] = {variant.name: [] for variant in study.variants}
    for planned in (run for run in study.runs if run.name not in problems):
        try:
            if planned.name not in known and (run := read_run(study, out, planned)) is not None:
                known[planned.name] = run
        except AugenmerkError as error:
            problems[planned.name] = str(error)
        if planned.name in known:
            finished[planned.variant.name].append(known[planned.name])
    problems |= _set_aside_other_data(study, finished)
    everything = [run for runs in finished.values() for run in runs]
    incomparable, why = _find_incomparable(everything)
    remarks = [*_remarks(study, finished), *why]
    comparisons, beam_rows, beam_repairs = list[ComparisonResult](), [], []
    for split in study.splits if compare else ():
        bleu, word_loss = dict[str, CountsBySeed](), dict[str, CountsBySeed]()
        for name, runs in finished.items():
            bleu[name] = {run.planned.seed: run.translated[split, study.beams[0]].counts for run in runs}
            word_loss[name] = {run.planned.seed: run.losses[split] for run in runs}
        found, more = compare_variants(study.contrasts, bleu, "bleu", split, study.beams[0])
        if "word_loss" not in incomparable:
            found += compare_variants(study.contrasts, word_loss, "word_loss", split, None)[0]
        comparisons += found
        remarks += more
    if len(study.beams) > 1:
        for name, split in product((name for name, runs in finished.items() if runs), study.splits):
            by_beam = {beam: [run.translated[split, beam] for run in finished[name]] for beam in study.beams}
            beam_rows += [
                summarise_beam(name, [run.row for run in by_beam[beam]]) for beam in sorted(by_beam)
            ]
            beam_repairs += compare_beams(name, split, by_beam) if compare else []
    variants = [_variant(study, out, variant, finished[variant.name], problems) for variant in study.variants]
    return StudyResult(
        **{field.name: getattr(study, field.name) for field in fields(StudyHeader)},
        variants=mark_best(variants, incomparable),
        incomparable=incomparable,
        verdicts=_give_verdicts(study, comparisons, beam_repairs),
        comparisons=tuple(comparisons),
        beam_rows=tuple(beam_rows),
        beam_repairs=tuple(beam_repairs),
        examples=_examples(finished),
        provenance=_provenance(study, everything) if everything else None,
        remarks=tuple(dict.fromkeys(remarks)),
    )


def compare_pair(path: Path, variant: str, against: str, measure: str, split: str) -> ComparisonResult:
    """Compares two variants of the study in a folder on a split, though the study did not declare it.

    Nothing is corrected for further comparisons. Raises AugenmerkError if they cannot be compared.
    """
    path = path if path.is_dir() else path.parent
    study = read_plan(path)
    if study is None:
        raise AugenmerkError(f"{path} has no {PLAN}: start the study again with the same command.")
    names = [each.name for each in study.variants]
    known = {"variant": names, "measure": ["bleu", "word_loss"], "split": study.splits}
    for kind, asked in (("variant", variant), ("variant", against), ("measure", measure), ("split", split)):
        if asked not in known[kind]:
            raise AugenmerkError(f"There is no {kind} '{asked}'; choose from {', '.join(known[kind])}.")
    runs = [each for each in study.runs if each.variant.name in (variant, against)]
    found = [run for each in runs if (run := read_run(study, path, each)) is not None]
    counts: dict[str, dict[int, Counts]] = {variant: {}, against: {}}
    for run in found:
        own = run.losses[split] if measure == "word_loss" else run.translated[split, study.beams[0]].counts
        counts[run.planned.variant.name][run.planned.seed] = own
    incomparable, remarks = _find_incomparable(found) if found else ((), [])
    contrast = Contrast(f"{variant} against {against}", variant, against, {variant: 1.0, against: -1.0})
    compared: list[ComparisonResult] = []
    if measure not in incomparable and variant != against:
        by_bleu = measure == "bleu"
        compared, remarks = compare_variants(
            [contrast], counts, "bleu" if by_bleu else "word_loss", split, study.beams[0] if by_bleu else None
        )
    if not compared:
        raise AugenmerkError(
            " ".join(remarks) or f"{variant} and {against} have no finished runs to compare."
        )
    return compared[0]


def _set_aside_other_data(study: Study, finished: Mapping[str, list[MeasuredRun]]) -> dict[str, str]:
    """Removes runs that have read other data than a run before them that is kept.

    Returns what is wrong with each, by name.
    """
    problems, kept = {}, list[MeasuredRun]()
    for run in [run for runs in finished.values() for run in runs]:
        for first in kept:
            # Test data must be the same for all variants, the rest for those with the same settings.
            splits = None if run.run.config.data == first.run.config.data else study.splits
            if problem := describe_other_data(first.probes["data"], run.probes["data"], splits):
                problems[run.planned.name] = (
                    f"It has read other data than {first.planned.name}: {problem}; remove one of the "
                    f"two runs and start the study again."
                )
                finished[run.planned.variant.name].remove(run)
                break
        else:
            kept.append(run)
    return problems


def _find_validation_sum(run: MeasuredRun) -> str:
    """Returns the checksum of the validation pairs that a run has read; raises KeyError without one."""
    sums = {each["split"]: str(each["sha256"]) for each in run.probes["data"]}
    return sums[run.run.config.data.validation]


def _find_incomparable(runs: Sequence[MeasuredRun]) -> tuple[tuple[str, ...], list[str]]:
    """Returns the measures whose units differ between runs, and remarks that say why."""
    vocabularies = {run.vocabulary for run in runs}
    measures, remarks = [], []
    if len(vocabularies) > 1:
        measures += ["validation_loss", "validation_perplexity", "loss", "perplexity"]
        remark = "Vocabularies differ: losses and perplexities per token cannot be compared"
        # An unknown word is easier to predict than the word itself.
        subwords = all(each.subwords for each in vocabularies)
        if not subwords or len({each.lowercase for each in vocabularies}) > 1:
            measures += ["word_loss", "word_perplexity"]
            remarks.append(f"{remark}, nor those per word, because words are unknown or in lower case.")
        else:
            remarks.append(f"{remark}, those per word can.")
    if len({_find_validation_sum(run) for run in runs}) > 1:
        measures += ["validation_loss", "validation_perplexity"]
        remarks.append("Validation data differ: measures of it cannot be compared.")
    return tuple(dict.fromkeys(measures)), remarks


def _give_verdicts(
    study: Study, compared: Sequence[ComparisonResult], repairs: Sequence[BeamRepair]
) -> tuple[Verdict, ...]:
    """Answers the questions of a study by BLEU on its first split; with one variant, by what beams repair."""
    first = study.splits[0]
    if study.contrasts:
        by_bleu = [each for each in compared if (each.measure, each.split) == ("bleu", first)]
        return answer_questions(study.contrasts, by_bleu) if compared else ()
    found = tuple(each.in_words for each in repairs if each.split == first)
    return (Verdict(study.question, "", found),) if found else ()


def _variant(
    study: Study, out: Path, variant: Variant, finished: Sequence[MeasuredRun], problems: Mapping[str, str]
) -> VariantResult:
    by_seed = {run.planned.seed: run for run in finished}
    count = len(finished)
    sample = f"{count} runs: a small sample" if count < FEW_SEEDS else f"{count} runs"
    if count < 2:
        sample = "one run: nothing can be said about other seeds" if count else "no run is finished yet"
    return VariantResult(
        name=variant.name,
        settings=variant.settings,
        parameters=finished[0].result["parameters"] if finished else None,
        runs=tuple(
            _run(planned, out, by_seed.get(planned.seed), problems.get(planned.name))
            for planned in study.runs
            if planned.variant is variant
        ),
        summaries=tuple(_summaries(study, by_seed)),
        curves=tuple(_curves(finished)),
        by_length=tuple(_by_length(study, finished)) if finished else (),
        remarks=(sample,),
    )


def _run(planned: PlannedRun, out: Path, done: MeasuredRun | None, problem: str | None) -> RunResult:
    path = planned.path.as_posix()
    if done is None:
        started = (out / planned.path / "config.toml").exists()
        state: State = "failed" if problem else "unfinished" if started else "missing"
        return RunResult(planned.seed, path, state, problem)
    found = {key: done.result[key] for key in ("epochs", "best_epoch", "seconds", "device", "precision")}
    found |= {key: done.probes.get(key) for key in ("alignment_attention", "alignment_chosen_on")}
    return RunResult(planned.seed, path, "finished", **found)


def _summaries(study: Study, finished: Mapping[int, MeasuredRun]) -> Iterator[Summary]:
    """Yields the measures in the order of `MEASURES`, without those that no run has."""
    for measure, about in MEASURES.items():
        splits = study.splits if about.per != "run" else (None,)
        beams = study.beams if about.per == "beam" else (None,)
        for split, beam in product(splits, beams):
            found = {
                seed: run.get_value(measure, split, beam or study.beams[0]) for seed, run in finished.items()
            }
            values = {seed: float(value) for seed, value in found.items() if value is not None}
            values = {seed: value for seed, value in values.items() if math.isfinite(value)}
            if values:
                mean, variance, interval = estimate_mean(list(values.values()))
                # Times vary more with what else the machine did than with seeds.
                interval = None if measure == "seconds" else interval
                yield Summary(measure, split, beam, values, mean, variance, interval)


def _curves(finished: Sequence[MeasuredRun]) -> Iterator[Curve]:
    epochs = list(zip_longest(*(run.metrics for run in finished), fillvalue={}))
    for measure in CURVES:
        points = []
        for epoch, rows in enumerate(epochs, 1):
            values = [row[measure] for row in rows if row.get(measure) is not None]
            if values:
                points.append(CurvePoint(epoch, len(values), *_mean_and_range(values)))
        if points:
            yield Curve(measure, tuple(points))


def _by_length(study: Study, finished: Sequence[MeasuredRun]) -> Iterator[LengthBin]:
    """Yields BLEU in bins of about equally many sentences; a length is never in two bins."""
    words = np.array(finished[0].probes["source_lengths"])
    counts = [run.translated[study.splits[0], study.beams[0]].counts for run in finished]
    shortest = int(words.min())
    for longest in np.unique(np.quantile(words, np.arange(1, LENGTH_BINS + 1) / LENGTH_BINS).astype(int)):
        those = (words >= shortest) & (words <= longest)
        if those.any():
            bleu = [float(bleu_from_counts(each[those].sum(0))) for each in counts]
            yield LengthBin(shortest, int(longest), int(those.sum()), *_mean_and_range(bleu))
        shortest = int(longest) + 1


def _mean_and_range(values: Sequence[float]) -> tuple[float, float, float]:
    return math.fsum(values) / len(values), min(values), max(values)


def _examples(finished: Mapping[str, Sequence[MeasuredRun]]) -> tuple[Example, ...]:
    """Returns the examples with the attention of the first finished run of each variant."""
    first = [runs[0] for runs in finished.values() if runs]
    examples = []
    for shown in zip(*(run.probes["examples"] for run in first), strict=False):
        maps = tuple(
            ExampleMap(
                run.planned.variant.name,
                run.planned.seed,
                example["translation"],
                tuple(example["target_words"]),
                tuple(map(tuple, example["attention"])),
            )
            for run, example in zip(first, shown, strict=True)
        )
        source, words, reference = (shown[0][key] for key in ("source", "source_words", "reference"))
        examples.append(Example(source, tuple(words), reference, maps))
    return tuple(examples)


def _remarks(study: Study, finished: Mapping[str, Sequence[MeasuredRun]]) -> list[str]:
    remarks = []
    missing = len(study.runs) - sum(map(len, finished.values()))
    if missing:
        remarks.append(f"{missing} of {len(study.runs)} runs are not finished: numbers may still change.")
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
            f"so few seeds are wide."
        )
    return remarks


def _provenance(study: Study, runs: Sequence[MeasuredRun]) -> Provenance:
    """Returns the provenance of the numbers, with remarks on differences between the runs."""
    first, probes = runs[0], [run.probes for run in runs]
    remarks = []
    if any(probe["data"] != first.probes["data"] for probe in probes):
        remarks.append("Not all runs have read the same sentences: the sums are those of the first run.")
    for name, version in first.probes["software"].items():
        others = {probe["software"][name] for probe in probes} - {version}
        if others:
            shown = ", ".join(sorted(others))
            remarks.append(f"{name} is {version} in the first run, but {shown} in others.")
    row = first.rows[study.splits[0], study.beams[0]]
    signatures = {key: f"{key}_signature" for key in MEASURES if f"{key}_signature" in row}
    return Provenance(
        config=first.run.config.to_toml(),
        bitext=first.run.config.data.bitext,
        data=tuple(DataSum(**each) for each in first.probes["data"]),
        software=dict(first.probes["software"]),
        hardware=tuple(dict.fromkeys(probe["hardware"] for probe in probes)),
        seconds=math.fsum(run.result["seconds"] for run in runs),
        signatures={MEASURES[key].heading: row[name] for key, name in signatures.items()},
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
