"""Training steps, ours against the step-by-step loop, on the same batches in one run.

The loop runs as tutorials run it: in fp32, with torch's Adam as it comes. Ours runs in the precision
asked for.
"""

import copy
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np
import torch

from augenmerk.batching import Batch, ParallelTokens, PlannedBatch, encode_pairs
from augenmerk.bench.loop import StepByStep
from augenmerk.bench.machine import PeakMemory, matrix_rate, timed
from augenmerk.bitext import Bitext
from augenmerk.config import ModelConfig, RunConfig
from augenmerk.engine import Engine
from augenmerk.model.translator import Translator, padded
from augenmerk.text import TokenizerPair

Step = Callable[[Batch], None]


def bench_training(
    config: RunConfig,
    bitext: Bitext,
    device: torch.device,
    steps: int = 5,
    bucketed: bool = False,
    progress: Callable[[str], None] = lambda _what: None,
) -> dict[str, Any]:
    """Times some batches, after checking that both ways give the same loss.

    They are drawn as they come, as a tutorial's loader does it, or of similar lengths as ours are.
    """
    progress("learning the vocabulary")
    pairs = bitext[config.data.train]
    tokenizers = TokenizerPair.train(pairs, config.text)
    data = encode_pairs(
        pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids, config.data.max_length
    )
    data = data.to(device)
    size = config.train.batch_size
    plan = middling(data.plan(size, seed=1), steps) if bucketed else as_they_come(data, size, steps)
    batches = list(data.batches(plan))
    torch.manual_seed(config.train.seed)
    model = Translator(config.model, tokenizers.source.size, tokenizers.target.size)
    engine = Engine(model, config.train, device)
    difference = loss_difference(model, batches[0])
    loop = StepByStep(copy.deepcopy(model)).train()
    optimizer = torch.optim.Adam(loop.parameters(), config.train.lr)

    def our_step(batch: Batch) -> None:
        engine.step([batch], config.train.lr)

    def reference_step(batch: Batch) -> None:
        optimizer.zero_grad()
        loss = loop.loss(batch, config.train.label_smoothing) / batch.target_tokens
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    rate = matrix_rate(engine.bf16, device)
    floor = median(operations(config.model, tokenizers, batch) / rate for batch in batches)
    model.train()
    progress("our steps")
    ours = measure(our_step, batches, device, floor)
    progress("the loop's steps")
    reference = measure(reference_step, batches, device, floor)
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
    """Shuffled pairs, cut into batches without regard to their lengths."""
    order = np.random.default_rng(1).permutation(len(data))
    return [data.planned(order[i * size : (i + 1) * size]) for i in range(count)]


def middling(plan: Sequence[PlannedBatch], count: int) -> list[PlannedBatch]:
    """The batches in the middle when all are sorted by size: typical work."""
    by_size = sorted(
        plan, key=lambda planned: len(planned.indices) * (planned.source_width + planned.target_width)
    )
    start = max(0, (len(by_size) - count) // 2)
    return by_size[start : start + count]


def measure(step: Step, batches: Sequence[Batch], device: torch.device, floor: float) -> dict[str, float]:
    """Medians over the batches. On a GPU each is done twice before: work is recorded the second time."""
    peak = PeakMemory(device)
    for batch in [*batches, *batches] if device.type == "cuda" else batches[:1]:
        step(batch)
    seconds = [timed(lambda batch=batch: step(batch), device) for batch in batches]  # type: ignore[misc]
    return {
        "seconds_per_step": median(seconds),
        "target_tokens_per_second": sum(batch.target_tokens for batch in batches) / sum(seconds),
        "peak_mib": peak.mib(),
        "times_floor": median(seconds) / floor,
    }


@torch.no_grad()
def loss_difference(model: Translator, batch: Batch) -> float:
    """Between the mean loss per token of the two ways, in fp32 and without dropout."""
    model.eval()
    features, _ = model.decode(batch.tgt_in, model.encode(batch.src, batch.src_mask))
    logits, targets = model.output(features[batch.tgt_mask]), batch.tgt_out[batch.tgt_mask]
    ours = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    reference = StepByStep(model).loss(batch)
    return abs(float(ours - reference)) / batch.target_tokens


def operations(config: ModelConfig, tokenizers: TokenizerPair, batch: Batch) -> float:
    """Floating-point operations of a training step that cannot be avoided: its matrix products.

    Forward once, backward twice (for the weights and for what comes before them), on real tokens only.
    """
    E, H, K = config.embedding, config.hidden, config.key
    source, target = int(batch.src_lengths.sum()), batch.target_tokens
    inputs = [E] + [2 * H] * (config.layers - 1)
    encoder = sum(2 * 3 * H * (size + H) for size in inputs)
    decoder = sum(3 * H * (size + H) for size in [E] + [H] * (config.layers - 1))
    output = 3 * H * padded(tokenizers.target.size)
    if config.tie != "none":
        output = 3 * H * E + E * padded(tokenizers.target.size)
    keys, queries = {
        "scaled-dot": (2 * H * K, H * K),
        "bilinear": (2 * H * H, 0),
        "additive": (2 * H * K, H * K),
        "multi-head": (2 * 2 * H * K, H * K + 2 * H * K),
    }.get(config.attention, (0, 0))
    return 3 * 2.0 * (source * (encoder + keys) + target * (decoder + queries + output))
