"""Grades the code of a whole class: a folder or a zip file with a submission for each student.

Two processes (`judge.py`) grade one submission after another. What a submission does never stops the others.
"""

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.progress import MofNCompleteColumn

from augenmerk.base.console import Shown, make_table, show_progress
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import atomic_write, check_folders, format_json, make_folder
from augenmerk.base.frames import format_rows
from augenmerk.drawing.html import render_template
from augenmerk.lab.checking import LIMITS, Limits
from augenmerk.lab.child import make_missing
from augenmerk.lab.exercises import EXERCISES, choose_exercises
from augenmerk.lab.report import ExerciseResult, LabReport, read_rubric, score
from augenmerk.lab.sheet import make_files

if TYPE_CHECKING:
    from rich.console import RenderableType

    from augenmerk.theory.classroom import TaskSummary

ENDINGS = (".py", ".ipynb")
USUAL = ("lab.py", "lab.ipynb")
MAX_DRAWN = 1_000_000
MAX_BYTES = 2_000_000
MAX_LINE = 80
MAX_UNPACKED = 500_000_000
_MOODLE = re.compile(r"(?P<student>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?$")
_CANVAS = re.compile(r"(?P<student>[^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)$")
_UNSAFE = re.compile(r"[^\w. -]")
ISOLATION = {
    "namespace": "Answers ran without a network and in a process namespace of their own.",
    "network": "Answers ran without a network.",
    "": "This system has no unprivileged namespaces: Python alone kept answers from the network.",
}


@dataclass(frozen=True)
class Submission:
    student: str
    files: tuple[Path, ...]

    def choose(self) -> tuple[Path | None, str]:
        """Returns the file with the answers, or why there is none."""
        usual = [path for path in self.files if _split_name(path.name)[2].endswith(USUAL)]
        found = [path for path in usual if not _is_untouched(path)] or usual[:1] or list(self.files)
        names = shorten(", ".join(path.name for path in found), 200)
        if not found:
            return None, "There is no .py or .ipynb file."
        if len(found) > 1:
            return None, f"Which of these files has the answers? {names}"
        if found[0].stat().st_size > MAX_BYTES:
            return None, f"The file has over {MAX_BYTES:,} bytes."
        return found[0], ""


def _is_untouched(path: Path) -> bool:
    """Returns whether a file is still what `lab start` wrote, as one of skeleton and notebook often is."""
    return path.read_bytes() in [text.encode() for text in make_files(EXERCISES.values()).values()]


def _split_name(name: str) -> tuple[str, str, str]:
    """Returns the student, what tells submissions apart, and the file that the name of a download has."""
    if found := _MOODLE.match(name) or _CANVAS.match(name):
        return found["student"], found["id"], found["file"] or ""
    return Path(name).stem if name.endswith((*ENDINGS, ".zip")) else name, name, name


def find_submissions(folder: Path, unpacked: Path) -> list[Submission]:
    """Returns the submissions in a folder or a zip file, by student, as Moodle and Canvas name downloads.

    Zip files are unpacked into another folder.
    """
    named = folder
    if folder.is_file():
        if not zipfile.is_zipfile(folder):
            raise AugenmerkError(
                f"{folder} is neither a folder nor a sound zip file; for a single file: augenmerk lab check."
            )
        folder = _unpack(folder, unpacked / "all")
    entries = _list_entries(folder)
    while (
        len(entries) == 1 and entries[0].is_dir() and any(each.is_dir() for each in _list_entries(entries[0]))
    ):
        entries = _list_entries(entries[0])
    found: dict[tuple[str, str], list[Path]] = {}
    for number, entry in enumerate(entries):
        submission = _split_name(entry.name)[:2]
        if entry.suffix == ".zip":
            entry = _unpack(entry, unpacked / str(number))
        paths = sorted(entry.rglob("*")) if entry.is_dir() else [entry]
        inner = [path for path in paths if path.suffix == ".zip"]
        paths += [
            own
            for n, path in enumerate(inner)
            for own in _unpack(path, unpacked / f"{number}-{n}").rglob("*")
        ]
        code = [path for path in paths if path.suffix in ENDINGS and not _is_hidden(path)]
        if code or entry.is_dir() or entry.suffix == ".zip":
            found.setdefault(submission, []).extend(code)
    if not found:
        raise AugenmerkError(f"{named} has no submissions: no .py or .ipynb files, and no folders with some.")
    # Students of one name stay apart.
    count = Counter(student for student, _ in found)
    return [
        Submission(student if count[student] == 1 else f"{student} ({own})", tuple(files))
        for (student, own), files in found.items()
    ]


def _list_entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not _is_hidden(path))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts[-3:])


def _unpack(path: Path, folder: Path) -> Path:
    """Unpacks a zip file; one that is damaged or too large leaves an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) <= MAX_UNPACKED:
                archive.extractall(folder)
    except (zipfile.BadZipFile, OSError, RuntimeError):
        pass
    return folder


class ClassReport(Shown):
    """The graded submissions of a class."""

    def __init__(self, reports: Sequence[LabReport], files: Sequence[str], seed: int, isolation: str) -> None:
        self.reports, self.files, self.seed, self.isolation = reports, files, seed, isolation
        self._names = [each.exercise for each in reports[0].results]

    def to_dict(self) -> dict[str, Any]:
        return {"seed": self.seed, "submissions": [report.to_dict() for report in self.reports]}

    def show(self) -> "Iterable[RenderableType]":
        rows = [
            [
                escape(shorten(each.name, 40)),
                f"{each.points:g}/{each.possible:g}",
                escape(_summarise_mistakes(each)),
            ]
            for each in self.reports
        ]
        yield make_table(["student", "points", "mistakes"], rows, left=3)
        yield ""
        count = len(self.reports)
        yield f"{count:,} submission{'s' if count > 1 else ''}, with the inputs of --seed {self.seed}."
        yield f"[dim]{ISOLATION[self.isolation]}[/]"

    def format_csv(self) -> str:
        """Formats a row for each submission, with the points of each exercise."""
        headings = ["student", "file", "points", "possible", *self._names, "mistakes", "remarks"]
        rows: list[list[object]] = [[*headings]]
        for each, file in zip(self.reports, self.files, strict=True):
            points = (one.points for one in each.results)
            remarks = (f"{one.exercise}: {remark}" for one in each.results for remark in one.remarks)
            found = ["; ".join(_list_mistakes(each)), "; ".join(remarks)]
            rows.append([each.name, file, each.points, each.possible, *points, *found])
        return format_rows(rows)

    def format_otter(self) -> str:
        """Formats the table that `otter grade` writes."""
        rows: list[list[object]] = [["file", *self._names, "percent_correct"]]
        for each, file in zip(self.reports, self.files, strict=True):
            points = (one.points for one in each.results)
            rows.append([file or each.name, *points, each.points / (each.possible or 1)])
        return format_rows(rows)

    def render_page(self) -> str:
        """Renders the page of mistakes, without names."""
        graded = [{"student": each.name, "verdict": ""} for each in self.reports for _ in each.results]
        tasks = [self._summarise(name) for name in self._names]
        questions = {
            str(each.number): {"title": each.title, "text": each.texts["en"].question, "statements": ()}
            for each in EXERCISES.values()
        }
        context = {"graded": graded, "tasks": tasks, "questions": questions, "unread": ()}
        return render_template("grades.html", {**context, "title": "Which mistakes were made"})

    def _summarise(self, name: str) -> "TaskSummary":
        from augenmerk.theory.classroom import MistakeCount, TaskSummary

        results = [report[name] for report in self.reports]
        counts = Counter(map(_word_verdict, results))
        said = {each.mistake: each.says for one in results for each in one.findings}
        said["error"] = "The answer fails with an exception, or does what answers may not do."
        mistakes = Counter(each.mistake for one in results for each in one.findings).most_common()
        counted = tuple(MistakeCount(mistake, said[mistake], count, (), 0) for mistake, count in mistakes)
        verdicts = {verdict: counts[verdict] for verdict in ("right", "partly right", "wrong", "missing")}
        return TaskSummary(str(EXERCISES[name].number), len(results), verdicts, counted)


def _word_verdict(result: ExerciseResult) -> str:
    if result.verdict == "wrong":
        return "partly right" if result.points else "wrong"
    return "right" if result.verdict == "right" else "missing"


def _list_mistakes(report: LabReport) -> list[str]:
    if report.problem:
        return [report.problem]
    found = ((one.exercise, each) for one in report.results for each in one.findings)
    named = [f"{name}: {each.says if each.mistake == 'error' else each.mistake}" for name, each in found]
    undone = [one.exercise for one in report.results if one.verdict in ("not done", "missing")]
    return [*named, *([f"not done: {', '.join(undone)}"] if undone else [])]


def _summarise_mistakes(report: LabReport) -> str:
    """Returns as many mistakes as fit a line, and how many more there are."""
    first, *others = (shorten(each, MAX_LINE) for each in _list_mistakes(report) or [""])
    line = first
    for number, each in enumerate(others):
        if len(line) + len(each) > MAX_LINE:
            return f"{line}; and {len(others) - number} more"
        line += f"; {each}"
    return line


def make_gradescope(report: LabReport) -> dict[str, Any]:
    """Returns what Gradescope reads as results.json."""
    tests = [
        {
            **{"name": each.title, "score": each.points, "max_score": each.possible},
            **{"status": "passed" if each.verdict == "right" else "failed", "visibility": "after_published"},
            "output": "\n".join([*(found.says for found in each.findings), *each.remarks]),
        }
        for each in report.results
    ]
    return {"score": report.points, "output": report.problem, "output_format": "text", "tests": tests}


def grade(
    folder: str | Path,
    exercises: Iterable[str] | str = (),
    *,
    seed: int | None = None,
    rubric: str | Path | None = None,
    limits: Limits = LIMITS,
    jobs: int = 2,
    out: str | Path | None = None,
    page: str | Path | None = None,
    gradescope: str | Path | None = None,
    otter: str | Path | None = None,
    on_written: Callable[[Path], None] = lambda _path: None,
) -> ClassReport:
    """Grades every submission in a folder or a zip file, each in its own processes, with limits.

    The inputs depend on the seed, which is drawn: they are hidden tests. Takes what `augenmerk lab grade`
    takes; calls `on_written` with each file.
    """
    chosen = [each.name for each in choose_exercises(exercises)]
    rules = read_rubric(rubric) if rubric is not None else {}
    files = check_folders(out, page, otter, gradescope)
    if not Path(folder).exists():
        raise AugenmerkError(f"{folder}: there is no such folder or zip file.")
    if not hasattr(os, "fork"):
        raise AugenmerkError("Classes are graded on Linux and macOS only: answers run in a forked process.")
    used = {"exercises": chosen, **asdict(limits)}
    used["seed"] = secrets.randbelow(MAX_DRAWN) if seed is None else seed
    with tempfile.TemporaryDirectory(prefix="augenmerk-class-") as unpacked:
        submissions = find_submissions(Path(folder), Path(unpacked))
        work = [_make_job(each, used) for each in submissions]
    with show_progress(MofNCompleteColumn()) as show:
        found = list(_run_judges(work, jobs, lambda done: show("submissions", done, len(work))))
    reports = [
        LabReport(each.student, [score(one, rules) for one in own["found"]], own["problem"])
        for each, own in zip(submissions, found, strict=True)
    ]
    kinds = {own["isolation"] for own in found if own.get("isolation") is not None}
    names = [str(job.get("path", "")) for job in work]
    report = ClassReport(reports, names, used["seed"], max(kinds, key=[*ISOLATION].index, default=""))
    for path, make in zip(files, (report.format_csv, report.render_page, report.format_otter), strict=False):
        if path is not None:
            atomic_write(path, [make().encode()])
            on_written(path)
    if files[-1] is not None:
        write_gradescope(report, files[-1])
        on_written(files[-1])
    return report


def _make_job(submission: Submission, used: dict[str, Any]) -> dict[str, Any]:
    path, problem = submission.choose()
    try:
        text = path.read_text("utf-8") if path else ""
    except (OSError, UnicodeDecodeError):
        path, problem = None, "The file is not text in UTF-8."
    if path is None:
        return {**used, "problem": problem}
    return {**used, "path": path.name, "text": text}


def _run_judges(
    work: Sequence[dict[str, Any]], jobs: int, on_progress: Callable[[int], None]
) -> Iterator[dict[str, Any]]:
    """Yields what judges find about each job, in their order; a judge that ends is replaced."""
    own = threading.local()  # each thread has a judge
    done = 0
    with ExitStack() as stack:

        def grade(job: dict[str, Any]) -> dict[str, Any]:
            nonlocal done
            missing = [make_missing(name) for name in job["exercises"]]
            found = {"found": missing, "problem": job.get("problem", "The grader itself ended early.")}
            if "problem" not in job:
                own.judge = judge = getattr(own, "judge", None) or _start_judge(stack)
                assert judge.stdin
                assert judge.stdout
                try:
                    judge.stdin.write(json.dumps(job) + "\n")
                    judge.stdin.flush()
                    found = json.loads(judge.stdout.readline())
                except (OSError, ValueError):
                    judge.kill()
                    own.judge = None
            done += 1
            on_progress(done)
            return found

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        yield from pool.map(grade, work)


def _start_judge(stack: ExitStack) -> subprocess.Popen[str]:
    judge = subprocess.Popen(
        [sys.executable, "-m", "augenmerk.lab.judge"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    stack.enter_context(judge)  # closes the pipes, and waits
    stack.callback(judge.kill)
    return judge


def write_gradescope(report: ClassReport, path: Path) -> None:
    """Writes results.json of a single submission, or one for each student into a folder."""
    if path.suffix == ".json":
        if len(report.reports) != 1:
            raise AugenmerkError(
                f"{path} is for one submission, not {len(report.reports)}; name a folder instead."
            )
        files = {path: report.reports[0]}
    else:
        make_folder(path)
        files = {path / f"{_UNSAFE.sub('_', each.name)}.json": each for each in report.reports}
    for file, each in files.items():
        atomic_write(file, [format_json(make_gradescope(each), indent=1).encode()])
