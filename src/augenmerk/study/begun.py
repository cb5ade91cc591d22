"""A study that has not come to its end: what is finished so far, read from its run directories.

`study.json` is written when a study ends or is interrupted. Until then, its runs are there, and beside them
`plan.json`, which says what was declared. For studies without that file, begun by an earlier version, the
runs' settings tell: what differs between them are the factors.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, explain_read_errors, parse_object, read_text
from augenmerk.base.locks import is_marked
from augenmerk.run.directory import RunDirectory
from augenmerk.study.collect import collect, read_finished
from augenmerk.study.contrasts import Contrast
from augenmerk.study.finished import FinishedRun
from augenmerk.study.measure import read_probes
from augenmerk.study.plan import PlannedRun, Study, Variant, name_variant
from augenmerk.study.result import MARK, StudyHeader, StudyResult

PLAN = "plan.json"
SEED = "train.seed"


def is_running(out: Path) -> bool:
    """Returns whether a process is at work in the directory of a study. Locks nothing."""
    return is_marked(out / MARK)


def find_runs(out: Path) -> list[Path]:
    """Returns the directories of the runs that the study in `out` has begun."""
    return sorted(config.parent for config in out.glob("runs/*/seed-*/config.toml"))


def save_plan(study: Study, out: Path) -> None:
    """Writes what a study declares."""
    header = TypeAdapter(StudyHeader).dump_python(study, mode="json")
    plan = {
        **{field.name: header[field.name] for field in fields(StudyHeader)},
        "sentences": study.sentences,
        "variants": [{"name": each.name, "settings": each.settings} for each in study.variants],
        "contrasts": [asdict(each) for each in study.contrasts],
    }
    text = json.dumps(plan, ensure_ascii=False, indent=1)
    atomic_write(out / PLAN, [text.encode("utf-8", "backslashreplace"), b"\n"])


def read_plan(out: Path) -> Study | None:
    """Reads what a study declared; None if it did not say so. Its runs know nothing but their seeds."""
    path = out / PLAN
    if not path.is_file():
        return None
    with explain_read_errors(path):
        tree = parse_object(read_text(path))
        header = TypeAdapter(StudyHeader).validate_python(
            {field.name: tree[field.name] for field in fields(StudyHeader) if field.name in tree}
        )
        variants = [Variant(str(each["name"]), dict(each["settings"])) for each in tree["variants"]]
        contrasts = TypeAdapter(tuple[Contrast, ...]).validate_python(tree.get("contrasts", ()))
        study = _make_study(header, variants, [str(each) for each in tree["sentences"]])
        return replace(study, contrasts=contrasts)


def _make_study(header: StudyHeader, variants: list[Variant], sentences: list[str]) -> Study:
    runs = [
        PlannedRun(variant, RunConfig.model_validate({"train": {"seed": seed}}))
        for seed in header.seeds
        for variant in variants
    ]
    return Study(
        **{field.name: getattr(header, field.name) for field in fields(StudyHeader)},
        variants=tuple(variants),
        contrasts=(),
        sentences=tuple(sentences),
        runs=tuple(runs),
    )


def collect_begun(
    out: Path, known: StudyResult | None = None, read: dict[str, FinishedRun] | None = None
) -> StudyResult:
    """Returns what the study in `out` has found so far, computed from its runs, without comparisons.

    `known` is the result of an earlier, interrupted attempt, for a study that has no plan. Reading a finished
    run takes a while: those in `read`, by name, are not read again, and those that have finished since are
    added. Raises AugenmerkError if no run has begun and there is no plan.
    """
    study = read_plan(out) or _plan_from_runs(out, known)
    read = {} if read is None else read
    for planned in study.runs:
        if planned.name not in read:
            with suppress(AugenmerkError):  # `collect` finds the same again, and says so
                if (finished := read_finished(study, out, planned)) is not None:
                    read[planned.name] = finished
    return collect(study, out, known=read, compare=False)


def _open_runs(out: Path) -> list[RunDirectory]:
    runs = []
    for place in find_runs(out):
        try:
            runs.append(RunDirectory.open(place))
        except AugenmerkError:
            continue  # being created, or damaged
    return runs


def _plan_from_runs(out: Path, known: StudyResult | None) -> Study:
    runs = _open_runs(out)
    if not runs:
        raise AugenmerkError(f"{out}: no run of this study has begun yet.")
    asked = _read_asked(runs)
    sentences = list(asked.get("sentences", ()))
    if known is not None:
        return _make_study(known, [Variant(each.name, each.settings) for each in known.variants], sentences)
    settings = {run.path: run.config.flatten() for run in runs}
    differing = [key for key in settings[runs[0].path] if _differs(key, list(settings.values()))]
    variants: dict[str, Variant] = {}
    for run in runs:
        folder = run.path.parent.name
        if folder not in variants:
            variants[folder] = _recognise(folder, {key: settings[run.path][key] for key in differing})
    scored = next((rows for run in runs if (rows := run.read_scores())), [])
    first = runs[0].config
    splits = tuple(asked.get("splits", ())) or (first.data.validation,)
    beams = dict.fromkeys(row["beam"] for row in scored if row["split"] == splits[0])
    header = StudyHeader(
        name=out.name.removeprefix("study-"),
        question="",
        factors=tuple(next(iter(variants.values())).settings),
        seeds=tuple(sorted({run.config.train.seed for run in runs})),
        splits=splits,
        beams=tuple(beams) or (first.search.beam,),
    )
    return _make_study(header, list(variants.values()), sentences)


def _read_asked(runs: list[RunDirectory]) -> dict[str, Any]:
    """Returns what the first measured run was asked for besides its settings: splits and sentences."""
    found = (probes["asked"] for run in runs if (probes := read_probes(run)))
    return next(found, {})


def _recognise(folder: str, differing: Mapping[str, Any]) -> Variant:
    """Returns the variant whose runs are in this folder.

    Some settings differ only because a factor does (`[settings_for]`): the folder has the factors in its
    name, in their order.
    """
    places = {}
    for key, value in differing.items():
        label = key.rpartition(".")[2]
        sign = Variant(str(value), {}).folder if label == "attention" else f"{label}="
        if (place := folder.find(sign)) >= 0:
            places[key] = place
    settings = {key: differing[key] for key in sorted(places, key=lambda key: places[key])}
    variant = Variant(name_variant(settings), settings)
    return variant if variant.folder == folder else Variant(folder, settings)


def _differs(key: str, settings: list[dict[str, Any]]) -> bool:
    return key != SEED and any(each.get(key) != settings[0].get(key) for each in settings)
