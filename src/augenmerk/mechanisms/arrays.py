"""The functions that mechanisms are made of, for arrays of numpy, tensors of torch and recorded arrays.

Together with operators (`+ - * / @ >`), slices by constants and `.mT`, they are all that a mechanism needs.
None of them asks for a shape, so a recorded computation fits sentences of every length.
"""

import sys
from typing import Any

import numpy as np

from augenmerk.base.arrays import Array


def library(x: Array) -> Any:
    """Returns what computes with an array: numpy, torch, or the recorder of `record.py`."""
    if isinstance(x, np.ndarray | np.generic):
        return np
    return getattr(x, "recorder", None) or sys.modules["torch"]


def exp(x: Array) -> Array:
    return library(x).exp(x)


def log(x: Array) -> Array:
    return library(x).log(x)


def sqrt(x: Array) -> Array:
    return library(x).sqrt(x)


def tanh(x: Array) -> Array:
    return library(x).tanh(x)


def sigmoid(x: Array) -> Array:
    """Returns 1 / (1 + e^-x), by a function that cannot overflow."""
    return 0.5 * tanh(0.5 * x) + 0.5


def maximum(x: Array, least: Array | float) -> Array:
    """Returns the larger of each number of an array and a constant, or another array."""
    return x.clip(min=least)


def minimum(x: Array, most: Array | float) -> Array:
    """Returns the smaller of each number of an array and a constant, or another array."""
    return x.clip(max=most)


def log_sigmoid(x: Array) -> Array:
    """Returns log(1 / (1 + e^-x)), without an overflow."""
    return minimum(x, 0.0) - log(1 + exp(-abs(x)))


def where(condition: Array, x: Array, y: Array | float) -> Array:
    """Returns x where the condition holds, otherwise y."""
    return library(condition).where(condition, x, y)


def total(x: Array, axis: int = -1) -> Array:
    """Returns sums over an axis, which stays, with size 1."""
    return x.sum(axis=axis, keepdims=True)


def largest(x: Array, axis: int = -1) -> Array:
    """Returns the largest number along an axis, which stays, with size 1."""
    return library(x).amax(x, axis=axis, keepdims=True)


def cumsum(x: Array, axis: int = -1) -> Array:
    """Returns the sums of the numbers up to each one."""
    return library(x).cumsum(x, axis=axis)


def sort_descending(x: Array) -> Array:
    """Returns the numbers along the last axis from the largest to the smallest."""
    of = library(x)
    return -of.sort(-x) if of is np else of.sort(x, descending=True)[0]


def concat(arrays: list[Array], axis: int = -1) -> Array:
    return library(arrays[0]).concat(arrays, axis=axis)


def zeros_like(x: Array) -> Array:
    return library(x).zeros_like(x)


def ones_like(x: Array) -> Array:
    return library(x).ones_like(x)


def precise(x: Array) -> Array:
    """Returns an array in single precision at least: in training, torch may compute scores in half."""
    of = library(x)
    if of is np or not hasattr(of, "promote_types"):
        return x
    return x.to(of.promote_types(x.dtype, of.float32))


def positions(x: Array) -> Array:
    """Returns 0, 1, 2 ... for the last axis of an array."""
    of = library(x)
    if hasattr(of, "positions"):
        return of.positions(x)
    numbers = of.arange(x.shape[-1]) if of is np else of.arange(x.shape[-1], device=x.device)
    return numbers.astype(x.dtype) if of is np else numbers.to(x.dtype)


def shift(x: Array, places: int) -> Array:
    """Moves the numbers along the last axis to the right, or to the left if negative; 0 fills the gap."""
    if places == 0:
        return x
    if places > 0:
        return concat([zeros_like(x[..., :places]), x[..., :-places]])
    return concat([x[..., -places:], zeros_like(x[..., places:])])


def split_heads(x: Array, heads: int) -> Array:
    """Shares the last axis among the heads: (B, T, K) to (B, N, T, K / N)."""
    of = library(x)
    if hasattr(of, "split_heads"):
        return of.split_heads(x, heads)
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def join_heads(x: Array) -> Array:
    """Puts what the heads have side by side: (B, N, T, K / N) to (B, T, K)."""
    of = library(x)
    if hasattr(of, "join_heads"):
        return of.join_heads(x)
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def real_words(memory: Any) -> Array:
    """Returns 1 for the real words of a `Memory` and 0 for padding, (B, 1, S)."""
    return hide_padding(ones_like(memory.values[..., 0])[:, None], memory.mask, 0.0)


def softmax(x: Array) -> Array:
    """Returns the softmax over the last axis."""
    if library(x) is not np:
        return library(x).softmax(x, -1)
    y = np.exp(x - x.max(axis=-1, keepdims=True))
    y /= y.sum(axis=-1, keepdims=True)
    return y


def masked_softmax(scores: Array, mask: Array | None) -> Array:
    """Returns the softmax of scores (B, [N,] T, S) over real words. Every sentence has one: its end."""
    return softmax(hide_padding(scores, mask))


def hide_padding(scores: Array, mask: Array | None, value: float = -np.inf) -> Array:
    """Returns the scores (B, [N,] T, S) with a value in place of those of padding.

    The mask is (B, S), or (1, T, S) where it differs from query to query; None without padding.
    """
    if mask is None or (library(mask) is np and mask.all()):
        return scores
    mask = mask[:, None] if mask.ndim == 2 else mask
    return where(mask[:, None] if scores.ndim == 4 else mask, scores, value)
