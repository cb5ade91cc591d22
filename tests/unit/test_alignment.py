"""Links from attention, links as text, and their error against gold."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augenmerk import AugenmerkError, SentencePair
from augenmerk.evaluation.agreement import read_gold
from augenmerk.translation.alignment import (
    AlignmentScore,
    GoldLinks,
    argmax_links,
    best_offset,
    compare_links,
    over_words,
    parse_pharaoh,
    shift_links,
)

Some = tuple[tuple[int, int], ...]
links = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12, unique=True).map(tuple)


def test_each_target_word_is_linked_to_what_it_attends_to_most() -> None:
    attention = [[0.1, 0.7, 0.2], [0.0, 0.0, 0.0], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]
    assert argmax_links(attention) == ((0, 2), (0, 3), (1, 0))
    assert argmax_links([]) == ()


def test_attention_that_lags_fits_one_word_earlier() -> None:
    row_by_row: Some = ((0, 0), (1, 1), (2, 2), (3, 3))  # of three target words and the end
    assert shift_links(row_by_row, 0, 3) == ((0, 0), (1, 1), (2, 2))
    assert shift_links(row_by_row, -1, 3) == ((1, 0), (2, 1), (3, 2))
    assert shift_links(row_by_row, 1, 3) == ((0, 1), (1, 2))
    # Row j looks at what target word j - 1 translates: the word that was just read.
    gold = GoldLinks.of([(0, 0), (1, 1), (2, 2)])
    lagging: Some = ((0, 1), (1, 2), (2, 3))
    by_offset = {offset: compare_links([(shift_links(lagging, offset, 3), gold)]) for offset in (-1, 0, 1)}
    assert best_offset(by_offset) == -1
    assert by_offset[-1].error == 0


def test_links_as_text_and_an_error_by_hand() -> None:
    # A = 4 links, S = 3, P = S and two more; A and S share 2, A and P share 3.
    gold = GoldLinks.of([(0, 0), (1, 2), (2, 2)], [(3, 3), (4, 4)])
    score = compare_links([(((0, 0), (1, 1), (2, 2), (3, 3)), gold)])
    assert score == AlignmentScore(proposed=4, sure=3, both_sure=2, both_possible=3)
    assert score.precision == pytest.approx(3 / 4)
    assert score.recall == pytest.approx(2 / 3)
    assert score.f1 == pytest.approx(2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3))
    assert score.error == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert GoldLinks.of([(0, 0), (1, 2)]).pharaoh == "0-0 1-2"
    assert GoldLinks.of([(0, 0)], [(10, 2), (0, 0)]).pharaoh == "0-0 10?2"


@given(st.lists(st.tuples(links, links, links), max_size=5))
def test_error_is_between_nought_and_one(pairs: list[tuple[Some, Some, Some]]) -> None:
    score = compare_links((ours, GoldLinks.of(sure, possible)) for ours, sure, possible in pairs)
    assert 0 <= score.error <= 1
    only_sure = compare_links((ours, GoldLinks.of(sure)) for ours, sure, _ in pairs)
    assert only_sure.error >= score.error  # what is merely possible is never held against a link
    assert only_sure.error == pytest.approx(1 - only_sure.f1) or not only_sure.both_sure


@given(links, links)
def test_all_sure_and_nothing_impossible_is_no_error(sure: Some, possible: Some) -> None:
    gold = GoldLinks.of(sure, possible)
    assert compare_links([(tuple(gold.possible), gold)]).error == 0


@given(links, links)
def test_pharaoh_is_read_back(sure: Some, possible: Some) -> None:
    gold = GoldLinks.of(sure, possible)
    assert parse_pharaoh(gold.pharaoh) == gold
    assert parse_pharaoh(gold.pharaoh.replace("?", "p")) == gold


@pytest.mark.parametrize("line", ["0:0", "0-", "a-b", "0-0-0", "-1-2", "0–1", "٠-١"])
def test_what_is_no_link_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="is not a link such as"):
        parse_pharaoh(line)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("0-0\n0-0\n", "more than 1 line of links, and 'test' has 1 sentence pair;"),
        ("0-0 x\n", ", line 1: 'x' is not a link"),
        ("0-0 2?1\n", ", line 1: the link 2-1 points outside"),
    ],
)
def test_a_gold_file_that_does_not_fit_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "test.align"
    path.write_text(content)
    with pytest.raises(AugenmerkError, match=complaint):
        read_gold(path, "test", [SentencePair("Ein Hund", "a dog")])


def test_over_words_sums_sources_and_averages_targets() -> None:
    rows = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.2], [0.25, 0.25, 0.25, 0.25]]
    weights = np.array(rows, np.float32)
    # two source words of two and one tokens, then the end; one target word of two tokens, then the end
    merged = over_words(weights, target_word_of=[0, 0], source_word_of=[0, 0, 1])
    np.testing.assert_allclose(merged, [[(0.3 + 0.6) / 2, (0.3 + 0.2) / 2]], rtol=1e-6)
    assert merged.dtype == np.float32
    assert over_words(weights, [], []).shape == (0, 0)
