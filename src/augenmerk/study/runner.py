"""Checks a study, and runs its missing jobs, several at once, on this machine or a cluster.

Before hours are spent on training, `check_study` finds what is wrong with the data, the settings and custom
mechanisms. Splits are identified by their checksums, which a run keeps with what it has learnt from
(`data.json`) and with its scores.

Stopping a study loses nothing, and neither does killing it: a worker saves and stops when its stdin closes,
which the system does for a dead process. The study's directory stays locked until the last worker on this
machine has saved, because each of them holds the lock too; a study that is started again meanwhile waits for
that. On a cluster, only the locks of the runs keep a worker from training a run that another one still saves.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from augenmerk.base.config import DataConfig
from augenmerk.base.device import count_cores, count_threads, uses_bf16
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, error_reason, hold_lock, make_folder, mark
from augenmerk.base.process import SavedInterrupt, exit_code, interrupt_on_sigterm
from augenmerk.data import is_prepared, open_data
from augenmerk.mechanisms.custom import CUSTOM_MECHANISMS, check_recorded
from augenmerk.model.trial import try_mechanism
from augenmerk.run.directory import RunDirectory
from augenmerk.study.collect import collect, read_run
from augenmerk.study.jobs import Event, Executor, Job, LocalExecutor
from augenmerk.study.measure import MeasuredRun, describe_split, describe_sum
from augenmerk.study.plan import PlannedRun, Study, save_plan
from augenmerk.study.result import MARK, StudyResult, describe_other_data
from augenmerk.training import start

if TYPE_CHECKING:
    from augenmerk.study.clusters import RayCluster, SlurmCluster

LOCK = ".lock"
"""The file that is locked while the study runs, and never removed."""
LOCK_TIMEOUT = 30.0
"""Seconds to wait for the workers of a study that was killed: they are saving."""
REFRESH_SECONDS = 0.2
MAX_JOBS = 4
RESTARTS = 3
"""Times that a run lost by a cluster is submitted again without getting further, before it has failed."""
LOST_LOCK_SECONDS = 300.0
"""Seconds that a run submitted again waits for its lock: network file systems release that of a machine that
has vanished after a minute or two."""


class StudyInterrupted(SavedInterrupt):
    """Raised after Ctrl-C or SIGTERM, when every run has saved."""


# Checks


def check_study(study: Study, out: Path) -> None:
    """Raises AugenmerkError for all that can be found wrong before anything is run."""
    if (out / "config.toml").exists():
        raise AugenmerkError(f"{out} is the folder of a run; choose another folder for the study with --out.")
    check_data(study, out)  # first, because other data may fit other settings
    check_settings(study, out)
    for model, precision in dict.fromkeys(
        (run.config.model, run.config.train.precision) for run in study.runs
    ):
        try_mechanism(model, bf16=uses_bf16(precision, torch.device("cpu")))
    for planned, run in _open_runs(study, out):
        if planned.config.model.attention in CUSTOM_MECHANISMS:
            try:
                recorded = run.read_code()
            except AugenmerkError:
                continue  # damaged, which is reported later
            check_recorded(planned.config.model.attention, recorded, run.path)


def _open_runs(study: Study, out: Path) -> Iterator[tuple[PlannedRun, RunDirectory]]:
    """Yields the runs that were started, except damaged ones, which fail later, each on its own."""
    for planned in study.runs:
        if (out / planned.path / "config.toml").exists():
            try:
                run = RunDirectory.open(out / planned.path)
            except AugenmerkError:
                continue
            yield planned, run


def check_settings(study: Study, out: Path) -> None:
    """Raises AugenmerkError if a run was started with other settings than the study has now."""
    for planned, run in _open_runs(study, out):
        old, new = run.config.flatten(), planned.config.flatten()
        for key in old | new:
            if old.get(key) != new.get(key):
                raise AugenmerkError(
                    f"{run.path} was started with {key} = {old.get(key)}, but the study now has "
                    f"{new.get(key)}; choose another --out, or remove that run."
                )


def check_data(study: Study, out: Path) -> None:
    """Raises AugenmerkError if a split is absent, variants are tested on different sentences, or the data has
    changed since runs in `out` were trained."""
    opened = cache(open_data)
    describe = cache(lambda config, split: describe_split(config, opened(config), split))
    by_data: dict[DataConfig, PlannedRun] = {}
    for planned in study.runs:
        by_data.setdefault(planned.config.data, planned)
    first = study.runs[0]
    for config, planned in by_data.items():
        check_splits(config, study.splits)
        ours = [describe(first.config.data, split) for split in study.splits]
        theirs = [describe(config, split) for split in study.splits]
        if problem := describe_other_data(ours, theirs):
            raise AugenmerkError(
                f"{first.variant.name} and {planned.variant.name} cannot be compared: {problem}; paired "
                f"tests need variants that are tested on the same sentences, so choose factors or splits "
                f"that leave them alone."
            )
    for planned, run in _open_runs(study, out):
        config = planned.config.data
        if run.config.data != config:
            continue  # a changed setting, which has its own error
        try:
            known = [describe_sum(split, found) for split, found in run.read_data().items()]
            known += [
                {"split": row["split"], "sentences": row["sentences"], "sha256": row["data_sha256"]}
                for row in run.read_scores()
                if row.get("data_sha256")
            ]
        except (AugenmerkError, LookupError, TypeError):
            continue  # damaged, which is reported later
        for then in known:
            if then["split"] not in (config.train, config.validation, *study.splits):
                continue
            if problem := describe_other_data([then], [describe(config, then["split"])]):
                raise AugenmerkError(
                    f"{config.bitext} has changed since {run.path} was trained ({problem}, then and now); "
                    f"put the old data back, or choose another --out to train all runs on the new data."
                )


def check_splits(config: DataConfig, splits: Sequence[str]) -> None:
    """Raises AugenmerkError if a split is absent or empty."""
    bitext = open_data(config)
    train = () if is_prepared(config.bitext) else (config.train,)  # which a prepared corpus always has
    for split in (*train, config.validation, *splits):
        if not any(True for _ in islice(bitext[split], 1)):
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{split}'.")


# Running


@dataclass
class RunStatus:
    """How far a run of a study is."""

    planned: PlannedRun
    state: str = "waiting"  # waiting, queued (submitted), running, stopped, finished or failed
    already_finished: bool = False  # whether it was finished before this study began
    phase: str = ""  # training, translating, ...: see `Event`
    progress: float = 0.0  # the fraction of the phase that is done
    epoch: int = 0
    loss: float | None = None
    bleu: float | None = None  # on the validation split
    problem: str | None = None
    host: str | None = None  # the machine on which it runs
    restarts: int = 0  # how often it was lost and submitted again without getting further
    furthest: float = 0.0  # the largest fraction of training that was done

    def update(self, event: Event) -> None:
        if event.is_last:
            self.state, self.problem = event.phase, event.problem
        else:
            self.state, self.phase, self.progress = "running", event.phase, event.progress
        if event.phase == "training" and event.progress > self.furthest:
            self.furthest, self.restarts = event.progress, 0
        self.host = event.host or self.host
        self.epoch = event.epoch or self.epoch
        self.loss = event.loss if event.loss is not None else self.loss
        self.bleu = event.bleu if event.bleu is not None else self.bleu


OnProgress = Callable[[Sequence[RunStatus]], None]


def run_study(
    study: Study,
    out: Path,
    *,
    jobs: int,
    device: str,
    on_progress: OnProgress,
    cluster: "RayCluster | SlurmCluster | None" = None,
    threads: int | None = None,
    loggers: Sequence[str] = (),
) -> StudyResult:
    """Runs all that is missing in `out` and writes study.json, also when interrupted.

    A run that fails does not keep the others from running. Runs are on this machine unless a cluster is
    given; `out` must then be on storage that all its machines share. Each run on this machine computes
    with `threads` CPU threads, by default its share of the cores. `loggers` are code that the user named.
    """
    study = fit_to_data(study)
    check_study(study, out)
    if cluster is not None and not out.exists():  # a study that is already finished needs no cluster
        cluster.check()
    # A machine of a cluster may have another current folder.
    folder = out if cluster is None else out.resolve()
    statuses = {str(folder / planned.path): RunStatus(planned) for planned in study.runs}
    finished: dict[str, MeasuredRun] = {}
    with _lock(out) as locks:
        save_plan(study, out)
        for status in statuses.values():
            if (found := _read_finished(study, out, status)) is not None:
                finished[status.planned.name] = found
        common = (study.splits, study.beams, study.sentences, device, _keep_mechanisms(folder), loggers)
        lock_seconds = 0.0 if cluster is None else LOST_LOCK_SECONDS
        waiting = [
            Job(run, status.planned.config.model_dump(exclude_none=True), *common, lock_seconds)
            for run, status in statuses.items()
            if status.state == "waiting"
        ]
        devices = [device] if cluster else list_devices(device, torch.cuda.device_count())
        threads = threads or threads_each(min(jobs, max(1, len(waiting))))
        local, logs = LocalExecutor(folder / "logs", threads, locks), folder / "logs"
        # If there is nothing to do, no cluster is needed.
        opened = cluster.open(logs) if cluster is not None and waiting else local
        with interrupt_on_sigterm(), opened as executor:
            try:
                restarts = 0 if cluster is None else RESTARTS
                run_jobs(executor, waiting, jobs, devices, statuses, on_progress, restarts)
            finally:
                problems = {each.planned.name: each.problem for each in statuses.values() if each.problem}
                result = collect(study, out, problems, finished)
                result.save(out)
    return result


def fit_to_data(study: Study) -> Study:
    """Returns the study with what its preset left open fitted to the data, as `train.start` would do it."""
    count = cache(start.count_training_pairs)
    runs = (replace(run, config=start.fit_to_data(run.config, count)) for run in study.runs)
    return replace(study, runs=tuple(runs))


def run_jobs(
    executor: Executor,
    waiting: Sequence[Job],
    most: int,
    devices: Sequence[str],
    statuses: dict[str, RunStatus],
    on_progress: OnProgress,
    restarts: int = 0,
) -> None:
    """Runs the jobs, at most `most` at once, each on the device that is used least.

    A job that is lost is submitted again, `restarts` times without getting further; then it has failed.
    On Ctrl-C, SIGTERM or an error, asks all running jobs to stop and waits for them; a second Ctrl-C ends the
    wait.
    """
    queue, running = list(waiting), dict[str, Job]()

    def receive_events() -> None:
        on_progress(list(statuses.values()))
        for event in executor.events(REFRESH_SECONDS):
            status = statuses[event.run]
            status.update(event)
            if event.is_last:
                job = running.pop(event.run, None)
                if job is not None and event.phase == "lost" and status.restarts < restarts:
                    status.restarts, status.state, status.problem = status.restarts + 1, "waiting", None
                    queue.insert(0, job)
                elif event.phase == "lost":
                    status.state = "failed"
                    if restarts:
                        status.problem = f"{event.problem} It was lost {restarts + 1} times at this point."

    try:
        while queue or running:
            while queue and len(running) < most:
                in_use = [job.device for job in running.values()]
                job = replace(queue.pop(0), device=min(devices, key=in_use.count))
                executor.submit(job)
                running[job.run] = job
                statuses[job.run].state = "queued"
            receive_events()
    except KeyboardInterrupt as interrupt:
        raise StudyInterrupted(exit_code(interrupt)) from None
    finally:
        for job in running.values():
            executor.stop(job)
        while running:
            receive_events()
        on_progress(list(statuses.values()))


def default_jobs(device: str, gpus: int) -> int:
    """Returns how many runs to have at a time on this machine: as many as GPUs, if there are several to use,
    otherwise one for each core, at most MAX_JOBS."""
    return gpus if device == "cuda" and gpus > 1 else min(count_cores(), MAX_JOBS)


def list_devices(device: str, gpus: int) -> list[str]:
    """Returns the devices to distribute jobs over: every GPU for "cuda", otherwise the one named."""
    return [f"cuda:{index}" for index in range(gpus)] if device == "cuda" else [device]


def threads_each(jobs: int) -> int:
    """Returns the CPU threads of each job: its share of the cores, or $OMP_NUM_THREADS if that is fewer."""
    return min(max(1, count_cores() // jobs), count_threads())


def _read_finished(study: Study, out: Path, status: RunStatus) -> MeasuredRun | None:
    """Reads the run if it is finished, checksums included; a damaged one has failed."""
    try:
        found = read_run(study, out, status.planned)
        if found is not None:
            found.run.load_model()  # verifies its checksum
            found.run.read_code()  # likewise
            status.state, status.already_finished = "finished", True
        return found
    except AugenmerkError as error:
        status.state = "failed"
        status.problem = f"{error} Remove {out / status.planned.path} to have it run again."
        return None


def _keep_mechanisms(out: Path) -> list[str]:
    """Writes the code of custom mechanisms into the study, and returns where they are, as FILE.py:Class.

    So all workers execute the same code, even if the files are edited while the study runs.
    """
    copies = []
    for name, file in CUSTOM_MECHANISMS.items():
        folder = out / "mechanisms" / hashlib.sha256(file.source).hexdigest()[:16]
        file_name, _, class_name = name.rpartition(":")
        make_folder(folder)
        atomic_write(folder / file_name, [file.source])
        copies.append(f"{folder / file_name}:{class_name}")
    return copies


@contextmanager
def _lock(out: Path) -> Iterator[tuple[int, ...]]:
    """Keeps two studies from working in one directory, and marks that one is running.

    Yields the file descriptors for workers to inherit. On Windows nothing is inherited; if a study is killed
    there, only the locks of its runs keep the next one from training a run that is still being saved.
    """
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(hold_lock(out / LOCK, LOCK_TIMEOUT))
        except TimeoutError:
            raise AugenmerkError(
                f"Another study is at work in {out}; wait until it is done, or stop it."
            ) from None
        except OSError as error:
            raise AugenmerkError(f"{out}: cannot be written to ({error_reason(error)}).") from None
        marked = stack.enter_context(mark(out / MARK))
        yield tuple(each for each in (lock, marked) if each is not None)
