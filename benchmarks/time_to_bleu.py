"""How long it takes from raw Multi30k text to a translator of a given BLEU.

    python benchmarks/time_to_bleu.py --device cuda --mark 36

For each mark there is one fixed recipe, chosen on the validation split. It is run with several seeds, each
in a process of its own, and all of them must pass the mark on test_2016_flickr, translated greedily or, for
the mark 42, with beam 5 (sacreBLEU, lowercased, 13a, detokenised).

The clock starts when the sentences are in memory as text: there is no vocabulary and no CUDA context. It
stops when the validation split has been translated and scored. So it counts learning the
vocabulary, tokenising, starting the GPU, recording CUDA graphs, training and validation; it does not count
starting Python processes (those that tokenise are forked, each with its share of the text), importing
modules (and Triton's hash of its own files), reading the files, and translating the test split. Meanwhile
another process holds the GPU awake, as a persistence daemon does on a server, and has used its libraries
once, so that they need not come from a disk and Triton's kernels have been compiled: each would take seconds.

On a GPU three things happen at once: processes tokenise, a thread starts the GPU and its libraries by letting
a small model of the same kind take a step and translate, and the main thread makes the model. And there the
vocabulary is learnt from every third pair, pairs of 40 subwords or more (one in two hundred with 4,000
subwords, one in a thousand with 10,000) are left out, and so are batches that are not full.
"""

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from race import Race, make_tiny, warm_up

from augenmerk.base.config import RunConfig, load_config
from augenmerk.base.device import describe_device
from augenmerk.data import open_bitext

TEST = "test_2016_flickr"
READY, GO = "ready\n", "go\n"

_WIDE = [
    *("model.init=orthogonal", "model.embedding=512", "model.hidden=512"),
    *("train.batch_size=256", "train.warmup=50"),
]

_SMALL_BATCHES = ["model.init=orthogonal", "train.batch_size=64", "train.warmup=100"]


def _dropout(share: float) -> list[str]:
    return [f"model.embedding_dropout={share}", f"model.output_dropout={share}"]


# Marks, and what differs from the preset `quick`.
RECIPES: dict[tuple[str, float], list[str]] = {
    ("cuda", 36): [*_WIDE, *_dropout(0), "train.lr=0.007", "train.epochs=3"],
    ("cuda", 38): [*_WIDE, *_dropout(0.1), "train.lr=0.006", "train.epochs=5"],
    ("cuda", 40): [
        *(*_WIDE, *_dropout(0.2), "text.vocabulary_size=10000", "train.lr=0.007", "train.epochs=10")
    ],
    ("cuda", 42): [
        *(*_WIDE, *_dropout(0.3), "text.vocabulary_size=10000", "train.lr=0.004", "train.epochs=20"),
        "search.beam=5",
    ],
    ("cpu", 36): [*_SMALL_BATCHES, *_dropout(0), "train.lr=0.008", "train.epochs=2"],
    ("cpu", 38): [*_SMALL_BATCHES, *_dropout(0), "train.lr=0.006", "train.epochs=3"],
    ("cpu", 40): [*_dropout(0.15), "train.lr=0.006", "train.epochs=8"],
}


def configure(arguments: argparse.Namespace, *more: str) -> RunConfig:
    recipe = RECIPES[arguments.device, arguments.mark]
    return load_config("quick", ["search.beam=1", *recipe, *arguments.set, *more])


def one_seed(arguments: argparse.Namespace) -> None:
    """In the process of one seed: gets ready, waits for its turn, and prints one line of JSON."""
    config = configure(arguments, f"train.seed={arguments.seed}")
    bitext = open_bitext("multi30k")
    splits = {name: list(bitext[name]) for name in {"train", "val", arguments.split}}
    race = Race(config, splits, torch.device(arguments.device))
    gc.freeze()  # garbage is not looked for in the text, again and again
    print(READY, end="", flush=True)
    if sys.stdin.readline() != GO:
        return  # another seed has failed
    row = race.run(arguments.split)
    print(json.dumps({"seed": arguments.seed, "device": describe_device(race.device), **row}))


def await_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if process.stdout.readline() != READY:
        raise SystemExit(f"a process ended before it was ready, with code {process.wait()}")


def run_seeds(seeds: list[int]) -> Iterator[dict[str, Any]]:
    """This script again, in a process for each seed. All get ready together; then each runs alone."""
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:], "--seed", str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in seeds
    ]
    try:
        for process in processes:
            await_ready(process)
        for process in processes:
            output, _ = process.communicate(GO)
            if process.returncode:
                raise SystemExit(f"a process ended with code {process.returncode}")
            yield json.loads(output)
    finally:
        for process in processes:
            process.communicate()  # who waits is told so by the end of its input, and ends its own processes


def show(row: dict[str, Any]) -> None:
    laps = ", ".join(f"{name} {seconds:.2f}" for name, seconds in row["laps"].items())
    if row["aside"]:
        laps += "; aside, " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in row["aside"].items())
    print(
        f"seed {row['seed']}: BLEU {row['bleu']:.2f} (validation {row['validation_bleu']:.2f}) "
        f"in {row['seconds']:.2f} s: {laps}",
        flush=True,
    )


def hold_gpu(arguments: argparse.Namespace) -> None:
    """In a process of its own: uses the GPU's libraries once, and holds it until nobody wants it any more."""
    config = configure(arguments)
    warm_up(make_tiny(config), config, torch.device("cuda"))
    print(READY, end="", flush=True)
    sys.stdin.read()


@contextmanager
def gpu_kept_awake(device: str) -> Iterator[None]:
    """A GPU that no process holds is shut down, and takes seconds to start."""
    if device != "cuda":
        yield
        return
    keeper = subprocess.Popen(
        [sys.executable, __file__, *sys.argv[1:], "--hold"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        await_ready(keeper)
        yield
    finally:
        keeper.communicate()


def commit() -> str:
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), required=True)
    parser.add_argument("--mark", type=float, required=True, help="BLEU to reach")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--set", action="append", default=[], help="another setting, to try a recipe")
    parser.add_argument("--split", default=TEST, help="val while a recipe is being chosen")
    parser.add_argument("--log", type=Path, help="append the result, a line of JSON, to this file")
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--hold", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if (arguments.device, arguments.mark) not in RECIPES:
        parser.error(f"there are recipes for {', '.join(f'{d} {m:g}' for d, m in RECIPES)}")
    if arguments.hold:
        hold_gpu(arguments)
        return 0
    if arguments.seed is not None:
        one_seed(arguments)
        return 0
    with gpu_kept_awake(arguments.device):
        rows = []
        for row in run_seeds(arguments.seeds):
            show(row)
            rows.append(row)
    passed = all(row["bleu"] >= arguments.mark for row in rows)
    slowest = max(row["seconds"] for row in rows)
    print(f"{'PASSED' if passed else 'MISSED'}: {arguments.mark:g} BLEU, slowest seed {slowest:.2f} s")
    if arguments.log:
        record = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": f"{rows[0]['device']}, {os.cpu_count()} CPU cores, torch {torch.__version__}",
            "python": platform.python_version(),
            "mark": arguments.mark,
            "split": arguments.split,
            "recipe": [*RECIPES[arguments.device, arguments.mark], *arguments.set],
            "passed": passed,
            "slowest_seconds": slowest,
            "seeds": rows,
        }
        with arguments.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
