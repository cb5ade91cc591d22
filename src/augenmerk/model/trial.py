"""Tries a custom attention mechanism before a run is made for it.

Each function of `RULES` checks one rule of docs/guides/own-mechanism.md on made-up sentences, and returns
what is wrong in words, or None. What may be intended, such as scores that are too large for a softmax, is a
warning.

B sentences, T target positions, S source positions, Q the size of a query, V that of a word representation.
"""

import copy
import logging
import traceback
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from augenmerk.base.arrays import all_to_numpy
from augenmerk.base.config import ModelConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.attention import make_attention as make_numpy_attention
from augenmerk.inference.model import Weights
from augenmerk.mechanisms.custom import CUSTOM_MECHANISMS, find_mechanism, is_torch_alone
from augenmerk.model.attention import Attention, Memory, make_attention
from augenmerk.model.interface import find_model_class
from augenmerk.model.scale import describe_saturation, describe_wrong_scale

B, T, S = 2, 3, 5
IN_FP32 = "; or train with --set train.precision=fp32"
NEARLY_ZERO = 1e-3
"""Parameters all of whose values are smaller are tried with larger ones as well."""


class Trial:
    """A mechanism and two made-up sentences, the second of which has two words fewer."""

    def __init__(self, attention: Attention, config: ModelConfig) -> None:
        self.attention = copy.deepcopy(attention).eval()
        self.config = config
        rng = torch.Generator().manual_seed(1)
        self.queries = torch.randn(B, T, config.query_size, generator=rng)
        self.states = torch.randn(B, S, config.value_size, generator=rng)
        self.states[1, 3:] *= 10  # padding can be anything
        self.mask = torch.tensor([[True] * S, [True] * 3 + [False] * 2])

    def ask(
        self, queries: Tensor, memory: Memory, *, need_weights: bool = True, seed: int = 1
    ) -> tuple[Tensor, Tensor | None]:
        """Calls the mechanism as a decoder does, with the same random numbers every time."""
        torch.manual_seed(seed)
        return self.attention.attend(queries, memory, need_weights=need_weights)

    def attend(
        self, queries: Tensor, states: Tensor, mask: Tensor | None = None, *, seed: int = 1
    ) -> tuple[Tensor, Tensor]:
        """Returns context and weights for sentences that the mechanism has not seen before."""
        context, weights = self.ask(queries, self.attention.memory(states, mask), seed=seed)
        assert weights is not None  # because of `shapes_are_right`
        return context, weights


def unless(holds: bool, problem: str) -> str | None:
    """Returns the problem if a rule does not hold."""
    return None if holds else problem


def forward_is_not_replaced(trial: Trial) -> str | None:
    return unless(
        type(trial.attention).forward is Attention.forward,
        "it replaces `forward`, which no decoder calls: write `attend` or `scores` instead",
    )


def shapes_are_right(trial: Trial) -> str | None:
    one_word = trial.queries[:1, :1], trial.states[:1, :1]  # where a careless squeeze goes wrong
    for queries, states in ((trial.queries, trial.states), one_word):
        fresh = copy.deepcopy(trial)
        results = fresh.ask(queries, fresh.attention.memory(states))
        sizes = trial.config.value_size, states.shape[1]
        for name, tensor, size in zip(("context", "weights"), results, sizes, strict=True):
            shape = (*queries.shape[:2], size)
            found = tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else type(tensor).__name__
            if found != shape:
                given = f"queries {tuple(queries.shape)} and states {tuple(states.shape)}"
                return f"its {name} should be {shape} for {given}, but is {found}"
    return None


def results_are_not_random(trial: Trial) -> str | None:
    other = copy.deepcopy(trial)
    first, _ = trial.attend(trial.queries, trial.states)
    second, _ = other.attend(other.queries, other.states, seed=2)
    problem = "it draws random numbers even in evaluation mode: ask for `self.training` first"
    return unless(_same(first, second), problem)


def nothing_is_remembered(trial: Trial) -> str | None:
    """A mechanism is asked about many sentences in turn, and by several threads."""
    fresh, other = copy.deepcopy(trial), 2 * trial.states.flip(0) + 1
    trial.attend(trial.queries.flip(1), other, trial.mask.flip(0))
    memory = trial.attention.memory(trial.states, trial.mask)
    trial.attention.memory(other, trial.mask.flip(0))
    used, _ = trial.ask(trial.queries, memory)
    return unless(
        _same(used, fresh.attend(trial.queries, trial.states, trial.mask)[0]),
        "its result depends on an earlier call: keep nothing of a sentence in the object, only in the keys "
        "and values that `memory` returns",
    )


def weights_are_shares(trial: Trial) -> str | None:
    _, weights = trial.attend(trial.queries, trial.states)
    if not weights.isfinite().all():
        return "its weights are not finite numbers, even without padding"
    if (weights < 0).any():
        return f"its weights can be negative, such as {weights.min().item():.2f}"
    totals = weights.sum(dim=-1)
    if _same(totals, torch.ones_like(totals)) or not weights.any():
        return None
    wrong_dims = {
        (1,): "the target positions (dim=1)",
        (0,): "the sentences of the batch (dim=0)",
        (1, 2): "target and source positions together",
    }
    for dims, what in wrong_dims.items():
        if _same(other := weights.sum(dim=dims), torch.ones_like(other)):
            return f"its weights sum to 1 over {what} rather than over the source words (dim=-1)"
    return f"its weights sum to {totals.min().item():.2f} to {totals.max().item():.2f} over the words, not 1"


def padding_gets_no_weight(trial: Trial) -> str | None:
    _, weights = trial.attend(trial.queries, trial.states, trial.mask)
    if not weights.isfinite().all():
        return "its weights are not finite numbers if a sentence is padded"
    if (padding := weights[1, :, 3:]).any():
        largest = padding.abs().max().item()
        return f"it puts weight on padding, up to {largest:.2g}: set it to 0 by memory.mask"
    return None


def padding_changes_nothing(trial: Trial) -> str | None:
    queries, states = trial.queries[1:], trial.states[1:]
    alone, weights_alone = trial.attend(queries, states[:, :3])
    for mask, words in ((trial.mask[1:], 5), (trial.mask[1:, :3], 3)):
        context, weights = trial.attend(queries, states[:, :words], mask)
        if not _same(weights[:, :, :3], weights_alone):
            return "its weights for real words change if a sentence is padded"
        if not _same(context, alone):
            return "its context changes if a sentence is padded"
    return None


def sentences_are_independent(trial: Trial) -> str | None:
    together, _ = trial.attend(trial.queries, trial.states)
    alone, _ = trial.attend(trial.queries[1:], trial.states[1:])
    problem = "its context for a sentence depends on the other sentences of the batch"
    return unless(_same(together[1:], alone), problem)


def memory_fits_the_words(trial: Trial) -> str | None:
    """Search selects sentences of the memory, and a Transformer stacks the memories of its layers."""
    memory = trial.attention.memory(trial.states, trial.mask)
    for name, tensor in (("keys", memory.keys), ("values", memory.values)):
        if tuple(tensor.shape[:2]) != (B, S):
            return f"the {name} of its `memory` should be {(B, S, '...')}, but are {tuple(tensor.shape)}"
    if memory.mask is None or not torch.equal(memory.mask, trial.mask):
        return "its `memory` returns another mask than it was given, which a Transformer would not use"
    context, _ = trial.ask(trial.queries, memory)
    kept = Memory(memory.keys, memory.values, trial.mask).keep(torch.tensor([1]))
    problem = "what its `memory` has besides keys, values and mask is lost when search selects sentences"
    return unless(_same(trial.ask(trial.queries[1:], kept)[0], context[1:]), problem)


def hypotheses_are_independent(trial: Trial) -> str | None:
    """Search steps several hypotheses of a sentence at once, each with its own state."""
    if not trial.attention.has_state:
        return None
    attention, memory = trial.attention, trial.attention.memory(trial.states, trial.mask)
    state = attention.start(memory)
    for part in state:
        if tuple(part.shape[:2]) != (B, 1):
            return f"a part of its state at the start should be {(B, 1, '...')}, but is {tuple(part.shape)}"
    first = [attention.advance(trial.queries[:, t : t + 1], memory, state) for t in range(T)]
    if any(len(after) != len(state) for _, _, after in first):
        return f"`step` should return a state of {len(state)} arrays, as `start` does"
    alone = [attention.advance(trial.queries[:, :1], memory, after)[0] for _, _, after in first]
    joined = tuple(torch.cat(parts, dim=1) for parts in zip(*(after for _, _, after in first), strict=True))
    together = attention.advance(trial.queries[:, :1].expand(-1, T, -1), memory, joined)[0]
    return unless(
        _same(together, torch.cat(alone, dim=1)),
        "the result for one hypothesis depends on the others: axis 1 of queries and state has a row for each",
    )


def numpy_computes_the_same(trial: Trial) -> str | None:
    """A mechanism that is written for all libraries translates with numpy."""
    if is_torch_alone(find_mechanism(trial.config.attention)):
        return None
    weights = Weights(all_to_numpy(trial.attention.state_dict()), "The trial")
    ours = make_numpy_attention(trial.config, weights)
    weights.check_all_taken()
    queries, states, mask = (x.numpy() for x in (trial.queries, trial.states, trial.mask))
    context, found = ours.attend(queries, ours.memory(states, mask))
    expected, shares = trial.attend(trial.queries, trial.states, trial.mask)
    same = _same(torch.tensor(context), expected) and _same(torch.tensor(found), shares)
    return unless(same, "numpy computes something else than torch: use augenmerk.mechanisms.arrays only")


def queries_are_independent(trial: Trial) -> str | None:
    if trial.attention.has_state:
        return None
    together, _ = trial.attend(trial.queries, trial.states)
    alone = [trial.attend(trial.queries[:, i : i + 1], trial.states)[0] for i in range(T)]
    return unless(
        _same(together, torch.cat(alone, dim=1)),
        "its result for a target position depends on the other queries of the call, as coverage does: "
        "training asks for all positions at once and search for one at a time; what it remembers belongs "
        "into a state, by `start` and `step`",
    )


def both_paths_agree(trial: Trial) -> str | None:
    for mask in (None, trial.mask):
        memory = trial.attention.memory(trial.states, mask)
        written, _ = trial.ask(trial.queries, memory)
        fused, _ = trial.ask(trial.queries, memory, need_weights=False)
        if not _same(written, fused):
            return (
                "its context differs with need_weights=False, by which it is trained: `fused_query` and "
                "`scores` (or both cases of `attend`) must compute the same"
            )
    return None


def weights_make_the_context(trial: Trial) -> str | None:
    memory = trial.attention.memory(trial.states, trial.mask)
    context, mean = trial.ask(trial.queries, memory)
    torch.manual_seed(1)
    weights = trial.attention.weigh(trial.queries, memory)
    mixed = trial.attention.combine(weights, memory)
    return unless(
        mean is not None and _same(weights.mean(dim=1), mean) and _same(mixed, context),
        "its context is not `mix` of its weights, by which `augenmerk faithfulness` replaces attention: put "
        "what follows the weights into `mix`",
    )


def every_parameter_learns(trial: Trial) -> str | None:
    gradients = _find_gradients(trial)
    inputs = "the queries", "the states"  # which a mechanism may ignore
    missing = [name for name, each in gradients.items() if each is None and name not in inputs]
    return unless(not missing, f"no gradient reaches {_list(missing)}, so training would not change it")


def gradients_are_finite(trial: Trial) -> str | None:
    gradients = _find_gradients(trial)
    wrong = [name for name, each in gradients.items() if each is not None and not each.isfinite().all()]
    return unless(
        not wrong,
        f"its gradient is not finite for {_list(wrong)} if a sentence is padded: no intermediate number of "
        f"padding may be infinite or have an infinite slope",
    )


def works_in_bf16(trial: Trial) -> str | None:
    in_bf16 = find_model_class(trial.config).states_in_bf16
    queries, states = (x.bfloat16() if in_bf16 else x for x in (trial.queries, trial.states))
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            context, _ = trial.ask(queries, trial.attention.memory(states, trial.mask), need_weights=False)
    except Exception as error:
        return f"in bf16, {_describe_failure(error, trial.config)}{IN_FP32}"
    return unless(bool(context.isfinite().all()), f"in bf16, its context is not finite{IN_FP32}")


RULES: tuple[Callable[[Trial], str | None], ...] = (
    forward_is_not_replaced,
    shapes_are_right,
    results_are_not_random,
    nothing_is_remembered,
    weights_are_shares,
    padding_gets_no_weight,
    padding_changes_nothing,
    sentences_are_independent,
    memory_fits_the_words,
    queries_are_independent,
    hypotheses_are_independent,
    numpy_computes_the_same,
    both_paths_agree,
    weights_make_the_context,
    every_parameter_learns,
    gradients_are_finite,
    works_in_bf16,
)
"""All rules; one is checked only if those before it hold."""


def try_mechanism(config: ModelConfig, *, bf16: bool = True) -> None:
    """Builds the mechanism that the settings name and, if it is a custom one, checks all rules.

    Raises AugenmerkError if one is broken; without `bf16`, the rule of bf16 does not count. The global random
    numbers stay what they are.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        attention = make_attention(config)
        if config.attention not in CUSTOM_MECHANISMS:
            return
        rules = RULES if bf16 else [rule for rule in RULES if rule is not works_in_bf16]
        moved = _move_from_zero(attention)
        tries = [(attention, ""), *([(moved, " once its parameters are not 0")] if moved else [])]
        for (tried, when), rule in product(tries, rules):
            if problem := check_rule(rule, tried, config):
                raise AugenmerkError(
                    f"The attention mechanism '{config.attention}' was tried on made-up sentences, and{when} "
                    f"{problem}; docs/guides/own-mechanism.md says what it is given and what it returns."
                )
        for remark in filter(None, (describe_saturation(config), describe_wrong_scale(config))):
            logging.getLogger(__name__).warning("The attention mechanism '%s' %s", config.attention, remark)


@torch.no_grad()
def _move_from_zero(attention: Attention) -> Attention | None:
    """Returns a copy whose parameters that are 0, or nearly, have other values; None if there are none.

    A parameter that starts at 0 hides whatever it multiplies until training has changed it.
    """
    moved = copy.deepcopy(attention)
    hidden = [each for each in moved.parameters() if each.numel() and each.abs().max() < NEARLY_ZERO]
    for parameter in hidden:
        parameter.add_(torch.randn_like(parameter).sign() * 0.5)
    return moved if hidden else None


def check_rule(rule: Callable[[Trial], str | None], attention: Attention, config: ModelConfig) -> str | None:
    """Returns what is wrong by one rule, in words, or None."""
    try:
        with torch.no_grad():
            return rule(Trial(attention, config))
    except Exception as error:
        return _describe_failure(error, config)


def _same(found: Tensor, expected: Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(found, expected, rtol=1e-3, atol=1e-4)


def _find_gradients(trial: Trial) -> dict[str, Tensor | None]:
    """Returns the gradients of parameters and inputs in training, for sentences with padding."""
    trial.attention.train()
    queries, states = (x.clone().requires_grad_() for x in (trial.queries, trial.states))
    named = trial.attention.named_parameters()
    wanted: dict[str, Tensor] = {f"the parameter {name}": each for name, each in named if each.requires_grad}
    with torch.enable_grad():
        memory = trial.attention.memory(states, trial.mask)
        context, _ = trial.ask(queries, memory, need_weights=False)
        loss = (context * torch.randn_like(context)).sum()
    if not loss.requires_grad:
        return dict.fromkeys(wanted)
    wanted |= {"the queries": queries, "the states": states}
    return dict(zip(wanted, torch.autograd.grad(loss, list(wanted.values()), allow_unused=True), strict=True))


def _list(names: list[str]) -> str:
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names)


def _describe_failure(error: Exception, config: ModelConfig) -> str:
    file = CUSTOM_MECHANISMS[config.attention].path
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == file.resolve()]
    where = f" in line {lines[-1]} of {file.name}" if lines else ""
    if isinstance(error, NotImplementedError) and not lines:
        return "it defines none of `product`, `scores`, `weights` and `step`, nor `attend`"
    return f"it failed{where} ({type(error).__name__}: {' '.join(str(error).split())})"
