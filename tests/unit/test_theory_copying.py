"""1.1 and 1.2: what can be copied and averaged at all, and how large a query has to be for it."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import (
    Array,
    attend,
    attention_weights,
    diameter,
    entropy,
    orthonormal,
    softmax,
    total_variation,
)
from augenmerk.theory.copying import (
    distance_from_hull,
    leak_bound,
    reach,
    strength_needed,
    tied_weight,
)

seeds = st.integers(0, 2**32 - 1)
finite = st.floats(-1e6, 1e6)
epsilons = st.floats(1e-6, 0.4)


def random_keys(seed: int, count: int, dim: int) -> Array:
    """Some of them inside the hull of the others, some copies: all that can happen."""
    rng = np.random.default_rng(seed)
    keys = rng.standard_normal((count, dim)) * rng.uniform(0.2, 3)
    if rng.random() < 0.4:
        keys[0] = rng.dirichlet(np.ones(count - 1)) @ keys[1:]
    return keys


@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=finite), seeds)
def test_attention_is_equations_1_and_2(keys: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, values = rng.standard_normal(keys.shape[1]), rng.standard_normal((len(keys), 3))
    scale = 1e-5  # so that the plain formula does not overflow, which ours never does
    weights, output = attend(query, keys, values, scale)
    plain = np.exp([query @ key * scale for key in keys])
    np.testing.assert_allclose(weights, plain / plain.sum(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(output, sum(w * v for w, v in zip(weights, values, strict=True)), atol=1e-9)
    usual = attention_weights(query, keys)
    np.testing.assert_allclose(usual, attention_weights(query, keys, 1 / math.sqrt(keys.shape[1])))


@given(arrays(np.float64, st.integers(1, 8), elements=st.floats(allow_nan=False)))
def test_softmax_is_stable_for_any_logits(logits: Array) -> None:
    weights = softmax(logits)
    assert np.all(weights >= 0)
    assert weights.sum() == pytest.approx(1)
    assert weights[logits.argmax()] == weights.max()


@given(seeds, st.integers(2, 8))
def test_weight_in_the_wrong_place_bounds_the_error(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.dirichlet(np.ones(count), size=2)
    values = rng.standard_normal((count, 3))
    assert np.linalg.norm(a @ values - b @ values) <= total_variation(a, b) * diameter(values) + 1e-12


def test_infinite_logits_share_the_weight_and_entropy_goes_from_nothing_to_the_logarithm() -> None:
    assert softmax([math.inf, 3.0, math.inf]).tolist() == [0.5, 0.0, 0.5]
    assert softmax([-math.inf, 3.0]).tolist() == [0.0, 1.0]
    assert entropy([0.0, 1.0, 0.0]) == 0
    assert entropy(np.full(7, 1 / 7)) == pytest.approx(math.log(7))


@settings(max_examples=40)
@given(seeds, st.integers(3, 8), st.integers(1, 4), epsilons)
def test_a_key_can_be_copied_or_there_is_a_witness(seed: int, count: int, dim: int, eps: float) -> None:
    """1.1, both directions of the claim, on any keys."""
    keys = random_keys(seed, count, dim)
    rng = np.random.default_rng(seed)
    for j in range(count):
        found = reach(keys, [j])
        assert found.hull_weights[j] == 0
        assert np.all(found.hull_weights >= 0)
        assert found.hull_weights.sum() == pytest.approx(1)
        if found.query is None:
            np.testing.assert_allclose(found.hull_weights @ keys, keys[j], atol=1e-5)
            queries = rng.standard_normal((200, dim)) * 10 ** rng.uniform(-2, 4, size=(200, 1))
            assert attention_weights(queries, keys)[:, j].max() <= found.ceiling + 1e-6
            assert found.ceiling <= 0.5
        else:
            assert np.linalg.norm(found.query) == pytest.approx(1)
            others = [i for i in range(count) if i != j]
            assert found.margin == pytest.approx(min((keys[j] - keys[i]) @ found.query for i in others))
            # The bound: exactly this c is enough.
            c = strength_needed(count, 1, eps) / found.margin
            assert attention_weights(c * found.query, keys, 1.0)[j] >= 1 - eps - 1e-9
            # No unit query has a larger margin: it is the distance from the hull, which none can exceed.
            assert found.margin == pytest.approx(distance_from_hull(keys[j], keys[others]), rel=1e-6)
            rivals = found.query + 0.1 * rng.standard_normal((200, dim)) / math.sqrt(dim)
            rivals /= np.linalg.norm(rivals, axis=1, keepdims=True)
            margins = (rivals @ (keys[j] - keys[others]).T).min(axis=1)
            assert margins.max() <= found.margin + 1e-9


@settings(max_examples=20)
@given(seeds, st.integers(4, 7))
def test_in_the_plane_the_corners_can_be_copied_and_the_edges_averaged(seed: int, count: int) -> None:
    """Against scipy's convex hull, which goes about it differently."""
    keys = np.random.default_rng(seed).standard_normal((count, 2))
    hull = ConvexHull(keys)
    assert {j for j in range(count) if reach(keys, [j]).possible} == set(hull.vertices)
    edges = {tuple(sorted(map(int, edge))) for edge in hull.simplices}
    assert {pair for pair in combinations(range(count), 2) if reach(keys, pair).possible} == edges


@settings(max_examples=60)
@given(seeds, st.integers(3, 7), st.integers(1, 5), st.integers(1, 3), epsilons)
def test_subsets_are_averaged_or_witnessed(seed: int, count: int, dim: int, size: int, eps: float) -> None:
    """1.2 for any subset of any keys."""
    keys, subset = random_keys(seed, count, dim), list(range(min(size, count - 1)))
    found = reach(keys, subset)
    if found.query is None:
        assert found.affine_weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(found.hull_weights @ keys, found.affine_weights @ keys, atol=1e-5)
        return
    assume(found.margin > 1e-4)  # below, c is so large that rounding unties the keys
    c = strength_needed(count, len(subset), eps) / found.margin
    weights = attention_weights(c * found.query, keys, 1.0)
    inside = weights[subset]
    assert np.ptp(inside) < 1e-6
    assert 1 - inside.sum() <= eps + 1e-6


@given(seeds, st.integers(3, 12), st.integers(0, 20), st.floats(0, 500))
def test_orthonormal_keys_have_the_exact_weights(seed: int, count: int, more: int, c: float) -> None:
    keys = orthonormal(count, count + more, np.random.default_rng(seed))
    np.testing.assert_allclose(keys @ keys.T, np.eye(count), atol=1e-12)
    s = c / math.sqrt(count + more)
    weights = attention_weights(c * (keys[0] + keys[1]), keys)
    expected = math.exp(s) / (2 * math.exp(s) + count - 2)
    np.testing.assert_allclose(weights[:2], expected, rtol=1e-9)
    assert tied_weight(count, 2, s) == pytest.approx(expected)


@given(st.integers(2, 50), st.integers(1, 5), epsilons)
def test_the_strength_needed_is_the_least_that_bounds_the_leak(keys: int, subset: int, eps: float) -> None:
    assume(keys > subset)
    strength = strength_needed(keys, subset, eps)
    assert leak_bound(keys, subset, strength) <= eps * (1 + 1e-9)
    if strength > 0:
        assert leak_bound(keys, subset, strength) == pytest.approx(eps)
    if subset == 1 and strength > 0:  # the formula of the specification
        assert strength == pytest.approx(math.log((keys - 1) * (1 - eps) / eps))


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-200, 1e200, 1e307])
def test_what_can_be_copied_does_not_depend_on_the_size_of_the_keys(size: float) -> None:
    keys = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0], [4.0, 4.0]])
    assert [reach(size * keys, [j]).possible for j in range(5)] == [True, True, True, False, True]
    assert [reach(size * keys + 7 * size, [j]).possible for j in range(5)] == [True, True, True, False, True]
    assert reach(size * keys, [0]).margin / size == pytest.approx(reach(keys, [0]).margin, rel=1e-3)
    assert reach(size * keys, [1, 4]).possible
    assert not reach(size * keys, [1, 2]).possible


def test_borders_and_wrong_subsets() -> None:
    keys = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.0, 1.0]])
    on_an_edge = reach(keys, [2])
    assert not on_an_edge.possible
    np.testing.assert_allclose(on_an_edge.hull_weights, [0.5, 0.5, 0, 0], atol=1e-9)
    assert on_an_edge.ceiling == pytest.approx(1 / 3)
    assert not reach(np.ones((3, 2)), [0]).possible
    everything = reach(keys, range(4))
    assert everything.margin == math.inf
    assert everything.query is not None
    assert attention_weights(everything.query, keys).tolist() == [0.25] * 4
    for subset in ([], [0, 0], [4], [-1]):
        with pytest.raises(AugenmerkError, match="from 0 to 3"):
            reach(keys, subset)
    with pytest.raises(AugenmerkError, match="between 0 and 1"):
        strength_needed(4, 1, 1.5)
    for wrong in (math.nan, math.inf):
        with pytest.raises(AugenmerkError, match="Key 1 has an entry that is not a finite number"):
            reach(np.array([[0.0], [wrong], [1.0]]), [0])
