"""Options that many commands have, each said once."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Beam = Annotated[int | None, typer.Option(help="1 is greedy; that of the run if left out.")]
Examined = Annotated[
    Path | None,
    typer.Argument(help="The run directory; the model that ships if left out.", show_default=False),
]
