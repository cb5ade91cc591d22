"""The settings of runs and presets: `augenmerk config` in functions."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base import settings as groups
from augenmerk.base.config import PRESETS, RunConfig, load_config
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.frames import Rows
from augenmerk.data import path_exists
from augenmerk.run.directory import RunDirectory


class SettingList(Rows):
    """Settings of a run, each with its type, its default, its alternatives and its meaning."""

    def show(self) -> Iterator[RenderableType]:
        for row in self:
            setting = groups.Setting(**row)
            yield f"[bold]{setting.name}[/]  {escape(setting.description)}"
            yield f"    [dim]{escape(setting.meaning)}[/]"


def list_settings(name: str | None = None) -> SettingList:
    """Lists the settings of a run that have `name` in their name, by default all."""
    found = [setting for setting in groups.list_settings(RunConfig()) if (name or "") in setting.name]
    if not found:
        raise AugenmerkError(
            f"No setting has '{shorten(name or '')}' in its name; `config list` lists them all."
        )
    return SettingList(map(asdict, found))


def settings(preset: str | Path) -> RunConfig:
    """Returns the settings of a preset, a TOML file or a run."""
    name, path = str(preset), Path(preset)
    if name not in PRESETS and path.is_dir():
        return RunDirectory.open(path).config
    if name not in PRESETS and path.suffix != ".toml" and not path_exists(path):
        raise AugenmerkError(
            f"There is no preset or run directory called '{shorten(name)}': the presets are "
            f"{', '.join(PRESETS)}; or give a file that ends in .toml."
        )
    return load_config(name)
