"""The attention that makes a word likeliest, against scipy, closed forms and a decoder told where to look."""

import math
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize
from scipy.special import log_softmax

import augenmerk
from augenmerk import AugenmerkError, Translation
from augenmerk.analysis.wanted import (
    GAP_TOLERANCE,
    LEAD_TOLERANCE,
    Numbers,
    Wanted,
    WantedPosition,
    find_wanted,
    maximise,
)
from augenmerk.analysis.wording import describe_attention, describe_wanted
from augenmerk.base.config import RunConfig
from augenmerk.data import open_bitext
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import build_model
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK, TokenizerPair
from augenmerk.translation import Translator
from augenmerk.translation.translation import END
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.node import run_node
from tests.support.processes import ROOT
from tests.support.runs import SharedRuns, tiny

SENTENCE = "Ein Mann fährt mit dem Fahrrad durch den Park."
PAIRS = list(open_bitext("bilderbuch", pairs=40)["train"])


class Problem(NamedTuple):
    base: NDArray[np.float32]  # (V)
    contributions: NDArray[np.float32]  # (S, V)
    wanted: int

    def log_probability(self, weights: Numbers) -> Any:
        """That of the wanted word under weights (S), or under each of several (..., S)."""
        logits = self.base + weights @ self.contributions.astype(np.float64)
        return log_softmax(logits, axis=-1)[..., self.wanted]

    def lead(self, weights: Numbers) -> Any:
        """By how much the logit of the wanted word leads the largest of the others."""
        logits = self.base + weights @ self.contributions.astype(np.float64)
        return logits[..., self.wanted] - np.delete(logits, self.wanted, axis=-1).max(axis=-1)

    def solve(self) -> Wanted:
        return maximise(*self)


def draw_problem(seed: int, S: int, V: int, scale: float) -> Problem:
    rng = np.random.default_rng(seed)
    base, contributions = rng.normal(size=V), scale * rng.normal(size=(S, V))
    return Problem(base.astype(np.float32), contributions.astype(np.float32), int(rng.integers(V)))


PROBLEMS = [
    draw_problem(seed, S, V, scale)
    for seed, (S, V, scale) in enumerate(
        [(2, 5, 1.0), (3, 8, 3.0), (5, 40, 0.3), (6, 30, 5.0), (8, 100, 2.0), (12, 60, 8.0), (4, 3, 1.0)] * 2
    )
]


def find_with_slsqp(problem: Problem) -> float:
    """The greatest log-probability that a general solver finds from several places."""
    S = len(problem.contributions)
    rng = np.random.default_rng(1)
    found = [
        minimize(
            lambda weights: -problem.log_probability(weights),
            start,
            method="SLSQP",
            bounds=[(0, 1)] * S,
            constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
            options={"maxiter": 500, "ftol": 1e-12},
        )
        for start in (np.full(S, 1 / S), rng.dirichlet(np.ones(S)))
    ]
    points = [np.clip(one.x, 0, None) for one in found]
    return max(float(problem.log_probability(point / point.sum())) for point in points)


def find_with_linprog(problem: Problem) -> float:
    """The greatest lead: max v so that the wanted word leads each other one by v."""
    logits = problem.base + problem.contributions.astype(np.float64)
    leads = np.delete(logits[:, [problem.wanted]] - logits, problem.wanted, axis=1)
    S, others = leads.shape
    solution = linprog(
        [*[0] * S, -1],
        A_ub=np.hstack([-leads.T, np.ones((others, 1))]),
        b_ub=np.zeros(others),
        A_eq=[[*[1] * S, 0]],
        b_eq=[1],
        bounds=[(0, None)] * S + [(None, None)],
    )
    assert solution.success
    return -float(solution.fun)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_no_general_solver_finds_more(problem: Problem) -> None:
    found = problem.solve()
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights >= 0).all()
    assert found.log_probability == pytest.approx(problem.log_probability(found.weights), abs=1e-6)
    assert 0 <= found.gap <= GAP_TOLERANCE
    other = find_with_slsqp(problem)
    assert other == pytest.approx(found.log_probability, abs=1e-5)
    assert other <= found.log_probability + 1e-6


@pytest.mark.parametrize("problem", PROBLEMS)
def test_whether_a_word_can_win_is_what_a_linear_programme_says(problem: Problem) -> None:
    for wanted in range(min(8, len(problem.base))):
        one = problem._replace(wanted=wanted)
        greatest, found = find_with_linprog(one), one.solve()
        low, high = found.lead
        assert low - 1e-6 <= greatest <= high + 1e-6
        assert found.wins is (greatest > 0)
        if found.winning_weights is not None:
            assert one.lead(found.winning_weights) == pytest.approx(low, abs=1e-5)
            assert low > 0


def test_the_others_words_are_ranked_under_the_weights_that_were_found() -> None:
    for problem in PROBLEMS:
        found = problem.solve()
        logits = problem.base + found.weights @ problem.contributions
        expected = log_softmax(logits.astype(np.float64))
        others = expected.copy()
        others[problem.wanted] = -np.inf
        assert found.best == others.argmax()
        assert found.best_log_probability == pytest.approx(others.max(), abs=1e-5)


logits = st.floats(-20, 20, width=32)


@st.composite
def problems(draw: st.DrawFn, S: int | None = None) -> Problem:
    S, V = S or draw(st.integers(1, 5)), draw(st.integers(2, 8))
    rows = [draw(st.lists(logits, min_size=V, max_size=V)) for _ in range(S + 1)]
    base, *contributions = np.array(rows, np.float32)
    return Problem(base, np.array(contributions), draw(st.integers(0, V - 1)))


@given(problems(), st.integers(0, 2**32 - 1))
def test_no_attention_gives_more_than_the_bounds_allow(problem: Problem, seed: int) -> None:
    found, S = problem.solve(), len(problem.contributions)
    assert found.gap <= GAP_TOLERANCE
    rng = np.random.default_rng(seed)
    points = np.concat([np.eye(S), *(rng.dirichlet(np.full(S, spread), 100) for spread in (1, 0.1))])
    assert (problem.log_probability(points) <= found.log_probability + found.gap + 1e-9).all()
    assert (problem.lead(points) <= found.lead[1] + 1e-9).all()
    if found.wins is None:
        assert found.lead[0] <= 0 <= found.lead[1] <= found.lead[0] + LEAD_TOLERANCE
    else:
        assert found.wins is (found.winning_weights is not None)
        assert found.lead[0] > 0 if found.wins else found.lead[1] < 0
    if found.winning_weights is not None:
        assert problem.lead(found.winning_weights) > -1e-9


def make_game(a: float, b: float, c: float, d: float) -> Problem:
    """A wanted word and two others. With attention to the first of two positions it leads one by a and trails
    the other by b; with attention to the second it trails the one by c and leads the other by d."""
    contributions = np.array([[0, -a, b], [0, c, -d]], np.float32)
    return Problem(np.zeros(3, np.float32), contributions, 0)


@given(*[st.floats(0.125, 10, width=32)] * 4)
def test_two_positions_against_two_words_have_closed_forms(a: float, b: float, c: float, d: float) -> None:
    # For the leads m over the two words, the derivative is 0 where (a + c) exp(-m_1) = (b + d) exp(-m_2). The
    # leads are equal, and the smaller one is greatest, at alpha = (c + d) / total.
    total = a + b + c + d
    alpha = min(1.0, max(0.0, (math.log((a + c) / (b + d)) + c + d) / total))
    found = make_game(a, b, c, d).solve()
    m = alpha * a - (1 - alpha) * c, (1 - alpha) * d - alpha * b
    assert found.log_probability == pytest.approx(-math.log(1 + math.exp(-m[0]) + math.exp(-m[1])), abs=1e-8)
    assert found.weights[0] == pytest.approx(alpha, abs=1e-3)
    value = (a * d - b * c) / total
    assert found.lead[0] - 1e-9 <= value <= found.lead[1] + 1e-9
    if abs(value) > LEAD_TOLERANCE:
        assert found.wins is (value > 0)


def test_a_word_may_win_elsewhere_than_where_it_is_likeliest() -> None:
    problem = make_game(6.0, 0.3, 0.6, 0.2)
    found = problem.solve()
    assert problem.lead(found.weights) < -0.01
    assert found.wins
    assert found.winning_weights is not None
    # There it leads as much as it can: see the closed form above.
    assert found.winning_weights[0] == pytest.approx(0.8 / 7.1, abs=1e-4)
    assert problem.lead(found.winning_weights) == pytest.approx((1.2 - 0.18) / 7.1, abs=1e-5)
    assert problem.log_probability(found.winning_weights) < found.log_probability


def test_a_tie_under_every_attention_is_undecided() -> None:
    problem = draw_problem(3, 4, 20, 1.0)
    contributions, base = problem.contributions.copy(), problem.base.copy()
    base[7] += 100  # the likeliest by far, but for its twin
    contributions[:, 3], base[3] = contributions[:, 7], base[7]
    found = maximise(base, contributions, 3)
    assert found.wins is None
    assert found.winning_weights is None
    assert found.log_probability == pytest.approx(-math.log(2))


def test_what_no_search_chooses_need_not_be_beaten() -> None:
    problem = draw_problem(5, 4, 20, 0.5)
    base = problem.base.copy()
    base[[0, 1, 9]] = 20, 19, 10
    assert maximise(base, problem.contributions, 9).wins is False
    found = maximise(base, problem.contributions, 9, never=[0, 1])
    assert found.wins
    assert found.best not in (0, 1, 9)
    assert found.log_probability == maximise(base, problem.contributions, 9).log_probability < -8


def test_broken_logits_are_refused() -> None:
    problem = draw_problem(1, 3, 10, 1.0)
    for broken in (math.nan, math.inf):
        base = problem.base.copy()
        base[2] = broken
        with pytest.raises(ValueError, match="finite"):
            maximise(base, problem.contributions, 0)


# Real models


@cache
def untrained(attention: str, unit: str = "bpe", architecture: str = "gru") -> tuple[Translator, Any]:
    """A translator in numpy and its model in torch; its weights are far from flat, so that it matters where
    one looks."""
    config = RunConfig.model_validate(
        {
            "text": {"unit": unit, "vocabulary_size": 400},
            "model": {
                **{"architecture": architecture, "attention": attention, "embedding": 12, "hidden": 16},
                **{"key": 16, "heads": 4},
            },
            "search": {"max_length": 12},
        }
    )
    tokenizers = TokenizerPair.train(PAIRS, config.text)
    torch.manual_seed(3)
    model = build_model(config.model, tokenizers.source.size, tokenizers.target.size).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    return Translator([model.for_inference()], tokenizers, config), model


def read(translator: Translator, index: int = 0) -> Translation:
    return translator.score(PAIRS[index].source, PAIRS[index].target)


@torch.no_grad()
def told_where_to_look(
    translator: Translator, model: GRUTranslator, one: Translation, subwords: int, weights: NDArray[Any]
) -> Numbers:
    """Log-probabilities (n, V) after some subwords of a translation, if all heads have weights (n, S)."""
    [ids] = translator.tokenizers.source.encode_ids([one.source])
    source = model.encode(torch.tensor([[*ids, EOS]]), torch.ones(1, len(ids) + 1, dtype=torch.bool))
    assert one.hypothesis is not None
    g = model.states(torch.tensor([[BOS, *one.hypothesis.ids[:subwords]]]), source)[:, -1:]
    told = torch.tensor(weights, dtype=torch.float32).expand(1, model.config.attention_heads, -1, -1)
    context = model.attention.combine(told, source.memory)
    logits = model.output(torch.cat([context, g.expand(-1, len(weights), -1)], dim=-1))
    found: Numbers = logits.log_softmax(-1)[0].double().numpy()
    return found


@pytest.mark.parametrize("attention", ["mean", "scaled-dot", "additive", "multi-head"])
def test_figures_are_those_of_a_decoder_that_is_told_where_to_look(attention: str) -> None:
    translator, model = untrained(attention, unit="word")
    one = translator.translate(PAIRS[0].source, beam=1)
    assert one.hypothesis is not None
    rng = np.random.default_rng(0)
    said, tokens, wins = one.target_words[3], translator.tokenizers.target, set()
    for word in (said, "dog"):
        [wanted] = tokens.encode(word).ids
        places = find_wanted(translator, one, word)
        assert [place.word for place in places] == list(one.target_words)
        assert [place.position for place in places] == list(range(1, len(places) + 1))
        for place in places:  # words are tokens here, so words and tokens have the same attention
            others = rng.dirichlet(np.ones(len(place.attention)), 10)
            winning = [] if place.winning_attention is None else [place.winning_attention]
            told = told_where_to_look(
                translator, model, one, place.position - 1, np.stack([place.attention, *others, *winning])
            )
            p = np.exp(told[:, wanted])
            best_other = np.exp(np.delete(told, [PAD, BOS, UNK, wanted], axis=1).max(axis=1))
            assert place.greatest_probability == pytest.approx(p[0], rel=1e-4)
            assert place.best_other_probability == pytest.approx(best_other[0], rel=1e-4)
            assert (p <= place.greatest_probability * 1.0001).all()
            if winning:
                assert p[-1] > best_other[-1]
            else:
                assert (p < best_other).all()
            wins.add(place.wins)
        if word == said:
            assert places[3].is_said
            own = math.exp(one.word_log_probabilities[3])
            assert places[3].own_probability == pytest.approx(own, rel=1e-4)
    assert wins == {True, False}


def test_one_place_is_what_it_is_among_all() -> None:
    translator, _ = untrained("scaled-dot")
    one = read(translator)
    every = find_wanted(translator, one, "dog")
    [alone] = find_wanted(translator, one, "dog", at=4)
    assert alone.to_dict() == every[3].to_dict()
    assert every[-1].word == END


def test_the_attention_is_over_words_and_the_figures_are_of_the_first_subword() -> None:
    translator, model = untrained("scaled-dot")
    one = read(translator, 3)
    assert len(one.target_subwords) > len(one.target_words)
    tokens = translator.tokenizers.target
    [place] = find_wanted(translator, one, "photographer", at=2)
    assert place.subwords == tuple(map(tokens.token, tokens.encode("photographer").ids))
    assert len(place.subwords) > 1
    assert len(place.attention) == len(one.source_words) < len(one.source_subwords)
    assert place.attention.sum() == pytest.approx(1)
    before = len(tokens.encode(one.target_words[0]).ids)
    [own] = told_where_to_look(translator, model, one, before, one.subword_attention[[before]])
    assert place.own_probability == pytest.approx(
        math.exp(own[tokens.encode("photographer").ids[0]]), rel=1e-3
    )


def test_a_word_is_written_with_a_space_where_it_stands_after_one() -> None:
    translator, _ = untrained("scaled-dot")
    one = translator.score("Der Hund schläft.", "The dog (small) sleeps.")
    assert one.target_words[:4] == ("The", "dog", "(", "small")
    commas = find_wanted(translator, one, ",")
    assert commas[1].subwords == (",",)
    assert commas[0].subwords == ("▁", ",")
    dogs = find_wanted(translator, one, "dog")
    assert dogs[1].subwords[0].startswith("▁")
    assert not dogs[3].subwords[0].startswith("▁")  # after the bracket


def test_the_end_can_be_wanted() -> None:
    translator, _ = untrained("scaled-dot")
    one = read(translator)
    places = find_wanted(translator, one, END)
    assert [place.is_said for place in places] == [False] * (len(places) - 1) + [True]
    assert places[-1].own_probability == pytest.approx(math.exp(one.word_log_probabilities[-1]), rel=1e-4)


def test_what_was_cut_off_has_no_end_and_what_is_empty_no_places() -> None:
    translator, _ = untrained("scaled-dot")
    cut_off = translator.translate(PAIRS[0].source, max_length=3, beam=1)
    assert not cut_off.finished
    assert [place.word for place in find_wanted(translator, cut_off, "dog")] == list(cut_off.target_words)
    assert find_wanted(translator, Translation(source="", text=""), "dog") == []


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [("ice cream", "'ice cream' is 2 words"), ("", "'' is 0 words"), ("quark", "not in the vocabulary")],
)
def test_what_is_no_word_or_unknown_is_refused(wanted: str, complaint: str) -> None:
    translator, _ = untrained("scaled-dot", unit="word")
    with pytest.raises(AugenmerkError, match=complaint):
        find_wanted(translator, read(translator), wanted)


def test_models_of_which_it_cannot_be_told_are_refused() -> None:
    transformer, _ = untrained("multi-head", architecture="transformer")
    nothing, _ = untrained("none")
    one, model = untrained("scaled-dot")
    in_torch = Translator([model], one.tokenizers, one.config)
    ensemble = Translator([*one.models, *one.models], one.tokenizers, one.config)
    for translator, complaint in (
        (transformer, "architecture 'transformer'"),
        (nothing, "attends to nothing"),
        (in_torch, "computes with torch on cpu"),
        (ensemble, "as an ensemble"),
    ):
        with pytest.raises(AugenmerkError, match=complaint):
            find_wanted(translator, read(one), "dog")


# In words


def make_place(position: int, **changes: Any) -> WantedPosition:
    place = WantedPosition(
        position=position,
        word="man",
        is_said=False,
        subwords=("▁dog",),
        own_probability=0.01,
        greatest_probability=0.2,
        gap=0.0,
        attention=np.array([0.7, 0.3]),
        best_other="▁man",
        best_other_probability=0.5,
        wins=False,
        winning_attention=None,
    )
    return place._replace(**changes)


def test_findings_in_words() -> None:
    translator, _ = untrained("scaled-dot", unit="word")
    one = translator.score("Hund", "dog")
    assert one.source_words == ("Hund", END)
    wins = {"wins": True, "winning_attention": np.array([0.7, 0.3]), "greatest_probability": 0.6}
    places = [make_place(1), make_place(2, greatest_probability=0.3)]
    assert describe_wanted("dog", one, places) == (
        "At 0 of 2 positions, some attention makes 'dog' the likeliest. It gets most probable at 2 "
        "('man'): 0.3 instead of 0.01."
    )
    assert describe_wanted("dog", one, [*places, make_place(3, **wins), make_place(4, is_said=True)]) == (
        "At 1 of 3 positions, some attention makes 'dog' the likeliest. It gets most "
        "probable at 3 ('man') looking at 'Hund' 70%, '</s>' 30%: 0.6 instead of 0.01."
    )
    assert "At 2 of 2 positions" in describe_wanted(
        "dog", one, [make_place(1, **wins), make_place(2, **wins)]
    )
    assert describe_wanted("dog", one, [make_place(1), make_place(2, wins=None)]) == (
        "At 0 of 1 positions, some attention makes 'dog' the likeliest. It gets most probable at 1 ('man'): "
        "0.2 instead of 0.01. Undecided at 2: there it is as likely as another, to rounding."
    )
    assert "attention makes" not in describe_wanted("dog", one, [make_place(2, wins=None)])
    assert describe_wanted("dog", one, [make_place(1, is_said=True)]) == "Here the translation has 'dog'."
    said = make_place(1, is_said=True, subwords=("▁dog", "ged"))
    assert describe_wanted("dogged", one, [said]) == (
        "Here the translation has '▁dog', with which 'dogged' begins."
    )
    assert describe_wanted("dog", one, []) == ""


def test_little_attention_is_not_named() -> None:
    words = ["a", "b", "c", "d", "e"]
    assert describe_attention(words, np.array([0.04, 0.5, 0.2, 0.16, 0.1])) == "'b' 50%, 'c' 20%, 'd' 16%"
    assert describe_attention(words, np.array([0.97, 0.03, 0, 0, 0])) == "'a' 97%"


# The command


def test_the_command_with_the_model_that_ships() -> None:
    found = run_json("faithfulness", "--wanted", "bike", SENTENCE)
    assert found["wanted"] == "bike"
    [one] = found["sentences"]
    translation = augenmerk.load().translate(SENTENCE)
    assert (one["source"], one["translation"]) == (SENTENCE, translation.text)
    assert one["target_words"] == [place["word"] for place in one["places"]] == list(translation.target_words)
    for place in one["places"]:
        assert place["subwords"] == ["▁bike"]
        assert sum(place["attention"]) == pytest.approx(1, abs=1e-4)
        assert place["own_probability"] <= place["greatest_probability"] * 1.0001
        assert (place["winning_attention"] is not None) is place["wins"]
    # The model knows two words for a bicycle, so some attention makes it say the other one.
    place = one["places"][one["target_words"].index("bicycle")]
    assert place["wins"]
    assert place["best_other"] == "▁bicycle"
    assert place["own_probability"] < place["greatest_probability"]
    shown = run_command("faithfulness", "--wanted", "bike", SENTENCE).out
    assert one["in_words"] in shown
    for word in translation.target_words:
        assert word in shown
    assert "several subwords" not in shown
    assert ("yes, elsewhere" in shown) is any(place["wins_elsewhere"] for place in one["places"])


def test_what_the_page_shows_is_what_the_command_shows() -> None:
    page = (ROOT / "docs" / "guides" / "looking.md").read_text(encoding="utf-8")
    [shown] = re.findall(
        r"^```console\n\$ augenmerk (faithfulness .*?)\n(.*?)^```", page, re.DOTALL | re.MULTILINE
    )
    command, expected = shown
    assert run_command(*shlex.split(command)).out == expected


def test_a_word_that_no_attention_makes_likely() -> None:
    [one] = run_json("faithfulness", "--wanted", "snowboarding", SENTENCE)["sentences"]
    assert not any(place["wins"] for place in one["places"])
    shown = run_command("faithfulness", "--wanted", "snowboarding", SENTENCE).out
    assert "some attention makes '▁snowboard', with which 'snowboarding' begins, the likeliest." in shown
    assert "'snowboarding' is several subwords, ▁snowboard ing: all numbers are those of the first" in shown


def test_the_command_with_a_run_of_ones_own(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(model__attention="multi-head"), tmp_path / "run").path
    sentences = ("Der Hund schläft.", "Die Frau lacht.")
    every = run_json("faithfulness", run, "--wanted", "dog", *sentences)
    assert [one["source"] for one in every["sentences"]] == list(sentences)
    alone = run_json("faithfulness", run, "--wanted", "dog", "--at", "1", "--beam", "1", sentences[0])
    assert [place["position"] for place in alone["sentences"][0]["places"]] == [1]
    assert (
        "All heads get the same attention"
        in run_command("faithfulness", run, "--wanted", "dog", *sentences).out
    )
    assert "the end included" in fails_with_a_sentence(
        "faithfulness", run, "--wanted", "dog", "--at", "99", sentences[0]
    )
    assert "not in the vocabulary" in fails_with_a_sentence(
        "faithfulness", run, "--wanted", "quark", sentences[0]
    )


@pytest.mark.parametrize(
    "option",
    [
        ("--split", "val"),
        ("--index", "1"),
        ("--top", "2"),
        ("--out", "pictures"),
        ("--reference",),
        ("--outline",),
    ],
)
def test_options_without_meaning_are_refused(option: tuple[str, ...]) -> None:
    refused = fails_with_a_sentence("faithfulness", "--wanted", "dog", *option, SENTENCE)
    assert f"leave out {option[0]}" in refused


def test_a_wanted_word_needs_a_sentence_and_a_place_needs_a_wanted_word() -> None:
    assert "give one, in quotation marks" in fails_with_a_sentence("faithfulness", "--wanted", "dog")
    assert "add --wanted" in fails_with_a_sentence("faithfulness", "--at", "2", SENTENCE)


# The same in JavaScript


def test_javascript_finds_what_python_finds() -> None:
    problems = [*PROBLEMS, make_game(6.0, 0.3, 0.6, 0.2), draw_problem(50, 1, 7, 1.0), *real_problems()]
    with run_node("engine.mjs") as node:
        for problem in problems:
            for left_out in [[]] if len(problem.base) < 5 else [[], [0, 1]]:
                numbers = [problem.base.tolist(), problem.contributions.tolist(), problem.wanted, left_out]
                found = node.ask("maximise", numbers)
                expected = maximise(*problem, left_out)
                assert found["log_probability"] == pytest.approx(expected.log_probability, abs=1e-8)
                assert found["gap"] <= GAP_TOLERANCE
                assert found["weights"] == pytest.approx(expected.weights.tolist(), abs=1e-4)
                assert found["best"] == expected.best
                assert found["best_log_probability"] == pytest.approx(expected.best_log_probability, abs=1e-4)
                assert found["wins"] is expected.wins
                assert (found["winning_weights"] is None) is (expected.winning_weights is None)
                if expected.winning_weights is not None:
                    lead = problem.lead(np.array(found["winning_weights"]))
                    assert lead == pytest.approx(problem.lead(expected.winning_weights), abs=1e-4)


def real_problems() -> list[Problem]:
    """Positions of the model that ships, at which a word wins, wins elsewhere and does not win."""
    from augenmerk.analysis.wanted import _split_logits
    from augenmerk.inference.gru import GRUTranslator as InNumpy

    translator = augenmerk.load()
    model = translator.model
    assert isinstance(model, InNumpy)
    ids = translator.tokenizers.target.encode("A man is riding a bicycle through the park.").ids
    source = translator.tokenizers.source.encode(SENTENCE).ids
    base, contributions, _ = _split_logits(model, [*source, EOS], [BOS, *ids])
    bike = translator.tokenizers.target.encode("bike").ids[0]
    return [Problem(base[j], contributions, bike) for j in (0, 1, 5, 6)]
