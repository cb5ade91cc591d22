"""A person's own files: lines are read as written, pairs are found and streamed, errors are one sentence."""

import gzip
import json
import random
import re
import tracemalloc
from collections.abc import Iterable
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext, SentencePair
from augenmerk.data.files import load, read_parallel
from augenmerk.data.lines import read_lines
from augenmerk.text.pairs import MAX_LINE_BYTES


def write(folder: Path, **files: str) -> Path:
    """Writes files whose names have `_` for the dot: train_de is train.de."""
    for name, content in files.items():
        path = folder / name.replace("_", ".")
        data = content.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return folder


def refuses(
    place: Path, sentence: str, source_language: str | None = None, target_language: str | None = None
) -> None:
    """Loading the place and reading every split ends in exactly one error: a sentence with these words."""
    with pytest.raises(AugenmerkError, match=sentence) as caught:
        read_everything(load(place, source_language, target_language))
    assert re.fullmatch(r"[^\n]+\.", str(caught.value))


def read_everything(bitext: Bitext) -> dict[str, list[SentencePair]]:
    return {name: list(pairs) for name, pairs in bitext.splits.items()}


LINE = '{"source": "a", "target": "b"}'
HUND = SentencePair("Ein Hund.", "A dog.")
KATZE = SentencePair("Eine Katze.", "A cat.")


class TestFolder:
    def test_parallel_text(self, tmp_path: Path) -> None:
        write(tmp_path, train_de="Ein Hund.\nEine Katze.\n", train_en="A dog.\nA cat.\n")
        write(tmp_path, val_de_gz="Ein Hund.\n", val_en="A dog.\n")
        bitext = load(tmp_path)
        assert (bitext.source_language, bitext.target_language) == ("de", "en")
        assert read_everything(bitext) == {"train": [HUND, KATZE], "val": [HUND]}
        assert list(bitext["train"]) == list(bitext["train"]), "a split can be read again"

    def test_formats_may_differ_from_split_to_split(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            train_de="Ein Hund.\n",
            train_en="A dog.\n",
            extra_tsv="a\tb",
            dev_tsv_gz="Eine Katze.\tA cat.\n",
            test_jsonl='{"source": "Ein Hund.", "target": "A dog."}\n{"de": "Eine Katze.", "en": "A cat."}\n',
        )
        found = read_everything(load(tmp_path))
        assert list(found) == ["train", "dev", "extra", "test"]  # in the order of their use
        assert (found["train"], found["dev"], found["test"]) == ([HUND], [KATZE], [HUND, KATZE])

    def test_files_of_another_kind_are_no_language(self, tmp_path: Path) -> None:
        write(tmp_path, train_de="Ein Hund.\n", train_en="A dog.\n", train_align="0-0\n")
        write(tmp_path, test_de="Ein Hund.\n", test_en="A dog.\n", README_md="ours", SHA256SUMS="0 x")
        (tmp_path / ".train.fr.part").write_text("left by an interruption")
        (tmp_path / "more.de").mkdir()
        assert list(load(tmp_path).splits) == ["train", "test"]

    @pytest.mark.parametrize("name", ["test", "dev", "val", "test_2016_flickr", "newstest2014", "test.de-en"])
    def test_a_lone_test_set_is_not_cut(self, tmp_path: Path, name: str) -> None:
        (tmp_path / f"{name}.tsv").write_text("Ein Hund.\tA dog.\n")
        assert read_everything(load(tmp_path)) == {name: [HUND]}


class TestLanguages:
    def test_other_languages_need_flags(self, tmp_path: Path) -> None:
        write(tmp_path, train_fr="un\n", train_es="uno\n", test_fr="un\n", test_es="uno\n")
        refuses(tmp_path, "es, fr; .* --source-language es --target-language fr")
        bitext = load(tmp_path, "fr", "es")
        assert (bitext.source_language, list(bitext["test"])) == ("fr", [SentencePair("un", "uno")])

    def test_of_two_languages_one_flag_says_enough_and_of_three_both(self, tmp_path: Path) -> None:
        write(tmp_path, test_de="eins\n", test_en="one\n")
        assert list(load(tmp_path, "en", "de")["test"]) == [SentencePair("one", "eins")]
        assert load(tmp_path, target_language="de").source_language == "en"
        assert load(tmp_path, source_language="de").target_language == "en"
        refuses(tmp_path, "two files of two languages", source_language="de", target_language="de")
        write(tmp_path, test_fr="un\n", test_fr_gz="un\n")
        refuses(tmp_path, "de, en, fr; ")
        refuses(tmp_path, "de, en, fr; ", source_language="de")
        assert list(load(tmp_path, "de", "en")["test"]) == [SentencePair("eins", "one")]

    def test_a_table_takes_any_name(self, tmp_path: Path) -> None:
        path = write(tmp_path, test_tsv="eins\tone\n") / "test.tsv"
        assert load(path).source_language == "source"
        assert load(path, "de", "en").target_language == "en"
        assert load(path, "de").target_language == "target"

    def test_json_keys_are_languages(self, tmp_path: Path) -> None:
        path = write(tmp_path, test_jsonl='{"en": "one", "de": "eins", "n": 7}\n') / "test.jsonl"
        bitext = load(path)
        assert (bitext.source_language, list(bitext["test"])) == ("de", [SentencePair("eins", "one")])
        write(tmp_path, test_jsonl='{"fr": "un", "es": "uno"}\n')
        refuses(path, "test.jsonl: the keys are es, fr; ")
        assert list(load(path, source_language="fr")["test"]) == [SentencePair("un", "uno")]

        # The key of a language goes before that of a role.
        write(tmp_path, test_jsonl='{"source": "web", "de": "eins", "en": "one"}\n')
        assert list(load(tmp_path, "de", "en")["test"]) == [SentencePair("eins", "one")]


class TestWhatIsWrong:
    def test_no_such_place_and_nothing_to_read(self, tmp_path: Path) -> None:
        refuses(tmp_path / "nowhere", "nowhere: there is no such file or folder")
        refuses(tmp_path / "nowhere" / "pairs", "there is no such file or folder")
        refuses(tmp_path, r"train\.de with train\.en, train\.tsv or train\.jsonl .* found nothing")
        write(tmp_path, train_de="a\n", README_md="b")
        refuses(tmp_path, r"train\.en, .* found README\.md, train\.de\.")
        refuses(tmp_path, r"train\.fr with train\.es", source_language="fr", target_language="es")
        refuses(write(tmp_path, pairs_csv="a,b\n") / "pairs.csv", r"must end in \.tsv or \.jsonl")
        refuses(tmp_path / "train.de", "without the ending, or their folder")

    @pytest.mark.parametrize(
        ("files", "said"),
        [
            ({"train_de": "a\n", "train_en": "b\n", "val_en": "b\n"}, r"val\.en: .* but val\.de is missing"),
            ({"train_de": "a\n", "train_de_gz": "a\n", "train_en": "b\n"}, r"de and train\.de\.gz are both"),
            (
                {"train_tsv": "a\tb\n", "train_jsonl": LINE},
                r"train\.tsv and train\.jsonl are both the split 'train'",
            ),
            ({"train_de": "a", "train_en": "b", "train_jsonl": LINE}, r"train\.de and train\.jsonl are both"),
            ({"train_tsv": ""}, r"train\.tsv: the file is empty"),
        ],
    )
    def test_files_that_do_not_go_together(self, tmp_path: Path, files: dict[str, str], said: str) -> None:
        refuses(write(tmp_path, **files), said)

    @pytest.mark.parametrize("blank", ["", " \u3000", "\u2028\u200b\u00ad"])
    def test_empty_sentences(self, tmp_path: Path, blank: str) -> None:
        write(tmp_path, test_de=f"a\n{blank}\n", test_en="b\nb\n", val_de="a\n", val_en=f"{blank}\n")
        refuses(tmp_path, r"val\.en, line 1: the line is empty")
        write(tmp_path, val_en="b\n")
        refuses(tmp_path, r"test\.de, line 2: the line is empty")
        path = write(tmp_path, test_tsv=f"a\tb\na\t{blank}\n") / "test.tsv"
        refuses(path, r"test\.tsv, line 2: the target sentence is empty")
        write(tmp_path, test_tsv=f"{blank}\tb\n")
        refuses(path, r"test\.tsv, line 1: the source sentence is empty")
        write(tmp_path, test_jsonl=json.dumps({"source": "a", "target": blank}))
        refuses(tmp_path / "test.jsonl", r"test\.jsonl, line 1: 'target' is empty")

    @pytest.mark.parametrize(
        ("line", "found"), [("a", "1 column"), ("a\tb\tc", "3 columns"), ("", "an empty line")]
    )
    def test_wrong_number_of_columns(self, tmp_path: Path, line: str, found: str) -> None:
        write(tmp_path, train_tsv=f"a\tb\n{line}\n")
        refuses(tmp_path, rf"train\.tsv, line 2: expected 2 columns .* found {found}\.")

    @pytest.mark.parametrize(
        ("line", "sentence"),
        [
            ('{"source": "a" "target": "b"}', r"not valid JSON \(column 16:"),
            ("", r"not valid JSON \(column 1:"),
            ('["a", "b"]', "expected a JSON object such as"),
            ("[" * 100_000, "not valid JSON"),
            ('{"source": "a"}', "there is no key 'target'"),
            ('{"source": 3, "target": "b"}', "'source' must be a text, not 3"),
            ('{"source": "a", "target": null}', "'target' must be a text, not null"),
            (r'{"source": "\ud800", "target": "b"}', "lone surrogate"),
            ('{"source": "a", "target": "b", "alignment": "0-0"}', "'alignment' must be a list of links"),
            ('{"source": "a", "target": "b", "alignment": [[0]]}', "'alignment' must be a list of links"),
            ('{"source": "a", "target": "b", "alignment": [[0, true]]}', "'alignment' must be a list"),
            ('{"source": "a", "target": "b.", "alignment": [[0, 2]]}', "link 0-2 .* have 1 and 2 words"),
            ('{"source": "a", "target": "b.", "alignment": [[-1, 0]]}', "link -1-0 .* have 1 and 2 words"),
            ('{"source": "a", "target": "b", "tags": "x"}', "'tags' must be a list of texts"),
        ],
    )
    def test_json(self, tmp_path: Path, line: str, sentence: str) -> None:
        write(tmp_path, test_jsonl=f'{{"source": "a", "target": "b"}}\n{line}\n')
        refuses(tmp_path, rf"test\.jsonl, line 2: .*{sentence}")

    def test_first_json_line(self, tmp_path: Path) -> None:
        write(tmp_path, test_jsonl='{"text": "a"}\n')
        refuses(tmp_path, "expected JSON lines with the keys 'source' and")
        refuses(tmp_path, "line 1: there is no key 'de' or 'source'", "de", "en")

    def test_links_and_tags_are_read(self, tmp_path: Path) -> None:
        pair = SentencePair("Ein Hund.", "A dog.", ((0, 0), (2, 2)), ("x", "y"))
        write(tmp_path, test_jsonl=json.dumps(asdict(pair)))
        assert list(load(tmp_path)["test"]) == [pair]


def cut(folder: Path, pairs: Iterable[SentencePair]) -> dict[str, list[SentencePair]]:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return read_everything(load(path))


def numbered(count: int) -> list[SentencePair]:
    return [SentencePair(f"Satz {i}", f"sentence {i}") for i in range(count)]


class TestCut:
    @given(sources=st.lists(st.integers(0, 400), min_size=3, max_size=800).filter(lambda s: len(set(s)) > 2))
    def test_a_pair_is_in_a_split(self, tmp_path_factory: pytest.TempPathFactory, sources: list[int]) -> None:
        pairs = [SentencePair(f"Satz {i}", f"sentence {n}") for n, i in enumerate(sources)]
        splits = cut(tmp_path_factory.mktemp("cut"), pairs)
        assert sorted(chain(*splits.values()), key=pairs.index) == pairs
        distinct = {name: {pair.source for pair in split} for name, split in splits.items()}
        assert sum(map(len, distinct.values())) == len(set(sources)), "no source is in two splits"
        assert len(distinct["val"]) == len(distinct["test"]) == max(1, len(set(sources)) // 20)
        assert distinct["train"]

    def test_order_of_lines_does_not_matter(self, tmp_path: Path) -> None:
        pairs = numbered(1000)
        before = cut(tmp_path, pairs)
        random.Random(1).shuffle(pairs)
        for name, split in cut(tmp_path, pairs).items():
            assert set(split) == set(before[name])
        after = cut(tmp_path, numbered(1010))  # appending moves few
        assert len(set(before["train"]) - set(after["train"])) <= 2
        assert len(set(before["test"]) & set(after["test"])) >= 48

    def test_same_cut_on_every_machine(self, tmp_path: Path) -> None:
        splits = cut(tmp_path, numbered(60))
        # The order of `b2sum -l 64` over the sentences, which is no code of ours.
        assert [pair.source for pair in splits["val"]] == ["Satz 3", "Satz 37", "Satz 38"]
        assert [pair.source for pair in splits["test"]] == ["Satz 2", "Satz 9", "Satz 28"]

    def test_stem_and_lone_split_are_cut(self, tmp_path: Path) -> None:
        write(tmp_path, pairs_v1_de="a\nb\nc\n", pairs_v1_en="1\n2\n3\n")
        by_stem, by_folder = load(tmp_path / "pairs.v1"), load(tmp_path)
        assert list(by_stem.splits) == ["train", "val", "test"]
        assert read_everything(by_stem) == read_everything(by_folder)
        assert (by_stem.source_language, by_stem.target_language) == ("de", "en")

    def test_loading_reads_nothing_yet(self, tmp_path: Path) -> None:
        path = write(tmp_path, pairs_tsv="a\t1\nb\t2\na\t3\n") / "pairs.tsv"
        refuses(path, "pairs.tsv: .* at least 3 different source sentences, but found 2")
        bitext = load(write(tmp_path, pairs_tsv="no tab\n"))
        with pytest.raises(AugenmerkError, match="line 1"):
            next(iter(bitext["train"]))


def test_neither_memory_nor_what_is_held_out_grows_with_the_file(tmp_path: Path) -> None:
    path, long = tmp_path / "pairs.tsv", "und noch ein Wort " * 50
    with path.open("w") as stream:
        for i in range(21_000):
            stream.write(f"Satz {i} {long}\tsentence {i}\n")
    bitext = load(path)
    tracemalloc.start()
    try:
        sizes = {name: sum(1 for _ in pairs) for name, pairs in bitext.splits.items()}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sizes == {"train": 19_000, "val": 1000, "test": 1000}
    # The hashes for the cut take the most, and the same for any file of more than 20,000 sentences.
    assert peak < 8 * 2**20 < path.stat().st_size / 2


# Lines

lines_of_text = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")).filter(
        lambda line: not line.endswith("\r")
    )
)


@given(lines=lines_of_text, end=st.sampled_from(["\n", "\r\n"]), compressed=st.booleans())
def test_lines_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, compressed: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / ("lines.gz" if compressed else "lines")
    # The mark in front keeps a line that itself begins with one from losing it.
    content = ("\ufeff" + "".join(line + end for line in lines)).encode() if lines else b""
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert list(read_lines(path)) == lines


def test_only_a_line_feed_ends_a_line_and_the_last_may_lack_it(tmp_path: Path) -> None:
    path, odd = tmp_path / "lines", "before\u2028\u2029\x85\x0b\x0c\x1c\rafter"
    path.write_bytes(f"{odd}\nlast".encode())
    assert list(read_lines(path)) == [odd, "last"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "latin1.de"
    path.write_bytes(b"gut\nsch\xf6n\n")
    for place, complaint in (
        (path, r"latin1\.de, line 2: not UTF-8 \(byte 4 of the line is 0xf6\)"),
        (tmp_path / "nowhere.de", r"nowhere\.de: there is no such file"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(AugenmerkError, match=complaint):
            list(read_lines(place))


def test_truncated_and_false_gzip(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(random.Random(1).randbytes(99_999).hex("\n", 10).encode())[:-2000])
    with pytest.raises(AugenmerkError, match=r"cut\.gz: damaged gzip file after line [89],\d{3} \("):
        list(read_lines(path))
    path.write_bytes(gzip.compress(random.Random(1).randbytes(3_000_000).hex().encode())[:-2000])
    with pytest.raises(AugenmerkError, match=r"cut\.gz: damaged gzip file after line 1 \("):
        list(read_lines(path, []))  # within a line that is too long
    path.write_bytes(b"plain text\n")
    with pytest.raises(AugenmerkError, match=r"cut\.gz: damaged gzip"):
        list(read_lines(path))


def test_unequal_line_counts_name_the_shorter_file(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("a\n" * 3)
    (tmp_path / "long").write_text("b\n" * 5)
    for names in (("short", "long"), ("long", "short")):
        with pytest.raises(AugenmerkError, match="short ends after line 3, but"):
            list(read_parallel(*(tmp_path / name for name in names)))


class TestLongLines:
    def test_a_line_up_to_the_limit_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        path.write_bytes(b"a\n" + b"b" * (MAX_LINE_BYTES - 1) + b"\n" + b"c" * MAX_LINE_BYTES)
        assert [len(line) for line in read_lines(path)] == [1, MAX_LINE_BYTES - 1, MAX_LINE_BYTES]
        path.write_bytes(b"a\n" + b"b" * MAX_LINE_BYTES + b"\n")
        with pytest.raises(AugenmerkError, match=r"lines, line 2: the line is longer than 1,000,000 bytes"):
            list(read_lines(path))

    @pytest.mark.parametrize("names", ["train.de.gz train.en.gz", "train.tsv.gz", "train.jsonl.gz"])
    def test_zeros_without_end_are_refused_in_little_memory(self, tmp_path: Path, names: str) -> None:
        # Members of gzip may follow one another, so this is forty megabytes in little space.
        member = gzip.compress(bytes(10_000_000))
        for name in names.split():
            (tmp_path / name).write_bytes(member * 4)
        tracemalloc.start()
        try:
            refuses(tmp_path, r"train\.\w+\.gz(: expected JSON lines|, line 1: the line is longer than)")
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs a list of open files")
def test_an_error_leaves_no_file_open(tmp_path: Path) -> None:
    (tmp_path / "train.de").write_text("eins\nzwei\ndrei\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("one\n", encoding="utf-8")
    with pytest.raises(AugenmerkError, match="ends after line 1") as caught:
        list(load(tmp_path, "de", "en")["train"])
    opened = [str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    assert caught.value is not None  # its traceback holds every frame that read
    assert not [name for name in opened if name.startswith(str(tmp_path))]
