"""What the architectures in numpy have in common: how they are built, their weights and layers."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Array
from augenmerk.base.config import ModelConfig, padded
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.decoder import StepModel
from augenmerk.text.batching import Batch

FEW_ROWS, MANY_COLUMNS = 5, 1024
"""Up to so many vectors are multiplied with a matrix of so many columns one by one, as in a beam for one
sentence: with so few rows, the library would spend most of its time on rearranging the matrix."""
WIDE = 8
"""A layer with so many times more outputs than inputs adds its bias within the product."""
BLOCK_BYTES = 256 << 10
"""What fits into the cache of a core together with a result of the same size."""
SAFE_SUM = 1e25
"""A sum of exponentials between this and its inverse has lost nothing in single precision."""
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Layer(Protocol):
    """A linear layer, in any precision."""

    def __call__(self, x: Floats, /) -> Floats:
        """Returns W x + b for every vector x in an array (..., inputs)."""


class Weights:
    """Named arrays, handed out with the shape that is asked for, in single precision or better."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], source: str) -> None:
        self._arrays = arrays
        self._source = source
        self._prefix = ""
        self._taken: set[str] = set()
        self._converted: dict[int, Floats] = {}  # tied weights are one array, and stay one

    def inside(self, prefix: str) -> "Weights":
        """Returns the weights whose names begin with the prefix, to be taken by the rest of their names."""
        part = Weights(self._arrays, self._source)
        part._prefix = f"{self._prefix}{prefix}."
        part._taken, part._converted = self._taken, self._converted
        return part

    def take(self, name: str, *shape: int) -> Floats:
        """Returns an array; raises AugenmerkError if there is none of this shape."""
        name = self._prefix + name
        array = self._arrays.get(name)
        if array is None or array.shape != shape or array.dtype not in (np.float16, np.float32, np.float64):
            raise make_misfit(self._source, name, array, np.empty(shape, np.float32))
        self._taken.add(name)
        if id(array) not in self._converted:
            self._converted[id(array)] = array.astype(np.promote_types(array.dtype, np.float32), copy=False)
        return self._converted[id(array)]

    def linear(self, name: str, inputs: int, outputs: int, *, bias: bool = True) -> "Linear":
        """Returns a linear layer."""
        part = self.inside(name)
        return Linear.of(part.take("weight", outputs, inputs), part.take("bias", outputs) if bias else None)

    def parameter(self, name: str, *shape: int, init: float = 0.0) -> Floats:  # noqa: ARG002
        """Returns an array that a mechanism declares."""
        return self.take(name, *shape)

    def output_layer(self, name: str, inputs: int, vocabulary: int) -> Layer:
        """Returns the linear layer to a vocabulary, without the entries that only pad it."""
        part = self.inside(name)
        W, b = part.take("weight", padded(vocabulary), inputs), part.take("bias", padded(vocabulary))
        return Linear.of(W[:vocabulary], b[:vocabulary])

    def layer_norm(self, name: str, size: int) -> "LayerNorm":
        part = self.inside(name)
        return LayerNorm(part.take("weight", size), part.take("bias", size))

    def check_all_taken(self) -> None:
        """Raises AugenmerkError if there are weights that the model does not have."""
        for name in sorted(self._arrays.keys() - self._taken):
            raise make_misfit(self._source, name, self._arrays[name], None)


def make_misfit(source: str, name: str, found: Array | None, needed: Array | None) -> AugenmerkError:
    """Returns the error that an array in a file, `source`, is not as the model needs it; None is no array."""
    is_there, should_be = (
        f"{' x '.join(map(str, each.shape)) or 'one number'} ({str(each.dtype).removeprefix('torch.')})"
        if each is not None
        else "absent"
        for each in (found, needed)
    )
    return AugenmerkError(
        f"{source} is not of the model in config.toml: {name} is {is_there} and should be {should_be}."
    )


class Linear(NamedTuple):
    """W x + b for every vector x in an array (..., inputs)."""

    weight: Floats  # W^T, (inputs, outputs): products with it are quicker than with W
    bias: Floats | None
    both: Floats | None = None  # the two one below the other, where there are many outputs

    @classmethod
    def of(cls, W: Floats, b: Floats | None) -> "Linear":
        """Returns the layer with a matrix W (outputs, inputs)."""
        if b is None or len(W) < WIDE * W.shape[1]:
            return cls(np.ascontiguousarray(W.T), b)
        both = np.ascontiguousarray(np.concat([W.T, b[None]]))
        return cls(both[:-1], both[-1], both)

    def __call__(self, x: Floats) -> Floats:
        # As one matrix: numpy would multiply (B, T, inputs) sentence by sentence.
        rows = x.reshape(-1, x.shape[-1])
        y: Floats
        if 1 < len(rows) <= FEW_ROWS and self.weight.shape[1] >= MANY_COLUMNS:
            y = np.empty((len(rows), self.weight.shape[1]), rows.dtype)
            for row, products in zip(rows, y, strict=True):
                np.dot(row, self.weight, out=products)
        elif self.both is not None and len(rows) > FEW_ROWS:
            # Adding b to many outputs takes a tenth of the time of the product; a 1 below x does it too.
            with_one = np.empty((len(rows), len(self.both)), rows.dtype)
            with_one[:, :-1] = rows
            with_one[:, -1] = 1
            return (with_one @ self.both).reshape(*x.shape[:-1], self.both.shape[1])
        else:
            y = rows @ self.weight
        if self.bias is not None:
            y += self.bias
        return y.reshape(*x.shape[:-1], self.weight.shape[1])


class StackedLinear(NamedTuple):
    """Several linear layers of one shape, each for its own vectors: (N, B, inputs) to (N, B, outputs)."""

    weight: Floats  # (N, inputs, outputs)

    def __call__(self, x: Floats, /) -> Floats:
        y: Floats = x @ self.weight
        return y


class LayerNorm(NamedTuple):
    """Every vector shifted and scaled to mean 0 and variance 1, then scaled and shifted as was learnt."""

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        centred: Floats = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        centred *= self.weight / np.sqrt(variance + 1e-5)
        centred += self.bias
        return centred


def log_softmax(x: Floats) -> Floats:
    """Returns the logarithm of the softmax over the last axis, written over its argument.

    A few rows at a time, so that they stay in the cache of a core from the first operation to the last.
    """
    rows = x.reshape(-1, x.shape[-1])
    ones = _ones(x.shape[-1], x.dtype)
    count = max(1, BLOCK_BYTES // (x.itemsize * max(1, x.shape[-1])))
    exponentials = np.empty_like(rows[:count])
    with np.errstate(over="ignore", invalid="ignore"):  # sums that are no numbers are computed again
        for start in range(0, len(rows), count):
            block = rows[start : start + count]
            # A product with ones is the quickest way to sums of long rows.
            sums = np.exp(block, out=exponentials[: len(block)]) @ ones
            far = ~((sums > 1 / SAFE_SUM) & (sums < SAFE_SUM))
            if far.any():  # begin again, nearer to 0; row by row, so no row depends on another
                block[far] -= block[far].max(axis=1, keepdims=True)
                sums = np.exp(block) @ ones
            block -= np.log(sums)[:, None]
    return rows.reshape(x.shape)


@lru_cache(maxsize=8)
def _ones(size: int, dtype: np.dtype[Any]) -> Floats:
    return np.ones(size, dtype)


class InferenceModel(StepModel):
    """A translator whose weights never change."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.log_softmax = log_softmax

    @abstractmethod
    def target_logits(self, batch: Batch) -> Floats:
        """Returns the logits of the words after each real target token of a batch, (tokens, V)."""

    def target_log_probs(self, batch: Batch) -> Floats:
        """Returns the log-probability of each real target token of a batch."""
        log_probs = self.log_softmax(self.target_logits(batch))
        chosen: Floats = log_probs[np.arange(len(log_probs)), batch.tgt_out[batch.tgt_mask]]
        return chosen


def build_inference_model(
    config: ModelConfig,
    arrays: Mapping[str, NDArray[Any]],
    source_vocabulary: int,
    target_vocabulary: int,
    source: str,
) -> InferenceModel:
    """Builds a model from the weights in a file, `source`.

    The architecture and the mechanism must exist in numpy (`ModelConfig.runs_in`).
    Raises AugenmerkError, which names the file, if the weights are not of this model.
    """
    weights = Weights(arrays, source)
    kind = resolve_name(config.entry.numpy_class or "")
    model: InferenceModel = kind(config, weights, source_vocabulary, target_vocabulary)
    weights.check_all_taken()
    return model
