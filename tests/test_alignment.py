"""Links from attention, and their error against gold."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from augenmerk.alignment import AlignmentScore, attended_links, compare_links, over_words

links = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12).map(tuple)


def test_each_target_word_is_linked_to_what_it_attends_to_most() -> None:
    attention = [[0.1, 0.7, 0.2], [0.0, 0.0, 0.0], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]
    assert attended_links(attention) == ((0, 2), (0, 3), (1, 0))
    assert attended_links([]) == ()


def test_a_case_worked_out_by_hand() -> None:
    score = compare_links([(((0, 0), (1, 1), (2, 2)), ((0, 0), (1, 2), (2, 2), (3, 3)))])
    assert score == AlignmentScore(proposed=3, gold=4, both=2)
    assert score.precision == pytest.approx(2 / 3)
    assert score.recall == pytest.approx(1 / 2)
    assert score.error == pytest.approx(1 - (2 + 2) / (3 + 4))


@given(st.lists(st.tuples(links, links), max_size=5))
def test_error_is_between_nought_and_one_and_one_minus_f1(
    pairs: list[tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]],
) -> None:
    score = compare_links(pairs)
    assert 0 <= score.error <= 1
    if score.both:
        f1 = 2 * score.precision * score.recall / (score.precision + score.recall)
        assert score.error == pytest.approx(1 - f1)


@given(links)
def test_gold_has_no_error(gold: tuple[tuple[int, int], ...]) -> None:
    assert compare_links([(gold, gold)]).error == 0


def test_over_words_sums_sources_and_averages_targets() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.2], [0.25, 0.25, 0.25, 0.25]])
    # two source words of two and one tokens, then the end; one target word of two tokens, then the end
    merged = over_words(weights, target_word_of=[0, 0], source_word_of=[0, 0, 1])
    torch.testing.assert_close(merged, torch.tensor([[(0.3 + 0.6) / 2, (0.3 + 0.2) / 2]]))
    assert over_words(weights, [], []).shape == (0, 0)
