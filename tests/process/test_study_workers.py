"""Studies with custom mechanisms, changed data and two architectures."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from augenmerk import AugenmerkError, load_mechanism
from augenmerk.data import open_bitext
from augenmerk.run.directory import RunDirectory
from augenmerk.study.plan import read_study
from augenmerk.study.runner import run_study
from augenmerk.text.pairs import sum_pairs
from tests.cli.test_own_mechanism import SPARSEMAX, STUDY, edited, forget_loaded_mechanisms
from tests.cli.test_study_data import declare, run_here, start, write_pairs
from tests.support.command import run_command


@pytest.fixture(autouse=True)
def _no_mechanism_is_left() -> Iterator[None]:
    yield
    forget_loaded_mechanisms()


def test_the_workers_of_a_study_use_the_code_that_was_loaded(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "original.py").write_text(SPARSEMAX, encoding="utf-8")
    file = tmp_path / "original.py"
    study, out = read_study(tmp_path / "study.toml"), tmp_path / "out"
    mine = edited(file, tmp_path / "mine.py", "def keys", "def  keys")
    loaded = mine.read_bytes()
    load_mechanism(f"{mine}:Sparsemax")
    mine.write_text("raise SystemExit('edited')", encoding="utf-8")
    result = run_study(study, out, jobs=1, device="cpu", on_progress=lambda _statuses: None)
    assert result.complete, result.variants
    [run] = [RunDirectory.open(out / planned.path) for planned in study.runs]
    assert run.read_code() == loaded

    # Another seed with an edited file would be pooled with the first.
    forget_loaded_mechanisms()
    (tmp_path / "study.toml").write_text(STUDY.replace("[1]", "[1, 2]"), encoding="utf-8")
    named = ("--attention", f"{edited(file, tmp_path / 'mine.py')}:Sparsemax")
    answer = run_command("study", tmp_path / "study.toml", *named, "--out", out)
    assert answer.code == 2
    assert f"{mine} is not the code with which {run.path} was trained" in answer.err
    assert not (out / study.runs[0].path.parent / "seed-2").exists()


@pytest.mark.parametrize(
    ("split", "lost"),
    [("train", "probes.json"), ("test", "probes.json"), ("val", "scores.json"), ("test", "scores.json")],
)
@pytest.mark.usefixtures("jobs_here")
def test_a_run_that_was_killed_before_it_was_probed_is_not_measured_on_other_data(
    split: str, lost: str, tmp_path: Path
) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data, 'attention = ["mean"]')
    run_here(study, out)
    run = out / study.runs[0].path
    for name in {lost, "probes.json"}:
        (run / name).unlink()
    file = data / f"{split}.tsv"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("\t", " Ja.\t", 1), encoding="utf-8")
    if (split, lost) == ("test", "scores.json"):
        start(study, out)  # nothing has been measured on these sentences
    else:
        with pytest.raises(AugenmerkError, match=f"'{split}' has other sentences, then and now"):
            start(study, out)
        file.write_text(text, encoding="utf-8")
        start(study, out)
    found = {each["split"]: each["sha256"] for each in json.loads((run / "probes.json").read_text())["data"]}
    bitext = open_bitext(str(data))
    assert found == {each: sum_pairs(bitext[each]).sha256 for each in ("train", "val", "test")}


@pytest.mark.usefixtures("jobs_here")
def test_a_study_of_both_architectures(tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text(
        """
question = "Is a Transformer better than a GRU?"
seeds = [1]
splits = ["val"]
beams = [1]

[factors]
"model.architecture" = ["gru", "transformer"]

[settings.data]
bitext = "bilderbuch"

[settings.data.bilderbuch]
pairs = 60

[settings.text]
unit = "word"
joint = false

[settings.model]
embedding = 16
hidden = 16
key = 16
heads = 2
transformer = { feed_forward = 16 }

[settings.train]
epochs = 1
batch_size = 30
""",
        encoding="utf-8",
    )
    out = tmp_path / "out"
    answer = run_command("study", tmp_path / "both.toml", "--out", out, "--device", "cpu")
    assert answer.code == 0, answer.err
    result = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in result["variants"]] == ["architecture=gru", "architecture=transformer"]
    assert {one["measure"] for one in result["comparisons"]} == {"bleu", "word_loss"}
    report = run_command("report", out)
    assert report.code == 0, report.err
    [gru], [transformer] = (one["runs"] for one in result["variants"])
    assert gru["alignment_attention"] is None
    probes = json.loads((out / transformer["run"] / "probes.json").read_text(encoding="utf-8"))
    assert transformer["alignment_attention"] == probes["alignment_attention"]
    chosen = f"is measured with {probes['alignment_attention']} (seed 1, chosen on val)."
    page = (out / "report.html").read_text(encoding="utf-8")
    assert f"The alignment error of architecture=transformer {chosen}" in page
    assert "The alignment error of architecture=gru" not in page
