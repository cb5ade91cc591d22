"""Augenmerk: attention in sequence-to-sequence models, to learn, to teach and to research.

The names below are the public ones. Each is imported when it is first used, so that `import augenmerk`
and `augenmerk --help` do not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from augenmerk.base.errors import AugenmerkError
    from augenmerk.data import Bitext, SentencePair, open_bitext
    from augenmerk.model.attention import Dummy, MeanPool, SingleQueryScaledDotProductAttention
    from augenmerk.model.custom import load_mechanism
    from augenmerk.translation import Translation, Translator, load
    from augenmerk.web.notebook import show

_HOME = {
    "AugenmerkError": "augenmerk.base.errors",
    "Bitext": "augenmerk.data",
    "Dummy": "augenmerk.model.attention",
    "MeanPool": "augenmerk.model.attention",
    "SentencePair": "augenmerk.data",
    "SingleQueryScaledDotProductAttention": "augenmerk.model.attention",
    "Translation": "augenmerk.translation",
    "Translator": "augenmerk.translation",
    "load": "augenmerk.translation",
    "load_mechanism": "augenmerk.model.custom",
    "open_bitext": "augenmerk.data",
    "show": "augenmerk.web.notebook",
}

__all__ = [
    "AugenmerkError",
    "Bitext",
    "Dummy",
    "MeanPool",
    "SentencePair",
    "SingleQueryScaledDotProductAttention",
    "Translation",
    "Translator",
    "__version__",
    "load",
    "load_mechanism",
    "open_bitext",
    "show",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'augenmerk' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
