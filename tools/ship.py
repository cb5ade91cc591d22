"""Turns a finished run into the model that the package ships: weights in half precision, no state.

    python tools/ship.py runs/student --bitext multi30k --out src/augenmerk/models/multi30k-de-en

`--bitext` is the name of the data in the shipped settings, because a folder of one's own is on no other
machine. scores.json comes from `augenmerk evaluate` on a copy of what this wrote.
"""

import argparse
from pathlib import Path

import numpy as np

from augenmerk.run.directory import RunDirectory


def ship(run: RunDirectory, bitext: str, out: Path) -> None:
    data = {"bitext": bitext, "source_language": None, "target_language": None}
    config = run.config.model_copy(update={"data": run.config.data.model_copy(update=data)})
    shipped = RunDirectory.create(out, config, run.tokenizers)
    weights = run.load_model()
    halves = {id(array): array.astype(np.float16) for array in weights.values()}
    half = {name: halves[id(array)] for name, array in weights.items()}  # tied weights stay one array
    shipped.save_model(half, run.about_model)
    if (learnt := run.read_familiarity()) is not None:
        shipped.write_familiarity(learnt)
    shipped.write_metrics(run.read_metrics())
    if run.result is not None:
        shipped.finish({**run.result, "run": out.name})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--bitext", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    ship(RunDirectory.open(arguments.run), arguments.bitext, arguments.out)
