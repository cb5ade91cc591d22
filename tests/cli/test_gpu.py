"""What must always be true, on a GPU too. Skipped, visibly, where there is none."""

from pathlib import Path
from typing import Any

import pytest
import torch

from augenmerk.bench.training import StepByStep
from augenmerk.data import open_bitext
from augenmerk.training.loop import train
from augenmerk.training.start import start
from augenmerk.translation import load
from tests.process.test_train import Silent
from tests.support.mechanisms import CLASSIC
from tests.support.runs import tiny
from tests.unit.test_transformer import POSITIONS, batch_of, transformer
from tests.unit.test_translator import data, translator

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
GPU = torch.device("cuda")


@pytest.mark.parametrize("attention", CLASSIC)
def test_forward_step_loop_and_single_sentences_agree(attention: str) -> None:
    model = translator(attention, layers=2).to(GPU)
    lengths = [(5, 4), (3, 6), (1, 1), (7, 0)]
    tokens = data(lengths).to(GPU)
    [batch] = tokens.batches(tokens.plan(4, shuffle=False))
    together, weights = model(batch.src, batch.src_mask, batch.tgt_in, need_weights=True)
    source = model.encode(batch.src, batch.src_mask)
    g = source.start
    for i in range(batch.tgt_in.shape[1]):
        single, alpha, g = model.step(batch.tgt_in[:, i : i + 1], g, source.memory)
        torch.testing.assert_close(together[:, i], single[:, 0])
        torch.testing.assert_close(weights[:, i], alpha[:, 0])
    torch.testing.assert_close(StepByStep(model)(batch).log_softmax(-1).transpose(0, 1), together)
    for row, index in enumerate(batch.indices.tolist()):
        s, t = (length + 1 for length in lengths[index])
        part = slice(row, row + 1)
        alone, _ = model(batch.src[part, :s], batch.src_mask[part, :s], batch.tgt_in[part, :t])
        torch.testing.assert_close(together[row, :t], alone[0])


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("attention", CLASSIC)
@torch.no_grad()
def test_a_transformer_there_is_that_here(attention: str, positions: str) -> None:
    model, batch = transformer(attention, positions), batch_of([(5, 4), (3, 6), (1, 1), (7, 0)])
    expected, weights = model(batch.src, batch.src_mask, batch.tgt_in, need_weights=True)
    there, model = batch.to(GPU), model.to(GPU)
    fused, _ = model(there.src, there.src_mask, there.tgt_in)
    torch.testing.assert_close(fused.cpu(), expected)
    source = model.encode(there.src, there.src_mask)
    state = source.start
    for i in range(there.tgt_in.shape[1]):
        single, alpha, state = model.step(there.tgt_in[:, i : i + 1], state, source.memory)
        torch.testing.assert_close(single[:, 0].cpu(), expected[:, i], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(alpha[:, 0].cpu(), weights[:, i], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_there_learns_as_here(tmp_path: Path, precision: str, architecture: str) -> None:
    settings = {
        "train__epochs": 6,
        "model__embedding_dropout": 0.0,
        "train__precision": precision,
        "model__architecture": architecture,
    }
    losses = {}
    for name, device in (("cpu", torch.device("cpu")), ("gpu", GPU)):
        directory = start(tiny(**settings), tmp_path / name)
        reporter = Silent()
        train(directory, device, reporter)
        losses[name] = reporter.epochs[-1]["validation_loss"]
    assert losses["gpu"] == pytest.approx(losses["cpu"], abs=0.15)


def test_a_run_goes_on_from_the_other_device(tmp_path: Path) -> None:
    directory = start(tiny(train__epochs=2), tmp_path / "run")
    train(directory, GPU, Silent())
    (tmp_path / "run" / "result.json").unlink()
    saved = directory.load_state()
    assert saved is not None
    tensors, progress = saved
    directory.save_state(tensors, {**progress, "epoch": 1, "history": progress["history"][:1]})
    result = train(directory, torch.device("cpu"), Silent())
    assert result["epochs"] == 2


def test_translations_and_samples_are_those_of_the_cpu() -> None:
    sources = [pair.source.lower() for pair in open_bitext("bilderbuch")["test"]][:60]
    here, there = load(), load(device="cuda")
    variants: list[tuple[int, dict[str, Any]]] = [
        (0, {"beam": 1}),
        (0, {"beam": 4}),
        # A number drawn within rounding of the border between two words falls to either: 4,000 borders,
        # each uncertain by about 1e-7, make that one draw in some thousand.
        (3, {"sample": True}),
        (1, {"sample": True, "top_k": 5}),
    ]
    for allowed, settings in variants:
        texts = ([each.text for each in one.translate(sources, **settings)] for one in (here, there))
        assert sum(a != b for a, b in zip(*texts, strict=True)) <= allowed, settings
