"""What tests let processes do that are forked; tests/support/processes.py starts them."""

import json
import os
import signal
import socket
import sys
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import torch
from torch import Tensor

import augenmerk.__main__
from augenmerk.evaluation.evaluator import save_row
from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import train
from tests.support.forks import limited_file_size, say
from tests.support.runs import CPU, Silent

MOMENTS = {
    *(f"augenmerk.training.{name}" for name in ("loop", "engine", "distributed")),
    *(f"augenmerk.run.{name}" for name in ("directory", "records")),
    *("augenmerk.base.files", "augenmerk.base.arrays"),
}


def tensors(step: int) -> dict[str, Tensor]:
    """Large enough that there is time to be killed while they are written."""
    return {
        "weight": torch.full((500_000,), float(step)),
        "rng": torch.tensor([step % 256], dtype=torch.uint8),
    }


def save_for_ever(folder: Path, _number: int) -> NoReturn:
    run = RunDirectory.open(folder)
    with run.training():
        state = run.load_state()
        step = 0 if state is None else state[1]["step"]
        while True:
            step += 1
            run.save_model(tensors(step), {"step": step})
            run.write_metrics([{"step": n} for n in range(step)])
            run.save_state(tensors(step), {"step": step})
            say(step)


def create_for_ever(folder: Path, _number: int) -> NoReturn:
    like = RunDirectory.open(folder)
    tokenizers, n = like.tokenizers, 0
    while True:
        RunDirectory.create(folder.parent / "many" / f"{os.getpid()}-{n}", like.config, tokenizers)
        n += 1
        say(n)


def create_contested(folder: Path, _number: int) -> None:
    like = RunDirectory.open(folder)
    RunDirectory.create(folder.parent / "contested", like.config, like.tokenizers)
    say("created")


def save_too_much(folder: Path, _number: int) -> None:
    run = RunDirectory.open(folder)
    with run.training(), limited_file_size(50_000):
        run.save_state(tensors(2), {"step": 2})


def create_too_much(folder: Path, _number: int) -> None:
    like = RunDirectory.open(folder)
    tokenizers = like.tokenizers
    with limited_file_size(100):
        RunDirectory.create(folder.parent / "large", like.config, tokenizers)


def hold(folder: Path, _number: int) -> None:
    with RunDirectory.open(folder).training():
        say("held")
        signal.pause()


def keep_rows(folder: Path, number: int) -> None:
    """Writes 30 rows of scores, and as many of an ensemble, for beams from `number` on."""
    run = RunDirectory.open(folder)
    say("ready")
    for beam in range(number, number + 30):
        for others in ({}, {"ensemble": ["other"]}):
            save_row(run, {"split": "val", "beam": beam, **others}, [f"beam {beam}"], [0.5])


def train_until(folder: Path, number: int) -> None:
    """Trains a run, and is killed at the call with this number in the modules `MOMENTS`; 0 is never.

    So a moment is the same on every machine. It may lie anywhere: before the first batch, between two steps,
    or between writing a file and giving it its name.
    """
    run = RunDirectory.open(folder)
    calls = count_calls(number)
    train(run, CPU, Silent())
    sys.setprofile(None)
    say(len(calls))


def count_calls(
    number: int, function: str = "", signum: int = signal.SIGKILL, *, since: str = ""
) -> list[None]:
    """Counts calls from here on, and sends a signal to this process at the one with this number.

    Calls are those in the modules `MOMENTS`, or of one function of them; they are counted from the first call
    of the function `since` on, if it is given.
    """
    calls: list[None] = []
    counting = not since

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counting
        if event not in ("call", "c_call") or frame.f_globals.get("__name__") not in MOMENTS:
            return
        counting = counting or frame.f_code.co_name == since
        if counting and (not function or (event == "call" and frame.f_code.co_name == function)):
            calls.append(None)
            if len(calls) == number:
                os.kill(os.getpid(), signum)

    sys.setprofile(count)
    return calls


def run_together(folder: Path, number: int) -> None:
    """Runs a command in so many processes, as `torchrun` does; says their numbers, and at last their codes.

    The folder holds `command.json`: the arguments of the command, and what happens to the process of one
    `rank`: the arguments of `count_calls`, or the size of the `largest` file that it can write. What the
    processes print is in the files `printed.0`, `printed.1` and so on.
    """
    command = json.loads((folder / "command.json").read_text(encoding="utf-8"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    processes = []
    for rank in range(number):
        if (process := os.fork()) == 0:
            place = {"RANK": rank, "WORLD_SIZE": number, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            place["TORCHELASTIC_USE_AGENT_STORE"] = True
            os.environ |= {name: str(value) for name, value in place.items()}
            output = os.open(folder / f"printed.{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os._exit(_run_rank(command["arguments"], command if rank == command.get("rank") else {}))
        processes.append(process)
    # Where they meet. It has threads, so it comes after the forks; and it outlives whoever is killed.
    store = torch.distributed.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    say(*processes)
    say(*(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes))
    del store


def _run_rank(arguments: list[str], trouble: dict[str, Any]) -> int:
    sys.argv[:] = ["augenmerk", *arguments]
    if "calls" in trouble:
        count_calls(*trouble["calls"], since="train")  # when they have met: how long that takes is chance
    try:
        with limited_file_size(trouble["largest"]) if "largest" in trouble else nullcontext():
            augenmerk.__main__.main()
    except SystemExit as end:
        sys.stdout.flush()
        return int(end.code or 0)
    return 0


TASKS = {
    task.__name__: task
    for task in (
        *(save_for_ever, create_for_ever, create_contested),
        *(save_too_much, create_too_much, hold, keep_rows, train_until, run_together),
    )
}
