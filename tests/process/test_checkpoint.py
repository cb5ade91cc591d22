"""A run directory survives whatever happens to the process, the disk and the files in it."""

import json
import os
import pickle
import random
import re
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from augenmerk.base.arrays import Array, all_to_numpy, checksum, to_numpy
from augenmerk.base.config import RunConfig, TextConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import temp_path
from augenmerk.data import SentencePair
from augenmerk.model.interface import load_checked
from augenmerk.run.directory import RunDirectory
from augenmerk.text.tokenizer import TokenizerPair
from tests.support.processes import Forker
from tests.support.tasks import tensors

CONFIG = RunConfig.from_toml('[text]\nunit = "word"\n[train]\nepochs = 3\n', "test")
PAIRS = [SentencePair("Der Hund schläft.", "The dog sleeps."), SentencePair("Ein Ball.", "A ball.")]
JOINT = TokenizerPair.train(PAIRS, TextConfig(unit="word"))
SEPARATE = TokenizerPair.train(PAIRS, TextConfig(unit="word", joint=False))


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "run", CONFIG, JOINT)


def left_by_killed(path: Path) -> Path:
    """Returns the temporary path of a process on this machine that is no more."""
    return path.with_name(temp_path(path).name.replace(f"-{os.getpid()}.", "-999999999."))


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def bits(tensor: Array) -> tuple[str, tuple[int, ...], bytes]:
    array = to_numpy(tensor)
    return str(array.dtype), array.shape, array.tobytes()


def same(some: Mapping[str, Array], others: Mapping[str, Array]) -> bool:
    return some.keys() == others.keys() and all(bits(some[name]) == bits(others[name]) for name in some)


# -- creating and opening ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizers", [JOINT, SEPARATE], ids=["joint", "separate"])
def test_a_run_that_was_created_can_be_opened(tmp_path: Path, tokenizers: TokenizerPair) -> None:
    path = tmp_path / "deep" / "run"
    created = RunDirectory.create(path, CONFIG, tokenizers)
    opened = RunDirectory.open(path)
    for run in (created, opened):
        assert (run.path, run.config, run.finished, run.result) == (path, CONFIG, False, None)
        assert (run.load_state(), run.read_metrics(), run.read_scores()) == (None, [], [])
        assert run.tokenizers.joint == tokenizers.joint
        assert run.tokenizers.source.to_json() == tokenizers.source.to_json()
        assert run.tokenizers.target.to_json() == tokenizers.target.to_json()
    files = {"tokenizer.json"} if tokenizers.joint else {"tokenizer.source.json", "tokenizer.target.json"}
    assert names(path) == {"config.toml", "run.json"} | files
    assert names(tmp_path / "deep") == {"run"}


def test_an_empty_folder_becomes_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    RunDirectory.create(Path("run"), CONFIG, JOINT)
    assert RunDirectory.open(tmp_path / "run").config == CONFIG


def test_nothing_is_ever_created_in_place_of_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, words: str) -> None:
        before = sorted(tmp_path.rglob("*"))
        for attempt in (
            lambda: RunDirectory.create(path, CONFIG, JOINT),
            lambda: RunDirectory.check_unused(path),
        ):
            with pytest.raises(AugenmerkError, match=f"{re.escape(str(path))} .*{words}"):
                attempt()
        assert sorted(tmp_path.rglob("*")) == before

    run = RunDirectory.create(tmp_path / "run", CONFIG, JOINT)
    refused(run.path, "unfinished run; continue it with --resume or choose another --out")
    run.finish({"best_epoch": 3})
    refused(run.path, "finished run; choose another --out")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("Es war einmal")
    refused(tmp_path / "thesis", "holds something else")
    refused(tmp_path / "thesis" / "chapter.txt", "is a file")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    refused(Path(), "the current folder")


def test_a_folder_below_a_file_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AugenmerkError, match=r"run: the run cannot be created there \(Not a directory\)"):
        RunDirectory.create(tmp_path / "file" / "run", CONFIG, JOINT)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: (path / "config.toml").unlink(), "is not a run directory: it has no config.toml"),
        (lambda path: (path / "tokenizer.json").unlink(), "is not a run directory: it has no tokenizer.json"),
        (lambda path: path.rename(path.with_name("other")), "no such run directory"),
        (lambda path: (path / "config.toml").write_text("[train\n"), r"config.toml: not valid TOML .*line 1"),
        (lambda path: (path / "config.toml").write_text("[train]\nx = 1\n"), "unknown key 'train.x'"),
        (lambda path: (path / "config.toml").write_bytes(b"\xff"), "config.toml: not UTF-8"),
    ],
)
def test_what_is_not_a_run_cannot_be_opened(run: RunDirectory, spoil: Any, words: str) -> None:
    spoil(run.path)
    with pytest.raises(AugenmerkError, match=words) as caught:
        RunDirectory.open(run.path)
    assert str(run.path) in str(caught.value)


def test_a_file_is_no_run(run: RunDirectory) -> None:
    with pytest.raises(AugenmerkError, match="is not a run directory"):
        RunDirectory.open(run.path / "config.toml")


def test_a_broken_tokenizer_is_named(run: RunDirectory) -> None:
    (run.path / "tokenizer.json").write_text("{}")
    with pytest.raises(AugenmerkError, match=r"tokenizer\.json is not a tokenizer"):
        _ = RunDirectory.open(run.path).tokenizers


# -- tensors ----------------------------------------------------------------------------------------------

DTYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def tensor_dicts(draw: st.DrawFn) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    tensors = {}
    for name in draw(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=4)):
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
        tensor = torch.randn(shape, generator=generator, dtype=torch.float64).mul(100)
        tensors[name] = tensor.to(draw(st.sampled_from(DTYPES)))
        if draw(st.booleans()):
            tensors[name] = tensors[name].transpose(0, -1) if shape else tensors[name]
    tensors.pop("__metadata__", None)  # a name that safetensors keeps for itself
    return tensors


@given(tensors=tensor_dicts(), progress=st.dictionaries(st.text(), json_values, max_size=3))
@settings(max_examples=60, deadline=None)
def test_tensors_and_progress_come_back(
    tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, Tensor], progress: dict[str, Any]
) -> None:
    run = RunDirectory.create(tmp_path_factory.mktemp("runs") / "run", CONFIG, JOINT)
    run.save_state(tensors, progress)
    run.save_model(tensors, progress)
    loaded = RunDirectory.open(run.path).load_state()
    assert loaded is not None
    assert same(loaded[0], tensors)
    assert loaded[1] == progress
    assert same(run.load_model(), tensors)
    assert run.about_model == progress


def test_numbers_that_are_none_come_back(run: RunDirectory) -> None:
    tensors = {"weight": torch.tensor([float("nan"), float("inf"), -0.0], requires_grad=True)}
    run.save_state(tensors, {"best": float("inf"), "loss": float("nan")})
    loaded = run.load_state()
    assert loaded is not None
    assert same(loaded[0], tensors)
    assert loaded[1]["best"] == float("inf")
    assert loaded[1]["loss"] != loaded[1]["loss"]


def test_tied_weights_are_stored_once_and_come_back_tied(run: RunDirectory) -> None:
    embedding, output = nn.Embedding(1000, 10), nn.Linear(10, 1000, bias=False)
    output.weight = embedding.weight
    tied = nn.ModuleDict({"embedding": embedding, "output": output})
    run.save_model(tied.state_dict(), {})
    loaded = run.load_model()
    assert same(loaded, tied.state_dict())
    assert loaded["embedding.weight"] is loaded["output.weight"]
    assert run.model_path.stat().st_size < 1.1 * embedding.weight.nbytes


def test_what_is_loaded_has_memory_of_its_own(run: RunDirectory) -> None:
    run.save_state({"a": torch.ones(3), "b": torch.ones(3)}, {})
    loaded = run.load_state()
    assert loaded is not None
    loaded[0]["a"][:] = 0
    (run.path / "state.safetensors").write_bytes(b"")
    assert loaded[0]["b"].tolist() == [1, 1, 1]
    assert all(array.nbytes == 12 for array in loaded[0].values())


def test_without_weights_there_is_a_sentence(run: RunDirectory) -> None:
    with pytest.raises(AugenmerkError, match=r"run has no model\.safetensors: train it"):
        run.load_model()
    with pytest.raises(AugenmerkError, match=r"model\.safetensors: there is no such file"):
        _ = run.about_model


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_files_are_readable_for_whom_the_umask_allows(run: RunDirectory) -> None:
    run.save_model({"a": torch.ones(3)}, {})
    before = os.umask(0)
    os.umask(before)
    assert stat.S_IMODE(run.model_path.stat().st_mode) == 0o666 & ~before
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o777 & ~before


# -- damage -----------------------------------------------------------------------------------------------

WEIGHTS = {"W_z": torch.arange(12.0).reshape(3, 4), "W_o": torch.arange(6, dtype=torch.int64)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDirectory, bytes]:
    """A run whose model file the tests may spoil, and what stood in it."""
    run = RunDirectory.create(tmp_path_factory.mktemp("runs") / "run", CONFIG, JOINT)
    run.save_model(WEIGHTS, {"epoch": 3})
    return run, run.model_path.read_bytes()


def loads_the_same_or_complains(run: RunDirectory) -> bool:
    """Whether it loads; a complaint must be ours and name the file."""
    try:
        loaded, about = run.load_model(), run.about_model
    except AugenmerkError as error:
        said = str(error)
    else:
        assert same(loaded, WEIGHTS)
        assert about == {"epoch": 3}
        return True
    assert said.startswith(f"{run.model_path}: ")
    assert said.endswith(".")
    return False


@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
@settings(max_examples=300, deadline=None)
def test_any_changed_byte_is_noticed(saved: tuple[RunDirectory, bytes], place: int, byte: int) -> None:
    run, content = saved
    place %= len(content)
    run.model_path.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
    # White space between header and tensors is the only thing that may be another.
    assert loads_the_same_or_complains(run) <= (byte == content[place] or bytes([byte]).isspace())


def test_a_file_cut_short_anywhere_is_noticed(saved: tuple[RunDirectory, bytes]) -> None:
    run, content = saved
    for length in range(0, len(content), 7):
        run.model_path.write_bytes(content[:length])
        assert not loads_the_same_or_complains(run)
    run.model_path.write_bytes(content + b"\0")
    assert not loads_the_same_or_complains(run)


def test_tensors_of_somebody_else_are_refused(run: RunDirectory) -> None:
    for metadata in (None, {"format": "pt"}, {"augenmerk": "model"}):
        safetensors.torch.save_file(WEIGHTS, run.model_path, metadata)
        assert not loads_the_same_or_complains(run)


def test_a_state_is_no_model(run: RunDirectory) -> None:
    run.save_state(WEIGHTS, {"epoch": 3})
    (run.path / "state.safetensors").rename(run.model_path)
    with pytest.raises(AugenmerkError, match="does not say that it holds a model"):
        run.load_model()


def test_weights_for_another_vocabulary_are_refused(run: RunDirectory) -> None:
    """They would load, and translate into nonsense."""
    run.save_model(WEIGHTS, {})
    TokenizerPair.train([*PAIRS, SentencePair("Der Ball.", "The ball and the dog.")], CONFIG.text).save(
        run.path
    )
    with pytest.raises(AugenmerkError, match=r"it, the tokenizer beside it, or .* was changed"):
        run.load_model()


def edit(run: RunDirectory, old: str, new: str, *, accept: bool) -> RunDirectory:
    """Changes config.toml, and accepts that if it is told to."""
    path = run.path / "config.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return RunDirectory.open(run.path, accept_changes=accept)


def test_settings_that_were_changed_are_refused_unless_accepted(run: RunDirectory) -> None:
    run.save_model(WEIGHTS, {"epoch": 3})
    run.save_state(WEIGHTS, {"epoch": 3})
    with pytest.raises(AugenmerkError, match=r"config\.toml: the settings .* accept it: .*--accept-changes"):
        edit(run, "max_length = 50", "max_length = 40", accept=False)
    edit(run, "max_length = 40", "max_length = 30", accept=True)
    edited = RunDirectory.open(run.path)
    assert edited.config.search.max_length == 30
    assert same(edited.load_model(), WEIGHTS)
    assert edited.load_state() is not None
    for old, new in (("hidden = 512", "hidden = 64"), ('unit = "word"', 'unit = "bpe"')):
        edited = edit(run, old, new, accept=True)
        for load in (edited.load_model, edited.load_state):
            with pytest.raises(
                AugenmerkError, match=r"or \[text\], \[model\] or train.seed in config.toml was"
            ):
                load()
        edit(run, new, old, accept=True)


@pytest.mark.parametrize(
    ("setting", "words"),
    [("train.seed=2", "train.seed in config.toml was changed"), ("train.lr=0.5", "run with other settings")],
)
@pytest.mark.parametrize("name", ["state.safetensors", "model.safetensors"])
def test_files_of_a_run_with_other_settings_are_refused(
    run: RunDirectory, setting: str, words: str, name: str
) -> None:
    config = RunConfig.from_toml(CONFIG.to_toml(), "test", [setting])
    other = RunDirectory.create(run.path.parent / "other", config, JOINT)
    other.save_model(WEIGHTS, {"epoch": 3})
    other.save_state(WEIGHTS, {"epoch": 3})
    (other.path / name).rename(run.path / name)
    with pytest.raises(AugenmerkError, match=words) as caught:
        _ = run.load_state() if name.startswith("state") else run.load_model()
    assert str(run.path / name) in str(caught.value)


def test_settings_that_were_cut_short_anywhere_are_noticed(run: RunDirectory) -> None:
    content = (run.path / "config.toml").read_bytes()
    for length in (content.index(b"[search]"), *range(0, len(content), 5)):
        (run.path / "config.toml").write_bytes(content[:length])
        with pytest.raises(AugenmerkError, match=r"config\.toml: "):
            RunDirectory.open(run.path)


def test_any_flipped_bit_of_the_settings_is_noticed(run: RunDirectory) -> None:
    content, rng = (run.path / "config.toml").read_bytes(), random.Random(1)
    for place in rng.sample(range(8 * len(content)), 200) + list(range(8 * (content.index(b"\n") + 2))):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        (run.path / "config.toml").write_bytes(flipped)
        with suppress(AugenmerkError):
            assert RunDirectory.open(run.path).config == CONFIG


def test_other_line_ends_are_no_change_of_the_settings(run: RunDirectory) -> None:
    content = (run.path / "config.toml").read_bytes()
    (run.path / "config.toml").write_bytes(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"))
    assert RunDirectory.open(run.path).config == CONFIG


@pytest.mark.parametrize("about", ["{", "{}", "[1, 2]", "[" * 100_000, ""])
def test_a_header_that_is_not_json_is_refused_whatever_its_checksum(run: RunDirectory, about: str) -> None:
    metadata = {"augenmerk": "model", "about": about, "tied": "{}"}
    metadata["sha256"] = checksum(metadata, all_to_numpy(WEIGHTS), run.companion())
    safetensors.torch.save_file(WEIGHTS, run.model_path, metadata)
    assert not loads_the_same_or_complains(run)


class Explosive:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_loading_executes_nothing(run: RunDirectory, tmp_path: Path) -> None:
    for write in (
        lambda: run.model_path.write_bytes(pickle.dumps(Explosive(tmp_path / "executed"))),
        lambda: torch.save({"W_z": Explosive(tmp_path / "executed")}, run.model_path),
    ):
        write()
        assert not loads_the_same_or_complains(run)
    assert not (tmp_path / "executed").exists()


def test_weights_that_fit_are_put_into_the_module() -> None:
    module, other = nn.Linear(2, 3), nn.Linear(2, 3)
    load_checked(module, other.state_dict(), Path("model.safetensors"))
    assert same(module.state_dict(), other.state_dict())
    half = {name: tensor.half() for name, tensor in other.state_dict().items()}
    load_checked(module, half, Path("model.safetensors"))
    assert same(module.state_dict(), {name: tensor.float() for name, tensor in half.items()})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bias": None}, "model.safetensors is not of the model in config.toml: bias is absent and should"),
        ({"extra": torch.ones(1)}, "extra is 1 (float32) and should be absent"),
        ({"weight": torch.ones(2, 3)}, "weight is 2 x 3 (float32) and should be 3 x 2 (float32)"),
        ({"bias": torch.ones(3).double()}, "bias is 3 (float64) and should be 3 (float32)"),
        ({"bias": torch.tensor(1.0)}, "bias is one number (float32) and should be 3 (float32)"),
    ],
)
def test_weights_that_do_not_fit_leave_the_module_as_it_was(change: dict[str, Any], words: str) -> None:
    module = nn.Linear(2, 3)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    tensors = {name: tensor + 1 for name, tensor in before.items()} | change
    with pytest.raises(AugenmerkError, match=re.escape(words)):
        load_checked(module, {k: v for k, v in tensors.items() if v is not None}, Path("model.safetensors"))
    assert same(module.state_dict(), before)


# -- metrics, result, scores ------------------------------------------------------------------------------


def test_metrics_result_and_scores_come_back(run: RunDirectory) -> None:
    odd = "Bücher\u2028\n\udcff"  # half a surrogate pair: the name of a folder that is not UTF-8
    history = [{"epoch": 1, "loss": 2.5, "run": odd}, {"epoch": 2, "loss": 1.5, "run": odd}]
    run.write_metrics(history)
    run.write_scores(history)
    run.finish(history[1])
    run = RunDirectory.open(run.path)
    assert run.read_metrics() == run.read_scores() == history
    assert run.result == history[1]
    assert run.finished
    assert "Bücher" in (run.path / "result.json").read_text(encoding="utf-8")


def test_only_json_that_everybody_can_read_is_written(run: RunDirectory) -> None:
    def not_json(constant: str) -> None:
        raise AssertionError(constant)

    run.finish({"perplexity": float("inf"), "epochs": [{"loss": float("nan")}, (1.5, -float("inf"))]})
    text = (run.path / "result.json").read_text()
    assert json.loads(text, parse_constant=not_json) == {
        "perplexity": None,
        "epochs": [{"loss": None}, [1.5, None]],
    }


def test_a_broken_line_is_named(run: RunDirectory) -> None:
    (run.path / "metrics.jsonl").write_text('{"epoch": 1}\n{"epoch"\n')
    with pytest.raises(AugenmerkError, match=r"metrics\.jsonl, line 2: damaged"):
        run.read_metrics()
    (run.path / "metrics.jsonl").write_text("[]\n")
    with pytest.raises(AugenmerkError, match=r"metrics\.jsonl, line 1: damaged"):
        run.read_metrics()


@pytest.mark.parametrize("content", [b"", b"{", b"3", b"\xff", b'["a"]', b"[" * 100_000])
def test_a_broken_result_or_scores_file_is_named(run: RunDirectory, content: bytes) -> None:
    for name in ("result.json", "scores.json"):
        (run.path / name).write_bytes(content)
        with pytest.raises(AugenmerkError, match=re.escape(str(run.path / name))):
            _ = run.result if name == "result.json" else run.read_scores()


# -- other processes --------------------------------------------------------------------------------------

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def rounds(usual: int, long: int) -> pytest.MarkDecorator:
    """How often something is killed: in `make test`, and in `make thorough`."""
    return pytest.mark.parametrize("rounds", [usual, pytest.param(long, marks=pytest.mark.thorough)])


@needs_fork
@rounds(15, 500)
def test_killed_at_any_moment_a_run_holds_its_last_state(
    run: RunDirectory, forker: Forker, rounds: int
) -> None:
    rng = random.Random(rounds)
    for _ in range(rounds):
        process = forker.start("save_for_ever", run.path)
        process.wait_until_it_spoke()
        time.sleep(rng.uniform(0, 0.03))
        process.kill()

        done = int(process.said()[-1])
        reopened = RunDirectory.open(run.path)
        state = reopened.load_state()
        assert state is not None
        step = state[1]["step"]
        assert step in (done, done + 1)  # it may have been killed before it could say so
        assert same(state[0], tensors(step))
        kept = reopened.about_model["step"]
        assert kept in (step, step + 1)  # the state is saved last
        assert same(reopened.load_model(), tensors(kept))
        assert len(reopened.read_metrics()) in (step, step + 1)

    with RunDirectory.open(run.path).training():
        assert not [name for name in names(run.path) if name.endswith(".part")]


@needs_fork
@rounds(10, 500)
def test_killed_at_any_moment_a_new_run_is_whole_or_absent(
    run: RunDirectory, forker: Forker, rounds: int
) -> None:
    rng = random.Random(rounds)
    for _ in range(rounds):
        process = forker.start("create_for_ever", run.path)
        process.wait_until_it_spoke()
        time.sleep(rng.uniform(0, 0.01))
        process.kill()
    created = [path for path in (run.path.parent / "many").iterdir() if not path.name.startswith(".")]
    assert len(created) >= rounds
    for path in created:
        assert RunDirectory.open(path).tokenizers.source.to_json() == JOINT.source.to_json()


def test_leftovers_of_the_killed_are_never_data_and_are_removed(run: RunDirectory) -> None:
    run.save_model(WEIGHTS, {})
    model = run.model_path.read_bytes()
    for name in ("state.safetensors", "model.safetensors", "result.json", "scores.json"):
        left_by_killed(run.path / name).write_bytes(model[:-10])
    half_created = left_by_killed(run.path.parent / "next")
    half_created.mkdir()
    (half_created / "tokenizer.json").touch()

    reopened = RunDirectory.open(run.path)
    assert same(reopened.load_model(), WEIGHTS)
    assert (reopened.load_state(), reopened.result, reopened.read_scores()) == (None, None, [])
    (run.path / "hypotheses").mkdir()
    left_by_killed(run.path / "hypotheses" / "val.beam5.txt").touch()
    with reopened.training(), reopened.scoring():
        locks = {".lock", ".scores.lock", ".training"}
        settings = {"config.toml", "run.json", "tokenizer.json"}
        assert names(run.path) == settings | {"model.safetensors", "hypotheses"} | locks
        assert not names(run.path / "hypotheses")

    RunDirectory.create(run.path.parent / "next", CONFIG, JOINT)
    assert names(run.path.parent) == {"run", "next"}


@needs_fork
def test_of_several_processes_one_creates_the_run(run: RunDirectory, forker: Forker) -> None:
    processes = [forker.start("create_contested", run.path) for _ in range(6)]
    for process in processes:
        process.wait()
    said = [" ".join(process.said()) for process in processes]
    assert said.count("created") == 1
    assert sum("contested" in line for line in said) == 5
    assert (
        RunDirectory.open(run.path.parent / "contested").tokenizers.source.to_json() == JOINT.source.to_json()
    )
    assert names(run.path.parent) == {"run", "contested"}


@needs_fork
def test_a_disk_that_fills_up_half_way(run: RunDirectory, forker: Forker) -> None:
    run.save_state(tensors(1), {"step": 1})
    before = names(run.path)
    process = forker.start("save_too_much", run.path)
    process.wait()
    [sentence] = process.said()
    assert sentence.startswith(f"{run.path / 'state.safetensors'}: cannot be written (")
    assert "File too large" in sentence
    assert sentence.endswith("; what was saved before is still there.")
    assert names(run.path) == before | {".lock", ".training"}
    state = run.load_state()
    assert state is not None
    assert same(state[0], tensors(1))

    process = forker.start("create_too_much", run.path)
    process.wait()
    (said,) = process.said()
    assert "large: the run cannot be created there (File too large)" in said
    assert names(run.path.parent) == {"run"}


@needs_fork
def test_processes_that_score_a_run_at_once_lose_no_row(run: RunDirectory, forker: Forker) -> None:
    processes = [forker.start("keep_rows", run.path, 1 + 30 * number) for number in range(2)]
    for process in processes:
        process.wait()
    assert [process.said() for process in processes] == [["ready"]] * 2
    for other in (False, True):
        assert sorted(row["beam"] for row in run.read_scores(other=other)) == list(range(1, 61))
    assert len(names(run.path / "hypotheses")) == 4 * 60


@needs_fork
def test_what_a_process_killed_while_it_scored_leaves_is_removed(run: RunDirectory, forker: Forker) -> None:
    rng = random.Random(1)
    for number in range(10):
        process = forker.start("keep_rows", run.path, 1 + 30 * number)
        process.wait_until_it_spoke()
        time.sleep(rng.uniform(0, 0.02))
        process.kill()
        run.read_scores()
    with run.scoring():
        left = [path.name for path in run.path.rglob("*.part")]
    assert not left


def test_training_leaves_alone_what_is_being_scored(run: RunDirectory) -> None:
    written = left_by_killed(run.path / "scores.json")
    written.touch()
    with run.training():
        assert written.exists()


@needs_fork
def test_only_one_process_trains_a_run(run: RunDirectory, forker: Forker) -> None:
    holder = forker.start("hold", run.path)
    holder.wait_until_it_spoke()
    with pytest.raises(AugenmerkError, match="is being trained by another process"), run.training():
        pass
    with pytest.raises(AugenmerkError, match="is being trained by another process; choose another"):
        RunDirectory.check_unused(run.path)
    assert RunDirectory.open(run.path).load_state() is None  # looking is allowed
    holder.kill()
    with run.training():
        late = forker.start("hold", run.path)
        late.wait()
        assert late.said() == [
            f"{run.path} is being trained by another process; wait until it is done or stop it."
        ]
    with run.training():
        pass
    with pytest.raises(AugenmerkError, match="is an unfinished run; continue it with --resume"):
        RunDirectory.check_unused(run.path)
