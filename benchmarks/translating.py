"""What it costs to translate with the model that ships: cold start, one sentence, many, and memory.

    python benchmarks/translating.py [--before FOLDER/src] [--ctranslate2 PYTHON]

Each figure is the median of several processes or calls in this run. `--before` measures another checkout
as well. `--ctranslate2` is the Python of an environment with ctranslate2 and numpy: a Transformer of
3 + 3 layers, 256 wide, with random weights, which translates to 15 tokens, as a peer of about the same size.
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
VOCABULARY, WIDTH, LAYERS, LENGTH = 4000, 256, 3, 15


def measure_ours() -> dict[str, float]:
    """Measures the package that Python finds, in this process."""
    import augenmerk
    from augenmerk.bitext import open_bitext

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


def measure_ctranslate2() -> dict[str, float]:
    import ctranslate2
    import numpy as np

    tokens = [f"t{number}" for number in range(VOCABULARY - 4)]
    rng = np.random.default_rng(1)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        spec = ctranslate2.specs.TransformerSpec.from_config((LAYERS, LAYERS), 4, pre_norm=True)
        fill(spec, rng)
        vocabulary = ["<blank>", "<s>", "</s>", "<unk>", *tokens]
        spec.register_source_vocabulary(vocabulary)
        spec.register_target_vocabulary(vocabulary)
        spec.validate()
        spec.optimize(quantization=None)
        spec.save(folder)
        sources = [[str(token) for token in rng.choice(tokens, LENGTH - 3)] for _ in range(MANY)]
        limits = {"max_decoding_length": LENGTH, "min_decoding_length": LENGTH}
        for precision in ("float32", "int8"):
            translator = ctranslate2.Translator(
                folder, compute_type=precision, inter_threads=os.cpu_count() or 1, intra_threads=1
            )
            for beam, name in ((1, "greedy"), (5, "beam 5")):
                work = partial(translator.translate_batch, beam_size=beam, **limits)
                work(sources[:50])
                figures[f"{precision}: one alone, {name}, ms"] = 1e3 * median(
                    seconds(partial(work, [one])) for one in sources[:ALONE]
                )
                in_batches = partial(work, sources, max_batch_size=128 if beam == 1 else 32)
                figures[f"{precision}: many, {name}, sentences/s"] = MANY / median(
                    seconds(in_batches) for _ in range(3)
                )
    figures["memory after many, MiB"] = peak_memory()
    return figures


def fill(spec: Any, rng: Any) -> None:
    """Gives a specification of CTranslate2 random weights."""
    import numpy as np

    def weights(*shape: int) -> Any:
        return (rng.standard_normal(shape) * shape[-1] ** -0.5).astype(np.float32)

    def linear(layer: Any, inputs: int, outputs: int) -> None:
        layer.weight, layer.bias = weights(outputs, inputs), np.zeros(outputs, np.float32)

    def norm(layer: Any) -> None:
        layer.gamma, layer.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def attention(layer: Any, *, own: bool) -> None:
        norm(layer.layer_norm)
        sizes = (3 * WIDTH, WIDTH) if own else (WIDTH, 2 * WIDTH, WIDTH)
        for part, size in zip(layer.linear, sizes, strict=True):
            linear(part, WIDTH, size)

    for side in (spec.encoder, spec.decoder):
        norm(side.layer_norm)
        for layer in side.layer:
            attention(layer.self_attention, own=True)
            if side is spec.decoder:
                attention(layer.attention, own=False)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, WIDTH, 2 * WIDTH)
            linear(layer.ffn.linear_1, 2 * WIDTH, WIDTH)
    embeddings = weights(VOCABULARY, WIDTH)
    spec.encoder.embeddings[0].weight = embeddings
    spec.decoder.embeddings.weight = embeddings
    linear(spec.decoder.projection, WIDTH, VOCABULARY)
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = weights(200, WIDTH)


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


def run_here(what: str, python: str, source: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [python, __file__, "--only", what], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path)
    parser.add_argument("--ctranslate2")
    parser.add_argument("--only", choices=["ours", "ctranslate2"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure_ours() if options.only == "ours" else measure_ctranslate2()))
        return
    sources = {"now": HERE, **({"before": options.before} if options.before else {})}
    results = {
        name: {
            **measure_starts(source, "-m", "augenmerk", "translate", SENTENCE),
            **run_here("ours", sys.executable, source),
        }
        for name, source in sources.items()
    }
    results["import torch"] = measure_starts(HERE, "-c", "import torch")
    if options.ctranslate2:
        results["ctranslate2"] = run_here("ctranslate2", options.ctranslate2, HERE)
    for name, figures in results.items():
        print(name)
        for what, figure in figures.items():
            print(f"    {what:40} {figure:10.3f}")


if __name__ == "__main__":
    main()
