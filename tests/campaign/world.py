"""The files that cases are run on: small data, settings, trained runs and a study, made by the commands.

They are made once. Each case gets a copy of them, and works in it.
"""

import gzip
import json
import shutil
from pathlib import Path

from augenmerk.data import open_bitext
from tests.support.processes import Command, Forker

SETTINGS = """
[data]
bitext = "{data}"
[text]
unit = "word"
joint = false
[model]
embedding = 16
hidden = 16
key = 16
[train]
epochs = 2
batch_size = 8
lr = 0.01
precision = "fp32"
bleu = false
save_seconds = 1e-9
"""

STUDY = """
question = "Does it matter what is attended to?"
base = "tiny.toml"
seeds = [1, 2]
splits = ["val"]
beams = [1, 2]
sentences = ["Ein Hund schläft."]
[factors]
attention = ["mean", "scaled-dot"]
[published]
source = "nobody; invented"
[[published.figures]]
variant = "mean"
measure = "bleu"
mean = 1.5
variance = 0.1
"""

MECHANISM = """
from augenmerk.model.attention import Attention

class Mine(Attention):
    pass
"""


def make_world(folder: Path, forker: Forker) -> None:
    """Writes the files of all cases into `folder`, unless they are there."""
    if (folder / "study" / "study.json").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    own = folder / "own"
    own.mkdir(parents=True)
    book = open_bitext("bilderbuch", pairs=100, seed=3)
    for split, count in (("train", 40), ("val", 10), ("test", 10)):
        pairs = [pair for pair, _ in zip(book[split], range(count), strict=False)]
        (own / f"{split}.de").write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
        (own / f"{split}.en").write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    rows = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
    (folder / "pairs.tsv").write_text(rows, encoding="utf-8")
    (folder / "pairs.tsv.gz").write_bytes(gzip.compress(rows.encode(), mtime=0))
    lines = [json.dumps({"source": pair.source, "target": pair.target}) for pair in pairs]
    (folder / "pairs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "input.txt").write_text("".join(f"{pair.source}\n" for pair in pairs[:4]), encoding="utf-8")
    (folder / "links.align").write_text("0-0 1-1 2-2\n" * 10, encoding="utf-8")
    (folder / "answers.csv").write_text(
        "student,task,answers\nAnna,1.2,c*(k_a+k_b)\nBen,1.2,k_a\n", encoding="utf-8"
    )
    (folder / "tiny.toml").write_text(SETTINGS.format(data=own), encoding="utf-8")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "mine.py").write_text(MECHANISM, encoding="utf-8")
    (folder / "old.txt").write_text("what was here before\n", encoding="utf-8")
    (folder / "loop").symlink_to("loop")
    for arguments in (
        ["train", "tiny.toml", "--out", "run-a", "--seed", "1"],
        ["train", "tiny.toml", "--out", "run-b", "--seed", "2"],
        ["evaluate", "run-a", "--split", "val"],
        ["study", "study.toml", "--out", "study"],
    ):
        [outcome] = forker.run(folder, Command(arguments, jobs_here=True, hang=600.0))
        assert outcome.code == 0, outcome.err
    _leave_half_done(folder, forker)
    for path in (folder / "study").iterdir():  # only the result: cases need no runs of a study
        if path.name != "study.json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _leave_half_done(folder: Path, forker: Forker) -> None:
    """Makes a run that was killed between its first epoch and its last."""
    arguments = ["train", "tiny.toml", "--out", "half", "--seed", "1", "--epochs", "3"]
    half = folder / "half"
    [whole] = forker.run(folder, Command(arguments, count=True, hang=600.0))
    for percent in range(50, 100, 5):
        shutil.rmtree(half)
        at_call = whole.calls * percent // 100
        [outcome] = forker.run(folder, Command(arguments, at_call=at_call, signal=9, hang=600.0))
        assert outcome.code == -9, outcome.err
        if (half / "metrics.jsonl").exists() and (half / "state.safetensors").exists():
            break
    assert (half / "metrics.jsonl").exists()
    assert not (half / "result.json").exists()
