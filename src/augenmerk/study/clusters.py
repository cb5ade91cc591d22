"""Runs the jobs of a study on a Ray cluster, or by Slurm.

On Ray, each job has an actor, which runs it with a `LocalExecutor` on its machine and passes on its events. A
worker saves and stops when its actor asks it to, or is gone. A machine needs augenmerk installed, and the
study's folder under the same path.

Slurm gets jobs from submitit. A worker appends its events to a file in the study's folder, which all machines
share, and the executor follows that. A study that is killed leaves its jobs to Slurm; the next one finds them
by their noted numbers, and follows them instead of submitting them again.
"""

import json
import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, error_reason
from augenmerk.cluster.ray import connect, list_nodes
from augenmerk.study.jobs import (
    Event,
    Job,
    LocalExecutor,
    judge_end,
    last_line,
    log_name,
    read_event,
    thread_variables,
    worker_command,
)

if TYPE_CHECKING:
    import submitit
    from ray import ObjectRef


REPORT_SECONDS = 0.5
"""Seconds for which an actor collects events before it passes them on."""


@dataclass(frozen=True)
class RayCluster:
    """Where the cluster is, and what each job gets of it."""

    address: str | None = None
    """As `augenmerk.cluster.ray.connect` takes it."""
    cpus: int = 1
    gpus: float = 0.0
    """A fraction lets several jobs share a GPU."""
    name: ClassVar = "Ray"

    def check(self) -> None:
        """Does nothing: only connecting shows whether the cluster can be used."""

    def open(self, logs: Path) -> "RayExecutor":
        return RayExecutor(logs, self)


class RayExecutor:
    """Runs each job in its own actor, and ends those that are left when its context ends."""

    def __init__(self, logs: Path, cluster: RayCluster) -> None:
        """Takes the folder for error output, on storage that all machines share."""
        self._logs = logs
        self._cluster = cluster
        self._stack = ExitStack()
        self._actors: dict[str, Any] = {}
        self._calls: dict[str, ObjectRef[list[Event]]] = {}  # by job: the call that brings its next events
        self._started: set[str] = set()  # jobs of which an event has come
        self._asked: set[str] = set()  # jobs that were asked to stop

    def __enter__(self) -> Self:
        cpus, gpus = self._cluster.cpus, self._cluster.gpus
        with ExitStack() as stack:
            stack.enter_context(connect(self._cluster.address))
            nodes = list_nodes()
            if not any(node.cpus >= cpus and node.gpus >= gpus for node in nodes):
                shown = ", ".join(sorted({f"{node.cpus} and {node.gpus}" for node in nodes}))
                raise AugenmerkError(
                    f"A run would wait for ever: it needs {cpus} cores and {gpus:g} GPUs, but the machines "
                    f"of the Ray cluster have {shown}; see --cpus-per-job and --gpus-per-job."
                )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        for actor in self._actors.values():
            ray.kill(actor)
        self._stack.close()

    def submit(self, job: Job) -> None:
        import ray

        resources = {"num_cpus": self._cluster.cpus, "num_gpus": self._cluster.gpus}
        # Two calls at a time, so that `stop` is heard while `events` waits.
        actor = ray.remote(_JobActor).options(**resources, max_concurrency=2)
        self._started.discard(job.run)
        self._actors[job.run] = actor.remote(str(self._logs), self._cluster.cpus, job)
        self._calls[job.run] = self._actors[job.run].events.remote()

    def events(self, timeout: float) -> Iterator[Event]:
        import ray

        runs = {call: run for run, call in self._calls.items()}
        if not runs:
            return
        # Ray does not wait itself, because it takes any signal that ends its waiting for Ctrl-C.
        ready, _ = ray.wait(list(runs), num_returns=len(runs), timeout=0)
        if not ready:
            time.sleep(timeout)
        for call in ready:
            run = runs[call]
            events = self._receive(run, call)
            if events and events[-1].is_last:
                del self._calls[run]
                ray.kill(self._actors.pop(run))
            else:
                self._calls[run] = self._actors[run].events.remote()
            yield from events

    def _receive(self, run: str, call: "ObjectRef[list[Event]]") -> list[Event]:
        """Returns the events that a call has brought, or what became of the actor."""
        import ray
        from ray.exceptions import ActorUnavailableError, RayActorError, RayTaskError

        try:
            events = ray.get(call)
        except ActorUnavailableError:  # the connection broke, and Ray tries to mend it
            return []
        except RayTaskError as error:
            return [Event(run, "failed", problem=str(error.cause))]
        except RayActorError as error:
            why = str(error).strip().partition("\n")[0]
            problem = f"The machine or the process of the run is gone ({why})."
            if "No module named 'augenmerk" in str(error):
                problem = "augenmerk is not installed on a machine of the Ray cluster; install it on each."
            return [judge_end(Event(run, "lost", problem=problem), run in self._asked, "")]
        if events:
            self._started.add(run)
            events[-1] = judge_end(events[-1], run in self._asked, "The machine told the run to stop.")
        return events

    def stop(self, job: Job) -> None:
        import ray

        self._asked.add(job.run)
        if job.run in self._started:
            self._actors[job.run].stop.remote()
        else:  # it may still be in the queue
            ray.kill(self._actors[job.run])


class _JobActor:
    """Runs one job on the machine to which Ray has given it."""

    def __init__(self, logs: str, threads: int, job: Job) -> None:
        self._executor = LocalExecutor(Path(logs), threads)
        self._job = job
        self._submitted = self._stopped = False

    def events(self) -> list[Event]:
        """Returns the events of some time, also if there are none. The first call starts the job."""
        if not self._submitted:
            if self._stopped:
                return [Event(self._job.run, "stopped")]
            self._executor.submit(self._job)
            self._submitted = True
        events = []
        for event in self._executor.events(REPORT_SECONDS):
            events.append(event)
            if event.is_last:
                break
        return events

    def stop(self) -> None:
        self._stopped = True
        if self._submitted:
            self._executor.stop(self._job)


READ_SECONDS = 0.5
"""Seconds between two looks at the files of events."""
QUEUE_SECONDS, STOPPING_QUEUE_SECONDS = 10.0, 2.0
"""Seconds between two calls of squeue, usually and while jobs are being stopped."""
DEFAULTS = {"time": "4:00:00", "no_requeue": True}
"""Options of sbatch. A run that reaches its time limit saves and is submitted again, by the study itself."""
_NO_SLURM = (
    "Slurm is not on this machine: sbatch and srun were not found; start the study where you submit jobs."
)


def _import_submitit() -> Any:
    try:
        import submitit
    except ImportError:
        raise AugenmerkError("submitit is not installed: run pip install '.[slurm]' in your clone.") from None
    return submitit


@dataclass(frozen=True)
class SlurmCluster:
    """What each job gets, and how it is submitted."""

    cpus: int = 1
    gpus: int = 0
    options: Mapping[str, str | bool] = field(default_factory=dict)
    """Options of sbatch without their dashes, such as partition; True for one that takes no value."""
    name: ClassVar = "Slurm"

    def check(self) -> None:
        """Raises AugenmerkError if this machine cannot submit jobs."""
        if _import_submitit().SlurmExecutor.affinity() < 0:
            raise AugenmerkError(_NO_SLURM)

    def open(self, logs: Path) -> "SlurmExecutor":
        return SlurmExecutor(logs, self)


@dataclass
class _Submitted:
    """A job that Slurm has."""

    job: Job
    handle: "submitit.Job[None]"
    events: Path
    offset: int = 0  # how much of the file of events was read
    asked_to_stop: bool = False
    missing: bool = False  # whether Slurm did not list it when it was last asked


class SlurmExecutor:
    """Submits each job to Slurm."""

    def __init__(self, logs: Path, cluster: SlurmCluster) -> None:
        """Takes the folder for events and error output, on storage that all machines share."""
        self._logs = logs
        self._cluster = cluster
        self._queue_seconds = QUEUE_SECONDS
        self._submitted: dict[str, _Submitted] = {}
        self._read_at = self._asked_at = 0.0

    def __enter__(self) -> Self:
        submitit = _import_submitit()
        try:
            self._submitit = submitit.AutoExecutor(self._logs / "slurm", cluster="slurm")
        except RuntimeError:
            raise AugenmerkError(_NO_SLURM) from None
        except OSError as error:
            raise AugenmerkError(f"{self._logs}: cannot be written to ({error_reason(error)}).") from None
        options = {**DEFAULTS, **self._cluster.options}
        self._submitit.update_parameters(
            name="augenmerk",
            cpus_per_task=self._cluster.cpus,
            **({"gpus_per_node": self._cluster.gpus} if self._cluster.gpus else {}),
            timeout_min=10**6,  # submitit's own clock, which ends with the `exec` in `submit`
            slurm_additional_parameters={key.replace("-", "_"): value for key, value in options.items()},
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Tidies up after jobs that ended while no study was there to follow them."""
        if kind is not None or self._submitted or (listed := self._list_queue()) is None:
            return
        for path in self._logs.glob("*.slurm"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                note = json.loads(path.read_text(encoding="utf-8"))
                if note["id"] not in listed:
                    Path(note["events"]).unlink(missing_ok=True)
                    path.unlink()

    def submit(self, job: Job) -> None:
        if (found := self._find(job)) is not None:
            self._submitted[job.run] = found
            return
        events = self._logs / log_name(Path(job.run), f"{secrets.token_hex(4)}.events")
        variables = (f"{name}={value}" for name, value in thread_variables(self._cluster.cpus).items())
        command = ["env", *variables, *worker_command(job, events)]
        try:
            # The worker takes the place of submitit's process, which would not leave it time to save.
            handle = self._submitit.submit(os.execvp, command[0], command)
        except Exception as error:  # submitit's are of several kinds, with all that sbatch has printed
            why = last_line(str(error)) or type(error).__name__
            raise AugenmerkError(f"Slurm has not taken the job: {why}") from None
        self._submitted[job.run] = _Submitted(job, handle, events)
        note = {"id": handle.job_id, "events": str(events), "job": asdict(job)}
        atomic_write(self._note(job), [json.dumps(note).encode()])

    def _find(self, job: Job) -> _Submitted | None:
        """Returns the job if an earlier study has submitted it and Slurm still has it."""
        import submitit

        try:
            note = json.loads(self._note(job).read_text(encoding="utf-8"))
            handle: Any = submitit.SlurmJob(self._logs / "slurm", note["id"])
            is_same = note["job"] == json.loads(json.dumps(asdict(job)))
            found = _Submitted(job, handle, Path(note["events"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        listed = self._list_queue()
        if listed is None:
            raise AugenmerkError(
                "`squeue --me` fails, so runs could be submitted to Slurm twice; try again when it answers."
            )
        if handle.job_id in listed:
            if is_same:
                return found
            handle.cancel(check=False)  # it was told to measure something else
        found.events.unlink(missing_ok=True)
        return None

    def _note(self, job: Job) -> Path:
        """Returns the file in which the number that Slurm gave the job is noted."""
        return self._logs / log_name(Path(job.run), "slurm")

    def _list_queue(self) -> set[str] | None:
        """Returns the numbers of the jobs that wait or run; None if Slurm does not answer."""
        command = ["squeue", "--me", "--noheader", "--format=%i"]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            return None
        return set(answer.stdout.split())

    def events(self, timeout: float) -> Iterator[Event]:
        if time.monotonic() - self._read_at < READ_SECONDS:
            time.sleep(timeout)
            return
        self._read_at = time.monotonic()
        listed = None
        if self._read_at - self._asked_at >= self._queue_seconds:
            # Asked before the events are read: what a job has written at last must not be missed.
            listed, self._asked_at = self._list_queue(), time.monotonic()
        for submitted in list(self._submitted.values()):
            last = None
            for event in self._read_events(submitted):
                if event.is_last:
                    last = event
                else:
                    yield event
            if last is None and listed is not None:
                gone = submitted.handle.job_id not in listed
                if gone and submitted.missing:  # twice, because files on a network may come late
                    last = Event(submitted.job.run, "lost", problem=self._explain_loss(submitted))
                submitted.missing = gone
            if last is not None:
                why = "Slurm has stopped the run: its time was up, or it was cancelled."
                yield judge_end(last, submitted.asked_to_stop, why)
                self._submitted.pop(submitted.job.run)
                files = submitted.events, self._note(submitted.job), submitted.handle.paths.submitted_pickle
                for path in files:
                    path.unlink(missing_ok=True)

    def _read_events(self, submitted: _Submitted) -> Iterator[Event]:
        try:
            with submitted.events.open("rb") as file:
                file.seek(submitted.offset)
                content = file.read()
        except OSError:  # it is not there before the job has started
            return
        whole = content[: content.rfind(b"\n") + 1]
        submitted.offset += len(whole)
        for line in whole.splitlines():
            if (event := read_event(submitted.job.run, line)) is not None:
                yield event

    def _explain_loss(self, submitted: _Submitted) -> str:
        log = submitted.handle.paths.stderr
        error = last_line(log.read_text(errors="replace")) if log.is_file() else ""
        why = f" ({error})" if error else ""
        return f"Slurm's job {submitted.handle.job_id} ended unexpectedly{why}; see {log}."

    def stop(self, job: Job) -> None:
        submitted = self._submitted[job.run]
        submitted.asked_to_stop = True
        submitted.handle.cancel(check=False)  # Slurm sends SIGTERM, and kills after half a minute
        self._queue_seconds = min(self._queue_seconds, STOPPING_QUEUE_SECONDS)


Cluster = RayCluster | SlurmCluster


def choose_cluster(
    name: str,
    device: str,
    *,
    cpus: int,
    gpus: float | None,
    address: str | None,
    options: Iterable[str],
) -> Cluster:
    """Returns a cluster with what each job gets of it; raises AugenmerkError for contradictions.

    Without `gpus`, a job gets one if the device is cuda. `options` are those of sbatch, as NAME=VALUE.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise AugenmerkError(f"'{device}' is no device for the runs on a cluster: expected cpu or cuda.")
    gpus = float(device == "cuda") if gpus is None else gpus
    if (device == "cpu" and gpus) or (device == "cuda" and not gpus):
        raise AugenmerkError(f"--device {device} and --gpus-per-job {gpus:g} contradict each other.")
    if name == "ray":
        return RayCluster(address, cpus, gpus)
    if gpus not in (0, 1):
        raise AugenmerkError(f"Slurm gives whole GPUs: --gpus-per-job is 0 or 1, not {gpus:g}.")
    parsed = dict[str, str | bool]()
    for each in options:
        option, equals, value = each.partition("=")
        if re.fullmatch("[a-z][a-z-]*", option) is None or bool(equals) != bool(value):
            raise AugenmerkError(f"'{each}' is no option of sbatch: expected one such as partition=gpu.")
        parsed[option] = value or True
    return SlurmCluster(cpus, int(gpus), parsed)
