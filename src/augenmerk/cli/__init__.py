"""The command line: each command parses its arguments, calls the package and prints the result.

Every command is declared in the file that is named after it. Commands import torch and other heavy modules
when they run, so that `augenmerk --help` answers at once.
"""

import sys
from typing import Annotated

import typer
from typer import Option

from augenmerk import __version__
from augenmerk.cli import (
    bench,
    data,
    demo,
    diagram,
    evaluate,
    faithfulness,
    patterns,
    report,
    study,
    theory,
    train,
    translate,
)
from augenmerk.errors import AugenmerkError

app = typer.Typer(
    name="augenmerk",
    help="Attention in sequence-to-sequence models: to learn, to teach and to research.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# The order is that of `augenmerk --help`.
for command in (demo, train, evaluate, translate, study, report, diagram, patterns, faithfulness):
    app.add_typer(command.app)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.add_typer(theory.app, name="theory")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"augenmerk {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs the command line; an error that the user can correct is one sentence on stderr and exit code 2."""
    try:
        app()
    except AugenmerkError as error:
        typer.echo(f"augenmerk: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader, for example `head`, has closed the pipe. Closing stderr keeps Python from complaining
        # about stdout when it exits.
        sys.stderr.close()
        sys.exit(0)
