"""Benchmark of decoding: our engines in fp32 and int8, and a plain loop over single sentences.

They take turns, so that other work on the machine slows all of them alike. `benchmarks/decoding.py` adds
CTranslate2 and a profile.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch

from augenmerk.base.config import SearchConfig, load_config
from augenmerk.base.device import count_threads
from augenmerk.bench.machine import PeakMemory, describe_numpy_products, timed
from augenmerk.data import open_data
from augenmerk.inference.int8 import is_installed
from augenmerk.model.interface import TranslationModel, build_model
from augenmerk.run.directory import RunDirectory
from augenmerk.search.beam import length_limits
from augenmerk.text.tokenizer import BOS, EOS, PAD, TokenizerPair
from augenmerk.translation import Translator

REPEATS = 5
MAX_HYPOTHESES = 5000
"""Sentences times beam width: with a wide beam fewer sentences are translated, but enough for all cores."""
REFERENCE_SENTENCES = 40
"""Sentences that the plain loop, which is slow, translates."""
ALONE_SENTENCES = 50
"""Sentences translated one by one for the latency, divided by the beam width."""

OURS = {"ours": "fp32", "ours, int8": "int8"}
"""The precision of each of our rows, whatever the run's own. The others are compared with the first."""

Sources = Sequence[Sequence[int]]
Work = Callable[[], object]
Engine = Callable[[Sources, int, int], Work]
"""Takes sources, beam and tokens per translation, and returns what is timed."""


def bench_decoding(
    translator: Translator,
    model: TranslationModel,
    sources: Sources,
    beams: Sequence[int],
    on_progress: Callable[[str], None] = lambda _what: None,
    make_others: Callable[[], Mapping[str, Engine]] = dict,
) -> dict[str, Any]:
    """Measures sentences per second and the latency of a single sentence for each beam.

    The plain loop computes with `model`, the translator's model in torch. `make_others` returns further
    engines by name; they are asked for as many tokens per translation as ours writes on average.
    """
    sources = [ids[: translator.max_source_length] for ids in sources]
    rows: dict[int, dict[str, Any]] = {}
    for beam in beams:  # before other engines exist, whose memory would be counted too
        on_progress(f"beam {beam}: memory")
        some = select_evenly(sources, max(MAX_HYPOTHESES // beam, 32 * count_threads()))
        peak = PeakMemory(model.device)
        found = translator.decode(some, translator.search_settings(beam=beam, precision="fp32"))
        tokens = fmean(len(best.token_log_probabilities) for best, *_ in found)
        rows[beam] = {"beam": beam, "sentences": len(some), "tokens": tokens, "peak_mib": peak.mib()}
    engines: dict[str, Engine] = {
        name: partial(_prepare, translator, precision)
        for name, precision in OURS.items()
        if precision == "fp32" or (is_installed() and not translator.uses_torch)
    }
    engines |= make_others()
    for beam, row in rows.items():
        some, length = select_evenly(sources, row["sentences"]), round(row["tokens"])
        row |= _measure(engines, some, beam, length, model.device, on_progress)
        on_progress(f"beam {beam}: the plain loop")
        few = select_evenly(some, REFERENCE_SENTENCES)
        plain = partial(plain_search, model, few, translator.search_settings(beam=beam))
        row["reference_sentences_per_second"] = len(few) / timed(plain, model.device)
        row["ratio"] = row["sentences_per_second"] / row["reference_sentences_per_second"]
    products = "" if translator.uses_torch else describe_numpy_products()
    return {"beams": list(rows.values()), "numpy_products": products}


def _measure(
    engines: Mapping[str, Engine],
    sources: Sources,
    beam: int,
    length: int,
    device: torch.device,
    on_progress: Callable[[str], None],
) -> dict[str, Any]:
    """Returns our speed and latency, and under `others` those of the other engines."""
    on_progress(f"beam {beam}: {', '.join(engines)}")
    for prepare in engines.values():
        prepare(sources[:32], beam, length)()  # warm up
    all_at_once = {name: prepare(sources, beam, length) for name, prepare in engines.items()}
    seconds = time_in_turns([all_at_once] * REPEATS, device)
    on_progress(f"beam {beam}: one sentence alone")
    alone = [
        {name: prepare([ids], beam, length) for name, prepare in engines.items()}
        for ids in select_evenly(sources, max(5, ALONE_SENTENCES // beam))
    ]
    latencies = time_in_turns(alone, device)
    measured = {
        name: {
            "sentences_per_second": len(sources) / seconds[name],
            "times_ours": seconds["ours"] / seconds[name],
            "latency_ms": 1e3 * latencies[name],
        }
        for name in engines
    }
    ours = measured.pop("ours")
    del ours["times_ours"]
    return {**ours, "others": measured}


def time_in_turns(rounds: Iterable[Mapping[str, Work]], device: torch.device) -> dict[str, float]:
    """Returns the median of the seconds that each takes, over all rounds."""
    seconds = defaultdict(list)
    for works in rounds:
        for name, work in works.items():
            seconds[name].append(timed(work, device))
    return {name: median(each) for name, each in seconds.items()}


def select_evenly(sources: Sources, count: int) -> Sources:
    """Returns `count` of the sources, evenly spaced, or all if they are fewer."""
    return sources[:: max(1, len(sources) // count)][:count]


def _prepare(translator: Translator, precision: str, sources: Sources, beam: int, _length: int) -> Work:
    return partial(translator.decode, sources, translator.search_settings(beam=beam, precision=precision))


def random_translator(
    preset: str, sentences: int, device: torch.device
) -> tuple[Translator, TranslationModel, list[list[int]]]:
    """Returns a translator of the size of a preset with random weights, its model, and captions as ids.

    Random weights hardly ever end a sentence, so all translations have the maximum length.
    """
    config = load_config(preset, ["data.bitext=bilderbuch"])
    bitext = open_data(config.data)
    tokenizers = TokenizerPair.train(bitext["train"], config.text)
    torch.manual_seed(1)
    sizes = config.text.vocabulary_size, config.text.vocabulary_size
    model = build_model(config.model, *sizes).to(device).eval()
    config = config.model_copy(update={"search": SearchConfig(max_length=15)})
    sources = tokenizers.source.encode_ids([pair.source for pair in islice(bitext["test"], sentences)])
    return Translator([model.for_inference()], tokenizers, config), model, sources


def trained_translator(
    folder: Path, sentences: int, device: torch.device
) -> tuple[Translator, TranslationModel, list[list[int]]]:
    """Returns the translator of a run, its model, and sentences of a split that its training did not use."""
    run = RunDirectory.open(folder)
    bitext = open_data(run.config.data)
    used = (run.config.data.train, run.config.data.validation)
    split = next((name for name in bitext.splits if name not in used), run.config.data.validation)
    sources = run.tokenizers.source.encode_ids([pair.source for pair in islice(bitext[split], sentences)])
    translator = Translator.from_runs([run], device)
    return translator, translator.torch_model, sources


@torch.inference_mode()
def plain_search(
    model: TranslationModel, sources: Sequence[Sequence[int]], config: SearchConfig
) -> list[list[int]]:
    """Decodes as tutorials do: sentence by sentence and hypothesis by hypothesis, with lists and `max`."""
    limits = length_limits(config, [len(ids) + 1 for ids in sources])
    return [_plain_beam(model, ids, config, limit) for ids, limit in zip(sources, limits, strict=True)]


def _plain_beam(model: TranslationModel, ids: Sequence[int], config: SearchConfig, limit: int) -> list[int]:
    src = torch.tensor([[*ids, EOS]], device=model.device)
    source = model.encode(src, torch.ones_like(src, dtype=torch.bool))
    live = [([BOS], 0.0, source.start)]
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, limit + 1):
        candidates = []
        for tokens, score, state in live:
            last = torch.tensor([[tokens[-1]]], device=model.device)
            log_probabilities, _, state = model.step(last, state, source.memory)
            row = log_probabilities[0, 0]
            row[[PAD, BOS]] = float("-inf")
            values, best = row.topk(config.beam)
            for value, token in zip(values.tolist(), best.tolist(), strict=True):
                candidates.append(([*tokens, token], score + value, state))
        candidates.sort(key=lambda candidate: -candidate[1])
        live = []
        for tokens, score, state in candidates[: config.beam]:
            if tokens[-1] == EOS:
                finished.append((score / length**config.length_penalty, tokens[1:-1]))
            else:
                live.append((tokens, score, state))
        if not live or len(finished) >= config.beam:
            break
    if not finished:
        return live[0][0][1:]
    return max(finished)[1]
