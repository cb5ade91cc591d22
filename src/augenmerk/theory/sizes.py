"""Sizes that an experiment can work with; others get a sentence."""

import math

from augenmerk.errors import AugenmerkError

MOST_NUMBERS = 4_000_000
"""In the keys of one instance."""
MOST_SAMPLES = 1_000_000


def check_sizes(
    *,
    keys: int,
    least_keys: int,
    dim: int,
    least_dim: int,
    samples: int,
    least_samples: int = 1,
    c: float | None = None,
    **variances: float,
) -> None:
    """Refuses what cannot be, naming the flag."""
    for flag, value, least in (
        ("--keys", keys, least_keys),
        ("--dim", dim, least_dim),
        ("--samples", samples, least_samples),
    ):
        if value < least:
            reason = " (one direction for each)" if flag == "--dim" and least > 1 else ""
            raise AugenmerkError(f"{flag} {value} is too small: this task needs {least} or more{reason}.")
    if keys * dim > MOST_NUMBERS or samples > MOST_SAMPLES:
        raise AugenmerkError(
            f"--keys {keys} --dim {dim} --samples {samples} is too large for the lab: keys times dim may "
            f"be up to {MOST_NUMBERS:,}, samples up to {MOST_SAMPLES:,}."
        )
    if c is not None and not 0 < c < 1e100:
        raise AugenmerkError(f"--scale {c:g} is impossible: it is a positive number.")
    for name, variance in variances.items():
        if not 0 <= variance < math.inf:
            raise AugenmerkError(f"--{name} {variance:g} is no variance: it must be 0 or more.")
