"""1.3 to 1.5: simulation and closed form, two ways to the same numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import kstest, norm

from augenmerk.theory import closed_form
from augenmerk.theory.attention import attend, orthonormal
from augenmerk.theory.closed_form import Origin
from augenmerk.theory.noise import KeyNoise, head_per_value, one_head, resample
from augenmerk.theory.results import Measurement, deviation_of, mean_of, plane_values, rate_of

SAMPLES = 6000
seeds = st.integers(0, 2**32 - 1)
origins: st.SearchStrategy[Origin] = st.sampled_from(["means", "keys"])


def fits(measure: Measurement) -> bool:
    """Within five standard errors: of so many measurements, one in a million is further off by rng."""
    return abs(measure.measured - measure.predicted) <= 5 * measure.error + 5 / SAMPLES**2


@settings(max_examples=8)
@given(seeds, st.integers(3, 10), st.floats(0.5, 15), st.floats(0.005, 0.6), origins)
def test_one_head_leans_as_predicted(seed: int, keys: int, s: float, beta: float, origin: Origin) -> None:
    rng = np.random.default_rng(seed)
    means = orthonormal(keys, keys + 3, rng)
    c = s * math.sqrt(keys + 3)
    drawn = resample(means, KeyNoise.of_norms(keys, beta), one_head(c, origin), SAMPLES, rng)
    expected = closed_form.weight_of_first(keys, s, beta, origin)
    assert fits(mean_of("", drawn.weights[:, 0], expected.mean, expected.deviation))
    assert fits(deviation_of("", drawn.weights[:, 0], expected))
    for off in (0.05, 0.2, 0.45):
        rate = closed_form.off_probability(off, s, beta, origin)
        assert fits(rate_of("", np.abs(drawn.share - 0.5) > off, rate))
    # The logits are those of the specification.
    lengths = drawn.lambdas[:, :2] ** (1 if origin == "means" else 2)
    np.testing.assert_allclose(drawn.logits[:, 0, :2], s * lengths, atol=1e-9 * s)
    np.testing.assert_allclose(drawn.logits[:, 0, 2:], 0, atol=1e-9 * s)


@settings(max_examples=8)
@given(seeds, st.integers(3, 10), st.floats(2, 60), st.floats(0.01, 0.8), origins, st.integers(2, 3))
def test_a_head_each_holds_and_breaks_as_often_as_the_closed_form_says(
    seed: int, keys: int, s: float, beta: float, origin: Origin, heads: int
) -> None:
    rng = np.random.default_rng(seed)
    means = orthonormal(keys, keys, rng)
    c, eps = s * math.sqrt(keys), 0.05
    queries = head_per_value(c, origin, tuple(range(heads)))
    drawn = resample(means, KeyNoise.of_norms(keys, beta), queries, SAMPLES, rng)
    assert drawn.head_weights.shape == (SAMPLES, heads, keys)
    own = drawn.head_weights[:, 0, 0]
    expected = closed_form.head_weight(keys, s, beta, origin)
    assert fits(mean_of("", own, expected.mean, expected.deviation))
    assert fits(deviation_of("", own, expected))
    together = closed_form.head_per_value_weight(keys, s, beta, heads, origin)
    assert fits(mean_of("", drawn.weights[:, 0], together.mean, together.deviation))
    assert fits(deviation_of("", drawn.weights[:, 0], together))
    breaks = closed_form.head_breaks(keys, s, beta, eps, origin)
    assert fits(rate_of("", own < 1 - eps, breaks))
    broken = np.any(drawn.head_weights[:, range(heads), range(heads)] < 1 - eps, axis=1)
    assert fits(rate_of("", broken, 1 - (1 - breaks) ** heads))


@settings(max_examples=10)
@given(st.floats(0.01, 40), st.floats(0.001, 2))
def test_quadrature_agrees_with_an_adaptive_one(s: float, beta: float) -> None:
    deviation = s * math.sqrt(2 * beta)
    density = norm(0, deviation).pdf
    second, _ = quad(lambda x: (expit(x) - 0.5) ** 2 * density(x), -12 * deviation, 12 * deviation, limit=400)
    ours = closed_form.share_of_first(s, beta, beta)
    assert ours.deviation == pytest.approx(math.sqrt(second), abs=1e-6)
    lean, _ = quad(lambda x: 2 * math.tanh(x / 2) * density(x), 0, 12 * deviation, limit=400)
    assert closed_form.mean_lean(s, beta) == pytest.approx(lean, abs=1e-4)


def test_without_noise_nothing_spreads() -> None:
    assert closed_form.weight_of_first(8, 3.0, 0.0).deviation == 0
    expected = math.exp(3) / (2 * math.exp(3) + 6)
    assert closed_form.weight_of_first(8, 3.0, 0.0).mean == pytest.approx(expected)
    assert closed_form.off_probability(0.1, 3.0, 0.0) == 0
    assert closed_form.head_breaks(8, 100.0, 0.0, 0.05) == 0
    assert closed_form.head_breaks(8, 1.0, 0.0, 0.05) == 1
    assert closed_form.head_breaks(1, 1.0, 0.5, 0.05) == 0


def test_the_share_has_the_logit_normal_distribution() -> None:
    rng = np.random.default_rng(5)
    s, beta = 6.0, 0.2
    means = orthonormal(6, 6, rng)
    drawn = resample(means, KeyNoise.of_norms(6, beta), one_head(s), SAMPLES, rng, 1.0)
    gaps = np.log(drawn.share) - np.log1p(-drawn.share)
    assert kstest(gaps, norm(0, s * math.sqrt(2 * beta)).cdf).pvalue > 1e-4
    area, _ = quad(
        lambda x: float(closed_form.share_density(np.array([x]), s, beta)[0]), 1e-9, 1 - 1e-9, limit=400
    )
    assert area == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("deviation", [1e-6, 0.01, 1.0, 4.0, 5.0, 100.0, 1e6, 1e9])
def test_how_far_a_sample_leans_is_known_for_any_strength(deviation: float) -> None:
    """Against the limits of a weak and of an endless query, and an adaptive integral between them."""
    found = closed_form.mean_lean(deviation, 0.5)
    if deviation < 0.001:
        expected = deviation * math.sqrt(2 / math.pi) / 2
    elif deviation > 1000:
        expected = 1 - 4 * math.log(2) / (deviation * math.sqrt(2 * math.pi))
    else:
        half, _ = quad(lambda u: math.tanh(u * deviation / 2) * norm.pdf(u), 0, 9, points=[1 / deviation])
        expected = 2 * half
    assert found == pytest.approx(expected, rel=1e-6)


@settings(max_examples=10)
@given(seeds, st.floats(1, 30), st.floats(0.02, 1))
def test_a_query_from_the_keys_follows_the_one_that_swings(seed: int, s: float, beta: float) -> None:
    rng = np.random.default_rng(seed)
    means = orthonormal(4, 5, rng)
    drawn = resample(means, KeyNoise.of_first(4, beta, 0.0), one_head(s, "keys"), SAMPLES, rng, 1.0)
    for off in (0.05, 0.3):
        rate = closed_form.off_probability_of_first(off, s, beta)
        assert fits(rate_of("", np.abs(drawn.share - 0.5) > off, rate))


def test_noise_in_all_directions_is_part_of_the_share() -> None:
    rng = np.random.default_rng(6)
    noise = KeyNoise.of_first(4, 0.02, 0.05)
    drawn = resample(orthonormal(4, 5, rng), noise, one_head(4.0), SAMPLES, rng, 1.0)
    assert fits(deviation_of("", drawn.share, closed_form.share_of_first(4.0, 0.02, 0.0, 0.05)))
    assert not fits(deviation_of("", drawn.share, closed_form.share_of_first(4.0, 0.02, 0.0)))


def test_the_covariance_of_the_keys_is_that_of_1_5() -> None:
    rng = np.random.default_rng(3)
    means = orthonormal(3, 4, rng)
    _, keys = KeyNoise.of_first(3, 0.5, 0.04).sample(means, 40_000, rng)
    expected = 0.04 * np.eye(4) + 0.5 * np.outer(means[0], means[0])
    np.testing.assert_allclose(np.cov(keys[:, 0].T), expected, atol=0.02)
    np.testing.assert_allclose(np.cov(keys[:, 1].T), 0.04 * np.eye(4), atol=0.003)
    np.testing.assert_allclose(keys[:, 0].mean(axis=0), means[0], atol=0.02)


def test_resampling_in_chunks_attends_as_one_attention_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from augenmerk.theory import noise

    monkeypatch.setattr(noise, "CHUNK", 50)  # three samples at a time
    means = orthonormal(4, 4, np.random.default_rng(7))
    drawn = resample(means, KeyNoise.of_norms(4, 0.3), one_head(5.0), 10, np.random.default_rng(8))
    assert drawn.weights.shape == (10, 4)
    values = plane_values(4)
    for lambdas, output in zip(drawn.lambdas, drawn.outputs(values), strict=True):
        keys = lambdas[:, None] * means
        np.testing.assert_allclose(attend(5.0 * (means[0] + means[1]), keys, values).output, output)
