"""The same settings give the same run, from the command line, from Python and in a study."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from augenmerk.base.config import RunConfig, load_config
from augenmerk.data import SentencePair, open_bitext
from augenmerk.run.directory import RunDirectory
from augenmerk.study.plan import read_study
from augenmerk.study.runner import fit_to_data as fit_study
from augenmerk.training.loop import train
from augenmerk.training.start import configure_fine_tuning, fit_to_data, start
from tests.support.command import run_command
from tests.support.runs import CPU, SharedRuns, Silent, tiny

SMALL = {
    "text.vocabulary_size": 300,
    "model.embedding": 16,
    "model.hidden": 16,
    "model.key": 16,
    "train.epochs": 1,
    "train.bleu": False,
    "train.select_by": "loss",
    "train.precision": "fp32",
}


def write_pairs(folder: Path, split: str, pairs: list[SentencePair]) -> None:
    folder.mkdir(exist_ok=True)
    for language, side in (("de", "source"), ("en", "target")):
        lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
        (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")


def toml(value: object) -> str:
    return json.dumps(value)  # the same for numbers, texts, true and false


def make_data(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Any]]:
    """Returns a place of data, and what to set for it."""
    pairs = list(open_bitext("bilderbuch", pairs=260, seed=3)["train"])
    folder = tmp_path / ("multi30k" if kind == "multi30k" else "pairs")
    if kind == "bilderbuch":
        return kind, {"data.bilderbuch.pairs": 150, "data.validation": "train"}  # workers have the whole val
    write_pairs(folder, "train", pairs[:60] if kind == "few pairs" else pairs[:240])
    write_pairs(folder, "val", pairs[240:])
    if kind == "multi30k":  # its name and its files, with other sentences
        for path in list(folder.iterdir()):
            (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        monkeypatch.setenv("AUGENMERK_DATA", str(tmp_path))
        return kind, {}
    if kind == "warm-up that was asked for":
        return str(folder), {"train.warmup": 150}
    if kind == "prepared corpus":
        corpus, words = tmp_path / "corpus", ("text.unit=word", "text.joint=false", "text.lowercase=true")
        options = [part for setting in (*words, "data.max_length=40") for part in ("--set", setting)]
        answer = run_command("data", "prepare", folder, "--out", corpus, "--workers", 1, *options)
        assert answer.code == 0, answer.err
        return str(corpus), {"model.tie": "target", "text.vocabulary_size": 8000}
    return str(folder), {}


EXPECTED: dict[str, dict[str, Any]] = {
    "own pairs": {"text.lowercase": False, "train.warmup": 0},
    "few pairs": {"text.lowercase": False, "train.warmup": 0},
    "warm-up that was asked for": {"text.lowercase": False, "train.warmup": 150},
    "prepared corpus": {"text.lowercase": True, "text.unit": "word", "data.max_length": 40},
    "bilderbuch": {"text.lowercase": True, "train.warmup": 200},
    "multi30k": {"text.lowercase": True, "train.warmup": 200},
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_three_ways_to_one_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if kind != "bilderbuch":  # one kind is trained by a process of the study, as all are
        request.getfixturevalue("jobs_here")
    place, more = make_data(kind, tmp_path, monkeypatch)
    settings = {**SMALL, **more}
    overrides = [f"{key}={toml(value)}" for key, value in settings.items()]

    by_command = tmp_path / "command"
    options = [part for setting in overrides for part in ("--set", setting)]
    answer = run_command(
        *("train", "quick", "--data", place, "--device", "cpu", *options, "--out", by_command)
    )
    assert answer.code == 0, answer.err

    by_python = tmp_path / "python"
    config = load_config("quick", [f"data.bitext={place}", *overrides])
    train(start(config, by_python), CPU, Silent())

    lines = [f"{key} = {toml(value)}" for key, value in settings.items()]
    file = tmp_path / "study.toml"
    file.write_text(
        'question = "?"\nbase = "quick"\nseeds = [1]\n[factors]\nattention = ["scaled-dot"]\n'
        f'[settings]\ndata.bitext = "{place}"\n' + "\n".join(lines) + "\n"
    )
    study = ("study", file, "--out", tmp_path / "study", "--jobs", 1, "--device", "cpu")
    answer = run_command(*study)
    assert answer.code == 0, answer.err
    [in_study] = [path.parent for path in (tmp_path / "study").rglob("config.toml")]

    found = RunDirectory.open(by_command).config.flatten()
    assert {key: found[key] for key in EXPECTED[kind]} == EXPECTED[kind]
    for other in (by_python, in_study):
        for name in ("config.toml", "data.json"):
            assert (other / name).read_bytes() == (by_command / name).read_bytes()
        assert RunDirectory.open(other).companion() == RunDirectory.open(by_command).companion()
        first, second = (load_file(run / "model.safetensors") for run in (by_command, other))
        assert first.keys() == second.keys()
        assert all(torch.equal(first[key], second[key]) for key in first)
    answer = run_command(*study)
    assert answer.code == 0, "the same study again finds its run"
    again = ("train", "quick", "--data", place, "--device", "cpu", *options, "--out", by_command, "--resume")
    assert "is finished" in run_command(*again).err


def test_what_was_left_open_is_open_no_longer(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs", "train", list(open_bitext("bilderbuch", pairs=300)["train"]))
    config = load_config("quick", [f"data.bitext={tmp_path / 'pairs'}", " text . lowercase = true"])
    assert {"train.warmup", "data.max_length", "text.unit"} <= config.left_open
    assert "text.lowercase" not in config.left_open
    fitted = fit_to_data(config)
    assert (fitted.text.lowercase, fitted.left_open) == (True, set())
    assert fit_to_data(fitted) == fitted
    # What is changed afterwards was decided by who changed it.
    decided = config.model_copy(update={"train": config.train.model_copy(update={"warmup": 123})})
    assert fit_to_data(decided).train.warmup == 123
    assert RunConfig.model_validate(config.model_dump()).left_open == set()


def test_a_preset_whose_data_is_chosen_later(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs", "train", list(open_bitext("bilderbuch", pairs=300)["train"]))
    config = load_config("quick")
    data = config.data.model_copy(update={"bitext": str(tmp_path / "pairs")})
    assert fit_to_data(config).text.lowercase
    assert not fit_to_data(config.model_copy(update={"data": data})).text.lowercase


def test_what_one_variant_of_a_study_decides_is_open_for_the_others(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs", "train", list(open_bitext("bilderbuch", pairs=300)["train"]))
    (tmp_path / "study.toml").write_text(
        'question = "?"\nbase = "quick"\nseeds = [1]\nsettings.data.bitext = "pairs"\n'
        'factors.attention = ["mean", "additive"]\nsettings_for.mean.train.warmup = 90\n'
    )
    study = fit_study(read_study(tmp_path / "study.toml"))
    assert {run.variant.name: run.config.train.warmup for run in study.runs} == {"mean": 90, "additive": 6}


@pytest.mark.parametrize("preset", [None, "quick"])
def test_two_ways_to_fine_tune(shared_runs: SharedRuns, tmp_path: Path, preset: str | None) -> None:
    parent = shared_runs.copy(tiny(train__warmup=30), tmp_path / "parent")
    write_pairs(tmp_path / "pairs", "train", list(open_bitext("bilderbuch", pairs=120)["train"]))
    model = {
        key: value for key, value in parent.config.flatten().items() if key.startswith(("model.", "text."))
    }
    overrides = [f"data.bitext={tmp_path / 'pairs'}", "train.epochs=1", "train.bleu=false"]
    overrides += ["train.select_by=loss", "train.precision=fp32"]
    if preset is not None:
        overrides += [f"{key}={toml(value)}" for key, value in model.items() if key != "text.lowercase"]
    options = [part for setting in overrides for part in ("--set", setting)]
    first = ("train", *([] if preset is None else [preset]), "--from", parent.path, *options)
    answer = run_command(*first, "--device", "cpu", "--out", tmp_path / "command")
    assert answer.code == 0, answer.err
    run = start(configure_fine_tuning(parent.path, preset, overrides), tmp_path / "python")
    assert run.config.train.warmup < 2
    assert run.config.text.lowercase
    train(run, CPU, Silent())
    for name in ("config.toml", "data.json"):
        assert (run.path / name).read_bytes() == (tmp_path / "command" / name).read_bytes()


def test_settings_that_a_prepared_corpus_does_not_allow_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, _ = make_data("prepared corpus", tmp_path, monkeypatch)
    answer = run_command("train", "quick", "--data", corpus, "--out", tmp_path / "run")
    assert answer.code == 2
    assert f'With the settings of {corpus}: model.tie = "all" needs text.joint = true' in answer.err
    about = Path(corpus, "prepared.json")
    about.write_text(about.read_text(encoding="utf-8").replace('"settings"', '"sittings"'), encoding="utf-8")
    answer = run_command("train", "quick", "--data", corpus, "--out", tmp_path / "run")
    assert answer.code == 2
    assert 'damaged: prepared.json has no valid "settings"' in answer.err
