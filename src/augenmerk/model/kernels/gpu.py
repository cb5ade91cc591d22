"""Parts of a training step on a GPU in half precision; a GRU and the loss are kernels in Triton.

cuDNN launches two kernels for each step and direction of a GRU, which take most of a training step of a small
model. Here each program of one kernel keeps its share of the recurrent weights and of the states for all
steps; after each step, the programs that share sentences wait for each other.

B sentences, S positions, D directions (1 or 2), E inputs, H states. Gates are in torch's order r, z, n:

    r = sigmoid(x_r + h W_hr),  z = sigmoid(x_z + h W_hz),  n = tanh(x_n + r * (h W_hn + b_hn))
    h' = (1 - z) n + z h

The second direction reads each sentence backwards by its own length, and then its padding.

Torch's own loss reads and writes the logits, which are the largest tensor of training, eight times, most of
them in fp32. Here it is one kernel for each direction.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 2048
"""How many logits a program holds at a time."""


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


class GRU(torch.autograd.Function):
    """Computes the states (B, S, D * H) for x (B, S, E) and h0 (B, D, H), all in one dtype of half precision.

    The weights and biases are those of torch, in fp32, the directions one after another: (D, 3H, E),
    (D, 3H, H), (D, 3H), (D, 3H). The lengths (B) are needed for two directions only.
    """

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


class CrossEntropy(torch.autograd.Function):
    """Computes the sum of the losses of all rows, in fp32."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, smoothing: float
    ) -> Tensor:
        losses, normalisers = (torch.empty(len(logits), device=logits.device) for _ in range(2))
        ctx.constants = (vocabulary, ignore, smoothing, logits.shape[1], BLOCK)
        _losses[(len(logits),)](logits, targets, losses, normalisers, *ctx.constants)
        ctx.save_for_backward(logits, targets, normalisers)
        return losses.sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        logits, targets, normalisers = ctx.saved_tensors
        d_logits = torch.empty_like(logits)
        blocks = triton.cdiv(logits.shape[1], BLOCK)
        _gradients[(len(logits), blocks)](logits, targets, normalisers, grad, d_logits, *ctx.constants)
        return d_logits, None, None, None, None


@triton.jit(do_not_specialize=["vocabulary", "ignore", "smoothing"])
def _losses(
    logits,
    targets,
    losses,
    normalisers,  # log sum exp of the rows
    vocabulary,
    ignore,
    smoothing,
    width,  # of a row of logits
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    exponentials = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits + row * width + columns, mask=columns < vocabulary, other=float("-inf")).to(
            tl.float32
        )
        larger = tl.maximum(largest, x)
        known = larger > float("-inf")
        exponentials = tl.where(known, exponentials * tl.exp(largest - larger) + tl.exp(x - larger), 0.0)
        largest = larger
        total += tl.where(columns < vocabulary, x, 0.0)
    top = tl.max(largest, 0)
    normaliser = top + tl.log(tl.sum(exponentials * tl.exp(largest - top), 0))
    target = tl.load(targets + row)
    at_target = tl.load(logits + row * width + target).to(tl.float32)
    loss = normaliser - (1 - smoothing) * at_target - smoothing / vocabulary * tl.sum(total, 0)
    tl.store(losses + row, tl.where(target == ignore, 0.0, loss))
    tl.store(normalisers + row, normaliser)


@triton.jit(do_not_specialize=["vocabulary", "ignore", "smoothing"])
def _gradients(
    logits,
    targets,
    normalisers,
    grad,  # of the sum of the losses
    d_logits,
    vocabulary,
    ignore,
    smoothing,
    width,  # of a row of logits
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    target = tl.load(targets + row)
    x = tl.load(logits + row * width + columns, mask=columns < vocabulary, other=float("-inf")).to(tl.float32)
    wanted = smoothing / vocabulary + tl.where(columns == target, 1 - smoothing, 0.0)
    d_x = (tl.exp(x - tl.load(normalisers + row)) - wanted) * tl.load(grad)
    d_x = tl.where((columns < vocabulary) & (target != ignore), d_x, 0.0)
    tl.store(d_logits + row * width + columns, d_x.to(d_logits.dtype.element_ty), mask=columns < width)


class Embed(torch.autograd.Function):
    """Takes the rows of weight (V, E) for ids (B, S), in a dtype that is also that of the gradients.

    The gradient is a matrix product, which on a GPU is faster than sorting the words.
    """

    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.words = len(weight)
        return weight[ids].to(dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        [ids] = ctx.saved_tensors
        one_hot = grad.new_zeros(ids.numel(), ctx.words).scatter_(1, ids.flatten()[:, None], 1)
        return None, torch.mm(one_hot.t(), grad.flatten(0, 1), out_dtype=torch.float32), None


class Linear(torch.autograd.Function):
    """Computes x (..., N) times weight (M, N), plus bias (M), in the dtype of x; these two are in fp32.

    The weights get their gradients in fp32, straight from the matrix product.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        weight = weight.to(x.dtype)
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias.to(x.dtype))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        x, weight = ctx.saved_tensors
        rows = grad.flatten(0, -2)
        d_weight = torch.mm(rows.t(), x.flatten(0, -2), out_dtype=torch.float32)
        return grad @ weight, d_weight, rows.sum(0, dtype=torch.float32)
