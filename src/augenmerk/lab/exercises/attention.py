"""Scaled dot-product attention with one query for each sentence."""

from collections.abc import Iterator

from torch import Tensor, nn

from augenmerk.lab.outcomes import Case, Draw


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim: int, dec_hid_dim: int, kq_dim: int = 512) -> None:
        super().__init__()
        self.kq_dim = kq_dim
        self.W_q = nn.Linear(dec_hid_dim, kq_dim)
        self.W_k = nn.Linear(2 * enc_hid_dim, kq_dim)

    def forward(self, hidden: Tensor, encoder_outputs: Tensor) -> tuple[Tensor, Tensor]:
        h = encoder_outputs.transpose(0, 1)  # (batch, src_len, 2 * enc_hid_dim)
        q = self.W_q(hidden)  # (batch, kq_dim)
        k = self.W_k(h)  # (batch, src_len, kq_dim)
        scores = (k @ q.unsqueeze(2)).squeeze(2)
        scores = scores / self.kq_dim**0.5
        alpha = scores.softmax(dim=1)
        a = (alpha.unsqueeze(1) @ h).squeeze(1)
        return a, alpha


def make_cases(draw: Draw) -> Iterator[Case]:
    enc, dec, kq = draw.size(2, 3), draw.size(7, 9), draw.size(10, 12)
    square = 2 * draw.size(2, 3)
    shapes = {
        "one word": (1, 1, enc, dec, kq),
        "two sentences of two words, all sizes equal": (2, 2, square // 2, square, square),
        "one sentence": (draw.size(3, 5), 1, enc, dec, kq),
        "several sentences": (draw.size(4, 6), 3, enc, dec, kq),
        "as many sentences as words": (3, 3, enc, dec, kq),
    }
    for name, (words, batch, enc, dec, kq) in shapes.items():
        yield Case(name, (draw.normal(batch, dec), draw.normal(words, batch, 2 * enc)), (enc, dec, kq))
