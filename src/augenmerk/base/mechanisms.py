"""The attention mechanisms that come with Augenmerk. This table is the only place that lists them.

Settings, help, error messages, studies, both engines and exported pages read it. To add a mechanism, write
its class and add an entry: CONTRIBUTING.md has an example. Classes are imported when they are first used.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Where the code of a mechanism, or of an architecture, is. Classes are named MODULE:CLASS."""

    torch_class: str
    """The class that is trained."""
    numpy_class: str | None = None
    """The same for translating on a CPU without torch. If there is none, torch translates."""
    in_browser: bool = False
    """Whether `web/engine` has it too, so that a run can be exported as a page."""


@dataclass(frozen=True, kw_only=True)
class Mechanism(Entry):
    """What the package needs to know about a mechanism."""

    has_heads: bool = False
    """Whether it has several heads, `model.heads`."""


def _everywhere(name: str, *, has_heads: bool = False) -> Mechanism:
    return Mechanism(
        torch_class=f"augenmerk.model.attention:{name}",
        numpy_class=f"augenmerk.inference.attention:{name}",
        in_browser=True,
        has_heads=has_heads,
    )


MECHANISMS: dict[str, Mechanism] = {
    "none": _everywhere("NoAttention"),
    "mean": _everywhere("MeanAttention"),
    "scaled-dot": _everywhere("ScaledDotAttention"),
    "dot": _everywhere("DotAttention"),
    "bilinear": _everywhere("BilinearAttention"),
    "additive": _everywhere("AdditiveAttention"),
    "multi-head": _everywhere("MultiHeadAttention", has_heads=True),
}
"""Every mechanism by its name in the settings; custom ones, in the user's files, are not among them."""
