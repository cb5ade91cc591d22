"""The model that comes with the package: small enough, whole, and good enough to be a newcomer's first."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import augenmerk
from augenmerk.checkpoint import SHIPPED, RunDirectory
from augenmerk.translate import TextTranslator

SENTENCES = {
    "Ein Mann fährt mit dem Fahrrad durch den Park.": {"man", "riding", "through", "the", "park"},
    "Eine alte Frau sitzt mit ihrer Katze auf der Bank.": {"old", "woman", "bench", "cat"},
    "Der alte Mann liest in der Küche eine Zeitung.": {"old", "man", "reading", "newspaper", "kitchen"},
}


def test_it_is_small_and_has_no_more_than_it_needs() -> None:
    names = {file.name for file in SHIPPED.iterdir()}
    assert names == {
        *("config.toml", "tokenizer.json", "model.safetensors", "metrics.jsonl", "result.json"),
        *("scores.json", "MODEL_CARD.md"),
    }
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) <= 8_000_000
    assert {tensor.dtype for tensor in load_file(SHIPPED / "model.safetensors").values()} == {torch.float16}


@pytest.fixture(scope="module")
def translator() -> TextTranslator:
    return augenmerk.load()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_it_translates(translator: TextTranslator, sentence: str) -> None:
    translation = translator.translate(sentence)
    assert set(translation.text.rstrip(".").split()) >= SENTENCES[sentence]
    assert translation.text.endswith(".")
    rows = translation.attention.sum(dim=1)
    torch.testing.assert_close(rows, torch.ones_like(rows), rtol=0, atol=1e-4)


def test_it_is_what_commands_use_that_are_told_no_other(tmp_path: Path) -> None:
    sentence = next(iter(SENTENCES))
    base = [sys.executable, "-m", "augenmerk"]
    translate = [*base, "translate", "--json", "--device", "cpu", sentence]
    done = subprocess.run(translate, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["translation"] == augenmerk.load().translate(sentence).text
    picture = tmp_path / "bicycle.svg"
    draw = [*base, "diagram", sentence, "--device", "cpu", "--out", str(picture)]
    subprocess.run(draw, check=True, capture_output=True)
    assert picture.stat().st_size > 0


def test_its_card_says_what_its_scores_say() -> None:
    card = (SHIPPED / "MODEL_CARD.md").read_text(encoding="utf-8")
    scores = RunDirectory.open(SHIPPED).read_scores()
    assert {(row["split"], row["beam"]) for row in scores} >= {
        ("test_2016_flickr", 1),
        ("test_2016_flickr", 5),
    }
    for row in scores:
        line = next(line for line in card.splitlines() if line.startswith(f"| {row['split']}"))
        assert f"{row['bleu']:.1f}" in line
        assert row["bleu_signature"] in card
        if (row["split"], row["beam"]) == ("test_2016_flickr", 5):
            assert row["bleu"] >= 39
