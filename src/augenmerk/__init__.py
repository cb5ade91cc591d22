"""Augenmerk: attention in sequence-to-sequence models, to learn, to teach and to research.

    import augenmerk as am

The names below are the public ones. Each is imported when it is first used, so that `import augenmerk`
and `augenmerk --help` do not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from augenmerk import bench, data, lab, serve, theory
    from augenmerk.api.diagram import diagram
    from augenmerk.api.looking import faithfulness, patterns
    from augenmerk.api.probe import probe
    from augenmerk.api.run import Run, curves, open_run
    from augenmerk.api.score import score
    from augenmerk.api.settings import list_settings, settings
    from augenmerk.api.train import train
    from augenmerk.assignment.session import assignment
    from augenmerk.base.errors import AugenmerkError
    from augenmerk.data import Bitext, SentencePair, open_bitext
    from augenmerk.evaluation.evaluate import Scores, evaluate
    from augenmerk.mechanisms import Mechanism
    from augenmerk.mechanisms.custom import load_mechanism
    from augenmerk.model.attention import Attention, Dummy, MeanPool, SingleQueryScaledDotProductAttention
    from augenmerk.study.demo import demo
    from augenmerk.study.session import StudyResults, list_studies, study
    from augenmerk.translation import Translation, Translator, load
    from augenmerk.web.export import export
    from augenmerk.web.notebook import show

_HOME = {
    **dict.fromkeys(("Run", "curves", "open_run"), "augenmerk.api.run"),
    **dict.fromkeys(("faithfulness", "patterns"), "augenmerk.api.looking"),
    **{name: f"augenmerk.api.{name}" for name in ("diagram", "probe", "score", "train")},
    **dict.fromkeys(("list_settings", "settings"), "augenmerk.api.settings"),
    "AugenmerkError": "augenmerk.base.errors",
    **dict.fromkeys(("Bitext", "SentencePair", "open_bitext"), "augenmerk.data"),
    **dict.fromkeys(("Scores", "evaluate"), "augenmerk.evaluation.evaluate"),
    **dict.fromkeys(
        ("Attention", "Dummy", "MeanPool", "SingleQueryScaledDotProductAttention"),
        "augenmerk.model.attention",
    ),
    "Mechanism": "augenmerk.mechanisms",
    "load_mechanism": "augenmerk.mechanisms.custom",
    **dict.fromkeys(("StudyResults", "list_studies"), "augenmerk.study.session"),
    **dict.fromkeys(("Translation", "Translator", "load"), "augenmerk.translation"),
    "demo": "augenmerk.study.demo",
    "export": "augenmerk.web.export",
    "show": "augenmerk.web.notebook",
}
"""The names that are not modules, and where they are."""
_MODULES = ("assignment", "bench", "data", "lab", "serve", "study", "theory")

__all__ = [
    "Attention",
    "AugenmerkError",
    "Bitext",
    "Dummy",
    "MeanPool",
    "Mechanism",
    "Run",
    "Scores",
    "SentencePair",
    "SingleQueryScaledDotProductAttention",
    "StudyResults",
    "Translation",
    "Translator",
    "__version__",
    "assignment",
    "bench",
    "curves",
    "data",
    "demo",
    "diagram",
    "evaluate",
    "export",
    "faithfulness",
    "lab",
    "list_settings",
    "list_studies",
    "load",
    "load_mechanism",
    "open_bitext",
    "open_run",
    "patterns",
    "probe",
    "score",
    "serve",
    "settings",
    "show",
    "study",
    "theory",
    "train",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"augenmerk.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'augenmerk' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
