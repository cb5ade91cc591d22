"""What int8 computes is exact but for rounding, does not depend on the batch, and is asked for."""

import os
import subprocess
import sys
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import open_bitext
from augenmerk.evaluation.metrics import BleuScorer
from augenmerk.inference import int8
from augenmerk.inference.gru import GRUTranslator
from augenmerk.inference.int8 import (
    INPUT_STEPS,
    WEIGHT_STEPS,
    Int8Linear,
    Int8Stack,
    LogSoftmax,
    round_weights,
)
from augenmerk.inference.model import Floats, Linear, log_softmax
from augenmerk.inference.transformer import TransformerTranslator
from augenmerk.translation import Translator, load
from tests.support.command import COMMAND, fails_with_a_sentence, run_json
from tests.support.runs import SharedRuns, tiny
from tests.unit.test_inference import TRANSFORMER, VARIANTS, in_numpy, make

LOG_SOFTMAX = LogSoftmax()


def linear(inputs: int, outputs: int, seed: int = 1, scale: float = 1.0) -> Linear:
    rng = np.random.default_rng(seed)
    W = scale * rng.standard_normal((outputs, inputs)).astype(np.float32)
    return Linear.of(W, rng.standard_normal(outputs).astype(np.float32))


def in_whole_numbers(layer: Linear, x: Floats) -> Floats:
    """Computes the same in numpy: both sides are rounded, and the rest is exact."""
    assert layer.bias is not None
    steps = np.abs(layer.weight).max(axis=0) / WEIGHT_STEPS
    step = np.maximum(np.abs(x).max(axis=1, keepdims=True) / np.float32(INPUT_STEPS), int8.TINY)
    product = np.rint(x / step).astype(np.int64) @ np.rint(layer.weight / steps).astype(np.int64)
    expected: Floats = (product * (step * steps.astype(np.float64)) + layer.bias).astype(np.float32)
    return expected


@given(st.integers(1, 40), st.integers(1, 70), st.integers(1, 9), st.integers(0, 99), st.floats(1e-6, 1e6))
def test_products_are_those_of_whole_numbers(
    inputs: int, outputs: int, rows: int, seed: int, scale: float
) -> None:
    layer = linear(inputs, outputs, seed, scale)
    x = np.random.default_rng(seed + 1).standard_normal((rows, inputs)).astype(np.float32)
    x[0] = 0.0
    found = Int8Linear(layer)
    expected = in_whole_numbers(layer, x)
    np.testing.assert_allclose(found(x), expected, rtol=1e-4, atol=1e-4 * scale)
    # Each vector alone, or in other company, has the same result to the last bit.
    for row, together in zip(x, found(x), strict=True):
        assert np.array_equal(found(row[None])[0], together)


@given(st.integers(1, 40), st.integers(1, 70), st.integers(1, 9), st.integers(0, 99))
def test_bounded_vectors_have_one_step(inputs: int, outputs: int, rows: int, seed: int) -> None:
    layer = linear(inputs, outputs, seed)
    x = np.random.default_rng(seed).uniform(-1, 1, (rows, inputs)).astype(np.float32)
    x[:, 0] = 1.0  # so that the step of each vector alone is the same
    np.testing.assert_allclose(Int8Linear(layer, bounded=True)(x), in_whole_numbers(layer, x), 1e-4, 1e-4)
    small = Int8Linear(layer, bounded=True)(0.1 * x)
    assert layer.bias is not None
    most = (
        np.abs(layer.weight).sum(axis=0) / INPUT_STEPS
        + inputs * np.abs(layer.weight).max(axis=0) / WEIGHT_STEPS
    )
    assert (np.abs(small - (0.1 * x @ layer.weight + layer.bias)) <= most).all()


def test_states_of_the_encoder_are_bounded(shipped: Translator) -> None:
    """So one step does for them, however large the words are that they come from."""
    [model] = shipped.models
    assert isinstance(model, GRUTranslator)
    [gru] = model.encoder
    large, recorded, largest = copy(model), copy(gru), []

    def record(x: Floats, /) -> Floats:
        largest.append(float(np.abs(x).max()))
        return gru.W_h(x)

    recorded.W_h = record
    large.W_z, large.encoder = 100 * model.W_z, [recorded]
    src = np.random.default_rng(1).integers(4, len(model.W_z) - 64, (20, 9))
    large.encode(src, np.ones_like(src, bool))
    assert largest
    assert max(largest) <= 1


@given(st.integers(1, 9), st.integers(1, 700), st.floats(1e-3, 1e3), st.integers(0, 99))
def test_the_log_softmax_is_that_of_numpy(rows: int, columns: int, scale: float, seed: int) -> None:
    x = (scale * np.random.default_rng(seed).standard_normal((2, rows, columns))).astype(np.float32)
    expected, alone = log_softmax(x.copy()), LOG_SOFTMAX(x[1:, :1].copy())
    found = LOG_SOFTMAX(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert np.array_equal(alone, found[1:, :1])
    assert np.array_equal(found, x)  # written over its argument, as that of numpy is


def test_sums_do_not_overflow() -> None:
    """The largest numbers everywhere: with -127 .. 127 for both, some processors would cut the sums off."""
    layer = Linear(np.ones((256, 512), np.float32), np.zeros(512, np.float32))
    for sign in (1, -1):
        x = np.full((3, 256), sign, np.float32)
        np.testing.assert_allclose(Int8Linear(layer)(x), sign * 256.0, rtol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_rounded_model_is_nearly_the_same(variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "MIN_OUTPUTS", 1)
    model = in_numpy(make(variant, torch.float32))
    assert isinstance(model, GRUTranslator | TransformerTranslator)
    rounded: Any = round_weights(model)
    assert isinstance(rounded.W_o, Int8Linear)
    assert isinstance(model.W_o, Linear)
    rng = np.random.default_rng(1)
    src, tokens = rng.integers(4, 9, (5, 7)), rng.integers(4, 9, (5, 1))
    mask = np.arange(7) < np.array([7, 1, 4, 7, 2])[:, None]
    results = []
    for each in (model, rounded):
        source = each.encode(src, mask)
        results.append(np.exp(each.step(tokens, source.start, source.memory)[0]))
    assert np.abs(results[0] - results[1]).max() < 0.1
    assert not np.array_equal(results[0], results[1])


def test_gates_are_rounded_and_narrow_layers_are_not(shipped: Translator) -> None:
    [model] = shipped.models
    assert isinstance(model, GRUTranslator)
    rounded: Any = round_weights(model)
    assert isinstance(rounded.encoder[0].W_h, Int8Stack)
    assert isinstance(rounded.decoder[0].W_h, Int8Linear)
    assert rounded.bridge is model.bridge
    assert rounded.W_b is model.W_b


@pytest.fixture(scope="module")
def shipped() -> Translator:
    return load()


def test_the_shipped_model_translates_much_the_same(shipped: Translator) -> None:
    texts = [pair.source for pair in open_bitext("bilderbuch", pairs=60)["train"]]
    exact, rounded = (shipped.translate(texts, beam=2, precision=each) for each in ("fp32", "int8"))
    assert sum(a.text == b.text for a, b in zip(exact, rounded, strict=True)) >= 50
    for a, b in zip(exact, rounded, strict=True):
        if a.text == b.text:
            assert a.log_probability == pytest.approx(b.log_probability, abs=0.5)
    assert any(a.log_probability != b.log_probability for a, b in zip(exact, rounded, strict=True))
    # Alone as in a batch, and fp32 as before.
    assert shipped.translate(texts[7], beam=2, precision="int8").text == rounded[7].text
    assert shipped.translate(texts[7], beam=2).text == exact[7].text


def test_at_most_two_tenths_of_a_point_are_lost(shipped: Translator, multi30k_folder: Path) -> None:
    pairs = list(open_bitext("multi30k", folder=multi30k_folder)["val"])
    references = [pair.target for pair in pairs]
    scores = []
    for precision in ("fp32", "int8"):
        found = shipped.translate([pair.source for pair in pairs], beam=1, precision=precision)
        scores.append(BleuScorer(references, lowercase=True).score([one.text for one in found]))
    assert scores[1] >= scores[0] - 0.2


def test_torch_refuses_it(shipped: Translator) -> None:
    model = make(TRANSFORMER, torch.float32)
    with (
        Translator([model], shipped.tokenizers, shipped.config) as translator,
        pytest.raises(AugenmerkError, match="int8 is for CPUs"),
    ):
        translator.translate("Ein Hund.", precision="int8")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    sentence = fails_with_a_sentence("translate", "--precision", "int8", "Ein Hund.")
    assert "pip install onnx onnxruntime" in sentence


def test_onnx_runtime_sends_and_writes_nothing_about_its_use(tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR")}
    for place in places.values():
        place.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    subprocess.run(
        [*COMMAND, "translate", "--precision", "int8", "Ein Hund."],
        env={**environment, **{name: str(place) for name, place in places.items()}},
        check=True,
        capture_output=True,
    )
    assert sorted(tmp_path.rglob("*")) == sorted(places.values())


def test_scores_in_int8_are_kept_apart(
    shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "MIN_OUTPUTS", 1)
    run = shared_runs.copy(tiny(), tmp_path / "run")
    [exact] = run_json("evaluate", run.path)
    [rounded] = run_json("evaluate", run.path, "--precision", "int8")
    assert "precision" not in exact
    assert rounded["precision"] == "int8"
    assert exact["model_score"] != rounded["model_score"]
    assert [row["model_score"] for row in run.read_scores()] == [exact["model_score"]]
    assert [row["model_score"] for row in run.read_scores(other=True)] == [rounded["model_score"]]
    names = [path.name for path in (run.path / "hypotheses").glob("*.int8.txt")]
    assert len(names) == 1
