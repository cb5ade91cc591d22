"""The experiments 1.3, 1.4 and 1.5: noisy keys, one head and several."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from augenmerk.errors import AugenmerkError
from augenmerk.theory import closed_form
from augenmerk.theory.attention import Array, usual_scale
from augenmerk.theory.findings import Finding, deviation_of, mean_of, plane_values, rate_of
from augenmerk.theory.noise import KeyNoise, Resamplings, a_head_each, one_head, orthonormal, resample

OFF = 0.1
"""How far from one half a share has to be to count as off."""
EPS = 0.05
"""A head is broken that leaves more than this elsewhere."""
BETAS = (0.01, 0.1, 0.5)
"""Shown side by side."""


@dataclass(frozen=True)
class NoisePicture:
    """Resamplings for several amounts of noise, one head and several; and how the spread grows."""

    values: Array
    strength: float
    betas: tuple[float, ...]
    one: tuple[Resamplings, ...]
    several: tuple[Resamplings, ...]
    sweep: Array  # (n): beta
    spread_one: Array  # (n): deviation of alpha_a, closed form
    spread_one_keys: Array
    spread_several: Array


@dataclass(frozen=True)
class SwingPicture:
    """1.5: what each sample came to, one head and two."""

    values: Array
    one: Resamplings
    two: Resamplings
    strength: float
    beta: float


def noisy_average(
    keys: int = 8,
    dim: int = 64,
    c: float | None = None,
    beta: float = 0.1,
    samples: int = 4000,
    seed: int = 1,
    scale: float | None = None,
) -> Finding:
    """1.3: the strategy of 1.2 on keys of random length."""
    s, of_scores, means, values, chance = _begin(keys, dim, c, beta, samples, seed, scale, 10.0)
    noise = KeyNoise.of_norms(keys, beta)
    drawn = resample(means, noise, one_head(s / of_scores), samples, chance, of_scores)
    from_keys = resample(means, noise, one_head(s / of_scores, "keys"), samples, chance, of_scores)
    middle = values[:2].mean(axis=0)
    distances = np.linalg.norm(drawn.outputs(values) - middle, axis=1)
    expected = closed_form.weight_of_first(keys, s, beta)
    expected_keys = closed_form.weight_of_first(keys, s, beta, "keys")
    apart = float(np.linalg.norm(values[0] - values[1])) / 2
    leak = 1 - 2 * expected.mean
    bound = apart * closed_form.mean_lean(s, beta, beta) + leak * _radius(values, middle)
    return Finding(
        task="1.3",
        title="The same average, of keys of random length",
        claim="With k_i = lambda_i mu_i, lambda_i ~ N(1, beta), the share of a is the logistic of s "
        "(lambda_a - "
        "lambda_b): every sample leans to one side, only the mean over resamplings is the average.",
        construction=f"q = c (mu_a + mu_b), or c (k_a + k_b); c = {s / of_scores:.1f} (s = {s:.2f}), beta "
        f"= {beta:g}",
        measures=(
            mean_of("mean of alpha_a, from means", drawn.weights[:, 0], expected.mean),
            deviation_of("deviation of alpha_a, from means", drawn.weights[:, 0], expected.deviation),
            mean_of("mean of alpha_a, from keys", from_keys.weights[:, 0], expected_keys.mean),
            deviation_of("deviation of alpha_a, from keys", from_keys.weights[:, 0], expected_keys.deviation),
            rate_of(
                f"share off 1/2 by {OFF:g}, from means",
                _off(drawn),
                closed_form.off_probability(OFF, s, beta),
            ),
            rate_of(
                f"share off 1/2 by {OFF:g}, from keys",
                _off(from_keys),
                closed_form.off_probability(OFF, s, beta, "keys"),
            ),
            mean_of("mean of lambda^2", drawn.lambdas[:, 0] ** 2, 1 + beta),
            mean_of("mean distance of the output", distances, bound, at_most=True),
        ),
        weights=_floats(drawn.weights.mean(axis=0)),
        output=_floats(drawn.outputs(values).mean(axis=0)),
        error=float(distances.mean()),
        bound=bound,
        settings=_settings(keys, dim, s, of_scores, beta, samples, seed),
        remarks=(_on_average(drawn, values),),
        picture=lambda: _picture(means, values, s, of_scores, seed, 2),
    )


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
    if not 2 <= heads <= keys:
        raise AugenmerkError(f"--heads {heads} is impossible: there can be 2 to {keys}, one for each key.")
    s, of_scores, means, values, chance = _begin(keys, dim, c, beta, samples, seed, scale, 20.0)
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
    bound = (1 - head.mean) * float(np.mean([_radius(values, v) for v in values[:heads]]))
    alone = [
        deviation_of(
            "deviation of alpha_a, one head",
            one.weights[:, 0],
            closed_form.weight_of_first(keys, s, beta).deviation,
        )
    ]
    return Finding(
        task="1.4",
        title=f"A head for each: {heads} queries on the same noisy keys",
        claim="q_1 = c mu_a and q_2 = c mu_b copy one value each, whatever lambda is, as long as it stays "
        "positive "
        "and s lambda >> ln(m-1); their mean is the average in every sample.",
        construction=f"q_i = c mu_i, c = {s / of_scores:.1f} (s = {s:.2f}), {heads} heads, beta = {beta:g}",
        measures=(
            *(alone if heads == 2 else ()),
            mean_of("mean of the weight on v_a, a head each", drawn.weights[:, 0], expected.mean),
            deviation_of("deviation of it", drawn.weights[:, 0], expected.deviation),
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
        weights=_floats(drawn.weights.mean(axis=0)),
        output=_floats(drawn.outputs(values).mean(axis=0)),
        error=float(distances.mean()),
        bound=bound,
        settings={**_settings(keys, dim, s, of_scores, beta, samples, seed), "heads": heads},
        remarks=(
            f"The output of one head is {np.linalg.norm(one.outputs(values) - middle, axis=1).mean():.3f} "
            "away from "
            f"the average on average, that of {heads} heads {distances.mean():.3f}.",
        ),
        picture=lambda: _picture(means, values, s, of_scores, seed, heads),
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
    if not alpha >= 0:
        raise AugenmerkError(f"--alpha {alpha:g} is no variance: it must be 0 or more.")
    s, of_scores, means, values, chance = _begin(keys, dim, c, beta, samples, seed, scale, 20.0)
    noise = KeyNoise.of_first(keys, beta, alpha)
    one = resample(means, noise, one_head(s / of_scores), samples, chance, of_scores)
    drawn = resample(means, noise, a_head_each(s / of_scores), samples, chance, of_scores)
    middle = values[:2].mean(axis=0)
    distances = np.linalg.norm(drawn.outputs(values) - middle, axis=1)
    of_one = np.linalg.norm(one.outputs(values) - middle, axis=1)
    variance = s**2 * (beta + 4 * alpha)
    off = closed_form.off_probability(OFF, 1.0, variance / 2)
    floors = [closed_form.head_weight_floor(keys, s, b, alpha) for b in (beta, 0.0)]
    bound = sum((1 - floor) * _radius(values, v) / 2 for floor, v in zip(floors, values[:2], strict=True))
    # The noise of the other keys can only add to what a head loses; alpha is small where this is used.
    breaks = closed_form.head_breaks(keys, s, beta + alpha, EPS)
    return Finding(
        task="1.5",
        title="Noise along one key's own direction",
        claim="k_a ~ N(mu_a, alpha I + beta mu_a mu_a^T), the others N(mu_i, alpha I): one head swings "
        "between v_a "
        "and v_b with the length of k_a, two heads stay at the average as long as mu_a.k_a stays positive.",
        construction=f"one head q = c (mu_a + mu_b); two heads c mu_a, c mu_b; c = {s / of_scores:.1f} (s "
        f"= {s:.2f}), "
        f"beta = {beta:g}, alpha = {alpha:g}",
        measures=(
            deviation_of(
                "deviation of the share of a, one head",
                one.share,
                closed_form.share_of_first(s, beta, 0.0, alpha).deviation,
            ),
            rate_of(f"share off 1/2 by {OFF:g}, one head", _off(one), off),
            rate_of(f"head a leaves over {EPS:g} elsewhere", drawn.head_weights[:, 0, 0] < 1 - EPS, breaks),
            mean_of("mean weight of head b on v_b", drawn.head_weights[:, 1, 1], floors[1], at_least=True),
            rate_of("mu_a.k_a <= 0: no scale helps", drawn.lambdas[:, 0] <= 0, _negative(beta)),
            mean_of("mean distance of the output, two heads", distances, bound, at_most=True),
        ),
        weights=_floats(drawn.weights.mean(axis=0)),
        output=_floats(drawn.outputs(values).mean(axis=0)),
        error=float(distances.mean()),
        bound=bound,
        settings={**_settings(keys, dim, s, of_scores, beta, samples, seed), "alpha": alpha},
        remarks=(
            f"The output of one head is {of_one.mean():.3f} away from the average on average, that of two "
            "heads "
            f"{distances.mean():.3f}; of the samples with mu_a.k_a above 0.3, "
            f"{distances[drawn.lambdas[:, 0] > 0.3].mean():.3f}.",
        ),
        picture=lambda: SwingPicture(values, one, drawn, s, beta),
    )


def _begin(
    keys: int,
    dim: int,
    c: float | None,
    beta: float,
    samples: int,
    seed: int,
    scale: float | None,
    strength: float,
) -> tuple[float, float, Array, Array, np.random.Generator]:
    """s = c * scale, the scale, means, values and chance."""
    if keys < 3:
        raise AugenmerkError(f"--keys {keys} is too small: it must be 3 or more.")
    if dim < keys:
        raise AugenmerkError(
            f"--dim {dim} is too small: it must be {keys} or more for {keys} orthonormal means."
        )
    if not (0 <= beta < math.inf):
        raise AugenmerkError(f"--beta {beta:g} is no variance: it must be 0 or more.")
    if samples < 10:
        raise AugenmerkError(
            f"--samples {samples} is too few to compare with a closed form; take 10 or more."
        )
    if c is not None and not 0 < c < math.inf:
        raise AugenmerkError(f"--scale {c:g} is impossible: c is a positive number.")
    chance = np.random.default_rng(seed)
    of_scores = usual_scale(dim) if scale is None else scale
    return (
        strength if c is None else c * of_scores,
        of_scores,
        orthonormal(keys, dim, chance),
        plane_values(keys),
        chance,
    )


def _picture(means: Array, values: Array, s: float, scale: float, seed: int, heads: int) -> NoisePicture:
    count, keys, chance = 4000, len(means), np.random.default_rng([seed, 1])
    subset = tuple(range(heads))
    one, several = [], []
    for beta in BETAS:
        noise = KeyNoise.of_norms(keys, beta)
        one.append(resample(means, noise, one_head(s / scale, subset=subset), count, chance, scale))
        several.append(resample(means, noise, a_head_each(s / scale, subset=subset), count, chance, scale))
    sweep = np.geomspace(1e-4, 1.0, 33)
    spreads = [
        [closed_form.weight_of_first(keys, s, b).deviation for b in sweep],
        [closed_form.weight_of_first(keys, s, b, "keys").deviation for b in sweep],
        [closed_form.a_head_each_weight(keys, s, b, heads).deviation for b in sweep],
    ]
    return NoisePicture(values, s, BETAS, tuple(one), tuple(several), sweep, *map(np.array, spreads))


def _off(drawn: Resamplings) -> NDArray[np.bool_]:
    return np.asarray(np.abs(drawn.share - 0.5) > OFF)


def _negative(beta: float) -> float:
    return closed_form.head_breaks(2, math.inf, beta, 0.5)


def _radius(values: Array, centre: Array) -> float:
    return float(np.linalg.norm(values - centre, axis=1).max())


def _floats(array: Array) -> list[float]:
    return [float(x) for x in array]


def _settings(
    keys: int, dim: int, s: float, scale: float, beta: float, samples: int, seed: int
) -> dict[str, float]:
    return {
        "keys": keys,
        "dim": dim,
        "c": s / scale,
        "s": s,
        "beta": beta,
        "samples": samples,
        "seed": seed,
        "scale": scale,
    }


def _on_average(drawn: Resamplings, values: Array) -> str:
    outputs = drawn.outputs(values)
    middle = values[:2].mean(axis=0)
    return (
        f"The mean output is {np.linalg.norm(outputs.mean(axis=0) - middle):.3f} away from (v_a + v_b)/2, "
        "a single "
        f"one {np.linalg.norm(outputs - middle, axis=1).mean():.3f} on average (v_a and v_b are 1 away)."
    )
