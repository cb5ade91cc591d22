"""The figures of the theory lab: `draw` finds the right one for a finding."""

from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.figure import Figure

from augenmerk.figures import Theme, use_theme
from augenmerk.theory.drawing_noise import draw_heads, draw_lean, draw_swing
from augenmerk.theory.drawing_reach import draw_averaging, draw_copying
from augenmerk.theory.drawing_self import draw_projections, draw_scaling, draw_self
from augenmerk.theory.findings import Finding

_BY_TASK: Mapping[str, Callable[[Any, Theme], Figure]] = {
    "1.1": draw_copying,
    "1.2": draw_averaging,
    "1.3": draw_lean,
    "1.4": draw_heads,
    "1.5": draw_swing,
    "1.6": draw_self,
    "1.7": draw_projections,
    "scaling": draw_scaling,
}


def draw(finding: Finding, theme: Theme) -> Figure:
    with use_theme(theme, formulas=True):
        return _BY_TASK[finding.task](finding.picture(), theme)
