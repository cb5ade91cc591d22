"""A GRU on a CPU, for one direction or two at once, with a backward pass of its own.

torch computes a GRU on a CPU step by step, and so do its gradients: each of a dozen operations is recorded,
and the gradient of each weight is added up once for every step. Here a step forward is six operations and a
step backward four, both directions together, and the gradients of the weights are one product each.

B sentences, S positions, D directions (1 or 2), E inputs, H states. Gates are in torch's order r, z, n:

    r = sigmoid(x_r + h W_hr),  z = sigmoid(x_z + h W_hz),  n = tanh(x_n + r * m),  m = h W_hn + b_hn
    h' = n + z * (h - n)

The gradient of everything before an activation is that of h' times what the forward pass has found:

    of x_n: (1 - z)(1 - n^2),  of x_z: (h - n) z (1 - z),  of x_r: (that of x_n) m r (1 - r),
    of m: (that of x_n) r

The second direction reads each sentence backwards by its own length, and then its padding.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def gru(x: Tensor, h0: Tensor, lengths: Tensor | None, weights: Sequence[Tensor]) -> Tensor:
    """Returns the states (B, S, D * H) for x (B, S, E) and h0 (B, D, H), both in one dtype.

    The weights and biases are those of torch, in any dtype, the directions one after another: (D, 3H, E),
    (D, 3H, H), (D, 3H), (D, 3H). The lengths (B) are needed for two directions only.
    """
    out: Tensor = _GRU.apply(x, h0, lengths, *weights)  # type: ignore[no-untyped-call]
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
    ) -> Tensor:
        B, S, E = x.shape
        D, _, H = w_hh.shape
        w_x, w_h, b_n = w_ih.to(x.dtype), w_hh.to(x.dtype), b_hh[:, None, 2 * H :].to(x.dtype)
        bias = b_ih.clone()
        bias[:, : 2 * H] += b_hh[:, : 2 * H]
        order = None if lengths is None or D == 1 else reading_order(lengths, S)
        inputs = in_reading_order(x[:, :, None].expand(-1, -1, D, -1), order).view(D, S * B, E)
        gates = torch.baddbmm(bias[:, None].to(x.dtype), inputs, w_x.mT).view(D, S, B, 3 * H)
        h, m = x.new_empty(D, S + 1, B, H), x.new_empty(D, S, B, H)
        h[:, 0] = h0.transpose(0, 1)
        r, z, n = gates.chunk(3, dim=-1)
        r_z = gates[..., : 2 * H]
        hidden = x.new_empty(D, B, 3 * H)
        for t in range(S):
            torch.bmm(h[:, t], w_h.mT, out=hidden)
            r_z[:, t].add_(hidden[..., : 2 * H]).sigmoid_()
            torch.add(hidden[..., 2 * H :], b_n, out=m[:, t])
            n[:, t].addcmul_(r[:, t], m[:, t]).tanh_()
            torch.lerp(n[:, t], h[:, t], z[:, t], out=h[:, t + 1])
        ctx.save_for_backward(inputs, order, w_x, w_h, gates, h, m)
        return in_sentence_order(h[:, 1:], order).reshape(B, S, D * H)

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        inputs, order, w_x, w_h, gates, h, m = ctx.saved_tensors
        D, S, B, H = m.shape
        r, z, n = gates.chunk(3, dim=-1)
        before = h[:, :-1]
        of_x_n = (1 - z).mul_(1 - n * n)
        factors = torch.empty_like(gates)  # of x_r, x_z and m
        torch.mul(of_x_n, r, out=factors[..., 2 * H :])
        torch.mul(factors[..., 2 * H :], m, out=factors[..., :H]).mul_(1 - r)
        torch.mul(z - z * z, before - n, out=factors[..., H : 2 * H])
        d_h = in_reading_order(d_out.reshape(B, S, D, H), order)  # (D, S, B, H)
        d_gates = factors.view(D, S, B, 3, H)
        for t in reversed(range(S)):
            d_gates[:, t].mul_(d_h[:, t, :, None])
            rest = d_h[:, t] * z[:, t]
            if t:
                d_h[:, t - 1].add_(rest.baddbmm_(d_gates[:, t].flatten(2), w_h))
        d_h0 = rest.baddbmm_(d_gates[:, 0].flatten(2), w_h).transpose(0, 1)
        flat = d_gates.view(D, S * B, 3 * H)
        d_w_hh, d_b_hh = flat.mT @ before.reshape(D, S * B, H), flat.sum(1)
        torch.mul(d_h, of_x_n, out=d_gates[..., 2, :])  # now of x_n instead of m
        d_w_ih, d_b_ih = flat.mT @ inputs, flat.sum(1)
        d_inputs = in_sentence_order((flat @ w_x).view(D, S, B, -1), order).sum(2)
        return d_inputs, d_h0, None, d_w_ih, d_w_hh, d_b_ih, d_b_hh


def reading_order(lengths: Tensor, S: int) -> Tensor:
    """Returns which position of each sentence the second direction reads at each step, (B, S).

    Read again in this order, it is the sentence's own.
    """
    places = torch.arange(S, device=lengths.device)
    backwards = lengths[:, None] - 1 - places
    return torch.where(backwards >= 0, backwards, places)


def in_reading_order(x: Tensor, order: Tensor | None) -> Tensor:
    """Returns a copy of (B, S, D, N) as it is read: (D, S, B, N), the second direction in another order."""
    return _reorder_second(x.permute(2, 1, 0, 3), order).clone(memory_format=torch.contiguous_format)


def in_sentence_order(x: Tensor, order: Tensor | None) -> Tensor:
    """Returns (D, S, B, N) as (B, S, D, N), with every sentence in its own order."""
    return _reorder_second(x, order).permute(2, 1, 0, 3)


def _reorder_second(x: Tensor, order: Tensor | None) -> Tensor:
    """Returns x (D, S, B, N) with the positions of the second direction in another order."""
    if order is None:
        return x
    one, other = x
    return torch.stack([one, other.gather(0, order.t()[:, :, None].expand_as(other))])
