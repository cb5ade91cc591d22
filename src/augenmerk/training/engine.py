"""One step of training: the gradients of some batches, then an update of the weights.

On a CPU the output layer, which is most of the work, sees real target tokens only. On a GPU the shapes have
to repeat instead: all data lies there, and the work on a batch is recorded once for each shape as a CUDA
graph, so that the host only asks for replays.

Where several processes train, each has a part of every batch, and the gradients are added up between the
work on the batches and the update of the weights, outside of the graphs.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from inspect import unwrap
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW

from augenmerk.base.config import TrainConfig
from augenmerk.base.device import autocast, uses_bf16
from augenmerk.model.interface import TranslationModel
from augenmerk.model.kernels import fused_cross_entropy, half_precision
from augenmerk.text.batching import Batch
from augenmerk.text.tokenizer import PAD
from augenmerk.training.distributed import ALONE, World

ROUND_ROWS = 64
"""On a CPU with bf16, oneDNN compiles a matrix product for each number of rows, and keeps the code.
The output layer would have other rows in every batch, and memory would grow by hundreds of MiB."""


def _without_compiler(kind: type[Adam]) -> type[Adam]:
    """Returns an optimizer that does not import torch's compiler, which would take a second and 100 MB."""
    methods: dict[str, Any] = {name: unwrap(getattr(kind, name)) for name in ("add_param_group", "zero_grad")}
    return type(kind.__name__, (kind,), {**methods, "step": torch.no_grad()(unwrap(kind.step))})


_ADAM, _ADAMW = _without_compiler(Adam), _without_compiler(AdamW)


class Engine:
    """A model, its optimizer and, if the settings ask for one, the moving average of its weights."""

    def __init__(
        self, model: TranslationModel, config: TrainConfig, device: torch.device, world: World = ALONE
    ) -> None:
        self.model = model.to(device)
        self.config = config
        self.device = device
        self.bf16 = uses_bf16(config.precision, device)
        self.parameters = dict(model.named_parameters())
        on_gpu = device.type == "cuda"
        if on_gpu and not self.bf16:
            torch.backends.cudnn.allow_tf32 = False  # fp32 means fp32: GRUs would otherwise round to ten bits
        if on_gpu and self.bf16:
            # Attention whose sizes have no fused kernel would otherwise be computed in fp32.
            torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
        kind = _ADAMW if config.optimizer == "adamw" else _ADAM
        # Tensors, because a recorded graph reads them again at every replay.
        self._lr = torch.tensor(0.0, device=device)
        self._scale = torch.tensor(0.0, device=device)
        self.optimizer = kind(
            self.parameters.values(),
            lr=self._lr if on_gpu else config.lr,
            betas=(0.9, config.beta2),
            weight_decay=config.weight_decay,
            fused=True,
            capturable=on_gpu,
        )
        self.average: dict[str, Tensor] = {}
        """The moving average of the weights; empty without one."""
        if config.ema:
            self.average = {name: weight.detach().clone() for name, weight in self.parameters.items()}
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        """The summed objective over the tokens since it was last set to 0."""
        self.graphs = GraphRecorder(device) if on_gpu else None
        parts = config.exact_parts or world.size
        self.shared = SharedGradients(self.parameters, config, parts, world) if parts > 1 else None
        """The gradients, if batches are divided."""

    def step(self, group: Sequence[Batch], lr: float, number: int = 0) -> None:
        """Adds up the gradients of some batches as if they were one batch, then updates the weights.

        `number` is that of the step, from which dropout follows if batches are divided.
        """
        scale = 1 / sum(batch.target_tokens for batch in group)
        with self.graphs.stream() if self.graphs is not None else nullcontext():
            if self.graphs is not None:
                self._scale.fill_(scale)
                self._lr.fill_(lr)
            if self.shared is None:
                for index, batch in enumerate(group):
                    self._add_gradients(batch, scale, add=index > 0)
            else:
                for part in self.shared.own_parts(number):
                    for batch in group:
                        if (own := batch.part(part, self.shared.parts)) is not None:
                            self._add_gradients(own, scale, add=True)
                self.loss_sum += self.shared.add_up()
            if self.graphs is not None:
                self.graphs.run("update", self.update)
                return
            for each in self.optimizer.param_groups:
                each["lr"] = lr
            self.update()

    def _add_gradients(self, batch: Batch, scale: float, *, add: bool) -> None:
        """Adds the gradients of a batch to those before; on a GPU without `add`, it may replace them."""
        if self.graphs is None:
            self.backward(batch, scale)
        else:
            shapes = *batch.src.shape, *batch.tgt_in.shape
            self.graphs.run((add, *shapes), partial(self._backward, add), batch)

    def backward(self, batch: Batch, scale: float | Tensor) -> None:
        """Adds the gradients of scale * (loss summed over the batch's target tokens)."""
        self._scaled_loss(batch, scale).backward()  # type: ignore[no-untyped-call]

    def _backward(self, add: bool, batch: Batch) -> None:
        """Adds the gradients as `backward` does, or replaces those before, which saves clearing them.

        Gradients keep their memory, because graphs were recorded with its addresses.
        """
        parameters = list(self.parameters.values())
        found = torch.autograd.grad(self._scaled_loss(batch, self._scale), parameters, allow_unused=True)
        old, new = [], []
        for parameter, gradient in zip(parameters, found, strict=True):
            if gradient is not None:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(gradient)
                old.append(parameter.grad)
                new.append(gradient)
        if add:
            torch._foreach_add_(old, new)
        else:
            torch._foreach_copy_(old, new)

    def _scaled_loss(self, batch: Batch, scale: float | Tensor) -> Tensor:
        with autocast(self.bf16, self.device):
            loss = self.loss(batch)
        sum_of_losses = self.loss_sum if self.shared is None else self.shared.loss
        sum_of_losses += loss.detach()
        return loss * scale

    def loss(self, batch: Batch) -> Tensor:
        """Returns the loss summed over the batch's target tokens."""
        model, smoothing = self.model, self.config.label_smoothing
        tgt_mask = batch.tgt_mask if self.graphs is None else None  # graphs read no mask: see `_READ`
        features, _ = model.decode(batch.tgt_in, model.encode(batch.src, batch.src_mask), tgt_mask)
        rows, targets = features.flatten(0, 1), batch.tgt_out.flatten()
        if self.graphs is None:
            real = batch.tgt_mask.flatten().nonzero()[:, 0]
            rows, targets = rows.index_select(0, real), targets[real]
            if self.bf16:
                missing = -len(rows) % ROUND_ROWS
                rows = nn.functional.pad(rows, (0, 0, 0, missing))
                targets = nn.functional.pad(targets, (0, missing), value=PAD)
        if self.graphs is None or half_precision(self.device):
            logits = model.padded_output(rows)
            return fused_cross_entropy(logits, targets, model.target_vocabulary, PAD, smoothing)
        return nn.functional.cross_entropy(
            model.output(rows), targets, ignore_index=PAD, reduction="sum", label_smoothing=smoothing
        )

    def update(self) -> None:
        """Moves the weights along the gradients, which are not needed any more."""
        if self.config.clip:
            nn.utils.clip_grad_norm_(self.parameters.values(), self.config.clip)
        self.optimizer.step()
        if self.graphs is None and self.shared is None:
            self.optimizer.zero_grad()
        if self.average:
            torch._foreach_lerp_(
                list(self.average.values()), list(self.parameters.values()), 1 - self.config.ema
            )

    def copy_averaged_weights(self, model: TranslationModel) -> None:
        """Copies the moving average of the weights into another model; does nothing without an average."""
        with torch.no_grad():
            for name, parameter in model.named_parameters() if self.average else ():
                parameter.copy_(self.average[name])

    def state(self) -> dict[str, Tensor]:
        """Returns all that is needed to continue from here: weights, moments, averages, random state."""
        tensors = {f"weight.{name}": parameter.detach() for name, parameter in self.parameters.items()}
        for name, parameter in self.parameters.items():
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"{key}.{name}"] = value
        for name, value in self.average.items():
            tensors[f"average.{name}"] = value
        tensors["random.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        return tensors

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Restores what `state` returned; raises KeyError or RuntimeError if it is of another model."""
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(tensors[f"weight.{name}"])
                self.optimizer.state[parameter] = {
                    key: tensors[f"{key}.{name}"].to(self.device if key != "step" or self.graphs else "cpu")
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
            for name, value in self.average.items():
                value.copy_(tensors[f"average.{name}"])
        torch.set_rng_state(tensors["random.cpu"].cpu())
        if self.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"].cpu(), self.device)


class SharedGradients:
    """The gradients of batches that are divided, in one buffer that all processes add up.

    A batch is divided into as many parts as there are processes; or, with the setting `exact_parts`, into
    that many, of which each process computes the same number. Then the gradients of the parts are gathered
    and added in the order of the parts, so that the sum does not depend on the number of processes. Dropout
    is a function of (seed, step, part).
    """

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], config: TrainConfig, parts: int, world: World
    ) -> None:
        self.parts = parts
        self._world = world
        self._seed = config.seed
        some = next(iter(parameters.values()))
        sizes = [parameter.numel() for parameter in parameters.values()]
        self._flat = torch.zeros(sum(sizes) + 1, dtype=some.dtype, device=some.device)
        *gradients, loss = torch.split(self._flat, [*sizes, 1])
        for parameter, gradient in zip(parameters.values(), gradients, strict=True):
            parameter.grad = gradient.view_as(parameter)
        self.loss: Tensor = loss[0]
        """The sum of the losses of this step's tokens."""
        own = parts // world.size
        self._own = range(world.rank * own, (world.rank + 1) * own)
        self._of_parts = self._flat.new_empty(parts, len(self._flat)) if config.exact_parts else None

    def own_parts(self, step: int) -> Iterator[int]:
        """Yields the parts that this process computes, each with cleared gradients and its own dropout."""
        for part in self._own:
            self._flat.zero_()
            state = np.random.SeedSequence((self._seed, step, part)).generate_state(1, np.uint64)
            torch.manual_seed(int(state[0]))
            yield part
            if self._of_parts is not None:
                self._of_parts[part] = self._flat

    def add_up(self) -> Tensor:
        """Adds up the gradients of all parts, and returns the sum of their losses."""
        if self._of_parts is None:
            self._world.add_up(self._flat)
            return self.loss
        self._world.gather(self._of_parts)
        self._flat.copy_(self._of_parts[0])
        for gradients in self._of_parts[1:]:
            self._flat += gradients
        return self.loss


class GraphRecorder:
    """Records work on the GPU as CUDA graphs, one for each key, and replays it.

    Work is run normally the first time, which warms up the libraries; recorded the second time; and replayed
    from then on.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()
        # All work is on one separate stream: normal runs and recordings have to share it, or a recording
        # would wait for a stream that is not part of it.
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.warm: set[Hashable] = set()
        """The keys of work that may be recorded when it comes next."""
        self.recorded: dict[Hashable, tuple[Batch | None, torch.cuda.CUDAGraph]] = {}

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Makes the work inside wait for the work before, and the work after wait for the work inside."""
        outside = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(outside)
        with torch.cuda.stream(self._stream):
            yield
        outside.wait_stream(self._stream)

    def run(self, key: Hashable, work: Callable[..., None], batch: Batch | None = None) -> None:
        """Runs, records or replays work on a batch (or on none)."""
        inputs = () if batch is None else (batch,)
        if key not in self.warm:
            self.warm.add(key)
            work(*inputs)
            return
        if key not in self.recorded:
            # A graph reads the same memory at every replay, so it gets its own batch.
            own = batch and replace(batch, **{name: getattr(batch, name).clone() for name in _READ})
            graph = torch.cuda.CUDAGraph()
            # Of this thread alone, because a thread of NCCL asks the GPU how far it is at any time.
            with torch.cuda.graph(
                graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
            ):
                work(*(() if own is None else (own,)))
            self.recorded[key] = (own, graph)
        own, graph = self.recorded[key]
        if own is not None:
            for name in _READ:
                getattr(own, name).copy_(getattr(batch, name))
        graph.replay()


_READ = ("src", "src_mask", "tgt_in", "tgt_out")
"""The parts of a batch that `Engine.backward` reads on a GPU."""
