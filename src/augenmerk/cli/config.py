"""`augenmerk config`: explains the settings of runs and presets."""

from typing import Annotated

import typer
from typer import Argument

from augenmerk.base.console import err, out, print_shown
from augenmerk.base.errors import format_message
from augenmerk.cli.options import Json
from augenmerk.cli.terminal import print_json

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
    from augenmerk.api.settings import list_settings
    from augenmerk.base.config import PRESETS

    found = list_settings(name)
    if json:
        print_json(found)
        return
    print_shown(found)
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
    from augenmerk.api.settings import settings
    from augenmerk.base.settings import describe_as_toml

    config = settings(preset)
    if json:
        print_json(config.to_dict())
        return
    heading = f"# The settings of {format_message(preset)}. Your own file needs only what differs from the "
    out().print(f"{heading}default.", markup=False)
    for line in describe_as_toml(config, min(out().width, 100)):
        out().print(line, markup=False, style="dim" if line.startswith("#") else "")
