"""Runs the campaign for some minutes and prints a table, and every distinct failure with its commands."""

import argparse
import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from random import Random
from typing import Any

from tests.campaign.kinds import KINDS, Case, Failure
from tests.campaign.server import Command, Server
from tests.campaign.world import make_world

SHARES = {
    "commands": 10,
    "files": 8,
    "runs": 8,
    "kills": 0.5,
    "writes": 2,
    "full": 3,
    "few_files": 2,
    "both": 2,
    "streams": 6,
    "edited": 0.5,
    "texts": 3,
}
"""How often each kind is chosen. A kill takes the longest."""


Results = Queue[tuple[str, int, float, str | None, str, str] | None]


def choose_kind(seed: int, number: int) -> str:
    return Random(f"{seed}:{number}").choices(list(SHARES), list(SHARES.values()))[0]


def run_case(
    server: Server, world: Path, folder: Path, seed: int, kind: str, number: int
) -> tuple[float, Failure | None]:
    """Runs one case; returns the seconds of its slowest command, and what went wrong if anything did."""
    shutil.rmtree(folder, ignore_errors=True)
    case = Case(server, world, folder, f"{seed}:{kind}:{number}")
    try:
        KINDS[kind](case)
    except Failure as failure:
        return case.seconds, failure
    except Exception as error:  # a fault of the campaign itself must not end it
        return case.seconds, Failure(f"the campaign itself: {error!r}", case.commands, traceback.format_exc())
    return case.seconds, None


def work(place: int, workers: int, base: Path, options: argparse.Namespace, results: Results) -> None:
    """Runs every `workers`-th case until the time is over."""
    try:
        _work(place, workers, base, options, results)
    finally:
        results.put(None)


def _work(place: int, workers: int, base: Path, options: argparse.Namespace, results: Results) -> None:
    output = base / f"output-{place}"
    output.mkdir(exist_ok=True)
    server = Server(output)
    number = place
    while not options.stop.is_set() and time.monotonic() < options.deadline:
        kind = options.kind or choose_kind(options.seed, number)
        seconds, failure = run_case(
            server, base / "world", base / f"case-{place}", options.seed, kind, number
        )
        if failure is None:
            results.put((kind, number, seconds, None, "", ""))
        else:
            results.put((kind, number, seconds, failure.reason, describe(failure.commands), failure.detail))
        number += workers
    server.close()


def describe(commands: Any) -> str:
    """Returns the commands of a case as a person would type them, with what is unusual about each."""
    return "\n".join(_line(command) for command in commands)


def _line(command: Command) -> str:
    plain = Command(())
    unusual = [
        f"{name}={value!r}"
        for name, value in vars(command).items()
        if name not in ("arguments", "environment") and value != getattr(plain, name)
    ]
    own = ("HOME", "XDG_CACHE_HOME", "AUGENMERK_DATA", "COLUMNS")
    unusual += [f"{key}={value}" for key, value in command.environment.items() if key not in own]
    arguments = [
        argument if len(argument) < 200 else f"{argument[:50]}…({len(argument)} characters)"
        for argument in command.arguments
    ]
    note = f"   # {', '.join(unusual)}" if unusual else ""
    return ascii(f"    augenmerk {shlex.join(arguments)}{note}")[1:-1].replace("\\\\", "\\")


def temporary_folder() -> Path:
    """Creates a folder in memory, if the system has such a place: half of all cases write and flush files."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="campaign-", dir=memory if os.access(memory, os.W_OK) else None))


def gather(results: Results, workers: int) -> Iterator[tuple[str, int, float, str | None, str, str]]:
    while workers:
        result = results.get()
        if result is None:
            workers -= 1
        else:
            yield result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2 * (os.cpu_count() or 1), help="cases at a time")
    parser.add_argument("--kind", choices=list(KINDS), help="only this kind")
    parser.add_argument("--folder", type=Path, help="keep the files here, and use them the next time")
    parser.add_argument("--case", help="run one case again, KIND:NUMBER, and keep its folder")
    options = parser.parse_args()

    base = temporary_folder() if options.folder is None else options.folder.resolve()
    (base / "output").mkdir(parents=True, exist_ok=True)
    server = Server(base / "output")
    make_world(base / "world", server)
    if options.case:
        kind, _, number = options.case.partition(":")
        seconds, failure = run_case(server, base / "world", base / "case", options.seed, kind, int(number))
        server.close()
        if failure is None:
            print(f"{options.case}: no failure, {seconds:.1f} s, in {base / 'case'}")
            return 0
        print(f"{options.case}: {failure.reason}\n{describe(failure.commands)}\n{failure.detail}")
        print(f"in {base / 'case'}")
        return 1
    server.close()

    options.stop = threading.Event()
    options.deadline = time.monotonic() + options.minutes * 60
    signal.signal(signal.SIGINT, lambda *_: options.stop.set())  # Ctrl-C: the table of what was run so far
    results: Results = Queue()
    for place in range(options.workers):  # threads: the work is done by the servers' processes
        threading.Thread(target=work, args=(place, options.workers, base, options, results)).start()
    cases: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    distinct: Counter[str] = Counter()
    started = time.monotonic()
    for kind, number, seconds, reason, commands, detail in gather(results, options.workers):
        cases[kind] += 1
        slowest[kind] = max(slowest.get(kind, 0.0), seconds)
        if reason is not None:
            failed[kind] += 1
            distinct[f"{kind}: {reason}"] += 1
            if distinct[f"{kind}: {reason}"] == 1:
                print(f"\n{kind}:{number}  {reason}\n{commands}\n{detail}", flush=True)
        if cases.total() % 1000 == 0:
            minutes = (time.monotonic() - started) / 60
            print(f"-- {cases.total():,} cases in {minutes:.0f} min, {failed.total()} failed", flush=True)
    if options.folder is None:
        shutil.rmtree(base, ignore_errors=True)

    minutes = (time.monotonic() - started) / 60
    print(f"\nseed {options.seed}, {minutes:.1f} minutes, {options.workers} cases at a time\n")
    print("| kind | cases | failed | slowest command, s |\n|---|---:|---:|---:|")
    for kind in filter(cases.get, KINDS):
        about = (KINDS[kind].__doc__ or "").strip()
        print(f"| {kind}: {about} | {cases[kind]:,} | {failed[kind]} | {slowest[kind]:.1f} |")
    print(f"| all | {cases.total():,} | {failed.total()} | {max(slowest.values(), default=0.0):.1f} |")
    for reason, count in distinct.most_common():
        print(f"{count:6}  {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
