"""Translating, ours against a plain loop over single sentences, on the same model in one run."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from augenmerk.batching import TokenTable
from augenmerk.bench.machine import PeakMemory, timed
from augenmerk.bitext import open_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import SearchConfig, load_config
from augenmerk.model.translator import Source, Translator
from augenmerk.search import length_limits
from augenmerk.text import BOS, EOS, PAD, Codec
from augenmerk.translate import hypotheses_of, load_translator

REPEATS = 3
PLAIN_SENTENCES = 40
"""The plain way is timed on so many: it is slow, and its time is proportional."""


def bench_decoding(
    model: Translator,
    sources: Sequence[Sequence[int]],
    search: SearchConfig,
    beams: Sequence[int],
    progress: Callable[[str], None] = lambda _what: None,
) -> dict[str, Any]:
    """Sentences per second for each beam, both ways; and how long one sentence alone takes, greedily."""
    device = next(model.parameters()).device
    model.eval()
    table = TokenTable.of(sources).to(device)
    rows = []
    for beam in beams:
        progress(f"beam {beam}: ours")
        config = search.model_copy(update={"beam": beam})
        hypotheses_of(model, TokenTable.of(sources[:32]).to(device), config)  # warm up
        peak = PeakMemory(device)
        work = partial(hypotheses_of, model, table, config)
        times = [timed(work, device) for _ in range(REPEATS)]
        ours = median(times)
        mib = peak.mib()
        progress(f"beam {beam}: one sentence at a time")
        few = sources[:: max(1, len(sources) // PLAIN_SENTENCES)][:PLAIN_SENTENCES]
        plain = timed(lambda config=config, few=few: plain_search(model, few, config), device)  # type: ignore[misc]
        rows.append(
            {
                "beam": beam,
                "sentences_per_second": len(sources) / ours,
                "reference_sentences_per_second": len(few) / plain,
                "ratio": (len(sources) / ours) / (len(few) / plain),
                "peak_mib": mib,
            }
        )
    progress("one sentence alone")
    greedy = search.model_copy(update={"beam": 1})
    alone = [TokenTable.of([ids]).to(device) for ids in sources[:50]]
    seconds = sorted(timed(lambda one=one: hypotheses_of(model, one, greedy), device) for one in alone)  # type: ignore[misc]
    return {"beams": rows, "latency_ms": 1e3 * seconds[len(seconds) // 2], "sentences": len(sources)}


Ready = tuple[Translator, list[list[int]], SearchConfig]


def random_model(sentences: int, device: torch.device) -> Ready:
    """The size of `quick`, random weights, captions of the picture book, translations of a fixed length.

    Random weights hardly ever end a sentence; the limit does.
    """
    config = load_config("quick", ["data.bitext=bilderbuch"])
    bitext = open_data(config.data)
    codec = Codec.train(bitext["train"], config.text)
    torch.manual_seed(1)
    model = Translator(config.model, config.text.vocabulary_size, config.text.vocabulary_size).to(device)
    sources = codec.source.encode_ids([pair.source for pair in islice(bitext["test"], sentences)])
    return model, sources, SearchConfig(max_length=15)


def trained_model(place: Path, sentences: int, device: torch.device) -> Ready:
    """A run, on the first split that it neither learnt from nor was chosen by."""
    run = RunDirectory.open(place)
    bitext = open_data(run.config.data)
    used = (run.config.data.train, run.config.data.validation)
    split = next((name for name in bitext.splits if name not in used), run.config.data.validation)
    sources = run.codec.source.encode_ids([pair.source for pair in islice(bitext[split], sentences)])
    return load_translator(run, device), sources, run.config.search


@torch.inference_mode()
def plain_search(
    model: Translator, sources: Sequence[Sequence[int]], config: SearchConfig
) -> list[list[int]]:
    """What a tutorial does: sentence by sentence, hypothesis by hypothesis, lists and `max`."""
    limits = length_limits(config, [len(ids) + 1 for ids in sources])
    return [_plain_beam(model, ids, config, limit) for ids, limit in zip(sources, limits, strict=True)]


def _plain_beam(model: Translator, ids: Sequence[int], config: SearchConfig, limit: int) -> list[int]:
    device = next(model.parameters()).device
    src = torch.tensor([[*ids, EOS]], device=device)
    source: Source = model.encode(src, torch.ones_like(src, dtype=torch.bool))
    live = [([BOS], 0.0, source.start[:, :, None])]
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, limit + 1):
        candidates = []
        for tokens, score, g in live:
            log_probabilities, _, g = model.step(
                torch.tensor([[tokens[-1]]], device=device), g, source.memory
            )
            row = log_probabilities[0, 0]
            row[[PAD, BOS]] = float("-inf")
            values, best = row.topk(config.beam)
            for value, token in zip(values.tolist(), best.tolist(), strict=True):
                candidates.append(([*tokens, token], score + value, g))
        candidates.sort(key=lambda candidate: -candidate[1])
        live = []
        for tokens, score, g in candidates[: config.beam]:
            if tokens[-1] == EOS:
                finished.append((score / length**config.length_penalty, tokens[1:-1]))
            else:
                live.append((tokens, score, g))
        if not live or len(finished) >= config.beam:
            break
    if not finished:
        return live[0][0][1:]
    return max(finished)[1]
