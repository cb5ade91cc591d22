"""The studies below the runs' folder: their results, and sentences of one's own through all their variants.

What `study.json` and the run directories hold is read and not computed anew; only of a study that is still
running, the finished runs are summarised as they come.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.run.directory import RunDirectory
from augenmerk.serve import schemas
from augenmerk.serve.answers import JsonResponse
from augenmerk.serve.errors import UnknownModel
from augenmerk.serve.folders import WHOLE, FolderSearch, is_run
from augenmerk.serve.guard import read_body
from augenmerk.serve.hang_up import until_hang_up
from augenmerk.serve.library import hide_paths
from augenmerk.serve.schemas import check_texts
from augenmerk.serve.workbench import Workbench, render_page
from augenmerk.study.begun import PLAN, collect_begun, find_runs, is_running, read_plan
from augenmerk.study.measure import read_probes
from augenmerk.study.report import build_columns, describe_alignment, describe_published, list_number_factors
from augenmerk.study.result import LOCK, MEASURES, RESULT, StudyResult, describe_doubt

if TYPE_CHECKING:
    from augenmerk.study.finished import FinishedRun

CURVES = ("validation_loss", "validation_bleu", "train_loss")
MAX_KEPT = 16
"""How many results are kept in memory."""
DIGITS = 4
"""Of weights of attention, which a picture shows."""


@dataclass
class _Begun:
    """A study without a final result, with its finished runs, which are read once."""

    runs: "dict[str, FinishedRun]" = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Studies:
    """The studies below a folder, each known by its path relative to it. Several threads may use it."""

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._search = FolderSearch(folder, lambda place, files: _is_study(place) or is_run(place, files))
        self._kept: OrderedDict[str, tuple[Any, StudyResult]] = OrderedDict()
        self._begun: dict[str, _Begun] = {}

    def find(self) -> dict[str, Path]:
        """Returns the directories of studies by name."""
        return {name: place for name, place in self._search.find().items() if _is_study(place)}

    def place(self, name: str) -> Path:
        """Returns the directory of a study; raises UnknownModel if there is none of that name."""
        found = self.find().get(name)
        if found is None:
            raise UnknownModel(f"There is no study '{shorten(name)}' here.")
        return found

    def read(self, name: str) -> StudyResult:
        """Returns the result of a study, or what it has found so far."""
        place = self.place(name)
        path = place / RESULT
        known = self._load(name, path) if path.is_file() else None
        if known is not None and (known.complete or not _has_newer_runs(place, path)):
            self._begun.pop(name, None)
            return known
        with self._lock:
            begun = self._begun.setdefault(name, _Begun())
        version = _list_finished(place)
        with begun.lock:  # whoever else asks waits for the same answer
            kept = self._kept.get(f"{name} so far")
            if kept is not None and kept[0] == version:
                return kept[1]
            result = collect_begun(place, known, begun.runs)
            self._keep(f"{name} so far", version, result)
            return result

    def _load(self, name: str, path: Path) -> StudyResult:
        about = path.stat()
        version = (about.st_mtime_ns, about.st_size)
        kept = self._kept.get(name)
        if kept is not None and kept[0] == version:
            return kept[1]
        result = StudyResult.load(path)
        self._keep(name, version, result)
        return result

    def _keep(self, key: str, version: Any, result: StudyResult) -> None:
        with self._lock:
            self._kept[key] = (version, result)
            self._kept.move_to_end(key)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)

    def runs(self, name: str) -> dict[str, Path]:
        """Returns the run directories of a study by their paths within it, as its result names them."""
        place = self.place(name)
        return {run.relative_to(place).as_posix(): run for run in find_runs(place)}


def _is_study(place: Path) -> bool:
    begun = (place / LOCK).is_file() and (place / "runs").is_dir()  # by a version that wrote no plan
    return begun or any((place / name).is_file() for name in (RESULT, PLAN))


def _list_finished(place: Path) -> list[tuple[str, bool]]:
    """Returns which runs have begun and which of them are measured: the result changes with these."""
    return [(str(run), (run / "probes.json").is_file()) for run in find_runs(place)]


def _has_newer_runs(place: Path, path: Path) -> bool:
    written = path.stat().st_mtime_ns
    files = (run / name for run in find_runs(place) for name in ("config.toml", "probes.json"))
    return any(file.is_file() and file.stat().st_mtime_ns > written for file in files)


def list_studies(studies: Studies) -> list[dict[str, Any]]:
    """Returns what a list of studies shows of each; of one that cannot be read, why."""
    described = []
    for name, place in studies.find().items():
        with suppress(FileNotFoundError):  # it was removed just now
            described.append(_describe_briefly(studies, name, place))
    return described


def _describe_briefly(studies: Studies, name: str, place: Path) -> dict[str, Any]:
    about: dict[str, Any] = {"name": name, "running": is_running(place)}
    if not (place / RESULT).is_file():  # summarising its runs would take a while
        runs = find_runs(place)
        finished = sum((run / "probes.json").is_file() for run in runs)
        try:
            plan = read_plan(place)
        except AugenmerkError as error:
            return {**about, "error": hide_paths(str(error), {name: place})}
        return {
            **about,
            "question": plan.question if plan else "",
            "complete": False,
            "variants": len(plan.variants) if plan else len({run.parent for run in runs}),
            "runs": len(plan.runs) if plan else len(runs),
            "finished": finished,
        }
    try:
        result = studies._load(name, place / RESULT)
    except AugenmerkError as error:
        return {**about, "error": hide_paths(str(error), {name: place})}
    runs_of_all = [run for variant in result.variants for run in variant.runs]
    return {
        **about,
        "question": result.question,
        "complete": result.complete,
        "variants": len(result.variants),
        "runs": len(runs_of_all),
        "finished": sum(run.state == "finished" for run in runs_of_all),
        "written": (place / RESULT).stat().st_mtime,
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
    return {
        **tree,
        "title": result.name,
        "name": name,
        "running": running,
        "columns": [
            {
                **asdict(column),
                "better": MEASURES[column.measure].better if column.measure in MEASURES else "",
            }
            for column in build_columns(result)
        ],
        "digits": {measure: about.digits for measure, about in MEASURES.items()},
        "number_factors": list_number_factors(result),
        "notes": [*describe_alignment(result), *filter(None, [describe_published(result)])],
        "origin": origin and {key: origin[key] for key in ("bitext", "software", "hardware", "seconds")},
    }


def read_curves(result: StudyResult, runs: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Returns for each variant and seed the measures by epoch, also of runs that are being trained."""
    curves: dict[str, dict[str, Any]] = {}
    for variant in result.variants:
        curves[variant.name] = {}
        for run in variant.runs:
            try:
                metrics = RunDirectory.open(runs[run.run]).read_metrics() if run.run in runs else []
            except AugenmerkError:
                continue  # a damaged run is listed as such
            curves[variant.name][str(run.seed)] = {
                measure: [[row["epoch"], row[measure]] for row in metrics if _is_number(row.get(measure))]
                for measure in CURVES
            }
    return curves


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


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
            found = _read_probed(runs.get(run.run), example.source)
            if found is not None:
                words, translation = found["target_words"], found["translation"]
                weights = found["attention"]
            elif (known := stored.get((variant.name, run.seed))) is not None:
                words, translation = known.target_words, known.translation
                weights = known.weights
            else:
                continue
            maps.append(
                {
                    "variant": variant.name,
                    "seed": run.seed,
                    "translation": translation,
                    "target_words": list(words),
                    "attention": [[round(weight, DIGITS) for weight in row] for row in weights],
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
        probes = read_probes(RunDirectory.open(run)) or {}
    except AugenmerkError:
        return None
    return next((each for each in probes.get("examples", ()) if each["source"] == source), None)


def _name_model(study: str, run: str) -> str:
    """Returns the name by which the library knows a run of a study."""
    return run if study == WHOLE else f"{study}/{run}"


class StudySentence(schemas.Request):
    """A sentence for one run of a study."""

    study: str
    run: str
    text: str


def make_routes(workbench: Workbench) -> list[BaseRoute]:
    """Returns the page of the studies and what it asks for."""
    service = workbench.service
    studies = Studies(workbench.folder)

    async def show_page(request: Request) -> Response:
        return render_page(request, "studies", "studies.html", script="workbench/studies.js")

    async def show_list(_request: Request) -> Response:
        return JsonResponse({"studies": await asyncio.to_thread(list_studies, studies)})

    async def answer(study: str, read: Callable[[], dict[str, Any]]) -> Response:
        try:
            return JsonResponse(await asyncio.to_thread(read))
        except FileNotFoundError:
            raise UnknownModel(f"The study '{shorten(study)}' is not here any more.") from None

    async def show_study(request: Request) -> Response:
        name = request.query_params.get("study", "")

        def describe() -> dict[str, Any]:
            result, place = studies.read(name), studies.place(name)
            models = service.library.found()
            named = {run: _name_model(name, run) for run in studies.runs(name)}
            can_translate = {run: model for run, model in named.items() if model in models}
            return describe_study(name, result, running=is_running(place), can_translate=can_translate)

        return await answer(name, describe)

    async def show_curves(request: Request) -> Response:
        name = request.query_params.get("study", "")

        def read() -> dict[str, Any]:
            return {"curves": read_curves(studies.read(name), studies.runs(name))}

        return await answer(name, read)

    async def show_example(request: Request) -> Response:
        name, number = request.query_params.get("study", ""), request.query_params.get("number", "")
        if not (number.isascii() and number.isdecimal() and len(number) < 6):
            raise AugenmerkError("Which sentence? It is a number, counted from 0.")

        def read() -> dict[str, Any]:
            return read_example(studies.read(name), int(number), studies.runs(name))

        return await answer(name, read)

    async def translate(request: Request) -> Response:
        asked = StudySentence.parse(await read_body(request, service.limits))
        check_texts([asked.text], service.limits)
        if asked.run not in await asyncio.to_thread(studies.runs, asked.study):
            raise UnknownModel(f"The study has no run '{shorten(asked.run)}'.")
        # As the study's own sentences were translated, greedily.
        work = service.batcher.translate(
            _name_model(asked.study, asked.run), [asked.text], settings={"beam": 1}, attention=True
        )
        [translation] = await until_hang_up(request, work)
        keys = ("translation", "source_words", "target_words", "attention", "truncated", "unfamiliar")
        found = translation.to_dict(attention=False) | translation.describe_attention()
        return JsonResponse({key: found[key] for key in keys})

    return [
        Route("/studies", show_page),
        Route("/workbench/studies/list", show_list),
        Route("/workbench/studies/study", show_study),
        Route("/workbench/studies/curves", show_curves),
        Route("/workbench/studies/example", show_example),
        Route("/workbench/studies/translate", translate, methods=["POST"]),
    ]
