"""Opening a bitext by name or place, and turning it round."""

from pathlib import Path

import pytest

from augenmerk import AugenmerkError, Bitext, SentencePair, open_bitext
from tests.support.command import fails_with_a_sentence


def test_a_pair_turned_round_twice_is_the_same() -> None:
    pair = SentencePair("Ein Hund", "A dog", ((0, 0), (1, 1)), ("short",))
    assert pair.reversed() == SentencePair("A dog", "Ein Hund", ((0, 0), (1, 1)), ("short",))
    crossing = SentencePair("a b", "c d", ((0, 1), (1, 0)))
    assert crossing.reversed().alignment == ((0, 1), (1, 0))
    assert SentencePair("a b c", "d", ((0, 0), (2, 0))).reversed().alignment == ((0, 0), (0, 2))
    assert SentencePair("a", "b").reversed() == SentencePair("b", "a")
    bitext = Bitext("mine", "de", "en", {"train": [], "val": []})
    with pytest.raises(AugenmerkError, match=r"mine has no split called 'test'; there are: train, val\."):
        bitext["test"]


def test_by_name_and_in_both_directions() -> None:
    there = open_bitext("bilderbuch", pairs=3, seed=5)
    back = open_bitext("bilderbuch", pairs=3, seed=5, source_language="en", target_language="de")
    assert (back.source_language, back.target_language) == ("en", "de")
    assert [pair.reversed() for pair in back["train"]] == list(there["train"])
    assert list(back["train"]) == list(back["train"])  # a split can be read again
    assert open_bitext("bilderbuch", source_language="de").source_language == "de"


@pytest.mark.parametrize("languages", [("fr", "en"), ("de", "de"), ("en", "en"), (None, "fr")])
def test_other_languages_are_refused(languages: tuple[str | None, str]) -> None:
    with pytest.raises(AugenmerkError, match="bilderbuch is in de and en"):
        open_bitext("bilderbuch", source_language=languages[0], target_language=languages[1])


def test_by_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test.tsv").write_text("Ein Hund\tA dog\n", encoding="utf-8")
    assert list(open_bitext(str(tmp_path))["test"]) == [SentencePair("Ein Hund", "A dog")]
    monkeypatch.chdir(tmp_path)
    assert list(open_bitext("test.tsv")["test"]) == [SentencePair("Ein Hund", "A dog")]
    (tmp_path / "multi30k").mkdir()
    (tmp_path / "multi30k" / "test.tsv").write_text("Haus\thouse\n", encoding="utf-8")
    assert list(open_bitext("./multi30k")["test"]) == [SentencePair("Haus", "house")]
    for nothing in ("bilderbuhc", "", " "):
        with pytest.raises(AugenmerkError, match="There is no dataset, file or folder called"):
            open_bitext(nothing)


def test_options_that_nothing_takes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("Ein Hund\tA dog\n", encoding="utf-8")
    own = str(tmp_path / "own.tsv")
    with pytest.raises(AugenmerkError, match="multi30k takes no option 'pairs'"):
        open_bitext("multi30k", pairs=3)
    with pytest.raises(AugenmerkError, match="bilderbuch takes no option 'folder'"):
        open_bitext("bilderbuch", folder=tmp_path)
    with pytest.raises(AugenmerkError, match=r"own\.tsv takes no option 'seed'"):
        open_bitext(own, seed=3)
    said = fails_with_a_sentence("data", "prepare", own, "--out", tmp_path / "out", "--seed", 3)
    assert "own.tsv takes no option 'seed'; it is for bilderbuch" in said
