"""The studies below the runs' folder: their results, and your own sentences through all their variants.

`study.json` and the run directories are read, and nothing is computed again. Of a study that is
running, the finished runs are summarised.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.run.directory import RunDirectory
from augenmerk.serve.endpoint import Endpoint, RequestBody, Service, check_texts
from augenmerk.serve.limits import ServiceError
from augenmerk.serve.registry import WHOLE, FolderSearch, hide_path, is_run
from augenmerk.serve.workbench import render_page
from augenmerk.study.charts import CURVES, list_number_factors
from augenmerk.study.collect import collect_so_far
from augenmerk.study.measure import read_probes
from augenmerk.study.plan import read_plan
from augenmerk.study.report import (
    ABOUT_RUNS,
    build_columns,
    describe_alignment,
    describe_published,
    is_of_a_split,
)
from augenmerk.study.result import MEASURES, PLAN, RESULT, StudyResult, describe_doubt, find_runs, is_running

if TYPE_CHECKING:
    from augenmerk.study.measure import MeasuredRun

MAX_KEPT = 16
"""Most results that are kept in memory."""
DIGITS = 4
"""Of attention weights, which a picture shows."""


class StudySentence(RequestBody):
    """A sentence for one run of a study."""

    study: str
    run: str
    text: str


def make_endpoints(service: Service) -> list[Endpoint]:
    """Returns the endpoints of the view."""
    studies = Studies(service.registry.folder)

    def show_list(_request: Request) -> dict[str, Any]:
        return {"studies": list_studies(studies)}

    def of_study(read: Callable[[Request, str], dict[str, Any]]) -> Callable[[Request], dict[str, Any]]:
        """Returns the handler of a request for something of a study."""

        def handle(request: Request) -> dict[str, Any]:
            name = request.query_params.get("study", "")
            try:
                return read(request, name)
            except FileNotFoundError:
                raise ServiceError(404, f"The study '{shorten(name)}' is not here any more.") from None

        return handle

    def describe(_request: Request, name: str) -> dict[str, Any]:
        result, folder = studies.read(name), studies.folder(name)
        models = service.registry.found()
        named = {run: _name_model(name, run) for run in studies.runs(name)}
        can_translate = {run: model for run, model in named.items() if model in models}
        return describe_study(name, result, running=is_running(folder), can_translate=can_translate)

    def curves(_request: Request, name: str) -> dict[str, Any]:
        return {"curves": read_curves(studies.read(name), studies.runs(name))}

    def example(request: Request, name: str) -> dict[str, Any]:
        number = request.query_params.get("number", "")
        if not (number.isascii() and number.isdecimal() and len(number) < 6):
            raise AugenmerkError("Which sentence? It is a number, counted from 0.")
        return read_example(studies.read(name), int(number), studies.runs(name))

    async def translate(_request: Request, body: StudySentence) -> dict[str, Any]:
        check_texts([body.text], service.limits)
        if body.run not in await asyncio.to_thread(studies.runs, body.study):
            raise ServiceError(404, f"The study has no run '{shorten(body.run)}'.")
        # As the study's own sentences were translated, greedily.
        [translation] = await service.batcher.translate(
            _name_model(body.study, body.run), [body.text], settings={"beam": 1}, attention=True
        )
        keys = ("translation", "source_words", "target_words", "attention", "truncated", "unfamiliar")
        found: dict[str, Any] = {**translation.to_dict(attention=False), **translation.describe_attention()}
        return {key: found[key] for key in keys}

    prefix = "/workbench/studies"
    return [
        Endpoint("GET", "/studies", partial(render_page, view="studies")),
        Endpoint("GET", f"{prefix}/list", show_list),
        Endpoint("GET", f"{prefix}/study", of_study(describe)),
        Endpoint("GET", f"{prefix}/curves", of_study(curves)),
        Endpoint("GET", f"{prefix}/example", of_study(example)),
        Endpoint("POST", f"{prefix}/translate", translate, StudySentence),
    ]


def _name_model(study: str, run: str) -> str:
    """Returns the name by which the registry knows a run of a study."""
    return run if study == WHOLE else f"{study}/{run}"


class Studies:
    """The studies below a folder, each known by its path relative to it. Several threads may use it."""

    def __init__(self, folder: Path) -> None:
        self._search = FolderSearch(folder, lambda files: RESULT in files or PLAN in files or is_run(files))
        self._lock = threading.Lock()
        """Is held while a result is read, so that others who ask meanwhile wait for the same one."""
        self._partial: dict[str, tuple[object, StudyResult]] = {}
        """What studies have found so far, by name, and of which files it was made."""
        self._finished: dict[str, dict[str, MeasuredRun]] = {}
        """The finished runs of studies without a final result, which are read once."""

    def find(self) -> dict[str, Path]:
        """Returns the directories of studies by name."""
        found = self._search.find().items()
        return {name: path for name, path in found if any((path / each).is_file() for each in (RESULT, PLAN))}

    def folder(self, name: str) -> Path:
        """Returns the directory of a study; raises ServiceError if there is none."""
        found = self.find().get(name)
        if found is None:
            raise ServiceError(404, f"There is no study '{shorten(name)}' here.")
        return found

    def read(self, name: str) -> StudyResult:
        """Returns the result of a study, or what it has found so far."""
        folder = self.folder(name)
        known = self.load(folder) if (folder / RESULT).is_file() else None
        has_plan = (folder / PLAN).is_file()
        if known is not None and (known.complete or not has_plan or not _has_newer_runs(folder)):
            self._finished.pop(name, None)
            return known
        finished = self._finished.setdefault(name, {})
        # The result changes with the runs that have started and those that are measured.
        version = [(str(run), (run / "probes.json").is_file()) for run in find_runs(folder)]
        with self._lock:
            if name not in self._partial or self._partial[name][0] != version:
                self._partial[name] = version, collect_so_far(folder, finished)
            return self._partial[name][1]

    def load(self, folder: Path) -> StudyResult:
        """Returns the result that a study has written."""
        stat = (folder / RESULT).stat()
        with self._lock:
            return _load(folder / RESULT, stat.st_mtime_ns, stat.st_size)

    def runs(self, name: str) -> dict[str, Path]:
        """Returns the run directories of a study by their paths within it, as its result names them."""
        folder = self.folder(name)
        return {run.relative_to(folder).as_posix(): run for run in find_runs(folder)}


@lru_cache(maxsize=MAX_KEPT)
def _load(path: Path, _time: int, _size: int) -> StudyResult:
    return StudyResult.load(path)


def _has_newer_runs(folder: Path) -> bool:
    written = (folder / RESULT).stat().st_mtime_ns
    files = (run / name for run in find_runs(folder) for name in ("config.toml", "probes.json"))
    return any(file.is_file() and file.stat().st_mtime_ns > written for file in files)


def list_studies(studies: Studies) -> list[dict[str, Any]]:
    """Returns what a list of studies shows of each; of one that cannot be read, why."""
    described = []
    for name, folder in studies.find().items():
        with suppress(FileNotFoundError):  # it was removed just now
            about = {"name": name, "running": is_running(folder)}
            try:
                described.append({**about, **_describe_briefly(studies, folder)})
            except AugenmerkError as error:
                described.append({**about, "error": hide_path(error, name, folder)})
    return described


def _describe_briefly(studies: Studies, folder: Path) -> dict[str, Any]:
    if not (folder / RESULT).is_file():  # summarising its runs would take a while
        runs = find_runs(folder)
        plan = read_plan(folder)
        return {
            "question": plan.question if plan else "",
            "complete": False,
            "variants": len(plan.variants) if plan else len({run.parent for run in runs}),
            "runs": len(plan.runs) if plan else len(runs),
            "finished": sum((run / "probes.json").is_file() for run in runs),
        }
    result = studies.load(folder)
    states = [run.state for variant in result.variants for run in variant.runs]
    return {
        "question": result.question,
        "complete": result.complete,
        "variants": len(result.variants),
        "runs": len(states),
        "finished": states.count("finished"),
        "written": (folder / RESULT).stat().st_mtime,
    }


def describe_study(
    name: str, result: StudyResult, *, running: bool, can_translate: Mapping[str, str]
) -> dict[str, Any]:
    """Returns all of a result but its settings and weights, with the table as a report has it.

    `can_translate` are the names of the runs whose models can be asked, by their paths within the study.
    """
    tree = result.to_dict()
    origin = tree.pop("provenance")
    for variant in tree["variants"]:
        for run in variant["runs"]:
            run["model"] = can_translate.get(run["run"])
    for comparison, found in zip(tree["comparisons"], result.comparisons, strict=True):
        comparison["doubt"] = describe_doubt(found)
    tree["examples"] = [{"source": each.source, "reference": each.reference} for each in result.examples]
    better = {measure: about.better for measure, about in MEASURES.items()}
    headings = {measure: about.heading for measure, about in MEASURES.items()}
    return {
        **tree,
        "title": result.name,
        "name": name,
        "running": running,
        "columns": [
            {**asdict(column), "better": better.get(column.measure, "")} for column in build_columns(result)
        ],
        "headings": {**{name: name for name in ABOUT_RUNS}, **CURVES, **headings},
        "of_a_split": [measure for measure in MEASURES if is_of_a_split(measure)],
        "digits": {measure: about.digits for measure, about in MEASURES.items()},
        "number_factors": list_number_factors(result),
        "notes": [*describe_alignment(result), *filter(None, [describe_published(result)])],
        "origin": origin and {key: origin[key] for key in ("bitext", "software", "hardware", "seconds")},
    }


def read_curves(result: StudyResult, runs: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Returns for each variant and seed the measures by epoch, also of runs that are being trained."""
    curves: dict[str, dict[str, Any]] = {variant.name: {} for variant in result.variants}
    for variant in result.variants:
        for run in variant.runs:
            with suppress(AugenmerkError):  # a damaged run is listed as such
                metrics = RunDirectory.open(runs[run.run]).read_metrics() if run.run in runs else []
                curves[variant.name][str(run.seed)] = {
                    measure: [
                        [row["epoch"], row[measure]]
                        for row in metrics
                        if isinstance(row.get(measure), int | float)
                    ]
                    for measure in CURVES
                }
    return curves


def read_example(result: StudyResult, number: int, runs: Mapping[str, Path]) -> dict[str, Any]:
    """Returns the attention of every variant and seed for a sentence of the study.

    Runs that are not here any more have it only as far as the result does: for one seed of each variant.
    """
    if not 0 <= number < len(result.examples):
        raise AugenmerkError(f"The study has no sentence {number + 1}: it has {len(result.examples)}.")
    example = result.examples[number]
    stored = {(each.variant, each.seed): each for each in example.maps}
    maps = []
    for variant in result.variants:
        for run in variant.runs:
            probed = _read_probed(runs.get(run.run), example.source)
            known = stored.get((variant.name, run.seed))
            if probed is None and known is not None:
                probed = {**asdict(known), "attention": known.weights}
            if probed is not None:
                maps.append(
                    {
                        "variant": variant.name,
                        "seed": run.seed,
                        "translation": probed["translation"],
                        "target_words": list(probed["target_words"]),
                        "attention": [
                            [round(weight, DIGITS) for weight in row] for row in probed["attention"]
                        ],
                    }
                )
    return {
        "source": example.source,
        "source_words": list(example.source_words),
        "reference": example.reference,
        "maps": maps,
    }


def _read_probed(run: Path | None, source: str) -> dict[str, Any] | None:
    if run is None:
        return None
    try:
        probes = read_probes(RunDirectory.open(run))
    except AugenmerkError:
        return None
    return next((each for each in probes.get("examples", ()) if each["source"] == source), None)
