"""A run says which version wrote it, and what a newer one wrote is read or refused with a clear sentence."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import digest_of
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import FORMAT, RunDirectory
from augenmerk.run.records import warn_once
from augenmerk.training.loop import train
from augenmerk.training.start import change_epochs, start
from tests.support.command import COMMAND, fails_with_a_sentence
from tests.support.runs import CPU, SharedRuns, Silent, tiny


@pytest.fixture(autouse=True)
def _warn_again() -> None:
    warn_once.cache_clear()


def pretend(run: Path, version: str, run_format: int = FORMAT, old: str = "", new: str = "") -> None:
    """Makes a run look as if another version had written it."""
    text = (run / "config.toml").read_text(encoding="utf-8")
    assert old in text
    changed = text.replace(old, new, 1)
    (run / "config.toml").write_text(changed, encoding="utf-8")
    known = (digest_of(text), digest_of(changed))
    tree = {"settings": known, "code": {}, "version": version, "format": run_format}
    (run / "run.json").write_text(json.dumps(tree), encoding="utf-8")


def test_a_run_records_the_version_that_made_it(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    assert json.loads((run.path / "run.json").read_text(encoding="utf-8"))["version"] == __version__
    assert run.version == __version__
    train(change_epochs(run, 3)[0], CPU, Silent())
    opened = RunDirectory.open(run.path)
    assert (opened.version, opened.config.train.epochs) == (__version__, 3)


def test_runs_of_earlier_versions_are_read_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert RunDirectory.open(BUNDLED_MODEL).version == "0.1.0"
    run = start(tiny(), tmp_path / "run").path
    pretend(run, "0.0.9")
    assert RunDirectory.open(run).version == "0.0.9"
    assert not caplog.records


def test_a_run_of_a_newer_version_is_used_with_one_warning(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run").path
    pretend(run, "0.10.0rc1")
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
    assert sentence.endswith("update your clone and install it again.")
    pretend(run, "0.0.1")
    with pytest.raises(AugenmerkError, match=r"config\.toml: unknown key 'train\.momentum'"):
        RunDirectory.open(run)


def test_another_format_is_refused(tmp_path: Path) -> None:
    run = start(tiny(), tmp_path / "run").path
    pretend(run, "9.0.0", FORMAT + 1, old="[train]", new="[training]")
    sentence = fails_with_a_sentence("translate", "--model", run, "Ein Hund.")
    assert f"{run} was written by augenmerk 9.0.0 in format {FORMAT + 1}, and this version" in sentence
    assert sentence.endswith(f"reads format {FORMAT}; update your clone and install it again.")


def test_a_run_of_0_1_0_with_a_checksum_in_its_settings_is_read_and_continued(
    shared_runs: SharedRuns, tmp_path: Path
) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run").path
    (run / "run.json").unlink()
    text = (run / "config.toml").read_text(encoding="utf-8")
    line = f"# sha256: {digest_of(text)} of the rest; remove this line if you change it on purpose\n"
    (run / "config.toml").write_text(line + text, encoding="utf-8")
    opened = RunDirectory.open(run)
    opened.load_model()
    train(change_epochs(opened, 3)[0], CPU, Silent())
    assert RunDirectory.open(run).version == __version__


def test_a_version_of_thousands_of_digits_is_read_like_any_other(tmp_path: Path) -> None:
    run = start(tiny(), tmp_path / "run").path
    about = run / "run.json"
    about.write_text(about.read_text(encoding="utf-8").replace(f'"{__version__}"', f'"{"1" * 5000}"'))
    assert RunDirectory.open(run).version == "1" * 5000
    about.write_text(re.sub(r'"format": \d+', f'"format": {"1" * 5000}', about.read_text(encoding="utf-8")))
    with pytest.raises(AugenmerkError, match=r"run\.json: damaged"):
        RunDirectory.open(run)
