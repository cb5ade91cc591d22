"""Real queries and keys: what is taken out of a model is what it attends with."""

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from augenmerk.analysis.probe import probe_attention
from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import open_bitext
from augenmerk.drawing.figures import LIGHT, save_figure
from augenmerk.model.gru import GRUTranslator
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.theory.attention import attention_weights
from augenmerk.theory.copying import reach
from augenmerk.theory.drawing_noise import MAX_TOKENS, draw_step
from augenmerk.theory.from_run import examine_step
from augenmerk.theory.results import Setup
from augenmerk.training.loop import train
from augenmerk.training.start import start
from augenmerk.translation import Translator
from tests.cli.test_theory_cli import in_process
from tests.support.runs import Silent

SENTENCE = "Den roten Ball wirft der Junge."


def config_with(attention: str) -> RunConfig:
    return RunConfig.model_validate(
        {
            "data": {"bilderbuch": {"pairs": 60}},
            "text": {"vocabulary_size": 400},
            "model": {"embedding": 16, "hidden": 24, "key": 16, "heads": 4, "attention": attention},
            "train": {"epochs": 1, "batch_size": 16, "precision": "fp32", "bleu": False},
            "search": {"beam": 2, "max_length": 12},
        }
    )


def untrained(attention: str) -> Translator:
    """Random weights attend to something, too; no training is needed to compare."""
    config = config_with(attention)
    tokenizers = TokenizerPair.train(list(open_bitext("bilderbuch", pairs=60)["train"]), config.text)
    torch.manual_seed(3)
    model = GRUTranslator(config.model, tokenizers.source.size, tokenizers.target.size).eval()
    return Translator([model], tokenizers, config)


@pytest.mark.parametrize("attention", ["scaled-dot", "dot", "bilinear"])
def test_the_weights_of_the_probe_are_those_of_the_model(attention: str) -> None:
    found = probe_attention(untrained(attention), SENTENCE)
    assert found.queries.shape == (len(found.target), found.keys.shape[1])
    assert len(found.keys) == len(found.source)
    assert found.source[-1] == "</s>"
    for query, weights in zip(found.queries, found.translation.subword_attention, strict=True):
        np.testing.assert_allclose(attention_weights(query, found.keys, found.scale), weights, atol=1e-5)


def test_the_heads_of_a_probe_average_to_the_weights_of_the_model() -> None:
    translator = untrained("multi-head")
    heads = [probe_attention(translator, SENTENCE, head) for head in range(4)]
    weights = np.mean(
        [[attention_weights(q, each.keys, each.scale) for q in each.queries] for each in heads], axis=0
    )
    np.testing.assert_allclose(weights, heads[0].translation.subword_attention, atol=1e-5)
    with pytest.raises(AugenmerkError, match="no head 5: this model has 4"):
        probe_attention(translator, SENTENCE, 4)
    with pytest.raises(AugenmerkError, match="no word"):
        probe_attention(untrained("scaled-dot"), "  ")


@pytest.mark.parametrize("attention", ["none", "mean", "additive"])
def test_attention_that_is_no_product_is_refused(attention: str) -> None:
    with pytest.raises(AugenmerkError, match="no product of queries and keys"):
        probe_attention(untrained(attention), SENTENCE)


def test_a_view_says_what_the_geometry_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    keys = rng.standard_normal((6, 3))
    keys[5] = keys[:4].mean(axis=0)  # hidden
    query = 3 * rng.standard_normal(3)
    view = examine_step(query, keys, 0.7, Setup(beta=0.2, samples=4000, seed=2))
    weights = attention_weights(query, keys, 0.7)
    for j, key in enumerate(view.keys):
        found = reach(keys, [j])
        assert key.copyable is found.possible
        assert key.weight == pytest.approx(weights[j])
        assert key.logit == pytest.approx(0.7 * keys[j] @ query)
        cosine = keys[j] @ query / np.linalg.norm(keys[j]) / np.linalg.norm(query)
        assert math.cos(math.radians(key.angle)) == pytest.approx(cosine)
        if found.query is not None:
            needed = attention_weights(key.query_needed * found.query, keys, 0.7)
            assert needed[j] >= 1 - view.eps - 1e-9
    assert not view.keys[5].copyable
    assert view.keys[5].to_dict()["query_needed"] is None
    # The noise of 1.3, done with the keys themselves.
    lambdas = 1 + math.sqrt(0.2) * rng.standard_normal((4000, 6))
    noisy = attention_weights(query, lambdas[:, :, None] * keys, 0.7)
    np.testing.assert_allclose([key.noisy_mean for key in view.keys], noisy.mean(axis=0), atol=0.03)
    assert view.changes == pytest.approx((noisy.argmax(1) != weights.argmax()).mean(), abs=0.05)
    still = examine_step(query, keys, 0.7, Setup(beta=0.0, samples=10))
    assert still.changes == 0
    assert still.keys[0].noisy_low == pytest.approx(still.keys[0].noisy_high)
    save_figure(draw_step(view, ["[a]", "$b$", "c", "d", "e", "</s>"], "x_1", LIGHT), tmp_path / "step.svg")


def test_names_in_a_figure_do_not_lie_on_one_another() -> None:
    """Neither of keys that nearly coincide, nor of a very long sentence, of which a part is drawn."""
    rng = np.random.default_rng(5)
    for count, drawn in ((6, 6), (200, MAX_TOKENS)):
        keys = rng.standard_normal((1, 8)) + 0.05 * rng.standard_normal((count, 8))
        view = examine_step(rng.standard_normal(8), keys, 0.7, Setup(samples=10))
        source = [f"word{number}" for number in range(count)]
        figure = draw_step(view, source, "x", LIGHT)
        figure.draw_without_rendering()
        left, right = figure.axes
        names = [text for text in right.texts if text.get_text().startswith("word")]
        assert len(names) == drawn
        # Without the lines that lead to some of them.
        boxes = [Text.get_window_extent(name) for name in names]
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
        assert (f"24 largest of {count} weights" in left.get_title("left")) is (count > drawn)
        weights = sorted((key.weight for key in view.keys), reverse=True)
        bars = [bar.get_width() for bar in left.patches[drawn:] if isinstance(bar, Rectangle)]
        assert sorted(bars, reverse=True) == pytest.approx(weights[:drawn])


@pytest.mark.slow
def test_from_run_on_a_trained_run(tmp_path: Path) -> None:
    place = tmp_path / "run"
    train(start(config_with("scaled-dot"), place), torch.device("cpu"), Silent())
    picture = tmp_path / "step.png"
    result = in_process("from-run", str(place), SENTENCE, "--json", "--figure", str(picture))
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert len(found["keys"]) == len(found["source_tokens"])
    assert sum(key["weight"] for key in found["keys"]) == pytest.approx(1)
    assert picture.stat().st_size > 5000
    shown = in_process("from-run", str(place), SENTENCE, "--step", "2", "--beta", "0.5").stdout
    shown = " ".join(shown.split())
    assert "could be copied by some query" in shown
    assert "N(1, 0.5)" in shown
    long = in_process("from-run", str(place), 40 * SENTENCE, "--json", "--figure", str(picture))
    assert "longer than the" in long.stderr
    assert json.loads(long.stdout)["truncated"] is True
    assert "longer than" not in result.stderr
    assert found["truncated"] is False
    shipped = in_process("from-run", 10 * SENTENCE, "--json")  # a sentence too long for the name of a file
    assert json.loads(shipped.stdout)["source"] == 10 * SENTENCE
    beyond = in_process("from-run", str(place), SENTENCE, "--step", "99").exception
    assert isinstance(beyond, AugenmerkError)
    assert "tokens, its end included" in str(beyond)
