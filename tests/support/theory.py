"""What the theory pages compute in closed form, by Python."""

import math

import numpy as np

from augenmerk.theory import closed_form
from augenmerk.theory.attention import Array


def output_moments(
    values: Array, strengths: Array, betas: tuple[float, float], origin: closed_form.Origin = "means"
) -> tuple[Array, Array]:
    """Returns the mean (dv) and the covariance (dv, dv) of the mean output of heads, for values (m, dv).

    The query of each head lies in the plane of mu_a and mu_b: `strengths` (heads, 2) has its s_a and s_b, so
    that the logits are s_a lambda_a and s_b lambda_b, or with the squares of the lambdas for queries from the
    keys, and 0 for all others. `betas` are the variances of lambda_a and lambda_b.
    """
    lambdas, weights = [], []
    for beta, steepest in zip(betas, np.abs(strengths).max(axis=0), strict=True):
        logits, slope = closed_form._logits_of_noise(1.0, beta, origin)
        x, w = (
            closed_form._nodes(max(1.0, steepest * slope * math.sqrt(beta)))
            if beta
            else (np.zeros(1), np.ones(1))
        )
        lambdas.append(logits(x * math.sqrt(beta)))  # or their squares
        weights.append(w)
    outputs = np.zeros((len(lambdas[0]), len(lambdas[1]), values.shape[1]))
    for s_a, s_b in strengths:
        logits_of_two = np.broadcast_arrays(s_a * lambdas[0][:, None], s_b * lambdas[1])
        z = np.stack([*logits_of_two, np.zeros(logits_of_two[0].shape)], axis=-1)
        exponentials = np.exp(z - z.max(axis=-1, keepdims=True)) * [1, 1, len(values) - 2]
        beside = values[2:].mean(axis=0) if len(values) > 2 else np.zeros(values.shape[1])
        shares = exponentials / exponentials.sum(axis=-1, keepdims=True)
        outputs += shares @ np.stack([values[0], values[1], beside]) / len(strengths)
    density = np.outer(*weights)[..., None]
    mean = (density * outputs).sum(axis=(0, 1))
    apart = (outputs - mean).reshape(-1, values.shape[1])
    return mean, np.asarray((apart * density.reshape(-1, 1)).T @ apart)
