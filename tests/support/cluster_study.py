"""A small study for clusters, and what it finds on this machine, with which their results are compared."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from augenmerk.data import open_bitext
from augenmerk.study.plan import read_study
from augenmerk.study.runner import run_study

SEEDS = (1, 2)
EPOCHS = 40
STUDY = """
question = "Does it matter where?"
seeds = [1, 2]
splits = ["val"]
beams = [1]
[factors]
attention = ["scaled-dot"]
[settings]
data.bitext = "{data}"
data.source_language = "de"
data.target_language = "en"
text.unit = "word"
text.joint = false
model.embedding = 8
model.hidden = 8
model.key = 8
train.epochs = {epochs}
train.batch_size = 8
train.bleu = false
train.save_seconds = 0.5
train.precision = "fp32"
"""


def write_study(folder: Path) -> Path:
    """Writes the study and its pairs once, for all processes of pytest; returns its file."""
    path = folder / "cluster.toml"
    with FileLock(folder / "cluster.lock"):
        if not path.exists():
            book = open_bitext("bilderbuch", pairs=60, seed=3)
            (folder / "cluster-pairs").mkdir()
            for split, count in (("train", 60), ("val", 12)):
                pairs = [pair for pair, _ in zip(book[split], range(count), strict=False)]
                lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
                (folder / "cluster-pairs" / f"{split}.tsv").write_text(lines, encoding="utf-8")
            path.write_text(STUDY.format(data=folder / "cluster-pairs", epochs=EPOCHS), encoding="utf-8")
    return path


def local_result(file: Path) -> dict[str, Any]:
    """Returns what the study finds on this machine. It is run once, for all processes of pytest."""
    out = file.with_name("cluster-local")
    with FileLock(file.with_name("cluster-local.lock")):
        if not (out / "study.json").exists():
            run_study(read_study(file), out, jobs=2, device="cpu", on_progress=lambda _statuses: None)
    return read_result(out)


def read_result(out: Path) -> dict[str, Any]:
    """Reads study.json without all times."""
    tree: dict[str, Any] = without_times(json.loads((out / "study.json").read_text(encoding="utf-8")))
    return tree


def without_times(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: without_times(value) for key, value in tree.items() if "seconds" not in key}
    if isinstance(tree, list):
        return [without_times(each) for each in tree if not is_time(each)]
    return tree


def is_time(tree: Any) -> bool:
    return isinstance(tree, dict) and tree.get("measure") == "seconds"


def runs(out: Path) -> Iterator[Path]:
    for seed in SEEDS:
        yield out / "runs" / "scaled-dot" / f"seed-{seed}"


def epochs(run: Path) -> int:
    """Returns how many epochs of a run are done."""
    metrics = run / "metrics.jsonl"
    return len(metrics.read_text(encoding="utf-8").splitlines()) if metrics.exists() else 0
