"""How long it takes from raw Multi30k text to a translator of a given BLEU.

    python benchmarks/time_to_bleu.py --device cuda --mark 36

For each mark there is one fixed recipe, chosen on the validation split. It is run with several seeds, each
in a process of its own, and all of them must pass the mark on test_2016_flickr, translated greedily
(sacreBLEU, lowercased, 13a, detokenised).

The clock starts when the sentences are in memory as text: there is no vocabulary and no CUDA context. It
stops when the validation split has been translated and scored. So it counts learning the
vocabulary, tokenising, starting the GPU, recording CUDA graphs, training and validation; it does not count
starting Python processes (those that tokenise are forked, each with its share of the text), importing
modules, reading the files, and translating the test split. Meanwhile another process holds the GPU awake, as
a persistence daemon does on a server, and has used its libraries once, so that they need not come from a
disk: both would take seconds.

On a GPU three things happen at once: processes tokenise, a thread starts the GPU and its libraries by letting
a tiny model of the same kind take a step and translate, and the main thread makes the model. And there the
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
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sacrebleu.tokenizers.tokenizer_13a  # noqa: F401  which sacrebleu imports when it first scores
import torch
import torch._dynamo  # which the first optimizer imports, in seconds
from tokens_aside import TokensAside

from augenmerk.batching import ParallelTokens, PlannedBatch, TokenTable, encode_pairs
from augenmerk.bitext import SentencePair, open_bitext
from augenmerk.config import RunConfig, load_config
from augenmerk.engine import Engine
from augenmerk.evaluate import measure_bleu
from augenmerk.model.translator import Translator
from augenmerk.text import Codec
from augenmerk.train import describe, learning_rate
from augenmerk.translate import hypotheses_of

TEST = "test_2016_flickr"
READY, GO = "ready\n", "go\n"

_WIDE = [
    *("model.initial=orthogonal", "model.embedding=512", "model.hidden=512"),
    *("train.batch_size=256", "train.warmup=50"),
]

_SMALL_BATCHES = ["model.initial=orthogonal", "train.batch_size=64", "train.warmup=100"]


def _dropout(share: float) -> list[str]:
    return [f"model.embedding_dropout={share}", f"model.output_dropout={share}"]


# Marks, and what differs from the preset `quick`.
RECIPES: dict[tuple[str, float], list[str]] = {
    ("cuda", 36): [*_WIDE, *_dropout(0), "train.lr=0.007", "train.epochs=3"],
    ("cuda", 38): [*_WIDE, *_dropout(0.1), "train.lr=0.006", "train.epochs=5"],
    ("cuda", 40): [
        *(*_WIDE, *_dropout(0.2), "text.vocabulary_size=10000", "train.lr=0.007", "train.epochs=10")
    ],
    ("cpu", 36): [*_SMALL_BATCHES, *_dropout(0), "train.lr=0.008", "train.epochs=2"],
    ("cpu", 38): [*_SMALL_BATCHES, *_dropout(0), "train.lr=0.006", "train.epochs=3"],
}

WIDTHS = (12, 16, 20, 24, 28, 32, 40)
"""Batches of subwords, source and target alike, are padded to these: few shapes, few CUDA graphs."""

SAMPLE = 3
"""On a GPU, the vocabulary is learnt from every third pair."""

TINY = 16
"""Words that the model knows which only starts the GPU."""


class Stopwatch:
    """Seconds since it was made, by what they were spent on."""

    def __init__(self) -> None:
        self.began = self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now

    def total(self) -> float:
        return self._last - self.began


def tokenise(
    config: RunConfig, train: list[SentencePair], val: list[SentencePair]
) -> tuple[Codec, ParallelTokens, ParallelTokens]:
    codec = Codec.train(train, config.text)
    encoders = codec.source.encode_ids, codec.target.encode_ids
    return codec, encode_pairs(train, *encoders, config.data.max_length), encode_pairs(val, *encoders)


def squared(plan: list[PlannedBatch], size: int) -> list[PlannedBatch]:
    """Full batches as wide on both sides, in one of `WIDTHS`; the one that is not full is left out."""
    found = []
    for batch in plan:
        width = next(w for w in WIDTHS if w >= max(batch.source_width, batch.target_width))
        if len(batch.indices) == size:
            found.append(batch._replace(source_width=width, target_width=width))
    return found


def train(
    engine: Engine, config: RunConfig, tokens: ParallelTokens, watch: Stopwatch | None = None
) -> Iterator[int]:
    """The whole of training, a yield after each epoch; nothing is written to disk."""
    settings, on_gpu, step = config.train, engine.device.type == "cuda", 0
    for epoch in range(settings.epochs):
        # Lengths are rounded before chance decides who meets whom: coarser ones mix better.
        coarse = 4 if on_gpu else 1
        plan = tokens.plan(settings.batch_size, seed=settings.seed, epoch=epoch, round_to=coarse)
        if on_gpu:
            plan = squared(plan, settings.batch_size)
        engine.model.train()
        for number, batch in enumerate(tokens.batches(plan)):
            done = (epoch + number / len(plan)) / settings.epochs
            engine.step([batch], learning_rate(settings, step, done))
            step += 1
        if watch is not None:
            watch.lap("training")
        yield epoch + 1


def make_model(config: RunConfig, vocabulary: int) -> Translator:
    torch.manual_seed(config.train.seed)
    return Translator(config.model, vocabulary, vocabulary)


def make_tiny(config: RunConfig) -> Translator:
    sizes = {"embedding": 8, "hidden": 8, "key": 8}
    return make_model(config.model_copy(update={"model": config.model.model_copy(update=sizes)}), TINY)


def waken(tiny: Translator, config: RunConfig, device: torch.device) -> None:
    """Starts the GPU, and loads its libraries and most kernels, with a model that costs nothing else."""
    engine = Engine(tiny, config.train, device)
    tiny.train()
    engine.prepare([(2, 4, 4)], TINY)
    hypotheses_of(tiny, TokenTable.of([[4, 5], [6]]).to(device), config.search)


class Race:
    """Everything that may be ready before the clock starts; `run` starts it."""

    def __init__(
        self, config: RunConfig, splits: dict[str, list[SentencePair]], device: torch.device
    ) -> None:
        self.config = config
        self.splits = splits
        self.device = device
        self._aside = None
        if device.type == "cuda":
            torch.set_num_threads(1)  # only the first weights are made here, and other cores are tokenising
            pairs, val = splits[config.data.train], splits[config.data.validation]
            self._aside = TokensAside(config.text, pairs, val, sample=SAMPLE, longest=WIDTHS[-1] - 1)

    def run(self, scored: str = TEST) -> dict[str, Any]:
        """One run against the clock, and what it was worth on a split."""
        config, device = self.config, self.device
        aside: dict[str, float] = {}
        pairs, val = self.splits[config.data.train], self.splits[config.data.validation]
        size, watch = config.text.vocabulary_size, Stopwatch()
        if self._aside is None:
            codec, tokens, val_tokens = tokenise(config, pairs, val)
            watch.lap("tokenising")
            model = make_model(config, size)
            engine = Engine(model, config.train, device)
            watch.lap("making the model")
        else:
            self._aside.begin()
            model, engine = self._start(size, watch)
            model.train()
            engine.prepare([(config.train.batch_size, width, width) for width in WIDTHS], size)
            watch.lap("recording graphs")
            aside, codec, tokens, val_tokens = self._aside.result()
            watch.lap("waiting for the tokeniser")
        assert codec.target.size == size, "the vocabulary is smaller than asked for"
        tokens, val_tokens = tokens.to(device), val_tokens.to(device)
        for _ in train(engine, config, tokens, watch):
            pass
        engine.show(model)
        measured = measure_bleu(model, codec, val_tokens.source, [pair.target for pair in val], config.search)
        watch.lap("validation")
        test = self.splits[scored]
        sources = TokenTable.of(codec.source.encode_ids([pair.source for pair in test])).to(device)
        bleu = measure_bleu(model, codec, sources, [pair.target for pair in test], config.search)
        return {
            "seconds": watch.total(),
            "laps": watch.laps,
            "aside": aside,
            "validation_bleu": measured,
            "bleu": bleu,
            "split": scored,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        }

    def _start(self, vocabulary: int, watch: Stopwatch) -> tuple[Translator, Engine]:
        tiny = make_tiny(self.config)
        with ThreadPoolExecutor(1) as other:
            started = other.submit(waken, tiny, self.config, self.device)
            model = make_model(self.config, vocabulary)
            started.result()
        watch.lap("starting the GPU")
        torch.cuda.manual_seed(self.config.train.seed)
        return model, Engine(model, self.config.train, self.device)


def configure(arguments: argparse.Namespace, *more: str) -> RunConfig:
    recipe = RECIPES[arguments.device, arguments.mark]
    return load_config("quick", [*recipe, "search.beam=1", *arguments.set, *more])


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
    print(json.dumps({"seed": arguments.seed, "device": describe(race.device), **row}))


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
    waken(make_tiny(config), config, torch.device("cuda"))
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
