"""The trial of a custom attention mechanism: each rule finds a mistake that no other rule finds."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from augenmerk import AugenmerkError, load_mechanism
from augenmerk.base.config import ATTENTIONS, ModelConfig
from augenmerk.mechanisms.custom import CUSTOM_MECHANISMS
from augenmerk.model import trial
from augenmerk.model.attention import make_attention
from augenmerk.model.trial import RULES, check_rule, try_mechanism

WRONG = Path(__file__).parents[1] / "support" / "wrong_mechanisms.py"

ONE_RULE = {
    "OwnForward": (trial.forward_is_not_replaced, "replaces `forward`, which no decoder calls"),
    "Squeezed": (trial.shapes_are_right, "its weights should be (1, 1, 1) for queries (1, 1, 8)"),
    "Noisy": (trial.results_are_not_random, "random numbers even in evaluation mode"),
    "Remembering": (trial.nothing_is_remembered, "depends on an earlier call"),
    "OwnMask": (trial.memory_fits_the_words, "`memory` returns another mask than it was given"),
    "Sigmoid": (trial.weights_are_shares, "over the words, not 1"),
    "LookingAtPadding": (trial.padding_gets_no_weight, "it puts weight on padding, up to 0."),
    "MeanOfEverything": (trial.padding_changes_nothing, "its context changes if a sentence is padded"),
    "SmoothedOverBatch": (trial.sentences_are_independent, "depends on the other sentences of the batch"),
    "Coverage": (trial.queries_are_independent, "depends on the other queries of the call, as coverage does"),
    "SharedState": (trial.hypotheses_are_independent, "the result for one hypothesis depends on the others"),
    "OnlyTorch": (trial.numpy_computes_the_same, "it failed in line 1"),
    "OtherFusedScale": (trial.both_paths_agree, "its context differs with need_weights=False"),
    "GatedOutside": (trial.weights_make_the_context, "its context is not `mix` of its weights"),
    "Unused": (trial.every_parameter_learns, "no gradient reaches the parameter temperature"),
    "SteepAtZero": (trial.gradients_are_finite, "its gradient is not finite for the parameter W_q.weight"),
    "OnlyFloat32": (trial.works_in_bf16, "in bf16, it failed in line 1"),
}


@pytest.fixture(autouse=True)
def _forget_custom_mechanisms() -> Iterator[None]:
    yield
    CUSTOM_MECHANISMS.clear()


def settings(name: str, **changes: Any) -> ModelConfig:
    sizes: dict[str, Any] = {"embedding": 8, "hidden": 8, "key": 16, "heads": 2, **changes}
    return ModelConfig(attention=load_mechanism(f"{WRONG}:{name}"), **sizes)


def broken_rules(config: ModelConfig) -> list[object]:
    return [rule for rule in RULES if check_rule(rule, make_attention(config), config)]


def test_every_rule_has_a_mechanism_that_breaks_it() -> None:
    assert {rule for rule, _ in ONE_RULE.values()} == set(RULES)


@pytest.mark.parametrize("name", ONE_RULE)
def test_only_one_rule_finds_the_mistake_and_names_it(name: str) -> None:
    rule, words = ONE_RULE[name]
    config = settings(name)
    assert broken_rules(config) == [rule]
    with pytest.raises(AugenmerkError) as found:
        try_mechanism(config)
    assert words in str(found.value)
    assert f"'wrong_mechanisms.py:{name}'" in str(found.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("OverTargets", "its weights sum to 1 over the target positions (dim=1)"),
        ("OverSentences", "its weights sum to 1 over the sentences of the batch (dim=0)"),
        ("OverEverything", "its weights sum to 1 over target and source positions together"),
        ("Dropping", "random numbers even in evaluation mode"),
        ("StatefulCoverage", "depends on an earlier call"),
        ("Stashing", "depends on an earlier call"),
        ("OtherSizes", "it failed (RuntimeError: "),
        ("Empty", "it defines none of `product`, `scores`, `weights` and `step`, nor `attend`"),
        ("Unbuildable", "cannot be built (AttributeError: 'ModelConfig' object has no attribute 'width')"),
    ],
)
def test_the_first_broken_rule_names_the_cause(name: str, words: str) -> None:
    with pytest.raises(AugenmerkError) as found:
        try_mechanism(settings(name))
    assert words in str(found.value)


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_right_mechanisms_break_no_rule(architecture: str, caplog: pytest.LogCaptureFixture) -> None:
    right = settings("Right", architecture=architecture)
    assert broken_rules(right) == []
    try_mechanism(right)
    for name in ATTENTIONS:
        assert broken_rules(right.model_copy(update={"attention": name})) == [], name
    assert not caplog.records


def test_what_fails_in_bf16_and_what_a_parameter_at_0_hides() -> None:
    with pytest.raises(AugenmerkError, match=r"train\.precision=fp32"):
        try_mechanism(settings("OnlyFloat32"))
    try_mechanism(settings("OnlyFloat32"), bf16=False)
    with pytest.raises(AugenmerkError, match="once its parameters are not 0 its result for a target"):
        try_mechanism(settings("SleepingCoverage"))


def warnings_about(config: ModelConfig, caplog: pytest.LogCaptureFixture) -> str:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        try_mechanism(config)
    return "\n".join(record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("ForgottenScaledDot", "they are not divided"),
        ("ScaledDotByQuery", "they are not divided, or by too little"),
        ("MyScaledDotProduct", "they are divided by too much"),
    ],
)
def test_a_wrong_scale_is_a_warning(name: str, mistake: str, caplog: pytest.LogCaptureFixture) -> None:
    said = warnings_about(settings(name, hidden=64, key=64), caplog)
    assert f"'wrong_mechanisms.py:{name}' is a scaled dot product by its name or base class" in said
    assert mistake in said
    assert "divided by sqrt(d)" in said


def test_scores_that_saturate_the_softmax_are_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """In a Transformer, whose queries and states have variance 1; those of a GRU begin much smaller."""
    large = {"architecture": "transformer", "embedding": 512, "key": 512}
    said = warnings_about(settings("Product", **large), caplog)
    assert "starts saturated: before training, it gives 9" in said
    assert "(its scores have a standard deviation of 22." in said
    assert not warnings_about(settings("Product", hidden=512), caplog)
    assert not warnings_about(settings("Right", **large), caplog)
    assert "by its name" not in warnings_about(settings("UnscaledDot"), caplog)


def test_mechanisms_for_one_size_or_from_scores_of_0_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert not warnings_about(settings("OtherSizes", hidden=256, key=256), caplog)
    assert not warnings_about(settings("ScaledDotFromZero"), caplog)
