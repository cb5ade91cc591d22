"""What must always be true, on a GPU too. Skipped, visibly, where there is none."""

from pathlib import Path

import pytest
import torch

from augenmerk.bench.loop import StepByStep
from augenmerk.config import ATTENTIONS, AttentionName
from augenmerk.train import start, train
from tests.runs import tiny
from tests.test_train import Silent
from tests.test_translator import data, translator

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
GPU = torch.device("cuda")


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_forward_step_loop_and_single_sentences_agree(attention: AttentionName) -> None:
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


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_there_learns_as_here(tmp_path: Path, precision: str) -> None:
    settings = {"train__epochs": 6, "model__embedding_dropout": 0.0, "train__precision": precision}
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
