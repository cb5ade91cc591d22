"""Why 1/sqrt(d): without it logits grow with the dimension, the softmax saturates, its gradient vanishes.

For queries and keys with independent entries of variance 1, Var(q . k) = d; times a scale, d scale^2.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from augenmerk.theory.attention import Array, attend, choose_scale, entropy, softmax
from augenmerk.theory.noise import chunk_sizes
from augenmerk.theory.results import Measurement, Result, Setup, mean_of, plane_values

DIMENSIONS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
EXPECTED_SAMPLES = 20_000


@dataclass(frozen=True)
class Saturation:
    """The attention of random queries, each to m random keys; arrays have a number for each query."""

    dimension: int
    scale: float
    logit_variance: float
    logit_variance_error: float  # its standard error
    evenness: (
        Array  # the entropy in units of ln m: 1 if the weights are even, 0 if one key has all the weight
    )
    gradients: Array
    """1 - sum alpha_i^2, the trace of d alpha / d logits: how much the weights still depend on the logits."""
    largest: float  # the mean of the largest weights

    @property
    def gradient(self) -> float:
        return float(self.gradients.mean())


def saturation(
    keys: int, dimension: int, samples: int, rng: np.random.Generator, scale: float | None = None
) -> Saturation:
    """Measures `samples` random queries, each with other random keys; `scale` is as in `attend`."""
    scale = choose_scale(scale, dimension)
    products = []
    for size in chunk_sizes(samples, keys * dimension):
        queries = rng.standard_normal((size, dimension))
        products.append(np.einsum("nd,nmd->nm", queries, rng.standard_normal((size, keys, dimension))))
    logits = np.concatenate(products) * scale
    # The exact variance of the mean of m squared logits |q| scale g_i, which share |q|.
    variance_of_variances = scale**4 * (2 * dimension + (dimension**2 + 2 * dimension) * 2 / keys)
    return Saturation(
        dimension,
        scale,
        # The true mean is 0. Logits of one sample share a query, so only the samples are independent.
        float((logits**2).mean(axis=1).mean()),
        math.sqrt(variance_of_variances / samples),
        *_evenness_and_gradients(weights := softmax(logits)),
        float(weights.max(axis=1).mean()),
    )


def _evenness_and_gradients(weights: Array) -> tuple[Array, Array]:
    return entropy(weights) / np.log(weights.shape[1]), 1 - (weights**2).sum(axis=1)


def expected_saturation(
    keys: int, dimension: int, scale: float, samples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Returns entropies (in units of ln m) and gradients of logits that are drawn without queries and keys.

    Given the query, logits are independent and N(0, |q|^2 scale^2), and |q|^2 is chi-squared with d degrees.
    """
    deviations = scale * np.sqrt(rng.chisquare(dimension, size=(samples, 1)))
    return _evenness_and_gradients(softmax(deviations * rng.standard_normal((samples, keys))))


def run_scaling(setup: Setup) -> Result:
    """Compares logits and weights with and without 1/sqrt(d), for dimensions up to that of the setup."""
    keys, dim, samples = setup.keys, setup.dim, setup.samples
    dimensions = [*(d for d in DIMENSIONS if d < dim), dim]
    setup.check(least=(2, 1, 10), sample_seconds=1e-6 + 6e-8 * keys * sum(dimensions))
    rng = np.random.default_rng(setup.seed)
    scaled = [saturation(keys, d, samples, rng) for d in dimensions]
    unscaled = [saturation(keys, d, samples, rng, 1.0) for d in dimensions]
    query, points = rng.standard_normal(dim), rng.standard_normal((keys, dim))
    weights, output = attend(query, points, plane_values(keys))
    last, last_unscaled = scaled[-1], unscaled[-1]
    form = f"variance of a logit, d = {dim}"
    still = (
        f"in {dim} dimensions the gradient without it is still {last_unscaled.gradient:.2f}, with it "
        f"{last.gradient:.2f} (less than half should be left)"
    )
    return Result(
        construction=f"{samples} random queries with {keys} random keys each, in {dimensions[0]} to {dim} "
        "dimensions",
        measures=(
            *(
                Measurement(f"{form}, {name}", each.logit_variance, expected, error=each.logit_variance_error)
                for name, each, expected in (("with", last, 1.0), ("without", last_unscaled, float(dim)))
            ),
            *_compare_with_normal_logits(last, "with", setup, rng),
            *_compare_with_normal_logits(last_unscaled, "without", setup, rng),
        ),
        weights=weights,
        output=output,
        error=abs(last.logit_variance - 1),
        bound=4 * last.logit_variance_error,
        settings=setup.to_dict(),
        remarks=(
            f"Without it the largest weight is {unscaled[0].largest:.3f} at d = {dimensions[0]} and "
            f"{last_unscaled.largest:.3f} at d = {dim}; with it {scaled[0].largest:.3f} and "
            f"{last.largest:.3f}.",
        ),
        refuted="" if last_unscaled.gradient <= last.gradient / 2 else still,
        picture=lambda: (scaled, unscaled, keys),
    )


def _compare_with_normal_logits(
    measured: Saturation, form: str, setup: Setup, rng: np.random.Generator
) -> Iterator[Measurement]:
    """Compares entropy and gradient with those of independent normal logits."""
    drawn = expected_saturation(setup.keys, measured.dimension, measured.scale, EXPECTED_SAMPLES, rng)
    names = f"evenness (entropy / ln m), {form}", f"gradient 1 - sum alpha^2, {form}"
    for name, samples, expected in zip(names, (measured.evenness, measured.gradients), drawn, strict=True):
        deviation = float(expected.std())
        measure = mean_of(name, samples, float(expected.mean()), deviation)
        error = math.hypot(measure.error, deviation / math.sqrt(EXPECTED_SAMPLES))
        yield replace(measure, error=error)
