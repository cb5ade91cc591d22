"""A tiny finished study, which is run once in a session of tests."""

import shutil
from pathlib import Path

from filelock import FileLock

from augenmerk.data import open_bitext
from augenmerk.study.collect import collect
from augenmerk.study.jobs import Job, execute
from augenmerk.study.plan import read_study, save_plan
from augenmerk.study.result import RESULT

STUDY = """
question = "Does it matter where it looks?"
seeds = [1, 2]
splits = ["test"]
beams = [1, 2]
sentences = ["Der Hund schläft.", "Die Frau sieht den Ball."]

[factors]
attention = ["mean", "scaled-dot"]

[settings.data]
bitext = "{data}"
source_language = "de"
target_language = "en"

[settings.text]
unit = "word"
joint = false

[settings.model]
embedding = 16
hidden = 24
key = 16

[settings.train]
epochs = 2
batch_size = 16
lr = 0.01
"""
NAME = "study-tiny"


def copy_study(shared_folder: Path, place: Path) -> Path:
    """Puts the study and its `tiny.toml` into a new folder, and returns its own folder there."""
    made = shared_folder / "looked-at"
    with FileLock(shared_folder / "looked-at.lock"):
        if not (made / "runs" / NAME / RESULT).exists():
            make_study(made)
    shutil.copytree(made, place)
    return place / "runs" / NAME


def make_study(folder: Path) -> None:
    """Runs the study in this process, which takes seconds; `run_study` would start a process for each run."""
    book = open_bitext("bilderbuch", pairs=200, seed=3)
    (folder / "pairs").mkdir(parents=True)
    for split, count in (("train", 200), ("val", 20), ("test", 30)):
        pairs = [pair for pair, _ in zip(book[split], range(count), strict=False)]
        lines = (f"{pair.source}\t{pair.target}\n" for pair in pairs)
        (folder / "pairs" / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    file = folder / "tiny.toml"
    file.write_text(STUDY.format(data=folder / "pairs"), encoding="utf-8")
    study, out = read_study(file), folder / "runs" / NAME
    for planned in study.runs:
        config = planned.config.model_dump(exclude_none=True)
        job = Job(str(out / planned.path), config, study.splits, study.beams, study.sentences, "cpu", [])
        execute(job, lambda **_: None)
    save_plan(study, out)
    collect(study, out).save(out)
