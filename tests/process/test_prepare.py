"""Large corpora: preparing them, also when it is killed, and training on them through windows."""

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augenmerk.base.files
import augenmerk.cluster.blocks
import augenmerk.data.corpus
import augenmerk.data.preparing
from augenmerk import AugenmerkError
from augenmerk.base.config import DataConfig, RunConfig, TextConfig
from augenmerk.base.files import atomic_write
from augenmerk.cluster.blocks import ProcessPool
from augenmerk.data import UNFINISHED, SentencePair, open_bitext
from augenmerk.data.corpus import PreparedCorpus, plan_windows
from augenmerk.data.preparing import Request, prepare_corpus
from augenmerk.run.directory import RunDirectory
from augenmerk.study import measure, runner
from augenmerk.text.tokenizer import Tokenizer, TokenizerPair, split_pieces
from augenmerk.training.engine import Engine
from augenmerk.training.loop import Clock, TrainingInterrupted, TrainingProgress, train
from augenmerk.training.start import start
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import CPU, Silent, tiny

BPE = TextConfig(vocabulary_size=400)
WORDS = TextConfig(unit="word", joint=False, lowercase=True)


def pairs_of(count: int, seed: int = 3) -> list[SentencePair]:
    return list(open_bitext("bilderbuch", pairs=count, seed=seed)["train"])


def write_text(folder: Path, pairs: list[SentencePair], split: str = "train") -> Path:
    folder.mkdir(exist_ok=True)
    for language, side in (("de", "source"), ("en", "target")):
        lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
        (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A folder with 205 training pairs, five of which occur twice, and 20 for validation."""
    pairs = pairs_of(200)
    write_text(tmp_path / "text", [*pairs[:150], *pairs[10:15], *pairs[150:]])
    return write_text(tmp_path / "text", pairs_of(20, seed=4), "val")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(augenmerk.data.preparing, "CHUNK", 30)


def prepare_folder(source: Path | str, out: Path, workers: int = 1, **changes: Any) -> dict[str, Any]:
    data = DataConfig(**changes.pop("data", {}))
    request = Request((str(source),), data, **{"text": BPE, **changes})
    return prepare_corpus(request, out, map_blocks=ProcessPool(workers), on_progress=lambda *_: None)


def digests(folder: Path) -> dict[str, str]:
    """The checksums of all files in a folder but locks."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def sentences(corpus: PreparedCorpus, epoch: int = 0, seed: int = 1) -> list[list[tuple[Any, Any]]]:
    """The pairs of ids of all windows of an epoch."""
    windows = []
    for window in range(corpus.count_windows()):
        tokens = corpus.read_window(seed, epoch, window)
        sides = (
            [tuple(side.flat[start:stop].tolist()) for start, stop in pairwise(side.bounds.tolist())]
            for side in (tokens.source, tokens.target)
        )
        windows.append(list(zip(*sides, strict=True)))
    return windows


def encode(tokenizers: TokenizerPair, pairs: list[SentencePair]) -> list[tuple[Any, Any]]:
    """Encodes pairs by the definition: one piece after another."""
    return [
        (plain_ids(tokenizers.source, pair.source), plain_ids(tokenizers.target, pair.target))
        for pair in pairs
    ]


def plain_ids(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    pieces = split_pieces(text, tokenizer.lowercase, tokenizer.is_bpe)
    return tuple(i for ids in tokenizer.encode_pieces(pieces) for i in ids)


@pytest.fixture(scope="module")
def tokenizers() -> list[Tokenizer]:
    texts = [pair.source for pair in pairs_of(200)] + ["Σίσυφος ΟΔΟΣ e\u0301 z.B. 3.5 🏴󠁧󠁢󠁷󠁬󠁳󠁿 \u200d"]
    configs = [BPE, BPE.model_copy(update={"lowercase": True}), TextConfig(unit="word", lowercase=True)]
    return [Tokenizer.train(texts, config) for config in configs]


class TestEncoding:
    # What could make a difference next to a space, more often than at random.
    AWKWARD = st.text(
        st.one_of(
            st.sampled_from(
                " \t\u200b\u00a0\u0301\u0308\u200d\u00ad\ufeff.-'’‐:,)„“ΣσςİßaZz3🏴👍🏽\U000e0067\ud800"
            ),
            st.characters(),
        ),
        max_size=30,
    )

    @given(texts=st.lists(AWKWARD, max_size=4))
    @settings(max_examples=150, deadline=None)
    def test_a_text_has_the_ids_of_its_pieces(self, tokenizers: list[Tokenizer], texts: list[str]) -> None:
        for tokenizer in tokenizers:
            expected = [list(plain_ids(tokenizer, each)) for each in texts]
            assert tokenizer.encode_ids(texts) == expected
            flat, lengths = tokenizer.encode_flat(texts)
            assert flat.dtype == np.uint16
            assert flat.tolist() == [i for ids in expected for i in ids]
            assert lengths.tolist() == [len(ids) for ids in expected]

    def test_what_is_remembered_has_a_limit(
        self, tokenizers: list[Tokenizer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("augenmerk.text.tokenizer.CACHED_TOKENS", 3)
        texts = [pair.source for pair in pairs_of(30)]
        tokenizer = Tokenizer(tokenizers[0]._tokenizer)
        assert tokenizer.encode_ids(texts) == [list(plain_ids(tokenizer, each)) for each in texts]
        assert len(tokenizer._known) <= 3

    def test_large_vocabularies_have_wide_ids(self) -> None:
        words = [f"w{number}" for number in range(66_000)]
        tokenizer = Tokenizer.train([" ".join(words)], TextConfig(unit="word", vocabulary_size=70_000))
        flat, _ = tokenizer.encode_flat([words[-1] + " " + words[0]])
        assert flat.dtype == np.uint32
        assert tokenizer.decode(flat.tolist()) == f"{words[-1]} {words[0]}"


class TestPreparing:
    @pytest.mark.parametrize("config", [BPE, WORDS])
    def test_the_ids_are_those_of_the_text(self, text: Path, tmp_path: Path, config: TextConfig) -> None:
        about = prepare_folder(text, tmp_path / "corpus", text=config)
        pairs = list(dict.fromkeys(open_bitext(str(text))["train"]))
        corpus = PreparedCorpus.open(tmp_path / "corpus")
        assert (len(pairs), about["pairs"], corpus.pairs) == (200, 200, 200)
        # All pairs are in the sample, so the vocabulary is that which training would learn.
        learnt = TokenizerPair.train(pairs, config)
        assert corpus.tokenizers.source.to_json() == learnt.source.to_json()
        assert corpus.tokenizers.target.to_json() == learnt.target.to_json()
        assert sentences(corpus) == [encode(learnt, pairs)]
        assert corpus.text == config

    def test_text_that_is_not_trained_on_stays_text(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "corpus")
        corpus = open_bitext(str(tmp_path / "corpus"))
        assert list(corpus.splits) == ["val"]
        assert list(corpus["val"]) == list(open_bitext(str(text))["val"])
        assert (corpus.source_language, corpus.target_language) == ("de", "en")

    def test_gold_links_stay(self, tmp_path: Path) -> None:
        prepare_folder("bilderbuch", tmp_path / "corpus", data={"bilderbuch": {"pairs": 40, "seed": 2}})
        kept, generated = open_bitext(str(tmp_path / "corpus")), open_bitext("bilderbuch", pairs=40, seed=2)
        assert list(kept["test"]) == list(generated["test"])
        assert any(pair.alignment for pair in kept["test"])

    def test_what_is_left_out_is_counted(self, text: Path, tmp_path: Path) -> None:
        lines = (text / "train.de").read_bytes().splitlines()
        lines[0], lines[1], lines[2] = b"", b"\xff", b"Hund " * 300
        lines[3] = b"Ja"
        (text / "train.de").write_bytes(b"\n".join(lines) + b"\n")
        about = prepare_folder(text, tmp_path / "corpus", data={"max_length": 100}, max_ratio=5.0)
        assert about["left_out"] == {
            "empty": 1,
            "not UTF-8": 1,
            "repeated": 5,
            "too many tokens": 1,
            "unequal lengths": 1,
        }
        assert (about["pairs_read"], about["pairs"]) == (203, 196)
        [kept] = sentences(PreparedCorpus.open(tmp_path / "corpus"))
        assert len(kept) == 196
        assert about["longest"] == max(max(map(len, pair)) for pair in kept)
        assert about["source_tokens"] == sum(len(source) for source, _ in kept)

    def test_any_ratio_may_be_allowed(self, text: Path, tmp_path: Path) -> None:
        pairs = [SentencePair("Ja.", "Yes, of course, and so on and so on, and so on and so on and so on.")]
        write_text(text, pairs * 1, "train")
        with pytest.raises(AugenmerkError, match="nothing is left to train on"):
            prepare_folder(text, tmp_path / "strict", max_ratio=2.0)
        assert prepare_folder(text, tmp_path / "corpus", max_ratio=0.0)["pairs"] == 1

    def test_workers_change_nothing(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "one")
        prepare_folder(text, tmp_path / "many", workers=3)
        assert len(digests(tmp_path / "one")) == 7 + 3  # shards, prepared.json, vocabulary, val
        assert digests(tmp_path / "many") == digests(tmp_path / "one")

    def test_the_sample_of_the_vocabulary_does_not_depend_on_the_order(
        self, text: Path, tmp_path: Path
    ) -> None:
        prepare_folder(text, tmp_path / "corpus", vocabulary_sample=40)
        pairs = list(open_bitext(str(text))["train"])
        prepare_folder(write_text(text, pairs[::-1]), tmp_path / "reversed", vocabulary_sample=40)
        learnt = digests(tmp_path / "corpus")["vocabulary/tokenizer.json"]
        assert learnt == digests(tmp_path / "reversed")["vocabulary/tokenizer.json"]
        prepare_folder(text, tmp_path / "all")
        assert learnt != digests(tmp_path / "all")["vocabulary/tokenizer.json"]
        sample = sorted(dict.fromkeys(pairs), key=_little_endian_hash)[:40]
        expected = TokenizerPair.train(sample, BPE).source.to_json()
        assert PreparedCorpus.open(tmp_path / "corpus").tokenizers.source.to_json() == expected

    def test_several_files_and_gzip_are_one_corpus(self, tmp_path: Path) -> None:
        pairs = pairs_of(300)
        tsv = [f"{pair.source}\t{pair.target}\n" for pair in pairs]
        (tmp_path / "a.tsv").write_text("".join(tsv[:170]), encoding="utf-8")
        with gzip.open(tmp_path / "b.tsv.gz", "wt", encoding="utf-8") as file:
            file.writelines(tsv[170:])
        out = tmp_path / "corpus"
        about = run_json("data", "prepare", tmp_path / "a.tsv", tmp_path / "b.tsv.gz", "--out", out)
        (tmp_path / "whole.tsv").write_text("".join(tsv), encoding="utf-8")
        whole = open_bitext(str(tmp_path / "whole.tsv"))
        corpus = PreparedCorpus.open(out)
        train = list(dict.fromkeys(whole["train"]))
        assert about["pairs"] == len(train)
        assert sentences(corpus) == [encode(corpus.tokenizers, train)]
        assert list(open_bitext(str(out))["val"]) == list(whole["val"])

    def test_line_breaks_inside_a_sentence_are_white_space(self, tmp_path: Path) -> None:
        pairs = [SentencePair(f"Ein Hund\n bellt {n}.", f"A dog\r\n barks {n}.") for n in range(40)]
        path = tmp_path / "pairs.jsonl"
        path.write_text("".join(json.dumps({"de": p.source, "en": p.target}) + "\n" for p in pairs))
        prepare_folder(path, tmp_path / "corpus")
        corpus = PreparedCorpus.open(tmp_path / "corpus")
        assert sentences(corpus) == [encode(corpus.tokenizers, list(open_bitext(str(path))["train"]))]


def _little_endian_hash(pair: SentencePair) -> int:
    text = f"{pair.source}\n{pair.target}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


class TestInterruption:
    def test_it_goes_on_from_wherever_it_was_killed(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "whole")
        expected, moments = digests(tmp_path / "whole"), 0
        for moment in range(1, 100):
            out = tmp_path / f"killed{moment}"
            killed = _prepare_and_kill(text, out, moment)
            if killed:
                with pytest.raises(AugenmerkError, match="was not finished"):
                    open_bitext(str(out))
                shards = {path: path.stat().st_mtime_ns for path in out.glob("shards/*.safetensors")}
                prepare_folder(text, out)
                kept = sum(path.stat().st_mtime_ns == time for path, time in shards.items())
                assert kept >= len(shards) - 1, "a finished shard was written again"
            assert digests(out) == expected
            if not killed:
                break
            moments += 1
        assert moments == 2 + 2 * 7 + 1  # request, scan; a shard and its entry; prepared.json

    def test_a_killed_process_leaves_no_worker(self, text: Path, tmp_path: Path) -> None:
        out = tmp_path / "corpus"
        code = (
            "import sys\n"
            "from pathlib import Path\n"
            "from augenmerk.cluster.blocks import ProcessPool\n"
            "from augenmerk.base.config import DataConfig, TextConfig\n"
            "from augenmerk.data import preparing as module\n"
            "from augenmerk.data.preparing import Request, prepare_corpus\n"
            "module.CHUNK = 1\n"
            "request = Request((sys.argv[1],), DataConfig(), TextConfig(vocabulary_size=400))\n"
            "pool, out = ProcessPool(2), Path(sys.argv[2])\n"
            "prepare_corpus(request, out, map_blocks=pool, on_progress=lambda *_: None)\n"
        )
        script = tmp_path / "script.py"  # without a guard by __name__, which workers must not run again
        script.write_text(code, encoding="utf-8")
        process = subprocess.Popen([sys.executable, script, text, out])
        try:
            deadline = time.monotonic() + 60
            while not list(out.glob(f"{UNFINISHED}/0*.json")):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.01)
            children = _children(process.pid)
            assert len(children) >= 2
        finally:
            process.kill()
            process.wait()
        while any(map(_is_running, children)):
            assert time.monotonic() < deadline, "a worker outlives the process"
            time.sleep(0.01)

    def test_another_process_is_waited_for(self, text: Path, tmp_path: Path) -> None:
        from filelock import FileLock

        (tmp_path / "corpus").mkdir()
        with (
            FileLock(tmp_path / "corpus" / ".lock"),
            pytest.raises(AugenmerkError, match="is being written by another process"),
        ):
            prepare_folder(text, tmp_path / "corpus")

    def test_a_damaged_shard_is_written_again(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "whole")
        out = tmp_path / "corpus"
        assert _prepare_and_kill(text, out, 10)
        shard = out / "shards" / "000001.safetensors"
        shard.write_bytes(shard.read_bytes()[:-1] + b"\x07")
        prepare_folder(text, out)
        assert digests(out) == digests(tmp_path / "whole")


def _prepare_and_kill(text: Path, out: Path, moment: int) -> bool:
    """Prepares in a process that is killed when it is about to write file number `moment`."""
    process = os.fork()
    if not process:
        try:
            count = 0

            def kill_or_write(path: Path, pieces: Any) -> None:
                nonlocal count
                count += 1
                if count == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                atomic_write(path, pieces)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(augenmerk.cluster.blocks, "atomic_write", kill_or_write)
                patch.setattr(augenmerk.base.files, "atomic_write", kill_or_write)
                prepare_folder(text, out)
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(process, 0)[1]
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return status != 0


def _children(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TestRefusals:
    def test_a_damaged_shard_is_named(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "corpus")
        shard = tmp_path / "corpus" / "shards" / "000002.safetensors"
        shard.write_bytes(shard.read_bytes()[:-1] + b"\x07")
        corpus = PreparedCorpus.open(tmp_path / "corpus")  # which does not read it
        with pytest.raises(AugenmerkError, match=r"000002\.safetensors is damaged: its checksum"):
            sentences(corpus)
        shard.unlink()
        with pytest.raises(AugenmerkError, match=r"000002\.safetensors: there is no such file"):
            sentences(PreparedCorpus.open(tmp_path / "corpus"))

    @pytest.mark.parametrize("name", ["val.jsonl", "vocabulary/tokenizer.json"])
    def test_a_changed_file_beside_the_shards_is_named(self, text: Path, tmp_path: Path, name: str) -> None:
        prepare_folder(text, tmp_path / "corpus")
        path = tmp_path / "corpus" / name
        content = path.read_bytes()
        path.write_bytes(content.replace(b"e", b"i", 1) if name.startswith("val") else content + b"\n")

        def read() -> None:
            list(open_bitext(str(tmp_path / "corpus"))["val"])
            _ = PreparedCorpus.open(tmp_path / "corpus").tokenizers

        complaint = rf"{name} is damaged: its checksum is not the one in prepared\.json; put the file back"
        with pytest.raises(AugenmerkError, match=complaint):
            read()
        training = ("train", "quick", "--data", tmp_path / "corpus", "--out", tmp_path / "run")
        answer = run_command(*training, "--device", "cpu")
        assert (answer.code, answer.err.count("is damaged")) == (2, 1), answer.err
        path.write_bytes(content)
        read()
        path.unlink()
        with pytest.raises(AugenmerkError, match=rf"{name}( is missing|: there is no such file)"):
            read()

    def test_only_splits_that_were_prepared_are_opened(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "corpus")
        copied = shutil.copy(tmp_path / "corpus" / "val.jsonl", tmp_path / "corpus" / "other.jsonl")
        assert "other" not in open_bitext(str(tmp_path / "corpus")).splits
        Path(copied).unlink()

    def test_other_settings_and_other_text_need_another_folder(self, text: Path, tmp_path: Path) -> None:
        out = tmp_path / "corpus"
        about = prepare_folder(text, out)
        assert prepare_folder(text, out) == about  # nothing is left to do
        with pytest.raises(AugenmerkError, match="was made with different settings; remove it, or write"):
            prepare_folder(text, out, max_ratio=4.0)
        write_text(text, pairs_of(7))
        with pytest.raises(AugenmerkError, match="was made with different sources"):
            prepare_folder(text, out)
        with pytest.raises(AugenmerkError, match="is a prepared corpus already"):
            prepare_folder(out, tmp_path / "again")

    def test_folders_in_use_are_left_alone(self, text: Path) -> None:
        with pytest.raises(AugenmerkError, match=r"holds something else already \(train\.de\)"):
            prepare_folder(text, text)

    def test_sentences(self, text: Path, tmp_path: Path) -> None:
        def complain(*arguments: object) -> str:
            return fails_with_a_sentence("data", "prepare", *arguments, "--out", tmp_path / "corpus")

        assert "there is no such file" in complain(tmp_path / "none.tsv")
        assert "only settings of [text] and [data]" in complain(text, "--set", "train.lr=1")
        assert "--max-ratio 0.5 is impossible" in complain(text, "--max-ratio", "0.5")
        assert "text.bpe_dropout splits sentences differently" in complain(
            text, "--set", "text.bpe_dropout=0.1"
        )
        assert not (tmp_path / "corpus").exists()
        (text / "val.de").rename(text / "dev.de")
        (text / "val.en").rename(text / "dev.en")
        assert "no split called 'val'; there are: train, dev" in complain(text)

    def test_another_direction(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "corpus")
        with pytest.raises(AugenmerkError, match="from de to en; for another direction, prepare the pairs"):
            open_bitext(str(tmp_path / "corpus"), source_language="en", target_language="de")

    def test_a_later_format(self, text: Path, tmp_path: Path) -> None:
        about = prepare_folder(text, tmp_path / "corpus")
        path = tmp_path / "corpus" / "prepared.json"
        path.write_text(json.dumps({**about, "format": 2}))
        with pytest.raises(
            AugenmerkError,
            match=r"prepared\.json was written by .* in format 2, .* reads format 1; update your clone",
        ):
            PreparedCorpus.open(tmp_path / "corpus")
        path.write_text(json.dumps({"format": 1}))
        with pytest.raises(AugenmerkError, match="damaged, or not written by Augenmerk"):
            PreparedCorpus.open(tmp_path / "corpus")
        with pytest.raises(AugenmerkError, match="damaged, or not written by Augenmerk"):
            open_bitext(str(tmp_path / "corpus"))


class TestWindows:
    @given(
        pairs=st.integers(1, 500),
        block=st.integers(1, 60),
        window=st.integers(1, 200),
        seed=st.integers(0, 3),
        epoch=st.integers(0, 3),
    )
    @settings(deadline=None)
    def test_every_block_is_in_one_window(
        self, pairs: int, block: int, window: int, seed: int, epoch: int
    ) -> None:
        windows = plan_windows(pairs, seed, epoch, block=block, window=window)
        blocks = [number for each in windows for number in each.tolist()]
        assert sorted(blocks) == list(range(-(-pairs // block)))
        assert all(each.tolist() == sorted(each.tolist()) for each in windows)
        assert max(map(len, windows)) - min(map(len, windows)) <= 1
        assert max(map(len, windows)) <= max(1, window // block)
        if pairs <= window and block <= window:
            assert len(windows) == -(-len(blocks) // (window // block))

    def test_the_order_depends_on_seed_and_epoch_alone(self) -> None:
        def order(seed: int, epoch: int) -> list[list[int]]:
            return [each.tolist() for each in plan_windows(1000, seed, epoch, block=10, window=100)]

        orders = [order(seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
        assert len({str(each) for each in orders}) == 4
        assert order(0, 0) == orders[0]
        assert order(5, 2)[0] == [18, 31, 34, 35, 43, 50, 59, 71, 89, 96]  # on every machine

    def test_an_epoch_has_every_pair_once(
        self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(augenmerk.data.corpus, "BLOCK", 7)
        monkeypatch.setattr(augenmerk.data.corpus, "WINDOW", 60)
        prepare_folder(text, tmp_path / "corpus")
        corpus = PreparedCorpus.open(tmp_path / "corpus")
        pairs = encode(corpus.tokenizers, list(dict.fromkeys(open_bitext(str(text))["train"])))
        assert corpus.count_windows() == 4
        first, second = sentences(corpus, 0), sentences(corpus, 1)
        assert first != second
        for windows in (first, second):
            assert max(map(len, windows)) <= 60
            assert sorted(pair for window in windows for pair in window) == sorted(pairs)
        assert sentences(corpus, 0) == first


class StopAfter(Silent):
    """A reporter that asks training to stop, as Ctrl-C does, after some batches."""

    def __init__(self, batches: int) -> None:
        self._left = batches

    def batch(self, _epoch: int, batch: int, batches: int, _loss: float, _tokens_per_second: float) -> None:
        assert 0 < batch <= batches
        self._left -= 1
        if not self._left:
            signal.raise_signal(signal.SIGINT)


def settings_of(place: Path, **changes: Any) -> RunConfig:
    return tiny(data__bitext=str(place), train__schedule="cosine", **changes)


def result_of(run: RunDirectory) -> dict[str, Any]:
    """What a run leaves, without times."""
    result = {**(run.result or {})}
    for name in ("run", "seconds", "target_tokens_per_second"):
        del result[name]
    weights = {name: weight.tobytes() for name, weight in run.load_model().items()}
    return {**result, **weights, "familiarity": run.read_familiarity()}


class TestTraining:
    @pytest.fixture
    def several_windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(augenmerk.data.corpus, "BLOCK", 9)
        monkeypatch.setattr(augenmerk.data.corpus, "WINDOW", 60)
        monkeypatch.setattr(Clock, "REPORT_SECONDS", 0.0)

    @pytest.mark.parametrize("unit", ["word", "bpe"])
    def test_a_corpus_of_one_window_is_as_good_as_text(self, text: Path, tmp_path: Path, unit: str) -> None:
        write_text(text, pairs_of(150, seed=6))
        words = {"text__vocabulary_size": 400, "text__unit": unit}
        config = settings_of(text, **words)
        prepare_folder(text, tmp_path / "corpus", text=config.text)
        results: list[dict[str, Any]] = []
        for place in (text, tmp_path / "corpus"):
            run = start(settings_of(place, **words), tmp_path / f"run{len(results)}")
            train(run, CPU, Silent())
            results.append(result_of(run))
        assert results[0] == results[1]

    @pytest.mark.usefixtures("several_windows")
    def test_a_run_goes_on_in_the_middle_of_an_epoch(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "corpus", text=WORDS)
        config = settings_of(tmp_path / "corpus")
        whole = start(config, tmp_path / "whole")
        train(whole, CPU, Silent())
        for batches, place in ((3, (0, 3)), (8, (1, 4)), (9, (2, 1)), (14, (3, 2))):
            stopped = start(config, tmp_path / f"{batches}")
            with pytest.raises(TrainingInterrupted):
                train(stopped, CPU, StopAfter(batches))
            saved = stopped.load_state()
            assert saved is not None
            assert (saved[1]["window"], saved[1]["batch"]) == place
            train(RunDirectory.open(stopped.path), CPU, Silent())
            assert result_of(stopped) == result_of(whole)

    @pytest.mark.usefixtures("several_windows")
    def test_an_epoch_learns_from_every_window(
        self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        about = prepare_folder(text, tmp_path / "corpus", text=WORDS)
        seen: list[int] = []
        step = Engine.step

        def count(engine: Any, group: Any, lr: float, number: int) -> None:
            seen.append(sum(batch.target_tokens for batch in group))
            step(engine, group, lr, number)

        monkeypatch.setattr(Engine, "step", count)
        run = start(settings_of(tmp_path / "corpus", train__epochs=1), tmp_path / "run")
        train(run, CPU, Silent())
        assert sum(seen) == about["target_tokens"] + about["pairs"]  # ends of sentences
        assert run.read_metrics()[0]["step"] == len(seen) == 15

    def test_states_from_before_there_were_windows_load(self) -> None:
        assert TrainingProgress(epoch=1, batch=2).window == 0

    def test_a_study_counts_the_pairs_that_are_ids(self, text: Path, tmp_path: Path) -> None:
        prepare_folder(text, tmp_path / "corpus", text=WORDS)
        config = DataConfig(bitext=str(tmp_path / "corpus"))
        runner.check_splits(config, ["val"])
        with pytest.raises(AugenmerkError, match="no split called 'test'"):
            runner.check_splits(config, ["test"])
        corpus, bitext = PreparedCorpus.open(tmp_path / "corpus"), open_bitext(config.bitext)
        described = [measure.describe_split(config, bitext, split) for split in ("train", "val")]
        assert described[0] == {"split": "train", "sentences": 200, "sha256": corpus.sha256}
        assert described[1]["sentences"] == 20

    def test_command(self, text: Path, tmp_path: Path) -> None:
        corpus, run = tmp_path / "corpus", tmp_path / "run"
        answer = run_command("data", "prepare", text, "--out", corpus, "--set", "text.vocabulary_size=400")
        assert answer.code == 0, answer.err
        assert "200 pairs of 205" in answer.out
        assert "left out: 5 repeated" in answer.out
        small = [f"--set=model.{name}=16" for name in ("embedding", "hidden", "key")]
        train_small = ("train", "quick", "--data", corpus, "--epochs", 1, "--device", "cpu", *small)
        answer = run_command(*train_small, "--out", run)
        assert answer.code == 0, answer.err
        assert "200 training pairs" in answer.err
        assert "5 bad lines skipped: 5 repeated" in answer.err
        assert RunDirectory.open(run).config.text.vocabulary_size == 400  # not the preset's
        [score] = run_json("evaluate", run, "--split", "val", "--beam", 1)
        assert score["sentences"] == 20
        # What contradicts the corpus is refused.
        for setting, complaint in {
            "text.vocabulary_size=500": "was prepared with text.vocabulary_size = 400, so a run on it cannot",
            "text.bpe_dropout=0.1": "text.bpe_dropout splits sentences differently in every epoch",
            "data.max_length=5": "more than data.max_length = 5; use --set data.max_length=",
        }.items():
            arguments = (*train_small, "--set", setting, "--out", tmp_path / "other")
            assert complaint in fails_with_a_sentence(*arguments)
        other, into = tmp_path / "elsewhere", ("--out", tmp_path / "other")
        again = "data prepare bilderbuch --pairs 50 --set text.vocabulary_size=400".split()
        run_command(*again, "--out", other)
        complaint = fails_with_a_sentence("train", "--from", run, "--data", other, *into)
        assert "was prepared with another vocabulary than this run has" in complaint
        assert not (tmp_path / "other").exists()
        answer = run_command(
            "train", "--from", run, "--data", corpus, "--epochs", 1, "--out", tmp_path / "tuned"
        )
        assert answer.code == 0, answer.err
