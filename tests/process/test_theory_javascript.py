"""The theory pages' numbers, formulas and texts, in Node: they are Python's."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.special import ndtr
from scipy.stats import kstest

import augenmerk.web
from augenmerk.theory import closed_form, self_attention
from augenmerk.theory.attention import Array, attend, orthonormal
from augenmerk.theory.copying import leak_bound, reach, strength_needed, tied_weight
from augenmerk.theory.exercises import EXERCISES
from augenmerk.theory.noise import KeyNoise, resample
from augenmerk.theory.results import MISTAKES, plane_values
from tests.support.node import Node, run_node
from tests.support.theory import output_moments

WEB = Path(augenmerk.web.__file__).parent
QUESTIONS = [exercise for exercise in EXERCISES.values() if exercise.german]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with run_node("theory.mjs") as node:
        yield node


def assert_near(found: Any, expected: Any, atol: float = 1e-10) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def test_weights_and_outputs(node: Node) -> None:
    rng = np.random.default_rng(1)
    for number in range(60):
        m, d = int(rng.integers(1, 12)), int(rng.integers(1, 7))
        query, keys = 10.0 ** rng.uniform(-2, 3) * rng.standard_normal(d), rng.standard_normal((m, d))
        values, scale = rng.standard_normal((m, 2)), [1 / math.sqrt(d), 1.0, 0.25][number % 3]
        found = node.ask("get", ["attend", query.tolist(), keys.tolist(), values.tolist(), scale])
        expected = attend(query, keys, values, scale)
        assert_near(found["weights"], expected.weights)
        assert_near(found["output"], expected.output)
    assert node.ask("get", ["softmax", [1e308, -1e308, 1e308]]) == [0.5, 0, 0.5]


def test_hulls_are_those_of_a_library(node: Node) -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        cloud = rng.standard_normal((int(rng.integers(3, 12)), 2))
        corners = node.ask("get", ["convexHull", cloud.tolist()])
        expected = cloud[ConvexHull(cloud).vertices].tolist()  # counterclockwise as well, from any corner
        start = expected.index(corners[0])
        assert corners == expected[start:] + expected[:start]
    # Points on an edge, and points that are there twice, are no corners.
    square = [[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0], [1, 1]]
    assert len(node.ask("get", ["convexHull", square])) == 4


def test_what_a_query_can_copy(node: Node) -> None:
    rng = np.random.default_rng(3)
    possible = 0
    for _ in range(120):
        keys = rng.standard_normal((int(rng.integers(3, 10)), 2))
        found, expected = node.ask("get", ["reach", keys.tolist(), 0]), reach(keys, [0])
        weights = np.array(found["hullWeights"])
        assert (found["query"] is not None) == expected.possible
        if expected.query is not None:
            possible += 1
            assert_near(found["query"], expected.query, 1e-9)
            assert_near(found["margin"], expected.margin, 1e-9)
            assert_near(weights, expected.hull_weights, 1e-8)
            assert found["ceiling"] == 1
        else:  # of several combinations, the page takes three keys that share most evenly
            assert_near(weights @ keys, keys[0], 1e-9)
            assert_near(weights.sum(), 1)
            assert weights.min() >= 0
            assert weights[0] == 0
            assert_near(found["ceiling"], weights.max() / (1 + weights.max()))
            queries = 50 * rng.standard_normal((2000, 1)) * rng.standard_normal((2000, 2))
            assert attend(queries, keys, keys).weights[:, 0].max() <= found["ceiling"] + 1e-9
    assert 20 < possible < 110


@pytest.mark.parametrize(
    ("keys", "ceiling"),
    [
        ([[0, 0], [0, 0], [0, 0]], 0.5),  # all the same: even the largest weight is shared
        ([[0, 0], [1, 0], [-1, 0]], 1 / 3),  # between two others
        ([[0, 0], [0, 0], [1, 2]], 0.5),  # twice
        ([[0, 0], [1, 0], [2, 0]], 1.0),  # at the end of a line
    ],
)
def test_keys_on_a_line_or_at_one_point(node: Node, keys: list[list[float]], ceiling: float) -> None:
    found = node.ask("get", ["reach", keys, 0])
    assert found["ceiling"] == pytest.approx(ceiling)
    assert (found["query"] is not None) == reach(np.array(keys, float), [0]).possible == (ceiling == 1)


def test_bounds_and_values(node: Node) -> None:
    for m, n, s in ((8, 1, 3.0), (8, 2, 5.5), (3, 2, 0.1), (200, 2, 40.0)):
        found = [
            node.ask("get", call)
            for call in (["leakBound", m, n, s], ["strengthNeeded", m, n, 0.01], ["tiedWeight", m, n, s])
        ]
        expected = [leak_bound(m, n, s), strength_needed(m, n, 0.01), tied_weight(m, n, s)]
        assert found == pytest.approx(expected, rel=1e-12)
    for count in (2, 3, 8, 32):
        assert_near(node.ask("get", ["planeValues", count]), plane_values(count))


@pytest.mark.parametrize("origin", ["means", "keys"])
@pytest.mark.parametrize(
    ("strengths", "betas"),
    [
        ([[10.0, 10.0]], (0.1, 0.1)),
        ([[12.0, 7.5]], (0.3, 0.3)),
        ([[20.0, 0.0], [0.0, 20.0]], (0.1, 0.1)),
        ([[22.0, 14.0], [-3.0, 20.0]], (0.5, 0.0)),
        ([[0.0, 0.0]], (0.1, 0.1)),
    ],
)
def test_closed_forms(
    node: Node, strengths: list[list[float]], betas: tuple[float, float], origin: closed_form.Origin
) -> None:
    values = plane_values(8)
    mean, covariance = output_moments(values, np.array(strengths), betas, origin)
    found = node.ask("get", ["outputMoments", values.tolist(), strengths, betas, origin])
    assert_near(found["mean"], mean)
    assert_near(found["covariance"], [covariance[0, 0], covariance[0, 1], covariance[1, 1]])


@pytest.mark.parametrize("origin", ["means", "keys"])
@pytest.mark.parametrize(("keys", "s", "beta"), [(8, 10.0, 0.1), (3, 4.0, 0.5), (5, 20.0, 0.01)])
def test_moments_of_outputs_contain_those_of_weights(
    keys: int, s: float, beta: float, origin: closed_form.Origin
) -> None:
    """With the unit vectors as values, an output is its weights."""
    mean, covariance = output_moments(np.eye(keys), np.array([[s, s]]), (beta, beta), origin)
    expected = closed_form.weight_of_first(keys, s, beta, origin)
    assert_near(mean[:2], [expected.mean] * 2, 1e-9)
    assert_near(math.sqrt(covariance[0, 0]), expected.deviation, 1e-9)
    assert mean.sum() == pytest.approx(1)
    assert_near(covariance.sum(axis=0), 0, 1e-12)
    mean, covariance = output_moments(np.eye(keys), np.diag([s, s]), (beta, beta), origin)
    expected = closed_form.head_per_value_weight(keys, s, beta, 2, origin)
    assert_near(mean[0], expected.mean, 1e-9)
    assert_near(math.sqrt(covariance[0, 0]), expected.deviation, 1e-9)


def test_the_chance_that_a_head_breaks(node: Node) -> None:
    x = np.concatenate([np.linspace(-9, 9, 181), [-3.0000001, -2.9999999, -30.0, 40.0]])
    np.testing.assert_allclose(
        node.ask("call", {"name": "ndtr", "cases": x[:, None].tolist()}), ndtr(x), rtol=1e-11
    )
    for each in ((8, 20.0, 0.1, 0.05), (64, 5.0, 0.5, 0.05), (8, 20.0, 0.0, 0.05), (3, 2.0, 0.01, 0.01)):
        expected = closed_form.head_breaks(*each)
        assert node.ask("get", ["headBreaks", *each]) == pytest.approx(expected, rel=1e-10)
    never = closed_form.head_breaks(2, math.inf, 0.1, 0.5)
    assert node.ask("get", ["headBreaks", 2, 1e308, 0.1, 0.5]) == pytest.approx(never, rel=1e-10)


@pytest.mark.parametrize("origin", ["means", "keys", "lengths"])
def test_outputs_of_drawn_keys(node: Node, origin: str) -> None:
    """A query in the plane of two means sees of keys in any dimension only their projections onto it."""
    rng = np.random.default_rng(5)
    m, d, count, values = 6, 20, 50, plane_values(6)
    means = orthonormal(m, d, rng)
    plane = means[:2]
    lambdas, keys = KeyNoise.of_first(m, 0.5, 0.01).sample(means, count, rng)
    heads = np.array([[9.0, 4.0], [-1.0, 7.0]])
    # Of the keys in a query, the page does not see the noise across the plane.
    parts = {
        "means": np.broadcast_to(plane, (count, 2, d)),
        "keys": keys[:, :2] @ plane.T @ plane,
        "lengths": plane / lambdas[:, :2, None],
    }[origin]
    expected = attend(np.einsum("hp,npd->nhd", heads, parts), keys[:, None], values, 1.0).output.mean(axis=1)
    found = node.ask(
        "attendToKeys",
        [
            *(lambdas.ravel().tolist(), (keys @ plane.T).ravel().tolist(), m),
            *(heads.tolist(), values.tolist(), 1, origin),
        ],
    )
    assert_near(np.reshape(found, (count, 2)), expected, 1e-9)


def test_random_numbers_are_normal_and_follow_their_seed(node: Node) -> None:
    first, again, other = (np.array(node.ask("normal", seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert kstest(first, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.03
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.03


@pytest.mark.parametrize("heads", [[[8.0, 8.0]], [[8.0, 0.0], [0.0, 8.0]]])
def test_clouds_scatter_as_the_closed_form_and_python_say(node: Node, heads: list[list[float]]) -> None:
    values, count, means = plane_values(8), 6000, orthonormal(8, 8, np.random.default_rng(4))
    found = node.ask("cloud", [values.tolist(), heads, count])

    def queries(means: Array, keys: Array) -> Array:
        return np.broadcast_to(np.array(heads) @ means[:2], (len(keys), len(heads), 8))

    drawn = resample(means, KeyNoise.of_norms(8, 0.4), queries, count, np.random.default_rng(5), 1.0)
    outputs = drawn.outputs(values)
    mean, covariance = output_moments(values, np.array(heads), (0.4, 0.4))
    for own in (found["mean"], outputs.mean(axis=0)):
        assert (np.abs(own - mean) < 5 * np.sqrt(np.diag(covariance) / count) + 1e-4).all()
    for own in (found["covariance"], np.cov(outputs.T)[np.triu_indices(2)]):
        np.testing.assert_allclose(own, covariance[np.triu_indices(2)], rtol=0.15, atol=0.01)
    expected = np.linalg.norm(outputs, axis=1)
    assert abs(found["distance"] - expected.mean()) < 7 * expected.std() / math.sqrt(count) + 1e-4


def test_an_ellipse_has_the_axes_of_its_covariance(node: Node) -> None:
    lengths, directions = np.linalg.eigh(np.array([[0.5, 0.2], [0.2, 0.3]]))
    found = node.ask("get", ["covarianceEllipse", [0.5, 0.2, 0.3]])
    assert [found["short"], found["long"]] == pytest.approx(np.sqrt(lengths))
    along = np.array([math.cos(found["angle"]), math.sin(found["angle"])])
    assert abs(along @ directions[:, 1]) == pytest.approx(1)


def test_self_attention(node: Node) -> None:
    rng = np.random.default_rng(6)
    for B in (0.5, 1.0, 3.0):
        parts = B * orthonormal(4, 9, rng)
        for _ in range(5):
            matrices = rng.integers(-1, 2, size=(3, 4, 4)).astype(float)
            K, Q, V = (self_attention.in_space(each, parts) for each in matrices)
            weights, outputs = self_attention.self_attend(self_attention.INPUTS @ parts, K, Q, V)
            found = node.ask("get", ["selfAttend", node.ask("get", ["INPUTS"]), *matrices.tolist(), B])
            assert_near(found["weights"], weights)
            assert_near(found["outputs"], outputs @ parts.T / B**2)
    for name in "KQV":
        matrix = node.ask("get", ["readMatrix", node.ask("get", ["PUBLISHED"])[name]])
        np.testing.assert_array_equal(matrix, getattr(self_attention.PUBLISHED, name))
    np.testing.assert_array_equal(node.ask("get", ["INPUTS"]), self_attention.INPUTS)
    np.testing.assert_array_equal(node.ask("get", ["WANTED"]), [self_attention.WANTED[i] for i in (0, 1)])
    shown = {
        "−u_a + 0.50 u_d": [-1, 0.001, 0, 0.5],
        "0": [0.004, 0, -0.004, 0],
        "u_b − 0.25 u_c": [0, 1, -0.25, 0],
    }
    assert {text: node.ask("sum", numbers) for text, numbers in shown.items()} == {t: t for t in shown}


# -- formulas and texts ------------------------------------------------------------------------------------


def test_formulas_are_set_and_words_are_left_alone(node: Node) -> None:
    def read(text: str) -> list[tuple[str, str]]:
        return [(piece["text"], piece["kind"]) for piece in node.ask("readNotation", text)]

    assert read("q = c(mu_a + x_1)/sqrt(d)") == [
        *(("q", "variable"), (" = ", "plain"), ("c", "variable"), ("(", "plain"), ("μ", "variable")),
        *(("a", "below"), (" + ", "plain"), ("x", "variable"), ("1", "below"), (")/", "plain")),
        *(("√", "plain"), ("d", "variable")),
    ]
    words = "Is there a query, or a key? I have no "
    assert read(f"{words}k.") == [(words, "plain"), ("k", "variable"), (".", "plain")]
    for question in EXERCISES.values():  # no letter of a text is lost
        for text in (question.text, *question.hints):
            kept = re.findall(r"[A-Za-z]{4,}", "".join(piece for piece, _ in read(text)))
            given = re.findall(r"[A-Za-z]{4,}", text.replace("sqrt", ""))
            assert [word for word in given if word not in ("alpha", "beta", "lambda")] == kept


def test_every_mistake_that_a_grade_names_has_a_text(node: Node) -> None:
    names = [name for name in node.ask("texts") if name.startswith("mistake ")]
    assert [name.removeprefix("mistake ") for name in names] == list(MISTAKES)


@pytest.mark.parametrize("english", QUESTIONS, ids=lambda exercise: exercise.task)
def test_german_questions_ask_the_same(english: Any) -> None:
    """They have the same formulas, names and hints."""
    german = english.german
    assert list(german.names) == list(english.names)
    assert len(german.hints) == len(english.hints)
    pattern = r"(?:alpha|beta|lambda|mu|[a-z])_\w|sqrt\(d\)|\b1/2\b|\bN\(|\b[BKQV]\b|\b1\.\d"
    for ours, theirs in zip((german.text, *german.hints), (english.text, *english.hints), strict=True):
        assert sorted(re.findall(pattern, ours)) == sorted(re.findall(pattern, theirs))
