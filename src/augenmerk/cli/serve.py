"""`augenmerk serve`: translates over HTTP, and shows the workbench."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.base.console import err
from augenmerk.cli.options import GROUP, Device, Group, Mechanisms, Threads, grouped, load_mechanisms
from augenmerk.cli.terminal import print_json

app = typer.Typer()

Runs = Annotated[
    list[Path] | None,
    Argument(
        metavar="RUN",
        help="Run directories to load at once; the first is the default. Default: the bundled model.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path, Option(help="Folder whose runs can be requested by name, and are shown on the pages.")
]


class Reach(Group):
    """Where the server listens, who may ask it, and for how much."""

    host: Annotated[
        str,
        Option(metavar="ADDRESS", help="Address to listen at; 0.0.0.0 for all addresses of this machine."),
    ] = "127.0.0.1"
    port: Annotated[int, Option(help="Port to listen at; 0 for any that is free.", min=0, max=65535)] = 8765
    limits: Annotated[
        list[str] | None,
        Option(
            "--limit",
            metavar="NAME=VALUE",
            help="Change a limit, e.g. beam=5, queue=500 or deadline=10; repeatable. "
            "docs/guides/serving.md has all.",
        ),
    ] = None
    keys: Annotated[
        Path | None,
        Option(
            help="File of API keys, one per line; each request then needs one. Default: the environment "
            "variable AUGENMERK_API_KEYS.",
        ),
    ] = None
    allow_host: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Another name of the server besides localhost; repeatable."),
    ] = None
    origin: Annotated[
        list[str] | None,
        Option(
            metavar="ORIGIN",
            help="Origin of pages that may ask the server, e.g. https://example.org (CORS); repeatable.",
        ),
    ] = None


@app.command(
    epilog="Examples:  augenmerk serve    augenmerk serve --open    "
    "augenmerk serve runs/a runs/b --folder runs --port 9000    "
    "augenmerk serve --no-pages --limit queue=500 --limit deadline=5    "
    "augenmerk serve --host 0.0.0.0 --allow-host laptop.local    "
    'Ask it:  curl localhost:8765/v1/translate -d \'{"text": "Ein Hund schläft."}\'    '
    "On Ctrl-C or SIGTERM, the server answers open requests and exits; on SIGHUP, it reloads its runs."
)
@grouped
def serve(
    runs: Runs = None,
    folder: Folder = Path("runs"),
    reach: Reach = GROUP,
    open_browser: Annotated[bool, Option("--open", help="Open the pages in a browser.")] = False,
    no_pages: Annotated[bool, Option("--no-pages", help="Serve the API only, without pages.")] = False,
    attention: Mechanisms = None,
    device: Device = "cpu",
    threads: Threads = None,  # noqa: ARG001 (its callback uses it)
    check: Annotated[bool, Option("--check", help="Load the models, check the options, and exit.")] = False,
    json: Annotated[
        bool, Option("--json", help="Print the address and the models as one JSON document.")
    ] = False,
) -> None:
    """Translate over HTTP, and show the workbench at http://127.0.0.1:8765/."""
    import logging
    import webbrowser

    from augenmerk.serve.session import ServerHandle

    load_mechanisms(attention)
    server = ServerHandle(runs or [], folder=folder, **vars(reach), pages=not no_pages, device=device)

    def report() -> None:
        if json:
            print_json(server.to_dict())
            sys.stdout.flush()  # a program that reads it from a pipe waits for it
        else:
            for line in server.show():
                err().print(f"augenmerk: {line}")
        if open_browser and not check:
            webbrowser.open(server.address)

    logging.basicConfig(format="augenmerk: %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    if check:
        server.check()
        report()
    else:
        server.run(report)
