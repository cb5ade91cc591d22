"""One step of training against what it should be by hand; on a GPU, recorded against done anew."""

import copy

import pytest
import torch
from torch import Tensor, nn

from augenmerk.base.config import ModelConfig, TrainConfig
from augenmerk.model.interface import TranslationModel, build_model
from augenmerk.text.batching import Batch, ParallelTokens
from augenmerk.training.engine import Engine

CPU = torch.device("cpu")
GPU = torch.device("cuda")
V = 40
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
both_architectures = pytest.mark.parametrize("architecture", ["gru", "transformer"])


def data(lengths: list[tuple[int, int]], seed: int = 1) -> ParallelTokens:
    generator = torch.Generator().manual_seed(seed)
    return ParallelTokens.of(
        tuple(torch.randint(4, V, (length,), generator=generator).tolist() for length in pair)  # type: ignore[misc]
        for pair in lengths
    )


def batches(tokens: ParallelTokens, size: int, device: torch.device = CPU) -> list[Batch]:
    return [batch.to(device) for batch in tokens.batches(tokens.plan(size, shuffle=False))]


def model(dropout: float = 0.0, architecture: str = "gru") -> TranslationModel:
    torch.manual_seed(5)
    config = ModelConfig(
        architecture=architecture, embedding=16, hidden=16, key=16, layers=2, embedding_dropout=dropout
    )
    return build_model(config, V, V)


def engine(**settings: object) -> Engine:
    config = TrainConfig.model_validate({"precision": "fp32", **settings})
    return Engine(model(), config, CPU)


def gradients(of: Engine) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in of.parameters.items() if p.grad is not None}


def test_the_objective_is_the_mean_over_real_tokens() -> None:
    [batch] = batches(data([(5, 4), (3, 6), (1, 1)]), 3)
    ours = engine()
    ours.backward(batch, 1 / batch.target_tokens)
    reference = model()
    log_probabilities, _ = reference(batch.src, batch.src_mask, batch.tgt_in)
    losses = [
        -log_probabilities[b, t, batch.tgt_out[b, t]]
        for b in range(3)
        for t in range(batch.tgt_out.shape[1])
        if batch.tgt_mask[b, t]
    ]
    assert len(losses) == batch.target_tokens == 4 + 6 + 1 + 3
    total = sum(losses)
    assert isinstance(total, Tensor)
    torch.testing.assert_close(ours.loss_sum.float(), total)
    (total / len(losses)).backward()  # type: ignore[no-untyped-call]
    for name, parameter in reference.named_parameters():
        torch.testing.assert_close(ours.parameters[name].grad, parameter.grad, rtol=1e-4, atol=1e-6)


def test_in_bf16_the_output_layer_has_few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    all_batches = batches(data([(5, 4), (3, 6), (4, 4), (2, 2), (3, 1), (1, 2)]), 2)
    padded, plain = (engine(precision="bf16", label_smoothing=0.1) for _ in range(2))
    rows = []
    padded.model.W_o.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))  # type: ignore
    for batch in all_batches:
        padded.backward(batch, 1.0)
    monkeypatch.setattr("augenmerk.training.engine.ROUND_ROWS", 1)
    for batch in all_batches:
        plain.backward(batch, 1.0)
    assert set(rows) == {64}
    torch.testing.assert_close(padded.loss_sum, plain.loss_sum, rtol=1e-5, atol=0)
    for name, gradient in gradients(plain).items():
        torch.testing.assert_close(padded.parameters[name].grad, gradient, rtol=0.02, atol=1e-3)


def test_label_smoothing_mixes_in_every_word() -> None:
    [batch] = batches(data([(5, 4), (3, 6)]), 2)
    ours = engine(label_smoothing=0.2)
    ours.backward(batch, 1.0)
    log_probabilities, _ = model()(batch.src, batch.src_mask, batch.tgt_in)
    target = log_probabilities.gather(2, batch.tgt_out[:, :, None])[:, :, 0]
    expected = -(0.8 * target + 0.2 * log_probabilities.mean(dim=-1))[batch.tgt_mask].sum()
    torch.testing.assert_close(ours.loss_sum.float(), expected)


def test_accumulated_batches_are_one_large_batch() -> None:
    lengths = [(5, 4), (3, 6), (1, 1), (7, 2), (4, 4)]
    tokens = data(lengths)
    one, several = engine(), engine()
    one.update = several.update = lambda: None  # type: ignore[method-assign]
    one.step(batches(tokens, 5), 0.1)
    several.step(batches(tokens, 2), 0.1)
    for name, gradient in gradients(one).items():
        torch.testing.assert_close(gradients(several)[name], gradient, rtol=1e-4, atol=1e-6)


def test_parts_of_batches_are_the_whole_batches() -> None:
    """Also where a batch has fewer pairs than there are parts."""
    whole = batches(data([(5, 4), (3, 6), (1, 1), (7, 2), (4, 4), (2, 3), (6, 6)]), 4)
    assert [len(batch.src) for batch in whole] == [4, 3]
    parts = [whole[1].part(number, 4) for number in range(4)]
    assert parts[3] is None
    assert [part.indices.tolist() for part in parts[:3] if part] == [[i] for i in whole[1].indices.tolist()]
    one, divided = engine(), engine(exact_parts=4)
    for each in (one, divided):
        each.update = lambda: None  # type: ignore[method-assign]
        each.step(whole, 0.1)
    torch.testing.assert_close(divided.loss_sum, one.loss_sum)
    for name, gradient in gradients(one).items():
        torch.testing.assert_close(gradients(divided)[name], gradient, rtol=1e-4, atol=1e-6)


def test_clipping_bounds_the_gradient() -> None:
    [batch] = batches(data([(5, 4), (3, 6)]), 2)
    ours = engine(clip=0.01, lr=1.0)
    ours.backward(batch, 1.0)
    seen: list[float] = []
    step = ours.optimizer.step

    def watched() -> None:
        seen.append(float(nn.utils.get_total_norm(list(gradients(ours).values()))))
        step()

    ours.optimizer.step = watched  # type: ignore[method-assign,assignment]
    ours.update()
    assert seen == [pytest.approx(0.01, rel=1e-3)]


def test_the_average_follows_the_weights() -> None:
    [batch] = batches(data([(5, 4), (3, 6)]), 2)
    ours = engine(ema=0.75)
    before = {name: p.detach().clone() for name, p in ours.parameters.items()}
    ours.step([batch], 0.1)
    assert ours.average is not None
    for name, parameter in ours.parameters.items():
        torch.testing.assert_close(ours.average[name], 0.75 * before[name] + 0.25 * parameter)


def test_a_state_brings_everything_back() -> None:
    shapes = batches(data([(5, 4), (3, 6), (4, 4), (2, 2)]), 2)
    ours = engine(ema=0.5)
    ours.step(shapes[:1], 0.1)
    saved = {name: tensor.clone() for name, tensor in ours.state().items()}
    ours.step(shapes[1:], 0.1)
    other = engine(ema=0.5)
    other.load(saved)
    other.step(shapes[1:], 0.1)
    for name, tensor in ours.state().items():
        assert torch.equal(tensor, other.state()[name]), name


# On a GPU


def pair_of_engines(architecture: str, **settings: object) -> tuple[Engine, Engine]:
    """In double precision, because Adam moves weights whose gradient is mere rounding as far as others."""
    config = TrainConfig.model_validate({"precision": "fp32", "batch_size": 4, **settings})
    translator = model(architecture=architecture).double()
    return Engine(copy.deepcopy(translator), config, CPU), Engine(translator, config, GPU)


def count_graphs(engine: Engine) -> int:
    """Returns the number of shapes of batches that were recorded; one more graph is the update."""
    assert engine.graphs is not None
    return len(engine.graphs.recorded.keys() - {"update"})


@needs_gpu
@both_architectures
@pytest.mark.parametrize(
    "settings", [{}, {"clip": 0.1, "ema": 0.9, "optimizer": "adamw"}, {"exact_parts": 2}], ids=str
)
def test_recorded_work_is_the_same_work(settings: dict[str, object], architecture: str) -> None:
    """Shapes that come again and again, in turns and with an odd one between, against the CPU."""
    tokens = data([(5, 4)] * 8 + [(7, 6)] * 8 + [(3, 3)] * 3)
    on_cpu, on_gpu = pair_of_engines(architecture, **settings)
    for number in range(5):
        for batch in batches(tokens, 4):
            for each in (on_cpu, on_gpu):
                each.step([batch.to(each.device)], 0.003 * (number + 1), number)
    assert "exact_parts" in settings or count_graphs(on_gpu) == 3
    for number in range(4):  # and batches that are accumulated
        for each in (on_cpu, on_gpu):
            each.step([batch.to(each.device) for batch in batches(data([(5, 4)] * 16), 4)], 0.01, number)
    torch.testing.assert_close(on_gpu.loss_sum.cpu(), on_cpu.loss_sum, rtol=1e-4, atol=1e-3)
    for name, parameter in on_cpu.parameters.items():
        torch.testing.assert_close(on_gpu.parameters[name].cpu(), parameter, rtol=1e-2, atol=1e-3)


@needs_gpu
def test_dropout_of_a_part_is_a_function_of_the_step_when_replayed() -> None:
    on_gpu = Engine(model(0.5), TrainConfig(precision="fp32", batch_size=4, exact_parts=2), GPU)
    on_gpu.model.train()
    [batch] = batches(data([(9, 9)] * 4), 4, GPU)
    losses = []
    for number in (0, 0, 0, 1, 2, 1, 2):
        on_gpu.loss_sum.zero_()
        on_gpu.step([batch], 0.0, number)
        losses.append(float(on_gpu.loss_sum))
    assert losses[3:5] == pytest.approx(losses[5:], rel=1e-5)
    assert len({round(loss, 3) for loss in losses[2:5]}) == 3


@needs_gpu
@both_architectures
def test_dropout_differs_from_replay_to_replay(architecture: str) -> None:
    config = TrainConfig(precision="fp32", batch_size=4)
    on_gpu = Engine(model(0.5, architecture), config, GPU)
    on_gpu.model.train()
    [batch] = batches(data([(9, 9)] * 4), 4, GPU)
    losses = []
    for _ in range(8):
        on_gpu.loss_sum.zero_()
        on_gpu.step([batch], 0.0)
        losses.append(float(on_gpu.loss_sum))
    assert len(set(losses)) == 8
