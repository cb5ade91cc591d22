"""Tasks 1.3, 1.4 and 1.5 by simulation, with new keys drawn for each sample.

    k_i = lambda_i mu_i + noise,  lambda_i ~ N(1, beta_i),  noise ~ N(0, alpha I),  mu orthonormal

so that k_i ~ N(mu_i, alpha I + beta_i mu_i mu_i^T). 1.3 and 1.4 have one beta and no alpha; 1.5 has a beta of
one half for the first key, 0 for the others, and a small alpha.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory import closed_form
from augenmerk.theory.attention import Array, choose_scale, orthonormal, softmax
from augenmerk.theory.closed_form import Origin
from augenmerk.theory.results import Result, Setup, deviation_of, mean_of, plane_values, radius, rate_of

CHUNK = 4_000_000  # how many numbers in the keys are in memory at a time
OFF = 0.1  # a share that is further than this from one half counts as off
LEANING = 0.5
"""1.3 and 1.5 claim that a single head leans: it does if at least this part of the samples is off."""
MAX_LEAK = 0.05
"""1.3 claims that the mean is the average: it is if no more of the weight than this is elsewhere."""
EPS = 0.05  # a head is broken if it leaves more than this elsewhere
MAX_BROKEN = 0.2  # 1.4 and 1.5 hold if heads are broken in no more of the samples than this
LONG = 0.3  # 1.5: if the length of k_a along its mean is above this, the head of a works
PICTURE_BETAS = (0.01, 0.1, 0.5)


@dataclass(frozen=True)
class KeyNoise:
    betas: Array  # (m): the variance of each key's length along its mean
    alpha: float = 0.0  # the variance in every direction

    @classmethod
    def of_norms(cls, keys: int, beta: float) -> "KeyNoise":
        """Returns the noise of 1.3 and 1.4."""
        return cls(np.full(keys, float(beta)))

    @classmethod
    def of_first(cls, keys: int, beta: float, alpha: float) -> "KeyNoise":
        """Returns the noise of 1.5."""
        return cls(np.array([beta, *[0.0] * (keys - 1)]), alpha)

    def sample(self, means: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws lambdas (N, m) and keys (N, m, d)."""
        lambdas = 1 + rng.standard_normal((count, len(means))) * np.sqrt(self.betas)
        keys = lambdas[:, :, None] * means
        if self.alpha:
            keys += math.sqrt(self.alpha) * rng.standard_normal(keys.shape)
        return lambdas, keys


Queries = Callable[[Array, Array], Array]
"""Maps the means (m, d) and the sampled keys (N, m, d) to the queries (N, heads, d)."""


def head_per_value(c: float, origin: Origin = "means", subset: tuple[int, ...] = (0, 1)) -> Queries:
    """Returns the strategy of 1.4: for each of the subset a query, c times its mean (or its key)."""

    def queries(means: Array, keys: Array) -> Array:
        parts = keys if origin == "keys" else np.broadcast_to(means, keys.shape)
        return c * parts[:, list(subset)]

    return queries


def one_head(c: float, origin: Origin = "means", subset: tuple[int, ...] = (0, 1)) -> Queries:
    """Returns the strategy of 1.2: one query, c times the sum of the means (or the keys) of the subset."""
    summands = head_per_value(1.0, origin, subset)
    return lambda means, keys: np.asarray(c * summands(means, keys).sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Samples:
    """Attention to many draws of noisy keys."""

    lambdas: Array  # (N, m)
    logits: Array  # (N, heads, m)

    @cached_property
    def head_weights(self) -> Array:  # (N, heads, m)
        return softmax(self.logits)

    @property
    def own_weights(self) -> Array:
        """The weight (N, heads) of each head on the value that it should copy."""
        heads = range(self.logits.shape[1])
        return np.asarray(self.head_weights[:, heads, heads])

    @property
    def weights(self) -> Array:
        """The mean weights (N, m) over the heads."""
        return np.asarray(self.head_weights.mean(axis=1))

    @property
    def share(self) -> Array:
        """The part (N) of the first head's weight on the first two keys that is on the first."""
        return np.asarray(expit(self.logits[:, 0, 0] - self.logits[:, 0, 1]))

    @property
    def is_off(self) -> NDArray[np.bool_]:
        return np.asarray(np.abs(self.share - 0.5) > OFF)

    @property
    def is_broken(self) -> NDArray[np.bool_]:
        """Whether each head (N, heads) leaves too much elsewhere."""
        return self.own_weights < 1 - EPS

    def outputs(self, values: Array) -> Array:
        return np.asarray(self.weights @ values)  # (N, dv)

    def distances(self, values: Array, count: int = 2) -> Array:
        """Returns the distance (N) of each output from the average of the first values."""
        return np.asarray(np.linalg.norm(self.outputs(values) - values[:count].mean(axis=0), axis=1))


def resample(
    means: Array,
    noise: KeyNoise,
    queries: Queries,
    count: int,
    rng: np.random.Generator,
    scale: float | None = None,
) -> Samples:
    """Draws noisy keys `count` times and attends to them."""
    lambdas, logits = [], []
    for size in chunk_sizes(count, means.size):
        drawn, keys = noise.sample(means, size, rng)
        lambdas.append(drawn)
        products = np.einsum("nhd,nmd->nhm", queries(means, keys), keys)
        logits.append(products * choose_scale(scale, means.shape[1]))
    return Samples(np.concatenate(lambdas), np.concatenate(logits))


def chunk_sizes(count: int, numbers_each: int) -> Iterator[int]:
    """Yields how many samples to draw at a time."""
    most = max(1, CHUNK // numbers_each)
    for start in range(0, count, most):
        yield min(most, count - start)


class _Experiment:
    """Orthonormal means, values in the plane, and the size c of the query; s = c * scale."""

    def __init__(self, setup: Setup, usual_s: float, seconds_per_number: float) -> None:
        """Takes s unless the setup has c, and the time for a number of a key, all resamplings together."""
        seconds = 3e-6 + setup.keys * setup.dim * seconds_per_number
        setup.check(least=(3, setup.keys, 10), sample_seconds=seconds)
        self.setup, self.rng = setup, np.random.default_rng(setup.seed)
        self.means, self.values = orthonormal(setup.keys, setup.dim, self.rng), plane_values(setup.keys)
        self.c = usual_s / setup.scale if setup.c is None else setup.c
        self.s = self.c * setup.scale

    def resample(self, noise: KeyNoise, queries: Queries) -> Samples:
        return resample(self.means, noise, queries, self.setup.samples, self.rng, self.setup.scale)

    def describe(self, drawn: Samples, distances: Array, bound: float, **own: float) -> dict[str, Any]:
        """Returns what a result has of samples, with the distances of their outputs from the average."""
        numbers = {"c": self.c, "s": self.s, "beta": self.setup.beta, "scale": self.setup.scale, **own}
        return {
            **{"weights": drawn.weights.mean(axis=0), "output": drawn.outputs(self.values).mean(axis=0)},
            **{"error": float(distances.mean()), "bound": bound, "settings": self.setup.to_dict(**numbers)},
        }


def run_noisy_average(setup: Setup) -> Result:
    """Runs 1.3: the strategy of 1.2 on keys of random length."""
    run, keys, beta = _Experiment(setup, 10.0, 3e-8), setup.keys, setup.beta
    s, values, noise = run.s, run.values, KeyNoise.of_norms(keys, beta)
    drawn = run.resample(noise, one_head(run.c))
    from_keys = run.resample(noise, one_head(run.c, "keys"))
    distances, outputs = drawn.distances(values), drawn.outputs(values)
    middle = values[:2].mean(axis=0)
    expected = closed_form.weight_of_first(keys, s, beta)
    expected_keys = closed_form.weight_of_first(keys, s, beta, "keys")
    off, off_keys = (closed_form.off_probability(OFF, s, beta, origin) for origin in ("means", "keys"))
    lean = float(np.linalg.norm(values[0] - values[1])) / 2 * closed_form.mean_lean(s, beta)
    bound = lean + (1 - 2 * expected.mean) * radius(values, middle)
    elsewhere = float(1 - drawn.weights[:, :2].sum(axis=1).mean())
    leak = (
        f"{elsewhere:.0%} of the weight is on other values, so that the mean over resamplings is not the "
        f"average of two either (up to {MAX_LEAK:.0%} may)"
    )
    return Result(
        construction=f"q = c (mu_a + mu_b), or c (k_a + k_b); c = {run.c:.1f} (s = {s:.2f}), beta = {beta:g}",
        measures=(
            mean_of("mean of alpha_a, from means", drawn.weights[:, 0], *expected[:2]),
            deviation_of("deviation of alpha_a, from means", drawn.weights[:, 0], expected),
            mean_of("mean of alpha_a, from keys", from_keys.weights[:, 0], *expected_keys[:2]),
            deviation_of("deviation of alpha_a, from keys", from_keys.weights[:, 0], expected_keys),
            rate_of(f"share off 1/2 by {OFF:g}, from means", drawn.is_off, off),
            rate_of(f"share off 1/2 by {OFF:g}, from keys", from_keys.is_off, off_keys),
            mean_of("mean of lambda^2", drawn.lambdas[:, 0] ** 2, 1 + beta),
            mean_of("mean distance of the output", distances, bound, relation="at most"),
        ),
        **run.describe(drawn, distances, bound),
        remarks=(
            f"The mean output is {np.linalg.norm(outputs.mean(axis=0) - middle):.3f} away from "
            f"(v_a + v_b)/2, a single one {distances.mean():.3f} on average (v_a and v_b are 1 away).",
        ),
        refuted=_refute_leaning(drawn) or (leak if elsewhere > MAX_LEAK else ""),
        picture=lambda: (keys, s, *_sample_for_picture(run, one_head(run.c), one_head(run.c, "keys"))),
    )


def run_several_heads(setup: Setup) -> Result:
    """Runs 1.4: a head for each of several values, on the same keys."""
    keys, beta, heads = setup.keys, setup.beta, setup.heads
    run = _Experiment(setup, 20.0, 6e-8 + 1e-9 * heads)
    if not 2 <= heads <= keys:
        raise AugenmerkError(f"--heads {heads} is impossible: there can be 2 to {keys}, one for each key.")
    s, values, noise, subset = run.s, run.values, KeyNoise.of_norms(keys, beta), tuple(range(heads))
    one = run.resample(noise, one_head(run.c, subset=subset))
    drawn = run.resample(noise, head_per_value(run.c, subset=subset))
    from_keys = run.resample(noise, head_per_value(run.c, "keys", subset))
    distances = drawn.distances(values, heads)
    of_two = closed_form.weight_of_first(keys, s, beta)
    expected = closed_form.head_per_value_weight(keys, s, beta, heads)
    breaks, breaks_keys = (closed_form.head_breaks(keys, s, beta, EPS, o) for o in ("means", "keys"))
    negative = closed_form.head_breaks(2, math.inf, beta, 0.5)  # P(lambda <= 0)
    lost = 1 - closed_form.head_weight(keys, s, beta).mean
    bound = lost * float(np.mean([radius(values, v) for v in values[:heads]]))
    alone = [deviation_of("deviation of alpha_a, one head", one.weights[:, 0], of_two)] * (heads == 2)
    return Result(
        construction=f"q_i = c mu_i, c = {run.c:.1f} (s = {s:.2f}), {heads} heads, beta = {beta:g}",
        measures=(
            *alone,
            mean_of("mean of the weight on v_a, a head each", drawn.weights[:, 0], *expected[:2]),
            deviation_of("deviation of it", drawn.weights[:, 0], expected),
            rate_of(f"a head leaves over {EPS:g} elsewhere", drawn.is_broken[:, 0], breaks),
            rate_of("any of the heads does", np.any(drawn.is_broken, axis=1), 1 - (1 - breaks) ** heads),
            rate_of("lambda_a <= 0: no scale helps", drawn.lambdas[:, 0] <= 0, negative),
            rate_of("a head c k_a does, instead of c mu_a", from_keys.is_broken[:, 0], breaks_keys),
            mean_of("mean distance of the output", distances, bound, relation="at most"),
        ),
        **run.describe(drawn, distances, bound, heads=heads),
        remarks=(
            f"The output of one head is {one.distances(values, heads).mean():.3f} away from the average on "
            f"average, that of {heads} heads {distances.mean():.3f}.",
        ),
        refuted=_refute_heads(drawn),
        picture=lambda: (
            values,
            *_sample_for_picture(run, one_head(run.c, subset=subset), head_per_value(run.c, subset=subset)),
        ),
    )


def run_noisy_direction(setup: Setup) -> Result:
    """Runs 1.5: the length of one key varies, and every key has a little noise in every direction."""
    run, keys, beta, alpha = _Experiment(setup, 20.0, 6e-8), setup.keys, setup.beta, setup.alpha
    s, values, noise = run.s, run.values, KeyNoise.of_first(keys, beta, alpha)
    one = run.resample(noise, one_head(run.c))
    two = run.resample(noise, head_per_value(run.c))
    from_keys = run.resample(noise, one_head(run.c, "keys"))
    distances = two.distances(values)
    share = closed_form.share_of_first(s, beta, 0.0, alpha)
    off = closed_form.off_probability(OFF, 1.0, s**2 * (beta + 4 * alpha) / 2)
    off_keys = closed_form.off_probability_of_first(OFF, s, beta)
    breaks = closed_form.head_breaks(keys, s, beta + alpha, EPS)
    negative = closed_form.head_breaks(2, math.inf, beta, 0.5)  # P(lambda <= 0)
    floors = [closed_form.head_weight_floor(keys, s, b, alpha) for b in (beta, 0.0)]
    bound = sum((1 - floor) * radius(values, v) / 2 for floor, v in zip(floors, values[:2], strict=True))
    # There is a closed form only if the noise in the other directions can be neglected.
    in_the_limit = (
        rate_of(f"... with q = c (k_a + k_b), by {OFF:g}", from_keys.is_off, off_keys),
        rate_of(f"head a leaves over {EPS:g} elsewhere", two.is_broken[:, 0], breaks),
    )
    long = two.lambdas[:, 0] > LONG
    return Result(
        construction=f"one head q = c (mu_a + mu_b); two heads c mu_a, c mu_b; c = {run.c:.1f} (s = "
        f"{s:.2f}), beta = {beta:g}, alpha = {alpha:g}",
        measures=(
            deviation_of("deviation of the share of a, one head", one.share, share),
            rate_of(f"share off 1/2 by {OFF:g}, one head", one.is_off, off),
            *(in_the_limit if s**2 * alpha * setup.dim < 0.05 else ()),
            mean_of("mean weight of head b on v_b", two.own_weights[:, 1], floors[1], relation="at least"),
            rate_of("lambda_a <= 0: no scale helps", two.lambdas[:, 0] <= 0, negative),
            mean_of("mean distance of the output, two heads", distances, bound, relation="at most"),
        ),
        **run.describe(two, distances, bound, alpha=alpha),
        remarks=(
            f"The output of one head is {one.distances(values).mean():.3f} away from the average on average, "
            f"that of two heads {distances.mean():.3f}; where lambda_a is above {LONG:g}, as in "
            f"{long.mean():.0%} of the samples, {distances[long].mean() if long.any() else 0:.3f}.",
        ),
        refuted=_refute_leaning(one) or _refute_heads(two),
        picture=lambda: (values, one, two),
    )


def _refute_leaning(drawn: Samples) -> str:
    part = float(drawn.is_off.mean())
    if part >= LEANING:
        return ""
    return f"only {part:.0%} of the samples lean by more than {OFF:g} (at least {LEANING:.0%} should)"


def _refute_heads(drawn: Samples) -> str:
    part = float(drawn.is_broken.any(axis=1).mean())
    if part <= MAX_BROKEN:
        return ""
    return (
        f"a head leaves over {EPS:g} elsewhere in {part:.0%} of the samples, where lambda is too small for s "
        f"(up to {MAX_BROKEN:.0%} may)"
    )


def _sample_for_picture(run: _Experiment, *strategies: Queries) -> list[list[Samples]]:
    """Returns for each of the strategies samples for each of PICTURE_BETAS."""
    rng, drawn = np.random.default_rng([run.setup.seed, 1]), [list[Samples]() for _ in strategies]
    for beta in PICTURE_BETAS:
        noise = KeyNoise.of_norms(run.setup.keys, beta)
        for samples, queries in zip(drawn, strategies, strict=True):
            samples.append(resample(run.means, noise, queries, 4000, rng, run.setup.scale))
    return drawn
