"""Several processes that train one run together, as `torchrun` starts them.

`torchrun` tells each process by the environment which one it is (RANK), how many there are (WORLD_SIZE) and
where they meet (MASTER_ADDR, MASTER_PORT). Every process reads all data and plans the same batches, computes
the gradients of its part of each, and adds them up with those of the others. Only the first process, rank 0,
writes, measures and reports.

Decisions and objects are exchanged by gloo, on the CPU. Gradients on GPUs go by NCCL if each process has its
own GPU, otherwise through the host by gloo: NCCL does not let two processes share a GPU.
"""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from augenmerk.base.device import choose_device
from augenmerk.base.errors import AugenmerkError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from augenmerk.base.config import TrainConfig

EXACT_PARTS = 4
"""The parts of a batch of an exact run: enough for 1, 2 and 4 processes."""
_LIMIT = timedelta(days=7)
"""How long the others wait for the first to validate; a lost process is noticed at once."""
_MEETING_LIMIT = timedelta(minutes=5)
_LOST = re.compile("connection|peer|socket|timed out|nccl|broken pipe", re.IGNORECASE)

_Result = TypeVar("_Result")


class ProcessLostError(AugenmerkError):
    """Raised when another process has ended, whatever the reason was."""


class World:
    """The processes that train a run; `ALONE` is a single process, which waits for nobody."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank = rank
        self.size = size
        self.remark = ""
        """A sentence about how gradients are exchanged, if there is something to say."""
        self._nccl: Any = None

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes, measures and reports."""
        return self.rank == 0

    def from_first(self, work: Callable[[], _Result]) -> _Result:
        """Calls a function in the first process and returns its result in all of them."""
        if self.size == 1:
            return work()
        result = [work() if self.is_first else None]
        with self._exchanging() as distributed:
            distributed.broadcast_object_list(result, 0, device="cpu")
        return result[0]  # type: ignore[return-value]

    def agree(self, signum: int, save: bool) -> tuple[int, bool]:
        """Returns the signal that any process has received, or 0, and whether the first one wants to save."""
        if self.size == 1:
            return signum, save
        import torch

        wishes = torch.tensor([signum, save and self.is_first])
        with self._exchanging() as distributed:
            distributed.all_reduce(wishes, distributed.ReduceOp.MAX)
        return int(wishes[0]), bool(wishes[1])

    def add_up(self, tensor: "Tensor") -> None:
        """Replaces a tensor by the sum of those of all processes, added in any order."""
        if self.size > 1:
            with self._exchanging() as distributed, self._sent(tensor) as sent:
                distributed.all_reduce(sent, group=self._nccl)

    def gather(self, rows: "Tensor") -> None:
        """Fills in the rows of the other processes; all have as many, one process after the other."""
        if self.size > 1:
            with self._exchanging() as distributed, self._sent(rows) as sent:
                for rank, of_process in enumerate(sent.chunk(self.size)):
                    # Gloo's own way to gather takes several times as long (measured).
                    distributed.broadcast(of_process, rank, group=self._nccl)

    def leave(self) -> None:
        """Ends the connections to the others, when all of them have come to the end."""
        if self.size > 1:
            from torch import distributed

            distributed.destroy_process_group()

    def connect(self, store: Any, device: "torch.device") -> None:
        """Connects to the others, and finds out whether NCCL can be used."""
        import torch

        if _is_one_machine():
            # Gloo would look for the host's name, which may have no address.
            names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
            for loopback in {"lo", "lo0"}.intersection(names):
                os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)
        with self._exchanging() as distributed:
            meeting = partial(distributed.init_process_group, "gloo", store=store, timeout=_LIMIT)
            _run_interruptibly(partial(meeting, rank=self.rank, world_size=self.size))
            devices: list[str] = [""] * self.size
            on_gpu = device.type == "cuda"
            own = str(torch.cuda.get_device_properties(device).uuid) if on_gpu else ""
            distributed.all_gather_object(devices, own)
        if not any(devices):
            return
        if not all(devices):
            raise AugenmerkError(
                "Some of the processes have a GPU and others have none; say --device cpu, or start them "
                "where each has one."
            )
        gpus = len(set(devices))
        if gpus == self.size and distributed.is_nccl_available():
            self._nccl = distributed.new_group(backend="nccl", timeout=_LIMIT)
        else:
            self.remark = (
                f"{self.size} processes use {gpus} GPU{'s' if gpus > 1 else ''}, so gradients are added up "
                f"by gloo, through the host."
            )

    @contextmanager
    def _sent(self, tensor: "Tensor") -> Iterator["Tensor"]:
        """Yields the tensor where it can be exchanged, and copies what came back."""
        sent = tensor if self._nccl is not None else tensor.cpu()
        yield sent
        if sent is not tensor:
            tensor.copy_(sent)

    @contextmanager
    def _exchanging(self) -> Iterator[Any]:
        """Yields `torch.distributed`; raises ProcessLostError if another process has ended."""
        from torch import distributed

        try:
            yield distributed
        except RuntimeError as error:
            if _LOST.search(str(error)):
                lost = f"One of the {self.size} processes has ended, so the others end too."
                raise ProcessLostError(lost) from None
            raise


ALONE = World()

_store: Any = None
"""Where the processes meet, once they have."""


def check_processes(settings: "TrainConfig", processes: int) -> None:
    """Raises AugenmerkError if so many processes cannot share a batch."""
    if (settings.exact_parts or processes) % processes:
        raise AugenmerkError(
            f"{settings.exact_parts} parts of a batch (train.exact_parts) cannot be shared equally by "
            f"{processes} processes; start as many as divide {settings.exact_parts}."
        )
    if (parts := max(settings.exact_parts, processes)) > settings.batch_size:
        raise AugenmerkError(
            f"Batches of {settings.batch_size} pairs (train.batch_size) cannot be divided into {parts} parts "
            f"(processes, or train.exact_parts); choose larger batches or fewer parts."
        )


def world_size() -> int:
    """Returns how many processes were started together: 1 without `torchrun`."""
    numbers = (os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    launched = "MASTER_ADDR" in os.environ and all(number.isdecimal() for number in numbers)
    return int(os.environ["WORLD_SIZE"]) if launched else 1


def own_rank() -> int:
    """Returns which of the processes this is, counted from 0."""
    return int(os.environ["RANK"]) if world_size() > 1 else 0


def was_restarted() -> bool:
    """Returns whether `torchrun --max-restarts` has started the processes again after one had failed."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


def will_restart() -> bool:
    """Returns whether `torchrun` will start the processes again if one fails."""
    count, most = (os.environ.get(f"TORCHELASTIC_{name}", "0") for name in ("RESTART_COUNT", "MAX_RESTARTS"))
    return world_size() > 1 and int(count) < int(most)


def torchrun_command() -> str:
    """Returns how to start as many processes again, as far as it can be known."""
    return f"torchrun --nproc-per-node {world_size()}" if _is_one_machine() else "torchrun ..."


def should_report_error() -> bool:
    """Returns whether this process reports why all of them end: the first that asks does, and no other."""
    if world_size() == 1:
        return True
    if _store is None:
        return own_rank() == 0
    try:
        return bool(_store.add("reported", 1) == 1)
    except RuntimeError:  # the store has ended with the machine that held it
        return True


def ignore_signals() -> None:
    """Ignores Ctrl-C and SIGTERM in a process that ends: `torchrun` sends them when another was faster."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def join(device: str) -> tuple[World, "torch.device"]:
    """Meets the other processes, if there are any; also returns the device of this one, given its name."""
    size = world_size()
    if size == 1:
        return ALONE, choose_device(device)
    import torch
    from torch import distributed

    global _store
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    world = World(own_rank(), size)
    serves = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and world.is_first
    try:
        server = distributed.TCPStore(  # type: ignore[attr-defined]
            address, port, is_master=serves, wait_for_workers=False, timeout=_MEETING_LIMIT
        )
    except RuntimeError:
        raise AugenmerkError(
            f"The other processes cannot be reached: nothing answers at {address}, port {port} (MASTER_ADDR, "
            f"MASTER_PORT)."
        ) from None
    # A store may be the same after a restart.
    prefix = f"augenmerk {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    _store = distributed.PrefixStore(prefix, server)  # type: ignore[attr-defined]
    _store.add("arrived", 1)
    while _store.add("arrived", 0) < size:  # here rather than in torch, where a signal would have to wait
        time.sleep(0.02)
    chosen = choose_device(device)
    if str(chosen) == "cuda":  # without a number, as a rule
        number = int(os.environ.get("LOCAL_RANK", world.rank)) % torch.cuda.device_count()
        chosen = choose_device(f"cuda:{number}")
    world.connect(_store, chosen)
    return world, chosen


def _run_interruptibly(work: Callable[[], None]) -> None:
    """Runs a function that may wait in torch for a process that has died; a signal ends the waiting."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if raised:
        raise raised[0]


def _is_one_machine() -> bool:
    """Returns whether all processes are on this machine."""
    here = os.environ.get("LOCAL_WORLD_SIZE")  # which only torchrun sets
    return here == str(world_size()) if here else os.environ["MASTER_ADDR"] in ("localhost", "127.0.0.1")
