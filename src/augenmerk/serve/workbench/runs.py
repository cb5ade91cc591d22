"""The view Runs: all runs below a folder, their curves while they train, their settings and scores."""

import asyncio
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from augenmerk.base.config import DATASETS, PRESETS, RunConfig, load_config
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.settings import list_settings
from augenmerk.run.directory import RunDirectory
from augenmerk.serve.answers import JsonResponse
from augenmerk.serve.errors import UnknownModel
from augenmerk.serve.folders import FolderSearch, is_run
from augenmerk.serve.guard import is_on_loopback, read_body, require_loopback
from augenmerk.serve.library import hide_paths
from augenmerk.serve.schemas import Request as Question
from augenmerk.serve.workbench import Workbench, render_page
from augenmerk.serve.workbench.trainings import Resume, Start, Stop, Trainings, check_start

MAX_WATCHED = 12
"""Runs whose curves one page may ask for."""
MAX_EPOCHS = 2_000
"""Epochs in one answer; a page asks again for the rest."""
CURVES = ("epoch", "step", "seconds", "train_loss", "validation_loss", "validation_bleu", "learning_rate")
SCORES = ("split", "beam", "bleu", "chrf", "ter", "loss", "perplexity", "sentences")
OWN = {"data.bitext", "train.seed", "train.epochs", "train.initial_run"}
"""Settings that say nothing about which preset a run has."""


class Watch(Question):
    """The runs whose curves a page shows, each with the number of epochs that it has already."""

    epochs: dict[str, int] = Field(default={}, max_length=MAX_WATCHED)


class Details(Question):
    """The runs whose settings a page compares."""

    runs: list[str] = Field(max_length=MAX_WATCHED)


def make_routes(workbench: Workbench) -> list[BaseRoute]:
    """Returns the routes of the view."""
    limits = workbench.service.limits
    trainings = Trainings(workbench.folder, limits.trainings)
    shelf = Shelf(workbench.folder)
    workbench.service.closing.append(trainings.close)
    describe_settings()  # once, before somebody waits for it

    async def show(request: Request) -> Response:
        data = {
            "presets": PRESETS,
            "datasets": DATASETS,
            "settings": describe_settings(),
            "local": is_on_loopback(request),
            "trainings": trainings.limit,
        }
        page = {"view": "runs", "template": "runs.html", "script": "workbench/runs.js"}
        return render_page(request, **page, data=data)

    def look(watch: Watch, local: bool) -> dict[str, Any]:
        # What a training says may name folders of this machine, which others need not know.
        return {"now": time.time(), **shelf.look(watch), "trainings": trainings.describe(with_lines=local)}

    async def watch(request: Request) -> Response:
        question = Watch.parse(await read_body(request, limits))
        return JsonResponse(await asyncio.to_thread(look, question, is_on_loopback(request)))

    async def details(request: Request) -> Response:
        question = Details.parse(await read_body(request, limits))
        return JsonResponse(
            await asyncio.to_thread(lambda: {"runs": list(map(shelf.describe, question.runs))})
        )

    async def check(request: Request) -> Response:
        start = Start.parse(await read_body(request, limits))
        try:
            config = await asyncio.to_thread(check_start, workbench.folder, start)
        except AugenmerkError as error:
            return JsonResponse({"problem": str(error)})  # what is being written is often wrong: no failure
        return JsonResponse({"changed": dict(list_changes(config, start.preset))})

    async def start(request: Request) -> Response:
        require_loopback(request)
        question = Start.parse(await read_body(request, limits))
        return JsonResponse({"run": await asyncio.to_thread(trainings.start, question)})

    async def resume(request: Request) -> Response:
        require_loopback(request)
        question = Resume.parse(await read_body(request, limits))
        path = await asyncio.to_thread(shelf.find, question.run)
        return JsonResponse({"run": await asyncio.to_thread(trainings.resume, question, path)})

    async def stop(request: Request) -> Response:
        require_loopback(request)
        question = Stop.parse(await read_body(request, limits))
        return JsonResponse({"run": await asyncio.to_thread(trainings.stop, question)})

    place = "/workbench/runs"
    return [
        Route("/runs", show),
        Route(f"{place}/watch", watch, methods=["POST"]),
        Route(f"{place}/details", details, methods=["POST"]),
        Route(f"{place}/check", check, methods=["POST"]),
        Route(f"{place}/start", start, methods=["POST"]),
        Route(f"{place}/resume", resume, methods=["POST"]),
        Route(f"{place}/stop", stop, methods=["POST"]),
    ]


class Shelf:
    """The runs below a folder. What was read of a run is kept until its files change."""

    def __init__(self, folder: Path) -> None:
        self._search = FolderSearch(folder, is_run)
        self._read: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}

    def find(self, name: str) -> Path:
        """Returns the folder of a run; raises UnknownModel if there is none. No name is used as a path."""
        path = self._search.find().get(name) or self._search.search().get(name)
        if path is None or not path.is_dir():
            raise UnknownModel(f"There is no run '{shorten(name)}' in the folder of this server.")
        return path

    def look(self, watch: Watch) -> dict[str, Any]:
        """Returns a summary of each run, the newest first, and the epochs that a page does not have yet."""
        paths = {name: path for name, path in self._search.find().items() if path.is_dir()}
        self._read = {name: known for name, known in dict(self._read).items() if name in paths}
        runs = [self._summarise(name, path) for name, path in paths.items()]
        runs.sort(key=lambda run: (-run["modified"], run["name"]))
        epochs = {}
        for name, have in watch.epochs.items():
            if name in paths:
                metrics = _read_metrics(paths[name])
                # A run that was begun anew has fewer epochs than the page: then all are sent.
                have = have if 0 <= have <= len(metrics) else 0
                rest = metrics[have : have + MAX_EPOCHS]
                epochs[name] = {
                    "from": have,
                    "epochs": [{key: one.get(key) for key in CURVES} for one in rest],
                }
        return {"runs": runs, "epochs": epochs}

    def describe(self, name: str) -> dict[str, Any]:
        """Returns the settings of a run, and those of the preset that they are most like."""
        config = RunDirectory.open(self.find(name)).config
        preset, _ = nearest_preset(config)
        return {
            "name": name,
            "settings": config.flatten(),
            "preset": preset,
            "preset_settings": _flatten_preset(preset),
        }

    def _summarise(self, name: str, path: Path) -> dict[str, Any]:
        files = ("config.toml", "metrics.jsonl", "result.json", "scores.json", "state.safetensors")
        stamps = tuple(_stamp(path / each) for each in files)
        known = self._read.get(name)
        if known is None or known[0] != stamps:
            known = stamps, {**_summarise_files(name, path), "modified": max(stamps) / 1e9}
            self._read[name] = known
        summary = dict(known[1])
        if "error" not in summary:
            in_training = RunDirectory.is_in_training(path)
            finished = stamps[2] > 0
            summary["state"] = "training" if in_training else "finished" if finished else "stopped"
        return summary


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _read_metrics(path: Path) -> list[dict[str, Any]]:
    try:
        return RunDirectory.open(path).read_metrics()
    except AugenmerkError:
        return []


def _summarise_files(name: str, path: Path) -> dict[str, Any]:
    """Returns what is told of a run in the list; of one that cannot be read, why."""
    try:
        run = RunDirectory.open(path)
        metrics, result, scores = run.read_metrics(), run.result, run.read_scores()
    except AugenmerkError as error:
        return {"name": name, "state": "broken", "error": hide_paths(str(error), {name: path})}
    config = run.config
    preset, changes = nearest_preset(config)
    by_bleu = config.train.select_by == "bleu"
    best = min(
        (one for one in metrics if one.get("validation_loss") is not None),
        key=lambda one: -(one.get("validation_bleu") or 0.0) if by_bleu else one["validation_loss"],
        default={},
    )
    return {
        "name": name,
        "preset": preset,
        "changes": changes,
        "data": Path(config.data.bitext).name,
        "architecture": config.model.architecture,
        "attention": config.model.attention,
        "seed": config.train.seed,
        "epochs": config.train.epochs,
        "done": len(metrics),
        "best": {key: best.get(key) for key in ("epoch", "validation_loss", "validation_bleu")},
        "seconds": metrics[-1].get("seconds") if metrics else None,
        "parameters": (result or {}).get("parameters"),
        "scores": [{key: score.get(key) for key in SCORES} for score in scores],
    }


@cache
def _flatten_preset(preset: str) -> dict[str, Any]:
    return load_config(preset).flatten()


def list_changes(config: RunConfig, preset: str) -> Iterator[tuple[str, Any]]:
    """Yields the settings in which a run differs from a preset."""
    before = _flatten_preset(preset)
    for name, value in config.flatten().items():
        if value != before.get(name):
            yield name, value


def nearest_preset(config: RunConfig) -> tuple[str, int]:
    """Returns the preset that a run is most like, for it does not say which one it was started with.

    Also returns in how many settings it differs, its data, its seed and its number of epochs apart.
    """
    counts = {
        preset: sum(
            name not in OWN and not name.startswith("data.bilderbuch.")
            for name, _ in list_changes(config, preset)
        )
        for preset in PRESETS
    }
    return min(counts.items(), key=lambda each: each[1])


@cache
def describe_settings() -> list[dict[str, Any]]:
    """Returns the settings that a training may be started with."""
    return [
        {"name": one.name, "meaning": one.meaning, "type": one.description, "choices": list(one.choices)}
        for one in list_settings(RunConfig())
    ]
