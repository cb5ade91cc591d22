"""The race to a BLEU: it runs, and what it tokenises aside is what the package would."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from augenmerk.base.config import load_config
from augenmerk.data import open_bitext
from augenmerk.text.batching import PlannedBatch, encode_pairs
from augenmerk.text.tokenizer import TokenizerPair

FOLDER = Path(__file__).parents[2] / "benchmarks"
SMALL = [
    "text.vocabulary_size=600",
    "model.embedding=16",
    "model.hidden=16",
    "train.epochs=1",
    "search.beam=1",
]


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("time_to_bleu")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture
def race(benchmarks: ModuleType) -> ModuleType:
    found = sys.modules["race"]
    assert benchmarks.Race is found.Race
    return found


def test_sentences_put_together_of_numbered_words_are_those_of_the_tokenizer(race: ModuleType) -> None:
    aside = sys.modules["background_tokenizing"]
    assert race.BackgroundTokenizer is aside.BackgroundTokenizer
    text = load_config("quick", SMALL).text
    pairs = list(open_bitext("bilderbuch", pairs=300)["train"])
    tokenizers = TokenizerPair.train(pairs[::3], text)
    sources = [pair.source for pair in pairs]
    flat = aside.encode(
        tokenizers.source, [aside.number(sources[:100], text), aside.number(sources[100:], text)]
    )
    expected = tokenizers.source.encode_ids(sources)
    assert flat.ids.tolist() == [i for sentence in expected for i in sentence]
    some = np.array([7, 3, 250])
    table = flat.keep(some).table()
    wanted = encode_pairs(
        [pairs[i] for i in some], tokenizers.source.encode_ids, tokenizers.target.encode_ids
    ).source
    assert np.array_equal(table.flat, wanted.flat)
    assert np.array_equal(table.bounds, wanted.bounds)
    assert table.lengths.tolist() == wanted.lengths.tolist()


def test_other_processes_tokenise_when_they_are_told_to(race: ModuleType) -> None:
    text = load_config("quick", SMALL).text
    book = open_bitext("bilderbuch", pairs=300)
    pairs, val = list(book["train"]), list(book["val"])[:20]
    aside = race.BackgroundTokenizer(text, pairs, val, sample=2, longest=15)
    aside.begin()
    seconds, tokenizers, tokens, val_tokens = aside.result()
    assert set(seconds) == {"learning the vocabulary", "encoding"}
    expected = TokenizerPair.train(pairs[::2], text)
    assert tokenizers.source.to_json() == expected.source.to_json()
    encoders = expected.source.encode_ids, expected.target.encode_ids
    every = encode_pairs(pairs, *encoders)
    short = (every.source.lengths <= 15) & (every.target.lengths <= 15)
    assert 0 < short.sum() < len(pairs)
    kept = encode_pairs([pair for pair, is_short in zip(pairs, short, strict=True) if is_short], *encoders)
    for got, wanted in ((tokens, kept), (val_tokens, encode_pairs(val, *encoders))):
        assert np.array_equal(got.source.flat, wanted.source.flat)
        assert np.array_equal(got.target.flat, wanted.target.flat)
        assert np.array_equal(got.target.bounds, wanted.target.bounds)


def test_only_full_batches_of_few_widths_run(race: ModuleType) -> None:
    def planned(size: int, source: int, target: int) -> PlannedBatch:
        return PlannedBatch(np.arange(size), source, target, size * target)

    plan = race.squared([planned(4, 9, 12), planned(3, 9, 9), planned(4, 29, 13)], 4)
    assert [(len(batch.indices), batch.source_width, batch.target_width) for batch in plan] == [
        (4, 12, 12),
        (4, 32, 32),
    ]


def test_a_race_on_a_cpu(race: ModuleType) -> None:
    book = open_bitext("bilderbuch", pairs=200)
    splits = {"train": list(book["train"]), "val": list(book["val"])[:20], "test": list(book["test"])[:20]}
    config = load_config("quick", [*SMALL, "train.precision=fp32"])
    row = race.Race(config, splits, torch.device("cpu")).run("test")
    assert row["seconds"] == pytest.approx(sum(row["laps"].values()))
    assert set(row["laps"]) >= {"tokenising", "training", "validation"}
    assert 0 <= row["bleu"] <= 100


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_recipe_can_be_read(benchmarks: ModuleType, device: str) -> None:
    recipes = [recipe for (kind, _mark), recipe in benchmarks.RECIPES.items() if kind == device]
    assert recipes
    for recipe in recipes:
        assert load_config("quick", recipe).text.joint
