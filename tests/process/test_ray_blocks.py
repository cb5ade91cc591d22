"""Preparing and translating in blocks over a real Ray cluster, whose processes and machines are killed."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import augenmerk.cluster.blocks
import augenmerk.data.preparing
import augenmerk.translation.translator
from augenmerk import AugenmerkError
from augenmerk.base.config import DataConfig, TextConfig
from augenmerk.cluster.blocks import ProcessPool, RayTasks
from augenmerk.cluster.ray import RESUMABLE, connect, list_nodes
from augenmerk.data import BadLineError, open_bitext
from augenmerk.data.preparing import Request, prepare_corpus
from augenmerk.translation import load
from augenmerk.translation.files import FileJob, blocks_folder, translate_file
from augenmerk.translation.output import LineFormat
from tests.support.block_work import Work
from tests.support.clusters import NODE, start_cluster
from tests.support.command import Answer, fails_with_a_sentence, run_command
from tests.support.runs import SharedRuns, tiny

SMALL = ("--set", "text.vocabulary_size=400")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with start_cluster(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def run(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs") / "run"
    shared_runs.copy(tiny(data__max_length=20), place)
    return place


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of 130 lines, some of which are empty, too long or in another language."""
    lines = [pair.source for pair in open_bitext("bilderbuch", pairs=120)["train"]]
    lines[17:17] = ["", "Der Hund " * 30, " ", "漢字 漢字 漢字", "zzq qqz zqz"]
    lines += ["Der Hund schläft."] * 4 + ["Die Katze " * 30]
    path = tmp_path / "de.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


class Computed:
    """Records which blocks are computed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.blocks: list[int] = []
        compute = RayTasks.__call__

        def record(
            tasks: RayTasks,
            start: Callable[[], Callable[..., Any]],
            blocks: Mapping[int, tuple[Any, ...]],
            finish: Callable[[int, Any], None],
        ) -> None:
            self.blocks += blocks
            compute(tasks, start, blocks, finish)

        monkeypatch.setattr(RayTasks, "__call__", record)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Computed:
    return Computed(monkeypatch)


def read_all(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class TestBlocks:
    def test_a_process_that_dies_is_made_good(
        self, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(augenmerk.cluster.blocks, "ATTEMPTS", 2)
        tasks, results = RayTasks(tmp_path), dict[int, str]()

        def compute(*blocks: str, tasks: RayTasks = tasks) -> None:
            tasks(
                partial(Work, tmp_path),
                {number: (block,) for number, block in enumerate(blocks)},
                results.__setitem__,
            )

        with connect(cluster.address):
            compute(*["work"] * 3, "die once", *["work"] * 4)
            assert results == {n: f"{n} {'die once' if n == 3 else 'work'}" for n in range(8)}
            begun = Counter(int(path.name.partition("-")[0]) for path in tmp_path.iterdir())
            assert begun == {n: 2 if n == 3 else 1 for n in range(8)}
            with pytest.raises(AugenmerkError, match=r"^This block cannot be computed\.$"):
                compute("work", "complain", "work")
            with pytest.raises(RuntimeError, match="ZeroDivisionError: fail"):
                compute("fail")
            with pytest.raises(
                AugenmerkError, match="started 2 times, and each time the process or the machine"
            ):
                compute("die")
            with pytest.raises(AugenmerkError, match="has no such folder; choose one that all of them share"):
                compute("work", tasks=RayTasks(tmp_path / "elsewhere"))
            with pytest.raises(AugenmerkError, match="No machine of the Ray cluster has a GPU for this"):
                compute("work", tasks=RayTasks(tmp_path, gpus=1))


class TestPreparing:
    def test_the_same_bytes_and_no_shard_twice(
        self, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: Computed
    ) -> None:
        monkeypatch.setattr(augenmerk.data.preparing, "CHUNK", 40)
        data = DataConfig.model_validate({"bitext": "bilderbuch", "bilderbuch": {"pairs": 300}})
        request = Request(("bilderbuch",), data, TextConfig(vocabulary_size=400))
        prepare_corpus(request, tmp_path / "here", map_blocks=ProcessPool(1), on_progress=lambda *_: None)
        shards: list[int] = []

        def stop(what: str, _done: int, _total: int | None) -> None:
            if what == "tokenising":
                shards.append(1)
                if len(shards) == 3:
                    signal.raise_signal(signal.SIGINT)

        out = tmp_path / "there"
        with pytest.raises(KeyboardInterrupt), connect(cluster.address):
            prepare_corpus(request, out, map_blocks=RayTasks(out), on_progress=stop)
        assert computed.blocks == list(range(8))
        finished = len(list(out.glob(".unfinished/0*.json")))
        computed.blocks.clear()
        arguments = ("data", "prepare", "bilderbuch", "--pairs", 300, "--out", "there", *SMALL)
        answer = run_command(*arguments, "--on", "ray", "--ray-address", cluster.address, cwd=tmp_path)
        assert answer.code == 0, answer.err
        assert 3 <= finished <= 8 - len(computed.blocks) <= 8 - 1
        assert read_all(out) == read_all(tmp_path / "here")


class TestTranslating:
    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(augenmerk.translation.translator, "CHUNK_LINES", 60)

    @pytest.mark.parametrize(
        "options",
        [
            ("--skip-bad", "--sample", "--n-best", 3, "--seed", 5),
            ("--json", "--beam", 4, "--n-best", 2, "--heads", "--subwords"),
        ],
    )
    def test_the_output_is_that_of_one_process(
        self, cluster: Any, run: Path, source: Path, options: tuple[object, ...], computed: Computed
    ) -> None:
        if "--skip-bad" in options:
            content = source.read_bytes()
            source.write_bytes(content.replace("Der Hund schläft.".encode(), b"H\xff", 2))

        def translate(output: str, *more: object) -> Answer:
            arguments = ("--model", run, "--input", source.name, "--output", output, *options, *more)
            # Three threads here and one there, but the same batches: else the last digits would differ.
            return run_command("translate", *arguments, cwd=source.parent, env={"OMP_NUM_THREADS": "3"})

        here = translate("here.txt")
        there = translate("there.txt", "--on", "ray", "--ray-address", cluster.address)
        assert (there.code, there.out) == (here.code, here.out) == (0, "")
        assert sorted(there.err.splitlines()) == sorted(here.err.splitlines())
        assert len(there.err.splitlines()) == 4
        expected = (source.parent / "here.txt").read_bytes()
        assert (source.parent / "there.txt").read_bytes() == expected
        assert len(computed.blocks) == (7 if "--sample" in options else 5)
        assert {path.name for path in source.parent.iterdir()} == {"de.txt", "here.txt", "there.txt"}

    def test_it_goes_on_when_it_was_killed(
        self, cluster: Any, run: Path, source: Path, computed: Computed
    ) -> None:
        here, output = source.with_name("here.txt"), source.with_name("there.txt")
        options = ("--model", run, "--input", source, "--sample", "--n-best", 5)  # 12 lines are a block
        on_ray = ("--output", output, "--on", "ray", "--ray-address", cluster.address)
        finished = 0
        for number, blocks in ((signal.SIGKILL, 2), (signal.SIGTERM, 1)):
            program = (sys.executable, "-m", "tests.support.block_work", int(number), blocks)
            command = [str(each) for each in (*program, "translate", *options, *on_ray)]
            stopped = subprocess.run(command, stderr=subprocess.PIPE, text=True)
            if number == signal.SIGTERM:
                assert stopped.returncode == 128 + signal.SIGTERM
                assert stopped.stderr == f"augenmerk: Interrupted. {RESUMABLE}\n"
            finished, before = len(list(blocks_folder(output).glob("0*.json"))), finished
            assert finished >= before + blocks
            assert not output.exists()
        other = fails_with_a_sentence("translate", *options, "--seed", 2, *on_ray)
        assert "was made with different search; remove it" in other
        answer = run_command("translate", *options, *on_ray)
        assert answer.code == 0, answer.err
        assert 1 <= len(computed.blocks) <= 11 - finished
        assert run_command("translate", *options, "--output", here).code == 0
        assert output.read_bytes() == here.read_bytes()
        assert not blocks_folder(output).exists()

    def test_damaged_blocks(self, run: Path, source: Path) -> None:
        output, translator, done = source.with_name("en.txt"), load(run), list[int]()
        job = FileJob((run,), "cpu", {"n_best": 2}, LineFormat())  # 30 lines are a block
        folder = blocks_folder(output)

        def translate(*, stop_after: int = 0) -> None:
            def count(what: str, lines: int, _total: int | None) -> None:
                if what == "translating":
                    done.append(lines)
                    if len(done) == stop_after:
                        raise KeyboardInterrupt

            translate_file(job, translator, source, output, map_blocks=ProcessPool(1), on_progress=count)

        with pytest.raises(KeyboardInterrupt):
            translate(stop_after=2)
        block = folder / "000003.input"
        content = block.read_bytes()
        block.write_bytes(content[:-1])
        with pytest.raises(
            AugenmerkError, match=r"000003\.input is damaged; remove .*\.blocks and begin again"
        ):
            translate()
        block.write_bytes(content)
        (folder / "000001.output").write_bytes(b"half a bl")
        done.clear()
        translate()
        assert done == [30 + 30 + 30, 120, 130]  # blocks 0 and 2 are kept
        lines = source.read_text(encoding="utf-8").splitlines()
        assert output.read_text(encoding="utf-8").splitlines() == [
            one.text for one in translator.translate(lines, n_best=2)
        ]
        source.write_bytes(b"Hund\n" * 40 + b"H\xff\n")
        with pytest.raises(BadLineError, match=r"de\.txt, line 41: not UTF-8"):
            translate()
        assert not folder.exists()

    def test_a_machine_that_vanishes_is_made_good(self, cluster: Any, run: Path, source: Path) -> None:
        node = cluster.add_node(num_cpus=1, **NODE)
        before = list(cluster.list_all_nodes())
        assert len(before) == 2
        done: list[int] = []

        def kill_node(what: str, lines: int, _total: int | None) -> None:
            if what == "translating":
                done.append(lines)
                if len(done) == 1:
                    cluster.remove_node(node, allow_graceful=False)

        output = source.with_name("en.txt")
        translator = load(run)
        job = FileJob((run,), "cpu", {"sample": True, "n_best": 5}, LineFormat(n_best=True))
        with connect(cluster.address):
            assert sorted(each.cpus for each in list_nodes()) == [1, 2]
            found = translate_file(
                job,
                translator,
                source,
                output,
                map_blocks=RayTasks(blocks_folder(output)),
                on_progress=kill_node,
            )
        assert (found.lines, len(done)) == (130, 11)
        lines = source.read_text(encoding="utf-8").splitlines()
        alone = translator.translate(lines, **job.options)
        expected = [line for number, one in enumerate(alone, 1) for line in job.format.format(number, one)]
        assert output.read_text(encoding="utf-8") == "".join(expected)


class TestRefusals:
    def test_what_does_not_fit(self, source: Path, tmp_path: Path) -> None:
        into = ("--input", source, "--output", tmp_path / "en.txt")
        for options, complaint in {
            (*into, "--ray-address", "head:6379"): "--ray-address is for a Ray cluster: add --on ray",
            ("--on", "ray", "Ein Hund."): "--input must be a file",
            (*into[:3], "/dev/null", "--on", "ray"): "--output must be a file",
            (*into[:3], tmp_path, "--on", "ray"): "is a folder; give --output the name of a file",
            (*into, "--on", "ray", "--device", "cuda:1"): "with --on ray it is cpu, or cuda for a GPU",
            (*into, "--on", "ray", "--ray-address", "head"): "expected HOST:PORT",
        }.items():
            assert complaint in fails_with_a_sentence("translate", *options)
        complaint = fails_with_a_sentence("data", "prepare", "x", "--out", "y", "--workers", 2, "--on", "ray")
        assert "--workers are processes of this machine" in complaint
        assert os.listdir(tmp_path) == [source.name]  # noqa: PTH208
