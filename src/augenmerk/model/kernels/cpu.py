"""Parts of a training step on a CPU: a GRU, for one direction or two at once, and the loss.

torch computes a GRU on a CPU step by step, and so do its gradients: each of a dozen operations is recorded,
and the gradient of each weight is added up once for every step. Here a step forward is six operations and a
step backward four, both directions together, and the gradients of the weights are one product each. And only
words are read, no padding: see `Packing`.

B sentences, S positions, D directions (1 or 2), E inputs, H states, N words of all sentences. Gates are in
torch's order r, z, n:

    r = sigmoid(x_r + h W_hr),  z = sigmoid(x_z + h W_hz),  n = tanh(x_n + r * m),  m = h W_hn + b_hn
    h' = n + z * (h - n)

The gradient of everything before an activation is that of h' times what the forward pass has found:

    of x_n: (1 - z)(1 - n^2),  of x_z: (h - n) z (1 - z),  of x_r: (that of x_n) m r (1 - r),
    of m: (that of x_n) r

The second direction reads each sentence backwards by its own length.

With label smoothing e, the loss of a row with the target y is (1 - e) of -log p_y and e of the mean
of -log p over the vocabulary. Its gradient is p, less e / V everywhere, less 1 - e at y. So what the loss is
made of is nearly the gradient, which is computed with it, a few rows at a time, and written over the logits.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

ROUND_SENTENCES, ROUND_WORDS = 16, 64
"""What is read at a step, and in all, is rounded up to multiples of these: oneDNN compiles a product in bf16
for each number of rows, and keeps the code."""
BLOCK_BYTES = 4 << 20
"""The bytes of logits that are computed at a time, and stay in the caches of a CPU meanwhile."""


@dataclass(frozen=True)
class Packing:
    """The words of a batch in the order in which they are read: all first words, all second words, and so on.

    The longest sentences come first, so those that are read at a step are the first of those read before. To
    round numbers up, some padding is also read. The last of the N rows is never read.
    """

    sentences: Tensor  # (B) the longest first
    starts: list[int]  # (steps + 1) where the words of each step begin, and where those of the last one end
    indices: Tensor  # (D, N) at which of the B * S positions each word is
    rows: Tensor  # (B * S, D) in which row the word at each position is; N - 1 where there is none

    @classmethod
    def of(cls, lengths: Tensor, S: int, directions: int) -> "Packing":
        """Packs sentences with so many words each, at least one and at most S."""
        B = len(lengths)
        lengths, sentences = lengths.sort(descending=True, stable=True)
        count = (lengths[:, None] > torch.arange(int(lengths[0]))).sum(0)  # (steps)
        count = (count + (-count) % ROUND_SENTENCES).clip_(max=B)
        step, sentence = (torch.arange(B) < count[:, None]).nonzero(as_tuple=True)
        words = len(step)
        N = (words // ROUND_WORDS + 1) * ROUND_WORDS
        backwards = lengths[sentence] - 1 - step
        indices = torch.zeros(directions, N, dtype=torch.int64)
        rows = torch.full((B * S, directions), N - 1)
        for direction, position in enumerate(
            [step, torch.where(backwards < 0, step, backwards)][:directions]
        ):
            torch.add(sentences[sentence] * S, position, out=indices[direction, :words])
            rows[indices[direction, :words], direction] = torch.arange(words)
        return cls(sentences, [0, *count.cumsum(0).tolist()], indices, rows)

    def pack(self, x: Tensor) -> Tensor:
        """Returns the words (D, N, size) of x (B * S, D, size), each direction in its own order."""
        D, N = self.indices.shape
        indices = self.indices * D + torch.arange(D)[:, None]
        return x.reshape(-1, x.shape[2]).index_select(0, indices.flatten()).view(D, N, -1)

    def unpack(self, x: Tensor) -> Tensor:
        """Returns (B * S, D, size) of the words x (D, N, size), whose last row is for padding."""
        D, N, size = x.shape
        rows = self.rows + N * torch.arange(D)
        return x.reshape(D * N, size).index_select(0, rows.flatten()).view(-1, D, size)


class GRU(torch.autograd.Function):
    """Computes the states (B, S, D * H) for x (B, S, E) and h0 (B, D, H), both in one dtype.

    The weights and biases are those of torch, in any dtype, the directions one after another: (D, 3H, E),
    (D, 3H, H), (D, 3H), (D, 3H). The states after the end of a sentence mean nothing.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        h0: Tensor,
        packing: Packing,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor,
        b_hh: Tensor,
    ) -> Tensor:
        B, S, E = x.shape
        D, _, H = w_hh.shape
        w_x, w_h, b_n = w_ih.to(x.dtype), w_hh.to(x.dtype), b_hh[:, None, 2 * H :].to(x.dtype)
        bias = b_ih.clone()
        bias[:, : 2 * H] += b_hh[:, : 2 * H]
        inputs = x.reshape(B * S, E).index_select(0, packing.indices.flatten()).view(D, -1, E)
        gates = torch.baddbmm(bias[:, None].to(x.dtype), inputs, w_x.mT)  # (D, N, 3H)
        before, h, m = (x.new_empty(D, gates.shape[1], H) for _ in range(3))
        for each in (before, h, m):
            each[:, packing.starts[-1] :] = 0  # the rows that no step reads
        r, z, n = gates.chunk(3, dim=-1)
        r_z = gates[..., : 2 * H]
        hidden = x.new_empty(D, 0, 3 * H)
        last = h0.index_select(0, packing.sentences).transpose(0, 1)  # (D, B, H)
        for start, end in pairwise(packing.starts):
            now, count = slice(start, end), end - start
            if count != hidden.shape[1]:
                hidden = x.new_empty(D, count, 3 * H)
            before[:, now] = last[:, :count]
            torch.bmm(before[:, now], w_h.mT, out=hidden)
            r_z[:, now].add_(hidden[..., : 2 * H]).sigmoid_()
            torch.add(hidden[..., 2 * H :], b_n, out=m[:, now])
            n[:, now].addcmul_(r[:, now], m[:, now]).tanh_()
            last = torch.lerp(n[:, now], before[:, now], z[:, now], out=h[:, now])
        ctx.save_for_backward(inputs, w_x, w_h, gates, before, m)
        ctx.packing = packing
        return packing.unpack(h).view(B, S, D * H)

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        inputs, w_x, w_h, gates, before, m = ctx.saved_tensors
        packing: Packing = ctx.packing
        B, S, _ = d_out.shape
        D, N, H = m.shape
        r, z, n = gates.chunk(3, dim=-1)
        of_x_n = (1 - z).mul_(1 - n * n)
        factors = torch.empty_like(gates)  # of x_r, x_z and m
        torch.mul(of_x_n, r, out=factors[..., 2 * H :])
        torch.mul(factors[..., 2 * H :], m, out=factors[..., :H]).mul_(1 - r)
        torch.mul(z - z * z, before - n, out=factors[..., H : 2 * H])
        d_h = packing.pack(d_out.reshape(B * S, D, H))  # (D, N, H)
        d_gates = factors.view(D, N, 3, H)
        d_h[:, packing.starts[-1] :] = 0
        d_gates[:, packing.starts[-1] :] = 0
        rest: Tensor | None = None
        for start, end in reversed(list(pairwise(packing.starts))):
            if rest is not None:  # those that are read at the next step
                d_h[:, start : start + rest.shape[1]].add_(rest)
            now = slice(start, end)
            d_gates[:, now].mul_(d_h[:, now, None])
            rest = (d_h[:, now] * z[:, now]).baddbmm_(d_gates[:, now].flatten(2), w_h)
        assert rest is not None
        d_h0 = torch.empty_like(rest.transpose(0, 1))
        d_h0[packing.sentences] = rest.transpose(0, 1)
        flat = d_gates.view(D, N, 3 * H)
        d_w_hh, d_b_hh = _sum_of_products(flat, before), flat.sum(1)
        torch.mul(d_h, of_x_n, out=d_gates[:, :, 2])  # now of x_n instead of m
        d_w_ih, d_b_ih = _sum_of_products(flat, inputs), flat.sum(1)
        d_inputs = packing.unpack(flat @ w_x).sum(1).view(B, S, -1)
        return d_inputs, d_h0, None, d_w_ih, d_w_hh, d_b_ih, d_b_hh


def _sum_of_products(left: Tensor, right: Tensor) -> Tensor:
    """Returns the products of (D, N, L) and (D, N, R) over all words, (D, L, R)."""
    # A batch of one matrix would be copied before it is multiplied.
    return (left[0].t() @ right[0])[None] if len(left) == 1 else left.mT @ right


class CrossEntropy(torch.autograd.Function):
    """Computes the sum of the losses of all rows, in fp32 or better. The logits are written over."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, smoothing: float
    ) -> Tensor:
        at_least_fp32 = torch.promote_types(logits.dtype, torch.float32)
        rows = max(1, BLOCK_BYTES // (vocabulary * at_least_fp32.itemsize))
        loss = torch.zeros((), dtype=at_least_fp32)
        for block, its_targets in zip(
            torch.split(logits[:, :vocabulary], rows), torch.split(targets, rows), strict=True
        ):
            loss += _replace_by_gradients(block, its_targets, ignore, smoothing, at_least_fp32)
        logits[:, vocabulary:] = 0
        ctx.gradients = logits
        return loss

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        gradients, ctx.gradients = ctx.gradients, None
        return gradients.mul_(scale), None, None, None, None


def _replace_by_gradients(
    logits: Tensor, targets: Tensor, ignore: int, smoothing: float, dtype: torch.dtype
) -> Tensor:
    """Returns the sum of the losses of logits (N, V), and writes their gradients over them."""
    targets = targets[:, None]  # (N, 1)
    real = targets != ignore
    share = real.to(dtype)
    x = logits - logits.amax(1, keepdim=True).to(dtype)  # in this dtype
    at_target, mean = x.gather(1, targets), x.mean(1, keepdim=True) if smoothing else 0
    p = x.exp_()
    sums = p.sum(1, keepdim=True)
    losses = sums.log() - (1 - smoothing) * at_target - smoothing * mean
    p *= share / sums
    if smoothing:
        p -= smoothing / p.shape[1] * share
    p.scatter_add_(1, targets, (smoothing - 1) * share)
    logits.copy_(p)
    return torch.where(real, losses, 0).sum()
