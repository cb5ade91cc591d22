"""One step of the decoder: equations 9 to 12."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from augenmerk.lab.outcomes import Case, Draw


def decoder_step(
    token: Tensor,
    state: Tensor,
    encoder_outputs: Tensor,
    embedding: nn.Embedding,
    gru: nn.GRUCell,
    attention: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    output: nn.Linear,
) -> tuple[Tensor, Tensor, Tensor]:
    b = embedding(token)
    g = gru(b, state)
    a, alpha = attention(g, encoder_outputs)
    features = torch.cat([a, g], dim=1)
    logits = output(features)
    log_probs = logits.log_softmax(dim=1)
    return log_probs, g, alpha


class ToyAttention(nn.Module):
    """Attention with the contract of the first exercise."""

    def __init__(self, hidden: int, value: int) -> None:
        super().__init__()
        self.W = nn.Linear(hidden, value)

    def forward(self, state: Tensor, encoder_outputs: Tensor) -> tuple[Tensor, Tensor]:
        alpha = torch.einsum("bd,sbd->bs", self.W(state), encoder_outputs).softmax(dim=1)
        return torch.einsum("bs,sbd->bd", alpha, encoder_outputs), alpha


def make_cases(draw: Draw) -> Iterator[Case]:
    square = draw.size(4, 6)
    shapes = {
        "one sentence": (1, 2, 4, 6, 5, 7),
        "several sentences": (3, 4, draw.size(3, 4), draw.size(5, 6), draw.size(7, 8), draw.size(9, 10)),
        "all sizes equal": (2, 2, square, square, square, square),
    }
    for name, (batch, words, embedding, hidden, value, vocabulary) in shapes.items():
        modules = (
            nn.Embedding(vocabulary, embedding),
            nn.GRUCell(embedding, hidden),
            ToyAttention(hidden, value),
            nn.Linear(value + hidden, vocabulary),
        )
        for parameter in (each for module in modules for each in module.parameters()):
            parameter.data = draw.normal(*parameter.shape)
        token = torch.tensor([draw.size(0, vocabulary - 1) for _ in range(batch)])
        yield Case(name, (token, draw.normal(batch, hidden), draw.normal(words, batch, value), *modules))
