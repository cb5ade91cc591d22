"""The experiments behind `augenmerk theory`, by the names of their tasks."""

from collections.abc import Callable, Mapping

from augenmerk.theory.copying import run_averaging, run_copying
from augenmerk.theory.noise import run_noisy_average, run_noisy_direction, run_several_heads
from augenmerk.theory.results import Result, Setup
from augenmerk.theory.scaling import run_scaling
from augenmerk.theory.self_attention import run_with_projections, run_without_projections

EXPERIMENTS: Mapping[str, Callable[[Setup], Result]] = {
    **{"1.1": run_copying, "1.2": run_averaging},
    **{"1.3": run_noisy_average, "1.4": run_several_heads, "1.5": run_noisy_direction},
    **{"1.6": run_without_projections, "1.7": run_with_projections, "scaling": run_scaling},
}
