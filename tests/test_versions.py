"""A run says which version wrote it, and what a newer one wrote is read or refused with a clear sentence."""

import subprocess
from pathlib import Path

import pytest

from augenmerk import __version__
from augenmerk.base import settings_file
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.settings_file import FORMAT, with_digest
from augenmerk.run.directory import SHIPPED, RunDirectory
from augenmerk.training.loop import change_epochs, start, train
from tests.command import COMMAND, fails_with_a_sentence
from tests.runs import CPU, SharedRuns, Silent, tiny

WRITTEN_BY = f"# written by augenmerk {__version__}, run format {FORMAT}\n"


@pytest.fixture(autouse=True)
def _warn_again() -> None:
    settings_file._WARNED.clear()


def pretend(run: Path, version: str, run_format: int = FORMAT, old: str = "", new: str = "") -> None:
    """Makes the settings of a run look as if another version had written them."""
    text = (run / "config.toml").read_text(encoding="utf-8").partition("\n")[2]
    assert text.startswith(WRITTEN_BY)
    assert old in text
    changed = text.replace(WRITTEN_BY, f"# written by augenmerk {version}, run format {run_format}\n")
    (run / "config.toml").write_text(with_digest(changed.replace(old, new, 1)), encoding="utf-8")


def test_a_run_records_the_version_that_made_it(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    text = (run.path / "config.toml").read_text(encoding="utf-8")
    assert text.partition("\n")[2].startswith(WRITTEN_BY)
    assert run.version == __version__
    train(change_epochs(run, 3)[0], CPU, Silent())
    opened = RunDirectory.open(run.path)
    assert (opened.version, opened.config.train.epochs) == (__version__, 3)


def test_runs_of_earlier_versions_are_read_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert RunDirectory.open(SHIPPED).version is None
    run = start(tiny(), tmp_path / "run").path
    pretend(run, "0.0.9")
    assert RunDirectory.open(run).version == "0.0.9"
    assert not caplog.records


def test_a_run_of_a_newer_version_is_used_with_one_warning(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run").path
    pretend(run, "0.10.0rc1")
    settings = (run / "config.toml").read_text(encoding="utf-8").partition("\n")[2]
    (run / "config.toml").write_text(settings, encoding="utf-8")  # or the weights would not belong to it
    command = (*COMMAND, "evaluate", str(run), "--split", "val")  # not here, where pytest takes warnings
    answer = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    warning = f"{run} was written by augenmerk 0.10.0rc1, which is newer than this version, {__version__}"
    assert warning in answer.stderr
    assert answer.stderr.count("which is newer") == 1
    assert "which is newer" not in answer.stdout


def test_settings_that_only_a_newer_version_knows_are_explained(tmp_path: Path) -> None:
    run = start(tiny(), tmp_path / "run").path
    pretend(run, "9.0.0", old="[train]\n", new="[train]\nmomentum = 0.5\n")
    sentence = fails_with_a_sentence("translate", "--model", run, "Ein Hund.")
    assert (
        f"{run} was written by augenmerk 9.0.0, which is newer than this version, {__version__}" in sentence
    )
    assert "unknown key 'train.momentum'" in sentence
    assert sentence.endswith("update it: pip install -U augenmerk.")
    older = (run / "config.toml").read_text(encoding="utf-8").replace("augenmerk 9.0.0", "augenmerk 0.0.1")
    (run / "config.toml").write_text(older.partition("\n")[2], encoding="utf-8")
    with pytest.raises(AugenmerkError, match=r"config\.toml: unknown key 'train\.momentum'"):
        RunDirectory.open(run)


def test_another_format_is_refused(tmp_path: Path) -> None:
    run = start(tiny(), tmp_path / "run").path
    pretend(run, "9.0.0", FORMAT + 1, old="[train]", new="[training]")
    sentence = fails_with_a_sentence("translate", "--model", run, "Ein Hund.")
    assert f"{run} was written by augenmerk 9.0.0 in format {FORMAT + 1}, and this version" in sentence
    assert sentence.endswith(f"reads format {FORMAT}; update it: pip install -U augenmerk.")


def test_a_version_of_thousands_of_digits_is_an_answer_like_any_other(tmp_path: Path) -> None:
    run = start(tiny(), tmp_path / "run").path
    pretend(run, "1" * 5000)
    assert RunDirectory.open(run).version == "1" * 5000
    text = (
        (run / "config.toml").read_text(encoding="utf-8").replace("run format 1", f"run format {'1' * 5000}")
    )
    (run / "config.toml").write_text(text.partition("\n")[2], encoding="utf-8")
    assert RunDirectory.open(run).version is None
