"""Benchmark of training steps: ours against what tutorials do, on the same batches and with the same weights.

Tutorials write a loop over the target positions of a GRU (`StepByStep`), and take `torch.nn.Transformer`
(`TorchTransformer`). Both run as in tutorials: in fp32, with torch's Adam and its defaults. Ours runs in the
given precision.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.bench.machine import PeakMemory, matrix_rate, timed
from augenmerk.data import Bitext
from augenmerk.mechanisms import State
from augenmerk.mechanisms.classic import MultiHead
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import TranslationModel, build_model
from augenmerk.model.transformer import TransformerTranslator
from augenmerk.text.batching import Batch, ParallelTokens, PlannedBatch, encode_pairs
from augenmerk.text.tokenizer import PAD, TokenizerPair
from augenmerk.training.engine import Engine

ENCODER_NAMES = {
    "own_norm": "norm1",
    "feed_forward.norm": "norm2",
    "feed_forward.W_1": "linear1",
    "feed_forward.W_2": "linear2",
}
DECODER_NAMES = {**ENCODER_NAMES, "cross_norm": "norm2", "feed_forward.norm": "norm3"}
"""The parts of our Transformer's layers, each with torch's name of it."""


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
    source, target, size = tokenizers.source, tokenizers.target, config.train.batch_size
    data = encode_pairs(pairs, source.encode_ids, target.encode_ids, config.data.max_length).to(device)
    plan = select_typical(data.plan(size, seed=1), steps) if bucketed else _choose_random(data, size, steps)
    batches = list(data.batches(plan))
    torch.manual_seed(config.train.seed)
    model = build_model(config.model, source.size, target.size)
    loop = make_plain(model)
    engine = Engine(model, config.train, device)
    difference = _loss_difference(model, batches[0])
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
    ours = _measure(our_step, batches, device, floor, warm_up=batches if engine.bf16 else batches[:1])
    on_progress("the loop's steps")
    reference = _measure(reference_step, batches, device, floor, warm_up=batches[:1])
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


def _measure(
    step: Callable[[Batch], None],
    batches: Sequence[Batch],
    device: torch.device,
    floor: float,
    warm_up: Sequence[Batch],
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


def _choose_random(data: ParallelTokens, size: int, count: int) -> list[PlannedBatch]:
    """Plans batches of random pairs, regardless of their lengths; fewer than `count` of few pairs."""
    order = np.random.default_rng(1).permutation(len(data))
    return [data.planned(order[start : start + size]) for start in range(0, len(data), size)[:count]]


def select_typical(plan: Sequence[PlannedBatch], count: int) -> list[PlannedBatch]:
    """Returns the batches in the middle when all are sorted by size."""
    by_size = sorted(plan, key=lambda each: len(each.indices) * (each.source_width + each.target_width))
    start = max(0, (len(by_size) - count) // 2)
    return by_size[start : start + count]


@torch.no_grad()
def _loss_difference(model: TranslationModel, batch: Batch) -> float:
    """Returns how far the two losses per token differ, in fp32 and without dropout."""
    model.eval()
    features, _ = model.decode(batch.tgt_in, model.encode(batch.src, batch.src_mask))
    logits, targets = model.output(features[batch.tgt_mask]), batch.tgt_out[batch.tgt_mask]
    ours = nn.functional.cross_entropy(logits, targets, reduction="sum")
    reference = make_plain(model).eval().loss(batch)
    return abs(float(ours - reference)) / batch.target_tokens


def operations(model: TranslationModel, batch: Batch) -> float:
    """Returns the floating-point operations of a training step that cannot be avoided: its matrix products.

    They are done once forward and twice backward (for the weights, and for the layers below), on real tokens.
    """
    source, target = model.multiplications()
    return 3 * 2.0 * (int(batch.src_lengths.sum()) * source + batch.target_tokens * target)


# The plain way


class PlainModel(nn.Module):
    """A model as tutorials write it; tensors have time first."""

    def loss(self, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Returns the loss summed over the real target tokens."""
        return nn.functional.cross_entropy(
            self(batch).flatten(0, 1),
            batch.tgt_out.T.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=label_smoothing,
        )


def make_plain(model: TranslationModel) -> PlainModel:
    """Returns a model with the same weights; raises AugenmerkError if tutorials have none like it."""
    model = copy.deepcopy(model)
    if isinstance(model, GRUTranslator):
        return StepByStep(model)
    if isinstance(model, TransformerTranslator):
        return TorchTransformer(model)
    raise AugenmerkError(
        f"Tutorials have no loop for the architecture '{model.config.architecture}', so there is nothing to "
        f"compare it with."
    )


class StepByStep(PlainModel):
    """Runs a translator word by word, sharing its weights.

    Outputs are filled in row by row; and every target position takes one decoder step, one attention over the
    whole source with keys computed again, and one output layer.
    """

    def __init__(self, model: GRUTranslator) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        """Returns logits (T, B, vocabulary)."""
        model = self.model
        dropout = nn.Dropout(model.embedding_dropout.p).train(self.training)
        z = dropout(model.W_z(batch.src))
        h, ends = model.encoder(z, batch.src_mask, fused=False)
        g = torch.stack([torch.relu(W_s(end)) for W_s, end in zip(model.W_s, ends, strict=True)])
        tgt_in = batch.tgt_in.T
        T, B = tgt_in.shape
        outputs: Tensor = h.new_zeros(T, B, model.target_vocabulary)
        seen: State = ()
        for i in range(T):
            b = dropout(model.W_b(tgt_in[i]))  # (B, E)
            output, g = model.decoder(b[:, None], g)  # (B, 1, H)
            memory = model.attention.memory(h, batch.src_mask)
            seen = seen or model.attention.start(memory)
            a, _, seen = model.attention.advance(output, memory, seen)  # (B, 1, D)
            outputs[i] = model.output(torch.cat([a, output], dim=-1)[:, 0])  # (B, vocabulary)
        return outputs


class TorchTransformer(PlainModel):
    """`torch.nn.Transformer` with the weights of ours; embeddings and the output layer are shared with it.

    Raises AugenmerkError if torch's Transformer cannot do what ours does.
    """

    def __init__(self, model: TransformerTranslator) -> None:
        super().__init__()
        config, positions = model.config, model.config.transformer.positions
        if config.attention != "multi-head" or config.key != config.embedding or positions == "rotary":
            raise AugenmerkError(
                "torch's Transformer has multi-head attention with keys as wide as its layers, and no rotary "
                'positions; set model.attention = "multi-head", model.key = model.embedding and '
                'model.transformer.positions = "sinusoidal" to compare with it.'
            )
        self.model = model
        with warnings.catch_warnings():  # about nested tensors, which it can do without
            warnings.simplefilter("ignore")
            self.torch = nn.Transformer(
                config.embedding,
                config.heads,
                config.layers,
                config.layers,
                config.transformer.feed_forward,
                config.output_dropout,
                norm_first=True,
            )
        self.to(model.device, model.W_o.weight.dtype)  # before the weights come, so that none is rounded
        for ours, theirs in zip(model.encoder, self.torch.encoder.layers, strict=True):
            _copy_attention(ours.get_submodule("own"), theirs.get_submodule("self_attn"))
            _copy_parts(ours, theirs, ENCODER_NAMES)
        for ours, cross, theirs in zip(
            model.decoder, model.attentions, self.torch.decoder.layers, strict=True
        ):
            _copy_attention(ours.get_submodule("own"), theirs.get_submodule("self_attn"))
            _copy_attention(cross, theirs.get_submodule("multihead_attn"))
            _copy_parts(ours, theirs, DECODER_NAMES)
        _copy_parts(model, self.torch, {"encoder_norm": "encoder.norm", "decoder_norm": "decoder.norm"})

    def forward(self, batch: Batch) -> Tensor:
        """Returns logits (T, B, vocabulary)."""
        model, padding = self.model, ~batch.src_mask
        T = batch.tgt_in.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool, device=padding.device).triu(1)
        g = self.torch(
            model.embed(model.W_z, batch.src).transpose(0, 1),
            model.embed(model.W_b, batch.tgt_in).transpose(0, 1),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return model.output(g)


@torch.no_grad()
def _copy_attention(ours: nn.Module, theirs: nn.Module) -> None:
    """Copies the matrices; torch's attention has biases too, which are set to 0."""
    assert isinstance(ours, MultiHead)
    assert isinstance(theirs, nn.MultiheadAttention)
    assert theirs.in_proj_weight is not None
    for parameter in theirs.parameters():
        parameter.zero_()
    theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
    theirs.out_proj.weight.copy_(ours.W_a.weight)


def _copy_parts(ours: nn.Module, theirs: nn.Module, names: dict[str, str]) -> None:
    for our, their in names.items():
        theirs.get_submodule(their).load_state_dict(ours.get_submodule(our).state_dict())
