"""Writes down what a mechanism computes, for the exported page: `web/engine/attention.js` computes it there.

A mechanism is run once on arrays that are not there yet. Each operation becomes a list, [name, inputs,
constants ...], whose place in the program is the number of its result; inputs are such numbers. No shape is
written down.
"""

from collections.abc import Callable, Iterator
from typing import Any

from augenmerk.base.config import ModelConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.mechanisms.custom import find_mechanism
from augenmerk.mechanisms.mechanism import Mechanism, Memory

UNARY = ("abs", "exp", "log", "sqrt", "tanh", "zeros_like", "ones_like", "positions")


class Recorder:
    """Takes the place of numpy in `arrays.library`, and makes the layers that a mechanism declares."""

    def __init__(self) -> None:
        self.operations: list[list[Any]] = []

    def add(self, name: str, *inputs: "Recorded | float", constants: tuple[Any, ...] = ()) -> "Recorded":
        numbers = [
            (each if isinstance(each, Recorded) else self.add("constant", constants=(float(each),))).number
            for each in inputs
        ]
        self.operations.append([name, numbers, *constants])
        return Recorded(self, len(self.operations) - 1)

    def __getattr__(self, name: str) -> Callable[..., "Recorded"]:
        if name not in UNARY:
            raise AttributeError(name)
        return lambda x: self.add(name, x)

    def linear(self, name: str, inputs: int, outputs: int, *, bias: bool = True) -> Callable[..., "Recorded"]:
        return lambda x: self.add("linear", x, constants=(name, inputs, outputs, bias))

    def parameter(self, name: str, *shape: int, init: float = 0.0) -> "Recorded":  # noqa: ARG002
        return self.add("parameter", constants=(name, list(shape)))

    def where(self, condition: "Recorded", x: "Recorded | float", y: "Recorded | float") -> "Recorded":
        return self.add("where", condition, x, y)

    def amax(self, x: "Recorded", axis: int, keepdims: bool) -> "Recorded":  # noqa: ARG002
        return self.add("max", x, constants=(axis,))

    def cumsum(self, x: "Recorded", axis: int) -> "Recorded":
        return self.add("cumsum", x, constants=(axis,))

    def sort(self, x: "Recorded", descending: bool) -> list["Recorded"]:  # noqa: ARG002
        return [self.add("sort_descending", x)]

    def concat(self, arrays: list["Recorded"], axis: int) -> "Recorded":
        return self.add("concat", *arrays, constants=(axis,))

    def softmax(self, x: "Recorded", axis: int) -> "Recorded":  # noqa: ARG002
        return self.add("softmax", x)

    def split_heads(self, x: "Recorded", heads: int) -> "Recorded":
        return self.add("split_heads", x, constants=(heads,))

    def join_heads(self, x: "Recorded") -> "Recorded":
        return self.add("join_heads", x)


class Recorded:
    """An array that is not there yet: the result of an operation."""

    def __init__(self, recorder: Recorder, number: int) -> None:
        self.recorder, self.number = recorder, number

    @property
    def mT(self) -> "Recorded":  # noqa: N802
        return self.recorder.add("transpose", self)

    def __bool__(self) -> bool:
        raise AugenmerkError("it decides by an array, which is not there before a sentence is: use `where`")

    def __iter__(self) -> Iterator["Recorded"]:
        raise AugenmerkError("it goes through an array, whose size is not known before a sentence is")

    def __neg__(self) -> "Recorded":
        return self.recorder.add("multiply", self, -1)

    def __abs__(self) -> "Recorded":
        return self.recorder.add("abs", self)

    def clip(self, min: Any = None, max: Any = None) -> "Recorded":  # noqa: A002
        x = self if min is None else self.recorder.add("maximum", self, min)
        return x if max is None else self.recorder.add("minimum", x, max)

    def sum(self, axis: int, keepdims: bool) -> "Recorded":  # noqa: ARG002
        return self.recorder.add("sum", self, constants=(axis,))

    def __getitem__(self, key: Any) -> "Recorded":
        parts: list[Any] = []
        for each in key if isinstance(key, tuple) else (key,):
            if isinstance(each, slice) and each.step is None:
                parts.append([each.start, each.stop])
            elif each is Ellipsis:
                parts.append("...")
            elif each is None or isinstance(each, int):
                parts.append(each)
            else:
                raise AugenmerkError(f"it selects with {each!r}, which is neither a number nor a plain slice")
        return self.recorder.add("slice", self, constants=(parts,))

    def __getattr__(self, name: str) -> Any:
        raise AugenmerkError(
            f"it uses .{name} of an array, which is not there before a sentence is; functions for arrays are "
            f"in augenmerk.mechanisms.arrays"
        )


def _make_operator(name: str, *, swapped: bool = False) -> Callable[[Recorded, Any], Recorded]:
    def operate(self: Recorded, other: Any) -> Recorded:
        return self.recorder.add(name, *((other, self) if swapped else (self, other)))

    return operate


for _symbol, _name in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}.items():
    setattr(Recorded, f"__{_symbol}__", _make_operator(_name))
    setattr(Recorded, f"__r{_symbol}__", _make_operator(_name, swapped=True))
for _symbol, _name in {"matmul": "matmul", "pow": "power", "gt": "greater", "ge": "greater_equal"}.items():
    setattr(Recorded, f"__{_symbol}__", _make_operator(_name))
for _symbol, _name in {"lt": "greater", "le": "greater_equal"}.items():
    setattr(Recorded, f"__{_symbol}__", _make_operator(_name, swapped=True))


def record(config: ModelConfig) -> dict[str, Any]:
    """Returns the mechanism that the settings name as data, ready for JSON.

    `operations` are all of them. The other keys hold numbers of results: `keys` and `values` are computed
    from states, `weights` and `state` from queries, keys, values and the state before, `start` from keys and
    values, `context` from weights and values. Raises AugenmerkError if it cannot be recorded.
    """
    try:
        return _record(find_mechanism(config.attention), config)
    except Exception as error:
        raise AugenmerkError(
            f"The attention mechanism '{config.attention}' cannot be written into a page "
            f"({error if isinstance(error, AugenmerkError) else f'{type(error).__name__}: {error}'})."
        ) from None


def _record(kind: type[Mechanism], config: ModelConfig) -> dict[str, Any]:
    recorder = Recorder()
    mechanism = kind(config, recorder)

    def read(name: str, *constants: Any) -> Recorded:
        return recorder.add("input", constants=(name, *constants))

    states, queries, weights = read("states"), read("queries"), read("weights")
    memory: Any = Memory(read("keys"), read("values"), None)
    start = mechanism.start(memory)
    if mechanism.has_state:
        before = tuple(read("state", number) for number in range(len(start)))
        found, after = mechanism.step(queries, memory, before)
    else:
        found, after = mechanism.weights(queries, memory), ()
    return {
        "selective": mechanism.selective,
        "has_heads": mechanism.has_heads,
        "heads": mechanism.heads,
        "keys": mechanism.keys(states).number,
        "values": mechanism.values(states).number,
        "start": [each.number for each in start],
        "weights": found.number,
        "state": [each.number for each in after],
        "context": mechanism.mix(weights, memory).number,
        "operations": recorder.operations,
    }
