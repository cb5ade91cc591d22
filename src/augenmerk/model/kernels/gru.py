"""A GRU whose steps all run in one kernel, in Triton, for one direction or two at once.

cuDNN launches two kernels for each step and direction, which take most of a training step of a small model.
Here each program of one kernel keeps its share of the recurrent weights and of the states for all steps;
after each step, the programs that share sentences wait for each other.

B sentences, S positions, D directions (1 or 2), E inputs, H states. Gates are in torch's order r, z, n:

    r = sigmoid(x_r + h W_hr),  z = sigmoid(x_z + h W_hz),  n = tanh(x_n + r * (h W_hn + b_hn))
    h' = (1 - z) n + z h

The second direction reads each sentence backwards by its own length, and then its padding.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor


class Tiles(NamedTuple):
    """What one program computes at each step, sentences x states, and with how many warps."""

    sentences: int
    states: int
    warps: int


def choose_tiles(B: int, H: int, directions: int, device: torch.device) -> Tiles | None:
    """Returns the tiles with which all programs run at the same time, or None if there are none.

    Programs wait for each other, so each has its own multiprocessor, whose shared memory holds its
    weights and the states of its sentences. The first tiles that fit are the fastest (measured on an H200).
    """
    if H not in (64, 128, 256, 512):
        return None
    found: Any = torch.cuda.get_device_properties(device)
    for tiles in (Tiles(16, 32, 4), Tiles(16, 64, 8), Tiles(32, 64, 8)):
        programs = directions * triton.cdiv(B, tiles.sentences) * (H // tiles.states)
        needed = 2 * H * (3 * tiles.states + tiles.sentences)  # two bytes for each number
        if programs <= found.multi_processor_count and needed <= found.shared_memory_per_block_optin:
            return tiles
    return None


def gru(x: Tensor, h0: Tensor, lengths: Tensor | None, weights: Sequence[Tensor], tiles: Tiles) -> Tensor:
    """Returns the states (B, S, D * H) for x (B, S, E) and h0 (B, D, H), all in one dtype of half precision.

    The weights and biases are those of torch, in fp32, the directions one after another: (D, 3H, E),
    (D, 3H, H), (D, 3H), (D, 3H). The lengths (B) are needed for two directions only.
    """
    out: Tensor = _GRU.apply(x, h0, lengths, *weights, tiles)  # type: ignore[no-untyped-call]
    return out


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        h0: Tensor,
        lengths: Tensor | None,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor,
        b_hh: Tensor,
        tiles: Tiles,
    ) -> Tensor:
        B, S, E = x.shape
        D, _, H = w_hh.shape
        bias = b_ih.clone()
        bias[:, : 2 * H] += b_hh[:, : 2 * H]
        w_x, w_h = w_ih.flatten(0, 1).to(x.dtype), w_hh.to(x.dtype)
        projected = torch.addmm(bias.flatten().to(x.dtype), x.reshape(B * S, E), w_x.t())  # (B * S, D * 3H)
        h0 = h0.contiguous()
        out, before = x.new_empty(B, S, D * H), x.new_empty(B, S, D, H)
        gates = x.new_empty(B, S, D, 4, H)
        _launch(_gru_forward, (projected, w_h, b_hh, h0, lengths, out, before, gates), (B, S, D, H), tiles)
        ctx.save_for_backward(x, lengths, w_x, w_h, before, gates)
        ctx.tiles = tiles
        return out

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        x, lengths, w_x, w_h, before, gates = ctx.saved_tensors
        B, S, E = x.shape
        D, _, H = w_h.shape
        d_x, d_h = x.new_empty(B * S, D * 3 * H), x.new_empty(B * S, D, 3 * H)
        d_h0 = x.new_empty(B, D, H)
        d_b = x.new_empty(triton.cdiv(B, ctx.tiles.sentences), D, 4 * H, dtype=torch.float32)
        arrays = (d_out.contiguous(), w_h, before, gates, lengths, d_x, d_h, d_h0, d_b)
        _launch(_gru_backward, arrays, (B, S, D, H), ctx.tiles)
        d_w_ih = torch.mm(d_x.t(), x.reshape(B * S, E), out_dtype=torch.float32).view(D, 3 * H, E)
        d_w_hh = torch.bmm(
            d_h.permute(1, 2, 0), before.view(B * S, D, H).transpose(0, 1), out_dtype=torch.float32
        )
        r_z, n_x, n_h = d_b.sum(0).split([2 * H, H, H], dim=1)
        d_b_ih, d_b_hh = torch.cat([r_z, n_x], dim=1), torch.cat([r_z, n_h], dim=1)
        return (d_x @ w_x).view(B, S, E), d_h0, None, d_w_ih, d_w_hh, d_b_ih, d_b_hh, None


def _launch(kernel: Any, arrays: tuple[Any, ...], sizes: tuple[int, int, int, int], tiles: Tiles) -> None:
    B, S, D, H = sizes
    grid = (H // tiles.states, triton.cdiv(B, tiles.sentences), D)
    arrived = arrays[0].new_zeros(grid[1:], dtype=torch.int32)
    kernel[grid](
        *(*arrays, arrived, B, S),
        D=D,
        H=H,
        ROWS=tiles.sentences,
        STATES=tiles.states,
        num_warps=tiles.warps,
        num_stages=1,  # more would load the states of the next step before they are there
        launch_cooperative_grid=True,  # all programs run at the same time, or the launch fails
    )


@triton.jit
def _arrive(arrived):
    """Tells the other programs that what this one has stored can be read."""
    tl.debug_barrier()  # all threads have stored
    tl.atomic_add(arrived, 1, sem="release")


@triton.jit
def _wait(arrived, expected):
    """Waits until so many programs have arrived."""
    while tl.atomic_add(arrived, 0, sem="acquire") < expected:
        pass
    tl.debug_barrier()


@triton.jit
def _position(step, direction, length):
    """Returns which position a direction reads at a step."""
    return tl.where((direction == 1) & (step < length), length - 1 - step, step)


@triton.jit(do_not_specialize=["B", "S"])
def _gru_forward(
    projected,  # (B, S, D, 3, H) W_ih x + b_ih, and b_hh for r and z
    w_h,  # (D, 3, H, H)
    b_hh,  # (D, 3, H)
    h0,  # (B, D, H)
    lengths,  # (B)
    out,  # (B, S, D, H) the states
    before,  # (B, S, D, H) the states one step before
    gates,  # (B, S, D, 4, H) r, z, n and h W_hn + b_hn
    arrived,  # (sentence tiles, D) how many programs have finished a step, summed over the steps
    B,
    S,
    D: tl.constexpr,
    H: tl.constexpr,
    ROWS: tl.constexpr,
    STATES: tl.constexpr,
):
    direction = tl.program_id(2)
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    states = tl.program_id(0) * STATES + tl.arange(0, STATES)
    everything = tl.arange(0, H)
    arrived += tl.program_id(1) * D + direction
    inside = rows < B
    mask = inside[:, None]
    length = rows * 0
    if D == 2:
        length = tl.load(lengths + rows, mask=inside, other=0).to(tl.int32)
    weights = w_h + direction * 3 * H * H + states[None, :] * H + everything[:, None]
    w_r = tl.load(weights)  # (H, STATES)
    w_z = tl.load(weights + H * H)
    w_n = tl.load(weights + 2 * H * H)
    b_n = tl.load(b_hh + direction * 3 * H + 2 * H + states)[None, :].to(tl.float32)
    last = h0 + (rows * D + direction) * H  # where the states before this step are
    h = tl.load(last[:, None] + states[None, :], mask=mask, other=0.0).to(tl.float32)
    for step in range(S):
        index = (rows * S + _position(step, direction, length)) * D + direction
        x = projected + index[:, None] * 3 * H + states[None, :]
        x_r = tl.load(x, mask=mask, other=0.0).to(tl.float32)
        x_z = tl.load(x + H, mask=mask, other=0.0).to(tl.float32)
        x_n = tl.load(x + 2 * H, mask=mask, other=0.0).to(tl.float32)
        h_all = tl.load(last[:, None] + everything[None, :], mask=mask, other=0.0, cache_modifier=".cg")
        r = tl.sigmoid(x_r + tl.dot(h_all, w_r))
        z = tl.sigmoid(x_z + tl.dot(h_all, w_z))
        h_n = b_n + tl.dot(h_all, w_n)
        n = 2 * tl.sigmoid(2 * (x_n + r * h_n)) - 1  # tanh
        here = index[:, None] * H + states[None, :]
        old, h = h, (1 - z) * n + z * h
        tl.store(out + here, h.to(out.dtype.element_ty), mask=mask)
        _arrive(arrived)
        tl.store(before + here, old.to(before.dtype.element_ty), mask=mask)
        saved = gates + index[:, None] * 4 * H + states[None, :]
        tl.store(saved, r.to(gates.dtype.element_ty), mask=mask)
        tl.store(saved + H, z.to(gates.dtype.element_ty), mask=mask)
        tl.store(saved + 2 * H, n.to(gates.dtype.element_ty), mask=mask)
        tl.store(saved + 3 * H, h_n.to(gates.dtype.element_ty), mask=mask)
        last = out + index * H
        _wait(arrived, (step + 1) * (H // STATES))


@triton.jit
def _load_saved(d_out, before, gates, index, states, mask, H: tl.constexpr):
    """Returns what a backward step needs of the forward one, and the gradient of its states."""
    here = index[:, None] * H + states[None, :]
    d = tl.load(d_out + here, mask=mask, other=0.0).to(tl.float32)
    h = tl.load(before + here, mask=mask, other=0.0).to(tl.float32)
    saved = gates + index[:, None] * 4 * H + states[None, :]
    r = tl.load(saved, mask=mask, other=0.0).to(tl.float32)
    z = tl.load(saved + H, mask=mask, other=0.0).to(tl.float32)
    n = tl.load(saved + 2 * H, mask=mask, other=0.0).to(tl.float32)
    h_n = tl.load(saved + 3 * H, mask=mask, other=0.0).to(tl.float32)
    return d, h, r, z, n, h_n


@triton.jit(do_not_specialize=["B", "S"])
def _gru_backward(
    d_out,  # (B, S, D, H)
    w_h,  # (D, 3, H, H)
    before,  # (B, S, D, H)
    gates,  # (B, S, D, 4, H)
    lengths,  # (B)
    d_x,  # (B, S, D, 3, H) gradients of what the gates get from x
    d_h,  # (B, S, D, 3, H) ... and of what they get from h
    d_h0,  # (B, D, H)
    d_b,  # (sentence tiles, D, 4, H) gradients of the biases: r, z, n of x, n of h
    arrived,  # (sentence tiles, D)
    B,
    S,
    D: tl.constexpr,
    H: tl.constexpr,
    ROWS: tl.constexpr,
    STATES: tl.constexpr,
):
    direction = tl.program_id(2)
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    states = tl.program_id(0) * STATES + tl.arange(0, STATES)
    everything = tl.arange(0, H)
    arrived += tl.program_id(1) * D + direction
    inside = rows < B
    mask = inside[:, None]
    length = rows * 0
    if D == 2:
        length = tl.load(lengths + rows, mask=inside, other=0).to(tl.int32)
    weights = w_h + direction * 3 * H * H + everything[:, None] * H + states[None, :]
    w_r = tl.load(weights)  # (H, STATES)
    w_z = tl.load(weights + H * H)
    w_n = tl.load(weights + 2 * H * H)
    grad = tl.zeros((ROWS, STATES), tl.float32)  # of the states after this step, as later steps see them
    sum_r, sum_z, sum_n, sum_h = grad, grad, grad, grad
    index = (rows * S + _position(S - 1, direction, length)) * D + direction
    d, h, r, z, n, h_n = _load_saved(d_out, before, gates, index, states, mask, H)
    for back in range(S):
        grad += d
        d_n = grad * (1 - z) * (1 - n * n)
        d_z = grad * (h - n) * z * (1 - z)
        d_r = d_n * h_n * r * (1 - r)
        d_hn = d_n * r
        grad *= z
        stored = index[:, None] * 3 * H + states[None, :]
        tl.store(d_h + stored, d_r.to(d_h.dtype.element_ty), mask=mask)
        tl.store(d_h + stored + H, d_z.to(d_h.dtype.element_ty), mask=mask)
        tl.store(d_h + stored + 2 * H, d_hn.to(d_h.dtype.element_ty), mask=mask)
        _arrive(arrived)
        tl.store(d_x + stored, d_r.to(d_x.dtype.element_ty), mask=mask)
        tl.store(d_x + stored + H, d_z.to(d_x.dtype.element_ty), mask=mask)
        tl.store(d_x + stored + 2 * H, d_n.to(d_x.dtype.element_ty), mask=mask)
        sum_r += d_r
        sum_z += d_z
        sum_n += d_n
        sum_h += d_hn
        all_gates = d_h + index[:, None] * 3 * H + everything[None, :]
        index = (rows * S + _position(tl.maximum(S - 2 - back, 0), direction, length)) * D + direction
        d, h, r, z, n, h_n = _load_saved(d_out, before, gates, index, states, mask, H)  # of the next step
        _wait(arrived, (back + 1) * (H // STATES))
        grad = tl.dot(tl.load(all_gates, mask=mask, other=0.0, cache_modifier=".cg"), w_r, grad)
        grad = tl.dot(tl.load(all_gates + H, mask=mask, other=0.0, cache_modifier=".cg"), w_z, grad)
        grad = tl.dot(tl.load(all_gates + 2 * H, mask=mask, other=0.0, cache_modifier=".cg"), w_n, grad)
    sums = d_b + (tl.program_id(1) * D + direction) * 4 * H + states
    tl.store(sums, tl.sum(sum_r, 0))
    tl.store(sums + H, tl.sum(sum_z, 0))
    tl.store(sums + 2 * H, tl.sum(sum_n, 0))
    tl.store(sums + 3 * H, tl.sum(sum_h, 0))
    index = rows * D + direction
    tl.store(d_h0 + index[:, None] * H + states[None, :], grad.to(d_h0.dtype.element_ty), mask=mask)
