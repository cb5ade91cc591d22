"""What it costs to share one translator among threads, and one machine among processes.

    python benchmarks/sharing.py [--threads 8] [--busy 3] [--rounds 5] [--sentences 400] [--before FOLDER/src]

`--busy` starts processes that compute all the while, as a training beside it would. Each round measures every
row once, so that what else the machine does falls on all of them; a figure is the median of the rounds.
`--before` measures another checkout as well.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

HERE = Path(__file__).resolve().parent.parent / "src"
SPIN = "while True: pass"


def measure(threads: int, sentences: int, rounds: int) -> dict[str, float]:
    """Returns the seconds of each way to translate the sentences, in this process."""
    import augenmerk
    from augenmerk.data import open_bitext

    translator = augenmerk.load()
    texts = [pair.source for pair in open_bitext("bilderbuch", pairs=sentences)["train"]]
    lists, alone = _deal(texts, threads), texts[: sentences // 4]
    ways: dict[str, Callable[[], None]] = {
        "one list, 1 thread": lambda: _share([[texts]], translator.translate),
        f"{threads} lists, 1 thread": lambda: _share([lists], translator.translate),
        f"{threads} lists, {threads} threads": lambda: _share(
            [[each] for each in lists], translator.translate
        ),
        "one by one, 1 thread": lambda: _share([alone], translator.translate),
        f"one by one, {threads} threads": lambda: _share(_deal(alone, threads), translator.translate),
    }
    translator.translate(texts[:64])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - started)
    return {name: median(each) for name, each in seconds.items()}


def _deal(texts: Sequence[str], threads: int) -> list[list[str]]:
    return [list(texts[place::threads]) for place in range(threads)]


def _share(parts: Sequence[Sequence[Any]], work: Callable[[Any], object]) -> None:
    """Does the work for all of each part, in a thread for each part."""
    workers = [Thread(target=lambda part=part: [work(each) for each in part]) for part in parts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.threads, asked.sentences, asked.rounds)))
        return
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(asked.busy)]
    try:
        for place in filter(None, (asked.before, HERE)):
            print(f"{place}, {asked.busy} busy processes, load {os.getloadavg()[0]:.1f}")
            found = subprocess.run(
                [sys.executable, __file__, "--measure", *sys.argv[1:]],
                env={**os.environ, "PYTHONPATH": str(place)},
                check=True,
                stdout=subprocess.PIPE,
            )
            for name, seconds in json.loads(found.stdout).items():
                print(f"  {name:24} {seconds:8.2f} s")
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
