"""Runs the campaign for some minutes and prints a table, and every distinct failure with its commands."""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count
from pathlib import Path
from typing import NamedTuple

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.campaign.case import Case, Failure
from tests.campaign.kinds import KINDS
from tests.campaign.world import make_world
from tests.support.processes import Forker

SHARES = dict(zip(KINDS, (20, 16, 16, 1, 4, 6, 4, 4, 12, 1, 6), strict=True))
"""How often each kind is chosen. A kill takes the longest."""
CASES = 20
"""The size of a group of cases. A group is a function of the seed, its kind and its number."""
SHRUNK = ("commands", "files", "runs", "streams", "texts")
"""Kinds whose cases take so little time that hypothesis may look for the smallest one that fails."""


class Found(NamedTuple):
    """What became of a group of cases."""

    group: str
    cases: int
    seconds: float
    """Those of the slowest command."""
    failures: dict[str, str]
    """What went wrong, and the cases and commands that led to it."""


def run_cases(forker: Forker, world: Path, folder: Path, kind: str, cases: int, seed: object = None) -> Found:
    """Runs some cases of a kind, always the same ones if there is no seed; raises what they raise."""
    run: list[Case] = []

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=seed is None,
        phases=[Phase.generate, *([Phase.shrink] if seed is not None and kind in SHRUNK else [])],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def run_case(data: st.DataObject) -> None:
        case = Case(forker, world, folder, data)
        run.append(case)
        KINDS[kind](case)

    if seed is not None:
        run_case = hypothesis.seed(seed)(run_case)
    failures: dict[str, str] = {}
    try:
        run_case()
    except Exception as error:  # a fault of the campaign itself must not end it
        for each in error.exceptions if isinstance(error, ExceptionGroup) else [error]:
            reason = each.reason if isinstance(each, Failure) else f"the campaign itself: {each!r}"
            failures[f"{kind}: {reason}"] = "".join(traceback.format_exception(each, limit=-2))
    return Found(kind, len(run), max(case.seconds for case in run), failures)


_own: tuple[Forker, Path, Path]
"""In each process of the campaign: a program that forks, the world's files, and a folder for a case."""


def prepare_worker(base: Path) -> None:
    global _own
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that prints the table
    output = base / f"output-{os.getpid()}"
    output.mkdir()
    _own = Forker(output), base / "world", base / f"case-{os.getpid()}"


def run_group(seed: int, group: str) -> Found:
    found = run_cases(*_own, group.partition(":")[0], CASES, f"{seed}:{group}")
    return found._replace(group=group)


class Table:
    """What was found, by kinds."""

    def __init__(self) -> None:
        self._cases: Counter[str] = Counter()
        self._distinct: Counter[str] = Counter()
        self._slowest: dict[str, float] = {}

    def add(self, found: Found) -> None:
        """Adds a group, and prints what went wrong in it and nowhere before."""
        kind = found.group.partition(":")[0]
        self._cases[kind] += found.cases
        self._slowest[kind] = max(self._slowest.get(kind, 0.0), found.seconds)
        for reason, detail in found.failures.items():
            self._distinct[reason] += 1
            if self._distinct[reason] == 1:
                print(f"\n{found.group}  {reason}\n{detail}", flush=True)

    def show(self) -> int:
        """Prints the table; returns the exit code."""
        failed = Counter(reason.partition(":")[0] for reason in self._distinct.elements())
        print("| kind | cases | groups that failed | slowest command, s |\n|---|---:|---:|---:|")
        for kind in filter(self._cases.get, KINDS):
            about = (KINDS[kind].__doc__ or "").strip()
            print(f"| {kind}: {about} | {self._cases[kind]:,} | {failed[kind]} | {self._slowest[kind]:.1f} |")
        slowest = max(self._slowest.values(), default=0.0)
        print(f"| all | {self._cases.total():,} | {failed.total()} | {slowest:.1f} |")
        for reason, times in self._distinct.most_common():
            print(f"{times:6}  {reason}")
        return 1 if failed else 0


def temporary_folder() -> Path:
    """Creates a folder in memory, if the system has such a place: half of all cases write and flush files."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="campaign-", dir=memory if os.access(memory, os.W_OK) else None))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="printed at the start")
    parser.add_argument("--workers", type=int, default=2 * (os.cpu_count() or 1), help="cases at a time")
    parser.add_argument("--group", help="run one group of cases again, KIND:NUMBER, and keep its folder")
    options = parser.parse_args()

    base = temporary_folder()
    print(f"seed {options.seed}, in {base}", flush=True)
    (base / "output").mkdir()
    forker = Forker(base / "output")
    make_world(base / "world", forker)
    forker.close()
    table = Table()
    if options.group:
        prepare_worker(base)
        table.add(run_group(options.seed, options.group))
        _own[0].close()
        return table.show()

    deadline = time.monotonic() + options.minutes * 60
    rng = random.Random(options.seed)
    groups = (f"{rng.choices(list(SHARES), list(SHARES.values()))[0]}:{number}" for number in count())
    with ProcessPoolExecutor(options.workers, initializer=prepare_worker, initargs=(base,)) as pool:
        running: set[Future[Found]] = set()
        try:
            while running or time.monotonic() < deadline:
                while len(running) < options.workers and time.monotonic() < deadline:
                    running.add(pool.submit(run_group, options.seed, next(groups)))
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for each in ended:
                    table.add(each.result())
        except KeyboardInterrupt:  # the table of what was run so far
            print("The groups that are running come to their end.", flush=True)
    shutil.rmtree(base, ignore_errors=True)
    return table.show()


if __name__ == "__main__":
    sys.exit(main())
