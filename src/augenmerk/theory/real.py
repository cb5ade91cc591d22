"""Queries and keys of a real model, seen with the eyes of 1.1 to 1.3."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from augenmerk.theory.attention import Array, attention_weights, entropy
from augenmerk.theory.noise import KeyNoise
from augenmerk.theory.reach import reach, strength_needed


@dataclass(frozen=True)
class KeyView:
    """What there is to say of one key under one query."""

    norm: float
    angle: float
    """Between query and key, in degrees."""
    logit: float
    weight: float
    copyable: bool
    """Whether any query could copy its value (1.1)."""
    margin: float
    """Its distance from the hull of the other keys."""
    query_needed: float
    """How long the best query would have to be to leave no more than eps elsewhere; inf if none will do."""
    ceiling: float
    """The most weight that any query can give it."""
    noisy_mean: float
    noisy_low: float
    noisy_high: float
    """The weight when the length of each key is multiplied by N(1, beta) (1.3): mean, 5% and 95%."""

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "query_needed": None if math.isinf(self.query_needed) else self.query_needed}


@dataclass(frozen=True)
class StepView:
    """One query and all keys."""

    query_norm: float
    keys: tuple[KeyView, ...]
    logit_spread: float
    """Largest minus smallest."""
    logit_margin: float
    """Largest minus second largest."""
    evenness: float
    """Entropy of the weights, in parts of ln m."""
    key_cosine: float
    """Mean cosine between two keys: near 1, they all point the same way."""
    changes: float
    """How often another key has the largest weight when the lengths of the keys are noisy."""
    beta: float
    eps: float

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "keys": [key.as_dict() for key in self.keys]}


def examine(
    query: Array,
    keys: Array,
    scale: float,
    *,
    beta: float = 0.1,
    eps: float = 0.01,
    samples: int = 2000,
    seed: int = 1,
) -> StepView:
    """query (d), keys (m, d) with m > 1, whose products are multiplied by `scale`."""
    logits = keys @ query * scale
    weights = attention_weights(query, keys, scale)
    # A key that is lambda times as long has a logit that is lambda times as large: only these are needed.
    _, noisy_logits = KeyNoise.of_norms(len(keys), beta).sample(
        logits[:, None], samples, np.random.default_rng(seed)
    )
    noisy = attention_weights(np.ones(1), noisy_logits, 1.0)  # (N, m)
    low, high = np.quantile(noisy, [0.05, 0.95], axis=0)
    norms = np.linalg.norm(keys, axis=1)
    views = []
    for j in range(len(keys)):
        found = reach(keys, [j])
        needed = strength_needed(len(keys), 1, eps) / (scale * found.margin) if found.possible else math.inf
        cosine = logits[j] / (scale * norms[j] * np.linalg.norm(query)) if norms[j] else 0.0
        views.append(
            KeyView(
                norm=float(norms[j]),
                angle=math.degrees(math.acos(min(1.0, max(-1.0, float(cosine))))),
                logit=float(logits[j]),
                weight=float(weights[j]),
                copyable=found.possible,
                margin=found.margin,
                query_needed=needed,
                ceiling=found.ceiling,
                noisy_mean=float(noisy[:, j].mean()),
                noisy_low=float(low[j]),
                noisy_high=float(high[j]),
            )
        )
    ordered = np.sort(logits)
    unit = keys / np.where(norms, norms, 1)[:, None]
    pairs = np.triu_indices(len(keys), 1)
    return StepView(
        query_norm=float(np.linalg.norm(query)),
        keys=tuple(views),
        logit_spread=float(ordered[-1] - ordered[0]),
        logit_margin=float(ordered[-1] - ordered[-2]),
        evenness=float(entropy(weights) / math.log(len(keys))),
        key_cosine=float((unit @ unit.T)[pairs].mean()),
        changes=float((noisy.argmax(axis=1) != weights.argmax()).mean()),
        beta=beta,
        eps=eps,
    )
