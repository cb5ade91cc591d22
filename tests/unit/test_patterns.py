"""Measures against closed forms and scipy, words that moved, and kinds by rule."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from augenmerk import AugenmerkError, SentencePair, Translation
from augenmerk.analysis.measures import (
    WordAttention,
    compute_entropies,
    compute_expected_positions,
    compute_kendall_tau,
    compute_measures,
    find_moved_words,
)
from augenmerk.analysis.pages import render_patterns_page
from augenmerk.analysis.patterns import (
    KINDS,
    Pattern,
    PatternMatch,
    classify_attention,
    find_patterns,
    has_inversion,
    select_strongest,
    summarise_patterns,
)

Floats = NDArray[np.float64]


def words(count: int) -> list[str]:
    return [f"w{number}" for number in range(count)]


def attended(weights: Floats) -> WordAttention:
    """With nothing on the end of the source, and words that are no marks."""
    T, S = weights.shape
    return WordAttention(words(S), words(T), np.hstack([weights, np.zeros((T, 1))]))


def linked(source: str, target: str, places: Sequence[int], weight: float = 1.0) -> WordAttention:
    """Target word j looks at source word places[j] with this weight; the rest is on the end."""
    here, there = source.split(), target.split()
    weights = np.zeros((len(there), len(here) + 1))
    weights[np.arange(len(there)), list(places)] = weight
    weights[:, -1] = 1 - weight
    return WordAttention(here, there, weights)


@st.composite
def maps(draw: st.DrawFn) -> WordAttention:
    T, S = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    seed, power = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.0, 1.0, 8.0, 60.0]))
    weights = np.random.default_rng(seed).random((T, S + 1)) ** power
    return WordAttention(words(S), words(T), weights / weights.sum(axis=1, keepdims=True))


# Closed forms


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_a_perfect_diagonal(n: int) -> None:
    found = compute_measures(attended(np.eye(n)))
    assert found.entropy == found.entropy_normalised == found.crossing_rate == 0
    assert found.sharpness == found.coverage == found.diagonal == found.longest_run == 1
    assert found.monotonicity == (1 if n > 1 else 0)  # one word has no order
    assert (found.best_offset, found.offset_gain) == (0, 0)
    assert found.end_mass == found.punctuation_mass == 0


@pytest.mark.parametrize("n", [2, 5, 40])
def test_the_other_diagonal(n: int) -> None:
    found = compute_measures(attended(np.eye(n)[::-1].copy()))
    assert found.monotonicity == -1
    assert found.crossing_rate == 1
    assert found.coverage == found.sharpness == 1
    # Row j lies on n - 1 - j: within one of j where |n - 1 - 2j| <= 1.
    assert found.diagonal == pytest.approx(sum(abs(n - 1 - 2 * j) <= 1 for j in range(n)) / n)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 4), (7, 30)])
def test_uniform_attention(rows: int, columns: int) -> None:
    weights = np.full((rows, columns + 1), 1 / (columns + 1))
    found = compute_measures(WordAttention(words(columns), words(rows), weights))
    assert found.entropy == pytest.approx(math.log(columns + 1))
    assert found.entropy_normalised == pytest.approx(1)
    assert found.sharpness == pytest.approx(1 / (columns + 1))
    assert found.end_mass == pytest.approx(1 / (columns + 1))
    assert found.coverage == pytest.approx(min(1, rows / (columns + 1)))
    assert found.monotonicity == 0  # it stands still
    assert found.crossing_rate == 0  # nothing is clear enough to cross


def a_word_over(n: int, shift: int) -> Floats:
    """With shift 1, row j is what row j - 1 should be: the attention lags, and fits one word earlier."""
    return np.eye(n)[np.clip(np.arange(n) - shift, 0, n - 1)]


@pytest.mark.parametrize(("shift", "offset"), [(-1, 1), (1, -1)])
def test_a_diagonal_a_word_over(shift: int, offset: int) -> None:
    found = compute_measures(attended(a_word_over(9, shift)))
    assert (found.best_offset, found.offset_gain) == (offset, 1)


def test_where_only_the_second_half_is_a_word_over_nothing_is_shifted() -> None:
    weights = np.eye(10)
    weights[5:] = np.roll(weights[5:], 1, axis=1)  # as after a word that was left out
    found = compute_measures(attended(weights))
    assert (found.best_offset, found.offset_gain) == (0, 0)


def test_weight_on_marks_and_on_the_end_is_that_of_words() -> None:
    weights = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]])  # columns: a word, a full stop, the end
    found = compute_measures(WordAttention(["Hund", "."], ["dog", "."], weights))
    assert found.punctuation_mass == pytest.approx(0.5)  # the full stop may look at the full stop
    assert found.end_mass == pytest.approx(0.3)


# Against scipy


@given(maps())
def test_entropy_is_scipys(one: WordAttention) -> None:
    expected = scipy.stats.entropy(one.weights, axis=1)
    np.testing.assert_allclose(compute_entropies(one.weights), expected, atol=1e-12)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_tau_is_scipys(positions: list[int]) -> None:
    theirs = scipy.stats.kendalltau(range(len(positions)), positions).statistic if len(positions) > 1 else 0
    assert compute_kendall_tau(np.array(positions, dtype=np.float64)) == pytest.approx(
        0 if math.isnan(theirs) else theirs
    )


@given(maps())
def test_measures_are_within_their_bounds(one: WordAttention) -> None:
    found = compute_measures(one)
    for name in ("entropy_normalised", "sharpness", "coverage", "crossing_rate", "diagonal", "end_mass"):
        assert -1e-9 <= getattr(found, name) <= 1 + 1e-9, name
    assert -1 <= found.monotonicity <= 1
    assert 0 <= found.longest_run <= len(one.target)
    assert found.offset_gain >= 0
    positions = compute_expected_positions(one.words)
    assert ((positions >= -1e-9) & (positions <= len(one.source) - 1 + 1e-9)).all()


@given(maps())
def test_reading_the_target_backwards_turns_tau_round(one: WordAttention) -> None:
    turned = WordAttention(one.source, one.target, one.weights[::-1].copy())
    assert compute_measures(turned).monotonicity == pytest.approx(-compute_measures(one).monotonicity)


# Words that moved


def test_a_verb_brought_forward_from_the_end() -> None:
    one = linked(
        "Der Mann hat gestern den kleinen Ball geschlagen .",
        "The man hit the small ball yesterday .",
        [0, 1, 7, 4, 5, 6, 3, 8],
    )
    hit, yesterday = find_moved_words(one)
    assert (hit.links, hit.places, hit.earlier, hit.closes_clause) == (((7, 2),), 5, True, True)
    assert (yesterday.links, yesterday.places, yesterday.earlier) == (((3, 6),), 3, False)
    pattern = classify_attention(one, "de")
    assert pattern.kind == "inversion"
    assert pattern.verdict == (
        "'geschlagen' at the end of the German clause is attended to by 'hit', 5 places earlier; "
        "'gestern' is attended to by 'yesterday', 3 places later."
    )


def test_words_that_stand_together_move_together() -> None:
    target = "The boy is throwing the red ball ."
    one = linked("Den roten Ball wirft der Junge .", target, [4, 5, 3, 3, 0, 1, 2, 6])
    subject, verb = find_moved_words(one)
    assert (subject.source, subject.target, subject.places, subject.earlier) == ((4, 5), (0, 1), 4, True)
    assert (verb.source, verb.target, verb.places, verb.earlier) == ((3,), (2, 3), 3, True)


def test_neighbours_and_what_is_unclear_do_not_move() -> None:
    one = linked("er schläft nicht .", "he not sleeps .", [0, 2, 1, 3])
    assert [moved.places for moved in find_moved_words(one)] == [1]
    assert classify_attention(one, "de").kind == "monotone"
    assert find_moved_words(linked("a b c d", "d a b c", [3, 0, 1, 2], weight=0.3)) == []
    assert find_moved_words(linked("a b c ,", ", a b c", [3, 0, 1, 2])) == []


@given(maps())
def test_what_stays_never_goes_back(one: WordAttention) -> None:
    links = one.find_clear_links()
    moved = find_moved_words(one)
    gone = {link for each in moved for link in each.links}
    stayed = [t for t, j, _ in links if (t, j) not in gone]
    assert stayed == sorted(stayed)
    assert all(each.places >= 1 for each in moved)
    assert len(gone) == sum(len(each.links) for each in moved)
    assert bool(moved) == (compute_measures(one).crossing_rate > 0)
    assert [each.places for each in moved] == sorted((each.places for each in moved), reverse=True)


# Kinds


def test_every_kind_has_its_rule_and_its_sentence() -> None:
    repeated = linked("Der Hund schläft", "the dog the dog the dog", [0, 1, 1, 1, 1, 1])
    stuck = classify_attention(repeated, "de")
    assert (stuck.kind, stuck.strength) == ("stuck", 5)
    assert stuck.verdict == "'Hund' is attended to by 5 words in a row, 'dog the dog the dog'."
    spread = classify_attention(attended(np.full((4, 6), 1 / 6)), "de")
    assert spread.kind == "spread"
    assert "6 source words" in spread.verdict
    lagging = classify_attention(attended(a_word_over(9, 1)), "de")
    assert lagging.kind == "shifted"
    assert lagging.verdict.startswith("The attention lags by a word")
    ahead = classify_attention(attended(a_word_over(9, -1)), "de")
    assert ahead.verdict.startswith("The attention is ahead by a word")
    monotone = classify_attention(attended(np.eye(4)), "de")
    assert monotone.kind == "monotone"
    assert (
        monotone.verdict == "The attention goes through the German sentence from left to right, and never "
        "turns back."
    )
    assert "the source sentence" in classify_attention(attended(np.eye(4)), "tlh").verdict
    weights = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]])
    attention = WordAttention(("Hallo", "!"), ("hello", "!"), weights)
    assert compute_measures(attention).entropy_normalised > 0.4
    assert classify_attention(attention, "de").kind == "monotone"


@given(maps())
def test_everything_is_of_some_kind(one: WordAttention) -> None:
    pattern = classify_attention(one, "de")
    assert pattern.kind in KINDS
    assert pattern.verdict.endswith(".")
    assert math.isfinite(pattern.strength)


# A split


def make_match(index: int, pattern: Pattern, pair: SentencePair | None = None) -> PatternMatch:
    pair = pair or SentencePair("a b c", "x y z")
    return PatternMatch(index, pair, Translation(source=pair.source, text=pair.target), pattern)


def test_the_strongest_of_a_kind_or_of_every_kind_in_turn() -> None:
    monotone = classify_attention(attended(np.eye(4)), "de")
    spread = classify_attention(attended(np.full((4, 6), 1 / 6)), "de")
    matches = [make_match(i, replace(monotone, strength=i)) for i in range(5)]
    matches += [make_match(5 + i, replace(spread, strength=i)) for i in range(2)]
    assert [one.index for one in select_strongest(matches, "monotone", 3)] == [4, 3, 2]
    assert [one.index for one in select_strongest(matches, None, 3)] == [4, 3, 6]
    assert [one.index for one in select_strongest(matches, None, 99)] == [4, 3, 2, 1, 0, 6, 5]
    assert select_strongest(matches, "stuck", 3) == []


def test_inversions_are_held_against_gold() -> None:
    crossing = classify_attention(linked("a b c d", "d a b c", [3, 0, 1, 2]), "de")
    straight = classify_attention(attended(np.eye(4)), "de")
    moved = SentencePair("a b c d", "d a b c", ((0, 1), (1, 2), (2, 3), (3, 0)), ("perfect",))
    kept = SentencePair("a b c d", "a b c d", ((0, 0), (1, 1), (2, 2), (3, 3)))
    matches = [
        make_match(0, crossing, moved),
        make_match(1, straight, moved),
        make_match(2, crossing, kept),
        make_match(3, straight, kept),
    ]
    pairs = [one.pair for one in matches]
    summary = summarise_patterns(pairs, matches, of_references=True)
    assert summary["kinds"] == {"monotone": 2, "inversion": 2, "spread": 0, "stuck": 0, "shifted": 0}
    assert summary["agreement"] == {
        **{"sentences": 4, "gold_inversions": 2, "found": 2, "precision": 0.5, "recall": 0.5},
        **{"accuracy": 0.5, "moved_links_in_gold": 0.5},
    }
    assert summary["tags"]["perfect"] == {"sentences": 2, "inversion": 0.5, "gold_inversion": 1}
    assert "agreement" not in summarise_patterns(pairs, matches, of_references=False)
    assert has_inversion(((0, 2), (2, 0)))
    assert not has_inversion(((0, 1), (1, 0)))  # neighbours
    assert not has_inversion(((0, 0), (2, 0), (2, 2)))


def test_what_has_no_words_is_of_no_kind() -> None:
    pair = SentencePair("a", "x")
    assert find_patterns([pair], [Translation(source="a", text="")], "de") == []
    summary = summarise_patterns([pair], [], of_references=False)
    assert summary["without_words"] == 1
    assert summary["measures"] == {}
    page = render_patterns_page("title", "intro", [], [], summary, [])
    assert 'class="card"' not in page
    with pytest.raises(ValueError, match="zip"):
        find_patterns([SentencePair("a", "x")], [], "de")


def test_a_model_that_attends_to_nothing_is_refused() -> None:
    class Blank(Translation):
        source_words = ("a", "</s>")
        target_words = ("x", "</s>")

    blank = Blank(source="a", text="x")
    blank.__dict__["attention"] = np.zeros((2, 2), np.float32)
    with pytest.raises(AugenmerkError, match="attends to nothing"):
        find_patterns([SentencePair("a", "x")], [blank], "de")
