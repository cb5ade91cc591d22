"""What it costs to translate with the model that ships: cold start, one sentence, many, and memory.

    python benchmarks/translating.py [--before FOLDER/src]

Each figure is the median of several processes or calls in this run. `--before` measures another checkout
as well. `benchmarks/decoding.py` compares with CTranslate2.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

SENTENCE = "Ein kleiner Hund spielt mit einem roten Ball im Garten."
STARTS = 7
ALONE = 60
MANY = 2000
HERE = Path(__file__).resolve().parent.parent / "src"


def measure_ours() -> dict[str, float]:
    """Measures the package that Python finds, in this process."""
    import augenmerk
    from augenmerk.data import open_bitext

    started = time.perf_counter()
    translator = augenmerk.load()
    figures = {"loading, s": time.perf_counter() - started}
    texts = [pair.source for pair in open_bitext("bilderbuch", pairs=MANY)["train"]]
    for beam, name in ((1, "greedy"), (5, "beam 5")):
        translator.translate(texts[:50], beam=beam)
        figures[f"one alone, {name}, ms"] = 1e3 * median(
            seconds(partial(translator.translate, text, beam=beam)) for text in texts[:ALONE]
        )
    figures["memory after one at a time, MiB"] = peak_memory()
    for beam, name in ((1, "greedy"), (5, "beam 5")):
        took = median(seconds(partial(translator.translate, texts, beam=beam)) for _ in range(3))
        figures[f"many, {name}, sentences/s"] = len(texts) / took
    figures["memory after many, MiB"] = peak_memory()
    return figures


def seconds(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_starts(source: Path, *arguments: str) -> dict[str, float]:
    """Measures a new process. Python has compiled all modules before, as `pip install` does."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = partial(subprocess.run, [sys.executable, *arguments], env=environment, check=True)
        _, *starts = (seconds(partial(command, capture_output=True)) for _ in range(STARTS + 1))
    return {"cold start, s": median(starts)}


def run_measurement(source: Path) -> dict[str, float]:
    """Runs `measure_ours` in a new process with the package in a folder."""
    command = [sys.executable, __file__, "--only-here"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path)
    parser.add_argument("--only-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_here:
        print(json.dumps(measure_ours()))
        return
    sources = {"now": HERE, **({"before": options.before} if options.before else {})}
    results = {
        name: {
            **measure_starts(source, "-m", "augenmerk", "translate", SENTENCE),
            **run_measurement(source),
        }
        for name, source in sources.items()
    }
    results["import torch"] = measure_starts(HERE, "-c", "import torch")
    for name, figures in results.items():
        print(name)
        for what, figure in figures.items():
            print(f"    {what:40} {figure:10.3f}")


if __name__ == "__main__":
    main()
