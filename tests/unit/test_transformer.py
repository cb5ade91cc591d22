"""The Transformer: whole targets against single steps, ours against torch's, search against brute force."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from augenmerk.base.config import ModelConfig, SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.bench.training import TorchTransformer
from augenmerk.model.transformer import (
    TransformerTranslator,
    rotate,
    sinusoidal_positions,
)
from augenmerk.text.batching import Batch, ParallelTokens
from augenmerk.text.tokenizer import BOS, EOS
from tests.support.decoding import decode, score
from tests.support.mechanisms import TRIED

V = 24
POSITIONS = ("sinusoidal", "learnt", "rotary")
LENGTHS = [(5, 4), (3, 6), (1, 1), (7, 0)]


def transformer(
    attention: str = "multi-head",
    positions: str = "sinusoidal",
    *,
    vocabulary: int = V,
    seed: int = 3,
    **sizes: object,
) -> TransformerTranslator:
    """Returns an untrained model whose predictions are nevertheless far from flat, and whose norms matter."""
    torch.manual_seed(seed)
    settings: dict[str, object] = {"embedding": 12, "key": 8, "heads": 2, "layers": 2, **sizes}
    config = ModelConfig.model_validate(
        {
            "architecture": "transformer",
            "attention": attention,
            "transformer": {"feed_forward": 20, "positions": positions},
            **settings,
        }
    )
    model = TransformerTranslator(config, vocabulary, vocabulary).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:  # biases and norms begin with 0 and 1, where an error would not be seen
                parameter.add_(0.3 * torch.randn_like(parameter))
            elif "W_o" in name or "own" in name or "attentions" in name:
                parameter.mul_(3)
        model.W_o.bias[EOS] = 3.0  # so that translations end, some early and some late
    return model


def batch_of(lengths: Sequence[tuple[int, int]], seed: int = 1) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def words(length: int) -> list[int]:
        return torch.randint(4, V, (length,), generator=generator).tolist()

    tokens = ParallelTokens.of((words(s), words(t)) for s, t in lengths)
    [batch] = tokens.batches(tokens.plan(len(lengths), shuffle=False))
    return batch.to("cpu")


# What GRUs and Transformers have in common is in test_translator.py.


@pytest.mark.parametrize(("attention", "positions"), [*zip(TRIED, POSITIONS * 3, strict=False)])
@torch.no_grad()
def test_the_weights_of_all_heads(attention: str, positions: str) -> None:
    """Shapes, rows that sum to 1, nothing on padding or on words to come, and the mean that is returned."""
    model, batch = transformer(attention, positions, layers=3), batch_of(LENGTHS)
    _, mean = model(batch.src, batch.src_mask, batch.tgt_in, need_weights=True)
    found = model.attention_weights(batch.src, batch.src_mask, batch.tgt_in)
    (B, S), T = batch.src.shape, batch.tgt_in.shape[1]
    heads = 2 if attention == "multi-head" else 1
    assert found.encoder is not None
    assert found.decoder is not None
    assert found.cross.shape == (B, 3, heads, T, S)
    assert found.encoder.shape == (B, 3, 2, S, S)
    assert found.decoder.shape == (B, 3, 2, T, T)
    torch.testing.assert_close(found.cross.mean((1, 2)), mean)
    for part in (found.cross, found.encoder, found.decoder):
        rows = part.sum(-1)
        total = float(part is not found.cross or attention != "none")
        torch.testing.assert_close(rows, torch.full_like(rows, total))
    padding = ~batch.src_mask[:, None, None, None, :]
    for part in (found.cross, found.encoder):
        assert not part.masked_select(padding).any()
    assert not found.decoder.triu(1).any()
    assert found.decoder.diagonal(dim1=-2, dim2=-1).min() > 0  # a word sees itself
    for one, other in itertools.combinations(found.encoder[0].flatten(0, 1), 2):
        assert (one - other).abs().max() > 1e-4


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_places_matter_on_both_sides(positions: str) -> None:
    """Without positions, neither attention over the source nor that over the words so far knows an order."""
    model = transformer(positions=positions)
    src, tgt = torch.tensor([[5, 6, 7, 8, EOS]]), torch.tensor([[BOS, 9, 10, 11, 12]])
    mask = torch.ones_like(src).bool()
    last = model(src, mask, tgt)[0][:, -1]
    for other_src, other_tgt in ((src[:, [1, 0, 2, 3, 4]], tgt), (src, tgt[:, [0, 2, 1, 3, 4]])):
        assert (model(other_src, mask, other_tgt)[0][:, -1] - last).abs().max() > 1e-6


# Positions


def test_sinusoidal_positions_are_sines_and_cosines() -> None:
    for size in (6, 7):
        found = sinusoidal_positions(torch.arange(3, 60), size).tolist()
        for t, row in enumerate(found, 3):
            for number, value in enumerate(row):
                angle = t / 10000 ** (2 * (number // 2) / size)
                assert value == pytest.approx((math.sin, math.cos)[number % 2](angle), abs=1e-12)


def vectors(size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(-2, 2), min_size=size, max_size=size)


@given(
    q=vectors(6),
    k=vectors(6),
    places=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    by=st.integers(0, 60),
)
def test_rotation_keeps_distances(q: list[float], k: list[float], places: tuple[int, int], by: int) -> None:
    def turned(x: list[float], place: int) -> Tensor:
        return rotate(torch.tensor([x], dtype=torch.float64), torch.tensor([place]))[0]

    s, t = places
    product = float(turned(q, s) @ turned(k, t))
    assert product == pytest.approx(float(turned(q, s + by) @ turned(k, t + by)), abs=1e-9)
    assert float(turned(q, s).norm()) == pytest.approx(math.hypot(*q), abs=1e-9)
    # The same by complex numbers: Re(q conj(k) e^(i angle)) for each pair.
    expected = 0.0
    for c in range(3):
        one, other = complex(*q[2 * c : 2 * c + 2]), complex(*k[2 * c : 2 * c + 2])
        angle = (s - t) / 10000 ** (2 * c / 6)
        expected += (one * other.conjugate() * complex(math.cos(angle), math.sin(angle))).real
    assert product == pytest.approx(expected, abs=1e-9)


@torch.no_grad()
def test_learnt_places_beyond_the_last_share_it() -> None:
    model = transformer(positions="learnt", embedding=4, key=4, layers=1)
    src = torch.full((1, 600), 5)
    h = model.embed(model.W_z, src)
    assert torch.equal(h[0, 511], h[0, 599])
    assert not torch.equal(h[0, 510], h[0, 511])
    assert torch.equal(model.embed(model.W_z, src[:, :1], 520), h[:, 520:521])  # as a step reads it


# Against torch.nn.Transformer


@pytest.mark.parametrize("positions", ["sinusoidal", "learnt"])
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (2, 4), (3, 2)])
def test_it_is_torchs_own_transformer(positions: str, layers: int, heads: int) -> None:
    model = transformer(positions=positions, embedding=12, key=12, layers=layers, heads=heads)
    theirs, batch = TorchTransformer(model).eval(), batch_of(LENGTHS)
    x = model.embed(model.W_z, batch.src).transpose(0, 1)
    expected_h = theirs.torch.encoder(x, src_key_padding_mask=~batch.src_mask).transpose(0, 1)
    h, _ = model._encode(batch.src, batch.src_mask)
    torch.testing.assert_close(h[batch.src_mask], expected_h[batch.src_mask], rtol=0, atol=1e-10)
    ours, _ = model(batch.src, batch.src_mask, batch.tgt_in)
    expected = theirs(batch).log_softmax(-1).transpose(0, 1)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)
    # The gradients of the embeddings have come through every weight of both.
    loss = -ours.gather(2, batch.tgt_out[:, :, None])[:, :, 0][batch.tgt_mask].sum()
    words = [model.W_z.weight, model.W_b.weight]
    gradients = (torch.autograd.grad(each, words) for each in (loss, theirs.loss(batch)))
    for our, their in zip(*gradients, strict=True):
        assert our.abs().max() > 1e-2
        torch.testing.assert_close(our, their, rtol=0, atol=1e-9)


def test_what_torch_does_not_have_is_said() -> None:
    for model in (transformer("additive"), transformer(positions="rotary"), transformer(key=8)):
        with pytest.raises(AugenmerkError, match="torch's Transformer has multi-head attention"):
            TorchTransformer(model)


@torch.no_grad()
def test_the_embeddings_are_those_of_the_paper() -> None:
    """sqrt(D) times the embedding, plus the position; the logits of a tied model are products with it."""
    model = transformer(tie="all", embedding=12)
    tokens = torch.tensor([[7, 4, 9]])
    expected = math.sqrt(12) * model.W_z.weight[tokens] + sinusoidal_positions(torch.arange(3), 12)
    torch.testing.assert_close(model.embed(model.W_z, tokens), expected)
    assert model.W_z.weight is model.W_b.weight is model.W_o.weight
    features = torch.randn(2, 12).double()
    logits = features @ model.W_z.weight[:V].T + model.W_o.bias[:V]
    torch.testing.assert_close(model.output(features), logits)


def test_dropout_is_where_training_is_and_only_there() -> None:
    batch = batch_of(LENGTHS)
    plain, _ = transformer()(batch.src, batch.src_mask, batch.tgt_in)
    variants: list[dict[str, Any]] = [
        {"embedding_dropout": 0.5},
        {"output_dropout": 0.5},
        {"transformer": {"feed_forward": 20, "attention_dropout": 0.5}},
        {"transformer": {"feed_forward": 20, "feed_forward_dropout": 0.5}},
    ]
    for changes in variants:
        model = transformer(**changes)
        torch.testing.assert_close(model(batch.src, batch.src_mask, batch.tgt_in)[0], plain)
        model.train()
        once, again = (model(batch.src, batch.src_mask, batch.tgt_in)[0] for _ in range(2))
        assert (once - plain).abs().max() > 1e-3
        assert (once - again).abs().max() > 1e-3


def test_multiplications_are_those_of_the_matrices() -> None:
    """An encoder layer has 4 DK + 2 DF; a decoder layer also W_q and W_a of the source; its W_k and W_v are
    computed for source words; the output layer has the padded vocabulary."""
    D, K, F, L = 12, 8, 20, 2
    attention, feed_forward = 4 * D * K, 2 * D * F
    source = L * (attention + feed_forward + 2 * D * K)
    target = L * (attention + feed_forward + 2 * D * K) + 64 * D
    assert transformer().multiplications() == (source, target)


# Search


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("beam", [2, 4])
@torch.no_grad()
def test_caches_follow_their_hypotheses(positions: str, beam: int) -> None:
    """What a search says of its hypotheses is what the model says that reads them as a whole."""
    model, generator = transformer(positions=positions), torch.Generator().manual_seed(5)
    sources = [torch.randint(4, V, (length,), generator=generator).tolist() for length in range(1, 10)]
    config = SearchConfig(beam=beam, n_best=beam, max_length=10, length_penalty=0.6)
    found = decode([model], sources, config)
    assert len({len(each.ids) for hypotheses in found for each in hypotheses}) > 1
    for source, hypotheses in zip(sources, found, strict=True):
        src = torch.tensor([[*source, EOS]])
        for each in hypotheses:
            tokens = torch.tensor([BOS, *each.ids, EOS][: len(each.token_log_probabilities) + 1])
            log_probs = model(src, torch.ones_like(src).bool(), tokens[None, :-1])[0][0]
            expected = log_probs.gather(1, tokens[1:, None])[:, 0].tolist()
            assert each.token_log_probabilities == pytest.approx(expected, abs=1e-9)
    best = [hypotheses[0] for hypotheses in found]
    for one, again in zip(best, score([model], sources, [each.ids for each in best]), strict=True):
        if one.finished:
            assert again.log_probability == pytest.approx(one.log_probability, abs=1e-5)  # single precision
            np.testing.assert_allclose(again.weights, one.weights, atol=1e-6, rtol=0)
