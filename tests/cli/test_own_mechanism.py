"""An attention mechanism in a person's own file: trained, recorded, and executed only if it is named."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from augenmerk import AugenmerkError, load, load_mechanism
from augenmerk.inference.model import InferenceModel
from augenmerk.mechanisms.custom import CUSTOM_MECHANISMS
from augenmerk.study.plan import read_study
from augenmerk.text.tokenizer import BOS, EOS
from augenmerk.training.start import start
from tests.cli.test_documents import blocks
from tests.support.command import fails_with_a_sentence, run_command
from tests.support.runs import tiny
from tests.unit.test_mechanism_trial import WRONG

SPARSEMAX = '''
"""Sparsemax attention (Martins and Astudillo 2016): weights that can be exactly 0."""

import torch
from torch import Tensor, nn

from augenmerk.base.config import ModelConfig
from augenmerk.model.attention import Attention, Memory

print("executed", flush=True)


def sparsemax(scores: Tensor) -> Tensor:
    ordered, _ = scores.sort(dim=-1, descending=True)
    total = ordered.cumsum(-1) - 1
    count = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
    support = (ordered * count > total).sum(-1, keepdim=True)
    threshold = total.gather(-1, support - 1) / support
    return (scores - threshold).clamp(min=0)


class Sparsemax(Attention):
    def __init__(self, query: int, value: int) -> None:
        super().__init__()
        self.W = nn.Linear(value, query, bias=False)

    @classmethod
    def from_config(cls, config: ModelConfig) -> "Sparsemax":
        return cls(config.hidden, 2 * config.hidden)

    def keys(self, states: Tensor) -> Tensor:
        return self.W(states)

    def attend(self, queries, memory: Memory, *, need_weights: bool = True):
        scores = queries @ memory.keys.mT
        if memory.mask is not None:
            scores = scores.masked_fill(~memory.mask[:, None, :], -1e9)
        weights = sparsemax(scores)
        return self.mix(weights, memory), weights if need_weights else None


class Other:
    pass
'''

TINY = (
    *("--data", "bilderbuch", "--epochs", "2", "--set", "data.bilderbuch.pairs=200"),
    *("--set", "model.embedding=16", "--set", "model.hidden=16", "--set", "model.key=16"),
    *("--set", "train.select_by=loss", "--set", "train.bleu=false", "--set", "text.vocabulary_size=400"),
)
SENTENCE = "Der kleine Hund schläft."
STUDY = """
question = "Is it?"
base = "quick"
seeds = [1]
splits = ["train"]
[settings]
data.bitext = "bilderbuch"
data.validation = "train"
data.bilderbuch.pairs = 100
model.embedding = 16
model.hidden = 16
model.key = 16
text.vocabulary_size = 400
train.epochs = 1
[factors]
attention = ["mine.py:Sparsemax"]
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "mine.py"
    path.write_text(SPARSEMAX, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(file: Path) -> Path:
    """A run that was trained with the mechanism, through the command line."""
    place = file.parent / "run"
    answer = run_command("train", "quick", *TINY, "--attention", f"{file}:Sparsemax", "--out", place)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("executed\n")
    assert 'attention = "mine.py:Sparsemax"' in (place / "config.toml").read_text(encoding="utf-8")
    assert (place / "mine.py").read_bytes() == file.read_bytes()
    forget_loaded_mechanisms()
    return place


@pytest.fixture(autouse=True)
def _every_test_starts_without_own_mechanisms() -> Iterator[None]:
    yield
    forget_loaded_mechanisms()


def forget_loaded_mechanisms() -> None:
    CUSTOM_MECHANISMS.clear()


def commands(run: Path) -> list[tuple[object, ...]]:
    looking = ("--model", run, SENTENCE)
    return [("translate", *looking), ("diagram", *looking), ("evaluate", run), ("faithfulness", run)]


def test_it_is_executed_only_if_it_is_named(trained: Path, tmp_path: Path) -> None:
    for command in (*commands(trained), ("patterns", trained)):
        sentence = fails_with_a_sentence(*command)
        assert "--attention" in sentence
        assert "mine.py:Sparsemax" in sentence
    moved = tmp_path / "mine.py"
    shutil.copy(trained / "mine.py", moved)
    named = ("--attention", f"{moved}:Sparsemax")
    out = run_command("translate", "--model", trained, *named, "--json", SENTENCE).out
    assert out.startswith("executed\n")
    weights = json.loads(out.removeprefix("executed\n"))["attention"]
    assert all(sum(row) == pytest.approx(1.0, abs=1e-4) for row in weights)
    forget_loaded_mechanisms()
    with pytest.raises(AugenmerkError, match="which runs only if"):
        load(trained)
    assert load_mechanism(f"{trained / 'mine.py'}:Sparsemax") == "mine.py:Sparsemax"
    assert load(trained).translate(SENTENCE).attention.tolist()[0] == pytest.approx(weights[0], abs=1e-4)


def test_training_can_be_resumed_with_the_same_flag(trained: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    shutil.copytree(trained, place)
    (place / "result.json").unlink()
    resume = ("train", "--resume", "--out", place)
    answer = run_command(*resume)
    assert answer.code == 2
    assert "--attention" in answer.err
    assert run_command(*resume, "--attention", f"{place / 'mine.py'}:Sparsemax").code == 0
    assert (place / "result.json").exists()


def edited(file: Path, place: Path, old: str = "self.W(states)", new: str = "0.5 * self.W(states)") -> Path:
    """Writes the file to `place` with a change."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text.replace(old, new), encoding="utf-8")
    return place


def test_an_edited_file_is_refused_with_old_weights(trained: Path, file: Path, tmp_path: Path) -> None:
    named = ("--attention", f"{edited(file, tmp_path / 'mine.py')}:Sparsemax")
    unfinished = tmp_path / "unfinished"
    shutil.copytree(trained, unfinished)
    (unfinished / "result.json").unlink()
    before = {path: path.read_bytes() for path in unfinished.iterdir() if path.is_file()}
    for command in (
        *commands(trained),
        ("train", "--resume", "--out", unfinished),
        ("train", "--from", trained, "--epochs", "1", "--out", tmp_path / "tuned"),
    ):
        answer = run_command(*command, *named)
        assert answer.code == 2, command
        sentence = answer.err.splitlines()[-1]
        assert f"{tmp_path / 'mine.py'} is not the code with which" in sentence
        assert "'Sparsemax' was changed; use the copy in the run, --attention" in sentence
        assert "/mine.py:Sparsemax, or train a new run." in sentence
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "tuned").exists()
    with pytest.raises(AugenmerkError, match="is not the code with which"):
        load(trained)


def test_what_the_class_does_not_use_may_be_edited(trained: Path, file: Path, tmp_path: Path) -> None:
    place = edited(file, tmp_path / "mine.py", "def keys", "# the other side\n\n    def keys")
    assert run_command("translate", "--model", trained, "--attention", f"{place}:Sparsemax", SENTENCE).out


def test_the_copy_in_a_run_is_bound_to_it(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    command = ("translate", "--model", run, "--attention", f"{run / 'mine.py'}:Sparsemax", SENTENCE)
    edited(run / "mine.py", run / "mine.py")
    answer = run_command(*command)
    assert answer.code == 2
    assert f"{run / 'mine.py'} was changed after the run was created" in answer.err
    assert f"augenmerk train --resume --out {run} --accept-changes" in answer.err
    assert run_command("train", "--resume", "--out", run, "--accept-changes").code == 0
    assert run_command(*command).code == 0
    (run / "mine.py").unlink()
    named = ("--attention", f"{trained / 'mine.py'}:Sparsemax")
    answer = run_command("translate", "--model", run, *named, SENTENCE)
    assert f"{run / 'mine.py'} is missing" in answer.err


def test_two_files_of_one_name_are_not_confused(trained: Path, file: Path, tmp_path: Path) -> None:
    same = edited(file, tmp_path / "a" / "mine.py", "def keys", "def  keys")
    other = edited(file, tmp_path / "b" / "mine.py")
    complaint = f"{other} and {file} both define 'mine.py:Sparsemax', and differently"

    both = [part for place in (file, other) for part in ("--attention", f"{place}:Sparsemax")]
    answer = run_command("translate", "--model", trained, *both, SENTENCE)
    assert answer.code == 2
    assert complaint in answer.err
    forget_loaded_mechanisms()

    name = load_mechanism(f"{same}:Sparsemax")
    assert load_mechanism(f"{file}:Sparsemax") == name
    start(tiny(model__attention=name), tmp_path / "first")
    assert load_mechanism(f"{other}:Sparsemax") == name
    for run in (trained, tmp_path / "first"):
        with pytest.raises(AugenmerkError, match=r"/b/mine\.py is not the code with which"):
            load(run)
    with pytest.raises(AugenmerkError, match=re.escape(complaint)):
        start(tiny(model__attention=name), tmp_path / "second")
    load_mechanism(f"{trained / 'mine.py'}:Sparsemax")  # as the sentence says
    assert load(trained).translate(SENTENCE).text


def test_a_file_that_is_edited_within_a_second_is_loaded_as_it_is(tmp_path: Path) -> None:
    """Python's cache of compiled files takes it for the same if size and second are the same."""
    file = tmp_path / "mine.py"
    for value in ("1.0", "2.0"):
        file.write_text(
            f"from augenmerk.model.attention import DotAttention\n\n\n"
            f"class Mine(DotAttention):\n    factor = {value}\n",
            encoding="utf-8",
        )
        os.utime(file, (1e9, 1e9))
        assert vars(CUSTOM_MECHANISMS[load_mechanism(f"{file}:Mine")].kind)["factor"] == float(value)
    assert not (tmp_path / "__pycache__").exists()


def test_a_file_may_be_a_link_with_another_name(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to(file)
    config = tiny(model__attention=load_mechanism(f"{tmp_path / 'link.py'}:Sparsemax"))
    run = start(config, tmp_path / "run")
    assert run.read_code() == file.read_bytes()


def test_bad_names_and_files_get_a_sentence(file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def", encoding="utf-8")
    for place, complaint in (
        ("mine", "is not a mechanism in a file"),
        (f"{tmp_path / 'absent.py'}:A", "there is no such file"),
        (f"{file}:Absent", "has no class 'Absent'"),
        (f"{file}:Other", "has no class 'Other'"),
        (f"{broken}:A", "cannot be loaded: SyntaxError"),
    ):
        with pytest.raises(AugenmerkError, match=complaint):
            load_mechanism(place)


def test_a_study_asks_for_it_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    answer = run_command("study", tmp_path / "study.toml", "--out", tmp_path / "out")
    assert (answer.code, answer.out) == (2, "")
    assert "give --attention PATH/mine.py:Sparsemax" in answer.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_the_mechanisms_on_the_page_can_be_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "docs/guides/own-mechanism.md"
    code, check = blocks(page, "python")
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(check, {})
    train, translate, *_ = (shlex.split(line) for line in blocks(page, "sh")[0].splitlines())
    one_epoch = ("--epochs", "1", "--set", "data.bilderbuch.pairs=100")
    answer = run_command(*train[1:], *TINY, *one_epoch)
    assert answer.code == 0, answer.err
    assert run_command(*translate[1:]).code == 0

    [study] = blocks(page, "toml")
    (tmp_path / "angle.toml").write_text(study, encoding="utf-8")
    names = {run.config.model.attention for run in read_study(tmp_path / "angle.toml").runs}
    command = blocks(page, "sh")[1]
    assert names == {"scaled-dot", *re.findall(r"--attention (\S+)", command)}


def test_a_mechanism_is_tried_before_a_run_or_a_study_is_made(tmp_path: Path) -> None:
    named = ("--attention", f"{WRONG}:LookingAtPadding")
    study = STUDY.replace("mine.py:Sparsemax", f"{WRONG.name}:LookingAtPadding")
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    for command in (("train", "quick", *TINY), ("study", tmp_path / "study.toml")):
        answer = run_command(*command, *named, "--out", tmp_path / "out")
        assert answer.code == 2
        assert "it puts weight on padding" in answer.err.splitlines()[-1]
        assert not (tmp_path / "out").exists()


# One that is written for all libraries, and remembers where it has looked.

FRESH = '''
from augenmerk import Mechanism
from augenmerk.mechanisms.arrays import exp, masked_softmax, real_words, zeros_like


class Fresh(Mechanism):
    """Looks less at words that it has looked at."""

    def __init__(self, config, layers):
        self.W = layers.linear("W", config.value_size, config.query_size, bias=False)
        self.strength = layers.parameter("strength", init=0.5)

    def keys(self, states):
        return self.W(states)

    def start(self, memory):
        return (zeros_like(real_words(memory)),)  # (B, 1, S)

    def step(self, queries, memory, state):
        (seen,) = state
        weights = masked_softmax(queries @ memory.keys.mT - exp(self.strength) * seen, memory.mask)
        return weights, (seen + weights,)
'''


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_a_mechanism_with_a_state_has_all_rights(architecture: str, tmp_path: Path) -> None:
    file, run = tmp_path / "fresh.py", tmp_path / "run"
    file.write_text(FRESH, encoding="utf-8")
    named = ("--attention", f"{file}:Fresh")
    sizes = ("--set", f"model.architecture={architecture}", "--set", "model.heads=2")
    answer = run_command("train", "quick", *TINY, *sizes, *named, "--out", run)
    assert answer.code == 0, answer.err
    answer = run_command("translate", "--model", run, *named, "--beam", 3, "--json", SENTENCE)
    assert answer.code == 0, answer.err
    shown = json.loads(answer.out)
    assert all(sum(row) == pytest.approx(1, abs=1e-3) for row in shown["attention"])
    translator = load(run)
    assert isinstance(translator.model, InferenceModel)  # of numpy
    [found] = translator.translate([SENTENCE], beam=3)
    assert found.text == shown["translation"]
    assert found.hypothesis is not None
    stepped = found.hypothesis.weights
    src = np.array([[*translator.tokenizers.source.encode_ids([SENTENCE])[0], EOS]])
    tgt_in = np.array([[BOS, *found.hypothesis.ids][: len(stepped)]])
    whole = translator.model.attention_weights(src, src > 0, tgt_in).cross.mean(axis=(1, 2))[0]
    np.testing.assert_allclose(stepped, whole, atol=1e-5)
    assert "give --attention PATH/fresh.py:Fresh" in forgotten(run, tmp_path)
    for command in (("evaluate", run, "--split", "val"), ("export", run, "--out", tmp_path / "page.html")):
        answer = run_command(*command, *named)
        assert answer.code == 0, answer.err


def forgotten(run: Path, folder: Path) -> str:
    """What `export` says if the file is not named."""
    forget_loaded_mechanisms()
    return fails_with_a_sentence("export", run, "--out", folder / "page.html")
