"""How to translate: what `translate` and `stream` can be told."""

from typing import TypedDict


class Options(TypedDict, total=False):
    """How to translate; what is absent is as in `DEFAULTS`."""

    beam: int | None
    """Hypotheses kept at each step; 1 is greedy. None: as the run's settings say, as for the next two."""
    length_penalty: float | None
    max_length: int | None
    """Longest translation, in tokens."""
    n_best: int
    """How many translations of each sentence. If no beam is given, it is at least as wide."""
    allow_unknown: bool
    """Whether <unk> may be produced."""
    replace_unknown: bool
    """Whether the source word attended to most takes the place of each <unk>."""
    sample: bool
    """Whether translations are drawn at random, instead of searched for; `n_best` of each sentence."""
    temperature: float
    """Of samples: less is less random."""
    top_k: int
    """Of samples: only so many likeliest tokens at each step; 0 for all."""
    seed: int
    """Of samples: the same sentences and the same seed give the same."""
    mbr: bool
    """Whether the translation is chosen by minimum Bayes risk (`augenmerk.translate.mbr`)."""
    candidates: int | None
    """Of MBR: how many of each model. None: as many as the beam is wide, or `SAMPLES`."""


DEFAULTS: Options = {
    "beam": None,
    "length_penalty": None,
    "max_length": None,
    "n_best": 1,
    "allow_unknown": True,
    "replace_unknown": False,
    "sample": False,
    "temperature": 1.0,
    "top_k": 0,
    "seed": 1,
    "mbr": False,
    "candidates": None,
}
SAMPLES = 50
"""Candidates of MBR, where these are drawn and nobody says how many."""
