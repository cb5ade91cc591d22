"""The GRU translator, equations 3 to 12, in the order and the letters of the specification.

B sentences, S source positions, T target positions, E embedding, H hidden, D = 2H word representation.

    z_t    = W_z w_t                                      word embedding            (3)
    hf_t   = GRU(z_t, hf_{t-1}),  hb_t = GRU(z_t, hb_{t+1})   forward, backward     (4, 5)
    h_t    = [hf_t, hb_t]                                 word representations      (6)
    h_sent = ReLU(W_s [hf_S, hb_1] + b_s)                 sentence representation   (7)
    g_0    = h_sent                                       decoder starts here       (8)
    b_i    = W_b m_i                                      target word embedding     (9)
    g_i    = GRU(b_i, g_{i-1})                            decoder state             (10)
    a_i    = Attn(g_i, h_1 .. h_S)                        attention                 (11)
    P(m_{i+1}) = softmax(W_o [a_i, g_i] + b_o)            next word                 (12)

Equation 10 does not depend on the attention. So when the target is known, the decoder runs over all of it in
one call, attention is one batched product, and the output layer is one matrix product: see `decode`. `step`
does the same for one more word.
"""

import torch
from torch import Tensor, nn

from augenmerk.base.config import ModelConfig, padded
from augenmerk.model.attention import Memory, make_attention
from augenmerk.model.interface import TranslationModel, count_weights
from augenmerk.model.kernels import Dropout, apply_linear, dropout, embed, run_gru
from augenmerk.search.decoder import AttentionWeights, Source, State


class GRUTranslator(TranslationModel):
    """A bidirectional GRU encoder and a GRU decoder with attention."""

    state_deviation = 0.2  # 0.14 to 0.22, measured in all presets

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        E, H, L = config.embedding, config.hidden, config.layers
        self.W_z = nn.Embedding(padded(source_vocabulary), E)
        self.encoder = BidirectionalGRU(E, H, L, config.output_dropout)
        self.W_s = nn.ModuleList(nn.Linear(2 * H, H) for _ in range(L))
        self.W_b = self.W_z if config.tie == "all" else nn.Embedding(padded(target_vocabulary), E)
        self.decoder = nn.GRU(E, H, L, batch_first=True, dropout=config.output_dropout if L > 1 else 0.0)
        if config.tie == "none":
            self.W_o = nn.Linear(3 * H, padded(target_vocabulary))
        else:
            # The output layer is the target embedding; one more matrix brings [a_i, g_i] to its size.
            self.bridge = nn.Linear(3 * H, E, bias=False)
            self.W_o = nn.Linear(E, padded(target_vocabulary))
            self.W_o.weight = self.W_b.weight
            nn.init.normal_(self.W_b.weight, std=E**-0.5)
            nn.init.zeros_(self.W_o.bias)
        self.embedding_dropout = Dropout(config.embedding_dropout)
        self.output_dropout = Dropout(config.output_dropout)
        if config.init == "orthogonal":
            self._init_orthogonal()
        # Last, so that under one seed everything else starts with the same weights for every mechanism.
        self.attention = make_attention(config)
        self.selective = self.attention.selective

    def _init_orthogonal(self) -> None:
        """Initialises the GRUs with orthogonal matrices, and tied embeddings with larger numbers.

        With torch's default, a GRU forgets its state within a few words. And an output layer needs entries
        of about E**-0.5, which are too small as inputs of the GRUs that share the matrix when it is tied.
        """
        for name, parameter in self.named_parameters():
            for gate in parameter.data.chunk(3):
                if ".weight_hh" in name:
                    nn.init.orthogonal_(gate)
                elif ".weight_ih" in name:
                    nn.init.xavier_uniform_(gate)
                elif ".bias_hh" in name or ".bias_ih" in name:
                    nn.init.zeros_(gate)
        if self.config.tie != "none":
            nn.init.normal_(self.W_b.weight, std=0.25)

    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Computes equations 3 to 8 for sources (B, S) padded to the right."""
        z = self.embedding_dropout(embed(src, self.W_z))  # (B, S, E)
        h, ends = self.encoder(z, src_mask)  # (B, S, D), L x (B, D)
        g_0 = torch.stack([torch.relu(W_s(end)) for W_s, end in zip(self.W_s, ends, strict=True)], dim=1)
        memory = self.attention.memory(h, src_mask)
        return Source(memory, (g_0[:, None], *self.attention.start(memory)))  # g_0 (B, 1, L, H)

    def decode(
        self, tgt_in: Tensor, source: Source, tgt_mask: Tensor | None = None, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Computes equations 9 to 11 for whole targets (B, T): [a_i, g_i] (B, T, D + H), and the weights."""
        g = self.states(tgt_in, source, tgt_mask)  # (B, T, H)
        a, weights = self.attention.attend(g, source.memory, need_weights=need_weights)  # (B, T, D)
        return torch.cat([a, g], dim=-1), weights

    def attention_weights(self, src: Tensor, src_mask: Tensor, tgt_in: Tensor) -> AttentionWeights:
        """Computes the weights of each head for whole targets; there is one layer."""
        source = self.encode(src, src_mask)
        return AttentionWeights(self.attention.weigh(self.states(tgt_in, source), source.memory)[:, None])

    def states(self, tgt_in: Tensor, source: Source, tgt_mask: Tensor | None = None) -> Tensor:
        """Computes equations 9 and 10 for whole targets: g_i (B, T, H), which do not depend on attention."""
        lengths = None if tgt_mask is None else tgt_mask.sum(dim=1)  # (B)
        b = self.embedding_dropout(embed(tgt_in, self.W_b))  # (B, T, E)
        g_0 = source.start[0][:, 0]  # (B, L, H)
        g: Tensor = b
        for number, weights in enumerate(self.decoder.all_weights):
            if number:
                g = dropout(g, self.decoder.dropout, self.training)
            fused = run_gru(g, g_0[:, number, None], lengths, [weights])
            if fused is None:
                plain: Tensor = self.decoder(b, g_0.transpose(0, 1).contiguous())[0]
                return plain
            g = fused
        return g

    def padded_output(self, features: Tensor) -> Tensor:
        """Computes equation 12 before the softmax: (..., D + H) to (..., V and padding)."""
        features = self.output_dropout(features)
        if self.config.tie != "none":
            features = self.output_dropout(self.bridge(features))
        return apply_linear(features, self.W_o)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, Tensor, State]:
        """Computes equations 9 to 12 for one more word of K hypotheses.

        The state is g (B, K, L, H), followed by that of the attention.
        """
        B, K = tokens.shape
        b = self.W_b(tokens).reshape(B * K, 1, -1)
        g = state[0].flatten(0, 1).transpose(0, 1).contiguous()  # (L, B * K, H)
        output, g = self.decoder(b, g)
        query = output.reshape(B, K, -1)  # (B, K, H)
        a, weights, seen = self.attention.advance(query, memory, state[1:])
        log_probs = self.output(torch.cat([a, query], dim=-1)).log_softmax(dim=-1)
        return log_probs, weights, (g.transpose(0, 1).unflatten(0, (B, K)), *seen)

    def multiplications(self) -> tuple[int, int]:
        """Returns the multiply-adds that one source token and one target token need in a forward pass."""
        keys, queries = self.attention.multiplications()
        output = [self.W_o] if self.config.tie == "none" else [self.W_o, self.bridge]
        return count_weights(self.encoder) + keys, count_weights(self.decoder, *output) + queries


class BidirectionalGRU(nn.Module):
    """Two GRUs, one for each direction; neither reads padding before a word.

    The backward GRU reads each sentence reversed by its own length, so that padding comes last for both.
    That is exact, and faster than packing.
    """

    def __init__(self, size: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [size] + [2 * hidden] * (layers - 1)
        self.forwards = nn.ModuleList(nn.GRU(size, hidden, batch_first=True) for size in sizes)
        self.backwards = nn.ModuleList(nn.GRU(size, hidden, batch_first=True) for size in sizes)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor, *, fused: bool = True) -> tuple[Tensor, list[Tensor]]:
        """Returns h (B, S, 2H) for x (B, S, E), and for each layer [hf_S, hb_1] (B, 2H).

        Unless `fused`, torch's own GRU is used even where there is a faster way.
        """
        lengths = mask.sum(dim=1)  # (B)
        last = lengths[:, None, None] - 1  # (B, 1, 1)
        ends = []
        for number, (forward, backward) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if number:
                x = self.dropout(x)
            assert isinstance(forward, nn.GRU)
            assert isinstance(backward, nn.GRU)
            both = [*forward.all_weights, *backward.all_weights]
            h = run_gru(x, None, lengths, both) if fused else None
            x = run_each(x, forward, backward, lengths) if h is None else h
            hf, hb = x.chunk(2, dim=-1)
            ends.append(torch.cat([hf.gather(1, last.expand(-1, 1, hf.shape[2]))[:, 0], hb[:, 0]], dim=-1))
        return x, ends


def run_each(x: Tensor, forward: nn.Module, backward: nn.Module, lengths: Tensor) -> Tensor:
    """Returns the states (B, S, 2H) of a layer by torch's own GRU, one direction after the other."""
    positions = torch.arange(x.shape[1], device=x.device)  # (S)
    backwards = lengths[:, None] - 1 - positions  # (B, S)
    reverse = torch.where(backwards >= 0, backwards, positions)  # its own inverse
    return torch.cat([forward(x)[0], reordered(backward(reordered(x, reverse))[0], reverse)], dim=-1)


def reordered(x: Tensor, positions: Tensor) -> Tensor:
    """Returns x (B, S, ...) with position t of each sentence taken from positions[:, t]."""
    return x.gather(1, positions[:, :, None].expand(-1, -1, x.shape[2]))
