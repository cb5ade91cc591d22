"""The step-by-step loop that tutorials train with, written down plainly, on the weights of a `Translator`.

Time first; a tensor for all outputs, filled in row by row; and for every target position one decoder step,
one attention over the whole source (its keys computed anew), one output layer. It computes the same numbers
as `Translator.forward`.
"""

import torch
from torch import Tensor, nn

from augenmerk.batching import Batch
from augenmerk.model.translator import Translator
from augenmerk.text import PAD


class StepByStep(nn.Module):
    """Shares every weight with the model it is given."""

    def __init__(self, model: Translator) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        """Logits (T, B, vocabulary)."""
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
        """Summed over the real target tokens."""
        return nn.functional.cross_entropy(
            self(batch).flatten(0, 1),
            batch.tgt_out.T.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=label_smoothing,
        )
