"""What `from augenmerk import ...` offers, listed so that no name comes or goes unnoticed."""

import importlib
from types import ModuleType

import pytest

import augenmerk


def test_the_public_names() -> None:
    assert sorted(augenmerk.__all__) == [
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
    assert dir(augenmerk) == sorted(augenmerk.__all__)


@pytest.mark.parametrize("name", augenmerk.__all__)
def test_each_is_the_thing_itself(name: str) -> None:
    thing = getattr(augenmerk, name)
    if isinstance(thing, ModuleType):
        assert importlib.import_module(f"augenmerk.{name}") is thing
    elif name != "__version__":
        assert getattr(importlib.import_module(thing.__module__), name) is thing


def test_packages_offer_what_they_name() -> None:
    for package in (augenmerk.bench, augenmerk.data, augenmerk.theory):
        assert all(getattr(package, name) is not None for name in package.__all__)
    assert {"check", "export", "fetch", "list_datasets", "prepare", "show"} <= {*augenmerk.data.__all__}


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Bitexte'"):
        augenmerk.Bitexte  # noqa: B018
