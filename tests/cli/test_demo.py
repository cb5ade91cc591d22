"""The main job, in miniature: the same code on a small book."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from augenmerk.base.config import BilderbuchConfig, RunConfig
from augenmerk.study import demo
from augenmerk.training.loop import Reporter
from tests.support.command import run_json
from tests.support.runs import CPU, Silent


def small(attention: str) -> RunConfig:
    config = ORIGINAL(attention)
    return config.model_copy(
        update={
            "data": config.data.model_copy(update={"bilderbuch": BilderbuchConfig(pairs=40)}),
            "train": config.train.model_copy(update={"epochs": 1}),
        }
    )


ORIGINAL = demo.demo_config


def quiet(_config: RunConfig) -> AbstractContextManager[Reporter]:
    return nullcontext(Silent())


@pytest.mark.slow
def test_mechanisms_are_trained_compared_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "demo_config", small)
    said: list[str] = []
    rows = demo.run_demo(tmp_path, CPU, said.append, quiet)
    assert [row["attention"] for row in rows] == ["none", "mean", "scaled-dot"]
    assert rows[0]["alignment_error"] is None  # it attends to nothing
    assert all(0 < row["alignment_error"] < 1 for row in rows[1:])
    assert all(row["perplexity"] > 1 and 0 <= row["bleu_greedy"] <= 100 for row in rows)
    assert sum("training" in what for what in said) == 3
    again = demo.run_demo(tmp_path, CPU, said.append, quiet)
    assert sum("training" in what for what in said) == 3  # what is there is not trained again
    assert [row["loss"] for row in again] == [row["loss"] for row in rows]
    translated = run_json("translate", "--model", tmp_path / "mean", demo.SENTENCES[0])
    assert translated["source"] == demo.SENTENCES[0]


def test_every_word_of_the_sentences_is_in_the_book() -> None:
    from augenmerk.data import open_bitext
    from augenmerk.text.words import split_words

    left = {word for sentence in demo.SENTENCES for word in split_words(sentence)}
    for pair in open_bitext("bilderbuch")["train"]:
        left.difference_update(split_words(pair.source))
        if not left:
            return
    raise AssertionError(left)
