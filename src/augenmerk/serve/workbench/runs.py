"""The view Runs: all runs below a folder, their curves while they train, their settings and scores."""

import threading
import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from augenmerk.base.config import PRESETS, RunConfig, load_config
from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.settings import list_settings
from augenmerk.evaluation.metrics import METRICS
from augenmerk.run.directory import RunDirectory
from augenmerk.serve.endpoint import Endpoint, RequestBody, Service
from augenmerk.serve.guard import is_local
from augenmerk.serve.limits import ServiceError
from augenmerk.serve.registry import FolderSearch, hide_path, read_time
from augenmerk.serve.workbench import render_page
from augenmerk.serve.workbench.trainings import (
    ResumeRequest,
    StartRequest,
    StopRequest,
    Trainings,
    check_start,
)

MAX_WATCHED = 12
"""Runs whose curves one page may ask for."""
MAX_EPOCHS = 2_000
"""Epochs in one response; a page asks again for the rest."""
MAX_KEPT = 10_000
"""Runs whose summaries are kept in memory."""
CURVES = ("epoch", "step", "seconds", "train_loss", "validation_loss", "validation_bleu", "learning_rate")
SCORED = {key: metric for key, metric in METRICS.items() if metric.column}
"""The metrics that `evaluate` shows, and so does the page."""
SCORES = ("split", "beam", "sentences", *SCORED)
FREE_SETTINGS = {"data.bitext", "train.seed", "train.epochs", "train.initial_run"}
"""Settings that do not tell which preset a run has."""


class WatchRequest(RequestBody):
    """The runs whose curves a page shows, each with the number of epochs that it has already."""

    epochs: dict[str, int] = Field(default={}, max_length=MAX_WATCHED)


class DetailsRequest(RequestBody):
    """The runs whose settings a page compares."""

    runs: list[str] = Field(max_length=MAX_WATCHED)


def make_endpoints(service: Service) -> list[Endpoint]:
    """Returns the endpoints of the view."""
    trainings = Trainings(service.registry.folder, service.limits.trainings)
    runs = RunList(service.registry.search)
    service.closing.append(trainings.close)
    describe_settings()  # once, before somebody waits for it

    def show(request: Request) -> Response:
        data = {
            "presets": PRESETS,
            "datasets": list(DATASETS),
            "settings": describe_settings(),
            "metrics": [
                {"key": key, "heading": metric.column, "digits": metric.digits}
                for key, metric in SCORED.items()
            ],
            "local": is_local(request),
            "trainings": trainings.limit,
        }
        return render_page(request, "runs", data=data)

    def watch(request: Request, body: WatchRequest) -> dict[str, Any]:
        # What a training prints may name folders of this machine, which others need not know.
        described = trainings.describe(with_lines=is_local(request))
        return {"now": time.time(), **runs.watch(body.epochs), "trainings": described}

    def details(_request: Request, body: DetailsRequest) -> dict[str, Any]:
        return {"runs": [runs.describe(name) for name in body.runs]}

    def check(_request: Request, body: StartRequest) -> dict[str, Any]:
        try:
            config = check_start(service.registry.folder, body)
        except AugenmerkError as error:
            return {"problem": str(error)}  # a form is often wrong while it is filled in: no failure
        return {"changed": list_changes(config, body.preset)}

    def start(_request: Request, body: StartRequest) -> dict[str, Any]:
        trainings.start(body)
        return {"run": body.run}

    def resume(_request: Request, body: ResumeRequest) -> dict[str, Any]:
        trainings.resume(body, runs.find(body.run))
        return {"run": body.run}

    def stop(_request: Request, body: StopRequest) -> dict[str, Any]:
        trainings.stop(body.run)
        return {"run": body.run}

    prefix = "/workbench/runs"
    return [
        Endpoint("GET", "/runs", show),
        Endpoint("POST", f"{prefix}/watch", watch, WatchRequest),
        Endpoint("POST", f"{prefix}/details", details, DetailsRequest),
        Endpoint("POST", f"{prefix}/check", check, StartRequest),
        Endpoint("POST", f"{prefix}/start", start, StartRequest, local=True),
        Endpoint("POST", f"{prefix}/resume", resume, ResumeRequest, local=True),
        Endpoint("POST", f"{prefix}/stop", stop, StopRequest, local=True),
    ]


class RunList:
    """The runs below a folder, each of which is read again when its files change."""

    def __init__(self, search: FolderSearch) -> None:
        self._search = search
        self._lock = threading.Lock()

    def find(self, name: str) -> Path:
        """Returns the folder of a run; raises ServiceError if there is none. No name is used as a path."""
        path = self._search.find().get(name) or self._search.search().get(name)
        if path is None or not path.is_dir():
            raise ServiceError(404, f"There is no run '{shorten(name)}' in the folder of this server.")
        return path

    def watch(self, known: dict[str, int]) -> dict[str, Any]:
        """Returns a summary of each run, the newest first, and the epochs after those known of some runs."""
        paths = {name: path for name, path in self._search.find().items() if path.is_dir()}
        with self._lock:  # others who ask meanwhile wait for the same summaries
            runs = [_summarise(name, path) for name, path in paths.items()]
        runs.sort(key=lambda run: (-run["modified"], run["name"]))
        epochs = {}
        for name, count in known.items():
            if name in paths:
                metrics = _read_metrics(paths[name])
                # A run that was started again has fewer epochs than the page: then all are sent.
                start = count if 0 <= count <= len(metrics) else 0
                rows = [{key: row.get(key) for key in CURVES} for row in metrics[start : start + MAX_EPOCHS]]
                epochs[name] = {"from": start, "epochs": rows}
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


def _summarise(name: str, path: Path) -> dict[str, Any]:
    """Returns what the list shows of a run, with what its files do not tell."""
    files = ("config.toml", "metrics.jsonl", "result.json", "scores.json", "state.safetensors")
    times = tuple(read_time(path / each) for each in files)
    summary = {**_summarise_files(name, path, times), "modified": max(times) / 1e9}
    if "error" not in summary:
        is_finished = times[files.index("result.json")] > 0
        in_training = RunDirectory.is_in_training(path)
        summary["state"] = "training" if in_training else "finished" if is_finished else "stopped"
    return summary


def _read_metrics(path: Path) -> list[dict[str, Any]]:
    try:
        return RunDirectory.open(path).read_metrics()
    except AugenmerkError:
        return []


@lru_cache(maxsize=MAX_KEPT)
def _summarise_files(name: str, path: Path, _times: tuple[int, ...]) -> dict[str, Any]:
    """Returns what files that were written at these times tell of a run; of one that cannot be read, why."""
    try:
        run = RunDirectory.open(path)
        metrics, result, scores = run.read_metrics(), run.result, run.read_scores()
    except AugenmerkError as error:
        return {"name": name, "state": "broken", "error": hide_path(error, name, path)}
    config = run.config
    preset, changes = nearest_preset(config)
    by_bleu = config.train.select_by == "bleu"
    best = min(
        (row for row in metrics if row.get("validation_loss") is not None),
        key=lambda row: -(row.get("validation_bleu") or 0.0) if by_bleu else row["validation_loss"],
        default={},
    )
    return {
        "name": name,
        **config.describe(),
        "preset": preset,
        "changes": changes,
        "data": Path(config.data.bitext).name,
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


def list_changes(config: RunConfig, preset: str) -> dict[str, Any]:
    """Returns the settings in which a run differs from a preset."""
    before = _flatten_preset(preset)
    return {name: value for name, value in config.flatten().items() if value != before.get(name)}


def nearest_preset(config: RunConfig) -> tuple[str, int]:
    """Returns the preset that a run is most like, because it does not name the one it was started with.

    Also returns in how many settings it differs, apart from its data, its seed and its number of epochs.
    """

    def count_changes(preset: str) -> int:
        names = list_changes(config, preset).keys() - FREE_SETTINGS
        return sum(not name.startswith("data.bilderbuch.") for name in names)

    return min(((preset, count_changes(preset)) for preset in PRESETS), key=lambda item: item[1])


@cache
def describe_settings() -> list[dict[str, Any]]:
    """Returns the settings that a training may be started with."""
    return [
        {"name": one.name, "meaning": one.meaning, "type": one.description, "choices": list(one.choices)}
        for one in list_settings(RunConfig())
    ]
