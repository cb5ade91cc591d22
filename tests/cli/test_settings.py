"""Every setting is explained: by `augenmerk config`, and on a page that says the same."""

import tomllib
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from augenmerk.base.config import ATTENTIONS, PRESETS, RunConfig, load_config
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.settings import describe_as_toml, list_settings
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import SharedRuns, tiny


def leaves(tree: dict[str, Any], group: str = "") -> dict[str, Any]:
    """Returns the values of nested tables by their whole keys."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= leaves(value, f"{group}{key}.") if isinstance(value, dict) else {f"{group}{key}": value}
    return found


def test_settings_are_listed_explained_and_limited() -> None:
    settings = list_settings(RunConfig())
    assert {setting.name: setting.default for setting in settings} == leaves(RunConfig().model_dump())
    for setting in settings:
        assert setting.meaning.endswith(".")
        assert setting.meaning[0].isupper() or setting.meaning.startswith("bilderbuch")
    by_name = {setting.name: setting for setting in settings}
    assert by_name["train.lr"].type == "number, above 0, at most 10"
    assert (
        by_name["train.seed"].type == "whole number, at least 0"
    )  # its limit is only what fits into 64 bits
    assert by_name["text.unit"].choices == ("word", "bpe")
    assert by_name["model.attention"].choices == ATTENTIONS
    for setting in list_settings(RunConfig()):
        for part in setting.type.split(", ")[1:]:
            word, number = part.rsplit(" ", 1)
            limit = float(number.replace(",", ""))
            beyond = {"at least": limit - 1e-5, "above": limit, "at most": limit + 1, "below": limit}[word]
            whole = setting.type.startswith("whole")
            value = int(limit + {"at least": -1, "at most": 1}[word]) if whole else beyond
            with pytest.raises(AugenmerkError, match=setting.name):
                load_config("quick", [f"{setting.name}={value!r}"])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("width", [40, 100])
def test_what_is_shown_of_a_preset_can_be_read_again(preset: str, width: int) -> None:
    config = load_config(preset)
    lines = list(describe_as_toml(config, width))
    assert RunConfig.from_toml("\n".join(lines), "shown") == config
    assert all(len(line) <= width or "=" in line for line in lines)


def test_the_command_shows_presets_files_and_runs(shared_runs: SharedRuns, tmp_path: Path) -> None:
    shown = run_command("config", "show", "quick").out
    assert RunConfig.checked(tomllib.loads(shown), "shown") == load_config("quick")
    (tmp_path / "mine.toml").write_text("[train]\nlr = 0.5\n", encoding="utf-8")
    assert "lr = 0.5\n" in run_command("config", "show", tmp_path / "mine.toml").out
    run = shared_runs.copy(tiny(), tmp_path / "run")
    rows = run_json("config", "show", run.path)
    assert {row["name"]: row["value"] for row in rows} == {
        setting.name: attrgetter(setting.name)(run.config) for setting in list_settings(RunConfig())
    }
    assert rows[0].keys() == {"name", "type", "choices", "default", "meaning", "value"}
    assert "classic, quick, strong" in fails_with_a_sentence("config", "show", "quik")


def test_the_command_lists_settings() -> None:
    names = [each.name for each in list_settings(RunConfig())]
    assert [row["name"] for row in run_json("config", "list")] == names
    assert [row["name"] for row in run_json("config", "list", "lr")] == ["train.lr"]
    of_training = run_command("config", "list", "train")
    assert "Learning rate, at its highest." in of_training.out
    assert of_training.err == ""  # where to go on is said of the whole list only
    assert "augenmerk config show PRESET" in run_command("config", "list").err
    assert "'learning_rate'" in fails_with_a_sentence("config", "list", "learning_rate")
