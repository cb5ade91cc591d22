"""The experiment 1.3, keys of random length; and what it shares with 1.4 and 1.5."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from augenmerk.theory import closed_form
from augenmerk.theory.attention import Array, usual_scale
from augenmerk.theory.findings import Finding, deviation_of, mean_of, plane_values, rate_of
from augenmerk.theory.noise import KeyNoise, Resamplings, a_head_each, one_head, orthonormal, resample
from augenmerk.theory.sizes import check_sizes, check_time

OFF = 0.1
"""How far from one half a share has to be to count as off."""
MOSTLY = 0.5
"""1.3 and 1.5 say that a single head leans: so it does where at least this part of the samples is off."""
LEAK = 0.05
"""1.3 says that the mean is the average: so it is where no more of the weight than this is elsewhere."""
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
    s, of_scores, means, values, chance = begin(keys, dim, c, beta, samples, seed, scale, 10.0)
    noise = KeyNoise.of_norms(keys, beta)
    drawn = resample(means, noise, one_head(s / of_scores), samples, chance, of_scores)
    from_keys = resample(means, noise, one_head(s / of_scores, "keys"), samples, chance, of_scores)
    middle = values[:2].mean(axis=0)
    distances = np.linalg.norm(drawn.outputs(values) - middle, axis=1)
    expected = closed_form.weight_of_first(keys, s, beta)
    expected_keys = closed_form.weight_of_first(keys, s, beta, "keys")
    apart = float(np.linalg.norm(values[0] - values[1])) / 2
    leak = 1 - 2 * expected.mean
    leaning = float(share_is_off(drawn).mean())
    elsewhere = float(1 - drawn.weights[:, :2].sum(axis=1).mean())
    bound = apart * closed_form.mean_lean(s, beta, beta) + leak * radius(values, middle)
    return Finding(
        task="1.3",
        title="The same average, of keys of random length",
        claim="With k_i = lambda_i mu_i, lambda_i ~ N(1, beta), the share of a is the logistic of s "
        "(lambda_a - lambda_b): every sample leans to one side, only the mean over resamplings is the "
        "average.",
        construction=f"q = c (mu_a + mu_b), or c (k_a + k_b); c = {s / of_scores:.1f} (s = {s:.2f}), beta "
        f"= {beta:g}",
        measures=(
            mean_of("mean of alpha_a, from means", drawn.weights[:, 0], *expected[:2]),
            deviation_of("deviation of alpha_a, from means", drawn.weights[:, 0], expected),
            mean_of("mean of alpha_a, from keys", from_keys.weights[:, 0], *expected_keys[:2]),
            deviation_of("deviation of alpha_a, from keys", from_keys.weights[:, 0], expected_keys),
            rate_of(
                f"share off 1/2 by {OFF:g}, from means",
                share_is_off(drawn),
                closed_form.off_probability(OFF, s, beta),
            ),
            rate_of(
                f"share off 1/2 by {OFF:g}, from keys",
                share_is_off(from_keys),
                closed_form.off_probability(OFF, s, beta, "keys"),
            ),
            mean_of("mean of lambda^2", drawn.lambdas[:, 0] ** 2, 1 + beta),
            mean_of("mean distance of the output", distances, bound, at_most=True),
        ),
        weights=floats(drawn.weights.mean(axis=0)),
        output=floats(drawn.outputs(values).mean(axis=0)),
        error=float(distances.mean()),
        bound=bound,
        settings=settings_of(keys, dim, s, of_scores, beta, samples, seed),
        remarks=(_on_average(drawn, values),),
        refuted=hardly_leans(leaning)
        or (
            f"{elsewhere:.0%} of the weight is on other values, so that the mean over resamplings is not the "
            f"average of two either (up to {LEAK:.0%} may)"
            if elsewhere > LEAK
            else ""
        ),
        picture=lambda: noise_picture(means, values, s, of_scores, seed, 2),
    )


def begin(
    keys: int,
    dim: int,
    c: float | None,
    beta: float,
    samples: int,
    seed: int,
    scale: float | None,
    strength: float,
    seconds_each: float = 1.2e-8,
) -> tuple[float, float, Array, Array, np.random.Generator]:
    """s = c * scale, the scale, means, values and chance; `seconds_each` is for a number in the keys."""
    check_sizes(
        keys=keys,
        least_keys=3,
        dim=dim,
        least_dim=keys,
        samples=samples,
        least_samples=10,
        c=c,
        beta=beta,
    )
    check_time(seconds_each * samples * keys * dim, keys, dim, samples, 10)
    chance = np.random.default_rng(seed)
    of_scores = usual_scale(dim) if scale is None else scale
    return (
        strength if c is None else c * of_scores,
        of_scores,
        orthonormal(keys, dim, chance),
        plane_values(keys),
        chance,
    )


def noise_picture(means: Array, values: Array, s: float, scale: float, seed: int, heads: int) -> NoisePicture:
    count, keys, chance = 4000, len(means), np.random.default_rng([seed, 1])
    subset = tuple(range(heads))
    one, several = [], []
    for beta in BETAS:
        noise = KeyNoise.of_norms(keys, beta)
        one.append(resample(means, noise, one_head(s / scale, subset=subset), count, chance, scale))
        several.append(resample(means, noise, a_head_each(s / scale, subset=subset), count, chance, scale))
    sweep = np.geomspace(1e-4, 1.0, 25)
    spreads = [
        [closed_form.weight_of_first(keys, s, b).deviation for b in sweep],
        [closed_form.weight_of_first(keys, s, b, "keys").deviation for b in sweep],
        [closed_form.a_head_each_weight(keys, s, b, heads).deviation for b in sweep],
    ]
    return NoisePicture(values, s, BETAS, tuple(one), tuple(several), sweep, *map(np.array, spreads))


def share_is_off(drawn: Resamplings) -> NDArray[np.bool_]:
    return np.asarray(np.abs(drawn.share - 0.5) > OFF)


def hardly_leans(part: float) -> str:
    """Why a single head does not swing, if it does not."""
    if part >= MOSTLY:
        return ""
    return f"only {part:.0%} of the samples lean by more than {OFF:g} (at least {MOSTLY:.0%} should)"


def radius(values: Array, centre: Array) -> float:
    return float(np.linalg.norm(values - centre, axis=1).max())


def floats(array: Array) -> list[float]:
    return [float(x) for x in array]


def settings_of(
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
        f"a single one {np.linalg.norm(outputs - middle, axis=1).mean():.3f} on average (v_a and v_b are "
        "1 away)."
    )
