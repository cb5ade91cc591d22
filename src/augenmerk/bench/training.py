"""Benchmark of training steps: ours against what tutorials do, on the same batches.

That is a step-by-step loop for a GRU, and `torch.nn.Transformer` for a Transformer. It runs as in tutorials:
in fp32, with torch's Adam and its defaults. Ours runs in the given precision.
"""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np
import torch

from augenmerk.base.config import RunConfig
from augenmerk.bench.loop import make_plain
from augenmerk.bench.machine import PeakMemory, matrix_rate, timed
from augenmerk.data import Bitext
from augenmerk.model.interface import TranslationModel, build_model
from augenmerk.text.batching import Batch, ParallelTokens, PlannedBatch, encode_pairs
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.training.engine import Engine

Step = Callable[[Batch], None]


def bench_training(
    config: RunConfig,
    bitext: Bitext,
    device: torch.device,
    steps: int = 5,
    bucketed: bool = False,
    on_progress: Callable[[str], None] = lambda _what: None,
) -> dict[str, Any]:
    """Times some batches, and measures how far the losses of the two differ.

    Batches are random, as a tutorial's loader makes them, or `bucketed` by length, as in our training.
    """
    # Torch's Transformer, which a Transformer is compared with, knows no rotary positions.
    plain = config.model.transformer.model_copy(update={"positions": "sinusoidal"})
    config = config.model_copy(update={"model": config.model.model_copy(update={"transformer": plain})})
    on_progress("learning the vocabulary")
    pairs = bitext[config.data.train]
    tokenizers = TokenizerPair.train(pairs, config.text)
    data = encode_pairs(
        pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids, config.data.max_length
    )
    data = data.to(device)
    size = config.train.batch_size
    plan = select_typical(data.plan(size, seed=1), steps) if bucketed else as_they_come(data, size, steps)
    batches = list(data.batches(plan))
    torch.manual_seed(config.train.seed)
    model = build_model(config.model, tokenizers.source.size, tokenizers.target.size)
    loop = make_plain(model)
    engine = Engine(model, config.train, device)
    difference = loss_difference(model, batches[0])
    loop.to(device).train()
    optimizer = torch.optim.Adam(loop.parameters(), config.train.lr)

    def our_step(batch: Batch) -> None:
        engine.step([batch], config.train.lr)

    def reference_step(batch: Batch) -> None:
        optimizer.zero_grad()
        loss = loop.loss(batch, config.train.label_smoothing) / batch.target_tokens
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    rate = matrix_rate(engine.bf16, device)
    floor = median(operations(model, batch) / rate for batch in batches)
    model.train()
    on_progress("our steps")
    ours = measure(our_step, batches, device, floor, warm_up=batches if engine.bf16 else batches[:1])
    on_progress("the loop's steps")
    reference = measure(reference_step, batches, device, floor, warm_up=batches[:1])
    return {
        "ours": ours,
        "reference": reference,
        "ratio": reference["seconds_per_step"] / ours["seconds_per_step"],
        "floor": {"seconds_per_step": floor, "gflops_per_second": rate / 1e9},
        "loss_difference": difference,
        "precision": "bf16" if engine.bf16 else "fp32",
        "device": str(device),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": len(batches),
        "batches": "bucketed" if bucketed else "as they come",
    }


def as_they_come(data: ParallelTokens, size: int, count: int) -> list[PlannedBatch]:
    """Plans batches of random pairs, regardless of their lengths; fewer than `count` of few pairs."""
    order = np.random.default_rng(1).permutation(len(data))
    starts = range(0, len(data), size)[:count]
    return [data.planned(order[start : start + size]) for start in starts]


def select_typical(plan: Sequence[PlannedBatch], count: int) -> list[PlannedBatch]:
    """Returns the batches in the middle when all are sorted by size."""
    by_size = sorted(
        plan, key=lambda planned: len(planned.indices) * (planned.source_width + planned.target_width)
    )
    start = max(0, (len(by_size) - count) // 2)
    return by_size[start : start + count]


def measure(
    step: Step, batches: Sequence[Batch], device: torch.device, floor: float, warm_up: Sequence[Batch]
) -> dict[str, Any]:
    """Returns medians over the batches, after some were run to warm up.

    In bf16 these have to be all of them, because oneDNN compiles products for each new shape, which happens
    once in a training. On a GPU each batch is run twice before, so that it is recorded.
    """
    peak = PeakMemory(device)
    for batch in [*batches, *batches] if device.type == "cuda" else warm_up:
        step(batch)
    seconds = [timed(lambda batch=batch: step(batch), device) for batch in batches]  # type: ignore[misc]
    return {
        "seconds_per_step": median(seconds),
        "target_tokens_per_second": sum(batch.target_tokens for batch in batches) / sum(seconds),
        "peak_mib": peak.mib(),
        "times_floor": median(seconds) / floor,
    }


@torch.no_grad()
def loss_difference(model: TranslationModel, batch: Batch) -> float:
    """Returns how far the two losses per token differ, in fp32 and without dropout."""
    model.eval()
    features, _ = model.decode(batch.tgt_in, model.encode(batch.src, batch.src_mask))
    logits, targets = model.output(features[batch.tgt_mask]), batch.tgt_out[batch.tgt_mask]
    ours = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    reference = make_plain(model).eval().loss(batch)
    return abs(float(ours - reference)) / batch.target_tokens


def operations(model: TranslationModel, batch: Batch) -> float:
    """Returns the floating-point operations of a training step that cannot be avoided: its matrix products.

    They are done once forward and twice backward (for the weights, and for the layers below), on real tokens.
    """
    source, target = model.multiplications()
    return 3 * 2.0 * (int(batch.src_lengths.sum()) * source + batch.target_tokens * target)
