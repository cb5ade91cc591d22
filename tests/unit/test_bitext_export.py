"""Whatever export writes, files reads back; what it cannot write it refuses, leaving nothing behind."""

import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import SentencePair
from augenmerk.data.exporting import Format, write_splits
from augenmerk.data.files import load
from augenmerk.text.pairs import MAX_LINE_BYTES
from augenmerk.text.words import split_words

FORMATS: tuple[Format, ...] = ("text", "tsv", "jsonl")

odd = st.sampled_from(
    list("\u2028\u2029\x85\x0b\x0c\x1c\x00\ufeff\u200d\"'„“«\\{}[],👩🏽‍🚀é\u0301 \r\t\n-.3")
)
sentences = st.text(odd | st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: bool(split_words(text))
)


@st.composite
def sentence_pairs(draw: st.DrawFn) -> SentencePair:
    source, target = draw(sentences), draw(sentences)
    words = st.tuples(
        st.integers(0, len(split_words(source)) - 1), st.integers(0, len(split_words(target)) - 1)
    )
    alignment = draw(st.none() | st.lists(words, max_size=4).map(tuple))
    return SentencePair(source, target, alignment, tuple(draw(st.lists(st.text("abc-"), max_size=2))))


def bare(pairs: list[SentencePair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def fits(pair: SentencePair, way: Format) -> bool:
    """An independent account of what a line of each format can hold."""
    ends = {"text": [pair.source, pair.target], "tsv": [pair.target], "jsonl": []}[way]
    starts = {"text": [pair.source, pair.target], "tsv": [pair.source], "jsonl": []}[way]
    never = {"text": "\n", "tsv": "\n\t", "jsonl": ""}[way]
    return (
        not any(character in pair.source + pair.target for character in never)
        and not any(text.endswith("\r") for text in ends)
        and not any(text.startswith("\ufeff") for text in starts)
    )


@given(pairs=st.lists(sentence_pairs(), min_size=1, max_size=4), way=st.sampled_from(FORMATS))
@example(pairs=[SentencePair("\x85a\u2028", '"b" ’')], way="text")
@example(pairs=[SentencePair("a\r", "\ufeffb"), SentencePair("\u2028a", '"b')], way="tsv")
def test_what_is_written_is_read_back_and_what_does_not_fit_is_refused(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[SentencePair], way: Format
) -> None:
    folder = tmp_path_factory.mktemp("export")
    for number, pair in enumerate(pairs, 1):
        if not fits(pair, way):
            with pytest.raises(AugenmerkError, match=f"Pair {number} of 'test' cannot be exported: "):
                write_splits({"test": pairs}, folder, "de", "en", format=way)
            assert list(folder.iterdir()) == []
            break
    pairs = [pair for pair in pairs if fits(pair, way)] or [SentencePair("a", "b")]
    write_splits({"test": pairs}, folder, "de", "en", format=way)
    back = list(load(folder)["test"])
    assert bare(back) == bare(pairs)
    assert way != "jsonl" or back == pairs


@settings(max_examples=50)
@given(pairs=st.lists(sentence_pairs(), min_size=1, max_size=4), way=st.sampled_from(FORMATS))
def test_tokenized_words_are_white_space_tokens(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[SentencePair], way: Format
) -> None:
    folder = tmp_path_factory.mktemp("export")
    write_splits({"test": pairs}, folder, "de", "en", format=way, tokenized=True)
    for pair, back in zip(pairs, load(folder)["test"], strict=True):
        assert back.source.split(" ") == split_words(back.source) == split_words(pair.source)
        assert back.target.split(" ") == split_words(back.target) == split_words(pair.target)


def test_multi30k_comes_out_byte_for_byte(multi30k_folder: Path, tmp_path: Path) -> None:
    bitext = load(multi30k_folder)
    for split in bitext.splits:
        for path in write_splits({split: bitext[split]}, tmp_path, "de", "en", format="text"):
            assert path.read_bytes() == gzip.decompress((multi30k_folder / f"{path.name}.gz").read_bytes())


class TestLinks:
    pair = SentencePair("Der Hund schläft.", "The dog sleeps.", ((0, 0), (1, 1), (2, 2), (3, 3)))

    def test_pharaoh(self, tmp_path: Path) -> None:
        free = SentencePair("Ach!", "Oh!", ())
        paths = write_splits(
            {"test": [self.pair, free]}, tmp_path, "de", "en", format="text", align=True, tokenized=True
        )
        assert [path.name for path in paths] == ["test.de", "test.en", "test.align"]
        assert (tmp_path / "test.align").read_bytes() == b"0-0 1-1 2-2 3-3\n\n"
        assert (tmp_path / "test.en").read_bytes() == b"The dog sleeps .\nOh !\n"
        assert list(load(tmp_path).splits) == ["test"], "links are no language"

    def test_no_links_and_one_past_the_end(self, tmp_path: Path) -> None:
        for pair, said in ((SentencePair("a", "b"), "no w"), (SentencePair("a", "b", ((0, 1),)), "link 0-1")):
            with pytest.raises(AugenmerkError, match=f"Pair 2 of 'test' .* {said}"):
                write_splits({"test": [self.pair, pair]}, tmp_path, "de", "en", format="tsv", align=True)
            assert list(tmp_path.iterdir()) == []


class TestWholeOrNotAtAll:
    def test_existing_files_stay(self, tmp_path: Path) -> None:
        (tmp_path / "train.en").write_text("mine\n")
        with pytest.raises(AugenmerkError, match=r"train\.en is already there; pass --overwrite"):
            write_splits({"train": [SentencePair("a", "b")]}, tmp_path, "de", "en", format="text")
        assert [path.name for path in tmp_path.iterdir()] == ["train.en"]
        assert (tmp_path / "train.en").read_text() == "mine\n"
        write_splits({"train": [SentencePair("a", "b")]}, tmp_path, "de", "en", format="text", overwrite=True)
        assert (tmp_path / "train.en").read_text() == "b\n"

    @pytest.mark.parametrize("way", FORMATS)
    def test_interruption_leaves_the_old_files(self, tmp_path: Path, way: Format) -> None:
        def interrupted() -> Iterator[SentencePair]:
            yield SentencePair("new", "new")
            raise KeyboardInterrupt

        write_splits({"test": [SentencePair("old", "old")]}, tmp_path, "de", "en", format=way)
        with pytest.raises(KeyboardInterrupt):
            write_splits({"test": interrupted()}, tmp_path, "de", "en", format=way, overwrite=True)
        assert list(load(tmp_path)["test"]) == [SentencePair("old", "old")]
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]

    def test_a_folder_may_be_exported_onto_itself(self, tmp_path: Path) -> None:
        pairs = [SentencePair(f"a {i}", f"b {i}") for i in range(5_000)]
        write_splits({"test": pairs}, tmp_path, "de", "en", format="text")
        write_splits({"test": load(tmp_path)["test"]}, tmp_path, "de", "en", format="text", overwrite=True)
        assert list(load(tmp_path)["test"]) == pairs

    def test_two_threads_that_export_into_one_folder_do_not_mix(self, tmp_path: Path) -> None:
        def write(number: int) -> None:
            pairs = [SentencePair(f"{number} {line}", f"{number} {line}") for line in range(3000)]
            write_splits({"test": pairs}, tmp_path, "de", "en", format="text", overwrite=True)

        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(write, range(2))) == [None, None]
        back = list(load(tmp_path)["test"])
        assert len(back) == 3000
        assert len({text.split()[0] for pair in back for text in (pair.source, pair.target)}) == 1

    def test_other_people_may_read_the_files(self, tmp_path: Path) -> None:
        (tmp_path / "plain").touch()
        [path] = write_splits(
            {"test": [SentencePair("a", "b")]}, tmp_path / "new" / "in", "de", "en", format="tsv"
        )
        assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


class TestRefusals:
    @pytest.mark.parametrize(
        ("pair", "way", "sentence"),
        [
            (SentencePair("a\tb", "c"), "tsv", "TSV cannot hold a sentence with a tab"),
            (SentencePair("a", "b\nc"), "tsv", "tsv cannot hold a sentence with a line break"),
            (SentencePair("a\r", "b"), "text", "text cannot hold a sentence with a line break"),
            (SentencePair("\ufeffa", "b"), "text", "text cannot hold a sentence with a byte order mark"),
            (SentencePair("a", " "), "jsonl", "its target sentence is empty"),
            (SentencePair("", "b"), "text", "its source sentence is empty"),
            (SentencePair("a", "\ud800"), "jsonl", "lone surrogate"),
        ],
    )
    def test_what_cannot_return(self, tmp_path: Path, pair: SentencePair, way: Format, sentence: str) -> None:
        with pytest.raises(AugenmerkError, match=rf"Pair 1 of 'test' cannot be exported: .*{sentence}"):
            write_splits({"test": [pair]}, tmp_path, "de", "en", format=way)
        assert list(tmp_path.iterdir()) == []

    def test_nothing_to_export_a_language_to_itself_and_a_file_for_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        pairs = [SentencePair("a", "b")]
        with pytest.raises(AugenmerkError, match="no pairs in 'test'"):
            write_splits({"test": []}, tmp_path, "de", "en", format="tsv")
        with pytest.raises(AugenmerkError, match="'en' to itself needs --format tsv or jsonl"):
            write_splits({"test": pairs}, tmp_path, "en", "en", format="text")
        with pytest.raises(AugenmerkError, match="file: cannot be written to"):
            write_splits({"test": pairs}, tmp_path / "file", "de", "en", format="tsv")


@pytest.mark.parametrize("format", FORMATS)
def test_what_could_not_be_read_again_is_not_exported(tmp_path: Path, format: Format) -> None:  # noqa: A002
    longest = SentencePair("a" * (MAX_LINE_BYTES - 1), "b")
    if format == "text":
        write_splits({"test": [longest]}, tmp_path / "pairs", "de", "en", format=format)
        assert list(load(tmp_path / "pairs")["test"]) == [longest]
    longer = SentencePair("a" * MAX_LINE_BYTES, "b")
    with pytest.raises(AugenmerkError, match=r"Pair 1 of 'train' cannot be exported: it needs a line"):
        write_splits({"train": [longer]}, tmp_path / "x", "de", "en", format=format)
    assert not (tmp_path / "x").exists()
