"""The step-by-step training loop of tutorials, on the weights of a `GRUTranslator`.

Tensors have time first; outputs are filled in row by row; and every target position takes one decoder step,
one attention over the whole source with keys computed again, and one output layer. It computes the same
numbers as `GRUTranslator.forward`.
"""

import torch
from torch import Tensor, nn

from augenmerk.batching import Batch
from augenmerk.model.translator import GRUTranslator
from augenmerk.text import PAD


class StepByStep(nn.Module):
    """Runs a translator word by word, sharing its weights."""

    def __init__(self, model: GRUTranslator) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        """Returns logits (T, B, vocabulary)."""
        model = self.model
        z = model.embedding_dropout(model.W_z(batch.src))
        h, ends = model.encoder(z, batch.src_mask)
        g = torch.stack([torch.relu(W_s(end)) for W_s, end in zip(model.W_s, ends, strict=True)])
        tgt_in = batch.tgt_in.T
        T, B = tgt_in.shape
        outputs: Tensor = h.new_zeros(T, B, model.target_vocabulary)
        for i in range(T):
            b = model.embedding_dropout(model.W_b(tgt_in[i]))  # (B, E)
            output, g = model.decoder(b[:, None], g)  # (B, 1, H)
            a, _ = model.attention(output, h, batch.src_mask)  # (B, 1, D)
            outputs[i] = model.output(torch.cat([a, output], dim=-1)[:, 0])  # (B, vocabulary)
        return outputs

    def loss(self, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Returns the loss summed over the real target tokens."""
        return nn.functional.cross_entropy(
            self(batch).flatten(0, 1),
            batch.tgt_out.T.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=label_smoothing,
        )
