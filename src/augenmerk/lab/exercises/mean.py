"""Mean pooling: attention that attends equally to every word."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from augenmerk.lab.outcomes import Case, Draw


class MeanPool(nn.Module):
    def forward(
        self,
        hidden: Tensor,  # noqa: ARG002
        encoder_outputs: Tensor,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        h = encoder_outputs.transpose(0, 1)  # (batch, src_len, size)
        if mask is None:
            mask = torch.ones(h.shape[:2], dtype=torch.bool, device=h.device)
        words = mask.to(h.dtype)
        alpha = words / words.sum(dim=1, keepdim=True)
        a = (alpha.unsqueeze(1) @ h).squeeze(1)
        return a, alpha


def make_cases(draw: Draw) -> Iterator[Case]:
    size = 2 * draw.size(2, 4)
    words = draw.size(4, 5)
    yield Case("one sentence", (draw.normal(1, 3), draw.normal(2, 1, size)))
    yield Case("several sentences", (draw.normal(3, 5), draw.normal(words, 3, size)))
    lengths = torch.tensor([words, 2, 1])
    mask = torch.arange(words) < lengths[:, None]
    yield Case("with padding", (draw.normal(3, 5), draw.normal(words, 3, size), mask))
    yield Case("as many sentences as words", (draw.normal(3, 3), draw.normal(3, 3, size), mask[:, :3]))
