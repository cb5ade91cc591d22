"""What tutorials train, on the weights of a model of ours: the same numbers, computed in the plain way.

`StepByStep` is the loop over target positions that tutorials write for a GRU. `TorchTransformer` is the
`torch.nn.Transformer` that they take.
"""

import copy

import torch
from torch import Tensor, nn

from augenmerk.base.errors import AugenmerkError
from augenmerk.model.attention import MultiHeadAttention
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import TranslationModel
from augenmerk.model.transformer import DecoderLayer, EncoderLayer, TransformerTranslator
from augenmerk.text.batching import Batch
from augenmerk.text.tokenizer import PAD


class PlainModel(nn.Module):
    """A model as tutorials write it; tensors have time first."""

    def loss(self, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Returns the loss summed over the real target tokens."""
        return nn.functional.cross_entropy(
            self(batch).flatten(0, 1),
            batch.tgt_out.T.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=label_smoothing,
        )


def make_plain(model: TranslationModel) -> PlainModel:
    """Returns a model with the same weights; raises AugenmerkError if tutorials have none like it."""
    model = copy.deepcopy(model)
    if isinstance(model, GRUTranslator):
        return StepByStep(model)
    if isinstance(model, TransformerTranslator):
        return TorchTransformer(model)
    raise AugenmerkError(
        f"There is no tutorial's loop to compare the architecture '{model.config.architecture}' with."
    )


class StepByStep(PlainModel):
    """Runs a translator word by word, sharing its weights.

    Outputs are filled in row by row; and every target position takes one decoder step, one attention over the
    whole source with keys computed again, and one output layer.
    """

    def __init__(self, model: GRUTranslator) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        """Returns logits (T, B, vocabulary)."""
        model = self.model
        dropout = nn.Dropout(model.embedding_dropout.p).train(self.training)
        z = dropout(model.W_z(batch.src))
        h, ends = model.encoder(z, batch.src_mask, fused=False)
        g = torch.stack([torch.relu(W_s(end)) for W_s, end in zip(model.W_s, ends, strict=True)])
        tgt_in = batch.tgt_in.T
        T, B = tgt_in.shape
        outputs: Tensor = h.new_zeros(T, B, model.target_vocabulary)
        for i in range(T):
            b = dropout(model.W_b(tgt_in[i]))  # (B, E)
            output, g = model.decoder(b[:, None], g)  # (B, 1, H)
            a, _ = model.attention(output, h, batch.src_mask)  # (B, 1, D)
            outputs[i] = model.output(torch.cat([a, output], dim=-1)[:, 0])  # (B, vocabulary)
        return outputs


class TorchTransformer(PlainModel):
    """`torch.nn.Transformer` with the weights of ours; embeddings and the output layer are shared with it.

    Raises AugenmerkError if torch's Transformer cannot do what ours does.
    """

    def __init__(self, model: TransformerTranslator) -> None:
        super().__init__()
        config = model.config
        if (
            config.attention != "multi-head"
            or config.key != config.embedding
            or config.transformer.positions == "rotary"
        ):
            raise AugenmerkError(
                "torch's Transformer has multi-head attention with keys as wide as its layers, and no rotary "
                'positions; set model.attention = "multi-head", model.key = model.embedding and '
                'model.transformer.positions = "sinusoidal" to compare with it.'
            )
        self.model = model
        self.torch = nn.Transformer(
            config.embedding,
            config.heads,
            config.layers,
            config.layers,
            config.transformer.feed_forward,
            config.output_dropout,
            norm_first=True,
            custom_encoder=nn.TransformerEncoder(  # as by default, but without a warning
                nn.TransformerEncoderLayer(
                    config.embedding,
                    config.heads,
                    config.transformer.feed_forward,
                    config.output_dropout,
                    norm_first=True,
                ),
                config.layers,
                nn.LayerNorm(config.embedding),
                enable_nested_tensor=False,
            ),
        )
        self.to(model.device, model.W_o.weight.dtype)  # before the weights come, so that none is rounded
        # Ours names what torch counts: the norms, the feed-forward part's matrices.
        for ours, theirs in zip(model.encoder, self.torch.encoder.layers, strict=True):
            assert isinstance(ours, EncoderLayer)
            assert isinstance(theirs, nn.TransformerEncoderLayer)
            copy_attention(ours.own, theirs.self_attn)
            copy_weights((ours.own_norm, theirs.norm1), (ours.feed_forward.norm, theirs.norm2))
            copy_weights((ours.feed_forward.W_1, theirs.linear1), (ours.feed_forward.W_2, theirs.linear2))
        for ours, cross, theirs in zip(
            model.decoder, model.attentions, self.torch.decoder.layers, strict=True
        ):
            assert isinstance(ours, DecoderLayer)
            assert isinstance(cross, MultiHeadAttention)
            assert isinstance(theirs, nn.TransformerDecoderLayer)
            copy_attention(ours.own, theirs.self_attn)
            copy_attention(cross, theirs.multihead_attn)
            copy_weights((ours.own_norm, theirs.norm1), (ours.cross_norm, theirs.norm2))
            copy_weights((ours.feed_forward.norm, theirs.norm3), (ours.feed_forward.W_1, theirs.linear1))
            copy_weights((ours.feed_forward.W_2, theirs.linear2))
        copy_weights(
            (model.encoder_norm, self.torch.encoder.norm), (model.decoder_norm, self.torch.decoder.norm)
        )

    def forward(self, batch: Batch) -> Tensor:
        """Returns logits (T, B, vocabulary)."""
        model, padding = self.model, ~batch.src_mask
        T = batch.tgt_in.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool, device=padding.device).triu(1)
        g = self.torch(
            model.embed(model.W_z, batch.src).transpose(0, 1),
            model.embed(model.W_b, batch.tgt_in).transpose(0, 1),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return model.output(g)


@torch.no_grad()
def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copies the matrices; torch's attention has biases too, which are set to 0."""
    for parameter in theirs.parameters():
        parameter.zero_()
    assert theirs.in_proj_weight is not None
    theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
    theirs.out_proj.weight.copy_(ours.W_a.weight)


def copy_weights(*pairs: tuple[nn.Module, nn.Module | None]) -> None:
    for ours, theirs in pairs:
        assert theirs is not None
        theirs.load_state_dict(ours.state_dict())
