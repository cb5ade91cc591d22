"""`augenmerk export`: writes runs as a web page that translates without a server, or the theory lab."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.base.console import err, print_shown
from augenmerk.cli import options
from augenmerk.cli.terminal import print_json
from augenmerk.web import MAX_BEAM

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk export --out page.html    "
    "augenmerk export runs/mine --beam 5 --example 'Der kleine Hund schläft.' --out mine.html    "
    "augenmerk export runs/a runs/b --out two.html    "
    "augenmerk export runs/mine --out site    "
    "augenmerk export --theory --out theory.html    "
    "A page needs no server, no network and no installation: mail it, or open it from a disk. A name that "
    "does not end in .html names a folder, which is for a web server."
)
def export(
    out: Annotated[Path, Option(help="The page to write, e.g. page.html; or a folder for a web server.")],
    runs: Annotated[
        list[Path] | None,
        Argument(
            metavar="RUN",
            help="Run directory, or two to compare. Default: the bundled model.",
            show_default=False,
        ),
    ] = None,
    beam: Annotated[
        int | None,
        Option(
            help="Beam width to begin with. Default: the run's setting, at most 20.",
            min=1,
            max=MAX_BEAM,
        ),
    ] = None,
    example: Annotated[
        list[str] | None,
        Option(help="A sentence to begin with; repeatable. Default: German ones if the run reads German."),
    ] = None,
    theory: Annotated[
        bool,
        Option("--theory", help="Write the theory lab instead: a query to drag, and questions 1.1 to 1.7."),
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing files.")] = False,
    attention: options.Mechanisms = None,
    json: options.Json = False,
) -> None:
    """Write a run as a web page that translates and shows attention without a server."""
    from augenmerk.web.export import export

    options.load_mechanisms(attention)
    done = export(out, runs or [], beam=beam, examples=example or [], theory=theory, overwrite=overwrite)
    print_shown(done, err())
    if json:
        print_json(done)
