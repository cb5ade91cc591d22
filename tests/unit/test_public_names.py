"""What `from augenmerk import ...` offers, listed so that no name comes or goes unnoticed."""

import importlib

import pytest

import augenmerk


def test_the_public_names() -> None:
    assert sorted(augenmerk.__all__) == [
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
    assert dir(augenmerk) == sorted(augenmerk.__all__)


@pytest.mark.parametrize("name", augenmerk.__all__)
def test_each_is_the_thing_itself(name: str) -> None:
    thing = getattr(augenmerk, name)
    if name != "__version__":
        assert getattr(importlib.import_module(thing.__module__), name) is thing


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Bitexte'"):
        augenmerk.Bitexte  # noqa: B018
