"""The model that comes with the package: small enough, whole, and good enough to be a newcomer's first."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import augenmerk
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import app
from augenmerk.run.bundled import BUNDLED_MODEL, copy_bundled_model
from augenmerk.run.directory import RunDirectory
from augenmerk.translation import Translator
from tests.support.command import run_command, run_json

SENTENCES = {
    "Ein Mann fährt mit dem Fahrrad durch den Park.": {"man", "riding", "through", "the", "park"},
    "Eine alte Frau sitzt mit ihrer Katze auf der Bank.": {"old", "woman", "bench", "cat"},
    "Der alte Mann liest in der Küche eine Zeitung.": {"old", "man", "reading", "newspaper", "kitchen"},
    "Ein kleines Mädchen, das einen roten Hut trägt, hat einen Ball gefangen.": {"red", "hat", "caught"},
    "Auf der Straße stehen zwei Frauen, die miteinander sprechen.": {"two", "women", "street", "talking"},
}


def test_it_is_small_and_has_no_more_than_it_needs() -> None:
    names = {file.name for file in BUNDLED_MODEL.iterdir()}
    assert names == {
        *("config.toml", "tokenizer.json", "model.safetensors", "metrics.jsonl", "result.json"),
        *("scores.json", "familiarity.json", "run.json", "MODEL_CARD.md"),
    }
    assert sum(file.stat().st_size for file in BUNDLED_MODEL.iterdir()) <= 8_000_000
    tensors = load_file(BUNDLED_MODEL / "model.safetensors").values()
    assert {tensor.dtype for tensor in tensors} == {torch.float16}


@pytest.fixture(scope="module")
def translator() -> Translator:
    return augenmerk.load()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_it_translates(translator: Translator, sentence: str) -> None:
    translation = translator.translate(sentence)
    assert set(translation.text.rstrip(".").split()) >= SENTENCES[sentence]
    assert translation.text[0].isupper()
    assert translation.text.endswith(".")
    np.testing.assert_allclose(translation.attention.sum(axis=1), 1, rtol=0, atol=1e-4)


def test_it_reads_lower_case_and_writes_both(translator: Translator) -> None:
    text = translator.translate("ein hund läuft über die wiese").text
    assert text.startswith("A dog ")
    assert "grass" in text


def test_it_is_what_commands_use_that_are_told_no_other(tmp_path: Path) -> None:
    sentence = next(iter(SENTENCES))
    translated = run_json("translate", "--device", "cpu", sentence)
    assert translated["translation"] == augenmerk.load().translate(sentence).text
    picture = tmp_path / "bicycle.svg"
    assert run_command("diagram", sentence, "--device", "cpu", "--out", picture).code == 0
    assert picture.stat().st_size > 0


def test_its_card_says_what_its_scores_say() -> None:
    card = (BUNDLED_MODEL / "MODEL_CARD.md").read_text(encoding="utf-8")
    scores = RunDirectory.open(BUNDLED_MODEL).read_scores()
    assert {row["beam"] for row in scores if row["split"] == "test_2016_flickr"} >= {1, 5}
    for row in scores:
        line = next(line for line in card.splitlines() if line.startswith(f"| {row['split']}"))
        assert f"{row['bleu']:.1f}" in line
        assert row["bleu_signature"] in card
        if row["beam"] == 5:
            assert f"{row['bleu_cased']:.1f}" in line
            assert row["bleu_cased_signature"] in card
        if (row["split"], row["beam"]) == ("test_2016_flickr", 5):
            assert row["bleu"] >= 39


@pytest.mark.slow
def test_a_copy_scores_alike(multi30k_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGENMERK_DATA", str(multi30k_folder.parent))
    monkeypatch.chdir(tmp_path)
    before = {file.name: file.read_bytes() for file in BUNDLED_MODEL.iterdir()}
    command = ["evaluate", "--split", "test_2016_flickr", "--beam", "1", "--device", "cpu", "--json"]
    for _ in range(2):  # the second time, the copy is there
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        [row] = json.loads(done.stdout)
        [expected] = [
            each
            for each in RunDirectory.open(BUNDLED_MODEL).read_scores()
            if (each["split"], each["beam"]) == ("test_2016_flickr", 1)
        ]
        assert row["bleu"] == pytest.approx(expected["bleu"], abs=0.05)
        assert row["loss"] == pytest.approx(expected["loss"], abs=1e-3)
    assert {file.name: file.read_bytes() for file in BUNDLED_MODEL.iterdir()} == before
    assert (tmp_path / "runs" / BUNDLED_MODEL.name / "hypotheses" / "test_2016_flickr.beam1.txt").exists()


def test_evaluating_it_says_where_the_scores_are_kept(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("Ein Mann schläft.\tA man is sleeping.\nEin Hund.\tA dog.\n", encoding="utf-8")
    answer = run_command("evaluate", "--data", pairs, "--beam", 1, cwd=tmp_path)
    assert answer.code == 0, answer.err
    place = Path("runs") / BUNDLED_MODEL.name
    assert f"Scores and translations are kept in {place}, a copy of the bundled model." in answer.err
    assert (tmp_path / place / "other_scores.json").exists()


def test_a_copy_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    run = copy_bundled_model(tmp_path)
    assert run.path == tmp_path / BUNDLED_MODEL.name
    weights = {name: tensor + 1 for name, tensor in load_file(run.model_path).items()}
    save_file(weights, run.model_path)
    with pytest.raises(AugenmerkError, match="is not the bundled model but another run"):
        copy_bundled_model(tmp_path)
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(AugenmerkError, match="cannot be created"):
        copy_bundled_model(tmp_path / "runs")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["patterns", "faithfulness"])
def test_looking_needs_no_run(multi30k_folder: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("AUGENMERK_DATA", str(multi30k_folder.parent))
    done = CliRunner().invoke(app, [command, "--beam", "1", "--top", "2", "--device", "cpu", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert len(document if command == "patterns" else document["chosen"]) == 2


def test_real_queries_come_from_it_if_only_a_sentence_is_given(tmp_path: Path) -> None:
    sentence = next(iter(SENTENCES))
    done = CliRunner().invoke(app, ["theory", "from-run", sentence, "--step", "2", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["translation"] == augenmerk.load().translate(sentence).text
    for wrong, complaint in ((str(tmp_path), "What should"), ("runs/none", "What should"), (" ", "is empty")):
        refused = CliRunner().invoke(app, ["theory", "from-run", wrong])
        assert isinstance(refused.exception, AugenmerkError)
        assert complaint in str(refused.exception)


def test_no_copy_by_mistake(multi30k_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGENMERK_DATA", str(multi30k_folder.parent))
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, ["evaluate", "--split", "nosuch", "--device", "cpu"])
    assert isinstance(refused.exception, AugenmerkError)
    assert not list(tmp_path.iterdir())
