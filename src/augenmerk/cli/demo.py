"""`augenmerk demo`: trains, compares and uses three mechanisms."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from augenmerk.base.console import out, print_shown
from augenmerk.cli.options import Device, Json
from augenmerk.cli.terminal import print_json

app = typer.Typer()


@app.command(epilog="Example:  augenmerk demo")
def demo(
    folder: Annotated[Path, Option("--out", help="Folder for the runs.")] = Path("runs/demo"),
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train three attention mechanisms on built-in data, compare them, and translate."""
    from augenmerk.study.demo import demo

    found = demo(folder, device, lambda place: shlex.join(["augenmerk", "demo", "--out", str(place)]))
    if json:
        print_json(found)
        return
    out().print()
    print_shown(found)
    _, mean, best = (row["run"] for row in found["rows"])
    out().print(
        f"\nThe runs are in {folder}. Next:\n"
        f'  augenmerk translate --model {best} "Die Katze springt auf den Tisch." --json\n'
        f'  augenmerk diagram --model {best} "Das Mädchen lacht, weil der Hund den Ball gefangen hat."\n'
        f"  augenmerk patterns {best} --split test --kind inversion --top 12 --out patterns\n"
        f"  augenmerk evaluate {best} --split test --baseline {mean}\n"
        f"  augenmerk train quick --data bilderbuch --attention additive",
        markup=False,
    )
