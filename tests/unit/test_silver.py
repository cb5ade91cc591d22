"""Links by an offline aligner, on a book whose true links are known."""

import sys

import pytest

from augenmerk import AugenmerkError, SentencePair, open_bitext
from augenmerk.data import Links
from augenmerk.evaluation.agreement import silver_links
from augenmerk.translation.alignment import GoldLinks, compare_links

pytest.importorskip("thot", reason="the optional extra 'align' is not installed")


def test_nearly_the_gold_links() -> None:
    book = open_bitext("bilderbuch", pairs=2000)
    train, test = list(book["train"]), list(book["test"])
    told: list[tuple[str, int, int]] = []

    def progress(what: str, done: int, total: int) -> None:
        told.append((what, done, total))

    found = silver_links(train, test, progress=progress)
    gold = [GoldLinks.of(pair.alignment or ()) for pair in test]
    score = compare_links(zip(found, gold, strict=True))
    assert score.error < 0.2
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == told[-1][2]


def test_strange_sentences_and_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [SentencePair("a b", "x y"), SentencePair("", "x"), SentencePair("a " * 300, "x " * 300)]
    links: list[Links] = silver_links([SentencePair("a", "x")] * 5, pairs)
    assert (0, 0) in links[0]
    assert links[1] == ()
    assert all(0 <= i < 300 and 0 <= j < 300 for i, j in links[2])
    monkeypatch.setitem(sys.modules, "thot", None)
    with pytest.raises(AugenmerkError, match=r"pip install '\.\[align\]'"):
        silver_links([], [SentencePair("a", "x")])
