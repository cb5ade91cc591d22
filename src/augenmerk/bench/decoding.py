"""Benchmark of decoding: ours against a plain loop over single sentences, on the same model."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from augenmerk.bench.machine import PeakMemory, timed
from augenmerk.bitext import open_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import SearchConfig, load_config
from augenmerk.model import TranslationModel, build_model
from augenmerk.search import length_limits
from augenmerk.text import BOS, EOS, PAD, TokenizerPair
from augenmerk.translate import Translator

REPEATS = 3
REFERENCE_SENTENCES = 40
"""The plain loop is slow, and its time is proportional, so it is timed on this many sentences."""


def bench_decoding(
    translator: Translator,
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    beams: Sequence[int],
    on_progress: Callable[[str], None] = lambda _what: None,
) -> dict[str, Any]:
    """Measures sentences per second for each beam, and the latency of one sentence.

    The plain loop has the translator's model as one of torch.
    """
    device = model.device
    rows = []
    for beam in beams:
        on_progress(f"beam {beam}: ours")
        settings = translator.search_settings(beam=beam)
        translator.decode(sources[:32], settings)  # warm up
        peak = PeakMemory(device)
        work = partial(translator.decode, sources, settings)
        ours = median(timed(work, device) for _ in range(REPEATS))
        mib = peak.mib()
        on_progress(f"beam {beam}: one sentence at a time")
        few = sources[:: max(1, len(sources) // REFERENCE_SENTENCES)][:REFERENCE_SENTENCES]
        reference = timed(partial(plain_search, model, few, settings), device)
        rows.append(
            {
                "beam": beam,
                "sentences_per_second": len(sources) / ours,
                "reference_sentences_per_second": len(few) / reference,
                "ratio": (len(sources) / ours) / (len(few) / reference),
                "peak_mib": mib,
            }
        )
    on_progress("one sentence alone")
    greedy = translator.search_settings(beam=1)
    seconds = [timed(partial(translator.decode, [ids], greedy), device) for ids in sources[:50]]
    return {"beams": rows, "latency_ms": 1e3 * median(seconds), "sentences": len(sources)}


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
    place: Path, sentences: int, device: torch.device
) -> tuple[Translator, TranslationModel, list[list[int]]]:
    """Returns the translator of a run, its model, and sentences of a split that its training did not use."""
    run = RunDirectory.open(place)
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
