"""Seconds to the first step, seconds of a step, and peak memory of training on prepared corpora.

    augenmerk data prepare bilderbuch --pairs 10000000 --out corpus
    python benchmarks/large_corpora.py corpus ...

`augenmerk train` with a small model (32 states, `quick` otherwise, batches of 64) takes some steps on each
corpus, each in a process of its own, whose start is that of the clock. The process then reads more windows of
the corpus, as it would in the course of an epoch.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

STEPS, WINDOWS = 40, 12
SETTINGS = ("model.hidden=32", "model.embedding=32", "model.key=32", "train.batch_size=64")


class EnoughError(Exception):
    """Ends a training after some steps."""


def work(corpus: Path, began: float) -> None:
    """Trains a little on a corpus, and prints what that took."""
    from augenmerk.cli.train import app
    from augenmerk.data.corpus import PreparedCorpus
    from augenmerk.training.engine import Engine

    ends: list[tuple[float, float]] = []
    step = Engine.step

    def timed_step(*arguments: Any) -> Any:
        result = step(*arguments)
        ends.append((time.time(), time.process_time()))
        if len(ends) == STEPS:
            raise EnoughError
        return result

    Engine.step = timed_step  # type: ignore[assignment, method-assign]
    with tempfile.TemporaryDirectory() as folder:
        options = [part for setting in SETTINGS for part in ("--set", setting)]
        with suppress(EnoughError):
            app(["quick", "--data", str(corpus), "--out", f"{folder}/run", *options], standalone_mode=False)
    opened = PreparedCorpus.open(corpus)
    windows = []
    for window in range(min(WINDOWS, opened.count_windows())):
        before = time.process_time()
        tokens = opened.read_window(1, 0, window)
        tokens.plan(64, seed=1)
        windows.append(time.process_time() - before)
    figures = {
        "pairs": opened.pairs,
        "first step, s": ends[0][0] - began,
        "CPU s": ends[0][1],
        "CPU s to read a window": median(windows),
        "CPU ms a step": 1e3 * (ends[-1][1] - ends[0][1]) / (STEPS - 1),
        "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures))


def measure(corpus: Path) -> dict[str, float]:
    command = [sys.executable, __file__, str(corpus), "--began", str(time.time())]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each corpus, in turns")
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.began is not None:
        work(arguments.corpora[0], arguments.began)
        return
    rounds = [[measure(corpus) for corpus in arguments.corpora] for _ in range(arguments.rounds)]
    names = list(rounds[0][0])
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for rows in zip(*rounds, strict=True):
        figures = {name: median(row[name] for row in rows) for name in names}
        print(
            "| "
            + " | ".join(f"{value:,.0f}" if value >= 100 else f"{value:.2f}" for value in figures.values())
            + " |"
        )


if __name__ == "__main__":
    main()
