"""Several runs as one translator: they must know the same words by the same ids."""

from collections.abc import Sequence

import torch

from augenmerk.checkpoint import RunDirectory
from augenmerk.errors import AugenmerkError
from augenmerk.model.translator import Translator
from augenmerk.translate.decoding import load_translator


def load_members(runs: Sequence[RunDirectory], device: torch.device | str = "cpu") -> tuple[Translator, ...]:
    """The models of these runs; complains unless their tokenizers are the same, on either side.

    On the target side, because what they think of each word is averaged; on the source side too, because
    where they look is.
    """
    first, *others = runs
    for other in others:
        for side in ("source", "target"):
            ours, theirs = getattr(first.tokenizers, side), getattr(other.tokenizers, side)
            if ours.to_json() != theirs.to_json():
                raise AugenmerkError(
                    f"{first.path} and {other.path} cannot translate together: their {side} vocabularies "
                    f"differ; an ensemble needs runs trained on the same sentences with the same [text] "
                    f"settings."
                )
    return tuple(load_translator(run, device) for run in runs)
