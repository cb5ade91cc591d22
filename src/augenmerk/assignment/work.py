"""Measures everything that the assignment asks, and keeps it as `assignment.json`.

The folder of an assignment has the trainings in `study`, a study like any other, so an interrupted one
resumes there. Beams that were measured are kept in the run. The theory takes seconds and is computed again.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import torch
from rich.progress import MofNCompleteColumn

from augenmerk import __version__
from augenmerk.analysis.patterns import (
    PatternMatch,
    find_patterns,
    select_strongest,
    summarise_patterns,
)
from augenmerk.analysis.reading import translate_split
from augenmerk.assignment.plan import BEAMS, BEST, DIAGRAMS, TASKS, read_published
from augenmerk.base.console import LineClock, err, format_seconds, show_progress
from augenmerk.base.device import choose_device, choose_translating_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import make_folder
from augenmerk.evaluation.evaluator import Evaluator
from augenmerk.run.directory import RunDirectory
from augenmerk.study.display import StudyDisplay
from augenmerk.study.measure import is_scored
from augenmerk.study.plan import Study
from augenmerk.study.result import StudyResult
from augenmerk.study.runner import RunStatus, check_splits, default_jobs, run_study
from augenmerk.theory.exercises import EXERCISES
from augenmerk.theory.grading import check
from augenmerk.theory.lab import run as run_theory

DOCUMENT, LOG, STUDY = "assignment.json", "assignment.log", "study"
FORMAT = 1
STEPS = ("the theory", "nine trainings", "beam search", "attention diagrams")
LOG_SECONDS = 15.0
"""Between two lines of the log about the progress of the trainings."""
MIN_SHARE = 0.1
"""The share of the trainings from which the time that is left can be estimated."""
DIGITS = 4
"""Of attention weights in `assignment.json`."""


class Log:
    """A line for each step in the log file, and on stderr; without a terminal also about the progress."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self._path = folder / LOG
        self._start, self._due = time.monotonic(), 0.0
        self._clock = LineClock()

    def write(self, text: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now().isoformat(' ', 'seconds')}  {text}\n")

    @contextmanager
    def step(self, number: int) -> Iterator[None]:
        name, start = f"step {number} of {len(STEPS)}: {STEPS[number - 1]}", time.monotonic()
        err().print(f"[dim]{name}[/]")
        self.write(name)
        yield
        self.write(f"done after {format_seconds(time.monotonic() - start)}")

    def show(self, statuses: Sequence[RunStatus]) -> None:
        """Writes how far the trainings are, and when they will be done."""
        done = sum(status.state == "finished" for status in statuses)
        if time.monotonic() < self._due and done < len(statuses):
            return
        self._due = time.monotonic() + LOG_SECONDS
        begun = [status for status in statuses if not status.already_finished]
        shares = [_share(status) for status in begun]
        line, share = f"{done} of {len(statuses)} runs finished", sum(shares) / max(1, len(shares))
        if MIN_SHARE < share < 1:
            left = (time.monotonic() - self._start) * (1 - share) / share
            line += f", about {format_seconds(left)} left"
            if self._clock.is_due():
                err().print(line, markup=False)
        self.write(line)


def _share(status: RunStatus) -> float:
    """Returns how much of a run is done, by its training."""
    return 1.0 if status.state in ("finished", "failed") else status.furthest


def do_assignment(study: Study, about: dict[str, Any], folder: Path, device: str, jobs: int | None) -> Any:
    """Returns the whole assignment as plain data; raises AugenmerkError if a training fails."""
    check_splits(study.runs[0].config.data, study.splits)  # before hours of work
    log = Log(folder)
    with log.step(1):
        theory, grades = _study_theory(), _grade_published()
    with log.step(2):
        result = _train(study, folder / STUDY, device, jobs, log)
    chosen = _choose_run(result)
    path, split = folder / STUDY / chosen["run"], result.splits[0]
    with log.step(3):
        beams = list(_search(RunDirectory.open(path), split, device))
    with log.step(4):
        found, diagrams = _find_patterns(path, split, device)
    log.write("everything is measured")
    return {
        **{"format": FORMAT, "augenmerk": __version__, **about},
        **{"date": datetime.now().date().isoformat(), "theory": theory, "grades": grades},
        **{"study": result.to_dict(), "translator": {**chosen, **beams[0]}, "beams": beams},
        **{"patterns": found, "diagrams": diagrams},
        "published": {key: value for key, value in read_published().items() if key != "answers"},
    }


def _study_theory() -> list[dict[str, Any]]:
    results = {task: run_theory(task) for task in TASKS}
    return [
        {"title": EXERCISES[task].title, "question": EXERCISES[task].text, **result.to_dict()}
        for task, result in results.items()
    ]


def _grade_published() -> list[dict[str, Any]]:
    """Returns the grader's verdict on each published answer."""
    answered = product(("1.2", "1.4"), read_published()["answers"])
    graded = [(each["who"], check(task, each[task])) for task, each in answered if task in each]
    kept = ("task", "answers", "verdict", "holds", "why", "mistake")
    return [{"who": who} | {key: getattr(grade, key) for key in kept} for who, grade in graded]


def _train(study: Study, folder: Path, device: str, jobs: int | None, log: Log) -> StudyResult:
    """Trains what is missing."""
    where = str(choose_device(device))
    most = jobs or default_jobs(where, torch.cuda.device_count())
    with StudyDisplay() as display:

        def show(statuses: Sequence[RunStatus]) -> None:
            display.show(statuses)
            log.show(statuses)

        result = run_study(study, folder, jobs=most, device=where, on_progress=show)
    failed = [run for variant in result.variants for run in variant.runs if run.state != "finished"]
    if failed:
        first = failed[0]
        raise AugenmerkError(
            f"{len(failed)} of {len(study.runs)} trainings failed, so there is no report; the first, "
            f"{folder / first.run}: {first.problem or first.state} Run the same command to try again."
        )
    return result


def _choose_run(result: StudyResult) -> dict[str, Any]:
    """Returns the scaled dot-product run with the lowest validation loss: the test split chooses nothing."""
    [variant] = [each for each in result.variants if each.name == BEST]
    losses = variant.summary("validation_loss")
    assert losses is not None
    seed = min(losses.values, key=lambda seed: losses.values[seed])
    [run] = [each.run for each in variant.runs if each.seed == seed]
    return {
        "run": run,
        "seed": seed,
        "validation_loss": losses.values[seed],
        "parameters": variant.parameters,
    }


def _search(run: RunDirectory, split: str, device: str) -> Iterator[dict[str, Any]]:
    """Yields the scores with each beam; those that the run has already are not measured again."""
    with show_progress(MofNCompleteColumn()) as on_progress:
        evaluator = Evaluator(run, choose_translating_device(device), on_progress=on_progress)
        with evaluator.translator:
            pairs = evaluator.read_splits([split])
            if missing := [beam for beam in BEAMS if not is_scored(run, split, beam)]:
                evaluator.evaluate(pairs, missing)
    rows = {row["beam"]: row for row in run.read_scores() if row["split"] == split}
    yield from (rows[beam] for beam in BEAMS)


def _find_patterns(run: Path, split: str, device: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns how often each pattern is, and the clearest sentences: one half inversions, one half others."""
    read = translate_split(None, run, split, 1, device)
    matches = find_patterns(read.pairs, read.translations, read.source_language)
    summary = summarise_patterns(read.pairs, matches, of_references=False)
    others = [match for match in matches if match.pattern.kind != "inversion"]
    chosen = select_strongest(matches, "inversion", DIAGRAMS // 2)
    chosen += select_strongest(others, None, DIAGRAMS - len(chosen))
    found = {key: summary[key] for key in ("sentences", "without_words", "kinds")}
    return found, [_describe(match) for match in chosen]


def _describe(match: PatternMatch) -> dict[str, Any]:
    """Returns a sentence with its attention, as a map shows it."""
    one, pattern = match.translation, match.pattern
    return {
        **{"index": match.index, "kind": pattern.kind, "verdict": pattern.verdict},
        **{"source": one.source, "translation": one.text, "reference": match.pair.target},
        **{"source_words": list(one.source_words), "target_words": list(one.target_words)},
        "weights": one.attention.astype(float).round(DIGITS).tolist(),
    }
