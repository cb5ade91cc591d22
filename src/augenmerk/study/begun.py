"""A study that has not come to its end, read from its run directories: what is finished so far.

`study.json` is written when a study ends or is interrupted. Until then, its runs are there, and they know
their settings: what differs between them are the factors.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from augenmerk.checkpoint import RunDirectory
from augenmerk.config import RunConfig, flatten_settings
from augenmerk.errors import AugenmerkError
from augenmerk.study.collect import FinishedRun, collect, read_finished
from augenmerk.study.measure import read_probes
from augenmerk.study.plan import PlannedRun, Study, Variant, name_variant
from augenmerk.study.result import LOCK, StudyHeader, StudyResult

try:
    import fcntl

    HAS_FLOCK = True
except ImportError:  # Windows
    HAS_FLOCK = False

SEED = "train.seed"


def is_running(out: Path) -> bool:
    """Returns whether a process is at work in the directory of a study."""
    path = out / LOCK
    if not path.is_file():
        return False
    try:
        if not HAS_FLOCK:
            with FileLock(path, timeout=0):
                return False
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # let go when the file is closed
        return False
    except (BlockingIOError, Timeout):
        return True
    except OSError:
        return False


def find_runs(out: Path) -> list[Path]:
    """Returns the directories of the runs that the study in `out` has begun."""
    return sorted(config.parent for config in out.glob("runs/*/seed-*/config.toml"))


def collect_begun(
    out: Path, known: StudyResult | None = None, read: dict[str, FinishedRun] | None = None
) -> StudyResult:
    """Returns what the study in `out` has found so far, computed from its runs, without comparisons.

    `known` is the result of an earlier, interrupted attempt, which names the question and the runs that have
    not begun; without it these are not known. Reading a finished run takes a while: those in `read`, by name,
    are not read again, and those that have finished since are added. Raises AugenmerkError if no run has
    begun.
    """
    runs = _open_runs(out)
    if not runs:
        raise AugenmerkError(f"{out}: no run of this study has begun yet.")
    study = _plan_from_result(known, runs) if known else _plan_from_runs(out, runs)
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


def _plan_from_result(known: StudyResult, runs: list[RunDirectory]) -> Study:
    variants = {each.name: Variant(each.name, each.settings) for each in known.variants}
    config = runs[0].config
    planned = [
        PlannedRun(variants[each.name], _with_seed(config, run.seed))
        for each in known.variants
        for run in each.runs
    ]
    asked = _read_asked(runs)
    return Study(
        **{field.name: getattr(known, field.name) for field in fields(StudyHeader)},
        variants=tuple(variants.values()),
        sentences=tuple(asked.get("sentences", ())),
        runs=tuple(planned),
    )


def _plan_from_runs(out: Path, runs: list[RunDirectory]) -> Study:
    settings = {run.path: _flatten(run) for run in runs}
    differing = [key for key in settings[runs[0].path] if _differs(key, list(settings.values()))]
    variants: dict[str, Variant] = {}
    for run in runs:
        folder = run.path.parent.name
        if folder not in variants:
            variants[folder] = _recognise(folder, {key: settings[run.path][key] for key in differing})
    asked = _read_asked(runs)
    scored = next((rows for run in runs if (rows := run.read_scores())), [])
    first = runs[0].config
    splits = tuple(asked.get("splits", ())) or (first.data.validation,)
    beams = dict.fromkeys(row["beam"] for row in scored if row["split"] == splits[0])
    return Study(
        name=out.name.removeprefix("study-"),
        question="",
        factors=tuple(next(iter(variants.values())).settings),
        seeds=tuple(sorted({run.config.train.seed for run in runs})),
        splits=splits,
        beams=tuple(beams) or (first.search.beam,),
        variants=tuple(variants.values()),
        sentences=tuple(asked.get("sentences", ())),
        runs=tuple(PlannedRun(variants[run.path.parent.name], run.config) for run in runs),
    )


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


def _flatten(run: RunDirectory) -> dict[str, Any]:
    tree = run.config.model_dump()
    return dict(pair for group, settings in tree.items() for pair in flatten_settings(group, settings))


def _differs(key: str, settings: list[dict[str, Any]]) -> bool:
    return key != SEED and any(each.get(key) != settings[0].get(key) for each in settings)


def _with_seed(config: RunConfig, seed: int) -> RunConfig:
    return config.model_copy(update={"train": config.train.model_copy(update={"seed": seed})})
