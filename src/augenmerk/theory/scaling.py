"""Why 1/sqrt(d): without it logits grow with the dimension, the softmax saturates, its gradient vanishes.

For queries and keys with independent entries of variance 1, Var(q . k) = d; times a scale, d scale^2.
"""

import math
from dataclasses import dataclass

import numpy as np

from augenmerk.theory.attention import Array, attend, choose_scale, entropy, softmax
from augenmerk.theory.noise import chunk_sizes
from augenmerk.theory.results import Measurement, Result, Setup, plane_values

DIMENSIONS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
EXPECTED_SAMPLES = 20_000


@dataclass(frozen=True)
class Saturation:
    """Statistics of the attention of random queries to m random keys: means over samples and their errors."""

    dimension: int
    scale: float
    logit_variance: float
    logit_variance_error: float
    expected_logit_variance: float
    entropy: float  # in units of ln m: 1 if the weights are even, 0 if one key has all the weight
    entropy_error: float
    gradient: float
    """1 - sum alpha_i^2, the trace of d alpha / d logits: how much the weights still depend on the logits."""
    gradient_error: float
    largest: float  # the largest weight


def saturation(
    keys: int, dimension: int, samples: int, rng: np.random.Generator, scale: float | None = None
) -> Saturation:
    """Measures `samples` random queries, each with random keys of its own; `scale` is as in `attend`."""
    scale = choose_scale(scale, dimension)
    products = []
    for size in chunk_sizes(samples, keys * dimension):
        queries = rng.standard_normal((size, dimension))
        products.append(np.einsum("nd,nmd->nm", queries, rng.standard_normal((size, keys, dimension))))
    logits = np.concatenate(products) * scale
    weights = softmax(logits)
    # The true mean is 0. Logits of one sample share a query, so only the samples are independent.
    variances = (logits**2).mean(axis=1)
    evenness = entropy(weights) / np.log(keys)
    gradients = 1 - (weights**2).sum(axis=1)
    # The exact variance of the mean of m squared logits |q| scale g_i, which share |q|.
    variance_of_variances = scale**4 * (2 * dimension + (dimension**2 + 2 * dimension) * 2 / keys)
    return Saturation(
        dimension=dimension,
        scale=scale,
        logit_variance=float(variances.mean()),
        logit_variance_error=math.sqrt(variance_of_variances / samples),
        expected_logit_variance=dimension * scale**2,
        entropy=float(evenness.mean()),
        entropy_error=_error(evenness),
        gradient=float(gradients.mean()),
        gradient_error=_error(gradients),
        largest=float(weights.max(axis=1).mean()),
    )


def expected_saturation(
    keys: int, dimension: int, scale: float, samples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Returns entropies (in units of ln m) and gradients of logits that are drawn without queries and keys.

    Given the query, logits are independent and N(0, |q|^2 scale^2), and |q|^2 is chi-squared with d degrees.
    """
    deviations = scale * np.sqrt(rng.chisquare(dimension, size=(samples, 1)))
    weights = softmax(deviations * rng.standard_normal((samples, keys)))
    return entropy(weights) / np.log(keys), 1 - (weights**2).sum(axis=1)


def _error(samples: Array) -> float:
    """Returns the standard error of the mean."""
    return float(samples.std(ddof=1) / np.sqrt(len(samples)))


def run_scaling(setup: Setup) -> Result:
    """Compares logits and weights with and without 1/sqrt(d), for dimensions up to that of the setup."""
    numbers = 2 * setup.keys * (setup.dim + sum(d for d in DIMENSIONS if d < setup.dim))
    setup.check(least=(2, 1, 10), sample_seconds=1e-6 + 3e-8 * numbers)
    keys, dim, samples = setup.keys, setup.dim, setup.samples
    dimensions = [*(d for d in DIMENSIONS if d < dim), dim]
    rng = np.random.default_rng(setup.seed)
    scaled = [saturation(keys, d, samples, rng) for d in dimensions]
    unscaled = [saturation(keys, d, samples, rng, 1.0) for d in dimensions]
    query, points = rng.standard_normal(dim), rng.standard_normal((keys, dim))
    weights, output = attend(query, points, plane_values(keys))
    last, last_unscaled = scaled[-1], unscaled[-1]
    still = (
        f"in {dim} dimensions the gradient without it is still {last_unscaled.gradient:.2f}, with it "
        f"{last.gradient:.2f} (less than half should be left)"
    )
    return Result(
        construction=f"{samples} random queries with {keys} random keys each, in {dimensions[0]} to {dim} "
        "dimensions",
        measures=(
            *(
                Measurement(
                    f"variance of a logit, d = {dim}, {form}",
                    each.logit_variance,
                    expected,
                    each.logit_variance_error,
                )
                for form, each, expected in (("with", last, 1.0), ("without", last_unscaled, float(dim)))
            ),
            *_compare_with_normal_logits(last, "with", setup, rng),
            *_compare_with_normal_logits(last_unscaled, "without", setup, rng),
        ),
        weights=weights,
        output=output,
        error=abs(last.logit_variance - 1),
        bound=4 * last.logit_variance_error,
        settings=setup.as_dict(),
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
) -> list[Measurement]:
    """Compares entropy and gradient with those of independent normal logits."""
    drawn = expected_saturation(setup.keys, measured.dimension, measured.scale, EXPECTED_SAMPLES, rng)
    measures = []
    for name, value, error, expected in (
        (f"evenness (entropy / ln m), {form}", measured.entropy, measured.entropy_error, drawn[0]),
        (f"gradient 1 - sum alpha^2, {form}", measured.gradient, measured.gradient_error, drawn[1]),
    ):
        # The error of few samples is itself uncertain: that of the many replaces it if it is larger.
        deviation = float(expected.std())
        error = max(error, deviation / math.sqrt(setup.samples))
        error = math.hypot(error, deviation / math.sqrt(EXPECTED_SAMPLES))
        measures.append(Measurement(name, value, float(expected.mean()), error))
    return measures
