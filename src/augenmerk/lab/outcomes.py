"""Calls an answer with an input, and compares what comes out.

Parameters of a module are filled with seeded numbers, and the reference takes those of the answer, matched by
name, or else by shape, so that both compute with the same weights.
"""

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""Numbers that differ by no more are the same; an answer may add them up in another order."""
MAX_STEPS = 2000


class Draw:
    """Seeded sizes and numbers for inputs."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self._generator = torch.Generator().manual_seed(self.random.getrandbits(32))

    def size(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self._generator)


@dataclass(frozen=True)
class Case:
    """An input: the arguments of the call, and those of a class's `__init__`."""

    name: str
    arguments: tuple[Any, ...]
    sizes: tuple[int, ...] = ()


class TooManyStepsError(RuntimeError):
    """Raised if a search does not end."""


class ToyDecoder:
    """A step function for searches: a small recurrent network over made-up tokens.

    It raises an error after very many steps, so that a search that never ends does.
    """

    def __init__(
        self, draw: Draw, vocabulary: int, hidden: int, favour: Mapping[int, float], scale: float = 2.0
    ) -> None:
        self.embedding, self.recurrent = draw.normal(vocabulary, hidden), draw.normal(hidden, hidden)
        self.output, self.bias = scale * draw.normal(hidden, vocabulary), torch.zeros(vocabulary)
        for token, amount in favour.items():
            self.bias[token] = amount
        self.steps = 0

    def __deepcopy__(self, _: object) -> "ToyDecoder":
        return copy.copy(self)  # with its own count of steps; nothing changes its tensors

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooManyStepsError(f"the search made more than {MAX_STEPS:,} steps")
        after = torch.tanh(state @ self.recurrent + self.embedding[tokens])
        return (after @ self.output + self.bias).log_softmax(dim=1), after


@dataclass(frozen=True)
class Outcome:
    """What a call returned, in a form that can be compared, or the exception that it raised."""

    value: Any = None
    error: str = ""
    """The name of the exception's class."""
    raised: Exception | None = field(default=None, repr=False)
    explained: str = ""
    """What an exception means that was raised in another process."""
    raw: Any = field(default=None, repr=False)
    weights: Mapping[str, Tensor] = field(default_factory=dict, repr=False)
    changed: bool = False
    """Whether the call changed one of its arguments."""

    def equals(self, other: "Outcome") -> bool:
        return self.error == other.error and (bool(self.error) or same(self.value, other.value))


class Remote(ABC):
    """A class or function that is called in another process."""

    @abstractmethod
    def call(self, case: Case, prepare: str, seed: int, device: str) -> Outcome:
        """Does what `call` does; `prepare` is the name of a function, and no device is `-`."""


def call(
    candidate: Any,
    case: Case,
    weights: Mapping[str, Tensor] | None = None,
    prepare: Callable[[Any], Any] | None = None,
    seed: int = 0,
    device: torch.device | None = None,
) -> Outcome:
    """Calls a function, or an object of a class in eval mode, with copies of the arguments.

    `prepare` may change each argument and the module. Without `weights` the module gets seeded ones. Tensors
    that the call makes without naming a device are on `device`.
    """
    if isinstance(candidate, Remote):
        name = prepare.__name__ if prepare else "-"
        return candidate.call(case, name, seed, device.type if device else "-")
    change = prepare or (lambda argument: argument)
    arguments = tuple(change(copy.deepcopy(each)) for each in case.arguments)
    used: Mapping[str, Tensor] = {}
    torch.default_generator.manual_seed(seed)  # torch.manual_seed takes longer than most calls
    try:
        if isinstance(candidate, type):
            candidate = candidate(*case.sizes)
            if isinstance(candidate, nn.Module):
                used = _fill(candidate.eval(), weights)
                candidate = change(candidate)
        with torch.enable_grad(), device or nullcontext():
            raw = candidate(*arguments)
        value = canonical(raw)
    except SystemExit:
        return Outcome(error="RuntimeError", raised=RuntimeError("the program exits"), weights=used)
    except Exception as error:
        return Outcome(error=type(error).__name__, raised=error, weights=used)
    changed = prepare is None and not all(map(_same_argument, case.arguments, arguments))
    return Outcome(value, raw=raw, weights=used, changed=changed)


def _same_argument(before: Any, after: Any) -> bool:
    if isinstance(before, Tensor):
        return before.shape == after.shape and torch.equal(before.nan_to_num(), after.nan_to_num())
    return not isinstance(before, list) or before == after


def _fill(module: nn.Module, given: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
    """Fills the parameters: from those of the answer, or with numbers that depend on place and shape."""
    own = dict(module.named_parameters())
    found = _match(own, given or {}) if given is not None else {}
    for number, (name, parameter) in enumerate(own.items()):
        generator = torch.Generator().manual_seed(number + 100 * parameter.numel())
        drawn = torch.randn(parameter.shape, generator=generator) * 1.5 / max(1, parameter.shape[-1]) ** 0.5
        if given is not None and name.endswith("bias"):
            drawn = torch.zeros_like(drawn)  # the answer has none
        parameter.data = found.get(name, drawn).clone()
    return {name: parameter.detach() for name, parameter in own.items()}


def _match(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns which parameter of the answer is which of the reference: by name, then by shape in order."""
    left = dict(given)
    found: dict[str, Tensor] = {}

    def take(name: str, source: str, value: Tensor) -> None:
        found[name] = value
        del left[source]

    for name, parameter in own.items():
        for source in (name, name.removesuffix(".weight")):
            if source in left and name not in found and left[source].shape == parameter.shape:
                take(name, source, left[source])
    for name, parameter in own.items():
        for source, value in list(left.items()):
            is_bias = "bias" in name.split(".")[-1]
            if name in found or is_bias != (value.dim() == 1):
                continue
            if value.shape == parameter.shape:
                take(name, source, value)
            elif not source.endswith("weight") and value.T.shape == parameter.shape:
                take(name, source, value.T)
    return found


def canonical(value: Any) -> Any:
    """Returns a value of tensors, arrays, numbers and sequences in a form that can be compared."""
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, Tensor):
        value = value.detach().double().cpu()
        return value if value.dim() else float(value)
    if isinstance(value, bool | int | float | np.number):
        return float(value)
    if isinstance(value, list | tuple):
        return [canonical(each) for each in value]
    return None if value is None else repr(value)


def same(one: Any, other: Any) -> bool:
    """Returns whether two canonical values are the same up to rounding."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Tensor) and isinstance(other, list):
        one, other = other, one
    if isinstance(one, list) and isinstance(other, Tensor):
        return same(one, canonical(other.tolist()))
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        near = one.shape == other.shape
        return near and torch.allclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True)
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True))
    return type(one) is type(other) and not isinstance(one, Tensor) and bool(one == other)


def list_tensors(raw: Any) -> list[Tensor]:
    """Returns the tensors in what a call returned."""
    if isinstance(raw, Tensor):
        return [raw]
    parts: Iterable[Any] = raw if isinstance(raw, list | tuple) else ()
    return [tensor for each in parts for tensor in list_tensors(each)]


def to_double(argument: Any) -> Any:
    """Returns a tensor of numbers or a module in double precision, and anything else as it is."""
    if isinstance(argument, nn.Module) or (isinstance(argument, Tensor) and argument.is_floating_point()):
        return argument.double()
    return argument


def to_trained(argument: Any) -> Any:
    """Returns a tensor of numbers that wants a gradient, and anything else as it is."""
    is_number = isinstance(argument, Tensor) and argument.is_floating_point()
    return argument.requires_grad_() if is_number else argument


def list_missing_layers(reference: Outcome, answer: Outcome) -> list[str]:
    """Returns the layers that the answer does not have, with the shape of their weights."""
    found = _match(reference.weights, answer.weights)
    return [
        f"{name.removesuffix('.weight')} with weights of the shape {show_shape(weights)}"
        for name, weights in reference.weights.items()
        if "bias" not in name and name not in found
    ]


def show_shape(tensor: Tensor) -> str:
    """Returns a shape as text, such as 2 x 5."""
    return " x ".join(map(str, tensor.shape))
