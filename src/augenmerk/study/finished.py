"""A finished run as a study reads it: its files, each read once."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from augenmerk.checkpoint import RunDirectory
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import hypothesis_path, model_score_path, reference_path
from augenmerk.storage import read_text
from augenmerk.study.beams import Translated
from augenmerk.study.measuring import read_probes
from augenmerk.study.plan import PlannedRun
from augenmerk.study.resampling import Counts, bleu_counts, bleu_score


@dataclass(frozen=True)
class Finished:
    """A run that is trained, measured and probed."""

    planned: PlannedRun
    run: RunDirectory
    _translated: dict[tuple[str, int], Translated] = field(default_factory=dict, repr=False)

    @cached_property
    def result(self) -> dict[str, Any]:
        result = self.run.result
        assert result is not None
        return result

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        return self.run.read_metrics()

    @cached_property
    def probes(self) -> dict[str, Any]:
        probes = read_probes(self.run)
        assert probes is not None
        return probes

    @cached_property
    def rows(self) -> dict[tuple[str, int], dict[str, Any]]:
        return {(row["split"], row["beam"]): row for row in self.run.read_scores()}

    def losses(self, split: str) -> Counts:
        """(N, 2): of each sentence the sum over its tokens, and their number."""
        losses = self.probes["losses"][split]
        return np.array([losses["sums"], losses["tokens"]], dtype=np.float64).T

    def translated(self, split: str, beam: int) -> Translated:
        """Counted once: it takes a while."""
        if (split, beam) not in self._translated:
            self._translated[split, beam] = self._count(split, beam)
        return self._translated[split, beam]

    def _count(self, split: str, beam: int) -> Translated:
        hypotheses = _lines(hypothesis_path(self.run, split, beam))
        counts = bleu_counts(hypotheses, _lines(reference_path(self.run, split)))
        row = self.rows[split, beam]
        if not math.isclose(float(bleu_score(counts.sum(0))), row["bleu"], abs_tol=1e-6):
            raise AugenmerkError(
                f"{self.run.path}: the hypotheses for '{split}', beam {beam} are not those that were scored."
            )
        scores = [float(line) for line in _lines(model_score_path(self.run, split, beam))]
        if not len(scores) == len(self.losses(split)) == len(hypotheses):
            raise AugenmerkError(
                f"{self.run.path}: there are {len(hypotheses)} hypotheses for '{split}', beam {beam}, but "
                f"{len(scores)} scores and {len(self.losses(split))} losses."
            )
        return Translated(row, counts, hypotheses, scores)


def _lines(path: Path) -> list[str]:
    return read_text(path).split("\n")[:-1]
