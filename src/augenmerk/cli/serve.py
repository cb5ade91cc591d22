"""`augenmerk serve`: translates over HTTP, and shows the workbench."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.base.console import warn
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
    limit: Annotated[
        list[str] | None,
        Option(
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

    from augenmerk.base.device import CPU, choose_translating_device
    from augenmerk.serve.endpoint import Service
    from augenmerk.serve.guard import Access, read_keys
    from augenmerk.serve.limits import Limits
    from augenmerk.serve.registry import ModelRegistry
    from augenmerk.serve.server import fit_connections, make_server, open_socket, run

    load_mechanisms(attention)
    wanted = Limits.parse(reach.limit or [])
    access = Access(hosts=reach.allow_host or [], origins=reach.origin or [], keys=read_keys(reach.keys))
    chosen = str(choose_translating_device(device))
    registry = ModelRegistry(runs or [], folder=folder, device=chosen)
    limits = fit_connections(wanted)
    # A GPU computes one batch after another; cores compute as many as there are of them.
    computing = None if chosen == CPU else 1
    service = Service(registry, limits, access, threads=computing, keys_file=reach.keys)
    listening = open_socket(reach.host, reach.port)
    # An address for a browser on this machine.
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(reach.host, reach.host)
    address = f"http://{f'[{name}]' if ':' in name else name}:{listening.getsockname()[1]}/"

    def report() -> None:
        if json:
            about = {"address": address, "models": registry.names, "pages": not no_pages}
            print_json({**about, "connections": limits.connections})
            sys.stdout.flush()  # a program that reads it from a pipe waits for it
        else:
            reason = "the open files that the system allows, see `ulimit -n`"
            if limits.connections == wanted.connections:
                reason = "--limit connections"
            warn(f"{', '.join(registry.names)} at {address}")
            warn(f"at most {limits.connections:,} connections ({reason})")
        if open_browser and not check:
            webbrowser.open(address)

    logging.basicConfig(format="augenmerk: %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    if check:
        listening.close()
        make_server(service, pages=not no_pages)
        report()
    else:
        run(service, listening, pages=not no_pages, on_ready=report)
