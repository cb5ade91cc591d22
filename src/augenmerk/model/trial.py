"""Tries an attention mechanism of the user's own before a run is made for it."""

import traceback
from pathlib import Path

import torch

from augenmerk.config import ModelConfig
from augenmerk.errors import AugenmerkError
from augenmerk.model.attention import MECHANISM_FILES, Attention, make_attention


def try_mechanism(config: ModelConfig) -> None:
    """Builds the mechanism that the settings name and, if it is in a user's file, tries it on two sentences.

    Raises AugenmerkError if it fails, if its results have other shapes than they must have, or if padding
    makes a difference.
    """
    attention = make_attention(config).eval()
    file = MECHANISM_FILES.get(config.attention)
    if file is not None:
        problem = _find_problem(attention, config.query_size, config.value_size, file)
        if problem is not None:
            raise AugenmerkError(
                f"The attention mechanism '{config.attention}' was tried on two made-up sentences, and "
                f"{problem}; docs/mechanisms.md says what it is given and what it returns."
            )


@torch.no_grad()
def _find_problem(attention: Attention, query_size: int, value_size: int, file: Path) -> str | None:
    rng = torch.Generator().manual_seed(1)  # of its own: the run's random numbers stay what they are
    queries = torch.randn(2, 3, query_size, generator=rng)  # (B, T, Q)
    states = torch.randn(2, 5, value_size, generator=rng)  # (B, S, V)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])  # (B, S)
    try:
        context, weights = attention(queries, states, mask)
        alone, _ = attention(queries[1:], states[1:, :3])  # the shorter sentence without its padding
    except Exception as error:
        return _describe_failure(error, file)
    for name, tensor, shape in (
        ("context", context, (2, 3, value_size)),
        ("weights", weights, (2, 3, 5)),
    ):
        found = tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        if found != shape:
            return f"its {name} should be {shape} for queries {tuple(queries.shape)}, but is {found}"
    if weights[1, :, 3:].any():
        return "it puts weight on padding"
    if not torch.allclose(alone[0], context[1], rtol=1e-3, atol=1e-4):
        return "its context changes if a sentence is padded"
    return None


def _describe_failure(error: Exception, file: Path) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == file]
    place = f" in line {lines[-1]} of {file.name}" if lines else ""
    if isinstance(error, NotImplementedError) and not lines:
        return "it defines neither `scores` nor `attend`"
    return f"it failed{place} ({type(error).__name__}: {' '.join(str(error).split())})"
