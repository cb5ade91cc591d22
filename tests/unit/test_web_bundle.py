"""The model of an exported page as data."""

import json
import math

import numpy as np
import pytest

from augenmerk.base.config import DataConfig, ModelConfig, RunConfig, TextConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.translation import Translator, load
from augenmerk.web.bundle import make_bundle, pack_weights
from tests.unit.test_text import PAIRS


def test_weights_are_packed_once_and_at_multiples_of_four_bytes() -> None:
    odd, matrix = np.array([1.0, -2.5, 3.0], np.float32), np.eye(2, dtype=np.float16)
    tensors, packed = pack_weights({"odd": odd, "matrix": matrix, "tied": matrix})
    assert tensors == [
        {"name": "odd", "shape": [3], "offset": 0},
        {"name": "matrix", "shape": [2, 2], "offset": 8},
        {"name": "tied", "shape": [2, 2], "offset": 8},
    ]
    assert len(packed) == 16
    assert np.frombuffer(packed, "<f2", 3).tolist() == odd.tolist()
    assert np.frombuffer(packed, "<f2", 4, 8).tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("number", "complaint"),
    [(70_000.0, "go up to 70000, .* ends at 65504"), (math.nan, "are not all numbers")],
)
def test_weights_that_halves_cannot_hold_are_refused(number: float, complaint: str) -> None:
    with pytest.raises(AugenmerkError, match=complaint):
        pack_weights({"W": np.array([1.0, number], np.float32)})


def test_an_ensemble_and_a_mechanism_of_ones_own_are_refused() -> None:
    translator = load([BUNDLED_MODEL, BUNDLED_MODEL])
    with pytest.raises(AugenmerkError, match="load one run"):
        make_bundle(translator, "two")
    config = RunConfig(model=ModelConfig(attention="mine.py:Mine"))
    tokenizers = TokenizerPair.train(PAIRS, TextConfig(unit="word"))
    with pytest.raises(AugenmerkError, match=r"give --attention PATH/mine\.py:Mine"):
        make_bundle(Translator([load().model], tokenizers, config), "mine")


def test_the_bundle_of_the_shipped_model() -> None:
    bundle = make_bundle(load(), "bundled")
    settings, weights = bundle.settings, bundle.weights
    assert (settings["source_language"], settings["target_language"]) == ("de", "en")
    assert "research and teaching" in settings["licence"]
    assert settings["tokenizers"]["target"] is None  # it is that of the source
    assert settings["config"]["search"] == RunConfig.from_toml(
        (BUNDLED_MODEL / "config.toml").read_text(encoding="utf-8"), "shipped"
    ).search.model_dump(mode="json")
    names = [one["name"] for one in settings["tensors"]]
    assert len(weights) < 5_500_000
    assert {"W_z.weight", "W_b.weight", "W_o.weight"} <= set(names)
    tied = {one["offset"] for one in settings["tensors"] if one["name"] in ("W_z.weight", "W_o.weight")}
    assert len(tied) == 1
    json.dumps(settings)


@pytest.mark.parametrize(
    ("data", "languages", "licence"),
    [
        ({"bitext": "multi30k"}, ("de", "en"), "research and teaching"),
        ({"bitext": "bilderbuch", "source_language": "en"}, ("en", "de"), "MIT licence"),
        ({"bitext": "bilderbuch", "target_language": "de"}, ("en", "de"), "MIT licence"),
        ({"bitext": "mine.tsv", "source_language": "nl"}, ("nl", None), "depends on the data"),
    ],
)
def test_a_bundle_tells_languages_and_licence(
    data: dict[str, str], languages: tuple[str | None, str | None], licence: str
) -> None:
    translator = load()
    translator.config = translator.config.model_copy(update={"data": DataConfig.model_validate(data)})
    settings = make_bundle(translator, "mine").settings
    assert (settings["source_language"], settings["target_language"]) == languages
    assert licence in settings["licence"]
