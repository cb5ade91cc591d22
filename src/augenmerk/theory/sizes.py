"""Sizes that an experiment can work with; others get a sentence."""

import math

from augenmerk.errors import AugenmerkError

MOST_NUMBERS = 4_000_000
"""In the keys of one instance."""
MOST_SAMPLES = 1_000_000
LARGEST_C = 1e9
"""Beyond, the rounding of the logits may decide."""
LONGEST = 20.0
"""Seconds that an experiment may take, by a rough estimate: nobody should wait without knowing for what."""


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
    if c is not None and not 0 < c <= LARGEST_C:
        raise AugenmerkError(f"--scale {c:g} is impossible: choose one above 0, up to {LARGEST_C:g}.")
    for name, variance in variances.items():
        if not 0 <= variance < math.inf:
            raise AugenmerkError(f"--{name} {variance:g} is no variance: it must be 0 or more.")


def check_time(seconds: float, keys: int, dim: int, samples: int, least_samples: int = 1) -> None:
    """Refuses what would take too long, and says what would not; `seconds` is an estimate for one core."""
    if seconds <= LONGEST:
        return
    enough = int(samples * LONGEST / seconds)
    digits = 10 ** max(0, len(str(enough)) - 1)
    instead = (
        f"up to {enough // digits * digits:,} samples are"
        if enough >= least_samples
        else "fewer keys or dimensions are"
    )
    raise AugenmerkError(
        f"--keys {keys} --dim {dim} --samples {samples} would take about {_spoken(seconds)}, too long for "
        f"the lab; {instead} done in {LONGEST:g} seconds."
    )


def _spoken(seconds: float) -> str:
    for limit, unit in ((3600, "hours"), (60, "minutes")):
        if seconds > 2 * limit:
            return f"{seconds / limit:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


def seconds_to_reach(keys: int, dim: int) -> float:
    """What `reach` takes for one key: a linear programme over the span of the keys."""
    return 1.3e-3 + 1.5e-8 * keys**2 * min(keys, dim)
