"""The experiments 1.4 and 1.5: noisy keys, one head against several."""

import math
from dataclasses import dataclass

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory import closed_form
from augenmerk.theory.attention import Array
from augenmerk.theory.findings import Finding, deviation_of, mean_of, rate_of
from augenmerk.theory.lab_noise import (
    OFF,
    begin,
    floats,
    hardly_leans,
    noise_picture,
    radius,
    settings_of,
    share_is_off,
)
from augenmerk.theory.noise import KeyNoise, Resamplings, a_head_each, one_head, resample
from augenmerk.theory.sizes import check_sizes

EPS = 0.05
"""A head is broken that leaves more than this elsewhere."""
TOLERATED = 0.2
"""The claims hold where a head breaks in no more of the samples than this."""
LONG = 0.3
"""1.5: above this length of k_a along its mean, the head of a works."""


@dataclass(frozen=True)
class SwingPicture:
    """1.5: what each sample came to, one head and two."""

    values: Array
    one: Resamplings
    two: Resamplings
    strength: float
    beta: float


def several_heads(
    keys: int = 8,
    dim: int = 64,
    c: float | None = None,
    beta: float = 0.1,
    heads: int = 2,
    samples: int = 4000,
    seed: int = 1,
    scale: float | None = None,
) -> Finding:
    """1.4: a head for each value, on the same keys."""
    if keys >= 3 and not 2 <= heads <= keys:  # fewer keys are refused below
        raise AugenmerkError(f"--heads {heads} is impossible: there can be 2 to {keys}, one for each key.")
    s, of_scores, means, values, chance = begin(
        keys, dim, c, beta, samples, seed, scale, 20.0, 2e-8 + 3e-9 * heads
    )
    noise, subset = KeyNoise.of_norms(keys, beta), tuple(range(heads))
    one = resample(means, noise, one_head(s / of_scores, subset=subset), samples, chance, of_scores)
    drawn = resample(means, noise, a_head_each(s / of_scores, subset=subset), samples, chance, of_scores)
    own = drawn.head_weights[:, range(heads), range(heads)]  # (N, heads): on the value each should copy
    from_keys = resample(means, noise, a_head_each(s / of_scores, "keys", subset), samples, chance, of_scores)
    own_from_keys = from_keys.head_weights[:, range(heads), range(heads)]
    middle = values[:heads].mean(axis=0)
    distances = np.linalg.norm(drawn.outputs(values) - middle, axis=1)
    expected = closed_form.a_head_each_weight(keys, s, beta, heads)
    head = closed_form.head_weight(keys, s, beta)
    bound = (1 - head.mean) * float(np.mean([radius(values, v) for v in values[:heads]]))
    alone = [
        deviation_of(
            "deviation of alpha_a, one head",
            one.weights[:, 0],
            closed_form.weight_of_first(keys, s, beta),
        )
    ]
    return Finding(
        task="1.4",
        title=f"A head for each: {heads} queries on the same noisy keys",
        claim="q_1 = c mu_a and q_2 = c mu_b copy one value each, whatever lambda is, as long as it "
        "stays positive and s lambda >> ln(m-1); their mean is the average in every sample.",
        construction=f"q_i = c mu_i, c = {s / of_scores:.1f} (s = {s:.2f}), {heads} heads, beta = {beta:g}",
        measures=(
            *(alone if heads == 2 else ()),
            mean_of("mean of the weight on v_a, a head each", drawn.weights[:, 0], *expected[:2]),
            deviation_of("deviation of it", drawn.weights[:, 0], expected),
            rate_of(
                f"a head leaves over {EPS:g} elsewhere",
                own[:, 0] < 1 - EPS,
                closed_form.head_breaks(keys, s, beta, EPS),
            ),
            rate_of(
                "any of the heads does",
                np.any(own < 1 - EPS, axis=1),
                closed_form.any_head_breaks(keys, s, beta, EPS, heads),
            ),
            rate_of("lambda_a <= 0: no scale helps", drawn.lambdas[:, 0] <= 0, _negative(beta)),
            rate_of(
                "a head c k_a does, instead of c mu_a",
                own_from_keys[:, 0] < 1 - EPS,
                closed_form.head_breaks(keys, s, beta, EPS, "keys"),
            ),
            mean_of("mean distance of the output", distances, bound, at_most=True),
        ),
        weights=floats(drawn.weights.mean(axis=0)),
        output=floats(drawn.outputs(values).mean(axis=0)),
        error=float(distances.mean()),
        bound=bound,
        settings={**settings_of(keys, dim, s, of_scores, beta, samples, seed), "heads": heads},
        remarks=(
            f"The output of one head is {np.linalg.norm(one.outputs(values) - middle, axis=1).mean():.3f} "
            f"away from the average on average, that of {heads} heads {distances.mean():.3f}.",
        ),
        refuted=_breaks(float(np.any(own < 1 - EPS, axis=1).mean())),
        picture=lambda: noise_picture(means, values, s, of_scores, seed, heads),
    )


def noisy_direction(
    keys: int = 8,
    dim: int = 64,
    c: float | None = None,
    beta: float = 0.5,
    alpha: float = 1e-6,
    samples: int = 4000,
    seed: int = 1,
    scale: float | None = None,
) -> Finding:
    """1.5: one key swings along its own direction, all have a little noise in every direction."""
    check_sizes(keys=keys, least_keys=3, dim=dim, least_dim=keys, samples=samples, alpha=alpha)
    s, of_scores, means, values, chance = begin(keys, dim, c, beta, samples, seed, scale, 20.0, 6e-8)
    noise = KeyNoise.of_first(keys, beta, alpha)
    one = resample(means, noise, one_head(s / of_scores), samples, chance, of_scores)
    drawn = resample(means, noise, a_head_each(s / of_scores), samples, chance, of_scores)
    from_keys = resample(means, noise, one_head(s / of_scores, "keys"), samples, chance, of_scores)
    middle = values[:2].mean(axis=0)
    distances = np.linalg.norm(drawn.outputs(values) - middle, axis=1)
    of_one = np.linalg.norm(one.outputs(values) - middle, axis=1)
    variance = s**2 * (beta + 4 * alpha)
    off = closed_form.off_probability(OFF, 1.0, variance / 2)
    floors = [closed_form.head_weight_floor(keys, s, b, alpha) for b in (beta, 0.0)]
    bound = sum((1 - floor) * radius(values, v) / 2 for floor, v in zip(floors, values[:2], strict=True))
    # Only where the other directions are as good as still is there a closed form.
    in_the_limit = [
        rate_of(
            f"... with q = c (k_a + k_b), by {OFF:g}",
            share_is_off(from_keys),
            closed_form.off_probability_of_first(OFF, s, beta),
        ),
        rate_of(
            f"head a leaves over {EPS:g} elsewhere",
            drawn.head_weights[:, 0, 0] < 1 - EPS,
            closed_form.head_breaks(keys, s, beta + alpha, EPS),
        ),
    ]
    long = drawn.lambdas[:, 0] > LONG
    return Finding(
        task="1.5",
        title="Noise along one key's own direction",
        claim="k_a ~ N(mu_a, alpha I + beta mu_a mu_a^T), the others N(mu_i, alpha I): one head swings "
        "between v_a and v_b with the length of k_a, two heads stay at the average as long as mu_a.k_a "
        "stays positive.",
        construction=f"one head q = c (mu_a + mu_b); two heads c mu_a, c mu_b; c = {s / of_scores:.1f} (s "
        f"= {s:.2f}), beta = {beta:g}, alpha = {alpha:g}",
        measures=(
            deviation_of(
                "deviation of the share of a, one head",
                one.share,
                closed_form.share_of_first(s, beta, 0.0, alpha),
            ),
            rate_of(f"share off 1/2 by {OFF:g}, one head", share_is_off(one), off),
            *(in_the_limit if s**2 * alpha * dim < 0.05 else ()),
            mean_of("mean weight of head b on v_b", drawn.head_weights[:, 1, 1], floors[1], at_least=True),
            rate_of("lambda_a <= 0: no scale helps", drawn.lambdas[:, 0] <= 0, _negative(beta)),
            mean_of("mean distance of the output, two heads", distances, bound, at_most=True),
        ),
        weights=floats(drawn.weights.mean(axis=0)),
        output=floats(drawn.outputs(values).mean(axis=0)),
        error=float(distances.mean()),
        bound=bound,
        settings={**settings_of(keys, dim, s, of_scores, beta, samples, seed), "alpha": alpha},
        remarks=(
            f"The output of one head is {of_one.mean():.3f} away from the average on average, that of two "
            "heads "
            f"{distances.mean():.3f}; where lambda_a is above {LONG:g}, as in {long.mean():.0%} of the "
            "samples, "
            f"{distances[long].mean() if long.any() else 0:.3f}.",
        ),
        refuted=hardly_leans(float(share_is_off(one).mean()))
        or _breaks(float(np.any(drawn.head_weights[:, range(2), range(2)] < 1 - EPS, axis=1).mean())),
        picture=lambda: SwingPicture(values, one, drawn, s, beta),
    )


def _breaks(part: float) -> str:
    if part <= TOLERATED:
        return ""
    return (
        f"a head leaves over {EPS:g} elsewhere in {part:.0%} of the samples, where lambda is too small for s "
        f"(up to {TOLERATED:.0%} may)"
    )


def _negative(beta: float) -> float:
    return closed_form.head_breaks(2, math.inf, beta, 0.5)
