"""Runs the jobs of a study on a Ray cluster.

Each job has an actor, which runs it with a `LocalExecutor` on its machine and passes on its events. A worker
saves and stops when its actor asks it to, or is gone. A machine needs augenmerk installed, and the study's
folder under the same path.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from augenmerk.base.errors import AugenmerkError
from augenmerk.cluster.ray import connect, list_nodes
from augenmerk.study.jobs import Event, Job, LocalExecutor, judge_end

if TYPE_CHECKING:
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
