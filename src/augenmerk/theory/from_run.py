"""Applies tasks 1.1 to 1.3 to one query and the keys of a trained model, given as numbers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from augenmerk.theory.attention import Array, attention_weights, entropy
from augenmerk.theory.copying import reach, strength_needed
from augenmerk.theory.noise import KeyNoise
from augenmerk.theory.results import Setup


@dataclass(frozen=True)
class KeyReport:
    """Describes one key under one query."""

    norm: float
    angle: float  # the angle between query and key, in degrees
    logit: float
    weight: float
    copyable: bool  # whether any query could copy the value of this key (1.1)
    margin: float  # the distance from the hull of the other keys
    query_needed: float
    """The length at which the best query leaves no more than eps elsewhere; inf if there is none."""
    ceiling: float  # the largest weight that any query can give this key
    noisy_mean: float
    noisy_low: float
    noisy_high: float
    """Mean, 5% and 95% of the weight if the length of each key is multiplied by N(1, beta) (1.3)."""

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "query_needed": None if math.isinf(self.query_needed) else self.query_needed}


@dataclass(frozen=True)
class StepReport:
    """Describes one query, by which one token was produced, and all keys."""

    query_norm: float
    keys: tuple[KeyReport, ...]
    logit_spread: float  # the largest logit minus the smallest
    logit_margin: float  # the largest logit minus the second largest
    evenness: float  # the entropy of the weights, in units of ln m
    key_cosine: float  # the mean cosine between two keys: near 1 if all point the same way
    changes: float  # how often another key has the largest weight if the lengths of the keys are noisy
    beta: float
    eps: float

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "keys": [key.to_dict() for key in self.keys]}


def examine_step(query: Array, keys: Array, scale: float, setup: Setup) -> StepReport:
    """Examines a query (d) and keys (m, d), m > 1, whose products are multiplied by `scale`.

    Reads eps, beta, samples and seed of the setup.
    """
    setup.check(least=(0, 0, 1), sample_seconds=1e-6)
    logits = keys @ query * scale
    weights = attention_weights(query, keys, scale)
    # A key that is lambda times as long has a logit that is lambda times as large: only logits are drawn.
    rng = np.random.default_rng(setup.seed)
    _, noisy_logits = KeyNoise.of_norms(len(keys), setup.beta).sample(logits[:, None], setup.samples, rng)
    noisy = attention_weights(np.ones(1), noisy_logits, 1.0)  # (N, m)
    low, high = np.quantile(noisy, [0.05, 0.95], axis=0)
    norms, query_norm = np.linalg.norm(keys, axis=1), float(np.linalg.norm(query))
    cosines = np.clip(keys @ query / np.where(norms, norms * query_norm, 1), -1, 1)
    strength = strength_needed(len(keys), 1, setup.eps)
    reports = []
    for j, found in enumerate(reach(keys, [j]) for j in range(len(keys))):
        needed = strength / (scale * found.margin) if found.possible else math.inf
        seen = float(norms[j]), math.degrees(math.acos(cosines[j])), float(logits[j]), float(weights[j])
        noise = float(noisy[:, j].mean()), float(low[j]), float(high[j])
        reports.append(KeyReport(*seen, found.possible, found.margin, needed, found.ceiling, *noise))
    ordered = np.sort(logits)
    unit = keys / np.where(norms, norms, 1)[:, None]
    pairs = np.triu_indices(len(keys), 1)
    return StepReport(
        query_norm=query_norm,
        keys=tuple(reports),
        logit_spread=float(ordered[-1] - ordered[0]),
        logit_margin=float(ordered[-1] - ordered[-2]),
        evenness=float(entropy(weights) / math.log(len(keys))),
        key_cosine=float((unit @ unit.T)[pairs].mean()),
        changes=float((noisy.argmax(axis=1) != weights.argmax()).mean()),
        beta=setup.beta,
        eps=setup.eps,
    )
