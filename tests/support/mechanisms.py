"""Which mechanisms a test tries: all of them only where that is cheap."""

CLASSIC = ("none", "mean", "scaled-dot", "dot", "bilinear", "additive", "multi-head")
TRIED = (*CLASSIC, "sparsemax", "monotonic", "coverage")
"""With one that has exact zeros, and two that remember."""
