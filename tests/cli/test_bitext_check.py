"""`augenmerk data check`: what is wrong is found, all at once, and what is right is left alone."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from augenmerk.data import SentencePair, open_bitext
from augenmerk.data.checking import check_data
from augenmerk.data.files import load
from augenmerk.data.findings import CheckResult
from augenmerk.data.plausibility import (
    LanguageStatistics,
    find_offsets,
    measure_fit,
    words_of,
)
from tests.support.command import fails_with_a_sentence, run_command

Pairs = list[SentencePair]
COUNT = 2500


@pytest.fixture(scope="module")
def captions() -> Pairs:
    return list(open_bitext("bilderbuch", pairs=COUNT, seed=3)["train"])


def check(folder: Path, pairs: Pairs, name: str = "pairs.tsv") -> CheckResult:
    path = folder / name
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return check_data(str(path), None, None)


def lines(result: CheckResult, kind: str) -> list[int]:
    return [line for finding in result.findings if finding.kind == kind for line in finding.lines]


def exchange_targets(pairs: Pairs, first: int, second: int) -> None:
    a, b = pairs[first], pairs[second]
    pairs[first], pairs[second] = SentencePair(a.source, b.target), SentencePair(b.source, a.target)


def test_clean_pairs_cause_no_alarm(captions: Pairs, tmp_path: Path) -> None:
    result = check(tmp_path, captions)
    assert not result.problems
    [split] = result.splits
    assert (split.pairs, split.bad_lines) == (COUNT, 0)
    assert split.source.scripts == {"LATIN": COUNT}
    words = sorted(len(words_of(pair.source)) for pair in captions)
    assert (split.source.median_words, split.source.longest) == (np.median(words), words[-1])
    assert not {finding.kind for finding in result.findings} - {"several targets", "misaligned"}
    assert len(lines(result, "misaligned")) <= 5


def test_all_that_is_wrong_with_lines_is_listed(captions: Pairs, tmp_path: Path) -> None:
    source = [pair.source.encode() for pair in captions[:300]]
    target = [pair.target.encode() for pair in captions[:300]]
    source[9], target[9], target[19] = b"", "\u200b".encode(), b"  "
    source[29] = "Schöne Straße".encode("latin-1")
    target[39] = b"x" * 1_000_001
    (tmp_path / "train.de").write_bytes(b"\n".join(source) + b"\n")
    (tmp_path / "train.en").write_bytes(b"\n".join(target) + b"\nOne more.\n")
    result = check_data(str(tmp_path), None, None)
    found = {(Path(problem.file or "").name, problem.line, problem.kind) for problem in result.problems}
    assert found == {
        ("train.de", 10, "empty"),
        ("train.en", 10, "empty"),
        ("train.en", 20, "empty"),
        ("train.de", 30, "not UTF-8"),
        ("train.en", 40, "too long"),
        ("", None, "file"),
    }
    assert "train.de ends after line 300" in result.problems[-1].reason
    assert (result.splits[0].pairs, result.splits[0].bad_lines) == (296, 4)


def test_what_is_odd_in_single_lines(captions: Pairs, tmp_path: Path) -> None:
    pairs = captions[:300]
    odd = {
        "repeated": (pairs[20].source, pairs[20].target),
        "several targets": (pairs[21].source, "Something else is written here."),
        "untranslated": ("Ein Satz.", "ein satz."),
        "long": ("Wort " * 201, "word " * 201),
        "control character": ("Der Hund\x07 bellt.", "The dog barks."),
        "replacement character": ("Der H\ufffdnd bellt.", "The dog barks."),
        "wrong encoding": ("Das MÃ¤dchen lacht.", "The girl laughs."),
        "markup": ("Der Hund &amp; die Katze.", "The dog &amp; the cat."),
        "script": ("Собака спит.", "The dog is sleeping."),
        "length": ("Der Hund bellt.", "The dog barks, and then he does so once more. " * 4),
    }
    pairs += [SentencePair(*sides) for sides in odd.values()]
    result = check(tmp_path, pairs)
    for line, kind in enumerate(odd, 301):
        assert line in lines(result, kind), kind
        assert len(lines(result, kind)) < 10
    assert [finding.message for finding in result.findings if finding.kind == "script"] == [
        "1 line: the source has words in Cyrillic script; most have Latin"
    ]


def test_exchanged_sides_and_languages(captions: Pairs, tmp_path: Path) -> None:
    pairs = list(captions)
    for place in range(7, COUNT, 50):
        pairs[place] = pairs[place].reversed()
    pairs[100] = SentencePair(pairs[100].target, pairs[100].target)
    pairs[200] = SentencePair(pairs[200].source, pairs[200].source)
    result = check(tmp_path, pairs)
    assert lines(result, "swapped") == list(range(8, COUNT + 1, 50))
    assert lines(result, "source language") == [101]
    assert lines(result, "target language") == [201]
    assert lines(result, "untranslated") == [101, 201]


def test_files_with_each_others_names(captions: Pairs, tmp_path: Path) -> None:
    (tmp_path / "train.de").write_text("".join(f"{pair.target}\n" for pair in captions), encoding="utf-8")
    (tmp_path / "train.en").write_text("".join(f"{pair.source}\n" for pair in captions), encoding="utf-8")
    messages = [finding.message for finding in check_data(str(tmp_path), None, None).findings]
    assert "On the whole, the source looks like 'en' and the target like 'de'." in messages


@pytest.mark.parametrize("lost", [0, 1000])
def test_lines_after_a_lost_one_are_shifted(captions: Pairs, tmp_path: Path, lost: int) -> None:
    targets = [pair.target for pair in captions]
    del targets[lost]
    pairs = [SentencePair(pair.source, target) for pair, target in zip(captions, targets, strict=False)]
    [found] = [finding.lines for finding in check(tmp_path, pairs).findings if finding.kind == "shifted"]
    assert max(lost - 20, 0) < found[0] <= lost + 1, "no shifted line is missed, and few others are named"
    assert found == tuple(range(found[0], COUNT))


@pytest.mark.parametrize(("first", "lost"), [(507, 3), (1203, 1)])
def test_ends_of_a_shifted_block_are_found(captions: Pairs, tmp_path: Path, first: int, lost: int) -> None:
    # The targets of 100 lines go round: line n of the block has the target of line n + lost, or a wrong one.
    block = [pair.target for pair in captions[first : first + 100]]
    targets = [pair.target for pair in captions]
    targets[first : first + 100] = block[lost:] + block[:lost]
    pairs = [SentencePair(pair.source, target) for pair, target in zip(captions, targets, strict=True)]
    [found] = [finding for finding in check(tmp_path, pairs).findings if finding.kind == "shifted"]
    assert f"target line n-{lost}" in found.message
    assert set(range(first + 1, first + 101)) <= set(found.lines)
    assert len(found.lines) <= 140
    export = ("data", "export", tmp_path / "pairs.tsv", "--clean", "--unsplit", "--format", "tsv")
    written = run_command(*export, "--out", tmp_path / "clean")
    assert written.code == 0, written.err
    right = {(pair.source, pair.target) for pair in captions}
    kept = (tmp_path / "clean" / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    assert all(tuple(line.split("\t")) in right for line in kept)
    assert not lines(check_data(str(tmp_path / "clean" / "pairs.tsv"), None, None), "shifted")


def test_overlap_and_names_of_splits(captions: Pairs, tmp_path: Path) -> None:
    for name, pairs in {"train": captions[:200], "dev": captions[190:220]}.items():
        check(tmp_path, pairs, f"{name}.tsv")
    result = check_data(str(tmp_path), None, None)
    assert lines(result, "overlap") == list(range(1, 11))
    assert any("--set data.validation=dev" in finding.message for finding in result.findings)


def test_splits_that_training_would_not_find(captions: Pairs, tmp_path: Path) -> None:
    assert "at least 3 different" in check(tmp_path, [captions[0]] * 5, "train.tsv").problems[0].reason
    check(tmp_path, captions[:20], "train.tsv")
    assert not check_data(str(tmp_path), None, None).problems
    assert not check(tmp_path, captions[:2], "test.tsv").problems, "a test set is not divided"
    [problem] = check_data(str(tmp_path), None, None).problems
    assert "'train' and 'val', but here are train, test" in problem.reason


def test_what_is_skipped_is_what_is_a_problem(captions: Pairs, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    rows = [f"{pair.source}\t{pair.target}".encode() for pair in captions[:60]]
    rows[3], rows[5], rows[7], rows[9] = b"", b"one column", b"\xff\tb", b"a\tb\tc"
    path.write_bytes(b"\n".join(rows))
    bitext = load(path, skip_bad=True)
    kept = [pair for split in bitext.splits.values() for pair in split]
    assert sorted(pair.source for pair in kept) == sorted(
        pair.source for number, pair in enumerate(captions[:60]) if number not in (3, 5, 7, 9)
    )
    problems = check_data(str(path), None, None).problems
    assert {(bad.line, bad.kind) for bad in bitext.skipped} == {(bad.line, bad.kind) for bad in problems}
    assert sorted(bad.line for bad in bitext.skipped) == [4, 6, 8, 10]


def test_unequal_files_are_refused_even_if_bad_lines_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "test.de").write_text("eins\n\ndrei\n", encoding="utf-8")
    (tmp_path / "test.en").write_text("one\ntwo\n", encoding="utf-8")
    answer = run_command("data", "export", tmp_path, "--out", tmp_path / "out", "--skip-bad")
    assert answer.code == 2
    assert "test.en ends after line 2" in answer.err


class TestCommand:
    def test_exit_codes_and_json(self, captions: Pairs, tmp_path: Path) -> None:
        check(tmp_path, captions[:100])
        answer = run_command("data", "check", tmp_path / "pairs.tsv", "--json")
        document = json.loads(answer.out)
        assert (answer.code, document["trainable"], document["problems"]) == (0, True, [])
        with (tmp_path / "pairs.tsv").open("a", encoding="utf-8") as file:
            file.write("no tab [bold]here[/]\n")
        answer = run_command("data", "check", tmp_path / "pairs.tsv")
        assert answer.code == 1
        assert "pairs.tsv, line 101: expected 2 columns" in answer.out
        assert "--skip-bad" in answer.out
        [problem] = json.loads(run_command("data", "check", tmp_path / "pairs.tsv", "--json").out)["problems"]
        assert (problem["line"], problem["kind"]) == (101, "malformed")

    def test_nothing_to_check(self, tmp_path: Path) -> None:
        assert "no such file" in fails_with_a_sentence("data", "check", tmp_path / "nowhere.tsv")
        said = fails_with_a_sentence("data", "check", "nowhere.md")
        assert "no dataset, file or folder called 'nowhere.md'" in said

        if Path("/dev/null").is_char_device():
            said = fails_with_a_sentence("data", "check", "/dev/null")
            assert "/dev/null: pairs must be in a folder or" in said

    def test_utf_16_is_said_in_one_sentence(self, tmp_path: Path) -> None:
        path = tmp_path / "pairs.tsv"
        said = f"{path}: this file is UTF-16; convert it to UTF-8: iconv -f utf-16 -t utf-8 OLD > NEW"
        for encoding in ("utf-16-le", "utf-16-be"):
            path.write_bytes("\ufeffEin Bär.\tA bear.\n".encode(encoding))
            [problem] = json.loads(run_command("data", "check", path, "--json").out)["problems"]
            assert problem["reason"] == said
        for command in (("data", "show"), ("translate", "--input"), ("translate", "--skip-bad", "--input")):
            assert fails_with_a_sentence(*command, path) == f"augenmerk: {said}."

    def test_no_line_can_be_used(self, tmp_path: Path) -> None:
        (tmp_path / "pairs.tsv").write_text("one\ntwo\n", encoding="utf-8")
        answer = run_command("data", "check", tmp_path / "pairs.tsv")
        assert answer.code == 1
        assert "has no usable pair in 'pairs'" in answer.out


class TestClean:
    """`data export --clean` writes the pairs about which `data check` finds nothing."""

    @pytest.fixture
    def faulty(self, captions: Pairs, tmp_path: Path) -> Path:
        """Pairs with a repeated line 250, a swapped line 100, HTML in line 7, and bad lines 251 and 252."""
        pairs = list(dict.fromkeys((pair.source, pair.target) for pair in captions))[:250]
        pairs[99] = pairs[99][1], pairs[99][0]
        pairs[6] = pairs[6][0] + " &amp;", pairs[6][1]
        pairs[249] = pairs[0]
        path = tmp_path / "pairs.tsv"
        path.write_bytes(b"".join(f"{a}\t{b}\n".encode() for a, b in pairs) + b"\xff\tx\nno tab\n")
        return path

    def test_what_is_found_is_left_out_and_counted(self, faulty: Path, tmp_path: Path) -> None:
        export = ("data", "export", faulty, "--clean", "--unsplit", "--format", "tsv")
        answer = run_command(*export, "--out", tmp_path / "clean")
        assert answer.code == 0, answer.err
        assert "2 bad lines skipped: 1 malformed, 1 not UTF-8" in answer.err
        for count in ("1 repeated", "1 swapped", "1 markup"):
            assert count in answer.err
        found = check_data(str(faulty), None, None)
        named = {line for finding in found.findings for line in finding.lines} | {251, 252}
        rows = faulty.read_bytes().split(b"\n")[:-1]
        rest = [row for number, row in enumerate(rows, 1) if number not in named]
        assert (tmp_path / "clean" / "pairs.tsv").read_bytes() == b"\n".join(rest) + b"\n"
        assert {7, 100, 250} <= named
        kept = run_command(*export, "--keep", "markup", "--out", tmp_path / "kept", "--json")
        left_out = json.loads(kept.out)["left_out"]["pairs"]
        assert (left_out["swapped"], "markup" in left_out) == ([100], False)
        assert b"&amp;" in (tmp_path / "kept" / "pairs.tsv").read_bytes()

    def test_divided_it_has_the_same_pairs(self, faulty: Path, tmp_path: Path) -> None:
        for name, unsplit in (("whole", ["--unsplit"]), ("divided", [])):
            export = ("data", "export", faulty, "--clean", "--format", "tsv", *unsplit)
            assert run_command(*export, "--out", tmp_path / name).code == 0
        divided = [(tmp_path / "divided" / f"{name}.tsv").read_text() for name in ("train", "val", "test")]
        whole = (tmp_path / "whole" / "pairs.tsv").read_text().splitlines()
        assert sorted("".join(divided).splitlines()) == sorted(whole)

    def test_refusals(self, faulty: Path, tmp_path: Path) -> None:
        export = ("data", "export", "--out", tmp_path / "clean")
        assert "add --clean" in fails_with_a_sentence(*export, faulty, "--keep", "markup")
        assert "found here are" in fails_with_a_sentence(*export, faulty, "--clean", "--keep", "html")
        assert "your own pairs, not for" in fails_with_a_sentence(*export, "bilderbuch", "--clean")
        assert "--unsplit is for your own pairs" in fails_with_a_sentence(*export, "bilderbuch", "--unsplit")
        assert "--skip-bad leaves such lines out" in fails_with_a_sentence(*export, faulty)
        assert not (tmp_path / "clean").exists()


def test_lines_are_listed_in_their_order(captions: Pairs, tmp_path: Path) -> None:
    rows = [f"{pair.source}\t{pair.target}".encode() for pair in captions]
    rows[41], rows[117], rows[250] = b"\tEmpty.", b"\xf6\tx", b"no tab"
    for line in (300, 600, 900, 1200):  # pairs that were given each other's targets
        (a, b), (c, d) = (rows[number].split(b"\t") for number in (line, line + 7))
        rows[line], rows[line + 7] = a + b"\t" + d, c + b"\t" + b
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"\n".join(rows) + b"\n")
    answer = run_command("data", "check", path)
    places = [answer.out.index(f"line {number}:") for number in (42, 118, 251)]
    assert places == sorted(places)
    assert "augenmerk data export --clean" in answer.out
    misaligned = lines(check_data(str(path), None, None), "misaligned")
    assert len(misaligned) > 2
    assert misaligned == sorted(misaligned)


# The statistics by themselves


@pytest.mark.parametrize("offset", [-4, -1, 0, 2, 5])
def test_offsets_of_known_lengths(offset: int) -> None:
    rng = np.random.default_rng(2)
    source = rng.integers(20, 100, 600).astype(np.float64)
    fitting = source * np.exp(0.2 * rng.standard_normal(600))
    target = np.concatenate([fitting[:300], np.roll(fitting, offset)[300:]])
    found = find_offsets(source, target)
    assert found is not None
    if offset == 0:
        assert found == []
    else:
        [shift] = found
        assert shift.offset == offset
        assert 290 <= shift.start <= 310
        assert 280 <= shift.safe_start <= 300
        assert shift.safe_end == 600
    assert find_offsets(source, rng.permutation(target)) is None


def test_a_pair_is_not_judged_by_itself() -> None:
    pairs = [(["hund", "läuft"], ["dog", "runs"]), (["katze", "schläft"], ["cat", "sleeps"])] * 30
    pairs += [(["hund", "schläft"], ["dog", "sleeps"])] * 5
    fits = measure_fit(*zip(*pairs, strict=True))
    assert (fits > 0).all()
    wrong = [*pairs, (["katze"], ["runs"])]
    assert measure_fit(*zip(*wrong, strict=True))[-1] < -2


def test_a_word_that_occurs_once_belongs_to_no_language() -> None:
    statistics = LanguageStatistics()
    for _ in range(50):
        statistics.count(["der", "hund"], ["the", "dog"])
    statistics.count(["einmalig"], ["unique"])
    of_source, of_target = statistics.judge(["einmalig"], ["unique"])
    assert abs(of_source) < 0.1
    assert abs(of_target) < 0.1
    assert statistics.judge(["the", "dog"], ["der", "hund"])[0] < -3


def test_multi30k_with_and_without_faults(multi30k_folder: Path, tmp_path: Path) -> None:
    pairs = [pair for pair in islice(load(multi30k_folder)["train"], 5000) if "\t" not in pair.source]
    result = check(tmp_path, pairs)
    assert not result.problems
    assert not lines(result, "swapped")
    assert not lines(result, "shifted")
    assert len(lines(result, "misaligned")) < 30
    for place in range(100, 2000, 100):
        pairs[place] = pairs[place].reversed()
    for place in range(2000, 3000, 50):
        exchange_targets(pairs, place, place + 25)
    shifted = [
        SentencePair(pair.source, other.target)
        for pair, other in zip(pairs[3999:], [*pairs[4000:], pairs[0]], strict=True)
    ]
    result = check(tmp_path, pairs[:3999] + shifted)
    assert lines(result, "swapped") == list(range(101, 2001, 100))
    found = lines(result, "shifted")
    assert abs(found[0] - 4000) <= 20
    assert found[-1] >= len(pairs) - 20
    exchanged = {line + 1 for line in range(2000, 3000, 25)}
    assert len(exchanged & set(lines(result, "misaligned"))) >= 12
