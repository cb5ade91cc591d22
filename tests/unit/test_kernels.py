"""Each faster part of a training step against torch's own, in higher precision."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from augenmerk.base.config import ModelConfig, TrainConfig
from augenmerk.model import kernels
from augenmerk.model.gru import run_each
from augenmerk.model.interface import build_model
from augenmerk.model.kernels import Dropout, apply_linear, embed, fused_cross_entropy, half_precision, run_gru
from augenmerk.model.kernels.cpu import Packing
from augenmerk.text.batching import Batch
from augenmerk.training.engine import Engine

GPU = torch.device("cuda")
has_kernels = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == 9
needs_kernels = pytest.mark.skipif(not has_kernels, reason="there is no GPU here on which they can be used")
RNG = torch.Generator().manual_seed(7)


def randn(*sizes: int) -> Tensor:
    return torch.randn(*sizes, generator=RNG, dtype=torch.float64)


def assert_near(found: Tensor | None, expected: Tensor | None, tolerance: float = 0.01) -> None:
    """Compares what bf16 gave with float64: each number is rounded by up to 0.4 per cent."""
    assert found is not None
    assert expected is not None
    found, expected = found.detach().double().cpu(), expected.detach().double()
    assert float((found - expected).norm()) <= tolerance * float(expected.norm())


def on_gpu(tensor: Tensor) -> Tensor:
    return tensor.detach().to(GPU, torch.float32).requires_grad_()


def gradients(out: Tensor, inputs: Sequence[Tensor], grad: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(out, inputs, grad.to(out.dtype))


def on(device: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The same numbers there: on a GPU in single precision."""
    return (
        list(tensors)
        if device == "cpu"
        else [each.detach().to(GPU, torch.float32).requires_grad_() for each in tensors]
    )


# Few and many sentences; those that leave a tile half empty; a GRU with more states than inputs, and fewer.
@pytest.mark.parametrize(
    ("device", "dtype", "sizes"),
    [
        *(
            ("cpu", dtype, sizes)
            for dtype in (torch.float64, torch.bfloat16)
            for sizes in ((1, 1, 3, 2), (1, 5, 24, 64), (37, 7, 30, 12), (5, 9, 7, 5), (200, 30, 4, 3))
        ),
        *(
            pytest.param("cuda", torch.bfloat16, sizes, marks=needs_kernels)
            for sizes in ((1, 2, 24, 64), (37, 7, 300, 128), (128, 9, 256, 512), (200, 5, 64, 512))
        ),
    ],
)
def test_two_directions_are_those_of_torch(
    device: str, dtype: torch.dtype, sizes: tuple[int, int, int, int]
) -> None:
    B, S, E, H = sizes
    one, other = (nn.GRU(E, H, batch_first=True).double() for _ in range(2))
    lengths = torch.randint(1, S + 1, (B,), generator=RNG)
    real = (torch.arange(S) < lengths[:, None])[..., None]  # what comes after that means nothing
    x, grad = randn(B, S, E).requires_grad_(), randn(B, S, 2 * H) * real
    expected = run_each(x, one, other, lengths) * real
    inputs = [x, *one.all_weights[0], *other.all_weights[0]]
    there, copy = on(device, inputs), grad.clone()
    with torch.autocast(device, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        found = run_gru(there[0], None, lengths.to(device), [there[1:5], there[5:]])
    assert found is not None
    assert found.dtype == dtype
    assert device == "cuda" or found.isfinite().all()
    # One sentence of one word has few numbers to average over.
    tolerance = {"cuda": 0.01, "cpu": 0.03 if dtype == torch.bfloat16 else 1e-6}[device]
    for mine, its in zip(
        (found * real.to(device), *gradients(found, there, grad.to(device))),
        (expected, *gradients(expected, inputs, grad)),
        strict=True,
    ):
        assert_near(mine, its, tolerance)
    assert torch.equal(grad, copy)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=70), st.integers(0, 3), st.sampled_from([1, 2]))
def test_packing_reads_every_word_once(lengths: list[int], more: int, directions: int) -> None:
    B, S = len(lengths), max(lengths) + more
    packing = Packing.of(torch.tensor(lengths), S, directions)
    assert all(0 < end - start <= B for start, end in pairwise(packing.starts))
    real = torch.arange(S) < torch.tensor(lengths)[:, None]
    x = torch.arange(1.0, B * S * directions + 1).view(B * S, directions, 1)
    packed = packing.pack(x)
    assert packed.shape[1] > packing.starts[-1]  # the last row stands for padding
    packed[:, -1] = 0
    unpacked = packing.unpack(packed)
    assert torch.equal(unpacked[real.flatten()], x[real.flatten()])
    # The first direction reads the first words first, the second the last ones.
    first = packing.indices[:, : packing.starts[1]]
    ends = packing.sentences * S + torch.tensor(lengths)[packing.sentences] - 1
    assert torch.equal(first[0], packing.sentences * S)
    assert directions == 1 or torch.equal(first[1], ends)


@pytest.mark.parametrize(
    ("device", "B", "all_alike"),
    [
        *(("cpu", B, all_alike) for B in (1, 6, 40) for all_alike in (True, False)),
        *(pytest.param("cuda", B, True, marks=needs_kernels) for B in (3, 128, 256)),
    ],
)
def test_one_direction_begins_with_a_state(device: str, B: int, all_alike: bool) -> None:
    H = 16 if device == "cpu" else 256
    gru, x = nn.GRU(8, H, batch_first=True).double(), randn(B, 6, 8)
    lengths = torch.full((B,), 6) if all_alike else torch.randint(1, 7, (B,), generator=RNG)
    real = (torch.arange(6) < lengths[:, None])[..., None]
    h0, grad = randn(B, 1, H).requires_grad_(), randn(B, 6, H) * real
    expected = gru(x, h0.transpose(0, 1).contiguous())[0] * real
    inputs, copy = [h0, *gru.all_weights[0]], grad.clone()
    there = on(device, inputs)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
        found = run_gru(on(device, [x])[0], there[0], None if all_alike else lengths, [there[1:]])
    assert found is not None
    for mine, its in zip(
        (found * real.to(device), *gradients(found, there, grad.to(device))),
        (expected, *gradients(expected, inputs, grad)),
        strict=True,
    ):
        assert_near(mine, its, 1e-6 if device == "cpu" else 0.01)
    assert torch.equal(grad, copy)  # one sentence needs no other order, and is not written over


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(
    ("device", "dtype", "V"),
    [
        *(("cpu", dtype, V) for dtype in (torch.float64, torch.bfloat16) for V in (5, 64, 100)),
        *(pytest.param("cuda", torch.bfloat16, V, marks=needs_kernels) for V in (5, 4000, 12_345)),
    ],
)
def test_the_loss_is_that_of_torch(device: str, dtype: torch.dtype, V: int, smoothing: float) -> None:
    logits, targets = 3 * randn(50, -(-V // 64) * 64), torch.randint(1, V, (50,), generator=RNG)
    targets[::7] = 0
    here = logits.to(dtype).double().clone().requires_grad_()
    expected = nn.functional.cross_entropy(
        here[:, :V], targets, ignore_index=0, reduction="sum", label_smoothing=smoothing
    )
    (expected / 3).backward()  # type: ignore[no-untyped-call]
    leaf = logits.to(device, dtype).clone().requires_grad_()
    found = fused_cross_entropy(leaf.clone(), targets.to(device), V, 0, smoothing)
    (found / 3).backward()  # type: ignore[no-untyped-call]
    rtol = 1e-12 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(found.cpu().double(), expected, rtol=rtol, atol=0)
    assert_near(leaf.grad, here.grad)
    assert not leaf.grad[:, V:].any()  # type: ignore[index]
    assert not leaf.grad[::7].any()  # type: ignore[index]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_as_many_as_it_should(p: float) -> None:
    layer, x = Dropout(p), torch.rand(1001, 333) + 1
    torch.manual_seed(1)
    y = layer(x)
    kept = y != 0
    assert float(kept.float().mean()) == pytest.approx(1 - p, abs=0.004)  # five standard deviations
    torch.testing.assert_close(y[kept], x[kept] / (1 - p), rtol=1e-4, atol=0)
    # Neighbours are independent of each other: their random bits were drawn together.
    both = (kept[:, 1:] & kept[:, :-1]).float().mean()
    assert float(both) == pytest.approx((1 - p) ** 2, abs=0.006)
    torch.manual_seed(1)
    assert torch.equal(layer(x), y)
    assert not torch.equal(layer(x), y)
    assert torch.equal(layer.eval()(x), x)


def test_dropout_of_nothing_and_of_everything() -> None:
    x = torch.ones(3, 5)
    assert torch.equal(Dropout(0.0)(x), x)
    assert not Dropout(1.0)(x).any()
    assert Dropout(0.5)(x.bfloat16()).dtype == torch.bfloat16
    assert Dropout(0.5)(torch.ones(0, 4)).shape == (0, 4)


# On a GPU


def test_those_for_a_gpu_are_not_used_on_a_cpu_or_in_fp32() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert half_precision(torch.device("cpu")) is None
    assert half_precision(GPU) is None  # without autocast
    x = torch.zeros(2, 3, 4)
    with torch.no_grad():
        assert run_gru(x, None, None, nn.GRU(4, 64).all_weights) is None
    layer, words = nn.Linear(4, 5), nn.Embedding(9, 4)
    assert torch.equal(apply_linear(x, layer), layer(x))
    ids = torch.tensor([[1, 8]])
    assert torch.equal(embed(ids, words), words(ids))


@needs_kernels
def test_a_size_that_does_not_fit_is_left_to_torch() -> None:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for B, H in ((4, 48), (4, 1024), (4096, 512)):
            weights = [weight.to(GPU) for weight in nn.GRU(8, H).all_weights[0]]
            assert run_gru(torch.zeros(B, 2, 8, device=GPU), None, None, [weights]) is None


def test_processes_that_share_a_gpu_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    assert not kernels._mps_runs()
    (tmp_path / "control").touch()  # the pipe of MPS's daemon
    assert kernels._mps_runs()


@needs_kernels
def test_embeddings_and_a_linear_layer_are_those_of_torch() -> None:
    ids = torch.randint(0, 90, (40, 9), generator=RNG)
    words, layer, grad = nn.Embedding(90, 32).double(), nn.Linear(32, 70).double(), randn(40, 9, 70)
    expected = layer(words(ids))
    expected.backward(grad)
    there, layer_there = (nn.Embedding(90, 32).to(GPU), nn.Linear(32, 70).to(GPU))
    there.load_state_dict(words.state_dict())
    layer_there.load_state_dict(layer.state_dict())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = apply_linear(embed(ids.to(GPU), there), layer_there)
    found.backward(grad.to(found))  # type: ignore[no-untyped-call]
    assert_near(found, expected)
    assert_near(there.weight.grad, words.weight.grad)
    assert_near(layer_there.weight.grad, layer.weight.grad)
    assert_near(layer_there.bias.grad, layer.bias.grad)


@needs_kernels
def test_the_same_gradients_come_again() -> None:
    """Sums have a fixed order, so that a seed gives the same model every time."""
    weights = [on_gpu(weight) for weight in nn.GRU(16, 128).all_weights[0]]
    x, words = randn(64, 12, 16).to(GPU, torch.bfloat16), nn.Embedding(50, 16).to(GPU)
    ids, grad = torch.randint(0, 50, (64, 12), device=GPU), randn(64, 12, 128).to(GPU, torch.bfloat16)
    results = []
    for _ in range(5):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = run_gru(x + embed(ids, words), None, None, [weights])
        assert out is not None
        results.append(torch.autograd.grad(out, [*weights, words.weight], grad))
    for result in results[1:]:
        assert all(torch.equal(one, two) for one, two in zip(result, results[0], strict=True))


@needs_kernels
@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_training_is_the_same_without_them(monkeypatch: pytest.MonkeyPatch, architecture: str) -> None:
    V, B, S = 60, 16, 8
    sizes = {"embedding": 64, "hidden": 64, "key": 64, "layers": 2, "embedding_dropout": 0.0}
    settings = ModelConfig.model_validate({"architecture": architecture, **sizes})
    config = TrainConfig(precision="bf16", batch_size=B)
    ids, real = torch.randint(4, V, (5, B, S), device=GPU), torch.ones(B, S, dtype=torch.bool, device=GPU)
    lengths = torch.full((B,), S, device=GPU)
    losses: list[list[float]] = []
    for works in (True, False):
        monkeypatch.setattr(kernels, "_works", lambda _device, works=works: works)
        torch.manual_seed(3)
        engine = Engine(build_model(settings, V, V), config, GPU)
        engine.model.train()
        losses.append([])
        for each in [*ids] * 4:
            engine.loss_sum.zero_()
            engine.step([Batch(each, real, lengths, each, each, real, lengths, B * S)], 0.003)
            losses[-1].append(float(engine.loss_sum) / (B * S))
    assert losses[0][-1] < 0.8 * losses[0][0]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
