"""Counts the modules that each flow enters, on tiny data: the table in docs/explanation/architecture.md.

python benchmarks/flows.py           prints the table
python benchmarks/flows.py --list    also lists the modules, in the order in which they are entered
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

import httpx
import torch

import augenmerk
from augenmerk.evaluation.evaluator import Evaluator, evaluate_run
from augenmerk.serve.endpoint import Service
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.server import make_server, open_socket
from augenmerk.study.plan import read_study
from augenmerk.study.runner import run_study
from augenmerk.training.loop import train
from augenmerk.training.start import start_preset

PACKAGE = Path(augenmerk.__file__).parent
SENTENCE = "Ein Hund schläft."
CPU = torch.device("cpu")
SETTINGS = ("data.bitext=bilderbuch", "data.bilderbuch.pairs=300", "model.hidden=16", "train.epochs=1")
STUDY = """
question = "Does a translator need attention?"
seeds = [1, 2]
splits = ["test"]

[factors]
attention = ["none", "scaled-dot"]

[settings]
data = { bitext = "bilderbuch", bilderbuch = { pairs = 300 } }
model = { hidden = 16 }
train = { epochs = 1 }
"""


class Silent:
    """A training's reporter that prints nothing."""

    def begin(self, data: object) -> None: ...
    def batch(self, *numbers: float) -> None: ...
    def epoch(self, metrics: object) -> None: ...


class Watch:
    """Records the modules of the package in which a function is called, in all threads started since."""

    def __init__(self) -> None:
        self._entered: dict[str, None] | None = None
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or self._entered is None or frame.f_code.co_name == "<module>":
            return
        if (name := module_name(frame.f_code.co_filename)) is not None:
            self._entered[name] = None

    def count(self, call: Callable[[], object]) -> list[str]:
        """Returns the modules that a call enters, in the order of their first calls."""
        self._entered = {}
        call()
        entered, self._entered = list(self._entered), None
        return entered


@cache
def module_name(file: str) -> str | None:
    """Returns "room/module" for a file of the package, with bilderbuch's grammar as one; None for others."""
    if not Path(file).is_relative_to(PACKAGE):
        return None
    name = Path(file).relative_to(PACKAGE).with_suffix("").as_posix()
    return "data/bilderbuch" if name.startswith("data/bilderbuch") else name.removesuffix("/__init__")


@contextmanager
def serving(run: Path) -> Iterator[httpx.Client]:
    """Serves a run on a free port, with its model loaded, and yields a client."""
    listening = open_socket("127.0.0.1", 0)
    ready = threading.Event()
    server = make_server(Service(ModelRegistry([run])), on_ready=ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    ready.wait()
    with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=60) as client:
        client.post("/v1/translate", json={"text": SENTENCE}).raise_for_status()
        yield client
    server.should_exit = True
    thread.join()


def count_flows(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yields each flow with the modules it enters."""
    watch = Watch()
    run, _ = start_preset("quick", SETTINGS, folder / "run")
    yield "train", watch.count(lambda: train(run, CPU, Silent()))
    yield "load", watch.count(lambda: augenmerk.load(run.path))
    translator = augenmerk.load(run.path)
    yield "translate", watch.count(lambda: translator.translate(SENTENCE))
    evaluator = Evaluator(run, CPU)
    yield "evaluate", watch.count(lambda: evaluate_run(evaluator, ["val"]))
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    study = read_study(folder / "study.toml")
    yield (
        "study",
        watch.count(
            lambda: run_study(study, folder / "study", jobs=1, device="cpu", on_progress=lambda _: None)
        ),
    )
    with serving(run.path) as client:
        body = {"text": SENTENCE}
        yield "POST /v1/translate", watch.count(lambda: client.post("/v1/translate", json=body))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for name, modules in count_flows(Path(temporary)):
            print(f"| {name} | {len(modules)} |")
            if "--list" in sys.argv:
                print("   ", ", ".join(modules), "\n")
