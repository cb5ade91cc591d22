"""Real queries and keys in the light of the theory: `augenmerk theory from-run` in a function."""

from collections.abc import Iterator
from functools import partial
from os import PathLike
from typing import Any

from rich.console import RenderableType

from augenmerk.analysis.probe import AttentionProbe, probe_attention
from augenmerk.base.console import Shown, err
from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.figures import Picture
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.theory.drawing_noise import draw_step
from augenmerk.theory.from_run import examine_step
from augenmerk.theory.results import Setup
from augenmerk.theory.wording import show_step
from augenmerk.translation import load
from augenmerk.translation.output import warn_of_several_sentences, warn_of_translations


class ProbedStep(Shown):
    """The query by which a token was produced, and all keys."""

    def __init__(self, found: AttentionProbe, step: int, head: int, setup: Setup, *, is_last: bool) -> None:
        """`is_last` is whether the layer was not chosen, but is the last one."""
        self.found, self.step, self.head = found, step, head
        self.token = found.target[step - 1]
        self.report = examine_step(found.queries[step - 1], found.keys, found.scale, setup)
        where = f"layer {found.layer}{' (the last)' if is_last else ''}, head {head}"
        self._where = where if found.layer else ""

    def to_dict(self) -> dict[str, Any]:
        found, read = self.found, self.found.translation
        return {
            **{"source": read.source, "truncated": read.truncated, "translation": read.text},
            **{"step": self.step, "token": self.token, "layer": found.layer, "head": self.head},
            **{"source_tokens": list(found.source), "target_tokens": list(found.target)},
            **self.report.to_dict(),
        }

    def plot(self) -> Picture:
        return Picture(partial(draw_step, self.report, self.found.source, self.token))

    def show(self) -> Iterator[RenderableType]:
        return iter(show_step(self.report, self.found, self.step, self._where))


def probe(
    sentence: str,
    run: str | PathLike[str] | None = None,
    *,
    step: int = 1,
    layer: int | None = None,
    head: int = 1,
    beta: float = 0.1,
    eps: float = 0.01,
    samples: int = 2000,
    seed: int = 1,
) -> ProbedStep:
    """Examines the query and the keys by which a run, by default the bundled model, produces a token.

    Takes what `augenmerk theory from-run` takes; step, layer and head are counted from 1.
    """
    if not 0 < eps < 1:
        raise AugenmerkError(f"--eps {eps:g} is impossible: choose a weight between 0 and 1.")
    translator = load(BUNDLED_MODEL if run is None else run)
    warn_of_several_sentences(sentence, "The text", translator.language)
    found = probe_attention(translator, sentence, head - 1, None if layer is None else layer - 1)
    warn_of_translations([found.translation])
    if found.translation.truncated:
        limit = f"the {len(found.source) - 1} tokens that this model reads"
        err().print(f"The sentence is longer than {limit}: only its beginning is shown.")
    if not 1 <= step <= len(found.target):
        raise AugenmerkError(
            f"--step {step}: the translation has {len(found.target)} tokens, its end included."
        )
    setup = Setup(samples=samples, seed=seed, eps=eps, beta=beta)
    return ProbedStep(found, step, head, setup, is_last=layer is None)
