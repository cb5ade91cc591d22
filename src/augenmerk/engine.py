"""One step of training: gradients of some batches, then the weights move.

On a CPU the output layer, which is most of the work, sees real target tokens only. On a GPU shapes have to
stay the same instead: all data lies there, and the work of a batch is recorded once for each shape as a
CUDA graph, so that the host does nothing but ask for it again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from augenmerk.batching import Batch
from augenmerk.config import TrainConfig
from augenmerk.device import autocast, uses_bf16
from augenmerk.model.translator import Translator
from augenmerk.text import PAD, UNK


class Engine:
    """A model, its optimizer and, if there is one, the moving average of its weights."""

    def __init__(self, model: Translator, config: TrainConfig, device: torch.device) -> None:
        self.model = model.to(device)
        self.config = config
        self.device = device
        self.bf16 = uses_bf16(config.precision, device)
        self.parameters = dict(model.named_parameters())
        on_gpu = device.type == "cuda"
        if on_gpu and not self.bf16:
            torch.backends.cudnn.allow_tf32 = False  # fp32 means fp32: GRUs would otherwise round to ten bits
        kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
        self.lr = torch.tensor(0.0, device=device) if on_gpu else 0.0
        self.optimizer = kind(
            self.parameters.values(),
            lr=self.lr if on_gpu else config.lr,
            betas=(0.9, config.beta2),
            weight_decay=config.weight_decay,
            fused=True,
            capturable=on_gpu,
        )
        self.average = (
            {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
            if config.ema
            else None
        )
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        """Of the objective, over the tokens since it was last set to nought."""
        self._graphs = Graphs(self) if on_gpu else None
        """On a GPU, step by step and never the same work explained twice."""

    def step(self, group: Sequence[Batch], lr: float) -> None:
        """The gradients of some batches are added up as if they were one batch; then the weights move."""
        tokens = sum(batch.target_tokens for batch in group)
        if self._graphs is not None:
            self._graphs.step(group, 1 / tokens, lr)
            return
        for batch in group:
            self.backward(batch, 1 / tokens)
        for each in self.optimizer.param_groups:
            each["lr"] = lr
        self.update()

    def backward(self, batch: Batch, scale: float | Tensor) -> None:
        """Adds the gradients of scale * (sum over the batch's target tokens)."""
        model = self.model
        with autocast(self.bf16, self.device):
            features, _ = model.decode(batch.tgt_in, model.encode(batch.src, batch.src_mask))
            if self._graphs is None:
                logits, targets = model.output(features[batch.tgt_mask]), batch.tgt_out[batch.tgt_mask]
            else:
                logits, targets = model.output(features).flatten(0, 1), batch.tgt_out.flatten()
        loss = nn.functional.cross_entropy(
            logits, targets, ignore_index=PAD, reduction="sum", label_smoothing=self.config.label_smoothing
        )
        (loss * scale).backward()  # type: ignore[no-untyped-call]
        self.loss_sum += loss.detach()

    def prepare(self, shapes: Iterable[tuple[int, int, int]], vocabulary: int) -> None:
        """On a GPU, records the work on batches of these shapes (B, S, T) before there are any.

        Only before the first step: the optimizer begins anew.
        """
        if self._graphs is None:
            return
        shapes = list(shapes)
        for B, S, T in shapes[:1] + shapes:  # the very first is done in the ordinary way, then recorded
            src, tgt = (torch.randint(UNK + 1, vocabulary, (B, W), device=self.device) for W in (S, T))
            mask, lengths = torch.ones_like(src, dtype=torch.bool), torch.full((B,), S, device=self.device)
            tgt_mask = torch.ones_like(tgt, dtype=torch.bool)
            batch = Batch(src, mask, lengths, tgt, tgt, tgt_mask, lengths, B * T)
            self._graphs.step([batch], 1 / (B * T), 0.0, at_once=True)
        for state in self.optimizer.state.values():
            for value in state.values():
                value.zero_()
        self.loss_sum.zero_()

    def update(self) -> None:
        """Moves the weights along the gradients, and forgets these."""
        if self.config.clip:
            nn.utils.clip_grad_norm_(self.parameters.values(), self.config.clip)
        self.optimizer.step()
        # On a GPU gradients stay where they are: graphs have been recorded with their addresses.
        self.optimizer.zero_grad(set_to_none=self._graphs is None)
        if self.average is not None:
            torch._foreach_lerp_(
                list(self.average.values()), list(self.parameters.values()), 1 - self.config.ema
            )

    @property
    def recorded_shapes(self) -> int:
        """How many shapes of batches have become CUDA graphs."""
        return len(self._graphs.recorded) if self._graphs else 0

    def show(self, model: Translator) -> None:
        """Gives another model the weights that are evaluated and kept: the average where there is one."""
        if self.average is not None:
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.copy_(self.average[name])

    def state(self) -> dict[str, Tensor]:
        """Everything that another sitting needs to go on from here."""
        tensors = {f"weight.{name}": parameter.detach() for name, parameter in self.parameters.items()}
        for name, parameter in self.parameters.items():
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"{key}.{name}"] = value
        for name, value in (self.average or {}).items():
            tensors[f"average.{name}"] = value
        tensors["random.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        return tensors

    def load(self, tensors: dict[str, Tensor]) -> None:
        """What `state` gave; a KeyError or RuntimeError if it is of another model."""
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(tensors[f"weight.{name}"])
                self.optimizer.state[parameter] = {
                    key: tensors[f"{key}.{name}"].to(self.device if key != "step" or self._graphs else "cpu")
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
            for name, value in (self.average or {}).items():
                value.copy_(tensors[f"average.{name}"])
        torch.set_rng_state(tensors["random.cpu"].cpu())
        if self.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"].cpu(), self.device)


class Graphs:
    """Work on the GPU, recorded: one graph for each shape of a batch, and one that moves the weights.

    What comes for the first time is done in the ordinary way, which readies the libraries for it; the
    second time it is recorded; from then on it is replayed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = torch.cuda.graph_pool_handle()
        # All work is on one stream of its own: what was done in the ordinary way and what is recorded must
        # agree on it, or the recording would wait for a stream that is not part of it.
        self._stream = torch.cuda.Stream(engine.device)  # type: ignore[no-untyped-call]
        self._scale = torch.zeros((), device=engine.device)
        self._seen: set[tuple[int, ...]] = set()
        self.recorded: dict[tuple[int, ...], tuple[Batch, torch.cuda.CUDAGraph]] = {}
        self._update: torch.cuda.CUDAGraph | None = None
        self._updated = False

    def step(self, group: Sequence[Batch], scale: float, lr: float, *, at_once: bool = False) -> None:
        """`at_once`: all shapes but the very first are recorded when they first come."""
        if at_once and self._seen:
            self._seen.update(shape_of(batch) for batch in group)
        outside = torch.cuda.current_stream(self._engine.device)
        self._stream.wait_stream(outside)
        with torch.cuda.stream(self._stream):
            self._step(group, scale, lr)
        outside.wait_stream(self._stream)

    def _step(self, group: Sequence[Batch], scale: float, lr: float) -> None:
        self._scale.fill_(scale)
        assert isinstance(self._engine.lr, Tensor)
        self._engine.lr.fill_(lr)
        for batch in group:
            self._backward(batch)
        if self._update is None and self._updated:
            self._update = self._record(self._engine.update)
        if self._update is not None:
            self._update.replay()
        else:
            self._engine.update()
            self._updated = True

    def _backward(self, batch: Batch) -> None:
        shape = shape_of(batch)
        if shape not in self._seen:
            self._seen.add(shape)
            self._engine.backward(batch, self._scale)
            return
        if shape not in self.recorded:
            own = replace(batch, **{name: getattr(batch, name).clone() for name in _READ})
            graph = self._record(lambda: self._engine.backward(own, self._scale))
            self.recorded[shape] = (own, graph)
        own, graph = self.recorded[shape]
        for name in _READ:
            getattr(own, name).copy_(getattr(batch, name))
        graph.replay()

    def _record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
            work()
        return graph


def shape_of(batch: Batch) -> tuple[int, ...]:
    return (*batch.src.shape, *batch.tgt_in.shape)


_READ = ("src", "src_mask", "tgt_in", "tgt_out")
"""What `Engine.backward` reads of a batch."""
