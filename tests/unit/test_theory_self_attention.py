"""1.6, 1.7, and why 1/sqrt(d)."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augenmerk.theory.attention import orthonormal, softmax
from augenmerk.theory.copying import distance_from_hull
from augenmerk.theory.scaling import expected_saturation, saturation
from augenmerk.theory.self_attention import (
    INPUTS,
    PUBLISHED,
    U_A,
    U_B,
    U_C,
    U_D,
    as_sum,
    in_space,
    self_attend,
    with_bystanders,
)

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(4, 20), st.floats(3, 20))
def test_without_projections_x_2_attends_to_itself(seed: int, dim: int, B: float) -> None:
    u = B * orthonormal(4, dim, np.random.default_rng(seed))
    a, b, c, d = u
    eye = np.eye(dim)
    for x_2 in (a, a + d, a + c):
        x = np.stack([d + b, x_2, c + b])
        weights, outputs = self_attend(x, eye, eye, eye)
        assert weights[1, 1] > 0.999
        assert np.linalg.norm(outputs[1] - x_2) < 0.01 * B
        # Not by these queries and keys, and not by any others: u_b is outside the hull of the inputs.
        assert distance_from_hull(b, x) > 0.6 * B


@given(seeds, st.integers(4, 20), st.floats(3, 20))
def test_the_published_projections_give_what_is_wanted(seed: int, dim: int, B: float) -> None:
    u = B * orthonormal(4, dim, np.random.default_rng(seed))
    a, b, c, d = u
    x = np.stack([d + b, a, c + b])
    K = np.eye(dim)
    Q = (np.outer(d, a) + np.outer(c, d)) / B**2
    V = (np.outer(b, b) - np.outer(c, c)) / B**2
    _, outputs = self_attend(x, K, Q, V)
    leak = 2 / (math.exp(B**2) + 2)
    assert np.linalg.norm(outputs[0] - (b - c)) <= leak * 2 * B + 1e-9
    assert np.linalg.norm(outputs[1] - b) <= leak * 2 * B + 1e-9
    np.testing.assert_allclose(in_space(PUBLISHED.Q, u), Q, atol=1e-9)
    np.testing.assert_allclose(in_space(PUBLISHED.V, u), V, atol=1e-9)


def test_formulas_read_as_people_write_them_and_bystanders_share_nothing() -> None:
    assert as_sum(U_B - U_C) == "u_b - u_c"
    assert as_sum(0.5 * U_A - 0.25 * U_D) == "0.50 u_a - 0.25 u_d"
    assert as_sum(-U_A) == "-u_a"
    wide = with_bystanders(INPUTS, 5)
    assert wide.shape == (5, 6)
    assert (wide @ wide.T)[3:, :3].sum() == 0


@settings(max_examples=10)
@given(seeds, st.integers(2, 30), st.sampled_from([1, 5, 64, 300]), st.booleans())
def test_logits_have_the_variance_of_the_dimension(seed: int, keys: int, dim: int, plain: bool) -> None:
    rng = np.random.default_rng(seed)
    measured = saturation(keys, dim, 500, rng, 1.0 if plain else None)
    expected = dim if plain else 1.0
    assert measured.scale**2 * dim == pytest.approx(expected)
    gap = abs(measured.logit_variance - expected)
    # Few samples of a heavy-tailed variance: its error is itself uncertain.
    assert gap <= 6 * max(measured.logit_variance_error, 0.02 * expected)
    entropies, gradients = expected_saturation(keys, dim, measured.scale, 4000, rng)
    for values, samples in ((measured.evenness, entropies), (measured.gradients, gradients)):
        error = math.hypot(values.std() / math.sqrt(500), samples.std() / math.sqrt(4000))
        assert abs(values.mean() - samples.mean()) <= 5 * error + 1e-3


@given(seeds, st.integers(2, 6))
def test_the_gradient_is_the_trace_of_the_jacobian_of_the_softmax(seed: int, count: int) -> None:
    logits = np.random.default_rng(seed).standard_normal(count)
    step = 1e-6
    columns = [(softmax(logits + step * e) - softmax(logits - step * e)) / (2 * step) for e in np.eye(count)]
    assert np.trace(np.stack(columns)) == pytest.approx(1 - (softmax(logits) ** 2).sum(), abs=1e-8)
