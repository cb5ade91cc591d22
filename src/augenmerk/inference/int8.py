"""Linear layers whose products are computed in whole numbers of eight bits, by ONNX Runtime.

Each row w of a matrix is divided by its own step and rounded to -63 .. 63, each vector x to -127 .. 127.
The product of whole numbers is exact, and is multiplied by both steps. The step of a vector follows from the
vector alone, so a result does not depend on the batch. With 63 instead of 127, a sum of two products fits
into the 16 bits that processors without instructions for whole numbers add up in.

Rounding takes time for each number of x, and the product saves time for each of its results. So only layers
with more outputs than inputs are rounded: the output layer, the gates of a GRU, the first half of a
feed-forward part.

ONNX Runtime also computes the log-softmax, in fp32. It takes a third of the time of numpy because it finishes
one row before it begins the next, where numpy goes through all rows five times.
"""

import os
from collections.abc import Mapping
from copy import copy
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.model import Floats, Linear, StackedLinear, log_softmax

WEIGHT_STEPS, INPUT_STEPS = 63, 127
MIN_OUTPUTS = 256
"""Smaller layers stay as they are: calling ONNX Runtime would take longer than the product."""
BLOCK_ROWS = 128
"""Vectors that are computed at a time: intermediate results of ONNX Runtime then stay in the caches."""
TINY = np.float32(1e-20)
"""The smallest step, which replaces a step of 0 where all numbers are 0."""

_Part = TypeVar("_Part")


def is_installed() -> bool:
    """Returns whether ONNX Runtime, and what describes a layer to it, are there."""
    return find_spec("onnxruntime") is not None and find_spec("onnx") is not None


def check_installed() -> None:
    """Raises AugenmerkError unless int8 can be computed here."""
    if not is_installed():
        raise AugenmerkError(
            "The precision int8 needs ONNX Runtime, which is not installed: pip install onnx onnxruntime."
        )


def round_weights(part: _Part) -> _Part:
    """Returns a model, or a part of one, with its wide layers in int8; the rest is shared."""
    rounded: Any = part
    if isinstance(part, Linear | StackedLinear):
        *_, inputs, outputs = part.weight.shape
        if outputs > inputs and outputs >= MIN_OUTPUTS:
            rounded = Int8Linear(part) if isinstance(part, Linear) else Int8Stack(part)
    elif part is log_softmax:
        rounded = LogSoftmax()
    elif isinstance(part, list):
        rounded = [round_weights(each) for each in part]
    elif isinstance(part, tuple) and hasattr(part, "_fields"):
        rounded = type(part)(*map(round_weights, part))
    elif type(part).__module__.startswith(__package__):
        rounded = copy(part)
        for name, value in vars(part).items():
            setattr(rounded, name, round_weights(value))
    return rounded  # type: ignore[no-any-return]


class Int8Linear:
    """W x + b for every vector x in an array (..., inputs), approximately."""

    def __init__(self, linear: Linear, *, bounded: bool = False) -> None:
        """If x is `bounded`, no number of it is beyond -1 and 1, and one step does for all vectors."""
        self.inputs, self.outputs = linear.weight.shape
        steps = np.maximum(np.abs(linear.weight).max(axis=0) / WEIGHT_STEPS, TINY)  # (outputs)
        rounded = np.rint(linear.weight / steps).astype(np.int8)
        self._session = _compile_linear(rounded, steps.astype(np.float32), linear.bias, bounded)

    def __call__(self, x: Floats, /) -> Floats:
        rows = x.reshape(-1, self.inputs)
        y = np.empty((len(rows), self.outputs), np.float32)
        self.compute(rows, y)
        return y.reshape(*x.shape[:-1], self.outputs)

    def compute(self, x: Floats, y: Floats) -> None:
        """Writes the results for x (rows, inputs) into y (rows, outputs)."""
        x = np.ascontiguousarray(x, np.float32)
        for start in range(0, len(x), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            _run(self._session, x[block], y[block])


class Int8Stack:
    """Several such layers of one shape, each for its own vectors, as `StackedLinear`.

    The vectors are states of GRUs that began with 0, so they are bounded.
    """

    def __init__(self, stack: StackedLinear) -> None:
        self.layers = [Int8Linear(Linear(weight, None), bounded=True) for weight in stack.weight]

    def __call__(self, x: Floats, /) -> Floats:
        y = np.empty((*x.shape[:-1], self.layers[0].outputs), np.float32)
        for layer, vectors, results in zip(self.layers, x, y, strict=True):
            layer.compute(vectors, results)
        return y


class LogSoftmax:
    """The logarithm of the softmax over the last axis, written over its argument."""

    def __init__(self) -> None:
        self._session = _compile("y = LogSoftmax <axis = 1> (x)", {}, "columns", "columns")  # of any number

    def __call__(self, x: Floats, /) -> Floats:
        rows = np.ascontiguousarray(x.reshape(-1, x.shape[-1]), np.float32)
        _run(self._session, rows, rows)  # each row is read before it is written
        return rows.reshape(x.shape)


def _run(session: Any, x: Floats, y: Floats) -> None:
    """Writes what a session computes from x into y, so that nothing is copied."""
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    session.run_with_iobinding(binding)


ONE_STEP = """
    rounded = QuantizeLinear(x, step, zero)
    product = com.microsoft.MatMulIntegerToFloat(rounded, weights, step, weight_steps, zero, weight_zero)"""
"""The product of weights and vectors that share a step, in ONNX."""
OWN_STEPS = """
    sizes = Abs(x)
    largest = ReduceMax <axes = [1], keepdims = 1> (sizes)
    largest_step = Div(largest, input_steps)
    step = Max(largest_step, tiny)
    in_steps = Div(x, step)
    rounded = QuantizeLinear(in_steps, one, zero)
    in_steps_of_x = com.microsoft.MatMulIntegerToFloat(rounded, weights, one, weight_steps, zero, weight_zero)
    product = Mul(in_steps_of_x, step)"""
"""The product of weights and vectors, each of which has its own step."""


def _compile_linear(weights: NDArray[np.int8], steps: Floats, bias: Floats | None, bounded: bool) -> Any:
    """Returns a session that computes a linear layer."""
    constants = {
        "weights": weights,
        "weight_steps": steps,
        "zero": np.uint8(128),
        "weight_zero": np.int8(0),
    }
    if bounded:
        constants["step"] = np.float32(1 / INPUT_STEPS)
    else:
        constants |= {"tiny": TINY, "input_steps": np.float32(INPUT_STEPS), "one": np.float32(1)}
    nodes = ONE_STEP if bounded else OWN_STEPS
    if bias is None:
        nodes = nodes.replace("product =", "y =")
    else:
        constants["bias"] = bias.astype(np.float32, copy=False)
        nodes += "\n    y = Add(product, bias)"
    return _compile(nodes, constants, *weights.shape)


def _compile(nodes: str, constants: Mapping[str, Any], inputs: int | str, outputs: int | str) -> Any:
    """Returns a session of ONNX Runtime that computes y (rows, outputs) from x (rows, inputs)."""
    from onnx import numpy_helper, parser

    # Versions of the format that every ONNX Runtime of the last years reads.
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>'
        f"layer (float[rows, {inputs}] x) => (float[rows, {outputs}] y) {{ {nodes} }}"
    )
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    onnxruntime, options = _load_onnxruntime()
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


@cache
def _load_onnxruntime() -> tuple[Any, Any]:
    """Returns the module, imported without its telemetry, and the options of all sessions.

    It would otherwise write an identifier of this device and a queue of events for its makers into the
    user's cache. It reads the variable when it is imported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # sentences are shared among the cores, not products
    options.inter_op_num_threads = 1
    return onnxruntime, options
