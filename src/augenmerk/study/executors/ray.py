"""Runs the jobs of a study on a Ray cluster.

Each job has an actor, which starts the worker as a process on its machine, as on this one, and passes on its
events. A worker saves and stops when its actor asks it to, or is gone. A machine needs augenmerk installed,
and the study's folder under the same path.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from augenmerk.base.errors import AugenmerkError
from augenmerk.cluster.ray import connect, list_nodes
from augenmerk.study.executors.local import LocalExecutor
from augenmerk.study.worker import Event, Job

if TYPE_CHECKING:
    from ray import ObjectRef

REPORT_SECONDS = 0.5  # for which an actor collects events before it passes them on


@dataclass(frozen=True)
class RayCluster:
    """Where the cluster is, and what each job gets of it."""

    address: str | None = None
    """As `augenmerk.cluster.ray.connect` takes it."""
    cpus: int = 1
    gpus: float = 0.0
    """A fraction lets several jobs share a GPU."""


class RayExecutor:
    """Runs each job in an actor of its own. What still runs when its context is left is ended."""

    def __init__(self, logs: Path, cluster: RayCluster) -> None:
        """Takes the folder for error output, on storage that all machines share."""
        self._logs = logs
        self._cluster = cluster
        self._stack = ExitStack()
        self._actors: dict[str, Any] = {}
        self._calls: dict[
            str, ObjectRef[list[Event]]
        ] = {}  # of each job, the call that brings its next events
        self._begun: set[str] = set()  # jobs of which an event has come
        self._asked: set[str] = set()  # jobs that were asked to stop

    def __enter__(self) -> Self:
        self._stack.enter_context(connect(self._cluster.address))
        try:
            self._check_resources()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        for actor in self._actors.values():
            ray.kill(actor)
        self._stack.close()

    def _check_resources(self) -> None:
        nodes, cpus, gpus = list_nodes(), self._cluster.cpus, self._cluster.gpus
        if not any(node.cpus >= cpus and node.gpus >= gpus for node in nodes):
            shown = ", ".join(sorted({f"{node.cpus} and {node.gpus}" for node in nodes}))
            raise AugenmerkError(
                f"A run would wait for ever: it is to have {cpus} cores and {gpus:g} GPUs, but the machines "
                f"of the Ray cluster have {shown}; see --cpus-per-job and --gpus-per-job."
            )

    def submit(self, job: Job) -> None:
        import ray

        resources = {"num_cpus": self._cluster.cpus, "num_gpus": self._cluster.gpus}
        # Two calls at a time, so that `stop` is heard while `events` waits.
        actor = ray.remote(_JobActor).options(**resources, max_concurrency=2)
        self._begun.discard(job.run)
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
            last = events[-1] if events and events[-1].is_last else None
            if last is None:
                self._calls[run] = self._actors[run].events.remote()
            yield from events
            if last is not None:
                del self._calls[run]
                ray.kill(self._actors.pop(run))

    def _receive(self, run: str, call: "ObjectRef[list[Event]]") -> list[Event]:
        """Returns the events that a call has brought; what became of the actor if it brings none."""
        import ray
        from ray.exceptions import ActorUnavailableError, RayActorError, RayTaskError

        try:
            events = ray.get(call)
        except ActorUnavailableError:  # the connection broke, and Ray tries to mend it
            return []
        except RayTaskError as error:
            return [Event(run, "failed", problem=str(error.cause))]
        except RayActorError as error:
            if run in self._asked:
                return [Event(run, "stopped")]
            return [Event(run, "lost", problem=_explain_loss(str(error)))]
        if events:
            self._begun.add(run)
            if events[-1].phase == "stopped" and run not in self._asked:
                events[-1] = Event(run, "lost", problem="The machine told the run to stop.")
        return events

    def stop(self, job: Job) -> None:
        import ray

        self._asked.add(job.run)
        if job.run in self._begun:
            self._actors[job.run].stop.remote()
        else:  # it may be in the queue still, where nothing hears
            ray.kill(self._actors[job.run])


def _explain_loss(error: str) -> str:
    if "No module named 'augenmerk" in error:
        return "augenmerk is not installed on a machine of the Ray cluster; install it on each."
    return f"The machine or the process of the run is gone ({error.strip().partition(chr(10))[0]})."


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
