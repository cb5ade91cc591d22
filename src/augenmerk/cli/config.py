"""`augenmerk config`: explains the settings of runs and presets."""

from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from typer import Argument

from augenmerk.base.console import err, out
from augenmerk.base.errors import AugenmerkError, format_message, shorten
from augenmerk.cli.options import Json
from augenmerk.cli.terminal import print_json

if TYPE_CHECKING:
    from augenmerk.base.config import RunConfig

app = typer.Typer(
    help="Settings of runs: what each means, and what a preset or a run has.", no_args_is_help=True
)


@app.command(
    "list",
    epilog="Examples:  augenmerk config list    augenmerk config list train    augenmerk config list lr",
)
def list_(
    name: Annotated[
        str | None, Argument(help="Only settings with this in their name.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List every setting with its type, its default, its alternatives and its meaning."""
    from augenmerk.base.config import PRESETS, RunConfig
    from augenmerk.base.settings import list_settings

    found = [setting for setting in list_settings(RunConfig()) if (name or "") in setting.name]
    if not found:
        raise AugenmerkError(
            f"No setting has '{shorten(name or '')}' in its name; `config list` lists them all."
        )
    if json:
        print_json([asdict(setting) for setting in found])
        return
    for setting in found:
        out().print(f"[bold]{setting.name}[/]  {escape(setting.description)}")
        out().print(f"    [dim]{escape(setting.meaning)}[/]")
    if name is None:
        presets = ", ".join(PRESETS)
        err().print(
            f"[dim]`augenmerk config show PRESET > FILE.toml` gives you a file to edit; the presets are "
            f"{presets}.[/]"
        )


@app.command(
    epilog="Examples:  augenmerk config show quick    augenmerk config show quick > mine.toml    "
    "augenmerk config show runs/mine --json"
)
def show(
    preset: Annotated[
        str,
        Argument(help="Preset (augenmerk config list names them), TOML file, or run directory."),
    ],
    json: Json = False,
) -> None:
    """Show all settings of a preset or a run, explained, as a TOML file that can be edited and trained."""
    from augenmerk.base.settings import describe_as_toml, list_settings

    config = _load(preset)
    if json:
        settings = list_settings(config)
        print_json([{**asdict(setting), "value": attrgetter(setting.name)(config)} for setting in settings])
        return
    heading = f"# The settings of {format_message(preset)}. Your own file needs only what differs from the "
    out().print(f"{heading}default.", markup=False)
    for line in describe_as_toml(config, min(out().width, 100)):
        out().print(line, markup=False, style="dim" if line.startswith("#") else "")


def _load(preset: str) -> "RunConfig":
    """Returns the settings of a preset, a TOML file or a run."""
    from augenmerk.base.config import PRESETS, load_config
    from augenmerk.data import path_exists

    if preset not in PRESETS and Path(preset).is_dir():
        from augenmerk.run.directory import RunDirectory

        return RunDirectory.open(Path(preset)).config
    path = Path(preset)
    if preset not in PRESETS and path.suffix != ".toml" and not path_exists(path):
        raise AugenmerkError(
            f"There is no preset or run directory called '{shorten(preset)}': the presets are "
            f"{', '.join(PRESETS)}; or give a file that ends in .toml."
        )
    return load_config(preset)
