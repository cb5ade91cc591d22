"""A run finds its data again, from whichever folder it is asked for."""

import shutil
from pathlib import Path

import pytest

from augenmerk.data import open_bitext, resolve_data_name
from augenmerk.data.exporting import write_splits
from augenmerk.run.directory import RunDirectory
from tests.support.command import run_command
from tests.support.runs import tiny


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with sentence pairs in `pairs` and settings in `tiny.toml`; `elsewhere` lies beside it."""
    home = tmp_path / "home"
    bitext = open_bitext("bilderbuch", pairs=40)
    for split in ("train", "val"):
        write_splits({split: bitext[split]}, home / "pairs", "de", "en", format="tsv")
    (home / "tiny.toml").write_text(tiny(train__epochs=1).to_toml(), encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    return home


def test_a_run_on_relative_data_is_resumed_and_evaluated_from_another_folder(home: Path) -> None:
    elsewhere, run = home.parent / "elsewhere", home / "run"
    training = ("train", "tiny.toml", "--data", "pairs", "--out", "run", "--device", "cpu")
    first = run_command(*training, cwd=home)
    assert first.code == 0, first.err
    assert RunDirectory.open(run).config.data.bitext == str(home / "pairs")
    evaluated = run_command("evaluate", run, "--device", "cpu", cwd=elsewhere)
    assert evaluated.code == 0, evaluated.err

    (run / "result.json").unlink()
    (run / "state.safetensors").unlink()
    resumed = run_command("train", "--resume", "--out", run, "--device", "cpu", cwd=elsewhere)
    assert resumed.code == 0, resumed.err

    (run / "result.json").unlink()
    again = run_command(
        *training, "--resume", cwd=home
    )  # the same settings, said again, are no other settings
    assert again.code == 0, again.err

    (home / "pairs").rename(home / "moved")
    lost = run_command("evaluate", run, "--device", "cpu", cwd=elsewhere)
    assert lost.code == 2
    assert f"{home / 'pairs'}: there is no such file or folder; " in lost.err
    assert "if the data of a run was moved, say where it is now: --data PATH." in lost.err.replace("\n", " ")


def test_other_names_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "multi30k").mkdir()
    assert resolve_data_name("multi30k", tmp_path) == "multi30k"
    assert resolve_data_name("bilderbuch", tmp_path) == "bilderbuch"
    assert resolve_data_name("./multi30k", tmp_path) == str(tmp_path / "multi30k")
    for name in ("bilderbuhc", "no/such/folder", " "):
        assert resolve_data_name(name, tmp_path) == name


def test_paths_become_absolute(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_data_name("pairs", home) == str(home / "pairs")
    assert resolve_data_name(".", home / "pairs") == str(home / "pairs")
    assert resolve_data_name("../home/pairs/train.tsv", home) == str(home / "pairs" / "train.tsv")
    assert resolve_data_name(str(home / "pairs"), Path("/")) == str(home / "pairs")
    monkeypatch.setenv("HOME", str(home))
    assert resolve_data_name("~/pairs", Path("/")) == str(home / "pairs")
    shutil.copy(home / "pairs" / "val.tsv", home / "mine.de")
    shutil.copy(home / "pairs" / "val.tsv", home / "mine.en")
    assert resolve_data_name("mine", home) == str(home / "mine")  # stands for mine.de and mine.en


def test_a_link_to_a_file_keeps_its_name(home: Path) -> None:
    """The ending says which format it is in, and a store of files by checksum has no endings."""
    (home / "pairs" / "train.tsv").rename(home / "0f3a")
    (home / "pairs" / "train.tsv").symlink_to(home / "0f3a")
    assert resolve_data_name("pairs/train.tsv", home) == str(home / "pairs" / "train.tsv")
