"""What help says can be done: examples run as they stand."""

import json
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import typer

import augenmerk
from augenmerk import Run
from augenmerk.api import settings
from augenmerk.base import config
from augenmerk.base.config import RunConfig
from augenmerk.bench import decoding
from augenmerk.bench import session as bench_session
from augenmerk.cli import EXAMPLE_WIDTH, app, lay_out_examples
from augenmerk.data import Bitext, bilderbuch, multi30k
from augenmerk.lab.exercises import EXERCISES, read_reference
from augenmerk.run.directory import RunDirectory
from augenmerk.serve import session
from augenmerk.serve.server import open_socket
from augenmerk.study import demo, plan, runner
from tests.cli.test_demo import small
from tests.cli.test_study_data import ExecutorHere
from tests.process.test_report import make_result
from tests.support.assignment import copy_finished, make_tiny
from tests.support.command import run_command
from tests.support.runs import SharedRuns, tiny

SMALL = (
    *("data.bilderbuch.pairs=200", "train.epochs=1", "train.batch_size=16", "train.precision=fp32"),
    *("model.embedding=8", "model.hidden=8", "model.key=8", "text.vocabulary_size=400"),
)
PAIRS = 40
"""As many pairs of each split are read."""

ADDED = {
    **{"bench train": ["--steps", "1"], "bench decode": ["--sentences", "4"]},
    "serve": ["--check", "--port", "0"],
}
"""Options that keep an example of these commands short."""

STUDY = """
question = "Does it matter?"
seeds = [1]
[factors]
attention = ["none"]
[settings]
data.bilderbuch.pairs = 200
model.hidden = 8
train.epochs = 1
train.bleu = false
"""


def walk(command: Any, context: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every command below this one with its name, such as `data show`."""
    for each in command.list_commands(context):
        below = command.get_command(context, each)
        if hasattr(below, "list_commands"):
            yield from walk(below, context, f"{name}{each} ")
        else:
            yield f"{name}{each}", below


ROOT: Any = typer.main.get_command(app)
COMMANDS = dict(walk(ROOT, ROOT.make_context("augenmerk", [], resilient_parsing=True)))


def read_examples(epilogs: Iterable[str]) -> list[str]:
    text = "\n".join(epilogs).replace(" \\\n", "")
    return [" ".join(line.split()) for line in text.splitlines() if re.match(r"augenmerk [a-z]", line)]


EXAMPLES = dict.fromkeys(read_examples([ROOT.epilog, *(each.epilog for each in COMMANDS.values())]))


@pytest.fixture(scope="module")
def folder(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(shared_runs, tmp_path_factory.mktemp("examples"))


def make_folder(shared_runs: SharedRuns, folder: Path) -> Path:
    """Fills a folder with what the examples name: runs, a study, sentences and pairs."""
    (folder / "runs").mkdir(parents=True)
    for name, seed in (("mine", 1), ("a", 1), ("b", 2), ("c", 2)):
        shared_runs.copy(tiny(train__seed=seed), folder / "runs" / name)
    shared_runs.copy(tiny(model__attention="multi-head"), folder / "runs" / "multi-head")
    transformer = {"model__architecture": "transformer", "model__attention": "multi-head", "model__layers": 2}
    shared_runs.copy(tiny(**transformer), folder / "runs" / "transformer")
    (folder / "runs" / "study-small").mkdir()
    make_result().save(folder / "runs" / "study-small")
    (folder / "de.txt").write_text("Der kleine Hund schläft.\nDie Frau lacht.\n", encoding="utf-8")
    (folder / "pairs.tsv").write_text("Der Hund schläft.\tThe dog sleeps.\n" * 3, encoding="utf-8")
    (folder / "system.txt").write_text("A dog.\n" * PAIRS, encoding="utf-8")
    (folder / "answers.csv").write_text("student,task,answer\nAda,1.2,c*(k_a + k_b)\n", encoding="utf-8")
    quiz = "First name,Surname,Response 1,Response 2\nAda,Lovelace,-,c*(k_a + k_b)\n"
    (folder / "quiz.csv").write_text(quiz, encoding="utf-8")
    (folder / "lab.py").write_text("\n".join(map(read_reference, EXERCISES)), encoding="utf-8")
    (folder / "submissions").mkdir()
    (folder / "submissions" / "ada.py").write_text("import torch\n", encoding="utf-8")
    (folder / "mine.toml").write_text(STUDY, encoding="utf-8")
    return folder


def make_small(folder: Path, monkeypatch: pytest.MonkeyPatch, *, short: bool = True) -> None:
    """Makes models smaller, reads less data, and trains the runs of a study in this process."""
    load_config = config.load_config

    def load_small(name: str, overrides: Iterable[str] = ()) -> RunConfig:
        made = load_config(name, (*SMALL, *overrides))
        # The size of the vocabulary is still the preset's, which gives way to that of a prepared corpus.
        return made.leaving_open({*made.left_open, "text.vocabulary_size"}) if made.left_open else made

    # Modules that are imported meanwhile would keep the small ones.
    for module in (config, settings, bench_session):
        monkeypatch.setattr(module, "load_config", load_small)
    if short:
        read_split = Bitext.__getitem__
        monkeypatch.setattr(
            Bitext, "__getitem__", lambda self, name: list(islice(read_split(self, name), PAIRS))
        )
    monkeypatch.setitem(bilderbuch.SIZES, "train", 300)
    monkeypatch.setattr(demo, "demo_config", small)
    for name in ("REPEATS", "MAX_HYPOTHESES", "REFERENCE_SENTENCES", "ALONE_SENTENCES"):
        monkeypatch.setattr(decoding, name, 2)
    monkeypatch.setattr(multi30k, "fetch", lambda *_: folder)
    monkeypatch.setitem(plan.BUNDLED_STUDIES, "small", folder / "mine.toml")
    monkeypatch.setattr(runner, "LocalExecutor", ExecutorHere)


def prepare(
    example: str, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Makes what an example needs small. A run is resumed on all the pairs that it was begun with."""
    if "assignment" in example and not (folder / "runs" / "assignment").exists():
        copy_finished(request.getfixturevalue("shared_folder"), folder / "runs" / "assignment")
        make_tiny(monkeypatch)
    make_small(folder, monkeypatch, short="--resume" not in example)
    if needs_multi30k(example):
        request.getfixturevalue("multi30k_folder")


SLOW = ("augenmerk assignment", "augenmerk bench decode", "augenmerk demo")


@pytest.mark.parametrize(
    "example",
    [pytest.param(each, marks=pytest.mark.slow if each in SLOW else ()) for each in EXAMPLES],
)
def test_the_example_runs(
    example: str, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With smaller models, less data and fewer pictures, without a network; otherwise as it stands."""
    prepare(example, folder, request, monkeypatch)
    command, _, output = re.sub("--(count|top) 12", r"--\1 2", example).partition(" > ")
    command, _, file = command.partition(" < ")
    arguments = shlex.split(command)[1:]
    added = (more for name, more in ADDED.items() if example.startswith(f"augenmerk {name}"))
    arguments += [each for more in added for each in more]
    stdin = (folder / file).read_bytes() if file else b"Ein Hund.\n"
    answer = run_command(*arguments, stdin=stdin, cwd=folder)
    assert answer.code == expected_code(example), answer.err
    if output:
        (folder / output).write_text(answer.out, encoding="utf-8")


def expected_code(example: str) -> int:
    """Returns 1 for answers that are checked: examples are wrong answers, since help gives no answer away."""
    return int(example.startswith("augenmerk theory check"))


def read_twins() -> dict[str, str]:
    """Returns the Python that the reference gives for examples."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(augenmerk [^`]+)` \| `(am[^`]+)` \|$", page, re.MULTILINE))


TWINS = read_twins()
WITHOUT_TWIN = {"augenmerk serve --open": "Python opens a browser by itself, with the address of the handle."}
"""Examples that need no twin, and why."""
TIMES = {"seconds", "target_tokens_per_second", "sentences_per_second", "seconds_per_sentence"}


def as_data(value: Any) -> Any:
    """Returns what a command prints as JSON for a thing, without times."""
    value = value.result if isinstance(value, Run) else value
    value = value.to_dict() if hasattr(value, "to_dict") else value
    if isinstance(value, Mapping):
        return {key: as_data(each) for key, each in value.items() if key not in TIMES}
    if isinstance(value, list | tuple):
        return [
            as_data(each) for each in value if not (isinstance(each, dict) and each.get("measure") in TIMES)
        ]
    return str(value) if isinstance(value, Path) else value


@pytest.mark.slow
@pytest.mark.parametrize("example", [each for each in EXAMPLES if each not in WITHOUT_TWIN])
def test_python_gives_the_same(
    example: str,
    shared_runs: SharedRuns,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same JSON and, after training, the same weights, bit for bit."""
    assert example in TWINS, "docs/reference/python.md has no twin of this example"
    place, theirs = tmp_path / "here", tmp_path / "command"
    prepare(example, make_folder(shared_runs, place), request, monkeypatch)
    monkeypatch.setattr(session, "open_socket", lambda host, _port: open_socket(host, 0))
    command, _, file = example.partition(" > ")[0].partition(" < ")
    name, *arguments = [each for each in shlex.split(command)[1:] if each != "--json"]
    for key, added in ADDED.items():
        arguments += added if command.startswith(f"augenmerk {key}") else []
    lines, writes = name in ("translate", "score"), "--output" in arguments
    if "--data corpus" in example:
        prepare_corpus(place)
    stdin = (place / file).read_bytes() if file else b""
    answer = run_command(name, *arguments, *([] if writes else ["--json"]), stdin=stdin, cwd=place)
    assert answer.code == expected_code(example), answer.err
    place.rename(theirs)
    if name == "assignment":  # which reads again what is finished
        shutil.copytree(theirs, place)
    else:
        make_folder(shared_runs, place)  # the same path, and nothing that the command has made
    if "--data corpus" in example:
        prepare_corpus(place)
    monkeypatch.chdir(place)
    value = eval(TWINS[example], {"am": augenmerk, "Path": Path})
    if name in ("data", "export") or writes:
        assert read_files(place) == read_files(theirs)
    if writes:
        return
    shown = [json.loads(line) for line in answer.out.splitlines()] if lines else json.loads(answer.out)
    found = as_data([value] if lines and not isinstance(value, list) else value)
    shown = as_data(shown)
    if name == "serve":
        value.stop()
        assert found.pop("address").startswith("http://127.0.0.1:")
        del shown["address"]
    if name == "bench":
        found, shown = forget_numbers(found), forget_numbers(shown)
    assert json.loads(json.dumps(found)) == shown
    if name == "train":
        one, other = (RunDirectory.open(folder / value.path).load_model() for folder in (theirs, place))
        assert one.keys() == other.keys()
        assert all(one[key].tobytes() == each.tobytes() for key, each in other.items())


def prepare_corpus(folder: Path) -> None:
    prepared = run_command("data", "prepare", "bilderbuch", "--out", "corpus", cwd=folder)
    assert prepared.code == 0, prepared.err


def read_files(folder: Path) -> dict[str, bytes]:
    """Returns what is in each file; runs keep the time of their training."""
    files = (path for path in folder.rglob("*") if path.is_file() and "runs" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def forget_numbers(value: Any) -> Any:
    """Returns measurements without what is different in each."""
    if isinstance(value, dict):
        return {key: forget_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [forget_numbers(each) for each in value]
    return value if isinstance(value, str) else None


def needs_multi30k(example: str) -> bool:
    """Returns whether the example reads data that not every machine has."""
    shipped = re.match(r"augenmerk evaluate -(?!-data)", example)
    return (
        shipped is not None
        or re.search("multi30k|test_2016", example.replace("fetch multi30k", "")) is not None
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_keeps_examples_whole(name: str) -> None:
    shown = run_command(*name.split(), "--help", env={"COLUMNS": "80"}).out
    lines = [line.strip() for line in shown.splitlines()]
    assert re.search(r"-h, --help +Show this message", shown)
    for line in COMMANDS[name].epilog.splitlines():
        if line.startswith(("augenmerk", "    --")):
            assert line.strip() in lines, "the example is broken"
            assert len(line) <= EXAMPLE_WIDTH
    if name != "demo":
        assert re.search(r"--json +(One|Print)", shown)


@pytest.mark.parametrize("name", ["", "data", "train", "data export", "evaluate"])
def test_help_for_a_narrow_terminal_cuts_no_word(name: str) -> None:
    shown = run_command(*name.split(), "--help", env={"COLUMNS": "40"}).out
    assert "…" not in shown
    examples = (COMMANDS[name].epilog if name in COMMANDS else "").splitlines()
    whole = {line.strip() for line in examples if line.startswith(("augenmerk", "    --"))}
    assert whole <= {line.strip() for line in shown.splitlines()}
    for param in COMMANDS[name].params if name in COMMANDS else ():
        assert param.opts[0] in shown or param.param_type_name == "argument"


def test_every_option_is_explained() -> None:
    for name, command in COMMANDS.items():
        for param in command.params:
            assert (param.help or "").strip(), f"{name}: {param.name}"


def test_a_long_example_is_continued_after_a_backslash() -> None:
    command = "augenmerk evaluate " + " ".join(f"--split number-{n}" for n in range(9))
    shown = lay_out_examples(f"Examples:  augenmerk demo    {command}    It is long.")
    keep, first, *lines, empty, last = shown.splitlines()
    assert (keep, first, lines[0]) == ("\b", "Examples:", "augenmerk demo")
    assert (empty, last) == ("", "It is long.")
    assert max(map(len, lines)) <= EXAMPLE_WIDTH
    assert lay_out_examples(shown) == shown
    assert read_examples([shown]) == ["augenmerk demo", command]
