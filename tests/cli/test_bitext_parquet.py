"""Sentence pairs in Parquet files, as pyarrow, Spark and Hugging Face write them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augenmerk import AugenmerkError
from augenmerk.data import BadLineError, SentencePair, open_bitext
from augenmerk.data.corpus import PreparedCorpus
from tests.support.command import fails_with_a_sentence, run_command, run_json

PAIRS = [SentencePair(f"Der Hund Nummer {n} schläft.", f"Dog number {n} sleeps.") for n in range(50)]
SOURCES, TARGETS = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def read(place: Path, **options: Any) -> list[SentencePair]:
    bitext = open_bitext(str(place), divide=False, **options)
    return list(next(iter(bitext.splits.values())))


TABLES: dict[str, dict[str, Any]] = {
    "source and target": {"id": list(range(50)), "source": SOURCES, "target": TARGETS, "url": ["x"] * 50},
    "languages": {"id": list(range(50)), "en": TARGETS, "de": SOURCES},
    "Hugging Face": {"translation": [{"de": pair.source, "en": pair.target} for pair in PAIRS]},
    "large": {"de": pa.array(SOURCES, pa.large_string()), "en": pa.array(TARGETS, pa.string_view())},
    "few values": {"de": pa.array(SOURCES).dictionary_encode(), "en": TARGETS},
}


class TestReading:
    @pytest.mark.parametrize("name", TABLES)
    def test_the_pairs_come_back(self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("augenmerk.data.parquet.ROWS", 7)
        path = write(tmp_path / "pairs.parquet", TABLES[name], row_group_size=20, compression="zstd")
        assert read(path) == PAIRS
        bitext = open_bitext(str(path))
        languages = ("source", "target") if name == "source and target" else ("de", "en")
        assert (bitext.source_language, bitext.target_language) == languages
        assert sorted(bitext.splits) == ["test", "train", "val"]

    def test_columns_are_named_like_languages(self, tmp_path: Path) -> None:
        path = write(tmp_path / "pairs.parquet", {"german": SOURCES, "en": TARGETS, "note": ["?"] * 50})
        assert read(path, source_language="german", target_language="en") == PAIRS
        reverse = read(path, source_language="en", target_language="german")
        assert reverse == [pair.reversed() for pair in PAIRS]
        with pytest.raises(AugenmerkError, match="columns are en, german, note; choose the direction"):
            read(path)

    def test_a_split_of_several_files(self, tmp_path: Path) -> None:
        for part, start in enumerate((0, 20)):
            some = PAIRS[start : start + 20]
            columns = {"de": [pair.source for pair in some], "en": [pair.target for pair in some]}
            write(tmp_path / f"train-0000{part}-of-00002.parquet", columns)
        validation = tmp_path / "validation-00000-of-00001-0123456789abcdef.parquet"
        write(validation, {"de": SOURCES[40:], "en": TARGETS[40:]})
        bitext = open_bitext(str(tmp_path))
        assert list(bitext.splits) == ["train", "validation"]
        assert [*bitext["train"], *bitext["validation"]] == PAIRS
        assert read(tmp_path / "train-00001-of-00002.parquet") == PAIRS[20:40]

    @pytest.mark.parametrize(
        ("names", "complaint"),
        [
            (("00000-of-00002", "00001-of-00002"), None),
            (("00001-of-00002", "00002-of-00002"), None),
            (
                ("00000-of-00002-0123456789abcdef", "00000-of-00002-fedcba9876543210"),
                r"'train' must be .*-0123456789abcdef\.parquet and .*-fedcba9876543210\.parquet",
            ),
            (("00000-of-00002", "00002-of-00002"), "'train' must be one Parquet file, or all of its parts"),
            (("00003-of-00002", "00004-of-00002"), "'train' must be one Parquet file, or all of its parts"),
        ],
    )
    def test_parts_are_numbered(self, tmp_path: Path, names: tuple[str, ...], complaint: str | None) -> None:
        for place, name in enumerate(names):
            half = slice(25 * place, 25 * (place + 1))
            write(tmp_path / f"train-{name}.parquet", {"de": SOURCES[half], "en": TARGETS[half]})
        if complaint is None:
            assert list(open_bitext(str(tmp_path), divide=False)["train"]) == PAIRS
        else:
            with pytest.raises(AugenmerkError, match=complaint):
                open_bitext(str(tmp_path))

    def test_rows_that_hold_no_pair(self, tmp_path: Path) -> None:
        structs = [{"de": pair.source, "en": pair.target} for pair in PAIRS]
        translation: list[Any] = [*structs[:3], None, {"de": None, "en": "A dog."}, {"de": "Hund", "en": " "}]
        path = write(tmp_path / "pairs.parquet", {"translation": [*translation, *structs[3:]]})
        with pytest.raises(BadLineError, match=r"pairs\.parquet, line 4: 'translation\.de' is null; remove"):
            read(path)
        bitext = open_bitext(str(path), skip_bad=True, divide=False)
        assert list(bitext["pairs"]) == PAIRS
        assert [(bad.line, bad.kind) for bad in sorted(bitext.skipped, key=lambda bad: bad.line)] == [
            (4, "empty"),
            (5, "empty"),
            (6, "empty"),
        ]
        problems = run_command("data", "check", path)
        assert problems.code == 1
        assert "line 6: 'translation.en' is empty; remove the row" in problems.out

    def test_what_is_no_text_in_utf_8(self, tmp_path: Path) -> None:
        bytes_ = pa.array([b"Hund", b"H\xff", b"x" * 1_000_001])
        broken = pa.StringArray.from_buffers(3, bytes_.buffers()[1], bytes_.buffers()[2])
        path = write(tmp_path / "pairs.parquet", {"de": broken, "en": ["dog"] * 3})
        bitext = open_bitext(str(path), skip_bad=True, divide=False)
        assert list(bitext["pairs"]) == [SentencePair("Hund", "dog")]
        assert sorted(bad.kind for bad in bitext.skipped) == ["not UTF-8", "too long"]


class TestRefusals:
    def test_columns(self, tmp_path: Path) -> None:
        path, out = tmp_path / "pairs.parquet", tmp_path / "corpus"
        write(path, {"de": SOURCES, "en": TARGETS, "n": list(range(50))})
        languages = ("--source-language", "de", "--target-language", "fr")
        complaint = fails_with_a_sentence("data", "prepare", path, "--out", out, *languages)
        assert "there is no column 'fr' or 'target'; those with text are de, en: name two" in complaint
        complaint = fails_with_a_sentence("data", "prepare", path, "--out", out, *languages[:3], "n")
        assert "the column 'n' holds int64, not text" in complaint
        assert not out.exists()
        write(path, {"de": SOURCES})
        assert "no column 'source'; those with text are de" in fails_with_a_sentence("data", "check", path)
        write(path, {"n": [1]})
        assert "there is no column 'source'; none holds text" in fails_with_a_sentence("data", "check", path)

    def test_files(self, tmp_path: Path) -> None:
        path = write(tmp_path / "pairs.parquet", TABLES["Hugging Face"], compression="none")
        content = path.read_bytes()
        for damaged in (b"", b"no Parquet", content[:-9], content[:4] + b"\xff" * 60 + content[64:]):
            path.write_bytes(damaged)
            complaint = fails_with_a_sentence("data", "show", path, "--split", "train")
            assert "pairs.parquet: cannot be read as Parquet (" in complaint


def test_a_corpus_of_several_files(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{start}.parquet", {"de": SOURCES[start:][:25], "en": TARGETS[start:][:25]})
        for start in (0, 25)
    ]
    whole = write(tmp_path / "whole.parquet", TABLES["languages"])
    small = ("--set", "text.vocabulary_size=300", "--workers", 1)
    about = run_json("data", "prepare", *paths, "--out", tmp_path / "corpus", *small)
    assert about["pairs_read"] == 50 - 2 * 2
    run_json("data", "prepare", whole, "--out", tmp_path / "other", *small)
    assert [entry["files"].keys() for entry in about["sources"]] == [{path.name} for path in paths]
    corpora = [PreparedCorpus.open(tmp_path / name) for name in ("corpus", "other")]
    assert corpora[0].sha256 == corpora[1].sha256
