"""Links by an offline aligner, on a book whose true links are known."""

import json
import sys
from pathlib import Path

import pytest

from augenmerk import AugenmerkError, SentencePair, open_bitext
from augenmerk.data import Links
from augenmerk.evaluation.agreement import silver_links
from augenmerk.translation.alignment import GoldLinks, compare_links

pytest.importorskip("thot", reason="the optional extra 'align' is not installed")


def test_nearly_the_gold_links_and_from_the_cache_the_second_time(tmp_path: Path) -> None:
    book = open_bitext("bilderbuch", pairs=2000)
    train, test = list(book["train"]), list(book["test"])
    told: list[tuple[str, int, int]] = []

    def progress(what: str, done: int, total: int) -> None:
        told.append((what, done, total))

    found = silver_links(train, test, progress=progress, cache=tmp_path)
    gold = [GoldLinks.of(pair.alignment or ()) for pair in test]
    score = compare_links(zip(found, gold, strict=True))
    assert score.error < 0.2
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == told[-1][2]

    told.clear()
    assert silver_links(train, test, progress=progress, cache=tmp_path) == found
    assert not told
    # Of other text, or of damage, the cache knows nothing.
    assert len(silver_links(train, test[:10], progress=progress, cache=tmp_path)) == 10
    assert told
    [file] = [path for path in tmp_path.iterdir() if len(json.loads(path.read_text())) == len(test)]
    file.write_text(file.read_text()[:-20])
    assert silver_links(train, test, cache=tmp_path) == found


def test_strange_sentences_are_aligned_or_have_no_links(tmp_path: Path) -> None:
    pairs = [SentencePair("a b", "x y"), SentencePair("", "x"), SentencePair("a " * 300, "x " * 300)]
    links: list[Links] = silver_links([SentencePair("a", "x")] * 5, pairs, cache=tmp_path)
    assert (0, 0) in links[0]
    assert links[1] == ()
    assert all(0 <= i < 300 and 0 <= j < 300 for i, j in links[2])


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert silver_links([], [SentencePair("a", "x")], cache=tmp_path / "file") == [((0, 0),)]


def test_without_the_library_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "thot", None)
    with pytest.raises(AugenmerkError, match=r"pip install 'augenmerk\[align\]'"):
        silver_links([], [SentencePair("a", "x")])
